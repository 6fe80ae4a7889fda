#include <signal.h>

#include "base/thread/thread.h"
#include "unit.h"

static void *read_mask(void *mask)
{
    (void)pthread_sigmask(SIG_BLOCK, NULL, mask);
    return NULL;
}

static void a_thread_has_only_signals_of_its_own(void)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE};
    static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
    Thread thread;
    sigset_t mask;
    CU_ASSERT_EQUAL_FATAL(thread_start(&thread, "mask", read_mask, &mask), RESULT_OK);
    thread_join(&thread);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        CU_ASSERT_FALSE(sigismember(&mask, own[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_TRUE(sigismember(&mask, others[i]));
    }
}

UNIT_MAIN("thread", {"a thread has only signals of its own", a_thread_has_only_signals_of_its_own})
