/* Merges of links against the same links written as a batch: what the tables hold, and what the
 * sink is told. The test is the Drum. */
#include "frontier/sieve/page_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "page_db_fixture.h"
#include "store/pages/page_db_read.h"

enum { URLS = 60, MOST_LINKS = 40, ROUNDS = 60, CALLS = 4 * MOST_LINKS };

/* What a sink was told. */
typedef struct Call {
    char kind; /* 'd' discovered, 'i' improved */
    uint64_t index;
    uint64_t depth;
    uint64_t linked_from;
    uint8_t hop;
} Call;

typedef struct Ear {
    Call calls[CALLS];
    size_t n;
    size_t stops_at; /* the call that stops the merge; 0: none does */
} Ear;

static int ear_hear(Ear *ear, char kind, const PageRef *page)
{
    CU_ASSERT_FATAL(ear->n < CALLS);
    ear->calls[ear->n++] = (Call){.kind = kind,
                                  .index = page->index,
                                  .depth = page->depth,
                                  .linked_from = page->linked_from,
                                  .hop = page->hop};
    return ear->n == ear->stops_at;
}

static int on_discovered(void *context, const PageRef *page, PageState *state)
{
    *state = (PageState){.level = (uint8_t)(page->depth % 7), .flags = (uint8_t)(page->index % 5)};
    return ear_hear(context, 'd', page);
}

static int on_improved(void *context, const PageRef *page)
{
    return ear_hear(context, 'i', page);
}

static PageSink sink_of(Ear *ear)
{
    return (PageSink){.context = ear, .discovered = on_discovered, .improved = on_improved};
}

/* ---- links ---- */

typedef struct Links {
    char urls[MOST_LINKS][64];
    PageDiscovery found[MOST_LINKS];
    size_t n;
} Links;

static void url_number(unsigned number, char out[64])
{
    static const char *const prefixes[] = {"http://h", "https://h", "http://u:p@h", "ftp://h"};
    (void)snprintf(out, 64, "%s%u.example/%u", prefixes[number % 4], number % 5, number);
}

/* Depths around those that an entry of hash2idx has no room for. */
static uint64_t some_depth(Dice *dice)
{
    static const uint64_t least[] = {0, PAGE_MAX_DEPTH8 - 3, PAGE_MAX_DEPTH8 - 3, 300, 1u << 20};
    return least[dice_below(dice, 5)] + dice_below(dice, 4);
}

static void draw_links(Dice *dice, Links *links)
{
    links->n = dice_below(dice, MOST_LINKS + 1);
    for (size_t i = 0; i < links->n; i++) {
        url_number((unsigned)dice_below(dice, URLS), links->urls[i]);
        links->found[i] = (PageDiscovery){.url = links->urls[i],
                                          .length = strlen(links->urls[i]),
                                          .score = (float)dice_below(dice, 100),
                                          .hop = (uint8_t) "LRE"[dice_below(dice, 3)],
                                          .depth = some_depth(dice)};
    }
}

/* ---- the Drum ---- */

typedef struct Element {
    uint8_t key[PAGE_MERGE_KEY_BYTES];
    uint8_t value[PAGE_MERGE_VALUE_BYTES];
    bool is_new;
    bool is_numbered;
} Element;

static const PageDBStore *store_of(const PageDB *db)
{
    return db->store;
}

static int compare_elements(const void *a, const void *b)
{
    return memcmp(a, b, PAGE_MERGE_KEY_BYTES);
}

static PageMergeLink merge_link(const PageDiscovery *found)
{
    return (PageMergeLink){.from = {.index = PAGE_DB_NO_INDEX, .depth = found->depth},
                           .score = found->score,
                           .hop = found->hop,
                           .url = found->url,
                           .length = found->length};
}

