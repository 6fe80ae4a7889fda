/* PageDB against a naive model: random pages, batches, recrawls, discoveries, aborted transactions.
 *
 * FULL=1: 100 000 operations for each of five seeds. */
#include "store/page_tables/page_key.h"
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/pages/page_db.h"
#include "store/page_tables/page_store.h"

enum { N_URLS = 3000, MAX_LINKS = 40, MAX_BATCH = 30, HOSTS = 40 };

typedef struct ModelPage {
    unsigned url;
    uint64_t linked_from, depth, n_crawls, n_changes, hash;
    size_t hash_length;
    double first, last;
    float score;
    int32_t status;
    uint8_t level, tries, hop, flags;
    size_t n_links;
    unsigned links[MAX_LINKS];
} ModelPage;

typedef struct Model {
    ModelPage pages[N_URLS];
    size_t n_pages;
    int64_t index_of[N_URLS]; /* by URL; -1 = unknown */
} Model;

typedef struct Run {
    Model model;
    Model saved; /* as of the last commit */
    PageDB *db;
    char path[FOLDER_BYTES];
    uint64_t random;
    unsigned mistakes;
} Run;

static uint64_t roll(Run *run, uint64_t sides)
{
    return hash_mix(run->random += UINT64_C(0x9E3779B97F4A7C15)) % sides;
}

static void url_text(unsigned url, char out[128])
{
    static const char *const prefixes[] = {"http://h", "https://h", "http://u:p@h", "ftp://h"};
    unsigned host = url % HOSTS;
    const char *prefix = prefixes[host < 30   ? 0
                                  : host < 34 ? 1
                                  : host < 36 ? 0
                                  : host < 38 ? 2
                                              : 3];
    (void)snprintf(out, 128, "%s%u.com%s%s%u", prefix, host < 36 ? host : host % 7,
                   host == 34 || host == 35 ? ":8080" : "", url % 3 == 0 ? "?" : "/p/",
                   url / HOSTS);
}

/* The same domain as PageDB sees it: hosts by number; what is not http(s) is its own domain. */
static bool same_host(unsigned a, unsigned b)
{
    if (a % HOSTS >= 38 || b % HOSTS >= 38) {
        return a == b;
    }
    unsigned x = a % HOSTS < 36 ? a % HOSTS : a % HOSTS % 7;
    unsigned y = b % HOSTS < 36 ? b % HOSTS : b % HOSTS % 7;
    return x == y;
}

static ModelPage *model_create(Model *m, unsigned url)
{
    ModelPage *p = &m->pages[m->n_pages];
    *p = (ModelPage){.url = url, .linked_from = PAGE_DB_NO_INDEX, .level = PAGE_DB_NO_LEVEL};
    m->index_of[url] = (int64_t)m->n_pages++;
    return p;
}

static void model_link(Model *m, unsigned url, uint64_t from, uint64_t depth, float score,
                       uint8_t hop)
{
    if (m->index_of[url] < 0) {
        ModelPage *p = model_create(m, url);
        p->linked_from = from;
        p->depth = depth;
        p->score = score;
        p->hop = hop;
        return;
    }
    ModelPage *p = &m->pages[m->index_of[url]];
    if (depth < p->depth) {
        p->linked_from = from;
        p->depth = depth;
        p->hop = hop;
    }
}

