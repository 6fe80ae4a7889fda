#include <stdio.h>

#include "lease_world.h"
#include "unit.h"

static const LeaseRules rules = {
    .term_ms = 30000, .fetch_ms = 120000, .delay_ms = 1000, .confirm_ms = 30000, .pace_ms = 10};

static LeaseNotice last_news;
static unsigned n_news;

static void note_news(void *context, const LeaseNotice *news)
{
    (void)context;
    last_news = *news;
    n_news++;
}

static MonoTime at(int64_t ms)
{
    return (MonoTime){(INT64_C(1000000) + ms) * 1000000};
}

/* An arbiter of a cluster of one, past its floor and confirmed. */
static LeaseArbiter *arbiter_by(const LeaseRules *by, int64_t ms)
{
    LeaseArbiter *arbiter = NULL;
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    ClusterTable table = {.epoch = 0};
    Arbiters arbiters;
    (void)cluster_table_create(&table, uuid, "", 1);
    (void)arbiters_of_table(&arbiters, &table);
    (void)lease_arbiter_new(&arbiter, by, 0, 1000, at(ms - 2 * lease_rest_ms(&rules)));
    lease_arbiter_set(arbiter, &arbiters, 1, at(ms - 2 * lease_rest_ms(&rules)));
    lease_arbiter_confirm(arbiter, at(ms + 1000000000));
    cluster_table_destroy(&table);
    return arbiter;
}

static LeaseArbiter *arbiter_at(int64_t ms)
{
    return arbiter_by(&rules, ms);
}

static LeaseAnswer ask(LeaseArbiter *arbiter, uint16_t agent, LeaseAsk what, uint64_t number,
                       int64_t ms)
{
    LeaseItem item = {.ask = what, .address = lease_world_address(1), .number = number};
    return lease_arbiter_ask(arbiter, (LeaseClient){agent, 1}, &item, at(ms));
}

static void the_second_waits_for_the_first(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseHint hint;
    LeaseAnswer first = ask(arbiter, 1, LEASE_WANT, 0, 0);
    CU_ASSERT_TRUE(first.said == LEASE_GRANTED && first.number > 0 && !first.others);
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, 10).said, LEASE_WAIT);
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(10), &hint));
    CU_ASSERT_TRUE(hint.kind == LEASE_OTHERS && hint.to.agent == 1);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(20), &hint));
    /* Extensions are refused while somebody waits. */
    LeaseAnswer more = ask(arbiter, 1, LEASE_WANT, first.number, 20000);
    CU_ASSERT_TRUE(more.said == LEASE_WAIT && more.others);
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_RELEASE, 0, 25000).said, LEASE_RELEASED);
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(25000), &hint));
    CU_ASSERT_TRUE(hint.kind == LEASE_OFFER && hint.to.agent == 2);
    CU_ASSERT_EQUAL(ask(arbiter, 3, LEASE_WANT, 0, 25001).said, LEASE_WAIT);
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, 25002).said, LEASE_GRANTED);
    lease_arbiter_delete(arbiter);
}

static void alone_it_is_extended(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseAnswer first = ask(arbiter, 1, LEASE_WANT, 0, 0);
    for (int64_t ms = 20000; ms < 2000000; ms += 20000) {
        LeaseAnswer more = ask(arbiter, 1, LEASE_WANT, first.number, ms);
        CU_ASSERT_TRUE(more.said == LEASE_GRANTED && more.number == first.number);
    }
    lease_arbiter_delete(arbiter);
}

static LeaseArbiter *early_arbiter_at(int64_t ms)
{
    LeaseRules early = rules;
    early.lead_ms = 3000;
    return arbiter_by(&early, ms);
}

