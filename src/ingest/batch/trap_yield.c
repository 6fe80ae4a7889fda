#include "ingest/batch/trap_yield.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/trap/trap.h"

#define WAYS         8u   /* places of a set */
#define CONTENT_BITS 512u /* for the contents of a pattern */

/* A Bloom filter of the last contents. */
typedef struct Contents {
    uint32_t n_bits; /* set of */
    uint64_t bits[CONTENT_BITS / 64];
} Contents;

typedef struct Pattern {
    uint64_t key[2]; /* of the pattern's text; 0,0 is a free place */
    uint32_t fetched;
    uint32_t fresh;
    TrapState state;
    Contents *contents; /* owned; NULL before the first: few patterns have any */
} Pattern;

struct TrapYield {
    TrapYieldOptions options;
    Pattern *patterns;
    size_t n_sets; /* a power of two */
    size_t n_held; /* throttled and parked ones */
    SharedReader parked;
    Url url;
    Buffer text;
};

Result trap_yield_new(TrapYield **out, const TrapYieldOptions *options)
{
    TrapYield *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    table->options = *options;
    table->n_sets = 1;
    while (table->n_sets * WAYS < options->patterns) {
        table->n_sets *= 2;
    }
    table->patterns = calloc(table->n_sets * WAYS, sizeof *table->patterns);
    url_init(&table->url);
    buffer_init(&table->text, 2 * URL_MAX_BYTES);
    if (table->patterns == NULL) {
        trap_yield_delete(table);
        return RESULT_MEMORY;
    }
    if (options->parked != NULL) {
        shared_reader_open(&table->parked, options->parked);
    }
    *out = table;
    return RESULT_OK;
}

void trap_yield_delete(TrapYield *table)
{
    if (table != NULL) {
        shared_reader_close(&table->parked);
        url_destroy(&table->url);
        buffer_destroy(&table->text);
        for (size_t i = 0; table->patterns != NULL && i < table->n_sets * WAYS; i++) {
            free(table->patterns[i].contents);
        }
        free(table->patterns);
        free(table);
    }
}

/* The pattern of a URL, in table->text; false: it has none. */
static bool trap_yield_read(TrapYield *table, const char *url, size_t length, Hash128 *key)
{
    return url_parse(&table->url, NULL, url, length) == RESULT_OK &&
           trap_pattern_key(&table->url, &table->text, key) == RESULT_OK;
}

static Pattern *trap_yield_set_of(const TrapYield *table, const Hash128 *key)
{
    return table->patterns + (key->low & (table->n_sets - 1)) * WAYS;
}

static Pattern *trap_yield_find(Pattern *set, const Hash128 *key)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key[0] == key->high && set[i].key[1] == key->low && set[i].fetched > 0) {
            return &set[i];
        }
    }
    return NULL;
}

static uint32_t worth(const Pattern *pattern)
{
    return pattern->state == TRAP_PARKED ? UINT32_MAX : pattern->fetched;
}

/* Whether the content is new to the pattern, as far as it remembers; then it is remembered. Two
 * bits each, and all are forgotten when a quarter is set: some sixty contents, of which one in
 * sixteen may be taken for another. Without memory everything is new. */
static bool take_content(Pattern *pattern, uint64_t content)
{
    uint64_t mixed = content * UINT64_C(0x9E3779B97F4A7C15);
    unsigned places[] = {(unsigned)(mixed >> 32) % CONTENT_BITS,
                         (unsigned)(mixed >> 48) % CONTENT_BITS};
    bool is_new = false;
    if (pattern->contents == NULL) {
        pattern->contents = calloc(1, sizeof *pattern->contents);
    }
    Contents *contents = pattern->contents;
    if (contents == NULL) {
        return true;
    }
    if (contents->n_bits >= CONTENT_BITS / 4) {
        *contents = (Contents){.n_bits = 0};
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t *word = &contents->bits[places[i] / 64];
        uint64_t bit = UINT64_C(1) << places[i] % 64;
        contents->n_bits += (*word & bit) == 0;
        is_new = is_new || (*word & bit) == 0;
        *word |= bit;
    }
    return is_new;
}

static TrapState trap_yield_judge(const TrapYieldOptions *options, const Pattern *pattern)
{
    if (pattern->state == TRAP_PARKED) {
        return TRAP_PARKED;
    }
    if ((double)pattern->fresh >= options->yield * (double)pattern->fetched) {
        return TRAP_FREE;
    }
    if (pattern->fetched >= options->fetches) {
        return TRAP_PARKED;
    }
    return pattern->fetched >= options->fetches / 2.0 ? TRAP_THROTTLED : TRAP_FREE;
}

/* Tells the fetching threads. Without memory they go on fetching what is scheduled. */
static void trap_yield_publish(TrapYield *table, Hash128 key)
{
    if (table->options.parked == NULL) {
        return;
    }
    const TrapSet *set = shared_get(&table->parked);
    if (trap_set_count(set) < table->options.patterns) {
        TrapSet *more = trap_set_with(set, key);
        if (more != NULL) {
            (void)shared_replace(table->options.parked, more);
        }
    }
}

bool trap_yield_note(TrapYield *table, const TrapVisit *visit, TrapState *state, char *pattern,
                     size_t size)
{
    Hash128 key = visit->pattern;
    Pattern *set = trap_yield_set_of(table, &key);
    Pattern *found = trap_yield_find(set, &key);
    if (found == NULL) {
        /* A place for a new pattern: a free one has fetched nothing. */
        found = &set[0];
        for (size_t i = 1; i < WAYS; i++) {
            if (worth(&set[i]) < worth(found)) {
                found = &set[i];
            }
        }
        table->n_held -= found->state != TRAP_FREE;
        free(found->contents);
        *found = (Pattern){.key = {key.high, key.low}};
    }
    bool is_new = visit->is_new;
    if (visit->content != 0) {
        is_new &= take_content(found, visit->content);
    }
    found->fetched += found->fetched < UINT32_MAX;
    found->fresh += is_new && found->fresh < UINT32_MAX;
    *state = trap_yield_judge(&table->options, found);
    if (*state == found->state) {
        return false;
    }
    table->n_held += found->state == TRAP_FREE;
    table->n_held -= *state == TRAP_FREE;
    found->state = *state;
    if (*state == TRAP_PARKED) {
        trap_yield_publish(table, key);
    }
    bool is_read = trap_yield_read(table, visit->url, strlen(visit->url), &key);
    (void)snprintf(pattern, size, "%s", is_read ? buffer_string(&table->text) : visit->url);
    return true;
}

TrapState trap_yield_state(TrapYield *table, const char *url, size_t length)
{
    Hash128 key;
    if (table->n_held == 0 || !trap_yield_read(table, url, length, &key)) {
        return TRAP_FREE;
    }
    const Pattern *found = trap_yield_find(trap_yield_set_of(table, &key), &key);
    return found == NULL ? TRAP_FREE : found->state;
}
