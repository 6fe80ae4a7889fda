/* Mass file: the score that flows from one agent's pages to another agent's.
 *
 *   computation --MassWriter--> to-N --chunks, by request--> MassWriter --> from-M --> computation
 *      of M                                                                               of N
 *
 * What: a record for each page of the other agent that pages here link to: the page's hash and
 * fingerprint (the same in all databases of a cluster, page_db_share_seed) and what flows there;
 * and the head, which is behind them. A file is made under another name and put in place when it is
 * whole; it takes the place of the one before, so to take a file twice, or to miss some, does no
 * harm. Nothing is synced: a file that a power cut has damaged fails its checksum and is as none.
 *
 * Owns: a writer its buffer; a MassFile its mapping.
 * Threads: any; an object belongs to one.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY; RESULT_NOT_FOUND: no such file; RESULT_DAMAGED. */
#pragma once

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

/* ---- writing ---- */

typedef struct MassWriter {
    const char *directory; /* of the crawl; borrowed */
    bool incoming;         /* DIR/mass/from-N; else DIR/mass/to-N */
    uint16_t agent;
    Buffer bytes;
    uint64_t records;
    uint32_t crc;
    bool begun; /* the file is there, under another name */
} MassWriter;

/* Makes DIR/mass when it is missing. */
void mass_writer_init(MassWriter *writer, const char *directory, bool incoming, uint16_t agent);
/* What was not finished is removed. */
void mass_writer_destroy(MassWriter *writer);
Result mass_writer_add(MassWriter *writer, const MassRecord *record);
/* Whole records, as they stand in another file. */
Result mass_writer_copy(MassWriter *writer, const void *records, size_t length);
/* Puts the file in place; the head has the writer's records and crc. */
Result mass_writer_finish(MassWriter *writer, const MassHead *head);

/* ---- reading ---- */

typedef struct MassFile {
    MassHead head;
    const char *records;
    uint64_t length; /* of the file */
} MassFile;

/* RESULT_DAMAGED: head and length do not agree. */
Result mass_file_open(MassFile *file, const char *directory, bool incoming, uint16_t agent);
/* Whether the records are those that were written. */
bool mass_file_is_whole(const MassFile *file);
void mass_file_close(MassFile *file); /* of one that could not be opened, too */
