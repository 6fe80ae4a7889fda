/* Foreign reader: the records of a WARC file that another program wrote.
 *
 * What: takes what is in use: WARC 0.18 to 1.1, line ends of one or two bytes, folded fields, URIs
 * in angle brackets, dates with and without fractions; a member for each record, one for all, or no
 * compression (foreign_stream.h). What cannot be read is passed over: a record ends at the latest
 * where a member begins with a record, and after damage reading goes on where the next one begins.
 * The strict reader of our own files is store/archive/warc_reader.h.
 * Owns: its stream; a record is borrowed until the next call.
 * Threads: one.
 * Errors: RESULT_NOT_FOUND behind the last record; RESULT_DAMAGED: foreign_reader_problem says
 * what, foreign_reader_pass goes on; RESULT_IO, RESULT_MEMORY.
 * Source: ISO 28500:2009 and 2017; the files of wget, Heritrix, warcio and Common Crawl. */
#ifndef STORE_FOREIGN_FOREIGN_READER_H
#define STORE_FOREIGN_FOREIGN_READER_H

#include "store/foreign/foreign_stream.h"
#include "store/warc/warc_format.h"

#define FOREIGN_MAX_FIELDS 64u
#define FOREIGN_HEAD_BYTES ((size_t)64 << 10) /* of a record's header, at most */

typedef struct ForeignField {
    WarcBytes name;
    WarcBytes value;
} ForeignField;

typedef struct ForeignRecord {
    uint64_t offset; /* in the file: of its member, or of itself without compression */
    WarcType type;   /* WARC_TYPES: another one */
    WarcBytes uri;   /* without angle brackets; length 0: none */
    WallTime date;   /* 0: none that could be read */
    WarcBytes block;
    size_t n_fields;
    ForeignField fields[FOREIGN_MAX_FIELDS]; /* more are left out */
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

#endif
