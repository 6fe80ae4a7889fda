#include "command/cluster/console_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/cluster/cluster_command.h"
#include "command/cluster/console.h"
#include "crawl/cluster/cluster_console.h"
#include "crawl/exit_status.h"
#include "logs/log_text.h"
#include "report/write/report_words.h"

typedef struct ConsolePrint {
    const char *command;
    bool alone; /* one agent answers: nothing is said of it */
    int last;   /* agent whose words were printed */
} ConsolePrint;

static void console_complain(const ConsolePrint *print, const ConsoleAgent *agent, const char *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "ragno %s: agent %u%s%s%s %s\n", print->command, (unsigned)agent->number,
                  *agent->name == '\0' ? "" : " (", agent->name, *agent->name == '\0' ? "" : ")",
                  why);
}

static void console_print(void *context, const ConsoleAgent *agent, const char *piece,
                          size_t length)
{
    ConsolePrint *print = context;
    if (agent->rc == RESULT_LIMIT) {
        console_complain(print, agent, piece);
    } else if (agent->rc != RESULT_OK) {
        console_complain(print, agent,
                         agent->rc == RESULT_NOT_FOUND ? "does not run" : "does not answer");
    } else {
        if (!print->alone && print->last != agent->number) {
            (void)printf("%s== agent %u (%s)\n", print->last < 0 ? "" : "\n",
                         (unsigned)agent->number, agent->name);
            print->last = agent->number;
        }
        (void)fwrite(piece, 1, length, stdout);
    }
}

/* Before the reports of the agents. */
static void console_print_whole(Console *console)
{
    Buffer whole = {.limit = BUFFER_NO_LIMIT};
    char pages[WORDS_BYTES], bytes[WORDS_BYTES], queued[WORDS_BYTES];
    (void)console_status(console, &whole, NULL, NULL);
    const char *json = buffer_string(&whole);
    (void)printf("The whole crawl, %zu of %u agents: %s pages, %s, %s URLs queued\n\n",
                 console->running, console->table.n_agents,
                 words_count((uint64_t)status_json_number(json, "pages", 0), pages),
                 words_bytes(status_json_number(json, "bytes", 0), bytes),
                 words_count((uint64_t)status_json_number(json, "urls_queued", 0), queued));
    buffer_destroy(&whole);
}

