#include <stdio.h>
#include <string.h>

#include "parse/trap/trap.h"
#include "parse/url/url.h"
#include "ingest/batch/trap_yield.h"
#include "unit.h"

static TrapYield *table_of(uint32_t fetches, double yield, size_t patterns)
{
    TrapYield *table = NULL;
    TrapYieldOptions options = {.fetches = fetches, .yield = yield, .patterns = patterns};
    CU_ASSERT_EQUAL_FATAL(trap_yield_new(&table, &options), RESULT_OK);
    return table;
}

/* As a parsing thread and ingest do it. */
static bool note_page(TrapYield *table, const char *url, size_t length, bool is_new,
                      uint64_t content, TrapState *state, char *pattern, size_t size)
{
    Url parsed;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    TrapVisit visit = {.url = url, .is_new = is_new, .content = content};
    url_init(&parsed);
    CU_ASSERT_EQUAL_FATAL(url_parse(&parsed, NULL, url, length), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(trap_pattern_key(&parsed, &text, &visit.pattern), RESULT_OK);
    bool changed = trap_yield_note(table, &visit, state, pattern, size);
    url_destroy(&parsed);
    buffer_destroy(&text);
    return changed;
}

/* Notes n pages, their numbers behind the stem; true when the pattern was parked meanwhile. */
static bool note(TrapYield *table, const char *stem, unsigned first, unsigned n, bool is_new)
{
    char url[128];
    char pattern[128] = "";
    bool parked = false;
    for (unsigned i = first; i < first + n; i++) {
        (void)snprintf(url, sizeof url, "%s%u", stem, i);
        TrapState state = TRAP_FREE;
        parked |= note_page(table, url, strlen(url), is_new, 0, &state, pattern, sizeof pattern) &&
                  state == TRAP_PARKED;
    }
    return parked;
}

static bool is_parked(TrapYield *table, const char *url)
{
    return trap_yield_state(table, url, strlen(url)) == TRAP_PARKED;
}

static void a_pattern_without_new_content_is_parked_once(void)
{
    TrapYield *table = table_of(50, 0.1, 1000);
    char pattern[64] = "";
    CU_ASSERT_FALSE(note(table, "http://h/c?day=", 0, 49, false));
    CU_ASSERT_FALSE(is_parked(table, "http://h/c?day=77"));
    TrapState state = TRAP_FREE;
    CU_ASSERT_TRUE(
        note_page(table, "http://h/c?day=49", 17, false, 0, &state, pattern, sizeof pattern));
    CU_ASSERT_EQUAL(state, TRAP_PARKED);
    CU_ASSERT_STRING_EQUAL(pattern, "http://h/c?day=");
    CU_ASSERT_TRUE(is_parked(table, "http://h/c?day=77"));
    CU_ASSERT_FALSE(is_parked(table, "http://h/d?day=77"));
    CU_ASSERT_FALSE(is_parked(table, "http://g/c?day=77"));
    CU_ASSERT_FALSE(note(table, "http://h/c?day=", 50, 10, false));
    trap_yield_delete(table);
}

static TrapState state_of(TrapYield *table, const char *url)
{
    return trap_yield_state(table, url, strlen(url));
}

static void a_pattern_is_throttled_before_and_freed_by_new_content(void)
{
    TrapYield *table = table_of(50, 0.1, 1000);
    (void)note(table, "http://h/c?day=", 0, 24, false);
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_FREE);
    (void)note(table, "http://h/c?day=", 24, 1, false);
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_THROTTLED);
    CU_ASSERT_EQUAL(state_of(table, "http://h/d?day=77"), TRAP_FREE);
    (void)note(table, "http://h/c?day=", 25, 5, true);
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_FREE);
    (void)note(table, "http://h/c?day=", 30, 19, false);
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_FREE);
    (void)note(table, "http://h/c?day=", 49, 2, false); /* 5 of 51 are less than a tenth */
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_PARKED);
    (void)note(table, "http://h/c?day=", 51, 100, true);
    CU_ASSERT_EQUAL(state_of(table, "http://h/c?day=77"), TRAP_PARKED);
    trap_yield_delete(table);
}

static void the_same_contents_again_are_nothing_new(void)
{
    TrapYield *table = table_of(50, 0.1, 1000);
    TrapState state = TRAP_FREE;
    char pattern[128];
    char url[64];
    for (unsigned i = 0; i < 60; i++) { /* four pages, another session each time */
        int n = snprintf(url, sizeof url, "http://h/p?%u", i);
        (void)note_page(table, url, (size_t)n, true, 1 + i % 4, &state, pattern, sizeof pattern);
    }
    CU_ASSERT_EQUAL(state, TRAP_PARKED);
    for (unsigned i = 0; i < 60; i++) {
        int n = snprintf(url, sizeof url, "http://h/q?%u", i);
        (void)note_page(table, url, (size_t)n, true, i % 2 == 0 ? 0 : 1 + i, &state, pattern,
                        sizeof pattern);
    }
    CU_ASSERT_EQUAL(state, TRAP_FREE);
    trap_yield_delete(table);
}

