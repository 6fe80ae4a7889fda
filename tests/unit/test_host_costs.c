/* What hosts cost, in virtual time. */
#include "frontier/visit/host_costs.h"
#include "unit.h"

#define SECOND INT64_C(1000)

static MonoTime at(int64_t ms)
{
    return (MonoTime){.ns = (ms + 1000) * INT64_C(1000000)};
}

/* Pages of other hosts wait that long, twice in each step, for this time. */
static int64_t pass(HostCosts *costs, int64_t from_ms, int64_t for_ms, int64_t waited_ms)
{
    for (int64_t ms = from_ms; ms < from_ms + for_ms; ms += HOST_COSTS_STEP_MS / 2) {
        host_costs_note_wait(costs, waited_ms, at(ms));
    }
    return from_ms + for_ms;
}

static void who_causes_the_wait_rests(void)
{
    static HostCosts costs;
    atomic_store(&costs.patience_ms, 250);
    host_costs_note_page(&costs, 1, 500000, (size_t)64 << 20, 1); /* half a second of reading */
    host_costs_note_page(&costs, 2, 300, 20000, 100);
    host_costs_note_page(&costs, 3, 100000, (size_t)4 << 20, 50000); /* and as much of ingest */
    int64_t now = pass(&costs, 0, 10 * SECOND, 250);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 1), 0); /* nobody waits too long: it goes on */
    now = pass(&costs, now, 10 * SECOND, 251);
    int64_t rest = host_costs_wait_ms(&costs, 1);
    CU_ASSERT_TRUE(rest > 3 * SECOND && rest < 120 * SECOND);
    CU_ASSERT_TRUE(host_costs_wait_ms(&costs, 3) > rest / 4);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 2), 0); /* ordinary pages are free at any price */
    now = pass(&costs, now, 600 * SECOND, 300);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 1), HOST_COSTS_WAIT_MAX_MS);
    now = pass(&costs, now, 3600 * SECOND, 10);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 1), 0); /* the shortage is over */
    CU_ASSERT_EQUAL(atomic_load(&costs.price), 0);
}

static void the_price_settles_where_nobody_waits_too_long(void)
{
    static HostCosts costs;
    atomic_store(&costs.patience_ms, 250);
    /* 100 hosts with pages of half a second, one thread, room for 24 of them. */
    enum { HOSTS = 100, ROOM_MS = 12000 };
    int64_t next_ms[HOSTS] = {0};
    int64_t backlog_ms = 0;
    unsigned late = 0;
    unsigned n_pages = 0;
    for (int64_t ms = 0; ms < 600 * SECOND; ms += 50) {
        backlog_ms = backlog_ms > 50 ? backlog_ms - 50 : 0;
        for (uint32_t i = 0; i < HOSTS; i++) {
            uint32_t h = (i + (uint32_t)ms) % HOSTS;
            if (backlog_ms < ROOM_MS && ms >= next_ms[h] + host_costs_wait_ms(&costs, h)) {
                backlog_ms += 500;
                host_costs_note_page(&costs, h, 500000, (size_t)64 << 20, 1);
                next_ms[h] = ms + 500;
                n_pages += ms > 60 * SECOND;
            }
        }
        host_costs_note_wait(&costs, backlog_ms / 8, at(ms)); /* others do not wait for them */
        late += ms > 60 * SECOND && backlog_ms > 3 * SECOND;
    }
    CU_ASSERT_TRUE(late < 540 * SECOND / 50 / 10);
    CU_ASSERT_TRUE(
        n_pages >
        540 * 3 / 4); /* and they are not shut out: more than a third of the thread is theirs */
}

static void costs_fade_with_cheaper_pages(void)
{
    static HostCosts costs;
    atomic_store(&costs.patience_ms, 1);
    (void)pass(&costs, 0, SECOND, 2);
    host_costs_note_page(&costs, 7, 80000, (size_t)8 << 20, 0);
    int64_t rest = host_costs_wait_ms(&costs, 7);
    CU_ASSERT_TRUE(rest > 0);
    host_costs_note_page(&costs, 7, 10, 1000, 1);
    CU_ASSERT_TRUE(host_costs_wait_ms(&costs, 7) >= rest / 2 - 1);
    CU_ASSERT_TRUE(host_costs_wait_ms(&costs, 7) <= rest / 2 + 1);
    for (int i = 0; i < 3; i++) {
        host_costs_note_page(&costs, 7, 10, 1000, 1);
    }
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 7), 0);
    /* A small page whose thread had to wait for its processor is not dear. */
    host_costs_note_page(&costs, 8, 90000, 20000, 10);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 8), 0);
    atomic_store(&costs.patience_ms, 0);
    (void)pass(&costs, SECOND, 600 * SECOND, 1000 * SECOND);
    host_costs_note_page(&costs, 7, 80000, (size_t)8 << 20, 0);
    CU_ASSERT_EQUAL(host_costs_wait_ms(&costs, 7), 0); /* no patience, no price */
}

UNIT_MAIN("host_costs", {"who causes the wait rests", who_causes_the_wait_rests},
          {"the price settles where nobody waits too long",
           the_price_settles_where_nobody_waits_too_long},
          {"costs fade with cheaper pages", costs_fade_with_cheaper_pages})
