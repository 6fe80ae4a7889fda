/* `ragno rank DIR pagerank|hits`: the pages of a crawl by their place in the link graph.
 *
 * Data goes to standard output, best page first: PageRank and URL, or authority, hub score and URL,
 * tab separated; what the computation did goes to standard error. DIR is a crawl, running or not,
 * or a PageDB; it is only read. Exit status: 0; 1 the precision was not reached (the pages are
 * printed all the same); 2 usage; 3 cannot be read, disk full; 17 damaged or another format
 * version. */
#ifndef RANK_H
#define RANK_H

#include "store/page_db.h"

/* argv[0] is "rank". Returns the exit status. */
int rank_main(int argc, char **argv);

/* Opens the PageDB of a crawl's directory, or the one that the directory is; complains on standard
 * error with the command's name. Returns the exit status, 0 when it is open. Ours to share with
 * schedule_command.c. */
int rank_open_page_db(const char *command, const char *directory, bool read_only, PageDB **db);

#endif
