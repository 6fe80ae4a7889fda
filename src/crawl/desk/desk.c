#include "crawl/desk/desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "crawl/desk/desk_edicts.h"
#include "crawl/desk/desk_hosts.h"
#include "crawl/parts/rule_parts.h"
#include "report/write/report_words.h"

/* Desk, flights: what is being fetched right now.
 *
 * What: `flights` answers with a line for each of the longest fetches, "MS URL", the longest first;
 * `flights URL` with that line alone, or none when the URL is not in flight.
 * Threads: main; the lists are the fetching threads' (fetch/connect/flights.h). */

#define SHOWN 50u

static void say_all(Desk *desk, const DeskRequest *request, MonoTime now)
{
    const AgentParts *parts = desk->helm->parts;
    FlightCopy *all = calloc((size_t)atomic_load(&parts->n_fetchers) * SHOWN + 1, sizeof *all);
    size_t n = 0;
    for (unsigned i = 0; all != NULL && i < atomic_load(&parts->n_fetchers); i++) {
        n += flights_copy(fetcher_flights(parts->fetchers[i]), all + n, SHOWN);
    }
    array_sort(all, n, sizeof *all, ARRAY_KEY(FlightCopy, start.ns), ARRAY_NO_KEY);
    for (size_t i = 0; i < n; i++) {
        if (i < SHOWN) {
            desk_say(desk, request->client, "%lld %s",
                     (long long)mono_ms_between(all[i].start, now), all[i].url);
        }
        free(all[i].url);
    }
    free(all);
}

static void desk_flights(Desk *desk, const DeskRequest *request)
{
    const AgentParts *parts = desk->helm->parts;
    MonoTime now = mono_now();
    MonoTime start;
    if (request->n == 1) {
        say_all(desk, request, now);
    }
    for (unsigned i = 0; request->n == 2 && i < atomic_load(&parts->n_fetchers); i++) {
        if (flights_find(fetcher_flights(parts->fetchers[i]), request->words[1], &start)) {
            desk_say(desk, request->client, "%lld %s", (long long)mono_ms_between(start, now),
                     request->words[1]);
        }
    }
    desk_ok(desk, request);
}

/* Desk, rules: deny, allow, denials.
 *
 * What: hands on to the rules (crawl/parts/rule_parts.h) and answers at once.
 * Threads: main. */

static void desk_rules_change(Desk *desk, const DeskRequest *request)
{
    bool denies = strcmp(request->words[0], "deny") == 0;
    AgentParts *parts = desk->helm->parts;
    const char *rule = request->words[1];
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    Result rc = denies ? rule_parts_deny(parts, rule, request->who, &answer)
                       : rule_parts_allow(parts, rule, request->who, &answer);
    if ((rc == RESULT_OK || rc == RESULT_EXISTS) && desk_edicts_are(desk)) {
        desk_edicts_order(desk, request, denies ? EDICT_DENY : EDICT_ALLOW, "", rule, "",
                          buffer_string(&answer));
    } else {
        desk_settled(desk, request, rc, &answer);
    }
    buffer_destroy(&answer);
}

static void desk_denials(Desk *desk, const DeskRequest *request)
{
    const DenialList *list = &desk->helm->parts->denials;
    for (size_t i = 0; i < list->n; i++) {
        desk_say(desk, request->client, "%-40s %s", list->rules[i], list->notes[i]);
    }
    desk_ok(desk, request);
}

/* Desk, running: pause, resume, stop, reload, rotate.
 *
 * What: each hands on to the helm and answers at once.
 * Threads: main. */

static void desk_pause(Desk *desk, const DeskRequest *request)
{
    if (desk_edicts_are(desk)) {
        (void)helm_pause(desk->helm, true, request->who);
        desk_edicts_order(desk, request, EDICT_PAUSE, "", "", "",
                          "nothing new is fetched until `resume`");
    } else if (helm_pause(desk->helm, true, request->who)) {
        desk_done(desk, request, "nothing new is fetched until `resume`; %zu fetches are in flight",
                  parts_outstanding(desk->helm->parts));
    } else {
        desk_done(desk, request, "it is paused already");
    }
}

