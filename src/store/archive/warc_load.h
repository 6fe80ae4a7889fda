/* Warc load: the stored answer of a URL.
 *
 * What: the capture is found by CDXJ (store/cdxj/cdxj.h) and read from its WARC file. The body of a
 * revisit record comes from the record that it refers to.
 * Owns: a WarcAnswer owns what was read.
 * Threads: any.
 * Errors: RESULT_NOT_FOUND: no answer is stored. RESULT_DAMAGED: its record cannot be read.
 * RESULT_IO, RESULT_MEMORY. */
#ifndef STORE_ARCHIVE_WARC_LOAD_H
#define STORE_ARCHIVE_WARC_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "base/core/result.h"
#include "parse/usage/usage.h"
#include "store/archive/warc_reader.h"
#include "store/cdxj/cdxj.h"
#include "store/warc/warc_format.h"

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
/* The same with the capture that cdxj_find has found. */
Result warc_load_capture(const char *directory, const CdxjCapture *capture, const char *url,
                         size_t length, WarcAnswer *answer);
/* Where the record is that a revisit refers to, by the indices in directory. RESULT_NOT_FOUND: it
 * is not here; RESULT_DAMAGED: the revisit does not say which it is. */
Result warc_load_find_original(const char *directory, const WarcRecord *revisit,
                               CdxjCapture *capture);
/* Takes the body of a revisit from the record that it refers to, in the files in directory; answer
 * is an empty one. RESULT_NOT_FOUND: that record is not here; RESULT_DAMAGED: it is broken, or the
 * revisit does not say where it is; RESULT_MEMORY. */
Result warc_load_original(const char *directory, const WarcRecord *revisit, WarcAnswer *answer);

#endif
