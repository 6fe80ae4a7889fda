/* Cluster accounts: the configuration of a NATS server that lets nobody in but the agents of one
 * crawl, and its operators.
 *
 *   DIR/nats.conf       for nats-server -c: listens as cluster.url says, JetStream below DIR, and
 * one account with a user for each of these, by the public half of a key DIR/agent-N.nkey    the
 * key of agent N: its cluster.credentials DIR/operator.nkey   that of `ragno cluster` and `ragno
 * status`
 *
 * What: no secret is in the server's configuration, and none is sent (an NKey signs what the server
 * asks). An agent hears its own messages and no other agent's, writes its own record and what all
 * agents share (table, orders, limits, end), and may not make or change buckets. An operator may
 * make the bucket, read it, write the table, and ask agents; nobody else may do anything.
 * Owns: nothing.
 * Threads: main.
 * Source: the documentation of nats-server, "Authorization" and "NKeys";
 * github.com/nats-io/nkeys. */
#pragma once

#include "rules/config.h"

/* Makes the directory when it is missing. RESULT_EXISTS: a file is there already, and stays.
 * RESULT_IO, RESULT_MEMORY; error has a sentence. */
Result cluster_accounts_write(const Config *config, uint32_t agents, const char *directory,
                              Buffer *error);
