/* Wire: numbers and byte strings in messages between agents.
 *
 * What: a writer that appends to a buffer, and a reader that never reads past the end. Numbers are
 * little-endian; varints are those of base/core/varint.h.
 * Owns: nothing.
 * Threads: none of its own; an object belongs to its caller.
 * Errors: kept until the end. After the first error a writer appends nothing more and a reader
 * returns zeroes; the caller asks once (wire_writer.rc, wire_reader_ended). */
#ifndef CLUSTER_WIRE_WIRE_H
#define CLUSTER_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct WireWriter {
    Buffer *out; /* borrowed */
    Result rc;   /* of the first append that failed */
} WireWriter;

static inline WireWriter wire_writer(Buffer *out)
{
    return (WireWriter){.out = out, .rc = RESULT_OK};
}
void wire_put_8(WireWriter *writer, uint8_t number);
void wire_put_16(WireWriter *writer, uint16_t number);
void wire_put_32(WireWriter *writer, uint32_t number);
void wire_put_64(WireWriter *writer, uint64_t number);
void wire_put_varint(WireWriter *writer, uint64_t number);
void wire_put_bytes(WireWriter *writer, const void *bytes, size_t length);
/* The length as a varint, then the bytes. */
void wire_put_string(WireWriter *writer, const void *bytes, size_t length);

typedef struct WireReader {
    const uint8_t *next; /* borrowed */
    const uint8_t *end;
    bool bad; /* something was asked for that is not there */
} WireReader;

static inline WireReader wire_reader(const void *bytes, size_t length)
{
    const uint8_t *start = bytes;
    return (WireReader){.next = start, .end = length == 0 ? start : start + length};
}
uint8_t wire_get_8(WireReader *reader);
uint16_t wire_get_16(WireReader *reader);
uint32_t wire_get_32(WireReader *reader);
uint64_t wire_get_64(WireReader *reader);
uint64_t wire_get_varint(WireReader *reader);
/* length bytes, borrowed from what is read; NULL when there are fewer. */
const uint8_t *wire_get_bytes(WireReader *reader, size_t length);
/* What wire_put_string wrote; *length is 0 when the answer is NULL. */
const uint8_t *wire_get_string(WireReader *reader, size_t *length);
static inline size_t wire_left(const WireReader *reader)
{
    return (size_t)(reader->end - reader->next);
}
/* Everything was read and nothing was missing. */
static inline bool wire_reader_ended(const WireReader *reader)
{
    return !reader->bad && reader->next == reader->end;
}

/* Scores travel as half floats (IEEE 754 binary16): eleven bits of precision, 6e-8 to 65504. What
 * is greater becomes 65504, what is negative or no number 0. */
uint16_t wire_half_of(float number);
float wire_float_of(uint16_t half);

#endif
