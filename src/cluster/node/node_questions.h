/* What other nodes, and operators, ask this one, and what it answers (node_wire.h: NodeQuestion).
 *
 * What: a question is answered by the desk that it is for, or by a sink.
 * Owns: nothing. Threads: none of its own; the node's. */
#ifndef CLUSTER_NODE_NODE_QUESTIONS_H
#define CLUSTER_NODE_NODE_QUESTIONS_H

#include "cluster/node/node.h"
#include "cluster/node/node_desks.h"

/* What limits and the end are decided by, with what the desks know of it. */
void node_questions_situation(const NodeDesks *desks, const NodeSinks *sinks,
                              NodeSituation *situation);
/* Answers a message to "ask.N"; one that is no question is dropped. */
void node_questions_take(NodeDesks *desks, const NodeSinks *sinks, const TransportEvent *event,
                         MonoTime now);

#endif
