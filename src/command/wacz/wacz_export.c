#include "command/wacz/wacz_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/memory/embed.h"
#include "base/memory/json_writer.h"
#include "command/part/part_command.h"
#include "command/text/text_export.h"
#include "command/text/text_run.h"
#include "crawl/exit_status.h"
#include "store/zip/zip_writer.h"

/* WACZ index: the CDXJ lines of a WACZ file, sorted and compressed in pieces.
 *
 * What: lines are collected in a file beside the output, sorted there (store/cdxj/cdxj.h), and
 * written as gzip members of WACZ_LINES lines each. A second, small index says where the members
 * are; a viewer reads that one whole, and of the other what it needs.
 * Owns: its temporary files, and removes them.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY.
 * Source: the ZipNum index of pywb, as WACZ 1.1.1 names it. */

#define WACZ_LINES 1024u

#define LINES_NAME "index.cdx.gz"

typedef struct WaczIndex {
    Path journal; /* names */
    Path sorted;
    FILE *file; /* the journal */
    WarcCompressor *compressor;
    Buffer lines; /* of a piece */
    Buffer head;  /* key and timestamp of its first line */
    Buffer member;
    Buffer places; /* index.idx */
} WaczIndex;

static void wacz_index_destroy(WaczIndex *index)
{
    if (index->file != NULL) {
        (void)fclose(index->file);
    }
    (void)unlink(index->journal.text);
    (void)unlink(index->sorted.text);
    warc_compressor_delete(index->compressor);
    buffer_destroy(&index->lines);
    buffer_destroy(&index->head);
    buffer_destroy(&index->member);
    buffer_destroy(&index->places);
}

/* output: the name of the WACZ file; temporary files get names that begin so. To be destroyed in
 * any case. */
static Result wacz_index_init(WaczIndex *index, const char *output)
{
    Buffer *const buffers[] = {&index->lines, &index->head, &index->member, &index->places};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        buffer_init(buffers[i], BUFFER_NO_LIMIT);
    }
    (void)file_path(&index->sorted, "%s.cdxj", output);
    index->file = fopen(file_path(&index->journal, "%s.lines", output), "we");
    return index->file == NULL ? result_of_errno(errno)
                               : warc_compressor_new(&index->compressor, WARC_GZIP, 6);
}

/* Writes the lines that were collected as a member, and where it is into the small index. */
static Result wacz_index_flush(WaczIndex *index, ZipWriter *zip, uint64_t *offset)
{
    Buffer *places = &index->places;
    const Buffer *member = &index->member;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (index->lines.length == 0) {
        return RESULT_OK;
    }
    buffer_reset(&index->member);
    Result rc = warc_compressor_append(index->compressor, index->lines.data, index->lines.length,
                                       &index->member);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = zip_writer_write(zip, member->data, member->length);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (EVP_Digest(member->data, member->length, digest, &n, EVP_sha256(), NULL) != 1) {
        return RESULT_INTERNAL;
    }
    size_t before = places->length;
    (void)buffer_printf(places, "%s {\"offset\": %llu, \"length\": %zu, \"digest\": \"sha256:",
                        index->head.data, (unsigned long long)*offset, member->length);
    for (unsigned i = 0; i < n; i++) {
        (void)buffer_printf(places, "%02x", digest[i]);
    }
    (void)buffer_append_string(places, "\", \"filename\": \"" LINES_NAME "\"}\n");
    *offset += member->length;
    buffer_reset(&index->lines);
    return buffer_end(places, before);
}

/* Key and timestamp: up to the second blank. */
static void take_head(WaczIndex *index, const char *line, size_t length)
{
    const char *blank = memchr(line, ' ', length);
    size_t key = blank == NULL ? length : (size_t)(blank - line) + 1;
    const char *second = memchr(line + key, ' ', length - key);
    buffer_reset(&index->head);
    (void)buffer_append(&index->head, line, second == NULL ? length : (size_t)(second - line));
}

