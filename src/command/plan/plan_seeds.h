/* Plan seeds: `ragno plan -i FILE`, the dry run of a list of seeds.
 *
 * What: a crawl in a folder of TMPDIR that goes as a crawl with these settings would, but for this:
 * once robots.txt of a host is there, and scope, filters and robots.txt have allowed a page, it is
 * refused. So names are resolved, robots.txt is fetched with all delays, and nothing else is asked
 * for. What has failed once is not tried again. Then it is told, and the folder is
 * removed.
 * Threads: main; the crawl has its own, and takes signals as always. */
#pragma once

#include "crawl/command_line.h"

#define PLAN_SEED_FILES 64u

typedef struct PlanSeeds {
    const char *files[PLAN_SEED_FILES];
    size_t n_files;
    char *const *words; /* URLs */
    size_t n_words;
} PlanSeeds;

/* Returns the exit status. */
int plan_seeds(const PlanSeeds *seeds, const CheckOptions *options, bool json);
