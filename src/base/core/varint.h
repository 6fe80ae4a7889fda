/* Integers of variable length, as in protocol buffers.
 *
 * What: seven bits a byte, least significant first, the top bit set in all but the last byte.
 * Signed numbers put the sign into the lowest bit: n >= 0 is 2n, n < 0 is 2|n|+1; so small
 * magnitudes stay short. All 64 bits round trip, except that INT64_MIN has no such form and is
 * encoded as 1, the otherwise unused "negative zero".
 * Threads: pure functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MAX_VARINT_SIZE 10 /* bytes of the longest varint */

/* The mapping of signed to unsigned, and back. */
static inline uint64_t varint_sign_fold(int64_t n)
{
    if (n >= 0) {
        return (uint64_t)n << 1;
    }
    return (-(uint64_t)n << 1) | 1;
}

static inline int64_t varint_sign_unfold(uint64_t u)
{
    if ((u & 1) == 0) {
        return (int64_t)(u >> 1);
    }
    return u == 1 ? INT64_MIN : -(int64_t)(u >> 1);
}

/* Reads one varint of the bytes [p, end); returns the byte behind it, or NULL when it does not end
 * there or does not fit 64 bits. For bytes from disk. */
static inline const uint8_t *varint_read(const uint8_t *p, const uint8_t *end, uint64_t *n)
{
    uint64_t value = 0;
    for (unsigned shift = 0; p < end && shift < 70; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) {
            return NULL;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *n = value;
            return p;
        }
    }
    return NULL;
}

/* Writes n to out (room for MAX_VARINT_SIZE bytes); returns the byte behind it. */
static inline uint8_t *varint_encode_uint64(uint64_t n, uint8_t *out)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

static inline uint8_t *varint_encode_int64(int64_t n, uint8_t *out)
{
    return varint_encode_uint64(varint_sign_fold(n), out);
}

/* Reads a number; *read is how many bytes it took, 0 when none ends within MAX_VARINT_SIZE bytes.
 * For bytes that are known to hold a varint. */
static inline uint64_t varint_decode_uint64(const uint8_t *in, uint8_t *read)
{
    uint64_t n = 0;
    const uint8_t *end = varint_read(in, in + MAX_VARINT_SIZE, &n);
    *read = end == NULL ? 0 : (uint8_t)(end - in);
    return n;
}

static inline int64_t varint_decode_int64(const uint8_t *in, uint8_t *read)
{
    return varint_sign_unfold(varint_decode_uint64(in, read));
}
