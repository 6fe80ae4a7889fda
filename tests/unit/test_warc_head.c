/* Names of WARC files by their patterns, and the header of a record. */
#include <stdio.h>
#include <string.h>

#include "store/warc/warc_head.h"
#include "unit.h"

static const WallTime date = {.us = INT64_C(1769860800) * 1000000}; /* 2026-01-31T12:00:00Z */

static void a_name_is_made_of_its_pattern(void)
{
    static const struct {
        const char *pattern;
        const char *name; /* with .gz; NULL: it is refused */
    } cases[] = {{"a-{serial}.warc", "a-42.warc.gz"},
                 {"a-{serial:05}.warc.gz", "a-00042.warc.gz"},
                 {"a-{serial:01}.warc.zst", "a-42.warc.gz"},
                 {"{serial:09}.warc", "000000042.warc.gz"},
                 {"{timestamp}-{host}-{serial}.warc", "20260131120000-h-42.warc.gz"},
                 {"{serial}{serial}.warc", "4242.warc.gz"},
                 {"x.warc.gz-{serial}.warc", "x.warc.gz-42.warc.gz"},
                 {"~}-{serial}.warc", "~}-42.warc.gz"},
                 {"a.warc", NULL}, /* each would be written over the one before */
                 {"a-{serial}", NULL},
                 {"a-{serial}.gz", NULL},
                 {"a-{serial}.warc.bz2", NULL},
                 {"{serial:010}.warc", NULL},
                 {"{serial:5}.warc", NULL},
                 {"{serial:0}.warc", NULL},
                 {"{serial:0x}.warc", NULL},
                 {"{}.{serial}.warc", NULL},
                 {"{serial.warc", NULL},
                 {"{host-{serial}.warc", NULL},
                 {"a/{serial}.warc", NULL},
                 {"../{serial}.warc", NULL},
                 {".{serial}.warc", NULL},
                 {"a {serial}.warc", NULL},
                 {"a\t{serial}.warc", NULL},
                 {"a\"{serial}.warc", NULL},
                 {"a\\{serial}.warc", NULL},
                 {"a\x7f{serial}.warc", NULL},
                 {"\xc3\xbc{serial}.warc", NULL},
                 {"\xff{serial}.warc", NULL},
                 {".warc", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WarcName name = {.text = "before"};
        Result rc = warc_name_make(cases[i].pattern, date, 42, "h", WARC_GZIP, &name);
        CU_ASSERT_EQUAL(rc, cases[i].name == NULL ? RESULT_INVALID : RESULT_OK);
        CU_ASSERT_STRING_EQUAL(name.text, cases[i].name == NULL ? "before" : cases[i].name);
    }
    WarcName name;
    CU_ASSERT_EQUAL(
        warc_name_make("{host}{serial}.warc.gz", date, UINT32_MAX, NULL, WARC_ZSTD, &name),
        RESULT_OK);
    CU_ASSERT_STRING_EQUAL(name.text, "localhost4294967295.warc.zst");
    CU_ASSERT_EQUAL(warc_name_make("{host}{serial}.warc", date, 1, "a/b", WARC_GZIP, &name),
                    RESULT_INVALID);
}

/* Whatever its length, room is left for what stands behind it while the file is open. */
static void a_name_that_is_too_long_is_refused(void)
{
    for (size_t n = 200; n < 2 * WARC_NAME_BYTES; n++) {
        char pattern[2 * WARC_NAME_BYTES + 32];
        WarcName name;
        memset(pattern, 'x', n);
        (void)snprintf(pattern + n, sizeof pattern - n, "{serial:05}.warc");
        Result rc = warc_name_make(pattern, date, UINT32_MAX, NULL, WARC_GZIP, &name);
        size_t length = n + 10 + strlen(".warc.gz");
        CU_ASSERT_TRUE(rc == RESULT_OK || rc == RESULT_INVALID);
        CU_ASSERT_TRUE(rc != RESULT_OK || (strlen(name.text) == length &&
                                           length + strlen(".cdxj.run12") < WARC_NAME_BYTES));
        CU_ASSERT_TRUE(rc == RESULT_OK || length > WARC_NAME_BYTES - 32);
    }
}

static void paths_of_a_file_and_its_index(void)
{
    Path path;
    CU_ASSERT_STRING_EQUAL(warc_path(&path, "d", "a.warc.gz", true), "d/a.warc.gz.open");
    CU_ASSERT_STRING_EQUAL(warc_path(&path, "d", "a.warc.gz", false), "d/a.warc.gz");
    CU_ASSERT_STRING_EQUAL(warc_index_path(&path, "d", "a.warc.zst", true), "d/a.cdxj.open");
    CU_ASSERT_STRING_EQUAL(warc_index_path(&path, "d", "a.warc.gz", false), "d/a.cdxj");
}

static void a_header_has_what_is_said_and_no_more(void)
{
    static const WarcId id = {{1}};
    static const WarcDigest digest;
    Buffer out = {.limit = 4096};
    WarcHead head = {.date = date,
                     .id = &id,
                     .block_head = {"abc", 3},
                     .block_tail = {"defg", 4},
                     .uri = {"http://a.test/\xff", 15}};
    warc_head_put(&out, &head, &digest);
    const char *text = buffer_string(&out);
    CU_ASSERT_EQUAL(strncmp(text, "WARC/1.1\r\nWARC-Type: ", 21), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\nWARC-Date: 2026-01-31T12:00:00"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\nWARC-Target-URI: http://a.test/\xff\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\r\nContent-Length: 7\r\n\r\n"));
    CU_ASSERT_STRING_EQUAL(text + out.length - 4, "\r\n\r\n");
    static const char *const absent[] = {"Filename", "IP-",     "Protocol",    "Cipher",
                                         "Usage",    "Refers",  "Truncated",   "Payload",
                                         "Profile",  "Concurr", "Content-Type"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        CU_ASSERT_PTR_NULL(strstr(text, absent[i]));
    }
    buffer_reset(&out);
    head.ip = "::1";
    head.protocol = "http/1.1";
    head.tls = "tls/1.3";
    head.payload = &digest;
    head.converts = head.concurrent_to = &id;
    warc_head_put(&out, &head, &digest);
    text = buffer_string(&out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARC-Protocol: http/1.1\r\nWARC-Protocol: tls/1.3\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARC-IP-Address: ::1\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARC-Refers-To: <urn:uuid:01"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARC-Concurrent-To: <urn:uuid:01"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "WARC-Payload-Digest: "));
    buffer_destroy(&out);
}

UNIT_MAIN("warc_head", {"a name is made of its pattern", a_name_is_made_of_its_pattern},
          {"a name that is too long is refused", a_name_that_is_too_long_is_refused},
          {"paths of a file and its index", paths_of_a_file_and_its_index},
          {"a header has what is said, and no more", a_header_has_what_is_said_and_no_more})
