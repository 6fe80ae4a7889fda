#include "cluster/node/node_questions.h"

#define ANSWER_BYTES_MOST ((size_t)512 << 10) /* below what a server of NATS takes (1 MB) */

void node_questions_situation(const NodeDesks *desks, const NodeSinks *sinks,
                              NodeSituation *situation)
{
    *situation = (NodeSituation){.end = {.idle = false}};
    sinks->situation(sinks->context, situation);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        situation->accounts[unit].granted = desks->limits.granted[unit];
    }
    situation->end.spent = desks->limits.spent;
    /* A fetch that is under way may come to nothing, and its page is left then. */
    bool may_be_left =
        desks->limits.limits[LEDGER_PAGES] > 0 && situation->accounts[LEDGER_PAGES].busy;
    situation->end.holds = desks->limits.holds || may_be_left;
}

static void answer_status(NodeDesks *desks, const NodeSinks *sinks, const char *reply_to)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    WireWriter writer = node_link_begin(desks->link, &bytes);
    if (writer.rc == RESULT_OK) {
        sinks->status(sinks->context, &bytes);
        (void)node_link_reply(desks->link, reply_to, &bytes);
    }
    buffer_destroy(&bytes);
}

static void answer_page(NodeDesks *desks, const NodeSinks *sinks, WireReader *question,
                        const char *reply_to)
{
    Buffer bytes;
    buffer_init(&bytes, ANSWER_BYTES_MOST);
    WireWriter writer = node_link_begin(desks->link, &bytes);
    size_t head = bytes.length;
    if (sinks->page != NULL) {
        sinks->page(sinks->context, question, &writer);
    }
    if (writer.rc == RESULT_OK && bytes.length > head) {
        (void)node_link_reply(desks->link, reply_to, &bytes);
    }
    buffer_destroy(&bytes);
}

void node_questions_take(NodeDesks *desks, const NodeSinks *sinks, const TransportEvent *event,
                         MonoTime now)
{
    WireReader reader;
    NodeHead head;
    NodeSituation situation;
    if (event->reply_to == NULL || !node_link_open(desks->link, event, &reader, &head)) {
        return;
    }
    uint8_t question = wire_get_8(&reader);
    if (question == NODE_ASK_END) {
        node_questions_situation(desks, sinks, &situation);
        end_desk_asked(&desks->end, &reader, event->reply_to, &situation.end);
    } else if (question == NODE_ASK_STATUS) {
        answer_status(desks, sinks, event->reply_to);
    } else if (question == NODE_ASK_PAGE) {
        answer_page(desks, sinks, &reader, event->reply_to);
    } else if (question == NODE_ASK_MASS) {
        mass_desk_asked(&desks->mass, &reader, head.from, event->reply_to);
    } else if (question == NODE_ASK_ROBOTS) {
        errand_desk_asked(&desks->errands, &reader, event->reply_to, now);
    }
}
