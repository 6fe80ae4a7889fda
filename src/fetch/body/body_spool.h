/* Body spool: a page that is longer than what is kept of it, on its way to a parsing thread.
 *
 *   libcurl --body_spool_add--> [file without a name] --body_spool_read--> parsing thread
 *
 * What: links are taken from all of a page, up to parse.max_bytes, though only fetch.max_body bytes
 * of it are kept. When a page turns out to be longer, the body moves from memory to a file, and the
 * rest is appended as it comes. So a long page costs no memory while it is received, however slow
 * its server is; the parsing thread reads the file in pieces. The file is in the crawl's directory;
 * most often it is gone before the system has written any of it to the disk.
 *
 * A host whose pages have no end would cost parse.max_bytes for each of them. So the pages of a
 * host that reach this bound are counted, in a row; behind BODY_SPOOL_ENDLESS of them only every
 * BODY_SPOOL_LOOK-th long page is read on, until one of them ends. The others are cut where less of
 * a page is kept (fetch.max_body).
 *
 * Owns: the descriptor; the share of the gate that counts the bytes of all spools.
 * Threads: the one that holds the FetchAnswer.
 * Errors: RESULT_LIMIT, RESULT_IO, RESULT_FULL: the page is cut there (is_cut), and what is in the
 * file is read all the same. */
#pragma once

#include <stdatomic.h>

#include "base/memory/buffer.h"
#include "base/thread/byte_gate.h"

#define BODY_SPOOL_ENDLESS 2u
#define BODY_SPOOL_LOOK    16u

typedef struct BodySpoolOptions {
    const char *directory; /* where the files are; NULL: there are no spools; borrowed */
    uint64_t max_bytes;    /* of one: parse.max_bytes, which the transfer knows */
    ByteGate *gate;        /* counts the bytes of all: fetch.spool; closed: no more; borrowed */
    _Atomic uint64_t *n_endless; /* counts pages that are cut for others of their host; borrowed */
} BodySpoolOptions;

typedef struct BodySpool {
    bool is_open;
    bool is_cut;     /* there was more, which is lost */
    int fd;          /* while it is open */
    uint64_t length; /* bytes in the file */
    ByteShare share;
} BodySpool;

/* Whether links are looked for in an answer with this header and beginning of a body: a page, as
 * far as can be told. */
bool body_spool_is_for(const Buffer *header, const Buffer *body);

/* Moves the body into a new file: body is empty afterwards. On failure body is as it was, and the
 * spool is not open. */
Result body_spool_open(BodySpool *spool, const BodySpoolOptions *options, Buffer *body);
/* Whether a long page is read on, by the number of its host's pages in a row that had no end;
 * counts. */
bool body_spool_may(const BodySpoolOptions *options, unsigned *endless);
/* The page has ended, and so has the transfer. */
void body_spool_judge(const BodySpool *spool, uint64_t max_bytes, unsigned *endless);
/* Appends; on failure a part of it, or nothing, and the spool is cut. */
Result body_spool_add(BodySpool *spool, const BodySpoolOptions *options, const char *bytes,
                      size_t length);
/* Reads up to size bytes from offset on; *length 0: the end. RESULT_IO. */
Result body_spool_read(const BodySpool *spool, uint64_t offset, char *bytes, size_t size,
                       size_t *length);
/* Closes it, if it is open. */
void body_spool_close(BodySpool *spool);
