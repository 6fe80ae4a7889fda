#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/schedule/schedule_read.h"
#include "schedule_fixture.h"
#include "store/schedule/schedule.h"
#include "unit.h"

#define HOSTS   24u
#define LEVELS  16u
#define INDICES 700u

/* The naive schedule: one flag for every possible entry. */
typedef struct Model {
    bool has[HOSTS][LEVELS][INDICES];
    bool parked[HOSTS];
} Model;

static uint32_t host_id(unsigned h)
{
    /* the extremes, neighbours, and scattered ones */
    const uint32_t special[] = {0, UINT32_MAX, 1, UINT32_MAX - 1, 255, 256, 0x01000000};
    return h < sizeof special / sizeof *special ? special[h] : (uint32_t)hash_mix(h);
}

static size_t model_head(const Model *m, unsigned h, const ScheduleItem *after, ScheduleItem *items,
                         size_t max)
{
    size_t n = 0;
    for (unsigned l = 0; l < LEVELS; l++) {
        for (unsigned i = 0; i < INDICES && n < max; i++) {
            bool is_behind =
                after == NULL || l > after->level || (l == after->level && i > after->index);
            if (m->has[h][l][i] && is_behind) {
                items[n++] = (ScheduleItem){.index = i, .level = l};
            }
        }
    }
    return n;
}

static bool same_items(const ScheduleItem *a, const ScheduleItem *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].index != b[i].index || a[i].level != b[i].level) {
            return false;
        }
    }
    return true;
}

static unsigned model_best(const Model *m, unsigned h)
{
    ScheduleItem first;
    return model_head(m, h, NULL, &first, 1) == 1 ? first.level : SCHEDULE_NO_LEVEL;
}

/* Every host of the schedule, in pieces of odd size, against the model. */
static void compare_hosts(ScheduleFixture *w, MDB_txn *txn, const Model *m)
{
    uint32_t found[HOSTS + 1];
    uint8_t levels[HOSTS + 1];
    size_t total = 0;
    size_t n = 0;
    ScheduleHostCursor cursor = {0};
    do {
        size_t room = HOSTS + 1 - total;
        CU_ASSERT_EQUAL(schedule_hosts(w->schedule, txn, &cursor, found + total, levels + total,
                                       room < 5 ? room : 5, &n),
                        RESULT_OK);
        total += n;
    } while (n > 0 && total < HOSTS + 1);
    size_t expected = 0;
    unsigned last_level = 0;
    uint32_t last_host = 0;
    for (size_t i = 0; i < total; i++) {
        for (unsigned h = 0; h < HOSTS; h++) {
            if (host_id(h) == found[i]) {
                unsigned best = model_best(m, h);
                CU_ASSERT_NOT_EQUAL(best, SCHEDULE_NO_LEVEL);
                CU_ASSERT_FALSE(m->parked[h]);
                CU_ASSERT_EQUAL(levels[i], best);
                CU_ASSERT(i == 0 || best > last_level ||
                          (best == last_level && found[i] > last_host));
                last_level = best;
                last_host = found[i];
            }
        }
    }
    for (unsigned h = 0; h < HOSTS; h++) {
        expected += model_best(m, h) != SCHEDULE_NO_LEVEL && !m->parked[h];
    }
    CU_ASSERT_EQUAL(total, expected);
}

/* Every parked host, in pieces of odd size, against the model. */
static void compare_parked(ScheduleFixture *w, MDB_txn *txn, const Model *m)
{
    uint32_t found[HOSTS + 1];
    uint64_t next = 0;
    size_t total = 0;
    size_t n = 0;
    size_t expected = 0;
    do {
        size_t room = HOSTS + 1 - total;
        CU_ASSERT_EQUAL(
            schedule_parked_hosts(w->schedule, txn, &next, found + total, room < 3 ? room : 3, &n),
            RESULT_OK);
        total += n;
    } while (n > 0 && total < HOSTS + 1);
    for (unsigned h = 0; h < HOSTS; h++) {
        bool parked = false;
        CU_ASSERT_EQUAL(schedule_is_parked(w->schedule, txn, host_id(h), &parked), RESULT_OK);
        CU_ASSERT_EQUAL(parked, m->parked[h]);
        expected += parked;
    }
    CU_ASSERT_EQUAL(total, expected);
    for (size_t i = 1; i < total; i++) {
        CU_ASSERT_TRUE(found[i - 1] < found[i]);
    }
}

