#include "cluster/node/node_join.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "cluster/desk/edict_desk.h"
#include "cluster/desk/table_keeper.h"
#include "parse/host/domain.h"

/* ---- Node join ---- */

#define ANSWER_MS   2000
#define OTHERS_MS   3000
#define MISSED_MOST 30u /* then members are of the version before, and put nothing back */

void node_join_init(NodeJoin *join, NodeLink *link, const NodeIdentity *identity,
                    const ClusterTable *ours, const MemberRecord *record, const char *settings,
                    uint64_t luck)
{
    *join = (NodeJoin){.link = link,
                       .identity = *identity,
                       .ours = ours,
                       .record = *record,
                       .settings = settings,
                       .wanted = identity->next_token == 0 ? identity->self : CLUSTER_NOBODY,
                       .luck = luck,
                       .next = MONO_NEVER};
}

void node_join_destroy(NodeJoin *join)
{
    cluster_table_destroy(&join->table);
    free(join->theirs);
    join->theirs = NULL;
}

static void node_join_refuse(NodeJoin *join, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void node_join_refuse(NodeJoin *join, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(join->why, sizeof join->why, format, arguments);
    va_end(arguments);
    join->step = JOIN_REFUSED;
    join->next = MONO_NEVER;
}

static void go_to(NodeJoin *join, JoinStep step, MonoTime now)
{
    join->step = step;
    /* Answers to what was asked before are nobody's from here on (node_join_take). */
    join->token = 0;
    join->next = now;
}

/* A look that was answered out of date must refuse nobody: it looks again until that is over. */
static void node_join_doubt(NodeJoin *join, MonoTime now)
{
    if (join->step != JOIN_REFUSED || join->stale_ms == 0) {
        return;
    }
    /* From the first refusal on: a right one stays the same until then, and is told a little
     * later. */
    join->doubted = join->doubted.ns == 0 ? now : join->doubted;
    if (mono_before(now, mono_add_ms(join->doubted, join->stale_ms))) {
        join->from = 0;
        go_to(join, JOIN_TABLE, mono_add_ms(now, ANSWER_MS));
    }
}

void node_join_up(NodeJoin *join, MonoTime now)
{
    /* From the table again: while the connection was away everything may have changed, and the
     * answers under way are lost. What is on disk (identity, `recorded`) stays. */
    if (join->step != JOIN_DONE && join->step != JOIN_REFUSED) {
        go_to(join, JOIN_TABLE, now);
    }
}

MonoTime node_join_next(const NodeJoin *join)
{
    return join->next;
}

/* ---- what is asked in each step ---- */

static uint64_t next_token(NodeJoin *join)
{
    join->token = node_token(NODE_PART_JOIN, ++join->last);
    return join->token;
}

/* Nobody has the subject of an agent but its process. */
static void node_join_ask_former(NodeJoin *join)
{
    uint64_t token = next_token(join);
    WireWriter writer = node_link_question(join->link, NODE_ASK_STATUS);
    (void)node_link_ask(join->link, &writer, join->identity.self, token);
}

static void put_claim(NodeJoin *join)
{
    ClusterTable table = {.epoch = 0};
    /* A copy, since ours is only what the server has once it says so; the revision makes it a
     * change of the table that was looked at, or nothing. */
    if (cluster_table_copy(&table, &join->table) == RESULT_OK &&
        cluster_table_claim(&table, join->identity.self) == RESULT_OK &&
        cluster_table_write(&table, node_link_blank(join->link)) == RESULT_OK) {
        (void)node_link_put(join->link, TABLE_KEY, join->table_revision, next_token(join));
    }
    cluster_table_destroy(&table);
}

static void node_join_put_record(NodeJoin *join)
{
    char key[32];
    member_key(join->identity.self, key);
    Buffer *out = node_link_blank(join->link);
    if (member_record_write(&join->record, &(Buffer){.length = 0}, out) == RESULT_OK) {
        (void)node_link_put(join->link, key, join->record_revision, next_token(join));
    }
}

/* Those that were found stay as they are: who has looked at them before we were heard cannot put
 * its own in their place. */
static void put_settings(NodeJoin *join)
{
    const char *text = join->step == JOIN_HOLD ? join->theirs : join->settings;
    if (buffer_append_string(node_link_blank(join->link), text) == RESULT_OK) {
        (void)node_link_put(join->link, SETTINGS_KEY, join->settings_revision, next_token(join));
    }
}

static void ask_others(NodeJoin *join)
{
    uint64_t token = next_token(join);
    join->asked = 0;
    join->silent = 0;
    for (uint32_t i = 0; i < join->table.n_agents; i++) {
        if (i == join->identity.self) {
            continue;
        }
        WireWriter writer = node_link_question(join->link, NODE_ASK_STATUS);
        /* A question that could not be sent is not waited for. */
        join->asked += node_link_ask(join->link, &writer, (uint16_t)i, token) == RESULT_OK;
    }
}

/* Whether a line, "section.key = value" or "[site "pattern"] section.key = value", need not be
 * alike: an operator has set its option while the crawl ran (agents agree by the edict then), or it
 * is another program's alone (those of another version may have more; lines of sites all could
 * have).
 */
static bool is_exempt(const Edicts *edicts, const char *line, size_t length, const char *others)
{
    static const char site[] = "[site \"";
    char *copy = strndup(line, length);
    char *name = copy;
    const char *pattern = "";
    bool known = copy != NULL && strncmp(copy, site, sizeof site - 1) == 0;
    char *end = known ? strstr(copy, "\"] ") : NULL;
    if (end != NULL) {
        *end = '\0';
        pattern = copy + sizeof site - 1;
        name = end + 3;
    }
    char *equals = name == NULL ? NULL : strstr(name, " = ");
    if (equals == NULL) {
        free(copy);
        return false;
    }
    /* Whether the other side has a line of this option at all, whatever its value. */
    while (!known && others != NULL) {
        known = strncmp(others, name, (size_t)(equals - name) + 3) == 0;
        others = strchr(others, '\n');
        others += others != NULL;
    }
    *equals = '\0';
    bool exempt = !known || edicts_find_option(edicts, pattern, name) != NULL;
    free(copy);
    return exempt;
}

/* The first line from *text on that is not exempt; its length. */
static size_t next_setting(const Edicts *edicts, const char **text, const char *others)
{
    size_t length = strcspn(*text, "\n");
    while (length > 0 && is_exempt(edicts, *text, length, others)) {
        *text += length + ((*text)[length] == '\n');
        length = strcspn(*text, "\n");
    }
    return length;
}

/* Behind the version of messages. */
static const char *settings_of(const char *text)
{
    const char *end =
        strncmp(text, SETTINGS_WIRE, strlen(SETTINGS_WIRE)) == 0 ? strchr(text, '\n') : NULL;
    return end == NULL ? text : end + 1;
}

/* The first line in which settings differ, as ours and theirs; false: they do not. */
static bool settings_differ(const NodeJoin *join, const Edicts *edicts, const char **ours,
                            const char **theirs)
{
    const char *all_theirs = join->theirs == NULL ? "" : join->theirs;
    *ours = settings_of(join->settings);
    *theirs = settings_of(all_theirs);
    /* Both sides write their options in the order of the one table, so they can be walked in step
     * once the exempt lines are left out. */
    for (;;) {
        size_t a = next_setting(edicts, ours, all_theirs);
        size_t b = next_setting(edicts, theirs, join->settings);
        if (a != b || memcmp(*ours, *theirs, a) != 0) {
            return true;
        }
        if (a == 0) {
            return false;
        }
        *ours += a + ((*ours)[a] == '\n');
        *theirs += b + ((*theirs)[b] == '\n');
    }
}

static void refuse_settings(NodeJoin *join)
{
    const char *ours = NULL;
    const char *theirs = NULL;
    Edicts none = {.n = 0};
    /* Without edicts, so what is shown may be a line that an edict explains. Each is cut at 150
     * bytes, as both have to fit into `why`. */
    if (!settings_differ(join, &none, &ours, &theirs)) { /* so the first lines do */
        ours = join->settings;
        theirs = join->theirs;
    }
    size_t a = strcspn(ours, "\n");
    size_t b = strcspn(theirs, "\n");
    node_join_refuse(join,
                     "the settings of this agent are not those of the crawl: here %.*s, there "
                     "%.*s; give all agents the same (they may be changed while no agent runs)",
                     a < 150 ? (int)a : 150, ours, b < 150 ? (int)b : 150, theirs);
}

/* ---- what is answered ---- */

/* It has been begun to be an agent, and it is not known whether it has become one. */
static bool is_begun(const NodeIdentity *identity)
{
    return !identity->known && identity->next_token != 0;
}

/* The first agent from join->from on whose life nobody has claimed. */
static uint16_t find_free(const NodeJoin *join)
{
    for (uint32_t i = join->from; i < join->table.n_agents; i++) {
        /* A life is given by `ragno cluster`, and claimed by the directory that lives it. */
        if (join->table.agents[i].claimed < join->table.agents[i].life) {
            return (uint16_t)i;
        }
    }
    return CLUSTER_NOBODY;
}

/* A directory that became an agent and died before it wrote down the table has crawled nothing. It
 * is as a new one when the server has forgotten that, and another is the agent now. */
static bool node_join_begin_anew(NodeJoin *join, bool forgotten)
{
    NodeIdentity *identity = &join->identity;
    bool anew = forgotten && identity->known && join->ours->epoch == 0;
    if (anew) {
        *identity = (NodeIdentity){.self = CLUSTER_NOBODY};
        join->wanted = CLUSTER_NOBODY;
    }
    return anew;
}

/* A directory that is no agent yet takes the first that nobody is. */
static void node_join_choose(NodeJoin *join, MonoTime now)
{
    NodeIdentity *identity = &join->identity;
    (void)node_join_begin_anew(
        join, memcmp(identity->uuid, join->table.uuid, sizeof identity->uuid) != 0);
    /* Begun, and killed before it knew whether it became the agent: it tries for the same one
     * again, since its record may be there. */
    bool begun = is_begun(identity) && identity->self < join->table.n_agents &&
                 memcmp(identity->uuid, join->table.uuid, sizeof identity->uuid) == 0;
    if (!identity->known && !begun) {
        identity->self = join->wanted == CLUSTER_NOBODY ? find_free(join) : join->wanted;
        identity->next_token = identity->token = identity->tried = 0;
        if (identity->self >= join->table.n_agents) {
            node_join_refuse(join,
                             identity->self == CLUSTER_NOBODY
                                 ? "all agents of the cluster have a directory already; start this "
                                   "one's own, or make room for one more with `ragno cluster add`"
                                 : "the cluster has no agent of that number (cluster.agent)");
            return;
        }
        memcpy(identity->uuid, join->table.uuid, sizeof identity->uuid);
    }
    /* From now on messages carry who we are going to be, and of which cluster. */
    join->link->head.from = identity->self;
    memcpy(join->link->head.uuid, join->table.uuid, sizeof join->link->head.uuid);
    go_to(join, JOIN_RECORD, now);
}

/* Our record is there; whether the life is claimed, the table says. */
static void go_on_to_claim(NodeJoin *join, MonoTime now)
{
    const ClusterAgent *agent = &join->table.agents[join->identity.self];
    NodeIdentity *identity = &join->identity;
    join->recorded = true;
    /* To JOIN_SAVE for the second time: that the record is there is written down before the claim.
     * A process that dies behind the claim finds its own token, and is no stranger to it. */
    if (identity->token !=
        identity->next_token) { /* nobody else can say so, if the record is lost */
        identity->token = identity->next_token;
        identity->known = true;
        join->step = JOIN_SAVE;
        join->next = MONO_NEVER;
        return;
    }
    if (agent->claimed < agent->life) {
        go_to(join, JOIN_CLAIM, now);
        return;
    }
    /* Only who is heard counts as running: from here on no other agent can change the settings
     * unseen, which is why they are looked at once more. */
    join->heard = node_link_listen(join->link) == RESULT_OK;
    go_to(join, join->heard ? JOIN_SETTINGS : JOIN_TABLE,
          join->heard ? now : mono_add_ms(now, ANSWER_MS));
}

/* The server has forgotten the table, or has an older one: ours is put back. */
static void put_ours(NodeJoin *join)
{
    if (cluster_table_write(join->ours, node_link_blank(join->link)) == RESULT_OK) {
        (void)node_link_put(join->link, TABLE_KEY, join->table_revision, next_token(join));
    }
}

static void node_join_take_table(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->kind != TRANSPORT_VALUE) {
        join->next = now; /* our table was put back */
        return;
    }
    Result rc = event->revision == 0
                    ? RESULT_NOT_FOUND
                    : cluster_table_read(&join->table, event->bytes, event->length);
    join->table_revision = event->revision;
    /* The epoch only grows. A table behind the one that we have committed by is a server's old
     * backup. */
    bool older = rc == RESULT_OK && join->table.epoch < join->ours->epoch;
    if (join->ours->epoch > 0 && (rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED || older)) {
        put_ours(join);
        return; /* it is looked at again */
    }
    if (rc == RESULT_NOT_FOUND) {
        node_join_refuse(
            join,
            "there is no cluster \"%s\" at this server; make one with `ragno cluster init` "
            "(again, if the server has forgotten it before any agent had joined)",
            join->link->crawl);
    } else if (rc != RESULT_OK) {
        node_join_refuse(join, "the cluster table cannot be read: %s", result_name(rc));
    } else if (strcmp(join->table.psl, domain_list_sha1()) != 0) {
        node_join_refuse(
            join,
            "this program has another public suffix list (%.8s) than the cluster (%.8s), and "
            "would give hosts to other agents; run the same libpsl everywhere",
            domain_list_sha1(), join->table.psl);
    } else if (join->recorded) {
        go_on_to_claim(join, now);
    } else {
        node_join_choose(join, now);
    }
}

