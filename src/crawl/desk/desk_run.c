#include "crawl/desk/desk_run.h"

#include <string.h>

#include "base/thread/log.h"
#include "crawl/desk/desk_reply.h"

void desk_pause(Desk *desk, const DeskRequest *request)
{
    if (desk->helm->stopping) {
        desk_refuse(desk, request, "the crawl is stopping");
    } else if (helm_pause(desk->helm, true, request->who)) {
        desk_done(desk, request, "nothing new is fetched until `resume`; %zu fetches are in flight",
                  parts_outstanding(desk->helm->parts));
    } else {
        desk_done(desk, request, "it is paused already");
    }
}

void desk_resume(Desk *desk, const DeskRequest *request)
{
    if (desk->helm->stopping) {
        desk_refuse(desk, request, "the crawl is stopping");
    } else if (!helm_pause(desk->helm, false, request->who)) {
        desk_done(desk, request, "it is not paused by an operator");
    } else if ((desk->helm->parts->pauses & PAUSE_DISK) != 0) {
        desk_done(desk, request, "it stays paused while the disk is nearly full");
    } else {
        desk_ok(desk, request);
    }
}

void desk_stop(Desk *desk, const DeskRequest *request)
{
    if (request->n == 2 && strcmp(request->words[1], "now") != 0) {
        desk_misunderstand(desk, request, "stop: unexpected '%s' (usage: stop [now])",
                           request->words[1]);
    } else if (request->n == 2) {
        helm_stop_now(desk->helm, request->who, mono_now());
        desk_done(desk, request, "fetches in flight are aborted; they are repeated at a resume");
    } else {
        char time[24];
        int64_t left_ms = desk->helm->options->config->crawl_grace;
        helm_stop_asked(desk->helm, request->who, mono_now());
        desk_done(desk, request, "%zu fetches in flight have %s to end (crawl.grace)",
                  parts_outstanding(desk->helm->parts), status_format_time(left_ms, time));
    }
}

void desk_reload(Desk *desk, const DeskRequest *request)
{
    size_t changed = 0;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
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

void desk_rotate(Desk *desk, const DeskRequest *request)
{
    helm_reopen_logs(desk->helm, request->who);
    desk_ok(desk, request);
}

void desk_flush(Desk *desk, const DeskRequest *request)
{
    AgentParts *parts = desk->helm->parts;
    uint64_t pending = stats_get(&parts->stats.sieve_pending);
    if (desk->helm->stopping) {
        desk_refuse(desk, request, "the crawl is stopping");
        return;
    }
    atomic_store(&parts->sieve.flush, true);
    ingest_wake(parts->ingest);
    LOG_INFO("agent", "flush", "links=%llu %s", (unsigned long long)pending, request->who);
    desk_done(desk, request, "%llu links are looked up now", (unsigned long long)pending);
}

void desk_checkpoint(Desk *desk, const DeskRequest *request)
{
    Buffer answer;
    buffer_init(&answer, BUFFER_NO_LIMIT);
    if (helm_checkpoint(desk->helm, request->who, &answer) == RESULT_OK) {
        desk->copier = request->client;
        desk->has_copier = true;
    } else {
        desk_refuse(desk, request, "%s", buffer_string(&answer));
    }
    buffer_destroy(&answer);
}

void desk_run_tick(Desk *desk)
{
    Result rc = RESULT_OK;
    Buffer answer;
    buffer_init(&answer, BUFFER_NO_LIMIT);
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
