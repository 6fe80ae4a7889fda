#include "store/schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "store/lmdb/lmdb_result.h"
#include "store/schedule/schedule_gone.h"

/* ---- The tables of a Schedule, and the bytes of their keys and values ---- */

/* Finds the first key of host at or behind level; *found = SCHEDULE_NO_LEVEL when there is none. */
static int schedule_find_level(MDB_cursor *cursor, uint32_t host, unsigned level, unsigned *found)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, 0);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data;
    *found = SCHEDULE_NO_LEVEL;
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    if (rc == MDB_SUCCESS && schedule_key_host(&key) == host) {
        *found = schedule_key_level(&key);
    }
    return rc;
}

/* ---- Schedule parking ---- */

/* A row of the table of hosts. */
typedef struct ScheduleHostRow {
    unsigned char level;
    unsigned char id[SCHEDULE_HOST_BYTES];
    MDB_val key;
    MDB_val data;
} ScheduleHostRow;

static void schedule_host_row_set(ScheduleHostRow *row, unsigned list, uint64_t host)
{
    row->level = (unsigned char)list;
    schedule_store_bytes(row->id, host, SCHEDULE_HOST_BYTES);
    row->key = (MDB_val){1, &row->level};
    row->data = (MDB_val){SCHEDULE_HOST_BYTES, row->id};
}

static int schedule_parking_put_host(Schedule *schedule, MDB_txn *txn, unsigned list, uint32_t host)
{
    ScheduleHostRow row;
    schedule_host_row_set(&row, list, host);
    int rc = mdb_put(txn, schedule->hosts, &row.key, &row.data, MDB_NODUPDATA);
    return rc == MDB_KEYEXIST ? MDB_SUCCESS : rc;
}

static int delete_host(Schedule *schedule, MDB_txn *txn, unsigned list, uint32_t host)
{
    ScheduleHostRow row;
    schedule_host_row_set(&row, list, host);
    return mdb_del(txn, schedule->hosts, &row.key, &row.data);
}

/* Whether the host is in the list of parked ones; any: whether somebody is (host is not asked). */
static int schedule_parking_look(Schedule *schedule, MDB_txn *txn, const uint32_t *host,
                                 bool *found)
{
    ScheduleHostRow row;
    MDB_val any;
    schedule_host_row_set(&row, SCHEDULE_PARKED_LEVEL, host == NULL ? 0 : *host);
    *found = false;
    int rc = mdb_get(txn, schedule->hosts, &row.key, &any);
    if (rc == MDB_SUCCESS && host != NULL) {
        MDB_cursor *cursor = NULL;
        rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &row.key, &row.data, MDB_GET_BOTH);
            mdb_cursor_close(cursor);
        }
    }
    *found = rc == MDB_SUCCESS;
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

Result schedule_is_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, bool *parked)
{
    return lmdb_code(schedule_parking_look(schedule, txn, &host, parked));
}

/* The host's best level changes from one to another; SCHEDULE_NO_LEVEL: it had or has none. An
 * LMDB code. */
static int schedule_note_best(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned from,
                              unsigned to)
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

/* Counts entries that were added to (negative: removed from) parked hosts. An LMDB code. */
static int schedule_note_parked(Schedule *schedule, MDB_txn *txn, int64_t change)
{
    uint64_t count = 0;
    bool any = false;
    int rc = schedule_number_read(schedule, txn, SCHEDULE_PARKED_ENTRIES, &count, &any);
    if (rc != MDB_SUCCESS || change == 0) {
        return rc;
    }
    if (change > 0) {
        count += (uint64_t)change;
    } else {
        count -= bounds_size((uint64_t)-change, 0, count);
    }
    return schedule_number_write(schedule, txn, SCHEDULE_PARKED_ENTRIES, count,
                                 SCHEDULE_NUMBER_BYTES);
}

