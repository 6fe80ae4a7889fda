/* Requests: URLs in the order in which they are handed out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fixture.h"
#include "store/records/page_request.h"
#include "unit.h"

static void urls_are_kept_in_order_beyond_the_room(void)
{
    static const size_t rooms[] = {0, 1, 3, 100};
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
        PageRequest *request = page_request_new(rooms[r]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(request);
        for (unsigned i = 0; i < 50; i++) {
            char url[32];
            (void)snprintf(url, sizeof url, "http://h/%u", i);
            int rc = i % 2 == 0 ? page_request_add_url(request, url)
                                : page_request_take_url(request, strdup(url));
            CU_ASSERT_EQUAL(rc, 0);
        }
        CU_ASSERT_EQUAL(request->n_urls, 50);
        for (unsigned i = 0; i < request->n_urls; i++) {
            CU_ASSERT_EQUAL(strtoul(request->urls[i] + 9, NULL, 10), i);
        }
        page_request_delete(request);
    }
    page_request_delete(NULL);
}

static void without_memory_a_request_is_as_before(void)
{
    CU_ASSERT_PTR_NULL(page_request_new((size_t)1 << 61)); /* times eight is none */
#ifdef ALLOC_CAN_FAIL
    for (long n = 1; n <= 2; n++) {
        alloc_fail_at = n;
        CU_ASSERT_PTR_NULL(page_request_new(5));
        alloc_fail_at = 0;
    }
    PageRequest *request = page_request_new(1);
    CU_ASSERT_EQUAL(page_request_add_url(request, "a"), 0);
    for (long n = 1; n <= 2; n++) {
        alloc_fail_at = n;
        CU_ASSERT_EQUAL(page_request_add_url(request, "b"), -1);
        alloc_fail_at = 0;
        CU_ASSERT_EQUAL(request->n_urls, 1);
    }
    char *mine = strdup("b");
    alloc_fail_at = 1;
    CU_ASSERT_EQUAL(page_request_take_url(request, mine), -1); /* it stays the caller's */
    alloc_fail_at = 0;
    CU_ASSERT_EQUAL(page_request_take_url(request, mine), 0);
    CU_ASSERT_STRING_EQUAL(request->urls[1], "b");
    page_request_delete(request);
#endif
}

UNIT_MAIN("page_request",
          {"URLs are kept in order, beyond the room", urls_are_kept_in_order_beyond_the_room},
          {"without memory a request is as before", without_memory_a_request_is_as_before})
