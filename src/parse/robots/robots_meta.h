/* Robots instructions that come with a page: <meta name="robots" content="..."> and X-Robots-Tag.
 *
 * What: the HTML front end asks robots_meta_names and robots_meta_content for each meta element,
 * the parsing thread robots_meta_header for each X-Robots-Tag field. The answers are PAGE_* flags
 * of html.h, to be or-ed: instructions only ever add up, and the strictest holds.
 *
 * Directives are noindex, nofollow, none (both), noarchive and nocache (the same), separated by
 * commas, blanks or semicolons and compared without case. "unavailable_after: DATE" says from when
 * on the page is not to be had any more. Everything else ("all", "max-snippet: 5") changes nothing.
 *
 * Threads: pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { /* robots instructions for this page, from <meta name=robots> and X-Robots-Tag */
       PAGE_NOINDEX = 1,
       PAGE_NOFOLLOW = 2,
       PAGE_NOARCHIVE = 4,
};

/* Whether a meta element of this name speaks to agent (a product token or NULL): "robots" does. */
bool robots_meta_names(const char *name, size_t length, const char *agent);

/* The flags in a meta element's content. */
unsigned robots_meta_content(const char *content, size_t length);

/* The first unavailable_after in a meta element's content: its date, unix time (RFC 822, RFC 850 or
 * ISO 8601; without a time of the day the day's beginning); 0: there is none. */
int64_t robots_meta_end(const char *content, size_t length);

/* The flags in one X-Robots-Tag value. "somebot: nofollow, noindex" is for somebot only, up to the
 * next such name; what stands before any name is for all. */
unsigned robots_meta_header(const char *value, size_t length, const char *agent);
/* The unavailable_after in one X-Robots-Tag value that is for agent, as robots_meta_end. */
int64_t robots_meta_header_end(const char *value, size_t length, const char *agent);