static void desk_resume(Desk *desk, const DeskRequest *request)
{
    if (desk_edicts_are(desk)) {
        (void)helm_pause(desk->helm, false, request->who);
        desk_edicts_order(desk, request, EDICT_RESUME, "", "", "", "the crawl goes on");
    } else if (!helm_pause(desk->helm, false, request->who)) {
        desk_done(desk, request, "it is not paused by an operator");
    } else if ((desk->helm->parts->pauses & PAUSE_DISK) != 0) {
        desk_done(desk, request, "it stays paused while the disk is nearly full");
    } else {
        desk_ok(desk, request);
    }
}

static void desk_stop(Desk *desk, const DeskRequest *request)
{
    if (request->n == 2 && strcmp(request->words[1], "now") != 0) {
        desk_misunderstand(desk, request, "stop: unexpected '%s' (usage: stop [now])",
                           request->words[1]);
    } else if (request->n == 2) {
        helm_stop_now(desk->helm, request->who, mono_now());
        desk_done(desk, request, "fetches in flight are aborted; they are repeated at a resume");
    } else {
        char time[WORDS_BYTES];
        int64_t left_ms = desk->helm->options->config->crawl_grace;
        helm_stop_asked(desk->helm, request->who, mono_now());
        desk_done(desk, request, "%zu fetches in flight have %s to end (crawl.grace)",
                  parts_outstanding(desk->helm->parts), words_ms((double)left_ms, time));
    }
}

static void desk_forget(Desk *desk, const DeskRequest *request)
{
    if (desk->helm->options->erase == NULL) {
        desk_refuse(desk, request, "it cannot start anew by itself; stop it first");
    } else if (desk_edicts_are(desk)) {
        desk_edicts_forget(desk, request);
    } else {
        helm_erase(desk->helm, mono_now(), request->who);
        desk_done(desk, request, "the crawl stops, erases, and goes on");
    }
}

static void desk_reload(Desk *desk, const DeskRequest *request)
{
    size_t changed = 0;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (settings_reload(&desk->helm->settings, request->who, &changed, &error) == RESULT_OK) {
        desk_done(desk, request, "%zu options have changed", changed);
    } else {
        char *save = NULL;
        char *line = error.length == 0 ? NULL : strtok_r(error.data, "\n", &save);
        for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
            desk_say(desk, request->client, "%s", line);
        }
        desk_refuse(desk, request, "the configuration is wrong, nothing was changed");
    }
    buffer_destroy(&error);
}

static void desk_rotate(Desk *desk, const DeskRequest *request)
{
    helm_reopen_logs(desk->helm, request->who);
    desk_ok(desk, request);
}

static void desk_flush(Desk *desk, const DeskRequest *request)
{
    AgentParts *parts = desk->helm->parts;
    uint64_t pending = stats_get(&parts->stats.sieve_pending);
    atomic_store(&parts->sieve.flush, true);
    ingest_wake(parts->ingest);
    LOG_INFO("agent", "flush", "links=%llu %s", (unsigned long long)pending, request->who);
    desk_done(desk, request, "%llu links are looked up now", (unsigned long long)pending);
}

static void desk_checkpoint(Desk *desk, const DeskRequest *request)
{
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    if (helm_checkpoint(desk->helm, request->who, &answer) == RESULT_OK) {
        desk->copier = request->client;
        desk->has_copier = true;
    } else {
        desk_refuse(desk, request, "%s", buffer_string(&answer));
    }
    buffer_destroy(&answer);
}

/* Desk, status: what the crawl is doing.
 *
 * What: `status` answers with the fields of status.log, one a line, or as the JSON object of
 * status.json; with `follow` it answers again each second until the client leaves or the crawl
 * ends. `threads` tells what each thread does.
 * Threads: main. */

#define FOLLOW_MS 1000

static void desk_status_tell(Desk *desk, ControlClient client, bool json)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    if (monitor_status(desk->monitor, json, &text) == RESULT_OK) {
        control_server_say(desk->server, client, buffer_string(&text));
    }
    buffer_destroy(&text);
}

