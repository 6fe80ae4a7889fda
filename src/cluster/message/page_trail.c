#include "cluster/message/page_trail.h"

#include <string.h>

#include "store/pages/page_db_read.h"
#include "cluster/wire/link_block.h"

void page_trail_init(PageTrail *trail)
{
    *trail = (PageTrail){.end = TRAIL_SEED};
    buffer_init(&trail->urls, BUFFER_NO_LIMIT);
}

void page_trail_destroy(PageTrail *trail)
{
    buffer_destroy(&trail->urls);
}

static Result page_trail_add(PageTrail *trail, const void *url, size_t length)
{
    size_t before = trail->urls.length;
    Result rc = buffer_append(&trail->urls, url, length);
    rc = rc == RESULT_OK ? buffer_append_char(&trail->urls, '\0') : rc;
    if (rc != RESULT_OK) {
        trail->urls.length = before;
        return rc;
    }
    trail->n++;
    return RESULT_OK;
}

/* Where a page came from that no page here links to by its best path. */
static Result find_origin(PageTrail *trail, MDB_txn *txn, const MDB_dbi *vias, uint64_t index)
{
    Via via;
    trail->end = TRAIL_SEED;
    Result rc = vias == NULL ? RESULT_NOT_FOUND : via_table_get(*vias, txn, index, &via);
    if (rc == RESULT_OK && via.parent != LINK_NO_PARENT) {
        trail->end = TRAIL_AGENT;
        trail->agent = via.agent;
        trail->index = via.parent;
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result page_trail_read(PageTrail *trail, PageDB *db, MDB_txn *txn, const MDB_dbi *vias,
                       uint64_t index)
{
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    PageRef page;
    size_t steps = trail->n + TRAIL_STEPS;
    size_t bytes = trail->urls.length + TRAIL_BYTES;
    Result rc = RESULT_OK;
    trail->end = TRAIL_MORE;
    for (trail->index = index; rc == RESULT_OK && trail->end == TRAIL_MORE && trail->n < steps &&
                               trail->urls.length < bytes;) {
        int code = page_db_get(db, txn, trail->index, &page, &url);
        rc = code == page_db_error_ok        ? page_trail_add(trail, page.url, page.url_length)
             : code == page_db_error_no_page ? RESULT_NOT_FOUND
                                             : RESULT_DAMAGED;
        if (rc == RESULT_OK && page.linked_from == PAGE_DB_NO_INDEX) {
            rc = find_origin(trail, txn, vias, trail->index);
        } else if (rc == RESULT_OK) {
            trail->index = page.linked_from;
        }
    }
    buffer_destroy(&url);
    return rc;
}

void page_trail_put(WireWriter *writer, Result read, const PageTrail *trail)
{
    bool found = read == RESULT_OK && trail->n > 0;
    wire_put_8(writer, found ? 1 : 0);
    if (found) {
        wire_put_8(writer, (uint8_t)trail->end);
        wire_put_16(writer, trail->agent);
        wire_put_64(writer, trail->index);
        wire_put_32(writer, (uint32_t)trail->n);
        wire_put_string(writer, trail->urls.data, trail->urls.length);
    }
}

/* A number of texts, each with its end. */
static bool are_texts(const uint8_t *bytes, size_t length, size_t n)
{
    size_t ends = 0;
    for (size_t i = 0; i < length; i++) {
        ends += bytes[i] == '\0';
    }
    return n > 0 && ends == n && bytes[length - 1] == '\0';
}

Result page_trail_get(WireReader *reader, PageTrail *trail)
{
    uint8_t found = wire_get_8(reader);
    if (found == 0) {
        return wire_reader_ended(reader) ? RESULT_NOT_FOUND : RESULT_INVALID;
    }
    uint8_t end = wire_get_8(reader);
    uint16_t agent = wire_get_16(reader);
    uint64_t index = wire_get_64(reader);
    size_t n = wire_get_32(reader);
    size_t length = 0;
    const uint8_t *urls = wire_get_string(reader, &length);
    if (!wire_reader_ended(reader) || end > TRAIL_MORE || !are_texts(urls, length, n)) {
        return RESULT_INVALID;
    }
    Result rc = buffer_append(&trail->urls, urls, length);
    if (rc == RESULT_OK) {
        trail->n += n;
        trail->end = (TrailEnd)end;
        trail->agent = agent;
        trail->index = index;
    }
    return rc;
}
