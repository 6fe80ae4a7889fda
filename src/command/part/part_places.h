/* Part places: where the captures of chosen URLs and hosts are, by the indices of an archive.
 *
 * What: of each finished file that an index has lines of, the offsets of the captures that the
 * choice admits, ascending. So a part is copied without reading the rest. A file without such lines
 * is to be read whole, and so is one that is being written, because its journal is behind it.
 * Owns: the list, 16 bytes for each capture.
 * Threads: one.
 * Errors: RESULT_IO, RESULT_MEMORY. */
#ifndef COMMAND_PART_PART_PLACES_H
#define COMMAND_PART_PART_PLACES_H

#include "command/text/text_choice.h"
#include "command/text/text_jobs.h"

typedef struct PartPlace {
    size_t file; /* of TextJobs.files */
    uint64_t offset;
} PartPlace;

typedef struct PartPlaces {
    const TextJobs *jobs;     /* borrowed */
    const TextChoice *choice; /* borrowed */
    bool *indexed;            /* by file: only its places need be read */
    size_t last;              /* the file of the line before */
    PartPlace *places;        /* by file and offset */
    size_t n;
    size_t capacity;
    bool failed; /* there was no memory */
} PartPlaces;

/* directory: the one that jobs was made of. part_places_free in every case. */
Result part_places_find(PartPlaces *places, const char *directory, const TextJobs *jobs,
                        const TextChoice *choice);
void part_places_free(PartPlaces *places);
/* Those of a file: *n of them; NULL and 0: there are none. */
const PartPlace *part_places_of(const PartPlaces *places, size_t file, size_t *n);

#endif
