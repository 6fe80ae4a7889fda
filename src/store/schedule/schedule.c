#include "store/schedule/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NAME   "schedule"
#define HOSTS_SUFFIX   "_hosts"
#define FORMAT_VERSION 1u
#define VERSION_LEVEL  255u /* the key of the format version in the table of hosts */

#define KEY_BYTES   5u /* host, level */
#define INDEX_BYTES 6u /* measured: 25 % less disk than 8-byte integers; 2^48 pages */
#define HOST_BYTES  4u
#define MAX_INDEX   ((UINT64_C(1) << 48) - 1)

struct Schedule {
    MDB_dbi entries; /* host, level -> page indices */
    MDB_dbi hosts;   /* best level -> host ids; VERSION_LEVEL -> the format version */
    unsigned levels; /* of scores */
    unsigned first;  /* the best of them */
    float
        least[SCHEDULE_MAX_LEVELS]; /* a score belongs to the first level whose least it reaches */
};

static Result result_of_lmdb(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return RESULT_OK;
    case MDB_NOTFOUND:
        return RESULT_NOT_FOUND;
    case MDB_MAP_FULL:
        return RESULT_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return RESULT_DAMAGED;
    case MDB_INCOMPATIBLE:
    case MDB_VERSION_MISMATCH:
        return RESULT_VERSION;
    default:
        return rc > 0 ? result_of_errno(rc) : RESULT_INTERNAL;
    }
}

static void store_bytes(unsigned char *out, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        out[i] = (unsigned char)(value >> (8 * (n - 1 - i)));
    }
}

static uint64_t load_bytes(const void *data, unsigned n)
{
    const unsigned char *bytes = data;
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* One entry in the form of the table: big-endian, so that byte order is the order of fetching. */
typedef struct Record {
    unsigned char key[KEY_BYTES];
    unsigned char index[INDEX_BYTES];
} Record;

static void record_set(Record *record, uint32_t host, unsigned level, uint64_t index)
{
    store_bytes(record->key, host, HOST_BYTES);
    record->key[HOST_BYTES] = (unsigned char)level;
    store_bytes(record->index, index, INDEX_BYTES);
}

static uint32_t key_host(const MDB_val *key)
{
    return (uint32_t)load_bytes(key->mv_data, HOST_BYTES);
}

static unsigned key_level(const MDB_val *key)
{
    return ((const unsigned char *)key->mv_data)[HOST_BYTES];
}

/* Finds the first key of host at or behind level; *found = SCHEDULE_NO_LEVEL when there is none. */
static int find_level(MDB_cursor *cursor, uint32_t host, unsigned level, unsigned *found)
{
    Record record;
    record_set(&record, host, level, 0);
    MDB_val key = {KEY_BYTES, record.key};
    MDB_val data;
    *found = SCHEDULE_NO_LEVEL;
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    if (rc == MDB_SUCCESS && key_host(&key) == host) {
        *found = key_level(&key);
    }
    return rc;
}

/* The host's best level changes from one to another; SCHEDULE_NO_LEVEL: it had or has none. */
static int change_best(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned from, unsigned to)
{
    unsigned char id[HOST_BYTES];
    store_bytes(id, host, HOST_BYTES);
    int rc = MDB_SUCCESS;
    if (from != SCHEDULE_NO_LEVEL) {
        unsigned char level = (unsigned char)from;
        MDB_val key = {1, &level};
        MDB_val data = {HOST_BYTES, id};
        rc = mdb_del(txn, schedule->hosts, &key, &data);
    }
    if (rc == MDB_SUCCESS && to != SCHEDULE_NO_LEVEL) {
        unsigned char level = (unsigned char)to;
        MDB_val key = {1, &level};
        MDB_val data = {HOST_BYTES, id};
        rc = mdb_put(txn, schedule->hosts, &key, &data, MDB_NODUPDATA);
        rc = rc == MDB_KEYEXIST ? MDB_SUCCESS : rc;
    }
    return rc;
}

static int put_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                  uint64_t index)
{
    Record record;
    record_set(&record, host, level, index);
    MDB_val key = {KEY_BYTES, record.key};
    MDB_val last;
    int rc = mdb_cursor_get(cursor, &key, &last, MDB_SET_KEY);
    bool is_new_key = rc == MDB_NOTFOUND;
    unsigned best = SCHEDULE_NO_LEVEL;
    unsigned flags = MDB_NODUPDATA;
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &last, MDB_LAST_DUP);
        if (rc == MDB_SUCCESS && memcmp(record.index, last.mv_data, INDEX_BYTES) > 0) {
            flags = MDB_APPENDDUP; /* fills pages whole instead of splitting them in halves */
        }
    } else if (is_new_key) {
        rc = find_level(cursor, host, 0, &best);
    }
    if (rc == MDB_SUCCESS) {
        key = (MDB_val){KEY_BYTES, record.key};
        MDB_val data = {INDEX_BYTES, record.index};
        rc = mdb_cursor_put(cursor, &key, &data, flags);
    }
    if (rc == MDB_KEYEXIST) {
        return MDB_SUCCESS;
    }
    if (rc == MDB_SUCCESS && is_new_key && level < best) {
        rc = change_best(schedule, mdb_cursor_txn(cursor), host, best, level);
    }
    return rc;
}

