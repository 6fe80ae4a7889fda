#include "store/format/page_links_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/varint.h"
#include "base/memory/array.h"

void page_links_reader_init(PageLinksReader *reader, uint64_t key, const MDB_val *record)
{
    *reader = (PageLinksReader){.p = record->mv_data,
                                .end = (const uint8_t *)record->mv_data + record->mv_size,
                                .index = key,
                                .started = false};
}

int page_links_reader_next(PageLinksReader *reader, uint64_t *index, const uint8_t **list,
                           size_t *length)
{
    if (reader->p == reader->end) {
        return 0;
    }
    const uint8_t *p = reader->p;
    uint64_t distance = 0, bytes = 0;
    if (reader->started) {
        p = varint_read(p, reader->end, &distance);
    }
    p = p == NULL ? NULL : varint_read(p, reader->end, &bytes);
    if (p == NULL || bytes > (uint64_t)(reader->end - p)) {
        return -1;
    }
    reader->started = true;
    reader->index += distance;
    *index = reader->index;
    *list = p;
    *length = (size_t)bytes;
    reader->p = p + bytes;
    return 1;
}

/* Moves to the record that holds, or would hold, the list of index: the one with the greatest key
 * that is not greater. MDB_NOTFOUND: all keys are greater, or there are none. */
static int seek_record(MDB_cursor *cursor, uint64_t index, MDB_val *key, MDB_val *record)
{
    key->mv_size = sizeof index;
    key->mv_data = &index;
    int rc = mdb_cursor_get(cursor, key, record, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) {
        return mdb_cursor_get(cursor, key, record, MDB_LAST);
    }
    if (rc != 0) {
        return rc;
    }
    uint64_t found = 0;
    memcpy(&found, key->mv_data, sizeof found);
    return found == index ? 0 : mdb_cursor_get(cursor, key, record, MDB_PREV);
}

int page_links_find(MDB_txn *txn, MDB_dbi dbi, uint64_t index, const uint8_t **list, size_t *length)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0) {
        return rc;
    }
    MDB_val key, record;
    rc = seek_record(cursor, index, &key, &record);
    if (rc == 0) {
        uint64_t first = 0, at = 0;
        memcpy(&first, key.mv_data, sizeof first);
        PageLinksReader reader;
        page_links_reader_init(&reader, first, &record);
        int more = 0;
        do {
            more = page_links_reader_next(&reader, &at, list, length);
        } while (more == 1 && at < index);
        if (more < 0) {
            rc = MDB_CORRUPTED;
        } else if (more == 0 || at != index) {
            rc = MDB_NOTFOUND;
        }
    }
    mdb_cursor_close(cursor);
    return rc;
}

typedef struct LinksItem {
    uint64_t index;
    const uint8_t *list;
    size_t length;
} LinksItem;

typedef struct LinksItems {
    LinksItem *items;
    size_t n;
} LinksItems;

static int page_links_records_add_item(LinksItems *all, uint64_t index, const uint8_t *list,
                                       size_t length)
{
    LinksItem item = {.index = index, .list = list, .length = length};
    return array_add(&all->items, &all->n, sizeof item, &item) == RESULT_OK ? 0 : ENOMEM;
}

static size_t item_bytes(const LinksItem *item)
{
    return 2 * MAX_VARINT_SIZE + item->length;
}

/* Writes a record of items[0..n). The first key of a split keeps its place, so the record
 * that was there is overwritten by the first call. */
static int page_links_records_put_record(MDB_cursor *cursor, const LinksItem *items, size_t n,
                                         Buffer *scratch)
{
    buffer_reset(scratch);
    for (size_t i = 0; i < n; i++) {
        uint8_t head[2 * MAX_VARINT_SIZE];
        uint8_t *p = head;
        if (i > 0) {
            p = varint_encode_uint64(items[i].index - items[i - 1].index, p);
        }
        p = varint_encode_uint64(items[i].length, p);
        if (buffer_append(scratch, head, (size_t)(p - head)) != RESULT_OK ||
            buffer_append(scratch, items[i].list, items[i].length) != RESULT_OK) {
            return ENOMEM;
        }
    }
    uint64_t index = items[0].index;
    MDB_val key = {sizeof index, &index};
    MDB_val value = {scratch->length, scratch->data};
    return mdb_cursor_put(cursor, &key, &value, 0);
}

