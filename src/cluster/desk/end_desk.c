#include "cluster/desk/end_desk.h"

#include <stdlib.h>

#include "base/thread/log.h"
#include "cluster/desk/table_keeper.h"

#define ROUND_MS     500 /* between two rounds */
#define ROUND_END_MS 15000
#define ASK_MS       1500 /* until those who have not reported are asked again */
#define LOOK_MS      10000
#define FOUND_MS     5000 /* what was found is written by then, or found again */
#define VETO         ((uint8_t)(END_TAIL + 1)) /* in the key, in the place of a verdict */

void end_desk_init(EndDesk *desk, NodeLink *link)
{
    *desk = (EndDesk){.link = link, .alone_from = MONO_NEVER, .round_end = MONO_NEVER};
    key_init(&desk->key, link, NODE_PART_END, END_KEY, LOOK_MS);
}

void end_desk_destroy(EndDesk *desk)
{
    ending_destroy(&desk->ending);
    arbiters_destroy(&desk->owners);
    free(desk->named);
}

Result end_desk_set(EndDesk *desk)
{
    Arbiters owners;
    Result rc = owners_of_table(&owners, desk->link->table);
    if (rc == RESULT_OK) {
        arbiters_destroy(&desk->owners);
        desk->owners = owners;
    }
    return rc;
}

void end_desk_up(EndDesk *desk, MonoTime now)
{
    key_up(&desk->key, mono_add_ms(now, NODE_SETTLE_MS));
    desk->found = END_NOT_YET;
    desk->alone_from = mono_add_ms(now, END_ALONE_MS);
}

/* ---- who has ended ---- */

static const EndNamed *end_desk_find_named(const EndDesk *desk, uint16_t agent)
{
    for (size_t i = 0; i < desk->n_named; i++) {
        if (desk->named[i].agent == agent) {
            return &desk->named[i];
        }
    }
    return NULL;
}

/* The process that the verdict is for, when it is the agent's last one, as it was seen since. */
static const EndNamed *find_ended(const EndDesk *desk, uint16_t agent, MonoTime since, MonoTime now)
{
    const EndNamed *named = end_desk_find_named(desk, agent);
    const Members *members = desk->link->members;
    if (named == NULL || agent >= members->n || mono_before(now, desk->alone_from)) {
        return NULL;
    }
    const Member *member = &members->members[agent];
    bool is_last = member->known && member->record.session <= named->session &&
                   (!desk->vetoed || member->record.state == MEMBER_STOPPED);
    return is_last && !mono_before(member->seen, since) ? named : NULL;
}

/* The lowest of those that have started, and not ended. */
static bool is_first(const EndDesk *desk, MonoTime now)
{
    for (size_t i = 0; i < desk->owners.n; i++) {
        uint16_t agent = desk->owners.agents[i];
        if (agent == desk->link->head.from) {
            return true;
        }
        if (find_ended(desk, agent, (MonoTime){0}, now) == NULL &&
            !cluster_table_is_free(desk->link->table, agent)) {
            return false;
        }
    }
    return false;
}

/* ---- the key ---- */

static const WireField named_fields[] = {WIRE_FIELD(EndNamed, agent, 2, UINT64_MAX),
                                         WIRE_FIELD(EndNamed, session, 8, UINT64_MAX)};
static const WireRecord end_named = WIRE_RECORD(EndNamed, named_fields);

static void end_desk_put(EndDesk *desk, uint8_t verdict, const EndNamed *named, size_t n,
                         MonoTime now)
{
    WireWriter writer = wire_writer(node_link_blank(desk->link));
    wire_put_number(&writer, verdict, 1);
    wire_put_list(&writer, &end_named, named, n);
    if (writer.rc == RESULT_OK) {
        (void)key_put(&desk->key, now);
    }
}

/* A value that cannot be read is none. */
static void read_verdict(EndDesk *desk, const TransportEvent *event)
{
    WireReader reader = wire_reader(event->bytes, event->revision > 0 ? event->length : 0);
    uint8_t verdict = (uint8_t)wire_get_number(&reader, 1);
    size_t n = 0;
    EndNamed *named = wire_get_new_list(&reader, &end_named, CLUSTER_AGENTS_MAX, &n);
    free(desk->named);
    bool good = wire_reader_ended(&reader) && verdict > END_NOT_YET && verdict <= VETO;
    desk->named = named;
    desk->n_named = good ? n : 0;
    desk->vetoed = good && verdict == VETO;
    desk->verdict = good && verdict != VETO ? (EndVerdict)verdict : END_NOT_YET;
}

static EndVerdict end_desk_take_value(EndDesk *desk, const TransportEvent *event,
                                      const EndReport *report, MonoTime now)
{
    read_verdict(desk, event);
    const EndNamed *ours = end_desk_find_named(desk, desk->link->head.from);
    bool quiet = report->idle || report->spent;
    bool is_ours = ours != NULL && ours->session == desk->link->head.session;
    if (desk->verdict != END_NOT_YET && is_ours && !quiet) {
        LOG_WARN("cluster", "an end of the crawl was written while there is work here; vetoed",
                 "agent=%u verdict=%d next=\"start the agents that have ended, if any\"",
                 (unsigned)desk->link->head.from, (int)desk->verdict);
        /* Those whom the verdict names may have ended; what is said of them stays. */
        end_desk_put(desk, VETO, desk->named, desk->n_named, now);
        return END_NOT_YET;
    }
    if (desk->verdict != END_NOT_YET &&
        (is_ours || (quiet && !arbiters_have(&desk->owners, desk->link->head.from)))) {
        /* It ends this process once nobody has vetoed it for a while. */
        if (desk->standing != desk->key.revision) {
            desk->standing = desk->key.revision;
            desk->stands = mono_add_ms(now, END_GRACE_MS);
        }
        if (mono_before(now, desk->stands)) {
            desk->key.next = desk->stands;
            return END_NOT_YET;
        }
        return desk->verdict;
    }
    if (quiet && desk->found != END_NOT_YET) {
        /* What was found in the last round, and for whom. */
        EndNamed *named = calloc(desk->ending.n + 1, sizeof *named);
        for (size_t i = 0; named != NULL && i < desk->ending.n; i++) {
            const EndSeat *seat = &desk->ending.seats[i];
            named[i] = (EndNamed){seat->agent, seat->report.session};
        }
        if (named != NULL) {
            end_desk_put(desk, (uint8_t)desk->found, named, desk->ending.n, now);
        }
        free(named);
    }
    return END_NOT_YET;
}

