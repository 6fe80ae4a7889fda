/* Bytes on their way into the XML parser, mended where real sitemaps are broken.
 *
 * What: the first stage is for all sitemaps. UTF-16 (told by its byte order mark or its first '<')
 * and what the XML declaration names (by the labels of the Encoding standard; an unknown one is
 * UTF-8) become UTF-8, and a byte order mark is dropped. The second stage is for XML only. An '&'
 * that starts no reference becomes "&#38;", and so do "&amp;" and its like outside of CDATA and
 * comments; control characters become blanks; a DOCTYPE is dropped whole, so that nothing in it is
 * ever declared, loaded or expanded; malformed UTF-8 becomes U+FFFD. What the end of a chunk cuts
 * in two waits for the next chunk.
 * Owns: its buffers.
 * Threads: one object for each file.
 * Errors: RESULT_MEMORY. */
#ifndef PARSE_SITEMAP_SITEMAP_CLEAN_H
#define PARSE_SITEMAP_SITEMAP_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

typedef enum CleanMode { CLEAN_TEXT, CLEAN_CDATA, CLEAN_COMMENT, CLEAN_DOCTYPE } CleanMode;

typedef struct SitemapCleaner {
    Buffer utf8;    /* what the first stage made of the last chunk */
    Buffer held;    /* first stage: the end of the last chunk, which may be half a character */
    Buffer pending; /* second stage: not yet looked at, a few bytes */
    Buffer clean;   /* what the second stage made of the last chunk */
    CleanMode mode;
    char last[2];     /* the bytes passed on last */
    bool in_subset;   /* DOCTYPE: between "[" and "]" */
    bool in_remark;   /* DOCTYPE: between "<!--" and "-->" */
    char quote;       /* DOCTYPE: the one that is open, or NUL */
    bool has_started; /* the encoding is known */
    bool is_utf16;
    bool is_big_endian;
    const char *encoding; /* the declared one; NULL: UTF-8 or UTF-16 */
    uint8_t odd;          /* first byte of a UTF-16 unit that was cut */
    bool has_odd;
    uint16_t high; /* surrogate that waits for its second half, or 0 */
} SitemapCleaner;

void sitemap_cleaner_init(SitemapCleaner *cleaner);
void sitemap_cleaner_destroy(SitemapCleaner *cleaner);
/* Ready for the next file; keeps the memory. */
void sitemap_cleaner_reset(SitemapCleaner *cleaner);

/* First stage: points *bytes and *length to the chunk as UTF-8 (the chunk itself or
 * cleaner->utf8). The first chunk should hold the XML declaration. is_last: nothing is held back.
 * Errors as buffer_append. */
Result sitemap_cleaner_to_utf8(SitemapCleaner *cleaner, const char **bytes, size_t *length,
                               bool is_last);

/* Second stage: cleaner->clean holds what can be passed on. is_last: nothing waits any longer. */
Result sitemap_cleaner_mend(SitemapCleaner *cleaner, const char *bytes, size_t length,
                            bool is_last);

#endif
