#include "command/text/text_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory/array.h"
#include "parse/host/authority.h"
#include "parse/url/url.h"
#include "store/cdxj/cdxj.h"

/* ---- Text choice ---- */

void text_choice_destroy(TextChoice *choice)
{
    for (size_t i = 0; i < choice->n; i++) {
        free(choice->all[i].word);
    }
    free(choice->all);
    *choice = (TextChoice){.all = NULL};
}

/* Takes word. */
static Result text_choice_add(TextChoice *choice, char *word, bool is_host)
{
    TextChosen chosen = {.word = word, .is_host = is_host};
    if (word == NULL || array_add(&choice->all, &choice->n, sizeof chosen, &chosen) != RESULT_OK) {
        free(word);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

Result text_choice_add_url(TextChoice *choice, const char *word)
{
    size_t n = strlen(word);
    bool prefix = n > 0 && word[n - 1] == '*';
    Url url = {.href = NULL};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = url_parse(&url, NULL, word, prefix ? n - 1 : n);
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = buffer_printf(&text, "%s%s", url.href, prefix ? "*" : "");
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = text_choice_add(choice, buffer_detach(&text), false);
done:
    buffer_destroy(&text);
    url_destroy(&url);
    return rc;
}

/* The host of a URL; empty: it has none. */
static WarcBytes text_choice_host_of(WarcBytes url)
{
    if (url.length > 4 && strncasecmp(url.bytes, "dns:", 4) == 0) {
        return warc_bytes(url.bytes + 4, url.length - 4);
    }
    if (memmem(url.bytes, url.length, "://", 3) == NULL) {
        return warc_bytes("", 0);
    }
    Authority at = authority_of(url.bytes, url.length);
    return warc_bytes(url.bytes + at.host, at.host_end - at.host);
}

Result text_choice_add_host(TextChoice *choice, const char *word)
{
    Url url = {.href = NULL};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    bool below = word[0] == '.';
    Result rc = buffer_printf(&text, "http://%s/", word + (below ? 1 : 0));
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = url_parse(&url, NULL, buffer_string(&text), text.length);
    if (rc != RESULT_OK) {
        goto done;
    }
    WarcBytes host = text_choice_host_of(warc_bytes(url.href, strlen(url.href)));
    rc = RESULT_INVALID;
    if (host.length == 0) {
        goto done;
    }
    buffer_reset(&text);
    rc = buffer_printf(&text, "%s%.*s", below ? "." : "", (int)host.length, host.bytes);
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = text_choice_add(choice, buffer_detach(&text), true);
done:
    buffer_destroy(&text);
    url_destroy(&url);
    return rc;
}

static bool text_choice_is_url(const char *word, WarcBytes url)
{
    size_t n = strlen(word);
    bool prefix = n > 0 && word[n - 1] == '*';
    n -= prefix ? 1 : 0;
    return (prefix ? url.length >= n : url.length == n) && memcmp(url.bytes, word, n) == 0;
}

static bool is_host(const char *word, WarcBytes host)
{
    size_t n = strlen(word);
    if (word[0] == '.' && host.length + 1 == n) {
        word++; /* the domain itself */
        n--;
    }
    return (word[0] == '.' ? host.length > n : host.length == n) &&
           strncasecmp(host.bytes + host.length - n, word, n) == 0;
}

bool text_choice_admits(const TextChoice *choice, WarcBytes url)
{
    for (size_t i = 0; i < choice->n; i++) {
        const TextChosen *one = &choice->all[i];
        if (one->is_host ? is_host(one->word, text_choice_host_of(url))
                         : text_choice_is_url(one->word, url)) {
            return true;
        }
    }
    return choice->n == 0;
}

/* ---- Text jobs ---- */

#define SLACK_US INT64_C(2000000) /* a file's time is that of another clock's tick */

static Result add_job(TextJobs *jobs, size_t file, uint64_t from, uint64_t to)
{
    TextJob job = {.file = file, .from = from, .to = to};
    jobs->bytes += to - from;
    return array_add(&jobs->jobs, &jobs->n, sizeof job, &job);
}

/* The index of a file, opened: the sorted one or the journal. NULL: there is none. */
static FILE *open_index(const char *directory, const WarcFile *file)
{
    Path path;
    FILE *index = fopen(warc_index_path(&path, directory, file->name, false), "re");
    if (index == NULL) {
        index = fopen(warc_index_path(&path, directory, file->name, true), "re");
    }
    return index;
}

/* cuts[k] becomes the first record that begins at (k + 1) * piece or later, as the index knows it.
 */
static void find_cuts(FILE *index, uint64_t piece, uint64_t *cuts, size_t n)
{
    char *line = NULL;
    size_t room = 0;
    Buffer scratch = {.limit = BUFFER_NO_LIMIT};
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
    const WarcFile *file = &jobs->files.files[number];
    /* One that cannot be opened is a piece, too: who reads it says so. */
    uint64_t size = file->error == RESULT_OK ? file->size : 1;
    size_t n = (size_t)(size / piece);
    uint64_t *cuts = n == 0 ? NULL : malloc(n * sizeof *cuts);
    FILE *index = cuts == NULL ? NULL : open_index(directory, file);
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
        if (cuts[i] < size) {
            rc = add_job(jobs, number, from, cuts[i]);
            from = cuts[i];
        }
    }
    rc = rc == RESULT_OK && from < size ? add_job(jobs, number, from, size) : rc;
    free(cuts);
    return rc;
}

/* Whether nothing in the file is as new as since. */
static bool is_older(const char *directory, const WarcFile *file, WallTime since)
{
    Path path;
    struct stat info;
    if (since.us == INT64_MIN || file->open ||
        stat(warc_path(&path, directory, file->name, false), &info) != 0) {
        return false;
    }
    int64_t written = (int64_t)info.st_mtim.tv_sec * 1000000 + info.st_mtim.tv_nsec / 1000;
    return written + SLACK_US < since.us;
}

static int text_jobs_compare_files(const void *left, const void *right)
{
    const WarcFile *a = left;
    const WarcFile *b = right;
    int order = (a->date.us > b->date.us) - (a->date.us < b->date.us);
    return order != 0 ? order : strcmp(a->name, b->name);
}

Result text_jobs_make(TextJobs *jobs, const char *directory, WallTime since, uint64_t job_bytes)
{
    *jobs = (TextJobs){.jobs = NULL};
    WarcFileList *files = &jobs->files;
    Result rc = warc_files_list_any(directory, files);
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO) {
        (void)fprintf(stderr, "ragno export: %s: cannot be read: %s\n", directory, result_name(rc));
        rc = RESULT_IO;
    }
    if (files->n > 0) {
        qsort(files->files, files->n, sizeof *files->files, text_jobs_compare_files);
    }
    for (size_t i = 0; i < files->n && rc == RESULT_OK; i++) {
        if (!is_older(directory, &files->files[i], since)) {
            rc = text_jobs_add_file(jobs, directory, i, job_bytes);
        }
    }
    return rc;
}

