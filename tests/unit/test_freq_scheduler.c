#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "base/core/hash.h"
#include "store/frequency/freq_scheduler.h"
#include "folder_fixture.h"
#include "unit.h"

typedef struct World {
    char dir[64];
    PageDB *db;
    FreqScheduler *sch;
} World;

static void world_open(World *w)
{
    const PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)1 << 32};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w->db, w->dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&w->sch, w->db, NULL), freq_scheduler_error_ok);
}

static void world_start(World *w)
{
    folder_make(w->dir);
    world_open(w);
}

static void world_close(World *w, int persist)
{
    w->sch->persist = persist;
    freq_scheduler_delete(w->sch);
    page_db_set_persist(w->db, persist);
    CU_ASSERT_EQUAL(page_db_delete(w->db), page_db_error_ok);
}

static void world_end(World *w)
{
    world_close(w, 0);
    folder_remove(w->dir);
}

static void crawl(World *w, const char *url, double time, uint32_t content)
{
    CrawledPage *page = crawled_page_new(url);
    page->time = time;
    (void)crawled_page_set_hash32(page, content);
    CU_ASSERT_EQUAL(freq_scheduler_add(w->sch, page), freq_scheduler_error_ok);
    crawled_page_delete(page);
}

/* Requests n times one URL; counts those that end with "/a", "/b", "/c". */
static void count(World *w, size_t n, size_t counts[3])
{
    memset(counts, 0, 3 * sizeof *counts);
    while (n > 0) {
        PageRequest *request = NULL;
        size_t ask = n < 10 ? n : 10;
        CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w->sch, ask, &request),
                              freq_scheduler_error_ok);
        CU_ASSERT_EQUAL(request->n_urls, ask);
        for (size_t i = 0; i < request->n_urls; i++) {
            char last = request->urls[i][strlen(request->urls[i]) - 1];
            if (last >= 'a' && last <= 'c') {
                counts[last - 'a']++;
            }
        }
        page_request_delete(request);
        n -= ask;
    }
}

static void visits_are_in_the_ratio_of_frequencies(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 1.0, 1);
    crawl(&w, "http://x/b", 1.0, 1);
    crawl(&w, "http://x/c", 1.0, 1);
    MMapArray *freqs = NULL;
    (void)mmap_array_new(&freqs, NULL, 53, sizeof(PageFreq));
    const char *urls[] = {"http://x/a", "http://x/b", "http://x/c"};
    for (size_t i = 0; i < 53; i++) {
        PageFreq freq = {hash_mix(i + 1), 0.3f}; /* unknown pages are skipped */
        if (i < 3) {
            freq = (PageFreq){page_db_hash(urls[i]), 0.1f * (float)(1 << i)};
        }
        (void)mmap_array_set(freqs, i, &freq);
    }
    CU_ASSERT_EQUAL(freq_scheduler_load_mmap(w.sch, freqs), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_load_mmap(w.sch, freqs), freq_scheduler_error_ok);
    (void)mmap_array_delete(freqs);
    uint64_t n_pages = 0;
    CU_ASSERT_EQUAL(freq_scheduler_count(w.sch, &n_pages), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(n_pages, 3);
    size_t counts[3];
    count(&w, 7000, counts);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 1000.0, 2.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[1], 2000.0, 2.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[2], 4000.0, 2.0);
    world_close(&w, 1); /* the clock is on disk */
    world_open(&w);
    count(&w, 700, counts);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[2], 400.0, 2.0);
    world_end(&w);
}

static void simple_loads_take_crawled_pages(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 0.0, 1);
    for (int i = 0; i < 4; i++) { /* five visits, four changes: page_info_rate is 5 / 100 s */
        crawl(&w, "http://x/a", 25.0 * (i + 1), (uint32_t)i + 2);
    }
    CrawledPage *page = crawled_page_new("http://x/b");
    page->time = 50.0;
    (void)crawled_page_add_link(page, "http://x/c",
                                1.0f); /* known and not crawled: is not loaded */
    CU_ASSERT_EQUAL(freq_scheduler_add(w.sch, page), freq_scheduler_error_ok);
    crawled_page_delete(page);
    crawl(&w, "_seed_0", 1.0, 1);
    size_t counts[3];
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 0.1f, -1.0f), freq_scheduler_error_ok);
    count(&w, 100, counts);
    CU_ASSERT_EQUAL(counts[0], 50);
    CU_ASSERT_EQUAL(counts[1], 50);
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 0.1f, 10.0f), freq_scheduler_error_ok);
    count(&w, 600, counts); /* 10 * 0.05 against 0.1 */
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 500.0, 2.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[1], 100.0, 2.0);
    w.sch->max_n_crawls = 5;
    count(&w, 10, counts); /* a has had its five */
    CU_ASSERT_EQUAL(counts[1], 10);
    world_end(&w);
}

