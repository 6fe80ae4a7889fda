/* Crawl view: a crawl opened for looking at it, with its tables and its configuration.
 *
 * What: for commands that tell about a crawl, also beside the process that runs it.
 * Owns: all of its fields.
 * Threads: one. Read transactions are the caller's, and short: LMDB keeps what they see.
 * Errors: as crawl_open; what is missing in a crawl of an older version stays NULL. */
#pragma once

#include "why/why.h"

/* Crawl open: the database of a crawl, for a command that looks at it.
 *
 * What: DIR is the directory of a crawl, or of a database of the library (which holds data.mdb
 * itself). Never creates one.
 * Owns: the database is the caller's.
 * Threads: main. */

/* Returns 0, or the exit status after an error: *db is then NULL, and standard error has a line
 * that begins "ragno COMMAND:". */
int crawl_open(const char *command, const char *directory, bool read_only, PageDB **db);
/* Does the directory hold crawl.mdb, as a crawl's does? */
bool crawl_open_is_crawl(const char *directory);
/* The exit status for an error code of PageDB. */
int crawl_exit_status(int code);

typedef struct CrawlView {
    char *directory;
    PageDB *db;
    HostRows *hosts;       /* NULL: a database of the library, as the next */
    GroupRows groups;      /* 0: none */
    Schedule *schedule;    /* may be NULL */
    RevisitRows *revisits; /* NULL: no crawl with schedule.mode = continuous */
    RenderTable *renders;  /* NULL: nothing was ever rendered */
    StaySet *stay;         /* where the seeds are; NULL unless scope.stay is set */
    Config config;
    bool has_config; /* config.ini was read; otherwise config has the defaults */
} CrawlView;

/* Opens it. The exit code: 0, or standard error has a line that begins "ragno COMMAND:" and there
 * is nothing to close. */
int crawl_view_open(CrawlView *view, const char *command, const char *directory);
void crawl_view_close(CrawlView *view);
/* What `ragno why` and `ragno top` ask about a URL; borrows from the view. The caller sets
 * is_in_flight and log_bytes. */
WhySources crawl_view_why_sources(const CrawlView *view, WallTime now);
