/* Agents of one cluster, each with tables of its own; the test is their ingest threads and carries
 * their blocks. Header only; every test program has its own. */
#ifndef TESTS_UNIT_AGENTS_FIXTURE_H
#define TESTS_UNIT_AGENTS_FIXTURE_H

#include "ingest/chore/inbox_chore.h"
#include "ingest_fixture.h"

#define AGENTS_FIXTURE_MOST 4u

typedef struct Agent {
    IngestFixture ingest;
    IngestCluster cluster;
    Inbox inbox;
    InboxChore *takes;
    AcksChore acks;
    unsigned settled; /* items */
    BlockFault fault; /* of the last one */
    uint64_t grown;   /* bytes that commits put into its outbox */
} Agent;

static const uint8_t agents_fixture_uuid[CLUSTER_UUID_BYTES] = {7};

/* A URL of a host; valid for 64 calls. */
static inline const char *agents_fixture_url(const char *host, const char *path)
{
    static char urls[64][128];
    static unsigned next;
    char *url = urls[next++ % 64];
    (void)snprintf(url, sizeof urls[0], "%s%s", host, path);
    return url;
}

static inline void agents_fixture_note(void *context, NodeNote *note)
{
    Agent *agent = context;
    agent->grown += note->bytes;
    node_note_release(note);
}

static inline void agents_fixture_settled(void *context, InboxItem *item)
{
    Agent *agent = context;
    agent->settled++;
    agent->fault = item->fault;
}

static inline void agents_fixture_open(Agent *agent, uint16_t self, const ClusterTable *table,
                                       const IngestOptions *options)
{
    InboxSinks sinks = {.context = agent, .settled = agents_fixture_settled};
    memset(agent, 0, sizeof *agent);
    agent->ingest.options = *options;
    ingest_fixture_open(&agent->ingest);
    MDB_txn *txn = store_fixture_begin(&agent->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(
        ingest_cluster_init(&agent->cluster, self, table, txn, agent->ingest.tables.store.crawl),
        RESULT_OK);
    store_fixture_commit(&agent->ingest.tables, txn);
    agent->cluster.context = agent;
    agent->cluster.note = agents_fixture_note;
    inbox_init(&agent->inbox, NULL, &sinks);
    agent->takes = inbox_chore_new(&agent->inbox, &agent->cluster);
    acks_chore_init(&agent->acks, &agent->cluster);
}

static inline void agents_fixture_close(Agent *agent)
{
    tray_destroy(&agent->acks.ranges);
    inbox_chore_delete(agent->takes);
    inbox_destroy(&agent->inbox);
    ingest_cluster_destroy(&agent->cluster);
    ingest_fixture_close(&agent->ingest);
}

/* What a transaction does besides. */
typedef Result (*AgentWork)(Batch *batch, void *context);

/* Pages, some work (NULL: none) and a piece of a chore (NULL: none), committed or aborted. */
static inline void agents_fixture_commit(Agent *agent, ParsedPage **pages, size_t n, AgentWork work,
                                         void *context, const IngestChore *chore, bool really)
{
    Batch batch;
    IngestFixture *ingest = &agent->ingest;
    MDB_txn *txn = store_fixture_begin(&ingest->tables, false);
    Result rc = batch_init(&batch, &ingest->options, &ingest->tables.store, ingest->log,
                           &ingest->totals, txn, pages, n);
    CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(ingest_cluster_begin(&agent->cluster, &batch), RESULT_OK);
    CU_ASSERT_EQUAL(page_way_apply(&batch), RESULT_OK);
    if (work != NULL) {
        CU_ASSERT_EQUAL(work(&batch, context), RESULT_OK);
    }
    if (chore != NULL) {
        CU_ASSERT_EQUAL(chore->run(chore->context, &batch, MONO_NEVER), RESULT_OK);
    }
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    if (really) {
        store_fixture_commit(&ingest->tables, txn);
        ingest->totals = batch.totals;
    } else {
        page_db_txn_abort(ingest->tables.store.db, txn);
    }
    ingest_cluster_end(&agent->cluster, &batch, really);
    batch_destroy(&batch);
    if (chore != NULL) {
        chore->ended(chore->context, really ? RESULT_OK : RESULT_IO);
    }
    for (size_t i = 0; i < n; i++) {
        parsed_page_delete(pages[i]);
    }
}

static inline Result agents_fixture_seed_work(Batch *batch, void *context)
{
    LinkInfo link = {.url = context, .score = 1};
    uint64_t added = 0;
    return page_way_seed(batch, &link, NULL, 1, &added);
}

static inline void agents_fixture_seed(Agent *agent, const char *url)
{
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", url);
    agents_fixture_commit(agent, NULL, 0, agents_fixture_seed_work, copy, NULL, true);
}

/* The result of a known URL: it has one link (NULL: none). */
static inline ParsedPage *agents_fixture_result(Agent *agent, const char *url, const char *link,
                                                char hop, float score)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    PageRef page = ingest_fixture_page(&agent->ingest, url);
    fetch->request.url = strdup(url);
    fetch->request.has_page = true;
    fetch->request.index = page.index;
    fetch->request.level = page.level;
    fetch->host.id = page.host;
    fetch->final = true;
    fetch->answer.status = hop == 'R' ? 301 : 200;
    fetch->answer.class = FETCH_OK;
    fetch->cost.wall_start = (WallTime){INT64_C(1700000000000000)};
    fetch->cost.start = (MonoTime){1000000000};
    fetch->cost.end = (MonoTime){1200000000};
    ParsedPage *parsed = parsed_page_new(fetch);
    if (link != NULL) {
        size_t length = strlen(link);
        char *memory = malloc(sizeof(LinkInfo) + 1 + length + 1);
        parsed->links.list = (LinkInfo *)(void *)memory;
        parsed->links.hops = (uint8_t *)memory + sizeof(LinkInfo);
        parsed->links.bytes = memory + sizeof(LinkInfo) + 1;
        memcpy(parsed->links.bytes, link, length + 1);
        parsed->links.hops[0] = (uint8_t)hop;
        parsed->links.list[0] = (LinkInfo){.url = parsed->links.bytes, .score = score};
        parsed->links.n = 1;
    }
    parsed->hashes.body[0] = page.index + 1;
    parsed->parsed = true;
    return parsed;
}

