/* `ragno import -d DIR FILE...`: WARC files of others as if they had been crawled now.
 *
 * What: answers of HTTP in the files (response, resource and revisit records) become pages of the
 * crawl in DIR, with their links, digests and WARC records; nothing is fetched. What cannot be read
 * is passed over with a sentence and counted; so is an answer whose digest is wrong.
 * Threads: main, and those of import_store.h. */
#pragma once

#include <stdatomic.h>
#include "command/import/import_store.h"
#include "crawl/progress.h"
#include "store/foreign/foreign_reader.h"

/* Runs the command. Exit status: 0, 2 usage or configuration, 3 a file cannot be read or the disk
 * is full, 11 a signal has ended it, 17 records were damaged and passed over, or DIR is in use. */
int import_main(int argc, char **argv);

/* Import run: the records of one file after the other, handed to the import store.
 *
 * What: chooses answers of HTTP, puts chunked bodies together, compares digests, and finds the
 * payload of revisit records among what was imported before: by digest, or by the record that they
 * name. Where there are some whose payload was not known, the files are read again for them.
 * Owns: its buffers. The store and the progress are borrowed.
 * Threads: main.
 * Errors: those of the store; RESULT_CLOSED: a signal has asked for the end. */

/* Import payloads: bodies that were seen lately, by digest.
 *
 * What: most revisit records repeat one of a few payloads (an error page, a robots.txt). Those need
 * not be looked for in the archive. At most IMPORT_PAYLOADS bodies of IMPORT_PAYLOAD_BYTES in all
 * are held; the one that was asked for least lately goes first.
 * Owns: copies of the bodies.
 * Threads: one.
 * Errors: RESULT_MEMORY. */

#define IMPORT_PAYLOADS      256u
#define IMPORT_PAYLOAD_BYTES ((size_t)32 << 20)

typedef struct ImportPayload {
    WarcDigest digest;
    char *body; /* NULL: the slot is free */
    size_t length;
    uint64_t used; /* at which question */
} ImportPayload;

typedef struct ImportPayloads {
    ImportPayload slots[IMPORT_PAYLOADS];
    size_t bytes;
    uint64_t clock;
} ImportPayloads;

void import_payloads_destroy(ImportPayloads *payloads);
/* Keeps a copy; a body that is larger than a quarter of the room is not kept. */
Result import_payloads_put(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes body);
/* False: it is not there. *body is borrowed until the next put. */
bool import_payloads_get(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes *body);

typedef struct ImportCounts {
    uint64_t records;
    uint64_t answers;    /* that were handed to the store */
    uint64_t others;     /* requests, metadata, answers of name servers, ... */
    uint64_t confirmed;  /* revisits that say "not modified", or repeat their own URL */
    uint64_t orphans;    /* revisits whose payload is not known */
    uint64_t invalid;    /* answers that are no HTTP, or URLs that are none */
    uint64_t wrong;      /* answers whose digest is wrong */
    uint64_t damaged;    /* places where records were passed over */
    uint64_t unreadable; /* files */
} ImportCounts;

/* A revisit record whose payload was not known when it was read: its original stands behind it, or
 * is named by what only the original says. */
typedef struct ImportOrphan {
    size_t file;
    uint64_t number; /* of the record in it */
} ImportOrphan;

typedef struct ImportRun {
    ImportStore *store;
    Progress *progress;
    const atomic_int *signal; /* not 0: it is to end */
    uint64_t total_bytes;     /* of all files, for the progress */
    uint64_t done_bytes;
    ImportCounts counts;
    ImportPayloads payloads;
    /* For the further readings, 80 bytes an orphan: */
    bool is_again;
    ImportOrphan *orphans; /* in the order of the files; import_run_destroy is the caller's */
    size_t n_orphans;
    size_t n_old;       /* of these: from the reading before; they go first */
    size_t next_orphan; /* of the old ones, that was not met in this reading */
    Map originals;      /* what orphans name: a record's id, URL and date -> WarcDigest, once met */
    uint64_t resolved;  /* met in this reading */
} ImportRun;