/* ---- rounds ---- */

void end_desk_asked(EndDesk *desk, NodeMessage *in, const EndReport *report)
{
    uint64_t round = wire_get_number(&in->body, 8);
    EndReport ours = *report;
    ours.session = desk->link->head.session;
    if (!wire_reader_ended(&in->body)) {
        return;
    }
    WireWriter writer = node_link_begin(desk->link);
    wire_put_number(&writer, round, 8);
    wire_put(&writer, &node_end_report, &ours);
    node_link_reply(desk->link, &writer, in->event->reply_to);
}

/* Those who are to be asked in this round, and have not reported, but for us. */
static void end_desk_ask(EndDesk *desk, MonoTime now)
{
    size_t from = 0;
    uint16_t agent = 0;
    desk->next_ask = mono_add_ms(now, ASK_MS);
    while (ending_missing(&desk->ending, &from, &agent)) {
        if (agent == desk->link->head.from) {
            continue;
        }
        WireWriter writer = node_link_question(desk->link, NODE_ASK_END);
        wire_put_number(&writer, desk->ending.round, 8);
        (void)node_link_ask(desk->link, &writer, agent, node_token(NODE_PART_END, agent));
    }
}

/* What is found counts once the key says so. */
static void end_desk_note(EndDesk *desk, uint16_t agent, uint64_t round, const EndReport *report,
                          MonoTime now)
{
    size_t asked = desk->ending.asked;
    EndVerdict verdict = ending_report(&desk->ending, agent, round, report);
    if (verdict != END_NOT_YET) {
        desk->found = verdict;
        desk->found_end = mono_add_ms(now, FOUND_MS);
        key_doubt(&desk->key, now); /* then it is put, in place of what is there */
    }
    if (desk->ending.asked > asked) {
        end_desk_ask(desk, now);
    }
}

static void begin_round(EndDesk *desk, const EndReport *report, MonoTime now)
{
    EndReport ours = *report;
    ours.session = desk->link->head.session;
    desk->round_start = now;
    desk->next_round = mono_add_ms(now, ROUND_MS);
    desk->round_end = mono_add_ms(now, ROUND_END_MS);
    if (ending_begin(&desk->ending, desk->owners.agents, desk->owners.n) != RESULT_OK) {
        return;
    }
    end_desk_ask(desk, now);
    end_desk_note(desk, desk->link->head.from, desk->ending.round, &ours, now);
}

/* Who has ended does not report any more: as it was then, so it is. Who has never started does not
 * report yet. */
static void report_for_others(EndDesk *desk, MonoTime now)
{
    size_t from = 0;
    uint16_t agent = 0;
    while (ending_missing(&desk->ending, &from, &agent)) {
        const EndNamed *named = find_ended(desk, agent, desk->round_start, now);
        if (cluster_table_is_free(desk->link->table, agent)) {
            EndReport report = {.idle = true, .absent = true};
            end_desk_note(desk, agent, desk->ending.round, &report, now);
        } else if (named != NULL) {
            EndReport report = {.idle = desk->verdict != END_LIMIT,
                                .spent = desk->verdict == END_LIMIT,
                                .tail = desk->verdict == END_TAIL,
                                .session = named->session};
            end_desk_note(desk, agent, desk->ending.round, &report, now);
        }
    }
}

void end_desk_work(EndDesk *desk, const EndReport *report, MonoTime now)
{
    if (!desk->link->up) {
        return;
    }
    bool quiet = report->idle || report->spent;
    if (!quiet || !mono_before(now, desk->found_end)) {
        desk->found = END_NOT_YET;
    }
    if (!is_first(desk, now)) {
        return;
    }
    if (!quiet) {
        desk->next_round = mono_add_ms(now, ROUND_MS);
        return;
    }
    report_for_others(desk, now);
    bool waits = desk->ending.open && mono_before(now, desk->round_end);
    if (waits && !mono_before(now, desk->next_ask)) {
        end_desk_ask(desk, now);
    }
    if (!waits && desk->found == END_NOT_YET && !mono_before(now, desk->next_round)) {
        begin_round(desk, report, now);
    }
}

EndVerdict end_desk_take(EndDesk *desk, NodeMessage *in, const EndReport *report, MonoTime now)
{
    EndReport theirs = {.idle = false};
    KeyNews news = key_take(&desk->key, in->event, now);
    if (key_is_of(in->event)) {
        desk->key.next = news == KEY_STORED ? now : desk->key.next;
        return news == KEY_VALUE ? end_desk_take_value(desk, in->event, report, now) : END_NOT_YET;
    }
    if (in->event->kind == TRANSPORT_NOBODY) { /* has it ended? */
        members_look_at(desk->link->members, (uint16_t)in->number);
    }
    uint64_t round = wire_get_number(&in->body, 8);
    wire_get(&in->body, &node_end_report, &theirs);
    if (in->says && wire_reader_ended(&in->body)) {
        end_desk_note(desk, in->head.from, round, &theirs, now);
    }
    return END_NOT_YET;
}
