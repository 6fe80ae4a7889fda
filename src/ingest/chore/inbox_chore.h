/* Inbox chore: the URLs of other agents' blocks become pages of this agent.
 *
 *   inbox --> records, checked --> spelled as the pages they are --> page_db_discover_each
 *               --> commit --> answered
 *
 * What: URLs of hosts that this agent owns are scheduled. Other URLs were sent here by an older or
 * newer table; they become stubs and are sent on, like any new URL of a foreign host
 * (ingest/page/ingest_new_url.h). A block is refused as a whole when one of its records cannot be
 * read, or when its sender has the same table and yet disagrees about the slot of a host, or when
 * all slots of this agent are being drained. A record that is done becomes a page that is never
 * fetched; a host that moves here gets its record (ingest/move). The chore rides with results.
 * Owns: the records of the transaction. The inbox and the cluster are borrowed.
 * Threads: ingest. */
#ifndef INGEST_CHORE_INBOX_CHORE_H
#define INGEST_CHORE_INBOX_CHORE_H

#include "cluster/link/inbox.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef struct InboxChore InboxChore;

/* NULL without memory. */
InboxChore *inbox_chore_new(Inbox *inbox, IngestCluster *cluster);
void inbox_chore_delete(InboxChore *chore); /* NULL is allowed */
IngestChore inbox_chore(InboxChore *chore);

#endif
