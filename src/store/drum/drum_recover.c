#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/drum/drum_inside.h"

/* --- generations ----------------------------------------------------------------------------- */

DrumGeneration *drum_generation_new(const Drum *drum, uint64_t number)
{
    DrumGeneration *generation = calloc(1, sizeof *generation);
    if (generation != NULL) {
        drum_file_init(&generation->file, drum->directory, number, drum->options.keys,
                       drum->options.buckets);
    }
    return generation;
}

void drum_generation_delete(DrumGeneration *generation)
{
    if (generation != NULL) {
        drum_file_destroy(&generation->file);
        free(generation);
    }
}

Result drum_reserve_sealed(Drum *drum)
{
    if (drum->n_sealed < drum->sealed_capacity) {
        return RESULT_OK;
    }
    size_t capacity = drum->sealed_capacity == 0 ? 4 : 2 * drum->sealed_capacity;
    DrumGeneration **sealed = realloc(drum->sealed, capacity * sizeof(DrumGeneration *));
    if (sealed == NULL) {
        return RESULT_MEMORY;
    }
    drum->sealed = sealed;
    drum->sealed_capacity = capacity;
    return RESULT_OK;
}

/* --- recovery -------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The generations that have a file, ascending; the caller frees. */
static Result list_generations(int directory, uint64_t **numbers, size_t *n)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return result_of_errno(error);
    }
    *numbers = NULL;
    *n = 0;
    size_t capacity = 0;
    Result rc = RESULT_OK;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        uint64_t number;
        if (!drum_file_parse_name(entry->d_name, &number)) {
            continue;
        }
        if (*n == capacity) {
            capacity = capacity == 0 ? 16 : 2 * capacity;
            uint64_t *more = realloc(*numbers, capacity * sizeof *more);
            if (more == NULL) {
                rc = RESULT_MEMORY;
                break;
            }
            *numbers = more;
        }
        (*numbers)[(*n)++] = number;
    }
    (void)closedir(stream);
    if (rc == RESULT_OK && *n > 1) {
        qsort(*numbers, *n, sizeof **numbers, compare_numbers);
    }
    return rc;
}

/* Puts a file whose header is lost out of the way, for a human. */
static Result set_aside(int directory, uint64_t number)
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
static Result cut_uncommitted(const Drum *drum, uint64_t number, DrumRecovery *recovery)
{
    char name[DRUM_FILE_NAME_BYTES];
    uint64_t bytes = drum->options.committed->bytes;
    drum_file_name(number, name);
    int fd = openat(drum->directory, name, O_RDWR | O_CLOEXEC);
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
static Result recover_generation(Drum *drum, uint64_t number, DrumProgress progress,
                                 DrumRecovery *recovery)
{
    if (number < progress.generation) {
        recovery->dropped_files++;
        return remove_file(drum->directory, number);
    }
    const DrumPosition *committed = drum->options.committed;
    if (committed != NULL && (number > committed->generation ||
                              (number == committed->generation && committed->bytes == 0))) {
        recovery->dropped_files++;
        return remove_file(drum->directory, number);
    }
    uint64_t damaged_before = recovery->damaged_bytes;
    Result rc = committed != NULL && number == committed->generation
                    ? cut_uncommitted(drum, number, recovery)
                    : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = drum_reserve_sealed(drum);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    DrumGeneration *generation = drum_generation_new(drum, number);
    if (generation == NULL) {
        return RESULT_MEMORY;
    }
    rc = drum_file_recover(&generation->file, drum->directory, number, true, false, recovery);
    bool headless = rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND;
    if (rc == RESULT_NOT_FOUND) {
        rc = remove_file(drum->directory, number);
    } else if (recovery->damaged_bytes > damaged_before && !drum->options.skip_damaged) {
        rc = RESULT_DAMAGED;
    } else if (rc == RESULT_DAMAGED) {
        rc = set_aside(drum->directory, number);
    } else if (rc == RESULT_OK && generation->file.keys != drum->options.keys) {
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
    drum->sealed[drum->n_sealed++] = generation;
    return RESULT_OK;
}

/* Generations that the owner's last commit knows of and that have no file. */
static Result miss_files(const Drum *drum, DrumProgress progress, const uint64_t *numbers, size_t n,
                         DrumRecovery *recovery)
{
    const DrumPosition *committed = drum->options.committed;
    if (committed == NULL) {
        return RESULT_OK;
    }
    uint64_t end = committed->generation + (committed->bytes > 0 ? 1 : 0);
    uint64_t missing = end > progress.generation ? end - progress.generation : 0;
    for (size_t i = 0; i < n; i++) {
        missing -= numbers[i] >= progress.generation && numbers[i] < end ? 1 : 0;
    }
    recovery->damaged_elements += missing;
    recovery->damaged_bytes += missing * DRUM_FILE_HEADER;
    return missing == 0 || drum->options.skip_damaged ? RESULT_OK : RESULT_DAMAGED;
}

Result drum_recover(Drum *drum, DrumRecovery *recovery)
{
    DrumProgress progress = {0, 0};
    uint64_t *numbers = NULL;
    size_t n = 0;
    Result rc = drum->options.repository->progress(drum->options.repository, &progress);
    if (rc == RESULT_OK) {
        rc = list_generations(drum->directory, &numbers, &n);
    }
    if (rc == RESULT_OK) {
        rc = miss_files(drum, progress, numbers, n, recovery);
    }
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        rc = recover_generation(drum, numbers[i], progress, recovery);
    }
    /* A half-merged generation whose file is gone must not lend its number to a new one. */
    uint64_t next = progress.generation + (progress.bucket > 0 ? 1 : 0);
    const DrumPosition *committed = drum->options.committed;
    uint64_t end = committed != NULL ? committed->generation + (committed->bytes > 0 ? 1 : 0)
                   : n > 0           ? numbers[n - 1] + 1
                                     : 0;
    next = end > next ? end : next;
    free(numbers);
    if (rc == RESULT_OK) {
        drum->collecting = drum_generation_new(drum, next);
        rc = drum->collecting != NULL ? RESULT_OK : RESULT_MEMORY;
    }
    return rc;
}

Result drum_verify(const char *directory, DrumRecovery *recovery)
{
    uint64_t *numbers = NULL;
    size_t n = 0;
    *recovery = (DrumRecovery){.generations = 0};
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = list_generations(fd, &numbers, &n);
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        DrumFile file;
        rc = drum_file_recover(&file, fd, numbers[i], false, true, recovery);
        if (rc == RESULT_OK) {
            recovery->generations++;
            recovery->elements += file.elements;
        } else if (rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND) {
            rc = RESULT_OK; /* counted in recovery */
        }
        drum_file_destroy(&file);
    }
    free(numbers);
    (void)close(fd);
    bool clean = recovery->torn_bytes == 0 && recovery->damaged_bytes == 0;
    return rc == RESULT_OK && !clean ? RESULT_DAMAGED : rc;
}

