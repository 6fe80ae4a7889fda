#include "store/page_tables/page_key.h"

#include "base/core/hash.h"
#include "store/records/url_parts.h"

/* ---- The table hash2idx read in order ---- */

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

/* memcmp(entry, bytes, PAGE_ENTRY_BYTES) < 0 */
static bool page_entry_is_before(const uint8_t *entry, const uint8_t *bytes)
{
    uint64_t x[2], y[2];
    memcpy(x, entry, sizeof x);
    memcpy(y, bytes, sizeof y);
    return x[0] != y[0] ? be64toh(x[0]) < be64toh(y[0]) : be64toh(x[1]) < be64toh(y[1]);
}

/* The first entry that is not before bytes; it moves the run's start there. It is near, since keys
 * come in order. */
static void page_sweep_advance(PageSweep *sweep, const uint8_t *bytes)
{
    const uint8_t *low = sweep->entries;
    size_t n = 1;
    while (n < sweep->n && page_entry_is_before(low + n * PAGE_ENTRY_BYTES, bytes)) {
        n *= 2;
    }
    n = n < sweep->n ? n : sweep->n;
    while (n > 0) {
        size_t half = n / 2;
        const uint8_t *middle = low + half * PAGE_ENTRY_BYTES;
        if (page_entry_is_before(middle, bytes)) {
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

/* ---- The key of a URL, and its entry in the table hash2idx ---- */

#define PRINT_MASK ((UINT64_C(1) << PAGE_PRINT_BITS) - 1)

uint64_t page_key_hash(const char *url, size_t length)
{
    PageOrigin at;
    page_origin_of(url, length, &at);
    return (uint64_t)at.domain_hash << 32 | hash_32(url, length, 0);
}

PageKey page_key_of(const PageDBStore *store, const char *url, size_t length)
{
    return page_key_of_link(store, url, length, NULL).key;
}

void page_origin_of(const char *url, size_t length, PageOrigin *origin)
{
    UrlParts parts;
    *origin = (PageOrigin){.url = url};
    if (url_parts(url, length, &parts)) {
        origin->prefix_length = parts.authority_end;
        origin->host_start = parts.host_start;
        origin->host_end = parts.host_end;
        origin->domain_hash = hash_32(url + parts.host_start, parts.host_end - parts.host_start, 0);
    }
}

/* Whether url begins with the page's scheme and authority, and they end there. */
static bool shares_prefix(const PageOrigin *from, const char *url, size_t length)
{
    size_t n = from->prefix_length;
    if (n == 0 || length < n || memcmp(url, from->url, n) != 0) {
        return false;
    }
    char c = length == n ? '/' : url[n];
    return c == '/' || c == '?' || c == '#';
}

PageLinkKey page_key_of_link(const PageDBStore *store, const char *url, size_t length,
                             const PageOrigin *from)
{
    uint32_t domain = 0;
    bool cross = true;
    if (from != NULL && shares_prefix(from, url, length)) {
        domain = from->domain_hash;
        cross = false;
    } else {
        PageOrigin to;
        page_origin_of(url, length, &to);
        size_t n = to.host_end - to.host_start;
        domain = to.domain_hash;
        if (to.prefix_length > 0) {
            cross = from == NULL || n != from->host_end - from->host_start ||
                    memcmp(url + to.host_start, from->url + from->host_start, n) != 0;
        } else if (from != NULL && from->prefix_length == 0) {
            cross = strlen(from->url) != length || memcmp(from->url, url, length) != 0;
        }
    }
    uint64_t hash = (uint64_t)domain << 32 | hash_32(url, length, 0);
    return (PageLinkKey){.key = {.hash = hash & store->hash_mask,
                                 .print = hash_64(url, length, store->seed) & PRINT_MASK},
                         .length = (uint32_t)length,
                         .cross = cross};
}

/* The first entry with a URL hash, or the one with the fingerprint too. */
int page_key_find(MDB_cursor *cursor, uint64_t hash, const uint64_t *print, uint64_t *index)
{
    uint32_t domain = (uint32_t)(hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    PageEntry entry = {.url_hash = (uint32_t)hash, .print = print == NULL ? 0 : *print};
    page_entry_write(&entry, bytes);
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH_RANGE);
    bool found = false;
    while (rc == 0) {
        page_entry_read(value.mv_data, &entry);
        if (entry.url_hash != (uint32_t)hash || (print != NULL && entry.print != *print)) {
            break;
        }
        if (!found || entry.index < *index) {
            *index = entry.index;
        }
        found = true;
        if (print != NULL) {
            break;
        }
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_DUP);
    }
    if (rc != 0 && rc != MDB_NOTFOUND) {
        return rc;
    }
    return found ? 0 : MDB_NOTFOUND;
}

int page_key_look_up(const PageDBStore *store, MDB_txn *txn, const PageKey *key, uint64_t *index)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, store->tables.hash2idx, &cursor);
    if (rc == 0) {
        rc = page_key_find(cursor, key->hash, &key->print, index);
    }
    mdb_cursor_close(cursor);
    return rc;
}
