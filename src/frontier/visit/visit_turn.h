/* Visit turn: the requests that a visit state makes while a fetching thread holds it.
 *
 * What: a turn is one request, or with politeness.keep_alive_time a burst of them, one after the
 * other on the same connection and without a pause, until so much time has passed since the first
 * one began. The delays of host and address count from the end of the last one. A burst ends early
 * when politeness asks for more than the delay of the configuration: after a failure, with a
 * Crawl-delay, and with an adaptive delay or a rate for the host that come to more. It also ends
 * when robots.txt has to be asked for elsewhere, or the visit state is wanted at home, and when the
 * standing of the host has changed: at home it is counted anew (a host that has just answered for
 * the first time makes room for other new ones).
 *
 * Where neither host nor address is owed a delay, a turn goes on for VISIT_TURN_FREE_MS while there
 * are URLs as good as its first one, so that a delay of 0 is one. Such a turn may also be wide:
 * with politeness.connections several pages are asked for at once. A failure ends it; those in
 * flight together count as one failure, and what the latest of them is owed holds.
 *
 * Owns: nothing.
 * Threads: the one that holds the visit state; time is a parameter.
 * Source: BUbiNG, keepAliveTime. */
#pragma once

#include "frontier/visit/visit_state.h"

#define VISIT_TURN_FREE_MS 100

/* The fetching thread has taken the visit state: nothing was asked yet. */
void visit_turn_begin(VisitState *visit_state);
/* A request begins. */
void visit_turn_ask(VisitState *visit_state, MonoTime now);
/* Whether host and address were asked in this turn. */
bool visit_turn_has_asked(const VisitState *visit_state);
/* A request has ended, and its verdict has set the times. Notes and returns whether another one may
 * follow at once: then nothing is owed in between. */
bool visit_turn_end(VisitState *visit_state, const PolitenessOptions *options,
                    const PolitenessVerdict *verdict, MonoTime end);
/* Whether one more page may be asked for beside those in flight; most: politeness.connections. */
bool visit_turn_may_widen(const VisitState *visit_state, const PolitenessOptions *options,
                          unsigned most, MonoTime now);
/* Whether others are in flight beside the request that is ending, or one of them has failed: what
 * they have left owed holds beside what this one does. */
bool visit_turn_is_wide(const VisitState *visit_state);
/* A request has ended, one way or the other. */
void visit_turn_land(VisitState *visit_state);
/* Whether none is in flight. */
bool visit_turn_has_landed(const VisitState *visit_state);
/* What visit_turn_end has returned. */
bool visit_turn_goes_on(const VisitState *visit_state);
/* The number of the request that has ended in its burst, from 1 on; 0: it is in none. */
unsigned visit_turn_burst(const VisitState *visit_state);
/* A request has turned slow in flight: the visit state gives up its place
 * (frontier/visit/visit_state.h). False: that was known, or it counts among the ILL anyway. */
bool visit_turn_slow_down(VisitState *visit_state, LiveShares *shares);
/* It is about to be given back. */
void visit_turn_leave(VisitState *visit_state, LiveShares *shares);
/* Nothing is to be asked for so long. What is owed already stays owed. */
void visit_turn_put_off(VisitState *visit_state, MonoTime now, int64_t ms);
