/* A DRUM repository of its own file format: a few sorted runs of 64-bit keys.
 *
 * What: each merge sweeps all runs side by side, newest first where they disagree, and writes what
 * it puts as one new run. When there are more than DRUM_RUNS_MOST, the youngest are merged into
 * one. A manifest names the runs and the progress; replacing it (write, fsync, rename, fsync of the
 * directory) is the commit. A merge of a generation is one commit, whatever its size.
 *
 *   DIR/manifest   DIR/0000000000000001.run ...   files that the manifest does not name are remains
 *                                                 of a crash and removed by drum_runs_open
 *
 *   run   := block* end                      all numbers little-endian
 *   block := header entry*                   up to 4 096 of them
 *   entry := varint key, varint length, value
 *   end   := header of no entries
 *
 * A key is written as its distance from the one before in the block (six bytes for 60 million
 * random keys). The header has two 64-bit XXH3 checksums, of its other fields and of the entries.
 * So a look-up passes over a block that ends before its key by the header alone.
 *
 * A merge reads everything and writes what is new: sequential, whatever the number of keys. The
 * URL-seen test of tests/bench/bench_drum.c (check_updates with 60-byte auxiliaries, 8-byte values,
 * a tenth of the full scale) does 3.4 M operations per CPU-second at 15.4 B of disk a key and 29 MB
 * resident, 70 to 90 times as fast as looking keys up one by one. At the full scale a table of
 * LMDB, whose tree is touched all over at the end of each merge, did two fifths of the operations
 * of runs.
 *
 * Owns: the directory, which is locked, and the files in it.
 * Threads: drum_runs_get and drum_runs_count must not run beside a merge's commit; the merge itself
 * belongs to one thread.
 * Invariants: whatever is read was checked before; keys of a run ascend strictly.
 * Errors: each function names its own. */
#ifndef STORE_DRUM_DRUM_RUNS_H
#define STORE_DRUM_DRUM_RUNS_H

#include "store/drum/drum.h"

#define DRUM_RUNS_MOST 8u

typedef struct DrumRunsOptions {
    const char *directory; /* created if missing (not its parents) */
} DrumRunsOptions;

/* RESULT_LOCKED: another process has it. RESULT_DAMAGED, RESULT_VERSION, RESULT_IO,
 * RESULT_MEMORY. */
Result drum_runs_open(DrumRepository **repository, const DrumRunsOptions *options);
void drum_runs_close(DrumRepository *repository);

/* Reads one key outside of merges, for tests and tools: the headers of blocks up to that of the key
 * are read. value is malloc'd, the caller frees it.
 * RESULT_NOT_FOUND, RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. */
Result drum_runs_get(DrumRepository *repository, uint64_t key, void **value, size_t *length);
/* How many keys there are. */
uint64_t drum_runs_count(DrumRepository *repository);
/* Reads everything and checks every checksum. RESULT_DAMAGED, RESULT_IO. */
Result drum_runs_verify(DrumRepository *repository);

#endif
