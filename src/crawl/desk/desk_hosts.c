#include "crawl/desk/desk_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "crawl/desk/desk_edicts.h"
#include "frontier/visit/host_situation.h"

/* ---- Desk, settings ---- */

/* An answer of several lines (mistakes) becomes lines of data and a last sentence. */
void desk_settled(Desk *desk, const DeskRequest *request, Result rc, Buffer *answer)
{
    const char *text = answer->length > 0 ? buffer_string(answer) : result_name(rc);
    char *end = answer->length > 0 ? strrchr(answer->data, '\n') : NULL;
    if (end != NULL && end[1] == '\0') {
        *end = '\0';
    }
    if (rc == RESULT_OK || rc == RESULT_EXISTS) {
        desk_done(desk, request, "%s", text);
    } else if (rc == RESULT_INVALID) {
        desk_misunderstand(desk, request, "%s", text);
    } else {
        desk_refuse(desk, request, "%s", text);
    }
}

/* ---- get ---- */

/* "politeness.host_delay", "politeness", or nothing. */
static bool is_asked(const OptionSpec *spec, const char *word)
{
    size_t length = strlen(spec->section);
    bool of_section = strncmp(word, spec->section, length) == 0;
    return *word == '\0' || (of_section && word[length] == '\0') ||
           (of_section && word[length] == '.' && strcmp(word + length + 1, spec->key) == 0);
}

void desk_get(Desk *desk, const DeskRequest *request)
{
    const Options *options = &desk->helm->options->config->options;
    const char *word = request->n > 1 ? request->words[1] : "";
    const char *origin = NULL;
    size_t found = 0;
    for (size_t i = 0; i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (is_asked(spec, word)) {
            desk_say(desk, request->client, "%s.%s = %s", spec->section, spec->key,
                     options->texts[i]);
            origin = options->origins[i];
            found++;
        }
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        const OptionSpec *spec = &options->specs[site->spec];
        if (is_asked(spec, word)) {
            desk_say(desk, request->client, "[site \"%s\"] %s.%s = %s", site->pattern,
                     spec->section, spec->key, site->text);
        }
    }
    if (found == 0) {
        Buffer error = {.limit = 4096};
        Config nothing;
        if (config_init(&nothing) == RESULT_OK) {
            (void)options_set(&nothing.options, word, "", "", &error); /* names the nearest one */
            config_destroy(&nothing);
        }
        desk_settled(desk, request, RESULT_INVALID, &error);
        buffer_destroy(&error);
    } else if (found == 1) {
        desk_done(desk, request, "from %s; %s", origin,
                  options_find(options, word)->live ? "may change while the crawl runs"
                                                    : "fixed while the crawl runs");
    } else {
        desk_ok(desk, request);
    }
}

/* ---- set ---- */

/* text NULL: back to what it was before. What that is, here, is what all agents have then. */
static void desk_change(Desk *desk, const DeskRequest *request, const char *pattern,
                        const char *name, const char *text, Buffer *answer)
{
    Settings *settings = &desk->helm->settings;
    /* An option that all agents must have alike is set, or taken back, at all of them. */
    const OptionSpec *spec = options_find(&desk->helm->options->config->options, name);
    bool for_all = desk_edicts_are(desk) && spec != NULL && (*pattern != '\0' || spec->agreed);
    settings->by_all = for_all;
    Result rc = text == NULL ? settings_unset(settings, pattern, name, request->who, answer)
                             : settings_set(settings, pattern, name, text, request->who, answer);
    settings->by_all = false;
    if (rc == RESULT_OK && *pattern != '\0') {
        /* A host is not asked sooner than its address may be. */
        Config values;
        site_values_of(desk->helm->options->config, pattern, &values);
        if (values.politeness_host_delay < values.politeness_ip_delay) {
            (void)buffer_printf(answer,
                                "; the delay of its address is %lld ms and binds: set "
                                "politeness.ip_delay, too",
                                (long long)values.politeness_ip_delay);
        }
    }
    if (rc != RESULT_OK || !for_all) {
        desk_settled(desk, request, rc, answer);
        return;
    }
    const Options *options = &desk->helm->options->config->options;
    bool unset = text == NULL && *pattern != '\0';
    const char *value = unset ? "" : text;
    if (value == NULL) {
        value = options->texts[options_find(options, name) - options->specs];
    }
    desk_edicts_order(desk, request, unset ? EDICT_UNSET : EDICT_SET, pattern, name, value,
                      buffer_string(answer));
}

