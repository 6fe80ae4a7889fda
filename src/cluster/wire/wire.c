#include "cluster/wire/wire.h"

#include <endian.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/varint.h"

#define HALF_MOST 65504.0f

void wire_put_bytes(WireWriter *writer, const void *bytes, size_t length)
{
    if (writer->rc == RESULT_OK) {
        writer->rc = buffer_append(writer->out, bytes, length);
    }
}

void wire_put_number(WireWriter *writer, uint64_t number, size_t bytes)
{
    uint64_t little = htole64(number);
    wire_put_bytes(writer, &little, bytes);
}

void wire_put_varint(WireWriter *writer, uint64_t number)
{
    uint8_t bytes[MAX_VARINT_SIZE];
    uint8_t *end = varint_encode_uint64(number, bytes);
    wire_put_bytes(writer, bytes, (size_t)(end - bytes));
}

void wire_put_string(WireWriter *writer, const void *bytes, size_t length)
{
    wire_put_varint(writer, length);
    wire_put_bytes(writer, bytes, length);
}

const uint8_t *wire_get_bytes(WireReader *reader, size_t length)
{
    if (reader->bad || wire_left(reader) < length) {
        reader->bad = true;
        return NULL;
    }
    const uint8_t *bytes = reader->next;
    reader->next += length;
    return bytes;
}

uint64_t wire_get_number(WireReader *reader, size_t bytes)
{
    uint64_t number = 0;
    const uint8_t *from = wire_get_bytes(reader, bytes);
    if (from != NULL) {
        memcpy(&number, from, bytes);
    }
    return le64toh(number);
}

uint64_t wire_get_varint(WireReader *reader)
{
    uint64_t number = 0;
    const uint8_t *next = reader->bad ? NULL : varint_read(reader->next, reader->end, &number);
    if (next == NULL) {
        reader->bad = true;
        return 0;
    }
    reader->next = next;
    return number;
}

const uint8_t *wire_get_string(WireReader *reader, size_t *length)
{
    uint64_t wanted = wire_get_varint(reader);
    const uint8_t *bytes = wanted > SIZE_MAX ? NULL : wire_get_bytes(reader, (size_t)wanted);
    reader->bad |= bytes == NULL;
    *length = reader->bad ? 0 : (size_t)wanted;
    return reader->bad ? NULL : bytes;
}

/* ---- records ---- */

/* Numbers of one, two, four and eight bytes; both kinds of machine have them. */
static uint64_t wire_load(const void *member, size_t size)
{
    uint64_t number = 0;
    char *place = (char *)&number;
    memcpy(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? place + sizeof number - size : place, member,
           size);
    return number;
}

static void wire_store(void *member, size_t size, uint64_t number)
{
    const char *place = (const char *)&number;
    memcpy(member, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? place + sizeof number - size : place,
           size);
}

static void wire_put_field(WireWriter *writer, const WireField *field, const char *member)
{
    const char *text = member;
    switch (field->kind) {
    case WIRE_VARINT:
        wire_put_varint(writer, wire_load(member, field->size));
        break;
    case WIRE_BYTES:
        wire_put_bytes(writer, member, field->size);
        break;
    case WIRE_STRING:
        memcpy(&text, member, sizeof text);
        wire_put_string(writer, text, strlen(text));
        break;
    case WIRE_TEXT:
        wire_put_string(writer, text, strlen(text));
        break;
    default:
        wire_put_number(writer, wire_load(member, field->size), field->kind);
        break;
    }
}

static void wire_get_text(WireReader *reader, const WireField *field, char *member)
{
    size_t length = 0;
    bool owned = field->kind == WIRE_STRING;
    size_t most = owned ? field->most : field->size - 1;
    const uint8_t *bytes = wire_get_string(reader, &length);
    bool good = bytes != NULL && length <= most && memchr(bytes, 0, length) == NULL;
    char *text = owned && good ? malloc(length + 1) : member;
    if (!good || text == NULL) {
        reader->bad = true;
        return;
    }
    memcpy(text, bytes, length);
    memset(text + length, 0, owned ? 1 : field->size - length);
    if (owned) {
        memcpy(member, &text, sizeof text);
    }
}

static void wire_get_field(WireReader *reader, const WireField *field, char *member)
{
    const uint8_t *bytes = NULL;
    uint64_t number = 0;
    switch (field->kind) {
    case WIRE_STRING:
    case WIRE_TEXT:
        wire_get_text(reader, field, member);
        break;
    case WIRE_BYTES:
        bytes = wire_get_bytes(reader, field->size);
        if (bytes != NULL) {
            memcpy(member, bytes, field->size);
        }
        break;
    default:
        number = field->kind == WIRE_VARINT ? wire_get_varint(reader)
                                            : wire_get_number(reader, field->kind);
        reader->bad |= number > field->most;
        wire_store(member, field->size, reader->bad ? 0 : number);
        break;
    }
}