/* Walks over all hosts, and over all entries, find that many. */
static void compare_walks(ScheduleFixture *w, MDB_txn *txn, uint64_t total)
{
    uint32_t ids[5];
    uint64_t of[5];
    ScheduleEntry entries[50];
    uint64_t from = 0;
    uint64_t counted = 0;
    uint64_t scanned = 0;
    ScheduleScan scan = {.started = false};
    size_t n = 0;
    do {
        CU_ASSERT_EQUAL(schedule_host_counts(w->schedule, txn, &from, ids, of, 5, &n), RESULT_OK);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT(of[i] > 0);
            counted += of[i];
        }
    } while (n > 0);
    do {
        CU_ASSERT_EQUAL(schedule_scan(w->schedule, txn, &scan, entries, 50, &n), RESULT_OK);
        scanned += n;
    } while (n > 0);
    CU_ASSERT_EQUAL(counted, total);
    CU_ASSERT_EQUAL(scanned, total);
}

static void compare(ScheduleFixture *w, const Model *m)
{
    static ScheduleItem expected[LEVELS * INDICES];
    static ScheduleItem found[LEVELS * INDICES];
    MDB_txn *txn = schedule_fixture_begin(w, MDB_RDONLY);
    uint64_t total = 0;
    uint64_t parked = 0;
    uint64_t n_hosts = 0;
    for (unsigned h = 0; h < HOSTS; h++) {
        size_t n = 0;
        size_t n_expected = model_head(m, h, NULL, expected, LEVELS * INDICES);
        CU_ASSERT_EQUAL(
            schedule_head(w->schedule, txn, host_id(h), NULL, found, LEVELS * INDICES, &n),
            RESULT_OK);
        CU_ASSERT_EQUAL(n, n_expected);
        CU_ASSERT(n == n_expected && same_items(expected, found, n));
        uint64_t count = 0;
        CU_ASSERT_EQUAL(schedule_host_count(w->schedule, txn, host_id(h), &count), RESULT_OK);
        CU_ASSERT_EQUAL(count, n_expected);
        total += m->parked[h] ? 0 : n_expected;
        parked += m->parked[h] ? n_expected : 0;
        n_hosts += !m->parked[h] && n_expected > 0;
    }
    uint64_t entries = 0;
    uint64_t hosts = 0;
    CU_ASSERT_EQUAL(schedule_counts(w->schedule, txn, &entries, &hosts), RESULT_OK);
    CU_ASSERT_EQUAL(entries, total);
    CU_ASSERT_EQUAL(hosts, n_hosts);
    CU_ASSERT_EQUAL(schedule_parked_counts(w->schedule, txn, &entries, &hosts), RESULT_OK);
    CU_ASSERT_EQUAL(entries, parked);
    compare_walks(w, txn, total + parked);
    compare_hosts(w, txn, m);
    compare_parked(w, txn, m);
    mdb_txn_abort(txn);
}

static Result park_or_not(ScheduleFixture *w, MDB_txn *txn, Model *m, unsigned h)
{
    uint64_t entries = 0;
    uint64_t count = 0;
    unsigned level = 0;
    Result rc = schedule_host_count(w->schedule, txn, host_id(h), &count);
    CU_ASSERT_EQUAL(rc, RESULT_OK);
    if (schedule_fixture_draw(w, 2) == 0) {
        rc = schedule_park(w->schedule, txn, host_id(h), &entries);
        m->parked[h] = true;
    } else {
        rc = schedule_unpark(w->schedule, txn, host_id(h), &entries, &level);
        CU_ASSERT_EQUAL(level, model_best(m, h));
        m->parked[h] = false;
    }
    CU_ASSERT_EQUAL(entries, count);
    return rc;
}

/* Many changes of a few hosts at once, in any order; what is both added and removed is gone then.
 */
