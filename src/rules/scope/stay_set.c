#include "rules/scope/stay_set.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "base/thread/mutex.h"
#include "parse/host/authority.h"
#include "parse/host/domain.h"

#define FIRST_SLOTS 1024u

/* What a hash is of; the kinds share the tables. */
enum { SALT_HOST = 1, SALT_DIRECTORY, SALT_REDIRECT };

typedef struct StayTable {
    struct StayTable *older;  /* half full; constant */
    size_t mask;              /* slots - 1 */
    size_t used;              /* the writer's */
    _Atomic uint64_t slots[]; /* open addressing; 0: free */
} StayTable;

struct StaySet {
    StayKind kind;
    Mutex mutex; /* of those who add */
    StayTable *_Atomic newest;
};

Result stay_set_new(StaySet **out, StayKind kind)
{
    StaySet *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return RESULT_MEMORY;
    }
    set->kind = kind;
    mutex_init(&set->mutex, RANK_TABLE);
    *out = set;
    return RESULT_OK;
}

void stay_set_delete(StaySet *set)
{
    if (set == NULL) {
        return;
    }
    StayTable *table = atomic_load(&set->newest);
    while (table != NULL) {
        StayTable *older = table->older;
        free(table);
        table = older;
    }
    mutex_destroy(&set->mutex);
    free(set);
}

/* ---- tables ---- */

static bool has_key(const StaySet *set, uint64_t key)
{
    for (const StayTable *t = atomic_load_explicit(&set->newest, memory_order_acquire); t != NULL;
         t = t->older) {
        size_t i = (size_t)key & t->mask;
        uint64_t found = 0;
        while ((found = atomic_load_explicit(&t->slots[i], memory_order_relaxed)) != 0) {
            if (found == key) {
                return true;
            }
            i = (i + 1) & t->mask;
        }
    }
    return false;
}

/* A table with room, which the others see only once it is whole. */
static StayTable *table_with_room(StaySet *set)
{
    StayTable *newest = atomic_load(&set->newest);
    if (newest != NULL && newest->used * 2 <= newest->mask) {
        return newest;
    }
    size_t slots = newest == NULL ? FIRST_SLOTS : (newest->mask + 1) * 2;
    StayTable *table = calloc(1, sizeof *table + slots * sizeof table->slots[0]);
    if (table != NULL) {
        table->older = newest;
        table->mask = slots - 1;
        atomic_store_explicit(&set->newest, table, memory_order_release);
    }
    return table;
}

static Result add_key(StaySet *set, uint64_t key)
{
    Result rc = RESULT_OK;
    mutex_lock(&set->mutex);
    if (!has_key(set, key)) {
        StayTable *table = table_with_room(set);
        if (table == NULL) {
            rc = RESULT_MEMORY;
        } else {
            size_t i = (size_t)key & table->mask;
            while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0) {
                i = (i + 1) & table->mask;
            }
            atomic_store_explicit(&table->slots[i], key, memory_order_relaxed);
            table->used++;
        }
    }
    mutex_unlock(&set->mutex);
    return rc;
}

/* ---- places ---- */

static uint64_t stay_set_key_of(const char *bytes, size_t length, uint64_t salt)
{
    uint64_t key = hash_64(bytes, length, salt);
    return key == 0 ? 1 : key;
}

static uint64_t host_key(const StaySet *set, const char *host, size_t length)
{
    if (set->kind == STAY_DOMAIN) {
        Domain domain = domain_registered(host, length);
        return stay_set_key_of(domain.name, domain.length, SALT_HOST);
    }
    return stay_set_key_of(host, length, SALT_HOST);
}

/* A directory of a host: path begins with a slash and ends behind one. */
static uint64_t directory_key(uint64_t host, const char *path, size_t length)
{
    return stay_set_key_of(path, length, host + SALT_DIRECTORY);
}

/* Where the path ends: at the query, the fragment or the end. */
static size_t path_end(const char *url, size_t start, size_t length)
{
    size_t at = start;
    while (at < length && url[at] != '?' && url[at] != '#') {
        at++;
    }
    return at;
}

Result stay_set_add(StaySet *set, const char *url, size_t length)
{
    Authority at = authority_of(url, length);
    if (at.host_end == at.host) {
        return RESULT_INVALID;
    }
    uint64_t key = host_key(set, url + at.host, at.host_end - at.host);
    if (set->kind == STAY_DIRECTORY) {
        size_t end = path_end(url, at.end, length);
        while (end > at.end && url[end - 1] != '/') {
            end--;
        }
        bool has_path = end > at.end;
        key = directory_key(key, has_path ? url + at.end : "/", has_path ? end - at.end : 1);
    }
    return add_key(set, key);
}

Result stay_set_follow(StaySet *set, const char *url, size_t length)
{
    Result rc = stay_set_add(set, url, length);
    return rc == RESULT_OK ? add_key(set, stay_set_key_of(url, length, SALT_REDIRECT)) : rc;
}

bool stay_set_stands_for_seed(const StaySet *set, const char *url, size_t length)
{
    return has_key(set, stay_set_key_of(url, length, SALT_REDIRECT));
}

bool stay_set_has(const StaySet *set, const char *url, size_t length)
{
    Authority at = authority_of(url, length);
    uint64_t host = host_key(set, url + at.host, at.host_end - at.host);
    if (set->kind != STAY_DIRECTORY) {
        return has_key(set, host);
    }
    size_t end = path_end(url, at.end, length);
    for (size_t i = at.end; i < end; i++) {
        if (url[i] == '/' && has_key(set, directory_key(host, url + at.end, i + 1 - at.end))) {
            return true;
        }
    }
    return end == at.end && has_key(set, directory_key(host, "/", 1));
}
