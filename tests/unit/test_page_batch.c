/* The URLs of a batch: references, the nodes that they mean, and what the database knows of them;
 * and a node on its own. */
#include "store/page_batch/page_batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "page_db_fixture.h"
#include "store/page_batch/page_writer.h"
#include "store/page_tables/page_hosts.h"
#include "store/pages/page_db_read.h"
#include "store/records/url_parts.h"

enum { URLS = 500, MOST_REFS = 700, ROUNDS = 40 };

static const char *const pages[] = {"http://h1.example/page", "http://h2.example:81/",
                                    "https://h1.example/", "http://u:p@h3.example/x", "mailto:a"};

static void url_number(unsigned number, char out[64])
{
    static const char *const before[] = {"http://h",     "https://h", "http://h", "http://h",
                                         "http://u:p@h", "http://h",  "mailto:h"};
    static const char *const behind[] = {"/", "/", ":81/", "?", "/", ".org/", "/"};
    (void)snprintf(out, 64, "%s%u.example%s%u", before[number % 7], number % 5, behind[number % 7],
                   number);
}

/* The host of a URL, or the URL where it has none: what makes two pages neighbours. */
static const char *neighbourhood(const char *url, size_t *length)
{
    UrlParts parts;
    if (!url_parts(url, strlen(url), &parts)) {
        *length = strlen(url);
        return url;
    }
    *length = parts.host_end - parts.host_start;
    return url + parts.host_start;
}

static bool leaves(const char *from, const char *to)
{
    size_t a = 0;
    size_t b = 0;
    const char *x = neighbourhood(from, &a);
    const char *y = neighbourhood(to, &b);
    return a != b || memcmp(x, y, a) != 0;
}

static MDB_txn *begin(PageDB *db)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    return txn;
}

/* Every third URL is known, in the order of their numbers. */
static void make_known(PageDB *db)
{
    MDB_txn *txn = begin(db);
    for (unsigned i = 0; i < URLS; i += 3) {
        char url[64];
        url_number(i, url);
        PageDiscovery found = {.url = url, .length = strlen(url), .hop = 'L', .depth = i};
        CU_ASSERT_EQUAL(page_db_discover_each(db, txn, &found, 1, NULL), 0);
    }
    CU_ASSERT_EQUAL(page_db_txn_commit(db, txn), page_db_error_ok);
}