static bool is_shared(SharedReader *reader, const char *address)
{
    Url url;
    Buffer text;
    url_init(&url);
    buffer_init(&text, 1000);
    CU_ASSERT_EQUAL(url_parse(&url, NULL, address, strlen(address)), RESULT_OK);
    bool has = trap_set_has(shared_get(reader), &url, &text);
    buffer_destroy(&text);
    url_destroy(&url);
    return has;
}

static void parked_patterns_are_shared(void)
{
    Shared parked;
    SharedReader reader;
    TrapYield *table = NULL;
    shared_init(&parked, trap_set_delete);
    shared_reader_open(&reader, &parked);
    TrapYieldOptions options = {.fetches = 10, .yield = 0.1, .patterns = 8, .parked = &parked};
    CU_ASSERT_EQUAL_FATAL(trap_yield_new(&table, &options), RESULT_OK);
    CU_ASSERT_FALSE(note(table, "http://h/c?day=", 0, 9, false));
    CU_ASSERT_PTR_NULL(shared_get(&reader));
    CU_ASSERT_TRUE(note(table, "http://h/c?day=", 9, 1, false));
    CU_ASSERT_TRUE(is_shared(&reader, "http://h/c?day=77"));
    CU_ASSERT_FALSE(is_shared(&reader, "http://h/d?day=77"));
    for (unsigned i = 0; i < 20; i++) {
        char stem[32];
        (void)snprintf(stem, sizeof stem, "http://h/%c?day=", (int)('e' + i));
        CU_ASSERT_TRUE(note(table, stem, 0, 10, false));
    }
    CU_ASSERT_EQUAL(trap_set_count(shared_get(&reader)), 8); /* no more than may be remembered */
    trap_yield_delete(table);
    shared_reader_close(&reader);
    shared_destroy(&parked);
}

/* The layouts of a calendar come in an order of their own: all of them are known after a while. */
static void a_few_dozen_contents_in_any_order_are_nothing_new(void)
{
    TrapYield *table = table_of(50, 0.1, 1000);
    TrapState state = TRAP_FREE;
    char pattern[128];
    char url[64];
    unsigned parked_at = 0;
    for (unsigned i = 0; i < 1000 && parked_at == 0; i++) {
        int n = snprintf(url, sizeof url, "http://h/%u/%u", 2000 + i / 12, i % 12);
        if (note_page(table, url, (size_t)n, true, 1 + 2 * (i * i % 1009 % 40), &state, pattern,
                      sizeof pattern) &&
            state == TRAP_PARKED) {
            parked_at = i;
        }
    }
    CU_ASSERT(parked_at >= 50 && parked_at < 500);
    state = TRAP_FREE;
    for (unsigned i = 0; i < 10000; i++) {
        int n = snprintf(url, sizeof url, "http://h/x/%u", i);
        (void)note_page(table, url, (size_t)n, true, (i + 1) * UINT64_C(0x100000001B3), &state,
                        pattern, sizeof pattern);
    }
    CU_ASSERT_EQUAL(state, TRAP_FREE);
    trap_yield_delete(table);
}

static void enough_new_content_keeps_a_pattern(void)
{
    TrapYield *table = table_of(50, 0.1, 1000);
    for (unsigned i = 0; i < 100; i++) { /* every tenth is new: just enough */
        CU_ASSERT_FALSE(note(table, "http://h/a/", 10 * i, 1, true));
        CU_ASSERT_FALSE(note(table, "http://h/a/", 10 * i + 1, 9, false));
    }
    CU_ASSERT_FALSE(is_parked(table, "http://h/a/5"));
    CU_ASSERT_TRUE(note(table, "http://h/a/", 5000, 100, false));
    trap_yield_delete(table);
}

static void a_full_table_forgets_rare_patterns_first(void)
{
    TrapYield *table = table_of(50, 0.1, 8);
    CU_ASSERT_TRUE(note(table, "http://h/trap/", 0, 50, false));
    CU_ASSERT_FALSE(note(table, "http://h/busy/", 0, 49, false));
    for (unsigned i = 0; i < 1000; i++) { /* letters: each is a pattern of its own */
        char url[64];
        char pattern[64];
        (void)snprintf(url, sizeof url, "http://h/%c%c%c", (int)('g' + i % 10),
                       (int)('g' + i / 10 % 10), (int)('g' + i / 100));
        TrapState state = TRAP_FREE;
        CU_ASSERT_FALSE(
            note_page(table, url, strlen(url), true, 0, &state, pattern, sizeof pattern));
    }
    CU_ASSERT_TRUE(is_parked(table, "http://h/trap/99"));
    CU_ASSERT_TRUE(note(table, "http://h/busy/", 49, 1, false));
    trap_yield_delete(table);
}

UNIT_MAIN("trap_yield",
          {"a pattern without new content is parked, once",
           a_pattern_without_new_content_is_parked_once},
          {"a pattern is throttled before, and freed by new content",
           a_pattern_is_throttled_before_and_freed_by_new_content},
          {"the same contents again are nothing new", the_same_contents_again_are_nothing_new},
          {"parked patterns are shared", parked_patterns_are_shared},
          {"a few dozen contents in any order are nothing new",
           a_few_dozen_contents_in_any_order_are_nothing_new},
          {"enough new content keeps a pattern", enough_new_content_keeps_a_pattern},
          {"a full table forgets rare patterns first", a_full_table_forgets_rare_patterns_first})
