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

static void a_page_that_was_answered_goes_before_others_that_were_put_back(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    (void)take(&turns, HOST + 1, PAGE + 1, TURN_DEAR, 0, 140);
    (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 140, 70);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST + 1, PAGE + 1), TURN_LATER);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE), TURN_HOPEFUL);
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 2), TURN_HOPEFUL); /* and its host's others */
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_HOPEFUL, at_ms(300)));
    Turn turn = turns_begin(&turns, HOST, PAGE, at_ms(2000));
    CU_ASSERT_EQUAL(turn.cpu_ms, 1000);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_LATER, at_ms(2500)));
    turns_end(&turns, &turn, TURN_FRUITFUL, 600, at_ms(2600));
    CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 2), TURN_AT_ONCE); /* a trial was enough */
    CU_ASSERT_EQUAL(turns.n_later, 0);
    turns_destroy(&turns);
}

static void what_a_host_may_hope_for_doubles_until_it_brings_something(void)
{
    static const int64_t all[] = {1000, 2000, 4000, 10000};
    for (int settles = 1; settles < 4; settles++) {
        Turns turns;
        turns_init(&turns, 10000);
        (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 0, 140);
        for (int i = 0; i < settles; i++) {
            CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_ANSWERED, 0, all[i]).cpu_ms, all[i]);
        }
        Turn late = turns_begin(&turns, HOST, PAGE + 2, at_ms(0));
        CU_ASSERT_EQUAL(late.cpu_ms, all[settles]);
        CU_ASSERT_EQUAL(take(&turns, HOST, PAGE, TURN_FRUITFUL, 0, 1600).cpu_ms, all[settles]);
        CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 1), TURN_HOPEFUL);
        turns_end(&turns, &late, TURN_ANSWERED, all[settles], at_ms(0)); /* it has all at last */
        CU_ASSERT_EQUAL(take(&turns, HOST, PAGE + 1, TURN_FRUITFUL, 0, 3000).cpu_ms, 10000);
        CU_ASSERT_EQUAL(take(&turns, HOST, PAGE + 2, TURN_DEAR, 0, 10000).cpu_ms, 10000);
        CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 3), TURN_IS_DEAR); /* which ends it */
        CU_ASSERT_EQUAL(take(&turns, HOST, PAGE + 3, TURN_ANSWERED, 0, 1000).cpu_ms, 10000);
        CU_ASSERT_EQUAL(turns_place(&turns, HOST, PAGE + 4), TURN_IS_DEAR);
        turns_destroy(&turns);
    }
}

/* What hopeful hosts take in vain is made up for before others that were put back have a turn. */
static void hope_in_vain_is_owed(void)
{
    Turns turns;
    turns_init(&turns, 10000);
    save(&turns);
    (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 0, 200);
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_HOPEFUL, at_ms(200)));
    (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 200, 1000);
    (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 1200, 2000);
    (void)take(&turns, HOST, PAGE, TURN_ANSWERED, 3200, 4000);
    others(&turns, 7200, 80);
    CU_ASSERT_FALSE(turns_may_begin(&turns, TURN_HOPEFUL, at_ms(7200)));
    others(&turns, 7200, (int64_t)8000 * TURNS_SHARE);
    CU_ASSERT_TRUE(turns_may_begin(&turns, TURN_HOPEFUL, at_ms(7200)));
    turns_destroy(&turns);
}

/* ---- a model: one browser, and pages that all wait from the start; good ones load scripts ---- */

#define WORLD_SMALL    700u /* good pages of ten hosts: 80 ms, more than the least glance */
#define WORLD_HEAVY    8u   /* of one: 1 300 to 4 100 ms, in two rounds */
#define WORLD_HOSTILE  42u  /* a host each: without end */
#define WORLD_PAGES    (WORLD_SMALL + WORLD_HEAVY + WORLD_HOSTILE)
#define WORLD_MOST_MS  10000
#define WORLD_OVERTIME 50 /* ms: a page that is stopped costs so much more */

typedef struct WorldPage {
    uint32_t host;
    int64_t needs_ms;
    unsigned rounds; /* that are left */
} WorldPage;

typedef struct World {
    Turns turns;
    WorldPage pages[WORLD_PAGES];
    unsigned n_good; /* that are left */
    int64_t now_ms;
    int64_t good_ms;
    int64_t bad_ms; /* until the last good page had ended */
} World;

