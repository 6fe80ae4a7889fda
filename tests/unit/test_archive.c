#include <unistd.h>

#include "base/memory/file.h"
#include "page/archive.h"
#include "store/archive/warc_reader.h"
#include "store_fixture.h"
#include "warc_samples.h"

#define URL "http://example.org/page"

typedef struct Archived {
    StoreFixture fixture;
    SampleDirectory directory;
    Config config;
    Archive *archive;
    ArchiveRecorder *recorder;
    char warc[160];
} Archived;

static void reopen(Archived *a)
{
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(archive_open(&a->archive, a->directory.path, &a->config, "ragno/test",
                                       a->fixture.store.db, &error),
                          RESULT_OK);
    buffer_destroy(&error);
    CU_ASSERT_EQUAL_FATAL(archive_recorder_new(&a->recorder, a->archive), RESULT_OK);
}

/* The page of index 0. */
static void make_page(Archived *a)
{
    LinkInfo link = {.url = (char *)(uintptr_t)URL, .score = 0.5f};
    MDB_txn *txn = store_fixture_begin(&a->fixture, false);
    CU_ASSERT_EQUAL_FATAL(
        page_db_discover(a->fixture.store.db, txn, &link, NULL, 1, PAGE_DB_NO_INDEX, 0, NULL),
        page_db_error_ok);
    store_fixture_commit(&a->fixture, txn);
}

static void start(Archived *a, const char *name)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    store_fixture_open(&a->fixture);
    make_page(a);
    a->directory = sample_directory();
    CU_ASSERT_EQUAL_FATAL(config_init(&a->config), RESULT_OK);
    a->config.warc_metadata = false;
    CU_ASSERT_EQUAL(options_set(&a->config.options, "warc.name", name, "test", &error), RESULT_OK);
    buffer_destroy(&error);
    (void)snprintf(a->warc, sizeof a->warc, "%s/warc", a->directory.path);
    reopen(a);
}

static void stop(Archived *a)
{
    archive_recorder_delete(a->recorder);
    CU_ASSERT_EQUAL(archive_close(a->archive), RESULT_OK);
    a->archive = NULL;
}

static void end(Archived *a)
{
    SampleDirectory warc;
    store_fixture_close(&a->fixture, true);
    memcpy(warc.path, a->warc, sizeof warc.path);
    sample_remove(&warc);
    sample_remove(&a->directory);
    config_destroy(&a->config);
}

static FetchResult *fetch_of(uint64_t index, int status, const char *header, const char *body)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fetch);
    fetch->request.has_page = true;
    fetch->request.index = index;
    fetch->request.url = strdup(URL);
    fetch->request.header =
        strdup("GET /page HTTP/1.1\r\nHost: example.org\r\nIf-None-Match: \"1\"\r\n\r\n");
    fetch->answer.status = status;
    fetch->answer.http_version = 11;
    fetch->cost.wall_start = (WallTime){SAMPLE_DATE.us + (int64_t)index * 1000000 + status * 1000};
    CU_ASSERT_EQUAL(ip_address_parse("192.0.2.1", 9, &fetch->request.address), RESULT_OK);
    CU_ASSERT_EQUAL(buffer_append_string(&fetch->answer.header, header), RESULT_OK);
    CU_ASSERT_EQUAL(buffer_append_string(&fetch->answer.body, body), RESULT_OK);
    return fetch;
}

/* Records a fetch, which is appended before its transaction, and commits it; answers the type of
 * its main record. */
static WarcType store(Archived *a, FetchResult *fetch)
{
    WarcGroup *group = archive_record(a->recorder, fetch);
    CU_ASSERT_PTR_NOT_NULL_FATAL(group);
    WarcType type = group->type;
    CU_ASSERT_EQUAL(archive_append(a->archive, group), RESULT_OK);
    CU_ASSERT_EQUAL(group->members.capacity + group->index.capacity, 0);
    MDB_txn *txn = store_fixture_begin(&a->fixture, false);
    CU_ASSERT_EQUAL(archive_append(a->archive, group), RESULT_OK); /* it is in the files already */
    CU_ASSERT_EQUAL(archive_remember(a->archive, txn, group, fetch), RESULT_OK);
    CU_ASSERT_EQUAL(archive_prepare(a->archive, txn), RESULT_OK);
    store_fixture_commit(&a->fixture, txn);
    archive_committed(a->archive);
    archive_group_delete(group);
    fetch_result_delete(fetch);
    return type;
}

#define OK           "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n"
#define NOT_MODIFIED "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n"

static void a_304_refers_to_what_it_confirms(void)
{
    Archived a;
    WarcAnswer answer;
    start(&a, "t-{serial}.warc");
    CU_ASSERT_EQUAL(store(&a, fetch_of(0, 304, NOT_MODIFIED, "")), WARC_REVISIT);
    CU_ASSERT_EQUAL(store(&a, fetch_of(0, 200, OK, "hello")), WARC_RESPONSE);
    CU_ASSERT_EQUAL(store(&a, fetch_of(0, 304, NOT_MODIFIED, "")), WARC_REVISIT);
    stop(&a);
    warc_answer_init(&answer);
    CU_ASSERT_EQUAL(warc_load(a.warc, URL, strlen(URL), &answer), RESULT_OK);
    CU_ASSERT_EQUAL(answer.status, 304);
    CU_ASSERT_STRING_EQUAL(buffer_string(&answer.header), NOT_MODIFIED);
    CU_ASSERT_STRING_EQUAL(buffer_string(&answer.body), "hello");
    warc_answer_destroy(&answer);
    end(&a);
}

static void a_file_bears_the_name_of_the_machine(void)
{
    Archived a;
    Path path;
    char host[HOST_NAME_MAX + 1];
    CU_ASSERT_EQUAL_FATAL(gethostname(host, sizeof host), 0);
    start(&a, "{host}-{serial}.warc");
    CU_ASSERT_EQUAL(store(&a, fetch_of(0, 200, OK, "hello")), WARC_RESPONSE);
    stop(&a);
    CU_ASSERT_TRUE(file_exists(file_path(&path, "%s/%s-1.warc.gz", a.warc, host)));
    end(&a);
}

UNIT_MAIN("archive", {"a 304 refers to what it confirms", a_304_refers_to_what_it_confirms},
          {"a file bears the name of the machine", a_file_bears_the_name_of_the_machine})
