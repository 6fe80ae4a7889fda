/* PageRank over a graph that is divided among agents, beside that of the whole graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "base/core/hash.h"
#include "cluster/desk/mass_desk.h"
#include "cluster/mass/mass.h"
#include "folder_fixture.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"
#include "unit.h"

#define HOSTS       4000u
#define UNIVERSE    130000u /* pages that links may lead to */
#define CRAWLED     8500u
#define LINKS       30u
#define AGENTS_MOST 16u
#define URL_BYTES   64
#define BATCH       1000u
#define MOMENT_MS   100

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(*state);
}

static double uniform(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1.0p-53;
}

/* ---- the graph: hosts of Zipf-like size, four fifths of the links within a host -------------- */

typedef struct Graph {
    uint32_t base[HOSTS + 1]; /* first page of each host */
    uint32_t host[UNIVERSE];
    uint32_t links[CRAWLED][LINKS];
    uint32_t order[UNIVERSE]; /* of discovery; the first CRAWLED are crawled */
    size_t n_known;
    uint64_t known[UNIVERSE / 64 + 1];
} Graph;

static void see(Graph *g, uint32_t page)
{
    if ((g->known[page / 64] >> page % 64 & 1) == 0) {
        g->known[page / 64] |= UINT64_C(1) << page % 64;
        g->order[g->n_known++] = page;
    }
}

static Graph *graph_new(void)
{
    Graph *g = calloc(1, sizeof *g);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    double sum = 0.0;
    double upto = 0.0;
    for (size_t i = 0; i < HOSTS; i++) {
        sum += 1.0 / pow((double)i + 1.0, 0.75);
    }
    for (size_t i = 0; i < HOSTS; i++) {
        g->base[i] = (uint32_t)(upto / sum * UNIVERSE);
        upto += 1.0 / pow((double)i + 1.0, 0.75);
    }
    g->base[HOSTS] = UNIVERSE;
    for (uint32_t i = 0; i < HOSTS; i++) {
        for (uint32_t page = g->base[i]; page < g->base[i + 1]; page++) {
            g->host[page] = i;
        }
    }
    see(g, 0);
    for (size_t i = 0; i < CRAWLED && i < g->n_known; i++) {
        uint64_t state = 42 + i * UINT64_C(0xD1B54A32D192ED03);
        for (size_t k = 0; k < LINKS; k++) {
            uint32_t host = g->host[g->order[i]];
            if (uniform(&state) >= 0.8) {
                host = (uint32_t)(HOSTS * pow(uniform(&state), 4.0));
            }
            uint32_t size = g->base[host + 1] - g->base[host];
            g->links[i][k] = g->base[host] + (uint32_t)(size * pow(uniform(&state), 4.0));
            see(g, g->links[i][k]);
        }
    }
    return g;
}

static Graph *graph; /* of all tests, made once */

static size_t url_of(uint32_t page, char url[URL_BYTES])
{
    uint32_t host = graph->host[page];
    return (size_t)snprintf(url, URL_BYTES, "http://site%05u.test/page-%u.html", (unsigned)host,
                            (unsigned)(page - graph->base[host]));
}

/* ---- databases ------------------------------------------------------------------------------- */

typedef struct Agent {
    char dir[FOLDER_BYTES];
    PageDB *db;
    PageRankScorer *scorer;
    Mass *mass; /* NULL: it has the whole graph */
    PageRankOutside outside;
    NodeLink link;
    MassDesk desk;
} Agent;

typedef struct Message {
    uint16_t to;
    uint16_t from;
    uint64_t token;
    bool answer;
    Buffer bytes;
} Message;

/* What all tests compare with, made once: a database that has the whole graph, and a schedule for
 * its levels. */
static Agent whole;
static Schedule *schedule;

typedef struct World {
    ClusterTable table;
    Agent agents[AGENTS_MOST];
    Transport transports[AGENTS_MOST];
    uint32_t n;
    uint16_t owner[UNIVERSE]; /* of each page that is known */
    uint32_t crossing;        /* links from agent to agent */
    Message *mail;
    size_t n_mail;
    uint64_t dice;
    unsigned loss; /* percent */
    uint16_t away; /* an agent that hears nothing */
    bool few;      /* pages are said to be known */
    unsigned messages;
    size_t longest;
} World;

static void open_agent(Agent *agent)
{
    char path[FOLDER_BYTES + 16];
    MDB_txn *txn = NULL;
    folder_make(agent->dir);
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", agent->dir);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&agent->db, path, &(PageDBOptions){.no_sync = true}), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(agent->db, false, &txn), 0);
    CU_ASSERT_EQUAL(page_db_share_seed(agent->db, txn, 4711), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(agent->db, txn), 0);
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&agent->scorer, agent->db), 0);
    agent->scorer->page_rank->precision = 1e-4f;
}

