/* A transport whose bucket answers nothing by itself: a test sees what was asked for, and tells
 * what came. Header only.
 *
 *   BucketSeen seen;
 *   Transport transport = {.state = &seen, .get = bucket_get, .put = bucket_put}; */
#ifndef TESTS_UNIT_BUCKET_FIXTURE_H
#define TESTS_UNIT_BUCKET_FIXTURE_H

#include <string.h>

#include "cluster/transport/transport.h"

typedef struct BucketSeen {
    uint64_t last; /* token of the last get or put */
    uint64_t last_get;
    uint64_t expected; /* of the last put: the revision that it is to replace */
    unsigned n_puts;
    unsigned n_listens;
    char value[1024]; /* the last that was put, if it is no longer */
    size_t length;
} BucketSeen;

static inline Result bucket_get(void *state, const char *key, uint64_t token)
{
    BucketSeen *seen = state;
    (void)key;
    seen->last = seen->last_get = token;
    return RESULT_OK;
}

static inline Result bucket_put(void *state, const char *key, const void *bytes, size_t length,
                                uint64_t expected, uint64_t token)
{
    BucketSeen *seen = state;
    (void)key;
    seen->length = length <= sizeof seen->value ? length : 0;
    memcpy(seen->value, bytes, seen->length);
    seen->expected = expected;
    seen->last = token;
    seen->n_puts++;
    return RESULT_OK;
}

static inline Result bucket_listen(void *state, const char *subject)
{
    BucketSeen *seen = state;
    (void)subject;
    seen->n_listens++;
    return RESULT_OK;
}

static inline Result bucket_request(void *state, const char *subject, const void *bytes,
                                    size_t length, uint64_t token)
{
    BucketSeen *seen = state;
    (void)subject;
    (void)bytes;
    (void)length;
    seen->last = token;
    return RESULT_OK;
}

#endif
