#include "memory_budget.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* A curl handle with its buffers, kept for the next transfer. */
#define HANDLE_BYTES ((int64_t)24 << 10)
/* An idle connection with TLS. */
#define IDLE_CONNECTION_BYTES ((int64_t)40000)
/* An answer kept by the resolver, its name and its places in map and heap. */
#define DNS_ENTRY_BYTES ((int64_t)320)
/* Of a transaction: what a link takes in the arrays of its batch and as a changed database page,
 * when every third link is new. */
#define LINK_BYTES ((int64_t)1536)
/* The same for a result without its links: its records, its host's, its place in the schedule. */
#define RESULT_BYTES ((int64_t)16 << 10)
/* A pattern of URLs (trap_yield.h). */
#define PATTERN_BYTES ((int64_t)32)

static Result lower(Config *config, const char *name, int64_t value, int64_t least, int64_t share,
                    Buffer *error)
{
    char text[32];
    share = share < least ? least : share;
    if (value <= share) {
        return RESULT_OK;
    }
    (void)snprintf(text, sizeof text, "%" PRId64, share);
    return options_set(&config->options, name, text, "crawl.memory", error);
}

Result memory_budget_apply(Config *config, Buffer *error)
{
    int64_t budget = config->crawl_memory;
    if (budget == 0) {
        return RESULT_OK;
    }
    if (budget < MEMORY_BUDGET_LEAST) {
        (void)buffer_append_string(error, "crawl.memory: less than 64Mi is too little\n");
        return RESULT_INVALID;
    }
    int64_t rest = budget - MEMORY_BUDGET_BASE;
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
        int64_t share;
    } shares[] = {
        {"limits.workbench_memory", config->limits_workbench_memory, 65536, rest / 32 * 10},
        {"fetch.memory", config->fetch_memory, 65536, rest / 32 * 6},
        {"fetch.max_sitemap", config->fetch_max_sitemap, 65536, rest / 32 * 3},
        {"parse.memory", config->parse_memory, 65536, rest / 32 * 4 / config->parse_threads},
        {"store.memory", config->store_memory, 65536, rest / 32 * 3},
        {"store.batch_links", config->store_batch_links, 64, rest / 32 * 3 / LINK_BYTES},
        {"store.batch_pages", config->store_batch_pages, 4, rest / 32 / RESULT_BYTES},
        {"fetch.connections", config->fetch_connections, 4, rest / 32 * 2 / HANDLE_BYTES},
        {"fetch.idle_connections", config->fetch_idle_connections, 0,
         rest / 32 / IDLE_CONNECTION_BYTES},
        {"dns.cache_entries", config->dns_cache_entries, 100, rest / 32 / DNS_ENTRY_BYTES},
        {"limits.trap_patterns", config->limits_trap_patterns, 64, rest / 32 / PATTERN_BYTES},
    };
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof shares / sizeof *shares && rc == RESULT_OK; i++) {
        rc =
            lower(config, shares[i].name, shares[i].value, shares[i].least, shares[i].share, error);
    }
    return rc;
}