static void desk_status(Desk *desk, const DeskRequest *request)
{
    bool json = false;
    bool follow = false;
    for (size_t i = 1; i < request->n; i++) {
        if (strcmp(request->words[i], "json") == 0) {
            json = true;
        } else if (strcmp(request->words[i], "follow") == 0) {
            follow = true;
        } else {
            desk_misunderstand(desk, request,
                               "status: unexpected '%s' (usage: status [json] [follow])",
                               request->words[i]);
            return;
        }
    }
    if (!follow) {
        if (json) {
            desk_status_tell(desk, request->client, true);
        } else {
            /* "time=... state=..." as a line for each. */
            Buffer text = {.limit = BUFFER_NO_LIMIT};
            char *save = NULL;
            Result rc = monitor_status(desk->monitor, false, &text);
            char *field = rc == RESULT_OK ? strtok_r(text.data, " ", &save) : NULL;
            for (; field != NULL; field = strtok_r(NULL, " ", &save)) {
                char *equals = strchr(field, '=');
                if (equals != NULL) {
                    *equals = '\0';
                    desk_say(desk, request->client, "%-17s %s", field, equals + 1);
                }
            }
            buffer_destroy(&text);
        }
        desk_ok(desk, request);
        return;
    }
    /* There are as many places as clients, and a client waits for one answer at a time. */
    desk->followers[desk->n_followers++] = (DeskFollower){.client = request->client, .json = json};
    desk_status_tell(desk, request->client, json);
    if (desk->n_followers == 1) {
        desk->next_line = mono_add_ms(mono_now(), FOLLOW_MS);
    }
}

typedef struct ThreadList {
    Desk *desk;
    ControlClient client;
} ThreadList;

static void tell_thread(void *context, const char *name, const char *step)
{
    ThreadList *list = context;
    desk_say(list->desk, list->client, "%-12s %s", name, step);
}

static void desk_threads(Desk *desk, const DeskRequest *request)
{
    ThreadList list = {.desk = desk, .client = request->client};
    thread_walk(tell_thread, &list);
    desk_ok(desk, request);
}

/* The lines for followers that are due. */
static void desk_status_tick(Desk *desk, MonoTime now)
{
    if (desk->n_followers == 0 || mono_before(now, desk->next_line)) {
        return;
    }
    desk->next_line = mono_add_ms(now, FOLLOW_MS);
    /* From the end: whoever has left is taken out while it is told. */
    for (size_t i = desk->n_followers; i > 0; i--) {
        desk_status_tell(desk, desk->followers[i - 1].client, desk->followers[i - 1].json);
    }
}

/* A client has left. */
static void desk_status_gone(Desk *desk, ControlClient client)
{
    for (size_t i = 0; i < desk->n_followers; i++) {
        if (desk->followers[i].client == client) {
            desk->followers[i] = desk->followers[--desk->n_followers];
            return;
        }
    }
}

/* The crawl ends: so do the answers. */
static void desk_status_end(Desk *desk)
{
    while (desk->n_followers > 0) {
        DeskFollower follower = desk->followers[--desk->n_followers];
        desk_status_tell(desk, follower.client, follower.json);
        control_server_end(desk->server, follower.client, CONTROL_OK, "the crawl has ended");
    }
}

/* ---- Desk ---- */

typedef struct DeskWord {
    const char *name;
    const char *arguments; /* for help and usage */
    size_t least;          /* arguments */
    size_t most;
    void (*run)(Desk *desk, const DeskRequest *request);
    const char *help;
    bool runs; /* it is refused while the crawl is stopping */
} DeskWord;

static void desk_help(Desk *desk, const DeskRequest *request);

#define SEEDS_MAX 1000u

