/* The sorter of cdxj.h: runs of at most memory_bytes, sorted in RAM; when there are several, they
 * go to temporary files beside the index and are merged. Lines are compared as bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "store/cdxj/cdxj.h"

#define COMPONENT   "cdxj"
#define LINE_LIMIT  ((size_t)8 << 20)
#define MERGE_WIDTH 64u /* runs merged at once: as many files are open */
#define LEAST_RUN   ((size_t)64 << 10)

typedef struct Sorter {
    const char *index;
    Buffer text;      /* lines of the run being collected */
    WarcBytes *lines; /* into text, once it is complete */
    size_t memory_bytes;
    unsigned first_run; /* runs first_run..n_runs-1 are on disk and not merged yet */
    unsigned n_runs;
} Sorter;

static Result cdxj_sort_failed(const char *what, const char *path)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "index cannot be written", "step=%s file=%s error=%s", what, path,
              strerror(error));
    return result_of_errno(error);
}

static int compare_lines(const void *left, const void *right)
{
    const WarcBytes *a = left;
    const WarcBytes *b = right;
    size_t n = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, n);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static Result run_path(const Sorter *sorter, unsigned run, Buffer *path)
{
    buffer_reset(path);
    return buffer_printf(path, "%s.run%u", sorter->index, run);
}

/* Cuts the text into lines (with their line ends) and sorts them. */
static Result sort_text(Sorter *sorter, size_t *n_lines)
{
    const char *end = sorter->text.data + sorter->text.length;
    size_t n = 0;
    for (const char *at = sorter->text.data; at < end; n++) {
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    }
    sorter->lines = malloc((n + 1) * sizeof *sorter->lines);
    if (sorter->lines == NULL) {
        return RESULT_MEMORY;
    }
    n = 0;
    for (const char *at = sorter->text.data; at < end; n++) {
        const char *next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        sorter->lines[n] = warc_bytes(at, (size_t)(next - at));
        at = next;
    }
    qsort(sorter->lines, n, sizeof *sorter->lines, compare_lines);
    *n_lines = n;
    return RESULT_OK;
}

/* Ends a written file: its bytes are on the disk when durable, its errors are seen. */
static Result close_written(FILE *file, const char *path, bool durable)
{
    Result rc = RESULT_OK;
    if (fflush(file) != 0 || (durable && fdatasync(fileno(file)) != 0)) {
        rc = cdxj_sort_failed("write", path);
    }
    if (fclose(file) != 0 && rc == RESULT_OK) {
        rc = cdxj_sort_failed("close", path);
    }
    return rc;
}

static Result cdxj_sort_write_lines(const WarcBytes *lines, size_t n, const char *path,
                                    bool durable)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return cdxj_sort_failed("create", path);
    }
    for (size_t i = 0; i < n; i++) {
        if (fwrite(lines[i].bytes, 1, lines[i].length, file) != lines[i].length) {
            Result rc = cdxj_sort_failed("write", path);
            (void)fclose(file);
            return rc;
        }
    }
    return close_written(file, path, durable);
}

static Result cdxj_sort_spill(Sorter *sorter)
{
    Buffer path;
    size_t n = 0;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = sort_text(sorter, &n);
    if (rc == RESULT_OK) {
        rc = run_path(sorter, sorter->n_runs, &path);
    }
    if (rc == RESULT_OK) {
        sorter->n_runs++;
        rc = cdxj_sort_write_lines(sorter->lines, n, path.data, false);
    }
    free(sorter->lines);
    sorter->lines = NULL;
    buffer_reset(&sorter->text);
    buffer_destroy(&path);
    return rc;
}

/* One input of a merge; line is its least line not yet written. */
typedef struct Run {
    FILE *file;
    char *line;
    size_t capacity;
    WarcBytes current; /* length 0: exhausted */
} Run;

static Result run_advance(Run *run)
{
    ssize_t n = getline(&run->line, &run->capacity, run->file);
    run->current = warc_bytes(run->line, n > 0 ? (size_t)n : 0);
    return n < 0 && ferror(run->file) ? RESULT_IO : RESULT_OK;
}

