/* Fingerprints of byte strings, by xxHash.
 *
 * What: hash_32 is XXH32, the function of the documented page hash; hash_xxh64 is that of slots;
 * hash_64 and hash_128 are XXH3, for everything else. None of them is secret: tables whose keys a
 * stranger chooses take a random seed.
 * Threads: pure functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Hash128 {
    uint64_t high;
    uint64_t low;
} Hash128;

uint32_t hash_32(const void *bytes, size_t length, uint32_t seed);
uint64_t hash_64(const void *bytes, size_t length, uint64_t seed);
Hash128 hash_128(const void *bytes, size_t length);

/* hash_128 of bytes that come in pieces: whatever the pieces, the hash is that of the whole. */
typedef struct HashStream HashStream;

/* NULL without memory. */
HashStream *hash_stream_new(void);
void hash_stream_delete(HashStream *stream);
/* Forgets what was added. */
void hash_stream_reset(HashStream *stream);
void hash_stream_add(HashStream *stream, const void *bytes, size_t length);
Hash128 hash_stream_result(const HashStream *stream);

/* XXH64 with seed 0: what the slots of a cluster are made of (cluster/table/cluster_table.h), for
 * good. */
uint64_t hash_xxh64(const void *bytes, size_t length);

/* A bijective mixer of 64 bits (splitmix64's finaliser): spreads integers that are used as keys. */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}
