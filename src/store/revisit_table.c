#include "store/revisit_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/freq_internal.h"
#include "store/lmdb_result.h"

#define LINES_TABLE "revisit_lines"
#define NOTES_TABLE "revisit_notes"
#define SETTLED_KEY UINT64_MAX /* in the notes: no page has this index */

#define LINE_KEY_BYTES   4u
#define LINE_VALUE_BYTES 16u /* due time, page: big-endian, so that their order is bytewise */
#define NOTE_BYTES       (3 + sizeof(float) + REVISIT_ETAG_BYTES + REVISIT_DATE_BYTES)

struct RevisitTable {
    FreqScheduler freqs; /* its two tables only */
    MDB_dbi lines;
    MDB_dbi notes;
};

Result revisit_table_open(RevisitTable **out, MDB_txn *txn, bool create)
{
    RevisitTable *table = calloc(1, sizeof *table);
    unsigned flags = create ? MDB_CREATE : 0;
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = freq_tables_open(&table->freqs, txn, create);
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, LINES_TABLE, flags | MDB_DUPSORT | MDB_DUPFIXED, &table->lines);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, NOTES_TABLE, flags | MDB_INTEGERKEY, &table->notes);
    }
    if (rc != MDB_SUCCESS) {
        free(table);
        return lmdb_result(rc, "open revisit tables");
    }
    *out = table;
    return RESULT_OK;
}

void revisit_table_close(RevisitTable *table)
{
    free(table);
}

static Result count_of(MDB_txn *txn, MDB_dbi dbi, uint64_t *n)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, dbi, &stat);
    *n = stat.ms_entries;
    return lmdb_result(rc, "count revisits");
}

/* ---- due times --------------------------------------------------------------------------------
 */

static RevisitDue due_of(const FreqEntry *entry)
{
    return (RevisitDue){.time_s = entry->time, .index = entry->index, .freq = entry->freq};
}

Result revisit_table_get(const RevisitTable *table, MDB_txn *txn, uint64_t index, RevisitDue *due)
{
    FreqEntry entry;
    int rc = freq_entry_find(&table->freqs, txn, index, &entry);
    if (rc == MDB_SUCCESS) {
        *due = due_of(&entry);
    }
    return lmdb_result(rc, "get revisit");
}

static int forget(const RevisitTable *table, MDB_txn *txn, uint64_t index)
{
    FreqEntry entry;
    int rc = freq_entry_find(&table->freqs, txn, index, &entry);
    if (rc == MDB_SUCCESS) {
        rc = freq_entry_delete(&table->freqs, txn, &entry);
    }
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

Result revisit_table_put(const RevisitTable *table, MDB_txn *txn, const RevisitDue *due)
{
    assert(due->time_s >= 0 && due->freq > 0);
    FreqEntry entry = {.time = due->time_s, .index = due->index, .freq = due->freq};
    int rc = forget(table, txn, due->index);
    if (rc == MDB_SUCCESS) {
        rc = freq_entry_put(&table->freqs, txn, &entry);
    }
    return lmdb_result(rc, "put revisit");
}

Result revisit_table_remove(const RevisitTable *table, MDB_txn *txn, uint64_t index)
{
    int rc = forget(table, txn, index);
    if (rc == MDB_SUCCESS) {
        MDB_val key = {sizeof index, &index};
        rc = mdb_del(txn, table->notes, &key, NULL);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "remove revisit");
}

Result revisit_table_next(const RevisitTable *table, MDB_txn *txn, RevisitDue *due)
{
    bool is_first = due->time_s == 0 && due->index == 0 && due->freq == 0;
    FreqEntry entry = {.time = due->time_s, .index = due->index + (is_first ? 0 : 1)};
    int rc = freq_entry_seek(&table->freqs, txn, &entry);
    if (rc == MDB_SUCCESS) {
        *due = due_of(&entry);
    }
    return lmdb_result(rc, "next revisit");
}

Result revisit_table_count(const RevisitTable *table, MDB_txn *txn, uint64_t *n)
{
    return count_of(txn, table->freqs.schedule, n);
}

Result revisit_table_page_count(const RevisitTable *table, MDB_txn *txn, uint64_t *n)
{
    return count_of(txn, table->freqs.pages, n);
}

Result revisit_table_clear(const RevisitTable *table, MDB_txn *txn)
{
    const MDB_dbi tables[] = {table->freqs.schedule, table->freqs.pages, table->lines};
    Result rc = revisit_table_settled_put(table, txn, 0);
    for (size_t i = 0; rc == RESULT_OK && i < sizeof tables / sizeof *tables; i++) {
        rc = lmdb_result(mdb_drop(txn, tables[i], 0), "clear revisits");
    }
    return rc;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static void put_big(uint8_t *out, uint64_t n, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(n >> (8 * (bytes - 1 - i)));
    }
}

static uint64_t get_big(const uint8_t *in, size_t bytes)
{
    uint64_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        n = n << 8 | in[i];
    }
    return n;
}

Result revisit_table_line_put(const RevisitTable *table, MDB_txn *txn, uint32_t host,
                              const RevisitDue *due)
{
    uint8_t name[LINE_KEY_BYTES];
    uint8_t bytes[LINE_VALUE_BYTES];
    uint64_t bits = 0;
    memcpy(&bits, &due->time_s, sizeof bits); /* not negative: the order of the bits is theirs */
    put_big(name, host, sizeof name);
    put_big(bytes, bits, 8);
    put_big(bytes + 8, due->index, 8);
    MDB_val key = {sizeof name, name};
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_put(txn, table->lines, &key, &value, MDB_NODUPDATA);
    return rc == MDB_KEYEXIST ? RESULT_OK : lmdb_result(rc, "put into line");
}