static inline void agents_fixture_crawl(Agent *agent, const char *url, const char *link, char hop,
                                        float score)
{
    ParsedPage *parsed = agents_fixture_result(agent, url, link, hop, score);
    agents_fixture_commit(agent, &parsed, 1, NULL, NULL, NULL, true);
}

/* Gives `to` what `from` has for it, without an answer; how many blocks. */
static inline unsigned agents_fixture_carry(Agent *from, Agent *to, uint16_t name, AckRange *range)
{
    Buffer blocks;
    OutboxRange rows;
    buffer_init(&blocks, BUFFER_NO_LIMIT);
    Result rc = ingest_cluster_read_outbox(&from->cluster, from->ingest.tables.store.db, name, 0,
                                           SIZE_MAX / 2, &blocks, &rows);
    if (rc != RESULT_OK) {
        buffer_destroy(&blocks);
        return 0;
    }
    Envelope envelope = {
        .from = from->cluster.self, .to = name, .blocks = rows.blocks, .sequence = rows.first};
    size_t length = blocks.length;
    inbox_push(&to->inbox,
               inbox_item_new(strdup("asker"), &envelope, buffer_detach(&blocks), length));
    *range = acks_chore_range(name, &rows);
    return rows.blocks;
}

static inline void agents_fixture_take(Agent *agent, bool really)
{
    IngestChore chore = inbox_chore(agent->takes);
    agents_fixture_commit(agent, NULL, 0, NULL, NULL, &chore, really);
}

/* Everything that `from` has for `to`: taken, answered, deleted; or refused. How many blocks. */
static inline unsigned agents_fixture_deliver(Agent *from, Agent *to)
{
    AckRange range;
    unsigned n = agents_fixture_carry(from, to, to->cluster.self, &range);
    if (n > 0) {
        agents_fixture_take(to, true);
        if (to->fault == BLOCK_DRAINED) {
            return 0;
        }
        (void)acks_chore_tell(&from->acks, &range);
        IngestChore acks = acks_chore(&from->acks);
        agents_fixture_commit(from, NULL, 0, NULL, NULL, &acks, true);
    }
    return n;
}

static inline uint64_t agents_fixture_scheduled(Agent *agent)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    MDB_txn *txn = store_fixture_begin(&agent->ingest.tables, true);
    CU_ASSERT_EQUAL(schedule_counts(agent->ingest.tables.store.schedule, txn, &entries, &hosts),
                    RESULT_OK);
    page_db_txn_abort(agent->ingest.tables.store.db, txn);
    return entries;
}

#endif
