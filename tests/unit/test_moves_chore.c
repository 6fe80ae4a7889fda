#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "agents_fixture.h"
#include "ingest/chore/inbox_chore.h"
#include "ingest/move/moves_chore.h"
#include "unit.h"

#define AGENTS 3u

typedef struct World World;

/* One agent's chores, and what they tell. */
typedef struct Mover {
    World *world;
    uint16_t self;
    TableChore table;
    MovesChore moves;
} Mover;

struct World {
    ClusterTable table; /* the newest */
    Agent agents[AGENTS];
    Mover movers[AGENTS];
    char hosts[AGENTS][64];
    bool keeps_hosts; /* the distributor does not let go */
    unsigned settles;
    unsigned retold;
};

static const IngestOptions options = {.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                      .config.score_depth_factor = 0.5,
                                      .config.scope_depth = 30,
                                      .config.fetch_max_redirects = 4};

/* What the node does with it. */
static void on_note(void *context, NodeNote *note)
{
    const Mover *mover = context;
    if (note->kind == NODE_MOVED) {
        mover->world->settles++;
        (void)cluster_table_settle(&mover->world->table, mover->self, note->agent);
    }
    mover->world->retold += note->kind == NODE_RETOLD && note->agent == 1;
    node_note_release(note);
}

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&w->table, agents_fixture_uuid, "", AGENTS),
                          RESULT_OK);
    for (uint16_t i = 0; i < AGENTS; i++) {
        Mover *mover = &w->movers[i];
        agents_fixture_open(&w->agents[i], i, &w->table, &options);
        *mover = (Mover){.world = w, .self = i};
        table_chore_init(&mover->table, &w->agents[i].cluster);
        w->agents[i].cluster.context = mover;
        w->agents[i].cluster.note = on_note;
        moves_chore_init(&mover->moves, &w->agents[i].cluster);
        for (unsigned n = 0;
             n == 0 || cluster_table_owner_of_url(&w->table, w->hosts[i], strlen(w->hosts[i])) != i;
             n++) {
            (void)snprintf(w->hosts[i], sizeof w->hosts[i], "http://h%u.example", n);
        }
    }
    return w;
}

static void tear_down(World *w)
{
    for (size_t i = 0; i < AGENTS; i++) {
        table_chore_destroy(&w->movers[i].table);
        moves_chore_destroy(&w->movers[i].moves);
        agents_fixture_close(&w->agents[i]);
    }
    cluster_table_destroy(&w->table);
    free(w);
}

static const char *url_of(const World *w, uint16_t owner, const char *path)
{
    return agents_fixture_url(w->hosts[owner], path);
}

/* Moves the slot of an agent's host. */
static void move_host(World *w, uint16_t owner, uint16_t to)
{
    unsigned slot = slot_of_url(w->hosts[owner], strlen(w->hosts[owner]));
    CU_ASSERT_EQUAL(cluster_table_move_slot(&w->table, slot, to), RESULT_OK);
}

/* A process dies and begins again: its chore knows nothing. */
static void restart(World *w, uint16_t agent)
{
    Mover *mover = &w->movers[agent];
    moves_chore_destroy(&mover->moves);
    moves_chore_init(&mover->moves, &w->agents[agent].cluster);
}

/* The distributor has nothing in memory. */
static void let_go(World *w, uint16_t agent)
{
    MDB_txn *txn = store_fixture_begin(&w->agents[agent].ingest.tables, true);
    uint32_t n = page_db_n_hosts(w->agents[agent].ingest.tables.store.db, txn);
    page_db_txn_abort(w->agents[agent].ingest.tables.store.db, txn);
    for (uint32_t host = 0; !w->keeps_hosts && host < n; host++) {
        (void)moves_chore_left(&w->movers[agent].moves, host);
    }
}