static void what_is_soon_free_is_granted_to_begin_then(void)
{
    LeaseArbiter *arbiter = early_arbiter_at(0);
    LeaseHint hint;
    LeaseItem release = {.ask = LEASE_RELEASE, .address = lease_world_address(1), .rest_ms = 5000};
    (void)ask(arbiter, 1, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 2, LEASE_WANT, 0, 0);
    (void)lease_arbiter_hint(arbiter, at(0), &hint);
    (void)lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &release, at(1000));
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, 3000).said, LEASE_WAIT);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(3001), &hint));
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(3002), &hint) && hint.to.agent == 2);
    LeaseAnswer granted = ask(arbiter, 2, LEASE_WANT, 0, 3500);
    CU_ASSERT_EQUAL(granted.said, LEASE_GRANTED);
    CU_ASSERT_TRUE(granted.wait_ms >= 2500 && granted.wait_ms < 2510);
    /* Its answer was lost, or it gives it back: the rest is what it was. */
    granted = ask(arbiter, 2, LEASE_WANT, 0, 4000);
    CU_ASSERT_TRUE(granted.said == LEASE_GRANTED && granted.wait_ms >= 2000);
    (void)ask(arbiter, 2, LEASE_RELEASE, 0, 4500);
    granted = ask(arbiter, 3, LEASE_WANT, 0, 5000);
    CU_ASSERT_TRUE(granted.said == LEASE_GRANTED && granted.wait_ms >= 1000);
    lease_arbiter_delete(arbiter);
}

static void an_address_that_rests_is_known_when_its_waiter_has_gone(void)
{
    LeaseArbiter *arbiter = early_arbiter_at(0);
    LeaseHint hint;
    LeaseItem release = {
        .ask = LEASE_RELEASE, .address = lease_world_address(1), .rest_ms = 200000};
    (void)ask(arbiter, 1, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 2, LEASE_WANT, 0, 0);
    (void)lease_arbiter_hint(arbiter, at(0), &hint);
    (void)lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &release, at(0));
    CU_ASSERT_FALSE(
        lease_arbiter_hint(arbiter, at(199000), &hint)); /* it was silent for too long */
    LeaseAnswer granted = ask(arbiter, 3, LEASE_WANT, 0, 199500);
    CU_ASSERT_TRUE(granted.said == LEASE_GRANTED && granted.wait_ms > 500);
    lease_arbiter_delete(arbiter);
}

static void a_silent_holder_is_waited_for(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseHint hint;
    (void)ask(arbiter, 1, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 2, LEASE_WANT, 0, 0);
    (void)lease_arbiter_hint(arbiter, at(0), &hint);
    int64_t busy = lease_busy_ms(&rules);
    CU_ASSERT_TRUE(busy > 151000 && busy < 151100);
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, busy - 1).said, LEASE_WAIT);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(busy - 1), &hint));
    CU_ASSERT_EQUAL(lease_arbiter_next(arbiter).ns, at(busy).ns);
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(busy), &hint));
    CU_ASSERT_TRUE(hint.kind == LEASE_OFFER && hint.to.agent == 2);
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, busy + 1).said, LEASE_GRANTED);
    lease_arbiter_delete(arbiter);
}

static void an_offer_that_is_not_taken_up_passes_on(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseHint hint;
    (void)ask(arbiter, 1, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 2, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 3, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 1, LEASE_RELEASE, 0, 100);
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(100), &hint) && hint.to.agent == 2);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(100 + LEASE_OFFER_MS - 1), &hint));
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(100 + LEASE_OFFER_MS), &hint));
    CU_ASSERT_EQUAL(hint.to.agent, 3);
    /* Whoever takes it up although it is not its turn waits on. */
    CU_ASSERT_EQUAL(ask(arbiter, 2, LEASE_WANT, 0, 3200).said, LEASE_WAIT);
    CU_ASSERT_EQUAL(ask(arbiter, 3, LEASE_WANT, 0, 3300).said, LEASE_GRANTED);
    lease_arbiter_delete(arbiter);
}

static void a_release_names_the_rest(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseHint hint;
    LeaseItem release = {.ask = LEASE_RELEASE, .address = lease_world_address(1), .rest_ms = 700};
    (void)ask(arbiter, 1, LEASE_WANT, 0, 0);
    (void)ask(arbiter, 2, LEASE_WANT, 0, 0);
    (void)lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &release, at(100));
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(799), &hint));
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(802), &hint));
    lease_arbiter_delete(arbiter);
}

