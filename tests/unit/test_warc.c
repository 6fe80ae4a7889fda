#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/cdxj/cdxj.h"
#include "store/archive/warc_files.h"
#include "store/archive/warc_reader.h"
#include "unit.h"
#include "warc_samples.h"

typedef struct Writer {
    SampleDirectory directory;
    WarcRecorder *recorder;
    WarcGroup group;
    Warc *warc;
    WarcEnd end;
    WarcCompression compression;
} Writer;

static Result writer_open(Writer *writer, uint64_t max_bytes, const WarcEnd *committed)
{
    WarcOptions options = {
        .directory = writer->directory.path,
        .host = "crawler.example",
        .max_bytes = max_bytes,
        .compression = writer->compression,
        .user_agent = "ragno/0 (+http://example.org/)",
    };
    return warc_open(&writer->warc, &options, committed);
}

static Writer writer_start(uint64_t max_bytes)
{
    Writer writer = {.directory = sample_directory()};
    WarcRecorderOptions options = {.find = NULL};
    warc_group_init(&writer.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, max_bytes, NULL), RESULT_OK);
    return writer;
}

static void writer_stop(Writer *writer)
{
    CU_ASSERT_EQUAL(warc_close(writer->warc), RESULT_OK);
    warc_group_destroy(&writer->group);
    warc_recorder_delete(writer->recorder);
    sample_remove(&writer->directory);
}

/* Appends page number i: a body that does not compress well, so that files fill. */
static WarcPosition append_page(Writer *writer, unsigned i)
{
    char url[64];
    char body[1200];
    WarcPosition position = {0};
    uint64_t x = i * UINT64_C(0x9E3779B97F4A7C15) + 1;
    (void)snprintf(url, sizeof url, "http://example.org/page/%u", i);
    for (size_t k = 0; k + 1 < sizeof body; k++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        body[k] = (char)(' ' + (x >> 57) % 94);
    }
    body[sizeof body - 1] = '\0';
    WarcFetch fetch = sample_fetch(url, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", body);
    fetch.started.us += (int64_t)i * 1000000;
    CU_ASSERT_EQUAL_FATAL(warc_record_fetch(writer->recorder, &fetch, &writer->group), RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(writer->warc, &writer->group, &position), RESULT_OK);
    return position;
}

static void commit(Writer *writer)
{
    CU_ASSERT_EQUAL(warc_sync(writer->warc, &writer->end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_committed(writer->warc), RESULT_OK);
}

/* The page at a position of a file, strictly checked. */
static bool holds_page(const Writer *writer, const char *name, const WarcPosition *position,
                       unsigned i)
{
    char url[64];
    WarcReader *reader = NULL;
    WarcRecord record;
    (void)snprintf(url, sizeof url, "http://example.org/page/%u", i);
    if (warc_reader_open_in(&reader, writer->directory.path, name) != RESULT_OK) {
        return false;
    }
    warc_reader_seek(reader, position->offset);
    bool holds = warc_reader_next(reader, &record) == RESULT_OK &&
                 warc_reader_check(reader, &record) == RESULT_OK &&
                 record.length == position->length && warc_bytes_are(record.uri, url);
    warc_reader_close(reader);
    return holds;
}

/* Reads all records of all files; counts responses. Every one must be whole. */
static unsigned count_responses(const Writer *writer)
{
    unsigned n = 0;
    WarcFileList list;
    CU_ASSERT_EQUAL_FATAL(warc_files_list(writer->directory.path, &list), RESULT_OK);
    for (size_t i = 0; i < list.n; i++) {
        WarcReader *reader = NULL;
        WarcRecord record;
        Result rc = warc_reader_open_in(&reader, writer->directory.path, list.files[i].name);
        CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
        CU_ASSERT_EQUAL(list.files[i].serial, i + 1);
        for (;;) {
            rc = warc_reader_next(reader, &record);
            if (rc != RESULT_OK) {
                break;
            }
            CU_ASSERT_EQUAL(warc_reader_check(reader, &record), RESULT_OK);
            CU_ASSERT_EQUAL(record.type == WARC_WARCINFO, record.offset == 0);
            n += record.type == WARC_RESPONSE;
        }
        CU_ASSERT_EQUAL(rc, RESULT_NOT_FOUND);
        warc_reader_close(reader);
    }
    warc_files_free(&list);
    return n;
}

static void files_rotate_and_are_finished_by_the_commit(void)
{
    Writer writer = writer_start(8000);
    WarcPosition first = append_page(&writer, 0);
    CU_ASSERT_EQUAL(first.file, 1);
    static const char name[] = "ragno-20260131120000-00001.warc.gz";
    for (unsigned i = 1; i < 50; i++) {
        (void)append_page(&writer, i);
    }
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz", NULL), 0);
    commit(&writer);
    CU_ASSERT(sample_count(&writer.directory, ".warc.gz", NULL) > 5);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 2); /* file and journal */
    CU_ASSERT(holds_page(&writer, name, &first, 0));
    CU_ASSERT_EQUAL(count_responses(&writer), 50);
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 0);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz", NULL),
                    sample_count(&writer.directory, ".cdxj", NULL));
    /* A new run goes on with the next number. */
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 8000, &writer.end), RESULT_OK);
    WarcPosition next = append_page(&writer, 50);
    CU_ASSERT_EQUAL(next.file, writer.end.file + 1);
    commit(&writer);
    CU_ASSERT_EQUAL(count_responses(&writer), 51);
    writer_stop(&writer);
}

