#include "crawl/cluster/cluster_part.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "crawl/cluster/cluster_edicts.h"
#include "parse/host/domain.h"

/* ---- Cluster wait ---- */

#define TELL_MS 5000 /* so long it waits before it says so, and again */

static bool is_asked_to_stop(int signals)
{
    struct signalfd_siginfo info;
    bool asked = false;
    /* Emptied, and SIGHUP with it: there is nothing yet that could take new settings. */
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        asked = asked || info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM;
    }
    return asked;
}

Result cluster_wait(ClusterPart *part, int signals, int news, Buffer *error)
{
    MonoTime next = mono_add_ms(mono_now(), TELL_MS);
    while (cluster_part_state(part) == NODE_JOINING) {
        struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = news, .events = POLLIN}};
        int64_t ms = mono_ms_between(mono_now(), next);
        /* An error or a signal only makes the loop look at everything once more. */
        (void)poll(fds, sizeof fds / sizeof *fds, ms < 0 ? 0 : (int)ms);
        /* The eventfd is reset before the state is looked at, so that a change behind the look
         * rings again. */
        uint64_t count = 0;
        (void)!read(news, &count, sizeof count);
        if (is_asked_to_stop(signals)) {
            return RESULT_CLOSED;
        }
        if (!mono_before(mono_now(), next)) {
            next = mono_add_ms(mono_now(), TELL_MS);
            Buffer text = {.limit = BUFFER_NO_LIMIT};
            cluster_part_text(part, &text);
            LOG_WARN("cluster", "waits to join", "for=\"%s\"", buffer_string(&text));
            buffer_destroy(&text);
        }
    }
    if (cluster_part_state(part) != NODE_JOINED) {
        cluster_part_text(part, error);
        return RESULT_LOCKED;
    }
    return RESULT_OK;
}

/* ---- Cluster settings ---- */

/* As a number where it is one, so that 5s is 5000ms. */
static Result cluster_settings_write_value(const OptionSpec *spec, const char *text,
                                           const void *field, Buffer *out)
{
    /* Two agents whose files say the same in other words must agree: so what the words mean is
     * written, not they themselves. */
    OptionValue value = option_read(spec, field);
    switch (spec->type) {
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_SIZE:
        return buffer_printf(out, "%s.%s = %lld\n", spec->section, spec->key,
                             (long long)value.number);
    case OPTION_REAL:
        return buffer_printf(out, "%s.%s = %.9g\n", spec->section, spec->key, value.real);
    case OPTION_BOOL:
        return buffer_printf(out, "%s.%s = %s\n", spec->section, spec->key,
                             value.flag ? "yes" : "no");
    case OPTION_TEXT:
    case OPTION_WORD:
        return buffer_printf(out, "%s.%s = %s\n", spec->section, spec->key, text);
    }
    return RESULT_INVALID;
}

/* Appends it. RESULT_MEMORY. */
static Result cluster_settings_write(const Config *config, Buffer *out)
{
    const Options *options = &config->options;
    /* Hosts belong to agents by their registered domain: with another list of suffixes two agents
     * would own the same host, or none would. */
    Result rc = buffer_printf(out, SETTINGS_WIRE "%u\npublic_suffix_list = %s\n", NODE_WIRE,
                              domain_list_sha1());
    for (size_t i = 0; rc == RESULT_OK && i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (spec->agreed) {
            rc = cluster_settings_write_value(spec, options->texts[i],
                                              (const char *)options->values + spec->offset, out);
        }
    }
    /* Sites as they are written, and in their order, which decides (the last match wins). */
    for (size_t i = 0; rc == RESULT_OK && i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        const OptionSpec *spec = &options->specs[site->spec];
        rc = buffer_printf(out, "[site \"%s\"] %s.%s = %s\n", site->pattern, spec->section,
                           spec->key, site->text);
    }
    return rc;
}

/* Cluster thread: runs the node.
 *
 * What: takes the mail in turn, lets the node do what is due, and publishes its state and figures.
 * It ends when the node has left the cluster.
 *
 *   NODE_JOINING --node_work--> NODE_JOINED       cluster_wait returns, the crawl is built
 *        |                          | MAIL_BEGIN: cluster_thread_begin
 *        | refused                  v
 *        |                      NODE_MEMBER
 *        |                          | replaced, cut off, mail lost    | MAIL_LEAVE: node_leave
 *        '--------> NODE_OUT <------'                                 '--------> NODE_LEFT
 *
 * NODE_OUT waits for `leaving`; with NODE_LEFT the thread ends by itself.
 *
 * Threads: it is one. */