/* Of a directory that is no agent yet: the agent is free, or it is this directory already. */
static bool may_begin(const NodeJoin *join, const MemberRecord *record)
{
    const NodeIdentity *identity = &join->identity;
    const ClusterAgent *agent = &join->table.agents[identity->self];
    /* A record of this life: somebody has begun it. Only by a token of ours is it this
     * directory. */
    if (record != NULL && record->life >= agent->life) {
        return is_begun(identity) && member_is_token_of(identity, record->token);
    }
    return agent->claimed < agent->life;
}

/* Another directory has it: the next one that is free, if any will do. */
static void choose_another(NodeJoin *join, MonoTime now)
{
    NodeIdentity *identity = &join->identity;
    if (join->wanted != CLUSTER_NOBODY) {
        node_join_refuse(join, "agent %u has a directory already, and this one is empty",
                         (unsigned)identity->self);
        return;
    }
    /* Never back: those before were taken when they were looked at, and this ends at the last
     * agent. */
    join->from = identity->self + 1u;
    identity->next_token = identity->token = identity->tried = 0;
    node_join_choose(join, now);
}

static void node_join_judge(NodeJoin *join, const MemberRecord *record, MonoTime now)
{
    NodeIdentity *identity = &join->identity;
    uint16_t life = join->table.agents[identity->self].life;
    bool is_new = !identity->known; /* no process has run as this agent, unless a record says so */
    if (!identity->known && !may_begin(join, record)) {
        choose_another(join, now);
        return;
    }
    MemberClaim claim = identity->known ? member_judge(identity, &join->table, record) : MEMBER_MAY;
    switch (claim) {
    case MEMBER_MAY:
        break;
    case MEMBER_IS_COPY:
        if (node_join_begin_anew(join, true)) {
            node_join_choose(join, now);
            return;
        }
        node_join_refuse(
            join,
            "agent %u runs, or has run since, from another copy of this directory (%s); to go on "
            "from a backup, stop that one and say `ragno cluster restore %u` first",
            (unsigned)identity->self, record->name, (unsigned)identity->self);
        return;
    case MEMBER_REPLACED:
        node_join_refuse(
            join,
            "agent %u began anew in another directory (%s); this one must not be used any more",
            (unsigned)identity->self, record == NULL ? "unknown" : record->name);
        return;
    case MEMBER_STRANGER:
        node_join_refuse(join, "this directory belongs to another crawl than \"%s\"",
                         join->link->crawl);
        return;
    case MEMBER_NOBODY:
        node_join_refuse(join, "the cluster has no agent %u", (unsigned)identity->self);
        return;
    }
    /* Our process may have died between record and disk; the record is the later word. */
    if (record != NULL && record->life == life) {
        identity->token = record->token; /* one of ours: its start was recorded */
    }
    bool same_machine = record != NULL && strcmp(record->machine, join->record.machine) == 0;
    bool stopped = record != NULL && record->state == MEMBER_STOPPED;
    bool is_over = record != NULL && (same_machine || stopped);
    join->alone = record == NULL ? is_new : is_over;
    /* Tells the others which sessions are over for certain. */
    join->record.dead_below = 0;
    if (record != NULL) {
        join->record.dead_below = is_over ? record->session + 1 : record->dead_below;
    }
    /* Incarnations count within a life. */
    if (identity->life != life) { /* new, or from a snapshot */
        identity->life = life;
        identity->incarnation = 0;
    }
    if (record != NULL && !stopped) {
        memcpy(join->name, record->name, sizeof join->name);
    }
    /* Not stopped by its own word: the server knows whether a process still listens to its
     * subject. */
    go_to(join, record != NULL && !stopped ? JOIN_ALIVE : JOIN_SETTINGS, now);
}

