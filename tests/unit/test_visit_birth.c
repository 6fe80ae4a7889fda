/* Which hosts may be in memory: what their records say, clocks that were set, and memory for names.
 */
#include "frontier/host/distributor_state.h"
#include "frontier/host/visit_birth.h"
#include "unit.h"

#define NOW_MS INT64_C(1700000000000)

static bool placed_somewhere;

static void place(void *context, const VisitState *visit_state)
{
    (void)context;
    (void)visit_state;
    placed_somewhere = true;
}

static Distributor *distributor_of(bool has_names)
{
    static Distributor distributor;
    distributor = (Distributor){.options = {.memory_bytes = 8000}};
    distributor.sinks.placed = has_names ? place : NULL;
    distributor_take_wall(&distributor, (WallTime){NOW_MS * 1000});
    return &distributor;
}

static void a_host_is_open_when_it_is_active_and_not_to_wait_for_long(void)
{
    Distributor *d = distributor_of(false);
    static const struct {
        HostState state;
        int64_t wait_ms;
        bool open;
        bool open_with_full;
    } rows[] = {{HOST_ACTIVE, 0, true, true},
                {HOST_ACTIVE, -5000, true, true},
                {HOST_ACTIVE, VISIT_FAR_MS, true, true},
                {HOST_ACTIVE, VISIT_FAR_MS + 1, false, false},
                {HOST_FULL, 0, false, true},
                {HOST_FULL, VISIT_FAR_MS + 1, false, false},
                {HOST_DROPPED, 0, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HostRecord record = {
            .state = rows[i].state, .noted_ms = NOW_MS, .not_before_ms = NOW_MS + rows[i].wait_ms};
        CU_ASSERT_EQUAL(distributor_wait_ms(d, &record), rows[i].wait_ms);
        d->options.visits_full_hosts = false;
        CU_ASSERT_EQUAL(visit_birth_is_open(d, &record), rows[i].open);
        d->options.visits_full_hosts = true;
        CU_ASSERT_EQUAL(visit_birth_is_open(d, &record), rows[i].open_with_full);
    }
}

static void a_clock_that_was_set_back_makes_no_wait_longer_than_it_was(void)
{
    Distributor *d = distributor_of(false);
    HostRecord record = {.state = HOST_ACTIVE,
                         .noted_ms = NOW_MS + INT64_C(86400000) * 400,
                         .not_before_ms = NOW_MS + INT64_C(86400000) * 400 + 5000};
    CU_ASSERT_EQUAL(distributor_wait_ms(d, &record), 5000); /* since the clock was set back */
    distributor_take_wall(d, (WallTime){(NOW_MS + 2000) * 1000});
    CU_ASSERT_EQUAL(distributor_wait_ms(d, &record), 3000);
    distributor_take_wall(d, (WallTime){(NOW_MS + 2000) * 1000 - CLOCK_STEP_US}); /* no step */
    CU_ASSERT_EQUAL(distributor_wait_ms(d, &record), 4000);
    distributor_take_wall(d, (WallTime){(NOW_MS - 60000) * 1000}); /* one: all begins anew */
    CU_ASSERT_EQUAL(distributor_wait_ms(d, &record), 5000);
}

static void only_where_names_have_memory_of_their_own_is_a_host_nameless(void)
{
    HostRecord unknown = {.state = HOST_ACTIVE};
    HostRecord known = {.state = HOST_ACTIVE, .address = 7};
    CU_ASSERT_TRUE(visit_birth_is_nameless(distributor_of(true), &unknown));
    CU_ASSERT_FALSE(visit_birth_is_nameless(distributor_of(true), &known));
    CU_ASSERT_FALSE(visit_birth_is_nameless(distributor_of(false), &unknown));
    Distributor *d = distributor_of(true);
    CU_ASSERT_EQUAL(distributor_names_most(d), 1000);
    CU_ASSERT_EQUAL(distributor_memory_most(d), 7000);
    CU_ASSERT_EQUAL(distributor_names_most(distributor_of(false)), 0);
    d->memory = 500;
    d->names.bytes = 200;
    d->names.count = 5;
    d->n_resolving = 3;
    CU_ASSERT_EQUAL(distributor_memory(d), 300);
    CU_ASSERT_EQUAL(distributor_arriving(d), 0); /* names may lead nowhere */
    d->n_resolving = 6;
    CU_ASSERT_EQUAL(distributor_arriving(d), 1);
    CU_ASSERT_FALSE(placed_somewhere);
}

UNIT_MAIN("visit_birth",
          {"a host is open when it is active and not to wait for long",
           a_host_is_open_when_it_is_active_and_not_to_wait_for_long},
          {"a clock that was set back makes no wait longer than it was",
           a_clock_that_was_set_back_makes_no_wait_longer_than_it_was},
          {"only where names have memory of their own is a host nameless",
           only_where_names_have_memory_of_their_own_is_a_host_nameless})
