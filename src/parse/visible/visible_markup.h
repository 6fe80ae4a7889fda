/* A page's markup, read once: tags and text go to the tree, what it says of itself to the facts.
 *
 * What: the tokenizer of HTML text (13.2.5 of the standard), with the same view of tags, comments
 * and raw text as parse/html/skim.h. In: UTF-8 without NUL, of any content: nothing here fails.
 * Threads: belongs to one thread. Takes time linear in the length of the text. */
#ifndef PARSE_VISIBLE_VISIBLE_MARKUP_H
#define PARSE_VISIBLE_VISIBLE_MARKUP_H

#include "parse/visible/visible_facts.h"
#include "parse/visible/visible_tree.h"

/* Reads a whole text; tree and facts have been begun. */
void visible_markup_read(const char *text, size_t length, VisibleTree *tree, VisibleFacts *facts);

#endif
