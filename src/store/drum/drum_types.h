/* DRUM, its types: keys, values, operations and events.
 *
 * What: the types that its parts share; drum.h has the functions.
 * Owns: what each comment says.
 * Threads: as drum.h says. */
#ifndef STORE_DRUM_DRUM_TYPES_H
#define STORE_DRUM_DRUM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct Drum Drum;
typedef struct DrumMerge DrumMerge;
typedef struct DrumRepository DrumRepository;

#define DRUM_MAX_BUCKETS  4096u
#define DRUM_MAX_VALUE    (16u << 20) /* of a value and of an auxiliary, in bytes */
#define DRUM_MAX_KEY      65535u      /* of a byte-string key; a repository may allow less */
#define DRUM_MAX_ASSIGNED 64u         /* of a value that options.assign makes */

typedef enum DrumKeys {
    DRUM_KEYS_NUMBERS, /* 64-bit numbers, ordered as numbers; should be spread evenly (hashes) */
    DRUM_KEYS_BYTES    /* 1..DRUM_MAX_KEY bytes, ordered as memcmp does, a prefix first */
} DrumKeys;

typedef struct DrumBytes {
    const void *bytes; /* may be NULL when length is 0 */
    size_t length;
} DrumBytes;

typedef struct DrumKey {
    uint64_t
        number; /* DRUM_KEYS_NUMBERS: the key. DRUM_KEYS_BYTES: its first 8 bytes, big-endian */
    DrumBytes bytes; /* DRUM_KEYS_BYTES: the key. DRUM_KEYS_NUMBERS: NULL, 0 */
} DrumKey;

static inline DrumKey drum_key_number(uint64_t number)
{
    return (DrumKey){.number = number, .bytes = {NULL, 0}};
}

/* What a callback is told; everything is borrowed until it returns. */
typedef struct DrumEvent {
    DrumKey key;
    DrumBytes value;     /* check: the stored one; else the key's value after this operation */
    DrumBytes previous;  /* the key's value before this operation; NULL, 0 for a unique key */
    DrumBytes auxiliary; /* bytes is NULL when the operation came without one, or when it is lost
                            (skip_damaged; the loss is counted) */
    bool existed;        /* the key was there before this operation */
} DrumEvent;

/* Any result but RESULT_OK stops the merge, which is undone and may be tried again. */
typedef Result (*DrumCallback)(void *context, const DrumEvent *event);

/* The five outcomes of the seed. A NULL callback means: not interested (and when all are NULL the
 * auxiliaries are not even read). */
typedef struct DrumDispatcher {
    void *context;
    DrumCallback unique_key_check;
    DrumCallback duplicate_key_check;
    DrumCallback unique_key_update;    /* check_update of a key that was not there */
    DrumCallback duplicate_key_update; /* check_update of a key that was */
    DrumCallback update;
} DrumDispatcher;

/* How far the bucket files go, behind a drum_persist. */
typedef struct DrumPosition {
    uint64_t generation; /* that is collecting */
    uint64_t bytes;      /* of its file */
} DrumPosition;

typedef struct DrumOptions {
    const char *directory; /* of the bucket files; created if missing (not its parents); copied */
    DrumRepository *repository; /* borrowed until drum_dispose */
    DrumDispatcher dispatcher;
    DrumKeys keys;
    unsigned buckets;       /* a power of two, 1..DRUM_MAX_BUCKETS; default 16 */
    size_t array_bytes;     /* of one bucket's array, 64 bytes..64 MiB; default 128 KiB */
    size_t bucket_bytes;    /* keys and values of one bucket that ask for a merge, at most 256 MiB;
                               default 8 MiB */
    size_t auxiliary_bytes; /* auxiliaries of one bucket that do; default 8 x bucket_bytes */
    bool manual_merge;      /* false: the call that fills a bucket merges, as in the seed. true: it
                               seals the generation; the owner watches drum_sealed_count */
    bool manual_seal; /* with manual_merge: only drum_seal ends a generation; drum_is_full asks */
    const DrumPosition *committed; /* what lies behind it in the bucket files belongs to nothing
                               that was committed, and is removed by drum_open; a file that does
                               not reach it has lost its end. NULL: all counts */
    bool keep_existing;            /* check_update leaves the value of a key that is there alone */
    bool whole_blocks; /* auxiliaries are checked before a block's keys are used: a block is good or
                          damaged as a whole, and no key is put whose auxiliary is lost */
    bool skip_damaged; /* leave damaged blocks out and count them, instead of RESULT_DAMAGED */
    /* When set, a unique key of a check_update gets, instead of the value given, assign_bytes bytes
     * that this writes; called in original order within a bucket, before any callback of it: one
     * bucket, one order. given is the operation's value. A merge that is undone and tried again
     * asks again. */
    Result (*assign)(void *context, const DrumKey *key, DrumBytes given, void *value);
    void *assign_context;
    size_t assign_bytes; /* 1..DRUM_MAX_ASSIGNED */
} DrumOptions;

