#include "store/schedule/schedule_parking.h"

#include "store/schedule/schedule_table.h"

static int schedule_parking_put_host(Schedule *schedule, MDB_txn *txn, unsigned list, uint32_t host)
{
    unsigned char id[SCHEDULE_HOST_BYTES];
    unsigned char level = (unsigned char)list;
    MDB_val key = {1, &level};
    MDB_val data = {SCHEDULE_HOST_BYTES, id};
    schedule_store_bytes(id, host, SCHEDULE_HOST_BYTES);
    int rc = mdb_put(txn, schedule->hosts, &key, &data, MDB_NODUPDATA);
    return rc == MDB_KEYEXIST ? MDB_SUCCESS : rc;
}

static int delete_host(Schedule *schedule, MDB_txn *txn, unsigned list, uint32_t host)
{
    unsigned char id[SCHEDULE_HOST_BYTES];
    unsigned char level = (unsigned char)list;
    MDB_val key = {1, &level};
    MDB_val data = {SCHEDULE_HOST_BYTES, id};
    schedule_store_bytes(id, host, SCHEDULE_HOST_BYTES);
    return mdb_del(txn, schedule->hosts, &key, &data);
}

/* Whether the host is in the list of parked ones; any: whether somebody is (host is not asked). */
static int schedule_parking_look(Schedule *schedule, MDB_txn *txn, const uint32_t *host,
                                 bool *found)
{
    unsigned char id[SCHEDULE_HOST_BYTES];
    unsigned char level = SCHEDULE_PARKED_LEVEL;
    MDB_val key = {1, &level};
    MDB_val data = {0, NULL};
    *found = false;
    int rc = mdb_get(txn, schedule->hosts, &key, &data);
    if (rc == MDB_SUCCESS && host != NULL) {
        MDB_cursor *cursor = NULL;
        schedule_store_bytes(id, *host, SCHEDULE_HOST_BYTES);
        data = (MDB_val){SCHEDULE_HOST_BYTES, id};
        rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH);
            mdb_cursor_close(cursor);
        }
    }
    *found = rc == MDB_SUCCESS;
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

int schedule_any_parked(Schedule *schedule, MDB_txn *txn, bool *any)
{
    return schedule_parking_look(schedule, txn, NULL, any);
}

Result schedule_is_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, bool *parked)
{
    return schedule_result(schedule_parking_look(schedule, txn, &host, parked));
}

int schedule_note_best(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned from, unsigned to)
{
    bool parked = false;
    int rc = schedule_parking_look(schedule, txn, &host, &parked);
    if (rc != MDB_SUCCESS || parked) {
        return rc;
    }
    if (from != SCHEDULE_NO_LEVEL) {
        rc = delete_host(schedule, txn, from, host);
    }
    return rc == MDB_SUCCESS && to != SCHEDULE_NO_LEVEL
               ? schedule_parking_put_host(schedule, txn, to, host)
               : rc;
}

/* ---- how many entries they have ---- */

#define COUNT_BYTES 8u

static int read_count(Schedule *schedule, MDB_txn *txn, uint64_t *count)
{
    unsigned char level = SCHEDULE_PARKED_ENTRIES;
    MDB_val key = {1, &level};
    MDB_val data;
    *count = 0;
    int rc = mdb_get(txn, schedule->hosts, &key, &data);
    if (rc == MDB_SUCCESS && data.mv_size == COUNT_BYTES) {
        *count = schedule_load_bytes(data.mv_data, COUNT_BYTES);
    }
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

/* The value of a key that has one. */
static int schedule_parking_replace(Schedule *schedule, MDB_txn *txn, unsigned list, uint64_t value,
                                    unsigned n)
{
    unsigned char level = (unsigned char)list;
    unsigned char bytes[COUNT_BYTES];
    MDB_val key = {1, &level};
    MDB_val data = {n, bytes};
    schedule_store_bytes(bytes, value, n);
    int rc = mdb_del(txn, schedule->hosts, &key, NULL);
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND ? mdb_put(txn, schedule->hosts, &key, &data, 0)
                                                   : rc;
}

int schedule_note_parked(Schedule *schedule, MDB_txn *txn, int64_t change)
{
    uint64_t count = 0;
    int rc = read_count(schedule, txn, &count);
    if (rc != MDB_SUCCESS || change == 0) {
        return rc;
    }
    uint64_t less = change < 0 ? (uint64_t)-change : 0;
    count = change > 0 ? count + (uint64_t)change : count > less ? count - less : 0;
    return schedule_parking_replace(schedule, txn, SCHEDULE_PARKED_ENTRIES, count, COUNT_BYTES);
}

int schedule_forget_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t removed)
{
    bool parked = false;
    int rc = schedule_parking_look(schedule, txn, &host, &parked);
    if (rc != MDB_SUCCESS || !parked) {
        return rc;
    }
    rc = delete_host(schedule, txn, SCHEDULE_PARKED_LEVEL, host);
    return rc == MDB_SUCCESS ? schedule_note_parked(schedule, txn, -(int64_t)removed) : rc;
}

