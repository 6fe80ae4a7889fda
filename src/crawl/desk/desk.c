#include "crawl/desk/desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option/option.h"
#include "base/thread/log.h"
#include "crawl/desk/desk_flights.h"
#include "crawl/desk/desk_hosts.h"
#include "crawl/desk/desk_reply.h"
#include "crawl/desk/desk_rules.h"
#include "crawl/desk/desk_run.h"
#include "crawl/desk/desk_settings.h"
#include "crawl/desk/desk_status.h"

typedef struct DeskWord {
    const char *name;
    const char *arguments; /* for help and usage */
    size_t least;          /* arguments */
    size_t most;
    void (*run)(Desk *desk, const DeskRequest *request);
    const char *help;
} DeskWord;

static void desk_help(Desk *desk, const DeskRequest *request);

#define SEEDS_MAX 1000u

static const DeskWord words[] = {
    {"allow", "RULE", 1, 1, desk_allow, "take a denial back"},
    {"checkpoint", "", 0, 0, desk_checkpoint,
     "a consistent copy of the database; answers with its path"},
    {"denials", "", 0, 0, desk_denials, "what is denied, since when, by whom"},
    {"deny", "RULE", 1, 1, desk_deny,
     "never fetch a host, an address, a range, a URL, what matches a pattern or regex:EXPRESSION"},
    {"flights", "[URL]", 0, 1, desk_flights,
     "what is being fetched, the longest first; or whether URL is"},
    {"flush", "", 0, 0, desk_flush, "look up at once the links that wait for it (sieve.max_age)"},
    {"get", "[SECTION[.KEY]]", 0, 1, desk_get, "the value in effect, and where it comes from"},
    {"help", "", 0, 0, desk_help, "these lines"},
    {"host", "HOST [revive|drop|visit|delay TIME]", 1, 3, desk_host,
     "what is known of it; bring it back, set it aside, visit it now, its delay (-: as "
     "configured)"},
    {"pause", "", 0, 0, desk_pause, "begin nothing new; fetches in flight end"},
    {"reload", "", 0, 0, desk_reload, "read the configuration anew, as SIGHUP does"},
    {"resume", "", 0, 0, desk_resume, "go on after pause"},
    {"rotate", "", 0, 0, desk_rotate, "open the logs anew"},
    {"seed", "URL...", 1, SEEDS_MAX, desk_seed, "add seeds"},
    {"set", "SECTION.KEY=VALUE", 1, 2, desk_set,
     "change an option that is live; it holds over reloads and restarts"},
    {"status", "[json] [follow]", 0, 2, desk_status,
     "what the crawl is doing; follow: each second"},
    {"stop", "[now]", 0, 1, desk_stop, "end it, as SIGTERM does; now: as a second one"},
    {"threads", "", 0, 0, desk_threads, "what each thread does"},
    {"unset", "SECTION.KEY", 1, 1, desk_unset, "back to what is configured"},
    {"waiting", "", 0, 0, desk_waiting, "which hosts wait for what, until when"},
};

#define N_WORDS (sizeof words / sizeof *words)

static void desk_help(Desk *desk, const DeskRequest *request)
{
    for (size_t i = 0; i < N_WORDS; i++) {
        char usage[64];
        (void)snprintf(usage, sizeof usage, "%s %s", words[i].name, words[i].arguments);
        desk_say(desk, request->client, "%-32s %s", usage, words[i].help);
    }
    desk_ok(desk, request);
}

#define HELP_COLUMN 34
#define HELP_WIDTH  80

void desk_print_words(FILE *out)
{
    for (size_t i = 0; i < N_WORDS; i++) {
        int column = fprintf(out, "  %s %s", words[i].name, words[i].arguments);
        for (const char *word = words[i].help; *word != '\0';) {
            int length = (int)strcspn(word, " ");
            bool is_first = word == words[i].help;
            if (column + length >= HELP_WIDTH || (is_first && column > HELP_COLUMN)) {
                column = fprintf(out, "\n%*s", HELP_COLUMN, "") - 1;
            } else {
                int blanks = is_first ? HELP_COLUMN - column : 1;
                column += fprintf(out, "%*s", blanks, "");
            }
            column += fprintf(out, "%.*s", length, word);
            word += length + (word[length] == ' ');
        }
        (void)fputc('\n', out);
    }
}