static bool world_is_hostile(const WorldPage *page)
{
    return page->host >= 1000;
}

/* where: which pages come first: 0 hostile ones, 1 good ones, 2 both by turns. */
static void world_init(World *world, unsigned where)
{
    *world = (World){.n_good = WORLD_SMALL + WORLD_HEAVY};
    turns_init(&world->turns, WORLD_MOST_MS);
    for (unsigned i = 0; i < WORLD_PAGES; i++) {
        WorldPage page = {.host = i % 10, .needs_ms = 80, .rounds = 1};
        if (i >= WORLD_SMALL) {
            page =
                (WorldPage){.host = 100, .needs_ms = 1300 + (i - WORLD_SMALL) * 400, .rounds = 2};
        }
        if (i >= WORLD_SMALL + WORLD_HEAVY) {
            page = (WorldPage){.host = 1000 + i, .needs_ms = INT64_MAX, .rounds = 1};
        }
        unsigned places[] = {WORLD_PAGES - 1 - i, i, i * 331 % WORLD_PAGES};
        world->pages[places[where]] = page;
    }
}

/* The next page, of those that may have a turn, or of all that are left. */
static WorldPage *world_next(World *world, bool is_rest)
{
    for (int place = TURN_AT_ONCE; place < TURN_PLACES; place++) {
        for (unsigned i = 0; i < WORLD_PAGES; i++) {
            WorldPage *page = &world->pages[i];
            if (page->rounds > 0 && turns_place(&world->turns, page->host, i) == (TurnPlace)place &&
                (is_rest ||
                 turns_may_begin(&world->turns, (TurnPlace)place, at_ms(world->now_ms)))) {
                return page;
            }
        }
    }
    return NULL;
}

static void world_turn(World *world, WorldPage *page)
{
    uint64_t index = (uint64_t)(page - world->pages);
    Turn turn = turns_begin(&world->turns, page->host, index, at_ms(world->now_ms));
    bool is_enough = turn.cpu_ms >= page->needs_ms;
    int64_t took_ms = is_enough ? page->needs_ms : turn.cpu_ms + WORLD_OVERTIME;
    bool has_hope = !world_is_hostile(page) && turn.cpu_ms < WORLD_MOST_MS;
    TurnEnd stopped = has_hope ? TURN_ANSWERED : TURN_DEAR;
    world->now_ms += took_ms;
    turns_end(&world->turns, &turn, is_enough ? TURN_FRUITFUL : stopped, took_ms,
              at_ms(world->now_ms));
    if (world_is_hostile(page)) {
        world->bad_ms += world->n_good > 0 ? took_ms : 0;
    } else {
        world->good_ms += took_ms;
        world->n_good -= is_enough && page->rounds == 1;
    }
    page->rounds -= is_enough || turn.cpu_ms == WORLD_MOST_MS;
}

static void good_pages_lose_less_than_a_tenth_until_the_last_of_them(void)
{
    static World world;
    for (unsigned where = 0; where < 3; where++) {
        world_init(&world, where);
        WorldPage *page = NULL;
        unsigned n_turns = 0;
        while (((page = world_next(&world, false)) != NULL ||
                (page = world_next(&world, true)) != NULL) &&
               n_turns++ < 3 * WORLD_PAGES) {
            world_turn(&world, page);
        }
        CU_ASSERT_PTR_NULL(page); /* each has ended */
        CU_ASSERT_EQUAL(world.n_good, 0);
        CU_ASSERT_TRUE(world.bad_ms * 10 < world.bad_ms + world.good_ms);
        turns_destroy(&world.turns);
    }
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
          {"a page that was answered goes before others that were put back",
           a_page_that_was_answered_goes_before_others_that_were_put_back},
          {"what a host may hope for doubles until it brings something",
           what_a_host_may_hope_for_doubles_until_it_brings_something},
          {"hope in vain is owed", hope_in_vain_is_owed},
          {"good pages lose less than a tenth until the last of them",
           good_pages_lose_less_than_a_tenth_until_the_last_of_them},
          {"a page that no browser has seen changes nothing",
           a_page_that_no_browser_has_seen_changes_nothing},
          {"what is remembered is bounded", what_is_remembered_is_bounded})
