/* The reference front end: libxml2's HTML parser by its SAX interface, no tree.
 *
 * What: it gets UTF-8 (HTML_PARSE_IGNORE_ENC) in which every "&" is written "&amp;": libxml2 2.9
 * knows 253 of the 2 231 named references, so all of them are left to entities.h. The tags it
 * reports go to the same tree rules as the skimmer's. The contents of title, textarea and other raw
 * text elements, which it takes for markup, are passed over.
 * Owns: libxml2's context, for the length of the call.
 * Threads: one. */
#ifndef PARSE_HTML_HTML_LIBXML2_H
#define PARSE_HTML_HTML_LIBXML2_H

#include "base/memory/buffer.h"
#include "base/core/result.h"
#include "parse/html/html_tree_types.h"

typedef struct HtmlLibxml2 HtmlLibxml2;

Result html_libxml2_new(HtmlLibxml2 **front);
void html_libxml2_delete(HtmlLibxml2 *front);

/* Reads a whole text. RESULT_MEMORY; RESULT_LIMIT: longer than libxml2 can count. */
Result html_libxml2_read(HtmlLibxml2 *front, const char *text, size_t length, HtmlTree *tree);

#endif
