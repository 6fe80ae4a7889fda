#include "store/format/page_packs.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define HEAD_BYTES 2
#define WIDE       4
#define NARROW     2

size_t page_pack_count(const MDB_val *pack)
{
    const uint8_t *p = pack->mv_data;
    if (pack->mv_size < HEAD_BYTES || p[0] == 0 || p[0] > PAGE_PACK_RECORDS ||
        (p[1] != NARROW && p[1] != WIDE) || pack->mv_size < HEAD_BYTES + (size_t)p[0] * p[1]) {
        return 0;
    }
    return p[0];
}

static size_t page_packs_end_of(const uint8_t *ends, unsigned width, size_t slot)
{
    if (width == NARROW) {
        uint16_t end = 0;
        memcpy(&end, ends + slot * NARROW, sizeof end);
        return le16toh(end);
    }
    uint32_t end = 0;
    memcpy(&end, ends + slot * WIDE, sizeof end);
    return le32toh(end);
}

bool page_pack_record(const MDB_val *pack, size_t slot, MDB_val *record)
{
    size_t n = page_pack_count(pack);
    if (slot >= n) {
        return false;
    }
    uint8_t *p = pack->mv_data;
    unsigned width = p[1];
    uint8_t *records = p + HEAD_BYTES + n * width;
    size_t start = slot == 0 ? 0 : page_packs_end_of(p + HEAD_BYTES, width, slot - 1);
    size_t end = page_packs_end_of(p + HEAD_BYTES, width, slot);
    if (start > end || end > pack->mv_size - (size_t)(records - p)) {
        return false;
    }
    *record = (MDB_val){end - start, records + start};
    return true;
}

int page_pack_find(MDB_txn *txn, MDB_dbi dbi, Journal *journal, uint64_t index, MDB_val *record)
{
    uint64_t number = index / PAGE_PACK_RECORDS;
    MDB_val key = {sizeof number, &number};
    MDB_val pack;
    int rc = journal_get(journal, txn, JOURNAL_PAGES, index, record);
    if (rc != MDB_NOTFOUND) {
        return rc;
    }
    rc = mdb_get(txn, dbi, &key, &pack);
    if (rc != 0) {
        return rc;
    }
    if (!page_pack_record(&pack, index % PAGE_PACK_RECORDS, record)) {
        return page_pack_count(&pack) == 0 ? MDB_CORRUPTED : MDB_NOTFOUND;
    }
    return 0;
}

int page_pack_editor_begin(PagePackEditor *editor, MDB_txn *txn, MDB_dbi dbi, Journal *journal)
{
    *editor = (PagePackEditor){.txn = txn, .journal = journal};
    buffer_init(&editor->bytes, BUFFER_NO_LIMIT);
    buffer_init(&editor->scratch, BUFFER_NO_LIMIT);
    return mdb_cursor_open(txn, dbi, &editor->cursor);
}

static int assemble(PagePackEditor *e)
{
    unsigned width = e->bytes.length > UINT16_MAX ? WIDE : NARROW;
    uint8_t head[HEAD_BYTES + PAGE_PACK_RECORDS * WIDE] = {(uint8_t)e->n, (uint8_t)width};
    for (size_t i = 0; i < e->n; i++) {
        uint16_t narrow = htole16((uint16_t)e->ends[i]);
        uint32_t wide = htole32(e->ends[i]);
        memcpy(head + HEAD_BYTES + i * width,
               width == NARROW ? (const void *)&narrow : (const void *)&wide, width);
    }
    buffer_reset(&e->scratch);
    if (buffer_append(&e->scratch, head, HEAD_BYTES + e->n * width) != RESULT_OK ||
        buffer_append(&e->scratch, e->bytes.data, e->bytes.length) != RESULT_OK) {
        return ENOMEM;
    }
    return 0;
}

/* Writes the pack. The last one of the table is appended (again), so that database pages are filled
 * and not split in the middle. */
static int page_packs_flush(PagePackEditor *e)
{
    bool write = e->open && e->changed;
    e->open = false;
    if (!write) {
        return 0;
    }
    int rc = assemble(e);
    MDB_val key, value;
    unsigned flags = e->stored ? 0 : MDB_APPEND;
    if (rc == 0 && e->stored && e->resized) {
        uint64_t last = 0;
        rc = mdb_cursor_get(e->cursor, &key, &value, MDB_LAST);
        if (rc == 0) {
            memcpy(&last, key.mv_data, sizeof last);
        }
        if (rc == 0 && last == e->key) {
            rc = mdb_cursor_del(e->cursor, 0);
            flags = MDB_APPEND;
        }
    }
    if (rc == 0) {
        key = (MDB_val){sizeof e->key, &e->key};
        value = (MDB_val){e->scratch.length, e->scratch.data};
        rc = mdb_cursor_put(e->cursor, &key, &value, flags);
    }
    return rc;
}

