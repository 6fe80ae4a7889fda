/* CDXJ: the index beside each WARC file, one line for each capture, sorted by bytes.
 *
 * What: a line is key, timestamp and a JSON object, here cut into pieces:
 *
 *   org,example)/a 20260131120000 {"url": "http://example.org/a", "mime": "text/html",
 *       "status": "200", "digest": "sha1:...", "length": "512", "offset": "1024",
 *       "filename": "x.warc.gz"}
 *
 * Captures are response, revisit and resource records; and conversions, what a browser made of an
 * answer, whose URL stands behind CDXJ_RENDERED, so that who looks for the answer finds that alone.
 * Keys are SURTs (surt.h). The timestamp is
 * WARC-Date cut to seconds. mime is "warc/revisit" for revisits and "unk" when the server sent
 * none; status is absent for resources; usage is what the site said of the capture's use ("usage":
 * "train-ai=n, search=y", as in WARC-Usage), absent where it said nothing. The line of a record is
 * a function of the record, its place and the name of its file, so an index can always be rebuilt
 * from its WARC file and compared with it.
 *
 * While X.warc.gz.open is written, its lines go unsorted to the journal X.cdxj.open, which is
 * sorted into X.cdxj when the file is finished. The journal is never trusted after a crash: it is
 * rebuilt.
 *
 * Owns: nothing.
 * Threads: pure functions, but for those that name files.
 * Errors: RESULT_IO, RESULT_FULL, RESULT_MEMORY.
 * Source: the CDXJ of pywb and its index tools. */
#pragma once

#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

#define CDXJ_RENDERED "urn:rendered:"

/* What a line says about a record, but its place. Borrowed. */
typedef struct CdxjFacts {
    WarcBytes url;
    WallTime date;
    WarcType type;            /* WARC_RESPONSE, WARC_REVISIT, WARC_RESOURCE or WARC_CONVERSION */
    unsigned status;          /* of HTTP; 0 = none */
    WarcBytes mime;           /* content type without parameters; empty = unknown */
    WarcBytes usage;          /* WARC-Usage: "train-ai=n, search=y"; empty: nothing is said */
    const WarcDigest *digest; /* of the payload; NULL = none */
} CdxjFacts;

/* Appends the line up to, not including, its place. */
Result cdxj_append_facts(Buffer *out, const CdxjFacts *facts);
/* Appends the place and the line end: compressed bytes, offset in the file, the file's name. */
Result cdxj_append_place(Buffer *out, uint64_t length, uint64_t offset, const char *filename);

/* A line taken apart; borrowed from the line but for url, which may be unescaped into scratch. */
typedef struct CdxjEntry {
    WarcBytes key;
    WarcBytes timestamp;
    WarcBytes url; /* as in JSON, escapes undone */
    WarcBytes mime;
    WarcBytes digest;
    WarcBytes filename;
    unsigned status; /* 0 = none */
    uint64_t length;
    uint64_t offset;
} CdxjEntry;

/* Reads one line without its line end. RESULT_INVALID: no CDXJ, or a field is missing. */
Result cdxj_parse(WarcBytes line, Buffer *scratch, CdxjEntry *entry);

/* Sorts the lines of the file journal, which is mapped, into the file index (replaced atomically,
 * durable). RESULT_IO, RESULT_FULL: index is as before. */
Result cdxj_sort(const char *journal, const char *index);

/* Calls found for every line in the index files (and journals) of directory whose URL is url, in no
 * order, until it answers false. Lines that cannot be read are skipped. */
typedef bool (*CdxjFound)(void *context, const CdxjEntry *entry);
Result cdxj_find(const char *directory, const char *url, size_t length, CdxjFound found,
                 void *context);
/* The same for every line, whatever its URL. RESULT_NOT_FOUND: there is no such directory. */
Result cdxj_walk(const char *directory, CdxjFound found, void *context);

/* The same for the lines of conversions (CDXJ_RENDERED). */
Result cdxj_walk_rendered(const char *directory, CdxjFound found, void *context);
/* A URL of a line without CDXJ_RENDERED in front of it. */
WarcBytes cdxj_plain_url(WarcBytes url);

#define CDXJ_TIMESTAMP_BYTES 14u

/* A capture of a URL, and where it stands. */
typedef struct CdxjCapture {
    char filename[256]; /* "": none */
    char timestamp[CDXJ_TIMESTAMP_BYTES + 1];
    uint64_t offset;
    uint64_t length;
    unsigned status; /* 0: none */
    bool revisit;
} CdxjCapture;

/* Calls found as cdxj_find does; it keeps its choice in *capture. RESULT_NOT_FOUND: it has chosen
 * none. */
Result cdxj_find_capture(const char *directory, const char *url, size_t length, CdxjFound found,
                         void *context, CdxjCapture *capture);

/* Puts the capture of a line in place of an older one, or of none; false: it stays. */
bool cdxj_capture_take(CdxjCapture *capture, const CdxjEntry *entry);
/* The newest capture of url in directory. A revisit counts only when revisits is true.
 * RESULT_NOT_FOUND: there is none. */
Result cdxj_newest(const char *directory, const char *url, size_t length, bool revisits,
                   CdxjCapture *capture);
/* The capture of a page's last visit: the newest of this status, or 304, up to that time;
 * without one the newest. (A page that has answered well is asked once more when its host fails;
 * what comes then is an answer, but changes nothing of the page.) */
bool cdxj_is_of_visit(const CdxjEntry *entry, int32_t status, WallTime time);
Result cdxj_of_visit(const char *directory, const char *url, size_t length, int32_t status,
                     WallTime time, CdxjCapture *capture);
