/* Cluster edicts: what operators order of all agents, between the main thread and the node.
 *
 *   an operator here --> main --cluster_edicts_order--> node --> all agents
 *   node --> [news] --cluster_edicts_take--> main carries them out --cluster_edicts_applied--> node
 *   node --> [told] --cluster_edicts_told--> main answers its operator
 *
 * What: two mailboxes, and the file DIR/edicts: the number that was carried out last, and the list
 * that it is of (cluster/whole/edicts.h). At a start all of them are carried out anew, but for
 * those about a host that were carried out before.
 * Owns: what nobody has taken yet.
 * Threads: the main thread calls; the sinks are the cluster thread's.
 * Errors: without memory, or when the file cannot be written, an edict is not carried out:
 * whoever has ordered it hears that this agent has not answered. */
#pragma once

#include "crawl/cluster/cluster_state.h"

#define EDICTS_FILE "edicts"

void cluster_edicts_init(ClusterEdicts *edicts);
void cluster_edicts_destroy(ClusterEdicts *edicts);
/* Reads DIR/edicts; one that is not there, or no such file, is none. */
void cluster_edicts_load(ClusterEdicts *edicts, const char *directory);
EdictSinks cluster_edicts_sinks(ClusterPart *part);

/* Main. */

/* A list that is newer than the one taken last: *edicts is replaced. False: there is none. */
bool cluster_edicts_take(ClusterPart *part, Edicts *edicts);
/* One was carried out: it is kept, and then the node says so. */
void cluster_edicts_applied(ClusterPart *part, const Edicts *edicts, uint64_t number,
                            const char *text);
/* Copies the texts; cluster_edicts_told follows. */
void cluster_edicts_order(ClusterPart *part, const Edict *edict, uint64_t ticket);
/* What came of an order; the caller frees told->text. False: nothing yet. */
bool cluster_edicts_told(ClusterPart *part, ClusterTold *told);
