#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/whole/edicts.h"
#include "cluster/whole/ending.h"
#include "cluster/whole/ledger.h"
#include "dice.h"
#include "unit.h"

#define AGENTS 5u
#define LIMIT  UINT64_C(20000)

/* ---- the ledger ---- */

static Ledger ledger_of(uint32_t n)
{
    Ledger ledger = {.n = 0};
    (void)ledger_resize(&ledger, n);
    for (uint32_t i = 0; i < n; i++) {
        ledger.rows[i].known = true;
    }
    return ledger;
}

/* Settles an agent's row; whether that changes it. */
static bool changes(Ledger *ledger, uint32_t agent, LedgerUnit unit, uint64_t limit,
                    LedgerAccount *account)
{
    LedgerRow before = ledger->rows[agent];
    ledger_settle(ledger, agent, unit, limit, account);
    return !ledger_rows_equal(&before, &ledger->rows[agent]);
}

static void a_ledger_survives_its_bytes(void)
{
    Ledger ledger = ledger_of(3);
    Ledger again = {.n = 0};
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    ledger.rows[1].granted[LEDGER_PAGES] = 1234567;
    ledger.rows[2].wants[LEDGER_BYTES] = true;
    ledger.rows[0].known = false;
    (void)ledger_write(&ledger, &bytes);
    CU_ASSERT_EQUAL(ledger_read(&again, bytes.data, bytes.length), RESULT_OK);
    CU_ASSERT_TRUE(again.n == 3 && again.rows[1].granted[LEDGER_PAGES] == 1234567 &&
                   again.rows[2].wants[LEDGER_BYTES] && !again.rows[0].known);
    for (size_t i = 0; i < bytes.length; i++) {
        bytes.data[i] ^= 8;
        CU_ASSERT_EQUAL(ledger_read(&again, bytes.data, bytes.length), RESULT_DAMAGED);
        bytes.data[i] ^= 8;
        CU_ASSERT_EQUAL(ledger_read(&again, bytes.data, i), RESULT_DAMAGED);
    }
    buffer_destroy(&bytes);
    ledger_destroy(&again);
    ledger_destroy(&ledger);
}

/* Agents of unequal appetite, one of which has nothing to do, use up a limit to the last page. */
static void a_limit_is_used_up_exactly(void)
{
    Ledger ledger = ledger_of(AGENTS);
    LedgerAccount accounts[AGENTS] = {{.granted = 0}};
    Dice dice = {4};
    uint64_t used = 0;
    size_t rounds = 0;
    for (; used < LIMIT && rounds < 200000; rounds++) {
        uint32_t agent = (uint32_t)dice_below(&dice, AGENTS);
        LedgerAccount *account = &accounts[agent];
        account->needed = 16;
        account->idle = agent == 4 || (agent == 3 && rounds > 3000);
        if (ledger_is_low(account) || dice_below(&dice, 10) == 0) {
            ledger_settle(&ledger, agent, LEDGER_PAGES, LIMIT, account);
        }
        if (!account->idle && account->used < account->granted) {
            account->used++;
            used++;
        }
        uint64_t sum = 0;
        for (uint32_t i = 0; i < AGENTS; i++) {
            sum += ledger.rows[i].granted[LEDGER_PAGES];
            CU_ASSERT_TRUE(accounts[i].used <= ledger.rows[i].granted[LEDGER_PAGES]);
        }
        CU_ASSERT_TRUE(sum <= LIMIT);
    }
    CU_ASSERT_EQUAL(used, LIMIT);
    CU_ASSERT_EQUAL(accounts[4].used, 0);
    CU_ASSERT_EQUAL(ledger_pool(&ledger, LEDGER_PAGES, LIMIT), 0);
    ledger_destroy(&ledger);
}

