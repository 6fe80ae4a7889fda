#include "base/thread/mutex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int rc, const char *call)
{
    if (rc != 0) {
        (void)fprintf(stderr, "ragno: %s failed (%d): a lock is used wrongly\n", call, rc);
        abort();
    }
}

#ifdef RAGNO_CHECK_LOCKS
#define HELD_MAX 16
static _Thread_local MutexRank held[HELD_MAX];
static _Thread_local unsigned n_held;

static void note_locked(MutexRank rank)
{
    for (unsigned i = 0; i < n_held; i++) {
        if (held[i] >= rank) {
            (void)fprintf(stderr, "ragno: lock order: rank %u taken while %u is held\n",
                          (unsigned)rank, (unsigned)held[i]);
            abort();
        }
    }
    if (n_held < HELD_MAX) {
        held[n_held++] = rank;
    }
}

static void note_unlocked(MutexRank rank)
{
    for (unsigned i = n_held; i > 0; i--) {
        if (held[i - 1] == rank) {
            n_held--;
            for (unsigned k = i - 1; k < n_held; k++) {
                held[k] = held[k + 1];
            }
            return;
        }
    }
}
#else
static void note_locked(MutexRank rank)
{
    (void)rank;
}

static void note_unlocked(MutexRank rank)
{
    (void)rank;
}
#endif

void mutex_init(Mutex *mutex, MutexRank rank)
{
    must(pthread_mutex_init(&mutex->handle, NULL), "pthread_mutex_init");
    mutex->rank = rank;
}

void mutex_destroy(Mutex *mutex)
{
    must(pthread_mutex_destroy(&mutex->handle), "pthread_mutex_destroy");
}

void mutex_lock(Mutex *mutex)
{
    note_locked(mutex->rank);
    must(pthread_mutex_lock(&mutex->handle), "pthread_mutex_lock");
}

void mutex_unlock(Mutex *mutex)
{
    must(pthread_mutex_unlock(&mutex->handle), "pthread_mutex_unlock");
    note_unlocked(mutex->rank);
}

void condition_init(Condition *condition)
{
    pthread_condattr_t attributes;
    must(pthread_condattr_init(&attributes), "pthread_condattr_init");
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    must(pthread_cond_init(&condition->handle, &attributes), "pthread_cond_init");
    must(pthread_condattr_destroy(&attributes), "pthread_condattr_destroy");
}

void condition_destroy(Condition *condition)
{
    must(pthread_cond_destroy(&condition->handle), "pthread_cond_destroy");
}

void condition_wait(Condition *condition, Mutex *mutex)
{
    must(pthread_cond_wait(&condition->handle, &mutex->handle), "pthread_cond_wait");
}

bool condition_wait_until(Condition *condition, Mutex *mutex, MonoTime deadline)
{
    if (deadline.ns == INT64_MAX) {
        condition_wait(condition, mutex);
        return true;
    }
    struct timespec ts = {.tv_sec = deadline.ns / 1000000000, .tv_nsec = deadline.ns % 1000000000};
    int rc = pthread_cond_timedwait(&condition->handle, &mutex->handle, &ts);
    if (rc == ETIMEDOUT) {
        return false;
    }
    must(rc, "pthread_cond_timedwait");
    return true;
}

void condition_signal(Condition *condition)
{
    must(pthread_cond_signal(&condition->handle), "pthread_cond_signal");
}

void condition_broadcast(Condition *condition)
{
    must(pthread_cond_broadcast(&condition->handle), "pthread_cond_broadcast");
}
