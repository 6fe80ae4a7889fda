/* Readers that are dead, old, or too many. */
#include <signal.h>
#include <sys/wait.h>

#include "store/pages/page_db_open.h"
#include "page_db_fixture.h"
#include "store/lmdb/reader_slots.h"
#include "store/page_tables/page_store.h"

#define SECOND 1000

/* A database of this process with some pages in it. */
static PageDB *make(const char *name, unsigned max_readers)
{
    PageDB *db = NULL;
    PageDBOptions options = {.no_sync = true, .max_readers = max_readers};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, page_db_fixture_path(name), &options),
                          page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

static void add(PageDB *db, const char *url)
{
    CrawledPage *page = page_db_fixture_page(url, 1.0, 0.5f, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(page, "http://a.test/link", 0.5f), 0);
    CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
    crawled_page_delete(page);
}

/* A process that opens n read transactions, says so, and waits to be killed. */
static pid_t start_reader(const char *path, unsigned n)
{
    int ready[2];
    char byte = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        PageDB *db = NULL;
        PageDBOptions options = {.read_only = true};
        bool well = page_db_open(&db, path, &options) == page_db_error_ok;
        for (unsigned i = 0; i < n && well; i++) {
            MDB_txn *txn = NULL;
            well = page_db_txn_begin(db, true, &txn) == page_db_error_ok;
        }
        (void)!write(ready[1], well ? "y" : "n", 1);
        for (;;) {
            (void)pause();
        }
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'y');
    (void)close(ready[0]);
    (void)close(ready[1]);
    return child;
}

static void kill_reader(pid_t child)
{
    CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

static ReaderTable look(PageDB *db)
{
    ReaderTable table;
    CU_ASSERT_EQUAL(reader_slots_check(page_db_env(db), &table), 0);
    return table;
}

static void slots_of_dead_processes_are_cleared(void)
{
    PageDB *db = make("dead", 0);
    add(db, "http://a.test/");
    pid_t child = start_reader(db->path, 3);
    ReaderTable alive = look(db);
    kill_reader(child);
    ReaderTable dead = look(db);
    CU_ASSERT_EQUAL(alive.cleared, 0);
    CU_ASSERT_EQUAL(dead.cleared, 3);
    CU_ASSERT_EQUAL(dead.slots + 3, alive.slots);
    (void)page_db_delete(db);
}

static void slots_of_dead_processes_are_cleared_by_opening(void)
{
    PageDB *db = make("opened", 0);
    add(db, "http://a.test/");
    page_db_set_persist(db, 1);
    char path[FOLDER_BYTES];
    (void)snprintf(path, sizeof path, "%s", db->path);
    pid_t keeper = start_reader(path, 1); /* so that the last one out does not reset the table */
    pid_t child = start_reader(path, 3);
    (void)page_db_delete(db);
    kill_reader(child);
    db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    CU_ASSERT_EQUAL(look(db).cleared, 0); /* nothing is left to clear */
    page_db_set_persist(db, 0);
    kill_reader(keeper);
    (void)page_db_delete(db);
}

static void a_full_table_of_dead_readers_stops_nobody(void)
{
    PageDB *db = make("full", 12);
    add(db, "http://a.test/");
    ReaderTable table = look(db);
    pid_t child = start_reader(db->path, table.limit - table.slots);
    CU_ASSERT_EQUAL(look(db).slots, table.limit);
    kill_reader(child);
    MDB_txn *txns[10] = {NULL};
    for (unsigned i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(page_db_txn_begin(db, true, &txns[i]), page_db_error_ok);
    }
    for (unsigned i = 0; i < 10; i++) {
        if (txns[i] != NULL) {
            page_db_txn_abort(db, txns[i]);
        }
    }
    (void)page_db_delete(db);
}

static void commands_leave_slots_for_the_crawl(void)
{
    PageDB *db = make("kept", 40);
    add(db, "http://a.test/");
    unsigned limit = look(db).limit;
    char expected[64];
    (void)snprintf(expected, sizeof expected, "of %u slots", limit);
    pid_t child = start_reader(db->path, limit - limit / PAGE_DB_KEPT_SHARE);
    pid_t late = fork();
    CU_ASSERT_FATAL(late >= 0);
    if (late == 0) {
        PageDB *mine = NULL;
        PageDBOptions options = {.read_only = true};
        int rc = page_db_open(&mine, db->path, &options);
        const char *words = error_message(mine->error);
        _exit(rc == page_db_error_locked && words != NULL && strstr(words, expected) != NULL ? 0
                                                                                             : 1);
    }
    int status = 1;
    CU_ASSERT_EQUAL(waitpid(late, &status, 0), late);
    CU_ASSERT_EQUAL(status, 0);
    add(db, "http://a.test/2"); /* who writes goes on */
    kill_reader(child);
    (void)page_db_delete(db);
}

static void the_oldest_reader_is_named_with_its_age(void)
{
    PageDB *db = make("old", 0);
    ReaderWatch watch = {.pid = 0};
    MonoTime now = {.ns = 1};
    add(db, "http://a.test/");
    pid_t child = start_reader(db->path, 1);
    ReaderTable table = look(db);
    CU_ASSERT_EQUAL(table.oldest_pid, 0); /* its snapshot is the last commit */
    CU_ASSERT_EQUAL(reader_watch_look(&watch, &table, now), 0);
    add(db, "http://a.test/2");
    table = look(db);
    CU_ASSERT_EQUAL(table.oldest_pid, child);
    CU_ASSERT_EQUAL(reader_watch_look(&watch, &table, now), 0);
    add(db, "http://a.test/3");
    table = look(db);
    CU_ASSERT_EQUAL(reader_watch_look(&watch, &table, mono_add_ms(now, 90 * SECOND)), 90 * SECOND);
    kill_reader(child);
    table = look(db);
    CU_ASSERT_EQUAL(table.oldest_pid, 0);
    CU_ASSERT_EQUAL(reader_watch_look(&watch, &table, mono_add_ms(now, 91 * SECOND)), 0);
    (void)page_db_delete(db);
}

static void a_stream_keeps_no_snapshot(void)
{
    PageDB *db = make("stream", 0);
    PageDBLinkStream *stream = NULL;
    HashIdxStream *hashes = NULL;
    char url[64];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(url, sizeof url, "http://h%d.test/", i);
        add(db, url);
    }
    CU_ASSERT_EQUAL_FATAL(page_db_link_stream_new(&stream, db), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(hashidx_stream_new(&hashes, db), page_db_error_ok);
    stream->only_diff_domain = 0;
    size_t links = 0, pages = 0, index = 0;
    uint64_t hash = 0;
    Link link;
    for (int i = 0; i < 200; i++) {
        links += page_db_link_stream_next(stream, &link) == stream_state_next;
        pages += hashidx_stream_next(hashes, &hash, &index) == stream_state_next;
        if (i % 50 == 0) {
            (void)snprintf(url, sizeof url, "http://h%d.test/", i); /* a commit, nothing new */
            add(db, url);
            CU_ASSERT_EQUAL(look(db).oldest_pid, 0);
        }
    }
    CU_ASSERT_EQUAL(links, 200);
    CU_ASSERT_EQUAL(pages, 200);
    page_db_link_stream_delete(stream);
    hashidx_stream_delete(hashes);
    (void)page_db_delete(db);
}

static void streams_go_on_while_pages_are_added(void)
{
    PageDB *db = make("renewed", 0);
    HashInfoStream *stream = NULL;
    char url[64];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(url, sizeof url, "http://h%d.test/", i);
        add(db, url);
    }
    CU_ASSERT_EQUAL_FATAL(hashinfo_stream_new(&stream, db), page_db_error_ok);
    uint64_t hash = 0;
    PageInfo *info = NULL;
    size_t pages = 0;
    while (hashinfo_stream_next(stream, &hash, &info) == stream_state_next) {
        page_info_delete(info);
        pages++;
        add(db, "http://h1.test/");
    }
    CU_ASSERT_EQUAL(pages, 51); /* and the page that all link to */
    hashinfo_stream_delete(stream);
    (void)page_db_delete(db);
}

