#include "crawl/desk/desk_edicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/cluster/cluster_edicts.h"
#include "crawl/parts/rule_parts.h"

#define DESK_ORDER_BYTES 20
#define EDICT_SIGN       UINT64_MAX /* of orders that edicts give; no client's number */

bool desk_edicts_are(const Desk *desk)
{
    return desk->helm->parts->cluster != NULL;
}

/* ---- given here ---- */

static void desk_edicts_give(Desk *desk, const char *who, EdictVerb verb, const char *pattern,
                             const char *name, const char *value)
{
    char by[DESK_WHO_BYTES + 16];
    ClusterFigures figures;
    ClusterPart *cluster = desk->helm->parts->cluster;
    cluster_part_figures(cluster, &figures);
    (void)snprintf(by, sizeof by, "agent=%u %s", (unsigned)figures.agent, who);
    Edict edict = {.number = (uint64_t)(wall_now().us / 1000),
                   .verb = verb,
                   .name = (char *)(uintptr_t)name,
                   .pattern = (char *)(uintptr_t)pattern,
                   .value = (char *)(uintptr_t)value,
                   .who = by};
    cluster_edicts_order(cluster, &edict, desk->last_ticket);
}

void desk_edicts_order(Desk *desk, const DeskRequest *request, EdictVerb verb, const char *pattern,
                       const char *name, const char *value, const char *text)
{
    if (desk->n_ordered == CONTROL_CLIENTS) { /* a client waits for one answer at a time */
        desk_refuse(desk, request, "too many orders are under way");
        return;
    }
    desk->ordered[desk->n_ordered++] = (DeskOrdered){.client = request->client,
                                                     .ticket = ++desk->last_ticket,
                                                     .verb = verb,
                                                     .text = strdup(text)};
    desk_edicts_give(desk, request->who, verb, pattern, name, value);
}

/* By the order that `ragno forget` has put into this directory. */
void desk_edicts_forget(Desk *desk, const DeskRequest *request)
{
    Path path;
    char name[DESK_ORDER_BYTES];
    Buffer order = {.limit = EDICT_TEXT_BYTES};
    const char *directory = desk->helm->parts->store->directory;
    Result rc = file_read(file_path(&path, "%s/" ERASURE_ORDER, directory), &order);
    if (rc != RESULT_OK) {
        desk_refuse(desk, request, "%s: %s", path.text,
                    rc == RESULT_LIMIT ? "too long for an order of all agents; name less at once"
                                       : result_name(rc));
    } else {
        const char *text = buffer_string(&order);
        (void)snprintf(name, sizeof name, "%016llx",
                       (unsigned long long)hash_128(text, order.length).low);
        desk_edicts_order(desk, request, EDICT_FORGET, "", name, text, name);
    }
    buffer_destroy(&order);
}

static void desk_edicts_answer(Desk *desk, const DeskOrdered *ordered, const ClusterTold *told)
{
    DeskRequest request = {.client = ordered->client};
    const char *before = ordered->text == NULL ? "" : ordered->text;
    const char *text = told->text == NULL ? "" : told->text;
    bool about_host = edict_verb_is_of_host(ordered->verb);
    bool nobody = about_host && strncmp(text, "agent ", 6) != 0;
    if (ordered->verb == EDICT_FORGET && told->rc == RESULT_OK) {
        desk_done(desk, &request, "%s; each stops, erases, and goes on", text);
    } else if (told->rc != RESULT_OK) {
        bool here = !about_host && ordered->verb != EDICT_FORGET;
        if (ordered->verb == EDICT_FORGET) { /* it is given again */
            Path path;
            file_remove(file_path(&path, "%s/" ERASURE_ORDER, desk->helm->parts->store->directory));
        }
        desk_refuse(desk, &request, "%s%s%s", here ? before : "",
                    here ? "; but at this agent alone: " : "", text);
    } else if (nobody) {
        desk_refuse(desk, &request, "no host '%s' is known; %s", before, text);
    } else if (about_host) {
        desk_done(desk, &request, "%s", text);
    } else {
        desk_done(desk, &request, "%s; %s", before, text);
    }
}

