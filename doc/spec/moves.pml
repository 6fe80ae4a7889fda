/* Slots that move: from their owner to another agent, while agents are drained, killed, and stopped for good
 * (src/ingest/move/moves_chore.h, src/cluster/link/slot_duty.h, src/cluster/table/cluster_table.h).
 *
 * Two slots with a URL each; the second URL is found on the page of the first, and one of them perhaps by agent 2, too. A third slot is agent 2's, and stays. A
 * table is MOVING where `from` and `to` differ; each agent commits it when it comes by.
 * Shown: nobody begins a fetch while another agent has one under way; when nothing can happen any more, both URLs
 * were fetched and committed once, no slot is moving, and no agent has anything for another. Invariants, as in moves_chore.h:
 *  1. Nothing of a slot is sent before its fetches have ended.
 *  2. A slot is settled when its new owner has committed all of it; the last one of an agent, when it has nothing left.
 *  3. Rows for an agent without slots get another address at each table.
 * Bounded: three agents, two URLs, two drains or moves, two kills; a message that is lost is sent again.
 * Mutants, each by -D: see doc/spec/mutants. */
#define AGENTS 3
#define SLOTS  2

typedef Table {
    byte from[SLOTS];
    byte to[SLOTS]
}
typedef Agent {
    Table table;       /* on disk */
    byte scheduled;    /* masks of slots; on disk: its URL is to be fetched here */
    byte known;        /* or known, at least */
    byte done;         /* or was fetched, here or elsewhere */
    byte left;         /* was sent away, all of it */
    byte rows[AGENTS]; /* in the outbox, for each other agent: URLs that are to be fetched */
    byte told[AGENTS]; /* and those that are done */
    byte flying        /* not on disk */
}
Agent a[AGENTS];
Table newest;
byte fetched[SLOTS];
byte drains = 0;
byte kills = 0;
byte links; /* mask of a slot: agent 2 finds its URL, too */
bool stopped[AGENTS];

#define BIT(s)      (1 << (s))
#define HAS(m, s)   (((m) >> (s)) & 1)
#define OWNS(i, s)  (a[i].table.from[s] == (i) && a[i].table.to[s] == (i))
#define LEAVES(i, s) (a[i].table.from[s] == (i) && a[i].table.to[s] != (i))
/* By an agent's table: it has slots, or gets some. */
#define COUNT(t, i) ((i) == 2 || t.to[0] == (i) || t.to[1] == (i))
#define NAMED(t, i) (COUNT(t, i) || t.from[0] == (i) || t.from[1] == (i))
#define SAME(t, u)  (t.from[0] == u.from[0] && t.from[1] == u.from[1] && t.to[0] == u.to[0] && t.to[1] == u.to[1])
#define EMPTY(i)    (a[i].rows[0] + a[i].rows[1] + a[i].rows[2] + a[i].told[0] + a[i].told[1] + a[i].told[2] == 0)
#define FLYING(s)   (HAS(a[0].flying, s) + HAS(a[1].flying, s) + HAS(a[2].flying, s))

/* A row for an agent that the table gives no slots is put where its URL belongs now. What is ours is known here. */
inline reroute(i, b, s)
{
    if
    :: b != i && !COUNT(a[i].table, b) && (HAS(a[i].rows[b], s) || HAS(a[i].told[b], s)) ->
        if
        :: a[i].table.to[s] != i ->
            a[i].rows[a[i].table.to[s]] = a[i].rows[a[i].table.to[s]] | (a[i].rows[b] & BIT(s));
            a[i].told[a[i].table.to[s]] = a[i].told[a[i].table.to[s]] | (a[i].told[b] & BIT(s))
        :: else
        fi;
        a[i].rows[b] = a[i].rows[b] & ~BIT(s);
        a[i].told[b] = a[i].told[b] & ~BIT(s)
    :: else
    fi
}

/* A URL that an agent hears of, or finds: its own, or another's. */
inline hear(i, s, is_done)
{
    if
    :: HAS(a[i].known, s) && !is_done -> skip
    :: else ->
        a[i].known = a[i].known | BIT(s);
        if
        :: is_done -> a[i].done = a[i].done | BIT(s); a[i].scheduled = a[i].scheduled & ~BIT(s)
        :: else
        fi;
        if
        :: a[i].table.to[s] == i && !HAS(a[i].done, s) -> a[i].scheduled = a[i].scheduled | BIT(s)
        :: a[i].table.to[s] == i && HAS(a[i].done, s) -> skip
        :: a[i].table.to[s] != i && is_done -> a[i].told[a[i].table.to[s]] = a[i].told[a[i].table.to[s]] | BIT(s)
        :: else -> a[i].rows[a[i].table.to[s]] = a[i].rows[a[i].table.to[s]] | BIT(s)
        fi
    fi
}

#ifdef LEAVES_WITH_A_FETCH_UNDER_WAY
#define MAY_LEAVE(s) true
#else
#define MAY_LEAVE(s) !HAS(a[me].flying, s)
#endif
#ifdef SETTLES_BEFORE_THE_ANSWER
#define IS_THERE(s) true
#else
#define IS_THERE(s) !HAS(a[me].rows[a[me].table.to[s]] | a[me].told[a[me].table.to[s]], s)
#endif
#ifdef LAST_SLOT_AS_ANY_OTHER
#define MAY_BE_EMPTY true
#else
#define MAY_BE_EMPTY (COUNT(a[me].table, me) || EMPTY(me))
#endif