static void a_new_arbiter_and_one_without_news_grant_nothing(void)
{
    LeaseArbiter *arbiter = NULL;
    LeaseHint hint;
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    ClusterTable table = {.epoch = 0};
    Arbiters arbiters;
    int64_t rest = lease_rest_ms(&rules);
    LeaseRules stale = rules;
    stale.stale_ms += 7000; /* its last confirmation may have been of a table so much older */
    CU_ASSERT_TRUE(lease_rest_ms(&stale) >= rest + 7000);
    (void)cluster_table_create(&table, uuid, "", 1);
    (void)lease_arbiter_new(&arbiter, &rules, 0, 1000, at(0));
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 0, 1).said, LEASE_ELSEWHERE); /* no table yet */
    (void)arbiters_of_table(&arbiters, &table);
    lease_arbiter_set(arbiter, &arbiters, 1, at(50));
    lease_arbiter_confirm(arbiter, at(rest + 40));
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 0, rest + 49).said, LEASE_WAIT);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(rest + 49), &hint));
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(rest + 50), &hint));
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 0, rest + 51).said, LEASE_GRANTED);
    /* The confirmation is 30 s old. */
    int64_t late = rest + 40 + rules.confirm_ms;
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 1, late).said, LEASE_WAIT);
    CU_ASSERT_EQUAL(lease_arbiter_next(arbiter).ns, MONO_NEVER.ns);
    lease_arbiter_confirm(arbiter, at(late));
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 1, late).said, LEASE_GRANTED);
    /* The clock has slept. */
    lease_arbiter_lapse(arbiter, at(late));
    CU_ASSERT_EQUAL(ask(arbiter, 1, LEASE_WANT, 1, late).said, LEASE_WAIT);
    lease_arbiter_delete(arbiter);
    cluster_table_destroy(&table);
}

/* The first of 1000 addresses that agent 0 arbitrates by one table but not by the other. */
static IpAddress gained(const ClusterTable *before, const ClusterTable *after)
{
    Arbiters a, b;
    IpAddress address = lease_world_address(0);
    (void)arbiters_of_table(&a, before);
    (void)arbiters_of_table(&b, after);
    for (uint32_t i = 0; i < 1000; i++) {
        address = lease_world_address(i);
        if (arbiters_find(&a, &address) != 0 && arbiters_find(&b, &address) == 0) {
            break;
        }
    }
    arbiters_destroy(&a);
    arbiters_destroy(&b);
    return address;
}

static void addresses_that_a_table_gives_rest(void)
{
    LeaseArbiter *arbiter = NULL;
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    ClusterTable two = {.epoch = 0};
    ClusterTable one = {.epoch = 0};
    Arbiters arbiters;
    int64_t rest = lease_rest_ms(&rules);
    (void)cluster_table_create(&two, uuid, "", 2);
    (void)cluster_table_copy(&one, &two);
    (void)cluster_table_drain(&one, 1);
    (void)cluster_table_settle(&one, 1, 0);
    LeaseItem item = {.ask = LEASE_WANT, .address = gained(&two, &one)};
    (void)lease_arbiter_new(&arbiter, &rules, 0, 1000, at(0));
    (void)arbiters_of_table(&arbiters, &two);
    lease_arbiter_set(arbiter, &arbiters, 1, at(0));
    lease_arbiter_confirm(arbiter, at(1000000000));
    int64_t later = 10 * rest;
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &item, at(later)).said,
                    LEASE_ELSEWHERE);
    (void)arbiters_of_table(&arbiters, &one);
    lease_arbiter_set(arbiter, &arbiters, 3, at(later));
    LeaseHint hint;
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &item, at(later + 1)).said,
                    LEASE_WAIT);
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &item, at(later + 99999)).said,
                    LEASE_WAIT);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(later + rest - 1), &hint));
    CU_ASSERT_TRUE(lease_arbiter_hint(arbiter, at(later + rest), &hint));
    /* After a lapse all rest: a table that was not seen may have given them away in between. */
    lease_arbiter_lapse(arbiter, at(2 * later));
    (void)arbiters_of_table(&arbiters, &one);
    lease_arbiter_set(arbiter, &arbiters, 5, at(2 * later));
    lease_arbiter_confirm(arbiter, at(2000000000));
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &item, at(2 * later)).said,
                    LEASE_WAIT);
    lease_arbiter_delete(arbiter);
    cluster_table_destroy(&one);
    cluster_table_destroy(&two);
}

