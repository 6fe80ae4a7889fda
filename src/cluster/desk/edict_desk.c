#include "cluster/desk/edict_desk.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS      10000 /* when no change was heard of */
#define ASK_AGAIN_MS 200
#define AGENT_BITS   16u

void edict_desk_init(EdictDesk *desk, NodeLink *link, const EdictSinks *sinks)
{
    *desk = (EdictDesk){.link = link, .sinks = *sinks};
    key_init(&desk->key, link, NODE_PART_EDICTS, EDICTS_KEY, LOOK_MS);
}

static void edict_given_release(EdictGiven *given)
{
    edicts_destroy(&given->one);
    free(given->heard);
    buffer_destroy(&given->said);
}

void edict_desk_destroy(EdictDesk *desk)
{
    for (size_t i = 0; i < desk->n_given; i++) {
        edict_given_release(&desk->given[i]);
    }
    for (size_t i = 0; i < EDICT_TEXTS; i++) {
        free(desk->texts[i].text);
    }
    edicts_destroy(&desk->edicts);
    edicts_destroy(&desk->proposed);
}

/* They are to be carried out: those about a host by its owner, and by the one that sends it away.
 */
static void edict_desk_apply(EdictDesk *desk)
{
    uint16_t self = desk->link->head.from;
    for (size_t i = 0; i < desk->edicts.n; i++) {
        Edict *edict = &desk->edicts.list[i];
        if (edict_verb_is_of_host(edict->verb)) {
            ClusterSlot slot = desk->link->table->slots[slot_of_name(edict->name)];
            edict->elsewhere = desk->link->table->epoch > 0 && slot.from != self && slot.to != self;
        }
    }
    desk->sinks.apply(desk->sinks.context, &desk->edicts);
}

Result edict_desk_begin(EdictDesk *desk, const Edicts *kept)
{
    bool ours = memcmp(kept->uuid, desk->link->head.uuid, sizeof kept->uuid) == 0;
    Result rc = ours ? edicts_copy(&desk->edicts, kept) : RESULT_OK;
    memcpy(desk->edicts.uuid, desk->link->head.uuid, sizeof desk->edicts.uuid);
    if (rc == RESULT_OK && desk->edicts.last > 0) {
        edict_desk_apply(desk);
    }
    return rc;
}

void edict_desk_up(EdictDesk *desk, MonoTime settled, MonoTime now)
{
    desk->settled = settled;
    desk->fresh = false;
    key_up(&desk->key, now);
}

void edict_desk_doubt(EdictDesk *desk, MonoTime now)
{
    desk->fresh = false;
    key_doubt(&desk->key, now);
}

bool edict_desk_is_fresh(const EdictDesk *desk)
{
    return desk->link->up && desk->fresh && desk->applied >= desk->edicts.last;
}

/* ---- given here ---- */

void edict_desk_give(EdictDesk *desk, const Edict *edict, uint64_t ticket, MonoTime now)
{
    if (desk->n_given == EDICT_GIVEN) {
        desk->sinks.told(desk->sinks.context, ticket, RESULT_LIMIT, 0,
                         "other orders are under way; say it again in a moment");
        return;
    }
    EdictGiven *given = &desk->given[desk->n_given];
    *given = (EdictGiven){.ticket = ticket,
                          .serial = ++desk->last,
                          .n = desk->link->table->n_agents,
                          .end = mono_add_ms(now, EDICT_ANSWER_MS),
                          .next_ask = now};
    buffer_init(&given->said, EDICT_TEXT_BYTES);
    given->heard = calloc(given->n + 1u, 1);
    Result rc = given->heard == NULL ? RESULT_MEMORY : edicts_add(&given->one, edict);
    if (rc != RESULT_OK) {
        edict_given_release(given);
        desk->sinks.told(desk->sinks.context, ticket, rc, 0, result_name(rc));
        return;
    }
    desk->n_given++;
}

static const char *agent_name(const EdictDesk *desk, uint32_t agent)
{
    const Members *members = desk->link->members;
    const Member *member = agent < members->n ? &members->members[agent] : NULL;
    return member != NULL && member->known ? member->record.name : "never started";
}

/* Which agents it has reached, and which not. */
static void edict_desk_tell(const EdictDesk *desk, EdictGiven *given)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    size_t done = 0;
    size_t away = 0;
    for (uint32_t i = 0; i < given->n; i++) {
        done += given->heard[i] == EDICT_DONE;
    }
    (void)buffer_append(&text, given->said.data, given->said.length);
    (void)buffer_printf(&text, "%s%zu agent%s told", text.length > 0 ? "; " : "", done,
                        done == 1 ? " was" : "s were");
    for (uint32_t i = 0; i < given->n; i++) {
        if (given->heard[i] != EDICT_DONE) {
            (void)buffer_printf(&text, "%s agent %u (%s)", away++ == 0 ? "; away:" : ",",
                                (unsigned)i, agent_name(desk, i));
        }
    }
    if (away > 0) {
        (void)buffer_printf(&text, ", to be told at %s return before the first request",
                            away == 1 ? "its" : "their");
    }
    desk->sinks.told(desk->sinks.context, given->ticket, RESULT_OK, away == 0 ? given->number : 0,
                     buffer_string(&text));
    buffer_destroy(&text);
}

