/* The dedup index (store/dedup/dedup_index.h): made of generated digests, and asked.
 *
 *   SCALE=0.05       that share of 200 M digests; a tenth of that first, for the ratio
 *   DIRECTORY=DIR    for the files, about 26 GB at full scale; default build
 *
 * Anonymous memory is bounded by 256 MiB (RLIMIT_DATA), so what ends has kept within it. Half of
 * the questions are about digests that are there. They are asked twice: `find` when nothing of the
 * files is in the page cache, `find_again` when all that they need is. Figures are CPU time, of
 * generating not included.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/memory/file.h"
#include "store/dedup/dedup_index.h"

#define DIGESTS     200e6
#define QUESTIONS   20000u /* few pages are needed twice */
#define FRAME_BYTES ((size_t)1 << 20)
#define LIMIT       ((rlim_t)256 << 20)

static WarcDigest digest_of(uint64_t i)
{
    WarcDigest digest;
    uint64_t words[3] = {hash_mix(i + 1), hash_mix(~i), i};
    memcpy(digest.bytes, words, sizeof digest.bytes);
    return digest;
}

/* Writes the lines as one frame of Zstandard. */
static bool put_frame(FILE *file, Buffer *lines, Buffer *frame)
{
    buffer_reset(frame);
    if (buffer_reserve(frame, ZSTD_compressBound(lines->length)) != RESULT_OK) {
        return false;
    }
    size_t n = ZSTD_compress(frame->data, frame->capacity, lines->data, lines->length, 1);
    buffer_reset(lines);
    return ZSTD_isError(n) == 0 && fwrite(frame->data, n, 1, file) == 1;
}

/* 26 GB of lines take 10 on the disk. */
static void write_source(const char *path, uint64_t n)
{
    FILE *file = fopen(path, "wbe");
    Buffer lines = {.limit = BUFFER_NO_LIMIT};
    Buffer frame = {.limit = BUFFER_NO_LIMIT};
    bool is_good = file != NULL;
    for (uint64_t i = 0; is_good && i < n; i++) {
        char text[WARC_DIGEST_TEXT];
        WarcDigest digest = digest_of(i);
        (void)buffer_printf(&lines,
                            "test,a)/%" PRIu64 " 20200102030405 {\"url\": \"http://a.test/%" PRIu64
                            "\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": "
                            "\"%s\", \"length\": \"5\", \"offset\": \"0\", \"filename\": "
                            "\"y\"}\n",
                            i, i, warc_digest_format(&digest, text));
        if (lines.length >= FRAME_BYTES || i + 1 == n) {
            is_good = put_frame(file, &lines, &frame);
        }
    }
    if (!is_good || fclose(file) != 0) {
        (void)fprintf(stderr, "bench_dedup: %s cannot be written\n", path);
        exit(1);
    }
    buffer_destroy(&lines);
    buffer_destroy(&frame);
}

static Result forget_file(void *context, const char *name)
{
    Path path;
    int file = open(file_path(&path, "%s/%s", (const char *)context, name), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        (void)close(file);
    }
    return RESULT_OK;
}

/* CPU nanoseconds of a question; *found: how many have an answer. */
static double ask(DedupIndex *index, uint64_t n, uint64_t *found)
{
    WarcOriginal original;
    warc_original_init(&original);
    int64_t start = cpu_process_ns();
    *found = 0;
    for (uint64_t i = 0; i < QUESTIONS; i++) {
        WarcDigest digest = digest_of(hash_mix(i) % (2 * n));
        *found += dedup_index_find(index, &digest, &original) == RESULT_OK;
    }
    double asked = (double)(cpu_process_ns() - start) / QUESTIONS;
    warc_original_destroy(&original);
    return asked;
}

/* CPU nanoseconds of a question of each kind; prints what building and asking cost. */
static void measure(const char *directory, const char *name, uint64_t n, double *asked)
{
    Path source;
    Path files;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    DedupIndex *index = NULL;
    uint64_t found = 0;
    write_source(file_path(&source, "%s/source.cdxj.zst", directory), n);
    int64_t start = cpu_process_ns();
    if (dedup_index_open(&index, directory, source.text, 0, &error) != RESULT_OK) {
        (void)fprintf(stderr, "bench_dedup: %s\n", buffer_string(&error));
        exit(1);
    }
    int64_t built = cpu_process_ns();
    (void)file_path(&files, "%s/dedup", directory);
    (void)file_walk(files.text, forget_file, files.text);
    asked[0] = ask(index, n, &found);
    asked[1] = ask(index, n, &found);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("dedup.%s.resident = %ld MB\n", name, usage.ru_maxrss / 1024);
    (void)printf("dedup.%s.digests = %" PRIu64 " 1\n", name, dedup_index_count(index));
    (void)printf("dedup.%s.build = %.0f ns\n", name, (double)(built - start) / (double)n);
    (void)printf("dedup.%s.find = %.0f ns\n", name, asked[0]);
    (void)printf("dedup.%s.find_again = %.0f ns\n", name, asked[1]);
    (void)printf("dedup.%s.found = %.3f 1\n", name, (double)found / QUESTIONS);
    dedup_index_close(index);
    (void)printf("dedup.%s.disk = %.1f B\n", name,
                 (file_bytes(directory) - file_bytes(source.text)) / (double)n);
    file_remove(directory);
    buffer_destroy(&error);
}

int main(void)
{
    const char *scale = getenv("SCALE");
    const char *place = getenv("DIRECTORY");
    double digests = DIGESTS * (scale == NULL ? 1.0 : strtod(scale, NULL));
    Path directory;
    const struct rlimit limit = {LIMIT, LIMIT};
    (void)file_path(&directory, "%s/dedup-XXXXXX", place == NULL ? "build" : place);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured is told even when it is ended */
    if (setrlimit(RLIMIT_DATA, &limit) != 0 || mkdtemp(directory.text) == NULL) {
        return 1;
    }
    double few[2];
    double many[2];
    measure(directory.text, "tenth", (uint64_t)(digests / 10), few);
    if (mkdir(directory.text, 0755) != 0) {
        return 1;
    }
    measure(directory.text, "whole", (uint64_t)digests, many);
    (void)printf("dedup.find_whole_over_tenth = %.2f 1\n", many[0] / few[0]);
    (void)printf("dedup.find_again_whole_over_tenth = %.2f 1\n", many[1] / few[1]);
    return 0;
}
