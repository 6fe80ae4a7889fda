/* The front end that crawls use: links and digests of a page in one pass.
 *
 * What: UTF-8 without NUL goes in (charset.h sees to that), of any content: nothing here fails. The
 * tokens of the text come out (skim_token.h) and are told to the tree rules (html_tree.h), which
 * answer how the text after a start tag is to be read. In the same pass everything comes out that
 * the text digest is made of (digest.h). It takes time linear in the length of the text.
 * Owns: no memory.
 * Threads: one. */
#ifndef PARSE_HTML_SKIM_H
#define PARSE_HTML_SKIM_H

#include <stddef.h>

#include "parse/text/digest.h"
#include "parse/html/html_tree_types.h"
#include "parse/html/skim_token.h"

/* What the tokens are told to: the context of skim_reader. */
typedef struct Skim {
    HtmlTree *tree;
    Digest *digest; /* may be NULL */
} Skim;

/* For a text that comes in pieces (skim_stream.h). */
const SkimReader *skim_reader(void);

/* Reads a whole text. digest may be NULL. */
void skim(const char *text, size_t length, HtmlTree *tree, Digest *digest);

#endif