/* A parked host that was emptied is not parked any more. */
static int schedule_forget_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t removed)
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
    ScheduleGone gone;
    unsigned at = SCHEDULE_NO_LEVEL;
    *entries = 0;
    *level = SCHEDULE_NO_LEVEL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = schedule_gone_read(schedule, txn, host, &gone);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_find_level(cursor, host, 0, &at);
    }
    while (rc == MDB_SUCCESS && at != SCHEDULE_NO_LEVEL) {
        size_t of_level = 0;
        rc = mdb_cursor_count(cursor, &of_level);
        of_level -= schedule_gone_of_level(&gone, at);
        *level = *entries == 0 && of_level > 0 ? at : *level;
        *entries += of_level;
        if (rc == MDB_SUCCESS) {
            rc = schedule_find_level(cursor, host, at + 1, &at);
        }
    }
    mdb_cursor_close(cursor);
    return rc;
}

Result schedule_host_count(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries)
{
    unsigned level = SCHEDULE_NO_LEVEL;
    return lmdb_code(find_entries(schedule, txn, host, entries, &level));
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
        return lmdb_code(rc);
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
        rc = schedule_number_write(schedule, txn, SCHEDULE_VERSION_LEVEL, SCHEDULE_VERSION_PARKING,
                                   SCHEDULE_HOST_BYTES);
    }
    return lmdb_code(rc);
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
    return lmdb_code(rc);
}

Result schedule_parked_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    MDB_cursor *cursor = NULL;
    unsigned char level = SCHEDULE_PARKED_LEVEL;
    MDB_val key = {1, &level};
    MDB_val data;
    size_t n = 0;
    bool any = false;
    *hosts = 0;
    int rc = schedule_number_read(schedule, txn, SCHEDULE_PARKED_ENTRIES, entries, &any);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &data, MDB_SET);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_count(cursor, &n);
        }
        *hosts = n;
        mdb_cursor_close(cursor);
    }
    return lmdb_code(rc == MDB_NOTFOUND ? MDB_SUCCESS : rc);
}

Result schedule_parked_hosts(Schedule *schedule, MDB_txn *txn, uint64_t *next, uint32_t *hosts,
                             size_t max, size_t *n)
{
    MDB_cursor *cursor = NULL;
    ScheduleHostRow row;
    *n = 0;
    if (*next > UINT32_MAX || max == 0) {
        return RESULT_OK;
    }
    schedule_host_row_set(&row, SCHEDULE_PARKED_LEVEL, *next);
    int rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    rc = mdb_cursor_get(cursor, &row.key, &row.data, MDB_GET_BOTH_RANGE);
    while (rc == MDB_SUCCESS && *n < max) {
        hosts[*n] = (uint32_t)schedule_load_bytes(row.data.mv_data, SCHEDULE_HOST_BYTES);
        *next = (uint64_t)hosts[*n] + 1;
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &row.key, &row.data, MDB_NEXT_DUP);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

/* Entries that are added, removed or moved, and what of it the table of hosts has to know. */

/* The level of the first entry that is left, without those of the list. */
static int schedule_find_best(MDB_cursor *cursor, uint32_t host, const ScheduleGone *gone,
                              unsigned *best)
{
    size_t of_level = 0;
    int rc = schedule_find_level(cursor, host, 0, best);
    while (rc == MDB_SUCCESS && *best != SCHEDULE_NO_LEVEL && gone->n > 0) {
        rc = mdb_cursor_count(cursor, &of_level);
        if (rc != MDB_SUCCESS || of_level > schedule_gone_of_level(gone, *best)) {
            break;
        }
        rc = schedule_find_level(cursor, host, *best + 1, best);
    }
    return rc;
}

/* *change = entries that this has added. The entry is not in the list. */
static int put_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                  uint64_t index, const ScheduleGone *gone, int64_t *change)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, index);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val last;
    unsigned best = 0;
    int rc = gone->n == 0 ? MDB_SUCCESS : schedule_find_best(cursor, host, gone, &best);
    if (rc != MDB_SUCCESS) {
        return rc;
    }
    rc = mdb_cursor_get(cursor, &key, &last, MDB_SET_KEY);
    bool is_new_key = rc == MDB_NOTFOUND;
    unsigned flags = MDB_NODUPDATA;
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &last, MDB_LAST_DUP);
        if (rc == MDB_SUCCESS && memcmp(record.index, last.mv_data, SCHEDULE_INDEX_BYTES) > 0) {
            flags = MDB_APPENDDUP; /* fills pages whole instead of splitting them in halves */
        }
    } else if (is_new_key) {
        rc = schedule_find_best(cursor, host, gone, &best);
    }
    if (rc == MDB_SUCCESS) {
        key = (MDB_val){SCHEDULE_KEY_BYTES, record.key};
        MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
        rc = mdb_cursor_put(cursor, &key, &data, flags);
    }
    if (rc == MDB_KEYEXIST) {
        return MDB_SUCCESS;
    }
    *change += rc == MDB_SUCCESS ? 1 : 0;
    if (rc == MDB_SUCCESS && level < best) { /* else it was there, or had a better one */
        rc = schedule_note_best(schedule, mdb_cursor_txn(cursor), host, best, level);
    }
    return rc;
}

