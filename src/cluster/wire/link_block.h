/* Link block: what one transaction has for one other agent, as the outbox keeps it and as it
 * travels.
 *
 *   header, 16 bytes: kind 8, version 8, records 16, epoch 32, length of the body 32, CRC-32 32
 *   body: the records
 *
 * What: a record of BLOCK_LINKS is a URL that was found. Records are in order of discovery, and
 * each is front-coded against the record before it: the bytes that both URLs begin with are left
 * out. One byte says which fields are the same as in the record before:
 *
 *   marks 8; bytes shared with the URL before (varint), further bytes (varint, bytes);
 *   the mark of 128 says that the page is done (below);
 *   unless the mark says so: hop 8, depth (varint), redirects 8 | score (half) | estimate (half)
 *                            | agent 16, index of the parent there (varint)
 *
 * A URL of 60 bytes takes some 25 bytes next to its neighbours on a page.
 *
 * Owns: a writer owns its block; a reader borrows.
 * Threads: none of its own; an object belongs to its caller.
 * Invariants:
 *  1. A body has at most BLOCK_BODY_MOST bytes, a block at most BLOCK_RECORDS_MOST records.
 *  2. link_block_next returns URLs of 1 to LINK_URL_MOST printable ASCII bytes that begin with
 *     http:// or https://, hops that are capital letters, and finite scores, or ends with an
 *     error: the bytes may come from anywhere.
 * Source: MANY-MACHINES 3 and 9. */
#pragma once

#include "cluster/wire/wire.h"

#define BLOCK_HEADER_BYTES 16u
#define BLOCK_BODY_MOST    ((size_t)512 << 10)
#define BLOCK_RECORDS_MOST UINT16_MAX
#define BLOCK_VERSION      1u
#define LINK_URL_MOST      ((size_t)65536)
#define LINK_NO_PARENT     UINT64_MAX

typedef enum BlockKind {
    BLOCK_LINKS = 1, /* URLs that were found */
    BLOCK_HOSTS = 2  /* hosts that move (link_block.h) */
} BlockKind;

/* Why a block, or the message it is in, is not taken. */
typedef enum BlockFault {
    BLOCK_GOOD,
    BLOCK_LENGTH,    /* cut off, or longer than it may be */
    BLOCK_CRC,       /* its bytes changed on the way or on a disk */
    BLOCK_FORMAT,    /* its version, or its kind, is not known here */
    BLOCK_CRAWL,     /* it belongs to another crawl */
    BLOCK_ADDRESSEE, /* it is for another agent */
    BLOCK_SLOT,      /* sender and receiver disagree about the slot of a URL */
    BLOCK_DRAINED,   /* the receiver gives, or gave, all its slots away */
    BLOCK_UNGREETED, /* sender and receiver have not compared yet what they have of each other */
    BLOCK_RECORD,    /* a record is not what it should be */
    BLOCK_FAULTS
} BlockFault;

/* "cut off or too long", for logs and messages. */
const char *block_fault_name(BlockFault fault);

typedef struct BlockHeader {
    BlockKind kind;
    uint8_t version;
    uint16_t records;
    uint32_t epoch; /* of the sender's table when the block was made; its lower half */
    size_t length;  /* of the body */
    uint32_t crc;   /* of the body */
} BlockHeader;

/* Reads the header and checks that the body is there and is what it was. *body is borrowed. The
 * reader stands behind the block then. */
BlockFault block_read(WireReader *reader, BlockHeader *header, const void **body);
/* Overwrites the BLOCK_HEADER_BYTES at the start of a block of n bytes. RESULT_MEMORY. */
Result block_write_header(void *block, size_t length, BlockKind kind, uint16_t records,
                          uint32_t epoch);

typedef struct LinkRecord {
    const char *url; /* length bytes; not NUL-terminated */
    size_t length;
    uint8_t hop;       /* how it was found: L R E S M P ... */
    uint64_t depth;    /* of the URL itself */
    uint8_t redirects; /* that lead to it in a row, this one included; 255: that many or more */
    float score;       /* of the link */
    float estimate;    /* what the finder's scorer expects; negative: it has none */
    uint16_t agent;    /* the finder */
    uint64_t parent; /* index of the linking page in the finder's database; LINK_NO_PARENT: none */
    bool done; /* an agent that had the slot has fetched it, or given it up: it is to be known,
                  and not to be fetched */
} LinkRecord;

/* ---- writing ---- */

typedef struct LinkBlockWriter {
    Buffer block;    /* header and body */
    Buffer url;      /* of the record before */
    LinkRecord last; /* the record before; its url is the one above */
    uint16_t records;
} LinkBlockWriter;

void link_block_writer_init(LinkBlockWriter *writer);
void link_block_writer_destroy(LinkBlockWriter *writer);
/* Begins an empty block; keeps the memory. */
void link_block_writer_reset(LinkBlockWriter *writer);
/* RESULT_LIMIT: the block is full, begin another. RESULT_INVALID: the URL is longer than
 * LINK_URL_MOST. RESULT_MEMORY. The block is as before then. */
Result link_block_append(LinkBlockWriter *writer, const LinkRecord *record);
/* Completes the block, which is then writer->block until the next reset. RESULT_MEMORY. */
Result link_block_finish(LinkBlockWriter *writer, uint32_t epoch);

/* ---- reading ---- */

typedef struct LinkBlockReader {
    WireReader body;
    Buffer url; /* of the record before */
    LinkRecord last;
    uint16_t left; /* records */
} LinkBlockReader;

/* body: borrowed until the reader is destroyed. */
void link_block_reader_init(LinkBlockReader *reader, const BlockHeader *header, const void *body);
void link_block_reader_destroy(LinkBlockReader *reader);
/* RESULT_OK: *record is the next one, its URL borrowed until the next call. RESULT_CLOSED: that
 * were all. RESULT_INVALID: the rest is no block (BLOCK_RECORD). RESULT_MEMORY. */
Result link_block_next(LinkBlockReader *reader, LinkRecord *record);

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
