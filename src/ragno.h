/* libragno: the C library of ragno. Everything about pages, their links and their order, without
 * the network.
 *
 *   CrawledPage --> PageDB --> link streams --> PageRank, HITS
 *                      |                             |
 *                      '--> schedulers <-- scorers <-'
 *
 * What: a program that crawls by itself gives what it fetched to a scheduler (bf_scheduler_add) and
 * asks the scheduler what to fetch next (bf_scheduler_request). A program that only keeps pages
 * uses PageDB (page_db_add). DRUM answers "seen before?" for more keys than memory holds.
 *
 * Each header says what its calls do, who owns what, which errors there are and which threads may
 * call. Build with `pkg-config --cflags --libs ragno`, and `#include <ragno/ragno.h>`, or, in C,
 * the single headers by their names ("page_db.h"). The crawler's own headers are not installed:
 * only what is included below, and what that needs.
 * Source: the interface is that of seeds 000, 001 and 003. */
#ifndef RAGNO_H
#define RAGNO_H

/* C++ (11 and later) includes this header, not the single ones. Before C++23 it has C's atomic
 * types under other names, with the same layout. The system's headers come first: they say
 * themselves what of them is C. */
#ifdef __cplusplus
#include <atomic>
#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#if __cplusplus > 202002L
#include <stdatomic.h>
#else
#define _Atomic(type) std::atomic<type>
using std::atomic_bool;
#endif
extern "C" {
#endif

/* Pages that go in, what is known of them, and their links. */
#include "store/records/crawled_page.h"
#include "store/records/link_stream.h"
#include "store/pages/page_db.h"
#include "store/records/page_info.h"
#include "store/pages/page_stream.h"

/* What is to be crawled next: best-first, and again and again by frequency. */
#include "store/best_first/bf_scheduler.h"
#include "store/frequency/freq_rules.h"
#include "store/frequency/freq_scheduler.h"
#include "store/records/page_request.h"

/* How good a page is. */
#include "store/scorers/content_scorer.h"
#include "store/rank/hits.h"
#include "store/scorers/hits_scorer.h"
#include "store/rank/page_rank.h"
#include "store/scorers/page_rank_scorer.h"
#include "store/scorers/scorer.h"

/* Disk repository with update management. */
#include "store/drum/drum.h"
#include "store/drum/drum_runs.h"

/* Parts of the above that are useful alone. */
#include "base/core/error.h"
#include "store/records/domain_temp.h"
#include "store/lmdb/mmap_array.h"
#include "store/lmdb/txn_manager.h"

#ifdef __cplusplus
}
#if __cplusplus <= 202002L
#undef _Atomic
#endif
#endif

#endif
