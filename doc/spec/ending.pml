/* The end of the crawl: work that goes from agent to agent, and the rounds by which the end is found
 * (src/cluster/whole/ending.h, src/cluster/desk/end_desk.h).
 *
 * Shown: when the end is found, no agent has work, and none is on its way.
 * Bounded: two agents, three URLs, one way at a time; messages are late, and none is lost for good.
 * Mutants, each by -D: see doc/spec/mutants. */
#define WORK 3

byte scheduled[2]; /* URLs at each agent */
byte outbox[2];    /* for the other one, kept until its commit is answered */
bool sent[2];      /* the first of them is on its way, or there and not answered */
bool answer[2];    /* it was committed, and the answer is on its way */
byte changes[2];   /* commits, and blocks that arrived: modulo 8 */
byte made = 1;
bool ended = false;

/* rounds */
bool reported[2];
bool idle[2];
byte seen[2];
byte before[2];
bool open = false;
bool was_quiet = false;

#ifdef OUTBOX_IS_IDLE
#define IDLE(i) (scheduled[i] == 0)
#else
#define IDLE(i) (scheduled[i] == 0 && outbox[i] == 0)
#endif

active [2] proctype Agent()
{
    byte me = _pid;
    d_step { if :: me == 0 -> scheduled[0] = 1 :: else fi }
    do
    /* a fetch is committed: links for the other agent go into the outbox with it */
    :: atomic { scheduled[me] > 0 -> scheduled[me]--; changes[me] = (changes[me] + 1) % 8;
                if
                :: made < WORK -> made++; outbox[me]++
                :: true
                fi }
    :: atomic { outbox[me] > 0 && !sent[me] && !answer[me] -> sent[me] = true }
    /* the receiver commits, and answers behind it */
    :: atomic { sent[1 - me] -> sent[1 - me] = false; answer[1 - me] = true;
                scheduled[me]++; changes[me] = (changes[me] + 1) % 8 }
    :: atomic { answer[me] -> answer[me] = false; outbox[me]--; changes[me] = (changes[me] + 1) % 8 }
    /* a round asks it */
    :: atomic { open && !reported[me] -> reported[me] = true; idle[me] = IDLE(me); seen[me] = changes[me] }
    od
}

active proctype Rounds()
{
    bool quiet;
    bool still;
    do
    :: atomic { !open && !ended -> open = true; reported[0] = false; reported[1] = false }
    :: atomic { open && reported[0] && reported[1] -> open = false;
                quiet = idle[0] && idle[1];
                still = was_quiet && seen[0] == before[0] && seen[1] == before[1];
#ifdef ONE_ROUND
                still = true;
#endif
#ifdef CHANGES_DO_NOT_COUNT
                still = was_quiet;
#endif
                was_quiet = quiet; before[0] = seen[0]; before[1] = seen[1];
                if
                :: quiet && still -> ended = true;
                                     assert(scheduled[0] + scheduled[1] + outbox[0] + outbox[1] == 0)
                :: else
                fi }
    od
}
