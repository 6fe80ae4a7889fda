/* What storing costs: CPU per 17 kB page from the received bytes to the committed file, with
 * request record, both digests, compression, CDXJ line, write and sync per batch.
 *
 * The pages look like generated documentation (navigation repeated on each, words with the
 * frequencies of a text, many links) and compress a little worse than such do: see warc.ratio.
 * WARC_BENCH_KEEP=DIR keeps the files there; WARC_BENCH_LEVEL=N compresses at that level,
 * WARC_BENCH_ZSTD=1 with Zstandard.
 *
 * WARC_BENCH_CODED=1: the bodies are compressed by the server. What making the records of a page
 * takes, in ms, and the ratio of stored to received bytes:
 *
 *                           bodies as they are   compressed by the server
 *   automatic (with ISA-L)     0.067   0.387        0.0155   1.263  (the body is stored)
 *   libdeflate, level 1        0.080   0.378        0.0300   1.242
 *   libdeflate, level 6        0.194   0.354        0.0429   1.240
 *   Zstandard, level 1         0.071   0.385        0.0208   1.239
 *
 * zlib's level 1 takes twice as long as libdeflate's for a worse ratio; few readers know Zstandard.
 * One file at a time is enough: its writer takes 0.003 ms a page, all the rest happens in the
 * parsing threads; two files took turns at one disk and were no faster. */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "store/archive/warc.h"

#define PAGES      20000u
#define SAMPLES    200u
#define BATCH      500u
#define PAGE_BYTES 17000u
#define WORDS      4000u

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = *state ^ *state >> 33;
    return x * UINT64_C(0xff51afd7ed558ccd) >> 11;
}

static double next_uniform(uint64_t *state)
{
    return (double)next_random(state) / (double)(UINT64_C(1) << 53);
}

/* The word of a rank: letters of syllables, so that words share parts as real ones do. */
static Result add_word(Buffer *out, uint64_t rank)
{
    static const char *const syllables[] = {
        "con", "ti", "re", "ver",  "sion", "pa",   "ram", "e",   "ter", "s",    "to",
        "in",  "al", "lo", "cat",  "or",   "de",   "fi",  "ned", "un",  "work", "ing",
        "th",  "an", "ed", "able", "set",  "list", "o",   "bj",  "ect", "fun",  "ction"};
    size_t n = sizeof syllables / sizeof *syllables;
    uint64_t x = rank * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    Result rc = RESULT_OK;
    for (unsigned k = 0; k < 1 + rank % 4 && rc == RESULT_OK; k++) {
        rc = buffer_append_string(out, syllables[x % n]);
        x /= n;
    }
    return rc;
}

/* A word with the probability of Zipf's law. */
static Result add_text(Buffer *out, uint64_t *state, unsigned n)
{
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        double rank = exp(next_uniform(state) * log((double)WORDS));
        rc = add_word(out, (uint64_t)rank);
        if (rc == RESULT_OK) {
            rc = buffer_append_string(out, i + 1 == n                    ? ""
                                           : next_random(state) % 9 == 0 ? ", "
                                                                         : " ");
        }
    }
    return rc;
}

static Result add_navigation(Buffer *out)
{
    Result rc = buffer_append_string(
        out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<link rel=\"stylesheet\" href=\"../static/basic.css\" type=\"text/css\">\n"
             "<script src=\"../static/documentation_options.js\"></script>\n</head>\n<body>\n"
             "<div class=\"related\" role=\"navigation\"><h3>Navigation</h3>\n<ul>\n");
    uint64_t state = 7;
    for (unsigned i = 0; i < 20 && rc == RESULT_OK; i++) {
        rc = buffer_printf(out, "<li class=\"toctree-l%u\"><a class=\"reference internal\" href=\"",
                           1 + i % 3);
        rc = rc == RESULT_OK ? add_word(out, next_random(&state) % WORDS) : rc;
        rc = rc == RESULT_OK ? buffer_append_string(out, ".html\">") : rc;
        rc = rc == RESULT_OK ? add_text(out, &state, 3) : rc;
        rc = rc == RESULT_OK ? buffer_append_string(out, "</a></li>\n") : rc;
    }
    return rc == RESULT_OK ? buffer_append_string(out, "</ul>\n</div>\n") : rc;
}

