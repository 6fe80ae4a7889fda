/* Foreign stream: the bytes of a file that may be compressed, in members.
 *
 * What: gzip (members one after the other, or one for all), Zstandard (frames, without a
 * dictionary), or neither, as the first bytes say. Bytes are decompressed as they are asked for,
 * and never beyond the member that they begin in unless the caller goes on to the next, because in
 * most archives a member is a record.
 * Owns: the mapping of the file, its codecs and the bytes that were not taken yet.
 * Threads: one.
 * Errors: RESULT_DAMAGED: the member cannot be decompressed further; RESULT_NOT_FOUND: no file;
 * RESULT_IO, RESULT_MEMORY, RESULT_LIMIT (more bytes than the limit at once). */
#ifndef STORE_FOREIGN_FOREIGN_STREAM_H
#define STORE_FOREIGN_FOREIGN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct ForeignStream ForeignStream;

/* limit: bytes that may be held at once. */
Result foreign_stream_open(ForeignStream **stream, const char *path, size_t limit);
void foreign_stream_close(ForeignStream *stream);

/* Compressed bytes of the file, and how far they were read. */
uint64_t foreign_stream_size(const ForeignStream *stream);
uint64_t foreign_stream_position(const ForeignStream *stream);
/* Where the present member begins; without compression as foreign_stream_position. */
uint64_t foreign_stream_member(const ForeignStream *stream);

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
/* Drops all bytes and goes to the next place behind the beginning of the present member where one
 * may begin; *passed: compressed bytes that were passed over. RESULT_NOT_FOUND: there is none. */
Result foreign_stream_skip_member(ForeignStream *stream, uint64_t *passed);

#endif
