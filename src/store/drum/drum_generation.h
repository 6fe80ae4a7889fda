/* A generation of a Drum: one bucket file, and how far it is merged. And lists of generations.
 *
 * What: drum.h tells the life of a generation. Sealed generations wait in a list, oldest first.
 * Owns: a generation owns its DrumFile (not the file on disk); a list owns its generations.
 * Threads: as the Drum; a generation that is being merged belongs to the merging thread. */
#ifndef STORE_DRUM_DRUM_GENERATION_H
#define STORE_DRUM_DRUM_GENERATION_H

#include "store/drum/drum_file.h"

typedef struct DrumGeneration {
    DrumFile file;
    uint32_t next_bucket; /* those before it are committed in the repository */
    bool merged;          /* all are */
} DrumGeneration;

typedef struct DrumGenerations {
    DrumGeneration **items; /* in order */
    size_t n;
    size_t capacity;
} DrumGenerations;

/* A generation without file yet; NULL without memory. */
DrumGeneration *drum_generation_new(int directory, const DrumOptions *options, uint64_t number);
/* Closes its file, which stays on disk; NULL is allowed. */
void drum_generation_delete(DrumGeneration *generation);

/* Makes room for one more, so that drum_generations_add cannot fail. RESULT_MEMORY. */
Result drum_generations_reserve(DrumGenerations *list);
void drum_generations_add(DrumGenerations *list, DrumGeneration *generation);
/* Takes the oldest out of the list; it is the caller's then. */
DrumGeneration *drum_generations_take(DrumGenerations *list);
void drum_generations_destroy(DrumGenerations *list);

/* The numbers of the generations that have a file in a directory, ascending; the caller frees the
 * array. */
Result drum_generations_list_files(int directory, uint64_t **numbers, size_t *n);

#endif
