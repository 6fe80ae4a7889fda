#include "command/export/host_export.h"
#include "command/export/page_export.h"
#include "store/pages/page_db_open.h"
#include "parse/html/html.h"
#include "unit.h"
#include "warc_samples.h"

/* The bytes that a function writes. */
typedef struct Output {
    char *text;
    size_t length;
    FILE *file;
} Output;

static void output_open(Output *output)
{
    output->file = open_memstream(&output->text, &output->length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(output->file);
}

static void output_expect(Output *output, const char *expected)
{
    (void)fclose(output->file);
    if (strcmp(output->text, expected) != 0) {
        (void)fprintf(stderr, "got:\n%s\nexpected:\n%s\n", output->text, expected);
    }
    CU_ASSERT_STRING_EQUAL(output->text, expected);
    free(output->text);
}

static void expect_rows(ExportFormat format, bool header, const char *expected)
{
    ExportRows rows;
    Output output;
    output_open(&output);
    export_rows_begin(&rows, output.file, format, header);
    for (unsigned i = 0; i < 2; i++) {
        export_text(&rows, "url", "a\t\"b\",\\", 7);
        export_number(&rows, "n", i == 0 ? 0 : UINT64_MAX);
        export_signed(&rows, "s", -5);
        export_real(&rows, "r", i == 0 ? 0.5 : 0.0 / 0.0);
        export_nothing(&rows, "x");
        export_row_end(&rows);
    }
    CU_ASSERT_EQUAL(export_rows_end(&rows), RESULT_OK);
    output_expect(&output, expected);
}

static void rows_have_three_forms(void)
{
    expect_rows(EXPORT_TSV, false,
                "a%09\"b\",\\\t0\t-5\t0.5\t\na%09\"b\",\\\t18446744073709551615\t-5\t\t\n");
    expect_rows(EXPORT_TSV, true,
                "url\tn\ts\tr\tx\na%09\"b\",\\\t0\t-5\t0.5\t\n"
                "a%09\"b\",\\\t18446744073709551615\t-5\t\t\n");
    expect_rows(EXPORT_CSV, true,
                "url,n,s,r,x\r\n\"a\t\"\"b\"\",\\\",0,-5,0.5,\r\n"
                "\"a\t\"\"b\"\",\\\",18446744073709551615,-5,,\r\n");
    expect_rows(EXPORT_JSONL, true,
                "{\"url\":\"a\\t\\\"b\\\",\\\\\",\"n\":0,\"s\":-5,\"r\":0.5,\"x\":null}\n"
                "{\"url\":\"a\\t\\\"b\\\",\\\\\",\"n\":18446744073709551615,\"s\":-5,\"r\":null,"
                "\"x\":null}\n");
}

static void strangers_texts_command_no_terminal_and_no_spreadsheet(void)
{
    static const struct {
        ExportFormat format;
        const char *text;
        const char *row;
    } cases[] = {{EXPORT_CSV, "=1+1", "\"'=1+1\"\r\n"},
                 {EXPORT_CSV, "@x", "\"'@x\"\r\n"},
                 {EXPORT_CSV, "-1\"", "\"'-1\"\"\"\r\n"},
                 {EXPORT_CSV, "a=1", "a=1\r\n"},
                 {EXPORT_CSV, "", "\r\n"},
                 {EXPORT_TSV,
                  "a\xC2\x9B"
                  "b",
                  "a%C2%9Bb\n"},
                 {EXPORT_TSV, "\xC2\xA9", "\xC2\xA9\n"},
                 {EXPORT_JSONL,
                  "a\xC2\x9B"
                  "b",
                  "{\"t\":\"a\\u009bb\"}\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExportRows rows;
        Output output;
        output_open(&output);
        export_rows_begin(&rows, output.file, cases[i].format, false);
        export_text(&rows, "t", cases[i].text, strlen(cases[i].text));
        export_row_end(&rows);
        CU_ASSERT_EQUAL(export_rows_end(&rows), RESULT_OK);
        output_expect(&output, cases[i].row);
    }
}

static void a_full_disk_is_told(void)
{
    FILE *full = fopen("/dev/full", "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    ExportRows rows;
    export_rows_begin(&rows, full, EXPORT_TSV, false);
    export_number(&rows, "n", 1);
    export_row_end(&rows);
    CU_ASSERT_EQUAL(export_rows_end(&rows), RESULT_FULL);
    (void)fclose(full);
}

typedef struct Model {
    uint64_t counts[40][40];
    uint64_t last;
    unsigned n;
    bool ascending;
} Model;

static Result take_away(void *context, const PairCount *pair)
{
    Model *model = context;
    uint64_t place = (uint64_t)pair->from << 32 | pair->to;
    model->ascending = model->ascending && (model->n == 0 || place > model->last);
    model->last = place;
    model->n++;
    model->counts[pair->from][pair->to] -= pair->count;
    return RESULT_OK;
}

static void pairs_beyond_memory_agree_with_a_model(void)
{
    static Model model; /* too large for some stacks */
    uint64_t state = 1;
    ExportPairs *pairs = NULL;
    model = (Model){.ascending = true};
    CU_ASSERT_EQUAL_FATAL(export_pairs_new(&pairs, 1), RESULT_OK); /* 1 024 pairs at a time */
    for (unsigned i = 0; i < 30000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t from = (uint32_t)(state >> 40) % 40;
        uint32_t to = (uint32_t)(state >> 20) % 40;
        model.counts[from][to] += i % 3 + 1;
        CU_ASSERT_EQUAL(export_pairs_add(pairs, from, to, i % 3 + 1), RESULT_OK);
    }
    CU_ASSERT_EQUAL(export_pairs_each(pairs, take_away, &model), RESULT_OK);
    CU_ASSERT_EQUAL(model.n, 1600);
    CU_ASSERT(model.ascending);
    for (unsigned i = 0; i < 1600; i++) {
        CU_ASSERT_EQUAL(model.counts[i / 40][i % 40], 0);
    }
    export_pairs_delete(pairs);
}

/* a -> b, b, c(other host), a;  c -> a */
static PageDB *sample_db(const SampleDirectory *directory)
{
    static const char *const links[] = {"http://x.org/b", "http://y.org/c", "http://x.org/b",
                                        "http://x.org/a"};
    PageDB *db = NULL;
    PageDBOptions options = {.no_sync = true, .map_bytes = 64 << 20};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, directory->path, &options), page_db_error_ok);
    CrawledPage *a = crawled_page_new("http://x.org/a");
    CrawledPage *c = crawled_page_new("http://y.org/c");
    CU_ASSERT_FATAL(a != NULL && c != NULL);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        CU_ASSERT_EQUAL(crawled_page_add_link(a, links[i], 0.25f), 0);
    }
    CU_ASSERT_EQUAL(crawled_page_add_link(c, "http://x.org/a", 0.5f), 0);
    a->time = 1769860800.5;
    a->score = 0.75f;
    c->time = 1769860801;
    c->score = 0.125f;
    CU_ASSERT_EQUAL(crawled_page_set_hash64(a, 255), 0);
    CU_ASSERT_EQUAL(page_db_add(db, a, NULL), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_add(db, c, NULL), page_db_error_ok);
    crawled_page_delete(a);
    crawled_page_delete(c);
    return db;
}

