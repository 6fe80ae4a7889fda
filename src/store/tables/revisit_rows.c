#include "store/tables/revisit_rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parse/http/http_header.h"
#include "store/frequency/freq_entries.h"
#include "store/lmdb/lmdb_result.h"
#include "store/schedule/schedule_types.h"

#define LINES_TABLE   "revisit_lines"
#define NOTES_TABLE   "revisit_notes"
#define NUMBERS_TABLE "revisit_numbers"

#define LINE_KEY_BYTES   4u
#define LINE_VALUE_BYTES 16u /* due time, page: big-endian, so that their order is bytewise */
#define SECONDS_BYTES    5u
#define NOTE_BYTES                                                                                 \
    (4 + sizeof(FreqSeen) + FREQ_SEEN_BINS * 3 + sizeof(float) + sizeof(uint32_t) +                \
     2 * SECONDS_BYTES + REVISIT_ETAG_BYTES + REVISIT_DATE_BYTES)

static const uint64_t settled_key = UINT64_MAX; /* in the notes: no page has this index */

struct RevisitRows {
    FreqScheduler freqs; /* its two tables only */
    MDB_dbi lines;
    MDB_dbi notes;
    MDB_dbi numbers;
    bool has_numbers; /* not in one that a reader opened, of a crawl before there were any */
};

Result revisit_rows_open(RevisitRows **out, MDB_txn *txn, bool create)
{
    RevisitRows *table = calloc(1, sizeof *table);
    unsigned flags = create ? MDB_CREATE : 0;
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    const LmdbTable tables[] = {{&table->lines, LINES_TABLE, MDB_DUPSORT | MDB_DUPFIXED},
                                {&table->notes, NOTES_TABLE, MDB_INTEGERKEY}};
    Result rc = lmdb_result(freq_entries_open(&table->freqs, txn, create), "open revisit tables");
    if (rc == RESULT_OK) {
        rc = lmdb_tables_open(txn, tables, 2, flags);
    }
    if (rc == RESULT_OK) {
        rc = lmdb_table_open(&table->numbers, txn, NUMBERS_TABLE, flags | MDB_INTEGERKEY);
        table->has_numbers = rc == RESULT_OK;
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (rc != RESULT_OK) {
        free(table);
        return rc;
    }
    *out = table;
    return RESULT_OK;
}

void revisit_rows_close(RevisitRows *table)
{
    free(table);
}

/* ---- due times ---- */

static RevisitDue revisit_rows_due_of(const FreqEntry *entry)
{
    return (RevisitDue){.time_s = entry->time, .index = entry->index, .freq = entry->freq};
}

Result revisit_rows_get(const RevisitRows *table, MDB_txn *txn, uint64_t index, RevisitDue *due)
{
    FreqEntry entry;
    int rc = freq_entry_find(&table->freqs, txn, index, &entry);
    if (rc == MDB_SUCCESS) {
        *due = revisit_rows_due_of(&entry);
    }
    return lmdb_result(rc, "get revisit");
}

static int revisit_rows_forget(const RevisitRows *table, MDB_txn *txn, uint64_t index)
{
    FreqEntry entry;
    int rc = freq_entry_find(&table->freqs, txn, index, &entry);
    if (rc == MDB_SUCCESS) {
        rc = freq_entry_delete(&table->freqs, txn, &entry);
    }
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

Result revisit_rows_put(const RevisitRows *table, MDB_txn *txn, const RevisitDue *due)
{
    assert(due->time_s >= 0 && due->freq > 0);
    FreqEntry entry = {.time = due->time_s, .index = due->index, .freq = due->freq};
    int rc = revisit_rows_forget(table, txn, due->index);
    if (rc == MDB_SUCCESS) {
        rc = freq_entry_put(&table->freqs, txn, &entry);
    }
    return lmdb_result(rc, "put revisit");
}

Result revisit_rows_remove(const RevisitRows *table, MDB_txn *txn, uint64_t index)
{
    MDB_val key = lmdb_bytes(&index, sizeof index);
    Result rc = lmdb_result(revisit_rows_forget(table, txn, index), "remove revisit");
    if (rc == RESULT_OK) {
        rc = lmdb_remove(txn, table->notes, key, "remove revisit");
    }
    if (rc == RESULT_OK && table->has_numbers) {
        rc = lmdb_remove(txn, table->numbers, key, "remove revisit");
    }
    return rc;
}

Result revisit_rows_next(const RevisitRows *table, MDB_txn *txn, RevisitDue *due)
{
    bool is_first = due->time_s == 0 && due->index == 0 && due->freq == 0;
    FreqEntry entry = {.time = due->time_s, .index = due->index + (is_first ? 0 : 1)};
    int rc = freq_entry_seek(&table->freqs, txn, &entry);
    if (rc == MDB_SUCCESS) {
        *due = revisit_rows_due_of(&entry);
    }
    return lmdb_result(rc, "next revisit");
}

Result revisit_rows_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n)
{
    return lmdb_count(txn, table->freqs.schedule, n, "count revisits");
}

Result revisit_rows_page_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n)
{
    return lmdb_count(txn, table->freqs.pages, n, "count revisits");
}