/* A random page: given to PageDB as CrawledPage and to the model. */
static CrawledPage *random_page(Run *run, PageWrite *write, uint8_t *hops, PageLinkKey *keys)
{
    Model *m = &run->model;
    char text[128];
    unsigned url = (unsigned)roll(run, N_URLS);
    url_text(url, text);
    CrawledPage *cp = crawled_page_new(text);
    cp->time = 1.7e9 + (double)roll(run, 1000000);
    cp->score = (float)roll(run, 1000) / 1000;
    ModelPage *p = m->index_of[url] < 0 ? model_create(m, url) : &m->pages[m->index_of[url]];
    uint64_t hash = roll(run, 3);
    size_t hash_length = roll(run, 8) == 0 ? 0 : roll(run, 8) == 0 ? 4 : 8;
    CU_ASSERT_EQUAL(crawled_page_set_hash(cp, (const char *)&hash, hash_length), 0);
    hash = hash_length == 0 ? 0 : hash;
    if (p->n_crawls == 0) {
        p->first = cp->time;
    } else if (p->hash_length != hash_length || p->hash != hash) {
        p->n_changes++;
    }
    p->n_crawls++;
    p->last = cp->time;
    p->hash = hash;
    p->hash_length = hash_length;
    p->score = cp->score;
    p->level = PAGE_DB_NO_LEVEL;
    p->tries = 0;
    p->status = write == NULL ? 0 : (int32_t)roll(run, 600) - 100;
    p->flags = write == NULL ? 0 : (uint8_t)roll(run, 256);
    p->n_links = roll(run, 6) == 0 ? 0 : roll(run, MAX_LINKS);
    uint64_t index = (uint64_t)(p - m->pages), depth = p->depth;
    PageOrigin origin;
    page_origin_of(cp->url, strlen(cp->url), &origin);
    for (size_t i = 0; i < p->n_links; i++) {
        unsigned to = roll(run, 10) == 0            ? url
                      : i > 0 && roll(run, 10) == 0 ? p->links[i - 1]
                      : roll(run, 2) == 0 ? (url + HOSTS * (unsigned)roll(run, 30)) % N_URLS
                                          : (unsigned)roll(run, N_URLS);
        float score = (float)roll(run, 1000) / 1000;
        uint8_t hop = write == NULL ? 'L' : (uint8_t) "LRESMP"[roll(run, 6)];
        p->links[i] = to;
        hops[i] = hop;
        url_text(to, text);
        CU_ASSERT_EQUAL(crawled_page_add_link(cp, text, score), 0);
        keys[i] = page_key_of_link(run->db->store, text, strlen(text), &origin);
        model_link(m, to, index, depth + 1, score, hop);
    }
    if (write != NULL) {
        *write = (PageWrite){.page = cp,
                             .link_keys = roll(run, 2) == 0 ? keys : NULL,
                             .link_hops = hops,
                             .status = p->status,
                             .flags = p->flags};
    }
    return cp;
}

static void must(Run *run, int rc)
{
    if (rc != page_db_error_ok) {
        run->mistakes++;
        (void)fprintf(stderr, "%d: %s\n", rc, error_message(run->db->error));
    }
}

static void write_pages(Run *run, size_t n, bool commit)
{
    PageWrite writes[MAX_BATCH];
    CrawledPage *pages[MAX_BATCH];
    uint8_t hops[MAX_BATCH][MAX_LINKS];
    PageLinkKey keys[MAX_BATCH][MAX_LINKS];
    for (size_t i = 0; i < n; i++) {
        pages[i] = random_page(run, &writes[i], hops[i], keys[i]);
    }
    MDB_txn *txn = NULL;
    must(run, page_db_txn_begin(run->db, false, &txn));
    must(run, page_db_write(run->db, txn, writes, n, NULL));
    if (commit) {
        must(run, page_db_txn_commit(run->db, txn));
    } else {
        page_db_txn_abort(run->db, txn);
        run->model = run->saved;
    }
    for (size_t i = 0; i < n; i++) {
        crawled_page_delete(pages[i]);
    }
}

static void add_pages(Run *run, size_t n)
{
    CrawledPage *pages[MAX_BATCH];
    uint8_t hops[MAX_LINKS];
    PageLinkKey keys[MAX_LINKS];
    size_t before = run->model.n_pages;
    for (size_t i = 0; i < n; i++) {
        pages[i] = random_page(run, NULL, hops, keys);
    }
    PageInfoList *list = NULL;
    bool wants_list = roll(run, 2) == 0;
    must(run, (int)page_db_add_batch(run->db, (const CrawledPage *const *)pages, n,
                                     wants_list ? &list : NULL));
    size_t listed = 0, crawled = 0;
    for (PageInfoList *l = list; l != NULL; l = l->next) {
        crawled += l->page_info->n_crawls > 0;
        listed++;
    }
    /* A crawled page that was new counts in both: it is not listed as discovered. */
    run->mistakes +=
        wants_list && (crawled != n || listed < n || listed - n > run->model.n_pages - before);
    page_info_list_delete(list);
    for (size_t i = 0; i < n; i++) {
        crawled_page_delete(pages[i]);
    }
}

static void discover(Run *run)
{
    LinkInfo urls[20];
    uint8_t hops[20];
    char texts[20][128];
    size_t n = roll(run, 20);
    uint64_t depth = roll(run, 4);
    for (size_t i = 0; i < n; i++) {
        unsigned url = (unsigned)roll(run, N_URLS);
        url_text(url, texts[i]);
        urls[i] = (LinkInfo){.url = texts[i], .score = (float)roll(run, 100)};
        hops[i] = (uint8_t) "LSM"[roll(run, 3)];
        model_link(&run->model, url, PAGE_DB_NO_INDEX, depth, urls[i].score, hops[i]);
    }
    MDB_txn *txn = NULL;
    must(run, page_db_txn_begin(run->db, false, &txn));
    must(run, page_db_discover(run->db, txn, urls, hops, n, PAGE_DB_NO_INDEX, depth, NULL));
    must(run, page_db_txn_commit(run->db, txn));
}