static void close_agent(Agent *agent)
{
    CU_ASSERT_EQUAL(page_rank_scorer_delete(agent->scorer), 0);
    mass_delete(agent->mass);
    CU_ASSERT_EQUAL(page_db_delete(agent->db), 0);
    folder_remove(agent->dir);
}

static void find_owners(World *w)
{
    for (size_t i = 0; i < graph->n_known; i++) {
        char url[URL_BYTES];
        size_t length = url_of(graph->order[i], url);
        w->owner[graph->order[i]] = cluster_table_owner_of_url(&w->table, url, length);
    }
}

static void add_pages(World *w, Agent *agent, uint16_t self)
{
    CrawledPage *batch[BATCH];
    size_t n = 0;
    for (size_t i = 0; i < CRAWLED; i++) {
        if (self == CLUSTER_NOBODY || w->owner[graph->order[i]] == self) {
            char url[URL_BYTES];
            (void)url_of(graph->order[i], url);
            batch[n] = crawled_page_new(url);
            for (size_t k = 0; k < LINKS; k++) {
                (void)url_of(graph->links[i][k], url);
                CU_ASSERT_EQUAL(crawled_page_add_link(batch[n], url, 0.5f), 0);
                w->crossing +=
                    self != CLUSTER_NOBODY && w->owner[graph->links[i][k]] != self ? 1 : 0;
            }
            n++;
        }
        if (n == BATCH || i + 1 == CRAWLED) {
            CU_ASSERT_EQUAL(
                page_db_add_batch(agent->db, (const CrawledPage *const *)batch, n, NULL), 0);
            while (n > 0) {
                crawled_page_delete(batch[--n]);
            }
        }
    }
}

/* What other agents have found, as blocks bring it. */
static void add_found(const World *w, Agent *agent, uint16_t self)
{
    PageDiscovery *found = calloc(graph->n_known, sizeof *found);
    char *urls = malloc(graph->n_known * URL_BYTES);
    MDB_txn *txn = NULL;
    size_t n = 0;
    for (size_t i = 0; i < graph->n_known; i++) {
        if (w->owner[graph->order[i]] == self) {
            char *url = urls + n * URL_BYTES;
            size_t length = url_of(graph->order[i], url);
            found[n++] = (PageDiscovery){
                .url = url, .length = length, .score = 0.5f, .hop = 'L', .depth = 3};
        }
    }
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(agent->db, false, &txn), 0);
    CU_ASSERT_EQUAL(page_db_discover_each(agent->db, txn, found, n, NULL), 0);
    CU_ASSERT_EQUAL(page_db_txn_commit(agent->db, txn), 0);
    free(urls);
    free(found);
}

/* ---- a transport that loses messages --------------------------------------------------------- */

static World *world;

static void post(uint16_t from, uint16_t to, uint64_t token, bool answer, const void *bytes,
                 size_t length)
{
    World *w = world;
    w->messages++;
    w->longest = length > w->longest ? length : w->longest;
    if (draw(&w->dice) % 100 < w->loss || to == w->away || from == w->away) {
        return;
    }
    w->mail = reallocarray(w->mail, w->n_mail + 1, sizeof *w->mail);
    Message *message = &w->mail[w->n_mail++];
    *message = (Message){.to = to, .from = from, .token = token, .answer = answer};
    buffer_init(&message->bytes, BUFFER_NO_LIMIT);
    (void)buffer_append(&message->bytes, bytes, length);
}

static Result post_request(void *state, const char *subject, const void *bytes, size_t length,
                           uint64_t token)
{
    const Transport *self = state;
    uint16_t to = (uint16_t)strtoul(strrchr(subject, '.') + 1, NULL, 10);
    post((uint16_t)(self - world->transports), to, token, false, bytes, length);
    return RESULT_OK;
}

/* reply_to: "token.agent" */
static Result post_reply(void *state, const char *reply_to, const void *bytes, size_t length)
{
    const Transport *self = state;
    uint64_t token = strtoull(reply_to, NULL, 10);
    uint16_t to = (uint16_t)strtoul(strchr(reply_to, '.') + 1, NULL, 10);
    post((uint16_t)(self - world->transports), to, token, true, bytes, length);
    return RESULT_OK;
}

static void deliver(World *w, Message *message, MonoTime now)
{
    MassDesk *desk = &w->agents[message->to].desk;
    char reply_to[40];
    (void)snprintf(reply_to, sizeof reply_to, "%llu.%u", (unsigned long long)message->token,
                   (unsigned)message->from);
    TransportEvent *event =
        transport_event_new(message->answer ? TRANSPORT_ANSWER : TRANSPORT_MESSAGE, message->token,
                            NULL, reply_to, message->bytes.data, message->bytes.length);
    NodeMessage in;
    CU_ASSERT_TRUE_FATAL(node_link_open(desk->link, event, &in));
    if (message->answer) {
        mass_desk_take(desk, &in, now);
    } else {
        CU_ASSERT_EQUAL_FATAL((uint8_t)wire_get_number(&in.body, 1), NODE_ASK_MASS);
        mass_desk_asked(desk, &in);
    }
    transport_event_delete(event);
    buffer_destroy(&message->bytes);
}

