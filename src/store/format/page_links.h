/* The list of links of a page, as bytes.
 *
 * What: a list is the indices of a page's links: first those that leave its domain, then the
 * others, both ascending, repetitions kept. Its bytes are:
 *
 *   varint 2 * n_diff, plus 1 if kinds follow;
 *   the kinds, if there are any;
 *   for each group a signed varint, the distance of the first index from the page's own, and
 *   unsigned varints, the distances between neighbours.
 *
 * All arithmetic is modulo 2^64, so every index is possible. A kind is a byte of the caller's that
 * is kept with each link; equal links are in order of kind. Most pages have one kind of link, 0,
 * and then nothing is stored. Otherwise kinds are a varint, how many bytes follow, and runs in the
 * order of the list: a kind and a varint, how often in a row. Zeroes at the end are left out.
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Source: seed 003, "Index". */
#ifndef STORE_FORMAT_PAGE_LINKS_H
#define STORE_FORMAT_PAGE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/varint.h"

/* Writes the list of page `index` to out (room for (n + 3) * MAX_VARINT_SIZE bytes); sorts both
 * groups of to[0..n) in place. Returns how many bytes. */
size_t page_links_encode(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out);

#define PAGE_LINKS_KIND_BITS 8
/* The same with kinds: elements of to are index << PAGE_LINKS_KIND_BITS | kind, so indices are
 * below 2^56. What is left in to is without kinds. */
size_t page_links_encode_kinds(uint64_t index, uint64_t *to, size_t n_diff, size_t n, uint8_t *out);
/* Whether a list has kinds other than 0. */
static inline bool page_links_has_kinds(const uint8_t *list, size_t length)
{
    return length > 0 && (list[0] & 1) != 0;
}
/* The kinds of the n links of a list, as page_links_decode orders them. false: not a list. */
bool page_links_decode_kinds(const uint8_t *list, size_t length, uint8_t *kinds, size_t n);

/* Room, in elements, that decoding a list of length bytes needs: one for each byte, and some. */
#define PAGE_LINKS_SLACK 8
static inline size_t page_links_bound(size_t length)
{
    return length + PAGE_LINKS_SLACK;
}

/* Decodes a list into to (room for page_links_bound(length)). only_diff stops behind the first
 * group. false: the bytes are not a list. */
bool page_links_decode(uint64_t index, const uint8_t *list, size_t length, bool only_diff,
                       uint64_t *to, size_t *n_diff, size_t *n);

#endif
