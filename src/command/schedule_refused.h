/* `ragno schedule DIR refused [--only FILTER]`: what a crawl refused when it was found gets another
 * chance.
 *
 * What: a crawl refuses links deeper than scope.depth, of parked patterns (trap_yield.h), behind
 * too many redirects, and of hosts that were full. Such a page is known and was never
 * scheduled. Nothing tells which of the reasons it was, so the filter language chooses (URLs and
 * DepthAtMost). The pages go to the levels of their scores, in order of discovery, and the next run
 * fetches them like any other. What they lead to is judged anew, so what refused them must be
 * turned off or raised as well. Hosts that were dropped or parked come back with all their URLs;
 * `ragno schedule DIR revive [HOST...]` does only that, for the hosts that are named, or all. The
 * command needs the directory for itself. Threads: main. Errors: exit status 0 done; 2 usage or a
 * wrong filter; 3 cannot be read or written; 17 in use, damaged or of another format version. */
#ifndef COMMAND_SCHEDULE_REFUSED_H
#define COMMAND_SCHEDULE_REFUSED_H

/* argv[0] is "schedule", argv[2] "refused". Returns the exit status. */
int schedule_refused(int argc, char **argv);
/* The same for "revive"; 1 when hosts are named and none of them is set aside. */
int schedule_revive(int argc, char **argv);

#endif