static Result wacz_index_write_lines(WaczIndex *index, ZipWriter *zip, FILE *sorted)
{
    char *line = NULL;
    size_t room = 0;
    size_t n = 0;
    uint64_t offset = 0;
    Result rc = RESULT_OK;
    ssize_t length = 0;
    while (rc == RESULT_OK && (length = getline(&line, &room, sorted)) > 0) {
        if (n == 0) {
            take_head(index, line, (size_t)length);
        }
        (void)buffer_append(&index->lines, line, (size_t)length);
        n = n + 1 == WACZ_LINES ? 0 : n + 1;
        rc = n == 0 ? wacz_index_flush(index, zip, &offset) : index->lines.failed;
    }
    free(line);
    if (rc != RESULT_OK) {
        return rc;
    }
    return ferror(sorted) != 0 ? RESULT_IO : wacz_index_flush(index, zip, &offset);
}

/* Writes both files into the WACZ file. */
static Result wacz_index_write(WaczIndex *index, ZipWriter *zip)
{
    const ZipEntry *entry = NULL;
    FILE *sorted = NULL;
    int ended = fclose(index->file);
    index->file = NULL;
    Result rc =
        ended == 0 ? cdxj_sort(index->journal.text, index->sorted.text) : result_of_errno(errno);
    if (rc != RESULT_OK) {
        return rc;
    }
    sorted = fopen(index->sorted.text, "re");
    if (sorted == NULL) {
        return result_of_errno(errno);
    }
    (void)buffer_append_string(&index->places, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", "
                                               "\"filename\": \"" LINES_NAME "\"}\n");
    rc = zip_writer_begin(zip, "indexes/" LINES_NAME, ZIP_STORED);
    if (rc == RESULT_OK) {
        rc = wacz_index_write_lines(index, zip, sorted);
    }
    (void)fclose(sorted);
    if (rc == RESULT_OK) {
        rc = zip_writer_end(zip, &entry);
    }
    return rc == RESULT_OK ? zip_writer_put(zip, "indexes/index.idx", &index->places, &entry) : rc;
}

/* ---- `ragno export DIR wacz` ---- */

#define ARCHIVE_NAME "data.warc.gz"
#define PACKAGE_NAME "datapackage.json"

typedef struct WaczCommand {
    TextExport archive;
    const char *title;
    const char *description;
    const char *main_page;
    bool text;
    bool main_text;
    ZipWriter *zip;
    WaczIndex index;
    WallTime now;
    PartCounts counts;
    TextTotals pages;
} WaczCommand;

EMBED(wacz_usage, "src/command/wacz/wacz_export.txt");

/* ---- archive and index ---- */

static Result write_archive_bytes(void *context, const char *bytes, size_t length)
{
    WaczCommand *command = context;
    return zip_writer_write(command->zip, bytes, length);
}

static Result wacz_export_add_line(void *context, const char *line, size_t length)
{
    const WaczCommand *command = context;
    errno = 0;
    if (fwrite(line, 1, length, command->index.file) != length) {
        return result_of_errno(errno == 0 ? EIO : errno);
    }
    return RESULT_OK;
}

static Result write_archive(WaczCommand *command, Progress *progress)
{
    const ZipEntry *entry = NULL;
    PartSink sink = {.compression = WARC_GZIP,
                     .context = command,
                     .write = write_archive_bytes,
                     .index = wacz_export_add_line,
                     .filename = ARCHIVE_NAME};
    Result rc = zip_writer_begin(command->zip, "archive/" ARCHIVE_NAME, ZIP_STORED);
    if (rc == RESULT_OK) {
        rc = part_copy(&command->archive.wanted, &sink, progress, &command->counts);
    }
    if (rc == RESULT_OK) {
        rc = zip_writer_end(command->zip, &entry);
    }
    return rc == RESULT_OK ? wacz_index_write(&command->index, command->zip) : rc;
}

/* ---- pages ---- */

