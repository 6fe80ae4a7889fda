#include "crawl/fault.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "crawl/exit_status.h"

static void fault_tell(const char *sentence)
{
    (void)!write(STDERR_FILENO, sentence, strlen(sentence));
}

/* Only what is safe in a handler. */
static void on_fault(int signal)
{
    if (signal == SIGBUS) {
        fault_tell(
            "ragno: a mapped file is damaged, or the disk cannot read it: most likely "
            "crawl.mdb/data.mdb; what was committed is as it was; ragno verify DIR says more\n");
        _exit(EXIT_DIRECTORY);
    }
    fault_tell(
        "ragno: a wrong access to memory (SIGSEGV): a damaged crawl.mdb/data.mdb, if ragno verify "
        "DIR says so; else a bug\n");
    (void)raise(signal); /* its standard action again: SA_RESETHAND */
}

void fault_install(void)
{
    static const int signals[] = {SIGBUS, SIGSEGV};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}
