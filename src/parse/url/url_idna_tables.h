/* The data of url_idna.c and url_idna.c, made by tools/make-idna-tables.py.
 *
 * What: two maps from code points, each a sorted array of the first code points of ranges. Ranges
 * of the first have in bits 0 to 20 the start, in bits 21 to 23 a UrlIdnaKind, and a value beside
 * it; those of the second have packed properties. Canonical compositions are sorted by their parts;
 * by_composed orders the same pairs by what they compose to.
 * Threads: constant. */
#ifndef PARSE_URL_URL_IDNA_TABLES_H
#define PARSE_URL_URL_IDNA_TABLES_H

#include <stddef.h>
#include <stdint.h>

typedef enum UrlIdnaKind {
    URL_IDNA_VALID,
    URL_IDNA_DISALLOWED,
    URL_IDNA_IGNORED,
    URL_IDNA_SHIFTED,   /* mapped to the code point plus value */
    URL_IDNA_ALTERNATE, /* every other one from the start on is mapped to its successor */
    URL_IDNA_MAPPED     /* value / 32 is an index into the pool, value % 32 a length */
} UrlIdnaKind;

/* Bits 0-7 of the properties are the canonical combining class. */
#define URL_IDNA_BIDI(properties)    ((properties) >> 8 & 15)
#define URL_IDNA_JOINING(properties) ((properties) >> 12 & 7)
#define URL_IDNA_IS_MARK             0x8000u /* general category M */

enum {
    BIDI_L,
    BIDI_R,
    BIDI_AL,
    BIDI_AN,
    BIDI_EN,
    BIDI_ES,
    BIDI_CS,
    BIDI_ET,
    BIDI_ON,
    BIDI_BN,
    BIDI_NSM
};
enum { JOINING_U, JOINING_L, JOINING_R, JOINING_D, JOINING_T, JOINING_C };

typedef struct UrlIdnaPair {
    uint32_t first;
    uint32_t second;
    uint32_t composed;
} UrlIdnaPair;

extern const uint32_t url_idna_ranges[];
extern const int32_t url_idna_values[];
extern const size_t url_idna_n_ranges;
extern const uint32_t url_idna_pool[];
extern const uint32_t url_idna_property_starts[];
extern const uint16_t url_idna_properties[];
extern const size_t url_idna_n_properties;
extern const UrlIdnaPair url_idna_pairs[];
extern const uint16_t url_idna_by_composed[];
extern const size_t url_idna_n_pairs;

#endif
