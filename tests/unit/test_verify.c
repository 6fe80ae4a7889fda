#include <fcntl.h>

#include "store/pages/page_db_open.h"
#include "store/archive/capture_index.h"
#include "store/pages/page_db.h"
#include "store/archive/warc_files.h"
#include "unit.h"
#include "command/verify/verify.h"
#include "warc_samples.h"

/* A crawl: DIR/warc with n pages, and DIR/crawl.mdb that knows them. */
typedef struct Crawl {
    SampleDirectory root;
    SampleDirectory warc;
    SampleDirectory mdb;
    WarcEnd end;
    VerifyCounts counts;
    Buffer report;
    bool lies; /* the last capture is a revisit of another payload */
} Crawl;

static Result find_twin(void *context, const WarcDigest *payload, WarcOriginal *original)
{
    (void)payload;
    const bool *on = context;
    if (!*on) {
        return RESULT_NOT_FOUND;
    }
    original->date = SAMPLE_DATE;
    original->id = (WarcId){.bytes = {1}}; /* of this crawl: those of others have none */
    return buffer_append_string(&original->uri, "http://example.org/0");
}

static void write_warc(Crawl *crawl, unsigned n)
{
    bool twins = false;
    Warc *warc = NULL;
    WarcRecorder *recorder = NULL;
    WarcGroup group;
    WarcPosition position;
    WarcRecorderOptions recorder_options = {.find = find_twin, .find_context = &twins};
    WarcOptions options = {.directory = crawl->warc.path, .max_bytes = 4000};
    warc_group_init(&group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&recorder, &recorder_options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(warc_open(&warc, &options, NULL), RESULT_OK);
    for (unsigned i = 0; i < n; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://example.org/%u", i);
        twins = i == n - 1;
        WarcFetch fetch = sample_fetch(url, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
                                       twins && !crawl->lies ? "http://example.org/0" : url);
        fetch.started.us += (int64_t)i * 2000000;
        CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
        CU_ASSERT_EQUAL(warc_append(warc, &group, &position), RESULT_OK);
    }
    WarcFetch robots =
        sample_fetch("http://example.org/robots.txt", "HTTP/1.1 404 No\r\nA: b\r\n\r\n", "");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &robots, &group), RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(warc, &group, &position), RESULT_OK);
    CU_ASSERT_EQUAL(warc_sync(warc, &crawl->end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_committed(warc), RESULT_OK);
    CU_ASSERT_EQUAL(warc_close(warc), RESULT_OK);
    warc_recorder_delete(recorder);
    warc_group_destroy(&group);
}

