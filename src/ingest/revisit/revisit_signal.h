/* Revisit signal: a sitemap or a feed says that a page has changed since its last visit.
 *
 * What: an entry whose lastmod (a feed's date) is later than the last crawl of its page is a
 * signal. The page is then due at once, if its host has told the truth often enough: of n signals
 * that a visit has followed, by itself or because of them, those that found the page changed count
 * as true, and (true + 1) / (n + 2) must not be below schedule.signal_trust. A signal is noted in
 * any case, and the next visit of the page says whether it was true. A lastmod that is a day
 * without a time is that day's beginning. Owns: nothing. Threads: ingest, inside the batch's
 * transaction. Errors: RESULT_DAMAGED and those of the tables. */
#ifndef INGEST_REVISIT_REVISIT_SIGNAL_H
#define INGEST_REVISIT_REVISIT_SIGNAL_H

#include "ingest/batch/ingest_batch.h"
#include "ingest/revisit/revisit_line.h"

/* Entries of one sitemap that are looked up at a visit; those behind them are told by the next
 * ones.
 */
#define REVISIT_SIGNALS_MAX 10000u

/* Whether signals of the host are believed. */
bool revisit_signal_is_trusted(const HostRecord *host, double trust);
/* What an entry says: *follows: *due is the page's, and it is to be visited now. */
Result revisit_signal_take(const RevisitLine *line, Batch *batch, const char *url,
                           int64_t lastmod_s, double trust, RevisitDue *due, bool *follows);
/* A page was visited: whether the signal that its note holds was true is counted, and the note has
 * none any more. page is as it was stored after the visit. */
void revisit_signal_settle(HostRecord *host, const PageRef *page, RevisitNote *note);

#endif