/* Spreads the items over as many records as they need, evenly. */
static int put_items(MDB_cursor *cursor, const LinksItem *items, size_t n, Buffer *scratch)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += item_bytes(&items[i]);
    }
    size_t target = total <= PAGE_LINKS_RECORD_BYTES ? total : total / 2;
    target = target > PAGE_LINKS_RECORD_BYTES ? PAGE_LINKS_RECORD_BYTES : target;
    for (size_t i = 0; i < n;) {
        size_t bytes = item_bytes(&items[i]);
        size_t k = i + 1;
        while (k < n && bytes + item_bytes(&items[k]) <= target) {
            bytes += item_bytes(&items[k++]);
        }
        int rc = page_links_records_put_record(cursor, items + i, k - i, scratch);
        if (rc != 0) {
            return rc;
        }
        i = k;
    }
    return 0;
}

/* Replaces the record by as many as it takes with the list added, or replaced, in its place. The
 * items point into the old record, so it is copied first. */
static int page_links_records_spread(MDB_cursor *cursor, uint64_t first, const MDB_val *record,
                                     const LinksItem *fresh, Buffer *scratch)
{
    LinksItems all = {NULL, 0};
    uint8_t *copy = malloc(record->mv_size + 1);
    int rc = copy == NULL ? ENOMEM : 0;
    if (rc == 0) {
        memcpy(copy, record->mv_data, record->mv_size);
        MDB_val old = {record->mv_size, copy};
        PageLinksReader reader;
        page_links_reader_init(&reader, first, &old);
        LinksItem item;
        bool placed = false;
        int more = 0;
        while (rc == 0 && (more = page_links_reader_next(&reader, &item.index, &item.list,
                                                         &item.length)) == 1) {
            if (!placed && item.index >= fresh->index) {
                rc = page_links_records_add_item(&all, fresh->index, fresh->list, fresh->length);
                placed = true;
            }
            if (rc == 0 && item.index != fresh->index) {
                rc = page_links_records_add_item(&all, item.index, item.list, item.length);
            }
        }
        if (rc == 0 && !placed) {
            rc = page_links_records_add_item(&all, fresh->index, fresh->list, fresh->length);
        }
        rc = rc == 0 && more < 0 ? MDB_CORRUPTED : rc;
    }
    if (rc == 0) {
        rc = put_items(cursor, all.items, all.n, scratch);
    }
    free(all.items);
    free(copy);
    return rc;
}

/* Appends one more list; before: the index of the one before it, NULL for the first. */
static Result append_item(Buffer *record, const LinksItem *item, const uint64_t *before)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    uint8_t *p = head;
    if (before != NULL) {
        p = varint_encode_uint64(item->index - *before, p);
    }
    p = varint_encode_uint64(item->length, p);
    Result rc = buffer_append(record, head, (size_t)(p - head));
    return rc == RESULT_OK ? buffer_append(record, item->list, item->length) : rc;
}

/* Replaces the record by one with the list added, or replaced, in its place: what lies before and
 * behind it stays as it is, but for the distance to the next one. */
static int page_links_records_merge(MDB_cursor *cursor, uint64_t first, const MDB_val *record,
                                    const LinksItem *fresh, Buffer *scratch)
{
    PageLinksReader reader;
    LinksItem next = {.index = 0};
    const uint8_t *begin = record->mv_data;
    const uint8_t *behind = begin; /* what is before the list */
    uint64_t before = 0;
    int more = 0;
    page_links_reader_init(&reader, first, record);
    while ((more = page_links_reader_next(&reader, &next.index, &next.list, &next.length)) == 1 &&
           next.index < fresh->index) {
        behind = reader.p;
        before = next.index;
    }
    if (more == 1 && next.index == fresh->index) {
        more = page_links_reader_next(&reader, &next.index, &next.list, &next.length);
    }
    if (more < 0) {
        return MDB_CORRUPTED;
    }
    if (record->mv_size + item_bytes(fresh) > PAGE_LINKS_RECORD_BYTES) {
        return page_links_records_spread(cursor, first, record, fresh, scratch);
    }
    buffer_reset(scratch);
    Result rc = buffer_append(scratch, begin, (size_t)(behind - begin));
    rc = rc == RESULT_OK ? append_item(scratch, fresh, behind > begin ? &before : NULL) : rc;
    rc = rc == RESULT_OK && more == 1 ? append_item(scratch, &next, &fresh->index) : rc;
    rc = rc == RESULT_OK ? buffer_append(scratch, reader.p, (size_t)(reader.end - reader.p)) : rc;
    MDB_val key = {sizeof first, &first};
    MDB_val value = {scratch->length, scratch->data};
    return rc == RESULT_OK ? mdb_cursor_put(cursor, &key, &value, 0) : ENOMEM;
}

