/* XHTML that is served as XML, by libxml2's XML parser.
 *
 * What: in XML <script/> is a whole element, CDATA sections are text and nothing is implied, so
 * that the HTML rules would lose what follows. A document counts as XHTML when it is well-formed
 * and its root is in the XHTML namespace. Named references are decoded before libxml2 sees them, as
 * a browser does for the XHTML document types; no DTD is read, no entity is declared or expanded,
 * and nothing is fetched.
 * Owns: libxml2's context, for the length of the call.
 * Threads: one. */
#pragma once

#include "parse/html/html_tree_types.h"

/* Whether a Content-Type header says XML that may be XHTML; value may be NULL. */
bool html_xml_is_type(const char *content_type);

/* Reads a whole text of clean UTF-8 into tree (after html_tree_begin). RESULT_INVALID: it is no
 * well-formed XHTML: begin again, and read it by the HTML rules. RESULT_MEMORY. */
Result html_xml_read(const char *text, size_t length, HtmlTree *tree);
