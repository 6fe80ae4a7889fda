#include "rules/dedup.h"

#include <string.h>

#include "base/core/ascii.h"

#include "base/option/options.h"
#include "store/lmdb/lmdb_result.h"
#include "store/records/url_parts.h"
#include "parse/url/url.h"

#define RECORD_NAME "dedup_key"
#define BLANKS      " ,\t"
#define MAX_GUESS   4u /* letters that may differ in a word that is meant */

typedef struct Step {
    const char *name;
    size_t offset; /* in UrlKeyOptions; SIZE_MAX: what every key has */
} Step;

static const Step steps_known[] = {
    {"escapes", SIZE_MAX},
    {"session_ids", offsetof(UrlKeyOptions, session_ids)},
    {"tracking", offsetof(UrlKeyOptions, tracking)},
    {"index_pages", offsetof(UrlKeyOptions, index_pages)},
    {"sorted_query", offsetof(UrlKeyOptions, sorted_query)},
};

#define N_STEPS (sizeof steps_known / sizeof *steps_known)

static bool *flag_of(UrlKeyOptions *key, const Step *step)
{
    return (bool *)(void *)((char *)key + step->offset);
}

static Result dedup_complain(const char *word, size_t length, Buffer *error)
{
    char copy[32];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(length > 31 ? 31 : length), word);
    (void)buffer_printf(error, "'%s' is not a step of a dedup key", copy);
    for (size_t i = 0; i < N_STEPS; i++) {
        if (option_distance(copy, steps_known[i].name) <= MAX_GUESS) {
            (void)buffer_printf(error, ", did you mean '%s'?", steps_known[i].name);
            return RESULT_INVALID;
        }
    }
    (void)buffer_append_string(error, "; there are");
    for (size_t i = 0; i < N_STEPS; i++) {
        (void)buffer_printf(error, "%s %s", i == 0 ? "" : ",", steps_known[i].name);
    }
    return RESULT_INVALID;
}

Result dedup_parse_steps(const char *text, DedupSteps *steps, Buffer *error)
{
    *steps = (DedupSteps){.on = false};
    for (size_t length = 0; ascii_next_word(&text, &length, BLANKS);) {
        const Step *step = NULL;
        for (size_t i = 0; i < N_STEPS && step == NULL; i++) {
            const char *name = steps_known[i].name;
            step =
                strlen(name) == length && memcmp(name, text, length) == 0 ? &steps_known[i] : NULL;
        }
        if (step == NULL) {
            return dedup_complain(text, length, error);
        }
        steps->on = true;
        if (step->offset != SIZE_MAX) {
            *flag_of(&steps->key, step) = true;
        }
    }
    return RESULT_OK;
}

/* The steps in the table's order, as they are recorded; "" when off. */
static Result print_steps(const DedupSteps *steps, Buffer *out)
{
    UrlKeyOptions key = steps->key;
    for (size_t i = 0; i < N_STEPS && steps->on; i++) {
        const Step *step = &steps_known[i];
        if (step->offset == SIZE_MAX || *flag_of(&key, step)) {
            (void)buffer_printf(out, "%s%s", i == 0 ? "" : " ", step->name);
        }
    }
    return out->failed; /* an error sticks */
}

void dedup_scratch_init(DedupScratch *scratch)
{
    url_init(&scratch->url);
    buffer_init(&scratch->key, BUFFER_NO_LIMIT);
}

void dedup_scratch_destroy(DedupScratch *scratch)
{
    url_destroy(&scratch->url);
    buffer_destroy(&scratch->key);
}

Result dedup_key(const DedupSteps *steps, DedupScratch *scratch, const char *url, size_t length,
                 Hash128 *key)
{
    Result rc = url_parse(&scratch->url, NULL, url, length);
    buffer_reset(&scratch->key);
    if (rc == RESULT_OK) {
        rc = url_key(&scratch->url, &steps->key, &scratch->key);
    }
    if (rc == RESULT_OK) {
        *key = hash_128(scratch->key.data, scratch->key.length);
    }
    return rc;
}

Result dedup_check(const DedupSteps *steps, MDB_txn *txn, MDB_dbi crawl, bool has_pages,
                   Buffer *error)
{
    char name[] = RECORD_NAME;
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value = {.mv_size = 0, .mv_data = name};
    Buffer now = {.limit = BUFFER_NO_LIMIT};
    Result rc = print_steps(steps, &now);
    if (rc == RESULT_OK && !has_pages) {
        value = (MDB_val){.mv_size = now.length, .mv_data = now.length == 0 ? name : now.data};
        rc = lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "put dedup key");
    } else if (rc == RESULT_OK) {
        int code = mdb_get(txn, crawl, &key, &value); /* a crawl from before has no record */
        rc = code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "get dedup key");
        if (rc == RESULT_OK && (value.mv_size != now.length ||
                                memcmp(value.mv_data, buffer_string(&now), now.length) != 0)) {
            (void)buffer_printf(error,
                                "scope.dedup_key = %s: this crawl was begun with '%.*s', and its "
                                "pages are merged by that; it cannot be changed",
                                buffer_string(&now), (int)value.mv_size,
                                (const char *)value.mv_data);
            rc = RESULT_INVALID;
        }
    }
    buffer_destroy(&now);
    return rc;
}

