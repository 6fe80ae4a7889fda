#include "render/desk/desk_jobs.h"

#include "unit.h"

#define HOST 7
#define PAGE 70

static MonoTime at_ms(int64_t ms)
{
    return mono_add_ms((MonoTime){0}, ms);
}

/* A page has a turn of so many milliseconds, and takes as much CPU time. */
static Turn take(Turns *turns, uint32_t host, uint64_t page, TurnEnd end, int64_t from, int64_t ms)
{
    Turn turn = turns_begin(turns, host, page, at_ms(from));
    turns_end(turns, &turn, end, ms, at_ms(from + ms));
    return turn;
}

/* Hosts of which nothing was known have brought something, as much as can be saved. */
static void save(Turns *turns)
{
    while (turns->saved_ms < turns->most_ms) {
        uint32_t host = 1000000u + (uint32_t)turns->hosts.count;
        (void)take(turns, host, host, TURN_FRUITFUL, 0, TURNS_USUAL);
    }
}

static void a_page_that_needs_more_than_a_glance_has_a_trial_later(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    save(&turns);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_DEAR, 0, 210).cpu_ms, 210);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE), TURN_LATER);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 2), TURN_IS_DEAR); /* its host has no credit */
    CU_ASSERT_EQUAL(turns_place(&turns, HOST + 1, PAGE + 3), TURN_AT_ONCE);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_CHEAP, 300, 600).cpu_ms, 1000);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 2), TURN_AT_ONCE); /* it was enough */
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE + 2, TURN_CHEAP, 900, 600).cpu_ms, 1000);
    CU_ASSERT_EQUAL(turns.n_later, 0);
    turns_destroy(&turns);
}

static void a_page_that_needs_more_than_a_trial_is_dear(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    (void)take(&turns, HOST, PAGE, TURN_DEAR, 0, 300);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_DEAR, 300, 1000).cpu_ms, 1000);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE), TURN_IS_DEAR);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 2), TURN_IS_DEAR);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_CHEAP, 1300, 1).cpu_ms, 10000);
    turns_destroy(&turns);
}

static void a_glance_goes_by_what_pages_take(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    CU_ASSERT_EQUAL(turns_begin(&turns, HOST, PAGE, at_ms(0)).cpu_ms, 140); /* the first of all */
    save(&turns);
    for (uint32_t i = 0; i < 99; i++) { /* one that takes much weighs no more than another */
        (void)take(&turns, HOST + 2 + i, i, TURN_CHEAP, 0, i % 9 == 0 ? 900 : 200);
    }
    int64_t glance = turns_begin(&turns, HOST, PAGE, at_ms(0)).cpu_ms;
    CU_ASSERT_TRUE(glance > 500 && glance < 700);
    for (uint32_t i = 0; i < 99; i++) {
        (void)take(&turns, HOST + 2 + i, i, TURN_CHEAP, 0, 1);
    }
    CU_ASSERT_TRUE(turns_begin(&turns, HOST, PAGE, at_ms(0)).cpu_ms >= 180);
    turns_destroy(&turns);
    turns_init(&turns, 100); /* where a glance is most of what it has */
    CU_ASSERT_EQUAL(turns_begin(&turns, HOST, PAGE, at_ms(0)).cpu_ms, 100);
    turns_destroy(&turns);
}

static void hosts_of_which_nothing_is_known_stand_surety_for_each_other(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    (void)take(&turns, HOST, PAGE, TURN_FRUITFUL, 0, 50);
    for (uint32_t i = 1; i < 3; i++) { /* the second one has what is left */
        CU_ASSERT_EQUAL(turns_place(&turns, HOST + i, i), TURN_AT_ONCE);
        int64_t glance = take(&turns, HOST + i, i, TURN_DEAR, 0, 150).cpu_ms;
        CU_ASSERT_EQUAL(glance, i == 1 ? 190 : TURNS_USUAL);
    }
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 1), TURN_AT_ONCE);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST + 9, 9), TURN_UNSURE);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_UNSURE, at_ms(1000)));
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_UNSURE, at_ms(1151))); /* no other has come */
    (void)take(&turns, HOST + 9, 9, TURN_CHEAP, 1151, 50);             /* which says nothing */
    CU_ASSERT_EQUAL(turns_place(&turns, HOST + 10, 10), TURN_UNSURE);
    (void)take(&turns, HOST + 10, 10, TURN_FRUITFUL, 1201, 50);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST + 8, 8), TURN_AT_ONCE);
    CU_ASSERT_EQUAL(turns.n_later, 0);
    turns_destroy(&turns);
}

/* How much a host of which something is known takes before others have a look again. */
static void hosts_of_which_nothing_is_known_have_a_fortieth(void)
{
    Turns turns;
    int64_t spent = 0;
    int64_t looks = 0;
    turns_init(&turns, 10000);
    (void)take(&turns, HOST, PAGE, TURN_FRUITFUL, 0, 80);
    for (uint32_t stranger = 100; spent < 100000; spent += 80) {
        (void)take(&turns, HOST, PAGE, TURN_CHEAP, spent, 80);
        while (turns_place(&turns, stranger, stranger) == TURN_AT_ONCE) {
            looks += take(&turns, stranger, stranger, TURN_DEAR, spent, 120).cpu_ms;
            stranger++;
        }
    }
    CU_ASSERT_TRUE(looks > 1000 && looks < 2800);
    turns_destroy(&turns);
}

