#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "crawl/command_line.h"
#include "command/db/db_view.h"

/* ragno db: links. */

typedef struct LinkPrinter {
    DbView *view;
    bool ids;
    Buffer from_url; /* of from, unless ids */
    uint64_t from;
} LinkPrinter;

static int begin_page(LinkPrinter *p, uint64_t from)
{
    p->from = from;
    if (p->ids) {
        return page_db_error_ok;
    }
    PageRef page;
    return page_db_get(p->view->db, p->view->txn, from, &page, &p->from_url);
}

static int print_link(LinkPrinter *p, uint64_t to)
{
    if (p->ids) {
        printf("%" PRIu64 "\t%" PRIu64 "\n", p->from, to);
        return page_db_error_ok;
    }
    int rc = page_db_error_ok;
    const char *url = db_url(p->view, to, &rc);
    if (url != NULL) {
        printf("%s\t%s\n", buffer_string(&p->from_url), url);
    }
    return rc;
}

static int print_from(LinkPrinter *p, uint64_t from)
{
    uint64_t *to = NULL;
    size_t n = 0, n_diff = 0;
    int rc = begin_page(p, from);
    if (rc == page_db_error_ok) {
        rc = page_db_get_links(p->view->db, p->view->txn, from, &to, &n, &n_diff);
    }
    for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
        rc = print_link(p, to[i]);
        rc = db_turn(p->view, rc);
    }
    free(to);
    return rc;
}

/* All links, or only those to one page (NULL = all). */
static int db_links_print_all(LinkPrinter *p, const uint64_t *wanted)
{
    PageDB *db = p->view->db;
    uint64_t n_pages = page_db_n_pages(db, p->view->txn);
    PageDBLinkStream *stream = NULL;
    int rc = (int)page_db_link_stream_new(&stream, db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    stream->only_diff_domain = 0;
    uint64_t from = 0;
    const uint64_t *to = NULL;
    size_t n = 0;
    StreamState state = stream_state_init;
    while (rc == page_db_error_ok &&
           (state = page_db_link_stream_next_page(stream, &from, &to, &n)) == stream_state_next) {
        bool begun = false;
        for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
            /* The stream's snapshot may be younger than this command's. */
            if ((wanted != NULL && to[i] != *wanted) || from >= n_pages || to[i] >= n_pages) {
                continue;
            }
            rc = begun ? rc : begin_page(p, from);
            begun = true;
            if (rc == page_db_error_ok) {
                rc = print_link(p, to[i]);
            }
            rc = db_turn(p->view, rc);
        }
        rc = db_turn(p->view, rc);
    }
    rc = state == stream_state_error ? error_code(db->error) : rc;
    page_db_link_stream_delete(stream);
    return rc;
}

int db_links(DbView *view, int argc, char **argv)
{
    LinkPrinter printer = {.view = view};
    const char *from = NULL;
    const char *to = NULL;
    const CommandOption rows[] = {{"from", 0, COMMAND_TEXT, .to = &from},
                                  {"to", 0, COMMAND_TEXT, .to = &to},
                                  {"ids", 0, COMMAND_FLAG, .to = &printer.ids}};
    CommandLine line = {"db", "usage: ragno db DIR links [--from URL|--to URL] [--ids]\n",
                        COMMAND_ROWS(rows), .words_least = 0};
    int status = command_line_take(&line, argc, argv);
    if (status == 0 && from != NULL && to != NULL) {
        status = command_line_complain(&line, "either --from or --to, not both:", to);
    }
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    buffer_init(&printer.from_url, BUFFER_NO_LIMIT);
    uint64_t index = 0;
    int rc = page_db_error_ok;
    if (from != NULL || to != NULL) {
        rc = db_find(view, from != NULL ? from : to, &index);
    }
    if (rc == page_db_error_ok) {
        const uint64_t *only = to != NULL ? &index : NULL;
        rc = from != NULL ? print_from(&printer, index) : db_links_print_all(&printer, only);
    }
    buffer_destroy(&printer.from_url);
    return db_finish(view, rc);
}

