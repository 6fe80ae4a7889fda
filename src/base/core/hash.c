#include "base/core/hash.h"

#include <assert.h>
#include <stdlib.h>

#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h> /* XXH3 with the widest vectors that the processor has */
#endif

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

/* ---- in pieces ---- */

struct HashStream {
    XXH3_state_t *state; /* aligned, which malloc does not promise */
};

HashStream *hash_stream_new(void)
{
    HashStream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    stream->state = XXH3_createState();
    if (stream->state == NULL) {
        free(stream);
        return NULL;
    }
    hash_stream_reset(stream);
    return stream;
}

void hash_stream_delete(HashStream *stream)
{
    if (stream != NULL) {
        (void)XXH3_freeState(stream->state);
        free(stream);
    }
}

void hash_stream_reset(HashStream *stream)
{
    (void)XXH3_128bits_reset(stream->state);
}

void hash_stream_add(HashStream *stream, const void *bytes, size_t length)
{
    if (length > 0) {
        (void)XXH3_128bits_update(stream->state, bytes, length);
    }
}

Hash128 hash_stream_result(const HashStream *stream)
{
    XXH128_hash_t h = XXH3_128bits_digest(stream->state);
    return (Hash128){.high = h.high64, .low = h.low64};
}