static bool has_entry(const Writer *writer, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", writer->directory.path, name);
    return access(path, F_OK) == 0;
}

static void a_file_that_cannot_be_started_leaves_nothing_behind(void)
{
    Writer writer = writer_start(0);
    WarcPosition position;
    char journal[512];
    (void)snprintf(journal, sizeof journal, "%s/ragno-20260131120000-00001.cdxj.open",
                   writer.directory.path);
    CU_ASSERT_EQUAL_FATAL(mkdir(journal, 0755), 0); /* in the way of the journal */
    WarcFetch fetch = sample_fetch("http://example.org/", "HTTP/1.1 200 OK\r\n\r\n", "body");
    CU_ASSERT_EQUAL(warc_record_fetch(writer.recorder, &fetch, &writer.group), RESULT_OK);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_NOT_EQUAL(warc_append(writer.warc, &writer.group, &position), RESULT_OK);
        CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz.open", NULL), 0);
        commit(&writer); /* of what there is: nothing */
        CU_ASSERT_EQUAL(writer.end.file, 0);
    }
    CU_ASSERT_EQUAL(rmdir(journal), 0);
    WarcPosition first = append_page(&writer, 0);
    CU_ASSERT_EQUAL(first.file, 1);
    commit(&writer);
    CU_ASSERT(holds_page(&writer, "ragno-20260131120000-00001.warc.gz", &first, 0));
    writer_stop(&writer);
}

static void files_rotate_by_age(void)
{
    Writer writer = {.directory = sample_directory()};
    WarcRecorderOptions recorder = {.find = NULL};
    WarcOptions options = {.directory = writer.directory.path,
                           .pattern = "{host}_{serial:03}_{timestamp}.warc.gz",
                           .host = "h",
                           .max_age_ms = 10000};
    warc_group_init(&writer.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &recorder), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(warc_open(&writer.warc, &options, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(append_page(&writer, 0).file, 1);
    CU_ASSERT_EQUAL(append_page(&writer, 9).file, 1);
    CU_ASSERT_EQUAL(append_page(&writer, 10).file, 2);
    commit(&writer);
    CU_ASSERT_TRUE(has_entry(&writer, "h_001_20260131120000.warc.gz"));
    CU_ASSERT_TRUE(has_entry(&writer, "h_002_20260131120010.warc.gz.open"));
    writer_stop(&writer);
}

static void bad_patterns_are_refused(void)
{
    static const char *const bad[] = {
        "x.warc.gz",       "{serial}.gz",        "a/{serial}.warc.gz", "{serial}{foo}.warc.gz",
        "{serial.warc.gz", "{serial:5}.warc.gz", ".{serial}.warc.gz"};
    WarcName name;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(warc_name_make(bad[i], SAMPLE_DATE, 7, NULL, WARC_GZIP, &name),
                        RESULT_INVALID);
    }
    CU_ASSERT_EQUAL(warc_name_make(WARC_DEFAULT_PATTERN, SAMPLE_DATE, 7, NULL, WARC_GZIP, &name),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(name.text, "ragno-20260131120000-00007.warc.gz");
}

/* Abandons a writer as kill -9 would, but for what is not yet written: nothing is finished. */
static void abandon(Writer *writer)
{
    WarcEnd end;
    CU_ASSERT_EQUAL(warc_sync(writer->warc, &end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_close(writer->warc), RESULT_OK);
}

static void the_tail_behind_the_commit_is_cut_off(void)
{
    Writer writer = writer_start(1 << 20);
    for (unsigned i = 0; i < 10; i++) {
        (void)append_page(&writer, i);
    }
    commit(&writer);
    for (unsigned i = 10; i < 15; i++) {
        (void)append_page(&writer, i);
    }
    abandon(&writer);
    char name[256];
    char path[512];
    struct stat info;
    CU_ASSERT_EQUAL_FATAL(sample_count(&writer.directory, ".warc.gz.open", name), 1);
    (void)snprintf(path, sizeof path, "%s/%s", writer.directory.path, name);
    CU_ASSERT_EQUAL(stat(path, &info), 0);
    CU_ASSERT((uint64_t)info.st_size > writer.end.offset);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &writer.end), RESULT_OK);
    CU_ASSERT_EQUAL(stat(path, &info), 0);
    CU_ASSERT_EQUAL((uint64_t)info.st_size, writer.end.offset);
    CU_ASSERT_EQUAL(count_responses(&writer), 10);
    WarcPosition next = append_page(&writer, 10);
    CU_ASSERT_EQUAL(next.file, 1);
    CU_ASSERT_EQUAL(next.offset, writer.end.offset);
    commit(&writer);
    CU_ASSERT_EQUAL(count_responses(&writer), 11);
    /* The journal was rebuilt: the index has every capture once. */
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    for (unsigned i = 0; i < 11; i++) {
        CdxjCapture capture;
        char url[64];
        (void)snprintf(url, sizeof url, "http://example.org/page/%u", i);
        CU_ASSERT_EQUAL(cdxj_newest(writer.directory.path, url, strlen(url), false, &capture),
                        RESULT_OK);
        WarcPosition at = {.offset = capture.offset, .length = capture.length};
        CU_ASSERT(holds_page(&writer, capture.filename, &at, i));
    }
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &writer.end), RESULT_OK);
    writer_stop(&writer);
}

