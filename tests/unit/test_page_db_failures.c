/* PageDB when things break: other formats, damaged files, no directory, a full disk, no memory. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_fixture.h"
#include "store/page_tables/page_file.h"
#include "store/pages/page_db.h"

static char path[FOLDER_BYTES];
static char data_file[320];

static void choose_path(const char *name)
{
    folder_name(path, name);
    (void)snprintf(data_file, sizeof data_file, "%s/data.mdb", path);
}

static CrawledPage *numbered_page(unsigned n)
{
    char url[100];
    (void)snprintf(url, sizeof url, "http://a%u.com/%u", n % 10, n);
    CrawledPage *cp = crawled_page_new(url);
    for (unsigned i = 0; i < 30; i++) {
        (void)snprintf(url, sizeof url, "http://b%u.com/%u", i, n * 30 + i);
        CU_ASSERT_EQUAL(crawled_page_add_link(cp, url, 0), 0);
    }
    return cp;
}

static int add_numbered(PageDB *db, unsigned n)
{
    CrawledPage *cp = numbered_page(n);
    int rc = (int)page_db_add(db, cp, NULL);
    crawled_page_delete(cp);
    return rc;
}

/* A database with a hundred pages, closed. */
static void make_database(const char *name)
{
    choose_path(name);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    for (unsigned n = 0; n < 100; n++) {
        CU_ASSERT_EQUAL(add_numbered(db, n), page_db_error_ok);
    }
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void remove_database(void)
{
    PageDB *db = NULL;
    CU_ASSERT_EQUAL(page_db_open(&db, path, NULL), page_db_error_ok);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void opening_gives(int expected)
{
    PageDB *db = NULL;
    CU_ASSERT_EQUAL(page_db_open(&db, path, NULL), expected);
    CU_ASSERT_PTR_NOT_NULL_FATAL(db);
    CU_ASSERT_EQUAL(error_code(db->error), expected);
    CU_ASSERT_EQUAL(error_message(db->error) == NULL, expected == page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static uint64_t count_pages(PageDB *db)
{
    HashInfoStream *stream = NULL;
    CU_ASSERT_EQUAL_FATAL(hashinfo_stream_new(&stream, db), page_db_error_ok);
    uint64_t n = 0, hash = 0;
    PageInfo *pi = NULL;
    while (hashinfo_stream_next(stream, &hash, &pi) == stream_state_next) {
        page_info_delete(pi);
        n++;
    }
    CU_ASSERT_EQUAL(stream->state, stream_state_end);
    hashinfo_stream_delete(stream);
    return n;
}

static void content_is_intact(void)
{
    PageDB *db = NULL;
    CU_ASSERT_EQUAL(page_db_open(&db, path, NULL), page_db_error_ok);
    CU_ASSERT_EQUAL(count_pages(db), 100 * 31);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void set_version(uint64_t version)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;
    MDB_val key = {7, (char[]){"version"}};
    MDB_val value = {sizeof version, &version};
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&env), 0);
    CU_ASSERT_EQUAL(mdb_env_set_maxdbs(env, 32), 0);
    CU_ASSERT_EQUAL(mdb_env_set_mapsize(env, (size_t)1 << 30), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(env, path, MDB_NOTLS, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "info", MDB_CREATE, &dbi), 0);
    CU_ASSERT_EQUAL(
        version == 0 ? mdb_del(txn, dbi, &key, NULL) : mdb_put(txn, dbi, &key, &value, 0), 0);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void another_format_is_refused_and_left_alone(void)
{
    make_database("version");
    const uint64_t versions[] = {PAGE_DB_FORMAT_VERSION + 1, UINT64_MAX, 0};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        set_version(versions[i]);
        opening_gives(page_db_error_version);
        set_version(PAGE_DB_FORMAT_VERSION);
        content_is_intact();
    }
    remove_database();
}

static void overwrite(off_t at, const char *bytes, size_t n)
{
    int fd = open(data_file, O_WRONLY | O_CLOEXEC);
    CU_ASSERT(fd >= 0);
    CU_ASSERT_EQUAL(pwrite(fd, bytes, n, at), (ssize_t)n);
    CU_ASSERT_EQUAL(close(fd), 0);
}

static void a_damaged_file_is_an_error(void)
{
    make_database("damaged");
    struct stat st;
    CU_ASSERT_EQUAL(stat(data_file, &st), 0);
    CU_ASSERT_EQUAL(truncate(data_file, st.st_size / 2), 0);
    opening_gives(page_db_error_damaged);
    CU_ASSERT_EQUAL(truncate(data_file, 100), 0);
    opening_gives(page_db_error_damaged);
    char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    overwrite(0, garbage, sizeof garbage);
    opening_gives(page_db_error_damaged);
    CU_ASSERT_EQUAL(unlink(data_file), 0);
    remove_database();
}

/* Pages of the file, and how many it must have. */
static void measure(PageDB *db, uint64_t *pages, uint64_t *wanted)
{
    MDB_envinfo info;
    MDB_stat stat_;
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(mdb_env_info(page_db_env(db), &info), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_stat(page_db_env(db), &stat_), 0);
    CU_ASSERT_EQUAL_FATAL(stat(data_file, &st), 0);
    *pages = (uint64_t)st.st_size / stat_.ms_psize;
    *wanted = info.me_last_pgno + 1;
}

/* page_file.h says why. What is behind its contents may be missing, nothing else. */
static void a_large_file_grows_ahead(void)
{
    enum { COMMITS = 60, RECORDS = 100 };
    static const char record[4000];
    PageDB *db = NULL;
    PageDBOptions options = {.no_sync = true};
    uint64_t pages = 0, wanted = 0;
    unsigned longer = 0;
    choose_path("ahead");
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &options), page_db_error_ok);
    for (unsigned i = 0; i < COMMITS; i++) {
        MDB_txn *txn = NULL;
        MDB_dbi dbi = 0;
        CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), 0);
        CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "records", MDB_CREATE | MDB_INTEGERKEY, &dbi), 0);
        for (unsigned k = i * RECORDS; k < (i + 1) * RECORDS; k++) {
            MDB_val key = {sizeof k, &k};
            MDB_val value = {sizeof record, (char *)(uintptr_t)record};
            CU_ASSERT_EQUAL(mdb_put(txn, dbi, &key, &value, 0), 0);
        }
        CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(db, txn), 0);
        measure(db, &pages, &wanted);
        CU_ASSERT(pages >= wanted && pages <= wanted + wanted / 8);
        longer += pages > wanted;
    }
    CU_ASSERT(longer > COMMITS / 2);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    struct stat st;
    CU_ASSERT_EQUAL(stat(data_file, &st), 0);
    off_t page_bytes = st.st_size / (off_t)wanted;
    CU_ASSERT_EQUAL(page_bytes * (off_t)wanted, st.st_size); /* no longer than its pages now */
    CU_ASSERT_EQUAL(page_bytes, 4096);
    CU_ASSERT_EQUAL(truncate(data_file, (off_t)wanted * page_bytes), 0);
    opening_gives(page_db_error_ok);
    CU_ASSERT_EQUAL(truncate(data_file, (off_t)(wanted - RECORDS) * page_bytes), 0);
    opening_gives(page_db_error_damaged);
    CU_ASSERT_EQUAL(truncate(data_file, st.st_size), 0); /* holes read as zeros */
    remove_database();
}

