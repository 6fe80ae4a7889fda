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
 * Repositories: drum_runs.h is a file format of sorted runs for key sets far larger than memory.
 * The crawler's own is PageDB's table (frontier/sieve/page_merge.h). Others implement
 * DrumRepository: a repository over a table that exists already gives the keys a form of its own in
 * find and put.
 *
 * The bulk look-ups of seed 001 are a repository each. robots.txt: key = hash of scheme and
 * authority, value = its text. Hosts that were fetched are entered with drum_update. A URL that
 * needs the rules of its host is given to drum_check_with as auxiliary. It comes back by
 * duplicate_key_check with the text, or by unique_key_check: fetch robots.txt first. DNS: key =
 * hash of the host name, value = address and time to live; drum_update replaces an address that was
 * resolved again (tests/unit/test_drum_lookup.c).
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

#include "store/drum/drum_types.h"

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
/* Gives it back: after success its file is removed. Always frees merge. */
Result drum_merge_end(Drum *drum, DrumMerge *merge);

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

Result drum_walk(const char *directory, DrumProgress from, DrumPosition committed, DrumVisit visit,
                 void *context, DrumRecovery *recovery);

#endif
