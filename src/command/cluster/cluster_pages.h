/* Cluster pages: what other agents of the cluster know of a page, for commands that look into one
 * agent's directory.
 *
 * What: the directory says which agent it is and whose a host is; the others are asked over NATS,
 * by the [cluster] section that the crawl was last started with. Nothing is connected to before it
 * is needed, and an agent that does not answer within seconds is said not to. Owns: the table, the
 * connection. Threads: main. Errors: cluster_pages_problem has a sentence. */
#ifndef COMMAND_CLUSTER_CLUSTER_PAGES_H
#define COMMAND_CLUSTER_CLUSTER_PAGES_H

#include "cluster/message/page_trail.h"
#include "command/cluster/cluster_client.h"

#define CLUSTER_PAGES_TURNS 64u /* questions for one path at most */
#define CLUSTER_PAGES_URLS  NODE_PAGE_URLS_MOST

typedef struct ClusterPages {
    const char *directory; /* borrowed */
    bool is_agent;         /* the directory is one's */
    uint16_t self;
    ClusterTable table;
    Config config;
    ClusterClient client;
    bool opened; /* client and config are there */
    bool up;
    Buffer problem;
} ClusterPages;

/* RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. To be closed in any case. */
Result cluster_pages_open(ClusterPages *pages, const char *directory, PageDB *db);
void cluster_pages_close(ClusterPages *pages);

/* Whether a URL is of another agent, and whose. */
bool cluster_pages_is_foreign(const ClusterPages *pages, const char *url, uint16_t *owner);
/* What `ragno why --here` says there, and its exit status. Otherwise the problem is told. */
Result cluster_pages_why(ClusterPages *pages, uint16_t agent, const char *url, bool json,
                         Buffer *text, int *status);
/* The URLs of pages of an agent, by their indices there: appends those of the first *answered,
 * which is one at least, each with a NUL behind it; of a page that is not known it is empty. */
Result cluster_pages_urls(ClusterPages *pages, uint16_t agent, const uint64_t *indices, size_t n,
                          Buffer *urls, size_t *answered);
/* Asks its owner for the trail of a URL that is not known here. RESULT_NOT_FOUND: there neither. */
Result cluster_pages_trail_of(ClusterPages *pages, uint16_t agent, const char *url,
                              PageTrail *trail);
/* Follows a trail that has another agent's end, until a seed. Otherwise the problem is told. */
Result cluster_pages_follow(ClusterPages *pages, PageTrail *trail);
/* The trail of a page here, with an end as it is. */
Result cluster_pages_trail(const ClusterPages *pages, PageDB *db, MDB_txn *txn, uint64_t index,
                           PageTrail *trail);
const char *cluster_pages_problem(const ClusterPages *pages);

#endif
