#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory/buffer.h"
#include "base/core/hash.h"
#include "parse/http/decode.h"
#include "unit.h"
#include "zlib_fixture.h"

#define NO_RATIO 0u

/* "brotli line 0\n", "brotli line 15\n", ... (each with the text's length so far), 2 989 bytes. */
static const uint8_t brotli_lines[] = {
    0x13, 0xAC, 0x0B, 0xE0, 0x8D, 0x54, 0xB5, 0x7F, 0x84, 0x4A, 0xF7, 0x86, 0xFE, 0xFB, 0x2E, 0x09,
    0x59, 0xA5, 0xB1, 0x51, 0x4F, 0x7F, 0x03, 0xE0, 0xB7, 0x78, 0x98, 0x41, 0xE3, 0x61, 0x6A, 0x5F,
    0xC3, 0x22, 0xD6, 0x83, 0xC2, 0x23, 0xE7, 0xDE, 0x1D, 0x7D, 0xA2, 0xE0, 0xC0, 0xEB, 0x1C, 0xB1,
    0xFC, 0x2B, 0xAD, 0xFF, 0x9E, 0xB6, 0xFF, 0x63, 0x20, 0x41, 0x60, 0x03, 0x13, 0xE9, 0x56, 0x41,
    0x00, 0x13, 0x2C, 0xA1, 0x22, 0x42, 0xB1, 0x3F, 0xB1, 0x43, 0xB0, 0x90, 0x10, 0xE0, 0xB2, 0x9F,
    0x21, 0x14, 0x14, 0x04, 0x38, 0x38, 0x6E, 0x1B, 0x86, 0x40, 0x60, 0x03, 0x13, 0xE9, 0x56, 0x11,
    0x00, 0x13, 0x2C, 0xA1, 0x22, 0x42, 0xB1, 0x3F, 0x71, 0x43, 0xB0, 0x90, 0x10, 0xE0, 0xB2, 0x9F,
    0x51, 0x14, 0x14, 0x04, 0x38, 0x38, 0x6E, 0x1B, 0x1F, 0x02, 0x81, 0x0D, 0x4C, 0xA4, 0x5B, 0xFD,
    0x0D, 0x00, 0x35, 0xA7, 0x95, 0x3C, 0x4A, 0x51, 0xD7, 0x80, 0x9A, 0xAF, 0x8D, 0xBC, 0x3A, 0xA0,
    0x57, 0x84, 0xC4, 0xD1, 0x56, 0xB6, 0x8E, 0xE8, 0xAF, 0x45, 0xC4, 0x95, 0x20, 0x9F, 0x4E, 0xF8,
    0x53, 0x42, 0x45, 0x4B, 0x94, 0xBF, 0x2E, 0xF8, 0x5B, 0x1E, 0x88, 0x27, 0x49, 0x19, 0x5D, 0xF1,
    0x5D, 0x19, 0x8A, 0x5F, 0x8A, 0xB2, 0x2A, 0xF0, 0xAF, 0x6E, 0xA4, 0x1D, 0xA9, 0x8A, 0x55, 0xE2,
    0xFF, 0xEA, 0x44, 0xBB, 0x32, 0x94, 0x43, 0x55, 0x1F, 0xA3, 0xA9, 0xD6, 0x32, 0x95, 0xBF, 0xCD,
    0x15, 0x81, 0x15, 0xA1, 0x3D, 0x59, 0xBA, 0x41, 0x5B, 0x03, 0x8B, 0xD4, 0x7E, 0x39, 0xBA, 0xC5,
    0x47, 0x11, 0x27, 0x4A, 0x1A, 0xB9, 0x3A, 0xE3, 0xB3, 0x16, 0x5F, 0x8C, 0xB4, 0x0A, 0x74, 0x87,
    0xAF, 0xD2, 0x8C, 0x58, 0xC9, 0x0A, 0x75, 0x1F, 0x3F, 0xE5, 0x59, 0x2D, 0xA4, 0x53, 0xA4, 0x0E,
    0x7E, 0x2B, 0x63, 0x2D, 0xA5, 0xAF, 0x04, 0xDD, 0x3A, 0x40, 0x73, 0x5A, 0xC9, 0xA3, 0x14, 0x75,
    0x15, 0xD4, 0x7C, 0x6D, 0xE4, 0xD5, 0x01, 0xBD, 0xFA, 0x90, 0x38, 0xDA, 0xCA, 0x7E, 0x8F, 0x0F};
