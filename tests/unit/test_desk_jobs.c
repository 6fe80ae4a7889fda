#include "render/desk/desk_jobs.h"

#include "unit.h"

#define HOST 7
#define PAGE 70

static MonoTime at_ms(int64_t ms)
{
    return mono_add_ms((MonoTime){0}, ms);
}

/* A page has a turn of so many milliseconds. */
static Turn take(Turns *turns, uint32_t host, uint64_t page, TurnEnd end, int64_t from, int64_t ms)
{
    Turn turn = turns_begin(turns, host, page, at_ms(from));
    turns_end(turns, &turn, end, at_ms(from + ms));
    return turn;
}

static void a_page_that_needs_more_than_a_trial_is_put_back(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    CU_ASSERT_TRUE(take(&turns, HOST, PAGE, TURN_DEAR, 0, 1000).is_trial);
    CU_ASSERT_TRUE(turns_is_dear(&turns, HOST, PAGE));
    CU_ASSERT_TRUE(turns_is_dear(&turns, HOST, PAGE + 1)); /* its host has no credit */
    CU_ASSERT_FALSE(turns_is_dear(&turns, HOST + 1, PAGE + 2));
    CU_ASSERT_FALSE(take(&turns, HOST, PAGE, TURN_CHEAP, 1000, 1).is_trial);
    turns_destroy(&turns);
}

static void a_host_with_credit_has_another_turn_at_once(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    for (uint64_t i = 0; i < 20; i++) {
        CU_ASSERT_TRUE(take(&turns, HOST, i, TURN_CHEAP, 0, 100).is_trial);
    }
    CU_ASSERT_TRUE(take(&turns, HOST, PAGE, TURN_DEAR, 0, 1000).is_trial);
    CU_ASSERT_FALSE(turns_is_dear(&turns, HOST, PAGE));
    Turn again = take(&turns, HOST, PAGE, TURN_DEAR, 0, 10000);
    CU_ASSERT_FALSE(again.is_trial);
    CU_ASSERT_FALSE(again.is_dear);
    CU_ASSERT_TRUE(turns_is_dear(&turns, HOST, PAGE + 1)); /* which takes all of it */
    turns_destroy(&turns);
}

/* Whether a dear page may begin, when a page of another host has just had its turn. */
static bool beside_others(Turns *turns, int64_t now)
{
    (void)take(turns, HOST + 1, PAGE + 1, TURN_CHEAP, now, 0);
    return turns_may_begin_dear(turns, at_ms(now));
}

static void dear_pages_have_a_twentieth_of_the_time(void)
{
    Turns turns;
    turns_init(&turns, 1000);
    (void)take(&turns, HOST, PAGE, TURN_DEAR, 0, 500);
    CU_ASSERT_FALSE(beside_others(&turns, 501));
    CU_ASSERT_FALSE(beside_others(&turns, (int64_t)1500 * TURNS_SHARE - 1));
    CU_ASSERT_TRUE(beside_others(&turns, (int64_t)1500 * TURNS_SHARE));
    int64_t now = (int64_t)1500 * TURNS_SHARE;
    Turn turn = turns_begin(&turns, HOST, PAGE, at_ms(now));
    CU_ASSERT_TRUE(turn.is_dear);
    CU_ASSERT_FALSE(beside_others(&turns, now * 100)); /* one at a time */
    turns_end(&turns, &turn, TURN_DEAR, at_ms(now + 1000));
    CU_ASSERT_FALSE(beside_others(&turns, now + 1000));
    CU_ASSERT_TRUE(beside_others(&turns, (int64_t)2500 * TURNS_SHARE));
    turns_destroy(&turns);
}

static void dear_pages_have_all_of_it_when_no_other_comes(void)
{
    Turns turns;
    turns_init(&turns, 1000000);
    (void)take(&turns, HOST, PAGE, TURN_DEAR, 0, 500);
    CU_ASSERT_FALSE(turns_may_begin_dear(&turns, at_ms(500 + TURNS_PAUSE - 1)));
    CU_ASSERT_TRUE(turns_may_begin_dear(&turns, at_ms(500 + TURNS_PAUSE)));
    Turn turn = turns_begin(&turns, HOST, PAGE, at_ms(500 + TURNS_PAUSE));
    CU_ASSERT_TRUE(turn.is_dear);
    CU_ASSERT_TRUE(turns_may_begin_dear(&turns, at_ms(600 + TURNS_PAUSE))); /* beside it */
    CU_ASSERT_FALSE(beside_others(&turns, 700 + TURNS_PAUSE));
    turns_end(&turns, &turn, TURN_DEAR, at_ms(800 + TURNS_PAUSE));
    CU_ASSERT_FALSE(turns_may_begin_dear(&turns, at_ms(900 + TURNS_PAUSE)));
    turns_destroy(&turns);
}

static void a_page_that_no_browser_has_seen_changes_nothing(void)
{
    Turns turns;
    turns_init(&turns, 1000);
    (void)take(&turns, HOST, PAGE, TURN_UNSEEN, 0, 5000);
    CU_ASSERT_FALSE(turns_is_dear(&turns, HOST, PAGE));
    CU_ASSERT_TRUE(take(&turns, HOST, PAGE, TURN_CHEAP, 0, 1).is_trial);
    turns_destroy(&turns);
}

static void what_is_remembered_is_bounded(void)
{
    Turns turns;
    turns_init(&turns, 1000);
    for (uint32_t i = 0; i < TURNS_MOST + 10; i++) {
        (void)take(&turns, i, i, TURN_DEAR, 0, 0);
    }
    CU_ASSERT_TRUE(turns.hosts.count <= TURNS_MOST && turns.pages.count <= TURNS_MOST);
    turns_destroy(&turns);
}

UNIT_MAIN("desk_jobs",
          {"a page that needs more than a trial is put back",
           a_page_that_needs_more_than_a_trial_is_put_back},
          {"a host with credit has another turn at once",
           a_host_with_credit_has_another_turn_at_once},
          {"dear pages have a twentieth of the time", dear_pages_have_a_twentieth_of_the_time},
          {"dear pages have all of it when no other comes",
           dear_pages_have_all_of_it_when_no_other_comes},
          {"a page that no browser has seen changes nothing",
           a_page_that_no_browser_has_seen_changes_nothing},
          {"what is remembered is bounded", what_is_remembered_is_bounded})
