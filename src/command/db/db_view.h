/* What a command of `ragno db` looks at, and what all commands do with it.
 *
 * What: a series of snapshots (short_read.h), finding pages, telling errors, and the exit status.
 * Owns: db_main opens and closes it; a command borrows it.
 * Threads: main.
 * Errors: page_db error codes; complaints go to standard error. */
#pragma once

#include "crawl/short_read.h"
#include "store/schedule/schedule.h"
#include "crawl/exit_status.h"

typedef struct DbView {
    PageDB *db;
    const char *directory; /* as it was named */
    ShortRead read;
    MDB_txn *txn;     /* the snapshot: that of read */
    const char *warc; /* folder of the WARC files beside the database; it need not exist */
    Buffer url;       /* scratch of db_url */
} DbView;

/* Prints the last error of the database; returns the exit status. */
int db_failed(const DbView *view, int rc);
/* Behind a step that came to rc, with nothing of the snapshot in use: lets the crawl and the output
 * go on, unless it failed. The snapshot may be another one afterwards. SHORT_READ_OVER: the command
 * is to end. */
int db_turn(DbView *view, int rc);
/* Ends the snapshot and writes the output; the exit status. */
int db_finish(DbView *view, int rc);
/* The URL of a page in view->url, or NULL after a complaint (*rc is set). */
const char *db_url(DbView *view, uint64_t index, int *rc);
/* The index of a URL. Prints an error when the database does not know the URL. */
int db_find(DbView *view, const char *url, uint64_t *index);
/* With scope.dedup_key: whether another spelling stands for the URL. If so, says so on standard
 * error and leaves that spelling in view->url. */
bool db_stands_for(DbView *view, const char *url);

/* The schedule of the crawl; NULL when the database was not written by a crawl and has none. */
Result db_open_schedule(const DbView *view, Schedule **schedule);
/* Whether a HOST argument names an origin. The argument is the origin itself
 * ("http://example.org:81"), or its host with or without the port ("example.org:81",
 * "example.org"). */
bool db_is_host(const char *origin, const char *host);

/* Which parts of a stored answer are printed. */
typedef struct DbParts {
    bool headers; /* status line and fields, with the empty line */
    bool body;    /* without its content coding */
    bool raw;     /* the body as it is stored: the bytes of the payload digest */
} DbParts;

/* For `get`: prints the newest stored answer of a URL. The URL need not be a page of the database:
 * the answers of robots.txt are stored, too. A body that was cut, or that cannot be decoded to its
 * end, is printed up to that point, with a message on standard error. */
int db_answer(DbView *view, const char *url, const DbParts *parts);

/* The commands of `ragno db`, one function each; db.c has their table.
 *
 * What: argv[0] is the command's name; each returns the exit status. db_pages.c has info, dump,
 * find, get and path; the others have a file of their name.
 * Threads: main. */

int db_info(DbView *view, int argc, char **argv);
int db_dump(DbView *view, int argc, char **argv);
int db_find_regex(DbView *view, int argc, char **argv);
int db_get(DbView *view, int argc, char **argv);
int db_path(DbView *view, int argc, char **argv);
int db_urls(DbView *view, int argc, char **argv);
int db_links(DbView *view, int argc, char **argv);
int db_hosts(DbView *view, int argc, char **argv);
int db_schedule(DbView *view, int argc, char **argv);