static const DeskWord words[] = {
    {"allow", "RULE", 1, 1, desk_rules_change, .help = "take a denial back"},
    {"checkpoint", "", 0, 0, desk_checkpoint,
     .help = "a consistent copy of the database; answers with its path"},
    {"denials", "", 0, 0, desk_denials, .help = "what is denied, since when, by whom"},
    {"deny", "RULE", 1, 1, desk_rules_change,
     .help = "never fetch a host, an address, a range, a URL, what matches a pattern or "
             "regex:EXPRESSION"},
    {"flights", "[URL]", 0, 1, desk_flights,
     .help = "what is being fetched, the longest first; or whether URL is"},
    {"flush", "", 0, 0, desk_flush,
     .help = "look up at once the links that wait for it (sieve.max_age)", .runs = true},
    {"forget", "", 0, 0, desk_forget, .help = "carry out the order of `ragno forget DIR WHAT`",
     .runs = true},
    {"get", "[SECTION[.KEY]]", 0, 1, desk_get,
     .help = "the value in effect, and where it comes from"},
    {"help", "", 0, 0, desk_help, .help = "these lines"},
    {"host", "HOST [revive|drop|visit|delay TIME]", 1, 3, desk_host,
     .help = "what is known of it; bring it back, set it aside, visit it now, its delay (-: as "
             "configured)"},
    {"pause", "", 0, 0, desk_pause, .help = "begin nothing new; fetches in flight end",
     .runs = true},
    {"reload", "", 0, 0, desk_reload, .help = "read the configuration anew, as SIGHUP does"},
    {"resume", "", 0, 0, desk_resume, .help = "go on after pause", .runs = true},
    {"rotate", "", 0, 0, desk_rotate, .help = "open the logs anew"},
    {"seed", "URL...", 1, SEEDS_MAX, desk_seed, .help = "add seeds"},
    {"set", "SECTION.KEY=VALUE", 1, 2, desk_set,
     .help = "change an option that is live; it holds over reloads and restarts"},
    {"status", "[json] [follow]", 0, 2, desk_status,
     .help = "what the crawl is doing; follow: each second"},
    {"stop", "[now]", 0, 1, desk_stop, .help = "end it, as SIGTERM does; now: as a second one"},
    {"threads", "", 0, 0, desk_threads, .help = "what each thread does"},
    {"unset", "SECTION.KEY", 1, 1, desk_unset, .help = "back to what is configured"},
    {"waiting", "", 0, 0, desk_waiting, .help = "which hosts wait for what, until when"},
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
    OptionNear near = {request->words[0], .least = 3}; /* what is further away helps nobody */
    for (size_t i = 0; i < N_WORDS; i++) {
        (void)option_near_look(&near, words[i].name);
    }
    if (near.name != NULL) {
        desk_misunderstand(desk, request, "unknown word '%.64s', did you mean '%s'?",
                           request->words[0], near.name);
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
        } else if (words[i].runs && desk->helm->stopping) {
            desk_refuse(desk, &request, "the crawl is stopping");
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

/* ---- the outside ---- */

Result desk_open(Desk **out, Helm *helm, const char *directory)
{
    Desk *desk = calloc(1, sizeof *desk);
    if (desk == NULL) {
        return RESULT_MEMORY;
    }
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    ControlSink sink = {.context = desk, .take = desk_take_one, .gone = gone};
    buffer_init(&desk->text, BUFFER_NO_LIMIT);
    desk->helm = helm;
    desk->monitor = helm->monitor;
    desk->is_first = true;
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
        desk_edicts_close(desk);
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
        /* Answers who waits for a checkpoint that is done. */
        Result rc = RESULT_OK;
        Buffer answer = {.limit = BUFFER_NO_LIMIT};
        if (checkpoint_end(&desk->helm->checkpoint, &rc, &answer) && desk->has_copier) {
            DeskRequest request = {.client = desk->copier};
            desk->has_copier = false;
            if (rc == RESULT_OK) {
                desk_say(desk, request.client, "%s", buffer_string(&answer));
                desk_ok(desk, &request);
            } else {
                desk_refuse(desk, &request, "%s", buffer_string(&answer));
            }
        }
        buffer_destroy(&answer);
    }
    desk_hosts_tick(desk);
    desk_edicts_tick(desk);
}

MonoTime desk_next(const Desk *desk)
{
    return desk->n_followers == 0 ? MONO_NEVER : desk->next_line;
}
