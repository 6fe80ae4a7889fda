/* PageDB opened with a small map: threads add, read and stream across every growth.
 *
 * FULL=1: for ten minutes. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"
#include "store/pages/page_db.h"

#define SMALL_MAP ((size_t)1 << 20)

enum { WRITERS = 2, READERS = 2, LINKS = 12, SHORT_PAGES = 1500 };

static PageDB *open_small(const char *name)
{
    char path[FOLDER_BYTES];
    folder_name(path, name);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(
        page_db_open(&db, path, &(PageDBOptions){.map_bytes = SMALL_MAP, .no_sync = true}),
        page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

static size_t map_size(PageDB *db)
{
    MDB_envinfo info;
    CU_ASSERT_EQUAL(mdb_env_info(page_db_env(db), &info), 0);
    return info.me_mapsize;
}

static CrawledPage *numbered_page(uint64_t n)
{
    char url[200];
    (void)snprintf(url, sizeof url, "http://host%u.example.com/%llu", (unsigned)(n % 97),
                   (unsigned long long)n);
    CrawledPage *cp = crawled_page_new(url);
    for (uint64_t i = 0; i < LINKS; i++) {
        uint64_t to = hash_mix(n * LINKS + i) % 200000;
        (void)snprintf(url, sizeof url, "http://host%u.example.com/%0100llu", (unsigned)(to % 97),
                       (unsigned long long)to);
        CU_ASSERT_EQUAL(crawled_page_add_link(cp, url, 0.5F), 0);
    }
    return cp;
}

static void a_page_larger_than_the_map_makes_it_grow(void)
{
    PageDB *db = open_small("growone");
    CrawledPage *cp = crawled_page_new("http://example.com/");
    char url[64];
    for (unsigned i = 0; i < 100000; i++) {
        (void)snprintf(url, sizeof url, "http://example%u.com/%u", i % 1000, i);
        CU_ASSERT_EQUAL_FATAL(crawled_page_add_link(cp, url, 0), 0);
    }
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
    crawled_page_delete(cp);
    CU_ASSERT(map_size(db) > SMALL_MAP);
    cp = numbered_page(1);
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void a_full_map_leaves_the_old_content(void)
{
    PageDB *db = open_small("growfull");
    MDB_txn *txn = NULL;
    int rc = page_db_error_ok;
    uint64_t n = 0, before = 0;
    while (rc == page_db_error_ok && n < 100000) {
        CrawledPage *cp = numbered_page(n++);
        CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
        before = page_db_n_pages(db, txn);
        rc = page_db_write(db, txn, &(PageWrite){.page = cp}, 1, NULL);
        if (rc == page_db_error_ok) {
            rc = page_db_txn_commit(db, txn);
        } else {
            page_db_txn_abort(db, txn);
        }
        crawled_page_delete(cp);
    }
    CU_ASSERT_EQUAL(rc, page_db_error_full);
    CU_ASSERT_PTR_NOT_NULL(error_message(db->error));
    CU_ASSERT_EQUAL(page_db_txn_begin(db, true, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_n_pages(db, txn), before);
    page_db_txn_abort(db, txn);
    CU_ASSERT_EQUAL(page_db_grow(db), page_db_error_ok);
    CrawledPage *cp = numbered_page(n);
    CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
    crawled_page_delete(cp);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void streams_of_the_writing_thread_do_not_stop_the_growth(void)
{
    PageDB *db = open_small("growstream");
    for (uint64_t n = 0; n < 20; n++) {
        CrawledPage *cp = numbered_page(n);
        CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
    }
    PageDBLinkStream *links = NULL;
    HashInfoStream *infos = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_link_stream_new(&links, db), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(hashinfo_stream_new(&infos, db), page_db_error_ok);
    links->only_diff_domain = 0;
    Link link, last = {-1, -1};
    uint64_t hash = 0, last_hash = 0, n_infos = 0, n_links = 0;
    uint64_t n = 20;
    for (size_t size = map_size(db); map_size(db) < 32 * size;) {
        CrawledPage *cp = numbered_page(n++);
        CU_ASSERT_EQUAL_FATAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
        PageInfo *pi = NULL;
        if (hashinfo_stream_next(infos, &hash, &pi) == stream_state_next) {
            CU_ASSERT(hash > last_hash);
            last_hash = hash;
            page_info_delete(pi);
            n_infos++;
        }
        if (page_db_link_stream_next(links, &link) == stream_state_next) {
            CU_ASSERT(link.from >= last.from);
            last = link;
            n_links++;
        }
    }
    CU_ASSERT(n_infos > 20);
    CU_ASSERT(n_links >= 20 * LINKS);
    CU_ASSERT_NOT_EQUAL(infos->state, stream_state_error);
    CU_ASSERT_NOT_EQUAL(links->state, stream_state_error);
    hashinfo_stream_delete(infos);
    page_db_link_stream_delete(links);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void a_stream_sees_what_comes_behind_it(void)
{
    PageDB *db = NULL;
    char path[FOLDER_BYTES];
    folder_name(path, "snapshot");
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    page_db_set_persist(db, 0);
    for (uint64_t n = 0; n < 200; n++) {
        CrawledPage *cp = numbered_page(n);
        CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
    }
    PageDBLinkStream *links = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_link_stream_new(&links, db), page_db_error_ok);
    links->only_diff_domain = 0;
    Link link;
    CU_ASSERT_EQUAL(page_db_link_stream_next(links, &link), stream_state_next);
    for (uint64_t n = 200; n < 400; n++) {
        CrawledPage *cp = numbered_page(n);
        CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
    }
    size_t n = 1;
    while (page_db_link_stream_next(links, &link) == stream_state_next) {
        n++;
    }
    CU_ASSERT_EQUAL(n, 400 * LINKS);
    CU_ASSERT_EQUAL(page_db_link_stream_reset(links), stream_state_init);
    for (n = 0; page_db_link_stream_next(links, &link) == stream_state_next; n++) {
    }
    CU_ASSERT_EQUAL(n, 400 * LINKS);
    page_db_link_stream_delete(links);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

typedef struct Load {
    PageDB *db;
    unsigned id;
    MonoTime until;
    _Atomic bool *stop;
    uint64_t done;
    unsigned errors;
} Load;

static bool goes_on(const Load *load)
{
    return load->until.ns == 0 ? load->done < SHORT_PAGES : mono_before(mono_now(), load->until);
}

static void *add_pages(void *argument)
{
    Load *load = argument;
    for (; goes_on(load); load->done++) {
        CrawledPage *cp = numbered_page(load->done * WRITERS + load->id);
        PageInfoList *list = NULL;
        load->errors += page_db_add(load->db, cp, &list) != page_db_error_ok;
        page_info_list_delete(list);
        crawled_page_delete(cp);
    }
    return NULL;
}

static void *read_pages(void *argument)
{
    Load *load = argument;
    uint64_t random = load->id;
    while (!atomic_load(load->stop)) {
        PageDBLinkStream *links = NULL;
        if (page_db_link_stream_new(&links, load->db) != page_db_error_ok) {
            load->errors++;
            continue;
        }
        Link link = {0, 0};
        int64_t from = 0;
        for (unsigned i = 0; i < 2000; i++) {
            StreamState state = page_db_link_stream_next(links, &link);
            load->errors += state == stream_state_error || link.from < from;
            from = link.from;
            char url[100];
            random = hash_mix(random + 1);
            (void)snprintf(url, sizeof url, "http://host%u.example.com/%u",
                           (unsigned)(random % SHORT_PAGES % 97), (unsigned)(random % SHORT_PAGES));
            PageInfo *pi = NULL;
            load->errors +=
                page_db_get_info(load->db, page_db_hash(url), &pi) != page_db_error_ok ||
                (pi != NULL && strcmp(pi->url, url) != 0);
            page_info_delete(pi);
            (void)page_db_get_domain_crawl_rate(load->db, 1);
        }
        page_db_link_stream_delete(links);
        MMapArray *scores = NULL;
        if (load->id % READERS == 0) {
            load->errors += page_db_get_scores(load->db, &scores) != page_db_error_ok;
            (void)mmap_array_delete(scores);
        }
    }
    return NULL;
}

static void threads_work_across_growth(void)
{
    PageDB *db = open_small("growload");
    CU_ASSERT_EQUAL(page_db_set_domain_temp(db, 50, 60), page_db_error_ok);
    _Atomic bool stop = false;
    pthread_t threads[WRITERS + READERS];
    Load loads[WRITERS + READERS];
    MonoTime until = {0};
    if (getenv("FULL") != NULL) {
        until = mono_add_ms(mono_now(), 600000);
    }
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        loads[i] = (Load){.db = db, .id = i, .until = until, .stop = &stop};
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, i < WRITERS ? add_pages : read_pages, &loads[i]), 0);
    }
    unsigned errors = 0;
    uint64_t done = 0;
    for (unsigned i = 0; i < WRITERS + READERS; i++) {
        if (i == WRITERS) {
            atomic_store(&stop, true);
        }
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
        errors += loads[i].errors;
        done += loads[i].done;
    }
    CU_ASSERT_EQUAL(errors, 0);
    CU_ASSERT(map_size(db) >= 4 * SMALL_MAP);
    PageDBLinkStream *links = NULL;
    CU_ASSERT_EQUAL(page_db_link_stream_new(&links, db), page_db_error_ok);
    links->only_diff_domain = 0;
    uint64_t n = 0;
    Link link;
    while (page_db_link_stream_next(links, &link) == stream_state_next) {
        n++;
    }
    CU_ASSERT_EQUAL(n, done * LINKS);
    page_db_link_stream_delete(links);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

/* Adds pages to a database one after the other, so that it has many free pages; returns its file's
 * pages. */
