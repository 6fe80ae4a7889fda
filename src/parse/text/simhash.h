/* Simhash: 64 bits of which similar texts share most, and the search for those within Hamming
 * distance 3 among very many.
 *
 * What: the hash of each shingle votes for or against each bit; the majority is the bit. The votes
 * are counted in bit-sliced counters: adding a hash costs a few logical operations for all 64 bits
 * together.
 *
 * The search: two hashes that differ in at most 3 bits agree in at least one of their four 16-bit
 * blocks. So there are four tables. Table t holds the hashes with block t rotated to the top
 * (simhash_table_key), sorted; a look-up reads in each table the keys that share the top 16 bits,
 * and tests the distance. Where the tables live is the caller's affair (SimhashTables): a B-tree
 * reads each range sequentially. At 100 million pages a range has 100 M / 65 536 = 1 526 keys, and
 * these are compared without any other access.
 *
 * Owns: nothing.
 * Threads: pure functions, but for the caller's tables.
 * Source: M. Charikar 2002; G. Manku, A. Jain, A. Das Sarma 2007. */
#ifndef PARSE_TEXT_SIMHASH_H
#define PARSE_TEXT_SIMHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define SIMHASH_TABLES   4
#define SIMHASH_DISTANCE 3
#define SIMHASH_VISITS   4096
#define SIMHASH_PLANES   32 /* votes of up to 2^32 shingles */
#define SIMHASH_BATCH    8

/* Votes; all zero is empty. */
typedef struct SimhashCounter {
    uint64_t planes[SIMHASH_PLANES]; /* bit k of a bit's count */
    uint64_t batch[SIMHASH_BATCH];   /* not yet counted */
    unsigned n_batch;
    uint64_t n; /* hashes counted and waiting */
} SimhashCounter;

/* Counts the batch. */
void simhash_flush(SimhashCounter *counter);

static inline void simhash_add(SimhashCounter *counter, uint64_t hash)
{
    counter->batch[counter->n_batch++] = hash;
    if (counter->n_batch == SIMHASH_BATCH) {
        simhash_flush(counter);
    }
}

/* The majority of what was added; 0 when nothing was. */
uint64_t simhash_of_counter(SimhashCounter *counter);

static inline unsigned simhash_distance(uint64_t a, uint64_t b)
{
    return (unsigned)__builtin_popcountll(a ^ b);
}

/* ---- look-up ---- */

/* The key of a hash in table 0..3: rotated so that 16-bit block number table is on top. */
static inline uint64_t simhash_table_key(uint64_t hash, unsigned table)
{
    unsigned shift = 16 * table;
    return shift == 0 ? hash : hash << shift | hash >> (64 - shift);
}

/* The hash of a key. */
static inline uint64_t simhash_of_table_key(uint64_t key, unsigned table)
{
    unsigned shift = 16 * table;
    return shift == 0 ? key : key >> shift | key << (64 - shift);
}

/* Called with each entry of a range; false ends the scan. */
typedef bool (*SimhashVisit)(void *context, uint64_t key, uint64_t page);

/* Sorted tables of (key, page), provided by the caller. */
typedef struct SimhashTables {
    void *state;
    /* Adds an entry; errors are handed on. */
    Result (*put)(void *state, unsigned table, uint64_t key, uint64_t page);
    /* Visits all entries with first <= key <= last, ascending; errors are handed on. */
    Result (*scan)(void *state, unsigned table, uint64_t first, uint64_t last, SimhashVisit visit,
                   void *context);
} SimhashTables;

typedef struct SimhashMatch {
    uint64_t page;
    uint64_t hash;
    unsigned distance;
} SimhashMatch;

/* Enters a page into the four tables. Hash 0 (text too short) is not entered. */
Result simhash_insert(const SimhashTables *tables, uint64_t hash, uint64_t page);

/* The nearest page within SIMHASH_DISTANCE, the lowest number among equals: the original, when
 * numbers are given in order. RESULT_NOT_FOUND: none, or hash is 0. An exact match is looked for
 * first, and ends the search. Of each table SIMHASH_VISITS entries are looked at: those that agree
 * with the hash in most of its leading bits, and the first ones of the range. So a look-up has a
 * bound. Only where more entries share a block of 16 bits (200 million pages, or tens of thousands
 * of pages from one template) a nearer page may be overlooked. */
Result simhash_find(const SimhashTables *tables, uint64_t hash, SimhashMatch *match);

#endif
