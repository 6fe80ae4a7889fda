/* Mass file: the score that flows from one agent's pages to another agent's.
 *
 *   computation --MassWriter--> to-N --chunks, by request--> MassWriter --> from-M --> computation
 *      of M                                                                               of N
 *
 * What: a head, and a record for each page of the other agent that pages here link to: the page's
 * hash and fingerprint (the same in all databases of a cluster, page_db_share_seed) and what flows
 * there. A file is made under another name and put in place when it is whole; it takes the place of
 * the one before, so to take a file twice, or to miss some, does no harm. Nothing is synced: a file
 * that a power cut has damaged fails its checksum and is as none.
 *
 * Owns: a writer its buffer; a MassFile its mapping.
 * Threads: any; an object belongs to one.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY; RESULT_NOT_FOUND: no such file; RESULT_DAMAGED. */
#ifndef CLUSTER_MASS_MASS_FILE_H
#define CLUSTER_MASS_MASS_FILE_H

#include <stdint.h>

#include "cluster/wire/wire.h"

#define MASS_DIRECTORY    "mass" /* in the directory of the crawl */
#define MASS_RECORD_BYTES 17u
#define MASS_HEAD_BYTES   72u

/* Of the sender's computation. */
typedef struct MassHead {
    uint32_t magic;
    uint64_t round;   /* later ones are greater; 0: there was none */
    uint64_t time_s;  /* since 1970 */
    uint64_t pages;   /* that the sender owns */
    double sum;       /* of their values */
    double jump;      /* of what they jump with */
    double inflow;    /* that the sender had heard of */
    double outflow;   /* to all other agents */
    uint64_t records; /* in this file */
    uint32_t crc;     /* of the records */
} MassHead;

typedef struct MassRecord {
    uint64_t hash;
    uint64_t print;
    float mass;
} MassRecord;

void mass_head_put(WireWriter *writer, const MassHead *head);
/* False: it is none. */
bool mass_head_get(WireReader *reader, MassHead *head);
void mass_record_read(const char bytes[MASS_RECORD_BYTES], MassRecord *record);

/* DIR/mass/from-N (incoming) or DIR/mass/to-N. RESULT_LIMIT, RESULT_MEMORY. */
Result mass_file_path(Buffer *path, const char *directory, bool incoming, uint16_t agent);

/* ---- writing ---- */

typedef struct MassWriter {
    Buffer path;
    Buffer part; /* name until it is whole */
    Buffer bytes;
    uint64_t records;
    uint32_t crc;
    bool begun; /* the file is there */
} MassWriter;

/* Makes DIR/mass when it is missing. */
Result mass_writer_init(MassWriter *writer, const char *directory, bool incoming, uint16_t agent);
/* What was not finished is removed. */
void mass_writer_destroy(MassWriter *writer);
Result mass_writer_add(MassWriter *writer, const MassRecord *record);
/* Whole records, as they stand in a file. */
Result mass_writer_add_bytes(MassWriter *writer, const void *bytes, size_t length);
/* Puts the file in place; records and crc of the head are filled in. */
Result mass_writer_finish(MassWriter *writer, const MassHead *head);
/* The same for a copy: RESULT_DAMAGED when it does not have the head's records. */
Result mass_writer_finish_copy(MassWriter *writer, const MassHead *head);

/* ---- reading ---- */

Result mass_file_head(const char *path, MassHead *head);
/* The head, and at most `most` bytes of whole records from byte `offset` on; *bytes is replaced. */
Result mass_file_chunk(const char *path, uint64_t offset, size_t most, MassHead *head,
                       Buffer *bytes);

typedef struct MassFile {
    MassHead head;
    const char *records;
    void *map;
    size_t length;
} MassFile;

/* Checked. */
Result mass_file_open(MassFile *file, const char *path);
void mass_file_close(MassFile *file);

#endif
