#include "command/part/part_places.h"

#include <stdlib.h>
#include <string.h>

#include "store/cdxj/cdxj.h"

/* The file that a line is about; lines of one file mostly come together. False: it is none of them,
 * or is being written. */
static bool find_file(PartPlaces *places, WarcBytes name, size_t *file)
{
    const TextJobs *jobs = places->jobs;
    for (size_t i = 0; i < jobs->n_files; i++) {
        size_t at = (places->last + i) % jobs->n_files;
        const TextFile *candidate = &jobs->files[at];
        if (!candidate->open && strlen(candidate->name) == name.length &&
            memcmp(candidate->name, name.bytes, name.length) == 0) {
            places->last = at;
            *file = at;
            return true;
        }
    }
    return false;
}

static bool make_room(PartPlaces *places)
{
    if (places->n < places->capacity) {
        return true;
    }
    size_t capacity = places->capacity == 0 ? 256 : 2 * places->capacity;
    PartPlace *more = realloc(places->places, capacity * sizeof *more);
    if (more != NULL) {
        places->places = more;
        places->capacity = capacity;
    }
    return more != NULL;
}

static bool take_line(void *context, const CdxjEntry *entry)
{
    PartPlaces *places = context;
    size_t file = 0;
    if (!find_file(places, entry->filename, &file)) {
        return true;
    }
    places->indexed[file] = true;
    if (!text_choice_admits(places->choice, entry->url)) {
        return true;
    }
    places->failed = !make_room(places);
    if (!places->failed) {
        places->places[places->n++] = (PartPlace){.file = file, .offset = entry->offset};
    }
    return !places->failed;
}

static int compare(const void *a, const void *b)
{
    const PartPlace *x = a;
    const PartPlace *y = b;
    return x->file != y->file       ? (x->file < y->file ? -1 : 1)
           : x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                    : 0;
}

Result part_places_find(PartPlaces *places, const char *directory, const TextJobs *jobs,
                        const TextChoice *choice)
{
    *places = (PartPlaces){.jobs = jobs,
                           .choice = choice,
                           .indexed = calloc(jobs->n_files + 1, sizeof *places->indexed)};
    if (places->indexed == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = cdxj_walk(directory, take_line, places);
    if (places->n > 0) {
        qsort(places->places, places->n, sizeof *places->places, compare);
    }
    return places->failed ? RESULT_MEMORY : rc;
}

void part_places_free(PartPlaces *places)
{
    free(places->indexed);
    free(places->places);
    *places = (PartPlaces){.jobs = NULL};
}

const PartPlace *part_places_of(const PartPlaces *places, size_t file, size_t *n)
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
