/* Making WARC records: one fetch becomes a group of compressed records, complete to the last byte,
 * and the facts that the index needs.
 *
 * What: all CPU work of storing (digests, compression) happens here, in the parsing threads and
 * outside any lock. A finished WarcGroup goes with the result of its page to the ingest thread,
 * which appends it to the current file (warc.h) in the batch whose transaction refers to it.
 *
 * A group is, in this order, the main record (response, revisit or resource), the request, and
 * metadata. Each record is one gzip member or Zstandard frame; the later ones name the main one in
 * WARC-Concurrent-To. So the position of the group is the position of the main record.
 * WARC-Warcinfo-ID is left out: a group is made before it is known which file it will be in, and
 * without the field the warcinfo record at the start of that file holds (ISO 28500, 5.9). The
 * records are:
 *
 *   response   the header block, made fit for its body (warc_http.h), and the body after removal of
 *              the transfer coding, before that of the content coding
 *   revisit    identical payload: the look-up knew the digest of the payload; the header block
 *              only. server not modified: the answer to a conditional request was 304; its header,
 *              exactly. It names the capture that it confirms and the digest of that one's
 *              payload, when the caller knows them
 *   request    the header as sent
 *   metadata   application/warc-fields of the caller's making
 *   resource   anything else that was fetched: a DNS answer
 *   conversion what a browser made of an answer: a document; it names the record of the answer
 *
 * Digests are SHA-1 in base32 of the block, and of the payload: the entity after removal of the
 * transfer coding and before that of the content coding, as warcio and wget compute them. The
 * digest of an identical payload is that of the body that was received. WARC-Date is the start of
 * the fetch.
 *
 * Owns: a recorder owns its codecs and scratch; a group owns its bytes.
 * Threads: a recorder belongs to one thread.
 * Errors: RESULT_INVALID, RESULT_LIMIT, RESULT_MEMORY, RESULT_IO (no random bytes); the group is
 * then empty, or as before.
 * Source: ISO 28500:2017; WARC-Protocol and WARC-Cipher-Suite of the IIPC's extensions; WARC-Usage
 * is ours. */
#pragma once

#include "store/warc/warc_head.h"
#include "parse/html/html.h"
#include "parse/usage/usage.h"

/* The look-up of duplicates: fills original when the payload is known (RESULT_OK); RESULT_NOT_FOUND
 * when it is new; anything else is logged by it and counts as new. Called in the recorder's thread;
 * store/archive/payload_index.h has one. */
typedef Result (*WarcFindOriginal)(void *context, const WarcDigest *payload,
                                   WarcOriginal *original);

typedef struct WarcRecorderOptions {
    WarcCompression compression;
    int level;                /* see warc_compressor_new */
    WarcFindOriginal find;    /* NULL: identical payloads are stored again */
    void *find_context;       /* borrowed */
    size_t revisit_min_bytes; /* smaller payloads are stored again; at least 1 */
} WarcRecorderOptions;

typedef struct WarcRecorder WarcRecorder;

/* RESULT_MEMORY, RESULT_INVALID (level). */
Result warc_recorder_new(WarcRecorder **recorder, const WarcRecorderOptions *options);
void warc_recorder_delete(WarcRecorder *recorder);

/* One fetch that got an answer. Everything is borrowed for the call; lengths may be 0 where it says
 * so. */
typedef struct WarcFetch {
    WarcBytes url;     /* as requested, absolute, without fragment: no blanks, ASCII */
    WallTime started;  /* wall time of the start of the fetch */
    const char *ip;    /* textual address of the peer, or NULL; an invalid one is left out */
    WarcBytes request; /* header block as sent (length 0: no request record) */
    WarcBytes header;  /* header block as received */
    WarcBytes body;    /* see above */
    WarcTruncation truncated;
    const char *protocol; /* WARC-Protocol: "http/1.1", "h2", ...; NULL = as the URL says */
    const char *tls;      /* the second WARC-Protocol: "tls/1.3"; NULL = none */
    const char *cipher;   /* WARC-Cipher-Suite: "TLS_AES_128_GCM_SHA256"; NULL = none */
    const char *usage;    /* WARC-Usage: "train-ai=n, search=y"; NULL = nothing is said */
    /* Of a 304, when they are known: the capture that it confirms, and the digest of its payload.
     */
    const WarcOriginal *not_modified;
    const WarcDigest *not_modified_payload;
} WarcFetch;

/* Anything fetched otherwise than by HTTP, or made of what was fetched, in one record. */
typedef struct WarcResource {
    WarcBytes uri; /* "dns:example.org" */
    WallTime started;
    const char *ip;           /* of the server that answered, or NULL */
    const char *content_type; /* "text/dns" */
    WarcBytes block;
    const WarcId *converts; /* the record that it was made of; NULL: it was fetched */
} WarcResource;

typedef struct WarcGroup {
    Buffer members;     /* compressed records, the main one first */
    Buffer index;       /* the CDXJ line of the main record up to its place (store/cdxj/cdxj.h) */
    size_t main_length; /* compressed bytes of the main record */
    uint32_t n_records;
    WarcType type; /* of the main record */
    WallTime date;
    WarcId id;        /* of the main record: what a later revisit refers to */
    bool whole;       /* the main block is not truncated */
    bool has_payload; /* payload is valid: always but for a 304 that confirms an unknown one */
    WarcDigest payload;
} WarcGroup;

void warc_group_init(WarcGroup *group);
void warc_group_destroy(WarcGroup *group);

/* Makes the records of a fetch; what group held before is forgotten. Without header and body the
 * request stands alone, and no index names it. RESULT_INVALID: not an HTTP
 * answer or not a URL (nothing is stored); RESULT_LIMIT: larger than 1 Gi; RESULT_MEMORY;
 * RESULT_IO: no random bytes. On failure the group is empty. */
Result warc_record_fetch(WarcRecorder *recorder, const WarcFetch *fetch, WarcGroup *group);
Result warc_record_resource(WarcRecorder *recorder, const WarcResource *resource, WarcGroup *group);

/* Adds a metadata record to a group that has been made: what became known of its main record since.
 * fields is application/warc-fields; nothing is added when it is
 * empty. On failure the group is as before. */
Result warc_record_metadata(WarcRecorder *recorder, WarcBytes uri, WarcBytes fields,
                            WarcGroup *group);

/* Appends one warcinfo record, compressed, to out; fields is application/warc-fields. */
Result warc_record_info(WarcRecorder *recorder, WallTime date, const char *filename,
                        WarcBytes fields, Buffer *out);

/* Appends "name: value" CRLF to an application/warc-fields block; line ends and other controls in
 * value become blanks. */
Result warc_fields_add(Buffer *fields, const char *name, const char *value, size_t length);

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
