#include "store/page_tables/page_sweep.h"

/* Goes to the entries among which a key is or would be; n 0 and ended when all are before it. */
static int seek_run(PageSweep *sweep, uint32_t domain, const uint8_t *bytes)
{
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {PAGE_ENTRY_BYTES, (uint8_t *)(uintptr_t)bytes};
    page_sweep_restart(sweep);
    sweep->domain = domain;
    int rc = mdb_cursor_get(sweep->cursor, &key, &value, MDB_GET_BOTH_RANGE);
    if (rc == 0) {
        rc = mdb_cursor_get(sweep->cursor, &key, &value, MDB_GET_MULTIPLE);
    }
    if (rc == MDB_NOTFOUND) {
        sweep->ended = true;
        return 0;
    }
    if (rc == 0 && (value.mv_size == 0 || value.mv_size % PAGE_ENTRY_BYTES != 0)) {
        return MDB_CORRUPTED;
    }
    sweep->entries = value.mv_data;
    sweep->n = value.mv_size / PAGE_ENTRY_BYTES;
    return rc;
}

/* The first entry that is not before bytes; it moves the run's start there. */
static void page_sweep_advance(PageSweep *sweep, const uint8_t *bytes)
{
    const uint8_t *low = sweep->entries;
    size_t n = sweep->n;
    while (n > 0) {
        size_t half = n / 2;
        const uint8_t *middle = low + half * PAGE_ENTRY_BYTES;
        if (memcmp(middle, bytes, PAGE_ENTRY_BYTES) < 0) {
            low = middle + PAGE_ENTRY_BYTES;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    sweep->n -= (size_t)(low - sweep->entries) / PAGE_ENTRY_BYTES;
    sweep->entries = low;
}

int page_sweep_find(PageSweep *sweep, const PageKey *key, PageEntry *entry, bool *found)
{
    uint32_t domain = (uint32_t)(key->hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    *entry = (PageEntry){.url_hash = (uint32_t)key->hash, .print = key->print};
    page_entry_write(entry, bytes);
    *found = false;
    bool same = sweep->domain == domain && (sweep->ended || sweep->n > 0);
    if (same && !sweep->ended) {
        page_sweep_advance(sweep, bytes);
    }
    if (!same || (!sweep->ended && sweep->n == 0)) {
        int rc = seek_run(sweep, domain, bytes);
        if (rc != 0) {
            return rc;
        }
        page_sweep_advance(sweep, bytes);
    }
    if (sweep->n > 0) {
        page_entry_read(sweep->entries, entry);
        *found = entry->url_hash == (uint32_t)key->hash && entry->print == key->print;
    }
    return 0;
}
