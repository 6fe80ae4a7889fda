/* Plan seeds: `ragno plan -i FILE`, the dry run of a list of seeds.
 *
 * What: a crawl in a folder of TMPDIR that goes as a crawl with these settings would, but for this:
 * once robots.txt of a host is there, and scope, filters and robots.txt have allowed a page, it is
 * refused. So names are resolved, robots.txt is fetched with all delays, and nothing else is asked
 * for. What has failed once is not tried again. Then plan_seeds.h tells, and the folder is
 * removed.
 * Threads: main; the crawl has its own, and takes signals as always. */
#ifndef COMMAND_PLAN_PLAN_SEEDS_H
#define COMMAND_PLAN_PLAN_SEEDS_H

#include "base/memory/buffer.h"
#include "command/check/check_options.h"

/* Plan folder: how much a folder holds on the disk, and the end of a temporary one.
 *
 * What: goes through a folder and those in it, to PLAN_FOLDER_DEPTH; links are not followed.
 * Owns: nothing.
 * Threads: any.
 * Errors: what cannot be looked at is left out, or stays. */

#define PLAN_FOLDER_DEPTH 8u

/* Bytes of the blocks that its files take. */
double plan_folder_bytes(const char *path);
/* Makes a folder in TMPDIR (or /tmp) and appends its path. RESULT_IO, RESULT_MEMORY. */
Result plan_folder_make(Buffer *path);
/* Removes it with all that it holds. */
void plan_folder_remove(const char *path);

#define PLAN_SEED_FILES 64u

typedef struct PlanSeeds {
    const char *files[PLAN_SEED_FILES];
    size_t n_files;
    char *const *words; /* URLs */
    size_t n_words;
} PlanSeeds;

/* An exit status. */
int plan_seeds(const PlanSeeds *seeds, const CheckOptions *options, bool json);

#endif
