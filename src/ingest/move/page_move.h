/* Page move: what becomes of one page when the slot of its host moves.
 *
 *   here, the slot leaves:   page --page_move_leave--> stub, and a record in the outbox
 *   there, it is MOVING:     record --> stub that nobody has scheduled
 * (ingest/page/ingest_new_url.h) there, it is OWNED:      stub --page_move_adopt--> scheduled,
 * unless it is done the owner lost its disk: stub --page_move_tell--> a record in the outbox, again
 *
 * What: of a page that was fetched here, what was fetched stays here; the new owner learns that it
 * is done. A page that is scheduled leaves the schedule in the transaction that puts it into the
 * outbox.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY: the transaction must be aborted. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Host move: a host goes to another agent of the cluster, comes back, or arrives.
 *
 *   HOST_ACTIVE, or whatever it was --host_move_close--> HOST_MOVED, its URLs parked
 *        --(the distributor has let it go)--> host_move_send: a row of the outbox
 *   HOST_MOVED --host_move_open--> HOST_ACTIVE, with the URLs that it has
 *   a block of another agent --host_move_take--> record of a host that was just fetched from
 *
 * What: the record is what politeness needs to go on: its new owner waits the host's delay from the
 * moment of the arrival, since every fetch of the old owner had ended before.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY: the transaction must be aborted. */

/* Nothing of the host is to be fetched here any more, and the distributor is to let it go
 * (DistributorSinks.left). Of a host that is closed so already the latter is said again. *known is
 * false when nothing of it was ever scheduled here. */
Result host_move_close(Batch *batch, uint32_t host, bool *known);
/* Puts a host that goes to agent `to` into the outbox. RESULT_INVALID: its origin is too long. */
Result host_move_put(OutboxDraft *draft, const HostMove *move, uint16_t to);
/* Puts what its new owner must know into the outbox. */
Result host_move_send(Batch *batch, uint32_t host, uint16_t to);
/* A host that came back. Does nothing for one that is not HOST_MOVED. */
Result host_move_open(Batch *batch, uint32_t host);
/* A host that another agent had. */
Result host_move_take(Batch *batch, const HostMove *move);

Result page_move_leave(Batch *batch, const PageRef *page, uint16_t to);
Result page_move_adopt(Batch *batch, const PageRef *page);
Result page_move_tell(Batch *batch, const PageRef *page, uint16_t to);
/* A record that is done, of a page that is known by now. */
Result page_move_finish(Batch *batch, const LinkRecord *record);
