#include "base/thread/life.h"

static bool life_turn(Life *life, LifeState from, LifeState to)
{
    return atomic_compare_exchange_strong(&life->state, &from, to);
}

Result life_start(Life *life, const char *name, void *(*run)(void *), void *argument)
{
    if (atomic_load(&life->state) == LIFE_RUNNING || life_turn(life, LIFE_RESTING, LIFE_RUNNING)) {
        return RESULT_OK;
    }
    thread_join(&life->thread);
    atomic_store(&life->state, LIFE_RUNNING);
    Result rc = thread_start(&life->thread, name, run, argument);
    if (rc != RESULT_OK) {
        atomic_store(&life->state, LIFE_ENDED);
    }
    return rc;
}

void life_rest(Life *life)
{
    (void)life_turn(life, LIFE_RUNNING, LIFE_RESTING);
}

bool life_ends(Life *life)
{
    return life_turn(life, LIFE_RESTING, LIFE_ENDED);
}

bool life_rests(Life *life)
{
    return atomic_load(&life->state) == LIFE_RESTING;
}

bool life_is_running(Life *life)
{
    return atomic_load(&life->state) != LIFE_ENDED;
}

void life_join(Life *life)
{
    thread_join(&life->thread);
}
