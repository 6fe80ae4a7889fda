#include "command/import/import_command.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static WarcDigest digest_of(unsigned n)
{
    WarcDigest digest = {{0}};
    memcpy(digest.bytes, &n, sizeof n);
    return digest;
}

static void put(ImportPayloads *payloads, unsigned n, const char *bytes, size_t length)
{
    WarcDigest digest = digest_of(n);
    CU_ASSERT_EQUAL(import_payloads_put(payloads, &digest, warc_bytes(bytes, length)), RESULT_OK);
}

static bool has(ImportPayloads *payloads, unsigned n)
{
    WarcBytes body;
    WarcDigest digest = digest_of(n);
    return import_payloads_get(payloads, &digest, &body);
}

static void a_body_is_found_by_its_digest(void)
{
    static ImportPayloads payloads;
    WarcBytes body;
    WarcDigest digest = digest_of(7);
    put(&payloads, 7, "seven", 5);
    CU_ASSERT_TRUE(import_payloads_get(&payloads, &digest, &body));
    CU_ASSERT_TRUE(body.length == 5 && memcmp(body.bytes, "seven", 5) == 0);
    CU_ASSERT_FALSE(has(&payloads, 8));
    import_payloads_destroy(&payloads);
    CU_ASSERT_EQUAL(payloads.bytes, 0);
}

static void the_one_that_was_asked_for_least_lately_goes(void)
{
    static ImportPayloads payloads;
    for (unsigned i = 0; i < IMPORT_PAYLOADS; i++) {
        put(&payloads, i, "x", 1);
    }
    CU_ASSERT_TRUE(has(&payloads, 0));
    put(&payloads, IMPORT_PAYLOADS, "x", 1);
    CU_ASSERT_TRUE(has(&payloads, 0));
    CU_ASSERT_FALSE(has(&payloads, 1));
    CU_ASSERT_EQUAL(payloads.bytes, IMPORT_PAYLOADS);
    import_payloads_destroy(&payloads);
}

static void the_room_is_never_exceeded(void)
{
    static ImportPayloads payloads;
    size_t length = IMPORT_PAYLOAD_BYTES / 4;
    char *bytes = calloc(1, length + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (unsigned i = 0; i < 6; i++) {
        put(&payloads, i, bytes, length);
        CU_ASSERT_TRUE(payloads.bytes <= IMPORT_PAYLOAD_BYTES);
        CU_ASSERT_TRUE(has(&payloads, i));
    }
    CU_ASSERT_FALSE(has(&payloads, 1));
    put(&payloads, 9, bytes, length + 1);
    CU_ASSERT_FALSE(has(&payloads, 9));
    free(bytes);
    import_payloads_destroy(&payloads);
}

UNIT_MAIN("import_payloads", {"a body is found by its digest", a_body_is_found_by_its_digest},
          {"the one that was asked for least lately goes",
           the_one_that_was_asked_for_least_lately_goes},
          {"the room is never exceeded", the_room_is_never_exceeded})