static void edict_desk_end(EdictDesk *desk, size_t i)
{
    edict_given_release(&desk->given[i]);
    desk->given[i] = desk->given[--desk->n_given];
}

/* Everybody has answered, or it is late. */
static bool edict_desk_is_over(EdictDesk *desk, EdictGiven *given, MonoTime now)
{
    bool late = !mono_before(now, given->end);
    if (given->number == 0) {
        if (late) {
            desk->sinks.told(desk->sinks.context, given->ticket, RESULT_CLOSED, 0,
                             "the server does not answer, and no other agent has heard of it");
        }
        return late;
    }
    bool all = true;
    for (uint32_t i = 0; i < given->n; i++) {
        all = all && given->heard[i] != EDICT_UNHEARD;
    }
    if (all || late) {
        edict_desk_tell(desk, given);
    }
    return all || late;
}

/* Puts all that was given and is not stored yet. */
static void edict_desk_put(EdictDesk *desk, MonoTime now)
{
    if (edicts_copy(&desk->proposed, &desk->edicts) != RESULT_OK) {
        return;
    }
    for (size_t i = 0; i < desk->n_given; i++) {
        EdictGiven *given = &desk->given[i];
        bool is_new = given->number == 0;
        Result rc = is_new ? edicts_add(&desk->proposed, &given->one.list[0]) : RESULT_OK;
        if (rc == RESULT_LIMIT) {
            desk->sinks.told(desk->sinks.context, given->ticket, rc, 0,
                             "too many orders are in force: take some back (allow, unset)");
            edict_desk_end(desk, i);
        }
        if (rc != RESULT_OK) {
            return; /* again in a moment, with the others */
        }
        given->proposal = is_new ? desk->proposed.last : 0;
    }
    if (desk->proposed.last > desk->edicts.last &&
        edicts_write(&desk->proposed, node_link_blank(desk->link)) == RESULT_OK) {
        (void)key_put(&desk->key, now); /* if it cannot be sent, again in a moment */
    }
}

static void edict_desk_ask(EdictDesk *desk, EdictGiven *given, MonoTime now)
{
    given->next_ask = mono_add_ms(now, ASK_AGAIN_MS);
    for (uint32_t i = 0; i < given->n; i++) {
        if (given->heard[i] == EDICT_DONE || i == desk->link->head.from) {
            continue;
        }
        WireWriter writer = node_link_question(desk->link, NODE_ASK_EDICTS);
        wire_put_number(&writer, given->number, 8);
        (void)node_link_ask(desk->link, &writer, (uint16_t)i,
                            node_token(NODE_PART_EDICTS, given->serial << AGENT_BITS | i));
    }
}

/* ---- carried out here ---- */

static const char *edict_desk_text_of(const EdictDesk *desk, uint64_t number)
{
    for (size_t i = 0; i < EDICT_TEXTS; i++) {
        if (desk->texts[i].number == number && desk->texts[i].text != NULL) {
            return desk->texts[i].text;
        }
    }
    return "";
}

static void edict_given_hear(EdictGiven *given, uint32_t agent, const char *text, size_t length)
{
    if (agent < given->n && given->heard[agent] != EDICT_DONE) {
        given->heard[agent] = EDICT_DONE;
        if (length > 0) {
            (void)buffer_printf(&given->said, "%sagent %u: %.*s",
                                given->said.length > 0 ? "; " : "", (unsigned)agent, (int)length,
                                text);
        }
    }
}

/* Those that were given here are carried out here, too. */
static void edict_desk_hear_self(EdictDesk *desk)
{
    for (size_t i = 0; i < desk->n_given; i++) {
        EdictGiven *given = &desk->given[i];
        if (given->number > 0 && desk->applied >= given->number) {
            const char *text = edict_desk_text_of(desk, given->number);
            edict_given_hear(given, desk->link->head.from, text, strlen(text));
        }
    }
}

void edict_desk_applied(EdictDesk *desk, uint64_t number, const char *text)
{
    desk->applied = number > desk->applied ? number : desk->applied;
    if (*text != '\0') {
        EdictText *place = &desk->texts[desk->next_text++ % EDICT_TEXTS];
        free(place->text);
        *place = (EdictText){number, strdup(text)};
    }
    edict_desk_hear_self(desk);
}

void edict_desk_asked(EdictDesk *desk, NodeMessage *in, MonoTime now)
{
    uint64_t number = wire_get_number(&in->body, 8);
    if (!wire_reader_ended(&in->body)) {
        return;
    }
    if (number > desk->edicts.last && desk->key.look == 0) {
        key_changed(&desk->key, now);
    }
    const char *text = edict_desk_text_of(desk, number);
    WireWriter writer = node_link_begin(desk->link);
    wire_put_number(&writer, desk->applied, 8);
    wire_put_string(&writer, text, strlen(text));
    wire_put_number(&writer, (uint64_t)(now.ns / 1000000), 8);
    node_link_reply(desk->link, &writer, in->event->reply_to);
}

