/* The blocks of a bucket file: the bytes of their headers, and the list of them in memory.
 *
 * What: drum_file.h tells the layout. Here are the headers as structs, how a header is read and
 * judged, and how a block enters the list of its file.
 * Owns: nothing; the list is DrumFile's.
 * Threads: the one that the file belongs to.
 * Errors: RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. */
#ifndef STORE_DRUM_DRUM_BLOCK_H
#define STORE_DRUM_DRUM_BLOCK_H

#include "store/drum/drum_file.h"

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

/* Reads length bytes at offset; RESULT_DAMAGED when the file ends before them. */
Result drum_block_read_bytes(int fd, void *bytes, size_t length, uint64_t offset);
/* Reads the header at offset. RESULT_DAMAGED: there is none, or a broken one. */
Result drum_block_read_header(const DrumFile *file, uint64_t offset, DrumBlockHeader *header);
/* Makes room for one more block, so that drum_block_note cannot fail after the write. */
Result drum_block_reserve(DrumFile *file);
/* Adds a block to the list; the file ends behind it. */
void drum_block_note(DrumFile *file, const DrumBlock *block);

#endif
