#include "memory_budget.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* What comes with a transfer besides its body: curl's handle and buffers, TLS, the header. */
#define IDLE_CONNECTION_BYTES 40000 /* with TLS */
#define TRANSFER_BYTES        ((int64_t)64 << 10)
/* An answer kept by the resolver, its name and its places in map and heap. */
#define DNS_ENTRY_BYTES ((int64_t)320)
/* Pages of the database that one result changes, and its links in memory. */
#define RESULT_BYTES ((int64_t)64 << 10)

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
    int64_t body =
        config->fetch_max_body < MEMORY_BUDGET_BODY ? config->fetch_max_body : MEMORY_BUDGET_BODY;
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
        int64_t share;
    } shares[] = {
        {"limits.workbench_memory", config->limits_workbench_memory, 65536, rest / 8 * 3},
        {"fetch.connections", config->fetch_connections, 4, rest / 4 / (body + TRANSFER_BYTES)},
        {"fetch.idle_connections", config->fetch_idle_connections, 0,
         rest / 16 / IDLE_CONNECTION_BYTES},
        {"parse.memory", config->parse_memory, 65536, rest / 8 / config->parse_threads},
        /* Body as received, and compressed for WARC; in two queues. */
        {"parse.queue", config->parse_queue, 4, rest / 8 / (4 * body)},
        {"store.batch_pages", config->store_batch_pages, 4, rest / 16 / RESULT_BYTES},
        {"dns.cache_entries", config->dns_cache_entries, 100, rest / 16 / DNS_ENTRY_BYTES},
    };
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof shares / sizeof *shares && rc == RESULT_OK; i++) {
        rc =
            lower(config, shares[i].name, shares[i].value, shares[i].least, shares[i].share, error);
    }
    return rc;
}