/* ---- db_pages ---- */

/* ragno db: info, dump, find, get, path. */
#include <errno.h>
#include <string.h>

#include "command/cluster/cluster_pages.h"
#include "rules/scope/url_lists.h"

static int wrong_usage(const char *what)
{
    (void)fprintf(stderr, "usage: ragno db DIR %s\n", what);
    return EXIT_USAGE;
}

static void db_pages_print_page(const PageRef *page)
{
    printf("%016" PRIx64 "\t%" PRIu64 "\t%.*s\t%.3f\t%.3f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
           "\t%.9g\n",
           page->hash, page->index, (int)page->url_length, page->url, page->first_crawl,
           page->last_crawl, page->n_changes, page->n_crawls, page->depth, (double)page->score);
}

/* One line of db info; returns how many bytes the table takes. */
static size_t print_table(MDB_txn *txn, const char *name)
{
    MDB_dbi dbi = 0;
    MDB_stat stat;
    if (mdb_dbi_open(txn, name, 0, &dbi) != MDB_SUCCESS ||
        mdb_stat(txn, dbi, &stat) != MDB_SUCCESS) {
        return 0;
    }
    size_t pages = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    printf("table.%s\t%zu entries\t%zu bytes\n", name, stat.ms_entries, pages * stat.ms_psize);
    return pages * stat.ms_psize;
}

/* All tables that the file has; the file's main table names them. Its other pages are free, or of
 * the list of those. */
static int print_tables(const DbView *view, size_t bytes)
{
    MDB_dbi all = 0;
    LmdbRows rows;
    size_t used = 0;
    size_t journal = 0; /* of these */
    if (mdb_dbi_open(view->txn, NULL, 0, &all) != MDB_SUCCESS) {
        return page_db_error_internal;
    }
    lmdb_rows_begin(&rows, view->txn, all, (MDB_val){0});
    while (lmdb_rows_next(&rows)) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)rows.key.mv_size,
                       (const char *)rows.key.mv_data);
        size_t table = print_table(view->txn, name);
        used += table;
        journal += strncmp(name, "journal", 7) == 0 ? table : 0;
    }
    int rc = lmdb_rows_close(&rows, 0);
    printf("tables\t%zu bytes\njournal\t%zu bytes\nfree\t%zu bytes\n", used, journal,
           bytes > used ? bytes - used : 0);
    return rc == 0 ? page_db_error_ok : page_db_error_internal;
}

int db_info(DbView *view, int argc, char **argv)
{
    (void)argv;
    if (argc != 1) {
        return wrong_usage("info");
    }
    uint64_t n_pages = page_db_n_pages(view->db, view->txn), n_links = 0, n_crawled = 0;
    PageRef page;
    int rc = page_db_error_ok;
    for (uint64_t i = 0; i < n_pages && rc == page_db_error_ok; i++) {
        rc = page_db_get(view->db, view->txn, i, &page, &view->url);
        n_crawled += rc == page_db_error_ok && page.n_crawls > 0;
        rc = db_turn(view, rc);
    }
    PageDBLinkStream *stream = NULL;
    if (rc == page_db_error_ok) {
        rc = (int)page_db_link_stream_new(&stream, view->db);
    }
    if (rc != page_db_error_ok) {
        return db_finish(view, rc);
    }
    stream->only_diff_domain = 0;
    uint64_t from = 0;
    const uint64_t *to = NULL;
    size_t n = 0;
    while (rc == page_db_error_ok &&
           page_db_link_stream_next_page(stream, &from, &to, &n) == stream_state_next) {
        n_links += n;
        rc = db_turn(view, rc);
    }
    rc = stream->state == stream_state_error ? error_code(view->db->error) : rc;
    page_db_link_stream_delete(stream);
    MDB_envinfo info;
    MDB_stat stat;
    if (rc != page_db_error_ok) {
        return db_finish(view, rc);
    }
    if (mdb_env_info(page_db_env(view->db), &info) == 0 &&
        mdb_env_stat(page_db_env(view->db), &stat) == 0) {
        printf("format_version\t%u\npages\t%" PRIu64 "\ncrawled\t%" PRIu64 "\nlinks\t%" PRIu64
               "\nhosts\t%" PRIu32 "\nbytes\t%zu\nmap_bytes\t%zu\n",
               PAGE_DB_FORMAT_VERSION, n_pages, n_crawled, n_links,
               page_db_n_hosts(view->db, view->txn), (info.me_last_pgno + 1) * stat.ms_psize,
               info.me_mapsize);
        rc = print_tables(view, (info.me_last_pgno + 1) * stat.ms_psize);
    }
    return db_finish(view, rc);
}

