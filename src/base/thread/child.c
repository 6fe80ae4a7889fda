#include "base/thread/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int child_spawn(pid_t *pid, const char *program, char *const argv[],
                       const posix_spawn_file_actions_t *files)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0) {
        return rc;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    rc = posix_spawnp(pid, program, files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    return rc;
}

Result child_start(pid_t *pid, const char *program, char *const argv[], const int files[3])
{
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0) {
        return result_of_errno(rc);
    }
    for (int fd = 0; fd < 3 && rc == 0; fd++) {
        if (files[fd] >= 0) {
            rc = posix_spawn_file_actions_adddup2(&actions, files[fd], fd);
        }
    }
    if (rc == 0) {
        rc = child_spawn(pid, program, argv, &actions);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return result_of_errno(rc);
}

void child_kill(pid_t pid, int *status)
{
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
}

bool child_has_ended(pid_t pid, int *status)
{
    return waitpid(pid, status, WNOHANG) == pid;
}
