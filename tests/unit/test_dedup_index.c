#include "store/dedup/dedup_index.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/hash.h"
#include "base/memory/file.h"
#include "folder_fixture.h"
#include "store/zip/zip_writer.h"
#include "unit.h"

#define LINES 5000u

static const WallTime noon = {INT64_C(1769860800000000)}; /* 2026-01-31T12:00:00Z */

static WarcDigest digest_of(uint64_t i)
{
    WarcDigest digest = {.bytes = {0}};
    uint64_t number = hash_mix(i);
    memcpy(digest.bytes, &number, sizeof number);
    memcpy(digest.bytes + 8, &i, sizeof i);
    return digest;
}

/* Three of four begin with one of two bytes. */
static WarcDigest crowded_digest_of(uint64_t i)
{
    WarcDigest digest = digest_of(i);
    if (i % 4 != 0) {
        digest.bytes[0] = (uint8_t)(i % 4 == 1 ? 0xff : 0x40);
    }
    return digest;
}

static void append_line(Buffer *out, uint64_t i, unsigned year, const char *digest)
{
    (void)buffer_printf(out,
                        "test,a)/%u %u0131120000 {\"url\": \"http://a.test/%u\", \"mime\": "
                        "\"text/html\", \"status\": \"200\", \"digest\": \"%s\", \"length\": "
                        "\"5\", \"offset\": \"0\", \"filename\": \"y\"}\n",
                        (unsigned)i, year, (unsigned)i, digest);
}

/* The lines of `n` captures from `first` on, a year each. */
static void append_lines(Buffer *out, uint64_t first, uint64_t n, unsigned year)
{
    for (uint64_t i = first; i < first + n; i++) {
        char text[WARC_DIGEST_TEXT];
        WarcDigest digest = digest_of(i);
        append_line(out, i, year, warc_digest_format(&digest, text));
    }
}

static void write_lines(const char *path, uint64_t first, uint64_t n, unsigned year)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    append_lines(&text, first, n, year);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, text.data, text.length), RESULT_OK);
    buffer_destroy(&text);
}

static DedupIndex *open_index(const char *directory, const char *words)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    DedupIndex *index = NULL;
    CU_ASSERT_EQUAL_FATAL(dedup_index_open(&index, directory, words, 0, &error), RESULT_OK);
    buffer_destroy(&error);
    return index;
}

static void each_payload_is_found_and_no_other(void)
{
    char place[64];
    Path old;
    Path new;
    Path words;
    WarcOriginal original;
    warc_original_init(&original);
    folder_make(place);
    write_lines(file_path(&old, "%s/a.cdxj", place), 0, LINES, 2026);
    write_lines(file_path(&new, "%s/b.cdxj", place), LINES / 2, LINES, 2027);
    DedupIndex *index = open_index(place, file_path(&words, "%s %s", old.text, new.text));
    CU_ASSERT_EQUAL(dedup_index_count(index), LINES + LINES / 2);
    for (uint64_t i = 0; i < 2 * LINES; i++) {
        char url[64];
        WarcDigest digest = digest_of(i);
        Result rc = dedup_index_find(index, &digest, &original);
        CU_ASSERT_EQUAL(rc, i < LINES + LINES / 2 ? RESULT_OK : RESULT_NOT_FOUND);
        if (rc == RESULT_OK) {
            (void)snprintf(url, sizeof url, "http://a.test/%u", (unsigned)i);
            CU_ASSERT(original.uri.length == strlen(url) &&
                      memcmp(original.uri.data, url, strlen(url)) == 0);
            /* of two captures the first counts */
            CU_ASSERT_EQUAL(original.date.us == noon.us, i < LINES);
        }
    }
    WarcDigest alike = digest_of(1);
    alike.bytes[WARC_DIGEST_BYTES - 1] ^= 1;
    CU_ASSERT_EQUAL(dedup_index_find(index, &alike, &original), RESULT_NOT_FOUND);
    dedup_index_close(index);
    warc_original_destroy(&original);
    folder_remove(place);
}

/* More digests begin alike than a page has room for, and those behind them move on. */
static void digests_that_crowd_are_found(void)
{
    char place[64];
    Path source;
    Buffer lines = {.limit = BUFFER_NO_LIMIT};
    WarcOriginal original;
    warc_original_init(&original);
    folder_make(place);
    for (uint64_t i = 0; i < LINES; i++) {
        char text[WARC_DIGEST_TEXT];
        WarcDigest digest = crowded_digest_of(i);
        append_line(&lines, i, 2026, warc_digest_format(&digest, text));
    }
    (void)file_path(&source, "%s/a.cdxj", place);
    CU_ASSERT_EQUAL_FATAL(file_replace(source.text, lines.data, lines.length), RESULT_OK);
    DedupIndex *index = open_index(place, source.text);
    CU_ASSERT_EQUAL(dedup_index_count(index), LINES);
    for (uint64_t i = 0; i < 2 * LINES; i++) {
        WarcDigest digest = crowded_digest_of(i);
        CU_ASSERT_EQUAL(dedup_index_find(index, &digest, &original),
                        i < LINES ? RESULT_OK : RESULT_NOT_FOUND);
    }
    dedup_index_close(index);
    warc_original_destroy(&original);
    buffer_destroy(&lines);
    folder_remove(place);
}

