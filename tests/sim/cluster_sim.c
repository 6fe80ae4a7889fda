#include "store/pages/page_db_read.h"
#include "cluster_sim.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/desk/table_keeper.h"
#include "cluster/message/membership.h"
#include "misfortune.h"
#include "parse/host/domain.h"
#include "store/tables/host_rows.h"
#include "virtual_clock.h"

#define ADDRESS_DELAY 500
#define SLOW_MS       8000 /* the longest fetch */
#define LEASE_MS      15000
#define MINUTE_MS     60000 /* an hour of the world */
#define MAP_BYTES     ((size_t)1 << 35)
#define MOST_OF       0.4
#define SETTLED_MS    15000 /* until all have compared themselves, too */
#define LOOKED_MS     90000 /* until members that are there have looked at the settings */
#define ASKED_MS      30000 /* who was asked was there */
#define TOLD_CPU_NS   INT64_C(20000000000) /* between two lines of a long run */

/* What has come about by some moment. */
typedef struct Tally {
    uint64_t messages;
    uint64_t bytes;
    uint64_t urls; /* answered */
    int64_t ms;
} Tally;

typedef struct ClusterSim {
    ClusterSimOptions options;
    SimNet net;
    World world;
    Audit audit;
    AgentRules rules;
    PolitenessOptions politeness;
    Trouble trouble;
    Agent *agents;
    unsigned n_agents;
    MonoTime joined; /* all of them are members since; MONO_NEVER: they are not */
    Tally join;      /* until they had been so for SETTLED_MS, first; messages 0: not yet */
    Tally most;      /* until MOST_OF of all pages were answered: behind that few hosts are left */
    char directory[4000];
    MonoTime begin;
    MonoTime patience;
    int64_t told_ns; /* of CPU */
    uint64_t steps;
    /* of the end */
    uint8_t *found; /* by URL: its owner has it */
    uint64_t left;  /* URLs without a reason */
    uint64_t pages;
} ClusterSim;

static const WorldPage nowhere = {0, 0};

static void complain(ClusterSim *sim, const char *what, WorldPage page)
{
    audit_violation(&sim->audit, what, page, sim->net.now.ns / 1000000);
}

/* The server may have forgotten the table; or that there was room for one more, before any agent
 * has heard of it, and the operator is told to make room again. */
static void on_out(void *context, uint16_t number, const char *why)
{
    ClusterSim *sim = context;
    if (strstr(why, "make room for one more") != NULL && number >= sim->options.agents) {
        trouble_make_room(&sim->trouble, number);
        return;
    }
    if (strstr(why, "settings of th") != NULL && sim->options.strays > 0) {
        const SimValue *value = sim_net_value(&sim->net, SETTINGS_KEY);
        bool no = value != NULL && strcmp(value->bytes, "sim = no\n") == 0;
        sim->agents[number].settings = no ? "sim = no\n" : "sim = yes\n";
        return;
    }
    if (strstr(why, "there is no cluster") == NULL) {
        if (sim->audit.violations < 5) {
            (void)fprintf(stderr, "sim: agent %u: %s\n", (unsigned)number, why);
        }
        complain(sim, "an agent is out", nowhere);
    }
}

/* ---- birth ----------------------------------------------------------------------------------- */

/* As `ragno cluster init` does. */
static void put_table(ClusterSim *sim)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {7};
    ClusterTable table = {.epoch = 0};
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    (void)cluster_table_create(&table, uuid, domain_list_sha1(), sim->options.agents);
    (void)cluster_table_write(&table, &bytes);
    sim_net_store(&sim->net, TABLE_KEY, bytes.data, bytes.length);
    buffer_destroy(&bytes);
    cluster_table_destroy(&table);
}

static bool open_agent(ClusterSim *sim, MonoTime when)
{
    unsigned number = sim->n_agents;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%u", sim->directory, number);
    CrawlOptions options = {.directory = strdup(path), /* until the end */
                            .memory_bytes = sim->options.memory_bytes / sim->options.agents,
                            .connections = 200,
                            .batch_ms = sim->options.batch_ms,
                            .batch_pages = 928,
                            .front_max = 100000,
                            .window = 32,
                            .seeds = sim->options.hosts / 50 + 1,
                            .map_bytes = MAP_BYTES,
                            .agent = (uint16_t)number,
                            .politeness = sim->politeness};
    Agent *agent = &sim->agents[number];
    if (options.directory == NULL || mkdir(path, 0777) != 0 ||
        !agent_open(agent, (uint16_t)number, &options, &sim->rules, &sim->net, &sim->world,
                    &sim->audit)) {
        return false;
    }
    agent->start = when;
    sim->n_agents++;
    return true;
}

