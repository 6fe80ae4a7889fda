#include "cluster_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/node/node.h"
#include "parse/host/domain.h"
#include "transport_sim.h"

#define STEP_MS       10
#define COMMIT_MS     200
#define HOST_DELAY_MS 2000
#define ADDRESS_DELAY 500
#define FETCH_MOST_MS 8000
#define LEASE_MS      15000
#define SETTLED_MS    60000 /* before, nobody may have the table to put it back */
#define SHORT_MS      1500
#define LINKS         4u
#define TROUBLE_MS    400000 /* in which everything goes wrong that is to */
#define PATIENCE_MS   INT64_C(4000000)
#define AGAIN_MS      10000 /* until an operator starts again what was refused */
#define ROWS_AT_ONCE  16u

typedef struct Row {
    uint16_t to; /* CLUSTER_NOBODY: it was deleted */
    uint64_t sequence;
    uint32_t url;
} Row;

/* What an agent does with an address: the workbench in small. */
typedef struct Use {
    bool asked;
    bool held;
    bool others; /* wait for it: given back when there is nothing to fetch now */
    bool gives_back;
    uint64_t ticket;
    MonoTime end;
    MonoTime next;
    bool busy;
    MonoTime fetch_end;
    uint32_t url;
} Use;

typedef struct Agent {
    struct World *world;
    uint16_t number; /* of the directory; the node's may be another */
    Node *node;
    bool running;
    bool ended;
    bool refused;
    MonoTime start; /* when it runs again */
    /* durable */
    NodeIdentity identity;
    ClusterTable table;
    uint8_t *known; /* by URL: 1 known, 2 fetched */
    Row *rows;
    size_t n_rows;
    size_t rows_capacity;
    uint64_t sequence;
    uint64_t pages;
    /* of the process */
    Use *uses;
    MonoTime *host_next;
    uint32_t *done; /* fetched, not yet committed */
    size_t n_done;
    InboxItem *items; /* not yet committed */
    OutboxRange *acks;
    uint16_t *ack_to;
    size_t n_acks;
    ClusterTable next_table;
    MonoTime next_commit;
    uint64_t tickets;
    uint64_t changes;
    uint64_t granted;
    size_t waiting; /* URLs of its own, known and not fetched */
    size_t flights;
} Agent;

typedef struct World {
    ClusterSimOptions options;
    SimNet net;
    Agent agents[SIM_NET_AGENTS];
    uint16_t *owner;   /* by URL: agent of the table */
    uint16_t *holder;  /* by agent of the table: its directory; CLUSTER_NOBODY */
    uint32_t *fetched; /* by URL: transfers that ended */
    unsigned *at_address;
    unsigned *at_host;
    MonoTime *address_end;
    MonoTime *host_end;
    MonoTime begin;
    uint64_t fetches;
    uint64_t violations;
    uint64_t early_ends;
    unsigned kills;
    LeaseRules rules; /* as they are meant */
} World;

static uint32_t host_of(const World *world, uint32_t url)
{
    return url % world->options.hosts;
}

static uint32_t address_of(const World *world, uint32_t host)
{
    return (uint32_t)(hash_mix(host + UINT64_C(77)) % world->options.addresses);
}

static IpAddress ip_of(uint32_t address)
{
    struct in_addr in = {0x0b000000u + address};
    return ip_address_v4(&in);
}

static uint32_t link_of(const World *world, uint32_t url, unsigned i)
{
    return (uint32_t)(hash_mix(url * UINT64_C(8) + i + world->options.seed) % world->options.urls);
}

static size_t text_of(const World *world, uint32_t url, char text[64])
{
    return (size_t)snprintf(text, 64, "http://h%05u.test/%u", host_of(world, url), url);
}

static void complain(World *world, const char *what, uint32_t number)
{
    if (world->violations++ < 5) {
        (void)fprintf(stderr, "sim: %s %u at %lld ms\n", what, number,
                      (long long)mono_ms_between(world->begin, world->net.now));
    }
}

/* ---- what is durable ------------------------------------------------------------------------- */