static void desk_complain_unknown(Desk *desk, const DeskRequest *request)
{
    const char *best = NULL;
    size_t best_distance = 3; /* what is further away helps nobody */
    for (size_t i = 0; i < N_WORDS; i++) {
        size_t distance = option_distance(request->words[0], words[i].name);
        if (distance < best_distance) {
            best_distance = distance;
            best = words[i].name;
        }
    }
    if (best != NULL) {
        desk_misunderstand(desk, request, "unknown word '%.64s', did you mean '%s'?",
                           request->words[0], best);
    } else {
        desk_misunderstand(desk, request, "unknown word '%.64s' (`help` lists them all)",
                           request->words[0]);
    }
}

static void desk_take_one(void *context, ControlClient client, const ControlPeer *peer,
                          const ControlWords *line)
{
    Desk *desk = context;
    DeskRequest request = {.client = client, .words = line->words, .n = line->n};
    (void)snprintf(request.who, sizeof request.who, "uid=%lu pid=%ld", (unsigned long)peer->uid,
                   (long)peer->pid);
    for (size_t i = 0; i < N_WORDS; i++) {
        if (strcmp(line->words[0], words[i].name) != 0) {
            continue;
        }
        if (line->n - 1 > words[i].most) {
            desk_misunderstand(desk, &request, "%s: unexpected '%.64s' (usage: %s%s%s)",
                               words[i].name, line->words[words[i].most + 1], words[i].name,
                               *words[i].arguments == '\0' ? "" : " ", words[i].arguments);
        } else if (line->n - 1 < words[i].least) {
            desk_misunderstand(desk, &request, "%s: something is missing (usage: %s %s)",
                               words[i].name, words[i].name, words[i].arguments);
        } else {
            words[i].run(desk, &request);
        }
        return;
    }
    desk_complain_unknown(desk, &request);
}

static void gone(void *context, ControlClient client)
{
    Desk *desk = context;
    desk_status_gone(desk, client);
}

/* ---- the outside ----------------------------------------------------------------------------- */

Result desk_open(Desk **out, Helm *helm, const char *directory)
{
    Desk *desk = calloc(1, sizeof *desk);
    if (desk == NULL) {
        return RESULT_MEMORY;
    }
    Buffer error;
    ControlSink sink = {.context = desk, .take = desk_take_one, .gone = gone};
    buffer_init(&error, BUFFER_NO_LIMIT);
    buffer_init(&desk->text, BUFFER_NO_LIMIT);
    desk->helm = helm;
    desk->monitor = helm->monitor;
    if (control_server_open(&desk->server, directory, &sink, &error) != RESULT_OK) {
        LOG_WARN("control", "no control socket, the crawl can be steered by signals only",
                 "error=\"%s\"", buffer_string(&error));
    }
    buffer_destroy(&error);
    *out = desk;
    return RESULT_OK;
}

void desk_close(Desk *desk)
{
    if (desk != NULL) {
        if (desk->server != NULL) {
            desk_status_end(desk);
        }
        control_server_close(desk->server);
        buffer_destroy(&desk->text);
        free(desk);
    }
}

int desk_fd(const Desk *desk)
{
    return desk->server == NULL ? -1 : control_server_fd(desk->server);
}

void desk_serve(Desk *desk, MonoTime now)
{
    if (desk->server != NULL) {
        control_server_serve(desk->server);
        desk_status_tick(desk, now);
        desk_hosts_tick(desk);
        desk_run_tick(desk);
    }
}

MonoTime desk_next(const Desk *desk)
{
    return desk_status_next(desk);
}
