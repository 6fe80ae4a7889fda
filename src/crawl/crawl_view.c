#include "crawl/crawl_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "ingest/page/seed_places.h"

/* ---- Crawl open ---- */

/* "DIR/NAME" is there; errno says why not. */
static bool holds(const char *directory, const char *name)
{
    Path path;
    return file_exists(file_path(&path, "%s/%s", directory, name));
}

bool crawl_open_is_crawl(const char *directory)
{
    return holds(directory, "crawl.mdb");
}

int crawl_exit_status(int code)
{
    switch (code) {
    case page_db_error_ok:
        return EXIT_FINISHED;
    case page_db_error_no_page:
        return EXIT_NEGATIVE;
    case page_db_error_invalid_path:
    case page_db_error_full:
    case page_db_error_io:
        return EXIT_IO;
    case page_db_error_damaged:
        fault_note();
        return EXIT_DIRECTORY;
    case page_db_error_version:
    case page_db_error_locked:
        return EXIT_DIRECTORY;
    default:
        return EXIT_INTERNAL;
    }
}

int crawl_open(const char *command, const char *directory, bool read_only, PageDB **db)
{
    bool is_crawl = crawl_open_is_crawl(directory);
    *db = NULL;
    if (!holds(directory, is_crawl ? "crawl.mdb/data.mdb" : "data.mdb")) {
        (void)fprintf(stderr, "ragno %s: %s holds no crawl: %s/crawl.mdb/data.mdb: %s\n", command,
                      directory, directory, strerror(errno));
        return EXIT_IO;
    }
    const PageDBOptions options = {.read_only = read_only, .no_create = true};
    Path path;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    fault_watch(directory);
    bool damaged = crawl_store_look(directory, false, &error) == RESULT_DAMAGED;
    if (damaged) {
        (void)fprintf(stderr, "ragno %s: %s\n", command, buffer_string(&error));
    }
    buffer_destroy(&error);
    if (damaged) {
        return EXIT_DIRECTORY;
    }
    (void)file_path(&path, is_crawl ? "%s/crawl.mdb" : "%s", directory);
    int code = page_db_open(db, path.text, &options);
    if (code != page_db_error_ok) {
        const char *words = *db == NULL ? "out of memory" : error_message((*db)->error);
        (void)fprintf(stderr, "ragno %s: %s: %s\n", command, directory,
                      words == NULL ? "cannot be opened" : words);
        (void)page_db_delete(*db);
        *db = NULL;
    }
    return crawl_exit_status(code);
}

/* ---- Crawl view ---- */

static Result crawl_view_open_tables(CrawlView *view)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;
    if (page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_rows_open(&view->hosts, txn, page_db_journal(view->db));
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    if (rc == RESULT_OK && mdb_dbi_open(txn, "schedule", 0, &dbi) == MDB_SUCCESS) {
        rc = schedule_open(&view->schedule, txn, NULL, page_db_journal(view->db));
    }
    if (rc == RESULT_OK) {
        rc = lmdb_table_open(&view->groups, txn, GROUP_TABLE, MDB_INTEGERKEY);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (rc == RESULT_OK) {
        rc = revisit_rows_open(&view->revisits, txn, false);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    if (rc == RESULT_OK) {
        rc = render_table_open(&view->renders, txn);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    /* Handles stay open when the transaction that opened them is committed. */
    return page_db_txn_commit(view->db, txn) == page_db_error_ok ? rc : RESULT_IO;
}

/* Without the places of the seeds nothing is said of scope.stay. */
static Result crawl_view_find_places(CrawlView *view)
{
    if (!view->has_config || view->config.scope_stay == STAY_ANYWHERE) {
        return RESULT_OK;
    }
    MDB_txn *txn = NULL;
    IngestStore store = {.db = view->db};
    if (page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = lmdb_table_open(&store.seeds, txn, SEED_TABLE, MDB_INTEGERKEY);
    if (page_db_txn_commit(view->db, txn) != page_db_error_ok && rc == RESULT_OK) {
        return RESULT_IO;
    }
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = stay_set_new(&view->stay, (StayKind)view->config.scope_stay);
    if (rc == RESULT_OK) {
        rc = seed_places_load(&store, view->stay, (unsigned)view->config.fetch_max_redirects);
    }
    return rc;
}

int crawl_view_open(CrawlView *view, const char *command, const char *directory)
{
    *view = (CrawlView){.directory = NULL};
    int status = crawl_open(command, directory, true, &view->db);
    if (status != 0) {
        return status;
    }
    view->directory = strdup(directory);
    Result rc = view->directory == NULL ? RESULT_MEMORY : config_init(&view->config);
    if (rc == RESULT_OK) {
        rc = crawl_view_open_tables(view);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s: %s\n", command, directory, result_name(rc));
        crawl_view_close(view);
        if (rc == RESULT_DAMAGED) {
            fault_note();
        }
        return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_DIRECTORY;
    }
    /* The configuration that the crawl was last started with. */
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    view->has_config = config_load_of(&view->config, directory, &error) == RESULT_OK;
    if (!view->has_config) {
        (void)fprintf(stderr, "ragno %s: the rules are not judged: %s\n", command,
                      error.length == 0 ? "there is no config.ini" : buffer_string(&error));
    }
    buffer_destroy(&error);
    rc = crawl_view_find_places(view);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: scope.stay is not judged: %s\n", command, result_name(rc));
        stay_set_delete(view->stay);
        view->stay = NULL;
    }
    return 0;
}

void crawl_view_close(CrawlView *view)
{
    host_rows_close(view->hosts);
    schedule_close(view->schedule);
    revisit_rows_close(view->revisits);
    render_table_close(view->renders);
    stay_set_delete(view->stay);
    config_destroy(&view->config);
    (void)page_db_delete(view->db);
    free(view->directory);
    *view = (CrawlView){.directory = NULL};
}

WhySources crawl_view_why_sources(const CrawlView *view, WallTime now)
{
    return (WhySources){.directory = view->directory,
                        .db = view->db,
                        .hosts = view->hosts,
                        .groups = view->groups,
                        .schedule = view->schedule,
                        .revisits = view->revisits,
                        .renders = view->renders,
                        .stay = view->stay,
                        .config = view->has_config ? &view->config : NULL,
                        .is_running = crawl_store_owner(view->directory) != 0,
                        .now = now};
}