static void node_join_take_former(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    /* Any answer refuses us; without one it is asked again, since a busy process is a running
     * one. */
    if (event->kind == TRANSPORT_NOBODY) {
        go_to(join, JOIN_SETTINGS, now);
    } else if (event->kind == TRANSPORT_ANSWER) {
        node_join_refuse(
            join,
            "agent %u runs already, from another copy of this directory, or this one (%s); stop "
            "that one first",
            (unsigned)join->identity.self, join->name);
    }
}

static void node_join_take_record(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    MemberRecord record;
    join->record_revision = event->revision;
    bool good = event->revision > 0 && member_record_read(&record, join->identity.self,
                                                          event->bytes, event->length) == RESULT_OK;
    node_join_judge(join, good ? &record : NULL, now);
}

/* Whose record is what it was when we looked is put next. When that was not so, the same start is
 * put again: one more token would push out one that may be there. */
static void begin_save(NodeJoin *join)
{
    NodeIdentity *identity = &join->identity;
    MemberRecord *record = &join->record;
    join->step = JOIN_SAVE;
    join->next = MONO_NEVER;
    if (record->token != 0 && record->token == identity->next_token &&
        record->life == identity->life) {
        return;
    }
    identity->incarnation++;
    /* Up to three tokens are ours: of the last start that was recorded, of the one before whose
     * fate is not known, and of this one. */
    identity->tried = identity->next_token != identity->token ? identity->next_token : 0;
    /* Odd, since 0 means none. */
    identity->next_token = hash_mix(join->luck + identity->incarnation) | 1;
    record->life = identity->life;
    record->incarnation = identity->incarnation;
    record->token = identity->next_token;
    record->session = member_session(identity->life, identity->incarnation, join->luck);
    record->state = MEMBER_RUNNING;
    join->link->head.session = record->session;
}