static Result many_changes(ScheduleFixture *w, MDB_txn *txn, Model *m)
{
    ScheduleChange changes[200];
    bool leaves[200];
    uint64_t first = schedule_fixture_draw(w, HOSTS);
    uint64_t of_put = 2 + schedule_fixture_draw(w, 8);
    for (unsigned round = 0; round < 2; round++) { /* what is added, then what is removed */
        for (unsigned i = 0; i < 200; i++) {
            ScheduleChange *c = &changes[i];
            if (round == 0) {
                leaves[i] = schedule_fixture_draw(w, 10) >= of_put;
                c->host = (uint32_t)((first + schedule_fixture_draw(w, 3)) % HOSTS);
                c->index = schedule_fixture_draw(w, INDICES / 10);
                c->from = (uint8_t)schedule_fixture_draw(w, 4);
                c->to = SCHEDULE_NO_LEVEL;
            }
            if (leaves[i] == (round == 1)) {
                m->has[c->host][c->from][c->index] = !leaves[i];
            }
        }
    }
    for (unsigned i = 0; i < 200; i++) {
        changes[i].host = host_id(changes[i].host);
        if (!leaves[i]) {
            changes[i].to = changes[i].from;
            changes[i].from = SCHEDULE_NO_LEVEL;
        }
    }
    return schedule_change_all(w->schedule, txn, changes, 200);
}

/* One random operation on both; few operations clear a host, as that would keep the model empty. */
static void one_change(ScheduleFixture *w, MDB_txn *txn, Model *m)
{
    unsigned h = (unsigned)schedule_fixture_draw(w, 1 + schedule_fixture_draw(w, HOSTS));
    unsigned from = (unsigned)schedule_fixture_draw(w, LEVELS);
    unsigned to = (unsigned)schedule_fixture_draw(w, LEVELS);
    unsigned i = (unsigned)schedule_fixture_draw(w, INDICES);
    uint64_t kind = schedule_fixture_draw(w, 1000);
    Result rc = RESULT_INTERNAL;
    if (kind < 600) {
        rc = schedule_put(w->schedule, txn, host_id(h), to, i);
        m->has[h][to][i] = true;
    } else if (kind < 800) {
        rc = schedule_remove(w->schedule, txn, host_id(h), from, i);
        m->has[h][from][i] = false;
    } else if (kind < 820) {
        rc = park_or_not(w, txn, m, h);
    } else if (kind < 840) {
        rc = many_changes(w, txn, m);
    } else if (kind < 998) {
        const ScheduleChange move = {
            .index = i, .host = host_id(h), .from = (uint8_t)from, .to = (uint8_t)to};
        rc = schedule_change(w->schedule, txn, &move, 1);
        m->has[h][from][i] = from == to && m->has[h][from][i];
        m->has[h][to][i] = m->has[h][to][i] || from != to;
    } else {
        uint64_t removed = 0;
        size_t expected = 0;
        rc = schedule_clear_host(w->schedule, txn, host_id(h), &removed);
        for (unsigned l = 0; l < LEVELS; l++) {
            for (unsigned k = 0; k < INDICES; k++) {
                expected += m->has[h][l][k];
            }
        }
        CU_ASSERT_EQUAL(removed, expected);
        memset(m->has[h], 0, sizeof m->has[h]);
        m->parked[h] = false;
    }
    CU_ASSERT_EQUAL(rc, RESULT_OK);
}

static void one_look(ScheduleFixture *w, MDB_txn *txn, const Model *m)
{
    ScheduleItem expected[40];
    ScheduleItem found[40];
    unsigned h = (unsigned)schedule_fixture_draw(w, HOSTS);
    size_t max = schedule_fixture_draw(w, 40);
    size_t n = 0;
    ScheduleItem after = {.index = schedule_fixture_draw(w, INDICES),
                          .level = (unsigned)schedule_fixture_draw(w, LEVELS)};
    CU_ASSERT_EQUAL(schedule_head(w->schedule, txn, host_id(h), &after, found, max, &n), RESULT_OK);
    size_t n_expected = model_head(m, h, &after, expected, max);
    CU_ASSERT_EQUAL(n, n_expected);
    CU_ASSERT(n == n_expected && same_items(expected, found, n));
}

/* Commits, or takes everything back. */
static void end_round(ScheduleFixture *w, MDB_txn *txn, bool commit)
{
    CU_ASSERT_EQUAL(journal_sweep(w->journal, txn), 0);
    if (commit) {
        CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    } else {
        mdb_txn_abort(txn);
    }
    journal_settle(w->journal, commit);
}