/* One piece of what is due; false: nothing is. really: it is committed. */
static bool piece(World *w, uint16_t agent, bool really)
{
    Mover *mover = &w->movers[agent];
    IngestChore chores[] = {table_chore(&mover->table), moves_chore(&mover->moves)};
    for (size_t i = 0; i < sizeof chores / sizeof *chores; i++) {
        if (!mono_before(mono_now(), chores[i].due(chores[i].context))) {
            agents_fixture_commit(&w->agents[agent], NULL, 0, NULL, NULL, &chores[i], really);
            let_go(w, agent);
            return true;
        }
    }
    return false;
}

static void deliver_all(World *w)
{
    for (unsigned from = 0; from < AGENTS; from++) {
        for (unsigned to = 0; to < AGENTS; to++) {
            if (from != to) {
                (void)agents_fixture_deliver(&w->agents[from], &w->agents[to]);
            }
        }
    }
}

/* All agents hear of the newest table, and do what there is to do, until nothing is left. */
static void run(World *w)
{
    bool busy = true;
    for (unsigned turns = 0; busy && turns < 200; turns++) {
        busy = false;
        for (uint16_t i = 0; i < AGENTS; i++) {
            (void)table_chore_tell(&w->movers[i].table, &w->table);
            busy |= piece(w, i, true);
        }
        deliver_all(w);
        for (uint16_t i = 0; i < AGENTS; i++) {
            busy |= w->movers[i].moves.place.step == MOVES_SENT;
        }
    }
    CU_ASSERT_FALSE(busy);
}

static HostRecord record_of(World *w, uint16_t agent, const char *url)
{
    HostRecord record;
    uint32_t host = ingest_fixture_page(&w->agents[agent].ingest, url).host;
    StoreFixture *tables = &w->agents[agent].ingest.tables;
    MDB_txn *txn = store_fixture_begin(tables, true);
    CU_ASSERT_EQUAL(host_rows_get(tables->store.hosts, txn, host, &record), RESULT_OK);
    page_db_txn_abort(tables->store.db, txn);
    return record;
}

static PageRef page_of(World *w, uint16_t agent, const char *url)
{
    return ingest_fixture_page(&w->agents[agent].ingest, url);
}

/* Agent 0 has crawled /, which links to /a, and knows /b. */
static void crawl_some(World *w)
{
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/"));
    agents_fixture_crawl(&w->agents[0], url_of(w, 0, "/"), url_of(w, 0, "/a"), 'L', 0.5f);
    agents_fixture_seed(&w->agents[0], url_of(w, 0, "/b"));
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[0]), 2);
}

static void check_moved(World *w, uint16_t to)
{
    PageRef done = page_of(w, to, url_of(w, 0, "/"));
    PageRef a = page_of(w, to, url_of(w, 0, "/a"));
    PageRef b = page_of(w, to, url_of(w, 0, "/b"));
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[0]), 0);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[to]), 2);
    CU_ASSERT_TRUE(page_is_done(&done) && !page_is_stub(&done) && done.level == PAGE_DB_NO_LEVEL);
    CU_ASSERT_TRUE(a.depth == 1 && a.level == 2 && !page_is_stub(&a) && !page_is_done(&a));
    CU_ASSERT_TRUE(b.depth == 0 && b.hop == 'M' && b.level == 0);
    PageRef here = page_of(w, 0, url_of(w, 0, "/"));
    PageRef gone = page_of(w, 0, url_of(w, 0, "/a"));
    CU_ASSERT_TRUE(here.n_crawls == 1 && page_is_stub(&here));
    CU_ASSERT_TRUE(page_is_stub(&gone) && gone.level == PAGE_DB_NO_LEVEL);
    HostRecord old = record_of(w, 0, url_of(w, 0, "/"));
    HostRecord new = record_of(w, to, url_of(w, 0, "/"));
    CU_ASSERT_TRUE(old.state == HOST_MOVED && old.urls == 1 && old.queued == 0);
    CU_ASSERT_TRUE(new.state == HOST_ACTIVE &&new.urls == 2 && new.elsewhere == 1);
    CU_ASSERT_TRUE(new.last_fetch_ms > 0 && host_pages(&new) == 1);
}

