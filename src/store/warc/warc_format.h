/* WARC format: the vocabulary of WARC 1.1 that writer, reader and index share.
 *
 * What: record types, reasons of truncation, dates, digests and record ids.
 * Threads: any, except that a WarcHasher and a WarcIds belong to one thread.
 * Errors: RESULT_MEMORY; RESULT_IO when the system has no random bytes.
 * Source: ISO 28500:2017. */
#pragma once

#include "base/core/clock.h"

/* Borrowed bytes; not NUL-terminated. */
typedef struct WarcBytes {
    const char *bytes;
    size_t length;
} WarcBytes;

/* "name: value". */
typedef struct WarcField {
    WarcBytes name;
    WarcBytes value;
} WarcField;

static inline WarcBytes warc_bytes(const char *bytes, size_t length)
{
    return (WarcBytes){.bytes = bytes, .length = length};
}

/* Takes a line apart, without blanks around both; false: it has no colon. */
bool warc_field_split(WarcBytes line, WarcField *field);
/* The value of the first field of a name, whatever its case; false: there is none. */
bool warc_fields_find(const WarcField *fields, size_t n, const char *name, WarcBytes *value);
/* Equal without regard to the case of ASCII letters; word is a C string in lower case. */
bool warc_bytes_are(WarcBytes bytes, const char *word);
/* Takes a line out of *text, without its end; false behind the last. */
bool warc_bytes_next_line(WarcBytes *text, WarcBytes *line);
/* Without blanks and tabs at either end. */
WarcBytes warc_bytes_trim(WarcBytes bytes);
/* A decimal number without sign, at most max; false for anything else. */
bool warc_bytes_number(WarcBytes bytes, uint64_t max, uint64_t *number);

typedef enum WarcType {
    WARC_WARCINFO,
    WARC_RESPONSE,
    WARC_RESOURCE,
    WARC_REQUEST,
    WARC_METADATA,
    WARC_REVISIT,
    WARC_CONVERSION,
    WARC_CONTINUATION,
    WARC_TYPES /* how many */
} WarcType;

const char *warc_type_name(WarcType type);
/* WARC_TYPES when the word is none. */
WarcType warc_type_of(WarcBytes name);

/* Why a block ends before the message did; the words of WARC-Truncated. */
typedef enum WarcTruncation {
    WARC_WHOLE,
    WARC_TRUNCATED_LENGTH,
    WARC_TRUNCATED_TIME,
    WARC_TRUNCATED_DISCONNECT,
    WARC_TRUNCATED_UNSPECIFIED
} WarcTruncation;

/* NULL for WARC_WHOLE. */
const char *warc_truncation_name(WarcTruncation truncation);

#define WARC_PROFILE_IDENTICAL    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
#define WARC_PROFILE_NOT_MODIFIED "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

/* Reads a WARC-Date: wall_parse_iso. */
static inline bool warc_date_parse(WarcBytes text, WallTime *t)
{
    return wall_parse_iso(text.bytes, text.length, t);
}

/* The same of a timestamp, whose first fourteen digits count. */
static inline bool warc_date_of_timestamp(WarcBytes digits, WallTime *t)
{
    return digits.length >= 14 && wall_parse_compact(digits.bytes, 14, t);
}

#define WARC_DIGEST_BYTES 20
#define WARC_DIGEST_TEXT  40 /* "sha1:" and 32 characters and NUL */

/* SHA-1: what the field compares payloads with. It is an identity here, not a protection. */
typedef struct WarcDigest {
    uint8_t bytes[WARC_DIGEST_BYTES];
} WarcDigest;

/* "sha1:" and base32 (RFC 4648, upper case; 20 bytes need no padding). */
char *warc_digest_format(const WarcDigest *digest, char text[WARC_DIGEST_TEXT]);
bool warc_digest_parse(WarcBytes text, WarcDigest *digest);

/* Computes digests with one context again and again. */
typedef struct WarcHasher WarcHasher;
Result warc_hasher_new(WarcHasher **hasher);
void warc_hasher_delete(WarcHasher *hasher);
/* The digest of head followed by tail. RESULT_INTERNAL: the library refused. */
Result warc_hasher_digest(WarcHasher *hasher, WarcBytes head, WarcBytes tail, WarcDigest *digest);
/* The same, and the digest of tail alone: those of a block and of its payload. */
Result warc_hasher_pair(WarcHasher *hasher, WarcBytes head, WarcBytes tail, WarcDigest *both,
                        WarcDigest *tail_only);

typedef struct WarcId {
    uint8_t bytes[16]; /* a version 4 UUID */
} WarcId;

#define WARC_ID_TEXT 48 /* "<urn:uuid:" and 36 characters and ">" and NUL */

/* "<urn:uuid:...>". */
char *warc_id_format(const WarcId *id, char text[WARC_ID_TEXT]);
bool warc_id_parse(WarcBytes text, WarcId *id);

/* Record ids from the kernel's random source, many with one call. */
typedef struct WarcIds {
    uint8_t random[4096];
    size_t used; /* bytes of random that are gone; starts at its size */
} WarcIds;

void warc_ids_init(WarcIds *ids);
/* RESULT_IO: the kernel gave no random bytes. */
Result warc_ids_next(WarcIds *ids, WarcId *id);