static int remove_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                     uint64_t index, int64_t *change)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, index);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
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
    *change -= rc == MDB_SUCCESS ? 1 : 0;
    if (rc != MDB_SUCCESS || of_level > 1) {
        return rc;
    }
    unsigned best = SCHEDULE_NO_LEVEL;
    rc = schedule_find_level(cursor, host, 0, &best);
    if (rc == MDB_SUCCESS && best > level) {
        rc = schedule_note_best(schedule, mdb_cursor_txn(cursor), host, level, best);
    }
    return rc;
}

/* Removes what is in a list, and the list, which had `before` items in the journal. The level of
 * the host knows already. */
static int remove_gone(Schedule *schedule, MDB_cursor *cursor, uint32_t host, ScheduleGone *gone,
                       size_t before)
{
    size_t n = gone->n;
    gone->n = 0;
    int rc = before == 0
                 ? MDB_SUCCESS
                 : schedule_gone_write(schedule, mdb_cursor_txn(cursor), host, gone, before);
    for (size_t i = 0; rc == MDB_SUCCESS && i < n; i++) {
        ScheduleRecord record;
        schedule_record_set(&record, host, gone->items[i].level, gone->items[i].index);
        MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
        MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
        rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_del(cursor, 0);
        }
    }
    return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

/* Puts an entry into the list of those that are removed together; a full one is removed. */
static int remove_later(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                        uint64_t index, int64_t *change)
{
    MDB_txn *txn = mdb_cursor_txn(cursor);
    ScheduleGone gone;
    ScheduleRecord record;
    schedule_record_set(&record, host, level, index);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
    unsigned was = SCHEDULE_NO_LEVEL;
    unsigned best = SCHEDULE_NO_LEVEL;
    int rc = schedule_gone_read(schedule, txn, host, &gone);
    if (rc != MDB_SUCCESS || schedule_gone_has(&gone, level, index)) {
        return rc;
    }
    rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH);
    if (rc != MDB_SUCCESS) {
        return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    rc = schedule_find_best(cursor, host, &gone, &was);
    *change -= 1;
    gone.items[gone.n++] = (ScheduleItem){.index = index, .level = level};
    if (rc == MDB_SUCCESS) {
        rc = schedule_find_best(cursor, host, &gone, &best);
    }
    if (rc == MDB_SUCCESS && was != best) {
        rc = schedule_note_best(schedule, txn, host, was, best);
    }
    if (rc != MDB_SUCCESS) {
        return rc;
    }
    return gone.n < SCHEDULE_GONE_MAX ? schedule_gone_write(schedule, txn, host, &gone, gone.n - 1)
                                      : remove_gone(schedule, cursor, host, &gone, gone.n - 1);
}

/* One change; *count = entries that it adds. What is in the list of the host is removed first if
 * that matters. */
static int change_entry(Schedule *schedule, MDB_cursor *cursor, const ScheduleChange *c,
                        int64_t *count)
{
    if (c->to == SCHEDULE_NO_LEVEL && journal_takes(schedule->journal)) {
        return remove_later(schedule, cursor, c->host, c->from, c->index, count);
    }
    ScheduleGone gone;
    int rc = schedule_gone_read(schedule, mdb_cursor_txn(cursor), c->host, &gone);
    if (rc == MDB_SUCCESS && gone.n > 0 &&
        (c->from != SCHEDULE_NO_LEVEL || schedule_gone_has(&gone, c->to, c->index))) {
        rc = remove_gone(schedule, cursor, c->host, &gone, gone.n);
    }
    if (rc == MDB_SUCCESS && c->from != SCHEDULE_NO_LEVEL) {
        rc = remove_at(schedule, cursor, c->host, c->from, c->index, count);
    }
    if (rc == MDB_SUCCESS && c->to != SCHEDULE_NO_LEVEL) {
        rc = put_at(schedule, cursor, c->host, c->to, c->index, &gone, count);
    }
    return rc;
}

