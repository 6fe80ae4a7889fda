#include "cluster/link/outbox.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/link/kept.h"
#include "store/lmdb/lmdb_result.h"

#define TABLE         "outbox"
#define KEY_BYTES     8u
#define SEQUENCE_BITS 48u
#define KEPT_BYTES    ((size_t)64 << 10) /* of a writer, from draft to draft */

static uint64_t outbox_key_of(uint16_t to, uint64_t sequence)
{
    return htobe64((uint64_t)to << SEQUENCE_BITS | sequence);
}

static uint64_t outbox_read_key(const MDB_val *key)
{
    uint64_t bytes = 0;
    memcpy(&bytes, key->mv_data, sizeof bytes);
    return be64toh(bytes);
}

static uint16_t agent_of(uint64_t key)
{
    return (uint16_t)(key >> SEQUENCE_BITS);
}

static uint64_t sequence_of(uint64_t key)
{
    return key & ((UINT64_C(1) << SEQUENCE_BITS) - 1);
}

Result outbox_open(Outbox *outbox, MDB_txn *txn, MDB_dbi crawl)
{
    outbox->crawl = crawl;
    return lmdb_table_open(&outbox->table, txn, TABLE, MDB_CREATE);
}

/* ---- the state ---- */

static const WireField state_fields[] = {WIRE_FIELD(OutboxState, next, 8, UINT64_MAX),
                                         WIRE_FIELD(OutboxState, blocks, 8, UINT64_MAX),
                                         WIRE_FIELD(OutboxState, bytes, 8, UINT64_MAX)};
static const WireRecord outbox_state = WIRE_RECORD(OutboxState, state_fields);

