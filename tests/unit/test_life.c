#include <sched.h>
#include <stdatomic.h>

#include "base/thread/thread.h"
#include "unit.h"
#include "until.h"

typedef struct Worker {
    Life life;
    atomic_bool busy; /* it has something to do */
    atomic_uint runs; /* threads that have begun */
    atomic_uint looks;
} Worker;

static void *work(void *argument)
{
    Worker *worker = argument;
    atomic_fetch_add(&worker->runs, 1);
    while (atomic_load(&worker->busy) || !life_ends(&worker->life)) {
        atomic_fetch_add(&worker->looks, 1);
        (void)sched_yield();
    }
    return NULL;
}

static void start(Worker *worker)
{
    CU_ASSERT_EQUAL(life_start(&worker->life, "worker", work, worker), RESULT_OK);
}

static void it_rests_when_it_has_nothing_to_do_and_goes_on_in_a_new_thread(void)
{
    Worker worker = {.busy = false};
    CU_ASSERT_FALSE(life_is_running(&worker.life));
    for (unsigned i = 1; i <= 20; i++) {
        start(&worker);
        start(&worker); /* it runs */
        UNTIL(atomic_load(&worker.runs) == i);
        CU_ASSERT_TRUE(life_is_running(&worker.life));
        life_rest(&worker.life);
        life_rest(&worker.life); /* it rests */
        UNTIL(!life_is_running(&worker.life));
    }
    life_join(&worker.life);
    life_join(&worker.life);
    CU_ASSERT_EQUAL(atomic_load(&worker.runs), 20);
}

static void who_is_at_something_goes_on_in_the_same_thread(void)
{
    Worker worker = {.busy = true};
    start(&worker);
    life_rest(&worker.life);
    unsigned looks = atomic_load(&worker.looks);
    UNTIL(atomic_load(&worker.looks) > looks + 10);
    CU_ASSERT_TRUE(life_is_running(&worker.life)); /* it rests not before it is done */
    start(&worker);
    atomic_store(&worker.busy, false);
    looks = atomic_load(&worker.looks);
    UNTIL(atomic_load(&worker.looks) > looks + 10);
    CU_ASSERT_EQUAL(atomic_load(&worker.runs), 1);
    life_rest(&worker.life);
    life_join(&worker.life);
    CU_ASSERT_FALSE(life_is_running(&worker.life));
}

UNIT_MAIN("life",
          {"it rests when it has nothing to do, and goes on in a new thread",
           it_rests_when_it_has_nothing_to_do_and_goes_on_in_a_new_thread},
          {"who is at something goes on in the same thread",
           who_is_at_something_goes_on_in_the_same_thread})