/* Before our start is recorded, and again when others hear of us: only then do they hold. */
static void agree(NodeJoin *join, MonoTime now)
{
    /* First pass: JOIN_SAVE, JOIN_PUT, JOIN_CLAIM. Second pass: JOIN_HOLD, JOIN_DONE. */
    if (join->heard) {
        go_to(join, JOIN_HOLD, now);
    } else {
        begin_save(join);
    }
}

static void take_settings(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    join->settings_revision = event->revision;
    if (event->revision == 0 && join->heard &&
        join->theirs != NULL) { /* what was agreed about is forgotten */
        go_to(join, JOIN_HOLD, now);
        return;
    }
    free(join->theirs);
    join->theirs = event->revision == 0 ? NULL : strdup(event->bytes);
    /* node_link_speak chooses the version of messages, ours or the one before. */
    join->may_follow = join->theirs != NULL && node_link_speak(join->link, join->theirs);
    if (event->revision == 0) {
        go_to(join, JOIN_OTHERS, now);
    } else if (join->theirs != NULL && strcmp(join->theirs, join->settings) == 0) {
        agree(join, now);
    } else {
        go_to(join, JOIN_EDICTS, now);
    }
}

static void take_edicts(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    const char *ours = NULL;
    const char *theirs = NULL;
    Edicts edicts = {.n = 0};
    /* Edicts of a cluster of the same name that was there before are not ours. */
    bool good = event->revision > 0 &&
                edicts_read(&edicts, event->bytes, event->length) == RESULT_OK &&
                memcmp(edicts.uuid, join->table.uuid, sizeof edicts.uuid) == 0;
    if (!good) {
        edicts_destroy(&edicts);
    }
    join->may_follow = join->may_follow && !settings_differ(join, &edicts, &ours, &theirs);
    /* Of the version before: it is taken up only while somebody speaks it (JOIN_OTHERS); alone, we
     * bring our own. */
    if (join->may_follow && join->link->wire == NODE_WIRE) {
        agree(join, now);
    } else {
        go_to(join, JOIN_OTHERS, now);
    }
    edicts_destroy(&edicts);
}

