/* Transfer: one request and its response.
 *
 * What: a curl easy handle that one fetching thread uses again and again. What its end means is in
 * transfer_end.h.
 *
 *   free --transfer_setup--> in libcurl's hands --transfer_end--> the result is taken
 *     ^                          |      ^                              |
 *     |                   (gate closed) |                              |
 *     |                          v      | transfer_continue            |
 *     |                        paused --'                              |
 *     '---------------------- transfer_reset --------------------------'
 *
 * One transfer is one request. libcurl would repeat one by itself (an HTTP/2 stream was refused, a
 * kept connection ended under it); the transfer ends instead (FETCH_STALE, FETCH_HTTP2), and the
 * next try has its delay, its line in crawl.log and its record, as any other.
 *
 * Owns: the handle, its header lists, and the result while it is being filled.
 * Threads: one fetching thread. */
#pragma once

#include "fetch/transfer/transfer_types.h"

/* Whether libcurl was built with HTTP/2. Where it was not, HTTP/1.1 is spoken whatever
 * fetch.http2 says. Any thread. */
bool transfer_has_http2(void);
/* What the thread has of its own is borrowed. */
Result transfer_shared_init(TransferShared *shared, const FetcherOptions *options,
                            uint64_t *connections, Heap *paused, SocketWatch *sockets,
                            TransferClock *clock, TlsContext *tls, FetcherRules *rules);
void transfer_shared_destroy(TransferShared *shared);

Result transfer_new(Transfer **transfer, TransferShared *shared);
void transfer_delete(Transfer *transfer);

/* Whether the gate is open for its body as it is. */
bool transfer_has_room(const Transfer *transfer);
/* A transfer that waits for the gate goes on; it may be waiting again when this returns. Not from
 * one of libcurl's callbacks. Anything but CURLE_OK ends it. */
CURLcode transfer_continue(Transfer *transfer);
/* Whether its request has left, or a part of it. */
bool transfer_has_asked(const Transfer *transfer);
/* The transfer is about to be broken off: its connection is closed with it. An HTTP/2 connection
 * would be kept otherwise, with the unread part of this answer filling its window for ever. */
void transfer_break_off(Transfer *transfer);
/* Makes it free for the next use. */
void transfer_reset(Transfer *transfer);
/* With others in flight the first URL of the window is not the one that ends first: each is taken
 * out when it has begun, and put back for its end. */
void transfer_take_url(Transfer *transfer);
void transfer_put_url_back(Transfer *transfer);