static void a_host_goes_with_all_that_is_to_be_fetched(void)
{
    World *w = set_up();
    crawl_some(w);
    move_host(w, 0, 1);
    run(w);
    check_moved(w, 1);
    CU_ASSERT_EQUAL(w->settles, 1);
    tear_down(w);
}

static void nothing_goes_before_the_host_has_left_memory(void)
{
    World *w = set_up();
    IngestChore chore = moves_chore(&w->movers[0].moves);
    crawl_some(w);
    move_host(w, 0, 1);
    w->keeps_hosts = true;
    for (unsigned i = 0; i < 20; i++) {
        (void)table_chore_tell(&w->movers[0].table, &w->table);
        (void)piece(w, 0, true);
    }
    CU_ASSERT_EQUAL(w->movers[0].moves.place.step, MOVES_WAIT);
    CU_ASSERT_EQUAL(ingest_cluster_outbox_blocks(&w->agents[0].cluster), 0);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[0]), 0); /* parked */
    CU_ASSERT_TRUE(chore.holds(chore.context));
    w->keeps_hosts = false;
    let_go(w, 0);
    run(w);
    check_moved(w, 1);
    CU_ASSERT_FALSE(chore.holds(chore.context));
    tear_down(w);
}

/* What is found meanwhile is not fetched before it is known what its former owner has fetched. */
static void the_new_owner_waits_for_the_table(void)
{
    World *w = set_up();
    IngestChore chore = moves_chore(&w->movers[1].moves);
    crawl_some(w);
    agents_fixture_seed(&w->agents[1], url_of(w, 1, "/"));
    agents_fixture_crawl(&w->agents[1], url_of(w, 1, "/"), url_of(w, 0, "/"), 'L',
                         0.5f); /* a stub */
    move_host(w, 0, 1);
    (void)table_chore_tell(&w->movers[1].table, &w->table);
    CU_ASSERT_TRUE(piece(w, 1, true));
    agents_fixture_seed(&w->agents[2], url_of(w, 0, "/new"));
    (void)agents_fixture_deliver(&w->agents[2], &w->agents[0]); /* by the old table */
    agents_fixture_seed(&w->agents[1], url_of(w, 0, "/other"));
    PageRef page = page_of(w, 1, url_of(w, 0, "/other"));
    CU_ASSERT_TRUE(page_is_stub(&page) && page.level == PAGE_DB_NO_LEVEL);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 0);
    CU_ASSERT_TRUE(chore.holds(chore.context));
    run(w);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 4); /* /a /b /new /other */
    page = page_of(w, 1, url_of(w, 0, "/"));
    CU_ASSERT_TRUE(page_is_done(&page) && page.level == PAGE_DB_NO_LEVEL);
    tear_down(w);
}

/* Whatever dies, at whatever step, and whichever transaction is lost: the effect is the same. */
static void deaths_change_nothing(void)
{
    for (unsigned death = 0; death < 40; death++) {
        World *w = set_up();
        uint16_t victim = death % 2;
        crawl_some(w);
        move_host(w, 0, 1);
        for (unsigned i = 0; i < death / 2; i++) {
            (void)table_chore_tell(&w->movers[0].table, &w->table);
            (void)table_chore_tell(&w->movers[1].table, &w->table);
            (void)piece(w, 0, true);
            (void)piece(w, 1, true);
            if (i % 2 == 0) {
                AckRange range; /* its answer is lost */
                if (agents_fixture_carry(&w->agents[0], &w->agents[1], 1, &range) > 0) {
                    agents_fixture_take(&w->agents[1], true);
                }
            }
        }
        (void)piece(w, victim, false);
        restart(w, victim);
        run(w);
        check_moved(w, 1);
        tear_down(w);
    }
}