int page_links_writer_begin(PageLinksWriter *writer, MDB_txn *txn, MDB_dbi dbi)
{
    *writer = (PageLinksWriter){.cursor = NULL};
    buffer_init(&writer->tail, BUFFER_NO_LIMIT);
    buffer_init(&writer->scratch, BUFFER_NO_LIMIT);
    return mdb_cursor_open(txn, dbi, &writer->cursor);
}

/* Reads the last record of the table; without one the tail stays closed. */
static int open_tail(PageLinksWriter *w)
{
    MDB_val key, record;
    int rc = mdb_cursor_get(w->cursor, &key, &record, MDB_LAST);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    memcpy(&w->first, key.mv_data, sizeof w->first);
    /* The index of the last list of a record. */
    PageLinksReader reader;
    page_links_reader_init(&reader, w->first, &record);
    const uint8_t *list = NULL;
    size_t length = 0;
    int more = 0;
    do {
        more = page_links_reader_next(&reader, &w->last, &list, &length);
    } while (more == 1);
    rc = more < 0 ? MDB_CORRUPTED : 0;
    buffer_reset(&w->tail);
    if (rc == 0 && buffer_append(&w->tail, record.mv_data, record.mv_size) != RESULT_OK) {
        rc = ENOMEM;
    }
    w->open = rc == 0;
    w->stored = true;
    w->changed = false;
    return rc;
}

/* Writes the tail. It is taken out first and appended again: LMDB would split a page in the middle
 * for a record that grows, but puts one that is appended on a page of its own. */
static int close_tail(PageLinksWriter *w)
{
    bool write = w->open && w->changed;
    w->open = false;
    if (!write) {
        return 0;
    }
    int rc = 0;
    MDB_val key, value;
    if (w->stored) {
        rc = mdb_cursor_get(w->cursor, &key, &value, MDB_LAST);
        if (rc == 0) {
            rc = mdb_cursor_del(w->cursor, 0);
        }
    }
    if (rc == 0) {
        key = (MDB_val){sizeof w->first, &w->first};
        value = (MDB_val){w->tail.length, w->tail.data};
        rc = mdb_cursor_put(w->cursor, &key, &value, MDB_APPEND);
    }
    return rc;
}

/* Adds a list behind the tail, or begins a new tail with it. */
static int page_links_records_append(PageLinksWriter *w, const LinksItem *fresh)
{
    uint8_t head[2 * MAX_VARINT_SIZE];
    uint8_t *p = head;
    if (w->open) {
        p = varint_encode_uint64(fresh->index - w->last, p);
    }
    p = varint_encode_uint64(fresh->length, p);
    size_t more = (size_t)(p - head) + fresh->length;
    if (!w->open || w->tail.length + more > PAGE_LINKS_RECORD_BYTES) {
        int rc = close_tail(w);
        if (rc != 0) {
            return rc;
        }
        p = varint_encode_uint64(fresh->length, head);
        buffer_reset(&w->tail);
        w->first = fresh->index;
        w->open = true;
        w->stored = false;
    }
    w->last = fresh->index;
    w->changed = true;
    if (buffer_append(&w->tail, head, (size_t)(p - head)) != RESULT_OK ||
        buffer_append(&w->tail, fresh->list, fresh->length) != RESULT_OK) {
        return ENOMEM;
    }
    return 0;
}

/* Puts a list among those that are there. */
static int insert(PageLinksWriter *w, const LinksItem *fresh)
{
    MDB_val key, record;
    int rc = seek_record(w->cursor, fresh->index, &key, &record);
    if (rc == MDB_NOTFOUND) {
        return page_links_records_put_record(w->cursor, fresh, 1, &w->scratch);
    }
    if (rc != 0) {
        return rc;
    }
    uint64_t first = 0;
    memcpy(&first, key.mv_data, sizeof first);
    return page_links_records_merge(w->cursor, first, &record, fresh, &w->scratch);
}

int page_links_writer_put(PageLinksWriter *writer, uint64_t index, const uint8_t *list,
                          size_t length)
{
    LinksItem fresh = {.index = index, .list = list, .length = length};
    if (!writer->open) {
        int rc = open_tail(writer);
        if (rc != 0) {
            return rc;
        }
    }
    if (!writer->open || index > writer->last) {
        return page_links_records_append(writer, &fresh);
    }
    int rc = close_tail(writer);
    return rc == 0 ? insert(writer, &fresh) : rc;
}

int page_links_writer_end(PageLinksWriter *writer, int rc)
{
    if (rc == 0) {
        rc = close_tail(writer);
    }
    mdb_cursor_close(writer->cursor);
    buffer_destroy(&writer->tail);
    buffer_destroy(&writer->scratch);
    return rc;
}
