/* Text places: where the captures of chosen URLs and hosts are, by the indices of an archive.
 *
 * What: of each finished file that an index has lines of, the offsets of the captures that the
 * choice admits, ascending. So a part of an archive is read without the rest. A file without such
 * lines is to be read whole, and so is one that is being written, because its journal is behind it.
 * Owns: the list, 16 bytes for each capture.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_MEMORY. */
#ifndef COMMAND_TEXT_TEXT_PLACES_H
#define COMMAND_TEXT_TEXT_PLACES_H

#include "command/text/text_source.h"

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
    size_t capacity;
    bool failed; /* there was no memory */
} TextPlaces;

/* directory: the one that jobs was made of. text_places_free in every case. */
Result text_places_find(TextPlaces *places, const char *directory, const TextJobs *jobs,
                        const TextChoice *choice);
void text_places_free(TextPlaces *places);
/* Makes the pieces of finished files as small as what the choice admits; what lies near together is
 * one piece. As text_places_find. */
Result text_places_cut(TextJobs *jobs, const char *directory, const TextChoice *choice);
/* Those of a file: *n of them; NULL and 0: there are none. */
const TextPlace *text_places_of(const TextPlaces *places, size_t file, size_t *n);

#endif