/* ---- walking --------------------------------------------------------------------------------- */

typedef struct Walk {
    DrumVisit visit;
    void *context;
    DrumRecovery *recovery;
    uint8_t *keys; /* of one block */
    uint8_t *auxiliaries;
} Walk;

static Result walk_elements(const Walk *walk, const DrumFile *file, const DrumBlock *block)
{
    const uint8_t *at = walk->keys;
    const uint8_t *end = at + block->keys_bytes;
    size_t left = block->auxiliary_bytes;
    Result rc = RESULT_OK;
    for (uint32_t i = 0; rc == RESULT_OK && i < block->elements; i++) {
        DrumElement element;
        at = drum_element_decode(at, end, file->keys, &element);
        if (at == NULL || element.auxiliary_length > left) {
            return RESULT_DAMAGED;
        }
        left -= element.auxiliary_length;
        DrumBytes auxiliary = {element.has_auxiliary ? walk->auxiliaries + left : NULL,
                               element.auxiliary_length};
        rc = walk->visit(walk->context, file->generation, &element.key, auxiliary);
    }
    return rc;
}

static Result walk_block(Walk *walk, const DrumFile *file, const DrumBlock *block)
{
    free(walk->keys);
    free(walk->auxiliaries);
    walk->keys = malloc((size_t)block->keys_bytes + 1);
    walk->auxiliaries = malloc((size_t)block->auxiliary_bytes + 1);
    if (walk->keys == NULL || walk->auxiliaries == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = drum_file_read_keys(file, block, walk->keys);
    if (rc == RESULT_OK) {
        rc = drum_file_read_auxiliaries(file, block, walk->auxiliaries);
    }
    if (rc == RESULT_DAMAGED) {
        walk->recovery->damaged_bytes += block->keys_bytes + block->auxiliary_bytes;
        walk->recovery->damaged_elements += block->elements;
        return RESULT_OK;
    }
    return rc == RESULT_OK ? walk_elements(walk, file, block) : rc;
}

/* One file, up to bytes. */
static Result walk_file(Walk *walk, int directory, uint64_t number, uint64_t bytes)
{
    DrumFile file;
    DrumRecovery found = {.generations = 0};
    Result rc = drum_file_recover(&file, directory, number, false, false, &found);
    uint64_t reached = file.size < bytes ? file.size : bytes;
    if (rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND) {
        found.damaged_bytes = bytes == UINT64_MAX ? found.torn_bytes : bytes;
        found.damaged_elements++;
        rc = RESULT_OK;
    } else if (rc == RESULT_OK) {
        found.damaged_bytes += bytes == UINT64_MAX ? found.torn_bytes : bytes - reached;
        walk->recovery->generations++;
        for (size_t i = 0; rc == RESULT_OK && i < file.n_blocks; i++) {
            if (file.blocks[i].offset < bytes) {
                walk->recovery->elements += file.blocks[i].elements;
                rc = walk_block(walk, &file, &file.blocks[i]);
            }
        }
    }
    walk->recovery->damaged_bytes += found.damaged_bytes;
    walk->recovery->damaged_elements += found.damaged_elements;
    drum_file_destroy(&file);
    return rc;
}

Result drum_walk(const char *path, DrumProgress from, DrumPosition committed, DrumVisit visit,
                 void *context, DrumRecovery *recovery)
{
    Walk walk = {.visit = visit, .context = context, .recovery = recovery};
    *recovery = (DrumRecovery){.generations = 0};
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t end = committed.generation + (committed.bytes > 0 ? 1 : 0);
    Result rc = directory >= 0 || end <= from.generation ? RESULT_OK : result_of_errno(errno);
    for (uint64_t n = from.generation; rc == RESULT_OK && n < end; n++) {
        rc = walk_file(&walk, directory, n,
                       n == committed.generation ? committed.bytes : UINT64_MAX);
    }
    if (directory >= 0) {
        (void)close(directory);
    }
    free(walk.keys);
    free(walk.auxiliaries);
    return rc;
}
