/* Schedule types: its options and items, its tables, and the bytes of their keys and values.
 *
 * What: what the parts of the schedule share; schedule.h tells both tables and has the functions.
 * Numbers are big-endian, so that byte order is the order of fetching.
 * Owns: nothing; the handles stay open as long as their environment.
 * Threads: as schedule.h. */
#pragma once

#include <lmdb.h>

#include "store/lmdb/journal.h"

#define SCHEDULE_MAX_LEVELS 64u
#define SCHEDULE_NO_LEVEL   255u /* "not scheduled" in PageInfo.level */

#define SCHEDULE_DEFAULT_LEVELS      16u
#define SCHEDULE_DEFAULT_SCORE_TOP   1.0f
#define SCHEDULE_DEFAULT_SCORE_RATIO 2.0f

typedef struct Schedule Schedule;

typedef struct ScheduleOptions {
    unsigned levels;   /* 1..SCHEDULE_MAX_LEVELS, default 16 */
    float score_top;   /* scores at or above it are level 0; default 1 */
    float score_ratio; /* factor between one level and the next; default 2 */
    bool has_express; /* scores begin at level 1: level 0 is for what goes first whatever its score.
                         levels are then SCHEDULE_MAX_LEVELS - 1 at most; default no */
} ScheduleOptions;

typedef struct ScheduleItem {
    uint64_t index; /* of the page in PageDB */
    unsigned level;
} ScheduleItem;

/* Keys of the table of hosts that are no levels. */
#define SCHEDULE_VERSION_LEVEL  255u /* the format version */
#define SCHEDULE_PARKED_LEVEL   254u /* hosts that are parked (schedule.h) */
#define SCHEDULE_PARKED_ENTRIES 253u /* entries of these, 8 bytes */
#define SCHEDULE_GONE_ENTRIES   252u /* entries that are to be removed, 8 bytes */
#define SCHEDULE_END_OF_LEVELS  SCHEDULE_GONE_ENTRIES

#define SCHEDULE_VERSION         1u
#define SCHEDULE_VERSION_PARKING 2u /* from the first parked host on */

#define SCHEDULE_KEY_BYTES   5u /* host, level */
#define SCHEDULE_INDEX_BYTES 6u /* measured: 25 % less disk than 8-byte integers; 2^48 pages */
#define SCHEDULE_HOST_BYTES  4u
#define SCHEDULE_MAX_INDEX   ((UINT64_C(1) << 48) - 1)

struct Schedule {
    MDB_dbi entries;  /* host, level -> page indices */
    MDB_dbi hosts;    /* best level -> host ids; and the keys above */
    Journal *journal; /* borrowed; NULL: none */
    unsigned levels;  /* of scores */
    unsigned first;   /* the best of them */
    float
        least[SCHEDULE_MAX_LEVELS]; /* a score belongs to the first level whose least it reaches */
};

/* One entry in the form of the table. */
typedef struct ScheduleRecord {
    unsigned char key[SCHEDULE_KEY_BYTES];
    unsigned char index[SCHEDULE_INDEX_BYTES];
} ScheduleRecord;

static inline void schedule_store_bytes(unsigned char *out, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        out[i] = (unsigned char)(value >> (8 * (n - 1 - i)));
    }
}

static inline uint64_t schedule_load_bytes(const void *data, unsigned n)
{
    const unsigned char *bytes = data;
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static inline void schedule_record_set(ScheduleRecord *record, uint32_t host, unsigned level,
                                       uint64_t index)
{
    schedule_store_bytes(record->key, host, SCHEDULE_HOST_BYTES);
    record->key[SCHEDULE_HOST_BYTES] = (unsigned char)level;
    schedule_store_bytes(record->index, index, SCHEDULE_INDEX_BYTES);
}

/* A row of the table of hosts. */
typedef struct ScheduleHostRow {
    unsigned char level;
    unsigned char id[SCHEDULE_HOST_BYTES];
    MDB_val key;
    MDB_val data;
} ScheduleHostRow;

static inline void schedule_host_row_set(ScheduleHostRow *row, unsigned list, uint64_t host)
{
    row->level = (unsigned char)list;
    schedule_store_bytes(row->id, host, SCHEDULE_HOST_BYTES);
    row->key = (MDB_val){1, &row->level};
    row->data = (MDB_val){SCHEDULE_HOST_BYTES, row->id};
}

static inline uint32_t schedule_key_host(const MDB_val *key)
{
    return (uint32_t)schedule_load_bytes(key->mv_data, SCHEDULE_HOST_BYTES);
}

static inline unsigned schedule_key_level(const MDB_val *key)
{
    return ((const unsigned char *)key->mv_data)[SCHEDULE_HOST_BYTES];
}
