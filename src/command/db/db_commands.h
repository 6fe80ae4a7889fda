/* The commands of `ragno db`, one function each; db.c has their table.
 *
 * What: argv[0] is the command's name; each returns the exit status. db_pages.c has info, dump,
 * find, get and path; the others have a file of their name.
 * Threads: main. */
#ifndef COMMAND_DB_DB_COMMANDS_H
#define COMMAND_DB_DB_COMMANDS_H

#include "command/db/db_view.h"
#include "crawl/exit_status.h"

int db_info(DbView *view, int argc, char **argv);
int db_dump(DbView *view, int argc, char **argv);
int db_find_regex(DbView *view, int argc, char **argv);
int db_get(DbView *view, int argc, char **argv);
int db_path(DbView *view, int argc, char **argv);
int db_links(DbView *view, int argc, char **argv);
int db_hosts(DbView *view, int argc, char **argv);
int db_schedule(DbView *view, int argc, char **argv);

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

#endif
