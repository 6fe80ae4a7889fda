/* Charset tables: the encodings with one byte for each character.
 *
 * What: a table of 128 code points for each encoding of the WHATWG standard.
 * Threads: any; constant. */
#pragma once

#include <stdint.h>

/* The 128 code points of the bytes 0x80-0xFF (0 = unassigned), or NULL: not such an encoding. */
const uint16_t *charset_single_byte_table(const char *name);