static bool add_agent(void *context)
{
    ClusterSim *sim = context;
    return sim->n_agents < sim->options.agents + CLUSTER_SIM_ADDED &&
           open_agent(sim, mono_add_ms(sim->net.now, 5000));
}

static void set_rules(ClusterSim *sim)
{
    const ClusterSimOptions *options = &sim->options;
    sim->politeness = crawl_politeness();
    sim->politeness.host_delay_ms = 2000;
    sim->politeness.ip_delay_ms = ADDRESS_DELAY;
    sim->politeness.crawl_delay_max_ms = 5000;
    sim->politeness.retry_after_max_ms = 30000;
    sim->politeness.rest_max_ms = MINUTE_MS;
    sim->politeness.park_after_ms = 3 * MINUTE_MS;
    sim->rules = (AgentRules){.lease = {.term_ms = LEASE_MS,
                                        .fetch_ms = SLOW_MS + 100,
                                        .delay_ms = ADDRESS_DELAY,
                                        .confirm_ms = 10000,
                                        .stale_ms = options->stale_ms,
                                        .pace_ms = 145, /* as with a host delay of 2 s */
                                        .lead_ms = LEASE_MS / 8},
                              .limit = options->limit,
                              .seed = options->seed,
                              .context = sim,
                              .out = on_out};
}

static bool open_directory(ClusterSim *sim)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (sim->options.directory != NULL) {
        (void)snprintf(sim->directory, sizeof sim->directory, "%s", sim->options.directory);
        return true;
    }
    (void)snprintf(sim->directory, sizeof sim->directory, "%s/ragno-sim-XXXXXX", base);
    return mkdtemp(sim->directory) != NULL;
}

static bool open_sim(ClusterSim *sim)
{
    const ClusterSimOptions *options = &sim->options;
    MonoTime begin = {WORLD_START_MS * 1000000};
    virtual_clock_set(begin);
    sim_net_init(&sim->net, options->seed, options->lost, begin);
    sim->net.stale_ms = options->stale_ms;
    set_rules(sim);
    sim->begin = begin;
    sim->joined = MONO_NEVER;
    sim->patience = mono_add_ms(begin, INT64_C(20000000) + INT64_C(200) * (int64_t)options->urls);
    sim->agents = calloc(options->agents + CLUSTER_SIM_ADDED, sizeof *sim->agents);
    if (sim->agents == NULL || !open_directory(sim) ||
        !world_init(&sim->world, options->seed, options->urls, options->hosts, options->addresses,
                    options->host_urls) ||
        !audit_init(&sim->audit, &sim->world, &sim->politeness, CRAWL_ROBOTS_MS)) {
        return false;
    }
    sim->world.slow_ms = SLOW_MS;
    sim->world.hour_ms = MINUTE_MS;
    sim->world.far = true;
    sim->world.even = options->even;
    put_table(sim);
    bool ok = true;
    for (unsigned i = 0; ok && i < options->agents; i++) {
        ok = open_agent(sim, mono_add_ms(begin, 1 + 100 * (int64_t)i));
    }
    sim->trouble = (Trouble){.options = options,
                             .net = &sim->net,
                             .agents = sim->agents,
                             .n_agents = &sim->n_agents,
                             .audit = &sim->audit,
                             .directory = sim->directory,
                             .context = sim,
                             .add = add_agent};
    return trouble_init(&sim->trouble) && ok;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    return where->level == 0 ? 0 : remove(path);
}

