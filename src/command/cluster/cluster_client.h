/* Cluster client: asks a cluster something, and waits for the answer.
 *
 * What: what commands need: values of the bucket, and answers of agents. It is no agent itself.
 * Owns: the transport, and the mail that has not been read.
 * Threads: main.
 * Errors: RESULT_TIMEOUT: no answer came in time; RESULT_NOT_FOUND: nobody is there, or libnats is
 * not installed; RESULT_CLOSED: the server does not accept us. error holds one sentence. */
#pragma once

#include "crawl/cluster/cluster_state.h"

typedef struct ClusterClient {
    TransportNats *nats;
    ClusterMail mail;
    NodeLink link;
    uint64_t last;  /* token */
    uint64_t epoch; /* of the table of the agent that answered last */
} ClusterClient;

/* One of the server's options of a command line, or -c FILE, is put into the configuration: *i is
 * then its last word. False: it is another word. */
bool cluster_client_option(Config *config, int argc, char **argv, int *i, Result *rc,
                           Buffer *error);
/* The server of nats://HOST:PORT/NAME. RESULT_INVALID. */
Result cluster_client_set_url(Config *config, const char *url, Buffer *error);
/* Whether the configuration names a server that may be used. RESULT_INVALID. */
Result cluster_client_check(const Config *config, Buffer *error);
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
/* The record of an agent. RESULT_NOT_FOUND: it was never started. */
Result cluster_client_member(ClusterClient *client, uint16_t agent, MemberRecord *record);
/* How an agent does, in its words: RESULT_NOT_FOUND: it does not run. */
Result cluster_client_ask(ClusterClient *client, uint16_t agent, Buffer *text);
/* A command of ragno at an agent (crawl/cluster/cluster_console.h). */
typedef struct ClusterRun {
    uint16_t agent;
    uint64_t ticket; /* random, not 0 */
    uint64_t offset; /* bytes that it has printed and we have */
    bool ended;
    int status; /* once it has ended */
} ClusterRun;

/* Begins it, or appends what it has printed since. RESULT_LIMIT: the agent refuses it, *out has its
 * sentence; RESULT_NOT_FOUND: it does not run; RESULT_TIMEOUT. */
Result cluster_client_run(ClusterClient *client, ClusterRun *run, char *const *words, size_t n,
                          Buffer *out);
/* The same until it has ended. */
Result cluster_client_run_whole(ClusterClient *client, ClusterRun *run, char *const *words,
                                size_t n, Buffer *out);
/* Lets an agent work for a moment. */
void cluster_client_pause(ClusterClient *client);