static void old_messages_and_old_sessions_are_dropped(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    LeaseClient old = {1, 10}, new = {1, 11};
    LeaseItem want = {.ask = LEASE_WANT, .address = lease_world_address(1)};
    LeaseHint hint;
    CU_ASSERT_TRUE(lease_arbiter_hear(arbiter, old, 5, 10, at(0)));
    CU_ASSERT_FALSE(lease_arbiter_hear(arbiter, old, 5, 10, at(0)));
    CU_ASSERT_FALSE(lease_arbiter_hear(arbiter, old, 4, 10, at(0)));
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, old, &want, at(0)).said, LEASE_GRANTED);
    /* Nothing is known of the former process: its lease stays. */
    CU_ASSERT_TRUE(lease_arbiter_hear(arbiter, new, 1, 0, at(100)));
    CU_ASSERT_FALSE(lease_arbiter_hear(arbiter, old, 6, 10, at(100)));
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, new, &want, at(100)).said, LEASE_WAIT);
    CU_ASSERT_FALSE(lease_arbiter_hint(arbiter, at(5000), &hint) && hint.kind == LEASE_OFFER);
    lease_arbiter_delete(arbiter);
    /* It is proven to be dead: the delay is owed, no more. */
    arbiter = arbiter_at(0);
    (void)lease_arbiter_hear(arbiter, old, 5, 10, at(0));
    (void)lease_arbiter_ask(arbiter, old, &want, at(0));
    (void)lease_arbiter_hear(arbiter, new, 1, 11, at(100));
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, new, &want, at(1099)).said, LEASE_WAIT);
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, new, &want, at(1102)).said, LEASE_GRANTED);
    lease_arbiter_delete(arbiter);
}

static void addresses_beyond_the_bound_wait_outside(void)
{
    LeaseArbiter *arbiter = arbiter_at(0);
    for (uint32_t i = 0; i < 1100; i++) {
        struct in_addr in = {i};
        LeaseItem want = {.ask = LEASE_WANT, .address = ip_address_v4(&in)};
        LeaseAnswer answer = lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &want, at(0));
        CU_ASSERT_EQUAL(answer.said, i < 1000 ? LEASE_GRANTED : LEASE_WAIT);
    }
    struct in_addr last = {1099};
    LeaseItem released = {.ask = LEASE_RELEASE};
    LeaseItem want = {.ask = LEASE_WANT, .address = ip_address_v4(&last)};
    size_t bytes = lease_arbiter_bytes(arbiter);
    CU_ASSERT_TRUE(bytes > 0);
    struct in_addr held = {0};
    released.address = ip_address_v4(&held);
    (void)lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &released, at(1));
    LeaseHint hint;
    while (lease_arbiter_hint(arbiter, at(2), &hint)) { /* what nobody wants is forgotten */
    }
    CU_ASSERT_EQUAL(lease_arbiter_ask(arbiter, (LeaseClient){1, 1}, &want, at(3)).said,
                    LEASE_GRANTED);
    CU_ASSERT_EQUAL(lease_arbiter_bytes(arbiter), bytes);
    lease_arbiter_delete(arbiter);
}

static LeaseHolder *holder_at(int64_t ms)
{
    LeaseHolder *holder = NULL;
    LeaseNoticeSink sink = {.take = note_news};
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    ClusterTable table = {.epoch = 0};
    Arbiters arbiters;
    (void)cluster_table_create(&table, uuid, "", 1);
    (void)arbiters_of_table(&arbiters, &table);
    (void)lease_holder_new(&holder, &rules, &sink);
    lease_holder_set(holder, &arbiters, at(ms));
    cluster_table_destroy(&table);
    n_news = 0;
    return holder;
}

