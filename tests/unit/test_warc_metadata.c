#include "store/archive/warc_record.h"
#include "store/archive/warc_reader.h"
#include "unit.h"
#include "warc_samples.h"

static PageLink link_to(const char *url, LinkKind kind, unsigned flags)
{
    return (PageLink){.url = url,
                      .length = (uint32_t)strlen(url),
                      .kind = (uint8_t)kind,
                      .flags = (uint8_t)flags};
}

static void fields_say_what_is_known(void)
{
    const PageLink links[] = {
        link_to("http://example.org/a", LINK_A, LINK_NOFOLLOW | LINK_UGC),
        link_to("http://example.org/a", LINK_A, 0),
        link_to("http://example.org/i.png", LINK_IMG, 0),
        link_to("http://example.org/next", LINK_REDIRECT, 0),
        link_to("http://example.org/more", LINK_A, 0),
    };
    Page page = {.links = links,
                 .n_links = sizeof links / sizeof *links,
                 .encoding = "UTF-8",
                 .text_digest = {1, 2},
                 .simhash = 255};
    WarcDiscovery discovery = {
        .via = sample_text("http://example.org/"), .hops = "LE", .duration_ms = 17};
    Buffer fields;
    buffer_init(&fields, 1000);
    CU_ASSERT_EQUAL(warc_metadata_discovery(&fields, &discovery), RESULT_OK);
    CU_ASSERT_EQUAL(warc_metadata_page(&fields, &page), RESULT_OK);
    CU_ASSERT_EQUAL(warc_metadata_outlinks(&fields, &page), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(fields.data, "via: http://example.org/\r\n"
                                        "hopsFromSeed: LE\r\n"
                                        "fetchTimeMs: 17\r\n"
                                        "charsetForLinkExtraction: UTF-8\r\n"
                                        "text-digest: 00000000000000010000000000000002\r\n"
                                        "text-simhash: 00000000000000ff\r\n"
                                        "outlink: http://example.org/a L a nofollow ugc\r\n"
                                        "outlink: http://example.org/i.png E img\r\n"
                                        "outlink: http://example.org/next R redirect\r\n"
                                        "outlink: http://example.org/more L a\r\n");
    buffer_destroy(&fields);
}

static void a_full_buffer_is_left_as_it_was(void)
{
    PageLink link = link_to("http://example.org/a", LINK_A, 0);
    Page page = {.links = &link, .n_links = 1};
    WarcDiscovery nothing = {.duration_ms = -1};
    Buffer fields;
    buffer_init(&fields, 20);
    CU_ASSERT_EQUAL(warc_metadata_discovery(&fields, &nothing), RESULT_OK);
    CU_ASSERT_EQUAL(fields.length, 0);
    CU_ASSERT_EQUAL(warc_fields_add(&fields, "a", "b", 1), RESULT_OK);
    CU_ASSERT_EQUAL(warc_metadata_outlinks(&fields, &page), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(fields.data, "a: b\r\n");
    buffer_destroy(&fields);
}

UNIT_MAIN("warc_metadata", {"fields say what is known", fields_say_what_is_known},
          {"a full buffer is left as it was", a_full_buffer_is_left_as_it_was})