static void files_behind_the_commit_go_and_files_before_it_are_finished(void)
{
    Writer writer = writer_start(8000);
    for (unsigned i = 0; i < 30; i++) {
        (void)append_page(&writer, i);
    }
    CU_ASSERT_EQUAL(warc_sync(writer.warc, &writer.end), RESULT_OK); /* and commits, then dies */
    for (unsigned i = 30; i < 60; i++) {
        (void)append_page(&writer, i);
    }
    abandon(&writer);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 8000, &writer.end), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz", NULL), writer.end.file - 1);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".cdxj", NULL), writer.end.file - 1);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 2);
    CU_ASSERT_EQUAL(count_responses(&writer), 30);
    CU_ASSERT_EQUAL(append_page(&writer, 30).file >= writer.end.file, true);
    commit(&writer);
    CU_ASSERT_EQUAL(count_responses(&writer), 31);
    writer_stop(&writer);
}

static void touch(const SampleDirectory *directory, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fclose(file);
}

static void what_a_crash_left_of_sorting_is_removed(void)
{
    Writer writer = {.directory = sample_directory()};
    WarcRecorderOptions options = {.find = NULL};
    warc_group_init(&writer.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    touch(&writer.directory, "a.cdxj.new");
    touch(&writer.directory, "notes.new");
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 0, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".cdxj.new", NULL), 0);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".new", NULL), 1);
    writer_stop(&writer);
}

static void finished_files_may_be_moved_away(void)
{
    Writer writer = writer_start(1 << 20);
    char name[256];
    char path[512];
    (void)append_page(&writer, 0);
    commit(&writer);
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(sample_count(&writer.directory, ".warc.gz", name), 1);
    (void)snprintf(path, sizeof path, "%s/%s", writer.directory.path, name);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &writer.end), RESULT_OK);
    CU_ASSERT_EQUAL(append_page(&writer, 1).file, 2);
    commit(&writer);
    writer_stop(&writer);
}

static void without_a_commit_files_are_set_aside_not_removed(void)
{
    Writer writer = writer_start(1 << 20);
    (void)append_page(&writer, 0);
    abandon(&writer);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".uncommitted", NULL), 1);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 0);
    /* That nothing is committed is known: what there is can go. */
    (void)append_page(&writer, 0);
    abandon(&writer);
    WarcEnd nothing = {.file = 0};
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &nothing), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 0);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".uncommitted", NULL), 1);
    writer_stop(&writer);
}

