#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "store/warc/sha1.h"
#include "store/warc/warc_format.h"
#include "unit.h"

#define BYTES 1000

static void fill(uint8_t bytes[BYTES])
{
    for (unsigned i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)(i * i * 7 + i / 3);
    }
}

static bool right(const uint8_t *bytes, size_t length, const uint8_t digest[SHA1_BYTES])
{
    uint8_t expected[EVP_MAX_MD_SIZE];
    return EVP_Digest(bytes, length, expected, NULL, EVP_sha1(), NULL) == 1 &&
           memcmp(expected, digest, SHA1_BYTES) == 0;
}

static void all_lengths_and_cuts_agree_with_libcrypto(void)
{
    uint8_t bytes[BYTES];
    uint8_t digest[SHA1_BYTES];
    fill(bytes);
    if (!sha1_is_fast()) {
        return; /* nothing of ours is used here */
    }
    for (size_t length = 0; length < 300; length++) {
        for (size_t cut = 0; cut <= length; cut += 13) {
            Sha1 sha1;
            sha1_init(&sha1);
            sha1_update(&sha1, bytes, cut);
            sha1_update(&sha1, bytes + cut, length - cut);
            sha1_final(&sha1, digest);
            CU_ASSERT(right(bytes, length, digest));
        }
    }
}

static void pairs_agree_with_libcrypto(void)
{
    uint8_t bytes[BYTES];
    WarcHasher *hasher = NULL;
    fill(bytes);
    CU_ASSERT_EQUAL_FATAL(warc_hasher_new(&hasher), RESULT_OK);
    for (size_t head = 0; head < 200; head += 3) {
        for (size_t tail = 0; tail < BYTES - 200; tail += 7) {
            WarcDigest both;
            WarcDigest only;
            const char *in = (const char *)bytes;
            CU_ASSERT_EQUAL(warc_hasher_pair(hasher, warc_bytes(in, head),
                                             warc_bytes(in + head, tail), &both, &only),
                            RESULT_OK);
            CU_ASSERT(right(bytes, head + tail, both.bytes));
            CU_ASSERT(right(bytes + head, tail, only.bytes));
        }
    }
    warc_hasher_delete(hasher);
}

static void a_long_message_has_its_known_digest(void)
{
    /* FIPS 180's third example: a million times the letter a. */
    static const uint8_t expected[SHA1_BYTES] = {0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda,
                                                 0xa4, 0xf6, 0x1e, 0xeb, 0x2b, 0xdb, 0xad,
                                                 0x27, 0x31, 0x65, 0x34, 0x01, 0x6f};
    char letters[1000];
    WarcHasher *hasher = NULL;
    memset(letters, 'a', sizeof letters);
    CU_ASSERT_EQUAL_FATAL(warc_hasher_new(&hasher), RESULT_OK);
    Buffer all;
    WarcDigest digest;
    buffer_init(&all, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(buffer_append(&all, letters, sizeof letters), RESULT_OK);
    }
    CU_ASSERT_EQUAL(warc_hasher_digest(hasher, warc_bytes(all.data, 17),
                                       warc_bytes(all.data + 17, all.length - 17), &digest),
                    RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(digest.bytes, expected, SHA1_BYTES), 0);
    buffer_destroy(&all);
    warc_hasher_delete(hasher);
}

UNIT_MAIN("sha1",
          {"all lengths and cuts agree with libcrypto", all_lengths_and_cuts_agree_with_libcrypto},
          {"pairs agree with libcrypto", pairs_agree_with_libcrypto},
          {"a long message has its known digest", a_long_message_has_its_known_digest})