static uint64_t taken(const World *w)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        sum += w->agents[i].desk.taken;
    }
    return sum;
}

static void exchange_moment(World *w)
{
    static MonoTime now = {.ns = 1};
    for (uint32_t i = 0; i < w->n; i++) {
        if (i != w->away) {
            mass_desk_work(&w->agents[i].desk, now);
        }
    }
    while (w->n_mail > 0) { /* the latest first */
        Message message = w->mail[--w->n_mail];
        deliver(w, &message, now);
    }
    now = mono_add_ms(now, MOMENT_MS);
}

/* Until so many files have been taken. */
static void exchange(World *w, uint64_t files)
{
    uint64_t goal = taken(w) + files;
    for (unsigned turn = 0; taken(w) < goal && turn < 20000; turn++) {
        exchange_moment(w);
    }
    CU_ASSERT_EQUAL(taken(w), goal);
}

static uint64_t pages_known(void *context)
{
    const World *w = context;
    return w->few ? 10 : UNIVERSE;
}

/* ---- the world ------------------------------------------------------------------------------- */

static void begin_agent(World *w, uint16_t i)
{
    Agent *agent = &w->agents[i];
    open_agent(agent);
    add_pages(w, agent, i);
    add_found(w, agent, i);
    CU_ASSERT_EQUAL_FATAL(mass_new(&agent->mass, agent->dir, agent->db, i, &w->table), RESULT_OK);
    agent->outside = mass_outside(agent->mass);
    page_rank_scorer_set_outside(agent->scorer, &agent->outside);
    w->transports[i] =
        (Transport){.state = &w->transports[i], .request = post_request, .publish = post_reply};
    node_link_init(&agent->link, &w->transports[i], "test");
    agent->link.head.from = i;
    MassDeskOptions options = {.directory = agent->dir, .context = w, .pages = pages_known};
    mass_desk_init(&agent->desk, &agent->link, &options);
    mass_desk_set_agents(&agent->desk, w->n);
}

static void open_whole(void)
{
    World none = {.n = 0};
    MDB_txn *txn = NULL;
    graph = graph_new();
    open_agent(&whole);
    add_pages(&none, &whole, CLUSTER_NOBODY);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(whole.db, false, &txn), 0);
    CU_ASSERT_EQUAL_FATAL(schedule_open(&schedule, txn, NULL, NULL), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(whole.db, txn), 0);
    CU_ASSERT_EQUAL(page_rank_scorer_update(whole.scorer), 0);
}

static void close_whole(void)
{
    schedule_close(schedule);
    close_agent(&whole);
    free(graph);
}

static World *world_new(uint32_t n)
{
    World *w = world = calloc(1, sizeof *w);
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w->n = n;
    w->away = CLUSTER_NOBODY;
    w->table = (ClusterTable){.epoch = 0};
    CU_ASSERT_EQUAL_FATAL(
        cluster_table_create(&w->table, uuid, "0123456789012345678901234567890123456789", n),
        RESULT_OK);
    find_owners(w);
    for (uint32_t i = 0; i < n; i++) {
        begin_agent(w, (uint16_t)i);
    }
    return w;
}

static void world_delete(World *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        mass_desk_destroy(&w->agents[i].desk);
        node_link_destroy(&w->agents[i].link);
        close_agent(&w->agents[i]);
    }
    cluster_table_destroy(&w->table);
    free(w->mail);
    free(w);
}

static void compute(World *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (i != w->away) {
            CU_ASSERT_EQUAL(page_rank_scorer_update(w->agents[i].scorer), 0);
        }
    }
}

static unsigned level_of(const Agent *agent, MDB_txn *txn, const char *url)
{
    uint64_t index = 0;
    float old = 0.0f;
    float score = 0.0f;
    CU_ASSERT_EQUAL(page_db_find(agent->db, txn, url, strlen(url), &index), 0);
    CU_ASSERT_EQUAL(page_rank_scorer_get(agent->scorer, index, &old, &score), 0);
    return schedule_level(schedule, score * page_rank_scorer_scale(agent->scorer));
}

/* Of 100 pages, how many have another level than by the whole graph. One that is away is not
 * asked. */
