/* Which numbers of a page count as a change (parse/text/numbers.h). */
#include "parse/text/numbers.h"

#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "unit.h"

typedef struct Visits {
    uint8_t history[NUMBERS_HISTORY_BYTES];
    size_t length;
} Visits;

static bool visit(Visits *visits, const char *text)
{
    NumberList numbers = {.n = 0};
    numbers_add(&numbers, text, strlen(text));
    return numbers_learn(&numbers, visits->history, &visits->length);
}

static uint64_t content(const Visits *visits)
{
    return numbers_mix(7, visits->history, visits->length);
}

static void numbers_are_words_with_digits(void)
{
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        {"costs 19.99 EUR", "costs 24.99 EUR", false},
        {"costs 19.99 EUR", "costs 19.99 USD", true},
        {"costs (19.99).", "costs (19.99)!", true},
        {"in stock: 5", "in stock: 0", false},
        {"a&#8364;b 5", "a&#8365;b 5", true},
        {"1 2 3", "1 2 4", false},
        {"v1.2b", "v1.3b", false},
        {"no number", "no numbers", true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        NumberList a = {.n = 0};
        NumberList b = {.n = 0};
        numbers_add(&a, pairs[i].a, strlen(pairs[i].a));
        numbers_add(&b, pairs[i].b, strlen(pairs[i].b));
        CU_ASSERT_EQUAL(a.n, b.n);
        CU_ASSERT_EQUAL(memcmp(a.list, b.list, sizeof a.list) == 0, pairs[i].same);
    }
}

static void a_price_counts_and_a_counter_does_not(void)
{
    Visits visits = {.length = 0};
    char text[128];
    uint64_t first = 0;
    for (int n = 0; n < 40; n++) {
        (void)snprintf(text, sizeof text, "visitor number %d today. It costs %d.99, %d in stock",
                       1000 + n, n < 20 ? 19 : 24, n < 30 ? 5 : 0);
        bool changed = visit(&visits, text);
        CU_ASSERT_EQUAL(changed, n == 20 || n == 30);
        first = n == 0 ? content(&visits) : first;
        CU_ASSERT_EQUAL(content(&visits) == first, n < 20);
    }
}

static void the_same_numbers_make_the_same_content(void)
{
    Visits visits = {.length = 0};
    CU_ASSERT_FALSE(visit(&visits, "price 5"));
    CU_ASSERT_FALSE(visit(&visits, "price 5"));
    CU_ASSERT_TRUE(visit(&visits, "price 6"));
    uint64_t after = content(&visits);
    CU_ASSERT_FALSE(visit(&visits, "price 6"));
    CU_ASSERT_EQUAL(content(&visits), after);
    CU_ASSERT_FALSE(visit(&visits, "")); /* the text has changed: that shows by itself */
    CU_ASSERT_EQUAL(content(&visits), after);
}

static void a_number_that_moves_keeps_its_past(void)
{
    Visits visits = {.length = 0};
    for (int n = 0; n < 4; n++) {
        CU_ASSERT_FALSE(visit(&visits, "first 1 the price 5"));
    }
    CU_ASSERT_FALSE(visit(&visits, "some news 77 first 1 the price 5"));
    CU_ASSERT_TRUE(visit(&visits, "some news 77 first 1 the price 6"));
}

static void damage_begins_anew(void)
{
    for (size_t length = 0; length <= NUMBERS_HISTORY_BYTES; length++) {
        Visits visits = {.length = length};
        memset(visits.history, 0xa5, length);
        CU_ASSERT_FALSE(visit(&visits, "price 5") && length % 5 != 1);
        CU_ASSERT_EQUAL(visits.length, 6);
    }
    char text[8 * NUMBERS_MAX * 2 + 1] = "";
    for (unsigned i = 0; i < 2 * NUMBERS_MAX; i++) {
        memcpy(text + (size_t)i * 8, "ab 1234 ", 9);
    }
    Visits visits = {.length = 0};
    CU_ASSERT_FALSE(visit(&visits, text));
    CU_ASSERT_EQUAL(visits.length, NUMBERS_HISTORY_BYTES);
}

/* A thousand pages with a counter, a clock, a price and a stock, 30 visits each: how many of the
 * changes that are told are those of price and stock, and how many of these are told. */
static void precision_and_recall(void)
{
    unsigned told = 0, right = 0, all = 0;
    for (uint64_t page = 0; page < 1000; page++) {
        Visits visits = {.length = 0};
        unsigned price = 20, stock = 5;
        unsigned every = 3 + (unsigned)(page % 20); /* visits between two changes, in the mean */
        for (uint64_t n = 0; n < 30; n++) {
            uint64_t chance = hash_mix(page * 31 + n);
            bool moves = n > 0 && chance % every == 0;
            price += moves && chance >> 32 & 1 ? 1 : 0;
            stock += moves && !(chance >> 32 & 1) ? 1 : 0;
            char text[160];
            (void)snprintf(text, sizeof text, "now 12:%02u visits %u price %u.99 left %u",
                           (unsigned)(n * 7 % 60), (unsigned)(500 + n), price, stock);
            bool changed = visit(&visits, text);
            told += changed;
            right += changed && moves;
            all += moves;
        }
    }
    printf("# of %u changes told %u are right; there were %u\n", told, right, all);
    CU_ASSERT_TRUE(right >= 0.99 * told);
    CU_ASSERT_TRUE(right >= 0.9 * all);
}

UNIT_MAIN("numbers", {"numbers are words with digits", numbers_are_words_with_digits},
          {"a price counts, and a counter does not", a_price_counts_and_a_counter_does_not},
          {"the same numbers make the same content", the_same_numbers_make_the_same_content},
          {"a number that moves keeps its past", a_number_that_moves_keeps_its_past},
          {"damage begins anew", damage_begins_anew},
          {"precision and recall", precision_and_recall})