/* All agents have carried out an order, and so what is older: nobody needs the words any more of
 * what is to be forgotten. */
static void desk_edicts_clear(Desk *desk, uint64_t by_all)
{
    for (size_t i = 0; i < desk->edicts.n; i++) {
        const Edict *edict = &desk->edicts.list[i];
        if (edict->verb == EDICT_FORGET && edict->number <= by_all && *edict->value != '\0') {
            desk->last_ticket++;
            desk_edicts_give(desk, "reason=told", EDICT_FORGET, "", edict->name, "");
        }
    }
}

/* ---- carried out here ---- */

static Result desk_edicts_host(Desk *desk, const Edict *edict)
{
    static const OrderKind kinds[EDICT_VERBS] = {
        [EDICT_REVIVE] = ORDER_REVIVE, [EDICT_DROP] = ORDER_DROP, [EDICT_VISIT] = ORDER_VISIT};
    AgentParts *parts = desk->helm->parts;
    const char *host = edict->name;
    bool is_done = desk->is_first && edict->number <= parts->cluster->edicts.kept_applied;
    if (edict->elsewhere || is_done) {
        return RESULT_OK; /* by its owner, or by an earlier process */
    }
    Result rc = orders_give(parts->orders, kinds[edict->verb], &host, 1, EDICT_SIGN);
    desk->edict_waits = rc == RESULT_OK;
    if (rc == RESULT_OK) {
        ingest_wake(parts->ingest);
    }
    return rc;
}

/* At a start nobody has paused this process yet, and crawl.start_paused is its own. */
static Result desk_edicts_pause(Desk *desk, const Edict *edict)
{
    Helm *helm = desk->helm;
    bool pauses = edict->verb == EDICT_PAUSE;
    bool is_old = desk->is_first && edict->number <= helm->parts->cluster->edicts.kept_applied;
    if (pauses || !is_old) {
        (void)helm_pause(helm, pauses, edict->who);
        unsigned others = helm->parts->pauses & ~(unsigned)PAUSE_OPERATOR;
        parts_pause(helm->parts, others | (pauses ? PAUSE_OPERATOR : 0u));
    }
    return RESULT_OK;
}

/* All agents hear of it, and that all have, before the first one is away for it. */
static Result desk_edicts_erase(Desk *desk, const Edict *edict)
{
    Helm *helm = desk->helm;
    bool is_done = desk->is_first && edict->number <= helm->parts->cluster->edicts.kept_applied;
    MonoTime time = mono_add_ms(mono_now(), 2 * EDICT_ANSWER_MS);
    if (is_done || *edict->value == '\0') {
        return RESULT_OK;
    }
    if (desk->is_first) { /* it was away: are all told now? */
        desk->last_ticket++;
        desk_edicts_give(desk, "reason=return", EDICT_FORGET, "", "", "");
    }
    return helm_erase_by(helm, edict->value, time, edict->who);
}

/* A section of hosts that has it already: by this operator, or by an earlier process. */
static bool desk_edicts_has_site(const Options *options, const Edict *edict)
{
    const OptionSpec *spec = options_find(options, edict->name);
    bool found = false;
    for (size_t i = 0; spec != NULL && *edict->pattern != '\0' && i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        if (&options->specs[site->spec] == spec && strcmp(site->pattern, edict->pattern) == 0) {
            found = strcmp(site->text, edict->value) == 0; /* the last one counts */
        }
    }
    return found;
}

static Result desk_edicts_set(Desk *desk, const Edict *edict, Buffer *answer)
{
    Settings *settings = &desk->helm->settings;
    Result rc = RESULT_EXISTS;
    settings->by_all = true;
    if (edict->verb == EDICT_UNSET) {
        rc = settings_unset(settings, edict->pattern, edict->name, edict->who, answer);
    } else if (!desk_edicts_has_site(&settings->options->config->options, edict)) {
        rc = settings_set(settings, edict->pattern, edict->name, edict->value, edict->who, answer);
    }
    settings->by_all = false;
    return rc;
}