static void nothing_is_drawn_while_a_row_is_missing(void)
{
    Ledger ledger = ledger_of(3);
    LedgerAccount account = {.granted = 500, .used = 500, .needed = 10};
    LedgerAccount other = {.granted = 800, .used = 700, .needed = 10};
    for (uint32_t i = 0; i < 3; i++) {
        ledger.rows[i].known = false; /* it was lost */
    }
    CU_ASSERT_TRUE(changes(&ledger, 0, LEDGER_PAGES, 1000, &account));
    CU_ASSERT_EQUAL(account.granted, 500);
    CU_ASSERT_TRUE(changes(&ledger, 1, LEDGER_PAGES, 1500, &other));
    CU_ASSERT_EQUAL(ledger.rows[1].granted[LEDGER_PAGES], 800);
    CU_ASSERT_FALSE(changes(&ledger, 0, LEDGER_PAGES, 1500, &account));
    CU_ASSERT_EQUAL(account.granted, 500);
    LedgerAccount third = {.idle = true};
    CU_ASSERT_TRUE(changes(&ledger, 2, LEDGER_PAGES, 1500, &third));
    CU_ASSERT_TRUE(changes(&ledger, 0, LEDGER_PAGES, 1500, &account));
    CU_ASSERT_TRUE(account.granted > 500 && account.granted <= 700);
    ledger_destroy(&ledger);
}

/* Whoever has work first has transfers for more than the whole limit, and looks again and again. */
static void who_comes_first_leaves_a_part_for_the_others(void)
{
    const uint64_t limit = 500;
    Ledger ledger = ledger_of(3);
    LedgerAccount first = {.needed = 1000};
    LedgerAccount later = {.needed = 1000};
    for (unsigned look = 0; look < 100; look++) {
        ledger_settle(&ledger, 0, LEDGER_PAGES, limit, &first);
    }
    CU_ASSERT_TRUE(first.granted >= limit / 6 && first.granted <= limit / 3);
    CU_ASSERT_TRUE(changes(&ledger, 1, LEDGER_PAGES, limit, &later));
    CU_ASSERT_TRUE(later.granted >= limit / 10);
    ledger_destroy(&ledger);
}

static void without_a_limit_nothing_is_wanted(void)
{
    Ledger ledger = ledger_of(2);
    LedgerAccount account = {.needed = 10};
    CU_ASSERT_FALSE(changes(&ledger, 0, LEDGER_BYTES, 0, &account));
    CU_ASSERT_FALSE(ledger_is_wanted(&ledger, LEDGER_BYTES));
    ledger_destroy(&ledger);
}

/* Three agents, each with less than a page's bytes: together they have two pages' more. */
static void what_is_too_little_for_anything_is_gathered(void)
{
    Ledger ledger = ledger_of(3);
    LedgerAccount accounts[3];
    const uint64_t limit = 10000;
    uint64_t begun = 0;
    for (uint32_t i = 0; i < 3; i++) {
        accounts[i] = (LedgerAccount){.granted = 3000, .used = 2300, .needed = 5000, .least = 1000};
        ledger.rows[i].granted[LEDGER_BYTES] = 3000;
    }
    accounts[0].granted = ledger.rows[0].granted[LEDGER_BYTES] = 4000;
    accounts[0].used = 3300;
    for (unsigned round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            LedgerAccount *account = &accounts[i];
            ledger_settle(&ledger, i, LEDGER_BYTES, limit, account);
            CU_ASSERT_TRUE(account->used <= account->granted);
            if (account->granted - account->used >= account->least) {
                account->used += account->least;
                begun++;
            }
        }
    }
    CU_ASSERT_EQUAL(begun, 2);
    CU_ASSERT_EQUAL(ledger_pool(&ledger, LEDGER_BYTES, limit), 100);
    for (uint32_t i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(ledger.rows[i].wants[LEDGER_BYTES]);
        CU_ASSERT_EQUAL(accounts[i].granted, accounts[i].used);
    }
    accounts[1].used += 50; /* its last page was larger: that is paid from the pool */
    ledger_settle(&ledger, 1, LEDGER_BYTES, limit + 1000, &accounts[1]);
    CU_ASSERT_TRUE(accounts[1].granted >= accounts[1].used + 1000);
    ledger_destroy(&ledger);
}

