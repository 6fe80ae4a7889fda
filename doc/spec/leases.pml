/* Leases of one address: two agents never ask it at the same time (cluster/lease/lease.h).
 *
 * Both agents are arbiters by turns (the table of an epoch says which one) and holders. Time is a number of ticks, and
 * each step happens at any moment of a tick. Messages may be lost, late, and answered after anything else.
 * An agent's own arbiter answers it at once.
 * Invariants, as in lease.h:
 *  1. A holder begins a fetch only before the end of a lease, which it counts from before it asked.
 *  2. An arbiter grants again when the address was released, or when the last fetch has ended in any case.
 *  3. An arbiter grants nothing while it does not know its table to be the newest (a look at the server, which may be
 *     answered by a leader that is out of date for STALE ticks), and nothing for a rest after it began or was given the
 *     address; one that every other agent has told what it holds need not rest.
 * Bounded: one address, two agents, three tables, agent 0 is killed once, 4 ticks of time. */
#define TERM    1
#define FETCH   1
#define CONFIRM 1
#define STALE   1
#define END     8
#define NOBODY  2

#ifdef LEASE_WITHOUT_ITS_FETCHES
#define BUSY TERM
#else
#define BUSY (TERM + FETCH)
#endif
#ifdef REST_WITHOUT_STALE_LOOKS
#define REST (BUSY + CONFIRM)
#else
#define REST (BUSY + CONFIRM + STALE)
#endif
#ifdef LEASE_FROM_THE_ANSWER_ON
#define FROM now
#else
#define FROM asked[me]
#endif

byte now = REST;
byte epoch = 1;   /* the server's */
byte changed = 0; /* when it became so */

/* Arbiters. */
byte table[2] = 1;
byte confirmed[2]; /* nothing is granted from then on */
byte floor[2];     /* nor before */
byte to[2] = NOBODY;
byte busy[2];
byte process[2] = 1;
bit counted[2]; /* by the census of this process: the other has told */

/* Holders. */
byte asked[2];     /* when; 0: nothing is in flight */
byte whom[2];
bit granted[2];    /* the answer is on its way */
byte by[2];        /* process of the arbiter that has granted */
byte least[2] = 1; /* a grant of an earlier process of the other agent is not believed */
byte lease[2];     /* its end */
byte fetch[2];     /* when it is over in any case; 0: none */

#define ARBITER(e) ((e) == 2 -> 1 : 0)

/* What a look at the server shows: the newest table, or the one before, if that was the newest just now. */
inline look(result) {
    if
    :: result = epoch
    :: now < changed + STALE && epoch > 1 -> result = epoch - 1
    fi
}

proctype Arbiter(byte me) {
    byte seen = 0;
    do
    :: atomic { now < END -> /* a look at the table */
           look(seen);
           if
           :: seen > table[me] ->
               if
               :: ARBITER(seen) == me && ARBITER(table[me]) != me ->
#ifndef NO_REST_FOR_WHAT_A_TABLE_GIVES
                   floor[me] = now + REST;
#endif
                   counted[me] = 0
               :: else
               fi;
               if
               :: ARBITER(seen) != me -> to[me] = NOBODY
               :: else
               fi;
#ifndef ANSWERS_OF_A_FORMER_TABLE
               asked[me] = 0;
               granted[me] = 0;
#endif
               table[me] = seen
           :: seen == table[me] -> confirmed[me] = now + CONFIRM
           :: else
           fi;
           seen = 0 }
    :: atomic { /* a request: of the other agent, or its own */
           ARBITER(table[me]) == me && now >= floor[me] &&
#ifndef GRANT_WITHOUT_A_CONFIRMED_TABLE
           now < confirmed[me] &&
#endif
           (to[me] == NOBODY || now >= busy[me]) ->
           if
           :: asked[1 - me] > 0 && whom[1 - me] == me && !granted[1 - me] ->
               granted[1 - me] = 1; by[1 - me] = process[me]; to[me] = 1 - me
           :: lease[me] <= now && fetch[me] == 0 -> lease[me] = now + TERM; to[me] = me
           :: else -> to[me] = NOBODY
           fi;
           busy[me] = now + BUSY }
    :: atomic { me == 0 && process[me] == 1 && now < END -> /* it is killed and begins again; as a holder, too */
           process[me] = 2;
           to[me] = NOBODY;
           confirmed[me] = 0;
           counted[me] = 0;
           fetch[me] = 0;
           lease[me] = 0;
           asked[me] = 0;
           granted[me] = 0;
#ifndef NO_REST_AT_A_START
           floor[me] = now + REST;
#endif
       }
    :: atomic { /* the census: the other tells what it holds, and believes no former process from then on */
           ARBITER(table[me]) == me && now < floor[me] && !counted[me] &&
#ifndef CENSUS_BY_ANOTHER_TABLE
           table[1 - me] == table[me] &&
#endif
           true ->
           counted[me] = 1;
#ifndef FORMER_GRANTS_ARE_BELIEVED
           least[1 - me] = process[me];
           asked[1 - me] = 0;
           granted[1 - me] = 0;
#endif
           if
           :: lease[1 - me] > now || fetch[1 - me] > 0 ->
               to[me] = 1 - me;
               busy[me] = (lease[1 - me] > now -> lease[1 - me] : now) + FETCH
#ifndef CENSUS_WITHOUT_ITSELF
           :: lease[me] > now || fetch[me] > 0 ->
               to[me] = me;
               busy[me] = (lease[me] > now -> lease[me] : now) + FETCH
#endif
           :: else
           fi;
           floor[me] = now }
    od
}

proctype Holder(byte me) {
    do
    :: atomic { asked[me] == 0 && lease[me] <= now && fetch[me] == 0 && now < END && ARBITER(table[me]) != me ->
           asked[me] = now; whom[me] = ARBITER(table[me]); granted[me] = 0 }
    :: atomic { granted[me] ->
           if /* of a message in flight, to who is the arbiter still */
           :: whom[me] == ARBITER(table[me]) && by[me] >= least[me] ->
               lease[me] = FROM + TERM
           :: else
           fi;
           asked[me] = 0; granted[me] = 0 }
    :: atomic { asked[me] > 0 && now > asked[me] -> asked[me] = 0; granted[me] = 0 } /* no answer: given up */
    :: atomic { now < lease[me] && fetch[me] == 0 ->
           fetch[me] = now + FETCH;
           assert(fetch[1 - me] == 0) }
    :: atomic { fetch[me] > 0 -> fetch[me] = 0 }
    od
}

/* A table that gives the address to the other agent, made by an operator or by those who take a seat away. */
proctype Operator() {
    do
    :: atomic { epoch < 3 && now < END && now >= changed + STALE -> epoch = epoch + 1; changed = now }
    od
}

proctype Clock() {
    do
    :: atomic { now < END && (fetch[0] == 0 || fetch[0] > now) && (fetch[1] == 0 || fetch[1] > now) -> now = now + 1 }
    od
}

init {
    atomic {
        run Arbiter(0); run Arbiter(1); run Holder(0); run Holder(1); run Operator(); run Clock()
    }
}