static Result desk_edicts_carry_out(Desk *desk, const Edict *edict, Buffer *answer)
{
    AgentParts *parts = desk->helm->parts;
    Result rc = RESULT_OK;
    switch (edict->verb) {
    case EDICT_DENY:
        rc = rule_parts_deny(parts, edict->name, edict->who, answer);
        break;
    case EDICT_ALLOW:
        rc = rule_parts_allow(parts, edict->name, edict->who, answer);
        break;
    case EDICT_PAUSE:
    case EDICT_RESUME:
        rc = desk_edicts_pause(desk, edict);
        break;
    case EDICT_SET:
    case EDICT_UNSET:
        rc = desk_edicts_set(desk, edict, answer);
        break;
    case EDICT_REVIVE:
    case EDICT_DROP:
    case EDICT_VISIT:
        rc = desk_edicts_host(desk, edict);
        break;
    case EDICT_FORGET:
        rc = desk_edicts_erase(desk, edict);
        break;
    case EDICT_VERBS:
        break;
    }
    return rc == RESULT_EXISTS || rc == RESULT_NOT_FOUND ? RESULT_OK : rc; /* it is so already */
}

static void desk_edicts_next(Desk *desk, const char *text)
{
    cluster_edicts_applied(desk->helm->parts->cluster, &desk->edicts, desk->edict_done, text);
}

static void desk_edicts_work(Desk *desk)
{
    for (size_t i = 0; i < desk->edicts.n && !desk->edict_waits; i++) {
        const Edict *edict = &desk->edicts.list[i];
        Buffer answer = {.limit = BUFFER_NO_LIMIT};
        if (edict->number <= desk->edict_done) {
            continue;
        }
        Result rc = desk_edicts_carry_out(desk, edict, &answer);
        if (rc == RESULT_LOCKED) { /* the process that starts anew after the one before does it */
            buffer_destroy(&answer);
            break;
        }
        if (rc != RESULT_OK) {
            LOG_ERROR("cluster", "an order of all agents cannot be carried out here",
                      "order=\"%s %s\" error=\"%s\" %s", edict_verb_name(edict->verb), edict->name,
                      answer.length > 0 ? buffer_string(&answer) : result_name(rc), edict->who);
        }
        desk->edict_done = edict->number;
        if (!desk->edict_waits) {
            desk_edicts_next(desk, rc == RESULT_OK ? "" : buffer_string(&answer));
        }
        buffer_destroy(&answer);
    }
    desk->is_first = desk->is_first && desk->edicts.n == 0;
}

bool desk_edicts_done(Desk *desk, const Order *order, const char *text)
{
    if (order->sign != EDICT_SIGN) {
        return false;
    }
    desk->edict_waits = false;
    desk_edicts_next(desk, order->hosts == 0 ? "" : text);
    return true;
}

void desk_edicts_tick(Desk *desk)
{
    if (!desk_edicts_are(desk)) {
        return;
    }
    if (!desk->edict_waits) {
        (void)cluster_edicts_take(desk->helm->parts->cluster, &desk->edicts);
    }
    desk_edicts_work(desk);
    ClusterTold told;
    while (cluster_edicts_told(desk->helm->parts->cluster, &told)) {
        desk_edicts_clear(desk, told.by_all);
        for (size_t i = 0; i < desk->n_ordered; i++) {
            if (desk->ordered[i].ticket == told.ticket) {
                desk_edicts_answer(desk, &desk->ordered[i], &told);
                free(desk->ordered[i].text);
                desk->ordered[i] = desk->ordered[--desk->n_ordered];
                break;
            }
        }
        free(told.text);
    }
}

void desk_edicts_close(Desk *desk)
{
    for (size_t i = 0; i < desk->n_ordered; i++) {
        free(desk->ordered[i].text);
    }
    edicts_destroy(&desk->edicts);
}
