#include "crawl/desk/desk_status.h"

#include <string.h>

#include "base/thread/thread.h"
#include "crawl/desk/desk_reply.h"

#define FOLLOW_MS 1000

static void desk_status_tell(Desk *desk, ControlClient client, bool json)
{
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    if (monitor_status(desk->monitor, json, &text) == RESULT_OK) {
        control_server_say(desk->server, client, buffer_string(&text));
    }
    buffer_destroy(&text);
}

/* "time=... state=..." as a line for each. */
static void tell_fields(Desk *desk, ControlClient client)
{
    Buffer text;
    char *save = NULL;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = monitor_status(desk->monitor, false, &text);
    char *field = rc == RESULT_OK ? strtok_r(text.data, " ", &save) : NULL;
    for (; field != NULL; field = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(field, '=');
        if (equals != NULL) {
            *equals = '\0';
            desk_say(desk, client, "%-17s %s", field, equals + 1);
        }
    }
    buffer_destroy(&text);
}

void desk_status(Desk *desk, const DeskRequest *request)
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
            tell_fields(desk, request->client);
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

void desk_threads(Desk *desk, const DeskRequest *request)
{
    ThreadList list = {.desk = desk, .client = request->client};
    thread_walk(tell_thread, &list);
    desk_ok(desk, request);
}

void desk_status_tick(Desk *desk, MonoTime now)
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

MonoTime desk_status_next(const Desk *desk)
{
    return desk->n_followers == 0 ? MONO_NEVER : desk->next_line;
}

void desk_status_gone(Desk *desk, ControlClient client)
{
    for (size_t i = 0; i < desk->n_followers; i++) {
        if (desk->followers[i].client == client) {
            desk->followers[i] = desk->followers[--desk->n_followers];
            return;
        }
    }
}

void desk_status_end(Desk *desk)
{
    while (desk->n_followers > 0) {
        DeskFollower follower = desk->followers[--desk->n_followers];
        desk_status_tell(desk, follower.client, follower.json);
        control_server_end(desk->server, follower.client, CONTROL_OK, "the crawl has ended");
    }
}
