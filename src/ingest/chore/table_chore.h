/* Table chore: a newer cluster table is committed, and from then on decides whose a new URL is.
 *
 * What: the table goes into the database with the next transaction. URLs of that transaction are
 * still divided by the table before it, so a transaction has one table.
 * Owns: the table that waits. The cluster is borrowed.
 * Threads: any thread may call table_chore_tell; the rest belongs to ingest, and so does the sink.
 */
#ifndef INGEST_CHORE_TABLE_CHORE_H
#define INGEST_CHORE_TABLE_CHORE_H

#include "base/thread/mutex.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef struct TableChore {
    IngestCluster *cluster;
    void *context;
    void (*committed)(void *context, const ClusterTable *table); /* borrowed */
    Mutex mutex;                                                 /* RANK_TABLE; guards next */
    ClusterTable next;                                           /* epoch 0: none waits */
    ClusterTable taken; /* in this transaction; ingest's thread */
} TableChore;

void table_chore_init(TableChore *chore, IngestCluster *cluster);
void table_chore_destroy(TableChore *chore);
/* A newer table; copied. RESULT_MEMORY: tell it again. */
Result table_chore_tell(TableChore *chore, const ClusterTable *table);
IngestChore table_chore(TableChore *chore);

#endif
