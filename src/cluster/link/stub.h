/* Stub: a page that this agent knows and another agent owns.
 *
 * What: every link needs the index of its target. So the target of a link to another agent's host
 * is a page in PageDB, with this mark in its flags and nothing else: it is never scheduled, it has
 * no host record, and its URL was sent to its owner (outbox.h). When the slot of its host moves to
 * this agent, the mark is removed and the page is scheduled, unless it is done. A page that was
 * crawled here keeps what is known of it when its host moves to another agent; it only gets the
 * mark. */
#pragma once

#include <lmdb.h>

#include "base/core/result.h"
#include "store/records/page_ref.h"

#define STUB_FLAG 1u
/* Of a page that was not crawled here: an agent that had its host before has fetched it, or given
 * it up. (The bit has another meaning for pages that were crawled, page/parsed_page.h.) */
#define DONE_FLAG 2u

static inline bool page_is_stub(const PageRef *page)
{
    return (page->flags & STUB_FLAG) != 0;
}

/* Whether it is never to be fetched again as a new page, here or elsewhere. */
static inline bool page_is_done(const PageRef *page)
{
    return page->n_crawls > 0 || (page->flags & DONE_FLAG) != 0;
}

/* Via table: for pages that another agent found, that agent and its page with the link.
 *
 * What: LMDB table "vias". Key: page index (64 bits, in the byte order of the machine). Value:
 * agent (16 bits), redirects (8), index of the parent at that agent (48), little-endian. An entry
 * counts for a page that has no parent here (PageRef.linked_from is PAGE_DB_NO_INDEX); a better
 * path that was found here takes precedence.
 * Owns: nothing; the handle is the environment's.
 * Threads: the one with the write transaction writes; readers bring a transaction of their own.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */

typedef struct Via {
    uint16_t agent;
    uint8_t redirects; /* that lead to the page in a row, through the agents before */
    uint64_t parent;   /* index in that agent's database; LINK_NO_PARENT: it is a seed there */
} Via;

/* As outbox_open. */
Result via_table_open(MDB_dbi *table, MDB_txn *txn);
/* Adds or replaces; indices that grow are appended. */
Result via_table_put(MDB_dbi table, MDB_txn *txn, uint64_t index, const Via *via);
/* RESULT_NOT_FOUND. */
Result via_table_get(MDB_dbi table, MDB_txn *txn, uint64_t index, Via *via);
