#include "command/text/text_places.h"

#include <stdlib.h>
#include <string.h>

#include "store/cdxj/cdxj.h"

#define NEAR_BYTES 16384u /* reading so much costs as much as going elsewhere */

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

static bool text_places_make_room(TextPlaces *places)
{
    if (places->n < places->capacity) {
        return true;
    }
    size_t capacity = places->capacity == 0 ? 256 : 2 * places->capacity;
    TextPlace *more = realloc(places->places, capacity * sizeof *more);
    if (more != NULL) {
        places->places = more;
        places->capacity = capacity;
    }
    return more != NULL;
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
    places->failed = !text_places_make_room(places);
    if (!places->failed) {
        places->places[places->n++] = (TextPlace){.file = file, .offset = entry->offset};
    }
    return !places->failed;
}

static int text_places_compare(const void *a, const void *b)
{
    const TextPlace *x = a;
    const TextPlace *y = b;
    return x->file != y->file       ? (x->file < y->file ? -1 : 1)
           : x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                    : 0;
}

Result text_places_find(TextPlaces *places, const char *directory, const TextJobs *jobs,
                        const TextChoice *choice)
{
    *places = (TextPlaces){.jobs = jobs,
                           .choice = choice,
                           .indexed = calloc(jobs->files.n + 1, sizeof *places->indexed)};
    if (places->indexed == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = cdxj_walk(directory, text_places_take_line, places);
    if (places->n > 0) {
        qsort(places->places, places->n, sizeof *places->places, text_places_compare);
    }
    return places->failed ? RESULT_MEMORY : rc;
}

void text_places_free(TextPlaces *places)
{
    free(places->indexed);
    free(places->places);
    *places = (TextPlaces){.jobs = NULL};
}

const TextPlace *text_places_of(const TextPlaces *places, size_t file, size_t *n)
{
    size_t from = 0;
    while (from < places->n && places->places[from].file < file) {
        from++;
    }
    size_t to = from;
    while (to < places->n && places->places[to].file == file) {
        to++;
    }
    *n = to - from;
    return to == from ? NULL : &places->places[from];
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
        if (places.indexed[jobs->jobs[i].file]) {
            cut_job(&places, &jobs->jobs[i], &next, cut, &n);
        } else {
            cut[n++] = jobs->jobs[i];
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