void desk_set(Desk *desk, const DeskRequest *request)
{
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    const char *equals = strchr(request->words[1], '=');
    const char *text = equals == NULL ? NULL : equals + 1;
    if (request->n > 2) {
        text = request->words[2];
    }
    if (text == NULL || (request->n > 2 && equals != NULL)) {
        desk_misunderstand(desk, request, "set: expected SECTION.KEY=VALUE or SECTION.KEY VALUE");
        return;
    }
    (void)buffer_append(&name, request->words[1], strcspn(request->words[1], "="));
    desk_change(desk, request, "", buffer_string(&name), text, &answer);
    buffer_destroy(&name);
    buffer_destroy(&answer);
}

void desk_unset(Desk *desk, const DeskRequest *request)
{
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    desk_change(desk, request, "", request->words[1], NULL, &answer);
    buffer_destroy(&answer);
}

/* ---- Desk, hosts ---- */

#define ORIGINS_MAX 2u

/* ---- orders ---- */

static void desk_hosts_give(Desk *desk, const DeskRequest *request, OrderKind kind,
                            const char *const *texts, size_t n)
{
    AgentParts *parts = desk->helm->parts;
    Result rc = orders_give(parts->orders, kind, texts, n, request->client);
    if (rc == RESULT_OK) {
        ingest_wake(parts->ingest);
    } else {
        desk_refuse(desk, request, "%s", result_name(rc));
    }
}

static void answer_host(Desk *desk, const Order *order)
{
    DeskRequest request = {.client = order->sign};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    /* What came of it, as a sentence; false: it cannot be done. */
    static const char *const done[] = {[ORDER_REVIVE] = "is brought back",
                                       [ORDER_DROP] = "is set aside",
                                       [ORDER_VISIT] = "is visited when its delay has passed"};
    if (order->hosts == 0) {
        (void)buffer_printf(&text, "no host '%s' is known", order->texts[0]);
    } else if (order->urls == 0) {
        (void)buffer_printf(&text,
                            "nothing changes for %s: it has no URL scheduled, or is so already",
                            order->texts[0]);
    } else {
        (void)buffer_printf(&text, "%s %s; URLs: %llu", order->texts[0], done[order->kind],
                            (unsigned long long)order->urls);
    }
    bool good = order->hosts > 0;
    if (!desk_edicts_done(desk, order, buffer_string(&text))) {
        if (good) {
            desk_done(desk, &request, "%s", buffer_string(&text));
        } else {
            desk_refuse(desk, &request, "%s", buffer_string(&text));
        }
    }
    buffer_destroy(&text);
}

void desk_hosts_tick(Desk *desk)
{
    Order *order = NULL;
    while ((order = orders_take(desk->helm->parts->orders)) != NULL) {
        if (order->kind == ORDER_SEED) {
            DeskRequest request = {.client = order->sign};
            desk_done(desk, &request, "%zu seed%s, %llu of them new", order->n,
                      order->n == 1 ? "" : "s", (unsigned long long)order->hosts);
        } else {
            answer_host(desk, order);
        }
        order_delete(order);
    }
}

/* ---- seed ---- */

/* As it is kept, owned; NULL: it is no seed, or there is no memory. */
static char *desk_hosts_normalise(Desk *desk, const char *word)
{
    Url url = {.href = NULL};
    bool is_seed = (strstr(word, "://") != NULL || strchr(word, '.') != NULL) &&
                   url_parse_word(&url, word) == RESULT_OK &&
                   port_set_has(&desk->helm->parts->ports, url.port);
    char *copy = is_seed ? strndup(url.href, url.length) : NULL;
    url_destroy(&url);
    return copy;
}

