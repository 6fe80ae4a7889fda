#include "render/archive_source.h"

#include "unit.h"
#include "warc_samples.h"

#define URL "http://example.org/"

/* An archive that is written, and read meanwhile. */
typedef struct Bed {
    SampleDirectory directory;
    WarcRecorder *recorder;
    WarcGroup group;
    Warc *warc;
    ArchiveSource *source;
} Bed;

static Bed bed_start(void)
{
    Bed bed = {.directory = sample_directory()};
    WarcRecorderOptions recorder = {.find = NULL};
    WarcOptions options = {
        .directory = bed.directory.path, .host = "crawler.example", .user_agent = "ragno/0"};
    warc_group_init(&bed.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&bed.recorder, &recorder), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(warc_open(&bed.warc, &options, NULL), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(archive_source_new(&bed.source, bed.directory.path, 1 << 20), RESULT_OK);
    return bed;
}

static void bed_stop(Bed *bed)
{
    archive_source_delete(bed->source);
    CU_ASSERT_EQUAL(warc_close(bed->warc), RESULT_OK);
    warc_group_destroy(&bed->group);
    warc_recorder_delete(bed->recorder);
    sample_remove(&bed->directory);
}

/* A second of the bed, and a part of it that the index does not know. */
static WallTime at(int64_t second, int64_t ms)
{
    return (WallTime){SAMPLE_DATE.us / 1000000 * 1000000 + second * 1000000 + ms * 1000};
}

static void store(Bed *bed, WallTime when, const char *header, const char *cookie, const char *body)
{
    char request[200];
    WarcPosition position;
    WarcEnd end;
    WarcFetch fetch = sample_fetch(URL, header, body);
    (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nCookie: a=%s\r\n\r\n", cookie);
    fetch.request = sample_text(request);
    fetch.started = when;
    CU_ASSERT_EQUAL(warc_record_fetch(bed->recorder, &fetch, &bed->group), RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(bed->warc, &bed->group, &position), RESULT_OK);
    CU_ASSERT_EQUAL(warc_sync(bed->warc, &end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_committed(bed->warc), RESULT_OK);
}

static void expect(Bed *bed, ArchiveVisit visit, unsigned status, const char *body,
                   const char *cookie)
{
    RenderAnswer answer = {.status = 0};
    Buffer cookies;
    buffer_init(&cookies, 1000);
    CU_ASSERT_EQUAL_FATAL(archive_source_answer(bed->source, URL, visit, &answer), RENDER_ANSWERED);
    CU_ASSERT_EQUAL(answer.status, status);
    CU_ASSERT_EQUAL(answer.length, strlen(body));
    CU_ASSERT_EQUAL(memcmp(answer.body, body, strlen(body)), 0);
    archive_source_cookies(bed->source, URL, visit, &cookies);
    CU_ASSERT_STRING_EQUAL(buffer_string(&cookies), cookie);
    buffer_destroy(&cookies);
}

/* A host that fails is asked for a page once more, which is no visit of the page. */
static void a_page_is_what_its_last_visit_left(void)
{
    Bed bed = bed_start();
    ArchiveVisit visit = {.status = 200, .time = at(0, 200)};
    store(&bed, at(0, 100), "HTTP/1.1 200 OK\r\n\r\n", "page", "shown");
    store(&bed, at(0, 300), "HTTP/1.1 404 N\r\n\r\n", "check", "gone");
    expect(&bed, visit, 200, "shown", "a=page");
    expect(&bed, (ArchiveVisit){.status = 0}, 404, "gone", "a=check");
    bed_stop(&bed);
}

static void a_page_that_was_visited_again_is_read_again(void)
{
    Bed bed = bed_start();
    ArchiveVisit first = {.status = 200, .time = at(0, 200)};
    ArchiveVisit second = {.status = 200, .time = at(9, 200)};
    store(&bed, at(0, 100), "HTTP/1.1 200 OK\r\n\r\n", "first", "old");
    expect(&bed, first, 200, "old", "a=first");
    store(&bed, at(9, 100), "HTTP/1.1 200 OK\r\n\r\n", "second", "new");
    expect(&bed, first, 200, "old", "a=first");
    expect(&bed, second, 200, "new", "a=second");
    bed_stop(&bed);
}

UNIT_MAIN("archive_source",
          {"a page is what its last visit left", a_page_is_what_its_last_visit_left},
          {"a page that was visited again is read again",
           a_page_that_was_visited_again_is_read_again})