Result outbox_read_state(const Outbox *outbox, MDB_txn *txn, OutboxState *state)
{
    *state = (OutboxState){.next = 1};
    Result rc = kept_get_record(txn, outbox->crawl, OUTBOX_STATE_KEY, &outbox_state, state);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* ---- writing ---- */

void outbox_draft_init(OutboxDraft *draft, const Outbox *outbox)
{
    *draft = (OutboxDraft){.outbox = *outbox};
    map_init(&draft->pages);
}

void outbox_draft_destroy(OutboxDraft *draft)
{
    size_t place = 0;
    OutboxPage *page = NULL;
    while ((page = map_next(&draft->pages, &place)) != NULL) {
        link_block_writer_destroy(&page->writer);
        free(page);
    }
    map_destroy(&draft->pages);
}

Result outbox_draft_begin(OutboxDraft *draft, MDB_txn *txn, uint32_t epoch)
{
    draft->txn = txn;
    draft->epoch = epoch;
    draft->changed = false;
    return outbox_read_state(&draft->outbox, txn, &draft->state);
}

static OutboxPage *page_of(OutboxDraft *draft, uint16_t to)
{
    if (draft->last != NULL && draft->last->to == to) {
        return draft->last;
    }
    size_t before = draft->pages.count;
    OutboxPage *page = map_get_or_new(&draft->pages, map_key(to + UINT64_C(1)), sizeof *page);
    if (draft->pages.count > before) {
        page->to = to;
        link_block_writer_init(&page->writer);
    }
    draft->last = page;
    return page;
}

static Result outbox_put_row(OutboxDraft *draft, uint16_t to, const void *block, size_t length)
{
    uint64_t number = outbox_key_of(to, draft->state.next);
    Result rc = lmdb_put(draft->txn, draft->outbox.table, lmdb_bytes(&number, KEY_BYTES),
                         lmdb_bytes(block, length), "write the outbox");
    if (rc == RESULT_OK) {
        draft->state.next++;
        draft->state.blocks++;
        draft->state.bytes += length;
        draft->changed = true;
    }
    return rc;
}

/* What was appended becomes a row. */
static Result outbox_close_block(OutboxDraft *draft, OutboxPage *page)
{
    Result rc = link_block_finish(&page->writer, draft->epoch);
    if (rc == RESULT_OK) {
        rc = outbox_put_row(draft, page->to, page->writer.block.data, page->writer.block.length);
    }
    page->bytes += page->writer.block.length;
    link_block_writer_reset(&page->writer);
    return rc;
}

Result outbox_draft_add(OutboxDraft *draft, uint16_t to, const LinkRecord *record)
{
    OutboxPage *page = page_of(draft, to);
    if (page == NULL) {
        return RESULT_MEMORY;
    }
    page->used = true;
    Result rc = link_block_append(&page->writer, record);
    if (rc == RESULT_LIMIT) {
        rc = outbox_close_block(draft, page);
        if (rc == RESULT_OK) {
            rc = link_block_append(&page->writer, record);
        }
    }
    if (rc == RESULT_OK && page->writer.block.length >= OUTBOX_BLOCK_BYTES) {
        rc = outbox_close_block(draft, page);
    }
    return rc;
}

Result outbox_draft_put(OutboxDraft *draft, uint16_t to, const void *block, size_t length)
{
    OutboxPage *page = page_of(draft, to);
    if (page == NULL) {
        return RESULT_MEMORY;
    }
    page->used = true;
    page->bytes += length;
    return outbox_put_row(draft, to, block, length);
}

Result outbox_draft_delete(OutboxDraft *draft, uint16_t to, uint64_t first, uint64_t last,
                           uint64_t *n)
{
    uint64_t number = outbox_key_of(to, first);
    uint64_t end = (uint64_t)to << SEQUENCE_BITS | last;
    uint64_t deleted = 0;
    LmdbRows rows;
    lmdb_rows_begin(&rows, draft->txn, draft->outbox.table, lmdb_bytes(&number, KEY_BYTES));
    while (lmdb_rows_next(&rows) && outbox_read_key(&rows.key) <= end) {
        size_t length = rows.value.mv_size;
        draft->state.blocks -= draft->state.blocks > 0;
        draft->state.bytes -= draft->state.bytes < length ? draft->state.bytes : length;
        draft->changed = true;
        deleted++;
        lmdb_rows_delete(&rows, 0); /* the next one is the one behind it */
    }
    if (n != NULL) {
        *n = deleted;
    }
    return lmdb_rows_end(&rows, RESULT_OK, "delete from the outbox");
}

Result outbox_draft_finish(OutboxDraft *draft)
{
    size_t place = 0;
    OutboxPage *page = NULL;
    while ((page = map_next(&draft->pages, &place)) != NULL) {
        bool open = page->used && page->writer.records > 0;
        Result rc = open ? outbox_close_block(draft, page) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return draft->changed ? kept_put_record(draft->txn, draft->outbox.crawl, OUTBOX_STATE_KEY,
                                            &outbox_state, &draft->state)
                          : RESULT_OK;
}

void outbox_draft_end(OutboxDraft *draft)
{
    size_t place = 0;
    OutboxPage *page = NULL;
    while ((page = map_next(&draft->pages, &place)) != NULL) {
        if (page->used) {
            page->used = false;
            page->bytes = 0;
            link_block_writer_reset(&page->writer);
            buffer_trim(&page->writer.block, KEPT_BYTES);
        }
    }
    draft->txn = NULL;
    draft->changed = false;
}

bool outbox_draft_grown(const OutboxDraft *draft, size_t *place, uint16_t *to, size_t *bytes)
{
    const OutboxPage *page = NULL;
    while ((page = map_next(&draft->pages, place)) != NULL) {
        if (page->used && page->bytes > 0) {
            *to = page->to;
            *bytes = page->bytes;
            return true;
        }
    }
    return false;
}

/* ---- reading ---- */

Result outbox_read(const Outbox *outbox, MDB_txn *txn, uint16_t to, uint64_t from, size_t most,
                   Buffer *blocks, OutboxRange *range)
{
    uint64_t number = outbox_key_of(to, from);
    LmdbRows rows;
    Result rc = RESULT_OK;
    *range = (OutboxRange){.blocks = 0};
    buffer_reset(blocks);
    lmdb_rows_begin(&rows, txn, outbox->table, lmdb_bytes(&number, KEY_BYTES));
    while (range->blocks < UINT16_MAX && lmdb_rows_next(&rows) &&
           agent_of(outbox_read_key(&rows.key)) == to &&
           (range->blocks == 0 || blocks->length + rows.value.mv_size <= most)) {
        range->last = sequence_of(outbox_read_key(&rows.key));
        range->first = range->blocks == 0 ? range->last : range->first;
        range->blocks++;
        rc = buffer_append(blocks, rows.value.mv_data, rows.value.mv_size);
        if (rc != RESULT_OK) {
            break;
        }
    }
    rc = lmdb_rows_end(&rows, rc, "read the outbox");
    return rc == RESULT_OK && range->blocks == 0 ? RESULT_NOT_FOUND : rc;
}

Result outbox_next_agent(const Outbox *outbox, MDB_txn *txn, uint16_t *to, uint64_t *sequence)
{
    uint64_t number = outbox_key_of(*to, 0);
    LmdbRows rows;
    lmdb_rows_begin(&rows, txn, outbox->table, lmdb_bytes(&number, KEY_BYTES));
    bool found = lmdb_rows_next(&rows);
    if (found) {
        *to = agent_of(outbox_read_key(&rows.key));
        if (sequence != NULL) {
            *sequence = sequence_of(outbox_read_key(&rows.key));
        }
    }
    Result rc = lmdb_rows_end(&rows, RESULT_OK, "read the outbox");
    return rc == RESULT_OK && !found ? RESULT_NOT_FOUND : rc;
}
