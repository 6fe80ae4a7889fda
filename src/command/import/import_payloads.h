/* Import payloads: bodies that were seen lately, by digest.
 *
 * What: most revisit records repeat one of a few payloads (an error page, a robots.txt). Those need
 * not be looked for in the archive. At most IMPORT_PAYLOADS bodies of IMPORT_PAYLOAD_BYTES in all
 * are held; the one that was asked for least lately goes first.
 * Owns: copies of the bodies.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#ifndef COMMAND_IMPORT_IMPORT_PAYLOADS_H
#define COMMAND_IMPORT_IMPORT_PAYLOADS_H

#include "base/core/result.h"
#include "store/warc/warc_format.h"

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

#endif
