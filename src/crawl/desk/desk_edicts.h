/* Desk, edicts: orders for all agents of a cluster, given here and carried out here.
 *
 *   operator --desk_edicts_order--> all agents --> who has carried it out: the answer
 *   any agent's operator --> [edicts] --desk_edicts_tick--> helm, rules, settings, hosts
 *
 * What: an order that all agents must follow is an edict (cluster/whole/edicts.h). The agent at
 * which it is given has checked it, and carried it out itself, so each of the others can. An order
 * about a host is carried out by the host's owner, and its sentence is the answer.
 * Threads: main. */
#pragma once

#include "crawl/desk/desk_reply.h"

/* This crawl is an agent of a cluster. */
bool desk_edicts_are(const Desk *desk);
/* Gives the order; the answer, which begins with `text`, follows. */
void desk_edicts_order(Desk *desk, const DeskRequest *request, EdictVerb verb, const char *pattern,
                       const char *name, const char *value, const char *text);
/* Gives the order of `ragno forget` that is in the directory. */
void desk_edicts_forget(Desk *desk, const DeskRequest *request);
/* Carries out what is to be, and answers who waits. */
void desk_edicts_tick(Desk *desk);
/* An order about a host is done; false: it is none of an edict. text: what came of it. */
bool desk_edicts_done(Desk *desk, const Order *order, const char *text);
void desk_edicts_close(Desk *desk);
