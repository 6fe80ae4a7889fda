#include "command/export/export.h"

#include <stdio.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/embed.h"
#include "command/export/host_export.h"
#include "command/export/page_export.h"
#include "command/part/part_command.h"
#include "command/text/text_export.h"
#include "command/text/text_page.h"
#include "command/wacz/wacz_export.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "crawl/input_file.h"
#include "page/tool/text_language.h"
#include "parse/host/domain.h"
#include "store/cdxj/surt.h"

/* ---- Captures ---- */

typedef struct CaptureCommand {
    TextExport archive;
    ExportFormat format;
    bool no_language;
    bool header;
} CaptureCommand;

typedef struct CaptureTable {
    const CaptureCommand *command;
    TextJobs jobs;
    TextSource *source;
    TextPages *pages;
    ExportRows rows;
    Url url;
    Url target; /* of a redirect */
    Buffer surt;
    Progress progress;
} CaptureTable;

static const char capture_usage[] =
    "usage: ragno export DIR captures [OPTION]...\n"
    "  --format tsv|csv|jsonl   default jsonl\n"
    "  --header                 a line of names first; CSV has one\n"
    "  --no-language            do not find out the language\n"
    "  -o, --output FILE        default standard output\n";

/* ---- columns ---- */

static void capture_bytes(CaptureTable *table, const char *name, WarcBytes value)
{
    if (value.length == 0) {
        export_nothing(&table->rows, name);
    } else {
        export_text(&table->rows, name, value.bytes, value.length);
    }
}

static WarcBytes capture_field(const WarcRecord *record, const char *name)
{
    WarcBytes value = warc_bytes("", 0);
    (void)warc_record_field(record, name, &value);
    return value;
}

static void capture_url(CaptureTable *table, WarcBytes uri)
{
    Url *url = &table->url;
    buffer_reset(&table->surt);
    (void)surt_append(&table->surt, uri.bytes, uri.length);
    capture_bytes(table, "url_surtkey", warc_bytes(table->surt.data, table->surt.length));
    capture_bytes(table, "url", uri);
    bool is_url = url_parse(url, NULL, uri.bytes, uri.length) == RESULT_OK;
    if (!is_url) {
        url_destroy(url);
        *url = (Url){.href = NULL}; /* all of its parts are empty */
    }
    Domain domain = is_url ? domain_of_url(url) : (Domain){.length = 0};
    bool has_query = url->query_start < url->length;
    uint32_t query = has_query ? url->query_start + 1 : url->length;
    capture_bytes(table, "url_host_name",
                  warc_bytes(url->href + url->host_start, url->host_end - url->host_start));
    capture_bytes(table, "url_host_registered_domain", warc_bytes(domain.name, domain.length));
    const char *protocol = url->https ? "https" : "http";
    export_word(&table->rows, "url_protocol", is_url ? protocol : NULL);
    export_number_if(&table->rows, "url_port", is_url && url->port != (url->https ? 443 : 80),
                     url->port);
    capture_bytes(table, "url_path",
                  warc_bytes(url->href + url->path_start, url->query_start - url->path_start));
    capture_bytes(table, "url_query", warc_bytes(url->href + query, url->length - query));
}

