/* `ragno forget DIR WHAT...`: takes hosts and URLs out of everything that a crawl keeps.
 *
 * What: forget_order.h says how. In a directory that nobody uses the command does it itself. A
 * crawl that runs gets the tombstones at once, stops as soon as no link waits in the sieve, carries
 * the order out, and starts anew as the same process; the command waits for that. An agent of
 * a cluster gives the order to all of them (crawl/desk/desk_edicts.h); one that does not run takes
 * none.
 * Owns: the lock of the directory, while it works.
 * Threads: main.
 * Errors: exit status 0; 2 usage; 3 input or output, and the order stays; 11 the crawl ended
 * before it was done; 17 in use, or damaged. */
#pragma once

#include "base/core/clock.h"

/* Carries out the order that waits in a directory that nobody uses; says what came of it on
 * standard output unless it is quiet. The exit status; EXIT_SIGNAL: a crawl must run for it first.
 */
int forget_finish(const char *directory, bool quiet);

/* store.retention: erases what was fetched before a time, when crawl_log or one of its predecessors
 * has a line of it; NULL: that of the directory. The exit status, as of forget_finish. */
int forget_expired(const char *directory, const char *crawl_log, WallTime before, bool quiet);

int forget_main(int argc, char **argv);
