#include "cluster/desk/end_desk.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/desk/table_keeper.h"
#include "cluster/table/arbiters.h"

#define ROUND_MS     500 /* between two rounds */
#define ROUND_END_MS 15000
#define ASK_MS       1500 /* until those who have not reported are asked again */
#define LOOK_MS      10000
#define ASK_BIT      (UINT64_C(1) << 55) /* numbers of questions; others are of the key */
#define PUT_BIT      (UINT64_C(1) << 54)

void end_desk_init(EndDesk *desk, NodeLink *link)
{
    *desk = (EndDesk){.link = link, .next_look = MONO_NEVER, .round_end = MONO_NEVER};
    ending_init(&desk->ending);
    buffer_init(&desk->bytes, BUFFER_NO_LIMIT);
}

void end_desk_destroy(EndDesk *desk)
{
    ending_destroy(&desk->ending);
    free(desk->agents);
    buffer_destroy(&desk->bytes);
}

Result end_desk_set(EndDesk *desk, const ClusterTable *table)
{
    Arbiters owners; /* the same agents */
    Result rc = arbiters_of_table(&owners, table);
    if (rc == RESULT_OK) {
        free(desk->agents);
        desk->agents = owners.agents;
        desk->n = owners.n;
    }
    return rc;
}

/* A verdict of an earlier run may stand there: whoever has new seeds takes it back first. */
void end_desk_up(EndDesk *desk, MonoTime now)
{
    desk->look = 0;
    desk->next_look = mono_add_ms(now, NODE_SETTLE_MS);
}

void end_desk_changed(EndDesk *desk, MonoTime now)
{
    desk->next_look = now;
}

static bool is_first(const EndDesk *desk)
{
    return desk->n > 0 && desk->agents[0] == desk->link->head.from;
}

/* ---- the key ---- */

static void put_verdict(EndDesk *desk, EndVerdict verdict)
{
    buffer_reset(&desk->bytes);
    WireWriter writer = wire_writer(&desk->bytes);
    wire_put_8(&writer, (uint8_t)verdict);
    if (writer.rc == RESULT_OK) {
        (void)node_link_put(desk->link, END_KEY, &desk->bytes, desk->revision,
                            node_token(NODE_PART_END, PUT_BIT | ++desk->last));
    }
}

static EndVerdict take_value(EndDesk *desk, const TransportEvent *event, const EndReport *report)
{
    uint8_t byte = event->revision > 0 && event->length == 1 ? (uint8_t)event->bytes[0] : 0;
    desk->revision = event->revision;
    desk->verdict = byte <= END_TAIL ? (EndVerdict)byte : END_NOT_YET;
    if (desk->verdict == END_NOT_YET) {
        if (desk->found != END_NOT_YET) { /* it was not written */
            put_verdict(desk, desk->found);
        }
        return END_NOT_YET;
    }
    if (!report->idle && !report->spent) {
        /* A process that has just begun does not know yet whether it may fetch any more. */
        if (desk->verdict != END_LIMIT || report->holds) {
            put_verdict(desk, END_NOT_YET);
        }
        return END_NOT_YET;
    }
    return desk->verdict;
}

static void look(EndDesk *desk, MonoTime now)
{
    desk->look = ++desk->last;
    desk->next_look = mono_add_ms(now, LOOK_MS);
    (void)node_link_get(desk->link, END_KEY, node_token(NODE_PART_END, desk->look));
}

/* ---- rounds ---- */

void end_desk_asked(EndDesk *desk, WireReader *question, const char *reply_to,
                    const EndReport *report)
{
    uint64_t round = wire_get_64(question);
    EndReport ours = *report;
    ours.session = desk->link->head.session;
    if (!wire_reader_ended(question)) {
        return;
    }
    WireWriter writer = node_link_begin(desk->link, &desk->bytes);
    node_wire_put_report(&writer, round, &ours);
    if (writer.rc == RESULT_OK) {
        (void)node_link_reply(desk->link, reply_to, &desk->bytes);
    }
}

static EndVerdict note(EndDesk *desk, uint16_t agent, uint64_t round, const EndReport *report,
                       MonoTime now)
{
    EndVerdict verdict = ending_report(&desk->ending, agent, round, report);
    if (verdict != END_NOT_YET) {
        desk->found = verdict;
        look(desk, now); /* then it is put, in place of what is there */
    }
    return END_NOT_YET; /* until the key says so */
}

/* Those who have not reported in this round, but for us. */
static void ask(EndDesk *desk, MonoTime now)
{
    size_t from = 0;
    uint16_t agent = 0;
    desk->next_ask = mono_add_ms(now, ASK_MS);
    while (ending_missing(&desk->ending, &from, &agent)) {
        if (agent == desk->link->head.from) {
            continue;
        }
        WireWriter writer = node_link_begin(desk->link, &desk->bytes);
        wire_put_8(&writer, NODE_ASK_END);
        wire_put_64(&writer, desk->ending.round);
        if (writer.rc == RESULT_OK) {
            (void)node_link_request(desk->link, "ask", agent, &desk->bytes,
                                    node_token(NODE_PART_END, ASK_BIT | agent));
        }
    }
}

static void begin_round(EndDesk *desk, const EndReport *report, MonoTime now)
{
    EndReport ours = *report;
    ours.session = desk->link->head.session;
    desk->next_round = mono_add_ms(now, ROUND_MS);
    desk->round_end = mono_add_ms(now, ROUND_END_MS);
    if (ending_begin(&desk->ending, desk->agents, desk->n) != RESULT_OK) {
        return;
    }
    ask(desk, now);
    (void)note(desk, desk->link->head.from, desk->ending.round, &ours, now);
}

void end_desk_work(EndDesk *desk, const EndReport *report, MonoTime now)
{
    if (!desk->link->up) {
        return;
    }
    if (!mono_before(now, desk->next_look)) {
        look(desk, now);
    }
    bool quiet = report->idle || report->spent;
    if (!is_first(desk)) {
        return;
    }
    if (!quiet) {
        desk->found = END_NOT_YET;
        desk->next_round = mono_add_ms(now, ROUND_MS);
        return;
    }
    bool waits = desk->ending.open && mono_before(now, desk->round_end);
    if (waits && !mono_before(now, desk->next_ask)) {
        ask(desk, now);
    }
    if (!waits && desk->found == END_NOT_YET && !mono_before(now, desk->next_round)) {
        begin_round(desk, report, now);
    }
}

EndVerdict end_desk_take(EndDesk *desk, const TransportEvent *event, const EndReport *report,
                         MonoTime now)
{
    uint64_t number = node_token_number(event->token);
    if ((number & ASK_BIT) != 0) {
        WireReader reader;
        NodeHead head;
        uint64_t round = 0;
        EndReport theirs;
        if (event->kind == TRANSPORT_ANSWER && node_link_open(desk->link, event, &reader, &head) &&
            node_wire_get_report(&reader, &round, &theirs) == RESULT_OK) {
            return note(desk, head.from, round, &theirs, now);
        }
        return END_NOT_YET;
    }
    if ((number & PUT_BIT) != 0) {
        desk->next_look = now;
        return END_NOT_YET;
    }
    if (number != desk->look || event->kind != TRANSPORT_VALUE) {
        return END_NOT_YET;
    }
    desk->look = 0;
    return take_value(desk, event, report);
}
