/* Which encoding a document is in, and its text as UTF-8.
 *
 * What: the labels of the WHATWG Encoding standard; the sniffing of the HTML standard (BOM,
 * Content-Type, meta prescan of the first 1 024 bytes, XML declaration, fallback); and decoders
 * that never fail. What is malformed becomes U+FFFD and the byte after it is looked at afresh, so
 * that a wrong or half-broken encoding costs a character and never a link.
 *
 * html.c sniffs and decodes each page once. Bodies that are clean ASCII or UTF-8 (charset_span.h)
 * are parsed in place, without a copy. Names of encodings are the standard's ("windows-1252"):
 * static strings that may be compared by strcmp. Multi-byte encodings are decoded by iconv,
 * corrected where the tables of glibc differ from the standard's.
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: RESULT_LIMIT, RESULT_INVALID, RESULT_MEMORY, from decoding only.
 * Source: encoding.spec.whatwg.org; html.spec.whatwg.org 13.2.3. */
#pragma once

#include "base/memory/buffer.h"
#include "parse/text/skim_token.h"

/* What an encoding was decided by; only after CHARSET_FROM_FALLBACK may a late <meta> change it. */
typedef enum CharsetSource {
    CHARSET_FROM_BOM,
    CHARSET_FROM_HEADER,
    CHARSET_FROM_PRESCAN,
    CHARSET_FROM_FALLBACK
} CharsetSource;

/* The WHATWG name ("windows-1252") for a label (" Latin1 "), or NULL. Static. */
const char *charset_of_label(const char *label, size_t length);

/* The encoding a browser would pick; never NULL. content_type is a header value or NULL. */
const char *charset_sniff(const char *body, size_t length, const char *content_type);
/* The same, and by what it was decided. */
const char *charset_sniff_source(const char *body, size_t length, const char *content_type,
                                 CharsetSource *source);
/* The same of a page that is XML or HTML: XML that says nothing is UTF-8, and no meta of it is
 * believed later, so that *source is never CHARSET_FROM_FALLBACK. */
const char *charset_sniff_page(const char *body, size_t length, const char *content_type,
                               bool is_xml, CharsetSource *source);

/* The encoding that a <meta> in a document names: UTF-16 means UTF-8 there, x-user-defined means
 * windows-1252. NULL when the label is unknown. */
const char *charset_of_meta_label(const char *label, size_t length);
/* The encoding that a meta element names by its attributes charset, or http-equiv and content;
 * NULL: by none. An attribute is NULL when the element does not have it. */
const char *charset_of_meta(const HtmlSlice *charset, const HtmlSlice *equiv,
                            const HtmlSlice *content);
/* The same, by the attributes as they are written. */
const char *charset_of_meta_tag(const HtmlTag *tag);

/* Appends body, decoded from encoding (a WHATWG name) to UTF-8: BOM dropped, malformed sequences
 * become U+FFFD, NUL becomes U+FFFD. RESULT_LIMIT: the limit of out was reached; out holds the text
 * up to it. RESULT_INVALID: encoding is not a name of the standard, or iconv does not have it. */
Result charset_decode(const char *encoding, const char *body, size_t length, Buffer *out);

/* A document as clean UTF-8 without NUL and BOM. Points to the body itself when it is clean
 * already; otherwise decodes it into scratch, whose former content is lost. An encoding that the
 * iconv of this system does not have is read as windows-1252, in which markup is ASCII.
 * RESULT_LIMIT, RESULT_MEMORY: text holds the beginning of the document. */
Result charset_text(const char *encoding, const char *body, size_t length, Buffer *scratch,
                    const char **text, size_t *text_length);

/* Whether each byte is a character. */
bool charset_is_single_byte(const char *encoding);
/* The length of the byte order mark of this encoding that a document begins with, or 0. */
size_t charset_bom_length(const char *encoding, const char *body, size_t length);

/* Whether ASCII bytes mean the same characters in this encoding. */
bool charset_is_ascii_superset(const char *encoding);
