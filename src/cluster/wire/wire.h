/* Wire: numbers and byte strings in messages between agents.
 *
 * What: a writer that appends to a buffer, and a reader that never reads past the end. Numbers are
 * little-endian; varints are those of base/core/varint.h. A record is a struct and the list of its
 * members as they stand in a message: one list writes, reads and checks it.
 * Owns: nothing.
 * Threads: none of its own; an object belongs to its caller.
 * Errors: kept until the end. After the first error a writer appends nothing more and a reader
 * returns zeroes; the caller asks once (wire_writer.rc, wire_reader_ended). */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef struct WireWriter {
    Buffer *out;  /* borrowed */
    size_t start; /* of what it writes */
    Result rc;    /* of the first append that failed */
} WireWriter;

static inline WireWriter wire_writer(Buffer *out)
{
    return (WireWriter){.out = out, .start = out->length, .rc = RESULT_OK};
}
/* 1 to 8 bytes: those of least weight. */
void wire_put_number(WireWriter *writer, uint64_t number, size_t bytes);
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
uint64_t wire_get_number(WireReader *reader, size_t bytes);
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

/* ---- records ---- */

/* How a member stands in a message. 1 to 8: a number of so many bytes (a double by its bits). */
#define WIRE_VARINT 16u /* a number */
#define WIRE_BYTES  17u /* an array, as it is */
#define WIRE_TEXT   18u /* an array of char that ends with NUL: a string without NUL in it */
#define WIRE_STRING 19u /* char *: likewise; what is read is the caller's */

typedef struct WireField {
    uint32_t offset;
    uint32_t size; /* of the member */
    uint32_t kind;
    uint64_t most; /* a greater number, or a longer WIRE_STRING, is refused */
} WireField;

typedef struct WireRecord {
    const WireField *fields;
    size_t n;
    size_t size; /* of the struct */
} WireRecord;

#define WIRE_FIELD(type, member, kind, most)                                                       \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)NULL)->member), kind, most                         \
    }
#define WIRE_RECORD(type, fields)                                                                  \
    {                                                                                              \
        fields, sizeof(fields) / sizeof *(fields), sizeof(type)                                    \
    }

void wire_put(WireWriter *writer, const WireRecord *record, const void *value);
/* Strings are the caller's also when the reader is bad; those that were not reached stay as they
 * are. */
void wire_get(WireReader *reader, const WireRecord *record, void *value);
/* The number of them as a varint, and then each. */
void wire_put_list(WireWriter *writer, const WireRecord *record, const void *values, size_t n);
/* How many; more than `most` are none, and bad. */
size_t wire_get_list(WireReader *reader, const WireRecord *record, void *values, size_t most);
/* The same into a new array, which is the caller's also when the reader is bad: what was not
 * reached is zero. NULL: more than `most`, or no memory; bad then. */
void *wire_get_new_list(WireReader *reader, const WireRecord *record, size_t most, size_t *n);

/* Whether two values have the same bytes in a message. */
bool wire_is_alike(const WireRecord *record, const void *a, const void *b);
/* n of them, which whoever reads knows: neighbours that are alike are one run. */
void wire_put_runs(WireWriter *writer, const WireRecord *record, const void *values, size_t n);
void wire_get_runs(WireReader *reader, const WireRecord *record, void *values, size_t n);

/* Ends what was written with its CRC-32. */
Result wire_seal(WireWriter *writer);
/* False: the CRC-32 is wrong. *reader has the bytes before it. */
bool wire_open(WireReader *reader, const void *bytes, size_t length);

/* Scores travel as half floats (IEEE 754 binary16): eleven bits of precision, 6e-8 to 65504. What
 * is greater becomes 65504, what is negative or no number 0. */
uint16_t wire_half_of(float number);
float wire_float_of(uint16_t half);