static void close_sim(ClusterSim *sim)
{
    for (unsigned i = 0; i < sim->n_agents; i++) {
        const char *path = sim->agents[i].crawl.options.directory;
        agent_close(&sim->agents[i]);
        free((void *)(uintptr_t)path);
    }
    (void)nftw(sim->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (sim->options.directory == NULL) {
        (void)rmdir(sim->directory);
    }
    trouble_destroy(&sim->trouble);
    sim_net_destroy(&sim->net);
    audit_destroy(&sim->audit);
    world_destroy(&sim->world);
    free(sim->agents);
    free(sim->found);
}

/* ---- the crawl ------------------------------------------------------------------------------- */

static MonoTime next_time(ClusterSim *sim)
{
    MonoTime next = sim_net_next(&sim->net);
    MonoTime trouble = trouble_next(&sim->trouble);
    next = mono_before(trouble, next) ? trouble : next;
    for (unsigned i = 0; i < sim->n_agents; i++) {
        MonoTime due = agent_next(&sim->agents[i]);
        next = mono_before(due, next) ? due : next;
    }
    return mono_later(next, sim->net.now);
}

static void tell(ClusterSim *sim)
{
    size_t fetching = 0;
    if (sim->steps % 4096 != 0 || cpu_process_ns() < sim->told_ns + TOLD_CPU_NS) {
        return;
    }
    for (unsigned i = 0; i < sim->n_agents; i++) {
        const Agent *agent = &sim->agents[i];
        fetching += agent->state == AGENT_MEMBER ? agent->crawl.workbench.n_acquired : 0;
    }
    sim->told_ns = cpu_process_ns();
    (void)fprintf(stderr,
                  "sim: %lld s: %" PRIu64 " known, %" PRIu64 " pages, %" PRIu64 " refused, %zu in "
                  "flight, %" PRIu64 " messages, cpu %.1f s\n",
                  (long long)mono_ms_between(sim->begin, sim->net.now) / 1000, sim->audit.known,
                  sim->audit.pages, sim->audit.refused, fetching, sim->net.messages,
                  (double)cpu_process_ns() / 1e9);
}

static void take_tally(const ClusterSim *sim, bool now, Tally *tally)
{
    if (now && tally->messages == 0) {
        *tally = (Tally){sim->net.messages, sim->net.bytes, sim->audit.pages + sim->audit.refused,
                         mono_ms_between(sim->begin, sim->net.now)};
    }
}

/* A member that has been connected for so long. */
static bool is_long_there(const ClusterSim *sim, const Agent *agent, int64_t ms)
{
    const SimPort *port = &sim->net.ports[agent->number];
    return agent->state == AGENT_MEMBER && port->up &&
           !mono_before(sim->net.now, mono_add_ms(agent->member_since, ms)) &&
           !mono_before(sim->net.now, mono_add_ms(port->up_since, ms));
}

static void check_settings(ClusterSim *sim)
{
    for (unsigned i = 0; i < sim->n_agents; i++) {
        const Agent *one = &sim->agents[i];
        bool comes = one->state == AGENT_MEMBER && one->member_since.ns == sim->net.now.ns;
        for (unsigned k = 0; (comes || is_long_there(sim, one, LOOKED_MS)) && k < sim->n_agents;
             k++) {
            const Agent *other = &sim->agents[k];
            if (is_long_there(sim, other, comes ? ASKED_MS : LOOKED_MS) &&
                strcmp(one->settings, other->settings) != 0) {
                complain(sim, "two members run by different settings", nowhere);
            }
        }
    }
}

/* False: it did not end. */
static bool run(ClusterSim *sim)
{
    bool all_ended = false;
    while (!all_ended && !(sim->options.most && sim->most.messages > 0) &&
           mono_before(sim->net.now, sim->patience)) {
        MonoTime now = next_time(sim);
        virtual_clock_set(now);
        sim_net_run(&sim->net, now);
        trouble_work(&sim->trouble);
        bool all_joined = true;
        all_ended = true;
        for (unsigned i = 0; i < sim->n_agents; i++) {
            Agent *agent = &sim->agents[i];
            if (agent_is_due(agent) && !agent_work(agent)) {
                complain(sim, "an agent is broken", nowhere);
                return false;
            }
            all_ended = all_ended && agent->state == AGENT_ENDED;
            all_joined = all_joined && agent->state == AGENT_MEMBER;
        }
        sim->joined = all_joined ? mono_earlier(now, sim->joined) : MONO_NEVER;
        bool settled = all_joined && mono_ms_between(sim->joined, now) >= SETTLED_MS;
        take_tally(sim, settled, &sim->join);
        take_tally(sim, (double)sim->audit.pages > MOST_OF * (double)sim->options.urls, &sim->most);
        sim->steps++;
        if (sim->options.strays > 0) {
            check_settings(sim);
        }
        tell(sim);
    }
    return all_ended;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The newest table that an agent has committed. */
static void newest_table(ClusterSim *sim, ClusterTable *newest)
{
    for (unsigned i = 0; i < sim->n_agents; i++) {
        ClusterTable table = {.epoch = 0};
        uint16_t self = 0;
        if (node_place_of(sim->agents[i].crawl.store.db, &self, &table) == RESULT_OK &&
            table.epoch > newest->epoch) {
            (void)cluster_table_copy(newest, &table);
        }
        cluster_table_destroy(&table);
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
        if (cluster_slot_is_moving(newest->slots[slot])) {
            complain(sim, "it ended while a slot was moving", nowhere);
            return;
        }
    }
}

static void check_page(ClusterSim *sim, const Crawl *crawl, MDB_txn *txn, const PageRef *ref,
                       const Buffer *url, bool is_owner)
{
    WorldPage page;
    HostRecord record;
    Audit *audit = &sim->audit;
    if (!world_locate(&sim->world, url->data, url->length, &page) || !audit_is_known(audit, page)) {
        complain(sim, "a page nobody has told of", page);
        return;
    }
    uint8_t *found = &sim->found[world_number(&sim->world, page)];
    bool forgot = sim->trouble.returns > 0 && sim->options.moves > 0;
    if (ref->n_crawls > 0 && (*found & 2) != 0 && !forgot) {
        complain(sim, "a page at two agents", page);
    }
    *found |= ref->n_crawls > 0 ? 2 : 0;
    if (!is_owner) {
        return;
    }
    *found |= 1;
    (void)host_rows_get(crawl->store.hosts, txn, ref->host, &record);
    bool aside = host_is_aside(&record) || (page_is_done(ref) && audit->hosts[page.host].given_up);
    if (!audit_is_done(audit, page) && !aside) {
        sim->left++;
        if (sim->options.limit == 0) {
            complain(sim, "a URL without a reason", page);
        }
    }
}

static void check_agent(ClusterSim *sim, Agent *agent, const ClusterTable *table)
{
    Crawl *crawl = &agent->crawl;
    MDB_txn *txn = NULL;
    ClusterTable own = {.epoch = 0};
    Buffer url;
    PageRef ref;
    uint16_t self = 0;
    Result rc = node_place_of(crawl->store.db, &self, &own);
    cluster_table_destroy(&own);
    if (rc == RESULT_NOT_FOUND) {
        return; /* it came too late to join */
    }
    if (rc != RESULT_OK || page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        complain(sim, "a database that cannot be read", nowhere);
        return;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    uint64_t n = page_db_n_pages(crawl->store.db, txn);
    for (uint64_t i = 0; i < n; i++) {
        if (page_db_get(crawl->store.db, txn, i, &ref, &url) != 0) {
            complain(sim, "a page that cannot be read", nowhere);
            break;
        }
        check_page(sim, crawl, txn, &ref, &url,
                   cluster_table_owner_of_url(table, url.data, url.length) == self);
    }
    buffer_destroy(&url);
    page_db_txn_abort(crawl->store.db, txn);
    sim->pages += crawl->totals.pages;
}

/* A page that is fetched again, since its first visit was forgotten, may answer otherwise. URLs
 * that no page links to any more are missing then. */
static void excuse_lost(ClusterSim *sim)
{
    const World *world = &sim->world;
    uint8_t *linked = calloc(world_n_pages(world), 1);
    for (WorldPage page = {0, 0}; linked != NULL && page.host < world->hosts; page.host++) {
        for (page.page = 0; page.page < world_pages(world, page.host); page.page++) {
            WorldLink links[WORLD_LINKS_MAX];
            bool counts = audit_has_links(&sim->audit, page);
            size_t n = counts ? world_links(world, page, links) : 0;
            for (size_t i = 0; i < n; i++) {
                linked[world_number(world, links[i].to)] = 1;
            }
        }
    }
    for (WorldPage page = {0, 0}; linked != NULL && page.host < world->hosts; page.host++) {
        for (page.page = 1; page.page < world_pages(world, page.host); page.page++) {
            uint32_t i = world_number(world, page);
            sim->found[i] |= audit_is_known(&sim->audit, page) && linked[i] == 0;
        }
    }
    free(linked);
}

/* Everything that is known was fetched, or has a reason, and its owner knows it. */
static void check_end(ClusterSim *sim)
{
    ClusterTable table = {.epoch = 0};
    uint64_t owned = 0;
    uint32_t n = world_n_pages(&sim->world);
    bool ok = true;
    sim->found = calloc(n, 1);
    for (unsigned i = 0; ok && i < sim->n_agents; i++) {
        ok = crawl_store_of(&sim->agents[i].crawl);
    }
    if (sim->found == NULL || !ok) {
        complain(sim, "a database that cannot be opened", nowhere);
        return;
    }
    newest_table(sim, &table);
    for (unsigned i = 0; i < sim->n_agents; i++) {
        check_agent(sim, &sim->agents[i], &table);
    }
    cluster_table_destroy(&table);
    if (sim->trouble.returns > 0) {
        excuse_lost(sim);
    }
    for (uint32_t i = 0; i < n; i++) {
        owned += sim->found[i] & 1;
    }
    if (owned != sim->audit.known && sim->options.limit == 0) {
        (void)fprintf(stderr, "sim: owners have %" PRIu64 " URLs, books %" PRIu64 "\n", owned,
                      sim->audit.known);
        complain(sim, "URLs of owners and of the books differ", nowhere);
    }
    if (sim->options.limit > 0 && sim->pages > sim->options.limit) {
        complain(sim, "more pages than the limit", nowhere);
    }
    /* What was lost by a kill may have used some of it. */
    if (sim->left > 0 && sim->pages + sim->trouble.kills < sim->options.limit) {
        complain(sim, "it ended before the limit", nowhere);
    }
}

/* Of the start of all at one moment, for each pair of them, and then of the crawl. */
static void print_scale(const ClusterSim *sim)
{
    const Tally *join = &sim->join;
    const Tally *most = &sim->most;
    uint64_t joins = 0;
    int64_t join_ms = 0;
    for (unsigned i = 0; i < sim->n_agents; i++) {
        joins += sim->agents[i].joins;
        join_ms += sim->agents[i].join_ms;
    }
    uint64_t pairs = (uint64_t)sim->n_agents * (sim->n_agents - 1);
    if (pairs == 0 || joins == 0 || join->messages == 0 || most->urls <= join->urls) {
        return;
    }
    double urls = (double)(most->urls - join->urls);
    printf("sim.join_messages = %" PRIu64 "\nsim.join_bytes = %" PRIu64 "\nsim.join_ms = %lld ms\n",
           join->messages, join->bytes, (long long)join->ms);
    printf("sim.of_pair_messages = %.2f\nsim.of_pair_bytes = %.0f\nsim.of_join_ms = %.0f\n",
           (double)join->messages / (double)pairs, (double)join->bytes / (double)pairs,
           (double)join_ms / (double)joins);
    printf("sim.of_url_messages = %.2f\nsim.of_url_bytes = %.0f\nsim.of_url_ms = %.0f\n",
           (double)(most->messages - join->messages) / urls,
           (double)(most->bytes - join->bytes) / urls,
           (double)(most->ms - join->ms) * sim->n_agents / urls);
}

static void print(const ClusterSim *sim)
{
    const Audit *audit = &sim->audit;
    const Trouble *trouble = &sim->trouble;
    uint64_t commits = 0;
    for (unsigned i = 0; i < sim->n_agents; i++) {
        commits += sim->agents[i].commits;
    }
    printf("sim.agents = %u\nsim.urls = %" PRIu64 "\nsim.pages = %" PRIu64
           "\nsim.requests = %" PRIu64 "\nsim.refused = %" PRIu64 "\nsim.fetched_again = %" PRIu64
           "\nsim.kills = %u\nsim.machines = %u\nsim.stills = %u\nsim.fails = %u\nsim.stops = "
           "%u\nsim.strays = %u\n",
           sim->n_agents, audit->known, sim->pages, audit->requests, audit->refused,
           audit->refetched, trouble->kills, trouble->machines, trouble->stills, trouble->fails,
           trouble->stops, trouble->strays);
    printf("sim.moves = %u\nsim.returns = %u\nsim.orders = %u\nsim.forgotten = %" PRIu64
           "\nsim.messages = %" PRIu64 "\nsim.bytes = %" PRIu64 "\nsim.commits = %" PRIu64
           "\nsim.virtual_s = %lld s\nsim.cpu_ms = %lld ms\nsim.violations = %" PRIu64 "\n",
           trouble->moves, trouble->returns, trouble->orders, audit->lost, sim->net.messages,
           sim->net.bytes, commits, (long long)mono_ms_between(sim->begin, sim->net.now) / 1000,
           (long long)cpu_process_ns() / 1000000, audit->violations);
    print_scale(sim);
}

int cluster_sim_run(const ClusterSimOptions *options)
{
    ClusterSim *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        return 2;
    }
    sim->options = *options;
    if (!open_sim(sim)) {
        (void)fprintf(stderr, "sim: cannot begin in %s\n", sim->directory);
        return 2;
    }
    bool ended = run(sim);
    if (options->most && sim->most.messages > 0) {
        ended = true;
    } else if (ended) {
        check_end(sim);
    } else {
        complain(sim, "it did not end", nowhere);
        for (unsigned i = 0; i < sim->n_agents; i++) {
            agent_tell(&sim->agents[i]);
        }
    }
    print(sim);
    bool good = ended && sim->audit.violations == 0;
    close_sim(sim);
    free(sim);
    return good ? 0 : 1;
}