static void write_pages(Crawl *crawl, unsigned n)
{
    PageDB *db = NULL;
    PageDBOptions options = {.no_sync = true, .map_bytes = 64 << 20};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, crawl->mdb.path, &options), page_db_error_ok);
    for (unsigned i = 0; i < n; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://example.org/%u", i);
        CrawledPage *page = crawled_page_new(url);
        CU_ASSERT_PTR_NOT_NULL_FATAL(page);
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
    MDB_txn *txn = NULL;
    WarcEnd end;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(warc_end_get(txn, &end), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(end.file, 0);
    CU_ASSERT_EQUAL(warc_end_put(txn, &crawl->end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_end_get(txn, &end), RESULT_OK);
    CU_ASSERT_EQUAL(end.file, crawl->end.file);
    CU_ASSERT_EQUAL(end.offset, crawl->end.offset);
    CU_ASSERT_EQUAL(page_db_txn_commit(db, txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static Crawl crawl_with(unsigned n_captures, unsigned n_pages, bool lies)
{
    Crawl crawl = {.root = sample_directory(), .lies = lies};
    buffer_init(&crawl.report, BUFFER_NO_LIMIT);
    (void)snprintf(crawl.warc.path, sizeof crawl.warc.path, "%.100s/warc", crawl.root.path);
    (void)snprintf(crawl.mdb.path, sizeof crawl.mdb.path, "%.100s/crawl.mdb", crawl.root.path);
    CU_ASSERT_EQUAL_FATAL(mkdir(crawl.warc.path, 0755), 0);
    write_warc(&crawl, n_captures);
    write_pages(&crawl, n_pages);
    return crawl;
}

static Crawl crawl_new(unsigned n_captures, unsigned n_pages)
{
    return crawl_with(n_captures, n_pages, false);
}

static void crawl_delete(Crawl *crawl)
{
    buffer_destroy(&crawl->report);
    sample_remove(&crawl->warc);
    sample_remove(&crawl->mdb);
    sample_remove(&crawl->root);
}

/* A line of DIR/moved.txt. */
static void declare(const Crawl *crawl, const char *line)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%.100s/moved.txt", crawl->root.path);
    FILE *file = fopen(path, "a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fprintf(file, "%s\n", line);
    (void)fclose(file);
}

static Result run(Crawl *crawl, bool repair)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    VerifyOptions options = {.directory = crawl->root.path, .repair = repair, .out = out};
    Result rc = verify_directory(&options, &crawl->counts);
    (void)fclose(out);
    buffer_reset(&crawl->report);
    CU_ASSERT_EQUAL(buffer_append(&crawl->report, text, length), RESULT_OK);
    free(text);
    return rc;
}

/* Runs verify; the number of problems. */
static uint64_t verify(Crawl *crawl, bool repair)
{
    CU_ASSERT_EQUAL(run(crawl, repair), RESULT_OK);
    return crawl->counts.problems;
}

/* The path of a file of the crawl whose name ends so. */
static void path_of(const Crawl *crawl, const char *suffix, char path[512])
{
    char name[256] = "";
    CU_ASSERT_FATAL(sample_count(&crawl->warc, suffix, name) > 0);
    (void)snprintf(path, 512, "%s/%s", crawl->warc.path, name);
}

static bool reports(const Crawl *crawl, const char *words)
{
    return strstr(buffer_string(&crawl->report), words) != NULL;
}

static void a_sound_crawl_has_no_problems(void)
{
    Crawl crawl = crawl_new(20, 20);
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    CU_ASSERT(crawl.counts.files > 1);
    CU_ASSERT_EQUAL(crawl.counts.captures, 21);
    CU_ASSERT_EQUAL(crawl.counts.revisits, 1);
    CU_ASSERT_EQUAL(crawl.counts.pages, 20);
    CU_ASSERT_EQUAL(crawl.counts.strangers, 1);
    CU_ASSERT_EQUAL(sample_count(&crawl.warc, ".verify", NULL), 0);
    CU_ASSERT_EQUAL(sample_count(&crawl.warc, ".expected", NULL), 0);
    crawl_delete(&crawl);
}

static void pages_without_a_capture_are_found(void)
{
    Crawl crawl = crawl_new(5, 7);
    CU_ASSERT_EQUAL(verify(&crawl, true), 2);
    CU_ASSERT(reports(&crawl, "in no WARC file: http://example.org/6"));
    CU_ASSERT_FALSE(reports(&crawl, "in no WARC file: http://example.org/4"));
    crawl_delete(&crawl);
}

/* Enters the first n pages as stored. */
static void note_captures(const Crawl *crawl, unsigned n, uint64_t more)
{
    PageDB *db = NULL;
    MDB_txn *txn = NULL;
    CaptureIndex captures = 0;
    WarcGroup group = {.type = WARC_RESPONSE, .date = SAMPLE_DATE, .whole = true};
    PageDBOptions options = {.no_sync = true, .map_bytes = 64 << 20};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, crawl->mdb.path, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(capture_index_open(&captures, txn, true), RESULT_OK);
    for (unsigned i = 0; i <= n; i++) {
        uint64_t page = i < n ? i : more;
        CU_ASSERT_EQUAL(capture_index_put_group(captures, txn, page, 404, &group), RESULT_OK);
    }
    CU_ASSERT_EQUAL(page_db_txn_commit(db, txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

/* More pages than one read transaction looks at. */
static void only_what_was_stored_is_missed(void)
{
    Crawl crawl = crawl_new(5, 5000);
    note_captures(&crawl, 5, 4);
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    note_captures(&crawl, 0, 4900);
    CU_ASSERT_EQUAL(verify(&crawl, false), 1);
    CU_ASSERT(reports(&crawl, "in no WARC file: http://example.org/4900\n"));
    crawl_delete(&crawl);
}

/* A metadata record of another capture, in a file of its own. */
static void a_companion_of_nothing_is_found(void)
{
    Crawl crawl = crawl_new(3, 3);
    WarcGroup group;
    Warc *warc = NULL;
    WarcPosition position;
    WarcRecorder *recorder = NULL;
    WarcRecorderOptions recorder_options = {.find = NULL};
    WarcOptions options = {.directory = crawl.warc.path, .max_bytes = 4000};
    warc_group_init(&group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&recorder, &recorder_options), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(warc_open(&warc, &options, &crawl.end), RESULT_OK);
    WarcFetch fetch = sample_fetch("http://example.org/robots.txt", "HTTP/1.1 200 OK\r\n\r\n", "x");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
    group.id.bytes[0] ^= 1;
    CU_ASSERT_EQUAL(warc_record_metadata(recorder, fetch.url, sample_text("a: b\r\n"), &group),
                    RESULT_OK);
    CU_ASSERT_EQUAL(warc_append(warc, &group, &position), RESULT_OK);
    CU_ASSERT_EQUAL(warc_sync(warc, &crawl.end), RESULT_OK);
    CU_ASSERT_EQUAL(warc_committed(warc), RESULT_OK);
    CU_ASSERT_EQUAL(warc_close(warc), RESULT_OK);
    warc_recorder_delete(recorder);
    warc_group_destroy(&group);
    CU_ASSERT_EQUAL(verify(&crawl, false), 1);
    CU_ASSERT(reports(&crawl, "metadata record is not concurrent to the capture before it"));
    crawl_delete(&crawl);
}

static void a_flipped_bit_is_found(void)
{
    Crawl crawl = crawl_new(5, 5);
    char path[512];
    path_of(&crawl, ".warc.gz", path);
    int fd = open(path, O_RDWR);
    char byte = 0;
    CU_ASSERT_EQUAL(pread(fd, &byte, 1, 900), 1);
    byte ^= 16;
    CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, 900), 1);
    (void)close(fd);
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "no complete compressed record"));
    crawl_delete(&crawl);
}

static void a_file_that_ends_before_the_commit_is_found(void)
{
    Crawl crawl = crawl_new(5, 5);
    char path[512];
    char open_path[520];
    WarcFileList list;
    CU_ASSERT_EQUAL_FATAL(warc_files_list(crawl.warc.path, &list), RESULT_OK);
    (void)snprintf(path, sizeof path, "%.200s/%.200s", crawl.warc.path,
                   list.files[list.n - 1].name);
    warc_files_free(&list);
    /* A torn file in the state in which a crash leaves it: still named .open. */
    (void)snprintf(open_path, sizeof open_path, "%s.open", path);
    CU_ASSERT_EQUAL(rename(path, open_path), 0);
    memcpy(path + strlen(path) - strlen(".warc.gz"), ".cdxj", sizeof ".cdxj");
    char journal[520];
    (void)snprintf(journal, sizeof journal, "%s.open", path);
    CU_ASSERT_EQUAL(rename(path, journal), 0);
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    CU_ASSERT_EQUAL(truncate(open_path, (off_t)crawl.end.offset - 1), 0);
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "no complete compressed record"));
    CU_ASSERT_EQUAL(unlink(open_path), 0);
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "crawled, but in no WARC file"));
    crawl_delete(&crawl);
}

