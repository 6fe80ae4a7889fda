/* Memory budget: crawl.memory, one budget divided among the parts that grow with what they may
 * have.
 *
 * What: applied between the configuration's sources and its check. An option above its share is
 * lowered to the share, and --print-config shows "crawl.memory" as its source; one that is lower
 * stays. MEMORY_BUDGET_BASE is set aside for the program, its libraries and its threads,
 * MEMORY_BUDGET_MAP for the database. The rest is divided into 64 parts:
 *
 *   16  the workbench                       limits.workbench_memory
 *   10  answers not yet parsed              fetch.memory
 *    8  parsing                             parse.memory, for each of parse.threads
 *    6  parsed pages not yet committed      store.memory
 *   10  a transaction's changed pages       store.batch_links (6), store.batch_pages (4)
 *    4  links that wait for their look-up   sieve.memory
 *    2  handles of transfers                fetch.connections
 *    1  idle connections                    fetch.idle_connections
 *    2  resolved names                      dns.cache_entries
 *    2  patterns of URLs                    limits.trap_patterns
 *    1  TLS sessions                        fetch.tls_sessions
 *    2  nobody: the index of a WARC file is mapped while it is sorted
 *
 * fetch.max_sitemap is at most half of fetch.memory, because one such body may be in flight beyond
 * it. The database is a mapped file: its resident pages fill what the parts leave, and are unmapped
 * when the process comes near the budget (store/lmdb/map_residence.h). MEMORY_BUDGET_MAP is what
 * the database has when the parts leave nothing.
 *
 * Threads: main, once, before the start. Pure but for malloc's settings. */
#pragma once

#include <stdio.h>

#include "rules/config.h"

#define MEMORY_BUDGET_LEAST ((int64_t)64 << 20)
#define MEMORY_BUDGET_BASE  ((int64_t)20 << 20)
#define MEMORY_BUDGET_MAP   ((int64_t)4 << 20)
/* From here on there is room for a second arena of malloc. */
#define MEMORY_BUDGET_MANY_ARENAS ((int64_t)128 << 20)

/* Does nothing when crawl.memory is 0. RESULT_INVALID: it is less than MEMORY_BUDGET_LEAST; error
 * has a sentence. RESULT_MEMORY. */
Result memory_budget_apply(Config *config, Buffer *error);
/* What the limits allow together, in bytes, the base included: at most crawl.memory after
 * memory_budget_apply. */
int64_t memory_budget_sum(const Config *config);
/* Prints the division as comments of an INI file. */
void memory_budget_print(const Config *config, FILE *out);
/* Fixed thresholds: large blocks are mapped by themselves and go back to the system, while those of
 * common pages come from arenas, which keep a little at their end. (malloc moves its thresholds
 * with the largest block that it has seen, and then tables that have grown, and answers of
 * megabytes, leave holes in the arena of each fetching thread.) Without a budget large is 512 KiB,
 * more than any robots.txt: a page of fresh memory costs more than to fill it. With a budget it is
 * 128 KiB, arenas keep less at their end, and there are one or two, because memory freed in one
 * arena cannot be used in another. Without one there are half as many as fetching and parsing
 * threads: a single one costs such a thread a tenth of its time, waiting for others, and one for
 * each thread costs a tenth of the memory. */
void memory_budget_tune_malloc(const Config *config);
