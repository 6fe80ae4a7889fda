/* The metadata record of a fetch: what the crawler knows and the answer does not say, as
 * application/warc-fields.
 *
 *   via, hopsFromSeed, fetchTimeMs          how the URL was found; how long it took
 *   tls-protocol, tls-verification, tls-certificate-expiry     of the connection: 1.3, verified ...
 *   usage-denied, usage-allowed             what the site says of the page's use: train-ai+tdm
 *   charsetForLinkExtraction                encoding the links were read with
 *   text-digest, text-simhash               of the text without markup (hexadecimal)
 *   outlink: URL HOP KIND [rel...]          one for each link, in document order
 *
 * What: the names up to outlink are Heritrix's. All functions append to a Buffer.
 * Threads: pure functions.
 * Errors: those of the Buffer; a failed call appends nothing. */
#ifndef STORE_ARCHIVE_WARC_METADATA_H
#define STORE_ARCHIVE_WARC_METADATA_H

#include <stdint.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "base/core/result.h"
#include "parse/html/html.h"
#include "parse/usage/usage.h"
#include "store/warc/warc_format.h"

typedef struct WarcDiscovery {
    WarcBytes via;       /* URL of the page it was found on; length 0: a seed */
    const char *hops;    /* "LLE", or NULL */
    int64_t duration_ms; /* of the fetch; negative: unknown */
} WarcDiscovery;

Result warc_metadata_discovery(Buffer *fields, const WarcDiscovery *discovery);
typedef struct WarcTls {
    const char *version; /* "1.3" */
    const char *verdict; /* "verified" */
    WallTime expiry;     /* of the certificate; 0: not known */
} WarcTls;

Result warc_metadata_tls(Buffer *fields, const WarcTls *tls);
/* USAGE_... bits. */
Result warc_metadata_usage(Buffer *fields, Usage usage);
/* Encoding and digests of a parsed page. */
Result warc_metadata_page(Buffer *fields, const Page *page);
/* One link. */
Result warc_metadata_outlink(Buffer *fields, const PageLink *link);
/* A page's links, repetitions of the one before left out. */
Result warc_metadata_outlinks(Buffer *fields, const Page *page);

#endif
