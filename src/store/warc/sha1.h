/* SHA-1 by the processor's own instructions, and two at a time.
 *
 * What: a response record needs the digest of its block (header and body) and of its payload (the
 * body): the same bytes twice. One SHA-1 is bound by the latency of its rounds, so two interleaved
 * cost little more than one. This works on x86-64 with SHA-NI; elsewhere sha1_is_fast says no and
 * the caller uses libcrypto. SHA-1 is an identity here, not a protection.
 * Threads: a Sha1 belongs to one thread.
 * Source: FIPS 180-4. */
#ifndef STORE_WARC_SHA1_H
#define STORE_WARC_SHA1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

typedef struct Sha1 {
    uint32_t h[5];
    uint8_t partial[64]; /* bytes of a block that is not full */
    size_t n_partial;    /* less than 64 */
    uint64_t length;     /* bytes in all */
} Sha1;

/* False: the other functions must not be called. */
bool sha1_is_fast(void);

void sha1_init(Sha1 *sha1);
void sha1_update(Sha1 *sha1, const void *bytes, size_t length);
/* The same bytes into two digests. */
void sha1_update_pair(Sha1 *a, Sha1 *b, const void *bytes, size_t length);
void sha1_final(Sha1 *sha1, uint8_t digest[SHA1_BYTES]);

#endif