static void set_state(Run *run)
{
    if (run->model.n_pages == 0) {
        return;
    }
    uint64_t index = roll(run, run->model.n_pages);
    ModelPage *p = &run->model.pages[index];
    p->status = -(int32_t)roll(run, 20000);
    p->level = (uint8_t)roll(run, 64);
    p->tries = (uint8_t)roll(run, 5);
    MDB_txn *txn = NULL;
    must(run, page_db_txn_begin(run->db, false, &txn));
    must(run, page_db_set_state(run->db, txn, index, p->status, p->level, p->tries));
    CU_ASSERT_EQUAL(page_db_set_state(run->db, txn, run->model.n_pages, 1, 1, 1),
                    page_db_error_no_page);
    must(run, page_db_txn_commit(run->db, txn));
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The links of a model page as PageDB orders them. */
static size_t model_links(const Model *m, const ModelPage *p, uint64_t *to, size_t *n_diff)
{
    size_t n = 0;
    for (int same = 0; same < 2; same++) {
        size_t start = n;
        for (size_t i = 0; i < p->n_links; i++) {
            if (same_host(p->url, p->links[i]) == (same != 0)) {
                to[n++] = (uint64_t)m->index_of[p->links[i]];
            }
        }
        qsort(to + start, n - start, sizeof *to, compare_numbers);
        *n_diff = same == 0 ? n : *n_diff;
    }
    return n;
}

static bool links_agree(Run *run, MDB_txn *txn, uint64_t index)
{
    uint64_t expected[MAX_LINKS], *to = NULL;
    size_t n = 0, n_diff = 0, expected_diff = 0;
    size_t expected_n =
        model_links(&run->model, &run->model.pages[index], expected, &expected_diff);
    must(run, page_db_get_links(run->db, txn, index, &to, &n, &n_diff));
    bool ok = n == expected_n && n_diff == expected_diff &&
              (n == 0 || memcmp(to, expected, n * sizeof *to) == 0);
    free(to);
    return ok;
}

static bool page_agrees(Run *run, MDB_txn *txn, uint64_t index, Buffer *buffer)
{
    const ModelPage *p = &run->model.pages[index];
    char text[128];
    url_text(p->url, text);
    PageRef ref;
    uint64_t found = 0;
    must(run, page_db_get(run->db, txn, index, &ref, buffer));
    uint64_t from = 0;
    uint8_t hop = 0;
    must(run, page_db_get_way(run->db, txn, index, &from, &hop, NULL));
    must(run, page_db_find(run->db, txn, text, strlen(text), &found));
    bool has_parent = p->linked_from != PAGE_DB_NO_INDEX;
    return found == index && strcmp(buffer_string(buffer), text) == 0 &&
           ref.hash == (page_db_hash(text) & run->db->store->hash_mask) &&
           ref.linked_from == p->linked_from && ref.depth == p->depth &&
           (!has_parent || run->model.pages[p->linked_from].depth < p->depth) &&
           ref.n_crawls == p->n_crawls && ref.n_changes == p->n_changes &&
           ref.first_crawl == p->first && ref.last_crawl == p->last && ref.score == p->score &&
           ref.content_hash64 == p->hash && ref.status == p->status && ref.level == p->level &&
           ref.tries == p->tries && ref.hop == p->hop && from == ref.linked_from &&
           hop == ref.hop && ref.flags == p->flags && links_agree(run, txn, index);
}

static void check_some(Run *run, size_t n)
{
    MDB_txn *txn = NULL;
    Buffer buffer;
    buffer_init(&buffer, BUFFER_NO_LIMIT);
    must(run, page_db_txn_begin(run->db, true, &txn));
    run->mistakes += page_db_n_pages(run->db, txn) != run->model.n_pages;
    for (size_t i = 0; i < n && run->model.n_pages > 0; i++) {
        run->mistakes += !page_agrees(run, txn, roll(run, run->model.n_pages), &buffer);
    }
    page_db_txn_abort(run->db, txn);
    buffer_destroy(&buffer);
}

/* Every page, every link in the stream's order, every hash, every score. */
static void check_all(Run *run)
{
    Model *m = &run->model;
    MDB_txn *txn = NULL;
    Buffer buffer;
    buffer_init(&buffer, BUFFER_NO_LIMIT);
    must(run, page_db_txn_begin(run->db, true, &txn));
    for (uint64_t i = 0; i < m->n_pages; i++) {
        run->mistakes += !page_agrees(run, txn, i, &buffer);
    }
    page_db_txn_abort(run->db, txn);
    buffer_destroy(&buffer);
    for (int only_diff = 0; only_diff < 2; only_diff++) {
        PageDBLinkStream *stream = NULL;
        must(run, (int)page_db_link_stream_new(&stream, run->db));
        stream->only_diff_domain = only_diff;
        Link link;
        uint64_t to[MAX_LINKS];
        for (uint64_t i = 0; i < m->n_pages; i++) {
            size_t n_diff = 0, n = model_links(m, &m->pages[i], to, &n_diff);
            for (size_t k = 0; k < (only_diff ? n_diff : n); k++) {
                run->mistakes += page_db_link_stream_next(stream, &link) != stream_state_next ||
                                 link.from != (int64_t)i || link.to != (int64_t)to[k];
            }
        }
        run->mistakes += page_db_link_stream_next(stream, &link) != stream_state_end;
        run->mistakes += page_db_link_stream_next(stream, &link) != stream_state_end;
        page_db_link_stream_delete(stream);
    }
    HashInfoStream *infos = NULL;
    must(run, (int)hashinfo_stream_new(&infos, run->db));
    uint64_t hash = 0, previous = 0;
    PageInfo *pi = NULL;
    size_t n = 0;
    while (hashinfo_stream_next(infos, &hash, &pi) == stream_state_next) {
        char text[128];
        url_text(m->pages[infos->index].url, text);
        run->mistakes += strcmp(text, pi->url) != 0 || hash < previous;
        const ModelPage *p = &m->pages[infos->index];
        uint64_t from = 0;
        if (p->linked_from != PAGE_DB_NO_INDEX) {
            url_text(m->pages[p->linked_from].url, text);
            from = page_db_hash(text) & run->db->store->hash_mask;
        }
        run->mistakes += pi->linked_from != from || pi->content_hash_length != p->hash_length;
        previous = hash;
        page_info_delete(pi);
        n++;
    }
    run->mistakes += n != m->n_pages;
    hashinfo_stream_delete(infos);
    MMapArray *scores = NULL;
    must(run, (int)page_db_get_scores(run->db, &scores));
    for (uint64_t i = 0; i < m->n_pages; i++) {
        run->mistakes += *(float *)mmap_array_idx(scores, i) != m->pages[i].score;
    }
    (void)mmap_array_delete(scores);
}

static void reopen(Run *run)
{
    uint64_t mask = run->db->store->hash_mask;
    (void)page_db_delete(run->db);
    must(run, page_db_open(&run->db, run->path, &(PageDBOptions){.no_sync = true}));
    run->db->store->hash_mask = mask;
}

static unsigned run_seed(uint64_t seed, uint64_t hash_mask, size_t operations)
{
    Run *run = calloc(1, sizeof *run);
    folder_name(run->path, "model");
    run->random = seed;
    memset(run->model.index_of, 0xff, sizeof run->model.index_of);
    must(run, page_db_open(&run->db, run->path, &(PageDBOptions){.no_sync = true}));
    run->db->store->hash_mask = hash_mask;
    for (size_t i = 0; i < operations && run->mistakes == 0; i++) {
        switch (roll(run, 12)) {
        case 0:
        case 1:
            write_pages(run, 1 + roll(run, MAX_BATCH), true);
            break;
        case 2:
            run->saved = run->model;
            write_pages(run, 1 + roll(run, MAX_BATCH), false);
            break;
        case 3:
            add_pages(run, 1 + roll(run, MAX_BATCH));
            break;
        case 4:
        case 5:
        case 6:
            add_pages(run, 1);
            break;
        case 7:
            discover(run);
            break;
        case 8:
            set_state(run);
            break;
        default:
            check_some(run, 5);
        }
        if (roll(run, 500) == 0) {
            reopen(run);
        }
    }
    check_all(run);
    unsigned mistakes = run->mistakes;
    page_db_set_persist(run->db, 0);
    (void)page_db_delete(run->db);
    free(run);
    return mistakes;
}

static size_t n_operations(void)
{
    return getenv("FULL") != NULL ? 100000 : 400;
}

static void page_db_agrees_with_a_naive_model(void)
{
    unsigned seeds = getenv("FULL") != NULL ? 5 : 3;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        CU_ASSERT_EQUAL(run_seed(seed * 1000003, UINT64_MAX, n_operations()), 0);
    }
}

static void pages_with_equal_hashes_stay_apart(void)
{
    /* All URLs of a host have one hash; then all URLs. */
    CU_ASSERT_EQUAL(run_seed(77, UINT64_C(0xffffffff00000000), n_operations()), 0);
    CU_ASSERT_EQUAL(run_seed(78, 0, n_operations()), 0);
}

UNIT_MAIN("page_db_model", {"page_db agrees with a naive model", page_db_agrees_with_a_naive_model},
          {"pages with equal hashes stay apart", pages_with_equal_hashes_stay_apart})
