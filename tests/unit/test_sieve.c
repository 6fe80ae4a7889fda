#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "base/core/hash.h"
#include "base/thread/log.h"
#include "frontier/sieve/sieve.h"
#include "store_fixture.h"
#include "folder_fixture.h"
#include "unit.h"

/* The sieve against a naive model: the same pages and links, given to a second database link by
 * link (page_db_discover) when the sieve has merged them. */

#define URLS      600u
#define HOSTS     23u
#define MAX_LINKS 24u
#define MAX_PAGES 700u
#define LATER     400u /* pages that a generation may hold in these tests */

typedef struct Crawled {
    unsigned page; /* number of its URL */
    unsigned links[MAX_LINKS];
    uint8_t hops[MAX_LINKS];
    float scores[MAX_LINKS];
    size_t n_links;
    uint64_t depth; /* when it was crawled */
} Crawled;

typedef struct Model {
    StoreFixture real;
    StoreFixture naive;
    Sieve *sieve;
    SieveOptions options;
    char directory[128];
    uint64_t seed;
    Crawled later[LATER]; /* in the sieve */
    size_t n_later;
    uint16_t (*edges)[URLS]; /* expected: how often from links to to */
    bool mixed;              /* batches wrote links themselves during a merge: order is not told */
    int64_t ms;
} Model;

static uint64_t draw(Model *m, uint64_t below)
{
    m->seed = hash_mix(m->seed + UINT64_C(0x9E3779B97F4A7C15));
    return m->seed % below;
}

static char *url_of(unsigned number, char text[128])
{
    (void)snprintf(text, 128, "http://h%u.example/%s%u", (unsigned)(hash_mix(number) % HOSTS),
                   number % 7 == 0 ? "a/long/folder/with/a/long/name/for/a/long/record/" : "",
                   number);
    return text;
}

static MonoTime time_of(const Model *m)
{
    return (MonoTime){m->ms * 1000000};
}

static void open_sieve(Model *m)
{
    m->options.db = m->real.store.db;
    m->options.crawl = m->real.store.crawl;
    MDB_txn *txn = store_fixture_begin(&m->real, true);
    CU_ASSERT_EQUAL_FATAL(sieve_open(&m->sieve, &m->options, txn), RESULT_OK);
    page_db_txn_abort(m->real.store.db, txn);
}

static Model *set_up(uint64_t seed)
{
    Model *m = calloc(1, sizeof *m);
    log_set_level(LOG_LEVEL_ERROR);
    m->edges = calloc(URLS, sizeof *m->edges);
    m->seed = seed;
    store_fixture_open(&m->real);
    store_fixture_open(&m->naive);
    (void)snprintf(m->directory, sizeof m->directory, "%s.sieve", m->real.path);
    m->options = (SieveOptions){.directory = m->directory,
                                .memory_bytes = SIEVE_LEAST_MEMORY,
                                .max_age_ms = 1000,
                                .buckets = 1u << draw(m, 7)};
    open_sieve(m);
    return m;
}

static void tear_down(Model *m)
{
    sieve_close(m->sieve);
    store_fixture_close(&m->real, true);
    store_fixture_close(&m->naive, true);
    folder_remove(m->directory);
    free(m->edges);
    free(m);
}

static int on_discovered(void *context, const PageRef *page, PageState *state)
{
    StoreFixtureLevel *l = context;
    l->level = (uint8_t)(page->depth > 15 ? 15 : page->depth);
    return store_fixture_schedule(context, page, state);
}

static PageSink sink_of(StoreFixtureLevel *level)
{
    return (PageSink){.context = level, .discovered = on_discovered};
}

static uint64_t find(StoreFixture *fixture, unsigned number)
{
    char text[128];
    uint64_t index = PAGE_DB_NO_INDEX;
    MDB_txn *txn = store_fixture_begin(fixture, true);
    (void)url_of(number, text);
    (void)page_db_find(fixture->store.db, txn, text, strlen(text), &index);
    page_db_txn_abort(fixture->store.db, txn);
    return index;
}

static PageRef get(StoreFixture *fixture, MDB_txn *txn, uint64_t index, Buffer *url)
{
    PageRef ref = {.index = PAGE_DB_NO_INDEX};
    CU_ASSERT_EQUAL_FATAL(page_db_get(fixture->store.db, txn, index, &ref, url), 0);
    return ref;
}

