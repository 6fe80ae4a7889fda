/* Reading the bucket files of a directory that no process has open: drum_verify, drum_walk. */
#include "store/drum/drum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/drum/drum_element.h"
#include "store/drum/drum_generation.h"

Result drum_verify(const char *directory, DrumRecovery *recovery)
{
    uint64_t *numbers = NULL;
    size_t n = 0;
    *recovery = (DrumRecovery){.generations = 0};
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = drum_generations_list_files(fd, &numbers, &n);
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
static Result drum_walk_file(Walk *walk, int directory, uint64_t number, uint64_t bytes)
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
        rc = drum_walk_file(&walk, directory, n,
                            n == committed.generation ? committed.bytes : UINT64_MAX);
    }
    if (directory >= 0) {
        (void)close(directory);
    }
    free(walk.keys);
    free(walk.auxiliaries);
    return rc;
}
