/* `ragno schedule DIR plan`: what the optimal policy of revisits makes of a crawl.
 *
 * What: the pages that a crawl visits again (or would, were it continuous), the budget of visits,
 * how many of the copies are up to date with it, as it is scheduled now and at best, what one visit
 * more a second would buy, and at how many addresses politeness binds. Only reads.
 * Threads: main. */
#pragma once

/* argv as schedule_main has it. An exit status. */
int schedule_plan(int argc, char **argv);