/* ---- a rate ---- */

#define RATE UINT64_C(1000000)

/* What an agent would use, if it might. */
static void share(Ledger *ledger, uint32_t agent, uint64_t demand, LedgerAccount *account)
{
    account->idle = demand == 0;
    account->used = demand < account->granted ? demand : account->granted;
    account->needed = account->granted / 8 + 1;
    ledger_settle(ledger, agent, LEDGER_RATE, RATE, account);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ledger->n; i++) {
        sum += ledger->rows[i].granted[LEDGER_RATE];
    }
    CU_ASSERT_TRUE(sum <= RATE);
}

static void share_often(Ledger *ledger, const uint64_t *demands, LedgerAccount *accounts)
{
    for (unsigned round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < ledger->n; i++) {
            share(ledger, i, demands[i], &accounts[i]);
        }
    }
}

static void a_rate_is_divided_by_who_can_use_it(void)
{
    Ledger ledger = ledger_of(4);
    LedgerAccount accounts[4] = {{.granted = 0}};
    const uint64_t all[] = {RATE, RATE, RATE, RATE};
    const uint64_t one[] = {RATE, 10000, 20000, 0};
    share_often(&ledger, one, accounts);
    CU_ASSERT_TRUE(accounts[0].granted > RATE * 9 / 10);
    CU_ASSERT_TRUE(accounts[1].granted >= 10000 && accounts[2].granted >= 20000);
    CU_ASSERT_EQUAL(accounts[3].granted, 0);
    share_often(&ledger, all, accounts);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(accounts[i].granted, RATE / 4);
    }
    share_often(&ledger, one, accounts);
    CU_ASSERT_TRUE(accounts[0].granted > RATE * 9 / 10);
    const uint64_t two[] = {RATE, RATE, 0, 0};
    share_often(&ledger, two, accounts);
    CU_ASSERT_EQUAL(accounts[0].granted + accounts[1].granted, RATE);
    CU_ASSERT_TRUE(accounts[1].granted >= RATE / 4);
    ledger_destroy(&ledger);
}

static void shares_of_a_rate_never_exceed_it(void)
{
    Ledger ledger = ledger_of(AGENTS);
    LedgerAccount accounts[AGENTS] = {{.granted = 0}};
    uint64_t demands[AGENTS] = {0};
    Dice dice = {7};
    for (size_t round = 0; round < 20000; round++) {
        uint32_t agent = (uint32_t)dice_below(&dice, AGENTS);
        if (dice_below(&dice, 20) == 0) {
            demands[agent] = dice_below(&dice, 3) * dice_below(&dice, RATE);
        }
        share(&ledger, agent, demands[agent], &accounts[agent]);
    }
    ledger_destroy(&ledger);
}

static void nobody_takes_the_share_of_an_agent_that_was_not_heard(void)
{
    Ledger ledger = ledger_of(4);
    LedgerAccount accounts[3] = {{.granted = 0}};
    const uint64_t all[] = {RATE, RATE, RATE};
    ledger.rows[3].known = false;
    for (unsigned round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            share(&ledger, i, all[i], &accounts[i]);
        }
    }
    CU_ASSERT_EQUAL(accounts[0].granted + accounts[1].granted + accounts[2].granted, RATE * 3 / 4);
    /* It was lost, and all but one write again what they have. */
    for (uint32_t i = 0; i < 4; i++) {
        ledger.rows[i] = (LedgerRow){.known = false};
    }
    share(&ledger, 0, RATE, &accounts[0]);
    CU_ASSERT_TRUE(ledger.rows[0].granted[LEDGER_RATE] >= RATE / 4);
    LedgerAccount none = {.idle = true};
    CU_ASSERT_TRUE(changes(&ledger, 1, LEDGER_RATE, 0, &none)); /* no limit */
    CU_ASSERT_FALSE(ledger.rows[1].wants[LEDGER_RATE]);
    ledger_destroy(&ledger);
}

