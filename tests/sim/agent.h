/* An agent of a cluster in virtual time: the real node, and a crawl of real parts (crawl.h) with
 * the real outbox, inbox and chores, joined as src/crawl/cluster joins them.
 *
 *   SimNet --> node --> leases: workbench; blocks: inbox chore; tables: table and moves chore
 *                <----- wants, rows of the outbox, what is committed
 *
 * A process dies by agent_kill: its memory is gone, its database is what it was at its last commit.
 * The next one joins again by what stands there. Messages wait for their turn as in the thread
 * `cluster`: a member works at most every 10 ms. */
#ifndef TESTS_SIM_AGENT_H
#define TESTS_SIM_AGENT_H

#include "cluster/node/node.h"
#include "crawl.h"
#include "frontier/distributor/frontier.h"
#include "ingest/chore/inbox_chore.h"
#include "ingest/move/moves_chore.h"
#include "transport_sim.h"

typedef enum AgentState {
    AGENT_AWAY,    /* until `start` */
    AGENT_JOINING, /* node and database */
    AGENT_MEMBER,  /* and the rest */
    AGENT_LEAVING,
    AGENT_ENDED /* it has heard that the crawl is over */
} AgentState;

/* The same for all. */
typedef struct AgentRules {
    LeaseRules lease;
    uint64_t limit; /* pages of all together; 0 = none */
    uint64_t seed;
    void *context;
    void (*out)(void *context, uint16_t number, const char *why);
} AgentRules;

typedef struct Agent {
    const AgentRules *rules;
    SimNet *net;
    Dice *dice;
    uint16_t number; /* of the directory; the node's may be another */
    AgentState state;
    MonoTime start;
    int64_t pause_ms;     /* of a stop */
    MonoTime still_until; /* its machine stands still */
    int64_t behind_ns;    /* its clocks, which have stood still, too */
    unsigned machine;     /* that its directory is on */
    MonoTime failed_end;  /* after a failed commit the process ends then */
    bool out;
    EndVerdict verdict;
    bool stops; /* an operator stops it, until `start` */
    Crawl crawl;
    CrawlShare share;
    Node *node;
    MonoTime due; /* agent_next as of the last look */
    bool stale;   /* something has happened since */
    MonoTime node_due;
    MonoTime node_worked;
    IngestCluster cluster;
    Inbox inbox;
    InboxChore *inbox_chore;
    AcksChore acks;
    TableChore table;
    MovesChore moves;
    Edicts edicts; /* on its disk */
    bool edicts_are_new;
    uint64_t told; /* the ticket of the order that was answered last */
    Result told_rc;
    char told_text[1024];
    LeaseNotice *leases; /* of the node, for the workbench */
    size_t n_leases;
    uint64_t arrived; /* blocks of others */
    uint64_t commits; /* of all processes */
    MonoTime began;   /* this process */
    int64_t join_ms;  /* from there until it was a member; of all processes */
    unsigned joins;
    MonoTime member_since; /* this process */
    const char *settings;  /* of its next process */
} Agent;

/* The directory is made. False: it cannot be opened. */
bool agent_open(Agent *agent, uint16_t number, const CrawlOptions *options, const AgentRules *rules,
                SimNet *net, const World *world, Audit *audit);
void agent_close(Agent *agent);
/* When something happens here next, but for messages. */
MonoTime agent_next(Agent *agent);
/* Whether something may be due now. */
bool agent_is_due(const Agent *agent);
/* Does what is due. False: a part is broken. */
bool agent_work(Agent *agent);
/* One that has ended starts again then. */
void agent_start_again(Agent *agent, MonoTime when);
/* The process ends, and the next one starts then. */
void agent_kill(Agent *agent, MonoTime start);
/* Nobody hears of its machine any more, and the next one starts on another. */
void agent_lose(Agent *agent, MonoTime start);
/* A member ends by itself, with all that it has committed; the next process starts pause_ms later.
 */
void agent_stop(Agent *agent, int64_t pause_ms);
/* Its machine stands still for so long, and none of its clocks shows it. */
void agent_stand_still(Agent *agent, int64_t ms);
/* By its clock. */
static inline MonoTime agent_now(const Agent *agent)
{
    return (MonoTime){agent->net->now.ns - agent->behind_ns};
}
/* A copy of its database, as `ragno backup` makes it, in a new directory; false: it cannot be made.
 */
bool agent_back_up(Agent *agent, const char *path);
/* The process is killed, the backup takes the place of its directory, and the next one starts then.
 */
bool agent_put_back(Agent *agent, const char *path, MonoTime start);
bool agent_runs(const Agent *agent);
/* Of the table; CLUSTER_NOBODY. */
uint16_t agent_self(const Agent *agent);
/* A line on standard error: what it waits for. */
void agent_tell(const Agent *agent);

#endif
