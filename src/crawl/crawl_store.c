#include "crawl/crawl_store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crawl/fault.h"
#include "store/check/lmdb_check.h"
#include "store/pages/page_error.h"
#include "store/archive/warc_files.h"

#define LEVELS_SPAN 16.0 /* doublings of the score, all levels together */
/* A page in the cache takes two microseconds: of a longer file only what leads to leaves is read.
 */
#define LOOK_LEAVES_MOST (UINT64_C(1) << 30)

static bool exists(const char *directory, const char *name)
{
    Path path;
    return file_exists(file_path(&path, "%s/%s", directory, name));
}

void crawl_store_keep_private(void)
{
    (void)umask(umask(0) | S_IWGRP | S_IRWXO);
}

static Result take_lock(CrawlStore *store, Buffer *error)
{
    crawl_store_keep_private();
    Path path;
    store->lock =
        open(file_path(&path, "%s/lock", store->directory), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (store->lock < 0) {
        Result rc = result_of_errno(errno);
        (void)buffer_printf(error, "%s: %s", path.text, strerror(errno));
        return rc;
    }
    if (flock(store->lock, LOCK_EX | LOCK_NB) != 0) {
        (void)buffer_printf(error, "%s is in use by another ragno (process %ld)", store->directory,
                            crawl_store_owner(store->directory));
        (void)close(store->lock);
        store->lock = -1;
        return RESULT_LOCKED;
    }
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    (void)!ftruncate(store->lock, 0);
    (void)!pwrite(store->lock, text, (size_t)n, 0);
    return RESULT_OK;
}

long crawl_store_owner(const char *directory)
{
    Path path;
    char text[32] = "";
    int fd = open(file_path(&path, "%s/lock", directory), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    (void)!read(fd, text, sizeof text - 1);
    (void)close(fd);
    return held ? strtol(text, NULL, 10) : 0;
}

bool crawl_store_exists(const char *directory)
{
    Path path;
    struct stat status;
    /* An empty one is a crawl that was killed before its first commit, or a damaged file. */
    return stat(file_path(&path, "%s/crawl.mdb/data.mdb", directory), &status) == 0 &&
           (!S_ISREG(status.st_mode) || status.st_size > 0);
}

bool crawl_store_has_run(const char *directory)
{
    return exists(directory, "status.json") || exists(directory, "status.log");
}

/* ---- the pages of its database ---- */

static void crawl_store_tell_broken(void *context, const char *table, uint64_t page,
                                    const char *what)
{
    Buffer *error = context;
    if (error->length == 0) {
        (void)buffer_printf(error, "page %llu of data.mdb, %s%s, %s", (unsigned long long)page,
                            *table == '\0' || strcmp(table, "free list") == 0 ? "" : "table ",
                            *table == '\0' ? "table of tables" : table, what);
    }
}

Result crawl_store_look(const char *directory, bool unlocked, Buffer *error)
{
    LmdbCheckOptions options = {.unlocked = unlocked, .leaves_most = LOOK_LEAVES_MOST};
    uint64_t n_broken = 0;
    Buffer first = {.limit = BUFFER_NO_LIMIT};
    Path path;
    (void)file_path(&path, "%s/%s", directory, exists(directory, "crawl.mdb") ? "crawl.mdb" : "");
    Result rc = lmdb_check(path.text, &options, crawl_store_tell_broken, &first, &n_broken);
    if (rc == RESULT_OK && n_broken > 0) {
        rc = RESULT_DAMAGED;
        (void)buffer_printf(error, "%s: %llu pages of the database are broken: %s", directory,
                            (unsigned long long)n_broken, buffer_string(&first));
        fault_note();
    }
    buffer_destroy(&first);
    return rc;
}

Result crawl_store_lock(CrawlStore *store, const char *directory, bool must_be_new, Buffer *error)
{
    *store = (CrawlStore){.lock = -1};
    store->directory = strdup(directory);
    if (store->directory == NULL) {
        return RESULT_MEMORY;
    }
    if (mkdir(directory, 0755) == 0) {
        /* A crawl whose directory is gone after a power cut would be a crawl lost. */
        Path parent;
        (void)warc_files_sync_directory(
            file_path(&parent, "%s/..", directory)); /* it says why not */
    } else if (errno != EEXIST) {
        Result rc = result_of_errno(errno);
        (void)buffer_printf(error, "cannot create %s: %s", directory, strerror(errno));
        return rc;
    }
    store->existed = crawl_store_exists(directory);
    if (must_be_new && store->existed) {
        (void)buffer_printf(error,
                            "%s holds a crawl already; leave out --new to resume it, or choose "
                            "another directory",
                            directory);
        return RESULT_EXISTS;
    }
    return take_lock(store, error);
}

CrawlStoreOptions crawl_store_options(const Config *config, const DedupSteps *dedup)
{
    float ratio = (float)exp2(LEVELS_SPAN / (double)config->schedule_levels);
    return (CrawlStoreOptions){.map_bytes = (size_t)config->store_map_size,
                               .schedule = {.levels = (unsigned)config->schedule_levels,
                                            .score_top = 1.0f,
                                            .score_ratio = ratio,
                                            .has_express = config_is_continuous(config)},
                               .dedup = *dedup,
                               .journal_bytes = (size_t)config->store_journal,
                               .continuous = config_is_continuous(config),
                               .renders = config->render_mode != RENDER_MODE_OFF};
}

/* A crawl of one pass leaves the due times of an earlier continuous one alone, but crawls pages
 * that nobody enters there. */
static Result open_revisits(IngestStore *tables, MDB_txn *txn, bool continuous)
{
    Result rc = revisit_rows_open(&tables->revisits, txn, continuous);
    if (rc == RESULT_OK && !continuous) {
        rc = revisit_rows_settled_put(tables->revisits, txn, 0);
        revisit_rows_close(tables->revisits);
        tables->revisits = NULL;
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Opens the tables of store->tables.db. RESULT_INVALID: another dedup key; error says so. */
static Result crawl_store_open_tables(CrawlStore *store, const CrawlStoreOptions *options,
                                      Buffer *error)
{
    IngestStore *tables = &store->tables;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    journal_set_rows(page_db_journal(tables->db), options->journal_bytes / JOURNAL_BYTES_A_ROW);
    Result rc =
        schedule_open(&tables->schedule, txn, &options->schedule, page_db_journal(tables->db));
    if (rc == RESULT_OK) {
        rc = host_rows_open(&tables->hosts, txn, page_db_journal(tables->db));
    }
    const LmdbTable rows[] = {{&tables->held, HELD_TABLE, MDB_INTEGERKEY},
                              {&tables->external, EXTERNAL_TABLE, MDB_INTEGERKEY},
                              {&tables->seeds, SEED_TABLE, MDB_INTEGERKEY},
                              {&tables->waits, WAIT_TABLE, 0},
                              {&tables->groups, GROUP_TABLE, MDB_INTEGERKEY},
                              {&tables->feeds, FEED_TABLE, MDB_INTEGERKEY},
                              {&tables->crawl, "crawl", 0},
                              {&tables->keys, "keys", 0}};
    if (rc == RESULT_OK) {
        size_t n = sizeof rows / sizeof *rows - (options->dedup.on ? 0 : 1);
        rc = lmdb_tables_open(txn, rows, n, MDB_CREATE);
    }
    if (rc == RESULT_OK && options->renders) {
        rc = render_table_open(&tables->renders, txn);
    }
    if (rc == RESULT_OK) {
        rc = body_rows_open(&tables->bodies, txn, page_db_journal(tables->db));
    }
    if (rc == RESULT_OK) {
        rc = near_rows_open(txn, &tables->near);
    }
    if (rc == RESULT_OK) {
        rc = dedup_check(&options->dedup, txn, tables->crawl, page_db_n_pages(tables->db, txn) > 0,
                         error);
    }
    if (rc == RESULT_OK) {
        rc = open_revisits(tables, txn, options->continuous);
    }
    return page_db_txn_end(tables->db, txn, rc);
}

Result crawl_store_open(CrawlStore *store, const char *directory, const CrawlStoreOptions *options,
                        Buffer *error)
{
    Result rc = crawl_store_lock(store, directory, options->must_be_new, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    fault_watch(directory);
    if (store->existed) {
        rc = crawl_store_look(directory, false, error);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    Path path;
    PageDBOptions db_options = {.map_bytes = options->map_bytes};
    int db_rc =
        page_db_open(&store->tables.db, file_path(&path, "%s/crawl.mdb", directory), &db_options);
    if (db_rc != 0) {
        const char *why = store->tables.db == NULL ? NULL : error_message(store->tables.db->error);
        (void)buffer_printf(error, "%s: %s", directory,
                            why == NULL ? "the database cannot be opened" : why);
        if (db_rc == page_db_error_damaged) {
            fault_note();
        }
        return page_db_result(db_rc);
    }
    rc = crawl_store_open_tables(store, options, error);
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s: its tables cannot be opened: %s", directory,
                            result_name(rc));
    }
    if (rc == RESULT_DAMAGED) {
        fault_note();
    }
    return rc;
}

void crawl_store_close(CrawlStore *store)
{
    schedule_close(store->tables.schedule);
    host_rows_close(store->tables.hosts);
    body_rows_close(store->tables.bodies);
    revisit_rows_close(store->tables.revisits);
    render_table_close(store->tables.renders);
    store->tables = (IngestStore){.db = store->tables.db};
    (void)page_db_delete(store->tables.db);
    file_close_fd(store->lock);
    free(store->directory);
    *store = (CrawlStore){.lock = -1};
}