/* Charset and language of a document; both empty of anything else. */
static Result capture_text(CaptureTable *table)
{
    TextCapture capture;
    TextPage page = {.language = NULL};
    Result rc = text_source_take(table->source, &capture);
    bool is_text =
        rc == RESULT_OK && capture.status >= 200 && capture.status <= 299 &&
        (capture.is_plain || http_header_is_page(&capture.type, capture.body, capture.length));
    if (rc == RESULT_MEMORY) {
        return rc;
    }
    if (is_text) {
        rc = text_pages_read(table->pages, &capture, &page);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    export_word(&table->rows, "content_charset", is_text ? page.visible.encoding : NULL);
    export_word(&table->rows, "content_languages",
                page.language == NULL ? NULL : text_language_iso3(page.language));
    return RESULT_OK;
}

static Result capture_row(CaptureTable *table, const char *filename, const WarcRecord *record)
{
    ExportRows *rows = &table->rows;
    char date[CLOCK_TEXT_BYTES];
    char id[WARC_ID_TEXT];
    capture_url(table, record->uri);
    export_word(&table->rows, "fetch_time", wall_format_micro(record->date, date));
    export_number(rows, "fetch_status", record->http.status);
    /* The Location of a redirect, absolute. */
    HttpHeader header;
    bool is_redirect =
        http_header_parse(&header, record->block.bytes, record->http.header_length) == RESULT_OK &&
        text_redirect_of(&header, record->http.status, record->uri, &table->url, &table->target);
    export_word(&table->rows, "fetch_redirect", is_redirect ? table->target.href : NULL);
    WarcBytes digest = capture_field(record, "warc-payload-digest");
    bool is_sha1 = digest.length > 5 && ascii_is(digest.bytes, 5, "sha1:");
    capture_bytes(table, "content_digest",
                  is_sha1 ? warc_bytes(digest.bytes + 5, digest.length - 5) : digest);
    export_type(rows, "content_mime_type", record->http.content_type.bytes,
                record->http.content_type.length);
    Result rc = capture_text(table);
    capture_bytes(table, "content_truncated", capture_field(record, "warc-truncated"));
    capture_bytes(table, "usage", capture_field(record, "warc-usage"));
    capture_bytes(table, "ip", capture_field(record, "warc-ip-address"));
    export_word(&table->rows, "warc_record_type", warc_type_name(record->type));
    export_word(&table->rows, "record_id", warc_id_format(&record->id, id));
    export_word(&table->rows, "warc_filename", filename);
    export_number(rows, "warc_record_offset", record->offset);
    export_number(rows, "warc_record_length", record->length);
    export_row_end(rows);
    return rc == RESULT_OK ? rows->result : rc;
}

/* ---- rows ---- */

static Result capture_file(CaptureTable *table, const TextJob *job)
{
    const char *filename = table->jobs.files.files[job->file].name;
    const WarcRecord *record = NULL;
    Result rc = text_source_open(table->source, &table->jobs, job);
    if (rc == RESULT_IO) {
        return RESULT_OK; /* said, and counted */
    }
    while (rc == RESULT_OK) {
        bool wanted = false;
        rc = text_source_next_record(table->source, &record);
        if (rc == RESULT_OK && record->is_http &&
            (record->type == WARC_RESPONSE || record->type == WARC_REVISIT)) {
            rc = text_source_judge(table->source, &wanted);
        }
        if (rc == RESULT_OK && wanted) {
            rc = capture_row(table, filename, record);
        }
        progress_show(&table->progress, job->from, table->jobs.bytes, table->rows.n_rows,
                      mono_now());
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Result capture_table_open(CaptureTable *table)
{
    const TextWanted *wanted = &table->command->archive.wanted;
    const TextPagesOptions pages = {.language =
                                        !table->command->no_language && text_language_load()};
    buffer_init(&table->surt, BUFFER_NO_LIMIT);
    Result rc = text_source_new(&table->source, wanted);
    if (rc == RESULT_OK) {
        rc = text_pages_new(&table->pages, &pages);
    }
    return rc == RESULT_OK
               ? text_jobs_make(&table->jobs, wanted->directory, wanted->since, UINT64_MAX)
               : rc;
}

static Result capture_table_write(CaptureTable *table, FILE *file)
{
    const CaptureCommand *command = table->command;
    export_rows_begin(&table->rows, file, command->format,
                      command->header || command->format == EXPORT_CSV);
    Result rc = capture_table_open(table);
    for (size_t i = 0; rc == RESULT_OK && i < table->jobs.n; i++) {
        rc = capture_file(table, &table->jobs.jobs[i]);
    }
    Result written = export_rows_end(&table->rows);
    return result_first(rc, written);
}

static void capture_table_close(CaptureTable *table, TextCounts *counts)
{
    if (table->source != NULL) {
        *counts = *text_source_counts(table->source);
    }
    text_jobs_free(&table->jobs);
    text_source_delete(table->source);
    text_pages_delete(table->pages);
    buffer_destroy(&table->surt);
    url_destroy(&table->url);
    url_destroy(&table->target);
}

/* ---- the command ---- */

static int export_captures_run(TextExport *archive)
{
    const CaptureCommand *command = (CaptureCommand *)(void *)archive;
    CaptureTable table = {.command = command};
    TextCounts counts = {.records = 0};
    OutputFile output;
    Result rc = output_file_open(&output, "export", command->archive.output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    progress_begin(&table.progress, "export", "captures",
                   progress_is_wanted(command->archive.output), stderr, mono_now());
    rc = capture_table_write(&table, output.file);
    rc = output_file_close(&output, rc);
    progress_end(&table.progress);
    capture_table_close(&table, &counts);
    return text_export_status(rc, &counts);
}

/* argv: "export", DIR, "captures" and options in any order. Returns the exit status. */
static int export_captures_main(int argc, char **argv)
{
    CaptureCommand command = {.archive = {.wanted = {.status_first = 100, .status_last = 999}},
                              .format = EXPORT_JSONL};
    const CommandOption own[] = {
        {"format", 0, COMMAND_WORD, .to = &command.format, .words = EXPORT_WORDS},
        {"header", 0, COMMAND_FLAG, .to = &command.header},
        {"no-language", 0, COMMAND_FLAG, .to = &command.no_language}};
    return text_export_command(&command.archive, argc, argv, capture_usage, COMMAND_ROWS(own),
                               export_captures_run);
}

/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines.
 *
 * What: the command line of page_export.h.
 * Threads: main. */

typedef struct ExportKind {
    const char *name;
    unsigned available; /* to --where */
    Result (*run)(PageDB *db, const PageExportOptions *options);
} ExportKind;

static const ExportKind kinds[] = {{"links", PAGE_EXPORT_HAS_LINKS, page_export_links},
                                   {"hosts", PAGE_EXPORT_HAS_HOSTS, page_export_hosts},
                                   {"pages", PAGE_EXPORT_HAS_PAGES, page_export_pages}};

typedef struct ExportCommand {
    const char *directory;
    const char *output;
    const char *where;
    const ExportKind *kind;
    PageExportOptions options;
    bool no_archive;
    bool data;
    bool quiet;
    Progress progress;
} ExportCommand;

EMBED(export_usage, "src/command/export/export.txt");

static const ExportKind *export_tables_kind_of(const char *word)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(word, kinds[k].name) == 0) {
            return &kinds[k];
        }
    }
    return NULL;
}

/* 0, an exit status, or COMMAND_HELPED. */
static int export_tables_parse(ExportCommand *command, int argc, char **argv)
{
    PageExportOptions *to = &command->options;
    bool header = false;
    bool no_header = false;
    to->data_bytes = TEXT_DATA_BYTES;
    const CommandOption options[] = {
        {"format", 0, COMMAND_WORD, .to = &to->format, .words = EXPORT_WORDS "|arcs"},
        {"output", 'o', COMMAND_TEXT, .to = &command->output},
        {"where", 0, COMMAND_TEXT, .to = &command->where},
        {"header", 0, COMMAND_FLAG, .to = &header},
        {"no-header", 0, COMMAND_FLAG, .to = &no_header},
        {"ids", 0, COMMAND_FLAG, .to = &to->ids},
        {"arcs", 0, COMMAND_FLAG, .to = &to->arcs},
        {"no-self", 0, COMMAND_FLAG, .to = &to->no_self},
        {"cross-host", 0, COMMAND_FLAG, .to = &to->only_cross},
        {"structured", 0, COMMAND_FLAG, .to = &command->data},
        {"structured-max", 0, COMMAND_NUMBER, .to = &to->data_bytes, .least = TEXT_DATA_LEAST,
         .most = TEXT_DATA_MOST},
        {"no-archive", 0, COMMAND_FLAG, .to = &command->no_archive},
        {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {"export", export_usage, COMMAND_ROWS(options), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    command->directory = line.words[0];
    command->kind = export_tables_kind_of(line.words[1]);
    to->arcs = to->arcs || to->format == EXPORT_FORMATS;
    to->header = header || (!no_header && to->format == EXPORT_CSV);
    to->data_bytes = command->data ? to->data_bytes : 0;
    return command->kind == NULL ? command_line_complain(&line, "unknown kind", line.words[1]) : 0;
}

static int run_on(ExportCommand *command, PageDB *db, const Filter *where)
{
    OutputFile output;
    Path archive;
    PageExportOptions *options = &command->options;
    Result rc = output_file_open(&output, "export", command->output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    (void)file_path(&archive, "%s/warc", command->directory);
    options->archive = command->no_archive ? NULL : archive.text;
    progress_begin(&command->progress, "export", "rows",
                   !command->quiet && progress_is_wanted(command->output), stderr, mono_now());
    options->file = output.file;
    options->where = where;
    options->progress = &command->progress;
    rc = command->kind->run(db, options);
    if (rc != RESULT_OK && rc != RESULT_CLOSED) {
        (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
    }
    rc = output_file_close(&output, rc);
    progress_end(&command->progress);
    return short_read_signal() != 0 ? 128 + short_read_signal() : exit_status_of(rc);
}

/* argv: "export", DIR, the kind and options in any order. Exit status: 0 done, or the reader of the
 * output has closed it; 2 usage; 3 cannot be read or written; 17 damaged or of another format
 * version. */
static int export_tables_main(int argc, char **argv)
{
    ExportCommand command = {.directory = NULL};
    int status = export_tables_parse(&command, argc, argv);
    if (status == 0) {
        PageDB *db = NULL;
        Filter *where = NULL;
        status = command_filter("export", "where", command.where, command.kind->available, &where);
        if (status == 0) {
            status = crawl_open("export", command.directory, true, &db);
        }
        if (status == 0) {
            status = run_on(&command, db, where);
        }
        (void)page_db_delete(db);
        filter_delete(where);
    }
    return status == COMMAND_HELPED ? 0 : status;
}

/* ---- `ragno export DIR KIND` ---- */

/* No library for Parquet is in Debian; another program makes it of JSON Lines. */
static int parquet_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)fprintf(stderr,
                  "ragno export: Parquet is not written: no library for it is in Debian. DuckDB "
                  "makes it of JSON Lines:\n"
                  "  ragno export DIR pages --format jsonl -o pages.jsonl\n"
                  "  duckdb -c \"COPY (FROM 'pages.jsonl') TO 'pages.parquet'\"\n"
                  "The same goes for links, hosts and text.\n");
    return EXIT_USAGE;
}

static const struct {
    const char *kind;
    int (*run)(int argc, char **argv);
} commands[] = {{"text", text_export_main},
                {"captures", export_captures_main},
                {"warc", warc_export_main},
                {"wacz", wacz_export_main},
                {"parquet", parquet_main}};

/* What is exported: the second word that is neither an option nor an option's value; "" when there
 * is none. */
static const char *kind_in(int argc, char **argv)
{
    static const char *const with_value[] = {
        "--format", "--since",          "--until",    "--status",      "--threads",  "--where",
        "--output", "--structured-max", "--pdf-time", "--pdf-memory",  "--pdf-text", "-o",
        "--url",    "--host",           "--title",    "--description", "--main-page"};
    int words = 0;
    for (int i = 1; i < argc; i++) {
        words += argv[i][0] != '-' ? 1 : 0;
        if (words == 2) {
            return argv[i];
        }
        for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
            i += strcmp(argv[i], with_value[k]) == 0 && i + 1 < argc ? 1 : 0;
        }
    }
    return "";
}

int export_main(int argc, char **argv)
{
    const char *kind = kind_in(argc, argv);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(kind, commands[i].kind) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    return export_tables_main(argc, argv);
}
