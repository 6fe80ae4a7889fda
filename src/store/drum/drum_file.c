#include "store/drum/drum_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum_block.h"

void drum_file_name(uint64_t generation, char *name)
{
    int n = snprintf(name, DRUM_FILE_NAME_BYTES, "%016" PRIx64 DRUM_FILE_SUFFIX, generation);
    assert(n > 0 && (size_t)n < DRUM_FILE_NAME_BYTES);
}

bool drum_file_parse_name(const char *name, uint64_t *generation)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 16; i++) {
        char c = name[i];
        if (c >= '0' && c <= '9') {
            number = number << 4 | (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            number = number << 4 | (uint64_t)(c - 'a' + 10);
        } else {
            return false;
        }
    }
    *generation = number;
    return strcmp(name + 16, DRUM_FILE_SUFFIX) == 0;
}

/* --- writing -------------------------------------------------------------------------------- */

void drum_file_init(DrumFile *file, int directory, uint64_t generation, DrumKeys keys,
                    uint32_t buckets)
{
    *file = (DrumFile){.directory = directory,
                       .fd = -1,
                       .generation = generation,
                       .keys = keys,
                       .buckets = buckets};
}

void drum_file_destroy(DrumFile *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    free(file->blocks);
    drum_file_init(file, -1, 0, DRUM_KEYS_NUMBERS, 1);
}

Result drum_file_remove(DrumFile *file)
{
    char name[DRUM_FILE_NAME_BYTES];
    Result rc = RESULT_OK;
    if (file->fd >= 0) {
        drum_file_name(file->generation, name);
        rc = unlinkat(file->directory, name, 0) == 0 ? RESULT_OK : result_of_errno(errno);
    }
    drum_file_destroy(file);
    return rc;
}

/* Writes all of iov at offset, however the system cuts it up. */
static Result drum_file_write_all(int fd, struct iovec *iov, int n, uint64_t offset)
{
    while (n > 0) {
        ssize_t done = pwritev(fd, iov, n, (off_t)offset);
        if (done < 0) {
            if (errno == EINTR) {
                continue;
            }
            return result_of_errno(errno);
        }
        offset += (uint64_t)done;
        size_t left = (size_t)done;
        while (n > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            n--;
        }
        if (n > 0) {
            iov->iov_base = (char *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    return RESULT_OK;
}

static Result drum_file_create(DrumFile *file)
{
    char name[DRUM_FILE_NAME_BYTES];
    drum_file_name(file->generation, name);
    DrumFileHeader header = {.magic = DRUM_FILE_MAGIC,
                             .version = DRUM_FILE_VERSION,
                             .keys = (uint32_t)file->keys,
                             .generation = file->generation,
                             .buckets = file->buckets};
    header.checksum = hash_64(&header, offsetof(DrumFileHeader, checksum), file->generation);
    int fd = openat(file->directory, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    struct iovec iov = {.iov_base = &header, .iov_len = sizeof header};
    Result rc = drum_file_write_all(fd, &iov, 1, 0);
    if (rc != RESULT_OK) {
        (void)close(fd);
        (void)unlinkat(file->directory, name, 0);
        return rc;
    }
    file->fd = fd;
    file->size = sizeof header;
    file->durable = 0;
    return RESULT_OK;
}

Result drum_file_append(DrumFile *file, DrumBlock *block, DrumBytes keys, DrumBytes auxiliary)
{
    static const char zeros[8];
    Result rc = drum_block_reserve(file);
    if (rc == RESULT_OK && file->fd < 0) {
        rc = drum_file_create(file);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    block->offset = file->size;
    block->keys_bytes = (uint32_t)keys.length;
    block->auxiliary_bytes = (uint32_t)auxiliary.length;
    DrumBlockHeader header = {.magic = DRUM_BLOCK_MAGIC,
                              .bucket = block->bucket,
                              .elements = block->elements,
                              .keys_bytes = block->keys_bytes,
                              .auxiliary_bytes = block->auxiliary_bytes,
                              .first_sequence = block->first_sequence,
                              .durable = file->durable,
                              .keys_checksum = hash_64(keys.bytes, keys.length, file->generation),
                              .auxiliary_checksum =
                                  hash_64(auxiliary.bytes, auxiliary.length, file->generation)};
    header.checksum = hash_64(&header, offsetof(DrumBlockHeader, checksum), file->generation);
    size_t used = sizeof header + keys.length + auxiliary.length;
    /* writev takes pointers to bytes it only reads. */
    struct iovec iov[4] = {{&header, sizeof header},
                           {(void *)(uintptr_t)keys.bytes, keys.length},
                           {(void *)(uintptr_t)auxiliary.bytes, auxiliary.length},
                           {(void *)(uintptr_t)zeros, (size_t)drum_block_padded(used) - used}};
    rc = drum_file_write_all(file->fd, iov, 4, block->offset);
    if (rc != RESULT_OK) {
        /* Half a block is a torn tail to recovery and overwritten by the next append: cutting it
         * only gives the room back, so that its failure does not matter. */
        int cut = ftruncate(file->fd, (off_t)file->size);
        (void)cut;
        return rc;
    }
    drum_block_note(file, block);
    return RESULT_OK;
}

Result drum_file_sync_shared(const DrumFile *file)
{
    if (fdatasync(file->fd) != 0 || fsync(file->directory) != 0) {
        return result_of_errno(errno);
    }
    return RESULT_OK;
}

Result drum_file_sync(DrumFile *file)
{
    if (file->fd < 0 || file->durable == file->size) {
        return RESULT_OK;
    }
    if (fdatasync(file->fd) != 0 || (file->durable == 0 && fsync(file->directory) != 0)) {
        return result_of_errno(errno);
    }
    file->durable = file->size;
    return RESULT_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

static Result read_section(const DrumFile *file, const DrumBlock *block, bool auxiliaries,
                           uint8_t *bytes)
{
    DrumBlockHeader header;
    Result rc = drum_block_read_header(file, block->offset, &header);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (header.keys_bytes != block->keys_bytes ||
        header.auxiliary_bytes != block->auxiliary_bytes) {
        return RESULT_DAMAGED;
    }
    uint64_t offset = block->offset + sizeof header + (auxiliaries ? block->keys_bytes : 0);
    size_t length = auxiliaries ? block->auxiliary_bytes : block->keys_bytes;
    rc = drum_block_read_bytes(file->fd, bytes, length, offset);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t expected = auxiliaries ? header.auxiliary_checksum : header.keys_checksum;
    return hash_64(bytes, length, file->generation) == expected ? RESULT_OK : RESULT_DAMAGED;
}

Result drum_file_read_keys(const DrumFile *file, const DrumBlock *block, uint8_t *bytes)
{
    return read_section(file, block, false, bytes);
}

Result drum_file_read_auxiliaries(const DrumFile *file, const DrumBlock *block, uint8_t *bytes)
{
    return read_section(file, block, true, bytes);
}
