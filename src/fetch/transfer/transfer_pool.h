/* Transfer pool: the transfers of one fetching thread, in use and free.
 *
 * What: a transfer is made when none is free, and used again after it.
 * Owns: its transfers.
 * Threads: one fetching thread. */
#ifndef FETCH_TRANSFER_TRANSFER_POOL_H
#define FETCH_TRANSFER_TRANSFER_POOL_H

#include "fetch/transfer/transfer_types.h"

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

#endif
