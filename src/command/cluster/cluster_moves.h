/* Cluster moves: `ragno cluster add | drain | move | restore | seat | unseat`.
 *
 * What: each changes the cluster table by one compare-and-set (cluster/table/cluster_table.h); the
 * agents do the rest, and `ragno cluster status` shows how far they are. What cannot be done, or
 * would wait for an agent that is away, is refused with a sentence.
 * Threads: main. */
#ifndef COMMAND_CLUSTER_CLUSTER_MOVES_H
#define COMMAND_CLUSTER_CLUSTER_MOVES_H

#include <stdbool.h>

#include "rules/config.h"

/* The words of the command line; NULL: not given. */
typedef struct ClusterWords {
    const char *agents;    /* --agents */
    const char *from;      /* --from */
    const char *to;        /* --to */
    const char *directory; /* --write */
    const char *what;      /* the word without an option: an agent, a number of slots, a host */
} ClusterWords;

/* One of these words. */
bool cluster_moves_has(const char *command);
/* Returns the exit status. */
int cluster_moves_main(const Config *config, const char *command, const ClusterWords *words);

#endif
