/* `ragno schedule DIR refused [--only FILTER]`: schedules pages that were refused when they were
 * found.
 *
 * What: a crawl refuses links that are deeper than scope.depth, have a parked pattern
 * (trap_yield.h), come after too many redirects, or belong to a host that was full. Such a page is
 * known, but was never scheduled, and the reason is not stored. The filter language selects the
 * pages (tests on URLs, and DepthAtMost). The selected pages get the levels of their scores, in
 * order of discovery, and the next run fetches them like any other page. Their links are judged by
 * the options of that run, so the option that refused them must be raised or turned off, too: after
 * `--only 'DepthAtMost(25)'` crawl with scope.depth = 25.
 *
 * Hosts that were dropped or parked come back with all their URLs. `ragno schedule DIR revive
 * [HOST...]` does only that, for the named hosts or for all. The command needs the directory for
 * itself.
 * Threads: main.
 * Errors: exit status 0 done; 2 usage or a wrong filter; 3 cannot be read or written; 17 in use,
 * damaged or of another format version. */
#ifndef COMMAND_SCHEDULE_REFUSED_H
#define COMMAND_SCHEDULE_REFUSED_H

/* argv[0] is "schedule", argv[2] "refused". Returns the exit status. */
int schedule_refused(int argc, char **argv);
/* The same for "revive"; 1 when hosts are named and none of them is set aside. */
int schedule_revive(int argc, char **argv);

#endif