#define FIGURES_MS 500
#define ASLEEP_NS  INT64_C(50000000)

/* ---- mail ---- */

static void cluster_thread_begin(ClusterPart *part, MonoTime now)
{
    if (node_begin(part->node, part->used, now) != RESULT_OK) {
        cluster_state_set(part, NODE_OUT, "no memory for the node of the cluster");
        return;
    }
    cluster_state_set(part, NODE_MEMBER, "");
}

static void cluster_thread_handle(ClusterPart *part, Mail *letter, MonoTime now)
{
    switch (letter->kind) {
    case MAIL_EVENT:
        node_take(part->node, letter->event, now);
        /* Taken by the node: cluster_mail_delete must not free it again. */
        letter->event = NULL;
        break;
    case MAIL_NOTE:
        node_hear(part->node, &letter->note, now);
        letter->note = (NodeNote){.text = NULL};
        break;
    case MAIL_BEGIN:
        /* It may have been refused or cut off between joining and this letter. */
        if (node_state(part->node) == NODE_JOINED) {
            cluster_thread_begin(part, now);
        }
        break;
    case MAIL_LEAVE:
        node_leave(part->node, now);
        break;
    }
    cluster_mail_delete(letter);
}

/* ---- thread ---- */

/* That it is a member or out is said when it becomes so. */
static void publish_state(ClusterPart *part)
{
    NodeState state = node_state(part->node);
    if (state != NODE_MEMBER && state != NODE_OUT) {
        cluster_state_set(part, state, state == NODE_JOINING ? node_text(part->node) : "");
    }
}

static void publish_figures(ClusterPart *part, MonoTime now)
{
    if (mono_before(now, part->next_figures) || node_state(part->node) == NODE_JOINING) {
        return;
    }
    /* Gathered without the mutex, which is only for the copy: status must not wait for the node. */
    ClusterFigures figures = {.agent = node_identity(part->node)->self};
    node_stats(part->node, &figures.node);
    part->next_figures = mono_add_ms(now, FIGURES_MS);
    mutex_lock(&part->mutex);
    part->figures = figures;
    mutex_unlock(&part->mutex);
}

static bool cluster_thread_is_over(ClusterPart *part)
{
    return node_state(part->node) == NODE_LEFT ||
           (cluster_part_state(part) == NODE_OUT && atomic_load(&part->leaving));
}

/* argument: the ClusterPart. */
static void *cluster_thread_run(void *argument)
{
    ClusterPart *part = argument;
    MonoTime not_before = {0};
    part->asleep_ns = clock_asleep_ns();
    while (!cluster_thread_is_over(part)) {
        thread_step("waiting");
        /* A figure is never older than FIGURES_MS, even when nothing is due. */
        MonoTime next = node_next(part->node);
        MonoTime figures = mono_add_ms(mono_now(), FIGURES_MS);
        Mail *letter = cluster_mail_take(&part->mail, not_before, mono_earlier(next, figures));
        MonoTime now = mono_now();
        thread_step("working");
        /* Time that the clock did not count makes leases void. */
        int64_t asleep_ns = clock_asleep_ns();
        if (asleep_ns - part->asleep_ns > ASLEEP_NS) {
            node_slept(part->node, now);
        }
        part->asleep_ns = asleep_ns;
        /* All letters of one look get the same time, so that their order decides, and nothing
         * else. */
        while (letter != NULL) {
            Mail *following = letter->next;
            cluster_thread_handle(part, letter, now);
            letter = following;
        }
        node_work(part->node, now);
        /* Members gather: each look costs a wake-up and, as a rule, a message to others. Joining
         * does not wait. */
        not_before = mono_add_ms(now, node_state(part->node) == NODE_MEMBER ? part->gather_ms : 0);
        publish_state(part);
        publish_figures(part, now);
        /* Nobody can say what it was: a release that others wait for, or the word to leave. So the
         * agent is out, which ends the crawl here. */
        if (atomic_load(&part->mail.lost) && cluster_part_state(part) != NODE_OUT) {
            cluster_state_set(part, NODE_OUT, "no memory for what the cluster has to say");
        }
    }
    cluster_mail_close(&part->mail);
    publish_state(part);
    return NULL;
}

