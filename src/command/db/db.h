/* `ragno db DIR COMMAND ...`: looks into a page database from the command line.
 *
 * DIR is a crawl directory (the database is DIR/crawl.mdb) or the database itself. It is opened for
 * reading only, so a running crawl is not disturbed; every command sees one snapshot. Data goes to
 * standard output, one record a line, tab separated; everything else to standard error. Exit 0:
 * done; 1: no such page or host; 2: wrong usage; 3: input/output error; 17: wrong format version or
 * damaged. Commands: db_pages.c, db_links.c, db_hosts.c, db_schedule.c, db_answer.c. */
#ifndef COMMAND_DB_DB_H
#define COMMAND_DB_DB_H

#include <stdbool.h>

#include "crawl/exit_status.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"

typedef struct DbView {
    PageDB *db;
    MDB_txn *txn;     /* the snapshot */
    const char *warc; /* folder of the WARC files beside the database; it need not exist */
    Buffer url;       /* scratch of db_url */
} DbView;

/* argv[0] = "db", argv[1] = DIR or --help. Returns the exit status. */
int db_main(int argc, char **argv);

/* For the commands. Complains about the database's last error; returns the exit status. */
int db_failed(const DbView *view, int rc);
/* The exit status after output was written. */
int db_finish(const DbView *view, int rc);
/* The URL of a page in view->url, or NULL after a complaint (*rc is set). */
const char *db_url(DbView *view, uint64_t index, int *rc);
/* The index of a URL; complains when there is none. A page_db error code. */
int db_find(DbView *view, const char *url, uint64_t *index);
/* With scope.dedup_key: another spelling stands for the URL. Says so on standard error and leaves
 * it in view->url. */
bool db_stands_for(DbView *view, const char *url);

/* The schedule of the crawl; NULL when there is none: a database that no crawl wrote. */
Result db_open_schedule(const DbView *view, Schedule **schedule);
/* Whether an origin is what a HOST argument names: it, or its host ("example.org",
 * "example.org:81"). */
bool db_is_host(const char *origin, const char *host);

/* What of a stored answer is to be printed. */
typedef struct DbParts {
    bool headers; /* status line and fields, with the empty line */
    bool body;    /* without its content coding */
    bool raw;     /* the body as it is stored: the bytes of the payload digest */
} DbParts;

/* Prints the newest stored answer of a URL, which may be one that the database does not list
 * (robots.txt). A body that is cut or that cannot be decoded to its end is printed as far as it
 * goes, with a word on standard error. Returns the exit status. */
int db_answer(DbView *view, const char *url, const DbParts *parts);

/* The commands; argv[0] is the command's name. */
int db_info(DbView *view, int argc, char **argv);
int db_dump(DbView *view, int argc, char **argv);
int db_find_regex(DbView *view, int argc, char **argv);
int db_get(DbView *view, int argc, char **argv);
int db_path(DbView *view, int argc, char **argv);
int db_links(DbView *view, int argc, char **argv);
int db_hosts(DbView *view, int argc, char **argv);
int db_schedule(DbView *view, int argc, char **argv);

#endif
