/* The page database on the synthetic web: adding in batches and one by one, reading, streaming,
 * size.
 *
 * Environment: SCALE (default 1: 200 000 pages), BATCH (pages a transaction, default 2048), TMPDIR,
 * ADD_ONLY (stop behind the first part). Building the CrawledPages is outside the timers. CPU
 * seconds are of the whole process. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "base/core/clock.h"
#include "store/pages/page_db.h"
#include "store/page_tables/page_key.h"
#include "store/format/page_packs.h"
#include "workload.h"

#define DEFAULT_BATCH 2048u
#define GETS          1000000u
#define ARRAY_BYTES   128u

typedef struct Bench {
    char path[256];
    Workload *workload;
    uint64_t *visited;
    size_t n_pages;
    size_t batch;
    int failures;
} Bench;

static double seconds(int64_t since)
{
    return (double)(cpu_process_ns() - since) / 1e9;
}

static void check(Bench *b, PageDB *db, int rc, const char *what)
{
    if (rc != page_db_error_ok) {
        const char *message = error_message(db->error);
        (void)fprintf(stderr, "%s: %d %s\n", what, rc, message == NULL ? "" : message);
        b->failures++;
    }
}

static PageDB *open_db(Bench *b, bool no_sync)
{
    PageDB *db = NULL;
    int rc = page_db_open(&db, b->path, &(PageDBOptions){.no_sync = no_sync});
    if (rc != page_db_error_ok) {
        (void)fprintf(stderr, "%s cannot be opened (%d)\n", b->path, rc);
        exit(1);
    }
    return db;
}

/* Adds the whole workload; returns the CPU seconds inside the library. */
static double add_pages(Bench *b, PageDB *db)
{
    CrawledPage **pages = calloc(b->batch, sizeof *pages);
    WorkloadPage page;
    double used = 0;
    for (size_t done = 0; done < b->n_pages;) {
        size_t n = 0;
        for (; n < b->batch && done < b->n_pages; n++, done++) {
            workload_next(b->workload, &page);
            b->visited[done] = page.id;
            pages[n] = workload_crawled_page(b->workload, &page);
        }
        int64_t start = cpu_process_ns();
        check(b, db, (int)page_db_add_batch(db, (const CrawledPage *const *)pages, n, NULL), "add");
        used += seconds(start);
        for (size_t i = 0; i < n; i++) {
            crawled_page_delete(pages[i]);
        }
    }
    free(pages);
    return used;
}

/* What a crawl that has ended leaves: free pages are taken out when it is closed. */
static void print_file_size(Bench *b)
{
    char file[300];
    struct stat st;
    (void)snprintf(file, sizeof file, "%s/data.mdb", b->path);
    b->failures += stat(file, &st) != 0;
    printf("pagedb.bytes_per_url = %.1f B\n",
           (double)st.st_size / (double)workload_n_known(b->workload));
}

static void print_tables(Bench *b, PageDB *db)
{
    double known = (double)workload_n_known(b->workload);
    MDB_txn *txn = NULL;
    check(b, db, page_db_txn_begin(db, true, &txn), "begin");
    static const char *const names[] = {"hash2idx", "idx2info", "links", "origins", "origin2host"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        MDB_dbi dbi = 0;
        MDB_stat stat_;
        if (mdb_dbi_open(txn, names[i], 0, &dbi) == 0 && mdb_stat(txn, dbi, &stat_) == 0) {
            double bytes =
                (double)(stat_.ms_branch_pages + stat_.ms_leaf_pages + stat_.ms_overflow_pages) *
                stat_.ms_psize;
            (void)fprintf(stderr, "%-12s %9zu records %8.1f MB %6.2f B per URL\n", names[i],
                          stat_.ms_entries, bytes / 1e6, bytes / known);
            if (strcmp(names[i], "links") == 0) {
                printf("pagedb.bytes_per_link = %.3f B\n", bytes / (double)b->workload->n_links);
            }
        }
    }
    page_db_txn_abort(db, txn);
}

static void stream_links(Bench *b, PageDB *db)
{
    PageDBLinkStream *stream = NULL;
    for (int by_page = 0; by_page < 2; by_page++) {
        for (int only_diff = 0; only_diff < 2; only_diff++) {
            check(b, db, (int)page_db_link_stream_new(&stream, db), "stream");
            stream->only_diff_domain = only_diff;
            uint64_t n = 0, sum = 0, from = 0;
            const uint64_t *to = NULL;
            size_t k = 0;
            Link link;
            int64_t start = cpu_process_ns();
            if (by_page) {
                while (page_db_link_stream_next_page(stream, &from, &to, &k) == stream_state_next) {
                    for (size_t i = 0; i < k; i++) {
                        sum += to[i];
                    }
                    n += k;
                }
            } else {
                while (page_db_link_stream_next(stream, &link) == stream_state_next) {
                    sum += (uint64_t)link.to;
                    n++;
                }
            }
            double used = seconds(start);
            (void)fprintf(stderr, "%s links %s: %" PRIu64 ", sum %" PRIu64 ", %.1f M/CPU-s\n",
                          only_diff ? "cross-host" : "all", by_page ? "by page" : "one by one", n,
                          sum, (double)n / used / 1e6);
            if (!only_diff && by_page) {
                printf("pagedb.stream.links_per_cpu_s = %.0f links\n", (double)n / used);
            }
            if (!only_diff && n != b->workload->n_links) {
                b->failures++;
            }
            page_db_link_stream_delete(stream);
        }
    }
}

