/* Cluster pages: what other agents of the cluster know of a page, for commands that look into one
 * agent's directory.
 *
 * What: the directory says which agent it is and whose a host is; the others are asked over NATS,
 * by the [cluster] section that the crawl was last started with. Nothing is connected to before it
 * is needed, and an agent that does not answer within seconds is said not to.
 * Owns: the table, the connection.
 * Threads: main.
 * Errors: cluster_pages_problem has a sentence. */
#pragma once

#include <stdio.h>

#include "command/cluster/cluster_client.h"

#define CLUSTER_PAGES_TURNS 64u /* questions for one path at most */

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
/* A trail: the pages by which an agent came to a page, and who knows how it began.
 *
 *   page <- page <- page    the last one was given to the crawl
 *                           is_cut: another agent found it, on a page of its own */
typedef struct PageTrail {
    Buffer urls; /* each with a NUL behind it, the page first, then who linked to it, ... */
    size_t n;
    bool is_cut;
    uint16_t agent; /* who knows the rest, and */
    uint64_t index; /* the page there that has the link */
} PageTrail;

#define PAGE_TRAIL_CUT "agent %u page %llu" /* the first line of one that is cut */

void page_trail_destroy(PageTrail *trail);
/* In the order in which it was crawled; the page is the last line. */
void page_trail_print(const PageTrail *trail, FILE *out);
/* Appends the trail of a page here. RESULT_NOT_FOUND, RESULT_DAMAGED, RESULT_MEMORY. */
Result cluster_pages_trail(const ClusterPages *pages, PageDB *db, MDB_txn *txn, uint64_t index,
                           PageTrail *trail);
/* The same at another agent (`ragno db path --here` there). what: a URL, or the number of a page
 * there with '#'. Otherwise the problem is told. */
Result cluster_pages_trail_of(ClusterPages *pages, uint16_t agent, const char *what,
                              PageTrail *trail);
/* Asks those who know the rest, until a seed. Otherwise the problem is told. */
Result cluster_pages_follow(ClusterPages *pages, PageTrail *trail);
const char *cluster_pages_problem(const ClusterPages *pages);