static Result add_paragraph(Buffer *out, uint64_t *state, unsigned n)
{
    Result rc = buffer_printf(out, "<section id=\"section-%u\">\n<h2>", n);
    rc = rc == RESULT_OK ? add_text(out, state, 4) : rc;
    rc = rc == RESULT_OK ? buffer_append_string(out, "</h2>\n<p>") : rc;
    for (unsigned i = 0; i < 3 && rc == RESULT_OK; i++) {
        rc = add_text(out, state, 18 + (unsigned)(next_random(state) % 10));
        rc = rc == RESULT_OK
                 ? buffer_append_string(out, ". <a class=\"reference external\" href=\"")
                 : rc;
        rc = rc == RESULT_OK ? add_word(out, next_random(state) % WORDS) : rc;
        rc = rc == RESULT_OK
                 ? buffer_printf(out, ".html#id%u\">", (unsigned)(next_random(state) % 1000))
                 : rc;
        rc = rc == RESULT_OK ? add_text(out, state, 2) : rc;
        rc = rc == RESULT_OK ? buffer_append_string(out, "</a> ") : rc;
    }
    rc = rc == RESULT_OK ? add_text(out, state, 30) : rc;
    return rc == RESULT_OK ? buffer_append_string(out, ".</p>\n</section>\n") : rc;
}

static Result make_page(Buffer *page, unsigned number)
{
    uint64_t state = number * UINT64_C(77777) + 1;
    Result rc = add_navigation(page);
    for (unsigned n = 0; page->length < PAGE_BYTES && rc == RESULT_OK; n++) {
        rc = add_paragraph(page, &state, n);
    }
    if (rc == RESULT_OK && page->length > PAGE_BYTES) {
        page->length = PAGE_BYTES;
    }
    return rc;
}

/* The page as a server with gzip sends it. */
static Result encode_page(Buffer *page)
{
    WarcCompressor *compressor = NULL;
    Buffer coded;
    buffer_init(&coded, BUFFER_NO_LIMIT);
    Result rc = warc_compressor_new(&compressor, WARC_GZIP, 6);
    rc =
        rc == RESULT_OK ? warc_compressor_append(compressor, page->data, page->length, &coded) : rc;
    warc_compressor_delete(compressor);
    buffer_destroy(page);
    *page = coded;
    return rc;
}

typedef struct Bench {
    Buffer pages[SAMPLES];
    WarcRecorder *recorder;
    WarcGroup group;
    Warc *warc;
    uint64_t bytes_in;
    uint64_t bytes_out;
} Bench;

/* Makes the records of page i, and appends them if they are wanted. */
static Result store_page(Bench *bench, unsigned i, bool append)
{
    static const char request[] =
        "GET /docs/library/functions.html HTTP/1.1\r\nHost: docs.example.org\r\n"
        "User-Agent: ragno/0.1.0 (+https://example.org/crawler)\r\n"
        "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"
        "Accept-Encoding: gzip, br, zstd\r\n\r\n";
    static const char header[] =
        "HTTP/1.1 200 OK\r\nDate: Sat, 31 Jan 2026 12:00:00 GMT\r\nServer: nginx\r\n"
        "Content-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
        "Connection: keep-alive\r\nVary: Accept-Encoding\r\n"
        "Last-Modified: Fri, 30 Jan 2026 09:12:44 GMT\r\nETag: W/\"697c1e2c-4268\"\r\n"
        "Strict-Transport-Security: max-age=63072000\r\n\r\n";
    char url[96];
    WarcPosition position;
    const Buffer *page = &bench->pages[i % SAMPLES];
    int n = snprintf(url, sizeof url, "https://docs.example.org/docs/library/page-%u.html?v=%u", i,
                     i % 17);
    WarcFetch fetch = {.url = warc_bytes(url, (size_t)n),
                       .started = {1769860800000000 + (int64_t)i * 1000},
                       .ip = "192.0.2.17",
                       .request = warc_bytes(request, sizeof request - 1),
                       .header = warc_bytes(header, sizeof header - 1),
                       .body = warc_bytes(page->data, page->length),
                       .protocol = "http/1.1",
                       .tls = "tls/1.3"};
    Result rc = warc_record_fetch(bench->recorder, &fetch, &bench->group);
    if (rc == RESULT_OK && append) {
        bench->bytes_in += page->length;
        bench->bytes_out += bench->group.members.length;
        rc = warc_append(bench->warc, &bench->group, &position);
    }
    return rc;
}

static Result run(Bench *bench, unsigned n_pages, double *cpu_ms)
{
    int64_t start = cpu_process_ns();
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < n_pages && rc == RESULT_OK; i++) {
        rc = store_page(bench, i, true);
        if (rc == RESULT_OK && (i % BATCH == BATCH - 1 || i + 1 == n_pages)) {
            WarcEnd end;
            rc = warc_sync(bench->warc, &end);
            rc = rc == RESULT_OK ? warc_committed(bench->warc) : rc;
        }
    }
    Result closed = warc_close(bench->warc);
    *cpu_ms = (double)(cpu_process_ns() - start) / 1e6;
    return rc == RESULT_OK ? closed : rc;
}

