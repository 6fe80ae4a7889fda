/* Page trail: the pages by which one agent came to a page, and who knows how it began.
 *
 *   page <- page <- page    TRAIL_SEED: that was given to the crawl
 *                           TRAIL_AGENT: that another agent found, on a page of its own
 *
 * What: read from one database, and sent to whoever asks (NODE_ASK_PAGE). A trail has TRAIL_STEPS
 * pages and about TRAIL_BYTES at most; a longer one says where it goes on (TRAIL_MORE).
 * Owns: its URLs.
 * Threads: one.
 * Errors: RESULT_NOT_FOUND: there is no such page; RESULT_INVALID: not a trail; RESULT_DAMAGED,
 * RESULT_IO, RESULT_MEMORY. */
#ifndef CLUSTER_MESSAGE_PAGE_TRAIL_H
#define CLUSTER_MESSAGE_PAGE_TRAIL_H

#include "cluster/link/via_table.h"
#include "cluster/wire/wire.h"
#include "store/pages/page_db.h"

#define TRAIL_STEPS 1024u
#define TRAIL_BYTES ((size_t)64 << 10)

typedef enum TrailEnd { TRAIL_SEED, TRAIL_AGENT, TRAIL_MORE } TrailEnd;

typedef struct PageTrail {
    Buffer urls; /* each with a NUL behind it, the page first, then who linked to it, ... */
    size_t n;
    TrailEnd end;
    uint16_t agent; /* TRAIL_AGENT */
    uint64_t index; /* TRAIL_AGENT: of the page there; TRAIL_MORE: of the next page here */
} PageTrail;

void page_trail_init(PageTrail *trail);
void page_trail_destroy(PageTrail *trail);
/* Appends the trail of a page to what is there. vias: NULL = one agent alone. */
Result page_trail_read(PageTrail *trail, PageDB *db, MDB_txn *txn, const MDB_dbi *vias,
                       uint64_t index);
/* What came of page_trail_read, as an answer. */
void page_trail_put(WireWriter *writer, Result read, const PageTrail *trail);
/* Appends the trail of an answer. */
Result page_trail_get(WireReader *reader, PageTrail *trail);

#endif
