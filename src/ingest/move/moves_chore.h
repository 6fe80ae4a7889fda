/* Moves chore: does what a new cluster table asks of this agent (cluster/link/slot_duty.h).
 *
 *   a table --> MOVES_ROUTES: rows of the outbox for agents without slots get another address
 *           --> MOVES_HOSTS:  hosts of slots that leave are closed; of slots that came, opened
 *           --> MOVES_WAIT:   until the distributor has let them go; then each goes to the outbox
 *           --> MOVES_PAGES:  a walk over all pages: leave, adopt, tell (ingest/move/page_move.h)
 *           --> MOVES_SENT:   until the new owners have committed all of it; then NODE_MOVED is
 * said
 *           --> MOVES_NONE
 *   an agent has lost what it had --> its slots are to be told again --> a new plan; NODE_RETOLD
 *
 * What: a table that changes the duties begins anew with MOVES_ROUTES, and so does a process. One
 * that does not goes on behind MOVES_ROUTES, since another agent may have no slots by it. What
 * was done before is found done: a page that was sent is a stub, a host that was closed is
 * HOST_MOVED. So the walk needs no memory of its own, and a kill costs nothing but the walk.
 * While the outbox has MOVES_OUTBOX_BYTES the walk waits.
 *
 * Owns: the plan, its place in it, the list of hosts that have not left. The cluster is borrowed.
 * Threads: any thread may call moves_chore_left and moves_chore_figures; the rest belongs to
 * ingest.
 * Invariants:
 *  1. No page of a host is sent before the distributor has let the host go, with every result of it
 *     committed: so nobody fetches from it here when its new owner begins.
 *  2. NODE_MOVED is said of an agent only when every row that the walk has put into the outbox for
 *     it was committed there; when this agent has no slot left, when the outbox is empty. */
#pragma once

#include "base/thread/tray.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/batch/ingest_chore.h"

#define MOVES_OUTBOX_BYTES ((uint64_t)64 << 20)

typedef enum MovesStep {
    MOVES_NONE,
    MOVES_ROUTES,
    MOVES_HOSTS,
    MOVES_WAIT,
    MOVES_PAGES,
    MOVES_SENT
} MovesStep;

/* "hosts", for status lines. */
const char *moves_step_name(MovesStep step);

/* Where it is; a piece changes a copy, which counts when the piece is committed. */
typedef struct MovesPlace {
    MovesStep step;
    MovesStep
        after; /* of MOVES_ROUTES: what it goes on with; MOVES_NONE: the plan, from its start */
    uint32_t route; /* agent */
    uint32_t host;
    uint64_t page;
    uint64_t hosts_left; /* how many did what, for the log */
    uint64_t pages_left;
    uint64_t pages_adopted;
    uint64_t pages_told;
} MovesPlace;

typedef struct MovesFigures {
    MovesStep step;
    uint64_t done;  /* pages, while it walks over them */
    uint64_t all;   /* likewise */
    uint64_t waits; /* hosts that have not left yet */
} MovesFigures;

/* An agent that has lost what it had. */
typedef struct MovesRetell {
    uint16_t agent;
    uint64_t heard; /* of it, from now on */
} MovesRetell;

typedef struct MovesChore {
    IngestCluster *cluster;
    uint64_t epoch; /* of the table that was looked at last; 0: none */
    SlotPlan plan;
    SlotPlan wanted; /* scratch */
    MovesPlace place;
    MovesPlace next;
    SlotDuty duty;        /* as it will be when this piece is committed */
    bool duty_changed;    /* it will */
    Map waits;            /* hosts that have not left, by id + 1 */
    size_t n_taken;       /* of `left`, in this transaction */
    uint64_t pages;       /* in the database, as of the last piece of the walk */
    uint64_t sent_below;  /* sequence of the outbox */
    uint64_t blocks_seen; /* of the outbox, at the last look */
    uint16_t *settled;    /* agents that have everything, as of this piece; owned */
    size_t n_settled;
    MonoTime again;      /* hosts are closed again; NODE_MOVED is said again */
    Buffer text;         /* scratch */
    Tray left;           /* hosts (uint32_t) that the distributor has let go; without memory one is
                            lost, and asked for again */
    atomic_bool listens; /* else what the distributor lets go is dropped */
    Tray lost;           /* of MovesRetell */
    bool retells;        /* this piece is the first of `lost` */
    Mutex mutex;         /* RANK_TABLE; guards what follows */
    MovesFigures figures;
} MovesChore;

void moves_chore_init(MovesChore *chore, IngestCluster *cluster);
void moves_chore_destroy(MovesChore *chore);
/* DistributorSinks.left. True: the ingest thread should be woken. Without memory it is asked for
 * again. */
bool moves_chore_left(MovesChore *chore, uint32_t host);
/* Every URL of the agent is to be sent to it again; NODE_RETOLD follows. Any thread. RESULT_MEMORY.
 */
Result moves_chore_retell(MovesChore *chore, uint16_t agent, uint64_t heard);
void moves_chore_figures(MovesChore *chore, MovesFigures *figures);
IngestChore moves_chore(MovesChore *chore);
