#include "cluster/desk/errand_desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "cluster/wire/link_block.h"

void errand_desk_init(ErrandDesk *desk, NodeLink *link, const ErrandDeskSinks *sinks)
{
    *desk = (ErrandDesk){.link = link, .sinks = *sinks};
}

static void forget_served(ErrandDesk *desk, size_t place)
{
    ErrandServed *served = &desk->theirs[place];
    desk->kept_bytes -= errand_answer_bytes(served->answer);
    errand_answer_delete(served->answer);
    free(served->url);
    *served = desk->theirs[--desk->n_theirs];
}

void errand_desk_destroy(ErrandDesk *desk)
{
    while (desk->n_theirs > 0) {
        forget_served(desk, 0);
    }
    for (size_t i = 0; i < desk->n_ours; i++) {
        free(desk->ours[i].url);
    }
}

static ClusterSlot errand_desk_slot_of(const ErrandDesk *desk, const char *url)
{
    return desk->link->table->slots[slot_of_url(url, strlen(url))];
}

/* ---- our questions ---- */

static void end_errand(ErrandDesk *desk, size_t place, ErrandOutcome outcome, ErrandAnswer *answer)
{
    ErrandAsked errand = desk->ours[place];
    desk->ours[place] = desk->ours[--desk->n_ours];
    free(errand.url);
    desk->sinks.told(desk->sinks.context, errand.host, outcome, answer);
}

/* Looks at one whose time has come. True: it is over. */
static bool errand_desk_look(ErrandDesk *desk, size_t place, MonoTime now)
{
    ErrandAsked *errand = &desk->ours[place];
    ClusterSlot slot = errand_desk_slot_of(desk, errand->url);
    bool is_moving = cluster_slot_is_moving(slot);
    errand->asked = 0;
    if (!is_moving && slot.to == desk->link->head.from) {
        end_errand(desk, place, ERRAND_OURS, NULL);
        return true;
    }
    if (mono_ms_between(errand->heard, now) >= ERRAND_SILENT_MS ||
        mono_ms_between(errand->begun, now) >= ERRAND_MOST_MS) {
        end_errand(desk, place, ERRAND_AWAY, NULL);
        return true;
    }
    if (is_moving || !desk->link->up) {
        errand->next = mono_add_ms(now, ERRAND_FIRST_MS);
    } else {
        errand->agent = slot.to;
        WireWriter writer = node_link_question(desk->link, NODE_ASK_ROBOTS);
        wire_put_string(&writer, errand->url, strlen(errand->url));
        errand->asked = ++desk->last;
        errand->next = mono_add_ms(now, ERRAND_ANSWER_MS);
        if (node_link_ask(desk->link, &writer, errand->agent,
                          node_token(NODE_PART_ERRANDS, errand->asked)) != RESULT_OK) {
            errand->asked = 0;
            errand->next = mono_add_ms(now, ERRAND_FIRST_MS);
        }
    }
    return false;
}

void errand_desk_ask(ErrandDesk *desk, uint32_t host, const char *url, MonoTime now)
{
    size_t length = strlen(url);
    char *copy = length > LINK_URL_MOST || desk->n_ours == ERRAND_OURS_MOST ? NULL : strdup(url);
    if (copy == NULL) {
        desk->sinks.told(desk->sinks.context, host, ERRAND_AWAY, NULL);
        return;
    }
    desk->ours[desk->n_ours++] =
        (ErrandAsked){.host = host, .url = copy, .begun = now, .heard = now, .next = now};
}

/* False: it is none. */
static bool read_answer(WireReader *reader, ErrandAnswer *answer)
{
    size_t header_length = 0;
    size_t body_length = 0;
    uint32_t status = (uint32_t)wire_get_number(reader, 4);
    uint8_t class = (uint8_t)wire_get_number(reader, 1);
    answer->is_cut = wire_get_number(reader, 1) != 0;
    const uint8_t *header = wire_get_string(reader, &header_length);
    const uint8_t *body = wire_get_string(reader, &body_length);
    answer->status = status < 1000 ? (int)status : 0;
    answer->class = (FetchClass) class;
    return wire_reader_ended(reader) && class < FETCH_CLASSES && status < 1000 &&
           buffer_append(&answer->header, header, header_length) == RESULT_OK &&
           buffer_append(&answer->body, body, body_length) == RESULT_OK;
}

static void take_reply(ErrandDesk *desk, size_t place, WireReader *reader, MonoTime now)
{
    ErrandAsked *errand = &desk->ours[place];
    uint8_t reply = (uint8_t)wire_get_number(reader, 1);
    int64_t pause_ms = ERRAND_FIRST_MS + mono_ms_between(errand->begun, now) / 4;
    if (reply == ERRAND_HERE) {
        ErrandAnswer *answer = errand_answer_new(FETCH_OK);
        if (answer != NULL && read_answer(reader, answer)) {
            answer->agent = errand->agent;
            end_errand(desk, place, ERRAND_ANSWERED, answer);
            return;
        }
        errand_answer_delete(answer);
        LOG_WARN("cluster", "the answer of another agent cannot be read", "from=%u url=%s",
                 (unsigned)errand->agent, errand->url);
    } else if (reply == ERRAND_WAITS) {
        errand->heard = now;
    }
    errand->asked = 0;
    errand->next = mono_add_ms(now, pause_ms < ERRAND_LATER_MS ? pause_ms : ERRAND_LATER_MS);
}

