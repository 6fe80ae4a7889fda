/* `ragno plan`: how long a crawl still takes, or what is to be expected of a list of seeds.
 *
 * What: plan DIR is a forecast (forecast.h); plan -i FILE is a dry run (plan_seeds.h).
 * Threads: main. */
#pragma once

int plan_main(int argc, char **argv);
