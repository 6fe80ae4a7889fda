/* Host records: what results say of their hosts, and which hosts are closed.
 *
 * What: every result of a host counts in its record (fetches, bytes, failures, robots.txt). At the
 * end of a batch the hosts that failed for good are dropped, or rest when pages are visited again,
 * and those that have reached limits.pages_per_host are full: the schedule of such a host is
 * cleared.
 * Threads: ingest, inside the batch's transaction. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* What a wait may lose when it is kept as wall time: its begin, its end and the present are
 * rounded. */
#define HOST_WAIT_ROUNDING_MS 3

#define INGEST_HOST_RECHECKS 3u /* of a name that does not exist, until that is believed */

/* Counts a result in its host's record, and notes the health of the host after it. */
void ingest_host_note(Batch *batch, BatchHost *host, const FetchResult *fetch);
/* A request for another agent's host (FETCH_NO_HOST): counts it. */
void ingest_host_note_for_others(Batch *batch, const FetchResult *fetch);
/* Counts an answer that keeps crawlers out. */
void ingest_host_note_wall(Batch *batch, BatchHost *host, HttpWall wall);
/* Stores what the fetch of robots.txt brought. */
Result ingest_host_note_robots(Batch *batch, BatchHost *host, const FetchResult *fetch);
/* Stores what the fetch of a file about usage brought. A licence that could not be had is one that
 * permits nothing, also after a restart; what tdmrep.json has said stays. */
Result ingest_host_note_usage_file(Batch *batch, const BatchHost *host, const FetchResult *fetch);
/* Sets a host aside because an operator says so, with its URLs kept; *urls is their number. Does
 * nothing for a host that is closed already. */
Result ingest_host_set_aside(Batch *batch, BatchHost *host, uint64_t *urls);
/* Forgets that a host has failed: it is visited as soon as its delay has passed. *urls is the
 * number of URLs that it has. Does nothing for a host that is closed. */
Result ingest_host_cure(Batch *batch, BatchHost *host, uint64_t *urls);
/* Brings back a host that was dropped or parked, with all its URLs (store/tables/host_rows.h),
 * and tells the distributor. *urls is the number of its URLs. Does nothing for any other host. */
Result ingest_host_revive(Batch *batch, BatchHost *host, uint64_t *urls);
/* Whether a rule of the operator refuses all URLs of a host, by its name alone. */
Result ingest_host_is_refused(Batch *batch, uint32_t id, bool *refused);
/* Asks the rules about a host, by its name and, unless it is NULL, its address: a host that is
 * denied is closed, with its URLs kept; one that is denied no more gets them back. */
Result ingest_host_review(Batch *batch, uint32_t id, const IpAddress *address);
/* The same of a host that gets its first URL. False: batch->result says what went wrong. */
bool ingest_host_admit(Batch *batch, BatchHost *host, const PageRef *page);
/* Closes the hosts that were given up or have become full; after all results of the batch. */
bool ingest_host_close(Batch *batch);