Result revisit_rows_clear(const RevisitRows *table, MDB_txn *txn)
{
    const MDB_dbi tables[] = {table->freqs.schedule, table->freqs.pages, table->lines};
    Result rc = revisit_rows_settled_put(table, txn, 0);
    for (size_t i = 0; rc == RESULT_OK && i < sizeof tables / sizeof *tables; i++) {
        rc = lmdb_result(mdb_drop(txn, tables[i], 0), "clear revisits");
    }
    return rc;
}

/* ---- lines ---- */

Result revisit_rows_line_put(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                             const RevisitDue *due)
{
    uint8_t name[LINE_KEY_BYTES];
    uint8_t bytes[LINE_VALUE_BYTES];
    uint64_t bits = 0;
    memcpy(&bits, &due->time_s, sizeof bits); /* not negative: the order of the bits is theirs */
    schedule_store_bytes(name, host, sizeof name);
    schedule_store_bytes(bytes, bits, 8);
    schedule_store_bytes(bytes + 8, due->index, 8);
    MDB_val key = {sizeof name, name};
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_put(txn, table->lines, &key, &value, MDB_NODUPDATA);
    return rc == MDB_KEYEXIST ? RESULT_OK : lmdb_result(rc, "put into line");
}

/* Reads the first of a line; deletes it when take is set. */
static Result line_first(const RevisitRows *table, MDB_txn *txn, uint32_t host, bool take,
                         RevisitDue *due)
{
    LmdbRows rows;
    uint8_t name[LINE_KEY_BYTES];
    schedule_store_bytes(name, host, sizeof name);
    lmdb_rows_open(&rows, txn, table->lines);
    rows.key = lmdb_bytes(name, sizeof name);
    bool is_there = lmdb_rows_get(&rows, MDB_SET);
    if (is_there &&
        lmdb_rows_note(&rows, rows.value.mv_size == LINE_VALUE_BYTES ? 0 : MDB_CORRUPTED)) {
        const uint8_t *bytes = rows.value.mv_data;
        uint64_t bits = schedule_load_bytes(bytes, 8);
        *due = (RevisitDue){.index = schedule_load_bytes(bytes + 8, 8)};
        memcpy(&due->time_s, &bits, sizeof bits);
        if (take) {
            lmdb_rows_delete(&rows, 0);
        }
    }
    return lmdb_rows_end(&rows, is_there ? RESULT_OK : RESULT_NOT_FOUND, "take from line");
}

Result revisit_rows_line_take(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                              RevisitDue *due)
{
    return line_first(table, txn, host, true, due);
}

Result revisit_rows_line_is_empty(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                                  bool *is_empty)
{
    RevisitDue due;
    uint64_t n = 0;
    Result rc = lmdb_count(txn, table->lines, &n, "count revisits");
    if (rc == RESULT_OK && n > 0) { /* mostly there is no line at all */
        rc = line_first(table, txn, host, false, &due);
        n = rc == RESULT_OK;
    }
    *is_empty = n == 0;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result revisit_rows_line_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n)
{
    return lmdb_count(txn, table->lines, n, "count revisits");
}

/* ---- notes ---- */

/* Bytes: which parts there are; what visits found: their sums (16), the number of bins (1), and
 * each bin's size (1) and number (2); misses (1); fixed frequency (4); changes before a signal (4);
 * fresh until, and there until, as seconds since 1970 (5 each); a date in the one form that servers
 * should send, as seconds since 1970 (5), or else its length (1) and text; the ETag to the end. */
enum {
    NOTE_MISSES = 1,
    NOTE_FREQ = 2,
    NOTE_SECONDS = 4,
    NOTE_DATE = 8,
    NOTE_SIGNAL = 16,
    NOTE_FRESH = 32,
    NOTE_END = 64,
    NOTE_SEEN = 128
};

#define SEEN_BYTES offsetof(FreqSeen, bins)
#define BIN_BYTES  3u

