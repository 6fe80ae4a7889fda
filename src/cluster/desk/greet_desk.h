/* The greet desk: does another agent still have what we were told it has?
 *
 *   a process becomes a member --GREET: so many of your messages I have--> each other agent
 *        no fewer than the other has heard of       --> greeted
 *        fewer: an older copy of its directory runs --> `retell`: its URLs are put into the outbox
 *                                                       again, all of them; then greeted
 *        nobody is there, and it has stopped well   --> its record says what it had heard
 *
 * What: rows of the outbox are deleted for the word of their receiver that it has committed them
 * (link/kept.h). A backup that takes the place of the receiver's directory makes that word
 * void, silently; therefore each process compares with each agent before anything else goes between
 * the two.
 *
 * Owns: nothing; what is known of each agent is the members'. Time is a parameter; belongs to one
 * thread.
 * Invariants:
 *  1. A block is taken in only from a process that has greeted ours back: so what we have told it
 *     is what we had when we began, and our count for it stands still until then.
 *  2. An answer to a block counts only if it comes from a process that we have compared.
 *  3. While an agent that owns hosts has not greeted ours, this one is not idle. */
#pragma once

#include "cluster/desk/members.h"

typedef struct GreetSinks {
    void *context;
    /* What the directory remembers of an agent. */
    Result (*mark)(void *context, uint16_t agent, PeerMark *mark);
    /* All URLs of the agent are to be sent again, and from now on this was heard of it;
     * greet_desk_retold follows the commit. RESULT_MEMORY: it greets again. */
    Result (*retell)(void *context, uint16_t agent, uint64_t heard);
} GreetSinks;

typedef struct GreetDesk {
    NodeLink *link; /* borrowed */
    GreetSinks sinks;
    uint32_t n; /* of them, whose marks are read */
    MonoTime next;
} GreetDesk;

void greet_desk_init(GreetDesk *desk, NodeLink *link, const GreetSinks *sinks);
/* The table has changed: there may be more members. RESULT_IO. */
Result greet_desk_set(GreetDesk *desk, MonoTime now);
/* The connection is there again: who has not greeted yet is asked at once. */
void greet_desk_up(GreetDesk *desk, MonoTime now);
/* What was heard of the others, as in member_record_write, for those that start while we are away.
 */
Result greet_desk_stop(const GreetDesk *desk, Buffer *heard);

/* Another process runs as the agent. */
void greet_desk_present(GreetDesk *desk, uint16_t agent, MonoTime now);
/* A greeting: answers it, at once or when what the agent has lost is in the outbox. */
void greet_desk_asked(GreetDesk *desk, NodeMessage *in, MonoTime now);
void greet_desk_retold(GreetDesk *desk, uint16_t agent);
/* What came of a greeting. */
void greet_desk_take(GreetDesk *desk, const NodeMessage *in);
/* The record of an agent was looked at. */
void greet_desk_seen(GreetDesk *desk, uint16_t agent);
void greet_desk_work(GreetDesk *desk, MonoTime now);
MonoTime greet_desk_next(const GreetDesk *desk);

/* Whether blocks of this process may be taken in; if not it is greeted soon. */
bool greet_desk_may_take(GreetDesk *desk, uint16_t agent, uint64_t session, MonoTime now);
/* A message of the agent's is committed here: so many of them are. */
void greet_desk_took(GreetDesk *desk, uint16_t agent, uint64_t taken);
/* Whether a process's word that it has committed so many of our messages counts. */
bool greet_desk_heard(GreetDesk *desk, uint16_t agent, uint64_t session, uint64_t taken);
/* An agent that has hosts has not greeted ours (invariant 3). O(members). */
bool greet_desk_misses(const GreetDesk *desk);
