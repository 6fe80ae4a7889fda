#include "command/text/text_jobs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/buffer.h"
#include "store/archive/warc_files.h"
#include "store/archive/warc_reader.h"
#include "store/cdxj/cdxj.h"

#define SLACK_US INT64_C(2000000) /* a file's time is that of another clock's tick */

static Result add_job(TextJobs *jobs, size_t file, uint64_t from, uint64_t to)
{
    if ((jobs->n & (jobs->n + 1)) == 0) { /* full at 1, 3, 7 ... */
        TextJob *more = reallocarray(jobs->jobs, 2 * jobs->n + 2, sizeof *more);
        if (more == NULL) {
            return RESULT_MEMORY;
        }
        jobs->jobs = more;
    }
    jobs->jobs[jobs->n++] = (TextJob){.file = file, .from = from, .to = to};
    jobs->bytes += to - from;
    return RESULT_OK;
}

/* The index of a file, opened: the sorted one or the journal. NULL: there is none. */
static FILE *open_index(const char *directory, const TextFile *file, Buffer *path)
{
    FILE *index = NULL;
    for (int open = 0; open < 2 && index == NULL; open++) {
        if (warc_index_path(path, directory, file->name, open == 1) == RESULT_OK) {
            index = fopen(path->data, "re");
        }
    }
    return index;
}

/* cuts[k] becomes the first record that begins at (k + 1) * piece or later, as the index knows it.
 */
static void find_cuts(FILE *index, uint64_t piece, uint64_t *cuts, size_t n)
{
    char *line = NULL;
    size_t room = 0;
    Buffer scratch;
    buffer_init(&scratch, BUFFER_NO_LIMIT);
    for (;;) {
        ssize_t length = getline(&line, &room, index);
        if (length <= 0) {
            break;
        }
        CdxjEntry entry;
        size_t used = (size_t)length - (line[length - 1] == '\n' ? 1 : 0);
        if (cdxj_parse(warc_bytes(line, used), &scratch, &entry) != RESULT_OK ||
            entry.offset < piece) {
            continue;
        }
        uint64_t k = entry.offset / piece - 1;
        if (k < n && entry.offset < cuts[k]) {
            cuts[k] = entry.offset;
        }
    }
    buffer_destroy(&scratch);
    free(line);
}

static Result text_jobs_add_file(TextJobs *jobs, const char *directory, size_t number,
                                 uint64_t piece)
{
    const TextFile *file = &jobs->files[number];
    size_t n = (size_t)(file->size / piece);
    uint64_t *cuts = n == 0 ? NULL : malloc(n * sizeof *cuts);
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    FILE *index = cuts == NULL ? NULL : open_index(directory, file, &path);
    for (size_t i = 0; i < n && cuts != NULL; i++) {
        cuts[i] = UINT64_MAX;
    }
    if (index != NULL) {
        find_cuts(index, piece, cuts, n);
        (void)fclose(index);
    }
    Result rc = n > 0 && cuts == NULL ? RESULT_MEMORY : RESULT_OK;
    uint64_t from = 0;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        if (cuts[i] < file->size) {
            rc = add_job(jobs, number, from, cuts[i]);
            from = cuts[i];
        }
    }
    rc = rc == RESULT_OK && from < file->size ? add_job(jobs, number, from, file->size) : rc;
    buffer_destroy(&path);
    free(cuts);
    return rc;
}

/* Whether nothing in the file is as new as since. */
static bool is_older(const char *directory, const TextFile *file, WallTime since, Buffer *path)
{
    struct stat info;
    if (since.us == INT64_MIN || file->open ||
        warc_path(path, directory, file->name, false) != RESULT_OK ||
        stat(path->data, &info) != 0) {
        return false;
    }
    int64_t written = (int64_t)info.st_mtim.tv_sec * 1000000 + info.st_mtim.tv_nsec / 1000;
    return written + SLACK_US < since.us;
}

/* ---- listing ---- */

static bool text_jobs_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n > m && memcmp(text + n - m, suffix, m) == 0;
}

/* Takes the date of its first record; what cannot be read has none, and a size all the same, so
 * that it is a piece. */
static void text_jobs_inspect(const char *directory, TextFile *file)
{
    WarcReader *reader = NULL;
    WarcRecord record;
    file->size = 1;
    if (warc_reader_open_in(&reader, directory, file->name) == RESULT_OK) {
        file->size = warc_reader_size(reader);
        if (warc_reader_next(reader, &record) == RESULT_OK) {
            file->date = record.date;
        }
    }
    warc_reader_close(reader);
}

static Result add_name(TextJobs *jobs, const char *directory, const char *entry)
{
    bool open = text_jobs_ends_with(entry, WARC_OPEN_SUFFIX);
    WarcCompression compression = WARC_GZIP;
    TextFile file = {.open = open};
    file.name = strndup(entry, strlen(entry) - (open ? strlen(WARC_OPEN_SUFFIX) : 0));
    if (file.name == NULL) {
        return RESULT_MEMORY;
    }
    TextFile *more = NULL;
    if (warc_compression_stem(file.name, &compression) > 0) {
        more = reallocarray(jobs->files, jobs->n_files + 1, sizeof *more);
        if (more == NULL) {
            free(file.name);
            return RESULT_MEMORY;
        }
        jobs->files = more;
        text_jobs_inspect(directory, &file);
        jobs->files[jobs->n_files++] = file;
        return RESULT_OK;
    }
    free(file.name);
    return RESULT_OK;
}

static int text_jobs_compare_files(const void *left, const void *right)
{
    const TextFile *a = left;
    const TextFile *b = right;
    int order = (a->date.us > b->date.us) - (a->date.us < b->date.us);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static Result text_jobs_list_files(TextJobs *jobs, const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    const struct dirent *entry = readdir(dir);
    while (entry != NULL && rc == RESULT_OK) {
        rc = add_name(jobs, directory, entry->d_name);
        entry = readdir(dir);
    }
    (void)closedir(dir);
    if (jobs->n_files > 0) {
        qsort(jobs->files, jobs->n_files, sizeof *jobs->files, text_jobs_compare_files);
    }
    return rc;
}

Result text_jobs_make(TextJobs *jobs, const char *directory, WallTime since, uint64_t job_bytes)
{
    *jobs = (TextJobs){.jobs = NULL};
    Result rc = text_jobs_list_files(jobs, directory);
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < jobs->n_files && rc == RESULT_OK; i++) {
        if (!is_older(directory, &jobs->files[i], since, &path)) {
            rc = text_jobs_add_file(jobs, directory, i, job_bytes);
        }
    }
    buffer_destroy(&path);
    return rc;
}

void text_jobs_free(TextJobs *jobs)
{
    for (size_t i = 0; i < jobs->n_files; i++) {
        free(jobs->files[i].name);
    }
    free(jobs->files);
    free(jobs->jobs);
    *jobs = (TextJobs){.jobs = NULL};
}