static void agree_with_naive_arrays(size_t journal_rows)
{
    Model *m = malloc(sizeof *m);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        ScheduleFixture w = {.seed = seed, .journal_rows = journal_rows};
        folder_make(w.dir);
        CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(&w, NULL, (size_t)1 << 30), RESULT_OK);
        memset(m, 0, sizeof *m);
        for (int round = 0; round < 24; round++) {
            MDB_txn *txn = schedule_fixture_begin(&w, 0);
            if (round % 5 == 4) {
                Model *before = malloc(sizeof *m);
                *before = *m;
                for (int i = 0; i < 100; i++) {
                    one_change(&w, txn, m);
                }
                *m = *before;
                free(before);
                end_round(&w, txn, false);
                txn = schedule_fixture_begin(&w, 0);
            }
            for (int i = 0; i < 500; i++) {
                one_change(&w, txn, m);
                if (i % 16 == 0) {
                    one_look(&w, txn, m);
                }
            }
            end_round(&w, txn, true);
            if (round % 3 == 2) { /* everything is on disk, not in the object */
                schedule_fixture_close(&w);
                CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(&w, NULL, (size_t)1 << 30), RESULT_OK);
            }
            compare(&w, m);
        }
        for (unsigned h = 0; h < HOSTS; h++) { /* down to nothing, one by one */
            MDB_txn *txn = schedule_fixture_begin(&w, 0);
            for (unsigned l = 0; l < LEVELS; l++) {
                for (unsigned i = 0; i < INDICES; i++) {
                    if (m->has[h][l][i]) {
                        (void)schedule_remove(w.schedule, txn, host_id(h), l, i);
                        m->has[h][l][i] = false;
                    }
                }
            }
            end_round(&w, txn, true);
        }
        compare(&w, m);
        schedule_fixture_end(&w);
    }
    free(m);
}

static void random_operations_agree_with_naive_arrays(void)
{
    agree_with_naive_arrays(0);
}

/* Removals wait in lists: some until a sweep, some until the list is full. */
static void so_do_removals_that_wait(void)
{
    agree_with_naive_arrays(300);
    agree_with_naive_arrays(100000);
}

/* Bytes of the pages in use: all but those on the free list (LMDB's table 0). */
static uint64_t used_bytes(ScheduleFixture *w)
{
    MDB_envinfo info;
    MDB_stat stat;
    (void)mdb_env_info(w->env, &info);
    (void)mdb_env_stat(w->env, &stat);
    MDB_txn *txn = schedule_fixture_begin(w, MDB_RDONLY);
    MDB_cursor *cursor = NULL;
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(txn, 0, &cursor), 0);
    uint64_t free_pages = 0;
    MDB_val key;
    MDB_val data;
    while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
        size_t count = 0;
        memcpy(&count, data.mv_data, sizeof count);
        free_pages += count;
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return (info.me_last_pgno + 1 - free_pages) * stat.ms_psize;
}

static void thousands_of_hosts_take_few_bytes_and_come_back(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 7);
    const uint32_t n_hosts = 5000;
    uint64_t put = 0;
    for (uint64_t batch = 0; batch < 100; batch++) {
        MDB_txn *txn = schedule_fixture_begin(&w, 0);
        for (int i = 0; i < 1500; i++) {
            /* popular hosts first, scores spread over the levels */
            uint32_t rank =
                (uint32_t)schedule_fixture_draw(&w, 1 + schedule_fixture_draw(&w, n_hosts));
            float score = (float)schedule_fixture_draw(&w, 1000000) / 1e6f;
            CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, (uint32_t)hash_mix(rank),
                                         schedule_level(w.schedule, score), put),
                            RESULT_OK);
            put++;
        }
        CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    }
    schedule_fixture_close(&w);
    CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(&w, NULL, (size_t)1 << 30), RESULT_OK);
    MDB_txn *txn = schedule_fixture_begin(&w, MDB_RDONLY);
    uint64_t entries = 0;
    uint64_t hosts = 0;
    CU_ASSERT_EQUAL(schedule_counts(w.schedule, txn, &entries, &hosts), RESULT_OK);
    CU_ASSERT_EQUAL(entries, put);
    ScheduleHostCursor cursor = {0};
    uint32_t some[64];
    size_t n = 0;
    uint64_t seen_hosts = 0;
    uint64_t seen_entries = 0;
    do {
        CU_ASSERT_EQUAL(schedule_hosts(w.schedule, txn, &cursor, some, NULL, 64, &n), RESULT_OK);
        for (size_t i = 0; i < n; i++) {
            uint64_t count = 0;
            (void)schedule_host_count(w.schedule, txn, some[i], &count);
            seen_entries += count;
        }
        seen_hosts += n;
    } while (n > 0);
    CU_ASSERT_EQUAL(seen_hosts, hosts);
    CU_ASSERT_EQUAL(seen_entries, put);
    mdb_txn_abort(txn);
    double bytes = (double)used_bytes(&w) / (double)put;
    CU_ASSERT(bytes < 30.0);
    schedule_fixture_end(&w);
}

