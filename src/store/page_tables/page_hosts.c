#include "store/page_tables/page_hosts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define CACHE_SLOTS 8192u
#define CACHE_BYTES 52u /* longer origins are not cached */

typedef struct CachedHost {
    uint64_t hash;
    uint32_t host;
    uint8_t length; /* 0 = free */
    char origin[CACHE_BYTES];
} CachedHost;

struct PageHosts {
    size_t id;               /* of the write transaction, or of the last one */
    atomic_size_t committed; /* of one that was committed, mostly the last */
    CachedHost slots[CACHE_SLOTS];
};

PageHosts *page_hosts_new(void)
{
    return calloc(1, sizeof(PageHosts));
}

void page_hosts_delete(PageHosts *hosts)
{
    free(hosts);
}

void page_hosts_begin(PageHosts *hosts, size_t id)
{
    if (atomic_load(&hosts->committed) != hosts->id) {
        memset(hosts->slots, 0, sizeof hosts->slots);
    }
    hosts->id = id;
}

void page_hosts_committed(PageHosts *hosts, size_t id)
{
    atomic_store(&hosts->committed, id);
}

int page_hosts_count(PageDBStore *store, MDB_txn *txn, uint32_t *count)
{
    MDB_stat stat;
    int rc = mdb_stat(txn, store->tables.origins, &stat);
    *count = rc == 0 ? (uint32_t)stat.ms_entries : 0;
    return rc;
}

int page_hosts_origin(PageDBStore *store, MDB_txn *txn, uint32_t host, MDB_val *origin)
{
    MDB_val key = {sizeof host, &host};
    int rc = mdb_get(txn, store->tables.origins, &key, origin);
    if (rc == 0) {
        /* Records carry one byte in front, for LMDB stores no empty ones. */
        origin->mv_data = (char *)origin->mv_data + 1;
        origin->mv_size -= 1;
    }
    return rc;
}

/* Looks an origin up; *ids are those with its hash. */
static int page_hosts_look_up(PageDBStore *store, MDB_txn *txn, uint64_t hash,
                              const MDB_val *wanted, uint32_t *host, MDB_val *ids)
{
    MDB_val key = {sizeof hash, &hash};
    *ids = (MDB_val){0, NULL};
    int rc = mdb_get(txn, store->tables.origin2host, &key, ids);
    if (rc != 0) {
        return rc;
    }
    for (size_t at = 0; at + sizeof *host <= ids->mv_size; at += sizeof *host) {
        memcpy(host, (const char *)ids->mv_data + at, sizeof *host);
        MDB_val origin;
        rc = page_hosts_origin(store, txn, *host, &origin);
        if (rc != 0) {
            return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
        }
        if (origin.mv_size == wanted->mv_size &&
            memcmp(origin.mv_data, wanted->mv_data, wanted->mv_size) == 0) {
            return 0;
        }
    }
    return MDB_NOTFOUND;
}

static uint64_t origin_hash(const PageDBStore *store, const char *origin, size_t length)
{
    return hash_64(origin, length, store->seed);
}

int page_hosts_find(PageDBStore *store, MDB_txn *txn, const char *origin, size_t length,
                    uint32_t *host)
{
    MDB_val wanted = {length, (char *)(uintptr_t)origin};
    MDB_val ids;
    return page_hosts_look_up(store, txn, origin_hash(store, origin, length), &wanted, host, &ids);
}

/* One id more for a hash that has ids, or none. */
static int add_id(PageDBStore *store, MDB_txn *txn, uint64_t hash, const MDB_val *ids,
                  uint32_t host)
{
    size_t length = ids->mv_size + sizeof host;
    char *list = malloc(length);
    if (list == NULL) {
        return ENOMEM;
    }
    if (ids->mv_size > 0) {
        memcpy(list, ids->mv_data, ids->mv_size);
    }
    memcpy(list + ids->mv_size, &host, sizeof host);
    MDB_val key = {sizeof hash, &hash};
    MDB_val value = {length, list};
    int rc = mdb_put(txn, store->tables.origin2host, &key, &value, 0);
    free(list);
    return rc;
}

static int page_hosts_create(PageDBStore *store, MDB_txn *txn, uint64_t hash, const MDB_val *wanted,
                             const MDB_val *ids, uint32_t *host)
{
    int rc = page_hosts_count(store, txn, host);
    if (rc != 0) {
        return rc;
    }
    if (*host == UINT32_MAX) {
        return MDB_MAP_FULL;
    }
    /* First: ids lie in the map, which a write may change. */
    rc = add_id(store, txn, hash, ids, *host);
    if (rc != 0) {
        return rc;
    }
    MDB_val key = {sizeof *host, host};
    MDB_val value = {wanted->mv_size + 1, NULL};
    rc = mdb_put(txn, store->tables.origins, &key, &value, MDB_APPEND | MDB_RESERVE);
    if (rc == 0) {
        char *out = value.mv_data;
        out[0] = 0;
        memcpy(out + 1, wanted->mv_data, wanted->mv_size);
    }
    return rc;
}

int page_hosts_add(PageDBStore *store, MDB_txn *txn, const char *origin, size_t length,
                   uint32_t *host)
{
    PageHosts *hosts = store->hosts;
    uint64_t hash = origin_hash(store, origin, length);
    CachedHost *slot = &hosts->slots[hash % CACHE_SLOTS];
    if (slot->length == length && slot->hash == hash && length > 0 &&
        memcmp(slot->origin, origin, length) == 0) {
        *host = slot->host;
        return 0;
    }
    MDB_val wanted = {length, (char *)(uintptr_t)origin};
    MDB_val ids;
    int rc = page_hosts_look_up(store, txn, hash, &wanted, host, &ids);
    if (rc == MDB_NOTFOUND) {
        rc = page_hosts_create(store, txn, hash, &wanted, &ids, host);
    }
    if (rc == 0 && length > 0 && length <= CACHE_BYTES) {
        slot->hash = hash;
        slot->host = *host;
        slot->length = (uint8_t)length;
        memcpy(slot->origin, origin, length);
    }
    return rc;
}
