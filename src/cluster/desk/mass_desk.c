#include "cluster/desk/mass_desk.h"

#include "base/thread/log.h"

#define ANSWER_MS 5000

void mass_desk_init(MassDesk *desk, NodeLink *link, const MassDeskOptions *options)
{
    *desk = (MassDesk){.link = link, .options = *options};
}

/* A copy that is not whole is none. */
static void mass_desk_drop(MassDesk *desk)
{
    if (desk->comes != 0) {
        mass_writer_destroy(&desk->writer);
    }
    desk->comes = 0;
}

void mass_desk_destroy(MassDesk *desk)
{
    mass_desk_drop(desk);
}

void mass_desk_set_agents(MassDesk *desk, uint32_t agents)
{
    desk->n = desk->options.directory == NULL ? 0 : agents;
}

/* ---- others' questions ---- */

void mass_desk_asked(MassDesk *desk, NodeMessage *in)
{
    MassFile file;
    uint64_t have = wire_get_number(&in->body, 8);
    uint64_t offset = wire_get_number(&in->body, 8);
    if (!wire_reader_ended(&in->body) || desk->options.directory == NULL) {
        return;
    }
    (void)mass_file_open(&file, desk->options.directory, false, in->head.from);
    uint64_t end = file.head.round == have ? 0 : file.head.records * MASS_RECORD_BYTES;
    uint64_t left = offset < end && offset % MASS_RECORD_BYTES == 0 ? end - offset : 0;
    WireWriter writer = node_link_begin(desk->link);
    mass_head_put(&writer, &file.head);
    wire_put_number(&writer, offset, 8);
    wire_put_string(&writer, left == 0 ? "" : file.records + offset,
                    left < MASS_CHUNK_BYTES ? left : MASS_CHUNK_BYTES);
    node_link_reply(desk->link, &writer, in->event->reply_to);
    mass_file_close(&file);
}

/* ---- our questions ---- */

/* The turn of the peer is over. */
static void mass_desk_rest(MassDesk *desk, MonoTime now)
{
    mass_desk_drop(desk);
    desk->asked = 0;
    desk->next = mono_add_ms(now, MASS_ASK_MS);
}

static void mass_desk_refuse(MassDesk *desk, const char *why, MonoTime now)
{
    LOG_WARN("cluster", "scores of another agent are refused", "from=%u problem=\"%s\"",
             (unsigned)desk->peer, why);
    desk->refused++;
    mass_desk_rest(desk, now);
}

static void mass_desk_ask(MassDesk *desk, MonoTime now)
{
    uint64_t copied = desk->comes != 0 ? desk->writer.records : 0;
    WireWriter writer = node_link_question(desk->link, NODE_ASK_MASS);
    wire_put_number(&writer, desk->have, 8);
    wire_put_number(&writer, copied * MASS_RECORD_BYTES, 8);
    desk->asked = ++desk->last;
    desk->next = mono_add_ms(now, ANSWER_MS);
    if (node_link_ask(desk->link, &writer, desk->peer, node_token(NODE_PART_MASS, desk->asked)) !=
        RESULT_OK) {
        mass_desk_rest(desk, now);
    }
}

static void mass_desk_finish(MassDesk *desk, const MassHead *head, MonoTime now)
{
    Result rc =
        desk->writer.crc != head->crc ? RESULT_DAMAGED : mass_writer_finish(&desk->writer, head);
    if (rc != RESULT_OK) {
        mass_desk_refuse(desk, result_name(rc), now);
        return;
    }
    desk->taken++;
    LOG_DEBUG("cluster", "scores of another agent are here", "from=%u records=%llu",
              (unsigned)desk->peer, (unsigned long long)head->records);
    mass_desk_rest(desk, now);
}

static void take_chunk(MassDesk *desk, const MassHead *head, uint64_t offset, const void *bytes,
                       size_t length, MonoTime now)
{
    if (head->round == 0 || head->round == desk->have) {
        mass_desk_rest(desk, now);
        return;
    }
    if (head->records / 2 > desk->options.pages(desk->options.context)) {
        mass_desk_refuse(desk, "more records than pages", now);
        return;
    }
    if (desk->comes != head->round) {
        mass_desk_drop(desk);
        mass_writer_init(&desk->writer, desk->options.directory, true, desk->peer);
        desk->comes = head->round;
    }
    if (offset != desk->writer.records * MASS_RECORD_BYTES) {
        mass_desk_ask(desk, now); /* it has computed anew since */
        return;
    }
    uint64_t end = head->records * MASS_RECORD_BYTES;
    uint64_t left = end < offset ? 0 : end - offset;
    if (end < offset || length % MASS_RECORD_BYTES != 0 || length > left ||
        (length == 0 && left > 0)) {
        mass_desk_refuse(desk, "not what was asked for", now);
    } else if (mass_writer_copy(&desk->writer, bytes, length) != RESULT_OK) {
        mass_desk_refuse(desk, "the file cannot be written", now);
    } else if (length < left) {
        mass_desk_ask(desk, now);
    } else {
        mass_desk_finish(desk, head, now);
    }
}

void mass_desk_take(MassDesk *desk, NodeMessage *in, MonoTime now)
{
    MassHead head;
    if (desk->asked == 0 || in->number != desk->asked) {
        return;
    }
    if (!in->says) {
        mass_desk_rest(desk, now); /* it is away */
        return;
    }
    size_t length = 0;
    desk->missed = 0;
    bool good = mass_head_get(&in->body, &head);
    uint64_t offset = wire_get_number(&in->body, 8);
    const uint8_t *bytes = wire_get_string(&in->body, &length);
    if (!good || in->head.from != desk->peer || !wire_reader_ended(&in->body)) {
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
    if (desk->comes == 0 || ++desk->missed > MASS_AGAIN) {
        MassFile file;
        mass_desk_drop(desk);
        do {
            desk->peer = (uint16_t)((desk->peer + 1u) % desk->n);
        } while (desk->peer == desk->link->head.from);
        (void)mass_file_open(&file, desk->options.directory, true, desk->peer);
        desk->have = file.head.round;
        desk->missed = 0;
        mass_file_close(&file);
    }
    mass_desk_ask(desk, now);
}

MonoTime mass_desk_next(const MassDesk *desk)
{
    return desk->n < 2 ? MONO_NEVER : desk->next;
}
