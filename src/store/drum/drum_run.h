/* One sorted run: an immutable file of ascending 64-bit keys with values.
 *
 * What: the layout, and a reader and a writer of it.
 *
 *   file  := block* end                      all numbers little-endian
 *   block := header entry*                   up to DRUM_RUN_ENTRIES of them
 *   entry := varint key, varint length, value
 *   end   := header                          of no entries; its last_key is their number in the
 * file
 *
 * A key is written as its distance from the one before in the block (six bytes for 60 million
 * random keys). The header has two 64-bit XXH3 checksums, of its other fields and of the entries.
 * So a reader may pass over a block that ends before the key it looks for, by the header alone.
 * Threads: pure functions.
 * Invariants: whatever is read was checked before; keys ascend strictly. */
#ifndef STORE_REPOSITORY_DRUM_RUN_H
#define STORE_REPOSITORY_DRUM_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/hash.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/drum/drum.h"

#define DRUM_RUN_ENTRIES 4096u

typedef struct DrumRunBlock {
    uint64_t checksum; /* of the fields behind it */
    uint64_t payload_checksum;
    uint64_t last_key;
    uint32_t n;     /* entries; 0: the end of the run */
    uint32_t bytes; /* of the entries */
} DrumRunBlock;

_Static_assert(sizeof(DrumRunBlock) == 32, "no padding");

/* Reading a sorted run: forward only.
 *
 *   before the first block -- _next, _seek --> at an entry -- _next, _seek --> behind the last
 *             ^------------------------------ _rewind ---------------------------------'
 *
 * Owns: the file descriptor and the block at hand.
 * Threads: one.
 * Errors: RESULT_DAMAGED, RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */

typedef struct DrumRunReader {
    int fd; /* owned; -1 when there is none */
    uint64_t entries;
    uint64_t next; /* where the next block begins */
    Buffer block;  /* the entries of the one at hand */
    const uint8_t *at;
    const uint8_t *end;
    uint64_t last_key; /* of the block */
    bool has_entry;    /* key and value are those of an entry */
    uint64_t key;
    DrumBytes value;
} DrumRunReader;

/* RESULT_NOT_FOUND: there is no such file. */
Result drum_run_reader_open(DrumRunReader *reader, int directory, const char *name);
void drum_run_reader_destroy(DrumRunReader *reader);
/* Back to before the first entry. */
void drum_run_reader_rewind(DrumRunReader *reader);
/* Moves to the first entry at or behind key, never backwards. RESULT_NOT_FOUND behind the last.
 * Then drum_run_reader_key and _value are of that entry. */
Result drum_run_reader_seek(DrumRunReader *reader, uint64_t key);
/* Moves to the next entry; before the first, to that. */
Result drum_run_reader_next(DrumRunReader *reader);

static inline uint64_t drum_run_reader_key(const DrumRunReader *reader)
{
    return reader->key;
}

/* Borrowed until the next move. */
static inline DrumBytes drum_run_reader_value(const DrumRunReader *reader)
{
    return reader->value;
}

/* Writing a sorted run: in ascending order of keys.
 *
 * Owns: the file descriptor and the block that is being filled; the file stays on disk.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY; the first one stays until finish. */

typedef struct DrumRunWriter {
    int fd; /* owned; -1 when there is none */
    uint64_t entries;
    uint32_t n;        /* entries of the block */
    uint64_t last_key; /* of them */
    Buffer block;      /* room for its header, and its entries */
    Result failed;     /* the first error: nothing is written after it */
} DrumRunWriter;

/* Creates the file name in directory. RESULT_IO, RESULT_FULL, RESULT_MEMORY. */
Result drum_run_writer_open(DrumRunWriter *writer, int directory, const char *name);
/* Keys must ascend strictly. Errors stay until finish. */
Result drum_run_writer_put(DrumRunWriter *writer, uint64_t key, DrumBytes value);
/* Writes the rest and syncs. Destroy it afterwards in any case. */
Result drum_run_writer_finish(DrumRunWriter *writer);
void drum_run_writer_destroy(DrumRunWriter *writer);

#endif
