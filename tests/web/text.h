/* English-looking text: a block of sentences made once, of which pages show seeded slices.
 *
 * Every page shows other slices, so that no two pages have the same digest, and serving one copies
 * nothing: a slice points into the block. Read-only after text_init; any thread. */
#ifndef TESTS_WEB_TEXT_H
#define TESTS_WEB_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct Text {
    char *block;   /* owned: sentences, each ending in ".\n" */
    size_t length; /* of the block */
} Text;

typedef struct TextSlice {
    const char *bytes; /* borrowed from the Text */
    size_t length;
} TextSlice;

/* Makes the block. RESULT_MEMORY. */
Result text_init(Text *text, uint64_t seed);
void text_destroy(Text *text);

/* Whole sentences, at least `bytes` of them in size (at most a fifth of the block), chosen by
 * random. */
TextSlice text_slice(const Text *text, uint64_t random, size_t bytes);

/* Writes number as words ("amber canyon delta"): different numbers, different words. Digests that
 * ignore digits tell such pages apart. Returns the length; words holds TEXT_NAME_BYTES. */
#define TEXT_NAME_BYTES 128
size_t text_name(uint64_t number, char words[TEXT_NAME_BYTES]);

#endif
