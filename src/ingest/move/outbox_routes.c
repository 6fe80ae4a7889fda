#include "ingest/move/outbox_routes.h"

#include "ingest/batch/ingest_cluster.h"
#include "ingest/move/host_move.h"

#define AT_ONCE ((size_t)256 << 10) /* bytes of rows */

static Result change_links(Batch *batch, const BlockHeader *header, const void *body)
{
    IngestCluster *cluster = batch->cluster;
    LinkBlockReader reader;
    LinkRecord record;
    Result rc = RESULT_OK;
    link_block_reader_init(&reader, header, body);
    while (rc == RESULT_OK && (rc = link_block_next(&reader, &record)) == RESULT_OK) {
        uint16_t owner = ingest_cluster_owner(cluster, record.url, record.length);
        if (owner != cluster->self) {
            rc = outbox_draft_add(&cluster->draft, owner, &record);
        }
    }
    link_block_reader_destroy(&reader);
    return rc == RESULT_CLOSED ? RESULT_OK : rc == RESULT_INVALID ? RESULT_DAMAGED : rc;
}

static Result outbox_routes_change_host(Batch *batch, const BlockHeader *header, const void *body)
{
    IngestCluster *cluster = batch->cluster;
    HostMove move;
    if (host_block_read(header, body, &move) != RESULT_OK) {
        return RESULT_DAMAGED;
    }
    uint16_t owner = ingest_cluster_owner(cluster, move.origin, move.length);
    return owner == cluster->self ? RESULT_OK : host_move_put(&cluster->draft, &move, owner);
}

static Result change_rows(Batch *batch, const Buffer *rows)
{
    WireReader in = wire_reader(rows->data, rows->length);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && wire_left(&in) > 0) {
        BlockHeader header;
        const void *body = NULL;
        if (block_read(&in, &header, &body) != BLOCK_GOOD) {
            return RESULT_DAMAGED;
        }
        rc = header.kind == BLOCK_HOSTS ? outbox_routes_change_host(batch, &header, body)
                                        : change_links(batch, &header, body);
    }
    return rc;
}

Result outbox_routes_change(Batch *batch, uint32_t *from, bool *more)
{
    IngestCluster *cluster = batch->cluster;
    OutboxRange range;
    Buffer rows;
    uint16_t to = (uint16_t)*from;
    *more = false;
    if (*from >= cluster->table.n_agents) {
        return RESULT_OK;
    }
    Result rc = outbox_next_agent(&cluster->outbox, batch->txn, &to, NULL);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    *more = true;
    *from = to;
    if (cluster_table_count(&cluster->table, to) > 0) {
        *from = to + 1u;
        return RESULT_OK;
    }
    buffer_init(&rows, BUFFER_NO_LIMIT);
    rc = outbox_read(&cluster->outbox, batch->txn, to, 0, AT_ONCE, &rows, &range);
    if (rc == RESULT_OK) {
        rc = change_rows(batch, &rows);
    }
    if (rc == RESULT_OK) {
        rc = outbox_draft_delete(&cluster->draft, to, range.first, range.last, NULL);
    }
    buffer_destroy(&rows);
    return rc;
}
