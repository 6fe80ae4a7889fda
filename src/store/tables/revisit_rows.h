/* Revisit table: which pages are to be visited again, and when (schedule.mode = continuous).
 *
 * What: due times are in the tables of FreqScheduler, so that the crawl works through what `ragno
 * schedule DIR freq` has built. Virtual time is wall time, seconds since 1970. A time below
 * REVISIT_VIRTUAL_MAX comes from that command, which counts from 0, and the crawl has not met the
 * entry yet.
 *
 *  - freq_schedule, freq_pages (freq_entries.h): due time and frequency of every page that is to be
 *    visited again. A page that is due stays there, with its time, until the transaction of its
 *    visit's result moves it. So no crash and no cleared host loses a visit, and the first entry
 *    says how far behind the crawl is.
 *  - revisit_lines: host -> (due time, page), for pages that are due while their host has enough
 *    to do. The order is that of due times, so that a host with more due pages than it can be
 *    asked for visits them in turn.
 *  - revisit_notes: page -> validators of the last 200 answer, the number of misses since then,
 *    the frequency that the operator gave it, whether its site has said that it has changed, and
 *    until when it is said to be fresh, and to be there; and what its visits have found
 *    (freq_prior.h).
 *  - revisit_numbers: page -> the history of the numbers in its text (parse/text/numbers.h).
 *
 * Pages are indices of PageDB.
 *
 * Owns: the handles; the tables are the environment's.
 * Threads: one writer, any readers; transactions are the caller's.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO. */
#pragma once

#include <lmdb.h>

#include "base/core/result.h"
#include "parse/text/numbers.h"
#include "store/frequency/freq_prior.h"

#define REVISIT_VIRTUAL_MAX 1e9 /* 2001 */

#define REVISIT_ETAG_BYTES 256u /* longer validators are not kept */
#define REVISIT_DATE_BYTES 64u

typedef struct RevisitRows RevisitRows;

typedef struct RevisitDue {
    double time_s; /* when */
    uint64_t index;
    float freq; /* visits per second: above 0 */
} RevisitDue;

typedef struct RevisitNote {
    uint8_t misses;          /* visits in a row that did not find the page */
    bool has_signal;         /* its site has said since the last visit that it has changed */
    uint32_t signal_changes; /* and so often it had changed before */
    float fixed_freq;        /* given by the operator; 0 = none */
    float hint_freq;      /* else as its site says (changefreq), for the second visit; 0 = none */
    double fresh_until_s; /* unix time: its site says it does not change before; 0 = nothing */
    double ends_s;        /* unix time: nor is it to be had from then on; 0 = it is not said */
    FreqSeen seen;        /* as of the last visit */
    char etag[REVISIT_ETAG_BYTES + 1];
    char last_modified[REVISIT_DATE_BYTES + 1];
} RevisitNote;

/* Opens the tables; the handles are usable by other transactions once txn is committed. Without
 * create: RESULT_NOT_FOUND when there are none. */
Result revisit_rows_open(RevisitRows **table, MDB_txn *txn, bool create);
/* Frees the object. NULL is allowed. */
void revisit_rows_close(RevisitRows *table);

/* ---- due times ---- */

/* The due time of a page. RESULT_NOT_FOUND: the page is not to be visited again. */
Result revisit_rows_get(const RevisitRows *table, MDB_txn *txn, uint64_t index, RevisitDue *due);
/* Enters a page, or moves it. */
Result revisit_rows_put(const RevisitRows *table, MDB_txn *txn, const RevisitDue *due);
/* Removes a page, its note and its numbers. RESULT_OK also when the page is not there. */
Result revisit_rows_remove(const RevisitRows *table, MDB_txn *txn, uint64_t index);
/* The first entry behind *due in order of (time, page); {0} begins. RESULT_NOT_FOUND: the end. */
Result revisit_rows_next(const RevisitRows *table, MDB_txn *txn, RevisitDue *due);
Result revisit_rows_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n);
/* The number of pages that have a due time: equal to revisit_rows_count unless the tables are
 * damaged. */
Result revisit_rows_page_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n);
/* Removes all due times and lines. Notes stay; the settled index becomes 0. */
Result revisit_rows_clear(const RevisitRows *table, MDB_txn *txn);

/* ---- hosts with more due than they can be asked for ---- */

/* Puts a page into the line of its host. A page that is there already keeps its place. */
Result revisit_rows_line_put(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                             const RevisitDue *due);
/* Removes the first page of a line (freq is not filled in). RESULT_NOT_FOUND: the line is empty. */
Result revisit_rows_line_take(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                              RevisitDue *due);
Result revisit_rows_line_is_empty(const RevisitRows *table, MDB_txn *txn, uint32_t host,
                                  bool *is_empty);
/* Pages in all lines. */
Result revisit_rows_line_count(const RevisitRows *table, MDB_txn *txn, uint64_t *n);

/* ---- notes ---- */

/* An empty one when there is none. */
Result revisit_rows_note_get(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                             RevisitNote *note);
/* An empty one is removed. */
Result revisit_rows_note_put(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                             const RevisitNote *note);

/* The history of a page's numbers, NUMBERS_HISTORY_BYTES at most; *length 0 when there is none. */
Result revisit_rows_numbers_get(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                                uint8_t *history, size_t *length);
Result revisit_rows_numbers_put(const RevisitRows *table, MDB_txn *txn, uint64_t index,
                                const uint8_t *history, size_t length);

/* The settled index: all crawled pages below it were entered, or left out on purpose. 0 when
 * nothing is known. */
Result revisit_rows_settled_get(const RevisitRows *table, MDB_txn *txn, uint64_t *index);
/* Sets the settled index. Set it to 0 before a crawl that enters no pages. */
Result revisit_rows_settled_put(const RevisitRows *table, MDB_txn *txn, uint64_t index);
