#include "base/core/hash.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t hash_32(const void *bytes, size_t length, uint32_t seed)
{
    assert(bytes != NULL || length == 0);
    return XXH32(length == 0 ? "" : bytes, length, seed);
}

uint64_t hash_64(const void *bytes, size_t length, uint64_t seed)
{
    assert(bytes != NULL || length == 0);
    return XXH3_64bits_withSeed(length == 0 ? "" : bytes, length, seed);
}

Hash128 hash_128(const void *bytes, size_t length)
{
    assert(bytes != NULL || length == 0);
    XXH128_hash_t h = XXH3_128bits(length == 0 ? "" : bytes, length);
    return (Hash128){.high = h.high64, .low = h.low64};
}

uint64_t hash_xxh64(const void *bytes, size_t length)
{
    assert(bytes != NULL || length == 0);
    return XXH64(length == 0 ? "" : bytes, length, 0);
}