static void indices_are_compared_and_repaired(void)
{
    Crawl crawl = crawl_new(5, 5);
    char path[512];
    path_of(&crawl, ".cdxj", path);
    FILE *file = fopen(path, "ab");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs("zzz)/ 20260131120000 {}\n", file);
    (void)fclose(file);
    CU_ASSERT_EQUAL(verify(&crawl, false), 1);
    CU_ASSERT(reports(&crawl, "line for no record in the index: zzz)/"));
    CU_ASSERT_EQUAL(truncate(path, 0), 0);
    CU_ASSERT(verify(&crawl, false) >= 1);
    CU_ASSERT(reports(&crawl, "record is not in the index"));
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT(verify(&crawl, true) >= 1);
    CU_ASSERT(reports(&crawl, "has no index"));
    CU_ASSERT_EQUAL(crawl.counts.repaired, 1);
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    crawl_delete(&crawl);
}

static void a_revisit_without_its_original_is_found(void)
{
    Crawl crawl = crawl_new(20, 20);
    char path[512];
    WarcFileList list;
    CU_ASSERT_EQUAL_FATAL(warc_files_list(crawl.warc.path, &list), RESULT_OK);
    (void)snprintf(path, sizeof path, "%s/%s", crawl.warc.path, list.files[0].name);
    warc_files_free(&list);
    CU_ASSERT_EQUAL(unlink(path), 0);
    size_t n = strlen(path);
    memcpy(path + n - strlen(".warc.gz"), ".cdxj", sizeof ".cdxj");
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "index without a WARC file"));
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "the original of the revisit is not stored: http://example.org/0"));
    CU_ASSERT(reports(&crawl, "crawled, but in no WARC file: http://example.org/0"));
    crawl_delete(&crawl);
}

