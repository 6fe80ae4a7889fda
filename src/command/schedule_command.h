/* `ragno schedule DIR freq`: builds the revisit schedule of a crawl, or prints it.
 *
 *   --default FREQ [--scale S]      every crawled page FREQ times a second, or S times as often as
 *                                   it was seen to change
 *   --rules FILE [--default FREQ]   by regular expression (freq_rules.h)
 *   --visits N                      shares N visits a second among pages by estimated change rates
 *   --print [--top N]               virtual time, frequency and URL in order of turn
 *
 * What: FREQ is visits per second, or an interval with a unit (1d: once a day). The schedule is
 * kept in the crawl's PageDB, replaces an earlier one, and is what schedule.mode = continuous works
 * through. That mode keeps these frequencies, within schedule.revisit_min and revisit_max, unless
 * schedule.rules decide otherwise. Crawled pages that are left out are not visited again.
 * Threads: main.
 * Errors: exit status 0 done; 2 usage or a bad rule (FILE:LINE); 3 cannot be read or written; 17
 * damaged, locked or another format version. */
#pragma once

/* argv[0] is "schedule". Returns the exit status. */
int schedule_main(int argc, char **argv);
