/* One answer from many hosts: ours or theirs. Times are made up. */
#include "fetch/outage/network_watch.h"

#include <string.h>

#include "unit.h"

#define MARK 77u

static MonoTime at(int64_t ms)
{
    return (MonoTime){(ms + 1) * 1000000};
}

typedef struct Play {
    Sameness same;
    int64_t now;
    unsigned n_changes;
    uint32_t before[64]; /* of each host */
} Play;

/* Host i answers: 10 ms for each. True: excused. */
static bool answers(Play *play, unsigned host, uint32_t mark, bool is_check)
{
    bool changed = false;
    SameAnswer answer = {.who = host + 1,
                         .mark = mark,
                         .before = play->before[host],
                         .page = host,
                         .has_page = true,
                         .is_check = is_check,
                         .began = at(play->now)};
    play->now += 10;
    bool is_excused = sameness_answered(&play->same, &answer, at(play->now), &changed);
    play->before[host] = mark;
    play->n_changes += changed;
    return is_excused;
}

static bool says(Play *play, unsigned host, uint32_t mark)
{
    return answers(play, host, mark, false);
}

static Play play_of_well_hosts(void)
{
    Play play = {.now = 0};
    for (unsigned i = 0; i < 64; i++) {
        CU_ASSERT_FALSE(says(&play, i, SAMENESS_OTHER));
    }
    return play;
}

/* Until it is OUT; how many answers that took. */
static unsigned breaks_down(Play *play)
{
    unsigned n = 0;
    while (play->same.state != OUTAGE_OUT && n < 1000) {
        CU_ASSERT_EQUAL(says(play, n % 64, MARK), n + 1 >= SAMENESS_HOSTS);
        n++;
    }
    return n;
}

static void a_gateway_that_answers_for_everybody_is_ours(void)
{
    Play play = play_of_well_hosts();
    unsigned n = breaks_down(&play);
    CU_ASSERT(n >= SAMENESS_LEAST_MS / 10 && n < SAMENESS_LEAST_MS / 10 + 5);
    CU_ASSERT_EQUAL(play.n_changes, 1);
    CU_ASSERT_EQUAL(play.same.n_pages, SAMENESS_HOSTS - 1); /* what these were settled with */
    for (size_t i = 0; i < play.same.n_pages; i++) {
        CU_ASSERT_EQUAL(play.same.pages[i], i);
    }
    /* Paused; then it is tried, until an answer has come, and ever more rarely. */
    CU_ASSERT_FALSE(play.same.tries);
    int64_t last = 0;
    for (int i = 0; i < 8; i++) {
        MonoTime next = sameness_next(&play.same);
        int64_t pause = mono_ms_between(at(play.now), next);
        CU_ASSERT(pause >= last && pause <= SAMENESS_PAUSE_MOST);
        last = pause;
        CU_ASSERT_FALSE(sameness_tick(&play.same, at(play.now)));
        play.now += pause;
        CU_ASSERT(sameness_tick(&play.same, at(play.now)));
        CU_ASSERT(play.same.tries);
        CU_ASSERT(says(&play, 3, MARK));
        CU_ASSERT_FALSE(play.same.tries);
    }
    /* What was under way before says nothing; the first other answer ends it. */
    bool changed = false;
    SameAnswer old = {.who = 9, .mark = SAMENESS_OTHER, .before = 1, .began = at(100)};
    CU_ASSERT_FALSE(sameness_answered(&play.same, &old, at(play.now), &changed));
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_OUT);
    CU_ASSERT_FALSE(says(&play, 5, SAMENESS_OTHER));
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
    CU_ASSERT(sameness_next(&play.same).ns == MONO_NEVER.ns);
}

/* Half of all hosts are down for good, and the others are done one day. */
static void hosts_that_are_down_while_others_answer_are_theirs(void)
{
    Play play = play_of_well_hosts();
    unsigned n_excused = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 32; i++) {
            n_excused += says(&play, 2 * i, MARK);
            n_excused += says(&play, 2 * i + 1, SAMENESS_OTHER);
        }
    }
    for (unsigned i = 0; i < 3200; i++) {
        n_excused += says(&play, 2 * (i % 32), MARK);
    }
    CU_ASSERT_EQUAL(n_excused, 0);
    CU_ASSERT_EQUAL(play.same.n_outages, 0);
}