/* Four million times 'a'. */
static const uint8_t brotli_bomb[] = {0x9B, 0xFF, 0x08, 0x3D, 0x00, 0x24, 0xC2,
                                      0xE2, 0xB1, 0x40, 0x72, 0x01, 0x7A, 0x00};

static Decoder *new_decoder(void)
{
    Decoder *decoder = NULL;
    CU_ASSERT_EQUAL_FATAL(decoder_new(&decoder), RESULT_OK);
    return decoder;
}

static void zstd_to(Buffer *out, const char *bytes, size_t length)
{
    size_t bound = ZSTD_compressBound(length);
    CU_ASSERT_EQUAL_FATAL(buffer_reserve(out, bound), RESULT_OK);
    out->length += ZSTD_compress(out->data + out->length, bound, bytes, length, 3);
}

static void make_text(Buffer *out, size_t length)
{
    uint64_t state = 3;
    while (out->length < length) {
        state = hash_mix(state + 1);
        (void)buffer_printf(out, "<p>%llx and words</p>\n", (unsigned long long)state % 100000);
    }
    out->length = length;
}

static DecodeStatus decode(Decoder *d, const char *encoding, const Buffer *raw, Buffer *out)
{
    buffer_reset(out);
    return decode_content(d, encoding, strlen(encoding), raw->data, raw->length, out, 100);
}

