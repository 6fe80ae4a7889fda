#include "crawl/fault.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crawl/exit_status.h"

#define FAULT_PATH_BYTES 4096

extern char **environ;

static char fault_directory[FAULT_PATH_BYTES]; /* written before there are threads */
static atomic_bool fault_is_noted;
static atomic_flag fault_is_handled = ATOMIC_FLAG_INIT;

static void fault_tell(const char *sentence)
{
    (void)!write(STDERR_FILENO, sentence, strlen(sentence));
}

static void fault_tell_damage(void)
{
    fault_tell("ragno: ");
    fault_tell(fault_directory[0] == '\0' ? "a mapped file" : fault_directory);
    fault_tell(": the database (crawl.mdb/data.mdb) is damaged, or the disk cannot read it; what "
               "was committed is as it was. Next: ragno verify DIR names what is broken; ragno "
               "restore BACKUP DIR brings a backup back; the files in warc/ are not affected, and "
               "ragno import -d NEW makes a crawl of them\n");
}

/* A process of its own looks at the pages: this one may hold locks, of LMDB and of malloc. */
static bool fault_sees_damage(void)
{
    static char program[] = "ragno";
    static char command[] = "check";
    static char what[] = "database";
    char *words[] = {program, command, what, fault_directory, NULL};
    pid_t child = 0;
    int status = 0;
    return fault_directory[0] != '\0' &&
           posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) == 0 &&
           waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == EXIT_DIRECTORY;
}

/* Only what is safe in a handler. */
static void on_fault(int number)
{
    if (atomic_flag_test_and_set(&fault_is_handled)) {
        for (;;) {
            (void)pause(); /* the thread that came first ends the process */
        }
    }
    if (number == SIGBUS || fault_is_known() || fault_sees_damage()) {
        fault_tell_damage();
        _exit(EXIT_DIRECTORY);
    }
    fault_tell(number == SIGABRT ? "ragno: an assertion has failed (SIGABRT): a bug\n"
                                 : "ragno: a wrong access to memory (SIGSEGV): a bug\n");
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void fault_install(void)
{
    static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE};
    struct sigaction action = {.sa_handler = on_fault};
    sigset_t unblocked;
    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(&unblocked);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        (void)sigaddset(&unblocked, signals[i]);
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
    /* fault_sees_damage starts the child within a handler, whose signal is blocked. */
    (void)pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
}

void fault_watch(const char *directory)
{
    (void)snprintf(fault_directory, sizeof fault_directory, "%s", directory);
}

void fault_note(void)
{
    atomic_store(&fault_is_noted, true);
}

bool fault_is_known(void)
{
    return atomic_load(&fault_is_noted);
}

int fault_end(int status)
{
    if (!fault_is_known() && (status != EXIT_IO || !fault_sees_damage())) {
        return status;
    }
    fault_tell_damage();
    return EXIT_DIRECTORY;
}
