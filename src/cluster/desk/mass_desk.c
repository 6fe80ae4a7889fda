#include "cluster/desk/mass_desk.h"

#include <stdlib.h>

#include "base/thread/log.h"

#define ANSWER_MS 5000

void mass_desk_init(MassDesk *desk, NodeLink *link, const MassDeskOptions *options)
{
    *desk = (MassDesk){.link = link, .options = *options};
}

static void mass_seat_drop(MassSeat *seat)
{
    if (seat->comes != 0) {
        mass_writer_destroy(&seat->writer);
    }
    seat->comes = 0;
}

void mass_desk_destroy(MassDesk *desk)
{
    for (uint32_t i = 0; i < desk->n; i++) {
        mass_seat_drop(&desk->seats[i]);
    }
    free(desk->seats);
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
    MassSeat *seats = reallocarray(desk->seats, agents, sizeof *seats);
    if (seats == NULL) {
        return RESULT_MEMORY;
    }
    desk->seats = seats;
    for (; desk->n < agents; desk->n++) {
        seats[desk->n] = (MassSeat){.have = round_on_disk(desk, (uint16_t)desk->n)};
    }
    return RESULT_OK;
}

/* ---- others' questions ---- */

void mass_desk_asked(MassDesk *desk, WireReader *question, uint16_t from, const char *reply_to)
{
    MassFile file;
    uint64_t have = wire_get_number(question, 8);
    uint64_t offset = wire_get_number(question, 8);
    if (!wire_reader_ended(question) || desk->options.directory == NULL) {
        return;
    }
    (void)mass_file_open(&file, desk->options.directory, false, from);
    uint64_t end = file.head.round == have ? 0 : file.head.records * MASS_RECORD_BYTES;
    uint64_t left = offset < end && offset % MASS_RECORD_BYTES == 0 ? end - offset : 0;
    WireWriter writer = node_link_begin(desk->link);
    mass_head_put(&writer, &file.head);
    wire_put_number(&writer, offset, 8);
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
    mass_seat_drop(&desk->seats[desk->peer]);
    rest(desk, now);
}

static void mass_desk_ask(MassDesk *desk, MonoTime now)
{
    const MassSeat *seat = &desk->seats[desk->peer];
    uint64_t copied = seat->comes != 0 ? seat->writer.records : 0;
    WireWriter writer = node_link_question(desk->link, NODE_ASK_MASS);
    wire_put_number(&writer, seat->have, 8);
    wire_put_number(&writer, copied * MASS_RECORD_BYTES, 8);
    desk->asked = ++desk->last;
    desk->next = mono_add_ms(now, ANSWER_MS);
    if (node_link_ask(desk->link, &writer, desk->peer, node_token(NODE_PART_MASS, desk->asked)) !=
        RESULT_OK) {
        rest(desk, now);
    }
}

static void mass_desk_finish(MassDesk *desk, MassSeat *seat, const MassHead *head, MonoTime now)
{
    Result rc =
        seat->writer.crc != head->crc ? RESULT_DAMAGED : mass_writer_finish(&seat->writer, head);
    if (rc != RESULT_OK) {
        mass_desk_refuse(desk, result_name(rc), now);
        return;
    }
    seat->have = head->round;
    desk->taken++;
    LOG_DEBUG("cluster", "scores of another agent are here", "from=%u records=%llu",
              (unsigned)desk->peer, (unsigned long long)head->records);
    mass_seat_drop(seat);
    rest(desk, now);
}

static void take_chunk(MassDesk *desk, const MassHead *head, uint64_t offset, const void *bytes,
                       size_t length, MonoTime now)
{
    MassSeat *seat = &desk->seats[desk->peer];
    if (head->round == 0 || head->round == seat->have) {
        rest(desk, now);
        return;
    }
    if (head->records / 2 > desk->options.pages(desk->options.context)) {
        mass_desk_refuse(desk, "more records than pages", now);
        return;
    }
    if (seat->comes != head->round) {
        mass_seat_drop(seat);
        mass_writer_init(&seat->writer, desk->options.directory, true, desk->peer);
        seat->comes = head->round;
    }
    if (offset != seat->writer.records * MASS_RECORD_BYTES) {
        mass_desk_ask(desk, now); /* it has computed anew since */
        return;
    }
    uint64_t end = head->records * MASS_RECORD_BYTES;
    uint64_t left = end < offset ? 0 : end - offset;
    if (end < offset || length % MASS_RECORD_BYTES != 0 || length > left ||
        (length == 0 && left > 0)) {
        mass_desk_refuse(desk, "not what was asked for", now);
    } else if (mass_writer_copy(&seat->writer, bytes, length) != RESULT_OK) {
        mass_desk_refuse(desk, "the file cannot be written", now);
    } else if (length < left) {
        mass_desk_ask(desk, now);
    } else {
        mass_desk_finish(desk, seat, head, now);
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
    uint64_t offset = wire_get_number(&reader, 8);
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
    do {
        desk->peer = (uint16_t)((desk->peer + 1u) % desk->n);
    } while (desk->peer == desk->link->head.from);
    mass_desk_ask(desk, now);
}

MonoTime mass_desk_next(const MassDesk *desk)
{
    return desk->n < 2 ? MONO_NEVER : desk->next;
}