/* Looks that came to nothing and trials have a fortieth together. */
static void a_trial_waits_until_looks_are_made_up_for(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    for (uint32_t i = 0; i < 40; i++) {
        (void)take(&turns, 100 + i, i, TURN_DEAR, 0, 100);
    }
    (void)take(&turns, HOST, PAGE, TURN_FRUITFUL, 0, 80);
    for (int64_t spent = 0; spent < 4000 * TURNS_SHARE; spent += 80) {
        (void)take(&turns, HOST, PAGE, TURN_CHEAP, spent, 80);
        CU_ASSERT_FALSE(spent < 2000 * TURNS_SHARE &&
                        turns_may_begin(&turns, TURN_LATER, at_ms(spent)));
    }
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_LATER, at_ms(4000 * TURNS_SHARE)));
    turns_destroy(&turns);
}

static void a_host_with_credit_has_another_turn_at_once(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    for (uint64_t i = 0; i < 20; i++) {
        CU_ASSERT_TRUE(take(&turns, HOST, i, TURN_CHEAP, 0, 100).cpu_ms <= 1000);
    }
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_DEAR, 0, 1000).cpu_ms, 1000);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE), TURN_AT_ONCE);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_DEAR, 0, 10000).cpu_ms, 10000);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 1), TURN_IS_DEAR); /* which takes all of it */
    turns_destroy(&turns);
}

/* A host whose pages are dear, since the first of them has had 500 ms; nothing is saved. */
static void begin_dear(Turns *turns, int64_t most_ms)
{
    turns_init(turns, most_ms);
    (void)take(turns, HOST, PAGE, TURN_DEAR, 0, 200);
    (void)take(turns, HOST, PAGE, TURN_DEAR, 200, 300);
    CU_ASSERT_EQUAL(turns_place(turns, HOST, PAGE), TURN_IS_DEAR);
    CU_ASSERT_TRUE(turns->saved_ms <= 0);
}

/* Another host, of which something is known, takes so much. */
static void others(Turns *turns, int64_t now, int64_t cpu_ms)
{
    for (int64_t took = 0; took < cpu_ms; took += 80) {
        (void)take(turns, HOST + 1, PAGE + 1, TURN_CHEAP, now - 80, 80);
    }
}

static void dear_pages_have_a_fortieth_of_the_time(void)
{
    Turns turns;
    begin_dear(&turns, 10000);
    others(&turns, 501, (int64_t)9000 * TURNS_SHARE);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(501)));
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_LATER, at_ms(501))); /* which needs less */
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_AT_ONCE, at_ms(501)));
    others(&turns, 502, (int64_t)2000 * TURNS_SHARE);
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(502)));
    Turn turn = turns_begin(&turns, HOST, PAGE, at_ms(502));
    CU_ASSERT_EQUAL(turn.place, TURN_IS_DEAR);
    others(&turns, 503, (int64_t)10000 * TURNS_SHARE);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(503))); /* one at a time */
    turns_end(&turns, &turn, TURN_DEAR, 10000, at_ms(10503));
    others(&turns, 10504, 80);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(10504)));
    turns_destroy(&turns);
}

static void dear_pages_have_all_of_it_when_no_other_comes(void)
{
    const int64_t most = 1000000;
    Turns turns;
    begin_dear(&turns, most);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(500 + most - 1)));
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_LATER, at_ms(500 + most / 10)));
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(500 + most)));
    Turn turn = turns_begin(&turns, HOST, PAGE, at_ms(500 + most));
    CU_ASSERT_EQUAL(turn.place, TURN_IS_DEAR);
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(600 + most))); /* beside it */
    others(&turns, 700 + most, 80);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(700 + most)));
    turns_end(&turns, &turn, TURN_DEAR, 100, at_ms(800 + most));
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_IS_DEAR, at_ms(900 + most)));
    turns_destroy(&turns);
}

static void a_trial_waits_for_looks_at_new_hosts_too(void)
{
    Turns turns;
    begin_dear(&turns, 10000);
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_LATER, at_ms(1500)));
    (void)take(&turns, HOST + 5, PAGE + 5, TURN_CHEAP, 1500, 10); /* it is UNSURE */
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_UNSURE, at_ms(1600)));
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_LATER, at_ms(1600)));
    turns_destroy(&turns);
}

static void a_page_that_no_browser_has_seen_changes_nothing(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    (void)take(&turns, HOST, PAGE, TURN_UNSEEN, 0, 5000);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE), TURN_AT_ONCE);
    CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_CHEAP, 0, 1).cpu_ms, 140);
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
          {"a page that needs more than a glance has a trial later",
           a_page_that_needs_more_than_a_glance_has_a_trial_later},
          {"a page that needs more than a trial is dear",
           a_page_that_needs_more_than_a_trial_is_dear},
          {"a glance goes by what pages take", a_glance_goes_by_what_pages_take},
          {"hosts of which nothing is known stand surety for each other",
           hosts_of_which_nothing_is_known_stand_surety_for_each_other},
          {"a trial waits until looks are made up for", a_trial_waits_until_looks_are_made_up_for},
          {"a host with credit has another turn at once",
           a_host_with_credit_has_another_turn_at_once},
          {"hosts of which nothing is known have a fortieth",
           hosts_of_which_nothing_is_known_have_a_fortieth},
          {"dear pages have a fortieth of the time", dear_pages_have_a_fortieth_of_the_time},
          {"a trial waits for looks at new hosts, too", a_trial_waits_for_looks_at_new_hosts_too},
          {"dear pages have all of it when no other comes",
           dear_pages_have_all_of_it_when_no_other_comes},
          {"a page that no browser has seen changes nothing",
           a_page_that_no_browser_has_seen_changes_nothing},
          {"what is remembered is bounded", what_is_remembered_is_bounded})
