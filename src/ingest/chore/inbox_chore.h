/* Inbox chore: the URLs of other agents' blocks become pages of this one.
 *
 *   inbox --> records, checked --> spelled as the pages they are --> page_db_discover_each
 *               --> commit --> answered
 *
 * What: URLs of hosts that are owned here are scheduled; others, which their sender took for ours
 * by another table, become stubs and are sent on, by the same way as any new URL of a foreign host
 * (ingest/page/hand_over.h). A block with a record that is none, or whose sender disagrees by the
 * same table about the slot of a host, is refused whole.
 * Owns: the records of the transaction. The inbox and the cluster are borrowed.
 * Threads: ingest. It rides with results. */
#ifndef INGEST_CHORE_INBOX_CHORE_H
#define INGEST_CHORE_INBOX_CHORE_H

#include "cluster/link/inbox.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_cluster.h"

typedef struct InboxChore InboxChore;

/* NULL without memory. */
InboxChore *inbox_chore_new(Inbox *inbox, IngestCluster *cluster);
void inbox_chore_delete(InboxChore *chore); /* NULL is allowed */
IngestChore inbox_chore(InboxChore *chore);

#endif