static void a_missing_or_broken_end_is_damage_and_nothing_is_cut(void)
{
    Writer writer = writer_start(1 << 20);
    for (unsigned i = 0; i < 5; i++) {
        (void)append_page(&writer, i);
    }
    commit(&writer);
    (void)append_page(&writer, 5);
    abandon(&writer);
    Warc *none = NULL;
    WarcOptions options = {.directory = writer.directory.path};
    WarcEnd beyond = {.file = 1, .offset = writer.end.offset + 100000};
    WarcEnd within = {.file = 1, .offset = writer.end.offset - 1};
    CU_ASSERT_EQUAL(warc_open(&none, &options, &beyond), RESULT_DAMAGED);
    CU_ASSERT_EQUAL(warc_open(&none, &options, &within), RESULT_DAMAGED);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_EQUAL(count_responses(&writer), 6);
    /* One flipped bit before the end. */
    char name[256];
    char path[512];
    CU_ASSERT_EQUAL_FATAL(sample_count(&writer.directory, ".warc.gz.open", name), 1);
    (void)snprintf(path, sizeof path, "%s/%s", writer.directory.path, name);
    int fd = open(path, O_RDWR);
    char byte = 0;
    CU_ASSERT_EQUAL(pread(fd, &byte, 1, (off_t)writer.end.offset / 2), 1);
    byte ^= 4;
    CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, (off_t)writer.end.offset / 2), 1);
    CU_ASSERT_EQUAL(warc_open(&none, &options, &writer.end), RESULT_DAMAGED);
    byte ^= 4;
    CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, (off_t)writer.end.offset / 2), 1);
    (void)close(fd);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &writer.end), RESULT_OK);
    CU_ASSERT_EQUAL(count_responses(&writer), 5);
    writer_stop(&writer);
}

static void expect_page_found(const Writer *writer, unsigned i)
{
    char url[64];
    WarcAnswer answer;
    (void)snprintf(url, sizeof url, "http://example.org/page/%u", i);
    warc_answer_init(&answer);
    CU_ASSERT_EQUAL(warc_load(writer->directory.path, url, strlen(url), &answer), RESULT_OK);
    CU_ASSERT_EQUAL(answer.body.length, 1199);
    warc_answer_destroy(&answer);
}

/* What the child says to its parent after each commit: the database of this test. */
typedef struct Committed {
    WarcEnd end;
    unsigned pages;
} Committed;

static void write_until_killed(Writer *writer, Committed committed, int out)
{
    for (unsigned i = committed.pages;; i++) {
        (void)append_page(writer, i);
        if (i % 7 == 6) {
            committed.pages = i + 1;
            if (warc_sync(writer->warc, &committed.end) != RESULT_OK ||
                write(out, &committed, sizeof committed) != (ssize_t)sizeof committed ||
                warc_committed(writer->warc) != RESULT_OK) {
                _exit(1);
            }
        }
    }
}

static void kill_and_recover(WarcCompression compression)
{
    Writer writer = {.directory = sample_directory(), .compression = compression};
    WarcRecorderOptions options = {.compression = compression};
    Committed committed = {.pages = 0};
    warc_group_init(&writer.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    for (unsigned round = 0; round < 8; round++) {
        int ends[2];
        CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            (void)close(ends[0]);
            if (writer_open(&writer, 20000, committed.pages == 0 ? NULL : &committed.end) !=
                RESULT_OK) {
                _exit(1);
            }
            write_until_killed(&writer, committed, ends[1]);
        }
        (void)close(ends[1]);
        Committed next;
        for (unsigned n = 0; n < round * 3 + 1; n++) {
            if (read(ends[0], &next, sizeof next) != (ssize_t)sizeof next) {
                CU_FAIL("the child ended by itself");
                break;
            }
            committed = next;
        }
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) {
            committed = next;
        }
        (void)close(ends[0]);
        CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 20000, &committed.end), RESULT_OK);
        CU_ASSERT_EQUAL(count_responses(&writer), committed.pages);
        CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    }
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".open", NULL), 0);
    CU_ASSERT_EQUAL(
        sample_count(&writer.directory, compression == WARC_GZIP ? ".warc.gz" : ".warc.zst", NULL),
        sample_count(&writer.directory, ".cdxj", NULL));
    writer.warc = NULL;
    writer_stop(&writer);
}

static void kills_lose_and_double_nothing(void)
{
    kill_and_recover(WARC_GZIP);
    kill_and_recover(WARC_ZSTD);
}

