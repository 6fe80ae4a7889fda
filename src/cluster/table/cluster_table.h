/* Cluster table: which agent owns which slot, and what all agents of a crawl have in common.
 *
 *            add, move, drain                      every host of it has been sent
 *   OWNED by a ----------------> MOVING from a to b ------------------------------> OWNED by b
 *
 * What: an agent is a number, a directory, and a life. The life counts how often the agent's
 * database began from nothing: the loss of a disk ends a life (cluster_table_restore). The first
 * directory that runs as an agent claims its life, and no other directory can have that life
 * afterwards.
 *
 * Every agent commits the newest table it has seen to its own database before it acts on the table.
 * The table with the highest epoch wins; an operator's command and the end of a move each make the
 * next epoch.
 *
 * Owns: the list of agents.
 * Threads: none of its own; an object belongs to its caller.
 * Invariants:
 *  1. New URLs of a slot that is MOVING belong to `to`; `from` fetches nothing of it any more.
 *  2. from and to are numbers below n_agents.
 *  3. A table that does not decode, or breaks 2, is refused as a whole.
 *  4. The number of an agent is never used for another agent.
 * Source: MANY-MACHINES 1 and 7. */
#ifndef CLUSTER_TABLE_CLUSTER_TABLE_H
#define CLUSTER_TABLE_CLUSTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "cluster/table/slots.h"

#define CLUSTER_AGENTS_MAX 65535u /* numbers 0..65534 */
#define CLUSTER_NOBODY     UINT16_MAX
#define CLUSTER_UUID_BYTES 16u
#define CLUSTER_PSL_BYTES  40u

typedef struct ClusterSlot {
    uint16_t from; /* the agent that has the slot, or had it when it is MOVING */
    uint16_t to;   /* the same number when it is OWNED */
} ClusterSlot;

typedef struct ClusterAgent {
    uint16_t life;    /* from 1 on */
    uint16_t claimed; /* the last life that a directory has; 0: none yet */
} ClusterAgent;

typedef struct ClusterTable {
    uint64_t epoch; /* 0: there is no table */
    uint8_t uuid[CLUSTER_UUID_BYTES];
    char psl[CLUSTER_PSL_BYTES + 1]; /* domain_list_sha1() of whoever made the cluster */
    uint32_t n_agents;               /* numbers given so far */
    ClusterAgent *agents;            /* n_agents of them; owned */
    ClusterSlot slots[SLOT_COUNT];
} ClusterTable;

void cluster_table_init(ClusterTable *table);
void cluster_table_destroy(ClusterTable *table);
/* RESULT_MEMORY: *to is as before. */
Result cluster_table_copy(ClusterTable *to, const ClusterTable *from);

/* A new cluster of so many agents, epoch 1, the slots divided evenly. RESULT_INVALID: no agents, or
 * more than there are slots. */
Result cluster_table_create(ClusterTable *table, const uint8_t uuid[CLUSTER_UUID_BYTES],
                            const char *psl, uint32_t agents);

/* Appends the table's bytes, with a checksum. */
Result cluster_table_write(const ClusterTable *table, Buffer *out);
/* Replaces *table. RESULT_VERSION: another format; RESULT_DAMAGED: no table; RESULT_MEMORY. *table
 * is as before then. */
Result cluster_table_read(ClusterTable *table, const void *bytes, size_t length);

static inline bool cluster_slot_is_moving(ClusterSlot slot)
{
    return slot.from != slot.to;
}
/* The agent that new URLs of a slot belong to. */
static inline uint16_t cluster_table_owner(const ClusterTable *table, unsigned slot)
{
    return table->slots[slot].to;
}
/* The same for a URL. */
uint16_t cluster_table_owner_of_url(const ClusterTable *table, const char *url, size_t length);
/* How many slots an agent owns or is getting. */
unsigned cluster_table_count(const ClusterTable *table, uint16_t agent);
/* How many are MOVING from it, and to it. */
void cluster_table_count_moves(const ClusterTable *table, uint16_t agent, unsigned *from,
                               unsigned *to);
/* Any slot names it, on either side. */
bool cluster_table_has(const ClusterTable *table, uint16_t agent);

/* Nothing but claims has changed it since it was made. */
bool cluster_table_is_original(const ClusterTable *table);

/* ---- Changes: each makes epoch + 1 and is RESULT_OK, or changes nothing ---- */

/* A new agent; *agent is its number. It gets its share of the slots from those who have most. A
 * slot that is moving already is left alone. RESULT_LIMIT: there are CLUSTER_AGENTS_MAX.
 * RESULT_MEMORY. */
Result cluster_table_add(ClusterTable *table, uint16_t *agent);
/* n slots of `from` go to `to`, lowest numbers first. RESULT_NOT_FOUND: no such agent, or it has no
 * slot that is OWNED. */
Result cluster_table_move(ClusterTable *table, uint16_t from, uint16_t to, unsigned n);
/* One slot goes to `to`. RESULT_NOT_FOUND: no such agent, or the slot is its own already.
 * RESULT_EXISTS: the slot is MOVING. */
Result cluster_table_move_slot(ClusterTable *table, unsigned slot, uint16_t to);
/* All slots of an agent go to the others, to those who have least. RESULT_NOT_FOUND: no such agent,
 * or nothing to move. RESULT_INVALID: nobody is left to take them. */
Result cluster_table_drain(ClusterTable *table, uint16_t agent);
/* Everything an agent had is lost: a new life. What it was sending away comes back to it. */
Result cluster_table_restore(ClusterTable *table, uint16_t agent);
/* A directory claims the agent's present life. RESULT_EXISTS: it is claimed. */
Result cluster_table_claim(ClusterTable *table, uint16_t agent);
/* What `from` was sending to `to` has been sent: `to` owns it. RESULT_NOT_FOUND: nothing is MOVING
 * between them. */
Result cluster_table_settle(ClusterTable *table, uint16_t from, uint16_t to);

#endif
