#include "store/drum/drum_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/core/varint.h"
#include "base/memory/array.h"
#include "base/memory/file.h"

/* ---- The bucket files of a directory ---- */

Result drum_generations_list_files(int directory, uint64_t **numbers, size_t *n)
{
    /* A descriptor of its own: closedir closes the one it reads, and the Drum's holds the lock. */
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        int error = errno;
        file_close_fd(fd);
        return result_of_errno(error);
    }
    Buffer found = {.limit = BUFFER_NO_LIMIT};
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        uint64_t number;
        if (drum_file_parse_name(entry->d_name, &number)) {
            buffer_append(&found, &number, sizeof number);
        }
    }
    (void)closedir(stream);
    /* Ascending: both recovery and merging need the order of generations, which readdir does not
     * have. */
    Result rc = found.failed;
    *n = found.length / sizeof **numbers;
    *numbers = (uint64_t *)(void *)buffer_detach(&found);
    array_sort(*numbers, *n, sizeof **numbers, ARRAY_OF_NUMBERS, ARRAY_NO_KEY);
    return rc;
}

Result drum_directory_open(const char *path, int *directory)
{
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return result_of_errno(errno);
    }
    *directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*directory < 0) {
        return result_of_errno(errno);
    }
    /* The lock hangs on the descriptor, so a killed process leaves none behind. */
    if (flock(*directory, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? RESULT_LOCKED : result_of_errno(errno);
    }
    return RESULT_OK;
}

/* ---- The bucket file of one DRUM generation ---- */

/* The blocks of a bucket file: the bytes of their headers, and the list of them in memory.
 *
 * What: drum_file.h tells the layout. Here are the headers as structs, how a header is read and
 * judged, and how a block enters the list of its file.
 * Owns: nothing; the list is DrumFile's.
 * Threads: the one that the file belongs to.
 * Errors: RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. */

#define DRUM_FILE_MAGIC  UINT64_C(0x314D55524452AB8C)
#define DRUM_BLOCK_MAGIC UINT32_C(0xB10CD29A)

typedef struct DrumFileHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t keys;
    uint64_t generation;
    uint32_t buckets;
    uint32_t reserved[7];
    uint64_t checksum; /* of the bytes before it */
} DrumFileHeader;

typedef struct DrumBlockHeader {
    uint32_t magic;
    uint32_t bucket;
    uint32_t elements;
    uint32_t keys_bytes;
    uint32_t auxiliary_bytes;
    uint32_t reserved;
    uint64_t first_sequence;
    uint64_t durable;
    uint64_t keys_checksum;
    uint64_t auxiliary_checksum;
    uint64_t checksum; /* of the bytes before it */
} DrumBlockHeader;

static inline uint64_t drum_block_padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

/* Where the next block begins. */
static inline uint64_t drum_block_end(const DrumBlock *block)
{
    return block->offset + drum_block_padded(DRUM_BLOCK_HEADER + (uint64_t)block->keys_bytes +
                                             block->auxiliary_bytes);
}

_Static_assert(sizeof(DrumFileHeader) == DRUM_FILE_HEADER, "file header");
_Static_assert(sizeof(DrumBlockHeader) == DRUM_BLOCK_HEADER, "block header");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bucket files are little-endian");

/* Reads the header at offset. RESULT_DAMAGED: there is none, or a broken one. */
static Result drum_block_read_header(const DrumFile *file, uint64_t offset, DrumBlockHeader *header)
{
    Result rc = file_read_at(file->fd, header, sizeof *header, offset);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Seeded with the generation: a block of an older file whose room was used again does not
     * fit. */
    uint64_t checksum = hash_64(header, offsetof(DrumBlockHeader, checksum), file->generation);
    /* Besides the checksum, all that later code multiplies or allocates by. Auxiliaries need no
     * bound: scan_headers takes no block that reaches behind its file. */
    bool good = header->magic == DRUM_BLOCK_MAGIC && header->checksum == checksum &&
                header->bucket < file->buckets && header->elements > 0 &&
                header->keys_bytes <= DRUM_MAX_KEYS_SECTION &&
                header->elements <= header->keys_bytes / DRUM_ELEMENT_LEAST &&
                header->durable <= offset;
    return good ? RESULT_OK : RESULT_DAMAGED;
}

