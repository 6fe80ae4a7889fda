/* Crowding: which transfers are broken off early, so that others can go on.
 *
 * What: nobody is hurried while there is room for all. There are three kinds of crowds:
 *  - Hosts that nothing has come from yet wait for a connection, since others like them have all
 *    that they may have (frontier/visit/visit_state.h). Of those the one that has been silent
 *    longest is broken off, if that is for new_patience_ms: one for each that waits. It is tried
 *    again with those that fail, and with the full patience then.
 *  - Hosts wait for a connection, and some of the transfers have turned out to be slow
 *    (standing_is_slow, standing_drips). These count among those that fail from then on, so that
 *    their places are free, as far as slow_percent leaves room. Of those beyond it the slowest is
 *    broken off, one for each that waits: for a new host one of a new host, for a proven one any.
 *    Who is tried again keeps its share, and is broken off by its own times only.
 *  - The gate is closed (base/thread/byte_gate.h), for all, or for large bodies while hosts wait
 *    for a connection; and what holds it closed is in flight, not on its way to disk. The slowest
 *    transfer is broken off, until the gate opens, or what slow ones hold is within their share
 *    (slow_percent). Slow is, then, one that began STANDING_SLOW_MS ago and has received less than
 *    STANDING_SLOW_BYTES a second while it was not paused. Who is paused shows nothing of its rate;
 *    so when the gate has not opened for CROWDING_STALL_MS, the body that holds most is broken off
 *    by each look until it does: not one that holds little, which frees nothing, nor one that fills
 *    half of the gate alone, which has its turn. It is asked for again and not charged with it,
 *    unless its host is one of those that fail.
 *
 * Owns: nothing; transfers are the pool's.
 * Threads: one fetching thread; any thread reads the counters. Times are those of its run clock. */
#pragma once

#include <stdatomic.h>

#include "fetch/transfer/transfer_types.h"

/* Transfer pool: the transfers of one fetching thread, in use and free.
 *
 * What: a transfer is made when none is free, and used again after it.
 * Owns: its transfers.
 * Threads: one fetching thread. */

typedef struct TransferPool {
    TransferShared *shared; /* borrowed */
    Transfer *free_list;
    Transfer **transfers; /* all */
    size_t n_transfers;
    size_t n_active;
} TransferPool;

/* NULL without memory. */
Transfer *transfer_pool_take(TransferPool *pool);
/* Resets it and keeps it for the next use. */
void transfer_pool_give_back(TransferPool *pool, Transfer *transfer);
void transfer_pool_destroy(TransferPool *pool);

#define CROWDING_LOOK_MS  INT64_C(100)
#define CROWDING_STALL_MS 5000
#define CROWDING_LITTLE   ((size_t)64 << 10) /* bytes; most pages are smaller */

typedef struct Crowding {
    const FetcherOptions *options;
    const TransferPool *pool;
    MonoTime next;       /* look */
    bool is_crowded;     /* as of the last one */
    bool has_waiting;    /* as of the last one, hosts wait for a connection */
    bool has_slowed;     /* by the last look more of them count as slow */
    MonoTime closed;     /* the gate is, by each look since then; 0: it is open */
    bool stalls;         /* for so long that the largest body goes, once by a look */
    int64_t patience_ms; /* with bodies of new hosts that drip, by the last look */
    FetchCrowd crowd;    /* for whom no transfer has been broken off yet */
    _Atomic uint64_t n_new;
    _Atomic uint64_t n_slow; /* broken off since the start */
} Crowding;

/* Borrows both. */
void crowding_init(Crowding *crowding, const FetcherOptions *options, const TransferPool *pool);
/* Begins a look. False: there is room for all. Else crowding_next is to be asked until it says
 * NULL. */
bool crowding_look(Crowding *crowding, const FetchCrowd *crowd, MonoTime now);
/* A transfer that is to be broken off, and Transfer.late says for what; NULL. */
Transfer *crowding_next(Crowding *crowding, MonoTime now);
/* How long the thread may wait until the next look. */
int64_t crowding_wait_ms(const Crowding *crowding);
