/* Floor work: what the floor beneath a crawl does with what it has fetched, and where it keeps it.
 *
 *   curl_floor --floor_work_take--> links --> database, archive
 *
 * What: the stages of bench_floor.c. floor_work_take does all of it; the functions below it are its
 * steps, for those that hand them from thread to thread (floor_threads.h).
 * Owns: database, files and parser.
 * Threads: one; of the steps floor_work_read (with a parser and a reading of its own) and
 * floor_work_take_rules may be in others than those that write.
 * Errors: -1, false or a Result; has_failed says that something went wrong in a callback. */
#ifndef TESTS_BENCH_FLOOR_WORK_H
#define TESTS_BENCH_FLOOR_WORK_H

#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "curl_floor.h"
#include "floor_hosts.h"
#include "parse/html/html.h"
#include "parse/http/decode.h"
#include "store/warc/warc_compress.h"
#include "store/warc/warc_format.h"

typedef enum FloorStage {
    FLOOR_CURL,
    FLOOR_LINKS,
    FLOOR_STORE,
    FLOOR_HANDED,
    FLOOR_WARC,
    FLOOR_STAGES
} FloorStage;

/* What is to be stored of a page. */
typedef struct FloorReading {
    Buffer row;   /* of the table of pages */
    Buffer links; /* FloorSeen */
    Buffer urls;  /* of the links */
} FloorReading;

/* A link of a reading. */
typedef struct FloorSeen {
    uint64_t hash;
    uint32_t at; /* its URL, in FloorReading.urls */
    uint32_t length;
} FloorSeen;

typedef struct FloorWork {
    FloorStage stage;
    HtmlParser *parser;
    Decoder *decoder;
    Buffer plain; /* a body that came compressed */
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi pages;
    MDB_dbi seen;
    MDB_dbi schedule;   /* hashes of host and URL */
    FloorReading batch; /* the links of this batch, and the row of the page at hand */
    Buffer fetched;     /* rows of the schedule, of this batch */
    Buffer found;       /* the same */
    Buffer log;
    int log_file;
    uint64_t n_pages;
    uint64_t n_answers;
    WarcHasher *hasher;
    WarcCompressor *compressor;
    int file;
    Buffer record;
    Buffer members; /* of this batch */
    FloorHosts hosts;
    bool has_hosts;
    atomic_bool has_failed;
} FloorWork;

/* work is zeroed but for stage and has_hosts. To be closed in any case. */
int floor_work_open(FloorWork *work, const char *directory);
void floor_work_close(FloorWork *work);
/* FloorOptions.take: all of it, in one thread. */
void floor_work_take(void *context, const FloorAnswer *answer);
/* What the last batch has; what is behind it is lost otherwise. An error of LMDB, or -1. */
int floor_work_commit(FloorWork *work);

void floor_reading_init(FloorReading *reading);
void floor_reading_destroy(FloorReading *reading);
/* Finds the links of a page: its row, and the links behind those that are there. */
Result floor_work_read(HtmlParser *parser, const FloorAnswer *answer, bool is_stored,
                       FloorReading *reading);
/* Stores a page whose links are in work->batch. */
int floor_work_store(FloorWork *work, const FloorAnswer *answer, const Buffer *row);
/* Keeps the rules of a robots.txt. */
bool floor_work_take_rules(FloorWork *work, const FloorAnswer *answer);
bool floor_work_store_rules(FloorWork *work, const FloorAnswer *answer);
/* Counts an answer, and commits a batch that is full. */
bool floor_work_count(FloorWork *work);

#endif