void errand_desk_take(ErrandDesk *desk, NodeMessage *in, MonoTime now)
{
    size_t place = 0;
    while (place < desk->n_ours && desk->ours[place].asked != in->number) {
        place++;
    }
    if (in->number == 0 || place == desk->n_ours) {
        return;
    }
    ErrandAsked *errand = &desk->ours[place];
    if (in->says && in->head.from == errand->agent) {
        take_reply(desk, place, &in->body, now);
    } else {
        errand->asked = 0;
        errand->next = mono_add_ms(now, ERRAND_FIRST_MS);
    }
}

/* ---- others' questions ---- */

static ErrandServed *find_served(ErrandDesk *desk, const char *url)
{
    for (size_t i = 0; i < desk->n_theirs; i++) {
        if (strcmp(desk->theirs[i].url, url) == 0) {
            return &desk->theirs[i];
        }
    }
    return NULL;
}

/* The answer that has been kept longest; false: there is none. */
static bool forget_oldest(ErrandDesk *desk)
{
    size_t oldest = desk->n_theirs;
    for (size_t i = 0; i < desk->n_theirs; i++) {
        if (desk->theirs[i].answer != NULL &&
            (oldest == desk->n_theirs ||
             mono_before(desk->theirs[i].since, desk->theirs[oldest].since))) {
            oldest = i;
        }
    }
    if (oldest < desk->n_theirs) {
        forget_served(desk, oldest);
        return true;
    }
    return false;
}

/* Begins to fetch it, when there is room. Takes the URL. */
static void errand_desk_serve(ErrandDesk *desk, char *url, MonoTime now)
{
    bool has_room = desk->n_theirs < ERRAND_THEIRS_MOST || forget_oldest(desk);
    uint64_t ticket = ++desk->last;
    if (!has_room || desk->sinks.fetch == NULL ||
        !desk->sinks.fetch(desk->sinks.context, ticket, url)) {
        free(url);
        return;
    }
    desk->theirs[desk->n_theirs++] = (ErrandServed){.url = url, .ticket = ticket, .since = now};
}

static void reply(ErrandDesk *desk, ErrandReply what, const ErrandAnswer *answer,
                  const NodeMessage *to)
{
    WireWriter writer = node_link_begin(desk->link);
    wire_put_number(&writer, what, 1);
    if (what == ERRAND_HERE) {
        wire_put_number(&writer, (uint32_t)answer->status, 4);
        wire_put_number(&writer, answer->class, 1);
        wire_put_number(&writer, answer->is_cut, 1);
        wire_put_string(&writer, answer->header.data, answer->header.length);
        wire_put_string(&writer, answer->body.data, answer->body.length);
    }
    node_link_reply(desk->link, &writer, to->event->reply_to);
}

void errand_desk_asked(ErrandDesk *desk, NodeMessage *in, MonoTime now)
{
    size_t length = 0;
    const uint8_t *bytes = wire_get_string(&in->body, &length);
    if (!wire_reader_ended(&in->body) || length == 0 || length > LINK_URL_MOST) {
        return;
    }
    char *url = strndup((const char *)bytes, length);
    if (url == NULL) {
        return;
    }
    ClusterSlot slot = errand_desk_slot_of(desk, url);
    if (cluster_slot_is_moving(slot) || slot.to != desk->link->head.from) {
        reply(desk, ERRAND_NOT_MINE, NULL, in);
        free(url);
        return;
    }
    const ErrandServed *served = find_served(desk, url);
    if (served == NULL) {
        errand_desk_serve(desk, url, now);
    } else {
        free(url);
    }
    if (served != NULL && served->answer != NULL) {
        reply(desk, ERRAND_HERE, served->answer, in);
    } else {
        reply(desk, ERRAND_WAITS, NULL, in);
    }
}

void errand_desk_told(ErrandDesk *desk, uint64_t ticket, ErrandAnswer *answer, MonoTime now)
{
    size_t place = 0;
    while (place < desk->n_theirs && desk->theirs[place].ticket != ticket) {
        place++;
    }
    if (place == desk->n_theirs) {
        errand_answer_delete(answer);
    } else if (answer == NULL || answer->class == FETCH_LOCAL) {
        errand_answer_delete(answer);
        forget_served(desk, place);
    } else {
        desk->theirs[place].answer = answer;
        desk->theirs[place].since = now;
        desk->kept_bytes += errand_answer_bytes(answer);
        while (desk->kept_bytes > ERRAND_KEPT_BYTES && forget_oldest(desk)) {
        }
    }
}

/* ---- work ---- */

static MonoTime kept_until(const ErrandServed *served)
{
    return served->answer == NULL ? MONO_NEVER : mono_add_ms(served->since, ERRAND_KEPT_MS);
}

void errand_desk_work(ErrandDesk *desk, MonoTime now)
{
    for (size_t i = 0; i < desk->n_ours;) {
        bool is_over = !mono_before(now, desk->ours[i].next) && errand_desk_look(desk, i, now);
        i += !is_over;
    }
    for (size_t i = 0; i < desk->n_theirs;) {
        bool is_old = !mono_before(now, kept_until(&desk->theirs[i]));
        if (is_old) {
            forget_served(desk, i);
        }
        i += !is_old;
    }
}

MonoTime errand_desk_next(const ErrandDesk *desk)
{
    MonoTime next = MONO_NEVER;
    for (size_t i = 0; i < desk->n_ours; i++) {
        next = mono_earlier(desk->ours[i].next, next);
    }
    for (size_t i = 0; i < desk->n_theirs; i++) {
        MonoTime until = kept_until(&desk->theirs[i]);
        next = mono_earlier(until, next);
    }
    return next;
}