static uint16_t self_of(const Agent *agent)
{
    return node_identity(agent->node)->self;
}

/* A URL that is new here: it is scheduled, or goes to its owner. */
static void discover(Agent *agent, uint32_t url)
{
    if (agent->known[url] != 0) {
        return;
    }
    agent->known[url] = 1;
    if (agent->world->owner[url] == self_of(agent)) {
        agent->waiting++;
        return;
    }
    if (agent->n_rows == agent->rows_capacity) {
        agent->rows_capacity = 2 * agent->rows_capacity + 64;
        agent->rows = reallocarray(agent->rows, agent->rows_capacity, sizeof *agent->rows);
    }
    agent->rows[agent->n_rows++] =
        (Row){.to = agent->world->owner[url], .sequence = ++agent->sequence, .url = url};
}

static void delete_rows(Agent *agent, uint16_t to, const OutboxRange *range)
{
    size_t kept = 0;
    for (size_t i = 0; i < agent->n_rows; i++) {
        const Row *row = &agent->rows[i];
        if (row->to != to || row->sequence < range->first || row->sequence > range->last) {
            agent->rows[kept++] = *row;
        }
    }
    agent->n_rows = kept;
}

/* ---- sinks of the node ----------------------------------------------------------------------- */

static Result save_identity(void *context, const NodeIdentity *identity)
{
    Agent *agent = context;
    agent->identity = *identity;
    return RESULT_OK;
}

static void sink_out(void *context, const char *why)
{
    Agent *agent = context;
    agent->refused = true;
    if (strstr(why, "there is no cluster") == NULL) { /* the server may have forgotten it */
        complain(agent->world, why, agent->number);
    }
}

static void new_table(void *context, const ClusterTable *table)
{
    Agent *agent = context;
    (void)cluster_table_copy(&agent->next_table, table);
}

static void lease_news(void *context, const LeaseNews *news)
{
    Agent *agent = context;
    uint32_t address = 0;
    for (; address < agent->world->options.addresses; address++) {
        IpAddress ip = ip_of(address);
        if (memcmp(&ip.bytes, &news->address.bytes, sizeof ip.bytes) == 0) {
            break;
        }
    }
    Use *use = &agent->uses[address];
    if (!use->asked || use->ticket != news->ticket) {
        return;
    }
    if (news->kind == LEASE_NEWS_GRANTED) {
        use->held = true;
        use->end = news->end;
        use->others = news->others;
    } else if (news->kind == LEASE_NEWS_OTHERS) {
        use->others = true;
    } else {
        use->gives_back = true;
    }
}

static void sink_block(void *context, InboxItem *item)
{
    Agent *agent = context;
    item->next = agent->items;
    agent->items = item;
    agent->changes++;
}

static Result read_outbox(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                          OutboxRange *range)
{
    const Agent *agent = context;
    LinkBlockWriter writer;
    size_t n = 0;
    (void)most;
    buffer_reset(blocks);
    *range = (OutboxRange){.blocks = 0};
    link_block_writer_init(&writer);
    link_block_writer_reset(&writer);
    for (size_t i = 0; i < agent->n_rows && n < ROWS_AT_ONCE; i++) {
        const Row *row = &agent->rows[i];
        char text[64];
        if (row->to == to && row->sequence >= from) {
            LinkRecord record = {.url = text,
                                 .length = text_of(agent->world, row->url, text),
                                 .hop = 'L',
                                 .parent = LINK_NO_PARENT};
            (void)link_block_append(&writer, &record);
            range->first = n++ == 0 ? row->sequence : range->first;
            range->last = row->sequence;
        }
    }
    if (n > 0) {
        range->blocks = 1;
        (void)link_block_finish(&writer, 1);
        (void)buffer_append(blocks, writer.block.data, writer.block.length);
    }
    link_block_writer_destroy(&writer);
    return n == 0 ? RESULT_NOT_FOUND : RESULT_OK;
}