/* ---- Cluster part ---- */

#define SEED_OF_SEEDS UINT64_C(0x7261676e6f)

/* ---- asked by others ---- */

NodeState cluster_part_state(ClusterPart *part)
{
    return (NodeState)atomic_load(&part->state);
}

void cluster_part_text(ClusterPart *part, Buffer *text)
{
    mutex_lock(&part->mutex);
    (void)buffer_append_string(text, part->text);
    mutex_unlock(&part->mutex);
}

/* ---- mail ---- */

static void cluster_part_take_event(void *context, TransportEvent *event)
{
    ClusterPart *part = context;
    /* Called in threads of the NATS library, which must not wait: posting never does. */
    Mail letter = {.kind = MAIL_EVENT, .event = event};
    cluster_mail_post(&part->mail, &letter);
}

static void cluster_part_want(void *context, const IpAddress *address, uint64_t ticket)
{
    ClusterPart *part = context;
    NodeNote note = {.kind = NODE_WANT, .address = *address, .ticket = ticket};
    cluster_mail_note(&part->mail, &note);
}

static void cluster_part_release(void *context, const IpAddress *address, MonoTime rest_end)
{
    ClusterPart *part = context;
    NodeNote note = {.kind = NODE_RELEASE, .address = *address, .time = rest_end};
    cluster_mail_note(&part->mail, &note);
}

/* Without memory for its URL it is as if the owner were away. */
static void cluster_part_ask(void *context, uint32_t host, const char *url)
{
    ClusterPart *part = context;
    NodeNote note = {.kind = NODE_ASK, .ticket = host, .text = strdup(url)};
    if (note.text == NULL) {
        frontier_told(part->bonds.frontier, host, ERRAND_AWAY, NULL);
        return;
    }
    cluster_mail_note(&part->mail, &note);
}

static void cluster_part_tell(void *context, uint64_t ticket, ErrandAnswer *answer)
{
    ClusterPart *part = context;
    NodeNote note = {.kind = NODE_FETCHED, .ticket = ticket, .answer = answer};
    cluster_mail_note(&part->mail, &note);
}

static void cluster_part_left(void *context, uint32_t host)
{
    ClusterPart *part = context;
    /* The frontier has let go of a host that is to move to another agent. */
    if (moves_chore_left(&part->moves, host)) {
        ingest_wake(part->bonds.ingest);
    }
}

void cluster_part_wire(ClusterPart *part, FrontierSinks *sinks)
{
    sinks->leases = (WorkbenchLeases){part, cluster_part_want, cluster_part_release};
    sinks->hosts.peers =
        (DistributorPeers){part, cluster_part_left, cluster_part_ask, cluster_part_tell};
}

static void on_note(void *context, NodeNote *note)
{
    ClusterPart *part = context;
    /* In ingest's thread, behind the commit of the table (table_chore_ended). */
    if (note->kind == NODE_TABLE && part->mass != NULL) {
        (void)mass_set_table(part->mass, note->table); /* without memory the older one decides */
    }
    cluster_mail_note(&part->mail, note);
}

static void on_arrived(void *context)
{
    const ClusterPart *part = context;
    ingest_wake(part->bonds.ingest);
}

static void on_settled(void *context, InboxItem *item)
{
    ClusterPart *part = context;
    NodeNote note = {.kind = NODE_SETTLED,
                     .text = item->reply_to,
                     .settled = {item->envelope.from, item->fault, item->taken}};
    /* The address goes with the note: the block's sender is told only when its links are
     * committed. */
    item->reply_to = NULL;
    cluster_mail_note(&part->mail, &note);
}

/* ---- what the node has for the other parts ----
 *
 * Leases go to the frontier, blocks and tables to ingest, allowances and the end to the main
 * thread; rows of the outbox and the situation come from there. All of it in the cluster thread. */

static void cluster_part_run(void *context, WireReader *question, WireWriter *answer)
{
    ClusterPart *part = context;
    cluster_console_asked(&part->console, question, answer);
}

