#include "cluster/wire/wire.h"

#include <endian.h>
#include <string.h>

#include "base/core/varint.h"

#define HALF_MOST 65504.0f

void wire_put_bytes(WireWriter *writer, const void *bytes, size_t length)
{
    if (writer->rc == RESULT_OK) {
        writer->rc = buffer_append(writer->out, bytes, length);
    }
}

void wire_put_8(WireWriter *writer, uint8_t number)
{
    wire_put_bytes(writer, &number, sizeof number);
}

void wire_put_16(WireWriter *writer, uint16_t number)
{
    uint16_t bytes = htole16(number);
    wire_put_bytes(writer, &bytes, sizeof bytes);
}

void wire_put_32(WireWriter *writer, uint32_t number)
{
    uint32_t bytes = htole32(number);
    wire_put_bytes(writer, &bytes, sizeof bytes);
}

void wire_put_64(WireWriter *writer, uint64_t number)
{
    uint64_t bytes = htole64(number);
    wire_put_bytes(writer, &bytes, sizeof bytes);
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

uint8_t wire_get_8(WireReader *reader)
{
    const uint8_t *bytes = wire_get_bytes(reader, 1);
    return bytes == NULL ? 0 : *bytes;
}

uint16_t wire_get_16(WireReader *reader)
{
    uint16_t number = 0;
    const uint8_t *bytes = wire_get_bytes(reader, sizeof number);
    if (bytes != NULL) {
        memcpy(&number, bytes, sizeof number);
    }
    return le16toh(number);
}

uint32_t wire_get_32(WireReader *reader)
{
    uint32_t number = 0;
    const uint8_t *bytes = wire_get_bytes(reader, sizeof number);
    if (bytes != NULL) {
        memcpy(&number, bytes, sizeof number);
    }
    return le32toh(number);
}

uint64_t wire_get_64(WireReader *reader)
{
    uint64_t number = 0;
    const uint8_t *bytes = wire_get_bytes(reader, sizeof number);
    if (bytes != NULL) {
        memcpy(&number, bytes, sizeof number);
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