/* Others commit between the look at the length and the growth: their pages stay. */
static void growing_ahead_never_shortens_the_file(void)
{
    enum { SHORT = 4096, LONG = 16 * SHORT };
    char name[FOLDER_BYTES];
    struct stat st;
    int fd = folder_make_file(name);
    CU_ASSERT_EQUAL(page_file_lengthen(fd, 0, SHORT), 0);
    CU_ASSERT_EQUAL(fstat(fd, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, SHORT);
    CU_ASSERT_EQUAL(pwrite(fd, "x", 1, LONG - 1), 1);
    CU_ASSERT_EQUAL(page_file_lengthen(fd, SHORT, 2 * SHORT), 0);
    char byte = 0;
    CU_ASSERT_EQUAL(fstat(fd, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, LONG);
    CU_ASSERT_EQUAL(pread(fd, &byte, 1, LONG - 1), 1);
    CU_ASSERT_EQUAL(byte, 'x');
    CU_ASSERT_EQUAL(close(fd), 0);
    CU_ASSERT_EQUAL(unlink(name), 0);
}

static void a_directory_that_cannot_be_used_is_an_error(void)
{
    choose_path("nowhere/at/all");
    opening_gives(page_db_error_invalid_path);
    choose_path("file");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CU_ASSERT_EQUAL(close(fd), 0);
    opening_gives(page_db_error_invalid_path);
    CU_ASSERT_EQUAL(unlink(path), 0);
    if (geteuid() != 0) {
        CU_ASSERT_EQUAL(mkdir(path, 0500), 0);
        opening_gives(page_db_error_invalid_path);
        CU_ASSERT_EQUAL(rmdir(path), 0);
    }
    choose_path("missing");
    PageDB *db = NULL;
    CU_ASSERT_EQUAL(page_db_open(&db, path, &(PageDBOptions){.no_create = true}),
                    page_db_error_invalid_path);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_open(&db, path, &(PageDBOptions){.read_only = true}),
                    page_db_error_invalid_path);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    struct stat st;
    CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
}

static void a_full_disk_loses_nothing(void)
{
    make_database("fulldisk");
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    struct stat st;
    CU_ASSERT_EQUAL(stat(data_file, &st), 0);
    struct rlimit old, limit;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    CU_ASSERT_EQUAL(sigaction(SIGXFSZ, &ignore, &before), 0);
    limit = old;
    limit.rlim_cur = (rlim_t)st.st_size + 100000;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    unsigned n = 100;
    int rc = page_db_error_ok;
    while (rc == page_db_error_ok && n < 10000) {
        rc = add_numbered(db, n++);
    }
    CU_ASSERT_EQUAL(rc, page_db_error_full);
    CU_ASSERT_PTR_NOT_NULL(error_message(db->error));
    CU_ASSERT_EQUAL(count_pages(db), (uint64_t)(n - 1) * 31);
    MMapArray *scores = NULL;
    limit.rlim_cur = 4096;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CU_ASSERT_NOT_EQUAL(page_db_get_scores(db, &scores), page_db_error_ok);
    CU_ASSERT_PTR_NULL(scores);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
    CU_ASSERT_EQUAL(sigaction(SIGXFSZ, &before, NULL), 0);
    CU_ASSERT_EQUAL(add_numbered(db, n - 1), page_db_error_ok);
    CU_ASSERT_EQUAL(count_pages(db), (uint64_t)n * 31);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static int refuse(void *context, const PageRef *page, PageState *state)
{
    (void)state;
    unsigned *calls = context;
    return ++*calls == 10 && page->index > 0 ? 77 : 0;
}

static void a_sink_can_stop_a_batch(void)
{
    make_database("sink");
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    CrawledPage *cp = numbered_page(500);
    MDB_txn *txn = NULL;
    unsigned calls = 0;
    PageSink sink = {.context = &calls, .discovered = refuse};
    CU_ASSERT_EQUAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_write(db, txn, &(PageWrite){.page = cp}, 1, &sink), 77);
    page_db_txn_abort(db, txn);
    CU_ASSERT_EQUAL(calls, 10);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    content_is_intact();
    remove_database();
}

#ifdef ALLOC_CAN_FAIL
static void an_allocation_that_fails_changes_nothing(void)
{
    make_database("memory");
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    CrawledPage *cp = numbered_page(7777);
    uint64_t before = count_pages(db);
    long n = 1;
    unsigned failed = 0;
    for (; n < 100000; n++) {
        PageInfoList *list = NULL;
        alloc_fail_at = n;
        int rc = (int)page_db_add(db, cp, &list);
        bool used = alloc_fail_at == 0;
        alloc_fail_at = 0;
        page_info_list_delete(list);
        if (rc == page_db_error_ok) {
            if (!used) {
                break;
            }
            continue; /* it did without */
        }
        failed++;
        CU_ASSERT_PTR_NULL(list);
        CU_ASSERT_EQUAL(rc, page_db_error_memory);
    }
    CU_ASSERT(failed > 10);
    CU_ASSERT_EQUAL(count_pages(db), before + 31);
    PageInfo *pi = NULL;
    for (n = 1; n < 1000; n++) {
        alloc_fail_at = n;
        int rc = (int)page_db_get_info(db, page_db_hash("http://a1.com/1"), &pi);
        bool used = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CU_ASSERT_EQUAL(rc != page_db_error_ok, pi == NULL);
        page_info_delete(pi);
        if (rc == page_db_error_ok && !used) {
            break;
        }
    }
    CU_ASSERT(n < 1000);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    for (n = 1; n < 1000; n++) {
        alloc_fail_at = n;
        int rc = page_db_open(&db, path, NULL);
        bool used = alloc_fail_at == 0;
        alloc_fail_at = 0;
        CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
        if (rc == page_db_error_ok && !used) {
            break;
        }
    }
    CU_ASSERT(n < 1000);
    remove_database();
}
#define MEMORY_TEST                                                                                \
    {                                                                                              \
        "an allocation that fails changes nothing", an_allocation_that_fails_changes_nothing       \
    }
#else
#define MEMORY_TEST                                                                                \
    {                                                                                              \
        "a full disk loses nothing, once more", a_full_disk_loses_nothing                          \
    }
#endif

UNIT_MAIN("page_db_failures",
          {"another format is refused and left alone", another_format_is_refused_and_left_alone},
          {"a damaged file is an error", a_damaged_file_is_an_error},
          {"a large file grows ahead", a_large_file_grows_ahead},
          {"growing ahead never shortens the file", growing_ahead_never_shortens_the_file},
          {"a directory that cannot be used is an error",
           a_directory_that_cannot_be_used_is_an_error},
          {"a full disk loses nothing", a_full_disk_loses_nothing},
          {"a sink can stop a batch", a_sink_can_stop_a_batch}, MEMORY_TEST)
