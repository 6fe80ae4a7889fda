/* Cluster part: this agent's side of a crawl on several machines, as a part of the running crawl.
 *
 *   cluster_part_new --> joins, in its thread --> NODE_JOINED --cluster_part_open--> tables,
 * chores
 *      --cluster_part_begin--> NODE_MEMBER --cluster_part_leave--> NODE_LEFT
 *
 * What: runs the node (cluster/node/node.h) in a thread of its own, and hands on what the node and
 * the other parts have for each other: leases to the frontier, blocks to ingest, allowances and the
 * end of the crawl to the main thread. A crawl without a [cluster] section has none (NULL), and
 * loads no library.
 *
 * Owns: transport, node, inbox, ingest's cluster and its chores. Configuration and store are
 * borrowed.
 * Threads: each function says which; the sinks are called in the cluster thread, and must not wait.
 * Invariants:
 *  1. It is idle only when ingest was so at its last look, nothing is scheduled, and outbox, inbox
 *     and ingest's queue are empty (cluster/whole/ending.h).
 *  2. While the main thread waits for it to join, only its thread writes to the database. */
#pragma once

#include "crawl/cluster/cluster_state.h"

/* Connects and begins to join. Main. RESULT_NOT_FOUND: the library is not installed;
 * RESULT_INVALID; error holds a sentence. */
Result cluster_part_new(ClusterPart **part, const Config *config, CrawlStore *store,
                        const ClusterSinks *sinks, Buffer *error);
/* After cluster_part_leave, ingest and frontier. NULL is allowed. */
void cluster_part_delete(ClusterPart *part);

/* Any thread. cluster_part_text: what it waits for while it joins, or why it is out: refused,
 * replaced, or cut off. */
NodeState cluster_part_state(ClusterPart *part);
void cluster_part_text(ClusterPart *part, Buffer *text);
/* The outbox is beyond cluster.outbox: the crawl is to pause. Main. */
bool cluster_part_is_full(ClusterPart *part, uint64_t most_bytes);
/* As of a second ago at most. */
void cluster_part_figures(ClusterPart *part, ClusterFigures *figures);

/* Joined: opens ingest's tables, and adds its chores. Before ingest_start. gate: bytes parsed and
 * not yet committed. Main. */
Result cluster_part_open(ClusterPart *part, Ingest *ingest, ByteGate *gate, Buffer *error);
/* Scores are those of the whole crawl (cluster/mass/mass.h), if they are PageRank. After
 * cluster_part_open, before scoring_start. RESULT_MEMORY. Main. */
Result cluster_part_score(ClusterPart *part, Scoring *scoring);
/* Everything runs: leases and blocks from now on. used: of each limit, by earlier runs. Main. */
void cluster_part_begin(ClusterPart *part, const ClusterBonds *bonds,
                        const uint64_t used[LEDGER_UNITS]);
/* What the frontier has for other agents (leases, sinks->hosts.peers) goes to this part. Main. */
void cluster_part_wire(ClusterPart *part, FrontierSinks *sinks);
/* Says that this agent stops, and waits for that a moment; after ingest and frontier have ended.
 * Main. */
void cluster_part_leave(ClusterPart *part);

/* Cluster wait: until this agent has joined its cluster.
 *
 * What: nothing can be fetched before: which hosts are ours, what the crawl's settings are, and
 * whether this directory may run at all is known afterwards. An operator hears what it waits for,
 * and may end it by a signal.
 * Threads: main. */

/* signals: signalfd; news: the eventfd that ClusterSinks.news rings. RESULT_OK: joined.
 * RESULT_CLOSED: a signal came. RESULT_LOCKED: refused; error has the sentence. */
Result cluster_wait(ClusterPart *part, int signals, int news, Buffer *error);

/* Cluster settings: what all agents of one crawl must agree about, as text.
 *
 * What: lines "section.key = value" of the options that are marked OPTION_AGREED (rules/config.h),
 * of all [site] sections, and the program's version. An agent whose text differs from the crawl's
 * is refused, with the first line that does (cluster/node/node_join.h).
 * Threads: main. */