static void a_host_comes_back(void)
{
    World *w = set_up();
    crawl_some(w);
    move_host(w, 0, 1);
    run(w);
    agents_fixture_crawl(&w->agents[1], url_of(w, 0, "/a"), url_of(w, 0, "/c"), 'L', 0.5f);
    move_host(w, 0, 0);
    run(w);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 0);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[0]), 2); /* /b and /c */
    PageRef a = page_of(w, 0, url_of(w, 0, "/a"));
    PageRef root = page_of(w, 0, url_of(w, 0, "/"));
    CU_ASSERT_TRUE(page_is_done(&a) && !page_is_stub(&a) && a.level == PAGE_DB_NO_LEVEL);
    CU_ASSERT_TRUE(root.n_crawls == 1 && !page_is_stub(&root));
    HostRecord record = record_of(w, 0, url_of(w, 0, "/"));
    CU_ASSERT_TRUE(record.state == HOST_ACTIVE && record.urls == 3 && host_pages(&record) == 2);
    tear_down(w);
}

static void a_drained_agent_takes_nothing_and_rows_for_it_go_elsewhere(void)
{
    World *w = set_up();
    AckRange range;
    crawl_some(w);
    agents_fixture_seed(&w->agents[2], url_of(w, 0, "/late")); /* waits in the outbox of 2 */
    CU_ASSERT_EQUAL(cluster_table_drain(&w->table, 0), RESULT_OK);
    (void)table_chore_tell(&w->movers[0].table, &w->table);
    CU_ASSERT_TRUE(piece(w, 0, true));
    CU_ASSERT_EQUAL(agents_fixture_carry(&w->agents[2], &w->agents[0], 0, &range), 1);
    agents_fixture_take(&w->agents[0], true);
    CU_ASSERT_EQUAL(w->agents[0].fault, BLOCK_DRAINED);
    run(w);
    CU_ASSERT_EQUAL(cluster_table_share(&w->table, 0).owned, 0);
    CU_ASSERT_FALSE(cluster_table_has(&w->table, 0));
    for (unsigned i = 0; i < AGENTS; i++) {
        CU_ASSERT_EQUAL(ingest_cluster_outbox_blocks(&w->agents[i].cluster), 0);
    }
    uint16_t owner = cluster_table_owner_of_url(&w->table, w->hosts[0], strlen(w->hosts[0]));
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[owner]), 3);
    PageRef late = page_of(w, owner, url_of(w, 0, "/late"));
    CU_ASSERT_TRUE(!page_is_stub(&late) && late.level != PAGE_DB_NO_LEVEL);
    tear_down(w);
}

static void a_lost_frontier_comes_back_from_the_peers(void)
{
    World *w = set_up();
    agents_fixture_seed(&w->agents[0], url_of(w, 1, "/x"));
    agents_fixture_seed(&w->agents[2], url_of(w, 1, "/y"));
    deliver_all(w);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 2);
    run(w);
    agents_fixture_close(&w->agents[1]); /* its disk is lost */
    CU_ASSERT_EQUAL(cluster_table_restore(&w->table, 1), RESULT_OK);
    agents_fixture_open(&w->agents[1], 1, &w->table, &options);
    restart(w, 1);
    run(w);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 0);
    for (unsigned i = 0; i < AGENTS; i += 2) { /* it has greeted them with nothing */
        CU_ASSERT_EQUAL(moves_chore_retell(&w->movers[i].moves, 1, 0), RESULT_OK);
    }
    run(w);
    CU_ASSERT_EQUAL(w->retold, 2);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agents[1]), 2);
    CU_ASSERT_EQUAL(page_of(w, 1, url_of(w, 1, "/y")).hop, 'M');
    run(w); /* once is enough */
    CU_ASSERT_EQUAL(w->agents[0].cluster.totals.urls_sent, 2);
    tear_down(w);
}

UNIT_MAIN(
    "moves chore",
    {"a host goes with all that is to be fetched", a_host_goes_with_all_that_is_to_be_fetched},
    {"nothing goes before the host has left memory", nothing_goes_before_the_host_has_left_memory},
    {"the new owner waits for the table", the_new_owner_waits_for_the_table},
    {"deaths change nothing", deaths_change_nothing}, {"a host comes back", a_host_comes_back},
    {"a drained agent takes nothing, and rows for it go elsewhere",
     a_drained_agent_takes_nothing_and_rows_for_it_go_elsewhere},
    {"a lost frontier comes back from the peers", a_lost_frontier_comes_back_from_the_peers})
