/* What store/drum/drum.c (collecting) and store/drum/drum_recover.c (what an earlier run left)
 * share. */
#ifndef STORE_DRUM_DRUM_INSIDE_H
#define STORE_DRUM_DRUM_INSIDE_H

#include "store/drum/drum_file.h"
#include "store/drum/drum_merge.h"

/* Keys and values grow from the front of an array, auxiliaries from its end. */
typedef struct DrumArray {
    uint8_t *bytes; /* array_bytes, a part of Drum.arrays_room */
    uint32_t front;
    uint32_t back;
    uint32_t elements;
    uint64_t first_sequence;
    uint64_t last_sequence;
    uint64_t bucket_elements; /* of the bucket in this generation */
    uint64_t bucket_bytes;    /* of the bucket in this generation, keys and values */
    uint64_t auxiliary_bytes; /* of the bucket in this generation */
} DrumArray;

struct Drum {
    DrumOptions options;
    int directory;         /* open and locked */
    unsigned bucket_shift; /* bucket = key number >> it; 64 means bucket 0 */
    DrumArray *arrays;
    uint8_t *arrays_room;
    DrumGeneration *collecting;
    uint64_t sequence; /* of the next element in the generation */
    uint64_t collecting_bytes;
    bool is_full;            /* a bucket has reached its size */
    DrumGeneration **sealed; /* in order */
    size_t n_sealed;
    size_t sealed_capacity;
    bool merging;            /* sealed[0] is with drum_merge_begin's caller */
    bool merging_is_durable; /* drum_persist has synced it meanwhile */
    DrumStats stats;
};

/* A generation without file yet; NULL without memory. */
DrumGeneration *drum_generation_new(const Drum *drum, uint64_t number);
/* Closes its file, which stays on disk; NULL is allowed. */
void drum_generation_delete(DrumGeneration *generation);
/* Room for one more in drum->sealed. */
Result drum_reserve_sealed(Drum *drum);

/* Lines up what the directory holds in drum->sealed and makes drum->collecting. */
Result drum_recover(Drum *drum, DrumRecovery *recovery);

#endif