void desk_seed(Desk *desk, const DeskRequest *request)
{
    const char *wrong = NULL;
    size_t n = 0;
    char **texts = calloc(request->n, sizeof *texts);
    for (size_t i = 1; i < request->n && wrong == NULL && texts != NULL; i++) {
        texts[n] = desk_hosts_normalise(desk, request->words[i]);
        wrong = texts[n] == NULL ? request->words[i] : NULL;
        n += wrong == NULL;
    }
    if (texts == NULL) {
        desk_refuse(desk, request, "no memory");
    } else if (wrong != NULL) {
        desk_misunderstand(desk, request,
                           "seed: '%.200s' is not an http or https URL, or its port is not "
                           "connected to; nothing was added",
                           wrong);
    } else if (desk->helm->stopping) {
        desk_refuse(desk, request, "the crawl is stopping");
    } else {
        LOG_INFO("agent", "seeds from an operator", "seeds=%zu first=%s %s", n, texts[0],
                 request->who);
        desk_hosts_give(desk, request, ORDER_SEED, (const char *const *)texts, n);
    }
    for (size_t i = 0; i < n; i++) {
        free(texts[i]);
    }
    free(texts);
}

/* ---- host ---- */

typedef struct HostLook {
    Desk *desk;
    const DeskRequest *request;
    MDB_txn *txn;
    const char *name;
    size_t found;
} HostLook;

static void desk_hosts_tell_time(HostLook *look, const char *what, int64_t ms)
{
    char time[CLOCK_TEXT_BYTES];
    if (ms > 0) {
        desk_say(look->desk, look->request->client, "%-12s %s", what,
                 wall_format_iso((WallTime){ms * 1000}, time));
    }
}

/* "www.example.org" of "http://www.example.org:81". */
static void desk_hosts_name_of(const char *host, Buffer *name)
{
    const char *start = strstr(host, "://");
    start = start == NULL ? host : start + 3;
    size_t length = *start == '[' ? strcspn(start, "]") + 1 : strcspn(start, ":/");
    (void)buffer_append(name, start, length);
}

/* The delays of the host, with [site] sections, and which of them binds. */
static void tell_delays(HostLook *look, int64_t crawl_delay_ms)
{
    Config values;
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    ControlClient client = look->request->client;
    desk_hosts_name_of(look->name, &name);
    site_values_of(look->desk->helm->options->config, buffer_string(&name), &values);
    buffer_destroy(&name);
    int64_t most = values.politeness_crawl_delay_max;
    desk_say(look->desk, client, "%-12s %lld ms", "delay", (long long)values.politeness_host_delay);
    desk_say(look->desk, client, "%-12s %lld ms", "of address",
             (long long)values.politeness_ip_delay);
    if (crawl_delay_ms > 0) {
        desk_say(look->desk, client, "%-12s %lld ms (robots.txt)", "crawl-delay",
                 (long long)crawl_delay_ms);
    }
    desk_say(look->desk, client, "%-12s %s", "bound by",
             politeness_what_binds(values.politeness_host_delay,
                                   crawl_delay_ms < most ? crawl_delay_ms : most,
                                   values.politeness_ip_delay));
}

static void tell_record(HostLook *look, const char *origin, uint32_t id)
{
    const IngestStore *tables = &look->desk->helm->parts->store->tables;
    ControlClient client = look->request->client;
    HostRecord record = {.state = HOST_ACTIVE};
    Buffer phrase = {.limit = 4096};
    uint64_t urls = 0;
    int64_t now_ms = wall_now().us / 1000;
    (void)host_rows_get(tables->hosts, look->txn, id, &record);
    (void)schedule_host_count(tables->schedule, look->txn, id, &urls);
    HostSituation situation = host_situation_of(&record, now_ms);
    (void)host_situation_tell(&situation, now_ms, &phrase);
    desk_say(look->desk, client, "%-12s %s", "host", origin);
    desk_say(look->desk, client, "%-12s %s", "state", buffer_string(&phrase));
    desk_hosts_tell_time(look, "until", situation.until_ms);
    desk_say(look->desk, client, "%-12s %llu", "scheduled", (unsigned long long)urls);
    desk_say(look->desk, client, "%-12s %u", "pages", record.pages);
    desk_say(look->desk, client, "%-12s %u", "fetches", record.fetches);
    desk_say(look->desk, client, "%-12s %u", "failures", record.failures);
    tell_delays(look, record.crawl_delay_ms);
    desk_say(look->desk, client, "%-12s %u", "robots.txt", record.robots_version);
    desk_hosts_tell_time(look, "last fetch", record.last_fetch_ms);
    buffer_destroy(&phrase);
}

