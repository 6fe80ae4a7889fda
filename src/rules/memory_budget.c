#include "rules/memory_budget.h"

#include <inttypes.h>
#include <malloc.h>

/* What one of a row takes. */
#define BYTE                  ((int64_t)1)
#define HANDLE_BYTES          ((int64_t)24 << 10) /* curl's, with buffers, kept for the next fetch */
#define IDLE_CONNECTION_BYTES ((int64_t)40000)    /* with TLS, and three certificates */
#define DNS_ENTRY_BYTES       ((int64_t)320)      /* with name and places in map and heap */
#define PATTERN_BYTES         ((int64_t)112)      /* with its place among the parked ones */
/* Of a transaction: a link in the arrays of its batch, and as a changed database page when every
 * third one is new; a result's records, its host's, its place in the schedule. */
#define LINK_BYTES   ((int64_t)1536)
#define RESULT_BYTES ((int64_t)16 << 10)

/* What is divided comes in this many parts. */
#define PARTS 64

typedef struct Share {
    const char *name;
    size_t offset; /* in Config */
    int64_t unit;
    int64_t least;
    int64_t parts;
} Share;

#define SHARE(section, key, unit, least, parts)                                                    \
    {                                                                                              \
#section "." #key, offsetof(Config, section##_##key), unit, least, parts                   \
    }

static const Share shares[] = {
    SHARE(limits, workbench_memory, BYTE, 65536, 16),
    SHARE(fetch, memory, BYTE, 65536, 10),
    SHARE(parse, memory, BYTE, 65536, 8), /* of all parsing threads together */
    SHARE(store, memory, BYTE, 65536, 6),
    SHARE(store, batch_links, LINK_BYTES, 64, 6),
    SHARE(store, batch_pages, RESULT_BYTES, 4, 4),
    SHARE(store, journal, BYTE, 65536, 2),
    SHARE(sieve, memory, BYTE, 1048576, 3),
    SHARE(fetch, connections, HANDLE_BYTES, 4, 2),
    SHARE(fetch, idle_connections, IDLE_CONNECTION_BYTES, 0, 1),
    SHARE(dns, cache_entries, DNS_ENTRY_BYTES, 100, 2),
    SHARE(limits, trap_patterns, PATTERN_BYTES, 64, 1),
    SHARE(fetch, tls_sessions, BYTE, 65536, 1),
};

#define N_SHARES (sizeof shares / sizeof *shares)

static int64_t memory_budget_value_of(const Config *config, const Share *share)
{
    return *(const int64_t *)(const void *)((const char *)config + share->offset);
}

static int64_t unit_of(const Config *config, const Share *share)
{
    bool each_thread = share->offset == offsetof(Config, parse_memory); /* and the spare one */
    return each_thread ? (int64_t)config_threads(config->parse_threads) + 1 : share->unit;
}

static Result memory_budget_lower(Config *config, const Share *share, int64_t most, Buffer *error)
{
    char text[32];
    most = most < share->least ? share->least : most;
    if (memory_budget_value_of(config, share) <= most) {
        return RESULT_OK;
    }
    (void)snprintf(text, sizeof text, "%" PRId64, most);
    return options_set(&config->options, share->name, text, "crawl.memory", error);
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
    int64_t part = (budget - MEMORY_BUDGET_BASE - MEMORY_BUDGET_MAP) / PARTS;
    Result rc = RESULT_OK;
    for (size_t i = 0; i < N_SHARES && rc == RESULT_OK; i++) {
        rc = memory_budget_lower(config, &shares[i],
                                 part * shares[i].parts / unit_of(config, &shares[i]), error);
    }
    /* One sitemap may be in flight beyond fetch.memory (fetcher.h), so that is bounded by it. */
    const Share sitemap = SHARE(fetch, max_sitemap, BYTE, 65536, 0);
    if (rc == RESULT_OK) {
        rc = memory_budget_lower(config, &sitemap, config->fetch_memory / 2, error);
    }
    return rc;
}

int64_t memory_budget_sum(const Config *config)
{
    int64_t sum = MEMORY_BUDGET_BASE + MEMORY_BUDGET_MAP;
    for (size_t i = 0; i < N_SHARES; i++) {
        sum += memory_budget_value_of(config, &shares[i]) * unit_of(config, &shares[i]);
    }
    return sum;
}

static double mebibytes(int64_t bytes)
{
    return (double)bytes / (double)(1 << 20);
}

void memory_budget_print(const Config *config, FILE *out)
{
    (void)fprintf(out, "; memory, as the limits above divide it, in Mi\n");
    (void)fprintf(out, ";%9.1f  the program, its libraries and threads\n",
                  mebibytes(MEMORY_BUDGET_BASE));
    (void)fprintf(out, ";%9.1f  pages of the database, and what the others leave\n",
                  mebibytes(MEMORY_BUDGET_MAP));
    for (size_t i = 0; i < N_SHARES; i++) {
        (void)fprintf(
            out, ";%9.1f  %s\n",
            mebibytes(memory_budget_value_of(config, &shares[i]) * unit_of(config, &shares[i])),
            shares[i].name);
    }
    (void)fprintf(out, ";%9.1f  together; crawl.memory is ", mebibytes(memory_budget_sum(config)));
    if (config->crawl_memory == 0) {
        (void)fprintf(out, "off\n");
    } else {
        (void)fprintf(out, "%.1f\n", mebibytes(config->crawl_memory));
    }
}

void memory_budget_tune_malloc(const Config *config)
{
    int arenas = config->crawl_memory < MEMORY_BUDGET_MANY_ARENAS ? 1 : 2;
    if (config->crawl_memory == 0) {
        unsigned busy =
            config_threads(config->fetch_threads) + config_threads(config->parse_threads);
        arenas = busy < 4 ? 2 : (int)busy / 2;
    }
    (void)mallopt(M_ARENA_MAX, arenas);
    (void)mallopt(M_MMAP_THRESHOLD, config->crawl_memory > 0 ? 128 << 10 : 512 << 10);
    (void)mallopt(M_TRIM_THRESHOLD, config->crawl_memory > 0 ? 512 << 10 : 2 << 20);
    if (config->crawl_memory == 0) {
        (void)mallopt(M_TOP_PAD, 512 << 10);
    }
}
