#include "store/frequency/freq_entries.h"

#include <math.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"
#include "store/schedule/schedule_types.h"

/* ---- How the codes of LMDB and PageDB become a FreqScheduler's ---- */

FreqSchedulerError freq_fail(FreqScheduler *sch, FreqSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static FreqSchedulerError freq_error_code_of(int code)
{
    static const FreqSchedulerError codes[] = {
        [page_db_error_memory] = freq_scheduler_error_memory,
        [page_db_error_invalid_path] = freq_scheduler_error_invalid_path,
        [page_db_error_full] = freq_scheduler_error_full,
        [page_db_error_locked] = freq_scheduler_error_locked};
    bool is_known = code >= 0 && (size_t)code < sizeof codes / sizeof *codes;
    return is_known && codes[code] != 0 ? codes[code] : freq_scheduler_error_internal;
}

FreqSchedulerError freq_fail_page_db(FreqScheduler *sch, int code, const char *what)
{
    if (code == page_db_error_ok) {
        return freq_scheduler_error_ok;
    }
    (void)freq_fail(sch, freq_error_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return freq_error_code_of(code);
}

FreqSchedulerError freq_check(FreqScheduler *sch, bool is_given, const char *what)
{
    if (sch == NULL || is_given) {
        return sch == NULL ? freq_scheduler_error_invalid : freq_scheduler_error_ok;
    }
    return freq_fail(sch, freq_scheduler_error_invalid, what);
}

/* ---- The tables of a FreqScheduler ---- */

#define SCHEDULE_TABLE "freq_schedule"
#define PAGES_TABLE    "freq_pages"
#define KEY_BYTES      16u
#define IN_BYTES       4u  /* frequency */
#define OUT_BYTES      20u /* the same, until when it is out, and its crawls */

static void key_write(const FreqEntry *entry, unsigned char key[KEY_BYTES])
{
    uint64_t bits = 0;
    memcpy(&bits, &entry->time, sizeof bits);
    schedule_store_bytes(key, bits, 8);
    schedule_store_bytes(key + 8, entry->index, 8);
}

bool freq_entry_read(const MDB_val *key, const MDB_val *value, FreqEntry *entry)
{
    if (key->mv_size != KEY_BYTES || (value->mv_size != IN_BYTES && value->mv_size != OUT_BYTES)) {
        return false;
    }
    const unsigned char *bytes = key->mv_data;
    uint64_t bits = schedule_load_bytes(bytes, 8);
    entry->index = schedule_load_bytes(bytes + 8, 8);
    memcpy(&entry->time, &bits, sizeof bits);
    bytes = value->mv_data;
    memcpy(&entry->freq, bytes, 4);
    entry->out_until_s = 0.0;
    if (value->mv_size == OUT_BYTES) {
        memcpy(&entry->out_until_s, bytes + 4, 8);
        memcpy(&entry->out_crawls, bytes + 12, 8);
    }
    return isfinite(entry->time) && entry->freq > 0.0f;
}

/* Writes a new entry into both tables. */
int freq_entry_put(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry)
{
    unsigned char bytes[KEY_BYTES];
    key_write(entry, bytes);
    unsigned char out[OUT_BYTES];
    memcpy(out, &entry->freq, 4);
    memcpy(out + 4, &entry->out_until_s, 8);
    memcpy(out + 12, &entry->out_crawls, 8);
    MDB_val key = {sizeof bytes, bytes};
    MDB_val value = {entry->out_until_s > 0.0 ? OUT_BYTES : IN_BYTES, out};
    int rc = mdb_put(txn, sch->schedule, &key, &value, 0);
    if (rc == MDB_SUCCESS) {
        key = (MDB_val){sizeof entry->index, &entry->index};
        value = (MDB_val){sizeof entry->time, &entry->time};
        rc = mdb_put(txn, sch->pages, &key, &value, 0);
    }
    return rc;
}

/* Finds the entry of a page; MDB_NOTFOUND. */
int freq_entry_find(const FreqScheduler *sch, MDB_txn *txn, uint64_t index, FreqEntry *entry)
{
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    int rc = mdb_get(txn, sch->pages, &key, &value);
    if (rc != MDB_SUCCESS || value.mv_size != sizeof entry->time) {
        return rc != MDB_SUCCESS ? rc : MDB_CORRUPTED;
    }
    *entry = (FreqEntry){.index = index};
    memcpy(&entry->time, value.mv_data, sizeof entry->time);
    unsigned char bytes[KEY_BYTES];
    key_write(entry, bytes);
    key = (MDB_val){sizeof bytes, bytes};
    rc = mdb_get(txn, sch->schedule, &key, &value);
    if (rc != MDB_SUCCESS) {
        return rc;
    }
    return freq_entry_read(&key, &value, entry) ? MDB_SUCCESS : MDB_CORRUPTED;
}

int freq_entry_delete(const FreqScheduler *sch, MDB_txn *txn, const FreqEntry *entry)
{
    unsigned char bytes[KEY_BYTES];
    key_write(entry, bytes);
    MDB_val key = {sizeof bytes, bytes};
    int rc = mdb_del(txn, sch->schedule, &key, NULL);
    if (rc == MDB_SUCCESS) {
        uint64_t index = entry->index;
        key = (MDB_val){sizeof index, &index};
        rc = mdb_del(txn, sch->pages, &key, NULL);
    }
    return rc;
}

int freq_entry_seek(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry)
{
    LmdbRows rows;
    unsigned char bytes[KEY_BYTES];
    key_write(entry, bytes);
    lmdb_rows_begin(&rows, txn, sch->schedule, lmdb_bytes(bytes, sizeof bytes));
    bool is_there = lmdb_rows_next(&rows);
    if (is_there && !freq_entry_read(&rows.key, &rows.value, entry)) {
        (void)lmdb_rows_note(&rows, MDB_CORRUPTED);
    }
    int rc = lmdb_rows_close(&rows, 0);
    return rc == 0 && !is_there ? MDB_NOTFOUND : rc;
}

/* The virtual time of now: that of the first entry. */
int freq_clock_read(const FreqScheduler *sch, MDB_txn *txn, double *time)
{
    FreqEntry first = {.time = 0.0};
    int rc = freq_entry_seek(sch, txn, &first);
    *time = rc == MDB_SUCCESS ? first.time : 0.0;
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

int freq_entries_open(FreqScheduler *sch, MDB_txn *txn, bool create)
{
    unsigned flags = create ? MDB_CREATE : 0;
    int rc = mdb_dbi_open(txn, SCHEDULE_TABLE, flags, &sch->schedule);
    return rc == MDB_SUCCESS ? mdb_dbi_open(txn, PAGES_TABLE, flags | MDB_INTEGERKEY, &sch->pages)
                             : rc;
}