void wire_put(WireWriter *writer, const WireRecord *record, const void *value)
{
    for (size_t i = 0; i < record->n; i++) {
        wire_put_field(writer, &record->fields[i], (const char *)value + record->fields[i].offset);
    }
}

void wire_get(WireReader *reader, const WireRecord *record, void *value)
{
    for (size_t i = 0; i < record->n && !reader->bad; i++) {
        wire_get_field(reader, &record->fields[i], (char *)value + record->fields[i].offset);
    }
}

void wire_put_list(WireWriter *writer, const WireRecord *record, const void *values, size_t n)
{
    wire_put_varint(writer, n);
    for (size_t i = 0; i < n; i++) {
        wire_put(writer, record, (const char *)values + i * record->size);
    }
}

size_t wire_get_list(WireReader *reader, const WireRecord *record, void *values, size_t most)
{
    uint64_t n = wire_get_varint(reader);
    reader->bad |= n > most;
    for (size_t i = 0; i < n && !reader->bad; i++) {
        wire_get(reader, record, (char *)values + i * record->size);
    }
    return reader->bad ? 0 : (size_t)n;
}

void *wire_get_new_list(WireReader *reader, const WireRecord *record, size_t most, size_t *n)
{
    uint64_t count = wire_get_varint(reader);
    reader->bad |= count > most;
    *n = reader->bad ? 0 : (size_t)count;
    char *values = reader->bad ? NULL : calloc(*n + 1, record->size);
    reader->bad |= values == NULL;
    for (size_t i = 0; i < *n && !reader->bad; i++) {
        wire_get(reader, record, values + i * record->size);
    }
    return values;
}

bool wire_is_alike(const WireRecord *record, const void *a, const void *b)
{
    bool alike = true;
    for (size_t i = 0; alike && i < record->n; i++) {
        const WireField *field = &record->fields[i];
        alike = memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                       field->size) == 0;
    }
    return alike;
}

void wire_put_runs(WireWriter *writer, const WireRecord *record, const void *values, size_t n)
{
    const char *first = values;
    for (size_t i = 0, end = 0; i < n; i = end) {
        const char *value = first + i * record->size;
        while (end < n && wire_is_alike(record, value, first + end * record->size)) {
            end++;
        }
        wire_put_varint(writer, end - i);
        wire_put(writer, record, value);
    }
}

void wire_get_runs(WireReader *reader, const WireRecord *record, void *values, size_t n)
{
    char *next = values;
    for (size_t left = n; left > 0 && !reader->bad;) {
        uint64_t run = wire_get_varint(reader);
        reader->bad |= run == 0 || run > left;
        wire_get(reader, record, next);
        size_t bytes = reader->bad ? 0 : run * record->size;
        for (size_t there = record->size; there < bytes; there *= 2) {
            memcpy(next + there, next, there < bytes - there ? there : bytes - there);
        }
        next += bytes;
        left -= reader->bad ? 0 : run;
    }
}

Result wire_seal(WireWriter *writer)
{
    const Buffer *out = writer->out;
    size_t start = writer->start;
    if (writer->rc == RESULT_OK) {
        wire_put_number(writer, libdeflate_crc32(0, out->data + start, out->length - start), 4);
    }
    return writer->rc;
}

bool wire_open(WireReader *reader, const void *bytes, size_t length)
{
    size_t whole = length < 4 ? 0 : length - 4;
    WireReader tail = wire_reader((const uint8_t *)bytes + whole, length - whole);
    uint32_t crc = (uint32_t)wire_get_number(&tail, 4);
    *reader = wire_reader(bytes, whole);
    return wire_reader_ended(&tail) && libdeflate_crc32(0, bytes, whole) == crc;
}

/* ---- half floats ---- */

uint16_t wire_half_of(float number)
{
    if (!(number > 0)) {
        return 0;
    }
    float bounded = number < HALF_MOST ? number : HALF_MOST;
    uint32_t bits = 0;
    memcpy(&bits, &bounded, sizeof bits);
    int exponent = (int)(bits >> 23) - 127;
    uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    /* Below 2^-14 the exponent stays and the mantissa shrinks. */
    unsigned shift = exponent < -14 ? (unsigned)(13 - 14 - exponent) : 13;
    if (shift > 24) {
        return 0;
    }
    uint32_t half = (mantissa + (UINT32_C(1) << (shift - 1))) >> shift; /* rounded */
    return (uint16_t)(exponent < -14 ? half : half + ((uint32_t)(exponent + 14) << 10));
}

float wire_float_of(uint16_t half)
{
    unsigned exponent = half >> 10 & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (half >> 15 != 0 || exponent == 0x1f) {
        return 0; /* what wire_half_of does not write */
    }
    float unit = exponent == 0 ? 0x1p-24f : (float)(UINT32_C(1) << exponent) * 0x1p-25f;
    return (float)(exponent == 0 ? mantissa : mantissa | 0x400u) * unit;
}
