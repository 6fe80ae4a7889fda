#include "crawl/desk/desk_rules.h"

#include "crawl/desk/desk_reply.h"
#include "crawl/parts/rule_parts.h"

typedef Result Change(AgentParts *parts, const char *rule, const char *who, Buffer *answer);

static void change(Desk *desk, const DeskRequest *request, Change *apply)
{
    Buffer answer;
    buffer_init(&answer, BUFFER_NO_LIMIT);
    Result rc = apply(desk->helm->parts, request->words[1], request->who, &answer);
    const char *text = answer.length > 0 ? buffer_string(&answer) : result_name(rc);
    if (rc == RESULT_OK || rc == RESULT_EXISTS) {
        desk_done(desk, request, "%s", text);
    } else if (rc == RESULT_INVALID) {
        desk_misunderstand(desk, request, "%s", text);
    } else {
        desk_refuse(desk, request, "%s", text);
    }
    buffer_destroy(&answer);
}

void desk_deny(Desk *desk, const DeskRequest *request)
{
    change(desk, request, rule_parts_deny);
}

void desk_allow(Desk *desk, const DeskRequest *request)
{
    change(desk, request, rule_parts_allow);
}

void desk_denials(Desk *desk, const DeskRequest *request)
{
    const DenialList *list = &desk->helm->parts->denials;
    for (size_t i = 0; i < list->n; i++) {
        desk_say(desk, request->client, "%-40s %s", list->rules[i], list->notes[i]);
    }
    desk_ok(desk, request);
}