/* Adds a block to the list; the file ends behind it. */
static void drum_block_note(DrumFile *file, const DrumBlock *block)
{
    file->blocks[file->n_blocks++] = *block;
    file->elements += block->elements;
    file->size = drum_block_end(block);
}

/* ---- The bucket file of one DRUM generation ---- */

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

/* ---- writing ---- */

DrumFile *drum_file_new(int directory, uint64_t generation, DrumKeys keys, uint32_t buckets)
{
    DrumFile *file = calloc(1, sizeof *file);
    if (file != NULL) {
        *file = (DrumFile){.directory = directory,
                           .fd = -1,
                           .generation = generation,
                           .keys = keys,
                           .buckets = buckets};
    }
    return file;
}

void drum_file_delete(DrumFile *file)
{
    if (file != NULL) {
        file_close_fd(file->fd);
        free(file->blocks);
        free(file);
    }
}

Result drum_file_unlink(int directory, uint64_t generation)
{
    char name[DRUM_FILE_NAME_BYTES];
    drum_file_name(generation, name);
    return unlinkat(directory, name, 0) == 0 ? RESULT_OK : result_of_errno(errno);
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
    /* O_TRUNC, since a create that failed may have left its file; recovery leaves none of this
     * number. */
    int fd = openat(file->directory, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    struct iovec iov = {.iov_base = &header, .iov_len = sizeof header};
    Result rc = drum_file_write_all(fd, &iov, 1, 0);
    if (rc != RESULT_OK) {
        (void)close(fd);
        /* A file with half a header would be a torn file to the next drum_open; without it there is
         * none. */
        (void)unlinkat(file->directory, name, 0);
        return rc;
    }
    file->fd = fd;
    file->size = sizeof header;
    /* 0, not the header's size: the first sync must sync the directory as well (drum_file_sync). */
    file->durable = 0;
    return RESULT_OK;
}

Result drum_file_append(DrumFile *file, DrumBlock *block, DrumBytes keys, DrumBytes auxiliary)
{
    static const char zeros[8];
    Result rc =
        array_reserve(&file->blocks, &file->capacity, file->n_blocks + 1, sizeof *file->blocks);
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
    /* The merging thread may change `durable` meanwhile; so it is neither read nor written, and the
     * directory is synced every time. */
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
    /* Before the first sync the name, too, may be lost in a power cut: the directory makes it
     * last. */
    if (fdatasync(file->fd) != 0 || (file->durable == 0 && fsync(file->directory) != 0)) {
        return result_of_errno(errno);
    }
    file->durable = file->size;
    return RESULT_OK;
}

/* ---- reading ---- */

static Result read_section(const DrumFile *file, const DrumBlock *block, bool auxiliaries,
                           uint8_t *bytes)
{
    DrumBlockHeader header;
    Result rc = drum_block_read_header(file, block->offset, &header);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* The header is read again: its checksums are not kept in memory, and it may have changed on
     * disk since recovery. */
    if (header.keys_bytes != block->keys_bytes ||
        header.auxiliary_bytes != block->auxiliary_bytes) {
        return RESULT_DAMAGED;
    }
    uint64_t offset = block->offset + sizeof header + (auxiliaries ? block->keys_bytes : 0);
    size_t length = auxiliaries ? block->auxiliary_bytes : block->keys_bytes;
    rc = file_read_at(file->fd, bytes, length, offset);
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

/* Finding the blocks of a bucket file that an earlier run left, and what is torn or damaged.
 *
 *   header  block  block  block  block | block  blo
 *                                      ^ promised: the most that any header, or the owner's
 *   <---------- loss is damage ------->|  commit, says was durable
 *                                      |<-- loss is a torn tail -->
 *
 * A block is written with what was durable before it, so the last blocks of a file are promised by
 * no header. Headers are all read first, because one far behind may promise the ones before it. */

typedef struct Scan {
    DrumFile *file;
    uint64_t file_bytes;       /* of the file on disk */
    uint64_t promised;         /* what is known to have been durable */
    uint64_t partial_elements; /* of blocks that reach behind the end of the file */
} Scan;

/* The next offset from start on at which a block header can be read; file_bytes when none. */
static Result find_header(Scan *scan, uint64_t start, uint64_t *found)
{
    /* Blocks lie at multiples of 8, so only these places are tried. A magic number in user data is
     * told apart by the header's checksum. */
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
        rc = file_read_at(scan->file->fd, window, length, at);
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
                rc = array_reserve(&file->blocks, &file->capacity, file->n_blocks + 1,
                                   sizeof *file->blocks);
                if (rc != RESULT_OK) {
                    return rc;
                }
                drum_block_note(file, &block);
                at = file->size;
                scan->promised = header.durable > scan->promised ? header.durable : scan->promised;
                continue;
            }
            /* A good header whose sections reach behind the end: the write was cut off. What
             * follows cannot be a block, but is searched like any other gap. */
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

/* Only RESULT_DAMAGED speaks against the block: what is taken for a torn tail is cut off, so want
 * of memory or a read error must not look like one. */
static Result check_sections(const DrumFile *file, const DrumBlock *block, uint8_t **bytes,
                             size_t *capacity)
{
    size_t need =
        block->keys_bytes > block->auxiliary_bytes ? block->keys_bytes : block->auxiliary_bytes;
    Result rc = array_reserve(bytes, capacity, need, 1);
    if (rc == RESULT_OK) {
        rc = drum_file_read_keys(file, block, *bytes);
    }
    return rc == RESULT_OK ? drum_file_read_auxiliaries(file, block, *bytes) : rc;
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
    /* From here on the file is what an undisturbed run would have left, only shorter. */
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
            /* The blocks behind the tear may be whole: the system writes pages in any order. They
             * go all the same, since what is left must be a prefix of what was accepted. */
            if (expected >= scan->promised) {
                break;
            }
            recovery->damaged_bytes += block->offset - expected;
            recovery->damaged_elements++;
        }
        bool promised = drum_block_end(block) <= scan->promised;
        Result rc = RESULT_OK;
        if (!promised || everything) {
            rc = check_sections(file, block, &bytes, &capacity);
        }
        if (rc != RESULT_OK && rc != RESULT_DAMAGED) {
            free(bytes);
            return rc;
        }
        if (rc == RESULT_DAMAGED) {
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
    /* The end itself may be missing or unreadable though it was promised: then no block is behind
     * it to show the gap. */
    uint64_t whole = scan->promised < scan->file_bytes ? scan->promised : scan->file_bytes;
    if (expected < whole) {
        recovery->damaged_bytes += whole - expected;
        recovery->damaged_elements++;
        expected = whole;
    }
    return drum_file_recover_cut_tail(scan, i, expected, repair, recovery);
}

/* The file header cannot be trusted: was anything in this file promised? */
static Result judge_headless(Scan *scan, DrumRecovery *recovery)
{
    /* The header would have said how many buckets there are; without it any number passes. */
    scan->file->buckets = UINT32_MAX;
    Result rc = scan_headers(scan);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (scan->promised > 0) {
        recovery->damaged_bytes += scan->file_bytes;
        recovery->damaged_elements += scan->file->elements > 0 ? scan->file->elements : 1;
        return RESULT_DAMAGED;
    }
    recovery->torn_bytes += scan->file_bytes;
    recovery->torn_elements += scan->file->elements + scan->partial_elements;
    return RESULT_NOT_FOUND;
}

Result drum_file_recover(DrumFile *file, bool repair, bool everything, DrumRecovery *recovery)
{
    char name[DRUM_FILE_NAME_BYTES];
    drum_file_name(file->generation, name);
    file->fd = openat(file->directory, name, (repair ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) != 0) {
        return result_of_errno(errno);
    }
    Scan scan = {.file = file, .file_bytes = (uint64_t)status.st_size, .promised = file->durable};
    DrumFileHeader header = {0};
    Result rc = file_read_at(file->fd, &header, sizeof header, 0);
    if (rc != RESULT_OK && rc != RESULT_DAMAGED) {
        return rc;
    }
    /* Before the checksum, whose place another version may have moved. */
    if (rc == RESULT_OK && header.magic == DRUM_FILE_MAGIC && header.version != DRUM_FILE_VERSION) {
        return RESULT_VERSION;
    }
    uint64_t checksum = hash_64(&header, offsetof(DrumFileHeader, checksum), file->generation);
    bool good = rc == RESULT_OK && header.magic == DRUM_FILE_MAGIC && header.checksum == checksum &&
                header.generation == file->generation && header.buckets > 0 &&
                header.buckets <= DRUM_MAX_BUCKETS &&
                (header.buckets & (header.buckets - 1)) == 0 && header.keys <= DRUM_KEYS_BYTES;
    if (!good) {
        return judge_headless(&scan, recovery);
    }
    /* The file's own count, not the options': it may have been changed between two runs. */
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

/* ---- Drum element ---- */

DrumKey drum_key_bytes(const void *bytes, size_t length)
{
    /* Big-endian, filled up with zeros: numbers then order as memcmp orders the first 8 bytes.
     * Equal numbers need the rest compared (DrumCompareRest). */
    uint64_t number = 0;
    if (length > 0) {
        memcpy(&number, bytes, length < 8 ? length : 8);
    }
    return (DrumKey){.number = __builtin_bswap64(number), .bytes = {bytes, length}};
}

size_t drum_element_encode(uint8_t *bytes, DrumKeys keys, const DrumElement *element)
{
    uint8_t *at = bytes;
    if (keys == DRUM_KEYS_NUMBERS) {
        at = mempcpy(at, &element->key.number, 8);
    }
    at = varint_encode_uint64((uint64_t)element->value.length * 4 + element->operation, at);
    /* One more than the length, so that 0 tells "none" from an empty one. */
    at = varint_encode_uint64(element->has_auxiliary ? (uint64_t)element->auxiliary_length + 1 : 0,
                              at);
    at = varint_encode_uint64(element->distance, at);
    if (keys == DRUM_KEYS_BYTES) {
        at = varint_encode_uint64(element->key.bytes.length, at);
    }
    return (size_t)(at - bytes);
}

/* The part behind the key of a number, before that of a byte string. */
static inline const uint8_t *decode_lengths(const uint8_t *bytes, const uint8_t *end,
                                            DrumElement *element)
{
    uint64_t head = 0, auxiliary = 0;
    bytes = varint_read(bytes, end, &head);
    if (bytes != NULL) {
        bytes = varint_read(bytes, end, &auxiliary);
    }
    if (bytes != NULL) {
        bytes = varint_read(bytes, end, &element->distance);
    }
    /* The checksum was good, but a file may be forged, or written by a faulty program: lengths are
     * bounded before anybody adds them. */
    if (bytes == NULL || (head & 3) > DRUM_CHECK_UPDATE || head >> 2 > DRUM_MAX_VALUE ||
        auxiliary > (uint64_t)DRUM_MAX_VALUE + 1) {
        return NULL;
    }
    element->operation = (DrumOperation)(head & 3);
    element->value.length = (size_t)(head >> 2);
    element->has_auxiliary = auxiliary != 0;
    element->auxiliary_length = auxiliary != 0 ? (uint32_t)(auxiliary - 1) : 0;
    return bytes;
}

const uint8_t *drum_element_decode(const uint8_t *bytes, const uint8_t *end, DrumKeys keys,
                                   DrumElement *element)
{
    if (keys == DRUM_KEYS_NUMBERS) {
        if (end - bytes < 8) {
            return NULL;
        }
        element->key = (DrumKey){.number = 0};
        memcpy(&element->key.number, bytes, 8);
        bytes = decode_lengths(bytes + 8, end, element);
    } else {
        uint64_t length = 0;
        bytes = decode_lengths(bytes, end, element);
        if (bytes != NULL) {
            bytes = varint_read(bytes, end, &length);
        }
        if (bytes == NULL || length == 0 || length > DRUM_MAX_KEY ||
            length > (uint64_t)(end - bytes)) {
            return NULL;
        }
        element->key = drum_key_bytes(bytes, (size_t)length);
        bytes += length;
    }
    if (bytes == NULL || element->value.length > (size_t)(end - bytes)) {
        return NULL;
    }
    element->value.bytes = bytes;
    return bytes + element->value.length;
}
