/* A page's text as Markdown: headings, lists, tables, code, quotations, emphasis and links.
 *
 * What: the text of a page and the edges of the elements in it (visible_lines.h) are read once, in
 * order. Links are absolute. What Markdown would take for markup is escaped. A table is one of
 * Markdown when its cells hold lines of text alone; the cells of others, which are there for the
 * layout, are paragraphs. Emphasis, links and code end with their paragraph and begin again in the
 * next.
 * Owns: nothing.
 * Threads: pure.
 * Errors: those of the buffer.
 * Source: CommonMark 0.31; tables and fenced code as in GitHub Flavored Markdown 0.29. */
#pragma once

#include "base/memory/buffer.h"
#include "parse/visible/visible_lines.h"

typedef struct VisibleMarkdown {
    const char *text;
    size_t length;
    const VisibleMarks *marks; /* with edges */
    const char *end;           /* of the markup */
    /* Whether the text there is wanted, and up to where that holds; NULL: all is. */
    bool (*keeps)(const void *context, size_t at, size_t *until);
    /* Appends what a reference leads to. False: nowhere. */
    bool (*resolve)(void *context, HtmlSlice reference, Buffer *out);
    void *context;
} VisibleMarkdown;

Result visible_markdown_write(const VisibleMarkdown *page, Buffer *out);
