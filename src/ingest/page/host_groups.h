/* Host groups: one hand on many names. Limits for all hosts of a registered domain together, and
 * for all hosts on one address.
 *
 * What: whoever owns a domain can make names in it at will (wildcard DNS), and whoever owns an
 * address can have any number of domains point to it. So their hosts, stored pages and queued URLs
 * are counted together (store/tables/host_rows.h), and what is beyond a limit is refused:
 *
 *   hosts of a domain     a link to a further host is dropped before the database hears of it
 *   URLs of a domain      that are queued: a further one is refused
 *   pages of a domain     its hosts are full, each with its next result
 *   hosts on an address   a further one is full as soon as its address is known
 *   URLs, pages there     as for a domain
 *
 * A host counts with the address where it was first found. An agent of a cluster counts what it
 * has. The limits are those of the host that wants more ([site] sections): one that may go beyond
 * what others of its domain or address may still counts there.
 * Threads: ingest, inside the batch's transaction.
 * Errors: an error is left in Batch.result. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Whether a new URL of a host is admitted; the first one makes the host count in its domain. The
 * name of the limit that it is beyond, for skipped.log, and in *why what is counted; NULL: it is
 * admitted, or batch->result says what went wrong. */
const char *host_groups_refuse(Batch *batch, BatchHost *host, const PageRef *page, Refusal *why);
/* A URL of the host is queued. */
void host_groups_queued(Batch *batch, BatchHost *host);
/* n of its URLs are queued no more. */
void host_groups_left(Batch *batch, BatchHost *host, uint64_t n);
/* A page of it is stored. */
void host_groups_stored(Batch *batch, BatchHost *host);
/* Its address is known. */
Result host_groups_place(Batch *batch, BatchHost *host, const IpAddress *address);
/* Whether it has enough, or its groups have; *limit is then which. */
bool host_groups_have_enough(Batch *batch, BatchHost *host, HostLimit *limit);
/* Drops the links of a page to unknown hosts of domains that have enough hosts, once one was
 * refused: the database never hears of them. */
Result host_groups_drop_links(Batch *batch, ParsedPage *page);