static Result write_pages(WaczCommand *command, Progress *progress)
{
    const ZipEntry *entry = NULL;
    const TextSink sink = {command->archive.output, command, write_archive_bytes};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    TextRunOptions options = {.wanted = command->archive.wanted,
                              .pages = {.main_text = command->main_text, .styles = true},
                              .writer = {.format = TEXT_WACZ_PAGES, .no_text = !command->text},
                              .threads = processors < 1 ? 1u : (unsigned)processors};
    options.wanted.status_first = 200;
    options.wanted.status_last = 299;
    options.wanted.html_only = true;
    options.wanted.elsewhere = true;
    options.wanted.quiet = true;
    Result rc = zip_writer_begin(command->zip, "pages/pages.jsonl", ZIP_DEFLATED);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = text_run(&options, &sink, progress, &command->pages);
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
                command->title == NULL ? base_name(command->archive.output) : command->title);
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

static Result wacz_export_put_digest(const ZipEntry *package, Buffer *out)
{
    char hash[sizeof "sha256:" + ZIP_SHA256_TEXT];
    JsonWriter json;
    (void)snprintf(hash, sizeof hash, "sha256:%s", package->sha256);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_string(&json, "path", PACKAGE_NAME);
    json_string(&json, "hash", hash);
    json_close(&json);
    return json.result;
}

static Result write_package(WaczCommand *command)
{
    const ZipEntry *entry = NULL;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = put_package(command, &text);
    if (rc == RESULT_OK) {
        rc = zip_writer_put(command->zip, PACKAGE_NAME, &text, &entry);
    }
    if (rc == RESULT_OK) {
        buffer_reset(&text);
        rc = wacz_export_put_digest(entry, &text);
    }
    if (rc == RESULT_OK) {
        rc = zip_writer_put(command->zip, "datapackage-digest.json", &text, &entry);
    }
    buffer_destroy(&text);
    return rc;
}

/* ---- the whole ---- */

static Result wacz_export_write_all(WaczCommand *command)
{
    Progress progress;
    bool shown = progress_is_wanted(command->archive.output);
    progress_begin(&progress, "export", "records", shown, stderr, mono_now());
    Result rc = write_archive(command, &progress);
    progress_end(&progress);
    progress_begin(&progress, "export", "pages", shown, stderr, mono_now());
    if (rc == RESULT_OK) {
        rc = write_pages(command, &progress);
    }
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

static int wacz_export_run(TextExport *archive)
{
    WaczCommand *command = (WaczCommand *)(void *)archive;
    const char *path = archive->output;
    command->text = command->text || command->main_text;
    if (path == NULL) {
        (void)fprintf(stderr, "ragno export: a WACZ file needs a name: '-o FILE.wacz'\n%s",
                      wacz_usage);
        return EXIT_USAGE;
    }
    command->now = wall_now();
    Result rc = zip_writer_open(&command->zip, path, command->now);
    if (rc != RESULT_OK) {
        return complain_file(path, rc);
    }
    rc = wacz_index_init(&command->index, path);
    if (rc == RESULT_OK) {
        rc = wacz_export_write_all(command);
    }
    if (rc == RESULT_OK) {
        rc = zip_writer_close(command->zip);
    } else {
        zip_writer_abandon(command->zip);
    }
    wacz_index_destroy(&command->index);
    if (rc != RESULT_OK) {
        (void)unlink(path);
        (void)complain_file(path, rc);
    } else if (!command->archive.quiet) {
        (void)fprintf(stderr,
                      "ragno export: %s: %" PRIu64 " captures, %" PRIu64 " pages (%.1f MB)\n",
                      command->archive.output, command->counts.captures,
                      command->pages.of[TEXT_PAGES], 1e-6 * (double)command->counts.bytes);
    }
    return text_export_status(rc, &command->counts.source);
}

int wacz_export_main(int argc, char **argv)
{
    WaczCommand command = {.archive = {.wanted = {.status_first = 100, .status_last = 999}}};
    const CommandOption own[] = {{"title", 0, COMMAND_TEXT, .to = &command.title},
                                 {"description", 0, COMMAND_TEXT, .to = &command.description},
                                 {"main-page", 0, COMMAND_TEXT, .to = &command.main_page},
                                 {"text", 0, COMMAND_FLAG, .to = &command.text},
                                 {"main", 0, COMMAND_FLAG, .to = &command.main_text}};
    return text_export_command(&command.archive, argc, argv, wacz_usage, COMMAND_ROWS(own),
                               wacz_export_run);
}