static void a_page_that_hosts_always_had_is_theirs(void)
{
    Play play = {.now = 0};
    for (unsigned i = 0; i < 6400; i++) {
        CU_ASSERT_FALSE(says(&play, i % 64, MARK));
    }
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
}

static void one_address_is_no_gateway(void)
{
    Play play = play_of_well_hosts();
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_FALSE(says(&play, 4, MARK));
    }
    CU_ASSERT_EQUAL(play.same.n_outages, 0);
}

/* Four hosts are all that is left: too few to conclude, and nothing is asked twice. */
static void a_row_that_stays_short_is_theirs(void)
{
    Play play = play_of_well_hosts();
    unsigned n_excused = 0;
    for (unsigned i = 0; i < 20000; i++) {
        n_excused += says(&play, i % 4, MARK);
    }
    CU_ASSERT_EQUAL(n_excused, 0);
    CU_ASSERT_EQUAL(play.same.n_outages, 0);
}

/* What never ends is not believed for ever: then the retry table goes on. */
static void an_outage_is_believed_for_an_hour(void)
{
    Play play = play_of_well_hosts();
    (void)breaks_down(&play);
    int64_t began = play.now;
    while (play.same.state == OUTAGE_OUT && play.now - began < 2 * (int64_t)SAMENESS_MOST_MS) {
        play.now += mono_ms_between(at(play.now), sameness_next(&play.same));
        (void)sameness_tick(&play.same, at(play.now));
        if (play.same.tries) {
            CU_ASSERT(says(&play, 1, MARK));
        }
    }
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
    CU_ASSERT(play.now - began <= (int64_t)SAMENESS_MOST_MS + SAMENESS_PAUSE_MOST);
    for (unsigned i = 0; i < 64; i++) {
        play.before[i] = SAMENESS_OTHER;
        CU_ASSERT_FALSE(says(&play, i, MARK));
    }
}

static uint32_t mark_of(int status, const char *header, const char *body)
{
    return sameness_mark(status, header, strlen(header), body, strlen(body));
}

/* Hosts with the same pages, which are asked for in the same order: a page that came before tells
 * that nobody answers for them, and they lose nothing but a moment. */
static void mirrors_are_theirs_by_a_page_that_came_before(void)
{
    Play play = play_of_well_hosts();
    (void)breaks_down(&play);
    CU_ASSERT_FALSE(answers(&play, 3, SAMENESS_OTHER, true));
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
    for (unsigned i = 0; i < 200; i++) {
        CU_ASSERT_FALSE(says(&play, i % 64, i % 2 == 0 ? MARK : MARK + 2 + i));
        CU_ASSERT_FALSE(says(&play, i % 64, MARK));
    }
    play.now += SAMENESS_MIRRORS_MS; /* it is no word for ever */
    (void)says(&play, 1, SAMENESS_OTHER);
    for (unsigned i = 0; i < 64; i++) {
        (void)says(&play, i, SAMENESS_OTHER);
    }
    CU_ASSERT_TRUE(breaks_down(&play) < 200);
}

/* A gateway answers that page, too. When it is over it is not believed to be theirs. */
static void a_gateway_that_answers_the_check_is_ours(void)
{
    Play play = play_of_well_hosts();
    for (unsigned round = 0; round < 3; round++) {
        (void)breaks_down(&play);
        CU_ASSERT_TRUE(answers(&play, 3, MARK, true));
        CU_ASSERT_EQUAL(play.same.state, OUTAGE_OUT);
        CU_ASSERT_FALSE(answers(&play, 4, SAMENESS_OTHER, true));
        CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
        for (unsigned i = 0; i < 64; i++) {
            CU_ASSERT_FALSE(says(&play, i, SAMENESS_OTHER));
        }
    }
    CU_ASSERT_EQUAL(play.same.n_outages, 3);
}