static void check_nodes(PageBatch *batch, const PageDB *db, char urls[][64], size_t n)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const PageNode *node = page_batch_node(batch, i);
        unsigned number = 0;
        const char *digits = urls[i] + strlen(urls[i]);
        while (digits > urls[i] && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        (void)sscanf(digits, "%u", &number);
        bool is_known = number % 3 == 0;
        PageKey key = page_key_of(db->store, urls[i], strlen(urls[i]));
        wrong += node->length != strlen(urls[i]) || memcmp(node->url, urls[i], node->length) != 0;
        wrong += node->key.hash != key.hash || node->key.print != key.print;
        wrong += node->known != is_known;
        wrong += node->index != (is_known ? number / 3 : PAGE_DB_NO_INDEX);
        wrong += is_known && node->depth != (number < PAGE_MAX_DEPTH8 ? number : PAGE_MAX_DEPTH8);
        wrong += is_known && node->stored_depth != node->depth;
        wrong += node->crawl != PAGE_NODE_NO_CRAWL || node->loaded || node->moved;
    }
    for (size_t i = 1; i < batch->n_nodes; i++) { /* in order, each once */
        const PageKey *a = &batch->nodes[i - 1].key;
        const PageKey *b = &batch->nodes[i].key;
        wrong += a->hash > b->hash || (a->hash == b->hash && a->print >= b->print);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* hash_mask: few bits make many URLs have one hash. */
static int add(PageBatch *batch, const PageDB *db, const char *url, const PageOrigin *from)
{
    PageLinkKey key = page_key_of_link(db->store, url, strlen(url), from);
    return page_batch_add(batch, url, &key);
}

static void check_references(uint64_t hash_mask)
{
    PageDB *db = page_db_fixture_open("batch");
    db->store->hash_mask = hash_mask;
    PageBatch *batch = page_batch_new();
    Dice dice = {.state = 25};
    static char urls[MOST_REFS][64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    make_known(db);
    for (unsigned round = 0; round < ROUNDS; round++) {
        /* Few ones are sorted otherwise than many. */
        size_t n = dice_below(&dice, round % 2 == 0 ? 60 : MOST_REFS);
        bool seen[URLS] = {false};
        size_t n_distinct = 0;
        MDB_txn *txn = begin(db);
        page_batch_reset(batch);
        for (size_t i = 0; i < n; i++) {
            const char *page = pages[dice_below(&dice, sizeof pages / sizeof *pages)];
            unsigned number = (unsigned)dice_below(&dice, URLS);
            PageOrigin origin;
            url_number(number, urls[i]);
            page_origin_of(page, strlen(page), &origin);
            bool has_page = dice_below(&dice, 3) > 0;
            CU_ASSERT_EQUAL(add(batch, db, urls[i], has_page ? &origin : NULL), 0);
            CU_ASSERT_EQUAL(batch->uses[i].cross, !has_page || leaves(page, urls[i]));
            n_distinct += !seen[number];
            seen[number] = true;
        }
        CU_ASSERT_EQUAL(page_batch_resolve(batch, db->store, txn), 0);
        CU_ASSERT_EQUAL(batch->n_nodes, n_distinct);
        check_nodes(batch, db, urls, n);
        page_db_txn_abort(db, txn);
    }
    page_batch_delete(batch);
    page_batch_delete(NULL);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void each_reference_means_the_node_of_its_url(void)
{
    check_references(UINT64_MAX);
}

static void urls_of_one_hash_are_told_apart(void)
{
    check_references(UINT64_C(0x0000000100000003));
}

static void crawls_have_their_nodes(void)
{
    PageDB *db = page_db_fixture_open("crawls");
    PageBatch *batch = page_batch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    char urls[200][64];
    MDB_txn *txn = begin(db);
    for (unsigned i = 0; i < 200; i++) {
        url_number(i, urls[i]);
        CU_ASSERT_EQUAL(add(batch, db, urls[i], NULL), 0);
    }
    CU_ASSERT_EQUAL(page_batch_resolve(batch, db->store, txn), 0);
    for (unsigned i = 0; i < 200; i++) { /* more than there is room for at first */
        uint32_t node = (uint32_t)(page_batch_node(batch, i) - batch->nodes);
        const PageBatchCrawl *crawl = page_batch_add_crawl(batch, node);
        CU_ASSERT_PTR_NOT_NULL_FATAL(crawl);
        CU_ASSERT_TRUE(crawl->node == node && crawl->links == NULL && crawl->crawl.n_crawls == 0);
        CU_ASSERT_EQUAL(batch->nodes[node].crawl, i);
    }
    page_batch_reset(batch);
    CU_ASSERT_TRUE(batch->n_refs == 0 && batch->n_nodes == 0 && batch->n_crawls == 0);
    PageDiscovery too_long = {.url = urls[0], .length = (size_t)UINT32_MAX + 1};
    PageWriter writer;
    page_writer_begin(&writer, db->store, txn, NULL);
    page_writer_discover_each(&writer, &too_long, 1);
    CU_ASSERT_EQUAL(page_writer_end(&writer), E2BIG);
    CU_ASSERT_EQUAL(page_batch_resolve(batch, db->store, txn), 0); /* of nothing */
    page_db_txn_abort(db, txn);
    page_batch_delete(batch);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

/* ---- a node ---- */

static void a_better_path_outlives_the_record(void)
{
    PageNode node = {.key = {.hash = 77}, .index = 5, .known = true};
    PageSource from = {.index = 2, .hash = 9, .depth = 3};
    PageRecord record = {.hop = 'L',
                         .crawled = true,
                         .flags = 6,
                         .level = 4,
                         .tries = 1,
                         .status = 404,
                         .score = 0.5f,
                         .host = 8,
                         .depth = 11,
                         .linked_from = 1,
                         .linked_hash = 10};
    page_node_take(&node, &record);
    CU_ASSERT_TRUE(node.depth == 11 && node.linked_from == 1 && node.hop == 'L' && node.loaded);
    page_node_set_path(&node, &from, 'R');
    node.moved = true;
    page_node_take(&node, &record);
    CU_ASSERT_TRUE(node.depth == 3 && node.linked_from == 2 && node.linked_hash == 9);
    PageRef page = page_node_ref(&node, NULL);
    CU_ASSERT_TRUE(page.index == 5 && page.hash == 77 && page.host == 8 && page.hop == 'R');
    CU_ASSERT_TRUE(page.status == 404 && page.level == 4 && page.tries == 1 && page.flags == 6);
    CU_ASSERT_TRUE(page.n_crawls == 0 && page.content_hash64 == 0);
    /* Of the content hash as much as there is room for. */
    static const char hash[] = "0123456789";
    for (size_t length = 0; length <= 10; length += 5) {
        PageCrawl crawl = {.n_crawls = 3, .last_crawl = 8, .hash = hash, .hash_length = length};
        uint64_t expected = 0;
        memcpy(&expected, hash, length < 8 ? length : 8);
        page = page_node_ref(&node, &crawl);
        CU_ASSERT_EQUAL(page.content_hash64, expected);
        CU_ASSERT_TRUE(page.n_crawls == 3 && page.last_crawl >= 8);
    }
}

/* The user of a URL is no part of its origin. */
static void urls_of_one_origin_have_one_host(void)
{
    static const struct {
        const char *url;
        const char *origin;
    } rows[] = {{"http://h.example/a", "http://h.example"},
                {"http://u:p@h.example/a", "http://h.example"},
                {"https://u@h.example:81?x@y", "https://h.example:81"},
                {"mailto:u@h.example", ""}};
    PageDB *db = page_db_fixture_open("hosts");
    Arena arena;
    arena_init(&arena, 4096, SIZE_MAX / 2);
    MDB_txn *txn = begin(db);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PageNode node = {.url = rows[i].url, .length = strlen(rows[i].url)};
        MDB_val origin = {0, NULL};
        CU_ASSERT_EQUAL(page_node_find_host(&node, db->store, txn, &arena), 0);
        CU_ASSERT_EQUAL(node.host, i == 0 ? 0 : i - 1);
        CU_ASSERT_EQUAL(page_hosts_origin(db->store, txn, node.host, &origin), 0);
        CU_ASSERT_TRUE(origin.mv_size == strlen(rows[i].origin) &&
                       memcmp(origin.mv_data, rows[i].origin, origin.mv_size) == 0);
    }
    page_db_txn_abort(db, txn);
    arena_destroy(&arena);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void an_entry_moves_with_its_depth(void)
{
    PageDB *db = page_db_fixture_open("entries");
    MDB_txn *txn = begin(db);
    MDB_cursor *cursor = NULL;
    PageKey key = {.hash = UINT64_C(0x0000000700000009), .print = 12};
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(txn, db->store->tables.hash2idx, &cursor), 0);
    PageNode node = {.key = key, .index = 3, .depth = 300};
    CU_ASSERT_TRUE(page_node_has_new_entry(&node));
    CU_ASSERT_EQUAL(page_node_store_entry(cursor, &node), 0);
    /* As deep for the entry: it stays. */
    node = (PageNode){.key = key,
                      .index = 3,
                      .depth = 260,
                      .known = true,
                      .moved = true,
                      .stored_depth = PAGE_MAX_DEPTH8};
    CU_ASSERT_FALSE(page_node_has_new_entry(&node));
    node.depth = 5;
    CU_ASSERT_TRUE(page_node_has_new_entry(&node));
    CU_ASSERT_EQUAL(page_node_store_entry(cursor, &node), 0);
    PageSweep sweep = {.cursor = cursor};
    PageEntry entry;
    bool found = false;
    CU_ASSERT_EQUAL(page_sweep_find(&sweep, &key, &entry, &found), 0);
    CU_ASSERT_TRUE(found && entry.depth == 5 && entry.index == 3);
    size_t n = 0;
    CU_ASSERT_EQUAL(mdb_cursor_count(cursor, &n), 0);
    CU_ASSERT_EQUAL(n, 1);
    node.moved = false;
    CU_ASSERT_FALSE(page_node_has_new_entry(&node));
    node.stored_depth = 77; /* the table has another one */
    CU_ASSERT_EQUAL(page_node_store_entry(cursor, &node), MDB_CORRUPTED);
    mdb_cursor_close(cursor);
    page_db_txn_abort(db, txn);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

UNIT_MAIN("page_batch",
          {"each reference means the node of its URL", each_reference_means_the_node_of_its_url},
          {"URLs of one hash are told apart", urls_of_one_hash_are_told_apart},
          {"crawls have their nodes", crawls_have_their_nodes},
          {"a better path outlives the record", a_better_path_outlives_the_record},
          {"URLs of one origin have one host", urls_of_one_origin_have_one_host},
          {"an entry moves with its depth", an_entry_moves_with_its_depth})