/* ---- the public part ---- */

/* What a host has. */
static int find_entries(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries,
                        unsigned *level)
{
    MDB_cursor *cursor = NULL;
    *entries = 0;
    *level = SCHEDULE_NO_LEVEL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    unsigned at = 0;
    if (rc == MDB_SUCCESS) {
        rc = schedule_find_level(cursor, host, 0, &at);
        *level = at;
    }
    while (rc == MDB_SUCCESS && at != SCHEDULE_NO_LEVEL) {
        size_t of_level = 0;
        rc = mdb_cursor_count(cursor, &of_level);
        *entries += of_level;
        if (rc == MDB_SUCCESS) {
            rc = schedule_find_level(cursor, host, at + 1, &at);
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return rc;
}

Result schedule_park(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries)
{
    bool parked = false;
    unsigned level = SCHEDULE_NO_LEVEL;
    int rc = schedule_parking_look(schedule, txn, &host, &parked);
    if (rc == MDB_SUCCESS) {
        rc = find_entries(schedule, txn, host, entries, &level);
    }
    if (rc != MDB_SUCCESS || parked) {
        return schedule_result(rc);
    }
    if (level != SCHEDULE_NO_LEVEL) {
        rc = delete_host(schedule, txn, level, host);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_parking_put_host(schedule, txn, SCHEDULE_PARKED_LEVEL, host);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_note_parked(schedule, txn, (int64_t)*entries);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_parking_replace(schedule, txn, SCHEDULE_VERSION_LEVEL,
                                      SCHEDULE_VERSION_PARKING, SCHEDULE_HOST_BYTES);
    }
    return schedule_result(rc);
}

Result schedule_unpark(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries,
                       unsigned *level)
{
    bool parked = false;
    int rc = schedule_parking_look(schedule, txn, &host, &parked);
    if (rc == MDB_SUCCESS) {
        rc = find_entries(schedule, txn, host, entries, level);
    }
    if (rc == MDB_SUCCESS && parked) {
        rc = schedule_forget_parked(schedule, txn, host, *entries);
        if (rc == MDB_SUCCESS && *level != SCHEDULE_NO_LEVEL) {
            rc = schedule_parking_put_host(schedule, txn, *level, host);
        }
    }
    return schedule_result(rc);
}

Result schedule_parked_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    MDB_cursor *cursor = NULL;
    unsigned char level = SCHEDULE_PARKED_LEVEL;
    MDB_val key = {1, &level};
    MDB_val data;
    size_t n = 0;
    *hosts = 0;
    int rc = read_count(schedule, txn, entries);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &data, MDB_SET);
        rc = rc == MDB_SUCCESS ? mdb_cursor_count(cursor, &n) : rc;
        *hosts = n;
        mdb_cursor_close(cursor);
    }
    return schedule_result(rc == MDB_NOTFOUND ? MDB_SUCCESS : rc);
}

Result schedule_parked_hosts(Schedule *schedule, MDB_txn *txn, uint64_t *next, uint32_t *hosts,
                             size_t max, size_t *n)
{
    MDB_cursor *cursor = NULL;
    unsigned char id[SCHEDULE_HOST_BYTES];
    unsigned char level = SCHEDULE_PARKED_LEVEL;
    MDB_val key = {1, &level};
    MDB_val data = {SCHEDULE_HOST_BYTES, id};
    *n = 0;
    if (*next > UINT32_MAX || max == 0) {
        return RESULT_OK;
    }
    schedule_store_bytes(id, *next, SCHEDULE_HOST_BYTES);
    int rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    if (rc != MDB_SUCCESS) {
        return schedule_result(rc);
    }
    rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH_RANGE);
    while (rc == MDB_SUCCESS && *n < max) {
        hosts[*n] = (uint32_t)schedule_load_bytes(data.mv_data, SCHEDULE_HOST_BYTES);
        *next = (uint64_t)hosts[*n] + 1;
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT_DUP);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : schedule_result(rc);
}
