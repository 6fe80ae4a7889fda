/* Entries of a host that were removed, and are still in the table.
 *
 * What: the result of a page removes one entry, and its host has the next result seconds later: a
 * page of the tree for each. So such removals are kept in a list of the host, a row of the journal
 * (JOURNAL_SCHEDULE, by host), and are done together: when the list is full, before a change of the
 * host's entries to which they matter, and at the latest by the journal's sweep. Whoever reads a
 * host's entries leaves out those of its list. How many there are in all lists is a number of the
 * table of hosts.
 * Owns: nothing.
 * Threads: as schedule.h.
 * Invariants: 1. What is in a list is in the table. 2. The level of a host in the table of hosts is
 * that of its first entry that is left; a host without any is not there.
 * Errors: LMDB codes. */
#pragma once

#include "store/lmdb/lmdb_result.h"
#include "store/schedule/schedule_types.h"

#define SCHEDULE_GONE_MAX 32u

typedef struct ScheduleGone {
    size_t n;
    ScheduleItem items[SCHEDULE_GONE_MAX];
} ScheduleGone;

/* ---- One call of the schedule ---- */

/* What a call works on. After its first failure everything that is done through it does nothing and
 * finds nothing (LmdbRows), so that the call looks once, at its end. */
typedef struct ScheduleWork {
    Schedule *schedule;
    MDB_txn *txn;
    LmdbRows rows;         /* of one table */
    ScheduleRecord record; /* the entry that was looked for */
    ScheduleHostRow host;  /* likewise */
    int64_t gone;          /* items that lists have got, or lost, since it began */
} ScheduleWork;

/* table: the one whose rows are looked at. */
static inline void schedule_work_begin(ScheduleWork *work, Schedule *schedule, MDB_txn *txn,
                                       MDB_dbi table)
{
    work->schedule = schedule;
    work->txn = txn;
    work->gone = 0;
    lmdb_rows_open(&work->rows, txn, table);
}
/* Writes down how many items all lists have, when that has changed. */
void schedule_gone_settle(ScheduleWork *work);
static inline Result schedule_work_end(ScheduleWork *work)
{
    schedule_gone_settle(work);
    return lmdb_code(lmdb_rows_close(&work->rows, 0));
}
/* Looks for an entry among the rows of entries, or for a host of a list among those of hosts. */
static inline bool schedule_work_find(ScheduleWork *work, uint32_t host, unsigned level,
                                      uint64_t index, MDB_cursor_op op)
{
    schedule_record_set(&work->record, host, level, index);
    work->rows.key = (MDB_val){SCHEDULE_KEY_BYTES, work->record.key};
    work->rows.value = (MDB_val){SCHEDULE_INDEX_BYTES, work->record.index};
    return lmdb_rows_get(&work->rows, op);
}
static inline bool schedule_work_find_host(ScheduleWork *work, unsigned list, uint64_t host,
                                           MDB_cursor_op op)
{
    schedule_host_row_set(&work->host, list, host);
    work->rows.key = work->host.key;
    work->rows.value = work->host.data;
    return lmdb_rows_get(&work->rows, op);
}

/* ---- Its lists ---- */

/* The list of a host; empty: it has none. */
void schedule_gone_read(ScheduleWork *work, uint32_t host, ScheduleGone *gone);
/* Decodes a row of the journal. */
int schedule_gone_decode(const MDB_val *row, ScheduleGone *gone);
/* Replaces a list that has `before` items. */
void schedule_gone_write(ScheduleWork *work, uint32_t host, const ScheduleGone *gone,
                         size_t before);
bool schedule_gone_has(const ScheduleGone *gone, unsigned level, uint64_t index);
/* How many of a level. */
size_t schedule_gone_of_level(const ScheduleGone *gone, unsigned level);

/* The number at a key of the table of hosts that is no level; *any: there is one, else it is 0. */
uint64_t schedule_number_read(ScheduleWork *work, unsigned list, bool *any);
/* Replaces it by n, written in `bytes` bytes, at most SCHEDULE_NUMBER_BYTES; 0: removes it. */
#define SCHEDULE_NUMBER_BYTES 8u
void schedule_number_write(ScheduleWork *work, unsigned list, uint64_t n, unsigned bytes);