static double differing(const World *w)
{
    MDB_txn *txns[AGENTS_MOST];
    MDB_txn *of_whole = NULL;
    size_t differ = 0;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(whole.db, true, &of_whole), 0);
    for (uint32_t i = 0; i < w->n; i++) {
        CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(w->agents[i].db, true, &txns[i]), 0);
    }
    for (size_t i = 0; i < graph->n_known; i++) {
        char url[URL_BYTES];
        uint16_t owner = w->owner[graph->order[i]];
        if (owner == w->away) {
            continue;
        }
        (void)url_of(graph->order[i], url);
        differ += level_of(&whole, of_whole, url) != level_of(&w->agents[owner], txns[owner], url);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        page_db_txn_abort(w->agents[i].db, txns[i]);
    }
    page_db_txn_abort(whole.db, of_whole);
    return 100.0 * (double)differ / (double)graph->n_known;
}

/* Returns the world as it is then. */
static World *agree(uint32_t n, unsigned loss)
{
    World *w = world_new(n);
    w->loss = loss;
    (void)printf("\n    %u agents, %zu pages, %u crawled, %.0f %% of the links crossing:", n,
                 graph->n_known, CRAWLED, 100.0 * w->crossing / (CRAWLED * LINKS));
    compute(w);
    double share[4];
    share[0] = differing(w);
    for (size_t round = 1; round < 4; round++) {
        exchange(w, (uint64_t)n * (n - 1));
        compute(w);
        share[round] = differing(w);
    }
    (void)printf(" other levels after 0 to 3 exchanges %.2f, %.2f, %.3f, %.3f %%; %u messages, the "
                 "longest %zu bytes ",
                 share[0], share[1], share[2], share[3], w->messages, w->longest);
    CU_ASSERT_TRUE(graph->n_known > 40000);
    CU_ASSERT_TRUE(share[0] > 4.0); /* or this test could not fail */
    CU_ASSERT_TRUE(share[1] <= 1.0);
    CU_ASSERT_TRUE(share[2] <= 0.3);
    CU_ASSERT_TRUE(w->longest < 2 * MASS_CHUNK_BYTES);
    return w;
}

static World *three;

static void three_agents(void)
{
    open_whole();
    three = agree(3, 0);
}

static const MassPeer *peer_of(const World *w, uint16_t agent, uint16_t other)
{
    size_t n = 0;
    const MassPeer *peers = mass_peers(w->agents[agent].mass, &n);
    for (size_t i = 0; i < n; i++) {
        if (peers[i].agent == other) {
            return &peers[i];
        }
    }
    (void)fprintf(stderr, "agent %u has no peer %u\n", (unsigned)agent, (unsigned)other);
    abort();
}

/* Turns over a byte of what agent 0 has of agent 1. */
static void damage(const World *w)
{
    char path[FOLDER_BYTES + 16];
    (void)snprintf(path, sizeof path, "%s/mass/from-1", w->agents[0].dir);
    FILE *file = fopen(path, "r+");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fseek(file, MASS_HEAD_BYTES + 5, SEEK_SET);
    int byte = fgetc(file);
    (void)fseek(file, MASS_HEAD_BYTES + 5, SEEK_SET);
    CU_ASSERT_EQUAL(fputc(byte ^ 1, file), byte ^ 1);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void agents_away(void)
{
    World *w = world = three; /* they have heard of each other */
    exchange(w, 6);
    w->away = 2;
    compute(w);
    const MassPeer *last = peer_of(w, 0, 2);
    CU_ASSERT_TRUE(last->heard && last->placed > 1000 && last->placed == last->head.records);
    uint64_t round = last->head.round;
    exchange(w, 2); /* between the two that are there */
    compute(w);
    CU_ASSERT_TRUE(peer_of(w, 0, 2)->head.round == round);
    CU_ASSERT_TRUE(peer_of(w, 0, 2)->placed > 1000);
    CU_ASSERT_TRUE(differing(w) < 1.0);
    damage(w);
    compute(w);
    CU_ASSERT_FALSE(peer_of(w, 0, 1)->heard);
    CU_ASSERT_TRUE(peer_of(w, 0, 2)->heard);
    exchange(w, 2); /* they have computed anew */
    compute(w);
    CU_ASSERT_TRUE(peer_of(w, 0, 1)->heard);
    w->few = true;
    for (unsigned i = 0; i < 200; i++) {
        exchange_moment(w);
    }
    CU_ASSERT_TRUE(w->agents[0].desk.refused > 0);
    CU_ASSERT_TRUE(peer_of(w, 0, 1)->heard);
    world_delete(w);
}

static void sixteen_agents(void)
{
    world_delete(agree(16, 20));
    close_whole();
}

UNIT_MAIN("mass", {"levels on 3 agents are those of the whole graph", three_agents},
          {"an agent that is away leaves its last word; what is damaged or too much does not count",
           agents_away},
          {"levels on 16 agents are those of the whole graph, when messages are lost",
           sixteen_agents})
