#include "ingest/chore/inbox_chore.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "ingest/move/page_move.h"
#include "ingest/page/page_way.h"

#define RECORDS_AT_ONCE 8192u /* they are looked up in one sweep */
#define ARENA_BYTES     ((size_t)256 << 10)

struct InboxChore {
    Inbox *inbox;
    IngestCluster *cluster;
    Arena urls; /* of the records */
    LinkRecord *records;
    size_t n;
    Url url; /* scratch */
};

InboxChore *inbox_chore_new(Inbox *inbox, IngestCluster *cluster)
{
    InboxChore *chore = calloc(1, sizeof *chore);
    if (chore != NULL) {
        chore->inbox = inbox;
        chore->cluster = cluster;
        arena_init(&chore->urls, ARENA_BYTES, SIZE_MAX);
        url_init(&chore->url);
    }
    return chore;
}

void inbox_chore_delete(InboxChore *chore)
{
    if (chore != NULL) {
        arena_destroy(&chore->urls);
        url_destroy(&chore->url);
        free(chore->records);
        free(chore);
    }
}

/* ---- records ---- */

/* Text as this crawl would have written it, too: a URL, or with `more` bytes behind it one. */
static bool is_normal(InboxChore *chore, const char *text, size_t length, size_t more)
{
    return url_parse(&chore->url, NULL, text, length) == RESULT_OK &&
           chore->url.length == length + more && memcmp(chore->url.href, text, length) == 0;
}

static BlockFault inbox_chore_judge(InboxChore *chore, const BlockHeader *header,
                                    const LinkRecord *record)
{
    IngestCluster *cluster = chore->cluster;
    if (!is_normal(chore, record->url, record->length, 0)) {
        return BLOCK_RECORD;
    }
    bool same_table = header->epoch == (uint32_t)cluster->table.epoch;
    bool ours = ingest_cluster_owner(cluster, record->url, record->length) == cluster->self;
    return same_table && !ours ? BLOCK_SLOT : BLOCK_GOOD;
}

