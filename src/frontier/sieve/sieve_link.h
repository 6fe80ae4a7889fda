/* Sieve link: what the bucket files hold of a link, behind its key.
 *
 * What: the auxiliary value of a DRUM element, written by sieve.c and read by sieve_merge.c and
 * sieve_walk.c. It is in the machine's byte order: bucket files do not travel. */
#ifndef FRONTIER_SIEVE_SIEVE_LINK_H
#define FRONTIER_SIEVE_SIEVE_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "store/drum/drum.h"

/* The URL follows, unless the cache knew it. */
typedef struct SieveLink {
    uint64_t from;
    uint64_t from_hash;
    uint64_t depth;   /* of what it links to */
    uint32_t number;  /* of the page's crawl in the generation */
    uint32_t n_links; /* of the page; 0: none, only that matters */
    float score;
    float page_score;
    uint8_t hop;
    uint8_t cross;    /* leaves the domain */
    uint8_t is_first; /* of the page */
    uint8_t kind;
    uint8_t padding[4];
} SieveLink;

/* Reads the auxiliary value of an element. False when it is too short. */
static inline bool sieve_link_read(DrumBytes auxiliary, SieveLink *link)
{
    if (auxiliary.bytes == NULL || auxiliary.length < sizeof *link) {
        return false;
    }
    memcpy(link, auxiliary.bytes, sizeof *link);
    return true;
}

#endif
