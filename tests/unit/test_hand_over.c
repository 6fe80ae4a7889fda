#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "agents_fixture.h"
#include "unit.h"

typedef struct World {
    ClusterTable table;
    Agent agents[3];
    char hosts[3][64]; /* "http://hN.example", of each agent */
} World;

static const IngestOptions options = {.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                      .config.score_depth_factor = 0.5,
                                      .config.scope_depth = 30,
                                      .config.fetch_max_redirects = 4};

static World *set_up_with(const IngestOptions *with)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&w->table, agents_fixture_uuid, "", 3), RESULT_OK);
    for (uint16_t i = 0; i < 3; i++) {
        agents_fixture_open(&w->agents[i], i, &w->table, with);
        for (unsigned n = 0;
             n == 0 || cluster_table_owner_of_url(&w->table, w->hosts[i], strlen(w->hosts[i])) != i;
             n++) {
            (void)snprintf(w->hosts[i], sizeof w->hosts[i], "http://h%u.example", n);
        }
    }
    return w;
}

static World *set_up(void)
{
    return set_up_with(&options);
}

static void tear_down(World *w)
{
    for (size_t i = 0; i < 3; i++) {
        agents_fixture_close(&w->agents[i]);
    }
    cluster_table_destroy(&w->table);
    free(w);
}

/* A URL of a host that the agent owns. */
static const char *url_of(const World *w, uint16_t owner, const char *path)
{
    return agents_fixture_url(w->hosts[owner], path);
}

static bool knows(Agent *agent, const char *url)
{
    uint64_t index = 0;
    MDB_txn *txn = store_fixture_begin(&agent->ingest.tables, true);
    int rc = page_db_find(agent->ingest.tables.store.db, txn, url, strlen(url), &index);
    page_db_txn_abort(agent->ingest.tables.store.db, txn);
    return rc == 0;
}

static bool via_of(Agent *agent, const char *url, Via *via)
{
    uint64_t index = ingest_fixture_page(&agent->ingest, url).index;
    MDB_txn *txn = store_fixture_begin(&agent->ingest.tables, true);
    Result rc = via_table_get(agent->cluster.vias, txn, index, via);
    page_db_txn_abort(agent->ingest.tables.store.db, txn);
    return rc == RESULT_OK;
}

static void a_foreign_url_becomes_a_stub_and_its_owners_page(void)
{
    World *w = set_up();
    Agent *finder = &w->agents[0];
    Agent *owner = &w->agents[1];
    const char *url = url_of(w, 1, "/x");
    Via via;
    agents_fixture_seed(finder, url_of(w, 0, "/"));
    agents_fixture_crawl(finder, url_of(w, 0, "/"), url, 'L', 0.5f);
    PageRef stub = ingest_fixture_page(&finder->ingest, url);
    CU_ASSERT_TRUE(page_is_stub(&stub) && stub.level == SCHEDULE_NO_LEVEL && stub.depth == 1);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(finder), 0);
    CU_ASSERT_EQUAL(finder->cluster.totals.stubs, 1);
    CU_ASSERT_EQUAL(ingest_cluster_outbox_blocks(&finder->cluster), 1);
    CU_ASSERT_TRUE(finder->grown > 0);
    /* The link is there, and no record of a host that is another's. */
    uint64_t *to = NULL;
    size_t n = 0, n_diff = 0;
    HostRecord record;
    MDB_txn *txn = store_fixture_begin(&finder->ingest.tables, true);
    CU_ASSERT_EQUAL(page_db_get_links(finder->ingest.tables.store.db, txn, 0, &to, &n, &n_diff), 0);
    CU_ASSERT_TRUE(n == 1 && to[0] == stub.index);
    CU_ASSERT_EQUAL(host_rows_get(finder->ingest.tables.store.hosts, txn, stub.host, &record),
                    RESULT_OK);
    CU_ASSERT_EQUAL(record.urls, 0);
    page_db_txn_abort(finder->ingest.tables.store.db, txn);
    free(to);
    CU_ASSERT_EQUAL(agents_fixture_deliver(finder, owner), 1);
    CU_ASSERT_TRUE(owner->settled == 1 && owner->fault == BLOCK_GOOD);
    CU_ASSERT_EQUAL(ingest_cluster_outbox_blocks(&finder->cluster), 0);
    PageRef page = ingest_fixture_page(&owner->ingest, url);
    CU_ASSERT_TRUE(!page_is_stub(&page) && page.depth == 1 && page.hop == 'L');
    CU_ASSERT_EQUAL(page.level, 2); /* 0.5 * 0.5^1 */
    CU_ASSERT_EQUAL(agents_fixture_scheduled(owner), 1);
    CU_ASSERT_TRUE(via_of(owner, url, &via) && via.agent == 0 && via.parent == 0);
    CU_ASSERT_EQUAL(agents_fixture_deliver(finder, owner), 0);
    CU_ASSERT_EQUAL(owner->cluster.totals.urls_taken, 1);
    tear_down(w);
}

