/* Host block: one host that moves to another agent, as a block of the outbox (link_block.h).
 *
 *   header of a block, kind BLOCK_HOSTS, one record
 *   body: origin (varint, bytes); pages (varint); Crawl-delay, wait, extra, rested (varint each,
 * ms); failures 8, class of the last failure 8
 *
 * What: what the new owner must know to be as polite, and to keep the same limit of pages. Its
 * robots.txt is not sent: the new owner asks for it. Times are lengths, since the clocks of two
 * machines differ.
 * Threads: none of its own; pure.
 * Invariant: host_block_read returns what host_block_write can have written, or RESULT_INVALID. */
#ifndef CLUSTER_WIRE_HOST_BLOCK_H
#define CLUSTER_WIRE_HOST_BLOCK_H

#include "cluster/wire/link_block.h"

#define HOST_ORIGIN_MOST ((size_t)1024)
#define HOST_LENGTH_MS   (INT64_C(10) * 365 * 86400 * 1000) /* no time is longer */

typedef struct HostMove {
    const char *origin; /* "http://www.example.org:81"; length bytes, borrowed */
    size_t length;
    uint32_t pages;          /* that were stored of it, by all agents that had it */
    uint32_t crawl_delay_ms; /* of its robots.txt; 0: none */
    int64_t wait_ms;         /* so long it is to be left alone from now on */
    int64_t extra_ms;        /* as in HostRecord */
    int64_t rested_ms;
    uint8_t failures;
    uint8_t last_failure;
} HostMove;

/* Replaces *block. RESULT_INVALID: the origin is longer than HOST_ORIGIN_MOST. RESULT_MEMORY. */
Result host_block_write(const HostMove *host, uint32_t epoch, Buffer *block);
/* body: as of block_read; *host borrows from it. RESULT_INVALID. */
Result host_block_read(const BlockHeader *header, const void *body, HostMove *host);

#endif
