/* CSS: what a style sheet, a style element or a style attribute refers to.
 *
 * What: a tokenizer. No rule is understood but for what tells references from other text:
 *
 *   @import "a.css";  @import url(a.css)      an import, as long as no block was begun
 *   url(x)  url("x")  src("x")                a reference
 *   image-set("x" 1x)                         a reference for each string directly in it
 *   @namespace url(x);                        a name, no reference
 *
 * Comments, escapes and broken strings are read as the standard says, so a reference in a comment
 * is none. What begins with "#" is a part of the document itself and is left out, as is an empty
 * reference. Whether a reference is a URL is for the caller to say.
 * Owns: a scratch buffer, for references with escapes.
 * Threads: an object belongs to one thread.
 * Errors: RESULT_MEMORY, RESULT_LIMIT. Text of any kind is a style sheet.
 * Source: CSS Syntax Module Level 3, section 4; CSS Values Level 4, section 4.5. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* What to do with a reference; bytes are UTF-8 when text is, without NUL at the end, and live in
 * text or, when is_scratch, until the call returns. What it returns other than RESULT_OK ends the
 * reading. */
typedef Result (*CssSink)(void *context, const char *bytes, size_t length, bool is_scratch);

typedef struct CssReader {
    Buffer word; /* a reference, or a name, without its escapes */
} CssReader;

void css_reader_init(CssReader *reader);
void css_reader_destroy(CssReader *reader);

/* Hands over the references of a style sheet, or of the declarations in a style attribute, where
 * there are no imports. What sink returns, RESULT_MEMORY. */
Result css_read(CssReader *reader, const char *text, size_t length, bool imports, CssSink sink,
                void *context);

/* Appends what the escape at p, a backslash that is not the last byte, stands for. Returns where
 * the text goes on. */
const char *css_unescape(const char *p, const char *end, Buffer *out);
/* The label that `@charset "label";` at the very beginning names, or NULL; borrowed. */
const char *css_charset_label(const char *text, size_t length, size_t *label_length);
