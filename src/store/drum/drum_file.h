/* A generation of a Drum and its bucket file: an append-only sequence of blocks.
 *
 *   file    := header block*           named by 16 hexadecimal digits of the generation and ".drum"
 *   block   := header keys auxiliaries padding     blocks start at multiples of 8
 *   keys    := element*                in order of arrival
 *   element := key                     when it is a number: 8 bytes
 *              varint                  value length * 4 + operation
 *              varint                  0 without auxiliary, else its length + 1
 *              varint                  distance of its sequence number from the element before it
 *              varint key              when it is a byte string: its length, itself
 *              value
 *   auxiliaries                        in order of arrival, from the section's end to its start
 *
 * What: all numbers are little-endian, and every block holds elements of one bucket. File headers,
 * block headers and both sections carry a 64-bit XXH3 checksum seeded with the generation, so that
 * remains of an older file are never taken for blocks. A block header also says how much of the
 * file was durable when it was written. Blocks below that are promised, and their loss is damage;
 * an unreadable block behind it is a torn tail.
 *
 * Sections may be checked late. drum_file_recover checks all headers, but only those sections that
 * lie behind the durable part, so that it takes time by the block and not by the byte.
 * drum_file_read_keys and drum_file_read_auxiliaries check the rest.
 *
 * Owns: the descriptor and the list of blocks; the directory is borrowed.
 * Threads: writing and reading are not concurrent: a file is written while collecting, then sealed,
 * then read by one merge.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY, RESULT_DAMAGED, RESULT_VERSION. */
#pragma once

#include "store/drum/drum_types.h"

#define DRUM_FILE_VERSION     1u
#define DRUM_FILE_HEADER      64u
#define DRUM_BLOCK_HEADER     64u
#define DRUM_FILE_SUFFIX      ".drum"
#define DRUM_FILE_NAME_BYTES  32u
#define DRUM_MAX_KEYS_SECTION ((uint32_t)128 << 20) /* of one block */

typedef struct DrumBlock {
    uint64_t offset;         /* of the block header in the file */
    uint64_t first_sequence; /* of its first element */
    uint32_t elements;
    uint32_t keys_bytes;
    uint32_t auxiliary_bytes;
    uint32_t bucket;
} DrumBlock;

typedef struct DrumFile {
    int directory; /* borrowed file descriptor */
    int fd;        /* -1 until the first block */
    uint64_t generation;
    DrumKeys keys;
    uint32_t buckets;
    uint64_t size;     /* whole blocks end here */
    uint64_t durable;  /* synced up to here */
    DrumBlock *blocks; /* in file order */
    size_t n_blocks;
    size_t capacity;
    uint64_t elements;
    uint32_t next_bucket;  /* those before it are committed in the repository */
    bool merged;           /* all are */
    struct DrumFile *next; /* the generation that was sealed after this one */
} DrumFile;

/* A file that does not exist yet; it appears with the first block. NULL without memory. */
DrumFile *drum_file_new(int directory, uint64_t generation, DrumKeys keys, uint32_t buckets);
/* Closes and frees; the file stays on disk. NULL is allowed. */
void drum_file_delete(DrumFile *file);
/* Removes it from the directory. */
Result drum_file_unlink(int directory, uint64_t generation);

/* Appends a block; its bucket, elements and first_sequence are set by the caller. All or nothing:
 * after RESULT_FULL, RESULT_IO, RESULT_MEMORY the file is as before. */
Result drum_file_append(DrumFile *file, DrumBlock *block, DrumBytes keys, DrumBytes auxiliary);
/* Syncs the file (fdatasync), and its directory when the file is new. */
Result drum_file_sync(DrumFile *file);
/* The same for a sealed file that another thread reads or syncs: changes nothing in it. */
Result drum_file_sync_shared(const DrumFile *file);

/* Opens the existing file of a new object and finds its blocks; tears are cut off the file when
 * repair is true, and added to recovery. file->durable is what the caller knows to be durable, 0
 * when the blocks alone tell. everything: check all sections. RESULT_VERSION;
 * RESULT_NOT_FOUND: nothing durable is in it (a torn header); RESULT_IO, RESULT_MEMORY. Damage
 * inside the durable part is added to recovery and skipped. */
Result drum_file_recover(DrumFile *file, bool repair, bool everything, DrumRecovery *recovery);

/* Reads a section of a block and checks it; bytes has room for it. RESULT_DAMAGED, RESULT_IO. */
Result drum_file_read_keys(const DrumFile *file, const DrumBlock *block, uint8_t *bytes);
Result drum_file_read_auxiliaries(const DrumFile *file, const DrumBlock *block, uint8_t *bytes);

/* "00000000000000ff.drum"; name holds DRUM_FILE_NAME_BYTES. */
void drum_file_name(uint64_t generation, char *name);
/* False when name is not one of a bucket file. */
bool drum_file_parse_name(const char *name, uint64_t *generation);

/* Opens a directory, which is made unless it is there, and locks it. RESULT_LOCKED. The descriptor
 * is to be closed in any case, unless it is negative. */
Result drum_directory_open(const char *path, int *directory);
/* The numbers of the generations that have a file in a directory, ascending; the caller frees the
 * array. */
Result drum_generations_list_files(int directory, uint64_t **numbers, size_t *n);

/* One element of a bucket file: an operation with its key and value, as bytes.
 *
 * What: encoding and decoding. The layout is told in drum_file.h.
 * Owns: nothing; a decoded element points into the bytes that it was read from.
 * Threads: pure functions. */

typedef enum DrumOperation { DRUM_CHECK = 0, DRUM_UPDATE = 1, DRUM_CHECK_UPDATE = 2 } DrumOperation;

typedef struct DrumElement {
    DrumKey key;
    DrumOperation operation;
    DrumBytes value;
    bool has_auxiliary;
    uint32_t auxiliary_length;
    uint64_t distance; /* of its sequence number from the one before */
} DrumElement;

/* Decodes the element at bytes; NULL when it does not lie whole before end. Otherwise what follows.
 */
const uint8_t *drum_element_decode(const uint8_t *bytes, const uint8_t *end, DrumKeys keys,
                                   DrumElement *element);
#define DRUM_ELEMENT_HEAD                                                                          \
    40u /* room that an element takes besides a byte-string key and its value */
#define DRUM_ELEMENT_LEAST 4u /* the shortest element */
/* Encodes what stands before a byte-string key and the value, which follow; returns the length, at
 * most DRUM_ELEMENT_HEAD. */
size_t drum_element_encode(uint8_t *bytes, DrumKeys keys, const DrumElement *element);