static void a_seed_goes_where_it_belongs(void)
{
    World *w = set_up();
    const char *url = url_of(w, 2, "/seed");
    Via via;
    agents_fixture_seed(&w->agents[0], url);
    CU_ASSERT_EQUAL(agents_fixture_deliver(&w->agents[0], &w->agents[2]), 1);
    PageRef page = ingest_fixture_page(&w->agents[2].ingest, url);
    CU_ASSERT_TRUE(page.depth == 0 && page.hop == 'M' && page.level == 0);
    CU_ASSERT_TRUE(via_of(&w->agents[2], url, &via) && via.parent == LINK_NO_PARENT);
    tear_down(w);
}

static void what_comes_twice_has_one_effect(void)
{
    World *w = set_up();
    AckRange range;
    agents_fixture_seed(&w->agents[0], url_of(w, 1, "/x"));
    for (unsigned i = 0; i < 3; i++) { /* the answers are lost */
        CU_ASSERT_EQUAL(agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range), 1);
        agents_fixture_take(&w->agents[1], true);
    }
    CU_ASSERT_EQUAL(w->agents[1].settled, 3);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 1);
    /* Two that wait together are one. */
    (void)agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range);
    (void)agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range);
    CU_ASSERT_EQUAL(inbox_count(&w->agents[1].inbox, NULL), 1);
    agents_fixture_take(&w->agents[1], true);
    CU_ASSERT_EQUAL(w->agents[1].settled, 4);
    tear_down(w);
}

static void without_a_commit_there_is_no_answer(void)
{
    World *w = set_up();
    AckRange range;
    agents_fixture_seed(&w->agents[0], url_of(w, 1, "/x"));
    (void)agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range);
    agents_fixture_take(&w->agents[1], false);
    CU_ASSERT_EQUAL(w->agents[1].settled, 0);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 0);
    CU_ASSERT_EQUAL(inbox_count(&w->agents[1].inbox, NULL), 1);
    agents_fixture_take(&w->agents[1], true);
    CU_ASSERT_EQUAL(w->agents[1].settled, 1);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 1);
    tear_down(w);
}

static void a_url_is_sent_once_and_again_when_its_path_is_better(void)
{
    World *w = set_up();
    Agent *finder = &w->agents[0];
    const char *url = url_of(w, 1, "/x");
    Via via;
    agents_fixture_seed(finder, url_of(w, 0, "/"));
    agents_fixture_crawl(finder, url_of(w, 0, "/"), url_of(w, 0, "/a"), 'L', 1);
    agents_fixture_crawl(finder, url_of(w, 0, "/a"), url_of(w, 0, "/b"), 'L', 1);
    agents_fixture_crawl(finder, url_of(w, 0, "/b"), url, 'L', 1);
    CU_ASSERT_EQUAL(agents_fixture_deliver(finder, &w->agents[1]), 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->agents[1].ingest, url).depth, 3);
    agents_fixture_seed(finder, url_of(w, 0, "/other"));
    agents_fixture_crawl(finder, url_of(w, 0, "/other"), url, 'L', 1);
    CU_ASSERT_EQUAL(agents_fixture_deliver(finder, &w->agents[1]), 1); /* depth 1 */
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->agents[1].ingest, url).depth, 1);
    uint64_t parent = ingest_fixture_page(&finder->ingest, url_of(w, 0, "/other")).index;
    CU_ASSERT_TRUE(via_of(&w->agents[1], url, &via) && via.parent == parent);
    agents_fixture_seed(finder, url_of(w, 0, "/third"));
    agents_fixture_crawl(finder, url_of(w, 0, "/third"), url, 'L', 1);
    CU_ASSERT_EQUAL(agents_fixture_deliver(finder, &w->agents[1]), 0); /* no better */
    CU_ASSERT_EQUAL(finder->cluster.totals.urls_sent, 2);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 1);
    tear_down(w);
}

/* Each agent redirects to the other for ever; the chain ends all the same. */
/* Both paths come with one batch, the longer one first: the owner gets the better one. */
static void a_better_path_of_the_same_batch_is_sent_too(void)
{
    World *w = set_up();
    Agent *finder = &w->agents[0];
    const char *far = url_of(w, 0, "/far");
    const char *url = url_of(w, 1, "/x");
    agents_fixture_seed(finder, url_of(w, 0, "/"));
    agents_fixture_crawl(finder, url_of(w, 0, "/"), far, 'L', 0.5f);
    agents_fixture_seed(finder, url_of(w, 0, "/near"));
    ParsedPage *pages[] = {agents_fixture_result(finder, far, url, 'L', 0.5f),
                           agents_fixture_result(finder, url_of(w, 0, "/near"), url, 'L', 0.5f)};
    agents_fixture_commit(finder, pages, 2, NULL, NULL, NULL, true);
    CU_ASSERT_EQUAL(ingest_fixture_page(&finder->ingest, url).depth, 1);
    (void)agents_fixture_deliver(finder, &w->agents[1]);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->agents[1].ingest, url).depth, 1);
    tear_down(w);
}

