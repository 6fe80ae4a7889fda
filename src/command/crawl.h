/* `ragno [crawl]`: the command line of a crawl.
 *
 * What: reads options, configuration and environment, and runs the agent (crawl/agent/agent.h).
 * Threads: main. */
#pragma once

#include <stdio.h>

int crawl_main(int argc, char **argv);
/* `ragno --help`: fits a screen. */
void crawl_usage(FILE *out);