static void expect_export(PageDB *db, Result (*run)(PageDB *, const PageExportOptions *),
                          PageExportOptions options, const char *expected)
{
    Output output;
    output_open(&output);
    options.file = output.file;
    CU_ASSERT_EQUAL(run(db, &options), RESULT_OK);
    output_expect(&output, expected);
}

static void links_have_weights_and_are_ascending(void)
{
    SampleDirectory directory = sample_directory();
    PageDB *db = sample_db(&directory);
    expect_export(db, page_export_links, (PageExportOptions){.format = EXPORT_TSV},
                  "http://x.org/a\thttp://x.org/a\t1\t0\t0.75\ta\t\t0\n"
                  "http://x.org/a\thttp://x.org/b\t2\t0\t0.25\ta\t\t0\n"
                  "http://x.org/a\thttp://y.org/c\t1\t1\t0.125\ta\t\t0\n"
                  "http://y.org/c\thttp://x.org/a\t1\t1\t0.75\ta\t\t0\n");
    expect_export(db, page_export_links,
                  (PageExportOptions){.format = EXPORT_CSV, .arcs = true, .header = true},
                  "0\t0\n0\t1\n0\t2\n2\t0\n");
    expect_export(db, page_export_links, (PageExportOptions){.arcs = true, .no_self = true},
                  "0\t1\n0\t2\n2\t0\n");
    expect_export(db, page_export_links,
                  (PageExportOptions){.format = EXPORT_JSONL, .ids = true, .only_cross = true},
                  "{\"from\":0,\"to\":2,\"weight\":1,\"cross\":1,\"score\":0.125,"
                  "\"kind\":\"a\",\"rel\":\"\",\"external\":0}\n"
                  "{\"from\":2,\"to\":0,\"weight\":1,\"cross\":1,\"score\":0.75,"
                  "\"kind\":\"a\",\"rel\":\"\",\"external\":0}\n");
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    sample_remove(&directory);
}