static void a_loop_of_redirects_over_two_agents_ends(void)
{
    World *w = set_up();
    char path[32] = "/0";
    unsigned steps = 0;
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/0"));
    for (; steps < 20; steps++) {
        Agent *here = &w->agents[steps % 2];
        Agent *there = &w->agents[(steps + 1) % 2];
        char next[32];
        (void)snprintf(next, sizeof next, "/%u", steps + 1);
        const char *url = url_of(w, (uint16_t)((steps + 1) % 2), next);
        agents_fixture_crawl(here, url_of(w, (uint16_t)(steps % 2), path), url, 'R', 1);
        (void)agents_fixture_deliver(here, there);
        if (ingest_fixture_page(&there->ingest, url).level == SCHEDULE_NO_LEVEL) {
            break;
        }
        (void)snprintf(path, sizeof path, "%s", next);
    }
    CU_ASSERT_EQUAL(steps, options.config.fetch_max_redirects);
    CU_ASSERT_EQUAL(w->agents[steps % 2 == 0].ingest.totals.refused[REFUSED_REDIRECTS], 1);
    tear_down(w);
}

static void a_chain_goes_on_where_it_crosses(void)
{
    World *w = set_up();
    Agent *there = &w->agents[1];
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/"));
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/"), url_of(w, 0, "/a"), 'R', 1);
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/a"), url_of(w, 1, "/b"), 'R', 1);
    (void)agents_fixture_deliver(&w->agents[0], there);
    agents_fixture_crawl(there, url_of(w, 1, "/b"), url_of(w, 1, "/c"), 'R', 1);
    agents_fixture_crawl(there, url_of(w, 1, "/c"), url_of(w, 1, "/d"), 'R', 1); /* the fourth */
    CU_ASSERT_EQUAL(agents_fixture_scheduled(there), 1);
    agents_fixture_crawl(there, url_of(w, 1, "/d"), url_of(w, 1, "/e"), 'R', 1);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(there), 0);
    CU_ASSERT_EQUAL(there->ingest.totals.refused[REFUSED_REDIRECTS], 1);
    tear_down(w);
}

static void what_is_not_its_own_an_agent_sends_on(void)
{
    World *w = set_up();
    const char *url = url_of(w, 2, "/x");
    AckRange range;
    Via via;
    /* The finder has another table, in which agent 1 has everything that is not its own. */
    ClusterTable *other = &w->agents[0].cluster.table;
    CU_ASSERT_EQUAL(cluster_table_move(other, 2, 1, SLOT_COUNT), RESULT_OK);
    CU_ASSERT_EQUAL(cluster_table_settle(other, 2, 1), RESULT_OK);
    other->epoch = 7;
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/"));
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/"), url, 'L', 1);
    CU_ASSERT_EQUAL(agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range), 1);
    agents_fixture_take(&w->agents[1], true);
    CU_ASSERT_EQUAL(w->agents[1].fault, BLOCK_GOOD);
    PageRef stub = ingest_fixture_page(&w->agents[1].ingest, url);
    CU_ASSERT_TRUE(page_is_stub(&stub));
    CU_ASSERT_EQUAL(agents_fixture_deliver(&w->agents[1], &w->agents[2]), 1);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[2]), 1);
    /* It still comes from the page of agent 0. */
    CU_ASSERT_TRUE(via_of(&w->agents[2], url, &via) && via.agent == 0 && via.parent == 0);
    tear_down(w);
}

/* A block of one record for agent 1, whose table has the same epoch. */
static void push_record(World *w, const char *url, uint32_t epoch)
{
    LinkBlockWriter writer;
    LinkRecord record = {.url = url, .length = strlen(url), .hop = 'L', .estimate = -1};
    Envelope envelope = {.from = 0, .to = 1, .blocks = 1};
    static uint64_t sequence;
    envelope.sequence = ++sequence;
    link_block_writer_init(&writer);
    CU_ASSERT_EQUAL(link_block_append(&writer, &record), RESULT_OK);
    CU_ASSERT_EQUAL(link_block_finish(&writer, epoch), RESULT_OK);
    size_t length = writer.block.length;
    char *bytes = malloc(length);
    memcpy(bytes, writer.block.data, length);
    inbox_push(&w->agents[1].inbox, inbox_item_new(strdup("asker"), &envelope, bytes, length));
    agents_fixture_take(&w->agents[1], true);
    link_block_writer_destroy(&writer);
}

