#include "command/cluster/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "command/cluster/cluster_command.h"
#include "crawl/exit_status.h"
#include "logs/log_text.h"
#include "report/write/report_words.h"

Result console_open(Console *console, const Config *config, Buffer *error)
{
    uint64_t revision = 0;
    *console = (Console){.config = config};
    Result rc = cluster_client_open(&console->client, config, error);
    if (rc == RESULT_OK) {
        rc = cluster_client_table(&console->client, &console->table, &revision, error);
    }
    if (rc == RESULT_OK) {
        console->agents = calloc(console->table.n_agents, sizeof *console->agents);
        rc = console->agents == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    for (uint32_t i = 0; rc == RESULT_OK && i < console->table.n_agents; i++) {
        console->agents[i].number = (uint16_t)i;
        buffer_init(&console->agents[i].said, BUFFER_NO_LIMIT);
    }
    return rc;
}

void console_close(Console *console)
{
    for (uint32_t i = 0; console->agents != NULL && i < console->table.n_agents; i++) {
        buffer_destroy(&console->agents[i].said);
    }
    free(console->agents);
    cluster_client_close(&console->client);
    cluster_table_destroy(&console->table);
}

/* ---- whom it concerns ---- */

/* The URL or host that the words are about, and whose owner is asked; NULL: there is none. */
static const char *console_subject(char *const *words, size_t n)
{
    bool is_db = strcmp(words[0], "db") == 0 && n > 2 &&
                 (strcmp(words[1], "path") == 0 || strcmp(words[1], "get") == 0);
    bool is_one = strcmp(words[0], "why") == 0 || strcmp(words[0], "consent") == 0 ||
                  strcmp(words[0], "complaint") == 0;
    size_t at = is_db ? 2 : 1;
    return (is_db || is_one) && n > at && words[at][0] != '-' ? words[at] : NULL;
}

/* Whether all agents have one value of an option. */
static bool console_is_agreed(const Config *config, const char *word)
{
    char name[128];
    for (size_t i = 0; i < config->options.n_specs; i++) {
        const OptionSpec *spec = &config->options.specs[i];
        int length = snprintf(name, sizeof name, "%s.%s", spec->section, spec->key);
        if (spec->agreed && strncmp(word, name, (size_t)length) == 0 &&
            (word[length] == '=' || word[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Of ctl: the agents tell each other. */
static bool console_is_shared(const Config *config, char *const *words, size_t n)
{
    static const char *const shared[] = {"allow", "deny", "pause", "resume", "seed"};
    bool found = n > 3 && strcmp(words[1], "host") == 0;
    for (size_t i = 0; n > 1 && i < sizeof shared / sizeof *shared; i++) {
        found = found || strcmp(words[1], shared[i]) == 0;
    }
    if (n > 2 && (strcmp(words[1], "set") == 0 || strcmp(words[1], "unset") == 0)) {
        found = console_is_agreed(config, words[2]);
    }
    return strcmp(words[0], "forget") == 0 || (strcmp(words[0], "ctl") == 0 && found);
}

/* ---- agents ---- */

static void console_begin(Console *console, ConsoleAgent *agent, char *const *words, size_t n)
{
    agent->run = (ClusterRun){.agent = agent->number, .ticket = cluster_luck() | 1};
    buffer_reset(&agent->said);
    agent->rc = cluster_client_run(&console->client, &agent->run, words, n, &agent->said);
    /* Who is not there: by its last record. */
    MemberRecord record;
    bool known = cluster_client_member(&console->client, agent->number, &record) == RESULT_OK;
    (void)snprintf(agent->name, sizeof agent->name, "%s", known ? record.name : "");
    if (agent->rc == RESULT_OK) {
        agent->state = "running";
    } else if (agent->rc != RESULT_NOT_FOUND) {
        agent->state = agent->rc == RESULT_LIMIT ? "refuses" : "lost";
    } else if (!known) {
        agent->state = "never-started";
    } else {
        agent->state = record.state == MEMBER_STOPPED ? "stopped" : "silent";
    }
    console->running += agent->rc == RESULT_OK;
}

/* Hands over what has come, and the rest as it comes. */
static void console_end(Console *console, ConsoleAgent *agent, char *const *words, size_t n,
                        ConsoleSink sink, void *context)
{
    sink(context, agent, buffer_string(&agent->said), agent->said.length);
    while (agent->rc == RESULT_OK && !agent->run.ended) {
        if (agent->said.length == 0) {
            cluster_client_pause(&console->client);
        }
        buffer_reset(&agent->said);
        agent->rc = cluster_client_run(&console->client, &agent->run, words, n, &agent->said);
        sink(context, agent, buffer_string(&agent->said), agent->said.length);
    }
    buffer_reset(&agent->said);
}

static int console_greater(int status, const ConsoleAgent *agent)
{
    int own = agent->rc == RESULT_OK ? agent->run.status : EXIT_NEGATIVE;
    return own > status ? own : status;
}

/* The first that answers; the others are asked only when it is away. */
static int console_ask_first(Console *console, char *const *words, size_t n, ConsoleSink sink,
                             void *context)
{
    for (uint32_t i = 0; i < console->table.n_agents; i++) {
        ConsoleAgent *agent = &console->agents[i];
        console_begin(console, agent, words, n);
        if (agent->rc != RESULT_NOT_FOUND || i + 1 == console->table.n_agents) {
            console_end(console, agent, words, n, sink, context);
            return console_greater(0, agent);
        }
    }
    return EXIT_NEGATIVE;
}

int console_ask(Console *console, char *const *words, size_t n, ConsoleSink sink, void *context)
{
    const char *subject = console_subject(words, n);
    uint32_t first = 0;
    uint32_t end = console->table.n_agents;
    int status = 0;
    console->running = 0;
    if (console_is_shared(console->config, words, n)) {
        return console_ask_first(console, words, n, sink, context);
    }
    if (subject != NULL) {
        first = cluster_table_owner(&console->table, slot_of_name(subject));
        end = first + 1;
    }
    for (uint32_t i = first, begun = first; i < end; i++) {
        for (; begun < end && begun < i + CONSOLE_AHEAD; begun++) {
            console_begin(console, &console->agents[begun], words, n);
        }
        console_end(console, &console->agents[i], words, n, sink, context);
        status = console_greater(status, &console->agents[i]);
    }
    return status;
}

/* ---- peers ---- */

/* Reads a word and n numbers behind it, each behind a tab. */
static bool console_read_line(const char *line, const char *word, uint64_t *numbers, size_t n)
{
    size_t length = strlen(word);
    bool is_one = strncmp(line, word, length) == 0;
    line += is_one ? length : 0;
    for (size_t i = 0; is_one && i < n; i++) {
        char *end = NULL;
        is_one = *line == '\t' && line[1] >= '0' && line[1] <= '9';
        numbers[i] = is_one ? strtoull(line + 1, &end, 10) : 0;
        line = is_one ? end : line;
    }
    return is_one;
}

void console_view_take(ConsoleView *view, uint32_t n, const char *line)
{
    uint64_t numbers[4];
    if (console_read_line(line, "agent", numbers, 4)) {
        view->epoch = numbers[1];
        view->table = numbers[2];
        view->blocks = numbers[3];
        view->known = true;
    } else if (console_read_line(line, "peer", numbers, 3) && numbers[0] < n) {
        view->peers[numbers[0]] = (ConsolePeer){.taken = numbers[1], .heard = numbers[2]};
    }
}

size_t console_compare(const ConsoleView *before, const ConsoleView *after, uint32_t n, Buffer *out)
{
    size_t problems = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (i == k || !before[i].known || !after[k].known) {
                continue;
            }
            uint64_t heard = before[i].peers[k].heard;
            uint64_t taken = after[k].peers[i].taken;
            if (heard > taken) {
                problems++;
                (void)buffer_printf(out,
                                    "problem\tagent %u has %" PRIu64
                                    " messages of agent %u, and had "
                                    "said %" PRIu64 ": its directory is an older copy\n",
                                    k, taken, i, heard);
            }
            if (before[i].epoch > after[k].epoch) {
                problems++;
                (void)buffer_printf(out,
                                    "problem\tagent %u has the cluster table of epoch %" PRIu64
                                    ", agent %u had %" PRIu64 " already\n",
                                    k, after[k].epoch, i, before[i].epoch);
            } else if (i < k && before[i].epoch == after[k].epoch &&
                       before[i].table != after[k].table) {
                problems++;
                (void)buffer_printf(
                    out, "problem\tagents %u and %u have two tables of epoch %" PRIu64 "\n", i, k,
                    after[k].epoch);
            }
        }
    }
    return problems;
}

/* ---- status ---- */

/* What adds up. */
static const char sums[] =
    "pages pages_s bytes bytes_s urls_seen urls_queued urls_parked hosts hosts_waiting front "
    "active "
    "dns_waiting parse_queue results 2xx 3xx 4xx 5xx err dup robots_denied walled_hosts leases "
    "outbox_bytes inbox_bytes throttled rss_bytes db_bytes disk_free_bytes cpu_s";
#define SUMS_MOST         32u
#define CONSOLE_SUM_BYTES 32u

/* The next word of such a list, which is behind it then; false: that were all. */
static bool console_next_sum(const char **list, char name[CONSOLE_SUM_BYTES])
{
    size_t length = strcspn(*list, " ");
    (void)snprintf(name, CONSOLE_SUM_BYTES, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ' ');
    return length > 0;
}

typedef struct ConsoleGathering {
    double sums[SUMS_MOST];
    double elapsed_s; /* the longest */
    char limit[32];   /* of the lowest agent that something binds */
    char state[16];
    Buffer one; /* what the agent says, as far as it has come */
    JsonWriter writer;
    JsonWriter *json; /* it, when it is wanted; or NULL */
    ConsoleRow *rows;
} ConsoleGathering;

static void console_word(const char *json, const char *name, char *out, size_t size)
{
    LogText text = status_json_get(json, name);
    (void)snprintf(out, size, "%.*s", (int)text.length, text.length == 0 ? "" : text.bytes);
}

/* One agent has said all. */
static void console_add(ConsoleGathering *all, const ConsoleAgent *agent)
{
    const char *text = buffer_string(&all->one);
    ConsoleRow row = {.agent = agent};
    bool good = agent->rc == RESULT_OK && *text == '{';
    while (all->one.length > 0 && all->one.data[all->one.length - 1] == '\n') {
        all->one.data[--all->one.length] = '\0';
    }
    if (good) {
        char name[CONSOLE_SUM_BYTES];
        double *sum = all->sums;
        for (const char *list = sums; console_next_sum(&list, name); sum++) {
            *sum += status_json_number(text, name, 0);
        }
        double elapsed_s = status_json_number(text, "elapsed_s", 0);
        row.pages = (uint64_t)status_json_number(text, "pages", 0);
        row.queued = (uint64_t)status_json_number(text, "urls_queued", 0);
        row.pages_s = status_json_number(text, "pages_s", 0);
        console_word(text, "limit", row.limit, sizeof row.limit);
        console_word(text, "state", all->state, sizeof all->state);
        all->elapsed_s = elapsed_s > all->elapsed_s ? elapsed_s : all->elapsed_s;
    }
    if (*row.limit != '\0' && (*all->limit == '\0' || strcmp(all->limit, "none") == 0)) {
        (void)snprintf(all->limit, sizeof all->limit, "%s", row.limit);
    }
    if (all->rows != NULL) {
        all->rows[agent->number] = row;
    }
    if (all->json != NULL) {
        json_open(all->json, NULL, '{');
        json_count(all->json, "agent", agent->number);
        json_string(all->json, "state", agent->state);
        json_string(all->json, "name", agent->name);
        if (good) {
            json_raw(all->json, "says", text, all->one.length);
        } else if (*text != '\0') {
            json_string(all->json, "problem", text);
        }
        json_close(all->json);
    }
    buffer_reset(&all->one);
}

static void console_gather(void *context, const ConsoleAgent *agent, const char *piece,
                           size_t length)
{
    ConsoleGathering *all = context;
    (void)buffer_append(&all->one, piece, length);
    if (agent->rc != RESULT_OK || agent->run.ended) {
        console_add(all, agent);
    }
}

/* One object: what each agent says, and behind them the sums, if they are wanted. */
static int console_gather_all(Console *console, char *const *words, size_t n,
                              ConsoleGathering *gathering, Buffer *all, Buffer *whole)
{
    JsonWriter *json = &gathering->writer;
    buffer_init(&gathering->one, BUFFER_NO_LIMIT);
    if (all != NULL) {
        gathering->json = json;
        json_init(json, all);
        json_open(json, NULL, '{');
        json_string(json, "cluster", console->client.link.crawl);
        json_open(json, "agents", '[');
    }
    int status = console_ask(console, words, n, console_gather, gathering);
    if (whole != NULL) {
        char time[CLOCK_TEXT_BYTES];
        (void)buffer_printf(whole, "{\"time\": \"%s\", \"state\": \"%s\", \"elapsed_s\": %.1f",
                            wall_format_iso(wall_now(), time),
                            *gathering->state == '\0' ? "stopped" : gathering->state,
                            gathering->elapsed_s);
        char name[CONSOLE_SUM_BYTES];
        const double *sum = gathering->sums;
        for (const char *list = sums; console_next_sum(&list, name); sum++) {
            bool real = strstr(name, "_s") != NULL && *sum < 1e15;
            (void)buffer_printf(whole, real ? ", \"%s\": %.1f" : ", \"%s\": %.0f", name, *sum);
        }
        (void)buffer_printf(whole, ", \"agents\": %u, \"agents_running\": %zu, \"limit\": \"%s\"}",
                            console->table.n_agents, console->running,
                            *gathering->limit == '\0' ? "cluster" : gathering->limit);
    }
    if (all != NULL) {
        json_close(json);
        if (whole != NULL) {
            json_raw(json, "whole", whole->data, whole->length);
        }
        json_close(json);
    }
    buffer_destroy(&gathering->one);
    return status;
}

int console_status(Console *console, Buffer *whole, Buffer *all, ConsoleRow *rows)
{
    char *words[] = {(char *)(uintptr_t) "ctl", (char *)(uintptr_t) "status",
                     (char *)(uintptr_t) "json"};
    ConsoleGathering gathering = {.rows = rows};
    return console_gather_all(console, words, 3, &gathering, all, whole);
}

int console_ask_agent(Console *console, uint16_t number, char *const *words, size_t n,
                      ConsoleSink sink, void *context)
{
    ConsoleAgent *agent = &console->agents[number];
    console_begin(console, agent, words, n);
    console_end(console, agent, words, n, sink, context);
    return console_greater(0, agent);
}

/* ---- `ragno COMMAND nats://...` ---- */

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

/* The peers stand behind the views. NULL without memory. */
static ConsoleView *console_look_at_peers(Console *console)
{
    char *words[] = {(char *)(uintptr_t) "verify", (char *)(uintptr_t) "--peers"};
    size_t n = console->table.n_agents;
    ConsoleView *views = calloc(1, n * (sizeof *views + n * sizeof *views->peers));
    ConsoleViews all = {.views = views, .n = (uint32_t)n, .line = {.limit = BUFFER_NO_LIMIT}};
    for (size_t i = 0; views != NULL && i < n; i++) {
        views[i].peers = (ConsolePeer *)(void *)(views + n) + i * n;
    }
    if (views == NULL) {
        return NULL;
    }
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
        ConsoleGathering gathering = {.rows = NULL};
        int status = strcmp(words[0], "status") == 0
                         ? console_status(console, &whole, &all, NULL)
                         : console_gather_all(console, words, n, &gathering, &all, NULL);
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
    if (exit_status_tell(words[0], rc, &error) == 0) {
        status = console_print_all(&console, words, n, &print);
    }
    console_close(&console);
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
    bool read = exit_status_tell(argv[0], rc, &error) == 0;
    if (read && strcmp(argv[0], "status") == 0 && n == 1) {
        status = cluster_status(&config, "status");
    } else if (read) {
        if (strcmp(argv[0], "forget") == 0 && n < CONSOLE_WORDS) {
            words[n++] = (char *)(uintptr_t) "--no-wait"; /* whoever answers starts anew for it */
        }
        status = console_run(&config, words, n);
    }
    config_destroy(&config);
    return status;
}
