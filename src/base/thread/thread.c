#include "base/thread/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/thread/log.h"
#include "base/thread/mutex.h"

/* ---- Life ---- */

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

/* ---- Thread ---- */

static _Thread_local Thread *self;
static Mutex list_mutex = {.handle = PTHREAD_MUTEX_INITIALIZER, .rank = RANK_TABLE};
static Thread *list; /* of all threads that run; guarded by list_mutex */

static void list_remove(const Thread *thread)
{
    mutex_lock(&list_mutex);
    Thread **link = &list;
    while (*link != NULL && *link != thread) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = thread->next;
    }
    mutex_unlock(&list_mutex);
}

static void *enter(void *argument)
{
    self = argument;
    log_set_thread_name(self->name);
    (void)pthread_setname_np(pthread_self(), self->name);
    void *result = self->run(self->argument);
    list_remove(self);
    return result;
}

Result thread_start(Thread *thread, const char *name, void *(*run)(void *), void *argument)
{
    (void)snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->run = run;
    thread->argument = argument;
    atomic_store(&thread->step, "starting");
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    /* What the thread itself brings about: blocked, no handler would be asked (abort() of glibc
     * unblocks SIGABRT only before 2.41). */
    (void)sigdelset(&all, SIGBUS);
    (void)sigdelset(&all, SIGSEGV);
    (void)sigdelset(&all, SIGABRT);
    (void)sigdelset(&all, SIGFPE);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    mutex_lock(&list_mutex);
    thread->next = list;
    list = thread;
    mutex_unlock(&list_mutex);
    int rc = pthread_create(&thread->handle, NULL, enter, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    thread->started = rc == 0;
    if (!thread->started) {
        list_remove(thread);
    }
    if (rc != 0) {
        return rc == EAGAIN ? RESULT_LIMIT : RESULT_MEMORY;
    }
    return RESULT_OK;
}

void thread_join(Thread *thread)
{
    if (thread->started) {
        (void)pthread_join(thread->handle, NULL);
        thread->started = false;
    }
}

void thread_step(const char *step)
{
    if (self != NULL) {
        atomic_store_explicit(&self->step, step, memory_order_relaxed);
    }
}

void thread_walk(void (*visit)(void *context, const char *name, const char *step), void *context)
{
    mutex_lock(&list_mutex);
    for (const Thread *thread = list; thread != NULL; thread = thread->next) {
        visit(context, thread->name, atomic_load_explicit(&thread->step, memory_order_relaxed));
    }
    mutex_unlock(&list_mutex);
}
