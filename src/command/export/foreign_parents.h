/* Foreign parents: the URLs of pages of other agents of a cluster on which pages of this one were
 * found (cluster/link/via_table.h).
 *
 * What: reads the directories of other agents that are given, and asks those that are not. Looks
 * ahead FOREIGN_PARENTS_AHEAD pages, and asks each agent for up to
 * CLUSTER_PAGES_URLS of them with one question. An agent that does not answer is not asked again.
 * Owns: the connection, and the URLs of the pages that come next.
 * Threads: main.
 * Errors: what is not known is RESULT_NOT_FOUND, and counted. */
#ifndef COMMAND_EXPORT_FOREIGN_PARENTS_H
#define COMMAND_EXPORT_FOREIGN_PARENTS_H

#include "command/cluster/cluster_pages.h"
#include "command/export/page_export_types.h"

#define FOREIGN_PARENTS_AHEAD 4096u

typedef struct ForeignParent {
    uint64_t index; /* of the page here */
    uint16_t agent;
    uint64_t parent; /* index there */
    size_t url;      /* its place in ForeignParents.urls, plus 1; 0: not known */
} ForeignParent;

/* A directory of another agent. */
typedef struct OtherAgent {
    PageDB *db;
    uint16_t agent;
} OtherAgent;

typedef struct ForeignParents {
    ClusterPages pages;
    OtherAgent others[PAGE_EXPORT_AGENTS];
    size_t n_others;
    bool *away;   /* by agent; owned */
    uint64_t end; /* pages below were looked at */
    ForeignParent ahead[CLUSTER_PAGES_URLS];
    size_t n;
    size_t next;      /* of them */
    Buffer urls;      /* each with a NUL behind it */
    uint64_t unknown; /* pages whose parent is not known */
} ForeignParents;

/* Opens the directories of options. Of a crawl that is no agent's nothing is known, which is no
 * error. RESULT_NOT_FOUND: one of options->agents is no other agent of this crawl: told on standard
 * error. */
Result foreign_parents_open(ForeignParents *parents, const PageExportOptions *options, PageDB *db);
/* Says on standard error what is missing. */
void foreign_parents_close(ForeignParents *parents);
/* Of a page; pages are asked for in ascending order. Replaces *url. RESULT_NOT_FOUND: it was not
 * found by another agent, or its parent is not known. */
Result foreign_parents_get(ForeignParents *parents, MDB_txn *txn, uint64_t index, Buffer *url);

#endif
