#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/revisit_policy.h"
#include "folder_fixture.h"
#include "unit.h"

#define DAY 86400.0

static RevisitPolicy policy_of_days(double standard, double least, double most)
{
    return (RevisitPolicy){.default_s = standard * DAY,
                           .min_s = least * DAY,
                           .max_s = most * DAY,
                           .power = 0.5,
                           .margin = -1,
                           .tries = 3};
}

/* A page that was crawled every day for so many days. */
static PageRef page_of(uint64_t n_crawls, uint64_t n_changes)
{
    return (PageRef){.index = 5,
                     .url = "http://example.org/news/1",
                     .url_length = 25,
                     .n_crawls = n_crawls,
                     .n_changes = n_changes,
                     .first_crawl = 1.7e9,
                     .last_crawl = 1.7e9 + DAY * (double)(n_crawls - 1)};
}

static double days_of(const RevisitPolicy *policy, const PageRef *page, const RevisitNote *note)
{
    return revisit_policy_interval_s(policy, page, note, NULL) / DAY;
}

static void a_page_crawled_once_comes_within_the_default(void)
{
    RevisitPolicy policy = policy_of_days(8, 0.1, 100);
    RevisitNote note = {0};
    double least = 100;
    double most = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        PageRef page = page_of(1, 0);
        page.index = i;
        double days = days_of(&policy, &page, &note);
        least = fmin(least, days);
        most = fmax(most, days);
    }
    CU_ASSERT_TRUE(least >= 4 && least < 4.1);
    CU_ASSERT_TRUE(most <= 8 && most > 7.9);
}

static void pages_that_change_more_come_sooner(void)
{
    RevisitPolicy policy = policy_of_days(8, 0.1, 100);
    RevisitNote note = {0};
    double before = HUGE_VAL;
    for (uint64_t changes = 0; changes <= 10; changes++) {
        PageRef page = page_of(11, changes);
        double days = days_of(&policy, &page, &note);
        CU_ASSERT_TRUE(days < before);
        before = days;
    }
    /* A page that changes at every visit does not come ever faster. */
    PageRef restless = page_of(101, 100);
    CU_ASSERT_TRUE(days_of(&policy, &restless, &note) > 1);
}

static void the_interval_of_a_page_that_never_changes_grows(void)
{
    RevisitPolicy policy = policy_of_days(8, 0.1, 1000);
    RevisitNote note = {0};
    PageRef page = page_of(1, 0);
    double before = 0;
    for (int visit = 0; visit < 10; visit++) {
        double days = days_of(&policy, &page, &note);
        CU_ASSERT_TRUE(days > before);
        before = days;
        page.n_crawls++;
        page.last_crawl += days * DAY;
    }
    CU_ASSERT_TRUE(before > 20);
}

static void power_decides_how_much_change_counts(void)
{
    RevisitPolicy policy = policy_of_days(8, 0.001, 1000);
    RevisitNote note = {0};
    PageRef page = page_of(101, 39);
    double rate = freq_change_rate(101, 39, page.first_crawl, page.last_crawl) * DAY;
    policy.power = 0;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 8, 1e-6);
    policy.power = 1;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 1 / rate, 1e-6);
    policy.power = 0.5;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), sqrt(8 / rate), 1e-6);
}

static void a_price_decides_once_there_is_one(void)
{
    RevisitPolicy policy = policy_of_days(8, 0.01, 1000);
    RevisitNote note = {0};
    PageRef page = page_of(101, 5);
    FreqPrior prior;
    FreqSeen seen[] = {revisit_policy_seen(&page, &note), {.n_same = 20, .same_s = (float)DAY}};
    freq_prior_fit(&prior, seen, 2, 0.1 / DAY);
    RevisitPrice price = {.price = 4 * DAY, .prior = &prior, .mean_s = 8 * DAY, .weight = 1};
    double cheap = revisit_policy_interval_s(&policy, &page, &note, &price);
    price.price *= 2;
    double dear = revisit_policy_interval_s(&policy, &page, &note, &price);
    CU_ASSERT_TRUE(dear > cheap);
    price.weight = 2; /* twice the worth at twice the price */
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, &price), cheap, 1);
    price.weight = 1;
    page = page_of(101, 100); /* how fast is not known: looked at again soon */
    CU_ASSERT_TRUE(revisit_policy_interval_s(&policy, &page, &note, &price) < DAY / 2);
    page = page_of(101, 97); /* too fast to be followed: looked at again all the same */
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, &price), 320 * DAY, 1);
    note.fixed_freq = (float)(1 / (4 * DAY)); /* what the operator says comes first */
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, &price), 4 * DAY, 1);
    page = page_of(1, 0);
    note.fixed_freq = 0;
    note.hint_freq = (float)(1 / (3 * DAY)); /* counts until it was visited twice */
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, &price), 3 * DAY, 1);
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, NULL), 3 * DAY, 1);
    page = page_of(101, 5);
    CU_ASSERT_DOUBLE_EQUAL(revisit_policy_interval_s(&policy, &page, &note, &price), dear, 1);
    page = page_of(1, 0);
    note.hint_freq = 0;
    CU_ASSERT_TRUE(revisit_policy_interval_s(&policy, &page, &note, &price) <= 8 * DAY);
}