/* The share of the writer's thread: the same group again and again, until it is on the disk. */
static Result run_writer(Bench *bench, const WarcOptions *options, unsigned n_pages, double *cpu_ms,
                         double *wall_ms)
{
    MonoTime start = mono_now();
    int64_t cpu = cpu_process_ns();
    WarcEnd end = {.file = 0};
    Result rc = warc_open(&bench->warc, options, &end);
    for (unsigned i = 0; i < n_pages && rc == RESULT_OK; i++) {
        WarcPosition position;
        rc = warc_append(bench->warc, &bench->group, &position);
        if (rc == RESULT_OK && (i % BATCH == BATCH - 1 || i + 1 == n_pages)) {
            rc = warc_sync(bench->warc, &end);
            rc = rc == RESULT_OK ? warc_committed(bench->warc) : rc;
        }
    }
    *cpu_ms = (double)(cpu_process_ns() - cpu) / 1e6;
    *wall_ms = (double)(mono_now().ns - start.ns) / 1e6;
    Result closed = warc_close(bench->warc);
    return rc == RESULT_OK ? closed : rc;
}

/* The share of making records, without the file. */
static Result run_records(Bench *bench, unsigned n_pages, double *cpu_ms)
{
    int64_t start = cpu_process_ns();
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < n_pages && rc == RESULT_OK; i++) {
        rc = store_page(bench, i, false);
    }
    *cpu_ms = (double)(cpu_process_ns() - start) / 1e6;
    return rc;
}

static void remove_files(const char *directory)
{
    char path[512];
    DIR *dir = opendir(directory);
    const struct dirent *entry = NULL;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            (void)unlink(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(directory);
}

int main(void)
{
    static Bench bench; /* too large for some stacks */
    char directory[] = "/tmp/ragno-bench-warc-XXXXXX";
    const char *keep = getenv("WARC_BENCH_KEEP");
    const char *scale = getenv("SCALE");
    const char *level = getenv("WARC_BENCH_LEVEL");
    bool coded = getenv("WARC_BENCH_CODED") != NULL;
    WarcCompression compression = getenv("WARC_BENCH_ZSTD") == NULL ? WARC_GZIP : WARC_ZSTD;
    double n = PAGES * (scale == NULL ? 1.0 : strtod(scale, NULL));
    unsigned n_pages = n < 1 ? 1 : (unsigned)n;
    if (keep == NULL && mkdtemp(directory) == NULL) {
        perror("mkdtemp");
        return 1;
    }
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < SAMPLES && rc == RESULT_OK; i++) {
        buffer_init(&bench.pages[i], BUFFER_NO_LIMIT);
        rc = make_page(&bench.pages[i], i);
        rc = rc == RESULT_OK && coded ? encode_page(&bench.pages[i]) : rc;
    }
    WarcRecorderOptions recorder = {.compression = compression,
                                    .level = level == NULL ? 0 : (int)strtol(level, NULL, 10)};
    WarcOptions options = {.directory = keep == NULL ? directory : keep,
                           .compression = compression};
    warc_group_init(&bench.group);
    if (rc == RESULT_OK) {
        rc = warc_recorder_new(&bench.recorder, &recorder);
    }
    if (rc == RESULT_OK) {
        rc = warc_open(&bench.warc, &options, NULL);
    }
    double cpu_ms = 0;
    double record_ms = 0;
    unsigned n_records = n_pages / 4 + 1;
    if (rc == RESULT_OK) {
        rc = run(&bench, n_pages, &cpu_ms);
    }
    if (rc == RESULT_OK) {
        rc = run_records(&bench, n_records, &record_ms);
    }
    double write_ms = 0;
    double wall_ms = 1;
    if (rc == RESULT_OK) {
        rc = run_writer(&bench, &options, n_pages, &write_ms, &wall_ms);
    }
    if (rc == RESULT_OK) {
        printf("warc.write_cpu_ms_per_page = %.4f ms\n", write_ms / n_pages);
        printf("warc.write_pages_per_s = %.0f pages\n", n_pages * 1e3 / wall_ms);
        printf("warc.cpu_ms_per_page = %.4f ms\n", cpu_ms / n_pages);
        printf("warc.record_cpu_ms_per_page = %.4f ms\n", record_ms / n_records);
        printf("warc.ratio = %.3f\n", (double)bench.bytes_out / (double)bench.bytes_in);
    } else {
        (void)fprintf(stderr, "bench_warc: %s\n", result_name(rc));
    }
    for (unsigned i = 0; i < SAMPLES; i++) {
        buffer_destroy(&bench.pages[i]);
    }
    warc_group_destroy(&bench.group);
    warc_recorder_delete(bench.recorder);
    if (keep == NULL) {
        remove_files(directory);
    }
    return rc == RESULT_OK ? 0 : 1;
}
