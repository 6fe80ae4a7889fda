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
 *  5. The share of each agent is what the slots say. It is counted when they change, because every
 *     turn of an agent asks for some.
 * Source: MANY-MACHINES 1 and 7. */
#pragma once

#include "parse/host/ip_address.h"

/* Slots: the 4096 parts into which the hosts of a crawl are divided among agents.
 *
 * What: the slot of a host is the top twelve bits of XXH64 of its registered domain
 * (parse/host/domain.h). For example, www.example.co.uk and shop.example.co.uk have the same slot.
 * So everything that is counted by domain stays inside one agent: limits, dedup keys, trap
 * patterns, and most shared addresses. An IP address is its own domain.
 * Threads: any; pure.
 * Invariant: agents with the same public suffix list agree about every slot. Agents compare
 * domain_list_sha1() before they work together (cluster_table.h). */

#define SLOT_BITS  12u
#define SLOT_COUNT (1u << SLOT_BITS)

/* host: as in Url.href, without port. */
unsigned slot_of_host(const char *host, size_t length);
/* url: absolute and in the standard's form. Of one that is not http or https the slot is that of
 * the empty host. */
unsigned slot_of_url(const char *url, size_t length);
/* As people write one: "www.example.org", "www.example.org:81" or "https://www.example.org/a". */
unsigned slot_of_name(const char *name);

/* Slot cache: the slots of hosts that were asked for lately.
 *
 * What: a look-up in the public suffix list takes some hundred nanoseconds, and the links of a page
 * lead to few hosts, those of a block to many. Hosts are remembered by a 64-bit hash of their
 * names, under a seed of this process, so nobody outside can construct two names with one hash.
 * Threads: one. */

#define SLOT_CACHE_PLACES 16384u

typedef struct SlotCache {
    uint64_t seed;
    struct {
        uint64_t host; /* hash; 0: free */
        uint16_t slot;
    } places[SLOT_CACHE_PLACES];
} SlotCache;

void slot_cache_init(SlotCache *cache, uint64_t seed);
/* As slot_of_url. */
unsigned slot_cache_of_url(SlotCache *cache, const char *url, size_t length);

#define CLUSTER_AGENTS_MAX 65535u /* numbers 0..65534 */
#define CLUSTER_NOBODY     UINT16_MAX
#define CLUSTER_UUID_BYTES 16u
#define CLUSTER_PSL_BYTES  40u

typedef struct ClusterSlot {
    uint16_t from; /* the agent that has the slot, or had it when it is MOVING */
    uint16_t to;   /* the same number when it is OWNED */
} ClusterSlot;

/* Slots of an agent: that new URLs of are its own, and of which others have or get the rest. */
typedef struct ClusterShare {
    unsigned owned; /* or on their way to it */
    unsigned leaving;
    unsigned coming; /* of `owned` */
} ClusterShare;

typedef struct ClusterAgent {
    uint16_t life;    /* from 1 on */
    uint16_t claimed; /* the last life that a directory has; 0: none yet */
    bool seated;      /* it may be an arbiter (cluster/desk/watch_desk.h) */
    ClusterShare share;
} ClusterAgent;

typedef struct ClusterTable {
    uint64_t epoch; /* 0: there is no table */
    uint8_t uuid[CLUSTER_UUID_BYTES];
    char psl[CLUSTER_PSL_BYTES + 1]; /* domain_list_sha1() of whoever made the cluster */
    uint32_t n_agents;               /* numbers given so far */
    ClusterAgent *agents;            /* n_agents of them; owned */
    ClusterSlot slots[SLOT_COUNT];
} ClusterTable;

void cluster_table_destroy(ClusterTable *table);
/* RESULT_MEMORY: *to is as before. */
Result cluster_table_copy(ClusterTable *to, const ClusterTable *from);

/* A new cluster of n agents, epoch 1, the slots divided evenly. RESULT_INVALID: no agents, or
 * more than there are slots. */
Result cluster_table_create(ClusterTable *table, const uint8_t uuid[CLUSTER_UUID_BYTES],
                            const char *psl, uint32_t agents);

/* Appends the table's bytes, with a checksum; agents and slots that are alike and neighbours are
 * one run. */
Result cluster_table_write(const ClusterTable *table, Buffer *out);
/* Whether two tables have the same bytes. */
bool cluster_table_equal(const ClusterTable *a, const ClusterTable *b);
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
/* Of a number that no agent has: nothing. */
static inline ClusterShare cluster_table_share(const ClusterTable *table, uint16_t agent)
{
    return agent < table->n_agents ? table->agents[agent].share : (ClusterShare){.owned = 0};
}
/* No directory has ever run as it. */
static inline bool cluster_table_is_free(const ClusterTable *table, uint32_t agent)
{
    return agent < table->n_agents && table->agents[agent].claimed == 0;
}
/* It has slots, or had those that are MOVING. */
static inline bool cluster_table_had(const ClusterTable *table, uint16_t agent)
{
    ClusterShare share = cluster_table_share(table, agent);
    return share.owned - share.coming + share.leaving > 0;
}
/* Any slot names it, on either side. */
static inline bool cluster_table_has(const ClusterTable *table, uint16_t agent)
{
    ClusterShare share = cluster_table_share(table, agent);
    return share.owned + share.leaving > 0;
}

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
/* It decides about addresses from now on, or does not: nothing else changes. RESULT_NOT_FOUND: no
 * such agent, or it is so already. */
Result cluster_table_seat(ClusterTable *table, uint16_t agent, bool seated);
/* A directory claims the agent's present life. RESULT_EXISTS: it is claimed. */
Result cluster_table_claim(ClusterTable *table, uint16_t agent);
/* What `from` was sending to `to` has been sent: `to` owns it. RESULT_NOT_FOUND: nothing is MOVING
 * between them. */
Result cluster_table_settle(ClusterTable *table, uint16_t from, uint16_t to);

/* Arbiters: which agent decides about an address (cluster/lease/lease_arbiter.h).
 *
 * What: the arbiters are the agents that a cluster table names as owners and seats; all owners when
 * none of them is seated. The arbiter of an address
 * is the agent with the highest hash of (address, agent), which is called rendezvous hashing. So an
 * agent that comes or goes changes the arbiter of its own share of the addresses and of no others.
 * Owns: the list of agents.
 * Threads: an object belongs to its caller; pure.
 * Source: Thaler, Ravishankar 1998; MANY-MACHINES 5. */

typedef struct Arbiters {
    uint16_t *agents; /* ascending; owned */
    size_t n;
} Arbiters;

/* The agents that own hosts, or are getting some. RESULT_MEMORY: *arbiters is empty. */
Result owners_of_table(Arbiters *arbiters, const ClusterTable *table);
/* Those of them that are seated. */
Result arbiters_of_table(Arbiters *arbiters, const ClusterTable *table);
void arbiters_destroy(Arbiters *arbiters);
bool arbiters_equal(const Arbiters *a, const Arbiters *b);
bool arbiters_have(const Arbiters *arbiters, uint16_t agent);
/* CLUSTER_NOBODY when there are none. O(arbiters). */
uint16_t arbiters_find(const Arbiters *arbiters, const IpAddress *address);
