/* Short read transactions of commands: turns, output that nobody reads, exit statuses. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "crawl/short_read.h"
#include "page_db_fixture.h"

static void a_transaction_is_kept_until_it_is_old_or_paused(void)
{
    PageDB *db = page_db_fixture_open("short-read");
    ShortRead read;
    CU_ASSERT_EQUAL_FATAL(short_read_begin(&read, db, NULL), page_db_error_ok);
    MDB_txn *first = read.txn;
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT_EQUAL(short_read_turn(&read, page_db_error_ok), page_db_error_ok);
    CU_ASSERT_PTR_EQUAL(read.txn, first);
    CU_ASSERT_EQUAL(short_read_turn(&read, page_db_error_damaged), page_db_error_damaged);
    read.since.ns -= (int64_t)SHORT_READ_MS * 1000000; /* it is old now */
    CU_ASSERT_EQUAL(short_read_turn(&read, page_db_error_ok), page_db_error_ok);
    CU_ASSERT_TRUE(mono_ms_between(read.since, mono_now()) < SHORT_READ_MS);
    short_read_pause(&read);
    CU_ASSERT_PTR_NULL(read.txn);
    short_read_pause(&read);
    CU_ASSERT_EQUAL(short_read_end(&read, page_db_error_ok, "test"), 0);
    CU_ASSERT_EQUAL(short_read_signal(), 0);
    page_db_delete(db);
}

/* Output to a pipe whose reader has gone, or to a disk that is full. */
static int write_to(PageDB *db, FILE *out, int *turned)
{
    ShortRead read;
    CU_ASSERT_EQUAL_FATAL(short_read_begin(&read, db, out), page_db_error_ok);
    for (unsigned i = 0; i < 20000; i++) {
        (void)fputs("12345678\n", out);
    }
    *turned = short_read_turn(&read, page_db_error_ok);
    int end = short_read_end(&read, *turned, "test");
    (void)fclose(out);
    return end;
}

static void whoever_reads_the_output_may_go(void)
{
    PageDB *db = page_db_fixture_open("short-read");
    int ends[2];
    int turned = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(write_to(db, fdopen(ends[1], "w"), &turned), 0);
    CU_ASSERT_EQUAL(turned, SHORT_READ_OVER);
    (void)fflush(stderr);
    int own = dup(2);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere, 2);
    int end = write_to(db, fopen("/dev/full", "we"), &turned);
    (void)dup2(own, 2);
    (void)close(own);
    (void)close(nowhere);
    CU_ASSERT_EQUAL(end, EXIT_IO);
    CU_ASSERT_EQUAL(turned, SHORT_READ_OVER);
    page_db_delete(db);
}

static void a_code_has_an_exit_status_and_damage_is_noted(void)
{
    static const int rows[][2] = {
        {page_db_error_ok, EXIT_FINISHED},       {page_db_error_no_page, EXIT_NEGATIVE},
        {page_db_error_full, EXIT_IO},           {page_db_error_invalid_path, EXIT_IO},
        {page_db_error_version, EXIT_DIRECTORY}, {page_db_error_locked, EXIT_DIRECTORY},
        {page_db_error_internal, EXIT_INTERNAL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(crawl_exit_status(rows[i][0]), rows[i][1]);
        CU_ASSERT_EQUAL(fault_end(rows[i][1] == EXIT_IO ? 0 : rows[i][1]),
                        rows[i][1] == EXIT_IO ? 0 : rows[i][1]);
    }
    CU_ASSERT_FALSE(fault_is_known());
    CU_ASSERT_EQUAL(crawl_exit_status(page_db_error_damaged), EXIT_DIRECTORY);
    CU_ASSERT_TRUE(fault_is_known());
}

static void a_directory_without_a_crawl_is_told(void)
{
    char folder[FOLDER_BYTES];
    PageDB *db = NULL;
    folder_make(folder);
    CU_ASSERT_FALSE(crawl_open_is_crawl(folder));
    (void)fflush(stderr);
    int own = dup(2);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere, 2);
    int status = crawl_open("test", folder, true, &db);
    (void)dup2(own, 2);
    (void)close(own);
    (void)close(nowhere);
    CU_ASSERT_EQUAL(status, EXIT_IO);
    CU_ASSERT_PTR_NULL(db);
    folder_remove(folder);
}

UNIT_MAIN("short_read",
          {"a transaction is kept until it is old or paused",
           a_transaction_is_kept_until_it_is_old_or_paused},
          {"whoever reads the output may go", whoever_reads_the_output_may_go},
          {"a directory without a crawl is told", a_directory_without_a_crawl_is_told},
          {"a code has an exit status and damage is noted",
           a_code_has_an_exit_status_and_damage_is_noted})
