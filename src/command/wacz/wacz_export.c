#include "command/wacz/wacz_export.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "command/part/part_command.h"
#include "command/text/text_run.h"
#include "command/wacz/wacz_index.h"
#include "command/wacz/wacz_signature.h"
#include "crawl/command_option.h"
#include "crawl/exit_status.h"

#define ARCHIVE_NAME "data.warc.gz"
#define PACKAGE_NAME "datapackage.json"

typedef struct WaczCommand {
    PartCommand part;
    const char *title;
    const char *description;
    const char *main_page;
    const char *key_file;
    bool text;
    bool main_text;
    ZipWriter *zip;
    WaczIndex *index;
    WaczKey *key;
    WallTime now;
    Result zip_result; /* of the last write by way of stdio */
    PartCounts counts;
    TextTotals pages;
} WaczCommand;

static int wacz_export_usage(FILE *out)
{
    (void)fprintf(
        out, "usage: ragno export DIR wacz -o FILE.wacz [OPTION]...\n"
             "  --text                   the texts of pages, for searching in a viewer\n"
             "  --main                   only their main texts: no navigation, header, footer\n"
             "  --title, --description TEXT\n"
             "  --main-page URL          what a viewer shows first\n"
             "  --sign KEY.pem           sign it by a private key on the curve P-384\n");
    part_command_usage(out);
    return out == stdout ? 0 : EXIT_USAGE;
}

/* ---- options ---- */

static int take_extra(void *context, int argc, char **argv, int *i)
{
    WaczCommand *command = context;
    const struct {
        const char *name;
        const char **value;
    } with_value[] = {{"--title", &command->title},
                      {"--description", &command->description},
                      {"--main-page", &command->main_page},
                      {"--sign", &command->key_file}};
    for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
        const char *value = command_option(with_value[k].name, argc, argv, i);
        if (value != NULL) {
            *with_value[k].value = value;
            return 0;
        }
    }
    bool is_main = strcmp(argv[*i], "--main") == 0;
    if (is_main || strcmp(argv[*i], "--text") == 0) {
        command->text = true;
        command->main_text = command->main_text || is_main;
        return 0;
    }
    return -1;
}

/* ---- archive and index ---- */

static Result write_archive_bytes(void *context, const char *bytes, size_t length)
{
    WaczCommand *command = context;
    return zip_writer_write(command->zip, bytes, length);
}

static Result wacz_export_add_line(void *context, const char *line, size_t length)
{
    WaczCommand *command = context;
    return wacz_index_add(command->index, line, length);
}

static Result write_archive(WaczCommand *command, Progress *progress)
{
    const ZipEntry *entry = NULL;
    PartSink sink = {.context = command,
                     .write = write_archive_bytes,
                     .index = wacz_export_add_line,
                     .filename = ARCHIVE_NAME};
    command->part.part.compression = WARC_GZIP;
    Result rc = zip_writer_begin(command->zip, "archive/" ARCHIVE_NAME);
    rc = rc == RESULT_OK ? part_copy(&command->part.part, &sink, progress, &command->counts) : rc;
    rc = rc == RESULT_OK ? zip_writer_end(command->zip, &entry) : rc;
    return rc == RESULT_OK ? wacz_index_write(command->index, command->zip) : rc;
}

/* ---- pages ---- */

/* The texts are written by stdio, as to any other file. */
static ssize_t write_cookie(void *cookie, const char *bytes, size_t length)
{
    WaczCommand *command = cookie;
    if (command->zip_result == RESULT_OK) {
        command->zip_result = zip_writer_write(command->zip, bytes, length);
    }
    errno = command->zip_result == RESULT_OK     ? errno
            : command->zip_result == RESULT_FULL ? ENOSPC
                                                 : EIO;
    return command->zip_result == RESULT_OK ? (ssize_t)length : 0;
}

static Result write_pages(WaczCommand *command, Progress *progress)
{
    const ZipEntry *entry = NULL;
    OutputFile output = {.command = "export", .path = command->part.output};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    TextRunOptions options = {.warc_directory = command->part.part.warc_directory,
                              .wanted = command->part.part.wanted,
                              .pages = {.main_text = command->main_text},
                              .writer = {.format = TEXT_WACZ_PAGES, .no_text = !command->text},
                              .where = command->part.part.where,
                              .threads = processors < 1 ? 1u : (unsigned)processors};
    options.wanted.status_first = 200;
    options.wanted.status_last = 299;
    options.wanted.until = command->part.part.until;
    options.wanted.html_only = true;
    options.wanted.quiet = true;
    Result rc = zip_writer_begin(command->zip, "pages/pages.jsonl");
    if (rc != RESULT_OK) {
        return rc;
    }
    output.file = fopencookie(command, "w", (cookie_io_functions_t){.write = write_cookie});
    if (output.file == NULL) {
        return RESULT_MEMORY;
    }
    rc = text_run(&options, &output, progress, &command->pages);
    rc = output_file_close(&output, rc);
    return rc == RESULT_OK ? zip_writer_end(command->zip, &entry) : rc;
}

