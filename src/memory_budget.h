/* crawl.memory: one budget, divided among the parts that grow with what they are allowed.
 *
 * Between the configuration's sources and its check: a row that is above its share is lowered to
 * it, and shows "crawl.memory" as where it came from; a lower one stays. What is divided is the
 * budget less MEMORY_BUDGET_BASE, which the program, its libraries and its threads take whatever
 * they do.
 *
 *   3/8  the workbench                limits.workbench_memory
 *   1/4  transfers in flight          fetch.connections
 *   1/8  parsing                      parse.memory, for each of parse.threads
 *   1/8  results on their way         parse.queue (and as many before ingest), store.batch_pages
 *   1/16 resolved names               dns.cache_entries
 *   1/16 changed database pages       store.batch_pages
 *
 * A body counts as MEMORY_BUDGET_BODY, or fetch.max_body when that is less: larger ones are rare,
 * and many at once rarer. The database itself is not counted: LMDB's map is page cache, which the
 * system takes back when it needs it (it shows as resident, shared memory). Pure; once, before the
 * start. */
#ifndef MEMORY_BUDGET_H
#define MEMORY_BUDGET_H

#include "config.h"

#define MEMORY_BUDGET_LEAST ((int64_t)64 << 20)
#define MEMORY_BUDGET_BASE  ((int64_t)16 << 20)
#define MEMORY_BUDGET_BODY  ((int64_t)256 << 10)

/* Does nothing when crawl.memory is 0. RESULT_INVALID: it is less than MEMORY_BUDGET_LEAST; error
 * has a sentence. RESULT_MEMORY. */
Result memory_budget_apply(Config *config, Buffer *error);

#endif