/* The distinct keys of the links in their order, found or put; returns how many. */
static size_t look_up(PageMerge *merge, const PageDB *db, const Links *links, Element *elements)
{
    DrumRepository *repository = page_merge_repository(merge, (DrumProgress){0});
    Element sorted[MOST_LINKS];
    size_t n = 0;
    for (size_t i = 0; i < links->n; i++) {
        const PageDiscovery *found = &links->found[i];
        PageKey key = page_key_of(store_of(db), found->url, found->length);
        page_merge_key(&key, elements[i].key);
        PageKey again = page_merge_read_key(elements[i].key);
        CU_ASSERT_TRUE(again.hash == key.hash && again.print == key.print);
    }
    for (size_t i = 0; i < links->n; i++) {
        size_t j = 0;
        while (j < i && compare_elements(&elements[j], &elements[i]) != 0) {
            j++;
        }
        if (j == i) {
            sorted[n++] = elements[i];
        }
    }
    qsort(sorted, n, sizeof *sorted, compare_elements);
    for (size_t i = 0; i < n; i++) {
        DrumKey key = drum_key_bytes(sorted[i].key, sizeof sorted[i].key);
        DrumBytes value;
        Result rc = repository->find(repository, &key, &value);
        CU_ASSERT_TRUE(rc == RESULT_OK || rc == RESULT_NOT_FOUND);
        sorted[i].is_new = rc != RESULT_OK;
        sorted[i].is_numbered = false;
        if (rc == RESULT_OK) {
            CU_ASSERT_EQUAL_FATAL(value.length, sizeof sorted[i].value);
            memcpy(sorted[i].value, value.bytes, value.length);
        }
    }
    /* New ones are numbered in order of appearance. */
    for (size_t i = 0; i < links->n; i++) {
        Element *element = bsearch(&elements[i], sorted, n, sizeof *sorted, compare_elements);
        if (element != NULL && element->is_new && !element->is_numbered) {
            element->is_numbered = true;
            uint64_t depth = links->found[i].depth;
            uint8_t given = depth < PAGE_MAX_DEPTH8 ? (uint8_t)depth : (uint8_t)PAGE_MAX_DEPTH8;
            CU_ASSERT_EQUAL(page_merge_assign(merge, NULL, (DrumBytes){&given, 1}, element->value),
                            RESULT_OK);
        }
    }
    for (size_t i = 0; i < n; i++) {
        DrumKey key = drum_key_bytes(sorted[i].key, sizeof sorted[i].key);
        if (sorted[i].is_new) {
            DrumBytes value = {sorted[i].value, sizeof sorted[i].value};
            CU_ASSERT_EQUAL(repository->put(repository, &key, value, true), RESULT_OK);
        }
    }
    memcpy(elements, sorted, n * sizeof *sorted);
    return n;
}

/* One bucket that has all links. */
static Result merge_bucket(PageMerge *merge, const PageDB *db, const Links *links)
{
    Element elements[MOST_LINKS];
    size_t n = look_up(merge, db, links, elements);
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < links->n; i++) {
        Element wanted;
        PageKey key = page_key_of(store_of(db), links->found[i].url, links->found[i].length);
        PageMergeLink link = merge_link(&links->found[i]);
        page_merge_key(&key, wanted.key);
        Element *element = bsearch(&wanted, elements, n, sizeof *elements, compare_elements);
        if (element == NULL) {
            return RESULT_INTERNAL;
        }
        PageMergeValue value =
            page_merge_read_value((DrumBytes){element->value, sizeof element->value});
        rc = element->is_new ? page_merge_new_page(merge, &key, value, &link)
                             : page_merge_seen(merge, &key, value, &link);
        element->is_new = false;
    }
    return rc == RESULT_OK ? page_merge_flush(merge) : rc;
}

/* ---- two databases ---- */

typedef struct World {
    PageDB *merged;
    PageDB *batched;
    PageMerge *merge;
    Dice dice;
} World;

static void set_up(World *w, uint64_t seed)
{
    w->merged = page_db_fixture_open("merged");
    w->batched = page_db_fixture_open("batched");
    w->merge = page_merge_new(w->merged);
    w->dice.state = seed;
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->merge);
}

static void tear_down(World *w)
{
    page_merge_delete(w->merge);
    CU_ASSERT_EQUAL(page_db_delete(w->merged), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(w->batched), page_db_error_ok);
}

static MDB_txn *begin(PageDB *db, bool read_only)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, read_only, &txn), page_db_error_ok);
    return txn;
}

static void end(PageDB *db, MDB_txn *txn, bool really)
{
    if (really) {
        CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(db, txn), page_db_error_ok);
    } else {
        page_db_txn_abort(db, txn);
    }
}

/* What one database says of a page, told to be compared. */
static void describe(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *out)
{
    PageRef page;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    uint64_t *to = NULL;
    size_t n = 0;
    size_t n_diff = 0;
    uint64_t found = PAGE_DB_NO_INDEX;
    CU_ASSERT_EQUAL(page_db_get(db, txn, index, &page, &url), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_find(db, txn, page.url, page.url_length, &found), page_db_error_ok);
    CU_ASSERT_EQUAL(found, index);
    (void)buffer_printf(out, "%s %u %.3f %llu %llu %d %u %u %c %u %llu", page.url, page.host,
                        (double)page.score, (unsigned long long)page.depth,
                        (unsigned long long)page.linked_from, page.status, page.level, page.tries,
                        page.hop, page.flags, (unsigned long long)page.n_crawls);
    if (page_db_get_links(db, txn, index, &to, &n, &n_diff) == page_db_error_ok) {
        (void)buffer_printf(out, " %zu/%zu", n_diff, n);
        for (size_t i = 0; i < n; i++) {
            (void)buffer_printf(out, " %llu", (unsigned long long)to[i]);
        }
    }
    free(to);
    buffer_destroy(&url);
}