void node_join_saved(NodeJoin *join, MonoTime now)
{
    if (join->recorded) {
        go_on_to_claim(join, now);
    } else {
        go_to(join, JOIN_PUT, now);
    }
}

/* It was put in place of the one that was judged, or not at all. */
static void node_join_take_put(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->kind == TRANSPORT_STORED) {
        join->record_revision = event->revision;
        go_on_to_claim(join, now);
    } else if (event->kind == TRANSPORT_CONFLICT) {
        go_to(join, JOIN_TABLE, now);
    }
}

/* Somebody runs: what all agree about stays, or is put back soon. */
static void follow_others(NodeJoin *join, MonoTime now)
{
    if (join->theirs == NULL) {
        bool waits = ++join->missed < MISSED_MOST;
        go_to(join, waits ? JOIN_SETTINGS : JOIN_PUT_SETTINGS,
              waits ? mono_add_ms(now, ANSWER_MS) : now);
    } else if (join->may_follow) {
        agree(join, now);
    } else {
        refuse_settings(join);
    }
}

static void no_others(NodeJoin *join, MonoTime now)
{
    /* The server itself has said of each that nobody listens: only then may settings be
     * replaced. */
    if (join->silent == join->asked) {
        go_to(join, JOIN_PUT_SETTINGS, now);
    } else {
        follow_others(join, now); /* somebody may run: who does not answer may be slow */
    }
}

