#include "parse/text/simhash.h"

#include <string.h>

/* ---- counting ---- */

/* Adds three bits of equal weight for 64 columns: the sum bit stays in *a, the carry is returned.
 */
static uint64_t add_3(uint64_t *a, uint64_t b, uint64_t c)
{
    uint64_t u = *a ^ b;
    uint64_t carry = (*a & b) | (u & c);
    *a = u ^ c;
    return carry;
}

void simhash_flush(SimhashCounter *counter)
{
    for (unsigned i = counter->n_batch; i < SIMHASH_BATCH; i++) {
        counter->batch[i] = 0;
    }
    const uint64_t *h = counter->batch;
    uint64_t *planes = counter->planes;
    uint64_t twos_a = add_3(&planes[0], h[0], h[1]);
    uint64_t twos_b = add_3(&planes[0], h[2], h[3]);
    uint64_t fours_a = add_3(&planes[1], twos_a, twos_b);
    twos_a = add_3(&planes[0], h[4], h[5]);
    twos_b = add_3(&planes[0], h[6], h[7]);
    uint64_t fours_b = add_3(&planes[1], twos_a, twos_b);
    uint64_t carry = add_3(&planes[2], fours_a, fours_b);
    for (unsigned k = 3; carry != 0 && k < SIMHASH_PLANES; k++) {
        uint64_t next = planes[k] & carry;
        planes[k] ^= carry;
        carry = next;
    }
    counter->n += counter->n_batch;
    counter->n_batch = 0;
}

uint64_t simhash_of_counter(SimhashCounter *counter)
{
    simhash_flush(counter);
    /* Compares all 64 counts with half of n, from the highest plane down. */
    uint64_t half = counter->n / 2;
    uint64_t greater = 0;
    uint64_t equal = ~UINT64_C(0);
    for (unsigned k = SIMHASH_PLANES; k-- > 0;) {
        uint64_t bit = (half >> k & 1) != 0 ? ~UINT64_C(0) : 0;
        greater |= equal & counter->planes[k] & ~bit;
        equal &= ~(counter->planes[k] ^ bit);
    }
    return greater;
}

/* ---- look-up ---- */

Result simhash_insert(const SimhashTables *tables, uint64_t hash, uint64_t page)
{
    Result rc = RESULT_OK;
    for (unsigned t = 0; t < SIMHASH_TABLES && hash != 0 && rc == RESULT_OK; t++) {
        rc = tables->put(tables->state, t, simhash_table_key(hash, t), page);
    }
    return rc;
}

typedef struct Search {
    uint64_t hash;
    unsigned table;
    unsigned left; /* entries that may be looked at */
    bool found;
    SimhashMatch best;
} Search;

static bool visit(void *context, uint64_t key, uint64_t page)
{
    Search *search = context;
    uint64_t hash = simhash_of_table_key(key, search->table);
    unsigned distance = simhash_distance(hash, search->hash);
    if (distance <= SIMHASH_DISTANCE &&
        (!search->found || distance < search->best.distance ||
         (distance == search->best.distance && page < search->best.page))) {
        search->found = true;
        search->best = (SimhashMatch){.page = page, .hash = hash, .distance = distance};
    }
    search->left--;
    return search->left > 0;
}

/* Looks at n entries of a range at most. */
static Result simhash_look(const SimhashTables *tables, Search *search, uint64_t first,
                           uint64_t last, unsigned n)
{
    search->left = n;
    return tables->scan(tables->state, search->table, first, last, visit, search);
}

/* Looks at the entries of a table that share the block on top: first at those from the hash on. */
static Result look_in_table(const SimhashTables *tables, Search *search, unsigned table)
{
    const uint64_t low = UINT64_MAX >> 16;
    uint64_t key = simhash_table_key(search->hash, table);
    uint64_t first = key & ~low;
    search->table = table;
    Result rc = simhash_look(tables, search, key, first | low, SIMHASH_VISITS / 2);
    unsigned rest = SIMHASH_VISITS / 2 + search->left;
    return rc == RESULT_OK && key > first ? simhash_look(tables, search, first, key - 1, rest) : rc;
}

static bool exact(const Search *search)
{
    return search->found && search->best.distance == 0;
}

Result simhash_find(const SimhashTables *tables, uint64_t hash, SimhashMatch *match)
{
    if (hash == 0) {
        return RESULT_NOT_FOUND;
    }
    Search search = {.hash = hash};
    Result rc =
        simhash_look(tables, &search, hash, hash, 1); /* the lowest page of the exact ones */
    for (unsigned t = 0; t < SIMHASH_TABLES && rc == RESULT_OK && !exact(&search); t++) {
        rc = look_in_table(tables, &search, t);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    *match = search.best;
    return search.found ? RESULT_OK : RESULT_NOT_FOUND;
}