/* Reads the first of a line; deletes it when take is set. */
static Result line_first(const RevisitTable *table, MDB_txn *txn, uint32_t host, bool take,
                         RevisitDue *due)
{
    MDB_cursor *cursor = NULL;
    uint8_t name[LINE_KEY_BYTES];
    put_big(name, host, sizeof name);
    MDB_val key = {sizeof name, name};
    MDB_val value;
    int rc = mdb_cursor_open(txn, table->lines, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "open lines");
    }
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET);
    if (rc == MDB_SUCCESS && value.mv_size != LINE_VALUE_BYTES) {
        rc = MDB_CORRUPTED;
    }
    if (rc == MDB_SUCCESS) {
        uint64_t bits = get_big(value.mv_data, 8);
        *due = (RevisitDue){.index = get_big((const uint8_t *)value.mv_data + 8, 8)};
        memcpy(&due->time_s, &bits, sizeof bits);
        rc = take ? mdb_cursor_del(cursor, 0) : MDB_SUCCESS;
    }
    mdb_cursor_close(cursor);
    return lmdb_result(rc, "take from line");
}

Result revisit_table_line_take(const RevisitTable *table, MDB_txn *txn, uint32_t host,
                               RevisitDue *due)
{
    return line_first(table, txn, host, true, due);
}

Result revisit_table_line_is_empty(const RevisitTable *table, MDB_txn *txn, uint32_t host,
                                   bool *is_empty)
{
    RevisitDue due;
    uint64_t n = 0;
    Result rc = count_of(txn, table->lines, &n);
    if (rc == RESULT_OK && n > 0) { /* mostly there is no line at all */
        rc = line_first(table, txn, host, false, &due);
        n = rc == RESULT_OK;
    }
    *is_empty = n == 0;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result revisit_table_line_clear(const RevisitTable *table, MDB_txn *txn, uint32_t host)
{
    uint8_t name[LINE_KEY_BYTES];
    put_big(name, host, sizeof name);
    MDB_val key = {sizeof name, name};
    int rc = mdb_del(txn, table->lines, &key, NULL);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "clear line");
}

Result revisit_table_line_count(const RevisitTable *table, MDB_txn *txn, uint64_t *n)
{
    return count_of(txn, table->lines, n);
}

/* ---- notes ------------------------------------------------------------------------------------
 */

/* Bytes: misses, length of the ETag (0..256 in two bytes), fixed frequency, ETag, Last-Modified. */

Result revisit_table_note_get(const RevisitTable *table, MDB_txn *txn, uint64_t index,
                              RevisitNote *note)
{
    memset(note, 0, sizeof *note);
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    int rc = mdb_get(txn, table->notes, &key, &value);
    if (rc != MDB_SUCCESS) {
        return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "get note");
    }
    const uint8_t *bytes = value.mv_data;
    size_t head = 3 + sizeof note->fixed_freq;
    size_t etag = value.mv_size < head ? 0 : (size_t)get_big(bytes + 1, 2);
    if (value.mv_size < head || etag > REVISIT_ETAG_BYTES || value.mv_size - head < etag ||
        value.mv_size - head - etag > REVISIT_DATE_BYTES) {
        return RESULT_DAMAGED;
    }
    note->misses = bytes[0];
    memcpy(&note->fixed_freq, bytes + 3, sizeof note->fixed_freq);
    memcpy(note->etag, bytes + head, etag);
    memcpy(note->last_modified, bytes + head + etag, value.mv_size - head - etag);
    return RESULT_OK;
}

Result revisit_table_note_put(const RevisitTable *table, MDB_txn *txn, uint64_t index,
                              const RevisitNote *note)
{
    uint8_t bytes[NOTE_BYTES];
    size_t etag = strlen(note->etag);
    size_t date = strlen(note->last_modified);
    MDB_val key = {sizeof index, &index};
    if (note->misses == 0 && !(note->fixed_freq > 0) && etag + date == 0) {
        int rc = mdb_del(txn, table->notes, &key, NULL);
        return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "remove note");
    }
    assert(etag <= REVISIT_ETAG_BYTES && date <= REVISIT_DATE_BYTES);
    uint8_t *to = bytes;
    *to++ = note->misses;
    put_big(to, etag, 2);
    to += 2;
    to = mempcpy(to, &note->fixed_freq, sizeof note->fixed_freq);
    to = mempcpy(to, note->etag, etag);
    to = mempcpy(to, note->last_modified, date);
    MDB_val value = {(size_t)(to - bytes), bytes};
    return lmdb_result(mdb_put(txn, table->notes, &key, &value, 0), "put note");
}

Result revisit_table_settled_get(const RevisitTable *table, MDB_txn *txn, uint64_t *index)
{
    uint64_t settled = SETTLED_KEY;
    MDB_val key = {sizeof settled, &settled};
    MDB_val value;
    *index = 0;
    int rc = mdb_get(txn, table->notes, &key, &value);
    if (rc == MDB_SUCCESS && value.mv_size != sizeof *index) {
        return RESULT_DAMAGED;
    }
    if (rc == MDB_SUCCESS) {
        memcpy(index, value.mv_data, sizeof *index);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "get settled");
}

Result revisit_table_settled_put(const RevisitTable *table, MDB_txn *txn, uint64_t index)
{
    uint64_t settled = SETTLED_KEY;
    MDB_val key = {sizeof settled, &settled};
    MDB_val value = {sizeof index, &index};
    return lmdb_result(mdb_put(txn, table->notes, &key, &value, 0), "put settled");
}