static void a_scan_sees_every_entry_and_clear_removes_them(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 5);
    MDB_txn *txn = schedule_fixture_begin(&w, 0);
    Schedule *other = NULL; /* two schedules in one environment do not meet */
    CU_ASSERT_EQUAL_FATAL(schedule_open_named(&other, txn, "other", NULL), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_put(other, txn, 1, 1, 1), RESULT_OK);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        uint32_t host = host_id((unsigned)schedule_fixture_draw(&w, HOSTS));
        unsigned level = (unsigned)schedule_fixture_draw(&w, LEVELS);
        CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, host, level, i), RESULT_OK);
        sum += hash_mix(i ^ (uint64_t)host << 20 ^ (uint64_t)level << 52);
    }
    ScheduleEntry entries[7];
    ScheduleScan scan = {0};
    size_t n = 0;
    size_t total = 0;
    ScheduleEntry last = {0};
    do {
        CU_ASSERT_EQUAL(schedule_scan(w.schedule, txn, &scan, entries, 7, &n), RESULT_OK);
        for (size_t i = 0; i < n; i++) {
            ScheduleEntry e = entries[i];
            sum -= hash_mix(e.index ^ (uint64_t)e.host << 20 ^ (uint64_t)e.level << 52);
            CU_ASSERT(total + i == 0 || e.host > last.host ||
                      (e.host == last.host && (e.level > last.level || e.index > last.index)));
            last = e;
        }
        total += n;
    } while (n > 0 && total < 4000);
    CU_ASSERT_EQUAL(total, 3000);
    CU_ASSERT_EQUAL(sum, 0);
    CU_ASSERT_EQUAL(schedule_clear(w.schedule, txn), RESULT_OK);
    uint64_t count = 1;
    uint64_t hosts = 1;
    CU_ASSERT_EQUAL(schedule_counts(w.schedule, txn, &count, &hosts), RESULT_OK);
    CU_ASSERT(count == 0 && hosts == 0);
    CU_ASSERT_EQUAL(schedule_counts(other, txn, &count, &hosts), RESULT_OK);
    CU_ASSERT(count == 1 && hosts == 1);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    schedule_close(other);
    schedule_fixture_end(&w);
}

static void levels_are_logarithmic_and_total(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 1);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 1.0f), 0);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 7.0f), 0);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, INFINITY), 0);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 0.99f), 1);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 0.5f), 1);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 0.49f), 2);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 1e-30f), 15);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, 0.0f), 15);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, -1.0f), 15);
    CU_ASSERT_EQUAL(schedule_level(w.schedule, NAN), 15);
    for (unsigned level = 0; level < 16; level++) {
        float least = 0;
        float below = 0;
        schedule_level_range(w.schedule, level, &least, &below);
        CU_ASSERT_EQUAL(schedule_level(w.schedule, least), level);
        CU_ASSERT_EQUAL(schedule_level(w.schedule, nextafterf(below, 0.0f)), level);
    }
    unsigned last = 0;
    for (float score = 4.0f; score > 1e-9f; score *= 0.97f) {
        unsigned level = schedule_level(w.schedule, score);
        CU_ASSERT(level == last || level == last + 1);
        last = level;
    }
    schedule_fixture_end(&w);
}

