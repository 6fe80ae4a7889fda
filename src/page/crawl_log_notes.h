/* Crawl log notes: the annotations of crawl.log, its last column.
 *
 * What: the one list of them. page/crawl_log.h writes them by their constants,
 * logs/crawl_log_line.h reads them by their kinds, and `ragno check annotations` prints them for
 * the manual. A new one is a row here, a call in the writer, and, when somebody is to read it, a
 * field in the reader. They are separated by commas, have no blanks, and "," in a URL is "%2C".
 * Threads: any; constant.
 * Invariants: a row is written as its name, or as its name, a colon and its value. */
#pragma once

#include "base/memory/buffer.h"

typedef enum CrawlLogKind {
    CRAWL_LOG_FLAG,   /* no value */
    CRAWL_LOG_NUMBER, /* 12 */
    CRAWL_LOG_PAIR,   /* 12/34 or 12-34 */
    CRAWL_LOG_TEXT
} CrawlLogKind;

/* clang-format off */
#define CRAWL_LOG_NOTES(NOTE) \
    NOTE(NOTE_AGENT, "agent", NUMBER, "N", \
         "this was asked by agent N of the cluster, for this one") \
    NOTE(NOTE_IP, "ip", TEXT, "ADDRESS", "the address that was asked") \
    NOTE(NOTE_MONO, "mono", PAIR, "START-END", \
         "monotonic clock in ms; START is rounded down, END up") \
    NOTE(NOTE_WAIT, "wait", PAIR, "OWED/GIVEN", \
         "ms that the host was owed before this fetch, and ms that it got") \
    NOTE(NOTE_OWES, "owes", PAIR, "HOST/IP", \
         "ms that host and address are left alone from END on") \
    NOTE(NOTE_LEARNED, "learned", TEXT, "DELAY/USUAL/N", \
         "the host's delay that was learned (politeness.learned; 0: none is), how long its answers take, " \
         "in ms, and how many in a row were steady since the last step") \
    NOTE(NOTE_BURST, "burst", NUMBER, "N", \
         "the N-th request of a burst (politeness.keep_alive_time)") \
    NOTE(NOTE_AT_ONCE, "at-once", NUMBER, "N", \
         "most requests to its host that were in flight with it (politeness.connections)") \
    NOTE(NOTE_MONO_US, "mono-us", PAIR, "START-END", \
         "mono in microseconds, both rounded down, of a burst or where nothing is owed: there is " \
         "nothing but microseconds between its requests") \
    NOTE(NOTE_AS, "as", TEXT, "ORIGIN", \
         "the host whose delays hold, when it is not that of the URL") \
    NOTE(NOTE_BOOT, "boot", TEXT, "ID", \
         "of the machine, on the first line after the file was opened: mono of two boots cannot be " \
         "compared") \
    NOTE(NOTE_ROBOTS, "robots", TEXT, "VERSION", \
         "the version of robots.txt that allowed the fetch, or `ignored` (robots.obey); on a line of " \
         "robots.txt itself, the version from then on") \
    NOTE(NOTE_DUP, "dup", TEXT, "URL", "a page with the same body") \
    NOTE(NOTE_NEAR, "near", TEXT, "URL", \
         "a page with nearly the same text (parse.near_duplicates)") \
    NOTE(NOTE_ERROR, "error", TEXT, "CLASS", "what failed (ragno check retries)") \
    NOTE(NOTE_RETRY, "retry", NUMBER, "N", \
         "it is tried again; N is the number of failures in a row") \
    NOTE(NOTE_CHECK, "host-check", FLAG, "", \
         "a page that has answered well is asked again, since others of its host have failed in a row") \
    NOTE(NOTE_TRUNC, "trunc", TEXT, "WHY", "why the body was cut off") \
    NOTE(NOTE_WALL, "wall", TEXT, "KIND", "an answer that keeps crawlers out") \
    NOTE(NOTE_TLS, "tls", TEXT, "VERSION/VERDICT", "and what its certificate is worth") \
    NOTE(NOTE_USAGE, "usage-denied", TEXT, "USAGE+...", "usages that the site denies") \
    NOTE(NOTE_PRICE, "price", TEXT, "FIGURE", "crawler-price of the answer, which is not paid; blanks and commas are _") \
    NOTE(NOTE_CUT, "cut", TEXT, "WHY", "why the answer was ended at its header") \
    NOTE(NOTE_KEPT, "kept", TEXT, "header", "what of such an answer is in the archive") \
    NOTE(NOTE_LANG, "lang", TEXT, "TAG", "the language that an HTML page says it is in") \
    NOTE(NOTE_READ, "read", TEXT, "N", \
         "links were taken from N bytes of a page that is longer than what is kept; N+: and there " \
         "were more") \
    NOTE(NOTE_BEYOND, "links-beyond", NUMBER, "N", "links beyond parse.max_links") \
    NOTE(NOTE_LONG, "links-long", NUMBER, "N", "links longer than scope.max_url_length") \
    NOTE(NOTE_RULE, "rule", TEXT, "RULE", "that refused it; blanks and commas are _") \
    NOTE(NOTE_NO_PARSE, "no-parse", FLAG, "", "filter.parse refused the answer") \
    NOTE(NOTE_NO_FOLLOW, "no-follow", FLAG, "", "filter.follow did") \
    NOTE(NOTE_NO_STORE, "no-store", FLAG, "", "store.filter did") \
    NOTE(NOTE_DROPPED, "host-dropped", FLAG, "", "its host was given up with it")
/* clang-format on */

#define CRAWL_LOG_CONSTANT(constant, name, kind, value, meaning) constant,
typedef enum CrawlLogNote { CRAWL_LOG_NOTES(CRAWL_LOG_CONSTANT) CRAWL_LOG_NOTE_COUNT } CrawlLogNote;
#undef CRAWL_LOG_CONSTANT

typedef struct CrawlLogNoteRow {
    const char *name; /* "wait" */
    CrawlLogKind kind;
    const char *value;   /* "OWED/GIVEN" */
    const char *meaning; /* without a period */
    const char *wrong;   /* a phrase: "wait: is not OWED/GIVEN" */
} CrawlLogNoteRow;

extern const CrawlLogNoteRow crawl_log_notes[CRAWL_LOG_NOTE_COUNT];

/* CRAWL_LOG_NOTE_COUNT: there is none of this name. */
CrawlLogNote crawl_log_note_find(const char *name, size_t length);
/* Appends what stands before the value of a note: a comma, unless it is the first of its column,
 * and "name:". */
void crawl_log_note_begin(Buffer *text, CrawlLogNote note);
