/* Descriptors: how many connections there may be, given how many files the system lets us open.
 *
 * What: a transfer for which no descriptor is left fails on this machine (FETCH_LOCAL), and so does
 * a log or a WARC file that is to be opened at that moment. So some descriptors are set aside for
 * everything else, and connections share the rest: those in use first, idle ones get what is left.
 * A pure function. */
#ifndef CRAWL_PARTS_DESCRIPTORS_H
#define CRAWL_PARTS_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

#define DESCRIPTORS_NO_LIMIT UINT64_MAX

typedef struct DescriptorShare {
    size_t most; /* transfers in flight that there are descriptors for; at least 1 */
    size_t busy; /* as many of them as are asked for */
    size_t kept; /* connections that one fetching thread keeps open, those in use included */
} DescriptorShare;

/* limit: RLIMIT_NOFILE. busy, idle: what is asked for, over all threads; threads is not 0. */
DescriptorShare descriptors_share(uint64_t limit, size_t busy, size_t idle, size_t threads);

#endif