/* Appends the records of one block. */
static Result inbox_chore_read_block(InboxChore *chore, const Batch *batch,
                                     const BlockHeader *header, const void *body, BlockFault *fault)
{
    LinkBlockReader reader;
    LinkRecord record;
    Result rc = RESULT_OK;
    link_block_reader_init(&reader, header, body);
    while (*fault == BLOCK_GOOD && (rc = link_block_next(&reader, &record)) == RESULT_OK) {
        *fault = inbox_chore_judge(chore, header, &record);
        if (batch->admission != NULL &&
            admission_forgot(batch->admission, record.url, record.length)) {
            continue; /* its sender had it from before */
        }
        record.url = arena_copy(&chore->urls, record.url, record.length);
        if (record.url == NULL ||
            array_add(&chore->records, &chore->n, sizeof record, &record) != RESULT_OK) {
            rc = RESULT_MEMORY;
            break;
        }
    }
    link_block_reader_destroy(&reader);
    if (rc == RESULT_INVALID) {
        *fault = BLOCK_RECORD;
    }
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

/* A host that moves: here, or by an older or newer table to a third agent. */
static Result read_host(InboxChore *chore, Batch *batch, const BlockHeader *header,
                        const void *body, BlockFault *fault)
{
    HostMove move;
    IngestCluster *cluster = chore->cluster;
    if (host_block_read(header, body, &move) != RESULT_OK ||
        !is_normal(chore, move.origin, move.length, sizeof "/" - 1)) {
        *fault = BLOCK_RECORD;
        return RESULT_OK;
    }
    uint16_t owner = ingest_cluster_owner(cluster, move.origin, move.length);
    return owner == cluster->self ? host_move_take(batch, &move)
                                  : host_move_put(&cluster->draft, &move, owner);
}

/* Appends the records of an item; of one that is refused none. */
static Result read_item(InboxChore *chore, Batch *batch, InboxItem *item)
{
    WireReader in = wire_reader(item->blocks, item->length);
    size_t before = chore->n;
    unsigned blocks = 0;
    Result rc = RESULT_OK;
    /* What is sent to an agent that gives all its slots away would keep it from ever being empty.
     */
    bool is_drained = cluster_table_share(&chore->cluster->table, chore->cluster->self).owned == 0;
    item->fault = is_drained ? BLOCK_DRAINED : BLOCK_GOOD;
    while (rc == RESULT_OK && item->fault == BLOCK_GOOD && wire_left(&in) > 0) {
        BlockHeader header;
        const void *body = NULL;
        item->fault = block_read(&in, &header, &body);
        if (item->fault == BLOCK_GOOD) {
            rc = header.kind == BLOCK_HOSTS
                     ? read_host(chore, batch, &header, body, &item->fault)
                     : inbox_chore_read_block(chore, batch, &header, body, &item->fault);
            blocks++;
        }
    }
    if (item->fault == BLOCK_GOOD && blocks != item->envelope.blocks) {
        item->fault = BLOCK_LENGTH;
    }
    chore->n = item->fault == BLOCK_GOOD ? chore->n : before;
    return rc;
}

/* ---- pages ---- */

static Result inbox_chore_discover(InboxChore *chore, Batch *batch)
{
    PageSink sink = ingest_sink(batch);
    PageDiscovery *found = arena_alloc(&chore->urls, chore->n * sizeof *found);
    Result rc = ingest_spell_records(batch, chore->records, chore->n);
    if (rc != RESULT_OK || chore->n == 0 || found == NULL) {
        return rc == RESULT_OK && chore->n > 0 ? RESULT_MEMORY : rc;
    }
    for (size_t i = 0; i < chore->n; i++) {
        const LinkRecord *record = &chore->records[i];
        found[i] = (PageDiscovery){.url = record->url,
                                   .length = record->length,
                                   .score = record->score,
                                   .hop = record->hop,
                                   .depth = record->depth};
    }
    ingest_cluster_arrive(chore->cluster, chore->records, chore->n);
    rc = batch_result_of(
        batch, page_db_discover_each(batch->store->db, batch->txn, found, chore->n, &sink));
    ingest_cluster_arrive(chore->cluster, NULL, 0);
    batch->shared.urls_taken += chore->n;
    for (size_t i = 0; rc == RESULT_OK && i < chore->n; i++) {
        rc = chore->records[i].done ? page_move_finish(batch, &chore->records[i]) : RESULT_OK;
    }
    return rc;
}

/* Some items, their URLs together. *more: something was taken. */
static Result take_some(InboxChore *chore, Batch *batch, bool *more)
{
    InboxItem *item = NULL;
    Result rc = RESULT_OK;
    chore->n = 0;
    *more = false;
    while (rc == RESULT_OK && chore->n < RECORDS_AT_ONCE &&
           (item = inbox_take(chore->inbox)) != NULL) {
        *more = true;
        rc = read_item(chore, batch, item);
        if (rc == RESULT_OK && item->fault == BLOCK_GOOD) {
            rc = peer_mark_take(batch->txn, batch->store->crawl, item->envelope.from, &item->taken);
        }
        batch->shared.blocks_taken += item->fault == BLOCK_GOOD ? item->envelope.blocks : 0;
    }
    if (rc == RESULT_OK) {
        rc = inbox_chore_discover(chore, batch);
    }
    arena_reset(&chore->urls);
    return rc;
}

/* ---- the chore ---- */

static MonoTime inbox_chore_due(void *context)
{
    const InboxChore *chore = context;
    return inbox_is_empty(chore->inbox) ? MONO_NEVER : (MonoTime){0};
}

static Result inbox_chore_run(void *context, Batch *batch, MonoTime until)
{
    InboxChore *chore = context;
    bool more = true;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && more) {
        rc = take_some(chore, batch, &more);
        more = more && mono_before(mono_now(), until);
    }
    return rc;
}

static void inbox_chore_ended(void *context, Result rc)
{
    InboxChore *chore = context;
    inbox_settle(chore->inbox, rc == RESULT_OK);
}

IngestChore inbox_chore(InboxChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = inbox_chore_due,
                         .run = inbox_chore_run,
                         .ended = inbox_chore_ended,
                         .rides = true};
}

/* ---- table chore ---- */

void table_chore_init(TableChore *chore, IngestCluster *cluster)
{
    *chore = (TableChore){.cluster = cluster};
    mutex_init(&chore->mutex, RANK_TABLE);
}

void table_chore_destroy(TableChore *chore)
{
    cluster_table_destroy(&chore->next);
    cluster_table_destroy(&chore->taken);
    mutex_destroy(&chore->mutex);
}