/* Makes the pack of index the open one; it may be new and empty. */
static int open_pack(PagePackEditor *e, uint64_t index)
{
    uint64_t number = index / PAGE_PACK_RECORDS;
    if (e->open && e->key == number) {
        return 0;
    }
    int rc = page_packs_flush(e);
    if (rc != 0) {
        return rc;
    }
    MDB_val key = {sizeof number, &number};
    MDB_val pack, record;
    rc = mdb_cursor_get(e->cursor, &key, &pack, MDB_SET);
    if (rc != 0 && rc != MDB_NOTFOUND) {
        return rc;
    }
    e->stored = rc == 0;
    e->n = 0;
    buffer_reset(&e->bytes);
    size_t n = e->stored ? page_pack_count(&pack) : 0;
    if (e->stored && n == 0) {
        return MDB_CORRUPTED;
    }
    for (size_t i = 0; i < n; i++) {
        if (!page_pack_record(&pack, i, &record)) {
            return MDB_CORRUPTED;
        }
        if (buffer_append(&e->bytes, record.mv_data, record.mv_size) != RESULT_OK) {
            return ENOMEM;
        }
        e->ends[e->n++] = (uint32_t)e->bytes.length;
    }
    e->key = number;
    e->open = true;
    e->changed = false;
    e->resized = false;
    return 0;
}

int page_pack_editor_get(PagePackEditor *editor, uint64_t index, MDB_val *record)
{
    size_t slot = index % PAGE_PACK_RECORDS;
    int rc = journal_get(editor->journal, editor->txn, JOURNAL_PAGES, index, record);
    if (rc != MDB_NOTFOUND) {
        return rc;
    }
    rc = open_pack(editor, index);
    if (rc == 0 && slot >= editor->n) {
        rc = MDB_NOTFOUND;
    }
    if (rc == 0) {
        size_t start = slot == 0 ? 0 : editor->ends[slot - 1];
        *record = (MDB_val){editor->ends[slot] - start, editor->bytes.data + start};
    }
    return rc;
}

static int page_packs_append(PagePackEditor *e, const MDB_val *record)
{
    if (e->bytes.length + record->mv_size > UINT32_MAX) {
        return E2BIG;
    }
    if (buffer_append(&e->bytes, record->mv_data, record->mv_size) != RESULT_OK) {
        return ENOMEM;
    }
    e->ends[e->n++] = (uint32_t)e->bytes.length;
    e->changed = true;
    e->resized = true;
    return 0;
}

int page_pack_editor_set(PagePackEditor *editor, uint64_t index, const MDB_val *record)
{
    return journal_takes(editor->journal)
               ? journal_put(editor->journal, editor->txn, JOURNAL_PAGES, index, record)
               : page_pack_editor_append(editor, index, record);
}

int page_pack_editor_append(PagePackEditor *editor, uint64_t index, const MDB_val *record)
{
    int rc = open_pack(editor, index);
    size_t slot = index % PAGE_PACK_RECORDS;
    if (rc != 0) {
        return rc;
    }
    if (slot == editor->n) {
        return page_packs_append(editor, record);
    }
    if (slot > editor->n) {
        return MDB_CORRUPTED;
    }
    size_t start = slot == 0 ? 0 : editor->ends[slot - 1];
    size_t end = editor->ends[slot];
    if (record->mv_size > end - start &&
        buffer_reserve(&editor->bytes, record->mv_size - (end - start)) != RESULT_OK) {
        return ENOMEM;
    }
    char *at = editor->bytes.data + start;
    memmove(at + record->mv_size, at + (end - start), editor->bytes.length - end);
    memcpy(at, record->mv_data, record->mv_size);
    editor->bytes.length = editor->bytes.length - (end - start) + record->mv_size;
    for (size_t i = slot; i < editor->n; i++) {
        editor->ends[i] = (uint32_t)(editor->ends[i] - (end - start) + record->mv_size);
    }
    editor->changed = true;
    editor->resized = editor->resized || record->mv_size != end - start;
    return 0;
}

int page_pack_editor_end(PagePackEditor *editor, int rc)
{
    if (rc == 0) {
        rc = page_packs_flush(editor);
    }
    mdb_cursor_close(editor->cursor);
    buffer_destroy(&editor->bytes);
    buffer_destroy(&editor->scratch);
    return rc;
}