static void stream_hashes(Bench *b, PageDB *db)
{
    HashIdxStream *indices = NULL;
    check(b, db, (int)hashidx_stream_new(&indices, db), "hash stream");
    uint64_t hash = 0, n = 0;
    size_t index = 0;
    int64_t start = cpu_process_ns();
    while (hashidx_stream_next(indices, &hash, &index) == stream_state_next) {
        n++;
    }
    (void)fprintf(stderr, "hashes: %" PRIu64 ", %.1f M/CPU-s\n", n,
                  (double)n / seconds(start) / 1e6);
    b->failures += n != workload_n_known(b->workload);
    hashidx_stream_delete(indices);
    HashInfoStream *infos = NULL;
    check(b, db, (int)hashinfo_stream_new(&infos, db), "info stream");
    PageInfo *pi = NULL;
    n = 0;
    start = cpu_process_ns();
    while (hashinfo_stream_next(infos, &hash, &pi) == stream_state_next) {
        page_info_delete(pi);
        n++;
    }
    (void)fprintf(stderr, "infos: %" PRIu64 ", %.2f M/CPU-s\n", n,
                  (double)n / seconds(start) / 1e6);
    hashinfo_stream_delete(infos);
    MMapArray *scores = NULL;
    start = cpu_process_ns();
    check(b, db, (int)page_db_get_scores(db, &scores), "scores");
    (void)fprintf(stderr, "scores: %.3f CPU-s\n", seconds(start));
    (void)mmap_array_delete(scores);
}

/* A page by chance: its place in order of discovery, which is its index. */
static uint64_t choose(const Bench *b, uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*random >> 33) % workload_n_known(b->workload);
}

/* The hashes of GETS random pages; the caller frees them. */
static uint64_t *choose_hashes(const Bench *b)
{
    uint64_t *hashes = malloc(GETS * sizeof *hashes);
    uint64_t random = 1;
    char url[WORKLOAD_URL_BYTES];
    for (unsigned i = 0; hashes != NULL && i < GETS; i++) {
        (void)workload_url(b->workload, b->workload->queue[choose(b, &random)], url);
        hashes[i] = page_db_hash(url);
    }
    return hashes;
}

/* Gets the pages; returns the CPU seconds. */
static double get_round(Bench *b, PageDB *db, const uint64_t *hashes)
{
    uint64_t bytes = 0;
    int64_t start = cpu_process_ns();
    for (unsigned i = 0; i < GETS; i++) {
        PageInfo *pi = NULL;
        check(b, db, (int)page_db_get_info(db, hashes[i], &pi), "get");
        bytes += pi == NULL ? 0 : (unsigned char)pi->url[0];
        page_info_delete(pi);
    }
    double used = seconds(start);
    b->failures += bytes != (uint64_t)GETS * 'h';
    return used;
}

static void check_infos(Bench *b, PageDB *db)
{
    uint64_t random = 1, found = 0;
    char url[WORKLOAD_URL_BYTES];
    for (unsigned i = 0; i < GETS; i++) {
        (void)workload_url(b->workload, b->workload->queue[choose(b, &random)], url);
        PageInfo *pi = NULL;
        check(b, db, (int)page_db_get_info(db, page_db_hash(url), &pi), "get");
        found += pi != NULL && strcmp(pi->url, url) == 0;
        page_info_delete(pi);
    }
    (void)fprintf(stderr, "get_info: %" PRIu64 " of %u as asked for\n", found, GETS);
    b->failures += found != GETS;
}

/* What LMDB takes for the same pages without decoding anything: the entry of hash2idx, the pack of
 * idx2info. */
