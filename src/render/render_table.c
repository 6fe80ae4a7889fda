#include "render/render_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"

#define RENDER_KEY_BYTES 16u

struct RenderTable {
    MDB_dbi dbi;
};

/* A key and the room for it. */
typedef struct RenderKey {
    unsigned char bytes[RENDER_KEY_BYTES];
    size_t length;
} RenderKey;

const char *render_job_state_name(RenderJobState state)
{
    static const char *const names[RENDER_JOB_STATES] = {"waiting", "lacking", "done",
                                                         "failed",  "passed",  "asked"};
    return names[state];
}

Result render_table_open(RenderTable **out, MDB_txn *txn)
{
    RenderTable *table = calloc(1, sizeof *table);
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = mdb_dbi_open(txn, "renders", MDB_CREATE, &table->dbi);
    if (rc == EACCES) { /* a read transaction creates nothing */
        rc = mdb_dbi_open(txn, "renders", 0, &table->dbi);
    }
    if (rc != MDB_SUCCESS) {
        free(table);
        return rc == EACCES ? RESULT_NOT_FOUND : lmdb_result(rc, "open renders");
    }
    *out = table;
    return RESULT_OK;
}

void render_table_close(RenderTable *table)
{
    free(table);
}

/* ---- keys ---- */

static RenderKey render_key(char letter)
{
    return (RenderKey){.bytes = {(unsigned char)letter}, .length = 1};
}

static void render_key_number(RenderKey *key, uint64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        key->bytes[key->length++] = (unsigned char)(number >> shift);
    }
}

