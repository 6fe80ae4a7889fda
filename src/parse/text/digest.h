/* What a page says, as fingerprints: a 128-bit digest of its text and tags for exact duplicates,
 * a 64-bit simhash of its words for the record, and its shingles for a sketch (sketch.h) by which
 * near ones are found.
 *
 * What: the recipe follows BUbiNG. It takes the text with its references decoded, in which every
 * run of white space and ASCII digits is one space, so that counters, dates and layout do not make
 * a page new; tags by name, without attributes, all unknown elements alike; of frame and iframe the
 * src as written; and the host in front. The text of script,
 * style and comments is skipped. Text is case-sensitive, and white space after a tag counts.
 *
 * The front end writes this normalised stream while it skims (digest_text, digest_tag);
 * digest_finish hashes it in two fast passes. The simhash takes shingles of SHINGLE_WORDS
 * consecutive words, tags being white space; so does the sketch (sketch.h), for who wants one.
 *
 * A page that is read in pieces (DIGEST_PIECES) has the same fingerprints: what was written
 * is hashed between the pieces (digest_drain), and memory stays bounded whatever the page's length.
 * Only a single word longer than DIGEST_WORD_BYTES is then counted as several.
 *
 * Owns: the stream, which is sized for the page beforehand; the recipe never writes more than that
 * (1.25 bytes for each byte read).
 * Threads: a Digest belongs to one thread and is reused.
 * Errors: RESULT_MEMORY. */
#pragma once

#include "base/core/hash.h"
#include "base/core/result.h"
#include "parse/text/numbers.h"
#include "parse/text/sketch.h"

/* Simhash: 64 bits of which similar texts share most. For the record only: near duplicates are
 * found by sketches (sketch.h).
 *
 * What: the hash of each shingle votes for or against each bit; the majority is the bit. The votes
 * are counted in bit-sliced counters: adding a hash costs a few logical operations for all 64 bits
 * together.
 * Source: M. Charikar 2002. */

#define SIMHASH_PLANES 32 /* votes of up to 2^32 shingles */
#define SIMHASH_BATCH  8

/* Votes; all zero is empty. */
typedef struct SimhashCounter {
    uint64_t planes[SIMHASH_PLANES]; /* bit k of a bit's count */
    uint64_t batch[SIMHASH_BATCH];   /* not yet counted */
    unsigned n_batch;
    uint64_t n;       /* hashes counted and waiting */
    SketchBins *bins; /* get what is counted; NULL: nobody wants a sketch */
} SimhashCounter;

/* Counts the batch. */
void simhash_flush(SimhashCounter *counter);

static inline void simhash_add(SimhashCounter *counter, uint64_t hash)
{
    counter->batch[counter->n_batch++] = hash;
    if (counter->n_batch == SIMHASH_BATCH) {
        simhash_flush(counter);
    }
}

/* The majority of what was added; 0 when nothing was. */
uint64_t simhash_of_counter(SimhashCounter *counter);

#define DIGEST_WORD_BYTES  ((size_t)256 << 10)
#define DIGEST_DRAIN_BYTES ((size_t)64 << 10) /* less is left for the next piece */

typedef struct DigestDone DigestDone; /* what was hashed before */

typedef struct Digest {
    char *stream; /* owned */
    size_t length;
    size_t capacity;
    bool in_space;       /* the stream ends with a space that more white space belongs to */
    DigestDone *done;    /* owned; NULL before the first page */
    SketchBins *bins;    /* borrowed; get the shingles; NULL: nobody wants a sketch */
    NumberList *numbers; /* borrowed; gets those of the text; NULL: nobody wants them */
} Digest;

typedef struct DigestResult {
    Hash128 text;     /* 0,0: the stream is empty */
    uint64_t simhash; /* 0: fewer words than DIGEST_MIN_WORDS */
    uint64_t words;
    uint64_t text_bytes; /* of the words, white space not counted */
} DigestResult;

#define DIGEST_MIN_WORDS 16

void digest_init(Digest *digest);
void digest_destroy(Digest *digest);

/* Begins a page of text_bytes bytes; host may be empty. RESULT_MEMORY. */
Result digest_begin(Digest *digest, size_t text_bytes, const char *host, size_t host_length);
/* The text_bytes of one that comes in pieces of at most so many, with digest_drain behind each. */
#define DIGEST_PIECES(piece_bytes) ((piece_bytes) + DIGEST_WORD_BYTES + DIGEST_DRAIN_BYTES)
/* Between two pieces: hashes what was written. */
void digest_drain(Digest *digest);
/* Text as it is in the document. decode: with its character references (not in raw text). */
void digest_text(Digest *digest, const char *text, size_t length, bool decode);
/* A tag; id is an HtmlTagId. */
void digest_tag(Digest *digest, unsigned id, bool is_end);
/* The src of a frame, after its tag. */
void digest_frame(Digest *digest, const char *src, size_t length);
/* The fingerprints of what was written since digest_begin. */
DigestResult digest_finish(Digest *digest);
/* Gives memory back beyond keep_bytes. */
void digest_trim(Digest *digest, size_t keep_bytes);
