/* The lines of a robots.txt file, one after the other: what each says and where it stands.
 *
 * What: lenient where the parsers in use agree. LF, CR and CR LF end a line; a byte order mark is
 * skipped; '#' starts a comment anywhere; names are compared without case; blanks around the colon
 * do not matter; the colon may be missing when exactly two words stand there; and a handful of
 * misspellings count.
 * Threads: pure functions.
 * Source: RFC 9309 section 2.2; Google's parser. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum RobotsLineKind {
    ROBOTS_LINE_AGENT,
    ROBOTS_LINE_ALLOW,
    ROBOTS_LINE_DISALLOW,
    ROBOTS_LINE_DELAY, /* Crawl-delay */
    ROBOTS_LINE_RATE,  /* Request-rate */
    ROBOTS_LINE_HOURS, /* Visit-time */
    ROBOTS_LINE_SITEMAP,
    ROBOTS_LINE_USAGE,   /* Content-Usage, Content-Signal; as OTHER, it never ends a group */
    ROBOTS_LINE_LICENCE, /* License: of RSL; likewise */
    ROBOTS_LINE_FILE,    /* of any name, with the address of an ai.txt or llms.txt; likewise */
    ROBOTS_LINE_OTHER    /* blank, comment, unknown: never ends a group */
} RobotsLineKind;

typedef struct RobotsLine {
    RobotsLineKind kind;
    unsigned number;  /* 1-based */
    const char *text; /* the line, trimmed, without its comment; borrowed from the file */
    size_t text_length;
    const char *value; /* behind the colon, trimmed; borrowed */
    size_t value_length;
} RobotsLine;

#define ROBOTS_FILES_MOST 8u /* of these lines are followed */

typedef struct RobotsReader {
    const char *next;
    const char *end;
    const char *lf;  /* the first at or behind next; end when there is none */
    unsigned number; /* of the line read last */
} RobotsReader;

/* Starts at the first line of body, behind a byte order mark. Nothing is read beyond
 * ROBOTS_MAX_BYTES, and a line that crosses the bound is dropped, because the first half of a path
 * is a rule about other URLs. */
void robots_reader_init(RobotsReader *reader, const char *body, size_t length);
/* The next line; false at the end. */
bool robots_reader_next(RobotsReader *reader, RobotsLine *line);

/* The product token at the start of a User-agent value: letters, digits, '-' and '_'. Its length.
 */
size_t robots_token_length(const char *value, size_t length);
/* Whether a User-agent value means everybody: "*", alone or followed by junk that is no name. */
bool robots_is_any_agent(const char *value, size_t length);