/* Another compression: what is there is ended, and nothing of it lost. */
static void the_next_run_may_write_otherwise(void)
{
    Writer writer = {.directory = sample_directory()};
    WarcRecorderOptions options = {.find = NULL};
    warc_group_init(&writer.group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, NULL), RESULT_OK);
    for (unsigned i = 0; i < 6; i++) {
        (void)append_page(&writer, i);
    }
    CU_ASSERT_EQUAL(warc_sync(writer.warc, &writer.end), RESULT_OK);
    (void)append_page(&writer, 6);
    abandon(&writer);
    warc_recorder_delete(writer.recorder);
    options.compression = WARC_ZSTD;
    writer.compression = WARC_ZSTD;
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 1 << 20, &writer.end), RESULT_OK);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.gz", NULL), 1);
    CU_ASSERT_EQUAL(append_page(&writer, 6).file, 2);
    commit(&writer);
    CU_ASSERT_EQUAL(sample_count(&writer.directory, ".warc.zst.open", NULL), 1);
    CU_ASSERT_EQUAL(count_responses(&writer), 7);
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    writer.warc = NULL;
    for (unsigned i = 0; i < 7; i++) {
        expect_page_found(&writer, i);
    }
    writer_stop(&writer);
}

/* The second fetch of a payload is a revisit: a table of one entry. */
static Result find_last(void *context, const WarcDigest *payload, WarcOriginal *original)
{
    const WarcGroup *known = context;
    if (!known->has_payload || memcmp(payload, &known->payload, sizeof *payload) != 0) {
        return RESULT_NOT_FOUND;
    }
    original->date = known->date;
    original->id = known->id;
    return buffer_append_string(&original->uri, "http://example.org/known");
}

typedef struct Kind {
    const char *url;
    const char *header;
    const char *body;
    WarcTruncation truncated;
    bool conditional;
} Kind;

/* Every kind of answer that a crawl meets, the misbehaving ones too. */
static const Kind kinds[] = {
    {"http://example.org/known", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
     "the same bytes", WARC_WHOLE, false},
    {"http://example.org/twin", "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n", "the same bytes",
     WARC_WHOLE, false},
    {"http://example.org/known", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", "", WARC_WHOLE,
     true},
    {"http://example.org/304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "",
     WARC_WHOLE, false},
    {"https://www.example.org/chunked?b=2&a=1",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: TEXT/html; a=b\r\n\r\n",
     "5\r\nhello\r\n0\r\n\r\n", WARC_WHOLE, false},
    {"http://example.org/lies", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", "short",
     WARC_WHOLE, false},
    {"http://example.org/cut", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", "short",
     WARC_TRUNCATED_DISCONNECT, false},
    {"http://example.org/long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "part",
     WARC_TRUNCATED_LENGTH, false},
    {"http://example.org/slow", "HTTP/1.1 200 OK\r\n\r\n", "part", WARC_TRUNCATED_TIME, false},
    {"http://example.org/notgzip",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n", "text", WARC_WHOLE,
     false},
    {"http://example.org/bare", "HTTP/1.0 404 Not Found\nServer: x\n folded\n\n", "gone",
     WARC_WHOLE, false},
    {"https://example.org/h2", "HTTP/2 200 \r\ncontent-type: text/css\r\n\r\n", "a{}", WARC_WHOLE,
     false},
    {"http://example.org/latin", "HTTP/1.1 200 OK\r\nX-Name: J\xfcrgen\r\nno colon here\r\n\r\n",
     "x", WARC_WHOLE, false},
    {"http://example.org/empty", "HTTP/1.1 204 No Content\r\n\r\n", "", WARC_WHOLE, false},
    {"http://example.org/redirect", "HTTP/1.1 301\r\nLocation: /new\r\n\r\n", "moved", WARC_WHOLE,
     false},
    {"http://example.org/robots.txt", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
     "User-agent: *\nDisallow: /x\n", WARC_WHOLE, false},
    {"http://example.org/q\"uote?x=\\&y='", "HTTP/1.1 200 OK\r\nContent-Type: \"\r\n\r\n", "q",
     WARC_WHOLE, false},
};

/* What warc_load finds for a URL; before the file is finished too. */
static void expect_answer(const Writer *writer, const char *url, unsigned status, const char *body,
                          bool revisit)
{
    WarcAnswer answer;
    warc_answer_init(&answer);
    CU_ASSERT_EQUAL(warc_load(writer->directory.path, url, strlen(url), &answer), RESULT_OK);
    CU_ASSERT_EQUAL(answer.status, status);
    CU_ASSERT_EQUAL(answer.revisit, revisit);
    CU_ASSERT_STRING_EQUAL(buffer_string(&answer.body), body);
    CU_ASSERT_EQUAL(strncmp(buffer_string(&answer.header), "HTTP/1.", 7), 0);
    CU_ASSERT_EQUAL(warc_load(writer->directory.path, "http://example.org/no", 21, &answer),
                    RESULT_NOT_FOUND);
    warc_answer_destroy(&answer);
}

