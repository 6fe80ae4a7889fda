/* Cluster client: asks a cluster something, and waits for the answer.
 *
 * What: what commands need: values of the bucket, and answers of agents. It is no agent itself.
 * Owns: the transport, and the mail that has not been read.
 * Threads: main.
 * Errors: RESULT_TIMEOUT: no answer came in time; RESULT_NOT_FOUND: nobody is there, or libnats is
 * not installed; RESULT_CLOSED: the server does not accept us. error holds one sentence. */
#ifndef COMMAND_CLUSTER_CLUSTER_CLIENT_H
#define COMMAND_CLUSTER_CLUSTER_CLIENT_H

#include "cluster/message/node_link.h"
#include "crawl/cluster/cluster_state.h"
#include "crawl/cluster/cluster_options.h"
#include "cluster/transport/transport_nats.h"
#include "rules/config.h"

typedef struct ClusterClient {
    TransportNats *nats;
    ClusterMail mail;
    NodeLink link;
    uint64_t last;  /* token */
    uint64_t epoch; /* of the table of the agent that answered last */
} ClusterClient;

/* Connects by the [cluster] section. To be closed in any case. */
Result cluster_client_open(ClusterClient *client, const Config *config, Buffer *error);
void cluster_client_close(ClusterClient *client);

/* The value of a key; *revision 0: it has none. */
Result cluster_client_get(ClusterClient *client, const char *key, Buffer *value, uint64_t *revision,
                          Buffer *error);
/* Replaces it. RESULT_EXISTS: another revision is there. */
Result cluster_client_put(ClusterClient *client, const char *key, const Buffer *value,
                          uint64_t expected, Buffer *error);
/* The cluster table: *table is initialised. RESULT_NOT_FOUND: there is no such cluster. Messages
 * to its agents can be sent from then on. */
Result cluster_client_table(ClusterClient *client, ClusterTable *table, uint64_t *revision,
                            Buffer *error);
/* How an agent does, in its words: RESULT_NOT_FOUND: it does not run. */
Result cluster_client_ask(ClusterClient *client, uint16_t agent, Buffer *text);
/* Begins a question for cluster_client_send: the writer goes on. */
WireWriter cluster_client_begin(const ClusterClient *client, NodeQuestion question, Buffer *bytes);
/* Asks an agent; *answer is what it says, its head left out. RESULT_NOT_FOUND: it does not run;
 * RESULT_TIMEOUT. */
Result cluster_client_send(ClusterClient *client, uint16_t agent, const Buffer *question,
                           Buffer *answer);

#endif