/* ---- the end ---- */

static const uint16_t three[] = {0, 1, 2};

static EndVerdict round_of(Ending *ending, const EndReport reports[3])
{
    EndVerdict verdict = END_NOT_YET;
    CU_ASSERT_EQUAL(ending_begin(ending, three, 3), RESULT_OK);
    for (uint16_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(verdict, END_NOT_YET);
        verdict = ending_report(ending, i, ending->round, &reports[i]);
    }
    return verdict;
}

static void two_quiet_rounds_end_it(void)
{
    Ending ending = {.n = 0};
    EndReport reports[3] = {{.idle = true}, {.idle = true}, {.idle = true}};
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[1].changes = 1; /* something came and went */
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[2].session = 9; /* another process */
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[0].idle = false;
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[0].idle = true;
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_FINISHED);
    ending_destroy(&ending);
}

static void a_round_that_was_not_answered_does_not_count(void)
{
    Ending ending = {.n = 0};
    EndReport reports[3] = {{.idle = true}, {.idle = true}, {.idle = true}};
    size_t from = 0;
    uint16_t agent = 0;
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    (void)ending_begin(&ending, three, 3);
    CU_ASSERT_EQUAL(ending_report(&ending, 1, ending.round - 1, &reports[1]), END_NOT_YET);
    CU_ASSERT_EQUAL(ending_report(&ending, 0, ending.round, &reports[0]), END_NOT_YET);
    CU_ASSERT_EQUAL(ending_report(&ending, 0, ending.round, &reports[0]), END_NOT_YET);
    CU_ASSERT_TRUE(ending_missing(&ending, &from, &agent) && agent == 1);
    CU_ASSERT_TRUE(ending_missing(&ending, &from, &agent) && agent == 2);
    CU_ASSERT_FALSE(ending_missing(&ending, &from, &agent));
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_FINISHED);
    ending_destroy(&ending);
}

static void a_limit_ends_it_when_nobody_holds_any_of_it(void)
{
    Ending ending = {.n = 0};
    EndReport reports[3] = {{.spent = true}, {.idle = true, .holds = true}, {.idle = true}};
    (void)round_of(&ending, reports);
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[1].holds = false;
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_LIMIT);
    ending_destroy(&ending);
}

static void failed_hosts_that_are_left_end_it_as_a_tail(void)
{
    Ending ending = {.n = 0};
    EndReport reports[3] = {{.idle = true}, {.idle = true, .tail = true}, {.idle = true}};
    (void)round_of(&ending, reports);
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_TAIL);
    reports[0] = (EndReport){.spent = true}; /* then a limit is why it ends */
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_LIMIT);
    ending_destroy(&ending);
}

static void one_that_was_never_started_is_waited_for_but_at_a_limit(void)
{
    Ending ending = {.n = 0};
    EndReport reports[3] = {{.idle = true}, {.idle = true}, {.idle = true, .absent = true}};
    (void)round_of(&ending, reports);
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_NOT_YET);
    reports[0] = (EndReport){.spent = true};
    CU_ASSERT_EQUAL(round_of(&ending, reports), END_LIMIT);
    ending_destroy(&ending);
}

/* Agents that hand work to each other while they are asked: never early, in the end at last. */
static void it_never_ends_early(void)
{
    enum { MANY = 8 };
    uint16_t agents[MANY];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        Ending ending = {.n = 0};
        EndReport state[MANY];
        Dice dice = {seed};
        unsigned work[MANY] = {0};
        unsigned left = 200;
        unsigned total = 3;
        size_t from = 0;
        memset(state, 0, sizeof state);
        for (uint16_t i = 0; i < MANY; i++) {
            agents[i] = i;
        }
        work[dice_below(&dice, MANY)] = 3;
        EndVerdict verdict = END_NOT_YET;
        for (size_t step = 0; verdict == END_NOT_YET && step < 1000000; step++) {
            size_t who = dice_below(&dice, MANY);
            size_t whom = dice_below(&dice, MANY);
            if (work[who] > 0 && dice_below(&dice, 3) > 0) {
                bool makes = left > 0 && dice_below(&dice, 3) > 0;
                work[who]--;
                state[who].changes++;
                total -= !makes;
                left -= makes;
                work[whom] += makes; /* committed there before it leaves here */
                state[whom].changes += makes;
            }
            uint16_t next = 0;
            if (!ending.open) {
                (void)ending_begin(&ending, agents, MANY);
                from = 0;
            } else if (ending_missing(&ending, &from, &next)) {
                state[next].idle = work[next] == 0;
                verdict = ending_report(&ending, next, ending.round, &state[next]);
            }
        }
        CU_ASSERT_TRUE(verdict == END_FINISHED && total == 0);
        ending_destroy(&ending);
    }
}

