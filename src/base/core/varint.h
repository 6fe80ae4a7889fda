/* Integers of variable length, as in protocol buffers.
 *
 * What: seven bits a byte, least significant first, the top bit set in all but the last byte.
 * Signed numbers put the sign into the lowest bit: n >= 0 is 2n, n < 0 is 2|n|+1; so small
 * magnitudes stay short. All 64 bits round trip, except that INT64_MIN has no such form and is
 * encoded as 1, the otherwise unused "negative zero".
 * Threads: pure functions. */
#ifndef BASE_CORE_VARINT_H
#define BASE_CORE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define MAX_VARINT_SIZE 10 /* bytes of the longest varint */

/* Writes n to out (room for MAX_VARINT_SIZE bytes); returns the byte behind it. */
uint8_t *varint_encode_uint64(uint64_t n, uint8_t *out);
uint8_t *varint_encode_int64(int64_t n, uint8_t *out);
/* Reads a number; *read is how many bytes it took, 0 when none ends within MAX_VARINT_SIZE bytes.
 * For bytes that are known to hold a varint. */
uint64_t varint_decode_uint64(const uint8_t *in, uint8_t *read);
int64_t varint_decode_int64(const uint8_t *in, uint8_t *read);

/* The mapping of signed to unsigned behind varint_encode_int64, and back. */
uint64_t varint_sign_fold(int64_t n);
int64_t varint_sign_unfold(uint64_t u);

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

#endif
