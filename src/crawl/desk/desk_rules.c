#include "crawl/desk/desk_rules.h"

#include "crawl/desk/desk_reply.h"
#include "crawl/desk/desk_settings.h"
#include "crawl/parts/rule_parts.h"

typedef Result Change(AgentParts *parts, const char *rule, const char *who, Buffer *answer);

static void desk_rules_change(Desk *desk, const DeskRequest *request, Change *apply)
{
    Buffer answer;
    buffer_init(&answer, BUFFER_NO_LIMIT);
    Result rc = apply(desk->helm->parts, request->words[1], request->who, &answer);
    desk_settled(desk, request, rc, &answer);
    buffer_destroy(&answer);
}

void desk_deny(Desk *desk, const DeskRequest *request)
{
    desk_rules_change(desk, request, rule_parts_deny);
}

void desk_allow(Desk *desk, const DeskRequest *request)
{
    desk_rules_change(desk, request, rule_parts_allow);
}

void desk_denials(Desk *desk, const DeskRequest *request)
{
    const DenialList *list = &desk->helm->parts->denials;
    for (size_t i = 0; i < list->n; i++) {
        desk_say(desk, request->client, "%-40s %s", list->rules[i], list->notes[i]);
    }
    desk_ok(desk, request);
}