/* A row is committed by its receiver, and deleted for its answer. */
#define CARRY(b, s) \
    :: atomic { !stopped[me] && HAS(a[me].rows[b] | a[me].told[b], s) && !stopped[b] && COUNT(a[b].table, b) -> \
                if \
                :: HAS(a[me].told[b], s) -> hear(b, s, true) \
                :: else -> hear(b, s, false) \
                fi; \
                a[me].rows[b] = a[me].rows[b] & ~BIT(s); a[me].told[b] = a[me].told[b] & ~BIT(s) }

#define STEPS(s) \
    /* adopts what it knows of a slot that is its own now */ \
    :: atomic { OWNS(me, s) && HAS(a[me].known, s) && !HAS(a[me].done | a[me].scheduled | a[me].flying, s) -> \
                a[me].scheduled = a[me].scheduled | BIT(s) } \
    /* begins a fetch */ \
    :: atomic { OWNS(me, s) && HAS(a[me].scheduled, s) && !HAS(a[me].flying, s) -> \
                assert(FLYING(s) == 0); a[me].flying = a[me].flying | BIT(s) } \
    /* commits it, with what was found there */ \
    :: atomic { HAS(a[me].flying, s) -> \
                a[me].flying = a[me].flying & ~BIT(s); a[me].scheduled = a[me].scheduled & ~BIT(s); \
                a[me].done = a[me].done | BIT(s); fetched[s]++; \
                assert(fetched[s] == 1); \
                if \
                :: s == 0 -> hear(me, 1, false) \
                :: else \
                fi } \
    /* sends a slot away */ \
    :: atomic { LEAVES(me, s) && !HAS(a[me].left, s) && MAY_LEAVE(s) -> \
                if \
                :: HAS(a[me].done, s) -> a[me].told[a[me].table.to[s]] = a[me].told[a[me].table.to[s]] | BIT(s) \
                :: !HAS(a[me].done, s) && HAS(a[me].known, s) -> \
                    a[me].rows[a[me].table.to[s]] = a[me].rows[a[me].table.to[s]] | BIT(s) \
                :: else \
                fi; \
                a[me].scheduled = a[me].scheduled & ~BIT(s); a[me].left = a[me].left | BIT(s) } \
    /* and when all of it is there, the table says so */ \
    :: atomic { LEAVES(me, s) && HAS(a[me].left, s) && SAME(a[me].table, newest) && IS_THERE(s) && MAY_BE_EMPTY -> \
                newest.from[s] = newest.to[s] } \
    CARRY(0, s) CARRY(1, s) CARRY(2, s)

/* A newer table: what has left is not ours any more, and rows get another address. */
inline follow()
{
    duties = LEAVES(me, 0) + LEAVES(me, 1);
    s = 0;
    do
    :: s < SLOTS -> a[me].table.from[s] = newest.from[s]; a[me].table.to[s] = newest.to[s]; s++
    :: else -> break
    od;
    s = 0;
    do
    :: s < SLOTS ->
        if
        :: !LEAVES(me, s) -> a[me].left = a[me].left & ~BIT(s)
        :: else
        fi;
#ifdef ROUTES_FOR_NEW_DUTIES_ONLY
        if
        :: duties > 0 && duties == LEAVES(me, 0) + LEAVES(me, 1) -> skip
        :: else -> reroute(me, 0, s); reroute(me, 1, s)
        fi;
#else
        reroute(me, 0, s); reroute(me, 1, s);
#endif
        s++
    :: else -> break
    od;
    s = 0; duties = 0
}

proctype Run(byte me)
{
    byte s;
    byte duties;
    do
    :: stopped[me] -> break
    :: atomic { !SAME(a[me].table, newest) -> follow() }
    STEPS(0)
    STEPS(1)
    /* a page of its own links there, too */
    :: atomic { me == 2 && links != 0 ->
                if
                :: links == 1 -> hear(2, 0, false)
                :: else -> hear(2, 1, false)
                fi;
                links = 0 }
    /* it is killed: what was not committed is fetched again */
    :: atomic { kills < 2 && a[me].flying != 0 -> kills++; a[me].flying = 0 }
    /* by the table it has nothing that anybody needs: its operator stops it for good */
    :: atomic { me != 2 && drains > 0 && !NAMED(newest, me) && SAME(a[me].table, newest) -> stopped[me] = true }
    od
}

proctype Operator()
{
    do
    :: atomic { drains < 2 && newest.from[0] == 0 && newest.to[0] == 0 -> drains++;
                if
                :: COUNT(newest, 1) -> newest.to[0] = 1
                :: newest.to[0] = 2
                fi }
    /* the last agent but one, or one slot of it */
    :: atomic { drains < 2 && newest.from[0] == 1 && newest.to[0] == 1 -> drains++; newest.to[0] = 2;
                if
                :: newest.from[1] == 1 && newest.to[1] == 1 -> newest.to[1] = 2
                :: true
                fi }
    :: atomic { drains < 2 && newest.from[1] == 1 && newest.to[1] == 1 && newest.to[0] != 1 -> drains++; newest.to[1] = 2 }
    :: timeout -> break
    od;
    assert(fetched[0] == 1 && fetched[1] == 1);
    assert(newest.from[0] == newest.to[0] && newest.from[1] == newest.to[1]);
    assert(stopped[0] || EMPTY(0));
    assert(stopped[1] || EMPTY(1));
    assert(EMPTY(2))
}

init
{
    atomic {
        if
        :: links = 0
        :: links = 1
        :: links = 2
        fi;
        newest.from[1] = 1; newest.to[1] = 1;
        a[0].table.from[1] = 1; a[0].table.to[1] = 1; a[0].known = 1; a[0].scheduled = 1;
        a[1].table.from[1] = 1; a[1].table.to[1] = 1;
        a[2].table.from[1] = 1; a[2].table.to[1] = 1;
        run Run(0); run Run(1); run Run(2); run Operator()
    }
}