/* RAGNO_TEST_KEEP=DIR keeps the files there, for other readers. */
static void every_kind_is_stored_and_read_strictly(void)
{
    Writer writer = {.directory = sample_directory()};
    const char *keep = getenv("RAGNO_TEST_KEEP");
    if (keep != NULL) {
        sample_remove(&writer.directory);
        (void)snprintf(writer.directory.path, sizeof writer.directory.path, "%s", keep);
    }
    WarcGroup known;
    WarcOriginal original;
    WarcPosition position;
    warc_group_init(&known);
    warc_group_init(&writer.group);
    warc_original_init(&original);
    WarcRecorderOptions options = {.find = find_last, .find_context = &known};
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 0, NULL), RESULT_OK);
    size_t n = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < n; i++) {
        WarcFetch fetch = sample_fetch(kinds[i].url, kinds[i].header, kinds[i].body);
        fetch.started.us += (int64_t)i * 1500000;
        fetch.truncated = kinds[i].truncated;
        fetch.ip = i % 2 == 0 ? "192.0.2.1" : "2001:db8::1";
        if (strncmp(kinds[i].header, "HTTP/2", 6) == 0) {
            fetch.protocol = "h2";
            fetch.tls = "tls/1.3";
            fetch.request = sample_text("GET /h2 HTTP/2\r\nHost: example.org\r\n\r\n");
        }
        fetch.not_modified = kinds[i].conditional ? &original : NULL;
        CU_ASSERT_EQUAL(warc_record_fetch(writer.recorder, &fetch, &writer.group), RESULT_OK);
        WarcBytes fields = sample_text("via: http://example.org/\r\nhopsFromSeed: L\r\n");
        CU_ASSERT_EQUAL(warc_record_metadata(writer.recorder, fetch.url, fields, &writer.group),
                        RESULT_OK);
        CU_ASSERT_EQUAL(warc_append(writer.warc, &writer.group, &position), RESULT_OK);
        if (i == 0) {
            known.has_payload = true;
            known.payload = writer.group.payload;
            known.date = writer.group.date;
            known.id = writer.group.id;
            original.date = known.date;
            original.id = known.id;
            CU_ASSERT_EQUAL(buffer_append_string(&original.uri, kinds[i].url), RESULT_OK);
        }
    }
    WarcResource dns = {.uri = sample_text("dns:example.org"),
                        .started = SAMPLE_DATE,
                        .ip = "192.0.2.53",
                        .content_type = "text/dns",
                        .block =
                            sample_text("20260131120000\nexample.org.\t60\tIN\tA\t192.0.2.1\n")};
    CU_ASSERT_EQUAL(warc_record_resource(writer.recorder, &dns, &writer.group), RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(writer.warc, &writer.group, &position), RESULT_OK);
    commit(&writer);
    CU_ASSERT_EQUAL(count_responses(&writer), n - 2);
    expect_answer(&writer, "http://example.org/twin", 200, "the same bytes", true);
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    writer.warc = NULL;
    expect_answer(&writer, "http://example.org/twin", 200, "the same bytes", true);
    expect_answer(&writer, "http://example.org/known", 304, "the same bytes", true);
    expect_answer(&writer, "http://example.org/lies", 200, "short", false);
    expect_answer(&writer, "http://example.org/q\"uote?x=\\&y='", 200, "q", false);
    warc_group_destroy(&known);
    warc_original_destroy(&original);
    if (keep != NULL) {
        writer.directory = sample_directory();
    }
    writer_stop(&writer);
}

/* Stores an answer of the same second; as: what its payload is a revisit of, or what stands there
 * then. */
static void store_at(Writer *writer, const char *url, const char *body, int64_t ms, WarcGroup *as)
{
    bool is_gone = strcmp(body, "gone") == 0;
    WarcFetch fetch =
        sample_fetch(url, is_gone ? "HTTP/1.1 404 N\r\n\r\n" : "HTTP/1.1 200 OK\r\n\r\n", body);
    WarcPosition position;
    fetch.started.us = SAMPLE_DATE.us / 1000000 * 1000000 + ms * 1000;
    CU_ASSERT_EQUAL(warc_record_fetch(writer->recorder, &fetch, &writer->group), RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(writer->warc, &writer->group, &position), RESULT_OK);
    as->has_payload = true;
    as->payload = writer->group.payload;
    as->date = writer->group.date;
    as->id = writer->group.id;
}