static void a_url_is_fresh_for_its_time(void)
{
    char place[64];
    Path source;
    Buffer lines = {.limit = BUFFER_NO_LIMIT};
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    DedupIndex *index = NULL;
    WallTime now = wall_now();
    folder_make(place);
    for (unsigned hours = 0; hours < 40; hours++) {
        char stamp[CLOCK_TEXT_BYTES];
        WallTime then = {now.us - hours * INT64_C(3600000000) - 1000000};
        (void)buffer_printf(&lines,
                            "test,a)/%u %.14s {\"url\": \"http://a.test/%u\", \"mime\": \"%s\", "
                            "\"status\": \"%u\", \"digest\": "
                            "\"sha1:22222222222222222222222222222222\", \"length\": \"5\", "
                            "\"offset\": \"0\", \"filename\": \"y\"}\n",
                            hours, wall_format_seconds(then, stamp), hours,
                            hours % 4 == 1 ? "warc/revisit" : "text/html",
                            hours % 4 == 2 ? 404u : 200u);
    }
    (void)file_path(&source, "%s/a.cdxj", place);
    CU_ASSERT_EQUAL_FATAL(file_replace(source.text, lines.data, lines.length), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(dedup_index_open(&index, place, source.text, 20 * 3600000, &error),
                          RESULT_OK);
    for (unsigned hours = 0; hours < 41; hours++) {
        char url[64];
        size_t n = (size_t)snprintf(url, sizeof url, "http://a.test/%u", hours);
        bool is_fresh = hours < 20 && hours % 4 != 2;
        Result rc = dedup_index_fresh(index, url, n, now);
        CU_ASSERT_EQUAL(rc, is_fresh ? RESULT_OK : RESULT_NOT_FOUND);
        rc = dedup_index_fresh(index, url, n, (WallTime){now.us + INT64_C(36000000000)});
        CU_ASSERT_EQUAL(rc, is_fresh && hours < 10 ? RESULT_OK : RESULT_NOT_FOUND);
    }
    dedup_index_close(index);
    index = open_index(place, source.text); /* the same sources, and no URLs */
    CU_ASSERT_EQUAL(dedup_index_fresh(index, "http://a.test/0", 15, now), RESULT_NOT_FOUND);
    dedup_index_close(index);
    buffer_destroy(&lines);
    buffer_destroy(&error);
    folder_remove(place);
}

static Result look(void *context, const ZipMember *member)
{
    size_t *n = context;
    *n += member->is_stored && member->size == 4 ? 1 : 0;
    return RESULT_OK;
}

static void a_package_that_is_cut_or_lies_is_refused(void)
{
    char place[64];
    Path path;
    ZipWriter *zip = NULL;
    const ZipEntry *entry = NULL;
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    size_t n = 0;
    folder_make(place);
    CU_ASSERT_EQUAL_FATAL(zip_writer_open(&zip, file_path(&path, "%s/x.wacz", place), noon),
                          RESULT_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(zip_writer_begin(zip, "indexes/index.cdxj", ZIP_STORED), RESULT_OK);
        CU_ASSERT_EQUAL(zip_writer_write(zip, "text", 4), RESULT_OK);
        CU_ASSERT_EQUAL(zip_writer_end(zip, &entry), RESULT_OK);
    }
    CU_ASSERT_EQUAL(zip_writer_close(zip), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(file_read(path.text, &bytes), RESULT_OK);
    CU_ASSERT_EQUAL(zip_members_walk(bytes.data, bytes.length, look, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 3);
    for (size_t length = 0; length < bytes.length; length++) {
        CU_ASSERT_EQUAL(zip_members_walk(bytes.data, length, look, &n), RESULT_INVALID);
    }
    for (size_t at = 0; at < bytes.length; at++) { /* whatever it says, nothing beyond it is read */
        bytes.data[at] ^= '\xff';
        char *copy = malloc(bytes.length);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, bytes.data, bytes.length);
        Result rc = zip_members_walk(copy, bytes.length, look, &n);
        CU_ASSERT(rc == RESULT_OK || rc == RESULT_INVALID);
        free(copy);
        bytes.data[at] ^= '\xff';
    }
    buffer_destroy(&bytes);
    folder_remove(place);
}

UNIT_MAIN("dedup_index", {"each payload is found and no other", each_payload_is_found_and_no_other},
          {"digests that crowd are found", digests_that_crowd_are_found},
          {"a URL is fresh for its time", a_url_is_fresh_for_its_time},
          {"a package that is cut or lies is refused", a_package_that_is_cut_or_lies_is_refused})
