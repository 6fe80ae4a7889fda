#include "fetch/transfer/transfer_pool.h"

#include "fetch/transfer/transfer.h"

#include <stdlib.h>

static Transfer *transfer_pool_make(TransferPool *pool)
{
    Transfer *transfer = NULL;
    Transfer **all = realloc(pool->transfers, (pool->n_transfers + 1) * sizeof(Transfer *));
    if (all == NULL) {
        return NULL;
    }
    pool->transfers = all;
    if (transfer_new(&transfer, pool->shared) != RESULT_OK) {
        return NULL;
    }
    all[pool->n_transfers++] = transfer;
    return transfer;
}

Transfer *transfer_pool_take(TransferPool *pool)
{
    Transfer *transfer = pool->free_list;
    if (transfer != NULL) {
        pool->free_list = transfer->next_free;
    } else {
        transfer = transfer_pool_make(pool);
    }
    pool->n_active += transfer != NULL;
    return transfer;
}

void transfer_pool_give_back(TransferPool *pool, Transfer *transfer)
{
    transfer_reset(transfer);
    transfer->next_free = pool->free_list;
    pool->free_list = transfer;
    pool->n_active--;
}

void transfer_pool_destroy(TransferPool *pool)
{
    for (size_t i = 0; i < pool->n_transfers; i++) {
        transfer_delete(pool->transfers[i]);
    }
    free(pool->transfers);
}