static void a_link_of_several_kinds_has_a_row_for_each(void)
{
    SampleDirectory directory = sample_directory();
    PageDB *db = NULL;
    MDB_txn *txn = NULL;
    PageDBOptions options = {.no_sync = true, .map_bytes = 64 << 20};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, directory.path, &options), page_db_error_ok);
    CrawledPage *a = crawled_page_new("http://x.org/a");
    CU_ASSERT_FATAL(a != NULL);
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(crawled_page_add_link(a, "http://x.org/b", 0.25f), 0);
    }
    const PageLink links[] = {{.kind = LINK_IMG},
                              {.kind = LINK_A, .flags = LINK_NOFOLLOW | LINK_SPONSORED},
                              {.kind = LINK_IMG, .flags = LINK_CANONICAL},
                              {.kind = LINK_A}};
    uint8_t kinds[4];
    for (unsigned i = 0; i < 4; i++) {
        kinds[i] = link_kind_byte(&links[i]);
    }
    PageWrite write = {.page = a, .link_kinds = kinds, .status = 200};
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_write(db, txn, &write, 1, NULL), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_txn_commit(db, txn), page_db_error_ok);
    crawled_page_delete(a);
    expect_export(db, page_export_links, (PageExportOptions){.format = EXPORT_TSV, .ids = true},
                  "0\t1\t1\t0\t0.25\ta\t\t0\n"
                  "0\t1\t2\t0\t0.25\timg\t\t0\n"
                  "0\t1\t1\t0\t0.25\ta\tnofollow sponsored\t0\n");
    expect_export(db, page_export_links, (PageExportOptions){.arcs = true}, "0\t1\n");
    expect_export(db, page_export_hosts, (PageExportOptions){.ids = true}, "0\t0\t4\n");
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    sample_remove(&directory);
}

static void the_host_graph_adds_links_up(void)
{
    SampleDirectory directory = sample_directory();
    PageDB *db = sample_db(&directory);
    expect_export(db, page_export_hosts, (PageExportOptions){.format = EXPORT_CSV, .header = true},
                  "from,to,weight\r\n"
                  "http://x.org,http://x.org,3\r\n"
                  "http://x.org,http://y.org,1\r\n"
                  "http://y.org,http://x.org,1\r\n");
    expect_export(db, page_export_hosts, (PageExportOptions){.arcs = true, .no_self = true},
                  "0\t1\n1\t0\n");
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    sample_remove(&directory);
}

static void pages_come_with_what_is_known(void)
{
    SampleDirectory directory = sample_directory();
    PageDB *db = sample_db(&directory);
    char expected[1024];
    (void)snprintf(expected, sizeof expected,
                   "http://x.org/a\t0\t%016llx\thttp://x.org\t0\t0\t\t0.75\t\t1\t0\t"
                   "2026-01-31T12:00:00.500Z\t2026-01-31T12:00:00.500Z\t\t00000000000000ff\t\n",
                   (unsigned long long)page_db_hash("http://x.org/a"));
    Output output;
    output_open(&output);
    PageExportOptions options = {.format = EXPORT_TSV, .file = output.file};
    CU_ASSERT_EQUAL(page_export_pages(db, &options), RESULT_OK);
    (void)fflush(output.file);
    CU_ASSERT_EQUAL(strncmp(output.text, expected, strlen(expected)), 0);
    /* b was only seen: by a, with the score of its link. */
    const char *b = strstr(output.text, "http://x.org/b\t1\t");
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_PTR_NOT_NULL(strstr(b, "\tL\t0.25\t\t0\t0\t\t\thttp://x.org/a\t\t\n"));
    (void)fclose(output.file);
    free(output.text);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    sample_remove(&directory);
}

UNIT_MAIN("export", {"rows have three forms", rows_have_three_forms},
          {"a full disk is told", a_full_disk_is_told},
          {"pairs beyond memory agree with a model", pairs_beyond_memory_agree_with_a_model},
          {"links have weights and are ascending", links_have_weights_and_are_ascending},
          {"a link of several kinds has a row for each",
           a_link_of_several_kinds_has_a_row_for_each},
          {"the host graph adds links up", the_host_graph_adds_links_up},
          {"pages come with what is known", pages_come_with_what_is_known},
          {"strangers' texts command no terminal and no spreadsheet",
           strangers_texts_command_no_terminal_and_no_spreadsheet})
