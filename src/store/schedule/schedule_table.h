/* The tables of a Schedule, and the bytes of their keys and values.
 *
 * What: schedule.h tells both tables. Numbers are big-endian, so that byte order is the order of
 * fetching.
 * Owns: nothing; the handles stay open as long as their environment.
 * Threads: as schedule.h.
 * Errors: LMDB codes, and schedule_result for what they come to. */
#ifndef STORE_SCHEDULE_SCHEDULE_TABLE_H
#define STORE_SCHEDULE_SCHEDULE_TABLE_H

#include "store/schedule/schedule.h"

/* Keys of the table of hosts that are no levels. */
#define SCHEDULE_VERSION_LEVEL  255u /* the format version */
#define SCHEDULE_PARKED_LEVEL   254u /* hosts that are parked (schedule_parking.h) */
#define SCHEDULE_PARKED_ENTRIES 253u /* entries of these, 8 bytes */

#define SCHEDULE_VERSION         1u
#define SCHEDULE_VERSION_PARKING 2u /* from the first parked host on */

#define SCHEDULE_KEY_BYTES   5u /* host, level */
#define SCHEDULE_INDEX_BYTES 6u /* measured: 25 % less disk than 8-byte integers; 2^48 pages */
#define SCHEDULE_HOST_BYTES  4u
#define SCHEDULE_MAX_INDEX   ((UINT64_C(1) << 48) - 1)

struct Schedule {
    MDB_dbi entries; /* host, level -> page indices */
    MDB_dbi hosts;   /* best level -> host ids; and the keys above */
    unsigned levels; /* of scores */
    unsigned first;  /* the best of them */
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

static inline uint32_t schedule_key_host(const MDB_val *key)
{
    return (uint32_t)schedule_load_bytes(key->mv_data, SCHEDULE_HOST_BYTES);
}

static inline unsigned schedule_key_level(const MDB_val *key)
{
    return ((const unsigned char *)key->mv_data)[SCHEDULE_HOST_BYTES];
}

/* The Result of an LMDB code or errno. */
Result schedule_result(int rc);
/* Finds the first key of host at or behind level; *found = SCHEDULE_NO_LEVEL when there is none. */
int schedule_find_level(MDB_cursor *cursor, uint32_t host, unsigned level, unsigned *found);

#endif
