/* DRUM, a disk repository with update management: bulk `check`, `update` and `check_update` of
 * (key, value, auxiliary) against a repository far larger than memory, without one seek per key.
 *
 *   drum_check, drum_update, drum_check_update      collecting: memory only, now and then a write
 *      |  one array for each bucket; the bucket is the top bits of the key
 *      v  an array is full
 *   bucket file of the generation                   drum_persist: what was accepted is durable
 *      |  a bucket has bucket_bytes: the generation is sealed, collecting goes on in a fresh one
 *      v
 *   merge, bucket after bucket, in key order        drum_merge_begin, _run, _end; drum_synchronize
 *      |  load keys and values - sort - one sweep over the repository - assign - put
 *      v  back in the original order, auxiliaries are read alongside
 *   dispatcher, then the repository commits         unique and duplicate key check, unique and
 *                                                   duplicate key update, update
 *
 * What: operations have the effect that they would have if each were done at once, in the order in
 * which they were accepted. Of two check_updates of a new key in one batch, the first is unique,
 * and the second is a duplicate that sees the value of the first. An update is seen by a later
 * check.
 *
 * A generation is one bucket file (drum_file.h) with the blocks of all its buckets. Generations are
 * merged strictly in order:
 *
 *   collecting -- drum_seal --> sealed -- drum_merge_begin --> merging -- drum_merge_end --> gone
 *                                 ^-------- drum_merge_end after an error ------'
 *
 * An owner with transactions of its own (frontier/sieve/sieve.h) takes three things into its hands:
 * when a generation ends (manual_seal), which part of the bucket files counts (drum_position,
 * options committed), and the transaction in which a bucket is merged (drum_merge_step).
 *
 * Repositories (store/repository): drum_lmdb.h is a table of LMDB. drum_runs.h is a file format of
 * sorted runs for key sets far larger than memory, and says what both cost. Others implement
 * DrumRepository: a repository over a table that exists already gives the keys a form of its own in
 * find and put.
 *
 * Memory: while collecting, buckets x array_bytes. While merging, about 45 bytes for each element
 * of the largest bucket, that bucket's keys and values, and the stored values that it looks up.
 *
 * Owns: its bucket files. The repository is borrowed.
 * Threads: a Drum is not thread-safe; one lock of the caller's guards it. Only drum_merge_run takes
 * no lock: it may run beside every other call, so that merging stops nobody. There is at most one
 * merge at a time. Callbacks run in the merging thread and may add to the same Drum (to its next
 * generation).
 * Invariants:
 * 1. An element is in exactly one generation, and in one bucket of it.
 * 2. The repository's progress record (generation, bucket) is committed by the transaction that
 *    puts the keys of the bucket. So an element is applied to the repository exactly once, whatever
 *    happens. A bucket file is removed after the commit that makes it superfluous.
 * 3. Callbacks run before that commit. What they write in the repository's own transaction happens
 *    exactly once; their other effects happen again if the process dies before the commit.
 * 4. After drum_persist, and after drum_dispose, a power cut loses nothing that was accepted
 *    before. Otherwise the elements in arrays, and those that the system had not written yet, may
 *    be missing. What is missing is always a tail of the file, which the next drum_open cuts off
 *    and reports.
 * Errors: each function names its own. After a failed write nothing is lost, and the call may be
 * tried again.
 * Source: seed 001 (DRUM); H.-T. Lee and others, IRLbot, WWW 2008. Differences from the seed: key,
 * value and auxiliary are byte strings instead of types; the two "subsets of disk buckets" are two
 * sections of each block of one file, so that a torn write cannot part them and one fdatasync makes
 * everything durable. */
#ifndef STORE_DRUM_DRUM_H
#define STORE_DRUM_DRUM_H

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

DrumKey drum_key_bytes(const void *bytes, size_t length);

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
    bool global_order;  /* false: callbacks in the original order within a bucket, buckets one after
                           the other. true: in the original order of all; the repository must then
                           be able to commit a generation in one transaction */
    bool keep_existing; /* check_update leaves the value of a key that is there alone */
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
    uint64_t torn_elements;    /* in them, as far as it can be told: at least so many */
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
    /* Starts a sweep (a transaction); not called again before commit has ended it. */
    Result (*begin)(DrumRepository *repository);
    /* *value is borrowed until the next call. RESULT_NOT_FOUND. */
    Result (*find)(DrumRepository *repository, const DrumKey *key, DrumBytes *value);
    /* Inserts or replaces; is_new tells which. RESULT_FULL: make room and merge again. */
    Result (*put)(DrumRepository *repository, const DrumKey *key, DrumBytes value, bool is_new);
    /* All of progress is merged. The repository may put the commit off (*ended = false) unless
     * last is true; then the next bucket belongs to the same transaction. */
    Result (*commit)(DrumRepository *repository, DrumProgress progress, bool last, bool *ended);
    /* Gives up what was put since begin. */
    void (*abort)(DrumRepository *repository);
};