static bool console_has(char *const *words, size_t n, const char *word)
{
    for (size_t i = 1; i < n; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct ConsoleViews {
    ConsoleView *views;
    uint32_t n;
    Buffer line;
} ConsoleViews;

static void console_view_hear(void *context, const ConsoleAgent *agent, const char *piece,
                              size_t length)
{
    ConsoleViews *all = context;
    for (size_t i = 0; agent->rc == RESULT_OK && i < length; i++) {
        if (piece[i] != '\n') {
            (void)buffer_append_char(&all->line, piece[i]);
        } else {
            console_view_take(&all->views[agent->number], all->n, buffer_string(&all->line));
            buffer_reset(&all->line);
        }
    }
    if (agent->rc != RESULT_OK || agent->run.ended) {
        buffer_reset(&all->line);
    }
}

/* NULL without memory. */
static ConsoleView *console_look_at_peers(Console *console)
{
    char *words[] = {(char *)(uintptr_t) "verify", (char *)(uintptr_t) "--peers"};
    uint32_t n = console->table.n_agents;
    ConsoleView *views = calloc(n + 1u, sizeof *views);
    ConsolePeer *peers = calloc((size_t)n * n + 1, sizeof *peers);
    if (views == NULL || peers == NULL) {
        free(views);
        free(peers);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        views[i].peers = peers + (size_t)i * n;
    }
    views[n].peers = peers;
    ConsoleViews all = {.views = views, .n = n};
    buffer_init(&all.line, BUFFER_NO_LIMIT);
    (void)console_ask(console, words, 2, console_view_hear, &all);
    buffer_destroy(&all.line);
    return views;
}

/* `verify` of each directory, and whether the agents agree. */
static int console_verify(Console *console, char *const *words, size_t n, ConsolePrint *print)
{
    uint32_t n_agents = console->table.n_agents;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    ConsoleView *before = console_look_at_peers(console);
    int status = n > 1 ? 0 : console_ask(console, words, n, console_print, print);
    ConsoleView *after = console_look_at_peers(console);
    uint32_t known = 0;
    uint64_t blocks = 0;
    if (before != NULL && after != NULL) {
        size_t problems = console_compare(before, after, n_agents, &text);
        for (uint32_t i = 0; i < n_agents; i++) {
            known += after[i].known;
            blocks += after[i].blocks;
        }
        (void)printf(
            "%s%speers\t%u of %u agents compared\t%llu blocks on their way\t%zu problems\n",
            n > 1 ? "" : "\n", buffer_string(&text), known, n_agents, (unsigned long long)blocks,
            problems);
        status = (problems > 0 || known < n_agents) && status == 0 ? EXIT_NEGATIVE : status;
    }
    if (before != NULL) {
        free(before[n_agents].peers);
    }
    if (after != NULL) {
        free(after[n_agents].peers);
    }
    free(before);
    free(after);
    buffer_destroy(&text);
    return status;
}

static int console_print_all(Console *console, char *const *words, size_t n, ConsolePrint *print)
{
    if (!print->alone && console_has(words, n, "--json")) {
        /* What all say, as one object. */
        Buffer whole = {.limit = BUFFER_NO_LIMIT};
        Buffer all = {.limit = BUFFER_NO_LIMIT};
        int status = strcmp(words[0], "status") == 0 ? console_status(console, &whole, &all, NULL)
                                                     : console_json(console, words, n, &all);
        (void)puts(buffer_string(&all));
        for (uint32_t i = 0; i < console->table.n_agents; i++) {
            const ConsoleAgent *agent = &console->agents[i];
            if (agent->rc != RESULT_OK && agent->state != NULL) {
                console_complain(print, agent, agent->state);
            }
        }
        buffer_destroy(&whole);
        buffer_destroy(&all);
        return status;
    }
    if (strcmp(words[0], "report") == 0 && n == 1) {
        console_print_whole(console);
    }
    if (strcmp(words[0], "verify") == 0 && (n == 1 || strcmp(words[1], "--peers") == 0)) {
        return console_verify(console, words, n, print);
    }
    return console_ask(console, words, n, console_print, print);
}

static int console_run(const Config *config, char **words, size_t n)
{
    Console console;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    ConsolePrint print = {.command = words[0],
                          .alone = console_subject(words, n) != NULL ||
                                   console_is_shared(config, words, n),
                          .last = -1};
    Result rc = console_open(&console, config, &error);
    int status = EXIT_NETWORK;
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s\n", words[0],
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    } else {
        status = console_print_all(&console, words, n, &print);
    }
    console_close(&console);
    buffer_destroy(&error);
    return rc == RESULT_NOT_FOUND ? EXIT_NEGATIVE : status;
}

bool console_is_for(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[0], "crawl") != 0 && strcmp(argv[0], "cluster") != 0 &&
           (strncmp(argv[1], "nats://", 7) == 0 || strncmp(argv[1], "tls://", 6) == 0);
}

Result console_command_read(Config *config, int argc, char **argv, char **words, size_t *n,
                            Buffer *error)
{
    Result rc = cluster_client_set_url(config, argv[1], error);
    words[0] = argv[0];
    *n = 1;
    for (int i = 2; i < argc && rc == RESULT_OK; i++) {
        bool taken = cluster_client_option(config, argc, argv, &i, &rc, error);
        if (!taken && *n == CONSOLE_WORDS) {
            rc = RESULT_LIMIT;
        } else if (!taken) {
            words[(*n)++] = argv[i];
        }
    }
    return rc == RESULT_OK ? cluster_client_check(config, error) : rc;
}

int console_main(int argc, char **argv)
{
    char *words[CONSOLE_WORDS];
    size_t n = 0;
    Config config;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    Result rc = console_command_read(&config, argc, argv, words, &n, &error);
    int status = EXIT_USAGE;
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno %s: %s\n", argv[0],
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    } else if (strcmp(argv[0], "status") == 0 && n == 1) {
        status = cluster_status(&config, "status");
    } else {
        if (strcmp(argv[0], "forget") == 0 && n < CONSOLE_WORDS) {
            words[n++] = (char *)(uintptr_t) "--no-wait"; /* whoever answers starts anew for it */
        }
        status = console_run(&config, words, n);
    }
    config_destroy(&config);
    buffer_destroy(&error);
    return status;
}