static Result merge_into(Run *runs, unsigned n, FILE *out, const char *path)
{
    for (;;) {
        Run *least = NULL;
        for (unsigned i = 0; i < n; i++) {
            if (runs[i].current.length > 0 &&
                (least == NULL || compare_lines(&runs[i].current, &least->current) < 0)) {
                least = &runs[i];
            }
        }
        if (least == NULL) {
            return RESULT_OK;
        }
        if (fwrite(least->current.bytes, 1, least->current.length, out) != least->current.length) {
            return cdxj_sort_failed("write", path);
        }
        Result rc = run_advance(least);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

/* Merges the n oldest runs into the file at path and removes them. */
static Result cdxj_sort_merge(Sorter *sorter, unsigned n, const char *path, bool durable)
{
    Run runs[MERGE_WIDTH] = {{0}};
    Buffer name;
    buffer_init(&name, BUFFER_NO_LIMIT);
    FILE *out = fopen(path, "wbe");
    Result rc = out == NULL ? cdxj_sort_failed("create", path) : RESULT_OK;
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        rc = run_path(sorter, sorter->first_run + i, &name);
        if (rc == RESULT_OK) {
            runs[i].file = fopen(name.data, "rbe");
            rc = runs[i].file == NULL ? cdxj_sort_failed("open", name.data) : run_advance(&runs[i]);
        }
    }
    if (rc == RESULT_OK) {
        rc = merge_into(runs, n, out, path);
    }
    for (unsigned i = 0; i < n; i++) {
        if (runs[i].file != NULL) {
            (void)fclose(runs[i].file);
        }
        free(runs[i].line);
    }
    if (out != NULL) {
        Result closed = close_written(out, path, durable);
        rc = rc == RESULT_OK ? closed : rc;
    }
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        rc = run_path(sorter, sorter->first_run + i, &name);
        (void)unlink(name.data);
    }
    sorter->first_run += rc == RESULT_OK ? n : 0;
    buffer_destroy(&name);
    return rc;
}

/* While there are more runs than one merge takes, merges the oldest into a new one. */
static Result merge_all(Sorter *sorter, const char *path)
{
    Buffer name;
    buffer_init(&name, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && sorter->n_runs - sorter->first_run > MERGE_WIDTH) {
        rc = run_path(sorter, sorter->n_runs, &name);
        if (rc == RESULT_OK) {
            sorter->n_runs++;
            rc = cdxj_sort_merge(sorter, MERGE_WIDTH, name.data, false);
        }
    }
    buffer_destroy(&name);
    return rc == RESULT_OK ? cdxj_sort_merge(sorter, sorter->n_runs - sorter->first_run, path, true)
                           : rc;
}

static void remove_runs(Sorter *sorter)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    for (unsigned i = sorter->first_run; i < sorter->n_runs; i++) {
        if (run_path(sorter, i, &path) == RESULT_OK) {
            (void)unlink(path.data);
        }
    }
    buffer_destroy(&path);
}

/* Reads the journal and spills a run whenever the memory is full. A last line without its line end
 * (a crash while it was written) is dropped. */
static Result cdxj_sort_collect(Sorter *sorter, FILE *journal)
{
    char *line = NULL;
    size_t capacity = 0;
    Result rc = RESULT_OK;
    ssize_t n = 0;
    while (rc == RESULT_OK && (n = getline(&line, &capacity, journal)) > 0) {
        size_t length = (size_t)n;
        if (length > LINE_LIMIT || line[length - 1] != '\n') {
            continue;
        }
        if (sorter->text.length > 0 && sorter->text.length + length > sorter->memory_bytes) {
            rc = cdxj_sort_spill(sorter);
        }
        if (rc == RESULT_OK) {
            rc = buffer_append(&sorter->text, line, length);
        }
    }
    if (rc == RESULT_OK && ferror(journal)) {
        rc = RESULT_IO;
    }
    free(line);
    return rc;
}

static Result write_sorted(Sorter *sorter, const char *path)
{
    Result rc = RESULT_OK;
    if (sorter->n_runs == 0) {
        size_t n = 0;
        rc = sort_text(sorter, &n);
        return rc == RESULT_OK ? cdxj_sort_write_lines(sorter->lines, n, path, true) : rc;
    }
    rc = sorter->text.length > 0 ? cdxj_sort_spill(sorter) : RESULT_OK;
    return rc == RESULT_OK ? merge_all(sorter, path) : rc;
}

Result cdxj_sort(const char *journal, const char *index, size_t memory_bytes)
{
    FILE *in = fopen(journal, "rbe");
    if (in == NULL) {
        return result_of_errno(errno);
    }
    Sorter sorter = {.index = index,
                     .memory_bytes = memory_bytes < LEAST_RUN ? LEAST_RUN : memory_bytes};
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&sorter.text, BUFFER_NO_LIMIT);
    Result rc = cdxj_sort_collect(&sorter, in);
    (void)fclose(in);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s.new", index);
    }
    if (rc == RESULT_OK) {
        rc = write_sorted(&sorter, path.data);
        if (rc == RESULT_OK && rename(path.data, index) != 0) {
            rc = cdxj_sort_failed("rename", index);
        }
        if (rc != RESULT_OK) {
            (void)unlink(path.data);
        }
    }
    remove_runs(&sorter);
    free(sorter.lines);
    buffer_destroy(&sorter.text);
    buffer_destroy(&path);
    return rc;
}
