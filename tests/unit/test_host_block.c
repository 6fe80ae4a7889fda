#include <string.h>

#include "cluster/wire/link_block.h"
#include "unit.h"

static BlockFault read_back(Buffer *block, HostMove *move, Result *rc)
{
    WireReader in = wire_reader(block->data, block->length);
    BlockHeader header;
    const void *body = NULL;
    BlockFault fault = block_read(&in, &header, &body);
    *rc = fault == BLOCK_GOOD ? host_block_read(&header, body, move) : RESULT_DAMAGED;
    return fault;
}

static void a_host_comes_as_it_was_sent(void)
{
    static const char origin[] = "https://www.example.org:8443";
    HostMove sent = {.origin = origin,
                     .length = sizeof origin - 1,
                     .pages = 77,
                     .crawl_delay_ms = 30000,
                     .wait_ms = 3600000,
                     .extra_ms = 5,
                     .rested_ms = 6,
                     .failures = 3,
                     .last_failure = 9};
    HostMove got;
    Buffer block;
    Result rc = RESULT_OK;
    buffer_init(&block, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(host_block_write(&sent, 7, &block), RESULT_OK);
    CU_ASSERT_EQUAL(read_back(&block, &got, &rc), BLOCK_GOOD);
    CU_ASSERT_EQUAL(rc, RESULT_OK);
    CU_ASSERT_TRUE(got.length == sent.length && memcmp(got.origin, origin, got.length) == 0);
    CU_ASSERT_TRUE(got.pages == 77 && got.crawl_delay_ms == 30000 && got.wait_ms == 3600000);
    CU_ASSERT_TRUE(got.extra_ms == 5 && got.rested_ms == 6 && got.failures == 3);
    CU_ASSERT_EQUAL(got.last_failure, 9);
    sent.wait_ms = -5; /* it need not wait any more */
    CU_ASSERT_EQUAL(host_block_write(&sent, 7, &block), RESULT_OK);
    (void)read_back(&block, &got, &rc);
    CU_ASSERT_TRUE(rc == RESULT_OK && got.wait_ms == 0);
    buffer_destroy(&block);
}

static void what_is_no_host_is_refused(void)
{
    static const char *const bad[] = {"ftp://a.example", "http://", "http://a/b", "https://a b",
                                      "http://\n"};
    HostMove got;
    Buffer block;
    Result rc = RESULT_OK;
    buffer_init(&block, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        HostMove sent = {.origin = bad[i], .length = strlen(bad[i])};
        CU_ASSERT_EQUAL(host_block_write(&sent, 1, &block), RESULT_OK);
        CU_ASSERT_EQUAL(read_back(&block, &got, &rc), BLOCK_GOOD);
        CU_ASSERT_EQUAL(rc, RESULT_INVALID);
    }
    HostMove sent = {.origin = "http://a.example", .length = 16};
    CU_ASSERT_EQUAL(host_block_write(&sent, 1, &block), RESULT_OK);
    for (size_t length = BLOCK_HEADER_BYTES; length < block.length; length++) { /* cut off */
        BlockHeader header = {.records = 1, .length = length - BLOCK_HEADER_BYTES};
        CU_ASSERT_EQUAL(host_block_read(&header, block.data + BLOCK_HEADER_BYTES, &got),
                        RESULT_INVALID);
    }
    sent.length = HOST_ORIGIN_MOST + 1;
    CU_ASSERT_EQUAL(host_block_write(&sent, 1, &block), RESULT_INVALID);
    buffer_destroy(&block);
}

UNIT_MAIN("host block", {"a host comes as it was sent", a_host_comes_as_it_was_sent},
          {"what is no host is refused", what_is_no_host_is_refused})
