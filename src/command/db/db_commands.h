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

#endif