static void bounds_hold_whatever_decides(void)
{
    RevisitPolicy policy = policy_of_days(8, 2, 10);
    RevisitNote note = {0};
    PageRef page = page_of(101, 100);
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 2.0, 1e-9);
    note.fixed_freq = (float)(1 / (50 * DAY));
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 10.0, 1e-9);
    note.fixed_freq = (float)(1 / (4 * DAY));
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 4.0, 1e-5);
}

static void misses_double_the_interval_and_end_it(void)
{
    RevisitPolicy policy = policy_of_days(8, 2, 20);
    RevisitNote note = {.fixed_freq = (float)(1 / (4 * DAY))};
    PageRef page = page_of(2, 0);
    note.misses = 1;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 8.0, 1e-5);
    note.misses = 2;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 16.0, 1e-5);
    CU_ASSERT_FALSE(revisit_policy_is_over(&policy, &page, &note));
    note.misses = 3;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 20.0, 1e-5);
    CU_ASSERT_TRUE(revisit_policy_is_over(&policy, &page, &note));
    note.misses = 255;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 20.0, 1e-5);
    note.misses = 0;
    policy.max_n_crawls = 2;
    CU_ASSERT_TRUE(revisit_policy_is_over(&policy, &page, &note));
}

static void rules_decide_before_all_else(void)
{
    static const char text[] = "/news/ 2d\n/blog/ x2\n";
    RevisitPolicy policy = policy_of_days(8, 0.5, 20);
    RevisitNote note = {.fixed_freq = (float)(1 / (4 * DAY))};
    FreqRules *rules = NULL;
    size_t line = 0;
    CU_ASSERT_EQUAL_FATAL(freq_rules_new(&rules, text, strlen(text), &line, NULL), RESULT_OK);
    policy.rules = rules;
    PageRef page = page_of(11, 3);
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 2.0, 1e-9);
    page.url = "http://example.org/blog/1";
    double rate = freq_change_rate(11, 3, page.first_crawl, page.last_crawl) * DAY;
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 1 / (2 * rate), 1e-9);
    page.url = "http://example.org/else/1";
    CU_ASSERT_DOUBLE_EQUAL(days_of(&policy, &page, &note), 4.0, 1e-5);
    freq_rules_delete(rules);
}

static void a_wrong_rules_file_is_told_by_line(void)
{
    char path[FOLDER_BYTES];
    FreqRules *rules = NULL;
    Buffer error;
    int fd = folder_make_file(path);
    CU_ASSERT_EQUAL(write(fd, "/a 1d\n/b often\n", 15), 15);
    (void)close(fd);
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(revisit_policy_load_rules(path, &rules, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), ":2: "));
    CU_ASSERT_PTR_NULL(rules);
    (void)unlink(path);
    buffer_reset(&error);
    CU_ASSERT_EQUAL(revisit_policy_load_rules(path, &rules, &error), RESULT_NOT_FOUND);
    CU_ASSERT_TRUE(error.length > 0);
    CU_ASSERT_EQUAL(revisit_policy_load_rules("", &rules, &error), RESULT_OK);
    CU_ASSERT_PTR_NULL(rules);
    buffer_destroy(&error);
}

UNIT_MAIN("revisit_policy",
          {"a page crawled once comes within the default",
           a_page_crawled_once_comes_within_the_default},
          {"pages that change more come sooner", pages_that_change_more_come_sooner},
          {"the interval of a page that never changes grows",
           the_interval_of_a_page_that_never_changes_grows},
          {"power decides how much change counts", power_decides_how_much_change_counts},
          {"a price decides once there is one", a_price_decides_once_there_is_one},
          {"bounds hold whatever decides", bounds_hold_whatever_decides},
          {"misses double the interval and end it", misses_double_the_interval_and_end_it},
          {"rules decide before all else", rules_decide_before_all_else},
          {"a wrong rules file is told by line", a_wrong_rules_file_is_told_by_line})