static void a_holder_counts_from_when_it_asked(void)
{
    LeaseHolder *holder = holder_at(0);
    IpAddress address = lease_world_address(1);
    LeaseMessage message;
    LeaseAnswer granted = {.said = LEASE_GRANTED, .number = 9};
    lease_holder_want(holder, &address, 1, at(0));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(5), &message));
    CU_ASSERT_TRUE(message.n == 1 && message.items[0].ask == LEASE_WANT);
    CU_ASSERT_FALSE(lease_holder_message(holder, at(6), &message));
    lease_holder_answer(holder, 0, message.number, &granted, 1, at(1005));
    CU_ASSERT_TRUE(n_news == 1 && last_news.kind == LEASE_NOTICE_GRANTED && last_news.ticket == 1);
    CU_ASSERT_EQUAL(last_news.end.ns, at(30005).ns);
    /* At two thirds it asks for more, and says what it has. */
    CU_ASSERT_EQUAL(lease_holder_next(holder).ns, at(20005).ns);
    CU_ASSERT_TRUE(lease_holder_message(holder, at(20005), &message));
    CU_ASSERT_EQUAL(message.items[0].number, 9);
    lease_holder_answer(holder, 0, message.number, &granted, 1, at(20100));
    CU_ASSERT_EQUAL(last_news.end.ns, at(50005).ns);
    lease_holder_delete(holder);
}

static void an_end_is_told_once_and_a_late_answer_not_believed(void)
{
    LeaseHolder *holder = holder_at(0);
    IpAddress address = lease_world_address(1);
    LeaseMessage first, second;
    LeaseAnswer granted = {.said = LEASE_GRANTED, .number = 9};
    lease_holder_want(holder, &address, 1, at(0));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(0), &first));
    uint64_t number = first.number;
    CU_ASSERT_FALSE(lease_holder_message(holder, at(LEASE_ANSWER_MS - 1), &second));
    lease_holder_work(holder, at(LEASE_ANSWER_MS));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(LEASE_ANSWER_MS + 1000), &second));
    CU_ASSERT_TRUE(second.number > number);
    lease_holder_answer(holder, 0, number, &granted, 1, at(3100));
    CU_ASSERT_EQUAL(n_news, 0);
    lease_holder_answer(holder, 0, second.number, &granted, 1, at(3100));
    CU_ASSERT_EQUAL(n_news, 1);
    lease_holder_hint(holder, 0, LEASE_OTHERS, &address, at(3200));
    CU_ASSERT_TRUE(n_news == 2 && last_news.kind == LEASE_NOTICE_CONTENDED);
    for (int64_t ms = 3200; ms < 60000; ms += 100) { /* it does not ask for more then */
        CU_ASSERT_FALSE(lease_holder_message(holder, at(ms), &second));
    }
    CU_ASSERT_TRUE(n_news == 3 && last_news.kind == LEASE_NOTICE_ENDED);
    lease_holder_release(holder, &address, at(61000), at(60000));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(60100), &second));
    CU_ASSERT_TRUE(second.n == 1 && second.items[0].ask == LEASE_RELEASE);
    CU_ASSERT_TRUE(second.items[0].rest_ms >= 900 && second.items[0].rest_ms <= 901);
    LeaseAnswer released = {.said = LEASE_RELEASED};
    lease_holder_answer(holder, 0, second.number, &released, 1, at(60110));
    LeaseHolderStats stats;
    lease_holder_stats(holder, &stats);
    CU_ASSERT_TRUE(stats.wanted == 0 && stats.held == 0);
    lease_holder_delete(holder);
}

static void what_was_not_wanted_any_more_still_rests(void)
{
    LeaseHolder *holder = holder_at(0);
    LeaseMessage message;
    IpAddress address = lease_world_address(1);
    LeaseAnswer granted = {.said = LEASE_GRANTED, .number = 9, .wait_ms = 5000};
    lease_holder_want(holder, &address, 1, at(0));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(0), &message));
    lease_holder_release(holder, &address, at(0), at(10));
    lease_holder_answer(holder, 0, message.number, &granted, 1, at(100));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(110), &message));
    CU_ASSERT_TRUE(message.items[0].ask == LEASE_RELEASE && message.items[0].rest_ms >= 4990);
    lease_holder_delete(holder);
}

