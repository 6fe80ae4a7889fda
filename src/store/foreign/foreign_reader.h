/* Foreign reader: the records of a WARC or ARC file that another program wrote.
 *
 * What: takes what is in use: ARC 1.0 and 1.1 (its answers get the type of a response), WARC 0.18
 * to 1.1, line ends of one or two bytes, folded fields, URIs in angle brackets, dates with and
 * without fractions; a member for each record, one for all, or no compression (foreign_reader.h).
 * What cannot be read is passed over: a record ends at the latest where a member begins with a
 * record, and after damage reading goes on where the next one begins. The strict reader of our own
 * files is store/archive/warc_reader.h.
 * Owns: its stream; a record is borrowed until the next call.
 * Threads: one.
 * Errors: RESULT_NOT_FOUND behind the last record; RESULT_DAMAGED: foreign_reader_problem says
 * what, foreign_reader_pass goes on; RESULT_IO, RESULT_MEMORY.
 * Source: ISO 28500:2009 and 2017; the Internet Archive's "Arc File Format"; the files of wget,
 * Heritrix, warcio and Common Crawl. */
#pragma once

#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

/* Foreign stream: the bytes of a file that may be compressed, in members.
 *
 * What: gzip (members one after the other, or one for all), Zstandard (frames; the file may begin
 * with the dictionary that they need), or neither, as the first bytes say. Bytes are decompressed
 * as they are asked for, and never beyond the member that they begin in unless the caller goes on
 * to the next, because in most archives a member is a record.
 * Owns: the mapping of the file, its codecs and the bytes that were not taken yet.
 * Threads: one.
 * Errors: RESULT_DAMAGED: the member cannot be decompressed further; RESULT_NOT_FOUND: no file;
 * RESULT_IO, RESULT_MEMORY, RESULT_LIMIT (more bytes than the limit at once).
 * Source: the IIPC's "Zstandard compression for WARC files" for dictionaries. */

typedef struct ForeignStream ForeignStream;

/* Of the file, `length` bytes from offset on: as much of that as there is. limit: bytes that may be
 * held at once. */
Result foreign_stream_open(ForeignStream **stream, const char *path, uint64_t offset,
                           uint64_t length, size_t limit);
void foreign_stream_close(ForeignStream *stream);

/* The bytes that are there; borrowed until the next call but foreign_stream_take. */
const char *foreign_stream_bytes(const ForeignStream *stream, size_t *length);
/* Makes at least n bytes be there, unless the member ends before: then there are fewer. */
Result foreign_stream_fill(ForeignStream *stream, size_t n);
/* Drops the first n of the bytes that are there. */
void foreign_stream_take(ForeignStream *stream, size_t n);
/* Whether nothing of the present member is left but the bytes that are there. */
bool foreign_stream_is_at_member_end(const ForeignStream *stream);
/* Begins the next member; its bytes are appended to those that are there. RESULT_NOT_FOUND: the
 * file ends. */
Result foreign_stream_next_member(ForeignStream *stream);

#define FOREIGN_MAX_FIELDS 64u
#define FOREIGN_HEAD_BYTES ((size_t)64 << 10) /* of a record's header, at most */

typedef struct ForeignRecord {
    uint64_t offset; /* in the file: of its member, or of itself without compression */
    WarcType type;   /* WARC_TYPES: another one */
    WarcBytes uri;   /* without angle brackets; length 0: none */
    WallTime date;   /* 0: none that could be read */
    WarcBytes block;
    size_t n_fields;
    WarcField fields[FOREIGN_MAX_FIELDS]; /* more are left out */
} ForeignRecord;

typedef struct ForeignReader ForeignReader;

/* max_block: a longer record is damage. RESULT_INVALID: no regular file. */
Result foreign_reader_open(ForeignReader **reader, const char *path, size_t max_block);
void foreign_reader_close(ForeignReader *reader);
uint64_t foreign_reader_size(const ForeignReader *reader);
uint64_t foreign_reader_position(const ForeignReader *reader);

Result foreign_reader_next(ForeignReader *reader, ForeignRecord *record);
/* After RESULT_DAMAGED: goes to where the next record begins. RESULT_NOT_FOUND: none does. */
Result foreign_reader_pass(ForeignReader *reader);
/* What was wrong, in one line, with its place. */
const char *foreign_reader_problem(const ForeignReader *reader);
/* name in lower case. */
bool foreign_record_field(const ForeignRecord *record, const char *name, WarcBytes *value);

/* Foreign HTTP: an HTTP answer in a record of another program, taken apart.
 *
 * What: header and body. A body that is chunked, as wget and Heritrix store it, is put together; a
 * header that says so beside a body that is not chunked (others remove the chunks and keep the
 * header) has the body as it is. Broken chunks at the end cut the body.
 * Owns: nothing.
 * Threads: pure.
 * Errors: RESULT_INVALID: no HTTP answer; RESULT_MEMORY, RESULT_LIMIT of body.
 * Source: RFC 9112, 7.1. */

typedef struct ForeignAnswer {
    unsigned status;
    bool is_10;       /* HTTP/1.0 */
    WarcBytes header; /* with its empty line; borrowed from the block */
    WarcBytes stored; /* the body as it is stored; borrowed from the block */
    WarcBytes body;   /* without chunks; borrowed from the block or from the buffer */
    bool is_cut;      /* its chunks do not end */
} ForeignAnswer;

/* chunks gets the body of a chunked answer. */
Result foreign_http_read(WarcBytes block, Buffer *chunks, ForeignAnswer *answer);