static void look_up_bare(Bench *b, PageDB *db, const uint64_t *hashes)
{
    static const char *const names[] = {"hash2idx", "idx2info"};
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_dbi tables[2] = {0};
    check(b, db, page_db_txn_begin(db, true, &txn), "begin");
    bool ready = txn != NULL;
    for (size_t i = 0; ready && i < 2; i++) {
        ready = mdb_dbi_open(txn, names[i], 0, &tables[i]) == 0;
    }
    ready = ready && mdb_cursor_open(txn, tables[0], &cursor) == 0;
    uint64_t found = 0;
    int64_t start = cpu_process_ns();
    for (unsigned i = 0; ready && i < GETS; i++) {
        uint32_t domain = page_db_hash_get_domain(hashes[i]);
        PageEntry entry = {.url_hash = page_db_hash_get_url(hashes[i])};
        uint8_t bytes[PAGE_ENTRY_BYTES];
        page_entry_write(&entry, bytes);
        MDB_val key = {sizeof domain, &domain};
        MDB_val value = {sizeof bytes, bytes};
        if (mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH_RANGE) != 0) {
            continue;
        }
        page_entry_read(value.mv_data, &entry);
        uint64_t pack = entry.index / PAGE_PACK_RECORDS;
        key = (MDB_val){sizeof pack, &pack};
        found += mdb_get(txn, tables[1], &key, &value) == 0;
    }
    double used = seconds(start);
    (void)fprintf(stderr, "floor: both look-ups in LMDB alone %.2f M/CPU-s\n", GETS / used / 1e6);
    b->failures += found != GETS;
    mdb_cursor_close(cursor);
    page_db_txn_abort(db, txn);
}

/* What the memory takes: an array with as many bytes as the database, read in the same order, one
 * read after the other, as the steps of a look-up are. */
static void read_array(Bench *b)
{
    size_t n = workload_n_known(b->workload);
    char *array = malloc(n * ARRAY_BYTES);
    if (array == NULL) {
        b->failures++;
        return;
    }
    memset(array, 1, n * ARRAY_BYTES);
    uint64_t random = 1, sum = 0;
    int64_t start = cpu_process_ns();
    for (unsigned i = 0; i < GETS; i++) {
        size_t at = choose(b, &random) + (sum - i); /* which is 0, but known only after a read */
        sum += (unsigned char)array[at * ARRAY_BYTES];
    }
    double used = seconds(start);
    (void)fprintf(stderr, "floor: one read of an array of %zu MB %.2f M/CPU-s\n",
                  n * ARRAY_BYTES / 1000000, GETS / used / 1e6);
    b->failures += sum != GETS;
    free(array);
}

static void get_infos(Bench *b, PageDB *db)
{
    uint64_t *hashes = choose_hashes(b);
    if (hashes == NULL) {
        b->failures++;
        return;
    }
    printf("pagedb.get.per_cpu_s = %.0f pages\n", GETS / get_round(b, db, hashes));
    (void)fprintf(stderr, "get_info again: %.2f M/CPU-s\n", GETS / get_round(b, db, hashes) / 1e6);
    look_up_bare(b, db, hashes);
    free(hashes);
    read_array(b);
    check_infos(b, db);
}

static void start_again(Bench *b)
{
    workload_delete(b->workload);
    b->workload = workload_new();
    if (b->workload == NULL) {
        exit(1);
    }
}

int main(void)
{
    const char *scale = getenv("SCALE");
    const char *batch = getenv("BATCH");
    const char *dir = getenv("TMPDIR");
    Bench b = {.n_pages = (size_t)((scale == NULL ? 1 : strtod(scale, NULL)) * WORKLOAD_PAGES),
               .batch = batch == NULL ? DEFAULT_BATCH : strtoul(batch, NULL, 10)};
    (void)snprintf(b.path, sizeof b.path, "%s/ragno-bench-pagedb-%ld", dir == NULL ? "/tmp" : dir,
                   (long)getpid());
    b.n_pages = b.n_pages < 1 ? 1 : b.n_pages;
    b.visited = calloc(b.n_pages, sizeof *b.visited);
    start_again(&b);
    PageDB *db = open_db(&b, false);
    double used = add_pages(&b, db);
    printf("pagedb.add.pages_per_cpu_s = %.0f pages\n", (double)b.n_pages / used);
    (void)fprintf(stderr, "%" PRIu64 " links, %" PRIu64 " known URLs\n", b.workload->n_links,
                  workload_n_known(b.workload));
    printf("pagedb.add.checksum = %016" PRIx64 " hex\n", b.workload->checksum);
    if (b.n_pages == WORKLOAD_PAGES && b.workload->checksum != WORKLOAD_CHECKSUM) {
        b.failures++;
    }
    print_tables(&b, db);
    (void)page_db_delete(db);
    print_file_size(&b);
    db = open_db(&b, false);
    if (getenv("ADD_ONLY") != NULL) {
        page_db_set_persist(db, 0);
        (void)page_db_delete(db);
        return b.failures == 0 ? 0 : 1;
    }
    stream_links(&b, db);
    stream_hashes(&b, db);
    get_infos(&b, db);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);

    start_again(&b);
    b.batch = 1;
    b.n_pages = b.n_pages / 4 + 1;
    db = open_db(&b, true);
    used = add_pages(&b, db);
    printf("pagedb.add_single.pages_per_cpu_s = %.0f pages\n", (double)b.n_pages / used);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
    workload_delete(b.workload);
    free(b.visited);
    return b.failures == 0 ? 0 : 1;
}