static void after_a_sleep_nothing_is_held(void)
{
    LeaseHolder *holder = holder_at(0);
    IpAddress address = lease_world_address(1);
    LeaseMessage message;
    LeaseAnswer granted = {.said = LEASE_GRANTED, .number = 9};
    lease_holder_want(holder, &address, 1, at(0));
    (void)lease_holder_message(holder, at(0), &message);
    lease_holder_answer(holder, 0, message.number, &granted, 1, at(10));
    lease_holder_lose_all(holder, at(100));
    lease_holder_work(holder, at(100));
    CU_ASSERT_TRUE(n_news == 2 && last_news.kind == LEASE_NOTICE_ENDED);
    lease_holder_delete(holder);
}

static void set_arbiter(LeaseHolder *holder, uint16_t agent, MonoTime now)
{
    Arbiters arbiters = {.agents = calloc(1, sizeof(uint16_t)), .n = 1};
    arbiters.agents[0] = agent;
    lease_holder_set(holder, &arbiters, now);
}

/* Two arbiters: one has a message in flight that nobody answers, the other a claim in its queue
 * that has nothing to say any more. */
static void an_empty_queue_does_not_hide_what_is_in_flight(void)
{
    LeaseHolder *holder = holder_at(0);
    LeaseMessage message;
    IpAddress of[2] = {lease_world_address(0), lease_world_address(0)};
    Arbiters both = {.agents = calloc(2, sizeof(uint16_t)), .n = 2};
    both.agents[1] = 1;
    for (uint32_t i = 0; i < 64; i++) {
        IpAddress address = lease_world_address(i);
        of[arbiters_find(&both, &address)] = address;
    }
    lease_holder_set(holder, &both, at(0));
    lease_holder_want(holder, &of[0], 1, at(0));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(5), &message) && message.to == 0);
    lease_holder_set_silent(holder, true);
    lease_holder_want(holder, &of[1], 2, at(10));
    lease_holder_release(holder, &of[1], at(10), at(20));
    lease_holder_restarted(holder, 1, at(30)); /* it has never heard of it */
    lease_holder_set_silent(holder, false);
    CU_ASSERT_FALSE(lease_holder_message(holder, at(5 + LEASE_ANSWER_MS), &message));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(5 + 2 * LEASE_ANSWER_MS), &message));
    CU_ASSERT_TRUE(message.to == 0 && message.n == 1);
    lease_holder_delete(holder);
}

/* What was asked of an arbiter is given up once another one decides: in between others may have
 * been told that nothing is held. */
static void an_answer_of_a_former_arbiter_is_not_believed(void)
{
    LeaseHolder *holder = holder_at(0);
    IpAddress address = lease_world_address(1);
    LeaseMessage first, second;
    LeaseHolderStats stats;
    const LeaseAnswer granted = {.said = LEASE_GRANTED, .number = 7};
    unsigned before = n_news;
    lease_holder_want(holder, &address, 1, at(0));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(5), &first) && first.to == 0);
    set_arbiter(holder, 1, at(10));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(20), &second) && second.to == 1);
    lease_holder_answer(holder, 0, first.number, &granted, 1, at(25));
    set_arbiter(holder, 0, at(30)); /* it decides again, and has forgotten its grant */
    lease_holder_answer(holder, 0, first.number, &granted, 1, at(35));
    lease_holder_answer(holder, 1, second.number, &granted, 1, at(35));
    CU_ASSERT_TRUE(n_news == before && !lease_holder_holds(holder));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(1100), &first) && first.to == 0);
    LeaseHeld held[1];
    CU_ASSERT_EQUAL(lease_holder_held(holder, 0, 9, held, 1, at(1110)), 0); /* it is told so */
    lease_holder_answer(holder, 0, first.number, &granted, 1, at(1120));
    CU_ASSERT_FALSE(lease_holder_holds(holder));
    lease_holder_release(holder, &address, at(1130), at(1130));
    CU_ASSERT_TRUE(lease_holder_message(holder, at(2200), &first));
    set_arbiter(holder, 2, at(2210)); /* who knows nothing of it */
    lease_holder_stats(holder, &stats);
    CU_ASSERT_EQUAL(stats.wanted, 0);
    lease_holder_delete(holder);
}

/* ---- whole clusters ---- */

