/* A strict reader of WARC 1.1 files with one gzip member or Zstandard frame for each record.
 *
 * What: used by recovery, by `ragno verify`, by `ragno db get --body` and by tests. It takes
 * nothing for granted and mends nothing: whatever is not as the standard says is RESULT_DAMAGED,
 * and warc_reader_problem says what and where. The file is mapped; it must not shrink meanwhile.
 * Owns: the mapping and its decompressor; records are borrowed until the next call.
 * Threads: a WarcReader belongs to one thread.
 * Errors: RESULT_DAMAGED, RESULT_NOT_FOUND behind the last record, RESULT_IO, RESULT_MEMORY. */
#pragma once

#include "parse/usage/usage.h"
#include "store/cdxj/cdxj.h"
#include "store/warc/warc_http.h"

#define WARC_MAX_FIELDS 48u

/* Borrowed from the reader until its next call. */
typedef struct WarcRecord {
    uint64_t offset; /* in the file */
    uint64_t length; /* compressed */
    WarcType type;
    WallTime date;
    WarcId id;
    WarcBytes uri;   /* length 0: none */
    WarcBytes block; /* everything behind the record header */
    bool is_http;    /* the block is an HTTP message: http and payload are set */
    WarcHttp http;
    WarcBytes payload; /* the body of the HTTP message, else the block */
    size_t n_fields;
    WarcField fields[WARC_MAX_FIELDS];
} WarcRecord;

typedef struct WarcReader WarcReader;

/* Opens a file; RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */
Result warc_reader_open(WarcReader **reader, const char *path);
/* Opens the file of that name in directory; when it is still being written, NAME.open. */
Result warc_reader_open_in(WarcReader **reader, const char *directory, const char *name);
void warc_reader_close(WarcReader *reader);

/* Bytes of the file when it was opened. */
uint64_t warc_reader_size(const WarcReader *reader);
/* Reads the record at offset next. */
void warc_reader_seek(WarcReader *reader, uint64_t offset);
/* Reads the next record: its member, its header, its HTTP header if it has one. RESULT_NOT_FOUND:
 * the end of the file; RESULT_DAMAGED: see warc_reader_problem, and only warc_reader_resync goes
 * on; RESULT_LIMIT: larger than 1 Gi; RESULT_MEMORY. */
Result warc_reader_next(WarcReader *reader, WarcRecord *record);
/* The bytes of a record as they are in the file, compressed; borrowed as long as the reader lives.
 */
WarcBytes warc_reader_member(const WarcReader *reader, const WarcRecord *record);
/* After RESULT_DAMAGED: goes on at the next place where a record begins, which is searched for byte
 * by byte. *passed: the bytes that are passed over. RESULT_NOT_FOUND: no record follows, and all
 * that is left was passed over. */
Result warc_reader_resync(WarcReader *reader, uint64_t *passed);
/* Checks what warc_reader_next does not: digests, and that HTTP header and body agree.
 * RESULT_DAMAGED: see warc_reader_problem; reading may go on. */
Result warc_reader_check(WarcReader *reader, const WarcRecord *record);
/* Says in one line what was wrong. */
const char *warc_reader_problem(const WarcReader *reader);

/* The value of a field, name in lower case; false when the record has none. */
bool warc_record_field(const WarcRecord *record, const char *name, WarcBytes *value);

/* Appends the CDXJ line of a capture (store/cdxj/cdxj.h) to out. RESULT_NOT_FOUND: the record is
 * none.
 */
Result warc_record_index(const WarcRecord *record, const char *filename, Buffer *out);

/* Warc load: the stored answer of a URL.
 *
 * What: the capture is found by CDXJ (store/cdxj/cdxj.h) and read from its WARC file. The body of a
 * revisit record comes from the record that it refers to. */

typedef struct WarcAnswer {
    Buffer header;                 /* HTTP header block with its empty line; empty for a resource */
    Buffer body;                   /* as stored: Content-Encoding is still on it */
    WallTime date;                 /* of the capture */
    WarcId id;                     /* of its record */
    unsigned status;               /* of HTTP; 0 = none */
    bool revisit;                  /* the body comes from an earlier record */
    char usage[USAGE_TERMS_BYTES]; /* WARC-Usage; "": nothing is said */
    bool truncated;                /* by us or by the server: the body is not all of it */
} WarcAnswer;

void warc_answer_init(WarcAnswer *answer);
void warc_answer_destroy(WarcAnswer *answer);

/* Loads the newest capture of url from the files in directory (a crawl's warc folder); works beside
 * a running crawl. RESULT_NOT_FOUND: never captured, or a revisit whose original is not here;
 * RESULT_DAMAGED: a record is broken or is not what the index says (logged); RESULT_MEMORY. */
Result warc_load(const char *directory, const char *url, size_t length, WarcAnswer *answer);
/* The same of a page's last visit (cdxj_of_visit). */
Result warc_load_visit(const char *directory, const char *url, size_t length, int32_t status,
                       WallTime time, WarcAnswer *answer);
/* The same with the capture that cdxj_find has found. */
Result warc_load_capture(const char *directory, const CdxjCapture *capture, const char *url,
                         size_t length, WarcAnswer *answer);
/* The capture of url in the second of date that has this payload. */
Result warc_load_payload(const char *directory, const char *url, size_t length, WallTime date,
                         const WarcDigest *payload, WarcAnswer *answer);
/* Where the record is that a revisit refers to, by the indices in directory: of captures of one
 * second the one with its payload. RESULT_NOT_FOUND: it is not here; RESULT_DAMAGED: the revisit
 * does not say which it is. */
Result warc_load_find_original(const char *directory, const WarcRecord *revisit,
                               CdxjCapture *capture);
/* Takes the body of a revisit from the record that it refers to, in the files in directory; answer
 * is an empty one. RESULT_NOT_FOUND: that record is not here; RESULT_DAMAGED: it is broken, or the
 * revisit does not say where it is; RESULT_MEMORY. */
Result warc_load_original(const char *directory, const WarcRecord *revisit, WarcAnswer *answer);
