#include "base/core/varint.h"

uint8_t *varint_encode_uint64(uint64_t n, uint8_t *out)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

uint64_t varint_sign_fold(int64_t n)
{
    if (n >= 0) {
        return (uint64_t)n << 1;
    }
    return (-(uint64_t)n << 1) | 1;
}

int64_t varint_sign_unfold(uint64_t u)
{
    if ((u & 1) == 0) {
        return (int64_t)(u >> 1);
    }
    return u == 1 ? INT64_MIN : -(int64_t)(u >> 1);
}

uint8_t *varint_encode_int64(int64_t n, uint8_t *out)
{
    return varint_encode_uint64(varint_sign_fold(n), out);
}

uint64_t varint_decode_uint64(const uint8_t *in, uint8_t *read)
{
    uint64_t n = 0;
    const uint8_t *end = varint_read(in, in + MAX_VARINT_SIZE, &n);
    *read = end == NULL ? 0 : (uint8_t)(end - in);
    return n;
}

int64_t varint_decode_int64(const uint8_t *in, uint8_t *read)
{
    return varint_sign_unfold(varint_decode_uint64(in, read));
}