static int remove_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                     uint64_t index)
{
    Record record;
    record_set(&record, host, level, index);
    MDB_val key = {KEY_BYTES, record.key};
    MDB_val data = {INDEX_BYTES, record.index};
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH);
    if (rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    size_t of_level = 0;
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_count(cursor, &of_level);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_del(cursor, 0);
    }
    if (rc != MDB_SUCCESS || of_level > 1) {
        return rc;
    }
    unsigned best = SCHEDULE_NO_LEVEL;
    rc = find_level(cursor, host, 0, &best);
    if (rc == MDB_SUCCESS && best > level) {
        rc = change_best(schedule, mdb_cursor_txn(cursor), host, level, best);
    }
    return rc;
}

/* Reads the format version, or writes it into a new table. */
static Result check_version(MDB_txn *txn, MDB_dbi hosts)
{
    unsigned char level = VERSION_LEVEL;
    unsigned char version[HOST_BYTES];
    MDB_val key = {1, &level};
    MDB_val data;
    int rc = mdb_get(txn, hosts, &key, &data);
    if (rc == MDB_NOTFOUND) {
        store_bytes(version, FORMAT_VERSION, HOST_BYTES);
        data = (MDB_val){HOST_BYTES, version};
        return result_of_lmdb(mdb_put(txn, hosts, &key, &data, 0));
    }
    if (rc != MDB_SUCCESS) {
        return result_of_lmdb(rc);
    }
    return data.mv_size == HOST_BYTES && load_bytes(data.mv_data, HOST_BYTES) == FORMAT_VERSION
               ? RESULT_OK
               : RESULT_VERSION;
}

Result schedule_open(Schedule **schedule, MDB_txn *txn, const ScheduleOptions *options)
{
    return schedule_open_named(schedule, txn, DEFAULT_NAME, options);
}

Result schedule_open_named(Schedule **schedule, MDB_txn *txn, const char *name,
                           const ScheduleOptions *options)
{
    const ScheduleOptions defaults = {.levels = SCHEDULE_DEFAULT_LEVELS,
                                      .score_top = SCHEDULE_DEFAULT_SCORE_TOP,
                                      .score_ratio = SCHEDULE_DEFAULT_SCORE_RATIO};
    const ScheduleOptions *o = options == NULL ? &defaults : options;
    *schedule = NULL;
    char hosts_name[SCHEDULE_NAME_BYTES + sizeof HOSTS_SUFFIX];
    int length = snprintf(hosts_name, sizeof hosts_name, "%s%s", name, HOSTS_SUFFIX);
    if (length < 0 || (size_t)length >= sizeof hosts_name) {
        return RESULT_INVALID;
    }
    if (o->levels < 1 || o->levels + o->has_express > SCHEDULE_MAX_LEVELS || !(o->score_top > 0) ||
        !(o->score_ratio > 1) || !isfinite(o->score_top) || !isfinite(o->score_ratio)) {
        return RESULT_INVALID;
    }
    Schedule *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return RESULT_MEMORY;
    }
    s->levels = o->levels;
    s->first = o->has_express ? 1 : 0;
    double least = (double)o->score_top;
    for (unsigned level = 0; level < s->levels; level++) {
        s->least[level] = (float)least;
        least /= (double)o->score_ratio;
    }
    const unsigned flags = MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED;
    int rc = mdb_dbi_open(txn, name, flags, &s->entries);
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, hosts_name, flags, &s->hosts);
    }
    Result result = result_of_lmdb(rc);
    if (result == RESULT_OK) {
        result = check_version(txn, s->hosts);
    }
    if (result != RESULT_OK) {
        free(s);
        return result;
    }
    *schedule = s;
    return RESULT_OK;
}

void schedule_close(Schedule *schedule)
{
    free(schedule);
}