static uint64_t render_key_read(const MDB_val *key, size_t at)
{
    const unsigned char *bytes = key->mv_data;
    uint64_t number = 0;
    for (size_t i = at; i < at + 8 && i < key->mv_size; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static RenderKey render_key_of_page(char letter, uint64_t page)
{
    RenderKey key = render_key(letter);
    render_key_number(&key, page);
    return key;
}

/* Where a job stands in line. */
static RenderKey render_key_of_place(RenderJobState state, uint8_t weight, uint64_t page)
{
    RenderKey key = render_key(state == RENDER_JOB_WAITING ? 'q' : 'l');
    if (state == RENDER_JOB_WAITING) {
        key.bytes[key.length++] = (unsigned char)(UINT8_MAX - weight);
    }
    render_key_number(&key, page);
    return key;
}

static MDB_val render_key_val(RenderKey *key)
{
    return (MDB_val){key->length, key->bytes};
}

static Result render_table_set(RenderTable *table, MDB_txn *txn, RenderKey *key, const void *bytes,
                               size_t length)
{
    MDB_val name = render_key_val(key);
    MDB_val value = {length, (void *)(uintptr_t)bytes};
    return lmdb_result(mdb_put(txn, table->dbi, &name, &value, 0), "put render");
}

/* A value that was written by an older ragno is shorter: the rest is zero. */
static Result render_table_read(RenderTable *table, MDB_txn *txn, RenderKey *key, void *bytes,
                                size_t length)
{
    MDB_val name = render_key_val(key);
    MDB_val value;
    memset(bytes, 0, length);
    int rc = mdb_get(txn, table->dbi, &name, &value);
    if (rc == MDB_SUCCESS) {
        memcpy(bytes, value.mv_data, value.mv_size < length ? value.mv_size : length);
    }
    return lmdb_result(rc, "get render");
}

/* ---- totals and lessons ---- */

Result render_table_totals(RenderTable *table, MDB_txn *txn, RenderTotals *totals)
{
    RenderKey key = render_key('t');
    Result rc = render_table_read(table, txn, &key, totals, sizeof *totals);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Result render_table_put_totals(RenderTable *table, MDB_txn *txn, const RenderTotals *totals)
{
    RenderKey key = render_key('t');
    return render_table_set(table, txn, &key, totals, sizeof *totals);
}

Result render_table_set_totals(RenderTable *table, MDB_txn *txn, const RenderTotals *totals)
{
    RenderTotals now;
    RenderTotals next = *totals;
    Result rc = render_table_totals(table, txn, &now);
    if (rc != RESULT_OK) {
        return rc;
    }
    memcpy(next.jobs, now.jobs, sizeof next.jobs);
    next.links = now.links;
    next.refused = now.refused;
    next.lacking = now.lacking;
    return render_table_put_totals(table, txn, &next);
}

bool render_lesson_is_dull(const RenderLesson *lesson, uint64_t page)
{
    return lesson->rendered >= RENDER_LESSONS && lesson->fruitful == 0 &&
           hash_mix(page) % RENDER_PROBE != 0;
}

Result render_table_lesson(RenderTable *table, MDB_txn *txn, uint64_t pattern, RenderLesson *lesson)
{
    RenderKey key = render_key_of_page('p', pattern);
    Result rc = render_table_read(table, txn, &key, lesson, sizeof *lesson);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result render_table_learn(RenderTable *table, MDB_txn *txn, uint64_t pattern,
                          const RenderLesson *lesson)
{
    RenderKey key = render_key_of_page('p', pattern);
    return render_table_set(table, txn, &key, lesson, sizeof *lesson);
}

Result render_table_forms(RenderTable *table, MDB_txn *txn, uint64_t shape, Buffer *forms)
{
    RenderKey key = render_key_of_page('f', shape);
    MDB_val name = render_key_val(&key);
    MDB_val value;
    int rc = mdb_get(txn, table->dbi, &name, &value);
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return rc == MDB_SUCCESS ? buffer_append(forms, value.mv_data, value.mv_size)
                             : lmdb_result(rc, "get render forms");
}

Result render_table_set_forms(RenderTable *table, MDB_txn *txn, uint64_t shape, const Buffer *forms)
{
    RenderKey key = render_key_of_page('f', shape);
    return render_table_set(table, txn, &key, buffer_string(forms), forms->length);
}

Result render_table_first(RenderTable *table, MDB_txn *txn, uint32_t host, uint64_t shown,
                          uint64_t page, uint64_t *first)
{
    RenderKey key = render_key_of_page('s', shown ^ hash_mix(host + UINT64_C(1)));
    Result rc = render_table_read(table, txn, &key, first, sizeof *first);
    if (rc == RESULT_NOT_FOUND) {
        *first = page;
        rc = render_table_set(table, txn, &key, &page, sizeof page);
    }
    return rc;
}

/* ---- queries that change nothing ---- */

/* A URL without its query, and the names of the query's parameters, in any order, at its host. */
static bool render_query_keys(const char *url, uint64_t *place, uint64_t *names)
{
    size_t path = strcspn(url, "?");
    const char *host = strstr(url, "://");
    *place = hash_64(url, path, 0);
    *names = host == NULL ? 0 : hash_64(url, (size_t)(host + 3 - url) + strcspn(host + 3, "/?"), 1);
    for (const char *at = url + path; *at != '\0';) {
        size_t length = strcspn(++at, "=&");
        *names += hash_64(at, length, 2);
        at += strcspn(at, "&");
    }
    return url[path] == '?';
}

Result render_query_is_idle(RenderTable *table, MDB_txn *txn, const char *url, uint64_t page,
                            bool *is_idle)
{
    RenderLesson lesson;
    uint64_t place = 0;
    uint64_t names = 0;
    uint64_t shown = 0;
    *is_idle = false;
    if (!render_query_keys(url, &place, &names)) {
        return RESULT_OK;
    }
    RenderKey key = render_key_of_page('d', place);
    Result rc = render_table_read(table, txn, &key, &shown, sizeof shown);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = render_table_lesson(table, txn, names, &lesson);
    *is_idle = rc == RESULT_OK && render_lesson_is_dull(&lesson, page);
    return rc;
}

Result render_query_learn(RenderTable *table, MDB_txn *txn, const char *url, uint64_t shown)
{
    RenderLesson lesson;
    uint64_t place = 0;
    uint64_t names = 0;
    uint64_t before = 0;
    bool has_query = render_query_keys(url, &place, &names);
    RenderKey key = render_key_of_page('d', place);
    Result rc = render_table_read(table, txn, &key, &before, sizeof before);
    if (rc == RESULT_NOT_FOUND || (rc == RESULT_OK && !has_query)) {
        return render_table_set(table, txn, &key, &shown, sizeof shown);
    }
    if (rc == RESULT_OK) {
        rc = render_table_lesson(table, txn, names, &lesson);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    lesson.rendered++;
    lesson.fruitful += before != shown;
    return render_table_learn(table, txn, names, &lesson);
}

/* ---- jobs ---- */

static bool render_job_is_in_line(uint8_t state)
{
    return state == RENDER_JOB_WAITING || state == RENDER_JOB_LACKING || state == RENDER_JOB_ASKED;
}

Result render_table_get(RenderTable *table, MDB_txn *txn, uint64_t page, RenderJob *job,
                        const void **requisites)
{
    RenderKey key = render_key_of_page('j', page);
    MDB_val name = render_key_val(&key);
    MDB_val value;
    int rc = mdb_get(txn, table->dbi, &name, &value);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "get render job");
    }
    if (value.mv_size < sizeof *job) {
        return RESULT_DAMAGED;
    }
    memcpy(job, value.mv_data, sizeof *job);
    if (job->state >= RENDER_JOB_STATES ||
        value.mv_size != sizeof *job + job->n_requisites * sizeof(uint64_t)) {
        return RESULT_DAMAGED;
    }
    if (requisites != NULL) {
        *requisites = (const char *)value.mv_data + sizeof *job;
    }
    return RESULT_OK;
}

/* What a job that has come to its end adds to the totals; one that begins anew takes it back. */
static void render_table_count(RenderTotals *totals, const RenderJob *job, uint64_t sign)
{
    if (job->state == RENDER_JOB_DONE || job->state == RENDER_JOB_FAILED) {
        totals->links += sign * job->links;
        totals->refused += sign * job->refused;
        totals->lacking += sign * job->lacking;
    }
}

/* Takes a job out of line and out of the counts, if there is one. */
static Result render_table_leave(RenderTable *table, MDB_txn *txn, uint64_t page,
                                 RenderTotals *totals)
{
    RenderJob old = {.state = 0};
    Result rc = render_table_get(table, txn, page, &old, NULL);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    totals->jobs[old.state] -= totals->jobs[old.state] > 0;
    render_table_count(totals, &old, UINT64_MAX);
    if (!render_job_is_in_line(old.state)) {
        return RESULT_OK;
    }
    RenderKey place = render_key_of_place((RenderJobState)old.state, old.weight, page);
    MDB_val name = render_key_val(&place);
    int code = mdb_del(txn, table->dbi, &name, NULL);
    return code == MDB_NOTFOUND ? RESULT_OK : lmdb_result(code, "delete render place");
}

/* Job and requisites in one value. */
static Result render_table_put_job(RenderTable *table, MDB_txn *txn, uint64_t page,
                                   const RenderJob *job, const uint64_t *requisites)
{
    RenderKey key = render_key_of_page('j', page);
    MDB_val name = render_key_val(&key);
    size_t more = job->n_requisites * sizeof *requisites;
    MDB_val value = {sizeof *job + more, NULL};
    int rc = mdb_put(txn, table->dbi, &name, &value, MDB_RESERVE);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "put render job");
    }
    memcpy(value.mv_data, job, sizeof *job);
    if (more > 0) {
        memcpy((char *)value.mv_data + sizeof *job, requisites, more);
    }
    return RESULT_OK;
}

Result render_table_put(RenderTable *table, MDB_txn *txn, uint64_t page, const RenderJob *job,
                        const uint64_t *requisites)
{
    RenderTotals totals;
    Result rc = render_table_totals(table, txn, &totals);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = render_table_leave(table, txn, page, &totals);
    if (rc != RESULT_OK) {
        return rc;
    }
    totals.jobs[job->state]++;
    render_table_count(&totals, job, 1);
    rc = render_table_put_totals(table, txn, &totals);
    if (rc == RESULT_OK && render_job_is_in_line(job->state)) {
        RenderKey place = render_key_of_place((RenderJobState)job->state, job->weight, page);
        rc = render_table_set(table, txn, &place, "", 0);
    }
    return rc == RESULT_OK ? render_table_put_job(table, txn, page, job, requisites) : rc;
}

Result render_table_want(RenderTable *table, MDB_txn *txn, uint64_t page, uint8_t weight,
                         uint32_t signs, uint64_t pattern)
{
    RenderJob job = {
        .state = RENDER_JOB_WAITING, .weight = weight, .signs = signs, .pattern = pattern};
    return render_table_put(table, txn, page, &job, NULL);
}

/* ---- walks ---- */

/* The first key at or behind this one, while it has the same letter. */
static Result render_table_seek(RenderTable *table, MDB_txn *txn, RenderKey *from, MDB_val *key,
                                MDB_val *value)
{
    MDB_cursor *cursor = NULL;
    *key = render_key_val(from);
    int rc = mdb_cursor_open(txn, table->dbi, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
        mdb_cursor_close(cursor);
    }
    if (rc == MDB_SUCCESS &&
        (key->mv_size == 0 || *(const unsigned char *)key->mv_data != from->bytes[0])) {
        rc = MDB_NOTFOUND;
    }
    return lmdb_result(rc, "seek render");
}

Result render_table_next(RenderTable *table, MDB_txn *txn, RenderJobState state,
                         RenderCursor *cursor)
{
    bool has_weight = state == RENDER_JOB_WAITING;
    RenderKey from = render_key(has_weight ? 'q' : 'l');
    if (cursor->has_begun) {
        from = render_key_of_place(state, cursor->weight, cursor->page);
        from.bytes[from.length++] = 0; /* behind it */
    }
    MDB_val key;
    MDB_val value;
    Result rc = render_table_seek(table, txn, &from, &key, &value);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (key.mv_size != (has_weight ? 10u : 9u)) {
        return RESULT_DAMAGED;
    }
    const unsigned char *bytes = key.mv_data;
    *cursor = (RenderCursor){.weight = (uint8_t)(has_weight ? UINT8_MAX - bytes[1] : 0),
                             .page = render_key_read(&key, has_weight ? 2 : 1),
                             .has_begun = true};
    return RESULT_OK;
}