/* Both handles of a schedule in a pointer: whoever opened it may have closed it when a sweep comes.
 */
#define HANDLE_BITS 16u
#define HANDLE_MASK ((1u << HANDLE_BITS) - 1)

/* What a sweep of the journal does with the list of a host. The row stays until the sweep has
 * ended, so another one says that the list is empty. */
static int schedule_sweep_row(void *context, Journal *journal, MDB_txn *txn, uint64_t host,
                              const MDB_val *row)
{
    uintptr_t handles = (uintptr_t)context;
    Schedule schedule = {.entries = (MDB_dbi)(handles & HANDLE_MASK),
                         .hosts = (MDB_dbi)(handles >> HANDLE_BITS),
                         .journal = journal};
    ScheduleGone gone;
    MDB_cursor *cursor = NULL;
    int rc = schedule_gone_decode(row, &gone);
    if (rc != MDB_SUCCESS || gone.n == 0) {
        return rc;
    }
    rc = mdb_cursor_open(txn, schedule.entries, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = remove_gone(&schedule, cursor, (uint32_t)host, &gone, gone.n);
        mdb_cursor_close(cursor);
    }
    return rc;
}

static bool is_valid(unsigned level, uint64_t index)
{
    return level < SCHEDULE_MAX_LEVELS && index <= SCHEDULE_MAX_INDEX;
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

/* Changes of parked hosts, added up; changes of one host come one after the other. */
typedef struct ParkedCount {
    bool any;   /* host is parked at all */
    bool known; /* host was asked about */
    uint32_t host;
    bool parked; /* it is */
    int64_t change;
} ParkedCount;

static int count_parked(Schedule *schedule, MDB_txn *txn, ParkedCount *count, uint32_t host,
                        int64_t change)
{
    int rc = MDB_SUCCESS;
    if (!count->known || count->host != host) {
        Result result = schedule_is_parked(schedule, txn, host, &count->parked);
        count->known = true;
        count->host = host;
        rc = result == RESULT_OK ? MDB_SUCCESS : MDB_CORRUPTED;
    }
    count->change += count->parked ? change : 0;
    return rc;
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
    ParkedCount parked = {.known = false};
    /* Whether any host is parked. */
    int rc = schedule_parking_look(schedule, txn, NULL, &parked.any);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    }
    for (size_t i = 0; rc == MDB_SUCCESS && i < n; i++) {
        const ScheduleChange *c = &changes[i];
        int64_t change = 0;
        if (c->from == c->to) {
            continue;
        }
        rc = change_entry(schedule, cursor, c, &change);
        if (rc == MDB_SUCCESS && change != 0 && parked.any) {
            rc = count_parked(schedule, txn, &parked, c->host, change);
        }
    }
    mdb_cursor_close(cursor);
    if (rc == MDB_SUCCESS && parked.change != 0) {
        rc = schedule_note_parked(schedule, txn, parked.change);
    }
    return lmdb_code(rc);
}

static int empty_list(Schedule *schedule, MDB_cursor *cursor, uint32_t host)
{
    ScheduleGone gone;
    int rc = schedule_gone_read(schedule, mdb_cursor_txn(cursor), host, &gone);
    return rc == MDB_SUCCESS && gone.n > 0 ? remove_gone(schedule, cursor, host, &gone, gone.n)
                                           : rc;
}

