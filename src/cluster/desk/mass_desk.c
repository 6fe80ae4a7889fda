#include "cluster/desk/mass_desk.h"

#include <stdlib.h>

#include "base/thread/log.h"

#define ANSWER_MS 5000
#define TRIES     5u

void mass_desk_init(MassDesk *desk, NodeLink *link, const MassDeskOptions *options)
{
    *desk = (MassDesk){.link = link, .options = *options};
    buffer_init(&desk->bytes, BUFFER_NO_LIMIT);
}

static void end_copy(MassDesk *desk)
{
    if (desk->copying) {
        mass_writer_destroy(&desk->writer);
    }
    desk->copying = false;
    desk->copied = 0;
}

void mass_desk_destroy(MassDesk *desk)
{
    end_copy(desk);
    free(desk->have);
    buffer_destroy(&desk->bytes);
}

static uint64_t round_on_disk(const MassDesk *desk, uint16_t agent)
{
    MassFile file;
    (void)mass_file_open(&file, desk->options.directory, true, agent);
    uint64_t round = file.head.round;
    mass_file_close(&file);
    return round;
}

Result mass_desk_set_agents(MassDesk *desk, uint32_t agents)
{
    if (desk->options.directory == NULL || agents <= desk->n) {
        return RESULT_OK;
    }
    uint64_t *have = reallocarray(desk->have, agents, sizeof *have);
    if (have == NULL) {
        return RESULT_MEMORY;
    }
    desk->have = have;
    for (uint32_t i = desk->n; i < agents; i++) {
        have[i] = round_on_disk(desk, (uint16_t)i);
    }
    desk->n = agents;
    return RESULT_OK;
}

/* ---- others' questions ---- */

void mass_desk_asked(MassDesk *desk, WireReader *question, uint16_t from, const char *reply_to)
{
    MassFile file;
    uint64_t have = wire_get_64(question);
    uint64_t offset = wire_get_64(question);
    if (!wire_reader_ended(question) || desk->options.directory == NULL) {
        return;
    }
    (void)mass_file_open(&file, desk->options.directory, false, from);
    uint64_t end = file.head.round == have ? 0 : file.head.records * MASS_RECORD_BYTES;
    uint64_t left = offset < end && offset % MASS_RECORD_BYTES == 0 ? end - offset : 0;
    WireWriter writer = node_link_begin(desk->link, &desk->bytes);
    mass_head_put(&writer, &file.head);
    wire_put_64(&writer, offset);
    wire_put_string(&writer, left == 0 ? "" : file.records + offset,
                    left < MASS_CHUNK_BYTES ? left : MASS_CHUNK_BYTES);
    node_link_answer(desk->link, &writer, reply_to);
    mass_file_close(&file);
}

/* ---- our questions ---- */

static void rest(MassDesk *desk, MonoTime now)
{
    desk->asked = 0;
    desk->next = mono_add_ms(now, MASS_ASK_MS);
}

static void mass_desk_refuse(MassDesk *desk, const char *why, MonoTime now)
{
    LOG_WARN("cluster", "scores of another agent are refused", "from=%u problem=\"%s\"",
             (unsigned)desk->peer, why);
    desk->refused++;
    end_copy(desk);
    rest(desk, now);
}

static void mass_desk_ask(MassDesk *desk, MonoTime now)
{
    uint64_t offset = desk->copying && desk->source == desk->peer ? desk->copied : 0;
    WireWriter writer = node_link_question(desk->link, NODE_ASK_MASS, &desk->bytes);
    wire_put_64(&writer, desk->have[desk->peer]);
    wire_put_64(&writer, offset);
    desk->asked = ++desk->last;
    desk->next = mono_add_ms(now, ANSWER_MS);
    if (node_link_ask(desk->link, &writer, desk->peer, node_token(NODE_PART_MASS, desk->asked)) !=
        RESULT_OK) {
        rest(desk, now);
    }
}

static bool begin_copy(MassDesk *desk, const MassHead *head, MonoTime now)
{
    end_copy(desk);
    if (head->records / 2 > desk->options.pages(desk->options.context)) {
        mass_desk_refuse(desk, "more records than pages", now);
        return false;
    }
    desk->copying = true;
    desk->head = *head;
    desk->source = desk->peer;
    mass_writer_init(&desk->writer, desk->options.directory, true, desk->peer);
    return true;
}

static void finish_copy(MassDesk *desk, MonoTime now)
{
    Result rc = desk->writer.crc != desk->head.crc ? RESULT_DAMAGED
                                                   : mass_writer_finish(&desk->writer, &desk->head);
    if (rc != RESULT_OK) {
        mass_desk_refuse(desk, result_name(rc), now);
        return;
    }
    desk->have[desk->peer] = desk->head.round;
    desk->taken++;
    LOG_DEBUG("cluster", "scores of another agent are here", "from=%u records=%llu",
              (unsigned)desk->peer, (unsigned long long)desk->head.records);
    end_copy(desk);
    rest(desk, now);
}

static void take_chunk(MassDesk *desk, const MassHead *head, uint64_t offset, const void *bytes,
                       size_t length, MonoTime now)
{
    if (head->round == 0 || head->round == desk->have[desk->peer]) {
        rest(desk, now);
        return;
    }
    bool same = desk->copying && desk->source == desk->peer && desk->head.round == head->round;
    if (!same && !begin_copy(desk, head, now)) {
        return;
    }
    if (offset != desk->copied) {
        mass_desk_ask(desk, now); /* it has computed anew since */
        return;
    }
    uint64_t end = desk->head.records * MASS_RECORD_BYTES;
    if (length % MASS_RECORD_BYTES != 0 || length > end - offset || (length == 0 && offset < end)) {
        mass_desk_refuse(desk, "not what was asked for", now);
        return;
    }
    if (mass_writer_copy(&desk->writer, bytes, length) != RESULT_OK) {
        mass_desk_refuse(desk, "the file cannot be written", now);
        return;
    }
    desk->copied += length;
    desk->tries = 0;
    if (desk->copied == end) {
        finish_copy(desk, now);
    } else {
        mass_desk_ask(desk, now);
    }
}

void mass_desk_take(MassDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead from;
    MassHead head;
    if (desk->asked == 0 || node_token_number(event->token) != desk->asked) {
        return;
    }
    if (event->kind != TRANSPORT_ANSWER || !node_link_open(desk->link, event, &reader, &from)) {
        rest(desk, now); /* it is away */
        return;
    }
    size_t length = 0;
    bool good = mass_head_get(&reader, &head);
    uint64_t offset = wire_get_64(&reader);
    const uint8_t *bytes = wire_get_string(&reader, &length);
    if (!good || from.from != desk->peer || !wire_reader_ended(&reader)) {
        mass_desk_refuse(desk, "not readable", now);
        return;
    }
    take_chunk(desk, &head, offset, bytes, length, now);
}

void mass_desk_work(MassDesk *desk, MonoTime now)
{
    if (desk->n < 2 || mono_before(now, desk->next)) {
        return;
    }
    bool again = desk->asked != 0 && desk->copying && desk->source == desk->peer;
    if (again && ++desk->tries < TRIES) {
        mass_desk_ask(desk, now);
        return;
    }
    desk->tries = 0;
    desk->peer = (uint16_t)((desk->peer + 1u) % desk->n);
    if (desk->peer == desk->link->head.from) {
        desk->peer = (uint16_t)((desk->peer + 1u) % desk->n);
    }
    mass_desk_ask(desk, now);
}

MonoTime mass_desk_next(const MassDesk *desk)
{
    return desk->n < 2 ? MONO_NEVER : desk->next;
}