/* ---- edicts ---- */

static Edict edict_of(EdictVerb verb, char *name, char *pattern, char *value)
{
    static char who[] = "uid=0";
    return (Edict){.verb = verb, .name = name, .pattern = pattern, .value = value, .who = who};
}

static void the_last_edict_about_a_thing_is_in_force(void)
{
    Edicts edicts = {.n = 0};
    Edicts again = {.n = 0};
    Buffer bytes;
    char rule[] = "www.example.org";
    char option[] = "politeness.host_delay";
    char two[] = "2s";
    char nothing[] = "";
    Edict given[] = {
        edict_of(EDICT_DENY, rule, nothing, nothing), edict_of(EDICT_SET, option, nothing, two),
        edict_of(EDICT_SET, option, rule, two), edict_of(EDICT_ALLOW, rule, nothing, nothing)};
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(edicts_add(&edicts, &given[i]), RESULT_OK);
    }
    CU_ASSERT_TRUE(edicts.n == 3 && edicts.last == 4);
    CU_ASSERT_TRUE(edicts.list[2].verb == EDICT_ALLOW && edicts.list[2].number == 4);
    CU_ASSERT_TRUE(edicts_find_option(&edicts, rule, option) == &edicts.list[1]);
    CU_ASSERT_TRUE(edicts_find_option(&edicts, "other", option) == NULL);
    CU_ASSERT_EQUAL(edicts_write(&edicts, &bytes), RESULT_OK);
    CU_ASSERT_EQUAL(edicts_read(&again, bytes.data, bytes.length), RESULT_OK);
    CU_ASSERT_TRUE(again.n == 3 && again.last == 4 && again.bytes == edicts.bytes);
    CU_ASSERT_STRING_EQUAL(again.list[1].pattern, rule);
    bytes.data[20] ^= 1;
    CU_ASSERT_EQUAL(edicts_read(&again, bytes.data, bytes.length), RESULT_DAMAGED);
    CU_ASSERT_EQUAL(again.n, 3);
    buffer_destroy(&bytes);
    edicts_destroy(&edicts);
    edicts_destroy(&again);
}

static void add(Edicts *edicts, uint64_t at, EdictVerb verb, char *name)
{
    char nothing[] = "";
    Edict edict = edict_of(verb, name, nothing, nothing);
    edict.number = at;
    CU_ASSERT_EQUAL(edicts_add(edicts, &edict), RESULT_OK);
}

