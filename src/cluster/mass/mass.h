/* Mass: PageRank over all agents of a cluster, as far as this agent's computations go.
 *
 *   from-N files --weigh--> jump of each page --> computation --publish--> to-N files
 *
 * What: PageRank with its scale left open is linear, so it can be computed in parts. An agent ranks
 * the links of its own pages. Pages of other agents (stubs) only gather what flows to them, and
 * that is told to their owners; what flows in from elsewhere is part of what a page jumps with.
 * Each agent adds what it last heard of each other one, however old that is. An exchange for each
 * computation is enough: on a graph of 100 000 pages on 3 and 16 agents about 1 page of 100 has
 * another level (a factor of two in importance) after one exchange than by the links of all agents
 * together, and 1 of 1 000 after two (make unit T=mass).
 *
 * Levels are relative to the mean page. All agents tell the number of their pages and the sum of
 * their values, so the mean is that of the whole crawl.
 *
 * Owns: the slots, the books of the last computation. Database and directory are borrowed.
 * Threads: mass_set_table, units and peers any; the rest the one that computes.
 * Invariants:
 *  1. A page that another agent owns never jumps.
 *  2. A damaged or missing file is as nothing heard.
 * Source: MANY-MACHINES 8. */
#pragma once

#include "cluster/mass/mass_file.h"
#include "cluster/table/cluster_table.h"
#include "store/scorers/page_rank_scorer.h"

typedef struct Mass Mass;

/* What the last computation has used of one other agent. */
typedef struct MassPeer {
    uint16_t agent;
    bool heard;      /* there is a file of it */
    MassHead head;   /* if so */
    uint64_t placed; /* records of pages that are known here */
} MassPeer;

/* directory: of the crawl. RESULT_MEMORY. */
Result mass_new(Mass **mass, const char *directory, PageDB *db, uint16_t self,
                const ClusterTable *table);
void mass_delete(Mass *mass); /* NULL is allowed */
/* For computations that begin from now on. RESULT_MEMORY: as before. */
Result mass_set_table(Mass *mass, const ClusterTable *table);
/* Borrows mass. */
PageRankOutside mass_outside(Mass *mass);

/* ---- after a computation ---- */

/* Whether this agent owned a page when it was weighed. */
bool mass_is_own(const Mass *mass, uint64_t page);
/* As PageRankOutside.publish, but nothing is written: for those who only look. */
void mass_close_books(Mass *mass, const PageRank *pr, double whole);
/* The sum of the values of all pages of all agents that are known. */
double mass_total(const Mass *mass);
/* Other agents, by number; the array is the mass's until the next computation. */
const MassPeer *mass_peers(const Mass *mass, size_t *n);