static Result save_identity(void *context, const NodeIdentity *identity)
{
    const ClusterPart *part = context;
    const IngestStore *tables = &part->store->tables;
    MDB_txn *txn = NULL;
    /* A write transaction in the cluster thread: allowed while the main thread waits for it to join
     * (invariant 2), and nowhere else. */
    if (page_db_txn_begin(tables->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = node_place_write_identity(txn, tables->crawl, identity);
    return page_db_txn_end(tables->db, txn, rc);
}

static void out(void *context, const char *why)
{
    cluster_state_set(context, NODE_OUT, why);
}

/* Without memory it is heard of again, at the next look. */
static void new_table(void *context, const ClusterTable *table)
{
    ClusterPart *part = context;
    if (table_chore_tell(&part->table, table) == RESULT_OK) {
        ingest_wake(part->bonds.ingest);
    }
}

static void cluster_part_lease(void *context, const LeaseNotice *notice)
{
    const ClusterPart *part = context;
    frontier_lease(part->bonds.frontier, notice);
}

static void block(void *context, InboxItem *item)
{
    ClusterPart *part = context;
    /* Counted before it can be taken: the end of the crawl is judged by this count, and must never
     * see an empty inbox with an arrival uncounted. */
    atomic_fetch_add(&part->arrived, 1);
    inbox_push(&part->inbox, item);
}

static Result cluster_part_read_outbox(void *context, uint16_t to, uint64_t from, size_t most,
                                       Buffer *blocks, OutboxRange *range)
{
    const ClusterPart *part = context;
    return ingest_cluster_read_outbox(&part->ingest, part->store->tables.db, to, from, most, blocks,
                                      range);
}

static void cluster_part_answered(void *context, uint16_t to, const OutboxRange *range)
{
    ClusterPart *part = context;
    AckRange ack = acks_chore_range(to, range);
    if (acks_chore_tell(&part->acks, &ack)) {
        ingest_wake(part->bonds.ingest);
    }
}

static Result cluster_part_mark(void *context, uint16_t agent, PeerMark *mark)
{
    const ClusterPart *part = context;
    const IngestStore *tables = &part->store->tables;
    return ingest_cluster_mark(tables->db, tables->crawl, agent, mark);
}

static Result cluster_part_retell(void *context, uint16_t agent, uint64_t heard)
{
    ClusterPart *part = context;
    Result rc = moves_chore_retell(&part->moves, agent, heard);
    ingest_wake(part->bonds.ingest);
    return rc;
}

static void situation(void *context, NodeSituation *s)
{
    ClusterPart *part = context;
    s->end.idle = cluster_state_is_idle(part);
    s->end.tail = s->end.idle && atomic_load(&part->tail);
    /* It only grows, with each commit and each arrival: two equal reports mean that nothing came in
     * between (cluster/whole/ending.h). */
    s->end.changes = stats_get(&part->bonds.stats->commits) + atomic_load(&part->arrived);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        part->sinks.account(part->sinks.context, (LedgerUnit)unit, &s->accounts[unit]);
        s->accounts[unit].idle = s->end.idle;
    }
}

static void cluster_part_granted(void *context, LedgerUnit unit, uint64_t amount)
{
    ClusterPart *part = context;
    /* A rate is a share of this moment, not a sum: kept for the status line as well. */
    if (unit == LEDGER_RATE) {
        atomic_store(&part->rate, amount);
    }
    part->sinks.granted(part->sinks.context, unit, amount);
}

static void ended(void *context, EndVerdict verdict)
{
    ClusterPart *part = context;
    atomic_store(&part->verdict, (int)verdict);
    part->sinks.news(part->sinks.context);
}

static void cluster_part_tell_status(void *context, Buffer *text)
{
    ClusterPart *part = context;
    const ClusterBonds *bonds = &part->bonds;
    FrontierStats frontier;
    MovesFigures moves;
    frontier_stats(bonds->frontier, &frontier);
    moves_chore_figures(&part->moves, &moves);
    (void)buffer_printf(
        text,
        "pages=%llu bytes=%llu urls=%llu queued=%llu hosts=%llu active=%zu front=%zu "
        "outbox=%llu inbox=%zu moves=%s ",
        (unsigned long long)stats_get(&bonds->stats->pages),
        (unsigned long long)stats_get(&bonds->stats->bytes),
        (unsigned long long)stats_get(&bonds->stats->urls_seen),
        (unsigned long long)stats_get(&bonds->stats->urls_queued),
        (unsigned long long)stats_get(&bonds->stats->hosts), frontier.acquired, frontier.front,
        (unsigned long long)ingest_cluster_outbox_blocks(&part->ingest),
        inbox_count(&part->inbox, NULL), moves_step_name(moves.step));
    if (moves.step == MOVES_WAIT) {
        (void)buffer_printf(text, "moves_waits=%llu ", (unsigned long long)moves.waits);
    } else if (moves.step == MOVES_PAGES) {
        (void)buffer_printf(text, "moves_pages=%llu/%llu ", (unsigned long long)moves.done,
                            (unsigned long long)moves.all);
    }
    NodeStats node;
    node_stats(part->node, &node);
    if (node.leases.away > 0) {
        (void)buffer_printf(text, "leases_away=%zu waits_for=%u ", node.leases.away,
                            (unsigned)node.leases.waits_for);
    }
    if (part->config->fetch_rate > 0) {
        (void)buffer_printf(text, "rate=%llu ", (unsigned long long)atomic_load(&part->rate));
    }
    (void)buffer_printf(text, "idle=%s limit=%s name=%s",
                        cluster_state_is_idle(part) ? "yes" : "no", atomic_load(&part->limit),
                        part->names.name);
}

static uint64_t cluster_part_count_pages(void *context)
{
    const ClusterPart *part = context;
    PageDB *db = part->store->tables.db;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return 0;
    }
    uint64_t n = page_db_n_pages(db, txn);
    page_db_txn_abort(db, txn);
    return n;
}

