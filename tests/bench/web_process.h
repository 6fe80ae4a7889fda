/* For benchmarks: the synthetic web as a child process, in a temporary directory.
 *
 *   WebProcess web;
 *   if (web_process_start(&web, argv[0], options) != 0) return 1;   ... web.http, web.dns
 *   web_process_stop(&web, &usage);
 *
 * Also runs other programs of the build and says what they used. One thread. */
#ifndef TESTS_BENCH_WEB_PROCESS_H
#define TESTS_BENCH_WEB_PROCESS_H

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct WebProcess {
    pid_t pid;
    unsigned http;      /* port */
    unsigned dns;       /* port */
    unsigned https;     /* port; 0: not with --tls */
    char build[256];    /* the folder of the programs: build/MODE */
    char directory[64]; /* temporary; holds seeds.txt */
    char seeds[96];
} WebProcess;

/* User and system time, in seconds. */
static inline double web_process_cpu_s(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static inline int web_process_read_ready(WebProcess *web, int fd)
{
    FILE *file = fdopen(fd, "r");
    char line[80] = "";
    int n =
        file == NULL || fgets(line, sizeof line, file) == NULL
            ? 0
            : sscanf(line, "ready http=%5u dns=%5u https=%5u", &web->http, &web->dns, &web->https);
    if (file != NULL) {
        fclose(file);
    }
    return n >= 2 ? 0 : -1;
}

/* Starts build/MODE/web, where program is build/MODE/bench/NAME (argv[0]). options end with NULL.
 * -1 after a message. */
static inline int web_process_start(WebProcess *web, const char *program,
                                    const char *const *options)
{
    char copy[sizeof web->build];
    (void)snprintf(copy, sizeof copy, "%s", program);
    (void)snprintf(web->build, sizeof web->build, "%s/..", dirname(copy));
    (void)snprintf(web->directory, sizeof web->directory, "/tmp/ragno-bench-XXXXXX");
    web->https = 0;
    int ends[2];
    if (mkdtemp(web->directory) == NULL || pipe(ends) != 0) {
        perror("bench: web");
        return -1;
    }
    (void)snprintf(web->seeds, sizeof web->seeds, "%s/seeds.txt", web->directory);
    char path[sizeof web->build + 8];
    (void)snprintf(path, sizeof path, "%s/web", web->build);
    const char *arguments[32] = {path, "--port", "0", "--dns-port", "0", "--seeds", web->seeds};
    for (size_t n = 7; *options != NULL && n < 31; n++) {
        arguments[n] = *options++;
    }
    web->pid = fork();
    if (web->pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        union {
            const char **from;
            char *const *to;
        } unconst = {.from = arguments};
        execv(path, unconst.to);
        perror(path);
        _exit(127);
    }
    close(ends[1]);
    return web_process_read_ready(web, ends[0]);
}

/* Runs a program (argv ends with NULL) to its end; output goes to standard error. Returns the exit
 * status, or -1. */
static inline int web_process_run(const char *const *argv, struct rusage *usage)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        union {
            const char *const *from;
            char *const *to;
        } unconst = {.from = argv};
        execv(argv[0], unconst.to);
        perror(argv[0]);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || wait4(pid, &status, 0, usage) != pid) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Ends the web and removes its directory; usage (may be NULL) is what it used. */
static inline void web_process_stop(WebProcess *web, struct rusage *usage)
{
    struct rusage ignored;
    if (web->pid > 0) {
        (void)kill(web->pid, SIGTERM);
        (void)wait4(web->pid, NULL, 0, usage != NULL ? usage : &ignored);
    }
    const char *const argv[] = {"/bin/rm", "-rf", web->directory, NULL};
    (void)web_process_run(argv, &ignored);
}

#endif
