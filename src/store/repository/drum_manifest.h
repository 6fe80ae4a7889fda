/* The manifest of a directory of sorted runs: which runs count, and how far the merges are.
 *
 * What: a file that is replaced as a whole (write, fsync, rename, fsync of the directory).
 * Replacing it is the commit of a repository of runs.
 * Owns: nothing.
 * Threads: the merging one.
 * Errors: RESULT_DAMAGED, RESULT_VERSION, RESULT_FULL, RESULT_IO. */
#ifndef STORE_REPOSITORY_DRUM_MANIFEST_H
#define STORE_REPOSITORY_DRUM_MANIFEST_H

#include "store/repository/drum_runs.h"

#define DRUM_MANIFEST_RUNS       (DRUM_RUNS_MOST + 1) /* between a new run and their merge */
#define DRUM_MANIFEST_NAME_BYTES 32u

typedef struct DrumManifest {
    uint64_t magic;
    uint32_t version;
    uint32_t n_runs;
    uint64_t generation; /* the progress */
    uint32_t bucket;
    uint32_t reserved;
    uint64_t keys;      /* distinct ones in all runs */
    uint64_t next_name; /* the number of the next run's file */
    uint64_t names[DRUM_MANIFEST_RUNS];
    uint64_t checksum; /* of the bytes before it */
} DrumManifest;

/* "0000000000000001.run": the file of a run. */
void drum_manifest_run_name(uint64_t number, char name[DRUM_MANIFEST_NAME_BYTES]);
/* An empty manifest when there is no file. */
Result drum_manifest_read(int directory, DrumManifest *manifest);
/* *replaced tells whether the manifest on disk is the new one, which an error does not rule out. */
Result drum_manifest_write(int directory, DrumManifest *manifest, bool *replaced);

#endif
