/* Pages of which less is kept than there is: read once more in pieces, links and hash of all. */
#include <stdlib.h>
#include <string.h>

#include "page/tool/long_page.h"
#include "unit.h"
#include "zlib_fixture.h"

typedef struct Taken {
    unsigned links;
    unsigned restarts;
    char last[64];
} Taken;

static void take(void *context, const PageLink *link, unsigned robots)
{
    Taken *taken = context;
    (void)robots;
    taken->links++;
    (void)snprintf(taken->last, sizeof taken->last, "%.*s", (int)link->length, link->url);
}

static void restart(void *context)
{
    Taken *taken = context;
    taken->links = 0;
    taken->restarts++;
}

#define LINKS 12000u

static size_t page_of(char *text, size_t room, const char *last)
{
    size_t n = 0;
    for (unsigned i = 0; i < LINKS; i++) {
        n += (size_t)snprintf(text + n, room - n, "<p><a href=/%u>link</a>\n", i);
    }
    return n + (size_t)snprintf(text + n, room - n, "%s", last);
}

static void reads(const char *body, size_t length, const char *encoding, size_t most,
                  const char *kept, Taken *taken, LongPageResult *result)
{
    LongPage *reader = long_page_new();
    Decoder *decoder = NULL;
    HtmlParser *html = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL_FATAL(decoder_new(&decoder), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&html, &(HtmlOptions){.max_links = 10}), RESULT_OK);
    FetchAnswer answer = {.status = 200};
    buffer_init(&answer.body, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(buffer_append(&answer.body, body, length), RESULT_OK);
    static const char url[] = "http://a.example/d/";
    HtmlInput page = {.body = kept,
                      .length = 2000,
                      .content_type = "text/html; charset=utf-8",
                      .url = url,
                      .url_length = sizeof url - 1,
                      .taker = {.take = take, .restart = restart, .context = taken}};
    LongPageInput input = {.answer = &answer,
                           .encoding = encoding,
                           .encoding_length = encoding == NULL ? 0 : strlen(encoding),
                           .bounds = {.max_bytes = most},
                           .decoder = decoder,
                           .html = html,
                           .page = &page};
    Page out;
    *taken = (Taken){.links = 0};
    CU_ASSERT_EQUAL(long_page_read(reader, &input, &out, result), RESULT_OK);
    buffer_destroy(&answer.body);
    html_parser_delete(html);
    decoder_delete(decoder);
    long_page_delete(reader);
    long_page_delete(NULL);
}

static char text[LINKS * 40];

static void all_of_a_page_is_read_and_hashed(void)
{
    size_t n = page_of(text, sizeof text, "<a href=end>");
    Hash128 want = hash_128(text, n);
    Taken taken;
    LongPageResult result;
    reads(text, n, NULL, SIZE_MAX, text, &taken, &result);
    CU_ASSERT_EQUAL(result.decoded, DECODE_OK);
    CU_ASSERT_EQUAL(result.bytes_read, n);
    CU_ASSERT_TRUE(result.hash.low == want.low && result.hash.high == want.high);
    CU_ASSERT_EQUAL(taken.links, LINKS + 1);
    CU_ASSERT_STRING_EQUAL(taken.last, "http://a.example/d/end");
    Buffer packed = {.limit = BUFFER_NO_LIMIT};
    zlib_fixture_pack(&packed, 16 + 15, text, n);
    reads(packed.data, packed.length, "gzip", SIZE_MAX, text, &taken, &result);
    CU_ASSERT_EQUAL(result.bytes_read, n);
    CU_ASSERT_TRUE(result.hash.low == want.low && result.hash.high == want.high);
    CU_ASSERT_EQUAL(taken.links, LINKS + 1);
    buffer_destroy(&packed);
}

static void no_more_is_read_than_may_be(void)
{
    size_t n = page_of(text, sizeof text, "");
    Taken taken;
    LongPageResult result;
    reads(text, n, NULL, n / 2, text, &taken, &result);
    CU_ASSERT_EQUAL(result.decoded, DECODE_LIMIT);
    CU_ASSERT_EQUAL(result.bytes_read, n / 2);
    CU_ASSERT_TRUE(taken.links > LINKS / 3 && taken.links < LINKS * 2 / 3);
    reads(text, n, NULL, n, text, &taken, &result);
    CU_ASSERT_EQUAL(result.decoded, DECODE_OK);
    CU_ASSERT_EQUAL(taken.links, LINKS);
}

static void a_base_at_the_end_holds_for_all_and_is_read_once_more(void)
{
    size_t n = page_of(text, sizeof text, "<base href=http://b.example/><a href=x>");
    Hash128 want = hash_128(text, n);
    Taken taken;
    LongPageResult result;
    reads(text, n, NULL, SIZE_MAX, text, &taken, &result);
    CU_ASSERT_EQUAL(taken.restarts, 1);
    CU_ASSERT_EQUAL(taken.links, LINKS + 1);
    CU_ASSERT_STRING_EQUAL(taken.last, "http://b.example/x");
    CU_ASSERT_EQUAL(result.bytes_read, n); /* of one reading */
    CU_ASSERT_TRUE(result.hash.low == want.low && result.hash.high == want.high);
}

UNIT_MAIN("long_page", {"all of a page is read and hashed", all_of_a_page_is_read_and_hashed},
          {"no more is read than may be", no_more_is_read_than_may_be},
          {"a base at the end holds for all and is read once more",
           a_base_at_the_end_holds_for_all_and_is_read_once_more})