/* The byte behind it, or NULL: damaged. */
static const uint8_t *revisit_seen_read(const uint8_t *at, const uint8_t *end, FreqSeen *seen)
{
    size_t n = (size_t)(end - at) > SEEN_BYTES ? at[SEEN_BYTES] : FREQ_SEEN_BINS + 1u;
    if (n > FREQ_SEEN_BINS || (size_t)(end - at) < SEEN_BYTES + 1 + n * BIN_BYTES) {
        return NULL;
    }
    memcpy(seen, at, SEEN_BYTES);
    at += SEEN_BYTES + 1;
    for (size_t i = 0; i < n; i++, at += BIN_BYTES) {
        seen->bins[i].size = at[0];
        seen->bins[i].n = (uint16_t)(at[1] | at[2] << 8);
    }
    return isfinite(seen->same_s) && isfinite(seen->changed_s) ? at : NULL;
}

static uint8_t *revisit_seen_write(const FreqSeen *seen, uint8_t *to)
{
    uint8_t *n = mempcpy(to, seen, SEEN_BYTES);
    to = n + 1;
    *n = 0;
    for (; *n < FREQ_SEEN_BINS && seen->bins[*n].n > 0; (*n)++, to += BIN_BYTES) {
        const FreqSeenBin *bin = &seen->bins[*n];
        to[0] = bin->size;
        to[1] = (uint8_t)bin->n;
        to[2] = (uint8_t)(bin->n >> 8);
    }
    return to;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static void revisit_rows_format_date(int64_t seconds, char text[REVISIT_DATE_BYTES + 1])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)seconds;
    struct tm tm;
    memset(text, 0, REVISIT_DATE_BYTES + 1);
    if (gmtime_r(&t, &tm) != NULL) {
        (void)snprintf(text, REVISIT_DATE_BYTES + 1, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                       days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900,
                       tm.tm_hour, tm.tm_min, tm.tm_sec);
    }
}

/* Whether a date can be kept as seconds: format_date gives the same text. */
static bool date_seconds(const char *date, int64_t *seconds)
{
    char text[REVISIT_DATE_BYTES + 1];
    if (!http_header_date(date, strlen(date), seconds) || *seconds < 0 ||
        *seconds >= (INT64_C(1) << (8 * SECONDS_BYTES))) {
        return false;
    }
    revisit_rows_format_date(*seconds, text);
    return strcmp(text, date) == 0;
}

/* A part of a note, if there is one; the byte behind it, or NULL: damaged. */
static const uint8_t *read_part(const uint8_t *at, const uint8_t *end, bool is_there, void *to,
                                size_t n)
{
    if (!is_there || at == NULL) {
        return at;
    }
    if ((size_t)(end - at) < n) {
        return NULL;
    }
    memcpy(to, at, n);
    return at + n;
}

/* The parts in front of the ETag; the byte behind them, or NULL: damaged. */
static const uint8_t *read_parts(const uint8_t *at, const uint8_t *end, RevisitNote *note)
{
    uint8_t parts = 0;
    float freq = 0; /* all bits of parts are taken: a hint is the negative of one */
    uint8_t fresh[SECONDS_BYTES] = {0};
    uint8_t ends[SECONDS_BYTES] = {0};
    uint8_t date[SECONDS_BYTES] = {0};
    uint8_t length = 0;
    at = read_part(at, end, true, &parts, 1);
    if (at != NULL && (parts & NOTE_SEEN) != 0) {
        at = revisit_seen_read(at, end, &note->seen);
    }
    note->has_signal = (parts & NOTE_SIGNAL) != 0;
    at = read_part(at, end, parts & NOTE_MISSES, &note->misses, 1);
    at = read_part(at, end, parts & NOTE_FREQ, &freq, sizeof freq);
    at = read_part(at, end, note->has_signal, &note->signal_changes, sizeof note->signal_changes);
    at = read_part(at, end, parts & NOTE_FRESH, fresh, sizeof fresh);
    at = read_part(at, end, parts & NOTE_END, ends, sizeof ends);
    at = read_part(at, end, parts & NOTE_SECONDS, date, sizeof date);
    at = read_part(at, end, parts & NOTE_DATE, &length, 1);
    note->fixed_freq = freq > 0 ? freq : 0;
    note->hint_freq = freq < 0 ? -freq : 0;
    note->fresh_until_s = (double)schedule_load_bytes(fresh, sizeof fresh);
    note->ends_s = (double)schedule_load_bytes(ends, sizeof ends);
    if ((parts & NOTE_SECONDS) != 0) {
        revisit_rows_format_date((int64_t)schedule_load_bytes(date, sizeof date),
                                 note->last_modified);
    }
    return length > REVISIT_DATE_BYTES
               ? NULL
               : read_part(at, end, length > 0, note->last_modified, length);
}

