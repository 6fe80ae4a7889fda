#include "store/drum/drum_element.h"

#include <string.h>

DrumKey drum_key_bytes(const void *bytes, size_t length)
{
    uint64_t number = 0;
    if (length > 0) {
        memcpy(&number, bytes, length < 8 ? length : 8);
    }
    return (DrumKey){.number = __builtin_bswap64(number), .bytes = {bytes, length}};
}

static size_t put_varint(uint8_t *bytes, uint64_t x)
{
    size_t n = 0;
    while (x >= 0x80) {
        bytes[n++] = (uint8_t)(x | 0x80);
        x >>= 7;
    }
    bytes[n++] = (uint8_t)x;
    return n;
}

/* NULL when it does not end before end, or does not fit 64 bits. */
static inline const uint8_t *get_varint(const uint8_t *bytes, const uint8_t *end, uint64_t *x)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes < end && shift < 64; shift += 7) {
        uint8_t byte = *bytes++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *x = value;
            return bytes;
        }
    }
    return NULL;
}

size_t drum_element_encode(uint8_t *bytes, DrumKeys keys, const DrumElement *element)
{
    size_t n = 0;
    if (keys == DRUM_KEYS_NUMBERS) {
        memcpy(bytes, &element->key.number, 8);
        n = 8;
    }
    n += put_varint(bytes + n, (uint64_t)element->value.length * 4 + element->operation);
    n +=
        put_varint(bytes + n, element->has_auxiliary ? (uint64_t)element->auxiliary_length + 1 : 0);
    n += put_varint(bytes + n, element->distance);
    if (keys == DRUM_KEYS_BYTES) {
        n += put_varint(bytes + n, element->key.bytes.length);
    }
    return n;
}

/* The part behind the key of a number, before that of a byte string. */
static inline const uint8_t *decode_lengths(const uint8_t *bytes, const uint8_t *end,
                                            DrumElement *element)
{
    uint64_t head = 0, auxiliary = 0;
    bytes = get_varint(bytes, end, &head);
    if (bytes != NULL) {
        bytes = get_varint(bytes, end, &auxiliary);
    }
    if (bytes != NULL) {
        bytes = get_varint(bytes, end, &element->distance);
    }
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
            bytes = get_varint(bytes, end, &length);
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