static void sink_answered(void *context, uint16_t to, const OutboxRange *range)
{
    Agent *agent = context;
    agent->acks = reallocarray(agent->acks, agent->n_acks + 1, sizeof *agent->acks);
    agent->ack_to = reallocarray(agent->ack_to, agent->n_acks + 1, sizeof *agent->ack_to);
    agent->acks[agent->n_acks] = *range;
    agent->ack_to[agent->n_acks++] = to;
}

static bool is_idle(const Agent *agent)
{
    return agent->waiting == 0 && agent->n_done == 0 && agent->flights == 0 &&
           agent->items == NULL && agent->n_rows == 0 && agent->n_acks == 0;
}

static void sink_situation(void *context, NodeSituation *situation)
{
    Agent *agent = context;
    situation->end.idle = is_idle(agent);
    situation->end.changes = agent->changes;
    situation->accounts[LEDGER_PAGES] =
        (LedgerAccount){.used = agent->pages + agent->n_done + agent->flights,
                        .needed = 4,
                        .idle = situation->end.idle};
}

static void sink_granted(void *context, LedgerUnit unit, uint64_t granted)
{
    Agent *agent = context;
    agent->granted = unit == LEDGER_PAGES ? granted : agent->granted;
}

static void sink_ended(void *context, EndVerdict verdict)
{
    Agent *agent = context;
    const World *world = agent->world;
    agent->ended = true;
    for (unsigned i = 0; verdict == END_FINISHED && i < world->options.agents; i++) {
        const Agent *other = &world->agents[i];
        for (uint32_t url = 0; url < world->options.urls; url++) {
            bool left = other->identity.known && world->owner[url] == other->identity.self &&
                        other->known[url] == 1;
            agent->world->early_ends += left;
        }
    }
}

