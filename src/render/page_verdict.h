/* Page verdict: whether a page needs a browser, judged from its raw HTML.
 *
 * What: a page needs one when it shows next to nothing without its scripts. Signs have weights, and
 * their sum decides:
 *
 *   3  an empty mount point: an element whose id is one that frameworks use ("root", "app",
 *      "__next", ...), with next to no text in it
 *   2  an empty element that only a script knows: a name with a hyphen (<app-root>), or "redoc"
 *   2  noscript asks for JavaScript
 *   2  no text at all; 1 less than PAGE_VERDICT_TEXT bytes
 *   1  less than two links
 *   3  a page without text whose script leads elsewhere (location = ...)
 *
 * PAGE_VERDICT_LEAST is enough. A page without scripts never needs a browser, nor does one with
 * PAGE_VERDICT_ENOUGH bytes of text, whatever else it shows.
 * Owns: nothing.
 * Threads: pure; linear in the length of the page.
 * Source: what frameworks make of an empty project; one page in eleven of the web needs a browser
 * by Sprinter (NSDI 2024). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

#define PAGE_VERDICT_NONE   40u   /* bytes of text; fewer are none */
#define PAGE_VERDICT_TEXT   400u  /* fewer are little */
#define PAGE_VERDICT_ENOUGH 2500u /* so many are much */
#define PAGE_VERDICT_LEAST  3u

typedef struct PageVerdict {
    unsigned scripts;   /* that a browser would run */
    size_t text_bytes;  /* outside scripts, styles, titles and noscript; blanks in a row are one */
    uint64_t text_hash; /* of that text */
    unsigned links;     /* anchors that lead to another document */
    bool has_empty_mount;
    bool has_empty_element;
    bool has_plea;
    bool has_redirect;
    uint8_t weight; /* the sum, 12 at most */
    uint32_t signs; /* what page_verdict_tell tells, as bits */
    bool needs_browser;
} PageVerdict;

/* What a verdict comes to. */
typedef enum PageNeed {
    PAGE_NEEDS_NOTHING, /* it is no document, or none that counts */
    PAGE_IS_PLAIN,      /* it has no scripts */
    PAGE_HAS_SCRIPTS,   /* and shows enough without them */
    PAGE_NEEDS_BROWSER
} PageNeed;

PageNeed page_verdict_need(const PageVerdict *verdict);

/* Judges a page by its bytes: what is looked for is ASCII in the encodings of nearly all pages; one
 * in UTF-16 has no scripts, so it needs no browser. */
void page_verdict_judge(const char *html, size_t length, PageVerdict *verdict);
/* Appends why, with commas between the signs: "empty mount point, no text, few links". */
Result page_verdict_tell(uint32_t signs, Buffer *out);
