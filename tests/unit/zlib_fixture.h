/* Bytes packed by zlib, for tests. Header only. */
#ifndef TESTS_UNIT_ZLIB_FIXTURE_H
#define TESTS_UNIT_ZLIB_FIXTURE_H

#include <stdint.h>
#include <zlib.h>

#include "base/memory/buffer.h"
#include "unit.h"

/* Appends to out. window_bits: 31 gzip, 15 zlib, -15 raw deflate. */
static inline void zlib_fixture_pack(Buffer *out, int window_bits, const char *bytes, size_t length)
{
    z_stream z = {0};
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY),
                          Z_OK);
    size_t bound = deflateBound(&z, (uLong)length) + 32;
    CU_ASSERT_EQUAL_FATAL(buffer_reserve(out, bound), RESULT_OK);
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)length;
    z.next_out = (Bytef *)out->data + out->length;
    z.avail_out = (uInt)bound;
    CU_ASSERT_EQUAL(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->length += z.total_out;
    (void)deflateEnd(&z);
}

#endif