static void sink_status(void *context, Buffer *text)
{
    (void)context;
    (void)text;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void take_event(void *context, TransportEvent *event)
{
    Agent *agent = context;
    node_take(agent->node, event, agent->world->net.now);
}

static NodeOptions options_of(const Agent *agent, char name[32])
{
    const World *world = agent->world;
    NodeOptions options = {.crawl = "sim",
                           .identity = agent->identity,
                           .table = &agent->table,
                           .machine = name,
                           .name = name,
                           .version = "sim",
                           .settings = "sim = yes\n",
                           .luck = hash_mix(world->options.seed + agent->number +
                                            agent->identity.incarnation * UINT64_C(1000)),
                           .lease = world->rules,
                           .lease_addresses = 100000,
                           .message_bytes = 400,
                           .message_age_ms = 2000,
                           .window_bytes = 1 << 20,
                           .answer_ms = 5000};
    (void)snprintf(name, 32, "machine-%u", (unsigned)agent->number);
    if (world->options.mutation == MUTATION_LEASE) {
        options.lease.term_ms = SHORT_MS;
        options.lease.fetch_ms = 1;
    }
    options.limits[LEDGER_PAGES] = world->options.limit;
    return options;
}

static void start(Agent *agent)
{
    World *world = agent->world;
    char name[32];
    NodeOptions options = options_of(agent, name);
    NodeSinks sinks = {.context = agent,
                       .save_identity = save_identity,
                       .out = sink_out,
                       .new_table = new_table,
                       .lease_news = lease_news,
                       .block = sink_block,
                       .read_outbox = read_outbox,
                       .answered = sink_answered,
                       .situation = sink_situation,
                       .granted = sink_granted,
                       .ended = sink_ended,
                       .status = sink_status};
    TransportSink sink = {.context = agent, .take = take_event};
    sim_net_open(&world->net, agent->number, &sink);
    if (node_new(&agent->node, &options, &world->net.ports[agent->number].transport, &sinks) !=
        RESULT_OK) {
        abort();
    }
    agent->running = true;
    agent->granted = agent->pages;
    memset(agent->uses, 0, world->options.addresses * sizeof *agent->uses);
    for (uint32_t i = 0; i < world->options.addresses; i++) { /* what was before is not known */
        agent->uses[i].next = mono_add_ms(world->net.now, ADDRESS_DELAY);
    }
    for (uint32_t i = 0; i < world->options.hosts; i++) {
        agent->host_next[i] = mono_add_ms(world->net.now, HOST_DELAY_MS);
    }
}

static void end_flight(Agent *agent, uint32_t address)
{
    World *world = agent->world;
    Use *use = &agent->uses[address];
    uint32_t host = host_of(world, use->url);
    use->busy = false;
    agent->flights--;
    world->at_address[address]--;
    world->at_host[host]--;
    world->address_end[address] = world->host_end[host] = world->net.now;
    use->next = mono_add_ms(world->net.now, ADDRESS_DELAY);
    agent->host_next[host] = mono_add_ms(world->net.now, HOST_DELAY_MS);
}

/* What was not committed is gone. */
static void stop(Agent *agent)
{
    for (uint32_t i = 0; i < agent->world->options.addresses; i++) {
        if (agent->uses[i].busy) {
            end_flight(agent, i);
        }
    }
    while (agent->items != NULL) {
        InboxItem *next = agent->items->next;
        inbox_item_delete(agent->items);
        agent->items = next;
    }
    agent->n_done = agent->n_acks = 0;
    cluster_table_destroy(&agent->next_table);
    sim_net_close(&agent->world->net, agent->number);
    node_delete(agent->node);
    agent->node = NULL;
    agent->running = false;
}

/* ---- an agent at work ------------------------------------------------------------------------ */

static void take_item(Agent *agent, const InboxItem *item)
{
    WireReader reader = wire_reader(item->blocks, item->length);
    BlockHeader header;
    const void *body = NULL;
    while (wire_left(&reader) > 0 && block_read(&reader, &header, &body) == BLOCK_GOOD) {
        LinkBlockReader records;
        LinkRecord record;
        link_block_reader_init(&records, &header, body);
        while (link_block_next(&records, &record) == RESULT_OK) {
            const char *slash = memrchr(record.url, '/', record.length);
            discover(agent, (uint32_t)strtoul(slash + 1, NULL, 10));
        }
        link_block_reader_destroy(&records);
    }
}

static void commit(Agent *agent)
{
    const World *world = agent->world;
    size_t rows = agent->n_rows;
    agent->changes += agent->n_done + agent->n_acks + (agent->items != NULL);
    for (size_t i = 0; i < agent->n_done; i++) {
        agent->known[agent->done[i]] = 2;
        agent->waiting--;
        agent->pages++;
        for (unsigned k = 0; k < LINKS; k++) {
            discover(agent, link_of(world, agent->done[i], k));
        }
    }
    agent->n_done = 0;
    for (const InboxItem *item = agent->items; item != NULL; item = item->next) {
        take_item(agent, item);
    }
    for (size_t i = 0; i < agent->n_acks; i++) {
        delete_rows(agent, agent->ack_to[i], &agent->acks[i]);
    }
    bool acked = agent->n_acks > 0;
    agent->n_acks = 0;
    for (size_t i = acked ? 0 : rows; i < agent->n_rows; i++) {
        node_grown(agent->node, agent->rows[i].to, acked ? 1 : 40, world->net.now);
    }
    while (agent->items != NULL) {
        InboxItem *item = agent->items;
        agent->items = item->next;
        node_settled(agent->node, item->ticket, BLOCK_GOOD, item->envelope.from, world->net.now);
        inbox_item_delete(item);
    }
    if (agent->next_table.epoch > agent->table.epoch) {
        (void)cluster_table_copy(&agent->table, &agent->next_table);
        node_table_committed(agent->node, &agent->table, world->net.now);
    }
}

/* A URL of its own at the address, whose host may be asked now. */
static bool choose(const Agent *agent, uint32_t address, uint32_t *url)
{
    const World *world = agent->world;
    for (uint32_t i = 0; i < world->options.urls; i++) {
        uint32_t host = host_of(world, i);
        if (agent->known[i] == 1 && address_of(world, host) == address &&
            world->owner[i] == self_of(agent) &&
            !mono_before(world->net.now, agent->host_next[host])) {
            bool taken = false;
            for (size_t k = 0; k < agent->n_done; k++) {
                taken = taken || agent->done[k] == i;
            }
            if (!taken) {
                *url = i;
                return true;
            }
        }
    }
    return false;
}

static void fetch(Agent *agent, uint32_t address, uint32_t url)
{
    World *world = agent->world;
    MonoTime now = world->net.now;
    uint32_t host = host_of(world, url);
    Use *use = &agent->uses[address];
    bool two = world->at_address[address]++ > 0 || world->at_host[host]++ > 0;
    bool soon = mono_before(now, mono_add_ms(world->address_end[address], ADDRESS_DELAY)) ||
                mono_before(now, mono_add_ms(world->host_end[host], HOST_DELAY_MS));
    if (two || soon) {
        complain(world, two ? "two requests to address" : "too soon to address", address);
    }
    bool slow = dice_below(&world->net.dice, 10) == 0;
    uint64_t most = slow ? FETCH_MOST_MS : 300;
    use->busy = true;
    use->url = url;
    use->fetch_end = mono_add_ms(now, 1 + (int64_t)dice_below(&world->net.dice, most));
    agent->flights++;
    world->fetches++;
}

static void use_address(Agent *agent, uint32_t address)
{
    World *world = agent->world;
    MonoTime now = world->net.now;
    Use *use = &agent->uses[address];
    IpAddress ip = ip_of(address);
    uint32_t url = 0;
    if (use->busy && !mono_before(now, use->fetch_end)) {
        end_flight(agent, address);
        world->fetched[use->url]++;
        agent->done[agent->n_done++] = use->url;
    }
    if (use->busy || mono_before(now, use->next)) {
        return;
    }
    uint64_t used = agent->pages + agent->n_done + agent->flights;
    bool may = world->options.limit == 0 || used < agent->granted;
    bool some = may && agent->waiting > 0 && choose(agent, address, &url);
    bool over = use->held && !mono_before(now, use->end);
    if (use->asked && (use->gives_back || over || (use->held && use->others && !some))) {
        use->asked = use->held = use->gives_back = use->others = false;
        node_release(agent->node, &ip, use->next, now);
    }
    if (!some || (use->asked && !use->held)) {
        return;
    }
    if (!use->asked) {
        use->asked = true;
        use->ticket = ++agent->tickets;
        node_want(agent->node, &ip, use->ticket, now);
    } else {
        fetch(agent, address, url);
    }
}

static void begin(Agent *agent)
{
    World *world = agent->world;
    uint64_t used[LEDGER_UNITS] = {agent->pages};
    int64_t back = world->options.mutation == MUTATION_FLOOR ? 4 * lease_rest_ms(&world->rules) : 0;
    (void)cluster_table_copy(&agent->table, node_table(agent->node));
    if (node_begin(agent->node, used, mono_add_ms(world->net.now, -back)) != RESULT_OK) {
        abort();
    }
    uint16_t *holder = &world->holder[self_of(agent)];
    if (*holder != CLUSTER_NOBODY && *holder != agent->number) {
        complain(world, "two directories are agent", self_of(agent));
    }
    *holder = agent->number;
    if (agent->number == 0) {
        discover(agent, 0); /* the seed */
    }
    agent->next_commit = world->net.now;
}

static void work(Agent *agent)
{
    World *world = agent->world;
    MonoTime now = world->net.now;
    node_work(agent->node, now);
    if (node_state(agent->node) == NODE_JOINED) {
        begin(agent);
    }
    if (node_state(agent->node) != NODE_MEMBER) {
        return;
    }
    for (uint32_t i = 0; i < world->options.addresses; i++) {
        use_address(agent, (i + agent->number) % world->options.addresses);
    }
    if (!mono_before(now, agent->next_commit)) {
        commit(agent);
        agent->next_commit = mono_add_ms(now, COMMIT_MS);
    }
    node_work(agent->node, now);
}

/* ---- the world ------------------------------------------------------------------------------- */

static void *many(size_t n, size_t size)
{
    void *memory = calloc(n == 0 ? 1 : n, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* As `ragno cluster init` does. */
static void put_table(World *world)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {7};
    ClusterTable table;
    Buffer bytes;
    cluster_table_init(&table);
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    (void)cluster_table_create(&table, uuid, domain_list_sha1(), world->options.agents);
    (void)cluster_table_write(&table, &bytes);
    SimValue *value = &world->net.values[world->net.n_values++];
    (void)snprintf(value->key, sizeof value->key, "table");
    value->length = bytes.length;
    value->bytes = buffer_detach(&bytes);
    value->revision = ++world->net.revision;
    for (uint32_t url = 0; url < world->options.urls; url++) {
        char text[64];
        world->owner[url] = cluster_table_owner_of_url(&table, text, text_of(world, url, text));
    }
    cluster_table_destroy(&table);
}

static void open_world(World *world, const ClusterSimOptions *options)
{
    memset(world, 0, sizeof *world);
    world->options = *options;
    world->rules = (LeaseRules){.term_ms = LEASE_MS,
                                .fetch_ms = FETCH_MOST_MS + STEP_MS,
                                .delay_ms = ADDRESS_DELAY,
                                .confirm_ms = 10000};
    sim_net_init(&world->net, options->seed, options->lost);
    world->begin = world->net.now;
    world->owner = many(options->urls, sizeof *world->owner);
    world->holder = many(options->agents, sizeof *world->holder);
    memset(world->holder, 0xff, options->agents * sizeof *world->holder);
    world->fetched = many(options->urls, sizeof *world->fetched);
    world->at_address = many(options->addresses, sizeof *world->at_address);
    world->at_host = many(options->hosts, sizeof *world->at_host);
    world->address_end = many(options->addresses, sizeof *world->address_end);
    world->host_end = many(options->hosts, sizeof *world->host_end);
    put_table(world);
    for (uint16_t i = 0; i < options->agents; i++) {
        Agent *agent = &world->agents[i];
        agent->world = world;
        agent->number = i;
        agent->identity.self = CLUSTER_NOBODY;
        agent->known = many(options->urls, 1);
        agent->uses = many(options->addresses, sizeof *agent->uses);
        agent->host_next = many(options->hosts, sizeof *agent->host_next);
        agent->done = many(options->urls, sizeof *agent->done);
        agent->start = mono_add_ms(world->begin, 1 + 100 * i);
    }
}

static void close_world(World *world)
{
    for (uint16_t i = 0; i < world->options.agents; i++) {
        Agent *agent = &world->agents[i];
        if (agent->running) {
            stop(agent);
        }
        cluster_table_destroy(&agent->table);
        free(agent->known);
        free(agent->rows);
        free(agent->uses);
        free(agent->host_next);
        free(agent->done);
        free(agent->acks);
        free(agent->ack_to);
    }
    sim_net_destroy(&world->net);
    free(world->owner);
    free(world->holder);
    free(world->fetched);
    free(world->at_address);
    free(world->at_host);
    free(world->address_end);
    free(world->host_end);
}

/* The server has forgotten that the crawl is over, too: for those who have not heard of it yet, an
 * operator starts the others again. */
static void start_ended(World *world)
{
    for (uint16_t i = 0; i < world->options.agents; i++) {
        Agent *agent = &world->agents[i];
        if (agent->ended && !agent->running) {
            agent->ended = false;
            agent->start = mono_add_ms(world->net.now, AGAIN_MS);
        }
    }
}

/* Within the time of trouble, each kind as often as it is to be, spread at random. */
static void misfortune(World *world)
{
    const ClusterSimOptions *options = &world->options;
    Dice *dice = &world->net.dice;
    uint64_t steps = TROUBLE_MS / STEP_MS;
    MonoTime now = world->net.now;
    if (mono_ms_between(world->begin, now) > TROUBLE_MS) {
        world->net.lost = options->lost < 20 ? options->lost : 20;
        return;
    }
    Agent *victim = &world->agents[dice_below(dice, options->agents)];
    if (dice_below(dice, steps) < options->kills && victim->running) {
        stop(victim);
        victim->start = mono_add_ms(now, 1 + (int64_t)dice_below(dice, 20000));
        world->kills++;
    }
    if (dice_below(dice, steps) < options->cuts) {
        sim_net_cut(&world->net, victim->number,
                    mono_add_ms(now, (int64_t)dice_below(dice, 60000)));
    }
    bool settled = mono_ms_between(world->begin, now) > SETTLED_MS;
    if (dice_below(dice, steps) < options->downs) {
        bool forgets = dice_below(dice, 3) == 0 && settled;
        sim_net_down(&world->net, mono_add_ms(now, (int64_t)dice_below(dice, 30000)), forgets);
        if (forgets) {
            start_ended(world);
        }
    }
}

/* False: it did not end. */
static bool run(World *world)
{
    MonoTime end = mono_add_ms(world->begin, PATIENCE_MS);
    unsigned left = world->options.agents;
    while (left > 0 && mono_before(world->net.now, end)) {
        sim_net_run(&world->net, mono_add_ms(world->net.now, STEP_MS));
        misfortune(world);
        left = 0;
        for (uint16_t i = 0; i < world->options.agents; i++) {
            Agent *agent = &world->agents[i];
            if (!agent->running && !agent->ended && !mono_before(world->net.now, agent->start)) {
                start(agent);
            }
            if (agent->running) {
                work(agent);
            }
            if (agent->running && agent->refused) {
                stop(agent);
                agent->refused = false;
                agent->start = mono_add_ms(world->net.now, AGAIN_MS);
            }
            if (agent->running && agent->ended) {
                stop(agent); /* it has left: all others have heard, or look for themselves */
            }
            left += !agent->ended;
        }
    }
    return left == 0;
}

/* Everything that the seed leads to was fetched, by its owner, once but for what was in flight. */
static void check_end(World *world, uint64_t *pages, uint64_t *again)
{
    uint8_t *seen = many(world->options.urls, 1);
    uint32_t *queue = many(world->options.urls, sizeof *queue);
    size_t n = 1;
    seen[0] = 1;
    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < LINKS; k++) {
            uint32_t url = link_of(world, queue[i], k);
            queue[n] = url;
            n += seen[url] == 0;
            seen[url] = 1;
        }
        if (n == world->options.urls) {
            break;
        }
    }
    for (uint32_t url = 0; url < world->options.urls; url++) {
        unsigned holders = 0;
        for (uint16_t i = 0; i < world->options.agents; i++) {
            holders += world->agents[i].known[url] == 2;
        }
        if (holders > 1) {
            complain(world, "at several agents: page", url);
        }
        if (world->options.limit == 0 && holders != seen[url]) {
            complain(world, "missing, or too much: page", url);
        }
        *pages += holders;
        *again += world->fetched[url] > holders ? world->fetched[url] - holders : 0;
    }
    free(seen);
    free(queue);
}

int cluster_sim_run(const ClusterSimOptions *options)
{
    World *world = many(1, sizeof *world);
    uint64_t pages = 0;
    uint64_t again = 0;
    open_world(world, options);
    bool ended = run(world);
    if (ended) {
        check_end(world, &pages, &again);
    } else {
        complain(world, "it did not end; agents:", options->agents);
    }
    if (options->limit > 0 && pages > options->limit) {
        complain(world, "more pages than the limit:", (uint32_t)pages);
    }
    world->violations += world->early_ends;
    printf("sim.agents = %u\nsim.pages = %" PRIu64 "\nsim.fetches = %" PRIu64
           "\nsim.fetched_again = %" PRIu64 "\nsim.kills = %u\nsim.messages = %" PRIu64
           "\nsim.virtual_s = %lld s\nsim.early_ends = %" PRIu64 "\nsim.violations = %" PRIu64 "\n",
           options->agents, pages, world->fetches, again, world->kills, world->net.messages,
           (long long)mono_ms_between(world->begin, world->net.now) / 1000, world->early_ends,
           world->violations);
    bool good = ended && world->violations == 0;
    close_world(world);
    free(world);
    return good ? 0 : 1;
}
