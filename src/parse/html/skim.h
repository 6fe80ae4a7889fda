/* The front end that crawls use: links and digests of a page in one pass.
 *
 * In: UTF-8 without NUL (parse/charset/charset.h sees to that), of any content: nothing here fails.
 * Out: the tokens of the text (parse/html/skim_token.h), told to the tree rules
 * (parse/html/html_tree.h), which answer how the text after a start tag is to be read; and
 * everything that the text digest is made of (parse/text/digest.h).
 *
 * Linear in the length of the text. One thread; no memory of its own. */
#ifndef PARSE_HTML_SKIM_H
#define PARSE_HTML_SKIM_H

#include <stddef.h>

#include "parse/text/digest.h"
#include "parse/html/html_tree.h"

/* Reads a whole text. digest may be NULL. */
void skim(const char *text, size_t length, HtmlTree *tree, Digest *digest);

#endif
