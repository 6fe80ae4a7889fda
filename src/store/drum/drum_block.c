#include "store/drum/drum_block.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum_element.h"

_Static_assert(sizeof(DrumFileHeader) == DRUM_FILE_HEADER, "file header");
_Static_assert(sizeof(DrumBlockHeader) == DRUM_BLOCK_HEADER, "block header");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bucket files are little-endian");

Result drum_block_read_bytes(int fd, void *bytes, size_t length, uint64_t offset)
{
    char *at = bytes;
    while (length > 0) {
        ssize_t n = pread(fd, at, length, (off_t)offset);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return result_of_errno(errno);
        }
        if (n == 0) {
            return RESULT_DAMAGED;
        }
        at += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return RESULT_OK;
}

Result drum_block_read_header(const DrumFile *file, uint64_t offset, DrumBlockHeader *header)
{
    Result rc = drum_block_read_bytes(file->fd, header, sizeof *header, offset);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t checksum = hash_64(header, offsetof(DrumBlockHeader, checksum), file->generation);
    bool good = header->magic == DRUM_BLOCK_MAGIC && header->checksum == checksum &&
                header->bucket < file->buckets && header->elements > 0 &&
                header->keys_bytes <= DRUM_MAX_KEYS_SECTION &&
                header->elements <= header->keys_bytes / DRUM_ELEMENT_LEAST &&
                header->durable <= offset;
    return good ? RESULT_OK : RESULT_DAMAGED;
}

Result drum_block_reserve(DrumFile *file)
{
    if (file->n_blocks < file->capacity) {
        return RESULT_OK;
    }
    size_t capacity = file->capacity == 0 ? 64 : file->capacity * 2;
    DrumBlock *blocks = realloc(file->blocks, capacity * sizeof *blocks);
    if (blocks == NULL) {
        return RESULT_MEMORY;
    }
    file->blocks = blocks;
    file->capacity = capacity;
    return RESULT_OK;
}

void drum_block_note(DrumFile *file, const DrumBlock *block)
{
    file->blocks[file->n_blocks++] = *block;
    file->elements += block->elements;
    file->size = drum_block_end(block);
}