static double fake_now(void *context)
{
    return *(double *)context;
}

/* A world whose time is what the test says. */
static void world_start_at(World *w, double *now_s, float margin)
{
    world_start(w);
    w->sch->now_s = fake_now;
    w->sch->now_context = now_s;
    w->sch->margin = margin;
}

static void a_margin_holds_requests_back(void)
{
    World w;
    double now_s = 1000.0;
    world_start_at(&w, &now_s, 1.0f);
    crawl(&w, "http://x/a", 995.0, 1);
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 0.05f, -1.0f), freq_scheduler_error_ok);
    PageRequest *request = NULL; /* twice as early as every 20 s is allowed */
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w.sch, 3, &request), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(request->n_urls, 0);
    page_request_delete(request);
    now_s = 1005.1;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w.sch, 1, &request), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(request->n_urls, 1);
    page_request_delete(request);
    world_end(&w);
}

/* How many URLs a request for ten gives. */
static size_t request_ten(World *w)
{
    PageRequest *request = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w->sch, 10, &request), freq_scheduler_error_ok);
    size_t n = request->n_urls;
    page_request_delete(request);
    return n;
}

static void a_page_that_is_due_is_handed_out_once(void)
{
    World w;
    double now_s = 1000.0;
    world_start_at(&w, &now_s, 0.0f);
    crawl(&w, "http://x/a", 990.0, 1);
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 0.1f, -1.0f), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(request_ten(&w), 1);
    CU_ASSERT_EQUAL(request_ten(&w), 0);
    crawl(&w, "http://x/a", 1000.0, 2);
    CU_ASSERT_EQUAL(request_ten(&w), 0); /* it was crawled, and is not due */
    now_s = 1010.1;
    CU_ASSERT_EQUAL(request_ten(&w), 1);
    now_s = 1010.1 + FREQ_SCHEDULER_DEFAULT_LEASE_S;
    CU_ASSERT_EQUAL(request_ten(&w), 1); /* its lease has ended */
    world_end(&w);
}

/* For 1000 s, asked every step_s; expected: a page's visits. */
static void visits_are(double step_s, const double expected[3])
{
    static const char *const urls[] = {"http://x/a", "http://x/b", "http://x/c"};
    static const float freqs[] = {0.1f, 0.2f, 0.4f};
    size_t visits[3] = {0, 0, 0};
    World w;
    double now_s = 1000.0;
    world_start_at(&w, &now_s, 0.0f);
    MDB_cursor *cursor = NULL;
    for (unsigned i = 0; i < 3; i++) {
        crawl(&w, urls[i], 990.0, 1);
    }
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_cursor_open(w.sch, &cursor), freq_scheduler_error_ok);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash(urls[i]), freqs[i]),
                        freq_scheduler_error_ok);
    }
    CU_ASSERT_EQUAL(freq_scheduler_cursor_commit(w.sch, cursor), freq_scheduler_error_ok);
    for (unsigned step = 0; now_s < 2000.0; step++, now_s += step_s) {
        PageRequest *request = NULL;
        CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w.sch, 10, &request), freq_scheduler_error_ok);
        for (size_t i = 0; i < request->n_urls; i++) {
            unsigned page = (unsigned)(request->urls[i][9] - 'a');
            visits[page]++;
            crawl(&w, urls[page], now_s, step);
        }
        page_request_delete(request);
    }
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_DOUBLE_EQUAL((double)visits[i], expected[i], 0.03 * expected[i]);
    }
    world_end(&w);
}

static void pages_are_visited_as_often_as_is_due(void)
{
    visits_are(0.25, (const double[3]){100, 200, 400});
    /* Each second: the third, due after 2.5 s, is asked for after 3. */
    visits_are(1, (const double[3]){100, 200, 333});
}