static const LeaseWorldOptions calm = {.agents = 6,
                                       .addresses = 20,
                                       .wanted = 70,
                                       .run_ms = 900000,
                                       .rules = {.term_ms = 30000,
                                                 .fetch_ms = 20000,
                                                 .delay_ms = 1000,
                                                 .confirm_ms = 30000,
                                                 .pace_ms = 1},
                                       .seed = 1};

static LeaseWorld world;

static uint64_t run_world(LeaseWorldOptions options, bool same_rules)
{
    options.arbiters = same_rules ? options.rules : options.arbiters;
    lease_world_init(&world, &options);
    lease_world_run(&world);
    lease_world_destroy(&world);
    return world.violations;
}

static void agents_that_share_addresses_use_them_fully(void)
{
    CU_ASSERT_EQUAL(run_world(calm, true), 0);
    /* Of 900 s some 80 are the floor; a fetch takes 0.5 s, sometimes 20, and a second's delay. */
    CU_ASSERT_TRUE(world.fetches > 20 * 300);
    CU_ASSERT_TRUE(world.messages < world.fetches);
}

static void misfortune_breaks_no_promise(void)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        LeaseWorldOptions options = calm;
        options.seed = seed;
        options.lost = (unsigned)(seed % 4) * 33;
        options.kills = (unsigned)(seed % 3) * 15;
        options.cuts = (unsigned)(seed % 5);
        options.proven = seed % 2 == 0;
        options.rules.lead_ms = seed % 3 == 0 ? 0 : 4000;
        CU_ASSERT_EQUAL(run_world(options, true), 0);
        CU_ASSERT_TRUE(world.fetches > 1000);
    }
}

/* Whoever watches must see what goes wrong: two mistakes on purpose. */
static void without_the_arbiters_floor_promises_are_broken(void)
{
    LeaseWorldOptions options = calm;
    options.kills = 60;
    options.no_floor = true;
    CU_ASSERT_TRUE(run_world(options, true) > 0);
}

static void a_lease_shorter_than_its_fetches_breaks_promises(void)
{
    LeaseWorldOptions options = calm;
    options.arbiters = options.rules;
    options.arbiters.fetch_ms = 0;
    options.lost = 30; /* of the releases, too */
    CU_ASSERT_TRUE(run_world(options, false) > 0);
}

UNIT_MAIN("lease", {"the second waits for the first", the_second_waits_for_the_first},
          {"alone it is extended", alone_it_is_extended},
          {"what is soon free is granted, to begin then",
           what_is_soon_free_is_granted_to_begin_then},
          {"an address that rests is known when its waiter has gone",
           an_address_that_rests_is_known_when_its_waiter_has_gone},
          {"a silent holder is waited for", a_silent_holder_is_waited_for},
          {"an offer that is not taken up passes on", an_offer_that_is_not_taken_up_passes_on},
          {"a release names the rest", a_release_names_the_rest},
          {"a new arbiter, and one without news, grant nothing",
           a_new_arbiter_and_one_without_news_grant_nothing},
          {"addresses that a table gives rest", addresses_that_a_table_gives_rest},
          {"old messages and old sessions are dropped", old_messages_and_old_sessions_are_dropped},
          {"addresses beyond the bound wait outside", addresses_beyond_the_bound_wait_outside},
          {"a holder counts from when it asked", a_holder_counts_from_when_it_asked},
          {"an end is told once, and a late answer not believed",
           an_end_is_told_once_and_a_late_answer_not_believed},
          {"what was not wanted any more still rests", what_was_not_wanted_any_more_still_rests},
          {"after a sleep nothing is held", after_a_sleep_nothing_is_held},
          {"an answer of a former arbiter is not believed",
           an_answer_of_a_former_arbiter_is_not_believed},
          {"an empty queue does not hide what is in flight",
           an_empty_queue_does_not_hide_what_is_in_flight},
          {"agents that share addresses use them fully",
           agents_that_share_addresses_use_them_fully},
          {"misfortune breaks no promise", misfortune_breaks_no_promise},
          {"without the arbiter's floor promises are broken",
           without_the_arbiters_floor_promises_are_broken},
          {"a lease shorter than its fetches breaks promises",
           a_lease_shorter_than_its_fetches_breaks_promises})
