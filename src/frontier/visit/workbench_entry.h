/* Workbench entry: one IP address and the visit states that are fetched from it.
 *
 * What: its visit states wait until their time has come, and are ready then, by standing
 * (standing.h): the best level first, then the one that has been ready longest.
 *
 * Owns: its heaps. Visit states are the todo thread's while they are queued here.
 * Threads: todo. Every time is a parameter.
 * Source: BUbiNG, class WorkbenchEntry. */
#ifndef FRONTIER_VISIT_WORKBENCH_ENTRY_H
#define FRONTIER_VISIT_WORKBENCH_ENTRY_H

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/heap.h"
#include "frontier/visit/due_entries.h"
#include "frontier/visit/visit_state.h"

/* Of an address that agents on other machines may fetch from, too: it is fetched from only before
 * the end of a lease.
 *
 *            something is due: want          granted
 *   NO_LEASE -----------------------> WANTED --------> HELD
 *      ^                                |               |  its end, or others wait and nothing is
 *      '------------- release ----------'---------------'  due: release, once nothing is in flight
 */
typedef enum EntryLeaseState { NO_LEASE, LEASE_IS_WANTED, LEASE_IS_HELD } EntryLeaseState;

typedef struct EntryLease {
    EntryLeaseState state;
    uint64_t ticket; /* of the want: news of an earlier one come too late */
    MonoTime end;    /* no fetch begins behind it */
    bool contended;  /* others wait */
    bool ended;      /* it is to be given back */
} EntryLease;

struct WorkbenchEntry {
    IpAddress address;
    EntryLease lease;
    MonoTime next_fetch;   /* not before, for the address */
    Heap waiting;          /* its visit states by next fetch, until their time comes */
    Heap ready[STANDINGS]; /* the others by level, then time */
    HeapNode place;        /* in Workbench.waiting or .resting */
    DuePlace due[STANDINGS];
    HeapNode news;         /* of a due entry, in Workbench.news: when one more gets ready */
    bool acquired;         /* a fetch to the address is in flight */
    size_t n_visit_states; /* that name this entry, queued or acquired */
    enum { ENTRY_NOWHERE, ENTRY_WAITING, ENTRY_DUE, ENTRY_RESTING, ENTRY_LEASING } queue;
};

/* NULL without memory. floor: its next fetch. */
WorkbenchEntry *workbench_entry_new(const IpAddress *address, MonoTime floor);
/* Visit states are not freed. */
void workbench_entry_delete(WorkbenchEntry *entry);

/* Queues a visit state, or takes out one that is queued. RESULT_MEMORY: it is not queued. */
Result workbench_entry_enqueue(WorkbenchEntry *entry, VisitState *visit_state);
void workbench_entry_dequeue(WorkbenchEntry *entry, VisitState *visit_state);
/* Visit states whose time has come get ready. */
Result workbench_entry_ripen(WorkbenchEntry *entry, MonoTime now);
bool workbench_entry_has_ready(const WorkbenchEntry *entry);
/* Takes out the first one that is ready; there is one. */
VisitState *workbench_entry_take(WorkbenchEntry *entry, Standing standing);
/* Any that is queued; there is one. It stays queued. */
VisitState *workbench_entry_any(const WorkbenchEntry *entry);

#endif