/* Prints the pages whose URL matches, or all, by hash. */
static int db_pages_print_pages(DbView *view, const UrlRegex *regex)
{
    HashIdxStream *stream = NULL;
    int rc = (int)hashidx_stream_new(&stream, view->db);
    if (rc != page_db_error_ok) {
        return rc;
    }
    uint64_t hash = 0;
    size_t index = 0;
    PageRef page;
    StreamState state = stream_state_init;
    while (rc == page_db_error_ok &&
           (state = hashidx_stream_next(stream, &hash, &index)) == stream_state_next) {
        rc = page_db_get(view->db, view->txn, index, &page, &view->url);
        if (rc == page_db_error_no_page) {
            rc = page_db_error_ok; /* added after this command's snapshot */
            continue;
        }
        if (rc == page_db_error_ok &&
            (regex == NULL || url_regex_find(regex, page.url, page.url_length, false))) {
            db_pages_print_page(&page);
        }
        rc = db_turn(view, rc);
    }
    rc = state == stream_state_error ? error_code(view->db->error) : rc;
    hashidx_stream_delete(stream);
    return rc;
}

int db_dump(DbView *view, int argc, char **argv)
{
    (void)argv;
    return argc == 1 ? db_finish(view, db_pages_print_pages(view, NULL)) : wrong_usage("dump");
}

int db_find_regex(DbView *view, int argc, char **argv)
{
    if (argc != 2) {
        return wrong_usage("find REGEX");
    }
    UrlRegex *regex = NULL;
    Buffer error = {.limit = 4096};
    int status = EXIT_USAGE;
    if (url_regex_compile(argv[1], "the expression", &regex, &error) == RESULT_OK) {
        status = db_finish(view, db_pages_print_pages(view, regex));
    } else {
        (void)fprintf(stderr, "ragno db: %s", buffer_string(&error));
    }
    url_regex_delete(regex);
    buffer_destroy(&error);
    return status;
}

