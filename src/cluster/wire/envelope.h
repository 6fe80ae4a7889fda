/* Envelope: the message that carries blocks from one agent to another.
 *
 *   magic 32, version 8, zero 8, blocks 16; uuid of the crawl 128; from 16, to 16, epoch of the
 *   sender's table 64, its session 64, sequence of the first block 64; length of all blocks 32,
 *   length of the packed ones 32, CRC-32 of all other bytes 32; packed blocks (zstd)
 *
 * What: the receiver commits all blocks of an envelope in one transaction and then answers, so an
 * envelope is taken in as a whole or not at all.
 * Owns: a packer owns its codecs.
 * Threads: a packer belongs to one thread.
 * Invariants: an envelope is checked before any of it is used. Unpacking never takes more than
 * ENVELOPE_BLOCKS_MOST bytes, whatever the packed bytes say.
 * Source: MANY-MACHINES 3. */
#ifndef CLUSTER_WIRE_ENVELOPE_H
#define CLUSTER_WIRE_ENVELOPE_H

#include "cluster/wire/link_block.h"

#define ENVELOPE_UUID_BYTES  16u
#define ENVELOPE_BLOCKS_MOST (BLOCK_HEADER_BYTES + BLOCK_BODY_MOST)
/* Below what a NATS server accepts as one message when nobody has configured it (1 MB). */
#define ENVELOPE_MOST ((size_t)900 << 10)

typedef struct Envelope {
    uint8_t uuid[ENVELOPE_UUID_BYTES];
    uint16_t from;
    uint16_t to;
    uint16_t blocks;   /* how many it carries */
    uint64_t epoch;    /* of the sender's table when it was sent */
    uint64_t session;  /* of the sender's process */
    uint64_t sequence; /* of the first block, in the sender's outbox */
} Envelope;

typedef struct EnvelopePacker EnvelopePacker;

/* NULL without memory. */
EnvelopePacker *envelope_packer_new(void);
void envelope_packer_delete(EnvelopePacker *packer); /* NULL is allowed */

/* Replaces *out by the message. blocks: length bytes, at most ENVELOPE_BLOCKS_MOST. RESULT_LIMIT:
 * they are more, or do not shrink below ENVELOPE_MOST. RESULT_MEMORY. */
Result envelope_pack(EnvelopePacker *packer, const Envelope *envelope, const void *blocks,
                     size_t length, Buffer *out);
/* Opens a message for agent `to` of crawl `uuid`: *blocks is replaced. BLOCK_GOOD, or why it is
 * refused: BLOCK_LENGTH, BLOCK_CRC, BLOCK_FORMAT, BLOCK_CRAWL, BLOCK_ADDRESSEE; BLOCK_LENGTH also
 * without memory. *envelope says who sent it as far as that can be known. */
BlockFault envelope_open(EnvelopePacker *packer, const void *bytes, size_t length,
                         const uint8_t uuid[ENVELOPE_UUID_BYTES], uint16_t to, Envelope *envelope,
                         Buffer *blocks);

#endif
