/* One element of a bucket file: an operation with its key and value, as bytes.
 *
 * What: encoding and decoding. The layout is told in drum_file.h.
 * Owns: nothing; a decoded element points into the bytes that it was read from.
 * Threads: pure functions. */
#ifndef STORE_DRUM_DRUM_ELEMENT_H
#define STORE_DRUM_DRUM_ELEMENT_H

#include "store/drum/drum_types.h"

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

#endif
