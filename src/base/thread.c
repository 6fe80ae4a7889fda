#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/log.h"

static _Thread_local Thread *self;

static void *enter(void *argument)
{
    self = argument;
    log_set_thread_name(self->name);
    (void)pthread_setname_np(pthread_self(), self->name);
    return self->run(self->argument);
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
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = pthread_create(&thread->handle, NULL, enter, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    thread->started = rc == 0;
    return rc == 0 ? RESULT_OK : rc == EAGAIN ? RESULT_LIMIT : RESULT_MEMORY;
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
