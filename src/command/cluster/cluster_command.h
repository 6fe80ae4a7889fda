/* `ragno cluster`: makes a cluster, and tells how it does.
 *
 * What: `init` writes the cluster table of a new crawl; `status` asks all agents; `add`, `drain`,
 * `move`, `restore`, `seat` and `unseat` change the table, and the agents do the rest. The server
 * is named as for agents: by a configuration file, or by --url and --name.
 * Threads: main. */
#pragma once

#include "rules/config.h"

int cluster_main(int argc, char **argv);
/* A line for each agent, and one for all; complaints begin with "ragno COMMAND: ". The exit status.
 */
int cluster_status(const Config *config, const char *command);
