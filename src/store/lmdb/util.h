/* Small things that the formats share: variable-length integers, and the host of a URL.
 *
 * What: varints are those of protocol buffers: seven bits a byte, least significant first, the top
 * bit set in all but the last byte. Signed numbers put the sign into the lowest bit: n >= 0 is 2n,
 * n < 0 is 2|n|+1; so small magnitudes stay short. All 64 bits round trip, except that INT64_MIN
 * has no such form and is encoded as 1, the otherwise unused "negative zero". url_domain knows http
 * and https in lower case, as the documented page hash does; everything else has no domain.
 * Threads: pure functions. */
#ifndef STORE_LMDB_UTIL_H
#define STORE_LMDB_UTIL_H

#include <stdbool.h>
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

/* Where a URL's parts are, as offsets: "http://" up to authority_start, then userinfo with its "@",
 * then [host_start, host_end), then ":port", up to authority_end. */
typedef struct UrlParts {
    size_t authority_start;
    size_t host_start;
    size_t host_end;
    size_t authority_end;
} UrlParts;

/* Finds them; false when url does not begin with http:// or https:// and a host. */
bool url_parts(const char *url, size_t length, UrlParts *parts);
/* The host of url is [*start, *end). 0, or -1 when it has none. */
int url_domain(const char *url, size_t *start, size_t *end);
/* Whether both have the same host, byte by byte; when neither has one, whether they are equal. */
bool same_domain(const char *url1, const char *url2);

#endif
