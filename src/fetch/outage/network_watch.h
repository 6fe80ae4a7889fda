/* Network watch: whether transfers fail because of our own network.
 *
 *   fetching threads --answered, failed--> [Outage] --suspected--> canary thread: connects to
 *         ^                                   |                    addresses that answered lately
 *         '--- true: ours, nobody is charged -'--changed--> main thread: pauses, goes on
 *
 * What: outage.h with the addresses that answered lately, and a thread that connects to all of them
 * at once when there is suspicion: TCP only, nothing is sent. One connection is enough to know that
 * the network works. When there is none, it tries again, ever more rarely, up to every 15 seconds.
 * A gateway that answers for everybody is told by what it says (sameness.h); there the crawl itself
 * is the canary.
 *
 * Owns: the addresses, the thread.
 * Threads: any thread tells and asks. `changed` is called in the thread that brought the news,
 * without a lock. Errors: when no socket can be had, nothing is concluded. */
#ifndef FETCH_OUTAGE_NETWORK_WATCH_H
#define FETCH_OUTAGE_NETWORK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "fetch/outage/outage.h"
#include "fetch/outage/sameness.h"
#include "parse/host/ip_address.h"

#define NETWORK_WATCH_KNOWN 16u /* addresses that answered lately */
#define NETWORK_WATCH_LEAST 3u  /* hosts that make a canary, besides the one that fails */

typedef struct NetworkWatch NetworkWatch;

/* RESULT_MEMORY. changed may be NULL. */
Result network_watch_new(NetworkWatch **watch, void (*changed)(void *context), void *context);
Result network_watch_start(NetworkWatch *watch);
/* Ends the thread, if it was started. */
void network_watch_stop(NetworkWatch *watch);
void network_watch_delete(NetworkWatch *watch);

/* An answer came from there. */
void network_watch_answered(NetworkWatch *watch, const IpAddress *address, uint16_t port,
                            MonoTime now);
/* A transfer to the address has failed, in a way for which our network could be the reason.
 * was_well: its host had not failed just before. True: it is ours, nobody is to be charged. */
bool network_watch_failed(NetworkWatch *watch, const IpAddress *address, bool was_well,
                          MonoTime began, MonoTime now);
/* Of both together: nobody answers, or a gateway does. */
OutageReport network_watch_report(NetworkWatch *watch);
/* What an answer says; behind network_watch_answered. True: a gateway of ours said it, and nobody
 * is to be charged. *pages: what else was settled so and is to be asked for again, owned by the
 * caller; NULL: nothing. */
bool network_watch_said(NetworkWatch *watch, const SameAnswer *answer, MonoTime now,
                        uint64_t **pages, size_t *n_pages);
/* The same of gateways alone. *tries: the crawl may go on until there is an answer.
 * Once its time has come (network_watch_next), the state changes here. */
OutageReport network_watch_gateway(NetworkWatch *watch, MonoTime now, bool *tries);
MonoTime network_watch_next(NetworkWatch *watch);

#endif
