/* The production front end: a tokenizer of HTML text that follows the states of the HTML standard
 * (13.2.5) where they matter and skips at the speed of memory where they do not.
 *
 * In: UTF-8 without NUL (parse/charset/charset.h sees to that), of any content: nothing here fails.
 * Out: start tags with the attributes that matter on them, end tags and text, told to the tree
 * rules (parse/html/html_tree.h), which answer how the text after a start tag is to be read; and
 * everything that the text digest is made of (parse/text/digest.h), in the same pass.
 *
 * What a token is: attributes are cut with quotes, so that a ">" in a value ends no tag; the first
 * of two attributes of one name counts; a tag that the text ends within is none; comments end by
 * "-->",
 * "--!>", and "<!-->" is a whole one; raw text ends by its own end tag only, scripts know the
 * escapes of "<!--" within; <![CDATA[ is one in SVG and MathML, else a comment.
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
