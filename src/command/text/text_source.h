/* Text source: the captures of a piece of an archive that are documents with text: HTML, XHTML,
 * plain text, and PDF when that is wanted.
 *
 * What: reads one record after the other. It passes over records that are not answers, are older
 * than asked for, or have another status or type, and undoes the content coding of the rest. A
 * revisit record whose payload was first captured at another URL is a document of its own, with
 * that payload. A revisit record of its own URL, or of a 304, is not: its text was exported with
 * the first capture. What a browser made of a page (a conversion record) stands for all answers of
 * its URL that are not newer.
 *
 * Damage: a record that cannot be read is passed over, up to the place where the next one begins;
 * it is counted, with a sentence on standard error. The unfinished end of a file that is being
 * written is not damage.
 * Owns: a capture borrows from its source until the next one is read.
 * Threads: one.
 * Errors: RESULT_MEMORY, RESULT_IO (reported). */
#pragma once

#include "base/memory/map.h"
#include "command/text/text_jobs.h"
#include "parse/filter/filter.h"
#include "store/archive/warc_reader.h"

/* Text rendered: of which URLs an archive has conversions, and of when the newest is.
 *
 * Owns: its table.
 * Threads: made by one, asked by all.
 * Errors: RESULT_IO, RESULT_MEMORY. */

typedef struct TextRendered {
    Map newest; /* by URL: the number of its timestamp */
    bool failed;
} TextRendered;

/* text_rendered_free in every case. */
Result text_rendered_find(TextRendered *rendered, const char *directory);
void text_rendered_free(TextRendered *rendered);

#define TEXT_MIME_BYTES 256

/* What is asked for. */
typedef struct TextWanted {
    const char *directory;        /* of the archive; borrowed */
    WallTime since;               /* captures of that time or later; INT64_MIN: all */
    WallTime until;               /* captures before that time; INT64_MAX: all */
    bool html_only;               /* no plain text */
    bool pdf;                     /* PDF documents, too */
    bool elsewhere;               /* what is stored in another archive, as an empty document */
    const TextChoice *choice;     /* borrowed; which URLs */
    const Filter *where;          /* borrowed; what a filter expression says of it; NULL: all */
    const TextRendered *rendered; /* borrowed; NULL: conversions are passed over */
    bool quiet;                   /* damage was told of before: it is counted alone */
    unsigned status_first;        /* a range of statuses */
    unsigned status_last;
    size_t max_body_bytes; /* decoded; more is cut */
} TextWanted;

typedef struct TextCapture {
    WarcBytes url;
    WallTime date;
    WarcId id; /* of its record */
    unsigned status;
    const char *content_type; /* header value or NULL; NUL-terminated, cut at TEXT_MIME_BYTES */
    HttpContentType type;
    bool is_plain;              /* text/plain */
    bool is_pdf;                /* application/pdf */
    WarcBytes link_header;      /* the first Link field that names a canonical URL, or empty */
    WarcBytes content_language; /* header value or empty */
    const char *body;           /* decoded */
    size_t length;
    bool has_digest;
    WarcDigest digest; /* of the payload */
    bool is_cut;       /* the body is not all of it: by the crawl, the server, or a broken coding */
} TextCapture;

typedef struct TextCounts {
    uint64_t records;  /* of any type */
    uint64_t captures; /* documents handed out */
    uint64_t html_bytes;
    uint64_t undecoded;  /* captures whose content coding is broken */
    uint64_t damaged;    /* places where records were passed over */
    uint64_t missing;    /* revisits whose original is not there */
    uint64_t unreadable; /* files */
    WallTime newest;     /* of all captures, documents or not; 0: there was none */
} TextCounts;

typedef struct TextSource TextSource;

/* Sets the type of a capture from its header; text holds the field. */
/* Where an answer redirects to, absolute; from: its URL; document: scratch. False: nowhere. */
bool text_redirect_of(const HttpHeader *header, unsigned status, WarcBytes from, Url *document,
                      Url *target);
/* The Link field that says what the canonical URL is; empty: there is none. */
WarcBytes text_canonical_of(const HttpHeader *header);
void text_capture_take_type(TextCapture *capture, const HttpHeader *header,
                            char text[TEXT_MIME_BYTES]);

/* wanted is borrowed. RESULT_MEMORY. */
Result text_source_new(TextSource **source, const TextWanted *wanted);
void text_source_delete(TextSource *source);

/* Goes to a piece. RESULT_IO: the file cannot be read (it is counted, and said). */
Result text_source_open(TextSource *source, const TextJobs *jobs, const TextJob *job);
/* Goes on where a record of the file begins, which may be before the piece. */
void text_source_seek(TextSource *source, uint64_t offset);
/* Behind the end of a piece: its file is read on from there. */
void text_source_follow(TextSource *source);
/* The next document of the piece. RESULT_NOT_FOUND: there is none. */
Result text_source_next(TextSource *source, TextCapture *capture);
/* The next record of the piece, whatever it is; borrowed until the next call. RESULT_NOT_FOUND:
 * there is none. */
Result text_source_next_record(TextSource *source, const WarcRecord **record);
/* Whether the time, the choice and the filter want the current record, whatever it is.
 * RESULT_MEMORY.
 */
Result text_source_judge(TextSource *source, bool *wanted);
/* The current record as a capture, which is borrowed like the record. RESULT_NOT_FOUND: it is no
 * HTTP answer, or its payload is not there (counted). */
Result text_source_take(TextSource *source, TextCapture *capture);
/* The current record as it is in the file, compressed. */
WarcBytes text_source_member(const TextSource *source);
/* How far it has come in the file. */
uint64_t text_source_position(const TextSource *source);
const TextCounts *text_source_counts(const TextSource *source);

/* What a filter expression may ask about: the URL, the status, the content type, the decoded body
 * and the digest of the payload. */
#define TEXT_FILTER_HAS (FILTER_HAS_RESPONSE | FILTER_HAS_STATUS | FILTER_HAS_TYPE)
