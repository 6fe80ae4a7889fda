#include "store/front/bf_set.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

void bf_set_destroy(BFSet *set)
{
    for (size_t i = 0; i < set->n_chunks; i++) {
        free(set->chunks[i].words);
    }
    free(set->chunks);
    *set = (BFSet){0};
}

static uint64_t *word_of(const BFSetChunk *chunk, uint64_t number)
{
    return &chunk->words[number % BF_SET_CHUNK_BITS / WORD_BITS];
}

static uint64_t bit_of(uint64_t number)
{
    return UINT64_C(1) << number % WORD_BITS;
}

/* Room in the directory for chunk number at. */
static Result reserve_chunks(BFSet *set, size_t at)
{
    if (at < set->n_chunks) {
        return RESULT_OK;
    }
    size_t n = at + 1 > set->n_chunks * 2 ? at + 1 : set->n_chunks * 2;
    BFSetChunk *chunks = realloc(set->chunks, n * sizeof *chunks);
    if (chunks == NULL) {
        return RESULT_MEMORY;
    }
    memset(chunks + set->n_chunks, 0, (n - set->n_chunks) * sizeof *chunks);
    set->chunks = chunks;
    set->n_chunks = n;
    return RESULT_OK;
}

Result bf_set_add(BFSet *set, uint64_t number)
{
    size_t at = number / BF_SET_CHUNK_BITS;
    Result rc = reserve_chunks(set, at);
    if (rc != RESULT_OK) {
        return rc;
    }
    BFSetChunk *chunk = &set->chunks[at];
    if (chunk->words == NULL) {
        chunk->words = calloc(BF_SET_CHUNK_BITS / WORD_BITS, sizeof *chunk->words);
        if (chunk->words == NULL) {
            return RESULT_MEMORY;
        }
    }
    uint64_t *word = word_of(chunk, number);
    bool is_new = (*word & bit_of(number)) == 0;
    *word |= bit_of(number);
    chunk->count += is_new;
    set->count += is_new;
    return RESULT_OK;
}

bool bf_set_has(const BFSet *set, uint64_t number)
{
    size_t at = number / BF_SET_CHUNK_BITS;
    return at < set->n_chunks && set->chunks[at].count > 0 &&
           (*word_of(&set->chunks[at], number) & bit_of(number)) != 0;
}

bool bf_set_remove(BFSet *set, uint64_t number)
{
    if (!bf_set_has(set, number)) {
        return false;
    }
    BFSetChunk *chunk = &set->chunks[number / BF_SET_CHUNK_BITS];
    *word_of(chunk, number) &= ~bit_of(number);
    set->count--;
    if (--chunk->count == 0) {
        free(chunk->words);
        chunk->words = NULL;
    }
    return true;
}