/* What stands there, of that URL and second, has other bytes. */
static void a_revisit_of_another_payload_is_found(void)
{
    Crawl crawl = crawl_with(20, 20, true);
    CU_ASSERT_EQUAL(verify(&crawl, false), 2);
    CU_ASSERT(reports(&crawl, "the original of the revisit is not stored: http://example.org/0"));
    CU_ASSERT(reports(&crawl, "crawled, but in no WARC file: http://example.org/19"));
    crawl_delete(&crawl);
}

static unsigned count(const Crawl *crawl, const char *words)
{
    unsigned n = 0;
    for (const char *at = strstr(buffer_string(&crawl->report), words); at != NULL;
         at = strstr(at + 1, words)) {
        n++;
    }
    return n;
}

/* The name of the file with that place in the list. */
static void name_of(const Crawl *crawl, size_t place, char name[256])
{
    WarcFileList list;
    CU_ASSERT_EQUAL_FATAL(warc_files_list(crawl->warc.path, &list), RESULT_OK);
    CU_ASSERT_FATAL(place < list.n);
    (void)snprintf(name, 256, "%s", list.files[place].name);
    warc_files_free(&list);
}

static void change(const Crawl *crawl, const char *name, const char *suffix, const char *to)
{
    char from_path[600];
    char to_path[600];
    int stem = (int)(strlen(name) - strlen(".warc.gz"));
    (void)snprintf(from_path, sizeof from_path, "%s/%.*s%s", crawl->warc.path, stem, name, suffix);
    (void)snprintf(to_path, sizeof to_path, "%s/%.*s%s", to == NULL ? "" : to, stem, name, suffix);
    CU_ASSERT_EQUAL(to == NULL ? unlink(from_path) : rename(from_path, to_path), 0);
}

static void remove_declarations(const Crawl *crawl)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%.100s/moved.txt", crawl->root.path);
    (void)unlink(path);
}

static void a_lost_file_is_one_problem_with_its_pages(void)
{
    Crawl crawl = crawl_new(40, 40);
    char name[256];
    name_of(&crawl, 1, name);
    change(&crawl, name, ".warc.gz", NULL);
    CU_ASSERT_EQUAL(verify(&crawl, false), 1);
    CU_ASSERT(reports(&crawl, "index without a WARC file"));
    CU_ASSERT(reports(&crawl, "moved.txt"));
    unsigned n = count(&crawl, "lost\t");
    CU_ASSERT(n > 1);
    CU_ASSERT_EQUAL(count(&crawl, "lost\t"), count(&crawl, "http://example.org/"));
    /* Without its index nobody knows which pages were in it, but they are in no other file. */
    change(&crawl, name, ".cdxj", NULL);
    CU_ASSERT_EQUAL(verify(&crawl, false), n);
    CU_ASSERT_EQUAL(count(&crawl, "crawled, but in no WARC file: "), n);
    crawl_delete(&crawl);
}