static void cluster_part_told(void *context, uint32_t host, ErrandOutcome outcome,
                              ErrandAnswer *answer)
{
    const ClusterPart *part = context;
    frontier_told(part->bonds.frontier, host, outcome, answer);
}

/* An asker that stands for another agent's host: its name is that of the host that is asked. */
static bool fetch(void *context, uint64_t ticket, const char *text)
{
    const ClusterPart *part = context;
    VisitState *asker = NULL;
    Url url = {.href = NULL};
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = url_parse(&url, NULL, text, strlen(text));
    if (rc == RESULT_OK) {
        rc = url_origin(&url, &origin);
    }
    if (rc == RESULT_OK) {
        rc = visit_state_new(&asker, FETCH_NO_HOST, origin.data, origin.length);
    }
    if (rc == RESULT_OK) {
        asker->errands.ticket = ticket;
        asker->robots.elsewhere = true;
        asker->robots.target = strndup(url.href, url.length);
        rc = asker->robots.target == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    url_destroy(&url);
    buffer_destroy(&origin);
    if (rc != RESULT_OK) {
        visit_state_delete(asker);
        return false;
    }
    /* From here on the frontier owns the asker, and its answer comes by cluster_part_tell. */
    frontier_asked(part->bonds.frontier, asker);
    return true;
}

static MassDeskOptions cluster_part_mass(ClusterPart *part)
{
    bool by_rank = part->config->score_scorer == SCORER_PAGERANK;
    return (MassDeskOptions){.directory = by_rank ? part->store->directory : NULL,
                             .context = part,
                             .pages = cluster_part_count_pages};
}

static NodeSinks cluster_part_sinks(ClusterPart *part)
{
    return (NodeSinks){
        .context = part,
        .save_identity = save_identity,
        .out = out,
        .new_table = new_table,
        .leases = {.context = part, .take = cluster_part_lease},
        .blocks = {.context = part,
                   .read = cluster_part_read_outbox,
                   .answered = cluster_part_answered,
                   .block = block},
        .situation = situation,
        .granted = cluster_part_granted,
        .ended = ended,
        .status = cluster_part_tell_status,
        .run = cluster_part_run,
        .greet = {.context = part, .mark = cluster_part_mark, .retell = cluster_part_retell},
        .edicts = cluster_edicts_sinks(part),
        .errands = {.context = part, .told = cluster_part_told, .fetch = fetch}};
}

/* ---- birth and death ---- */

static Result read_place(ClusterPart *part, NodeIdentity *identity, ClusterTable *table)
{
    const IngestStore *tables = &part->store->tables;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = node_place_read(txn, tables->crawl, identity, table);
    /* Its pages are hashed with a seed of their own, and it owns hosts that a cluster would give to
     * others. */
    bool alone = !identity->known && page_db_n_pages(tables->db, txn) > 0;
    page_db_txn_abort(tables->db, txn);
    return rc == RESULT_OK && alone ? RESULT_EXISTS : rc;
}

static Result make_node(ClusterPart *part, Buffer *error)
{
    NodeOptions options = cluster_node_options(part->config, &part->names);
    NodeSinks sinks = cluster_part_sinks(part);
    ClusterTable table = {.epoch = 0};
    Result rc = cluster_settings_write(part->config, &part->settings);
    if (rc == RESULT_OK) {
        rc = read_place(part, &options.identity, &table);
    }
    if (rc == RESULT_EXISTS) {
        (void)buffer_printf(error,
                            "%s holds a crawl that was begun by one agent alone; it cannot become "
                            "an agent of a cluster",
                            part->store->directory);
        rc = RESULT_INVALID;
    }
    /* A number is chosen once, at the first start: later on the directory has it, whatever the file
     * says. */
    if (!options.identity.known && options.identity.next_token == 0 &&
        *part->config->cluster_agent != '\0') {
        options.identity.self = (uint16_t)strtoul(part->config->cluster_agent, NULL, 10);
    }
    options.table = &table;
    part->gather_ms = options.lease.pace_ms;
    options.mass = cluster_part_mass(part);
    options.settings = buffer_string(&part->settings);
    options.edicts = &part->edicts.kept;
    if (rc == RESULT_OK) {
        rc = node_new(&part->node, &options, transport_nats(part->nats), &sinks);
    }
    cluster_table_destroy(&table);
    return rc;
}

Result cluster_part_new(ClusterPart **result, const Config *config, CrawlStore *store,
                        const ClusterSinks *sinks, Buffer *error)
{
    ClusterPart *part = calloc(1, sizeof *part);
    if (part == NULL) {
        return RESULT_MEMORY;
    }
    part->config = config;
    atomic_store(&part->limit, "none");
    part->store = store;
    part->sinks = *sinks;
    buffer_init(&part->settings, BUFFER_NO_LIMIT);
    cluster_mail_init(&part->mail);
    cluster_console_init(&part->console, store->directory, config);
    cluster_edicts_init(&part->edicts);
    cluster_edicts_load(&part->edicts, store->directory);
    mutex_init(&part->mutex, RANK_TABLE);
    cluster_names_of(store->directory, &part->names);
    TransportNatsOptions nats = cluster_nats_options(config, part->names.name);
    TransportSink sink = {.context = part, .take = cluster_part_take_event};
    /* Before anything can fail: cluster_part_delete takes apart as much as there is. */
    *result = part;
    Result rc = transport_nats_open(&part->nats, &nats, &sink, error);
    if (rc == RESULT_OK) {
        rc = make_node(part, error);
    }
    return rc == RESULT_OK ? thread_start(&part->thread, "cluster", cluster_thread_run, part) : rc;
}

void cluster_part_delete(ClusterPart *part)
{
    if (part == NULL) {
        return;
    }
    /* The thread first, then who posts to it, then what both use. */
    cluster_part_leave(part);
    transport_nats_close(part->nats);
    node_delete(part->node);
    if (part->opened) {
        inbox_chore_delete(part->inbox_chore);
        tray_destroy(&part->acks.ranges);
        table_chore_destroy(&part->table);
        moves_chore_destroy(&part->moves);
        ingest_cluster_destroy(&part->ingest);
        inbox_destroy(&part->inbox);
        mass_delete(part->mass);
    }
    cluster_console_destroy(&part->console);
    cluster_mail_destroy(&part->mail);
    cluster_edicts_destroy(&part->edicts);
    buffer_destroy(&part->settings);
    mutex_destroy(&part->mutex);
    free(part);
}

/* ---- life ---- */

/* All agents know pages by the same hashes. */
static Result share_seed(PageDB *db, MDB_txn *txn, const ClusterTable *table)
{
    /* Of the crawl's uuid, so that whichever agent comes first finds the same. */
    uint64_t seed = hash_64(table->uuid, sizeof table->uuid, SEED_OF_SEEDS);
    if (page_db_n_pages(db, txn) > 0 || page_db_n_hosts(db, txn) > 0) {
        return RESULT_OK; /* it has been set when the directory was empty */
    }
    return page_db_share_seed(db, txn, seed) == page_db_error_ok ? RESULT_OK : RESULT_IO;
}

static Result cluster_part_open_tables(ClusterPart *part)
{
    const IngestStore *tables = &part->store->tables;
    const ClusterTable *table = node_table(part->node);
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    /* Both in one transaction: a directory has the seed if and only if it has the cluster's
     * tables. */
    Result rc = ingest_cluster_init(&part->ingest, node_identity(part->node)->self, table, txn,
                                    tables->crawl);
    if (rc == RESULT_OK) {
        rc = share_seed(tables->db, txn, table);
    }
    return page_db_txn_end(tables->db, txn, rc);
}

Result cluster_part_open(ClusterPart *part, Ingest *ingest, ByteGate *gate, Buffer *error)
{
    InboxSinks sinks = {.context = part, .arrived = on_arrived, .settled = on_settled};
    part->bonds.ingest = ingest;
    part->opened = true;
    inbox_init(&part->inbox, gate, &sinks);
    acks_chore_init(&part->acks, &part->ingest);
    table_chore_init(&part->table, &part->ingest);
    moves_chore_init(&part->moves, &part->ingest);
    Result rc = cluster_part_open_tables(part);
    part->inbox_chore = rc == RESULT_OK ? inbox_chore_new(&part->inbox, &part->ingest) : NULL;
    if (part->inbox_chore == NULL) {
        rc = rc == RESULT_OK ? RESULT_MEMORY : rc;
        (void)buffer_printf(error, "%s: the tables of the cluster cannot be opened: %s",
                            part->store->directory, result_name(rc));
        return rc;
    }
    part->ingest.context = part;
    part->ingest.note = on_note;
    IngestChore chores[] = {inbox_chore(part->inbox_chore), acks_chore(&part->acks),
                            table_chore(&part->table), moves_chore(&part->moves)};
    ingest_set_cluster(ingest, &part->ingest);
    for (size_t i = 0; i < sizeof chores / sizeof *chores; i++) {
        ingest_add_chore(ingest, &chores[i]);
    }
    return RESULT_OK;
}

Result cluster_part_score(ClusterPart *part, Scoring *scoring)
{
    const IngestStore *tables = &part->store->tables;
    if (part->config->score_scorer != SCORER_PAGERANK) {
        return RESULT_OK;
    }
    Result rc = mass_new(&part->mass, part->store->directory, tables->db, part->ingest.self,
                         &part->ingest.table);
    if (rc == RESULT_OK) {
        part->outside = mass_outside(part->mass);
        scoring_set_outside(scoring, &part->outside);
    }
    return rc;
}

void cluster_part_begin(ClusterPart *part, const ClusterBonds *bonds,
                        const uint64_t used[LEDGER_UNITS])
{
    Mail letter = {.kind = MAIL_BEGIN};
    part->bonds = *bonds;
    memcpy(part->used, used, sizeof part->used);
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_leave(ClusterPart *part)
{
    Mail letter = {.kind = MAIL_LEAVE};
    /* Before the letter, so that the thread of a node that is out ends whether the letter came or
     * was lost. */
    atomic_store(&part->leaving, true);
    cluster_mail_post(&part->mail, &letter);
    thread_join(&part->thread);
}

/* Half of it must be free again before the crawl goes on. */
bool cluster_part_is_full(ClusterPart *part, uint64_t most_bytes)
{
    uint64_t bytes = part->opened ? atomic_load(&part->ingest.outbox_bytes) : 0;
    bool full = atomic_load(&part->full) ? bytes > most_bytes / 2 : bytes >= most_bytes;
    atomic_store(&part->full, full);
    return full;
}

void cluster_part_figures(ClusterPart *part, ClusterFigures *figures)
{
    size_t bytes = 0;
    mutex_lock(&part->mutex);
    *figures = part->figures;
    mutex_unlock(&part->mutex);
    if (part->opened) {
        (void)inbox_count(&part->inbox, &bytes);
        figures->inbox_bytes = bytes;
        figures->outbox_blocks = ingest_cluster_outbox_blocks(&part->ingest);
        figures->outbox_bytes = atomic_load(&part->ingest.outbox_bytes);
    }
}