/* Those of all hosts, without the entries: these go, too. */
static int forget_lists(Schedule *schedule, MDB_txn *txn)
{
    static const ScheduleGone none = {.n = 0};
    ScheduleGone gone;
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val data;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    for (MDB_cursor_op op = MDB_FIRST; rc == MDB_SUCCESS; op = MDB_NEXT_NODUP) {
        rc = mdb_cursor_get(cursor, &key, &data, op);
        uint32_t host = rc == MDB_SUCCESS ? schedule_key_host(&key) : 0;
        if (rc == MDB_SUCCESS) {
            rc = schedule_gone_read(schedule, txn, host, &gone);
        }
        if (rc == MDB_SUCCESS && gone.n > 0) {
            rc = schedule_gone_write(schedule, txn, host, &none, gone.n);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

Result schedule_clear_host(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *removed)
{
    MDB_cursor *cursor = NULL;
    *removed = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    unsigned best = SCHEDULE_NO_LEVEL;
    if (rc == MDB_SUCCESS) {
        rc = empty_list(schedule, cursor, host);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_find_level(cursor, host, 0, &best);
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
            rc = schedule_find_level(cursor, host, level, &level);
        }
    }
    if (rc == MDB_SUCCESS && best != SCHEDULE_NO_LEVEL) {
        rc = schedule_note_best(schedule, txn, host, best, SCHEDULE_NO_LEVEL);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_forget_parked(schedule, txn, host, *removed);
    }
    mdb_cursor_close(cursor);
    return lmdb_code(rc);
}

/* ---- Schedule ---- */

#define DEFAULT_NAME "schedule"
#define HOSTS_SUFFIX "_hosts"

/* Reads the format version, or writes it into a new table. */
static Result check_version(MDB_txn *txn, MDB_dbi hosts)
{
    Schedule schedule = {.hosts = hosts};
    uint64_t found = 0;
    bool any = false;
    int rc = schedule_number_read(&schedule, txn, SCHEDULE_VERSION_LEVEL, &found, &any);
    if (rc == MDB_SUCCESS && !any) {
        found = SCHEDULE_VERSION;
        rc = schedule_number_write(&schedule, txn, SCHEDULE_VERSION_LEVEL, found,
                                   SCHEDULE_HOST_BYTES);
    }
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    return found == SCHEDULE_VERSION || found == SCHEDULE_VERSION_PARKING ? RESULT_OK
                                                                          : RESULT_VERSION;
}

Result schedule_open(Schedule **schedule, MDB_txn *txn, const ScheduleOptions *options,
                     Journal *journal)
{
    Result rc = schedule_open_named(schedule, txn, DEFAULT_NAME, options);
    if (rc == RESULT_OK && journal != NULL) {
        (*schedule)->journal = journal;
        JournalTarget target = {.context = (void *)((uintptr_t)(*schedule)->hosts << HANDLE_BITS |
                                                    (*schedule)->entries),
                                .apply = schedule_sweep_row};
        journal_set_target(journal, JOURNAL_SCHEDULE, &target);
    }
    return rc;
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
    Result result = lmdb_code(rc);
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

Result schedule_clear(Schedule *schedule, MDB_txn *txn)
{
    int rc = forget_lists(schedule, txn);
    if (rc == MDB_SUCCESS) {
        rc = mdb_drop(txn, schedule->entries, 0);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_drop(txn, schedule->hosts, 0);
    }
    return rc == MDB_SUCCESS ? check_version(txn, schedule->hosts) : lmdb_code(rc);
}

Result schedule_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts)
{
    MDB_stat of_entries;
    MDB_stat of_hosts;
    uint64_t parked_entries = 0;
    uint64_t parked_hosts = 0;
    *entries = 0;
    *hosts = 0;
    Result result = schedule_parked_counts(schedule, txn, &parked_entries, &parked_hosts);
    int rc = mdb_stat(txn, schedule->entries, &of_entries);
    if (rc == MDB_SUCCESS) {
        rc = mdb_stat(txn, schedule->hosts, &of_hosts);
    }
    if (rc == MDB_SUCCESS && result == RESULT_OK) {
        /* The format version is in the table, too, and the count of parked entries when it was ever
         * written. */
        uint64_t gone = 0;
        bool has_count = false;
        bool has_gone = false;
        rc = schedule_number_read(schedule, txn, SCHEDULE_GONE_ENTRIES, &gone, &has_gone);
        if (rc == MDB_SUCCESS) {
            uint64_t ignored = 0;
            rc = schedule_number_read(schedule, txn, SCHEDULE_PARKED_ENTRIES, &ignored, &has_count);
        }
        *entries = of_entries.ms_entries - parked_entries - gone;
        *hosts = of_hosts.ms_entries - parked_hosts - 1 - has_count - has_gone;
    }
    return rc == MDB_SUCCESS ? result : lmdb_code(rc);
}