static void a_moved_file_can_be_declared(void)
{
    Crawl crawl = crawl_new(40, 40);
    SampleDirectory away = sample_directory();
    char name[256];
    name_of(&crawl, 0, name); /* with the original of a revisit */
    change(&crawl, name, ".warc.gz", away.path);
    declare(&crawl, name);
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    CU_ASSERT(reports(&crawl, "moved\t"));
    CU_ASSERT_EQUAL(verify(&crawl, true), 0);
    CU_ASSERT_EQUAL(crawl.counts.repaired, 0);
    /* Its index is needed. */
    change(&crawl, name, ".cdxj", away.path);
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "put it back"));
    remove_declarations(&crawl);
    declare(&crawl, "/archive/nothing.warc.gz");
    CU_ASSERT(verify(&crawl, false) > 0);
    CU_ASSERT(reports(&crawl, "problem\tmoved.txt\texpected the name"));
    remove_declarations(&crawl);
    sample_remove(&away);
    crawl_delete(&crawl);
}

static void a_missing_folder_is_told_and_can_be_declared(void)
{
    Crawl crawl = crawl_new(40, 40);
    char away[200];
    char path[500];
    char back[500];
    WarcFileList list;
    (void)snprintf(away, sizeof away, "%.100s/away", crawl.root.path);
    CU_ASSERT_EQUAL_FATAL(warc_files_list(crawl.warc.path, &list), RESULT_OK);
    CU_ASSERT_EQUAL(rename(crawl.warc.path, away), 0);
    CU_ASSERT_EQUAL(verify(&crawl, false), 1);
    CU_ASSERT(reports(&crawl, "problem\twarc\tthe folder is missing"));
    CU_ASSERT_EQUAL(count(&crawl, "lost\t"), 40);
    CU_ASSERT_EQUAL(mkdir(crawl.warc.path, 0755), 0);
    for (size_t i = 0; i < list.n; i++) {
        int stem = (int)(strlen(list.files[i].name) - strlen(".warc.gz"));
        (void)snprintf(path, sizeof path, "%s/%.*s.cdxj", away, stem, list.files[i].name);
        (void)snprintf(back, sizeof back, "%s/%.*s.cdxj", crawl.warc.path, stem,
                       list.files[i].name);
        CU_ASSERT_EQUAL(rename(path, back), 0);
        declare(&crawl, list.files[i].name);
    }
    CU_ASSERT_EQUAL(verify(&crawl, false), 0);
    CU_ASSERT_EQUAL(crawl.counts.problems, 0);
    CU_ASSERT_EQUAL(count(&crawl, "moved\t"), list.n);
    warc_files_free(&list);
    remove_declarations(&crawl);
    SampleDirectory old = {{0}};
    (void)snprintf(old.path, sizeof old.path, "%.100s/away", crawl.root.path);
    sample_remove(&old);
    crawl_delete(&crawl);
}

UNIT_MAIN("verify", {"a sound crawl has no problems", a_sound_crawl_has_no_problems},
          {"pages without a capture are found", pages_without_a_capture_are_found},
          {"only what was stored is missed", only_what_was_stored_is_missed},
          {"a companion of nothing is found", a_companion_of_nothing_is_found},
          {"a flipped bit is found", a_flipped_bit_is_found},
          {"a file that ends before the commit is found",
           a_file_that_ends_before_the_commit_is_found},
          {"indices are compared and repaired", indices_are_compared_and_repaired},
          {"a revisit without its original is found", a_revisit_without_its_original_is_found},
          {"a revisit of another payload is found", a_revisit_of_another_payload_is_found},
          {"a lost file is one problem with its pages", a_lost_file_is_one_problem_with_its_pages},
          {"a moved file can be declared", a_moved_file_can_be_declared},
          {"a missing folder is told and can be declared",
           a_missing_folder_is_told_and_can_be_declared})