static uint64_t fill_loosely(const char *path, PageDB **db)
{
    MDB_envinfo info;
    CU_ASSERT_EQUAL_FATAL(page_db_open(db, path, &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    for (uint64_t n = 0; n < 40; n++) {
        CrawledPage *pages[10];
        for (uint64_t i = 0; i < 10; i++) {
            pages[i] = numbered_page(n * 10 + i);
        }
        CU_ASSERT_EQUAL(page_db_add_batch(*db, (const CrawledPage *const *)pages, 10, NULL),
                        page_db_error_ok);
        for (uint64_t i = 0; i < 10; i++) {
            crawled_page_delete(pages[i]);
        }
    }
    CU_ASSERT_EQUAL(mdb_env_info(page_db_env(*db), &info), 0);
    return info.me_last_pgno + 1;
}

static uint64_t file_pages(const char *path)
{
    struct stat st;
    char file[FOLDER_BYTES + 16];
    (void)snprintf(file, sizeof file, "%s/data.mdb", path);
    CU_ASSERT_EQUAL(stat(file, &st), 0);
    return (uint64_t)st.st_size / 4096;
}

/* Whether all pages of fill_loosely are there, and no file besides those of a database. */
static void check_filled(const char *path)
{
    PageDB *db = NULL;
    char file[FOLDER_BYTES + 16];
    (void)snprintf(file, sizeof file, "%s/data.mdb.new", path);
    CU_ASSERT_EQUAL(access(file, F_OK), -1);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_create = true}),
                          page_db_error_ok);
    for (uint64_t n = 0; n < 400; n++) {
        CrawledPage *cp = numbered_page(n);
        PageInfo *pi = NULL;
        CU_ASSERT_EQUAL(page_db_get_info(db, page_db_hash(cp->url), &pi), page_db_error_ok);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pi);
        CU_ASSERT_STRING_EQUAL(pi->url, cp->url);
        CU_ASSERT_EQUAL(pi->n_crawls, 1);
        page_info_delete(pi);
        crawled_page_delete(cp);
    }
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void a_closed_database_has_few_free_pages(void)
{
    char path[FOLDER_BYTES];
    PageDB *db = NULL;
    folder_name(path, "growpacked");
    uint64_t before = fill_loosely(path, &db);
    char left[FOLDER_BYTES + 16];
    (void)snprintf(left, sizeof left, "%s/data.mdb.new", path);
    FILE *file = fopen(left, "w"); /* of a process that was killed in the middle of it */
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs("the beginning", file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT(file_pages(path) < before - before / 8);
    check_filled(path);
}

/* A file size limit stands for the full disk. */
static void a_full_disk_leaves_the_database_as_it_is(void)
{
    char path[FOLDER_BYTES];
    PageDB *db = NULL;
    struct rlimit limit, before;
    folder_name(path, "growfull");
    uint64_t pages = fill_loosely(path, &db);
    (void)signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = pages * 4096 / 4; /* a part of the copy */
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    CU_ASSERT(file_pages(path) >= pages);
    check_filled(path);
}

/* The other process says by a byte that it has the database open, and has it until the pipe to it
 * is closed; then it ends with 0 if its snapshot was whole all the time. */
static void hold_open(const char *path, int told, int until)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    char byte = 'o';
    /* A sanitizer has no room for as large a map as the database was made with. */
    bool well = lmdb_env_open(&env, path, MDB_RDONLY, 8, (size_t)1 << 28, 0) == 0 &&
                mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0;
    well = write(told, &byte, 1) == 1 && read(until, &byte, 1) == 0 && well;
    MDB_dbi table = 0;
    MDB_stat stat_;
    well = well && mdb_dbi_open(txn, "idx2info", 0, &table) == 0 &&
           mdb_stat(txn, table, &stat_) == 0 && stat_.ms_entries > 0;
    mdb_txn_abort(txn);
    mdb_env_close(env);
    _exit(well ? 0 : 1);
}