static void show_host(Desk *desk, const DeskRequest *request)
{
    static const char *const schemes[ORIGINS_MAX] = {"http://", "https://"};
    const IngestStore *tables = &desk->helm->parts->store->tables;
    bool is_origin = strstr(request->words[1], "://") != NULL;
    HostLook look = {.desk = desk, .request = request, .name = request->words[1]};
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    if (page_db_txn_begin(tables->db, true, &look.txn) != 0) {
        desk_refuse(desk, request, "the database cannot be read");
        return;
    }
    for (size_t i = 0; i < (is_origin ? 1u : ORIGINS_MAX); i++) {
        uint32_t id = 0;
        buffer_reset(&origin);
        (void)buffer_printf(&origin, "%s%s", is_origin ? "" : schemes[i], look.name);
        if (page_db_host_find(tables->db, look.txn, buffer_string(&origin), origin.length, &id) ==
            0) {
            tell_record(&look, buffer_string(&origin), id);
            look.found++;
        }
    }
    page_db_txn_abort(tables->db, look.txn);
    buffer_destroy(&origin);
    if (look.found == 0) {
        desk_refuse(desk, request, "no host '%.200s' is known", look.name);
    } else {
        desk_ok(desk, request);
    }
}

void desk_host(Desk *desk, const DeskRequest *request)
{
    static const struct {
        const char *word;
        OrderKind kind;
        EdictVerb edict;
    } orders[] = {{"revive", ORDER_REVIVE, EDICT_REVIVE},
                  {"drop", ORDER_DROP, EDICT_DROP},
                  {"visit", ORDER_VISIT, EDICT_VISIT}};
    const char *verb = request->n > 2 ? request->words[2] : "";
    if (request->n == 2) {
        show_host(desk, request);
        return;
    }
    if (strcmp(verb, "delay") == 0 && request->n == 4) {
        Buffer name = {.limit = BUFFER_NO_LIMIT};
        Buffer answer = {.limit = BUFFER_NO_LIMIT};
        const char *text = request->words[3];
        desk_hosts_name_of(request->words[1], &name);
        desk_change(desk, request, buffer_string(&name), "politeness.host_delay",
                    strcmp(text, "-") == 0 ? NULL : text, &answer);
        buffer_destroy(&name);
        buffer_destroy(&answer);
        return;
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(verb, orders[i].word) == 0 && request->n == 3) {
            const char *host = request->words[1];
            LOG_INFO("agent", "host changed by an operator", "host=%s wish=%s %s", host, verb,
                     request->who);
            if (desk_edicts_are(desk)) {
                desk_edicts_order(desk, request, orders[i].edict, "", host, "", host);
            } else {
                desk_hosts_give(desk, request, orders[i].kind, &host, 1);
            }
            return;
        }
    }
    desk_misunderstand(desk, request,
                       "host: unexpected '%.64s' (usage: host HOST [revive|drop|visit|delay TIME|"
                       "delay -])",
                       verb);
}

/* ---- waiting ---- */

typedef struct Teller {
    Desk *desk;
    ControlClient client;
} Teller;

static void tell_waiting(void *context, const WaitingHost *host)
{
    const Teller *teller = context;
    char time[CLOCK_TEXT_BYTES];
    desk_say(teller->desk, teller->client, "%s %s %s, %u in a row, %llu URLs",
             wall_format_iso(host->until, time), host->origin, host->why, host->failures,
             (unsigned long long)host->urls);
}

void desk_waiting(Desk *desk, const DeskRequest *request)
{
    Teller teller = {.desk = desk, .client = request->client};
    uint64_t all = 0;
    Result rc = waiting_walk(&desk->helm->parts->store->tables, &all, tell_waiting, &teller);
    if (rc != RESULT_OK) {
        desk_refuse(desk, request, "the database cannot be read: %s", result_name(rc));
    } else {
        desk_done(desk, request, "%llu hosts wait for a retry", (unsigned long long)all);
    }
}