static void take_other(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->kind == TRANSPORT_ANSWER) {
        follow_others(join, now);
    } else if (event->kind == TRANSPORT_NOBODY) {
        join->silent++;
        if (join->silent == join->asked) {
            no_others(join, now);
        }
    }
}

static void take_held(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->kind == TRANSPORT_STORED) {
        join->settings_revision = event->revision;
        /* The revision that was held is ours: who looked before us has failed, or fails, with a
         * conflict. */
        join->step = JOIN_DONE;
        join->next = MONO_NEVER;
    } else if (event->kind == TRANSPORT_CONFLICT) {
        go_to(join, JOIN_SETTINGS, now);
    }
}

/* The table, or the settings: what is there now is looked at. */
static void take_stored(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->kind == TRANSPORT_STORED || event->kind == TRANSPORT_CONFLICT) {
        go_to(join, JOIN_TABLE, now);
    }
}

/* ---- steps ---- */

static const struct {
    const char *waits_for;
    const char *look;            /* a key; or */
    void (*ask)(NodeJoin *join); /* a question, or a put */
    void (*take)(NodeJoin *join, const TransportEvent *event, MonoTime now);
} steps[] = {
    [JOIN_WAIT] = {"a connection to the server", NULL, NULL, NULL},
    [JOIN_TABLE] = {"the cluster table", TABLE_KEY, NULL, node_join_take_table},
    [JOIN_RECORD] = {"the record of this agent", MEMBER_KEY, NULL, node_join_take_record},
    [JOIN_ALIVE] = {"the former process of this agent, still connected", NULL, node_join_ask_former,
                    node_join_take_former},
    [JOIN_SETTINGS] = {"the settings of the crawl", SETTINGS_KEY, NULL, take_settings},
    [JOIN_EDICTS] = {"what operators have ordered", EDICTS_KEY, NULL, take_edicts},
    [JOIN_OTHERS] = {"answers of other agents", NULL, ask_others, take_other},
    [JOIN_PUT_SETTINGS] = {"the settings of the crawl", NULL, put_settings, take_stored},
    [JOIN_SAVE] = {"the directory", NULL, NULL, NULL},
    [JOIN_PUT] = {"the record of this agent", NULL, node_join_put_record, node_join_take_put},
    [JOIN_CLAIM] = {"a place in the cluster table", NULL, put_claim, take_stored},
    [JOIN_HOLD] = {"the settings of the crawl", NULL, put_settings, take_held},
    [JOIN_DONE] = {"nothing", NULL, NULL, NULL},
    [JOIN_REFUSED] = {"nothing", NULL, NULL, NULL}};