/* A server has forgotten all, while an agent was away that had heard of more than the others. */
static void of_two_lists_the_later_word_about_each_thing_holds(void)
{
    char crawl[] = "";
    char host[] = "h";
    char other[] = "o";
    Edicts away = {.n = 0};
    Edicts here = {.n = 0};
    add(&away, 100, EDICT_DENY, crawl);
    CU_ASSERT_EQUAL(edicts_copy(&here, &away), RESULT_OK);
    add(&away, 200, EDICT_PAUSE, crawl);
    add(&away, 190, EDICT_DENY, host); /* by a clock that goes behind */
    CU_ASSERT_EQUAL(away.last, 201);
    add(&here, 300, EDICT_RESUME, crawl);
    add(&here, 150, EDICT_DENY, other);
    CU_ASSERT_EQUAL(here.last, 301);
    CU_ASSERT_EQUAL(edicts_merge(&here, &away), RESULT_OK);
    CU_ASSERT_TRUE(here.n == 4 && here.last == 302);
    CU_ASSERT_TRUE(here.list[1].verb == EDICT_RESUME && here.list[2].name[0] == 'o');
    CU_ASSERT_TRUE(here.list[3].verb == EDICT_DENY && here.list[3].name[0] == 'h');
    /* Whoever has grown from another list has lost nothing of it. */
    CU_ASSERT_EQUAL(edicts_merge(&here, &away), RESULT_OK);
    CU_ASSERT_TRUE(here.n == 4 && here.last == 302);
    CU_ASSERT_EQUAL(edicts_merge(&away, &here), RESULT_OK);
    CU_ASSERT_TRUE(away.n == 4 && away.list[1].verb == EDICT_RESUME);
    edicts_destroy(&away);
    edicts_destroy(&here);
}

static void denials_stay_when_there_is_no_room(void)
{
    Edicts edicts = {.n = 0};
    char host[32];
    char nothing[] = "";
    for (unsigned i = 0; i < EDICTS_MOST; i++) {
        (void)snprintf(host, sizeof host, "h%u", i);
        Edict edict = edict_of(i % 2 == 0 ? EDICT_DENY : EDICT_VISIT, host, nothing, nothing);
        CU_ASSERT_EQUAL(edicts_add(&edicts, &edict), RESULT_OK);
    }
    Edict more = edict_of(EDICT_DENY, host, nothing, nothing);
    CU_ASSERT_EQUAL(edicts_add(&edicts, &more), RESULT_OK);
    CU_ASSERT_TRUE(edicts.n == EDICTS_MOST && edicts.list[0].verb == EDICT_DENY);
    for (unsigned i = 0; i < EDICTS_MOST / 2 - 1; i++) {
        (void)snprintf(host, sizeof host, "g%u", i);
        CU_ASSERT_EQUAL(edicts_add(&edicts, &more), RESULT_OK);
    }
    (void)snprintf(host, sizeof host, "one more");
    CU_ASSERT_EQUAL(edicts_add(&edicts, &more), RESULT_LIMIT);
    edicts_destroy(&edicts);
}

UNIT_MAIN(
    "cluster, whole",
    {"the last edict about a thing is in force", the_last_edict_about_a_thing_is_in_force},
    {"of two lists the later word about each thing holds",
     of_two_lists_the_later_word_about_each_thing_holds},
    {"denials stay when there is no room", denials_stay_when_there_is_no_room},
    {"a ledger survives its bytes", a_ledger_survives_its_bytes},
    {"a limit is used up exactly", a_limit_is_used_up_exactly},
    {"nothing is drawn while a row is missing", nothing_is_drawn_while_a_row_is_missing},
    {"who comes first leaves a part for the others", who_comes_first_leaves_a_part_for_the_others},
    {"without a limit nothing is wanted", without_a_limit_nothing_is_wanted},
    {"what is too little for anything is gathered", what_is_too_little_for_anything_is_gathered},
    {"a rate is divided by who can use it", a_rate_is_divided_by_who_can_use_it},
    {"shares of a rate never exceed it", shares_of_a_rate_never_exceed_it},
    {"nobody takes the share of an agent that was not heard",
     nobody_takes_the_share_of_an_agent_that_was_not_heard},
    {"two quiet rounds end it", two_quiet_rounds_end_it},
    {"a round that was not answered does not count", a_round_that_was_not_answered_does_not_count},
    {"a limit ends it when nobody holds any of it", a_limit_ends_it_when_nobody_holds_any_of_it},
    {"failed hosts that are left end it as a tail", failed_hosts_that_are_left_end_it_as_a_tail},
    {"one that was never started is waited for, but at a limit",
     one_that_was_never_started_is_waited_for_but_at_a_limit},
    {"it never ends early", it_never_ends_early})