static void expect_visit(const Writer *writer, int32_t status, const char *body)
{
    WarcAnswer answer;
    warc_answer_init(&answer);
    CU_ASSERT_EQUAL(warc_load_visit(writer->directory.path, "http://example.org/known", 24, status,
                                    SAMPLE_DATE, &answer),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&answer.body), body);
    warc_answer_destroy(&answer);
}

/* The index knows no more of a capture's time than its second. */
static void captures_of_one_second_are_told_apart(void)
{
    static const char *const bodies[] = {"first", "second", "gone"};
    enum { N = sizeof bodies / sizeof *bodies };
    Writer writer = {.directory = sample_directory()};
    WarcGroup as = {.has_payload = false};
    WarcGroup known[N] = {{.has_payload = false}};
    warc_group_init(&writer.group);
    WarcRecorderOptions options = {.find = find_last, .find_context = &as};
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&writer.recorder, &options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(writer_open(&writer, 0, NULL), RESULT_OK);
    for (int64_t i = 0; i < N; i++) {
        store_at(&writer, "http://example.org/known", bodies[i], 100 * i, &known[i]);
    }
    for (int64_t i = 0; i < N; i++) { /* which refer to them */
        char url[64];
        WarcGroup other;
        (void)snprintf(url, sizeof url, "http://example.org/%s", bodies[i]);
        as = known[i];
        store_at(&writer, url, bodies[i], 500 + 100 * i, &other);
    }
    WarcGroup third;
    as = known[0];
    store_at(&writer, "http://example.org/elsewhere", "third", 900, &third);
    as.payload = third.payload; /* that of no capture which is referred to */
    store_at(&writer, "http://example.org/third", "third", 950, &third);
    commit(&writer);
    WarcAnswer answer;
    warc_answer_init(&answer);
    CU_ASSERT_EQUAL(warc_load(writer.directory.path, "http://example.org/third", 24, &answer),
                    RESULT_NOT_FOUND);
    warc_answer_destroy(&answer);
    expect_answer(&writer, "http://example.org/first", 200, "first", true);
    expect_answer(&writer, "http://example.org/second", 200, "second", true);
    expect_answer(&writer, "http://example.org/gone", 404, "gone", true);
    expect_visit(&writer, 200, "second"); /* the newest of its status */
    expect_visit(&writer, 404, "gone");
    expect_visit(&writer, -7, "gone"); /* no answer: the newest */
    writer_stop(&writer);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file size limit stands for the full disk: write takes a part, then nothing. */
static void a_full_disk_loses_nothing(void)
{
    Writer writer = writer_start(0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (unsigned i = 0; i < 3; i++) {
        (void)append_page(&writer, i);
    }
    commit(&writer);
    WarcEnd before = writer.end;
    for (unsigned i = 3; i < 8; i++) {
        (void)append_page(&writer, i);
    }
    limit_file_size(before.offset + 3000);
    CU_ASSERT_EQUAL(warc_sync(writer.warc, &writer.end), RESULT_FULL);
    CU_ASSERT_EQUAL(warc_sync(writer.warc, &writer.end), RESULT_FULL);
    CU_ASSERT_EQUAL(writer.end.offset, before.offset);
    (void)append_page(&writer, 8); /* taken: the write buffer has room */
    limit_file_size(RLIM_INFINITY);
    commit(&writer);
    CU_ASSERT_EQUAL(count_responses(&writer), 9);
    CU_ASSERT_EQUAL(warc_close(writer.warc), RESULT_OK);
    writer.warc = NULL;
    CU_ASSERT_EQUAL(count_responses(&writer), 9);
    expect_page_found(&writer, 8);
    (void)signal(SIGXFSZ, SIG_DFL);
    writer_stop(&writer);
}

static void zstandard_frames_are_checked(void)
{
    static const char text[] = "text that repeats text that repeats";
    WarcCompressor *compressor = NULL;
    WarcDecompressor *decompressor = NULL;
    Buffer frames;
    Buffer out;
    size_t used = 0;
    buffer_init(&frames, 10000);
    buffer_init(&out, 1000);
    CU_ASSERT_EQUAL(warc_compressor_new(&compressor, WARC_ZSTD, 20), RESULT_INVALID);
    CU_ASSERT_EQUAL(warc_compressor_new(&compressor, WARC_GZIP, 13), RESULT_INVALID);
    CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&compressor, WARC_ZSTD, 19), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(warc_decompressor_new(&decompressor), RESULT_OK);
    CU_ASSERT_EQUAL(warc_compressor_append(compressor, text, sizeof text, &frames), RESULT_OK);
    size_t first = frames.length;
    CU_ASSERT_EQUAL(warc_compressor_append(compressor, "", 0, &frames), RESULT_OK);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, frames.data, frames.length, &out, &used),
                    RESULT_OK);
    CU_ASSERT_EQUAL(used, first);
    CU_ASSERT_EQUAL(out.length, sizeof text);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, frames.data + first, frames.length - first,
                                           &out, &used),
                    RESULT_OK);
    CU_ASSERT_EQUAL(out.length, 0);
    for (size_t i = 0; i < first; i++) {
        frames.data[i] ^= 1;
        Result rc = warc_decompressor_read(decompressor, frames.data, first, &out, &used);
        /* Some bits mean nothing; the text is never another. */
        CU_ASSERT(rc == RESULT_DAMAGED || rc == RESULT_LIMIT ||
                  (out.length == sizeof text && memcmp(out.data, text, sizeof text) == 0));
        frames.data[i] ^= 1;
        CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, frames.data, i, &out, &used),
                        RESULT_DAMAGED);
    }
    buffer_destroy(&out);
    buffer_init(&out, 10);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, frames.data, first, &out, &used),
                    RESULT_LIMIT);
    buffer_destroy(&out);
    buffer_destroy(&frames);
    warc_compressor_delete(compressor);
    warc_decompressor_delete(decompressor);
}

