/* Import fetch: a capture of another program's archive as the fetch that it was.
 *
 * What: the result that a fetching thread would have handed over; of which page and host it is, is
 * found later. A robots.txt is one.
 * Owns: nothing; the result is the caller's.
 * Threads: any. */
#ifndef COMMAND_IMPORT_IMPORT_FETCH_H
#define COMMAND_IMPORT_IMPORT_FETCH_H

#include "fetch/transfer/fetch_result.h"
#include "store/warc/warc_format.h"

/* An answer that was captured; everything is borrowed for the call. */
typedef struct ImportCapture {
    const char *url; /* as Url.href, without fragment */
    WallTime date;
    unsigned status;
    bool is_10; /* HTTP/1.0 */
    bool is_cut;
    WarcBytes ip; /* textual; may be empty */
    WarcBytes header;
    WarcBytes body;
} ImportCapture;

/* NULL without memory. */
FetchResult *import_fetch_of(const ImportCapture *capture);

#endif