static void options_out_of_range_are_refused(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 1);
    const ScheduleOptions bad[] = {{0, 1, 2, false},    {65, 1, 2, false},
                                   {16, 0, 2, false},   {16, 1, 1, false},
                                   {16, NAN, 2, false}, {16, 1, INFINITY, false}};
    MDB_txn *txn = schedule_fixture_begin(&w, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Schedule *s = NULL;
        CU_ASSERT_EQUAL(schedule_open(&s, txn, &bad[i], NULL), RESULT_INVALID);
        CU_ASSERT_PTR_NULL(s);
    }
    CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, 1, SCHEDULE_MAX_LEVELS, 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, 1, SCHEDULE_NO_LEVEL, 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(schedule_remove(w.schedule, txn, 1, SCHEDULE_NO_LEVEL, 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, 1, 0, UINT64_C(1) << 48), RESULT_INVALID);
    CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, 1, 0, (UINT64_C(1) << 48) - 1), RESULT_OK);
    ScheduleItem item = {0};
    ScheduleItem end = {.index = (UINT64_C(1) << 48) - 1, .level = 0};
    size_t n = 9;
    CU_ASSERT_EQUAL(schedule_head(w.schedule, txn, 1, NULL, &item, 1, &n), RESULT_OK);
    CU_ASSERT(n == 1 && item.index == end.index);
    CU_ASSERT_EQUAL(schedule_head(w.schedule, txn, 1, &end, &item, 1, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    mdb_txn_abort(txn);
    schedule_fixture_end(&w);
}

static void a_full_map_is_told_and_nothing_is_lost(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 3);
    schedule_fixture_close(&w);
    CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(&w, NULL, (size_t)256 << 10), RESULT_OK);
    MDB_txn *txn = schedule_fixture_begin(&w, 0);
    CU_ASSERT_EQUAL(schedule_put(w.schedule, txn, 5, 3, 1), RESULT_OK);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    txn = schedule_fixture_begin(&w, 0);
    Result rc = RESULT_OK;
    for (uint64_t i = 0; rc == RESULT_OK && i < 100000; i++) {
        rc = schedule_put(w.schedule, txn, (uint32_t)hash_mix(i), 1, i);
    }
    CU_ASSERT_EQUAL(rc, RESULT_FULL);
    mdb_txn_abort(txn);
    txn = schedule_fixture_begin(&w, MDB_RDONLY);
    uint64_t entries = 0;
    uint64_t hosts = 0;
    CU_ASSERT_EQUAL(schedule_counts(w.schedule, txn, &entries, &hosts), RESULT_OK);
    CU_ASSERT(entries == 1 && hosts == 1);
    mdb_txn_abort(txn);
    schedule_fixture_end(&w);
}

static void another_format_is_refused(void)
{
    ScheduleFixture w;
    schedule_fixture_start(&w, 3);
    MDB_txn *txn = schedule_fixture_begin(&w, 0);
    MDB_dbi dbi = 0;
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "schedule_hosts", MDB_DUPSORT | MDB_DUPFIXED, &dbi), 0);
    unsigned char level = 255;
    unsigned char version[4] = {0, 0, 0, 99};
    MDB_val key = {1, &level};
    MDB_val data = {4, version};
    CU_ASSERT_EQUAL(mdb_del(txn, dbi, &key, NULL), 0);
    CU_ASSERT_EQUAL(mdb_put(txn, dbi, &key, &data, 0), 0);
    Schedule *s = NULL;
    CU_ASSERT_EQUAL(schedule_open(&s, txn, NULL, NULL), RESULT_VERSION);
    CU_ASSERT_PTR_NULL(s);
    mdb_txn_abort(txn);
    schedule_fixture_end(&w);
}

UNIT_MAIN("schedule",
          {"random operations agree with naive arrays", random_operations_agree_with_naive_arrays},
          {"so do removals that wait", so_do_removals_that_wait},
          {"thousands of hosts take few bytes and come back",
           thousands_of_hosts_take_few_bytes_and_come_back},
          {"a scan sees every entry and clear removes them",
           a_scan_sees_every_entry_and_clear_removes_them},
          {"levels are logarithmic and total", levels_are_logarithmic_and_total},
          {"options out of range are refused", options_out_of_range_are_refused},
          {"a full map is told and nothing is lost", a_full_map_is_told_and_nothing_is_lost},
          {"another format is refused", another_format_is_refused})
