/* The parsing threads: fetched pages in, parsed pages out.
 *
 *   fetching threads --parsing_add---> [queue, parse.queue] --> parsing threads --> sink (ingest)
 *
 * What: a parsing thread (parser.h) undoes the content coding, asks the filters about the answer,
 * finds links, robots instructions and digests, and keeps of the links those that are to be
 * followed: in scope, of a kind that is followed, passed by filter.schedule, each once. Entries of
 * sitemaps are links, too.
 *
 * Owns: results from parsing_push on, until the sink takes the parsed page; the score rules.
 * Threads: parse-N, parse-spare.
 *
 * Invariants: pages are never dropped and memory is bounded. When the queue is full the fetching
 * threads wait. Parsed pages are counted at a gate of their own until they are committed; while it
 * is closed no further page is begun; large ones wait from half of it on. Small pages go before
 * large ones, and a large one is begun only while less than half of the threads are at pages that
 * take long: those in their way wait aside, and one of the threads in question reads them next.
 * Which page takes long is known too late when all begin one at once: one thread more, which
 * otherwise sleeps, reads in their place until one of them is through. So pages that are made to
 * take long never stop the others; hosts that send many of them are asked less often
 * (frontier/visit/host_costs.h). Ingest opens that gate, and waits for nobody but the disk. */
#pragma once

#include "page/parser_types.h"

typedef struct Parsing Parsing;

/* archive may be NULL: answers are not archived. Copies the options, takes their score rules, also
 * when it fails. */
Result parsing_new(Parsing **parsing, const ParsingOptions *options, Archive *archive, Stats *stats,
                   void (*sink)(void *context, ParsedPage *page), ParsingSkipped skipped,
                   void *context);
Result parsing_start(Parsing *parsing);
/* The configuration has changed: later pages are read by these options, in this number of threads.
 * Those that are too many end after what they are at. Copies the options, takes their score rules.
 * What the tools of a thread are made for stays as it was: queue, memory, kinds of documents and
 * sitemaps. Main thread. RESULT_MEMORY, RESULT_LIMIT: some of it did not change. */
Result parsing_change(Parsing *parsing, const ParsingOptions *options);
/* Looks after the threads: joins those that have ended, starts those that are missing. Returns how
 * many read pages now. Main thread, now and then. */
unsigned parsing_tend(Parsing *parsing);
/* Takes a result; waits while the queue is full. After parsing_stop it is dropped: its URL is still
 * scheduled. */
void parsing_push(Parsing *parsing, FetchResult *result);
/* The same, for a thread that has several: the parsing threads may not hear of it before
 * parsing_call, which has to follow. */
void parsing_add(Parsing *parsing, FetchResult *result);
void parsing_call(Parsing *parsing);
size_t parsing_waiting(Parsing *parsing);
/* Parses what is queued, then ends the threads. */
void parsing_stop(Parsing *parsing);
void parsing_delete(Parsing *parsing);