/* ---- answers ---- */

/* The server has forgotten it, or has an older one, or one that has lost some of it. */
static void edict_desk_put_back(EdictDesk *desk, MonoTime now)
{
    edicts_destroy(&desk->proposed);
    if (edicts_write(&desk->edicts, node_link_blank(desk->link)) == RESULT_OK) {
        (void)key_put(&desk->key, now);
    }
}

static void edict_desk_take_value(EdictDesk *desk, const TransportEvent *event, MonoTime now)
{
    Edicts seen = {.n = 0};
    bool settled = !mono_before(desk->key.asked, desk->settled);
    desk->fresh |= settled;
    desk->key.next = settled ? desk->key.next : mono_later(now, desk->settled);
    bool good = event->revision > 0 &&
                edicts_read(&seen, event->bytes, event->length) == RESULT_OK &&
                memcmp(seen.uuid, desk->edicts.uuid, sizeof seen.uuid) == 0;
    uint64_t last = good ? seen.last : 0;
    bool differs = good && last != desk->edicts.last;
    if (differs && edicts_merge(&seen, &desk->edicts) == RESULT_OK &&
        seen.last > desk->edicts.last) {
        edicts_destroy(&desk->edicts);
        desk->edicts = seen;
        seen = (Edicts){.n = 0};
        edict_desk_apply(desk);
    }
    if (last < desk->edicts.last) {
        edict_desk_put_back(desk, now);
    }
    edicts_destroy(&seen);
}

static void edict_desk_take_stored(EdictDesk *desk)
{
    if (desk->proposed.last == 0) {
        return; /* it was put back */
    }
    edicts_destroy(&desk->edicts);
    desk->edicts = desk->proposed;
    desk->proposed = (Edicts){.n = 0};
    for (size_t i = 0; i < desk->n_given; i++) {
        if (desk->given[i].number == 0) {
            desk->given[i].number = desk->given[i].proposal;
        }
    }
    edict_desk_apply(desk);
}

static void edict_desk_take_answer(EdictDesk *desk, NodeMessage *in)
{
    uint64_t serial = in->number >> AGENT_BITS;
    uint32_t agent = in->number & ((1u << AGENT_BITS) - 1);
    size_t length = 0;
    uint64_t applied = wire_get_number(&in->body, 8);
    const uint8_t *text = wire_get_string(&in->body, &length);
    (void)wire_get_number(&in->body, 8); /* its clock (watch_desk.h) */
    for (size_t i = 0; i < desk->n_given; i++) {
        EdictGiven *given = &desk->given[i];
        if (given->serial != serial || agent >= given->n) {
            continue;
        }
        if (in->event->kind == TRANSPORT_NOBODY && given->heard[agent] == EDICT_UNHEARD) {
            /* One that has no hosts, and is not there, need not hear of it; one that is there may
             * have been given some by a table that has not come here yet. */
            given->heard[agent] =
                cluster_table_has(desk->link->table, (uint16_t)agent) ? EDICT_AWAY : EDICT_DONE;
        } else if (in->says && wire_reader_ended(&in->body) && applied >= given->number) {
            edict_given_hear(given, agent, (const char *)text, length);
        }
    }
}

void edict_desk_take(EdictDesk *desk, NodeMessage *in, MonoTime now)
{
    KeyNews news = key_take(&desk->key, in->event, now);
    if (news == KEY_VALUE) {
        edict_desk_take_value(desk, in->event, now);
    } else if (news == KEY_STORED) {
        edict_desk_take_stored(desk);
    } else if (!key_is_of(in->event)) {
        edict_desk_take_answer(desk, in);
    }
}

/* ---- time ---- */

void edict_desk_work(EdictDesk *desk, MonoTime now)
{
    if (desk->link->up && desk->key.seen && !key_is_busy(&desk->key) && desk->n_given > 0) {
        edict_desk_put(desk, now);
    }
    edict_desk_hear_self(desk);
    for (size_t i = desk->n_given; i > 0; i--) {
        EdictGiven *given = &desk->given[i - 1];
        if (edict_desk_is_over(desk, given, now)) {
            edict_desk_end(desk, i - 1);
        } else if (given->number > 0 && desk->link->up && !mono_before(now, given->next_ask)) {
            edict_desk_ask(desk, given, now);
        }
    }
}

MonoTime edict_desk_next(const EdictDesk *desk)
{
    MonoTime next = MONO_NEVER;
    for (size_t i = 0; i < desk->n_given; i++) {
        const EdictGiven *given = &desk->given[i];
        MonoTime due = given->number > 0 && mono_before(given->next_ask, given->end)
                           ? given->next_ask
                           : given->end;
        next = mono_earlier(due, next);
    }
    return next;
}