static void a_cursor_and_an_add_do_not_wait_for_each_other(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 990.0, 1);
    MDB_cursor *cursor = NULL;
    MDB_cursor *second = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_cursor_open(w.sch, &cursor), freq_scheduler_error_ok);
    CrawledPage *page = crawled_page_new("http://x/b");
    CU_ASSERT_EQUAL(freq_scheduler_add(w.sch, page), freq_scheduler_error_locked);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error_message(w.sch->error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error_message(w.sch->error), "cursor_open"));
    CU_ASSERT_EQUAL(freq_scheduler_cursor_open(w.sch, &second), freq_scheduler_error_locked);
    freq_scheduler_cursor_abort(w.sch, cursor);
    CU_ASSERT_EQUAL(freq_scheduler_add(w.sch, page), freq_scheduler_error_ok);
    crawled_page_delete(page);
    world_end(&w);
}

static void the_virtual_clock_stays_exact(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 1.0, 1);
    crawl(&w, "http://x/b", 1.0, 1);
    MDB_cursor *cursor = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_cursor_open(w.sch, &cursor), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash("http://x/a"), 1e-9f),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_commit(w.sch, cursor), freq_scheduler_error_ok);
    size_t counts[3];
    count(&w, 1000, counts); /* the clock stands at 10^12 s */
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_cursor_open(w.sch, &cursor), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash("http://x/a"), 10.0f),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash("http://x/b"), 20.0f),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash("http://x/b"), NAN),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, 12345, 20.0f),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_commit(w.sch, cursor), freq_scheduler_error_ok);
    count(&w, 3000, counts);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 1000.0, 5.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[1], 2000.0, 5.0);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_cursor_open(w.sch, &cursor), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq_scheduler_cursor_write(w.sch, cursor, page_db_hash("http://x/a"), 1e6f),
                    freq_scheduler_error_ok);
    freq_scheduler_cursor_abort(w.sch, cursor);
    count(&w, 3000, counts);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 1000.0, 5.0);
    world_end(&w);
}

static void no_page_is_too_frequent_for_the_clock(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 1.0, 1);
    crawl(&w, "http://x/b", 1.0, 1);
    crawl(&w, "http://x/c", 1.0, 1);
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 1e-10f, -1.0f), freq_scheduler_error_ok);
    size_t counts[3];
    count(&w, 300, counts); /* the clock stands at 10^12 s */
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(w.sch, 1e30f, -1.0f), freq_scheduler_error_ok);
    count(&w, 300, counts);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_DOUBLE_EQUAL((double)counts[i], 100.0, 2.0);
    }
    world_end(&w);
}

static void rules_decide_by_expression(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://news.x/a", 0.0, 1);
    crawl(&w, "http://news.x/a", 100.0, 2);
    crawl(&w, "http://x/b", 0.0, 1);
    crawl(&w, "http://x/c", 0.0, 1);
    const char text[] = "# often\n\n  news\\.x/  10s\n.*/b$ 40\r\nnobody x2\n/c x3\n";
    FreqRules *rules = NULL;
    size_t line = 0;
    char why[FREQ_RULES_WHY_BYTES] = "";
    CU_ASSERT_EQUAL_FATAL(freq_rules_new(&rules, text, strlen(text), &line, why), RESULT_OK);
    uint64_t n_loaded = 0;
    CU_ASSERT_EQUAL(freq_scheduler_load_rules(w.sch, rules, -1.0f, &n_loaded),
                    freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(n_loaded, 2); /* the change rate of c is not known */
    size_t counts[3];
    count(&w, 500, counts);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 400.0, 2.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[1], 100.0, 2.0);
    freq_rules_delete(rules);
    world_end(&w);
}

