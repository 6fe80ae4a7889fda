#include "store/drum/drum_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A recovery under way. */
typedef struct Recover {
    int directory;
    const DrumOptions *options;
    DrumProgress progress; /* of the repository */
    DrumGenerations *sealed;
    DrumRecovery *found;
} Recover;

/* Puts a file whose header is lost out of the way, for a human. */
static Result drum_recover_set_aside(int directory, uint64_t number)
{
    char name[DRUM_FILE_NAME_BYTES];
    char aside[DRUM_FILE_NAME_BYTES + 16];
    drum_file_name(number, name);
    int n = snprintf(aside, sizeof aside, "%s.damaged", name);
    if (n <= 0 || renameat(directory, name, directory, aside) != 0) {
        return result_of_errno(errno);
    }
    return RESULT_OK;
}

static Result remove_file(int directory, uint64_t number)
{
    char name[DRUM_FILE_NAME_BYTES];
    drum_file_name(number, name);
    return unlinkat(directory, name, 0) == 0 ? RESULT_OK : result_of_errno(errno);
}

static uint64_t elements_left(const DrumGeneration *generation)
{
    uint64_t elements = 0;
    for (size_t i = 0; i < generation->file.n_blocks; i++) {
        const DrumBlock *block = &generation->file.blocks[i];
        elements += block->bucket >= generation->next_bucket ? block->elements : 0;
    }
    return elements;
}

/* Cuts off what the owner's last commit does not know of. A file that ends before it has lost
 * something that was durable. */
static Result cut_uncommitted(const Recover *recover, uint64_t number)
{
    DrumRecovery *recovery = recover->found;
    char name[DRUM_FILE_NAME_BYTES];
    uint64_t bytes = recover->options->committed->bytes;
    drum_file_name(number, name);
    int fd = openat(recover->directory, name, O_RDWR | O_CLOEXEC);
    struct stat status = {.st_size = 0};
    Result rc = fd >= 0 && fstat(fd, &status) == 0 ? RESULT_OK : result_of_errno(errno);
    if (rc == RESULT_OK && (uint64_t)status.st_size > bytes) {
        recovery->torn_bytes += (uint64_t)status.st_size - bytes;
        rc = ftruncate(fd, (off_t)bytes) == 0 && fdatasync(fd) == 0 ? RESULT_OK
                                                                    : result_of_errno(errno);
    } else if (rc == RESULT_OK && (uint64_t)status.st_size < bytes) {
        recovery->damaged_bytes += bytes - (uint64_t)status.st_size;
        recovery->damaged_elements++;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* Opens one file of an earlier run and lines it up for its merge. */
static Result recover_generation(const Recover *recover, uint64_t number)
{
    DrumProgress progress = recover->progress;
    DrumRecovery *recovery = recover->found;
    if (number < progress.generation) {
        recovery->dropped_files++;
        return remove_file(recover->directory, number);
    }
    const DrumPosition *committed = recover->options->committed;
    if (committed != NULL && (number > committed->generation ||
                              (number == committed->generation && committed->bytes == 0))) {
        recovery->dropped_files++;
        return remove_file(recover->directory, number);
    }
    uint64_t damaged_before = recovery->damaged_bytes;
    Result rc = committed != NULL && number == committed->generation
                    ? cut_uncommitted(recover, number)
                    : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = drum_generations_reserve(recover->sealed);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    DrumGeneration *generation = drum_generation_new(recover->directory, recover->options, number);
    if (generation == NULL) {
        return RESULT_MEMORY;
    }
    rc = drum_file_recover(&generation->file, recover->directory, number, true, false, recovery);
    bool headless = rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND;
    if (rc == RESULT_NOT_FOUND) {
        rc = remove_file(recover->directory, number);
    } else if (recovery->damaged_bytes > damaged_before && !recover->options->skip_damaged) {
        rc = RESULT_DAMAGED;
    } else if (rc == RESULT_DAMAGED) {
        rc = drum_recover_set_aside(recover->directory, number);
    } else if (rc == RESULT_OK && generation->file.keys != recover->options->keys) {
        rc = RESULT_INVALID;
    }
    if (rc != RESULT_OK || headless) {
        drum_generation_delete(generation);
        return rc;
    }
    generation->next_bucket = number == progress.generation ? progress.bucket : 0;
    if (generation->next_bucket > generation->file.buckets) {
        drum_generation_delete(generation);
        return RESULT_DAMAGED;
    }
    recovery->generations++;
    recovery->elements += elements_left(generation);
    drum_generations_add(recover->sealed, generation);
    return RESULT_OK;
}

/* Generations that the owner's last commit knows of and that have no file. */
static Result miss_files(const Recover *recover, const uint64_t *numbers, size_t n)
{
    DrumProgress progress = recover->progress;
    const DrumPosition *committed = recover->options->committed;
    if (committed == NULL) {
        return RESULT_OK;
    }
    uint64_t end = committed->generation + (committed->bytes > 0 ? 1 : 0);
    uint64_t missing = end > progress.generation ? end - progress.generation : 0;
    for (size_t i = 0; i < n; i++) {
        missing -= numbers[i] >= progress.generation && numbers[i] < end ? 1 : 0;
    }
    recover->found->damaged_elements += missing;
    recover->found->damaged_bytes += missing * DRUM_FILE_HEADER;
    return missing == 0 || recover->options->skip_damaged ? RESULT_OK : RESULT_DAMAGED;
}

Result drum_recover(int directory, const DrumOptions *options, DrumGenerations *sealed,
                    DrumGeneration **collecting, DrumRecovery *recovery)
{
    Recover recover = {
        .directory = directory, .options = options, .sealed = sealed, .found = recovery};
    uint64_t *numbers = NULL;
    size_t n = 0;
    Result rc = options->repository->progress(options->repository, &recover.progress);
    if (rc == RESULT_OK) {
        rc = drum_generations_list_files(directory, &numbers, &n);
    }
    if (rc == RESULT_OK) {
        rc = miss_files(&recover, numbers, n);
    }
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        rc = recover_generation(&recover, numbers[i]);
    }
    /* A half-merged generation whose file is gone must not lend its number to a new one. */
    uint64_t next = recover.progress.generation + (recover.progress.bucket > 0 ? 1 : 0);
    const DrumPosition *committed = options->committed;
    uint64_t end = committed != NULL ? committed->generation + (committed->bytes > 0 ? 1 : 0)
                   : n > 0           ? numbers[n - 1] + 1
                                     : 0;
    next = end > next ? end : next;
    free(numbers);
    if (rc == RESULT_OK) {
        *collecting = drum_generation_new(directory, options, next);
        rc = *collecting != NULL ? RESULT_OK : RESULT_MEMORY;
    }
    return rc;
}
