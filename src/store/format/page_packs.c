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

void page_pack_editor_begin(PagePackEditor *editor, MDB_txn *txn, MDB_dbi dbi, Journal *journal)
{
    *editor = (PagePackEditor){.txn = txn, .journal = journal};
    buffer_init(&editor->bytes, BUFFER_NO_LIMIT);
    buffer_init(&editor->scratch, BUFFER_NO_LIMIT);
    buffer_init(&editor->changed_head, BUFFER_NO_LIMIT);
    lmdb_rows_open(&editor->rows, txn, dbi);
}

static void assemble(PagePackEditor *e)
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
    (void)buffer_append(&e->scratch, head, HEAD_BYTES + e->n * width);
    (void)buffer_append(&e->scratch, e->bytes.data, e->bytes.length);
    (void)lmdb_rows_note(&e->rows, e->scratch.failed == RESULT_OK ? 0 : ENOMEM);
}

/* Writes the pack. The last one of the table is appended (again), so that database pages are filled
 * and not split in the middle. */
static void page_packs_flush(PagePackEditor *e)
{
    bool write = e->open && e->changed;
    unsigned flags = e->stored ? 0 : MDB_APPEND;
    e->open = false;
    if (!write) {
        return;
    }
    assemble(e);
    if (e->stored && e->resized && lmdb_rows_get(&e->rows, MDB_LAST)) {
        uint64_t last = 0;
        memcpy(&last, e->rows.key.mv_data, sizeof last);
        if (last == e->key) {
            lmdb_rows_delete(&e->rows, 0);
            flags = MDB_APPEND;
        }
    }
    e->rows.key = (MDB_val){sizeof e->key, &e->key};
    e->rows.value = (MDB_val){e->scratch.length, e->scratch.data};
    if (!lmdb_rows_put(&e->rows, flags)) {
        (void)lmdb_rows_note(&e->rows, MDB_CORRUPTED); /* the last one is not the last */
    }
}

/* Makes the pack of index the open one; it may be new and empty. */
static bool open_pack(PagePackEditor *e, uint64_t index)
{
    uint64_t number = index / PAGE_PACK_RECORDS;
    MDB_val record;
    if (e->open && e->key == number) {
        return e->rows.code == 0;
    }
    page_packs_flush(e);
    e->rows.key = (MDB_val){sizeof number, &number};
    e->stored = lmdb_rows_get(&e->rows, MDB_SET);
    e->n = 0;
    buffer_reset(&e->bytes);
    size_t n = e->stored ? page_pack_count(&e->rows.value) : 0;
    bool is_whole = !e->stored || n > 0;
    while (is_whole && e->n < n) {
        is_whole = page_pack_record(&e->rows.value, e->n, &record);
        if (is_whole) {
            (void)buffer_append(&e->bytes, record.mv_data, record.mv_size);
            e->ends[e->n++] = (uint32_t)e->bytes.length;
        }
    }
    (void)lmdb_rows_note(&e->rows, is_whole ? 0 : MDB_CORRUPTED);
    (void)lmdb_rows_note(&e->rows, e->bytes.failed == RESULT_OK ? 0 : ENOMEM);
    e->key = number;
    e->open = e->rows.code == 0;
    e->changed = false;
    e->resized = false;
    return e->open;
}

bool page_pack_editor_get(PagePackEditor *editor, uint64_t index, MDB_val *record)
{
    size_t slot = index % PAGE_PACK_RECORDS;
    if (editor->rows.code != 0) {
        return false;
    }
    if (!editor->open || editor->key != index / PAGE_PACK_RECORDS) { /* a pack that is only read */
        MDB_dbi dbi = mdb_cursor_dbi(editor->rows.cursor);
        return lmdb_rows_note(&editor->rows,
                              page_pack_find(editor->txn, dbi, editor->journal, index, record));
    }
    if (lmdb_rows_note(&editor->rows,
                       journal_get(editor->journal, editor->txn, JOURNAL_PAGES, index, record))) {
        return true;
    }
    if (editor->rows.code != 0 || slot >= editor->n) {
        return false;
    }
    size_t start = slot == 0 ? 0 : editor->ends[slot - 1];
    *record = (MDB_val){editor->ends[slot] - start, editor->bytes.data + start};
    return true;
}

bool page_pack_editor_read(PagePackEditor *editor, uint64_t index, uint32_t domain, MDB_val *value,
                           PageRecord *record)
{
    if (!page_pack_editor_get(editor, index, value)) {
        return false;
    }
    bool is_read = page_record_read(value->mv_data, value->mv_size, index, domain, record);
    return lmdb_rows_note(&editor->rows, is_read ? 0 : MDB_CORRUPTED);
}

void page_pack_editor_set(PagePackEditor *editor, uint64_t index, const MDB_val *record)
{
    if (!journal_takes(editor->journal)) {
        page_pack_editor_append(editor, index, record);
    } else if (editor->rows.code == 0) {
        (void)lmdb_rows_note(
            &editor->rows, journal_put(editor->journal, editor->txn, JOURNAL_PAGES, index, record));
    }
}

void page_pack_editor_set_head(PagePackEditor *editor, uint64_t index, const MDB_val *value,
                               const PageRecord *record)
{
    Buffer *copy = &editor->changed_head;
    buffer_reset(copy);
    if (buffer_append(copy, value->mv_data, value->mv_size) != RESULT_OK) {
        (void)lmdb_rows_note(&editor->rows, ENOMEM);
        return;
    }
    page_record_write_head(record, (uint8_t *)copy->data);
    MDB_val changed = {copy->length, copy->data};
    page_pack_editor_set(editor, index, &changed);
}

static void page_packs_append(PagePackEditor *e, const MDB_val *record)
{
    int code = e->bytes.length + record->mv_size > UINT32_MAX ? E2BIG : 0;
    if (code == 0 && buffer_append(&e->bytes, record->mv_data, record->mv_size) != RESULT_OK) {
        code = ENOMEM;
    }
    if (lmdb_rows_note(&e->rows, code)) {
        e->ends[e->n++] = (uint32_t)e->bytes.length;
        e->changed = true;
        e->resized = true;
    }
}

void page_pack_editor_append(PagePackEditor *editor, uint64_t index, const MDB_val *record)
{
    size_t slot = index % PAGE_PACK_RECORDS;
    if (!open_pack(editor, index)) {
        return;
    }
    if (slot == editor->n) {
        page_packs_append(editor, record);
        return;
    }
    if (slot > editor->n) {
        (void)lmdb_rows_note(&editor->rows, MDB_CORRUPTED);
        return;
    }
    size_t start = slot == 0 ? 0 : editor->ends[slot - 1];
    size_t end = editor->ends[slot];
    if (record->mv_size > end - start &&
        buffer_reserve(&editor->bytes, record->mv_size - (end - start)) != RESULT_OK) {
        (void)lmdb_rows_note(&editor->rows, ENOMEM);
        return;
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
}

int page_pack_editor_end(PagePackEditor *editor, int rc)
{
    if (rc == 0) {
        page_packs_flush(editor);
    }
    buffer_destroy(&editor->bytes);
    buffer_destroy(&editor->scratch);
    buffer_destroy(&editor->changed_head);
    return lmdb_rows_close(&editor->rows, rc);
}