Result revisit_rows_note_get(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                             RevisitNote *note)
{
    memset(note, 0, sizeof *note);
    MDB_val value;
    Result rc = lmdb_get(txn, table->notes, lmdb_bytes(&index, sizeof index), &value, "get note");
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    const uint8_t *end = (const uint8_t *)value.mv_data + value.mv_size;
    const uint8_t *etag = read_parts(value.mv_data, end, note);
    if (etag == NULL || (size_t)(end - etag) > REVISIT_ETAG_BYTES) {
        return RESULT_DAMAGED;
    }
    memcpy(note->etag, etag, (size_t)(end - etag));
    return RESULT_OK;
}

/* A time as whole seconds, rounded up; the byte behind it. */
static uint8_t *put_time(uint8_t *to, double time_s)
{
    double most = (double)((UINT64_C(1) << (8 * SECONDS_BYTES)) - 1);
    schedule_store_bytes(to, (uint64_t)ceil(fmin(time_s, most)), SECONDS_BYTES);
    return to + SECONDS_BYTES;
}

/* Writes a note; the byte behind it. */
static uint8_t *write_note(const RevisitNote *note, uint8_t *out)
{
    uint8_t *to = out + 1;
    size_t date = strlen(note->last_modified);
    int64_t seconds = 0;
    *out = 0;
    if (note->seen.n_same + note->seen.n_changed > 0) {
        *out |= NOTE_SEEN;
        to = revisit_seen_write(&note->seen, to);
    }
    if (note->misses > 0) {
        *out |= NOTE_MISSES;
        *to++ = note->misses;
    }
    float freq = note->fixed_freq > 0 ? note->fixed_freq : -note->hint_freq;
    if (note->fixed_freq > 0 || note->hint_freq > 0) {
        *out |= NOTE_FREQ;
        to = mempcpy(to, &freq, sizeof freq);
    }
    if (note->has_signal) {
        *out |= NOTE_SIGNAL;
        to = mempcpy(to, &note->signal_changes, sizeof note->signal_changes);
    }
    if (note->fresh_until_s > 0) {
        *out |= NOTE_FRESH;
        to = put_time(to, note->fresh_until_s);
    }
    if (note->ends_s > 0) {
        *out |= NOTE_END;
        to = put_time(to, note->ends_s);
    }
    if (date > 0 && date_seconds(note->last_modified, &seconds)) {
        *out |= NOTE_SECONDS;
        schedule_store_bytes(to, (uint64_t)seconds, SECONDS_BYTES);
        to += SECONDS_BYTES;
    } else if (date > 0) {
        *out |= NOTE_DATE;
        *to++ = (uint8_t)date;
        to = mempcpy(to, note->last_modified, date);
    }
    return mempcpy(to, note->etag, strlen(note->etag));
}

Result revisit_rows_note_put(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                             const RevisitNote *note)
{
    uint8_t bytes[NOTE_BYTES];
    MDB_val key = lmdb_bytes(&index, sizeof index);
    assert(strlen(note->etag) <= REVISIT_ETAG_BYTES &&
           strlen(note->last_modified) <= REVISIT_DATE_BYTES);
    MDB_val value = lmdb_bytes(bytes, (size_t)(write_note(note, bytes) - bytes));
    return value.mv_size > 1 ? lmdb_put(txn, table->notes, key, value, "put note")
                             : lmdb_remove(txn, table->notes, key, "put note");
}

Result revisit_rows_numbers_get(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                                uint8_t *history, size_t *length)
{
    MDB_val value = {0};
    Result rc = RESULT_NOT_FOUND;
    if (table->has_numbers) {
        rc = lmdb_get(txn, table->numbers, lmdb_bytes(&index, sizeof index), &value, "get numbers");
    }
    *length = value.mv_size;
    if (value.mv_size > NUMBERS_HISTORY_BYTES) {
        return RESULT_DAMAGED;
    }
    if (rc == RESULT_OK) {
        memcpy(history, value.mv_data, value.mv_size);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result revisit_rows_numbers_put(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                                const uint8_t *history, size_t length)
{
    return lmdb_put(txn, table->numbers, lmdb_bytes(&index, sizeof index),
                    lmdb_bytes(history, length), "put numbers");
}

Result revisit_rows_settled_get(const RevisitRows *table, MDB_txn *txn, uint64_t *index)
{
    *index = 0;
    Result rc = lmdb_get_struct(txn, table->notes, lmdb_bytes(&settled_key, sizeof settled_key),
                                index, sizeof *index, "get settled");
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result revisit_rows_settled_put(const RevisitRows *table, MDB_txn *txn, uint64_t index)
{
    return lmdb_put(txn, table->notes, lmdb_bytes(&settled_key, sizeof settled_key),
                    lmdb_bytes(&index, sizeof index), "put settled");
}