int db_get(DbView *view, int argc, char **argv)
{
    DbParts parts = {.headers = false};
    const CommandOption rows[] = {{"headers", 0, COMMAND_FLAG, .to = &parts.headers},
                                  {"body", 0, COMMAND_FLAG, .to = &parts.body},
                                  {"raw", 0, COMMAND_FLAG, .to = &parts.raw}};
    CommandLine line = {"db", "usage: ragno db DIR get URL [--headers] [--body|--raw]\n",
                        COMMAND_ROWS(rows), .words_least = 1, .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    if (status == 0 && parts.body && parts.raw) {
        status = command_line_complain(&line, "either --body or --raw of", line.words[0]);
    }
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    const char *url = line.words[0];
    if (parts.headers || parts.body || parts.raw) {
        return db_answer(view, url, &parts);
    }
    uint64_t index = 0;
    PageRef page;
    int rc = db_find(view, url, &index);
    if (rc == page_db_error_ok) {
        rc = page_db_get(view->db, view->txn, index, &page, &view->url);
    }
    if (rc == page_db_error_ok) {
        db_pages_print_page(&page);
        /* When a continuous crawl visits the page again: time and interval. */
        RevisitRows *table = NULL;
        RevisitDue due;
        char time[CLOCK_TEXT_BYTES];
        if (revisit_rows_open(&table, view->txn, false) == RESULT_OK &&
            revisit_rows_get(table, view->txn, index, &due) == RESULT_OK) {
            bool is_built = due.time_s < REVISIT_VIRTUAL_MAX; /* the crawl has not met it yet */
            WallTime wall = {(int64_t)(due.time_s * 1e6)};
            printf("next visit\t%s\tevery %.3f s\n", is_built ? "-" : wall_format_iso(wall, time),
                   1 / (double)due.freq);
        }
        revisit_rows_close(table);
    }
    return db_finish(view, rc);
}

/* Finds the trail of a URL: here, or, when it is of another agent and not known here, there. what:
 * also '#' and the index of a page here. */
static int find_trail(DbView *view, ClusterPages *pages, const char *what, bool here,
                      PageTrail *trail)
{
    uint64_t index = 0;
    uint16_t owner = 0;
    if (!here && cluster_pages_is_foreign(pages, what, &owner) &&
        page_db_find(view->db, view->txn, what, strlen(what), &index) == page_db_error_no_page) {
        short_read_pause(&view->read);
        (void)fprintf(stderr, "ragno db: not known here; agent %u owns its host\n",
                      (unsigned)owner);
        if (cluster_pages_trail_of(pages, owner, what, trail) != RESULT_OK) {
            (void)fprintf(stderr, "ragno db: %s: %s\n", what, cluster_pages_problem(pages));
            return page_db_error_no_page;
        }
        return page_db_error_ok;
    }
    int rc = page_db_error_ok;
    if (*what == '#') {
        index = strtoull(what + 1, NULL, 10);
    } else {
        rc = db_find(view, what, &index);
    }
    Result read = rc == page_db_error_ok
                      ? cluster_pages_trail(pages, view->db, view->txn, index, trail)
                      : RESULT_OK;
    short_read_pause(&view->read);
    switch ((int)read) {
    case RESULT_OK:
        return rc;
    case RESULT_MEMORY:
        return page_db_error_memory;
    case RESULT_NOT_FOUND:
        return page_db_error_no_page;
    default:
        return page_db_error_damaged;
    }
}

int db_path(DbView *view, int argc, char **argv)
{
    bool here = false;
    const CommandOption rows[] = {{"here", 0, COMMAND_FLAG, .to = &here}};
    CommandLine line = {"db", "usage: ragno db DIR path URL|#INDEX [--here]\n", COMMAND_ROWS(rows),
                        .words_least = 1, .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    ClusterPages pages;
    PageTrail trail = {.urls = {.limit = BUFFER_NO_LIMIT}};
    Result whole = cluster_pages_open(&pages, view->directory, view->db);
    int rc = whole == RESULT_OK ? find_trail(view, &pages, line.words[0], here, &trail)
                                : page_db_error_damaged;
    if (rc == page_db_error_ok) {
        whole = here ? RESULT_OK : cluster_pages_follow(&pages, &trail);
        trail.is_cut = trail.is_cut && here;
        page_trail_print(&trail, stdout);
    }
    bool cut = rc == page_db_error_ok && whole != RESULT_OK;
    if (cut) {
        (void)fprintf(stderr, "ragno db: the beginning of the path is not known: %s\n",
                      cluster_pages_problem(&pages));
    }
    cluster_pages_close(&pages);
    page_trail_destroy(&trail);
    status = db_finish(view, rc);
    return status == 0 && cut ? EXIT_NEGATIVE : status;
}

int db_urls(DbView *view, int argc, char **argv)
{
    PageRef page;
    int rc = page_db_error_ok;
    for (int i = 1; i < argc && (rc == page_db_error_ok || rc == page_db_error_no_page); i++) {
        rc = page_db_get(view->db, view->txn, strtoull(argv[i], NULL, 10), &page, &view->url);
        (void)puts(rc == page_db_error_ok ? buffer_string(&view->url) : "");
    }
    return db_finish(view, rc == page_db_error_no_page ? page_db_error_ok : rc);
}