/* What drum_open found of an earlier run. */
typedef struct DrumRecovery {
    uint64_t generations;      /* sealed generations that wait for their merge */
    uint64_t elements;         /* in them */
    uint64_t dropped_files;    /* already merged before the crash, removed now */
    uint64_t torn_bytes;       /* behind the last whole block, cut off */
    uint64_t torn_elements;    /* in them: the least number, as far as it can be told */
    uint64_t damaged_bytes;    /* inside the durable part of a file, unreadable */
    uint64_t damaged_elements; /* in them; at least */
} DrumRecovery;

typedef struct DrumStats {
    uint64_t accepted;         /* operations since drum_open */
    uint64_t merged;           /* elements merged since drum_open */
    uint64_t merges;           /* generations */
    uint64_t new_keys;         /* keys that the repository did not have */
    uint64_t damaged_elements; /* left out by merges (skip_damaged) */
    uint64_t collecting_bytes; /* of the generation that is collecting, arrays included */
    uint64_t collecting_elements;
    uint64_t largest_bucket; /* elements of the fullest bucket of the generation that collects */
    uint64_t sealed_generations;
} DrumStats;

/* The position up to which a repository contains what was merged. */
typedef struct DrumProgress {
    uint64_t generation; /* the first that is not merged completely */
    uint32_t bucket;     /* its first bucket that is not merged; all are when it has no such */
} DrumProgress;

/* Where the keys live. An implementation embeds this as its first member. Within one bucket the
 * merge first calls find with ascending keys, then put with ascending keys; buckets ascend too.
 * Errors other than those named undo the merge. */
struct DrumRepository {
    DrumKeys keys;    /* what it can hold */
    size_t key_limit; /* longest byte-string key */
    /* The progress of the last commit; {0, 0} when there was none. */
    Result (*progress)(DrumRepository *repository, DrumProgress *progress);
    /* Starts a sweep (a transaction). begin and abort may be NULL, and commit, too, when the owner
     * merges in steps (drum_merge_step). */
    Result (*begin)(DrumRepository *repository);
    /* *value is borrowed until the next call. RESULT_NOT_FOUND. */
    Result (*find)(DrumRepository *repository, const DrumKey *key, DrumBytes *value);
    /* Inserts or replaces; is_new tells which. RESULT_FULL: make room and merge again. */
    Result (*put)(DrumRepository *repository, const DrumKey *key, DrumBytes value, bool is_new);
    /* Ends the sweep: all of progress is merged. */
    Result (*commit)(DrumRepository *repository, DrumProgress progress);
    /* Gives up what was put since begin. */
    void (*abort)(DrumRepository *repository);
};

/* Every element that can be read, of the generations from `from` on up to what was committed, in
 * the order of the files; changes nothing. recovery: what is damaged or missing of that; what lies
 * behind is not looked at. A visit's result other than RESULT_OK ends the walk and is returned. */
typedef Result (*DrumVisit)(void *context, uint64_t generation, const DrumKey *key,
                            DrumBytes auxiliary);

DrumKey drum_key_bytes(const void *bytes, size_t length);

/* Merges it; needs no lock. Errors of the repository and of callbacks; RESULT_DAMAGED. The buckets
 * committed before the error stay merged. */
Result drum_merge_run(DrumMerge *merge);
/* The same in pieces inside transactions of the caller's: begin, commit and abort of the repository
 * are not called. A step merges the next bucket; RESULT_NOT_FOUND: there is no further one. The
 * caller then commits drum_merge_progress with everything else and settles: whether it was
 * committed, or all steps since the last settling are undone. When everything that the caller makes
 * of the generation is committed as well (as progress: the next generation, bucket 0),
 * drum_merge_finish lets drum_merge_end remove the file. */
Result drum_merge_step(DrumMerge *merge);
DrumProgress drum_merge_progress(const DrumMerge *merge);
void drum_merge_settle(DrumMerge *merge, bool committed);
void drum_merge_finish(DrumMerge *merge);
/* Dispatches a bucket that is merged already once more, only looking its keys up: existed says
 * whether the repository has the key, previous is its value. For owners that lost in a crash what
 * they had gathered. RESULT_NOT_FOUND: no such bucket. */
Result drum_merge_replay(DrumMerge *merge, uint32_t bucket);

#endif