/* What is wrong with the options, in words; NULL: nothing. For the caller of drum_open that answers
 * RESULT_INVALID. The text is static. */
const char *drum_problem(const DrumOptions *options);
/* Opens the bucket files in options->directory, completes or drops what a crash left, and starts a
 * fresh generation. Recovered generations wait for drum_synchronize or a merge. recovery may be
 * NULL. RESULT_INVALID: an option is out of range or NULL, see drum_problem. RESULT_LOCKED: another
 * process has it. RESULT_VERSION, RESULT_DAMAGED (skip_damaged opens it nevertheless), RESULT_IO,
 * RESULT_MEMORY. */
Result drum_open(Drum **drum, const DrumOptions *options, DrumRecovery *recovery);

/* The three operations, without and with auxiliary; everything is copied. RESULT_INVALID: an empty
 * byte-string key. RESULT_LIMIT: key, value or auxiliary is too long. RESULT_FULL, RESULT_IO: a
 * bucket file could not be written; the operation was not accepted, nothing else is lost, try
 * again. Without manual_merge also the errors of drum_synchronize; then the operation was accepted
 * if drum_stats says so, and the sealed generation is merged with the next one. */
Result drum_check(Drum *drum, DrumKey key);
Result drum_check_with(Drum *drum, DrumKey key, DrumBytes auxiliary);
Result drum_update(Drum *drum, DrumKey key, DrumBytes value);
Result drum_update_with(Drum *drum, DrumKey key, DrumBytes value, DrumBytes auxiliary);
Result drum_check_update(Drum *drum, DrumKey key, DrumBytes value);
Result drum_check_update_with(Drum *drum, DrumKey key, DrumBytes value, DrumBytes auxiliary);

/* Makes everything accepted so far survive a power cut. RESULT_FULL, RESULT_IO: it may not; what
 * was accepted is still there, try again. */
Result drum_persist(Drum *drum);

/* Where the collecting generation's file ends; valid behind drum_persist. */
DrumPosition drum_position(const Drum *drum);
/* A bucket of the generation that is collecting has reached its size. */
bool drum_is_full(const Drum *drum);
/* Elements of the generation that is being collected. */
uint64_t drum_collected(const Drum *drum);

/* Ends the generation that is collecting, if it has elements. Errors as drum_persist. */
Result drum_seal(Drum *drum);
/* Sealed generations that wait, the one being merged included. */
size_t drum_sealed_count(const Drum *drum);

/* Takes the oldest sealed generation. RESULT_NOT_FOUND: none waits, or one is being merged. */
Result drum_merge_begin(Drum *drum, DrumMerge **merge);
/* Merges it; needs no lock. Errors of the repository and of callbacks; RESULT_DAMAGED. The buckets
 * committed before the error stay merged. */
Result drum_merge_run(DrumMerge *merge);
/* Gives it back: after success its file is removed. Always frees merge. */
Result drum_merge_end(Drum *drum, DrumMerge *merge);

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

/* Seals and merges until nothing waits, in the calling thread. Errors as drum_merge_run; the rest
 * waits for the next call. RESULT_LOCKED: a merge is running. */
Result drum_synchronize(Drum *drum);

void drum_stats(const Drum *drum, DrumStats *stats);

/* Persists what was not merged, closes the files and frees; NULL is allowed. The repository is not
 * closed. No merge may be running. Errors as drum_persist; it is freed nevertheless. */
Result drum_dispose(Drum *drum);

/* Reads every bucket file of a directory that no process has open and checks every checksum;
 * changes nothing. recovery says what drum_open would find (its dropped_files is 0). RESULT_DAMAGED
 * when anything is torn or damaged. */
Result drum_verify(const char *directory, DrumRecovery *recovery);

/* Every element that can be read, of the generations from `from` on up to what was committed, in
 * the order of the files; changes nothing. recovery: what is damaged or missing of that; what lies
 * behind is not looked at. A visit's result other than RESULT_OK ends the walk and is returned. */
typedef Result (*DrumVisit)(void *context, uint64_t generation, const DrumKey *key,
                            DrumBytes auxiliary);
Result drum_walk(const char *directory, DrumProgress from, DrumPosition committed, DrumVisit visit,
                 void *context, DrumRecovery *recovery);

#endif
