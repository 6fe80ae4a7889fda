/* Finding the blocks of a bucket file that an earlier run left, and what is torn or damaged. */
#include "store/drum/drum_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum_block.h"

typedef struct Scan {
    DrumFile *file;
    uint64_t file_bytes;       /* of the file on disk */
    uint64_t promised;         /* the largest durable size that a block header tells of */
    uint64_t partial_elements; /* of blocks that reach behind the end of the file */
} Scan;

/* The next offset from start on at which a block header can be read; file_bytes when none. */
static Result find_header(Scan *scan, uint64_t start, uint64_t *found)
{
    enum { WINDOW = 1 << 16 };
    uint8_t *window = malloc(WINDOW);
    if (window == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = RESULT_OK;
    *found = scan->file_bytes;
    for (uint64_t at = drum_block_padded(start); at + DRUM_BLOCK_HEADER <= scan->file_bytes;) {
        uint64_t left = scan->file_bytes - at;
        size_t length = left < WINDOW ? (size_t)left : WINDOW;
        rc = drum_block_read_bytes(scan->file->fd, window, length, at);
        if (rc != RESULT_OK) {
            break;
        }
        for (size_t i = 0; i + sizeof(uint32_t) <= length; i += 8) {
            uint32_t magic;
            DrumBlockHeader header;
            memcpy(&magic, window + i, sizeof magic);
            if (magic == DRUM_BLOCK_MAGIC &&
                drum_block_read_header(scan->file, at + i, &header) == RESULT_OK) {
                *found = at + i;
                free(window);
                return RESULT_OK;
            }
        }
        at += length < WINDOW ? left : (uint64_t)WINDOW;
    }
    free(window);
    return rc;
}

/* Walks the headers from block to block; where one cannot be read, looks for the next that can. */
static Result scan_headers(Scan *scan)
{
    DrumFile *file = scan->file;
    uint64_t at = DRUM_FILE_HEADER;
    while (at < scan->file_bytes) {
        DrumBlockHeader header;
        Result rc = drum_block_read_header(file, at, &header);
        if (rc == RESULT_OK) {
            DrumBlock block = {.offset = at,
                               .first_sequence = header.first_sequence,
                               .elements = header.elements,
                               .keys_bytes = header.keys_bytes,
                               .auxiliary_bytes = header.auxiliary_bytes,
                               .bucket = header.bucket};
            if (drum_block_end(&block) <= scan->file_bytes) {
                rc = drum_block_reserve(file);
                if (rc != RESULT_OK) {
                    return rc;
                }
                drum_block_note(file, &block);
                at = file->size;
                scan->promised = header.durable > scan->promised ? header.durable : scan->promised;
                continue;
            }
            scan->partial_elements += header.elements;
        } else if (rc != RESULT_DAMAGED) {
            return rc;
        }
        rc = find_header(scan, at + 8, &at);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static bool sections_are_good(const DrumFile *file, const DrumBlock *block, uint8_t **bytes,
                              size_t *capacity)
{
    size_t need =
        block->keys_bytes > block->auxiliary_bytes ? block->keys_bytes : block->auxiliary_bytes;
    if (need > *capacity) {
        uint8_t *more = realloc(*bytes, need);
        if (more == NULL) {
            return false;
        }
        *bytes = more;
        *capacity = need;
    }
    return drum_file_read_keys(file, block, *bytes) == RESULT_OK &&
           drum_file_read_auxiliaries(file, block, *bytes) == RESULT_OK;
}

/* Blocks from number n on, and all bytes from cut on, are a torn tail. */
static Result drum_file_recover_cut_tail(Scan *scan, size_t n, uint64_t cut, bool repair,
                                         DrumRecovery *recovery)
{
    DrumFile *file = scan->file;
    for (size_t i = n; i < file->n_blocks; i++) {
        recovery->torn_elements += file->blocks[i].elements;
        file->elements -= file->blocks[i].elements;
    }
    recovery->torn_elements += scan->partial_elements;
    recovery->torn_bytes += scan->file_bytes - cut;
    file->n_blocks = n;
    file->size = cut;
    if (repair && scan->file_bytes > cut &&
        (ftruncate(file->fd, (off_t)cut) != 0 || fdatasync(file->fd) != 0)) {
        return result_of_errno(errno);
    }
    return RESULT_OK;
}

/* Tells gaps and bad sections apart: below the promised size they are damage, else the tear. */
static Result judge_blocks(Scan *scan, bool repair, bool everything, DrumRecovery *recovery)
{
    DrumFile *file = scan->file;
    uint8_t *bytes = NULL;
    size_t capacity = 0;
    uint64_t expected = DRUM_FILE_HEADER;
    size_t i = 0;
    for (; i < file->n_blocks; i++) {
        const DrumBlock *block = &file->blocks[i];
        if (block->offset > expected) {
            if (expected >= scan->promised) {
                break;
            }
            recovery->damaged_bytes += block->offset - expected;
            recovery->damaged_elements++;
        }
        bool promised = drum_block_end(block) <= scan->promised;
        if ((!promised || everything) && !sections_are_good(file, block, &bytes, &capacity)) {
            expected = block->offset;
            if (!promised) {
                break;
            }
            recovery->damaged_bytes += drum_block_end(block) - block->offset;
            recovery->damaged_elements += block->elements;
        }
        expected = drum_block_end(block);
    }
    free(bytes);
    return drum_file_recover_cut_tail(scan, i, expected, repair, recovery);
}

/* The file header cannot be trusted: was anything in this file promised? */
static Result judge_headless(Scan *scan, DrumRecovery *recovery)
{
    scan->file->buckets = UINT32_MAX;
    Result rc = scan_headers(scan);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (scan->promised > 0) {
        recovery->damaged_bytes += scan->file_bytes;
        recovery->damaged_elements += scan->file->elements;
        return RESULT_DAMAGED;
    }
    recovery->torn_bytes += scan->file_bytes;
    recovery->torn_elements += scan->file->elements + scan->partial_elements;
    return RESULT_NOT_FOUND;
}

Result drum_file_recover(DrumFile *file, int directory, uint64_t generation, bool repair,
                         bool everything, DrumRecovery *recovery)
{
    char name[DRUM_FILE_NAME_BYTES];
    drum_file_name(generation, name);
    drum_file_init(file, directory, generation, DRUM_KEYS_NUMBERS, 1);
    file->fd = openat(directory, name, (repair ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) != 0) {
        return result_of_errno(errno);
    }
    Scan scan = {.file = file, .file_bytes = (uint64_t)status.st_size};
    DrumFileHeader header = {0};
    Result rc = drum_block_read_bytes(file->fd, &header, sizeof header, 0);
    if (rc != RESULT_OK && rc != RESULT_DAMAGED) {
        return rc;
    }
    if (rc == RESULT_OK && header.magic == DRUM_FILE_MAGIC && header.version != DRUM_FILE_VERSION) {
        return RESULT_VERSION;
    }
    uint64_t checksum = hash_64(&header, offsetof(DrumFileHeader, checksum), generation);
    bool good = rc == RESULT_OK && header.magic == DRUM_FILE_MAGIC && header.checksum == checksum &&
                header.generation == generation && header.buckets > 0 &&
                header.buckets <= DRUM_MAX_BUCKETS &&
                (header.buckets & (header.buckets - 1)) == 0 && header.keys <= DRUM_KEYS_BYTES;
    if (!good) {
        return judge_headless(&scan, recovery);
    }
    file->buckets = header.buckets;
    file->keys = (DrumKeys)header.keys;
    file->size = DRUM_FILE_HEADER;
    rc = scan_headers(&scan);
    if (rc == RESULT_OK) {
        rc = judge_blocks(&scan, repair, everything, recovery);
    }
    file->durable = 0; /* the next sync makes sure, whatever the headers promise */
    return rc;
}