static void a_database_that_another_process_reads_stays_in_its_place(void)
{
    char path[FOLDER_BYTES];
    char byte = 0;
    PageDB *db = NULL;
    int told[2], until[2], status = 0;
    folder_name(path, "growread");
    uint64_t before = fill_loosely(path, &db);
    CU_ASSERT_EQUAL_FATAL(pipe2(told, O_CLOEXEC) + pipe2(until, O_CLOEXEC), 0);
    pid_t reader = fork();
    if (reader == 0) {
        (void)close(until[1]);
        hold_open(path, told[1], until[0]);
    }
    CU_ASSERT_EQUAL(read(told[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT(file_pages(path) >= before);
    for (int i = 0; i < 2; i++) {
        (void)close(told[i]);
        (void)close(until[i]);
    }
    CU_ASSERT_EQUAL(waitpid(reader, &status, 0), reader);
    CU_ASSERT_EQUAL(status, 0);
    check_filled(path);
}

UNIT_MAIN("page_db_growth",
          {"a page larger than the map makes it grow", a_page_larger_than_the_map_makes_it_grow},
          {"a full map leaves the old content", a_full_map_leaves_the_old_content},
          {"streams of the writing thread do not stop the growth",
           streams_of_the_writing_thread_do_not_stop_the_growth},
          {"a stream sees what comes behind it", a_stream_sees_what_comes_behind_it},
          {"threads work across growth", threads_work_across_growth},
          {"a closed database has few free pages", a_closed_database_has_few_free_pages},
          {"a full disk leaves the database as it is", a_full_disk_leaves_the_database_as_it_is},
          {"a database that another process reads stays in its place",
           a_database_that_another_process_reads_stays_in_its_place})
