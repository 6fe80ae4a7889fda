/* The numbers of a page: which of them change at every visit, and which seldom.
 *
 * What: the digest of a text (digest.h) is blind to numbers, so that a counter or a date makes no
 * page new. But a price, a score and a stock are numbers, too, and when one of them changes the
 * page has changed. Which kind a number is, only its past tells. So the first NUMBERS_MAX numbers
 * of a page's text are kept from visit to visit, each as its place (a hash of the two words before
 * it, and of how many numbers had these before it) and its value (a hash), with a count of how
 * often it was compared and how often it was another one. A number counts when it was the same at
 * more than half of its comparisons before: one that changes at each visit never does, one that
 * stood still does at its first change. The first comparison teaches only.
 *
 * A history also has an epoch, which a change that counts moves on: mixed into the page's content
 * hash it makes the page another one (numbers_mix).
 *
 * Owns: nothing. Pure functions; a list belongs to one thread.
 * Bounds: a page's numbers behind the first NUMBERS_MAX are not looked at; 5 bytes for each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERS_MAX           64u
#define NUMBERS_HISTORY_BYTES (1 + NUMBERS_MAX * 5)

typedef struct PageNumber {
    uint16_t place;
    uint16_t value;
} PageNumber;

/* All zero is empty. */
typedef struct NumberList {
    PageNumber list[NUMBERS_MAX];
    uint64_t words[2]; /* hashes of the two words before */
    unsigned n;
} NumberList;

/* Text as it is in the document, a run between two tags: a number does not go on behind it. */
void numbers_add(NumberList *numbers, const char *text, size_t length);

/* Compares a visit's numbers with the history of the visits before, and enters them. history has
 * *length bytes, 0 at the first visit, and room for NUMBERS_HISTORY_BYTES. True when a number that
 * seldom changes has changed. A history that is no such thing is begun anew. */
bool numbers_learn(const NumberList *numbers, uint8_t *history, size_t *length);

/* The content hash of the page, as of the history's epoch. */
uint64_t numbers_mix(uint64_t hash, const uint8_t *history, size_t length);