static void seed_both(Model *m, unsigned number)
{
    char text[128];
    for (int i = 0; i < 2; i++) {
        StoreFixture *fixture = i == 0 ? &m->real : &m->naive;
        StoreFixtureLevel level = {.fixture = fixture};
        PageSink sink = sink_of(&level);
        LinkInfo link = {.url = url_of(number, text), .score = 1};
        level.txn = store_fixture_begin(fixture, false);
        CU_ASSERT_EQUAL(page_db_discover(fixture->store.db, level.txn, &link, NULL, 1,
                                         PAGE_DB_NO_INDEX, 0, &sink),
                        0);
        store_fixture_commit(fixture, level.txn);
    }
}

/* ---- what both are given -------------------------------------------------------------------- */

typedef struct Parcel { /* a Crawled page as PageDB and the sieve want it */
    char texts[MAX_LINKS + 1][128];
    LinkInfo infos[MAX_LINKS];
    PageLinks links;
    CrawledPage page;
    PageWrite write;
} Parcel;

static void pack(const Crawled *crawled, Parcel *parcel)
{
    for (size_t i = 0; i < crawled->n_links; i++) {
        parcel->infos[i] = (LinkInfo){.url = url_of(crawled->links[i], parcel->texts[i]),
                                      .score = crawled->scores[i]};
    }
    parcel->links = (PageLinks){.link_info = parcel->infos, .n_links = crawled->n_links};
    parcel->page = (CrawledPage){
        .url = url_of(crawled->page, parcel->texts[MAX_LINKS]), .links = &parcel->links, .time = 1};
    parcel->write = (PageWrite){.page = &parcel->page, .link_hops = crawled->hops, .status = 200};
}

static Crawled random_page(Model *m, unsigned number)
{
    Crawled crawled = {.page = number, .n_links = draw(m, MAX_LINKS)};
    for (size_t i = 0; i < crawled.n_links; i++) {
        /* A few are linked from everywhere. */
        crawled.links[i] = (unsigned)draw(m, draw(m, 3) == 0 ? 9 : URLS);
        crawled.hops[i] = draw(m, 5) == 0 ? 'R' : 'L';
        crawled.scores[i] = (float)draw(m, 100) / 100;
    }
    return crawled;
}

static void expect_edges(Model *m, const Crawled *crawled)
{
    memset(m->edges[crawled->page], 0, sizeof m->edges[0]);
    for (size_t i = 0; i < crawled->n_links; i++) {
        m->edges[crawled->page][crawled->links[i]]++;
    }
}

/* The links of a page, one by one, into the naive database. */
static void discover_naively(Model *m, const Crawled *crawled)
{
    StoreFixtureLevel level = {.fixture = &m->naive};
    PageSink sink = sink_of(&level);
    Parcel parcel;
    uint64_t from = find(&m->naive, crawled->page);
    pack(crawled, &parcel);
    level.txn = store_fixture_begin(&m->naive, false);
    for (size_t i = 0; i < crawled->n_links; i++) {
        CU_ASSERT_EQUAL(page_db_discover(m->naive.store.db, level.txn, &parcel.infos[i],
                                         &crawled->hops[i], 1, from, crawled->depth + 1, &sink),
                        0);
    }
    store_fixture_commit(&m->naive, level.txn);
}

static void crawl_naively(Model *m, const Crawled *crawled)
{
    Parcel parcel;
    Crawled alone = *crawled;
    alone.n_links = 0;
    pack(&alone, &parcel);
    MDB_txn *txn = store_fixture_begin(&m->naive, false);
    CU_ASSERT_EQUAL(page_db_write(m->naive.store.db, txn, &parcel.write, 1, NULL), 0);
    store_fixture_commit(&m->naive, txn);
}

/* ---- one batch ------------------------------------------------------------------------------ */

/* The depths of the pages of a batch as their own links were judged by: a page later in the batch
 * may move an earlier one up. */
typedef struct Depths {
    StoreFixtureLevel level; /* first: what on_discovered is told */
    uint64_t of[8];
    size_t n;
} Depths;