/* ---- the package ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static Result put_package(const WaczCommand *command, Buffer *out)
{
    char text[CLOCK_TEXT_BYTES];
    char hash[sizeof "sha256:" + ZIP_SHA256_TEXT];
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_string(&json, "profile", "data-package");
    json_open(&json, "resources", '[');
    for (size_t i = 0; zip_writer_entry(command->zip, i) != NULL; i++) {
        const ZipEntry *entry = zip_writer_entry(command->zip, i);
        (void)snprintf(hash, sizeof hash, "sha256:%s", entry->sha256);
        json_open(&json, NULL, '{');
        json_string(&json, "name", base_name(entry->name));
        json_string(&json, "path", entry->name);
        json_string(&json, "hash", hash);
        json_count(&json, "bytes", entry->size);
        json_close(&json);
    }
    json_close(&json);
    json_string(&json, "wacz_version", "1.1.1");
    json_string(&json, "title",
                command->title == NULL ? base_name(command->part.output) : command->title);
    if (command->description != NULL) {
        json_string(&json, "description", command->description);
    }
    json_string(&json, "created", wall_format_iso(command->now, text));
    json_string(&json, "software", "ragno/" RAGNO_VERSION);
    if (command->main_page != NULL) {
        json_string(&json, "mainPageUrl", command->main_page);
    }
    json_close(&json);
    return json.result;
}

static Result wacz_export_put_digest(const WaczCommand *command, const ZipEntry *package,
                                     Buffer *out)
{
    char hash[sizeof "sha256:" + ZIP_SHA256_TEXT];
    JsonWriter json;
    Result rc = RESULT_OK;
    (void)snprintf(hash, sizeof hash, "sha256:%s", package->sha256);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_string(&json, "path", PACKAGE_NAME);
    json_string(&json, "hash", hash);
    if (command->key != NULL) {
        rc = wacz_signature_put(command->key, hash, command->now, &json);
    }
    json_close(&json);
    return rc == RESULT_OK ? json.result : rc;
}

static Result write_entry(WaczCommand *command, const char *name, const Buffer *text,
                          const ZipEntry **entry)
{
    Result rc = zip_writer_begin(command->zip, name);
    rc = rc == RESULT_OK ? zip_writer_write(command->zip, text->data, text->length) : rc;
    return rc == RESULT_OK ? zip_writer_end(command->zip, entry) : rc;
}

static Result write_package(WaczCommand *command)
{
    const ZipEntry *entry = NULL;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = put_package(command, &text);
    rc = rc == RESULT_OK ? write_entry(command, PACKAGE_NAME, &text, &entry) : rc;
    if (rc == RESULT_OK) {
        buffer_reset(&text);
        rc = wacz_export_put_digest(command, entry, &text);
    }
    rc = rc == RESULT_OK ? write_entry(command, "datapackage-digest.json", &text, &entry) : rc;
    buffer_destroy(&text);
    return rc;
}

/* ---- the whole ---- */

static Result wacz_export_write_all(WaczCommand *command)
{
    Progress progress;
    bool shown = progress_is_wanted(command->part.output);
    progress_begin(&progress, "export", "records", shown, stderr, mono_now());
    Result rc = write_archive(command, &progress);
    progress_end(&progress);
    progress_begin(&progress, "export", "pages", shown, stderr, mono_now());
    rc = rc == RESULT_OK ? write_pages(command, &progress) : rc;
    progress_end(&progress);
    return rc == RESULT_OK ? write_package(command) : rc;
}

static int complain_file(const char *path, Result rc)
{
    (void)fprintf(stderr, "ragno export: %s: %s\n", path,
                  rc == RESULT_INVALID ? "a WACZ file cannot be written into a pipe; give -o a file"
                                       : result_name(rc));
    return EXIT_IO;
}

static int wacz_export_read_key(WaczCommand *command)
{
    Buffer error;
    Result rc = RESULT_OK;
    buffer_init(&error, BUFFER_NO_LIMIT);
    if (command->key_file != NULL) {
        rc = wacz_key_read(&command->key, command->key_file, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno export: --sign: %s: %s\n", command->key_file,
                      error.length == 0 ? result_name(rc) : buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc == RESULT_OK ? 0 : rc == RESULT_INVALID ? EXIT_USAGE : EXIT_IO;
}

static void wacz_export_summarize(const WaczCommand *command)
{
    (void)fprintf(stderr, "ragno export: %s: %" PRIu64 " captures, %" PRIu64 " pages (%.1f MB)%s\n",
                  command->part.output, command->counts.captures, command->pages.pages,
                  1e-6 * (double)command->counts.bytes, command->key == NULL ? "" : ", signed");
}

static int wacz_export_run(WaczCommand *command)
{
    const char *path = command->part.output;
    assert(path != NULL); /* the caller has looked */
    int status = wacz_export_read_key(command);
    if (status != 0) {
        return status;
    }
    command->now = wall_now();
    Result rc = zip_writer_open(&command->zip, path, command->now);
    if (rc != RESULT_OK) {
        return complain_file(path, rc);
    }
    rc = wacz_index_new(&command->index, path);
    rc = rc == RESULT_OK ? wacz_export_write_all(command) : rc;
    if (rc == RESULT_OK) {
        rc = zip_writer_close(command->zip);
    } else {
        zip_writer_abandon(command->zip);
    }
    wacz_index_delete(command->index);
    wacz_key_delete(command->key);
    if (rc != RESULT_OK) {
        (void)unlink(path);
        (void)complain_file(path, rc);
    } else if (!command->part.quiet) {
        wacz_export_summarize(command);
    }
    return part_command_status(rc, &command->counts.source);
}

int wacz_export_main(int argc, char **argv)
{
    WaczCommand command = {.zip_result = RESULT_OK};
    int status = part_command_parse(&command.part, argc, argv, take_extra, &command);
    if (status == 0 && !command.part.help && command.part.output == NULL) {
        status = part_command_complain("a WACZ file needs a name:", "-o FILE.wacz");
    }
    if (status == EXIT_USAGE) {
        (void)wacz_export_usage(stderr);
    } else if (command.part.help) {
        status = wacz_export_usage(stdout);
    } else if (status == 0) {
        status = wacz_export_run(&command);
    }
    part_command_destroy(&command.part);
    return status;
}