static void check_same(World *w)
{
    MDB_txn *a = begin(w->merged, true);
    MDB_txn *b = begin(w->batched, true);
    uint64_t n = page_db_n_pages(w->merged, a);
    CU_ASSERT_EQUAL_FATAL(n, page_db_n_pages(w->batched, b));
    for (uint64_t i = 0; i < n; i++) {
        Buffer one = {.limit = BUFFER_NO_LIMIT};
        Buffer other = {.limit = BUFFER_NO_LIMIT};
        describe(w->merged, a, i, &one);
        describe(w->batched, b, i, &other);
        CU_ASSERT_STRING_EQUAL(buffer_string(&one), buffer_string(&other));
        buffer_destroy(&one);
        buffer_destroy(&other);
    }
    end(w->merged, a, false);
    end(w->batched, b, false);
}

static void check_same_calls(const Ear *one, const Ear *other)
{
    CU_ASSERT_EQUAL_FATAL(one->n, other->n);
    for (size_t i = 0; i < one->n; i++) {
        const Call *a = &one->calls[i];
        const Call *b = &other->calls[i];
        CU_ASSERT_TRUE(a->kind == b->kind && a->index == b->index && a->depth == b->depth &&
                       a->linked_from == b->linked_from && a->hop == b->hop);
    }
}

