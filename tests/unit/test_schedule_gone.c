/* Lists of entries that were removed: what is written is read back, and their number is kept. */
#include <string.h>

#include "schedule_fixture.h"
#include "store/schedule/schedule_gone.h"

static void a_row_that_is_no_list_is_refused(void)
{
    ScheduleGone gone;
    unsigned char bytes[7 * (SCHEDULE_GONE_MAX + 1)];
    memset(bytes, 1, sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        MDB_val row = {n, bytes};
        bool good = n % 7 == 0 && n / 7 <= SCHEDULE_GONE_MAX;
        gone.n = 99;
        CU_ASSERT_EQUAL(schedule_gone_decode(&row, &gone), good ? 0 : MDB_CORRUPTED);
        CU_ASSERT_EQUAL(gone.n, good ? n / 7 : 0);
    }
}

static ScheduleGone list_of(size_t n)
{
    ScheduleGone gone = {.n = n};
    for (size_t i = 0; i < n; i++) {
        gone.items[i] =
            (ScheduleItem){.level = (uint8_t)(i % 3), .index = UINT64_C(0xFFFFFFFFFFFF) - i};
    }
    return gone;
}

static void items_are_told_by_level_and_index(void)
{
    ScheduleGone gone = list_of(7);
    CU_ASSERT_TRUE(schedule_gone_has(&gone, 1, UINT64_C(0xFFFFFFFFFFFE)));
    CU_ASSERT_FALSE(schedule_gone_has(&gone, 2, UINT64_C(0xFFFFFFFFFFFE)));
    CU_ASSERT_FALSE(schedule_gone_has(&gone, 1, 1));
    CU_ASSERT_EQUAL(schedule_gone_of_level(&gone, 0), 3);
    CU_ASSERT_EQUAL(schedule_gone_of_level(&gone, 2), 2);
    CU_ASSERT_EQUAL(schedule_gone_of_level(&gone, 9), 0);
    gone.n = 0;
    CU_ASSERT_FALSE(schedule_gone_has(&gone, 0, UINT64_C(0xFFFFFFFFFFFF)));
}

static void lists_come_back_and_how_many_items_there_are_is_a_number(void)
{
    ScheduleFixture f = {.journal_rows = 100};
    folder_make(f.dir);
    CU_ASSERT_EQUAL_FATAL(schedule_fixture_open(&f, NULL, (size_t)1 << 26), RESULT_OK);
    static const size_t sizes[][2] = {{1, 3}, {2, SCHEDULE_GONE_MAX}, {1, 0}, {2, 1}, {2, 0}};
    size_t held[3] = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t host = (uint32_t)sizes[i][0];
        ScheduleGone gone = list_of(sizes[i][1]);
        ScheduleGone back;
        ScheduleWork work;
        MDB_txn *txn = schedule_fixture_begin(&f, 0);
        schedule_work_begin(&work, f.schedule, txn, f.schedule->hosts);
        schedule_gone_write(&work, host, &gone, held[host]);
        held[host] = gone.n;
        CU_ASSERT_EQUAL(schedule_work_end(&work), RESULT_OK);
        CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
        journal_settle(f.journal, true);
        txn = schedule_fixture_begin(&f, MDB_RDONLY);
        schedule_work_begin(&work, f.schedule, txn, f.schedule->hosts);
        schedule_gone_read(&work, host, &back);
        CU_ASSERT_EQUAL(back.n, gone.n);
        for (size_t k = 0; k < gone.n && back.n == gone.n; k++) {
            CU_ASSERT_TRUE(schedule_gone_has(&back, gone.items[k].level, gone.items[k].index));
        }
        bool any = false;
        CU_ASSERT_EQUAL(schedule_number_read(&work, SCHEDULE_GONE_ENTRIES, &any),
                        held[1] + held[2]);
        CU_ASSERT_EQUAL(any, held[1] + held[2] > 0); /* zero is not kept */
        schedule_gone_read(&work, 77, &back);
        CU_ASSERT_EQUAL(back.n, 0);
        CU_ASSERT_EQUAL(schedule_work_end(&work), RESULT_OK);
        mdb_txn_abort(txn);
    }
    schedule_fixture_end(&f);
}

static void a_number_is_written_in_as_many_bytes_as_it_is_given(void)
{
    ScheduleFixture f;
    schedule_fixture_start(&f, 1);
    MDB_txn *txn = schedule_fixture_begin(&f, 0);
    ScheduleWork work;
    bool any = true;
    schedule_work_begin(&work, f.schedule, txn, f.schedule->hosts);
    CU_ASSERT_EQUAL(schedule_number_read(&work, SCHEDULE_GONE_ENTRIES, &any), 0);
    CU_ASSERT_FALSE(any);
    static const unsigned bytes[] = {8, 8, 3, 0, 0, 1};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        schedule_number_write(&work, SCHEDULE_GONE_ENTRIES, 200 + i, bytes[i]);
        CU_ASSERT_EQUAL(schedule_number_read(&work, SCHEDULE_GONE_ENTRIES, &any),
                        bytes[i] == 0 ? 0 : 200 + i);
        CU_ASSERT_EQUAL(any, bytes[i] > 0);
    }
    work.rows.code = MDB_CORRUPTED; /* after a failure nothing is done */
    schedule_number_write(&work, SCHEDULE_GONE_ENTRIES, 1, 8);
    work.rows.code = 0;
    CU_ASSERT_EQUAL(schedule_number_read(&work, SCHEDULE_GONE_ENTRIES, &any), 205);
    CU_ASSERT_EQUAL(schedule_work_end(&work), RESULT_OK);
    mdb_txn_abort(txn);
    schedule_fixture_end(&f);
}

UNIT_MAIN("schedule_gone", {"a row that is no list is refused", a_row_that_is_no_list_is_refused},
          {"items are told by level and index", items_are_told_by_level_and_index},
          {"lists come back and how many items there are is a number",
           lists_come_back_and_how_many_items_there_are_is_a_number},
          {"a number is written in as many bytes as it is given",
           a_number_is_written_in_as_many_bytes_as_it_is_given})