static void a_frame_is_not_believed_beyond_its_blocks(void)
{
    /* 905 969 664 bytes are promised; one block, raw, empty and the last. */
    static const char promise[] = "\x28\xB5\x2F\xFD\xA0\x00\x00\x00\x36\x01\x00\x00";
    static const char page[1 << 20];
    WarcCompressor *compressor = NULL;
    WarcDecompressor *decompressor = NULL;
    Buffer frames;
    Buffer out;
    size_t used = 0;
    buffer_init(&frames, BUFFER_NO_LIMIT);
    buffer_init(&out, (size_t)1 << 30);
    CU_ASSERT_EQUAL_FATAL(warc_decompressor_new(&decompressor), RESULT_OK);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, promise, sizeof promise - 1, &out, &used),
                    RESULT_DAMAGED);
    CU_ASSERT_TRUE(out.capacity < 1 << 20);
    /* Nothing is shorter than a page of one byte again and again: it is believed. */
    CU_ASSERT_EQUAL_FATAL(warc_compressor_new(&compressor, WARC_ZSTD, 19), RESULT_OK);
    CU_ASSERT_EQUAL(warc_compressor_append(compressor, page, sizeof page, &frames), RESULT_OK);
    CU_ASSERT_TRUE(frames.length < 100);
    CU_ASSERT_EQUAL(warc_decompressor_read(decompressor, frames.data, frames.length, &out, &used),
                    RESULT_OK);
    CU_ASSERT_EQUAL(out.length, sizeof page);
    buffer_destroy(&out);
    buffer_destroy(&frames);
    warc_compressor_delete(compressor);
    warc_decompressor_delete(decompressor);
}

UNIT_MAIN("warc", {"a full disk loses nothing", a_full_disk_loses_nothing},
          {"every kind is stored and read strictly", every_kind_is_stored_and_read_strictly},
          {"captures of one second are told apart", captures_of_one_second_are_told_apart},
          {"files rotate and are finished by the commit",
           files_rotate_and_are_finished_by_the_commit},
          {"a file that cannot be started leaves nothing behind",
           a_file_that_cannot_be_started_leaves_nothing_behind},
          {"files rotate by age", files_rotate_by_age},
          {"bad patterns are refused", bad_patterns_are_refused},
          {"the tail behind the commit is cut off", the_tail_behind_the_commit_is_cut_off},
          {"files behind the commit go and files before it are finished",
           files_behind_the_commit_go_and_files_before_it_are_finished},
          {"what a crash left of sorting is removed", what_a_crash_left_of_sorting_is_removed},
          {"finished files may be moved away", finished_files_may_be_moved_away},
          {"without a commit files are set aside, not removed",
           without_a_commit_files_are_set_aside_not_removed},
          {"a missing or broken end is damage and nothing is cut",
           a_missing_or_broken_end_is_damage_and_nothing_is_cut},
          {"kills lose and double nothing", kills_lose_and_double_nothing},
          {"the next run may write otherwise", the_next_run_may_write_otherwise},
          {"Zstandard frames are checked", zstandard_frames_are_checked},
          {"a frame is not believed beyond its blocks", a_frame_is_not_believed_beyond_its_blocks})