Result table_chore_tell(TableChore *chore, const ClusterTable *table)
{
    mutex_lock(&chore->mutex);
    Result rc =
        table->epoch > chore->next.epoch ? cluster_table_copy(&chore->next, table) : RESULT_OK;
    mutex_unlock(&chore->mutex);
    return rc;
}

static bool waits(TableChore *chore)
{
    mutex_lock(&chore->mutex);
    bool newer = chore->next.epoch > chore->cluster->table.epoch;
    mutex_unlock(&chore->mutex);
    return newer;
}

static MonoTime table_chore_due(void *context)
{
    return !waits(context) ? MONO_NEVER : (MonoTime){0};
}

static Result table_chore_run(void *context, Batch *batch, MonoTime until)
{
    TableChore *chore = context;
    (void)until;
    mutex_lock(&chore->mutex);
    Result rc = cluster_table_copy(&chore->taken, &chore->next);
    mutex_unlock(&chore->mutex);
    return rc == RESULT_OK ? ingest_cluster_write_table(chore->cluster, batch->txn,
                                                        batch->store->crawl, &chore->taken)
                           : rc;
}

/* Without memory the older table decides until the next commit. */
static void table_chore_ended(void *context, Result rc)
{
    TableChore *chore = context;
    if (rc == RESULT_OK && cluster_table_copy(&chore->cluster->table, &chore->taken) == RESULT_OK) {
        ClusterTable *copy = calloc(1, sizeof *copy);
        if (copy != NULL && cluster_table_copy(copy, &chore->taken) == RESULT_OK) {
            ingest_cluster_note(chore->cluster, (NodeNote){.kind = NODE_TABLE, .table = copy});
        } else {
            free(copy);
        }
    }
}

IngestChore table_chore(TableChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = table_chore_due,
                         .run = table_chore_run,
                         .ended = table_chore_ended,
                         .nothing_to_fetch = true,
                         .rides = true};
}

/* ---- acks chore ---- */

#define AT_ONCE  4096u
#define ACKS_MS  1000 /* they are gathered for so long: a commit costs more than all of them */
#define ACKS_FEW 256u /* more are not */

void acks_chore_init(AcksChore *chore, IngestCluster *cluster)
{
    *chore = (AcksChore){.cluster = cluster, .due = MONO_NEVER};
    tray_init(&chore->ranges, sizeof(AckRange));
}

bool acks_chore_tell(AcksChore *chore, const AckRange *range)
{
    bool is_first = false;
    (void)tray_put(&chore->ranges, range, &is_first);
    return is_first;
}

/* The first that is met says when; what is left over of a piece is due at once. */
static MonoTime acks_chore_due(void *context)
{
    AcksChore *chore = context;
    size_t n = tray_count(&chore->ranges);
    if (n == 0) {
        chore->due = MONO_NEVER;
    } else if (chore->due.ns == MONO_NEVER.ns) {
        chore->due = mono_add_ms(mono_now(), ACKS_MS);
    }
    if (n > ACKS_FEW) {
        return (MonoTime){0};
    }
    return chore->due;
}

static Result acks_chore_run(void *context, Batch *batch, MonoTime until)
{
    AcksChore *chore = context;
    AckRange range;
    Result rc = RESULT_OK;
    chore->n_taken = 0;
    while (rc == RESULT_OK && chore->n_taken < AT_ONCE && mono_before(mono_now(), until) &&
           tray_get(&chore->ranges, chore->n_taken, &range)) {
        rc = outbox_draft_delete(&chore->cluster->draft, range.to, range.first, range.last, NULL);
        if (rc == RESULT_OK) {
            rc = peer_mark_hear(batch->txn, batch->store->crawl, range.to, range.heard);
        }
        batch->shared.blocks_answered += range.blocks;
        chore->n_taken++;
    }
    return rc;
}

static void acks_chore_ended(void *context, Result rc)
{
    AcksChore *chore = context;
    if (rc == RESULT_OK) {
        tray_drop(&chore->ranges, chore->n_taken);
    }
    chore->n_taken = 0;
}

static bool acks_chore_holds(void *context)
{
    AcksChore *chore = context;
    return tray_count(&chore->ranges) > 0 || ingest_cluster_outbox_blocks(chore->cluster) > 0;
}

IngestChore acks_chore(AcksChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = acks_chore_due,
                         .run = acks_chore_run,
                         .ended = acks_chore_ended,
                         .holds = acks_chore_holds,
                         .rides = true};
}