static void bad_rules_are_refused_with_their_line(void)
{
    const struct {
        const char *text;
        size_t line;
    } bad[] = {{"a 1\n(b 2\n", 2},  {"a\n", 1},   {"a 1\n\nb zero", 3}, {"a -5", 1},
               {"a 5w", 1},         {"a x0", 1},  {"a x2s", 1},         {"a 1 x\n", 1},
               {"a 1\nb inf\n", 2}, {"a 5ss", 1}, {"a 1e-300", 1},      {"a 1e300d", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FreqRules *rules = NULL;
        size_t line = 0;
        char why[FREQ_RULES_WHY_BYTES] = "";
        CU_ASSERT_EQUAL(freq_rules_new(&rules, bad[i].text, strlen(bad[i].text), &line, why),
                        RESULT_INVALID);
        CU_ASSERT_EQUAL(line, bad[i].line);
        CU_ASSERT(why[0] != '\0');
        CU_ASSERT_PTR_NULL(rules);
    }
}

static void change_rates_are_estimated_without_bias(void)
{
    CU_ASSERT(freq_change_rate(1, 0, 5.0, 5.0) < 0.0);
    CU_ASSERT(freq_change_rate(2, 1, 5.0, 5.0) < 0.0);
    CU_ASSERT_DOUBLE_EQUAL(freq_change_rate(101, 0, 0.0, 100.0), 0.005 / 1.0, 0.005);
    uint64_t seed = 1;
    const double rates[] = {0.05, 0.5, 1.5}; /* per visit */
    for (size_t r = 0; r < 3; r++) {
        double sum = 0;
        for (int page = 0; page < 400; page++) {
            uint64_t changes = 0;
            for (int visit = 0; visit < 60; visit++) {
                seed += UINT64_C(0x9E3779B97F4A7C15);
                double u = (double)(hash_mix(seed) >> 11) * 0x1p-53;
                changes += u > exp(-rates[r]);
            }
            sum += freq_change_rate(61, changes, 0.0, 60.0);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / 400, rates[r], 0.06 * rates[r]);
    }
}

static void pages_that_never_changed_have_their_rules(void)
{
    World w;
    world_start(&w);
    crawl(&w, "http://x/a", 0.0, 1);
    crawl(&w, "http://x/a", 50.0, 1);
    crawl(&w, "http://x/b", 0.0, 1);
    FreqRules *rules = NULL;
    size_t line = 0;
    CU_ASSERT_EQUAL_FATAL(freq_rules_new(&rules, "x x2\n", 5, &line, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(freq_scheduler_load_rules(w.sch, rules, 0.005f, NULL), freq_scheduler_error_ok);
    size_t counts[3];
    count(&w, 500, counts); /* twice half a change in 50 s, against the default */
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 400.0, 2.0);
    CU_ASSERT_DOUBLE_EQUAL((double)counts[1], 100.0, 2.0);
    freq_rules_delete(rules);
    world_end(&w);
}

static void counted_changes_are_followed(void)
{
    World w;
    world_start(&w);
    for (int i = 0; i < 20; i++) {
        crawl(&w, "http://x/a", 10.0 * i, (uint32_t)i); /* changes each time */
        crawl(&w, "http://x/b", 10.0 * i, (uint32_t)(i / 10));
    }
    size_t counts[3];
    MMapArray *freqs = NULL;
    char *words = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_algo_simple(w.db, &freqs, NULL, &words), freq_scheduler_error_ok);
    CU_ASSERT_PTR_NULL(words);
    CU_ASSERT_EQUAL(freqs->n_elements, 2);
    CU_ASSERT_EQUAL(freq_scheduler_load_mmap(w.sch, freqs), freq_scheduler_error_ok);
    count(&w, 220, counts); /* 20 / 190 s against 2 / 190 s */
    CU_ASSERT_DOUBLE_EQUAL((double)counts[0], 200.0, 3.0);
    (void)mmap_array_delete(freqs);
    char *dump = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&dump, &length);
    CU_ASSERT_EQUAL(freq_scheduler_dump(w.sch, memory), freq_scheduler_error_ok);
    (void)fclose(memory);
    char expected[32];
    (void)snprintf(expected, sizeof expected, " %016llx ",
                   (unsigned long long)page_db_hash("http://x/b"));
    CU_ASSERT_PTR_NOT_NULL(strstr(dump, expected));
    free(dump);
    world_end(&w);
}

UNIT_MAIN("freq_scheduler",
          {"visits are in the ratio of frequencies", visits_are_in_the_ratio_of_frequencies},
          {"simple loads take crawled pages", simple_loads_take_crawled_pages},
          {"a margin holds requests back", a_margin_holds_requests_back},
          {"a page that is due is handed out once", a_page_that_is_due_is_handed_out_once},
          {"pages are visited as often as is due", pages_are_visited_as_often_as_is_due},
          {"a cursor and an add do not wait for each other",
           a_cursor_and_an_add_do_not_wait_for_each_other},
          {"the virtual clock stays exact", the_virtual_clock_stays_exact},
          {"no page is too frequent for the clock", no_page_is_too_frequent_for_the_clock},
          {"rules decide by expression", rules_decide_by_expression},
          {"bad rules are refused with their line", bad_rules_are_refused_with_their_line},
          {"change rates are estimated without bias", change_rates_are_estimated_without_bias},
          {"pages that never changed have their rules", pages_that_never_changed_have_their_rules},
          {"counted changes are followed", counted_changes_are_followed})