void text_jobs_free(TextJobs *jobs)
{
    warc_files_free(&jobs->files);
    free(jobs->jobs);
    *jobs = (TextJobs){.jobs = NULL};
}

/* ---- text places ---- */

#define NEAR_BYTES 16384u /* reading so much costs as much as going elsewhere */

typedef struct TextPlace {
    size_t file; /* of TextJobs.files */
    uint64_t offset;
} TextPlace;

typedef struct TextPlaces {
    const TextJobs *jobs;     /* borrowed */
    const TextChoice *choice; /* borrowed */
    bool *indexed;            /* by file: only its places need be read */
    size_t last;              /* the file of the line before */
    TextPlace *places;        /* by file and offset */
    size_t n;
    bool failed; /* there was no memory */
} TextPlaces;

/* The file that a line is about; lines of one file mostly come together. False: it is none of them,
 * or is being written. */
static bool text_places_find_file(TextPlaces *places, WarcBytes name, size_t *file)
{
    const TextJobs *jobs = places->jobs;
    for (size_t i = 0; i < jobs->files.n; i++) {
        size_t at = (places->last + i) % jobs->files.n;
        const WarcFile *candidate = &jobs->files.files[at];
        if (!candidate->open && strlen(candidate->name) == name.length &&
            memcmp(candidate->name, name.bytes, name.length) == 0) {
            places->last = at;
            *file = at;
            return true;
        }
    }
    return false;
}