static void marks_are_what_gateways_say(void)
{
    static const char html[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
    CU_ASSERT_EQUAL(mark_of(502, "", "a"), mark_of(502, "", "b"));
    CU_ASSERT_NOT_EQUAL(mark_of(502, "", ""), mark_of(504, "", ""));
    CU_ASSERT_EQUAL(mark_of(500, "HTTP/1.1 500 x\r\n\r\n", ""), SAMENESS_OTHER);
    CU_ASSERT_EQUAL(mark_of(404, html, "x"), SAMENESS_OTHER);
    CU_ASSERT_EQUAL(mark_of(200, text, "User-agent: *"), SAMENESS_OTHER);
    CU_ASSERT_EQUAL(mark_of(200, html, "login"), mark_of(200, html, "login"));
    CU_ASSERT_NOT_EQUAL(mark_of(200, html, "login"), mark_of(200, html, "other"));
    uint32_t portal = mark_of(302, "HTTP/1.1 302 x\r\nLocation: http://portal/in?u=1\r\n\r\n", "");
    CU_ASSERT_EQUAL(portal,
                    mark_of(302, "HTTP/1.1 302 x\r\nLocation: http://portal/in?u=2\r\n\r\n", ""));
    CU_ASSERT_NOT_EQUAL(portal, SAMENESS_OTHER);
    CU_ASSERT_EQUAL(mark_of(302, "HTTP/1.1 302 x\r\nLocation: /login/here\r\n\r\n", ""),
                    SAMENESS_OTHER);
}

/* Hosts whose first page of all is the gateway's, before any other host has given it. */
static void first_pages_just_before_the_row_are_asked_for_again(void)
{
    Play play = play_of_well_hosts();
    unsigned fresh[] = {40, 41, 42};
    for (size_t i = 0; i < 3; i++) {
        play.before[fresh[i]] = 0;
        CU_ASSERT_FALSE(says(&play, fresh[i], MARK));
    }
    CU_ASSERT_EQUAL(play.same.state, OUTAGE_CLEAR);
    (void)breaks_down(&play);
    for (size_t i = 0; i < 3; i++) {
        bool found = false;
        for (size_t j = 0; j < play.same.n_pages; j++) {
            found = found || play.same.pages[j] == fresh[i];
        }
        CU_ASSERT_TRUE(found);
    }
    CU_ASSERT_EQUAL(play.same.n_pages, 3 + SAMENESS_HOSTS - 1);
}

/* Every page begins a row; the gateway's answers come among those that were asked for before it. */
static void answers_under_way_when_it_begins_are_asked_for_again(void)
{
    Play play = play_of_well_hosts();
    bool changed = false;
    MonoTime asked = at(play.now - 5);
    SameAnswer good = {.who = 1, .mark = 500, .before = 400, .has_page = true, .began = asked};
    CU_ASSERT_FALSE(sameness_answered(&play.same, &good, at(play.now), &changed));
    for (unsigned i = 50; i < 53; i++) {
        SameAnswer said = {.who = i + 1,
                           .mark = MARK,
                           .before = play.before[i],
                           .page = i,
                           .has_page = true,
                           .began = asked};
        CU_ASSERT_FALSE(sameness_answered(&play.same, &said, at(play.now), &changed));
        play.before[i] = MARK;
    }
    (void)breaks_down(&play);
    CU_ASSERT_EQUAL(play.same.n_pages, 3 + SAMENESS_HOSTS - 1);
}

UNIT_MAIN("sameness",
          {"mirrors are theirs by a page that came before",
           mirrors_are_theirs_by_a_page_that_came_before},
          {"a gateway that answers the check is ours", a_gateway_that_answers_the_check_is_ours},
          {"answers under way when it begins are asked for again",
           answers_under_way_when_it_begins_are_asked_for_again},
          {"first pages just before the row are asked for again",
           first_pages_just_before_the_row_are_asked_for_again},
          {"a gateway that answers for everybody is ours",
           a_gateway_that_answers_for_everybody_is_ours},
          {"hosts that are down while others answer are theirs",
           hosts_that_are_down_while_others_answer_are_theirs},
          {"a page that hosts always had is theirs", a_page_that_hosts_always_had_is_theirs},
          {"one address is no gateway", one_address_is_no_gateway},
          {"a row that stays short is theirs", a_row_that_stays_short_is_theirs},
          {"an outage is believed for an hour", an_outage_is_believed_for_an_hour},
          {"marks are what gateways say", marks_are_what_gateways_say})