static bool same(const Buffer *a, const Buffer *b)
{
    return a->length == b->length && (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

typedef struct Bodies {
    Decoder *decoder;
    Buffer text, raw, out;
} Bodies;

static Bodies new_bodies(size_t text_length)
{
    Bodies b = {.decoder = new_decoder()};
    buffer_init(&b.text, BUFFER_NO_LIMIT);
    buffer_init(&b.raw, BUFFER_NO_LIMIT);
    buffer_init(&b.out, (size_t)64 << 20);
    make_text(&b.text, text_length);
    return b;
}

static void delete_bodies(Bodies *b)
{
    decoder_delete(b->decoder);
    buffer_destroy(&b->text);
    buffer_destroy(&b->raw);
    buffer_destroy(&b->out);
}

static void every_coding_comes_back(void)
{
    static const size_t sizes[] = {1, 1000, 65536, 300000, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Bodies b = new_bodies(sizes[i]);
        zlib_fixture_pack(&b.raw, 31, b.text.data, b.text.length);
        CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        CU_ASSERT_EQUAL(decode(b.decoder, " X-GZip ", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        buffer_reset(&b.raw);
        zlib_fixture_pack(&b.raw, 15, b.text.data, b.text.length);
        CU_ASSERT_EQUAL(decode(b.decoder, "deflate", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        buffer_reset(&b.raw);
        zlib_fixture_pack(&b.raw, -15, b.text.data, b.text.length);
        CU_ASSERT_EQUAL(decode(b.decoder, "deflate", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        buffer_reset(&b.raw);
        zstd_to(&b.raw, b.text.data, b.text.length);
        CU_ASSERT_EQUAL(decode(b.decoder, "zstd", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        delete_bodies(&b);
    }
}

static void brotli_comes_back_whole_or_cut(void)
{
    Bodies b = new_bodies(0);
    while (b.text.length + 26 < 3000) {
        (void)buffer_printf(&b.text, "brotli line %zu\n", b.text.length);
    }
    for (int round = 0; round < 3; round++) { /* the memory is reused */
        buffer_reset(&b.raw);
        (void)buffer_append(&b.raw, brotli_lines, sizeof brotli_lines);
        CU_ASSERT_EQUAL(decode(b.decoder, "br", &b.raw, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        b.raw.length -= 40;
        CU_ASSERT_EQUAL(decode(b.decoder, "br", &b.raw, &b.out), DECODE_TRUNCATED);
        CU_ASSERT_TRUE(b.out.length < b.text.length);
        CU_ASSERT_EQUAL(memcmp(b.out.data, b.text.data, b.out.length), 0);
    }
    delete_bodies(&b);
}

static void stacked_codings_are_undone_in_reverse(void)
{
    Bodies b = new_bodies(20000);
    Buffer one;
    Buffer two;
    buffer_init(&one, BUFFER_NO_LIMIT);
    buffer_init(&two, BUFFER_NO_LIMIT);
    zlib_fixture_pack(&one, 31, b.text.data, b.text.length);
    zstd_to(&two, one.data, one.length);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip, zstd", &two, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.text));
    zlib_fixture_pack(&b.raw, 15, two.data, two.length);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip,identity,,zstd , deflate", &b.raw, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.text));
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip,gzip,zstd,deflate", &b.raw, &b.out), DECODE_BROKEN);
    buffer_destroy(&one);
    buffer_destroy(&two);
    delete_bodies(&b);
}

static void what_was_never_encoded_stays_plain(void)
{
    Bodies b = new_bodies(5000);
    const char *const words[] = {"",   "identity", "gzip",  "deflate",
                                 "br", "zstd",     "utf-8", "gzip, gzip"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CU_ASSERT_EQUAL(decode(b.decoder, words[i], &b.text, &b.out), DECODE_OK);
        CU_ASSERT_TRUE(same(&b.out, &b.text));
        CU_ASSERT_EQUAL(decode(b.decoder, words[i], &b.raw, &b.out), DECODE_OK); /* empty */
        CU_ASSERT_EQUAL(b.out.length, 0);
    }
    buffer_reset(&b.out);
    CU_ASSERT_EQUAL(decode_content(b.decoder, NULL, 9, b.text.data, 7, &b.out, NO_RATIO),
                    DECODE_OK);
    CU_ASSERT_EQUAL(b.out.length, 7);
    delete_bodies(&b);
}

/* "80" and "x\x01" are heads of zlib streams; only the first can be a page. */
static void text_that_looks_like_a_codings_head_is_text(void)
{
    Bodies b = new_bodies(100);
    (void)buffer_append(&b.raw, "80", 2);
    CU_ASSERT_EQUAL(decode(b.decoder, "deflate", &b.raw, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.raw));
    buffer_reset(&b.raw);
    (void)buffer_append(&b.raw, "x\x01", 2);
    CU_ASSERT_EQUAL(decode(b.decoder, "deflate", &b.raw, &b.out), DECODE_TRUNCATED);
    CU_ASSERT_EQUAL(b.out.length, 0);
    delete_bodies(&b);
}

static void gzip_may_have_many_members_and_padding(void)
{
    Bodies b = new_bodies(9000);
    zlib_fixture_pack(&b.raw, 31, b.text.data, 4000);
    zlib_fixture_pack(&b.raw, 31, b.text.data + 4000, 0);
    zlib_fixture_pack(&b.raw, 31, b.text.data + 4000, 5000);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.text));
    (void)buffer_append(&b.raw, "\0\0\0\0junk", 8);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.text));
    buffer_reset(&b.raw);
    zstd_to(&b.raw, b.text.data, 4000);
    zstd_to(&b.raw, b.text.data + 4000, 5000);
    CU_ASSERT_EQUAL(decode(b.decoder, "zstd", &b.raw, &b.out), DECODE_OK);
    CU_ASSERT_TRUE(same(&b.out, &b.text));
    delete_bodies(&b);
}

static void broken_bodies_keep_what_came_before(void)
{
    Bodies b = new_bodies(200000);
    for (int codec = 0; codec < 4; codec++) {
        static const char *const words[] = {"gzip", "deflate", "deflate", "zstd"};
        static const int bits[] = {31, 15, -15};
        buffer_reset(&b.raw);
        if (codec == 3) {
            zstd_to(&b.raw, b.text.data, b.text.length);
        } else {
            zlib_fixture_pack(&b.raw, bits[codec], b.text.data, b.text.length);
        }
        size_t whole = b.raw.length;
        /* At every cut the output is a prefix of the text, and the status says so. */
        for (size_t cut = 0; cut < whole; cut += 1 + whole / 60) {
            b.raw.length = cut;
            DecodeStatus status = decode(b.decoder, words[codec], &b.raw, &b.out);
            bool is_tiny = cut < 4; /* too short to be told from plain text */
            CU_ASSERT_TRUE(is_tiny || status == DECODE_TRUNCATED);
            CU_ASSERT_TRUE(is_tiny || (b.out.length <= b.text.length &&
                                       (b.out.length == 0 ||
                                        memcmp(b.out.data, b.text.data, b.out.length) == 0)));
            CU_ASSERT_TRUE(codec == 3 || cut < whole * 3 / 4 || b.out.length > b.text.length / 2);
        }
        b.raw.length = whole;
        b.raw.data[whole - 3] = (char)(b.raw.data[whole - 3] ^ 0x55); /* in the check sum */
        DecodeStatus status = decode(b.decoder, words[codec], &b.raw, &b.out);
        CU_ASSERT_TRUE(codec >= 2 || (status == DECODE_BROKEN && same(&b.out, &b.text)));
    }
    delete_bodies(&b);
}

static void the_limit_keeps_what_fits(void)
{
    Bodies b = new_bodies(100000);
    zlib_fixture_pack(&b.raw, 31, b.text.data, b.text.length);
    static const size_t limits[] = {0, 1, 65536, 99999};
    for (size_t i = 0; i < 4; i++) {
        Buffer small;
        buffer_init(&small, limits[i]);
        CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &small), DECODE_LIMIT);
        CU_ASSERT_EQUAL(small.length, limits[i]);
        CU_ASSERT_TRUE(limits[i] == 0 || memcmp(small.data, b.text.data, limits[i]) == 0);
        CU_ASSERT_EQUAL(decode(b.decoder, "", &b.text, &small), DECODE_LIMIT);
        CU_ASSERT_EQUAL(small.length, limits[i]);
        buffer_destroy(&small);
    }
    Buffer exact;
    buffer_init(&exact, 100000);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &exact), DECODE_OK);
    CU_ASSERT_TRUE(same(&exact, &b.text));
    buffer_reset(&b.raw);
    zlib_fixture_pack(&b.raw, 15, b.text.data, b.text.length);
    CU_ASSERT_EQUAL(decode(b.decoder, "deflate", &b.raw, &exact), DECODE_OK);
    CU_ASSERT_TRUE(same(&exact, &b.text));
    buffer_destroy(&exact);
    delete_bodies(&b);
}

static void bombs_are_stopped(void)
{
    Bodies b = new_bodies(0);
    char *zeros = calloc(1, (size_t)8 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(zeros);
    zlib_fixture_pack(&b.raw, 31, zeros, (size_t)8 << 20);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip", &b.raw, &b.out), DECODE_RATIO);
    CU_ASSERT_TRUE(b.out.length < DECODE_RATIO_FLOOR + (1u << 18));
    buffer_reset(&b.out);
    CU_ASSERT_EQUAL(
        decode_content(b.decoder, "gzip", 4, b.raw.data, b.raw.length, &b.out, NO_RATIO),
        DECODE_OK);
    CU_ASSERT_EQUAL(b.out.length, (size_t)8 << 20);
    /* Twice compressed: each stage alone looks harmless. */
    Buffer twice;
    buffer_init(&twice, BUFFER_NO_LIMIT);
    zlib_fixture_pack(&twice, 31, b.raw.data, b.raw.length);
    CU_ASSERT_EQUAL(decode(b.decoder, "gzip, gzip", &twice, &b.out), DECODE_RATIO);
    buffer_destroy(&twice);
    buffer_reset(&b.raw);
    (void)buffer_append(&b.raw, brotli_bomb, sizeof brotli_bomb);
    CU_ASSERT_EQUAL(decode(b.decoder, "br", &b.raw, &b.out), DECODE_RATIO);
    buffer_reset(&b.raw);
    zstd_to(&b.raw, zeros, (size_t)8 << 20);
    CU_ASSERT_EQUAL(decode(b.decoder, "zstd", &b.raw, &b.out), DECODE_RATIO);
    free(zeros);
    delete_bodies(&b);
}

typedef struct Pieces {
    Buffer all;
    size_t largest;
    size_t stop_at;
} Pieces;

static bool take_piece(void *context, const char *bytes, size_t length)
{
    Pieces *pieces = context;
    pieces->largest = length > pieces->largest ? length : pieces->largest;
    (void)buffer_append(&pieces->all, bytes, length);
    return pieces->all.length < pieces->stop_at;
}

static DecodeStatus stream(Bodies *b, Pieces *pieces, size_t max_bytes, unsigned max_ratio)
{
    DecodeBounds bounds = {.max_bytes = max_bytes, .max_ratio = max_ratio};
    buffer_reset(&pieces->all);
    return decode_gzip_stream(b->decoder, b->raw.data, b->raw.length, bounds, take_piece, pieces);
}

static void gzip_files_come_in_pieces(void)
{
    Bodies b = new_bodies(500000);
    Pieces pieces = {.stop_at = SIZE_MAX};
    buffer_init(&pieces.all, BUFFER_NO_LIMIT);
    zlib_fixture_pack(&b.raw, 31, b.text.data, 300000);
    zlib_fixture_pack(&b.raw, 31, b.text.data + 300000, 200000);
    CU_ASSERT_EQUAL(stream(&b, &pieces, SIZE_MAX, 100), DECODE_OK);
    CU_ASSERT_TRUE(same(&pieces.all, &b.text));
    CU_ASSERT_TRUE(pieces.largest <= 65536);
    CU_ASSERT_EQUAL(stream(&b, &pieces, 500000, 100), DECODE_OK);
    CU_ASSERT_EQUAL(stream(&b, &pieces, 400001, 100), DECODE_LIMIT);
    CU_ASSERT_EQUAL(pieces.all.length, 400001);
    pieces.stop_at = 100000;
    CU_ASSERT_EQUAL(stream(&b, &pieces, SIZE_MAX, 100), DECODE_OK);
    CU_ASSERT_EQUAL(pieces.all.length, 131072);
    pieces.stop_at = SIZE_MAX;
    b.raw.length -= 1000;
    CU_ASSERT_EQUAL(stream(&b, &pieces, SIZE_MAX, 100), DECODE_TRUNCATED);
    CU_ASSERT_TRUE(pieces.all.length > 400000 && pieces.all.length < 500000);
    CU_ASSERT_EQUAL(memcmp(pieces.all.data, b.text.data, pieces.all.length), 0);
    b.raw.length = 100;
    CU_ASSERT_EQUAL(stream(&b, &pieces, 0, 0), DECODE_LIMIT);
    CU_ASSERT_EQUAL(pieces.all.length, 0);
    buffer_destroy(&pieces.all);
    delete_bodies(&b);
}

static void a_bomb_is_known_by_its_beginning(void)
{
    Bodies b = new_bodies(500000);
    Pieces pieces = {.stop_at = SIZE_MAX};
    size_t length = (size_t)32 << 20;
    char *zeros = calloc(1, length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(zeros);
    buffer_init(&pieces.all, BUFFER_NO_LIMIT);
    zlib_fixture_pack(&b.raw, 31, zeros, length);
    CU_ASSERT_EQUAL(buffer_append(&b.raw, b.text.data, 300000),
                    RESULT_OK); /* as a whole it is none */
    CU_ASSERT_EQUAL(stream(&b, &pieces, SIZE_MAX, 200), DECODE_RATIO);
    CU_ASSERT_TRUE(pieces.all.length > DECODE_PREFIX_FLOOR &&
                   pieces.all.length <= DECODE_PREFIX_FLOOR + 65536);
    CU_ASSERT_EQUAL(stream(&b, &pieces, SIZE_MAX, 0), DECODE_OK);
    CU_ASSERT_EQUAL(pieces.all.length, length);
    buffer_destroy(&pieces.all);
    free(zeros);
    delete_bodies(&b);
}

static DecodeStatus chunked(const char *raw, size_t length, Buffer *out)
{
    buffer_reset(out);
    return decode_chunked(raw, length, out);
}

static void chunks_are_joined(void)
{
    static const struct {
        const char *raw, *text;
        DecodeStatus status;
    } cases[] = {
        {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", DECODE_OK},
        {"5;a=\"b\";;;=\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", "hello", DECODE_OK},
        {"  5 \nhello\n000;x\n", "hello", DECODE_OK},
        {"5\r\nhello0\r\n\r\n", "hello", DECODE_OK},
        {"A\r\n0123456789\r\n0", "0123456789", DECODE_OK},
        {"0\r\n\r\n", "", DECODE_OK},
        {"5\r\nhel", "hel", DECODE_TRUNCATED},
        {"5\r\nhello", "hello", DECODE_TRUNCATED},
        {"5\r\nhello\r\n", "hello", DECODE_TRUNCATED},
        {"5\r\nhello\r\n6", "hello", DECODE_TRUNCATED},
        {"5", "", DECODE_TRUNCATED},
        {"", "", DECODE_TRUNCATED},
        {"5\r\nhello\r\nzz\r\n", "hello", DECODE_BROKEN},
        {"-5\r\nhello\r\n", "", DECODE_BROKEN},
        {"5g\r\nhello\r\n", "", DECODE_BROKEN},
        {"fffffffffffffffff\r\nx", "", DECODE_BROKEN},
        {"<html>", "", DECODE_BROKEN},
    };
    Buffer out;
    buffer_init(&out, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(chunked(cases[i].raw, strlen(cases[i].raw), &out), cases[i].status);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), cases[i].text);
    }
    out.limit = 7;
    CU_ASSERT_EQUAL(chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 27, &out), DECODE_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "hello w");
    buffer_destroy(&out);
    CU_ASSERT_STRING_EQUAL(decode_status_name(DECODE_RATIO), "ratio");
}

static bool is_plain(const char *encoding)
{
    return decode_is_plain(encoding, encoding == NULL ? 0 : strlen(encoding));
}

static void a_body_without_a_coding_is_what_it_is(void)
{
    CU_ASSERT_TRUE(is_plain(NULL));
    CU_ASSERT_TRUE(is_plain(""));
    CU_ASSERT_TRUE(is_plain("identity"));
    CU_ASSERT_TRUE(is_plain("unheard-of, utf-8"));
    CU_ASSERT_FALSE(is_plain("gzip"));
    CU_ASSERT_FALSE(is_plain("identity, br"));
    CU_ASSERT_FALSE(is_plain("gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip")); /* broken */
}

UNIT_MAIN("decode",
          {"a body without a coding is what it is", a_body_without_a_coding_is_what_it_is},
          {"every coding comes back", every_coding_comes_back},
          {"brotli comes back, whole or cut", brotli_comes_back_whole_or_cut},
          {"stacked codings are undone in reverse", stacked_codings_are_undone_in_reverse},
          {"what was never encoded stays plain", what_was_never_encoded_stays_plain},
          {"text that looks like a coding's head is text",
           text_that_looks_like_a_codings_head_is_text},
          {"gzip may have many members and padding", gzip_may_have_many_members_and_padding},
          {"broken bodies keep what came before", broken_bodies_keep_what_came_before},
          {"the limit keeps what fits", the_limit_keeps_what_fits},
          {"bombs are stopped", bombs_are_stopped},
          {"a bomb is known by its beginning", a_bomb_is_known_by_its_beginning},
          {"gzip files come in pieces", gzip_files_come_in_pieces},
          {"chunks are joined", chunks_are_joined})
