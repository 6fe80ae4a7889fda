/* Page move: what becomes of one page when the slot of its host moves.
 *
 *   here, the slot leaves:   page --page_move_leave--> stub, and a record in the outbox
 *   there, it is MOVING:     record --> stub that nobody has scheduled (ingest/page/hand_over.h)
 *   there, it is OWNED:      stub --page_move_adopt--> scheduled, unless it is done
 *   the owner lost its disk: stub --page_move_tell--> a record in the outbox, again
 *
 * What: of a page that was fetched here, what was fetched stays here; the new owner learns that it
 * is done. A page that is scheduled leaves the schedule in the transaction that puts it into the
 * outbox.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY: the transaction must be aborted. */
#ifndef INGEST_MOVE_PAGE_MOVE_H
#define INGEST_MOVE_PAGE_MOVE_H

#include "cluster/wire/link_block.h"
#include "ingest/batch/ingest_batch.h"

Result page_move_leave(Batch *batch, const PageRef *page, uint16_t to);
Result page_move_adopt(Batch *batch, const PageRef *page);
Result page_move_tell(Batch *batch, const PageRef *page, uint16_t to);
/* A record that is done, of a page that is known by now. */
Result page_move_finish(Batch *batch, const LinkRecord *record);

#endif
