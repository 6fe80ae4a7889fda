/* What a page says about itself: title, description, canonical URL, base, language, encoding.
 *
 * What: the first of each that the document has outside of templates. References are as they stand
 * in the document, with character references decoded; nothing is resolved here.
 * Owns: texts in an arena that the caller resets.
 * Threads: belongs to one thread.
 * Errors: without memory a fact is missing, and failed is set.
 * Source: html.spec.whatwg.org 4.2; RFC 6596 (canonical). */
#ifndef PARSE_VISIBLE_VISIBLE_FACTS_H
#define PARSE_VISIBLE_VISIBLE_FACTS_H

#include <stdbool.h>

#include "base/memory/arena.h"
#include "parse/html/html_tree.h"

#define VISIBLE_FACT_BYTES ((size_t)4096) /* of a title or a description; what is longer is cut */

typedef struct VisibleFacts {
    Arena *arena;              /* borrowed */
    const char *title;         /* white space collapsed; NULL: none, as below */
    const char *description;   /* <meta name=description>, else the one for Open Graph */
    const char *canonical;     /* <link rel=canonical> */
    const char *base;          /* the href of the first <base> that has one */
    const char *language;      /* lang of <html> */
    const char *meta_encoding; /* what the first meta that names a known encoding says */
    bool has_title;
    bool has_description; /* the one that is no Open Graph's */
    bool failed;
} VisibleFacts;

/* Forgets the page before. */
void visible_facts_begin(VisibleFacts *facts, Arena *arena);
/* A start tag in the document. */
void visible_facts_tag(VisibleFacts *facts, const HtmlTag *tag);
/* The content of a title element. */
void visible_facts_title(VisibleFacts *facts, const char *text, size_t length);

#endif
