/* Members by warc_compress.c: what comes out is what went in, and what is compressed already is
 * kept. */
#include <string.h>

#include "base/memory/buffer.h"
#include "store/warc/warc_compress.h"
#include "unit.h"

#define BYTES 20000u

static void fill_random(char *bytes, size_t length)
{
    uint64_t state = 20261122;
    for (size_t i = 0; i < length; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (char)(state >> 56);
    }
}

/* The bytes as digits of a base of 64. */
static void to_base64(char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i++) {
        bytes[i] = digits[(unsigned char)bytes[i] % 64];
    }
}

static void repeat(char *bytes, size_t length, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = text[i % n];
    }
}

/* Returns the length of the member, which reads back as the bytes. */
static size_t there_and_back(WarcCompressor *compressor, const char *bytes, size_t length)
{
    WarcDecompressor *decompressor = NULL;
    size_t used = 0;
    Buffer member = {.limit = BUFFER_NO_LIMIT};
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_EQUAL_FATAL(warc_compressor_append(compressor, bytes, length, &member), RESULT_OK);
    size_t n = member.length;
    CU_ASSERT_EQUAL_FATAL(warc_decompressor_new(&decompressor), RESULT_OK);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, member.data, n, &out, &used), RESULT_OK);
    CU_ASSERT_EQUAL(used, n);
    CU_ASSERT_EQUAL_FATAL(out.length, length);
    CU_ASSERT_EQUAL(memcmp(out.data, bytes, length), 0);
    warc_decompressor_delete(decompressor);
    buffer_destroy(&out);
    buffer_destroy(&member);
    return n;
}

static void what_is_compressed_already_is_told_from_text(void)
{
    static char bytes[BYTES];
    fill_random(bytes, sizeof bytes);
    CU_ASSERT_TRUE(warc_compressor_is_dense(bytes, sizeof bytes));
    CU_ASSERT_FALSE(warc_compressor_is_dense(bytes, 1000));
    to_base64(bytes, sizeof bytes);
    CU_ASSERT_FALSE(warc_compressor_is_dense(bytes, sizeof bytes));
    repeat(bytes, sizeof bytes,
           "<p>Short words, and a <a href=\"/link/17\">link</a> now and then.\n");
    CU_ASSERT_FALSE(warc_compressor_is_dense(bytes, sizeof bytes));
    repeat(bytes, sizeof bytes,
           "\xe5\xb7\xa5\xe6\xac\xb2\xe5\x96\x84\xe5\x85\xb6\xe4\xba\x8b\xef\xbc\x8c\xe5\xbf\x85"
           "\xe5\x85\x88\xe5\x88\xa9\xe5\x85\xb6\xe5\x99\xa8");
    CU_ASSERT_FALSE(warc_compressor_is_dense(bytes, sizeof bytes));
}

static void text_is_deflated_and_what_is_dense_is_stored(void)
{
    static char bytes[BYTES];
    WarcCompressor *gzip = NULL;
    CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&gzip, WARC_GZIP, WARC_LEVEL_AUTO), RESULT_OK);
    for (unsigned turn = 0; turn < 2; turn++) { /* an encoder is used again */
        repeat(bytes, sizeof bytes, "A sentence that says the same again and again. ");
        CU_ASSERT_TRUE(there_and_back(gzip, bytes, sizeof bytes) < sizeof bytes / 20);
        fill_random(bytes, sizeof bytes);
        size_t n = there_and_back(gzip, bytes, sizeof bytes);
        CU_ASSERT_TRUE(n >= sizeof bytes && n < sizeof bytes + 64);
    }
    CU_ASSERT_TRUE(there_and_back(gzip, "", 0) > 0);
    CU_ASSERT_TRUE(there_and_back(gzip, "x", 1) > 0);
    warc_compressor_delete(gzip);
}

/* The sample says text, the rest is not: the member may be longer than the bytes. */
static void a_wrong_guess_costs_room_but_no_byte(void)
{
    static char bytes[1 << 20];
    WarcCompressor *gzip = NULL;
    CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&gzip, WARC_GZIP, WARC_LEVEL_AUTO), RESULT_OK);
    fill_random(bytes, sizeof bytes);
    memset(bytes + sizeof bytes / 2 - 2000, ' ', 4000);
    CU_ASSERT_FALSE(warc_compressor_is_dense(bytes, sizeof bytes));
    CU_ASSERT_TRUE(there_and_back(gzip, bytes, sizeof bytes) < sizeof bytes + 4096);
    warc_compressor_delete(gzip);
}

static void levels_are_libdeflates(void)
{
    static char bytes[BYTES];
    WarcCompressor *gzip = NULL;
    repeat(bytes, sizeof bytes, "More of the same, but not quite: 31415926535897932384626433. ");
    for (int level = 1; level <= WARC_GZIP_LEVELS; level++) {
        CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&gzip, WARC_GZIP, level), RESULT_OK);
        CU_ASSERT_TRUE(there_and_back(gzip, bytes, sizeof bytes) < sizeof bytes / 20);
        warc_compressor_delete(gzip);
    }
    CU_ASSERT_EQUAL(warc_compressor_new(&gzip, WARC_GZIP, WARC_GZIP_LEVELS + 1), RESULT_INVALID);
    CU_ASSERT_EQUAL(warc_compressor_new(&gzip, WARC_GZIP, -1), RESULT_INVALID);
    CU_ASSERT_PTR_NULL(gzip);
}

/* Their code is made beforehand: whatever they are, they come back. */
static void short_records_of_any_bytes_come_back(void)
{
    static const char head[] =
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2031-02-03T04:05:06.000007Z\r\n"
        "WARC-Target-URI: http://h00001.web.test/a/b.html\r\nContent-Length: 400\r\n\r\n"
        "HTTP/1.1 301 Moved Permanently\r\nLocation: http://h00001.web.test/a/c.html\r\n\r\n";
    char bytes[4096];
    WarcCompressor *gzip = NULL;
    CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&gzip, WARC_GZIP, WARC_LEVEL_AUTO), RESULT_OK);
    CU_ASSERT_TRUE(there_and_back(gzip, head, sizeof head - 1) < sizeof head + 24);
    for (size_t length = 1; length < sizeof bytes; length += 61) {
        fill_random(bytes, length);
        (void)there_and_back(gzip, bytes, length);
        repeat(bytes, length, "\xff\x80 never in a head ~~");
        (void)there_and_back(gzip, bytes, length); /* the stream serves long and short in turn */
    }
    warc_compressor_delete(gzip);
}

UNIT_MAIN("warc compress",
          {"what is compressed already is told from text",
           what_is_compressed_already_is_told_from_text},
          {"text is deflated, and what is dense is stored",
           text_is_deflated_and_what_is_dense_is_stored},
          {"a wrong guess costs room but no byte", a_wrong_guess_costs_room_but_no_byte},
          {"levels are libdeflate's", levels_are_libdeflates},
          {"short records of any bytes come back", short_records_of_any_bytes_come_back})
