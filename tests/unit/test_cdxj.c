#include "store/cdxj/cdxj.h"
#include "unit.h"
#include "warc_samples.h"

static CdxjFacts sample_facts(const char *url)
{
    return (CdxjFacts){.url = sample_text(url),
                       .date = SAMPLE_DATE,
                       .type = WARC_RESPONSE,
                       .status = 200,
                       .mime = sample_text("Text/HTML")};
}

static void write_text(const SampleDirectory *directory, const char *name, const char *text,
                       size_t length)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, length, file), length);
    (void)fclose(file);
}

static void lines_have_the_form_that_pywb_reads(void)
{
    static const WarcDigest digest = {{0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55,
                                       0xbf, 0xef, 0x95, 0x60, 0x18, 0x90, 0xaf, 0xd8, 0x07, 0x09}};
    Buffer line;
    buffer_init(&line, 1000);
    CdxjFacts facts = sample_facts("http://www.example.org/A?b\\c");
    facts.digest = &digest;
    CU_ASSERT_EQUAL(cdxj_append_facts(&line, &facts), RESULT_OK);
    CU_ASSERT_EQUAL(cdxj_append_place(&line, 512, 1024, "x.warc.gz"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(
        line.data,
        "org,example)/a?b\\c 20260131120000 {\"url\": \"http://www.example.org/A?b\\\\c\", "
        "\"mime\": \"text/html\", \"status\": \"200\", "
        "\"digest\": \"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\", \"length\": \"512\", "
        "\"offset\": \"1024\", \"filename\": \"x.warc.gz\"}\n");
    CdxjEntry entry;
    Buffer scratch;
    buffer_init(&scratch, 1000);
    CU_ASSERT_EQUAL(cdxj_parse(warc_bytes(line.data, line.length - 1), &scratch, &entry),
                    RESULT_OK);
    CU_ASSERT_EQUAL(entry.url.length, facts.url.length);
    CU_ASSERT_EQUAL(memcmp(entry.url.bytes, facts.url.bytes, facts.url.length), 0);
    CU_ASSERT_EQUAL(entry.status, 200);
    CU_ASSERT_EQUAL(entry.length, 512);
    CU_ASSERT_EQUAL(entry.offset, 1024);
    buffer_reset(&line);
    facts.type = WARC_REVISIT;
    CU_ASSERT_EQUAL(cdxj_append_facts(&line, &facts), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(line.data, "\"mime\": \"warc/revisit\""));
    buffer_reset(&line);
    facts.type = WARC_RESPONSE;
    facts.mime = sample_text("\"evil\"");
    CU_ASSERT_EQUAL(cdxj_append_facts(&line, &facts), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(line.data, "\"mime\": \"unk\""));
    buffer_destroy(&line);
    buffer_destroy(&scratch);
}

static void broken_lines_are_refused(void)
{
    static const char good[] = "org,example)/ 20260131120000 {\"url\": \"http://example.org/\", "
                               "\"length\": \"5\", \"offset\": \"7\", \"filename\": \"x\"}";
    static const char *const bad[] = {
        "",
        "org,example)/",
        "org,example)/ 2026 {}",
        "org,example)/ 20260131120000 {\"url\": \"http://example.org/\"}",
        "k 20260131120000 {\"url\": \"u\", \"length\": \"x\", \"offset\": \"7\", \"filename\": "
        "\"x\"}",
        "k 20260131120000 {\"url\": \"u\", \"length\": \"5\", \"offset\": \"7\", \"filename\": "
        "\"x\"",
        "k 20260131120000 {\"url\": \"u\", \"length\": \"5\", \"offset\": \"7\", \"filename\": "
        "\"\\n\"}",
        "k 20260131120000 {\"url\": \"\\u12\", \"length\": \"5\", \"offset\": \"7\", \"filename\": "
        "\"x\"}",
    };
    CdxjEntry entry;
    Buffer scratch;
    buffer_init(&scratch, 1000);
    CU_ASSERT_EQUAL(cdxj_parse(sample_text(good), &scratch, &entry), RESULT_OK);
    for (size_t n = 0; n + 1 < sizeof good; n++) {
        CU_ASSERT_EQUAL(cdxj_parse(warc_bytes(good, n), &scratch, &entry), RESULT_INVALID);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(cdxj_parse(sample_text(bad[i]), &scratch, &entry), RESULT_INVALID);
    }
    buffer_destroy(&scratch);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A journal of n lines with keys in no order, some of them equal. */
static void make_journal(Buffer *text, unsigned n)
{
    char url[64];
    uint64_t state = n;
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(url, sizeof url, "http://h%u.example.org/p%u",
                       (unsigned)(next_random(&state) % 10),
                       (unsigned)(next_random(&state) % (n / 2 + 1)));
        CdxjFacts facts = sample_facts(url);
        facts.date.us += (int64_t)i * 1000000;
        CU_ASSERT_EQUAL(cdxj_append_facts(text, &facts), RESULT_OK);
        CU_ASSERT_EQUAL(cdxj_append_place(text, 10, i, "x.warc.gz"), RESULT_OK);
    }
}

static int compare_strings(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The naive model: all lines in memory. */
static char *sorted_by_model(const Buffer *text, unsigned n)
{
    char *copy = strdup(text->data);
    char **lines = calloc(n, sizeof *lines);
    char *out = malloc(text->length + 1);
    CU_ASSERT_FATAL(copy != NULL && lines != NULL && out != NULL);
    char *rest = copy;
    for (unsigned i = 0; i < n; i++) {
        lines[i] = strsep(&rest, "\n");
    }
    qsort(lines, n, sizeof *lines, compare_strings);
    char *at = out;
    for (unsigned i = 0; i < n; i++) {
        size_t length = strlen(lines[i]);
        memcpy(at, lines[i], length);
        at[length] = '\n';
        at += length + 1;
    }
    *at = '\0';
    free(lines);
    free(copy);
    return out;
}

static void sort_and_compare(unsigned n)
{
    SampleDirectory directory = sample_directory();
    char journal[256];
    char index[256];
    Buffer text;
    Buffer result;
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&result, BUFFER_NO_LIMIT);
    make_journal(&text, n);
    char *expected = sorted_by_model(&text, n);
    CU_ASSERT_EQUAL(buffer_append_string(&text, "org,torn)/ 2026"), RESULT_OK);
    write_text(&directory, "j", text.data, text.length);
    (void)snprintf(journal, sizeof journal, "%s/j", directory.path);
    (void)snprintf(index, sizeof index, "%s/x.cdxj", directory.path);
    CU_ASSERT_EQUAL(cdxj_sort(journal, index), RESULT_OK);
    FILE *file = fopen(index, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char chunk[4096];
    size_t got = 0;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        CU_ASSERT_EQUAL(buffer_append(&result, chunk, got), RESULT_OK);
    }
    (void)fclose(file);
    CU_ASSERT_STRING_EQUAL(buffer_string(&result), expected);
    CU_ASSERT_EQUAL(sample_count(&directory, ".cdxj", NULL), 1);
    CU_ASSERT_EQUAL(sample_count(&directory, ".new", NULL), 0);
    CU_ASSERT_EQUAL(sample_count(&directory, ".tmp", NULL), 0);
    free(expected);
    buffer_destroy(&text);
    buffer_destroy(&result);
    sample_remove(&directory);
}

static void sorting_agrees_with_a_model(void)
{
    sort_and_compare(1);
    sort_and_compare(500);
    sort_and_compare(30000);
}

typedef struct Found {
    unsigned n;
    uint64_t offsets;
} Found;

static bool note(void *context, const CdxjEntry *entry)
{
    Found *found = context;
    found->n++;
    found->offsets += entry->offset;
    return true;
}

static void every_url_is_found_where_it_is(void)
{
    enum { N = 400 };
    SampleDirectory directory = sample_directory();
    Buffer text;
    char path[256];
    char index[256];
    buffer_init(&text, BUFFER_NO_LIMIT);
    make_journal(&text, N);
    write_text(&directory, "a.cdxj.open", text.data, text.length);
    (void)snprintf(path, sizeof path, "%s/a.cdxj.open", directory.path);
    (void)snprintf(index, sizeof index, "%s/b.cdxj", directory.path);
    CU_ASSERT_EQUAL(cdxj_sort(path, index), RESULT_OK);
    Buffer scratch;
    buffer_init(&scratch, 1000);
    for (const char *at = text.data; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        CdxjEntry entry;
        CdxjCapture capture;
        CU_ASSERT_EQUAL(cdxj_parse(warc_bytes(at, n), &scratch, &entry), RESULT_OK);
        Found found = {0};
        CU_ASSERT_EQUAL(cdxj_find(directory.path, entry.url.bytes, entry.url.length, note, &found),
                        RESULT_OK);
        CU_ASSERT(found.n >= 2 && found.n % 2 == 0); /* in the journal and in the index */
        CU_ASSERT_EQUAL(
            cdxj_newest(directory.path, entry.url.bytes, entry.url.length, false, &capture),
            RESULT_OK);
        CU_ASSERT(memcmp(capture.timestamp, entry.timestamp.bytes, 14) >= 0);
        CU_ASSERT_STRING_EQUAL(capture.filename, "x.warc.gz");
        at += n + 1;
    }
    /* The same key is not the same URL. */
    Found found = {0};
    static const char other[] = "http://H1.example.org/p1";
    CU_ASSERT_EQUAL(cdxj_find(directory.path, other, strlen(other), note, &found), RESULT_OK);
    CU_ASSERT_EQUAL(found.n, 0);
    CdxjCapture capture;
    CU_ASSERT_EQUAL(cdxj_newest(directory.path, other, strlen(other), true, &capture),
                    RESULT_NOT_FOUND);
    buffer_destroy(&scratch);
    buffer_destroy(&text);
    sample_remove(&directory);
}

UNIT_MAIN("cdxj", {"lines have the form that pywb reads", lines_have_the_form_that_pywb_reads},
          {"broken lines are refused", broken_lines_are_refused},
          {"sorting agrees with a model", sorting_agrees_with_a_model},
          {"every URL is found where it is", every_url_is_found_where_it_is})