/* A page of each database is crawled: its record grows. */
static void crawl_one(World *w)
{
    char url[64];
    url_number((unsigned)dice_below(&w->dice, URLS), url);
    PageDB *const dbs[] = {w->merged, w->batched};
    for (size_t i = 0; i < 2; i++) {
        CrawledPage *page = page_db_fixture_page(url, 1000, 0.5f, 7);
        CU_ASSERT_EQUAL(page_db_add(dbs[i], page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
}

static void a_merge_writes_what_a_batch_writes(void)
{
    World w;
    size_t n_discovered = 0;
    size_t n_improved = 0;
    set_up(&w, 25);
    for (unsigned round = 0; round < ROUNDS; round++) {
        Links links[2];
        Ear ears[2] = {{.n = 0}, {.n = 0}};
        PageSink sinks[] = {sink_of(&ears[0]), sink_of(&ears[1])};
        bool really = dice_below(&w.dice, 5) > 0;
        MDB_txn *a = begin(w.merged, false);
        MDB_txn *b = begin(w.batched, false);
        CU_ASSERT_EQUAL_FATAL(page_merge_begin(w.merge, a, false, &sinks[0]), RESULT_OK);
        for (size_t i = 0; i < 2; i++) { /* buckets of one transaction */
            draw_links(&w.dice, &links[i]);
            CU_ASSERT_EQUAL(merge_bucket(w.merge, w.merged, &links[i]), RESULT_OK);
            CU_ASSERT_EQUAL(
                page_db_discover_each(w.batched, b, links[i].found, links[i].n, &sinks[1]), 0);
        }
        CU_ASSERT_EQUAL(page_merge_end(w.merge, RESULT_OK), RESULT_OK);
        end(w.merged, a, really);
        end(w.batched, b, really);
        check_same_calls(&ears[0], &ears[1]);
        check_same(&w);
        for (size_t i = 0; i < ears[0].n; i++) {
            n_discovered += ears[0].calls[i].kind == 'd';
            n_improved += ears[0].calls[i].kind == 'i';
        }
        crawl_one(&w);
    }
    CU_ASSERT_TRUE(n_discovered >= URLS / 2);
    CU_ASSERT_TRUE(n_improved > 100);
    tear_down(&w);
}

/* ---- edges ---- */

static void lists_of_links_are_sorted_and_kept(void)
{
    static const uint64_t sorted[] = {0, 1, 3, 4, 5, 2};
    World w;
    set_up(&w, 1);
    for (unsigned i = 0; i < 6; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://h%u.example/", i);
        CrawledPage *page = page_db_fixture_page(url, 1, 0, 1);
        CU_ASSERT_EQUAL(page_db_add(w.merged, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
    MDB_txn *txn = begin(w.merged, false);
    uint64_t to[] = {5, 0, 4, 3, 1, 2}; /* the last one is the page itself */
    CU_ASSERT_EQUAL_FATAL(page_merge_begin(w.merge, txn, false, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(page_merge_put_links(w.merge, 1, NULL, 0, 0, false), RESULT_OK);
    CU_ASSERT_EQUAL(page_merge_put_links(w.merge, 2, to, 5, 6, false), RESULT_OK);
    CU_ASSERT_EQUAL(page_merge_end(w.merge, RESULT_OK), RESULT_OK);
    uint64_t *found = NULL;
    size_t n = 0;
    size_t n_diff = 0;
    CU_ASSERT_EQUAL(page_db_get_links(w.merged, txn, 2, &found, &n, &n_diff), page_db_error_ok);
    CU_ASSERT_TRUE_FATAL(n == 6 && n_diff == 5);
    CU_ASSERT_EQUAL(memcmp(found, sorted, sizeof sorted), 0);
    free(found);
    CU_ASSERT_EQUAL(page_db_get_links(w.merged, txn, 1, &found, &n, &n_diff), page_db_error_ok);
    CU_ASSERT_EQUAL(n, 0);
    free(found);
    end(w.merged, txn, true);
    tear_down(&w);
}

static void a_sink_can_stop_a_merge(void)
{
    World w;
    set_up(&w, 3);
    Links links = {.n = 2};
    for (size_t i = 0; i < 2; i++) {
        url_number(4, links.urls[i]);
        links.found[i] = (PageDiscovery){
            .url = links.urls[i], .length = strlen(links.urls[i]), .hop = 'L', .depth = 9 - i};
    }
    for (size_t stops_at = 1; stops_at <= 3; stops_at++) {
        Ear ear = {.stops_at = stops_at};
        PageSink sink = sink_of(&ear);
        MDB_txn *txn = begin(w.merged, false);
        CU_ASSERT_EQUAL(page_merge_begin(w.merge, txn, false, &sink), RESULT_OK);
        Result rc = merge_bucket(w.merge, w.merged, &links);
        CU_ASSERT_EQUAL(rc, stops_at < 3 ? RESULT_CLOSED : RESULT_OK);
        CU_ASSERT_EQUAL(page_merge_end(w.merge, rc), rc);
        CU_ASSERT_EQUAL(page_db_n_pages(w.merged, txn), stops_at < 3 ? 0 : 1);
        end(w.merged, txn, rc == RESULT_OK);
    }
    tear_down(&w);
}

static void what_a_repository_cannot_do_it_says(void)
{
    World w;
    set_up(&w, 4);
    PageKey page = {.hash = 77, .print = 5};
    uint8_t bytes[PAGE_MERGE_KEY_BYTES];
    uint8_t value[PAGE_MERGE_VALUE_BYTES] = {0};
    page_merge_key(&page, bytes);
    DrumKey key = drum_key_bytes(bytes, sizeof bytes);
    DrumBytes given = {value, sizeof value};
    DrumProgress wanted = {.generation = 8, .bucket = 9};
    DrumProgress progress = {0};
    DrumRepository *repository = page_merge_repository(w.merge, wanted);
    CU_ASSERT_EQUAL(repository->progress(repository, &progress), RESULT_OK);
    CU_ASSERT_TRUE(progress.generation == 8 && progress.bucket == 9);
    MDB_txn *txn = begin(w.merged, true);
    CU_ASSERT_EQUAL(page_merge_begin(w.merge, txn, true, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(repository->find(repository, &key, &given), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(repository->put(repository, &key, given, true), RESULT_INTERNAL);
    CU_ASSERT_EQUAL(page_merge_end(w.merge, RESULT_OK), RESULT_OK);
    end(w.merged, txn, false);
    txn = begin(w.merged, false);
    CU_ASSERT_EQUAL(page_merge_begin(w.merge, txn, false, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(repository->put(repository, &key, given, false), RESULT_INTERNAL);
    CU_ASSERT_EQUAL(page_merge_assign(w.merge, &key, (DrumBytes){value, 2}, value), RESULT_DAMAGED);
    /* A better path of a page that is not there. */
    PageMergeLink link = {.from = {.depth = 1}, .hop = 'L'};
    PageMergeValue deep = {.index = 40, .depth = 9};
    CU_ASSERT_EQUAL(page_merge_seen(w.merge, &page, deep, &link), RESULT_OK);
    CU_ASSERT_EQUAL(page_merge_flush(w.merge), RESULT_DAMAGED);
    CU_ASSERT_EQUAL(page_merge_end(w.merge, RESULT_DAMAGED), RESULT_DAMAGED);
    end(w.merged, txn, false);
    page_merge_delete(NULL);
    tear_down(&w);
}

UNIT_MAIN("page_merge", {"a merge writes what a batch writes", a_merge_writes_what_a_batch_writes},
          {"lists of links are sorted and kept", lists_of_links_are_sorted_and_kept},
          {"a sink can stop a merge", a_sink_can_stop_a_merge},
          {"what a repository cannot do it says", what_a_repository_cannot_do_it_says})