static void bad_blocks_are_refused_whole(void)
{
    World *w = set_up();
    Agent *agent = &w->agents[1];
    push_record(w, url_of(w, 2, "/x"), 1);
    CU_ASSERT_EQUAL(agent->fault, BLOCK_SLOT);
    CU_ASSERT_FALSE(knows(agent, url_of(w, 2, "/x")));
    push_record(w, url_of(w, 1, "/a/../b"), 1);
    CU_ASSERT_EQUAL(agent->fault, BLOCK_RECORD);
    push_record(w, url_of(w, 1, "/x#fragment"), 1);
    CU_ASSERT_EQUAL(agent->fault, BLOCK_RECORD);
    push_record(w, "http://", 1);
    CU_ASSERT_EQUAL(agent->fault, BLOCK_RECORD);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(agent), 0);
    CU_ASSERT_EQUAL(agent->cluster.totals.blocks_taken, 0);
    push_record(w, url_of(w, 1, "/b"), 1);
    CU_ASSERT_EQUAL(agent->fault, BLOCK_GOOD);
    CU_ASSERT_EQUAL(agent->settled, 5);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(agent), 1);
    tear_down(w);
}

static void what_is_too_deep_is_not_sent(void)
{
    IngestOptions shallow = options;
    shallow.config.scope_depth = 0;
    World *w = set_up_with(&shallow);
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/"));
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/"), url_of(w, 1, "/x"), 'L', 1);
    CU_ASSERT_EQUAL(w->agents[0].ingest.totals.refused[REFUSED_DEPTH], 1);
    CU_ASSERT_EQUAL(ingest_cluster_outbox_blocks(&w->agents[0].cluster), 0);
    CU_ASSERT_TRUE(knows(&w->agents[0], url_of(w, 1, "/x")));
    tear_down(w);
}

static int guess(void *state, const ScorerLink *link, float *score)
{
    (void)state;
    *score = link->parent == PAGE_DB_NO_INDEX ? 0.9f : 0.03f;
    return 0;
}

static void the_finders_estimate_decides_about_the_level(void)
{
    Scorer scorer = {.estimate = guess};
    IngestOptions scored = options;
    scored.scorer = &scorer;
    World *w = set_up_with(&scored);
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/"));
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/"), url_of(w, 1, "/x"), 'L', 1);
    (void)agents_fixture_deliver(&w->agents[0], &w->agents[1]);
    unsigned level = schedule_level(w->agents[1].ingest.tables.store.schedule, 0.03f);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->agents[1].ingest, url_of(w, 1, "/x")).level, level);
    CU_ASSERT_TRUE(level > 1);
    tear_down(w);
}

static void spellings_meet_at_the_owner(void)
{
    IngestOptions spelled = options;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(dedup_parse_steps("tracking", &spelled.dedup, &error), RESULT_OK);
    World *w = set_up_with(&spelled);
    agents_fixture_seed(&w->agents[0], url_of(w, 1, "/x?utm_source=a"));
    agents_fixture_seed(&w->agents[2], url_of(w, 1, "/x?utm_source=b"));
    CU_ASSERT_EQUAL(agents_fixture_deliver(&w->agents[0], &w->agents[1]), 1);
    CU_ASSERT_EQUAL(agents_fixture_deliver(&w->agents[2], &w->agents[1]), 1);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 1);
    CU_ASSERT_TRUE(knows(&w->agents[1], url_of(w, 1, "/x?utm_source=a")));
    CU_ASSERT_FALSE(knows(&w->agents[1], url_of(w, 1, "/x?utm_source=b")));
    buffer_destroy(&error);
    tear_down(w);
}

UNIT_MAIN("hand over",
          {"a foreign URL becomes a stub, and its owner's page",
           a_foreign_url_becomes_a_stub_and_its_owners_page},
          {"a seed goes where it belongs", a_seed_goes_where_it_belongs},
          {"what comes twice has one effect", what_comes_twice_has_one_effect},
          {"without a commit there is no answer", without_a_commit_there_is_no_answer},
          {"a URL is sent once, and again when its path is better",
           a_url_is_sent_once_and_again_when_its_path_is_better},
          {"a better path of the same batch is sent, too",
           a_better_path_of_the_same_batch_is_sent_too},
          {"a loop of redirects over two agents ends", a_loop_of_redirects_over_two_agents_ends},
          {"a chain goes on where it crosses", a_chain_goes_on_where_it_crosses},
          {"what is not its own an agent sends on", what_is_not_its_own_an_agent_sends_on},
          {"bad blocks are refused whole", bad_blocks_are_refused_whole},
          {"what is too deep is not sent", what_is_too_deep_is_not_sent},
          {"the finder's estimate decides about the level",
           the_finders_estimate_decides_about_the_level},
          {"spellings meet at the owner", spellings_meet_at_the_owner})