static bool dedup_is(const MDB_val *value, const char *text)
{
    return text != NULL && strlen(text) == value->mv_size &&
           memcmp(value->mv_data, text, value->mv_size) == 0;
}

Result dedup_first(MDB_txn *txn, MDB_dbi keys, const Hash128 *hash, const char *url,
                   const char *from, Arena *arena, const char **first)
{
    uint64_t words[2] = {hash->low, hash->high};
    MDB_val key = {.mv_size = sizeof words, .mv_data = words};
    MDB_val own = {.mv_size = strlen(url), .mv_data = (void *)(uintptr_t)url};
    MDB_val value = own;
    *first = url;
    int rc = mdb_put(txn, keys, &key, &value, MDB_NOOVERWRITE);
    if (rc != MDB_KEYEXIST || dedup_is(&value, url)) {
        return rc == MDB_KEYEXIST ? RESULT_OK : lmdb_result(rc, "put dedup key");
    }
    if (dedup_is(&value, from)) {
        return lmdb_result(mdb_put(txn, keys, &key, &own, 0), "put dedup key");
    }
    char *copy = arena_copy(arena, value.mv_data, value.mv_size);
    if (copy != NULL && same_domain(copy, url)) {
        *first = copy; /* a hash can be forged, but not for the pages of another host */
    }
    return copy == NULL ? RESULT_MEMORY : RESULT_OK;
}

/* The recorded steps; RESULT_NOT_FOUND without a record. */
static Result recorded_steps(MDB_txn *txn, DedupSteps *steps)
{
    char name[] = RECORD_NAME;
    MDB_dbi crawl = 0;
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value;
    int code = mdb_dbi_open(txn, "crawl", 0, &crawl);
    if (code == MDB_SUCCESS) {
        code = mdb_get(txn, crawl, &key, &value);
    }
    if (code == MDB_NOTFOUND) {
        return RESULT_NOT_FOUND;
    }
    if (code != MDB_SUCCESS) {
        return lmdb_result(code, "get dedup key");
    }
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = buffer_append(&text, value.mv_data, value.mv_size);
    if (rc == RESULT_OK) {
        rc = dedup_parse_steps(buffer_string(&text), steps, &error);
    }
    buffer_destroy(&text);
    buffer_destroy(&error);
    return rc;
}

Result dedup_stands_for(MDB_txn *txn, const char *url, Buffer *first)
{
    DedupSteps steps = {.on = false};
    DedupScratch scratch;
    Hash128 hash = {0};
    MDB_dbi keys = 0;
    Result rc = recorded_steps(txn, &steps);
    if (rc != RESULT_OK || !steps.on) {
        return rc == RESULT_OK ? RESULT_NOT_FOUND : rc;
    }
    dedup_scratch_init(&scratch);
    rc = dedup_key(&steps, &scratch, url, strlen(url), &hash);
    dedup_scratch_destroy(&scratch);
    if (rc != RESULT_OK) {
        return RESULT_NOT_FOUND;
    }
    int code = mdb_dbi_open(txn, "keys", 0, &keys);
    uint64_t words[2] = {hash.low, hash.high};
    MDB_val key = {.mv_size = sizeof words, .mv_data = words};
    MDB_val value;
    if (code == MDB_SUCCESS) {
        code = mdb_get(txn, keys, &key, &value);
    }
    if (code != MDB_SUCCESS) {
        return code == MDB_NOTFOUND ? RESULT_NOT_FOUND : lmdb_result(code, "get spelling");
    }
    buffer_reset(first);
    return buffer_append(first, value.mv_data, value.mv_size);
}

Result dedup_release(MDB_txn *txn, MDB_dbi keys, const Hash128 *hash, const char *url)
{
    uint64_t words[2] = {hash->low, hash->high};
    MDB_val key = {.mv_size = sizeof words, .mv_data = words};
    MDB_val value;
    int rc = mdb_get(txn, keys, &key, &value);
    if (rc == 0 && dedup_is(&value, url)) {
        rc = mdb_del(txn, keys, &key, NULL);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "release dedup key");
}