unsigned schedule_level(const Schedule *schedule, float score)
{
    unsigned low = 0;
    unsigned high = schedule->levels - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (score >= schedule->least[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return schedule->first + low;
}

bool schedule_is_express(const Schedule *schedule, unsigned level)
{
    return level < schedule->first;
}

void schedule_level_range(const Schedule *schedule, unsigned level, float *least, float *below)
{
    if (level < schedule->first) {
        *least = *below = INFINITY;
        return;
    }
    level -= schedule->first;
    *below = level == 0 ? INFINITY : schedule->least[level - 1];
    *least = level + 1 >= schedule->levels ? 0.0f : schedule->least[level];
}

static bool is_valid(unsigned level, uint64_t index)
{
    return level < SCHEDULE_MAX_LEVELS && index <= MAX_INDEX;
}

Result schedule_put(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level, uint64_t index)
{
    ScheduleChange change = {
        .host = host, .to = (uint8_t)level, .from = SCHEDULE_NO_LEVEL, .index = index};
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

Result schedule_remove(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                       uint64_t index)
{
    ScheduleChange change = {
        .host = host, .from = (uint8_t)level, .to = SCHEDULE_NO_LEVEL, .index = index};
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

Result schedule_change(Schedule *schedule, MDB_txn *txn, const ScheduleChange *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ScheduleChange *c = &changes[i];
        if ((c->from != SCHEDULE_NO_LEVEL && !is_valid(c->from, c->index)) ||
            (c->to != SCHEDULE_NO_LEVEL && !is_valid(c->to, c->index))) {
            return RESULT_INVALID;
        }
    }
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    for (size_t i = 0; rc == MDB_SUCCESS && i < n; i++) {
        const ScheduleChange *c = &changes[i];
        if (c->from == c->to) {
            continue;
        }
        if (c->from != SCHEDULE_NO_LEVEL) {
            rc = remove_at(schedule, cursor, c->host, c->from, c->index);
        }
        if (rc == MDB_SUCCESS && c->to != SCHEDULE_NO_LEVEL) {
            rc = put_at(schedule, cursor, c->host, c->to, c->index);
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result_of_lmdb(rc);
}

Result schedule_clear_host(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *removed)
{
    MDB_cursor *cursor = NULL;
    *removed = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    unsigned best = SCHEDULE_NO_LEVEL;
    if (rc == MDB_SUCCESS) {
        rc = find_level(cursor, host, 0, &best);
    }
    unsigned level = best;
    while (rc == MDB_SUCCESS && level != SCHEDULE_NO_LEVEL) {
        size_t of_level = 0;
        rc = mdb_cursor_count(cursor, &of_level);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_del(cursor, MDB_NODUPDATA);
        }
        if (rc == MDB_SUCCESS) {
            *removed += of_level;
            rc = find_level(cursor, host, level, &level);
        }
    }
    if (rc == MDB_SUCCESS && best != SCHEDULE_NO_LEVEL) {
        rc = change_best(schedule, txn, host, best, SCHEDULE_NO_LEVEL);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result_of_lmdb(rc);
}

/* Positions cursor on the first entry of host behind *after (NULL: on the first of all). */
static int seek_entry(MDB_cursor *cursor, uint32_t host, const ScheduleItem *after, MDB_val *key,
                      MDB_val *data)
{
    Record record;
    if (after == NULL) {
        record_set(&record, host, 0, 0);
        *key = (MDB_val){KEY_BYTES, record.key};
        return mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    int rc = MDB_NOTFOUND;
    if (after->index < MAX_INDEX) {
        record_set(&record, host, after->level, after->index + 1);
        *key = (MDB_val){KEY_BYTES, record.key};
        *data = (MDB_val){INDEX_BYTES, record.index};
        rc = mdb_cursor_get(cursor, key, data, MDB_GET_BOTH_RANGE);
        if (rc == MDB_SUCCESS) { /* this operation leaves the key as it was given */
            rc = mdb_cursor_get(cursor, key, data, MDB_GET_CURRENT);
        }
    }
    if (rc == MDB_NOTFOUND) {
        record_set(&record, host, after->level + 1, 0);
        *key = (MDB_val){KEY_BYTES, record.key};
        rc = mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    return rc;
}

Result schedule_head(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleItem *after,
                     ScheduleItem *items, size_t max, size_t *n)
{
    *n = 0;
    if (after != NULL && after->level >= SCHEDULE_MAX_LEVELS) {
        return RESULT_INVALID;
    }
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return result_of_lmdb(rc);
    }
    MDB_val key;
    MDB_val data;
    rc = max == 0 ? MDB_NOTFOUND : seek_entry(cursor, host, after, &key, &data);
    while (rc == MDB_SUCCESS && *n < max && key_host(&key) == host) {
        items[*n].level = key_level(&key);
        items[*n].index = load_bytes(data.mv_data, INDEX_BYTES);
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : result_of_lmdb(rc);
}

Result schedule_scan(Schedule *schedule, MDB_txn *txn, ScheduleScan *position,
                     ScheduleEntry *entries, size_t max, size_t *n)
{
    *n = 0;
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return result_of_lmdb(rc);
    }
    MDB_val key;
    MDB_val data;
    ScheduleItem last = {.index = position->last.index, .level = position->last.level};
    rc = max == 0 ? MDB_NOTFOUND
                  : seek_entry(cursor, position->started ? position->last.host : 0,
                               position->started ? &last : NULL, &key, &data);
    while (rc == MDB_SUCCESS && *n < max) {
        entries[*n] = (ScheduleEntry){.index = load_bytes(data.mv_data, INDEX_BYTES),
                                      .host = key_host(&key),
                                      .level = key_level(&key)};
        *position = (ScheduleScan){true, entries[*n]};
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : result_of_lmdb(rc);
}

Result schedule_clear(Schedule *schedule, MDB_txn *txn)
{
    int rc = mdb_drop(txn, schedule->entries, 0);
    if (rc == MDB_SUCCESS) {
        rc = mdb_drop(txn, schedule->hosts, 0);
    }
    return rc == MDB_SUCCESS ? check_version(txn, schedule->hosts) : result_of_lmdb(rc);
}

/* Positions on the first host behind *position, inside its level or in a later one. */
static int seek_host(MDB_cursor *cursor, const ScheduleHostCursor *position, MDB_val *key,
                     MDB_val *data)
{
    unsigned char level = (unsigned char)position->level;
    unsigned char id[HOST_BYTES];
    *key = (MDB_val){1, &level};
    int rc = MDB_NOTFOUND;
    if (!position->started) {
        return mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    if (position->host != UINT32_MAX) {
        store_bytes(id, position->host + 1, HOST_BYTES);
        *data = (MDB_val){HOST_BYTES, id};
        rc = mdb_cursor_get(cursor, key, data, MDB_GET_BOTH_RANGE);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, key, data, MDB_GET_CURRENT);
        }
    }
    if (rc == MDB_NOTFOUND) {
        level++;
        *key = (MDB_val){1, &level};
        rc = mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    return rc;
}

Result schedule_hosts(Schedule *schedule, MDB_txn *txn, ScheduleHostCursor *position,
                      uint32_t *hosts, uint8_t *levels, size_t max, size_t *n)
{
    *n = 0;
    if (position->level >= VERSION_LEVEL) {
        return RESULT_OK;
    }
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    if (rc != MDB_SUCCESS) {
        return result_of_lmdb(rc);
    }
    MDB_val key;
    MDB_val data;
    rc = max == 0 ? MDB_NOTFOUND : seek_host(cursor, position, &key, &data);
    while (rc == MDB_SUCCESS && *n < max) {
        unsigned level = *(const unsigned char *)key.mv_data;
        if (level == VERSION_LEVEL) {
            break;
        }
        hosts[*n] = (uint32_t)load_bytes(data.mv_data, HOST_BYTES);
        if (levels != NULL) {
            levels[*n] = (uint8_t)level;
        }
        *position = (ScheduleHostCursor){true, level, hosts[*n]};
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : result_of_lmdb(rc);
}

Result schedule_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    MDB_stat stat;
    *entries = 0;
    *hosts = 0;
    int rc = mdb_stat(txn, schedule->entries, &stat);
    if (rc == MDB_SUCCESS) {
        *entries = stat.ms_entries;
        rc = mdb_stat(txn, schedule->hosts, &stat);
    }
    if (rc == MDB_SUCCESS) {
        *hosts = stat.ms_entries - 1; /* one of them is the format version */
    }
    return result_of_lmdb(rc);
}

Result schedule_level_count(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                            uint64_t *entries)
{
    MDB_cursor *cursor = NULL;
    Record record;
    record_set(&record, host, level, 0);
    MDB_val key = {KEY_BYTES, record.key};
    MDB_val data;
    size_t of_level = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &data, MDB_SET);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_count(cursor, &of_level);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    *entries = of_level;
    return rc == MDB_NOTFOUND ? RESULT_OK : result_of_lmdb(rc);
}

Result schedule_host_count(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries)
{
    MDB_cursor *cursor = NULL;
    *entries = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return result_of_lmdb(rc);
    }
    MDB_val key;
    MDB_val data;
    rc = seek_entry(cursor, host, NULL, &key, &data);
    while (rc == MDB_SUCCESS && key_host(&key) == host) {
        size_t of_level = 0;
        rc = mdb_cursor_count(cursor, &of_level);
        *entries += of_level;
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT_NODUP);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : result_of_lmdb(rc);
}