void node_join_work(NodeJoin *join, MonoTime now)
{
    char key[32];
    /* In JOIN_OTHERS the time is up instead of tried again: whoever has not answered may be
     * slow. */
    bool is_late = join->step == JOIN_OTHERS && join->token != 0;
    const char *look = steps[join->step].look;
    if (mono_before(now, join->next) || !join->link->up) {
        return;
    }
    int64_t patience_ms = join->step == JOIN_OTHERS ? OTHERS_MS : ANSWER_MS;
    /* Steps that somebody else ends (the connection, the directory) are not repeated. */
    join->next = steps[join->step].take == NULL ? MONO_NEVER : mono_add_ms(now, patience_ms);
    if (look != NULL) {
        member_key(join->identity.self, key);
        (void)node_link_get(join->link, join->step == JOIN_RECORD ? key : look, next_token(join));
    } else if (steps[join->step].ask != NULL && !is_late) {
        steps[join->step].ask(join);
    }
    if (is_late || (join->step == JOIN_OTHERS && join->asked == 0)) {
        no_others(join, now);
    }
    node_join_doubt(join, now);
}

void node_join_take(NodeJoin *join, const TransportEvent *event, MonoTime now)
{
    if (event->token != join->token || join->token == 0 || event->kind == TRANSPORT_FAILED) {
        return; /* it is asked for again in a moment */
    }
    if (steps[join->step].take != NULL) {
        steps[join->step].take(join, event, now);
    }
    node_join_doubt(join, now);
}

const char *node_join_waits_for(const NodeJoin *join)
{
    return steps[join->step].waits_for;
}