static void a_process_opens_a_database_once(void)
{
    PageDB *db = make("once", 0), *again = NULL;
    CU_ASSERT_EQUAL(page_db_open(&again, db->path, NULL), page_db_error_locked);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error_message(again->error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error_message(again->error), "this process has"));
    (void)page_db_delete(again);
    char other[2 * FOLDER_BYTES];
    (void)snprintf(other, sizeof other, "%s/../%s", db->path, strrchr(db->path, '/') + 1);
    CU_ASSERT_EQUAL(page_db_open(&again, other, NULL), page_db_error_locked);
    (void)page_db_delete(again);
    add(db, "http://a.test/");
    page_db_set_persist(db, 1);
    char path[FOLDER_BYTES];
    (void)snprintf(path, sizeof path, "%s", db->path);
    (void)page_db_delete(db);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
}

UNIT_MAIN("reader_slots",
          {"slots of dead processes are cleared", slots_of_dead_processes_are_cleared},
          {"slots of dead processes are cleared by opening",
           slots_of_dead_processes_are_cleared_by_opening},
          {"a full table of dead readers stops nobody", a_full_table_of_dead_readers_stops_nobody},
          {"commands leave slots for the crawl", commands_leave_slots_for_the_crawl},
          {"the oldest reader is named with its age", the_oldest_reader_is_named_with_its_age},
          {"a stream keeps no snapshot", a_stream_keeps_no_snapshot},
          {"streams go on while pages are added", streams_go_on_while_pages_are_added},
          {"a process opens a database once", a_process_opens_a_database_once})