static int on_crawled(void *context, const PageRef *before, const PageRef *after, uint8_t *level)
{
    Depths *depths = context;
    (void)before;
    *level = PAGE_DB_NO_LEVEL;
    depths->of[depths->n++] = after->depth;
    return 0;
}

static void crash(Model *m)
{
    sieve_close(m->sieve);
    open_sieve(m);
}

/* Writes pages as ingest does: page_db_write, the links of some to the sieve, one commit. */
static void apply(Model *m, Crawled *pages, size_t n, bool later)
{
    enum { BATCH = 8 };
    static Parcel parcels[BATCH];
    PageWrite writes[BATCH];
    SieveTicket tickets[BATCH] = {{0}};
    bool done = false;
    for (size_t i = 0; i < n; i++) {
        pack(&pages[i], &parcels[i]);
        writes[i] = parcels[i].write;
        writes[i].links_later = later;
    }
    while (!done) {
        Depths depths = {.level = {.fixture = &m->real}};
        PageSink sink = sink_of(&depths.level);
        sink.crawled = on_crawled;
        MDB_txn *txn = depths.level.txn = store_fixture_begin(&m->real, false);
        CU_ASSERT_EQUAL(page_db_write(m->real.store.db, txn, writes, n, &sink), 0);
        Buffer url;
        buffer_init(&url, BUFFER_NO_LIMIT);
        for (size_t i = 0; i < n; i++) {
            uint64_t index = 0;
            CU_ASSERT_EQUAL(page_db_find(m->real.store.db, txn, parcels[i].page.url,
                                         strlen(parcels[i].page.url), &index),
                            0);
            PageRef ref = get(&m->real, txn, index, &url);
            pages[i].depth = depths.of[i];
            SievePage page = {.index = index,
                              .hash = ref.hash,
                              .depth = ref.depth,
                              .url = parcels[i].page.url,
                              .links = parcels[i].infos,
                              .hops = pages[i].hops,
                              .n_links = pages[i].n_links};
            if (writes[i].links_later) {
                CU_ASSERT_EQUAL(sieve_add(m->sieve, &page, &tickets[i], time_of(m)), RESULT_OK);
            }
        }
        buffer_destroy(&url);
        CU_ASSERT_EQUAL(sieve_save(m->sieve, txn), RESULT_OK);
        switch (draw(m, 12)) {
        case 0: /* a crash before the commit */
            page_db_txn_abort(m->real.store.db, txn);
            crash(m);
            memset(tickets, 0, sizeof tickets);
            break;
        case 1: /* a full disk */
            page_db_txn_abort(m->real.store.db, txn);
            sieve_settle(m->sieve, false);
            break;
        case 2: /* a crash behind the commit */
            store_fixture_commit(&m->real, txn);
            crash(m);
            done = true;
            break;
        default:
            store_fixture_commit(&m->real, txn);
            sieve_settle(m->sieve, true);
            done = true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        crawl_naively(m, &pages[i]);
        expect_edges(m, &pages[i]);
        if (!later) {
            discover_naively(m, &pages[i]);
        } else {
            CU_ASSERT_FATAL(m->n_later < LATER);
            m->later[m->n_later++] = pages[i];
        }
    }
}

/* ---- merging -------------------------------------------------------------------------------- */

/* One piece; the naive database follows when a generation is done. */
static void merge_piece(Model *m)
{
    StoreFixtureLevel level = {.fixture = &m->real};
    PageSink sink = sink_of(&level);
    level.txn = store_fixture_begin(&m->real, false);
    /* No time at all: the smallest pieces there are; or all at once. */
    MonoTime until = draw(m, 3) > 0 ? (MonoTime){0} : MONO_NEVER;
    CU_ASSERT_EQUAL(sieve_merge(m->sieve, level.txn, &sink, until), RESULT_OK);
    CU_ASSERT_EQUAL(sieve_save(m->sieve, level.txn), RESULT_OK);
    switch (draw(m, 60)) {
    case 0:
        page_db_txn_abort(m->real.store.db, level.txn);
        crash(m);
        break;
    case 1:
        page_db_txn_abort(m->real.store.db, level.txn);
        sieve_settle(m->sieve, false);
        break;
    case 2:
        store_fixture_commit(&m->real, level.txn);
        crash(m);
        break;
    default:
        store_fixture_commit(&m->real, level.txn);
        sieve_settle(m->sieve, true);
    }
}

static void merge_all(Model *m)
{
    unsigned pieces = 0;
    while (sieve_holds(m->sieve) && pieces++ < 3000) {
        merge_piece(m);
    }
    CU_ASSERT_FALSE_FATAL(sieve_holds(m->sieve));
    CU_ASSERT_EQUAL(sieve_due(m->sieve, true).ns, MONO_NEVER.ns);
    for (size_t i = 0; i < m->n_later; i++) {
        discover_naively(m, &m->later[i]);
    }
    m->n_later = 0;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void compare_page(Model *m, MDB_txn *real, MDB_txn *naive, uint64_t index, Buffer *url,
                         Buffer *other)
{
    PageRef r = get(&m->real, real, index, url);
    uint64_t there = 0;
    CU_ASSERT_EQUAL_FATAL(page_db_find(m->naive.store.db, naive, url->data, url->length, &there),
                          0);
    PageRef n = get(&m->naive, naive, there, other);
    CU_ASSERT_EQUAL(r.depth, n.depth);
    CU_ASSERT_EQUAL(r.hop, n.hop);
    CU_ASSERT_EQUAL(r.score, n.score);
    CU_ASSERT_EQUAL(r.level, n.level);
    CU_ASSERT_EQUAL(r.status, n.status);
    CU_ASSERT_EQUAL(r.n_crawls, n.n_crawls);
    CU_ASSERT_EQUAL(r.hash, n.hash);
    uint64_t from_real = r.linked_from, from_naive = n.linked_from;
    CU_ASSERT_EQUAL_FATAL(from_real == PAGE_DB_NO_INDEX, from_naive == PAGE_DB_NO_INDEX);
    if (from_real != PAGE_DB_NO_INDEX) {
        (void)get(&m->real, real, from_real, url);
        (void)get(&m->naive, naive, from_naive, other);
        CU_ASSERT_STRING_EQUAL(buffer_string(url), buffer_string(other));
    }
}

static void compare_links(Model *m, MDB_txn *txn, unsigned from, Buffer *url)
{
    char text[128];
    (void)url_of(from, text);
    uint64_t index = 0, *to = NULL;
    size_t n = 0, n_diff = 0, expected = 0;
    if (page_db_find(m->real.store.db, txn, text, strlen(text), &index) != 0) {
        return;
    }
    CU_ASSERT_EQUAL(page_db_get_links(m->real.store.db, txn, index, &to, &n, &n_diff), 0);
    uint16_t left[URLS];
    memcpy(left, m->edges[from], sizeof left);
    for (unsigned i = 0; i < URLS; i++) {
        expected += left[i];
    }
    CU_ASSERT_EQUAL(n, expected);
    for (size_t i = 0; i < n; i++) {
        PageRef ref = get(&m->real, txn, to[i], url);
        const char *digits = strrchr(buffer_string(url), '/') + 1;
        unsigned number = (unsigned)strtoul(digits, NULL, 10);
        CU_ASSERT_FATAL(number < URLS && left[number] > 0);
        left[number]--;
        bool same = hash_mix(number) % HOSTS == hash_mix(from) % HOSTS;
        CU_ASSERT_EQUAL(i < n_diff, !same);
        (void)ref;
    }
    free(to);
}

/* The schedules of both, as lists of URLs by host and level. */
static void compare_schedules(Model *m, MDB_txn *real, MDB_txn *naive, Buffer *url, Buffer *other)
{
    uint64_t entries = 0, expected = 0, hosts = 0;
    (void)schedule_counts(m->real.store.schedule, real, &entries, &hosts);
    (void)schedule_counts(m->naive.store.schedule, naive, &expected, &hosts);
    CU_ASSERT_EQUAL(entries, expected);
    for (uint32_t host = 0; host < hosts && !m->mixed; host++) {
        static ScheduleItem a[URLS], b[URLS];
        size_t n = 0, k = 0;
        uint32_t there = 0;
        CU_ASSERT_EQUAL(page_db_host_origin(m->real.store.db, real, host, url), 0);
        CU_ASSERT_EQUAL_FATAL(
            page_db_host_find(m->naive.store.db, naive, url->data, url->length, &there), 0);
        (void)schedule_head(m->real.store.schedule, real, host, NULL, a, URLS, &n);
        (void)schedule_head(m->naive.store.schedule, naive, there, NULL, b, URLS, &k);
        CU_ASSERT_EQUAL_FATAL(n, k);
        for (size_t i = 0; i < n; i++) {
            (void)get(&m->real, real, a[i].index, url);
            (void)get(&m->naive, naive, b[i].index, other);
            CU_ASSERT_EQUAL(a[i].level, b[i].level);
            CU_ASSERT_STRING_EQUAL(buffer_string(url), buffer_string(other));
        }
    }
}

static void compare(Model *m)
{
    Buffer url, other;
    buffer_init(&url, BUFFER_NO_LIMIT);
    buffer_init(&other, BUFFER_NO_LIMIT);
    MDB_txn *real = store_fixture_begin(&m->real, true);
    MDB_txn *naive = store_fixture_begin(&m->naive, true);
    uint64_t n = page_db_n_pages(m->real.store.db, real);
    CU_ASSERT_EQUAL_FATAL(n, page_db_n_pages(m->naive.store.db, naive));
    for (uint64_t i = 0; i < n; i++) {
        compare_page(m, real, naive, i, &url, &other);
    }
    for (unsigned i = 0; i < URLS; i++) {
        compare_links(m, real, i, &url);
    }
    compare_schedules(m, real, naive, &url, &other);
    page_db_txn_abort(m->real.store.db, real);
    page_db_txn_abort(m->naive.store.db, naive);
    buffer_destroy(&url);
    buffer_destroy(&other);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* A random page that both know. */
static unsigned known_page(Model *m)
{
    unsigned number = (unsigned)draw(m, URLS);
    while (find(&m->real, number) == PAGE_DB_NO_INDEX ||
           find(&m->naive, number) == PAGE_DB_NO_INDEX) {
        number = (number + 1) % URLS;
    }
    return number;
}

static void crawl_randomly(uint64_t seed, bool mixed)
{
    Model *m = set_up(seed);
    unsigned crawled = 0;
    m->mixed = mixed;
    for (unsigned i = 0; i < 5; i++) {
        seed_both(m, i * 100);
    }
    while (crawled < MAX_PAGES) {
        Crawled pages[4];
        size_t n = 1 + draw(m, 4);
        bool used[URLS] = {false};
        m->ms += 10;
        for (size_t i = 0; i < n; i++) {
            unsigned number = known_page(m);
            while (used[number]) {
                number = known_page(m);
            }
            used[number] = true;
            pages[i] = random_page(m, number);
        }
        crawled += (unsigned)n;
        bool later = draw(m, 4) > 0;
        if (!later && !mixed) {
            merge_all(m);
        }
        /* A page whose links are in the sieve is not written past it (ingest_batch.h). */
        apply(m, pages, n, later || m->n_later > 0);
        if (draw(m, 25) == 0 || m->n_later > LATER - 8) {
            merge_all(m);
            compare(m);
        } else if (mixed && draw(m, 3) == 0 && sieve_holds(m->sieve)) {
            merge_piece(m);
        }
    }
    merge_all(m);
    compare(m);
    SieveStats stats;
    sieve_stats(m->sieve, &stats);
    CU_ASSERT_EQUAL(stats.lost, 0);
    tear_down(m);
}

static void a_sieve_finds_what_a_naive_look_up_finds(void)
{
    unsigned runs = getenv("FULL") != NULL ? 100 : 4;
    for (unsigned i = 0; i < runs; i++) {
        crawl_randomly(i + 1, false);
    }
}

static void it_merges_beside_new_links(void)
{
    unsigned runs = getenv("FULL") != NULL ? 100 : 3;
    for (unsigned i = 0; i < runs; i++) {
        crawl_randomly(1000 + i, true);
    }
}

UNIT_MAIN("sieve",
          {"a sieve finds what a naive look-up finds", a_sieve_finds_what_a_naive_look_up_finds},
          {"it merges beside new links", it_merges_beside_new_links})
