/* Cluster report: what a cluster does, for people.
 *
 * What: one line for the whole, one for each agent: who it is, and how it does in its own words. An
 * agent that does not run has its last record.
 * Threads: main. */
#ifndef COMMAND_CLUSTER_CLUSTER_REPORT_H
#define COMMAND_CLUSTER_CLUSTER_REPORT_H

#include <stdio.h>

#include "command/cluster/cluster_client.h"

/* The exit status; complaints begin with "ragno COMMAND: ". */
int cluster_report_print(const Config *config, const char *command, FILE *out);

#endif