static bool text_places_take_line(void *context, const CdxjEntry *entry)
{
    TextPlaces *places = context;
    size_t file = 0;
    if (!text_places_find_file(places, entry->filename, &file)) {
        return true;
    }
    places->indexed[file] = true;
    if (!text_choice_admits(places->choice, cdxj_plain_url(entry->url))) {
        return true;
    }
    TextPlace place = {.file = file, .offset = entry->offset};
    places->failed = array_add(&places->places, &places->n, sizeof place, &place) != RESULT_OK;
    return !places->failed;
}

/* text_places_free in every case. */
static Result text_places_find(TextPlaces *places, const char *directory, const TextJobs *jobs,
                               const TextChoice *choice)
{
    *places = (TextPlaces){.jobs = jobs,
                           .choice = choice,
                           .indexed = calloc(jobs->files.n + 1, sizeof *places->indexed)};
    if (places->indexed == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = cdxj_walk(directory, text_places_take_line, places);
    array_sort(places->places, places->n, sizeof *places->places, ARRAY_KEY(TextPlace, file),
               ARRAY_KEY(TextPlace, offset));
    return places->failed ? RESULT_MEMORY : rc;
}

static void text_places_free(TextPlaces *places)
{
    free(places->indexed);
    free(places->places);
    *places = (TextPlaces){.jobs = NULL};
}

/* The places within a piece become pieces, behind the *n that there are. */
static void cut_job(const TextPlaces *places, const TextJob *job, size_t *next, TextJob *cut,
                    size_t *n)
{
    size_t first = *n;
    for (; *next < places->n; ++*next) {
        const TextPlace *place = &places->places[*next];
        if (place->file > job->file || (place->file == job->file && place->offset >= job->to)) {
            return;
        }
        if (place->file < job->file || place->offset < job->from) {
            continue; /* the index is of another file of this name */
        }
        if (*n > first && place->offset < cut[*n - 1].to + NEAR_BYTES) {
            cut[*n - 1].to = place->offset + 1;
        } else {
            cut[(*n)++] =
                (TextJob){.file = job->file, .from = place->offset, .to = place->offset + 1};
        }
    }
}

Result text_places_cut(TextJobs *jobs, const char *directory, const TextChoice *choice)
{
    TextPlaces places;
    size_t next = 0;
    size_t n = 0;
    Result rc = text_places_find(&places, directory, jobs, choice);
    TextJob *cut = rc == RESULT_OK ? calloc(jobs->n + places.n + 1, sizeof *cut) : NULL;
    if (cut == NULL) {
        text_places_free(&places);
        return rc == RESULT_OK ? RESULT_MEMORY : rc;
    }
    for (size_t i = 0; i < jobs->n; i++) {
        const TextJob *job = &jobs->jobs[i];
        /* One that cannot be read stays: who opens it says so. */
        if (places.indexed[job->file] && jobs->files.files[job->file].error == RESULT_OK) {
            cut_job(&places, job, &next, cut, &n);
        } else {
            cut[n++] = *job;
        }
    }
    text_places_free(&places);
    free(jobs->jobs);
    jobs->jobs = cut;
    jobs->n = n;
    jobs->bytes = 0;
    for (size_t i = 0; i < n; i++) {
        jobs->bytes += cut[i].to - cut[i].from;
    }
    return RESULT_OK;
}
