/* Filters: the operator's six filters (parse/filter/filter.h), and where each of them is asked.
 *
 *   filter.schedule  parsing thread, each link that is in scope: -5001 when refused; seeds are
 *                    exempt
 *   filter.fetch     fetching thread, each URL before it is asked for: -5001 when refused
 *   filter.body      fetching thread, each answer at its header: whether its body is read
 *   filter.parse     parsing thread, each answer: whether its body is searched for links and text
 *   filter.follow    parsing thread, each answer: whether any of its links are followed
 *   store.filter     parsing thread, each answer: whether it becomes records of the archive
 *
 * What: an empty filter is true. Filters are immutable once compiled; a change of the live options
 * compiles others and replaces these (base/thread/shared.h).
 * Threads: any, each with a FilterScratch of its own. */
#pragma once

#include "base/thread/shared.h"
#include "rules/config.h"
#include "parse/filter/filter.h"

typedef enum FilterHook {
    HOOK_SCHEDULE,
    HOOK_FETCH,
    HOOK_BODY,
    HOOK_PARSE,
    HOOK_FOLLOW,
    HOOK_STORE,
    FILTER_HOOKS
} FilterHook;

typedef struct Filters {
    Filter *of[FILTER_HOOKS]; /* owned; NULL is true */
} Filters;

/* Compiles the filters of a configuration. RESULT_INVALID: error gets one line for each mistake,
 * "FILE:LINE: filter.fetch: column 7: ...", and the filters without mistakes are compiled. Call
 * filters_destroy in every case. */
Result filters_compile(Filters *filters, const Config *config, Buffer *error);
void filters_destroy(Filters *filters);

/* Reads a file into out: for FilterOptions.read_file; context is not used. */
Result filters_read_list(void *context, const char *path, Buffer *out);
/* Compiles what config holds and hands it to the threads: filter.fetch and filter.body as a Filter
 * each to fetch and body, the others as a Filters to parse. As filters_compile, but nothing is
 * handed over unless all of it is right. RESULT_MEMORY. */
Result filters_share(Shared *parse, Shared *fetch, Shared *body, const Config *config,
                     Buffer *error);
/* For shared_init: of a Filters on the heap, and of a Filter. */
void filters_delete(void *filters);
void filters_delete_one(void *filter);

static inline bool filters_pass(const Filters *filters, FilterHook hook, const FilterInput *input,
                                FilterScratch *scratch)
{
    return filters->of[hook] == NULL || filter_matches(filters->of[hook], input, scratch);
}
