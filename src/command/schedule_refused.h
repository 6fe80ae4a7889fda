/* `ragno schedule DIR refused [--only FILTER]`: what a crawl refused when it was found gets another
 * chance: links deeper than scope.depth, of parked patterns (trap_yield.h), behind too many
 * redirects, of hosts that were full or given up.
 *
 * Such a page is known and was never scheduled; nothing tells which of the reasons it was, so the
 * filter language chooses (URLs and DepthAtMost). They go to the levels of their scores, in order
 * of discovery, and the next run fetches them like any other. What they lead to is judged anew:
 * turn off or raise what refused them, too. Needs the directory for itself. Exit status: 0; 2 usage
 * or a wrong filter; 3 cannot be read or written; 17 in use, damaged or of another format version.
 */
#ifndef COMMAND_SCHEDULE_REFUSED_H
#define COMMAND_SCHEDULE_REFUSED_H

/* argv[0] is "schedule", argv[2] "refused". Returns the exit status. */
int schedule_refused(int argc, char **argv);

#endif
