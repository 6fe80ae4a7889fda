/* Link text: the words of a document, as far as links need them: their own and those around them.
 *
 *   link_text_begin --> link_text_add, link_text_break ... (positions of links are noted) -->
 *   link_text_anchor, link_text_around
 *
 * What: text is decoded, and white space is collapsed. A position is an offset in what was added so
 * far. Both texts of a link are bounded by `most` bytes: the anchor's, and the text in front of and
 * behind it, where words that would be cut are left out.
 * Owns: its buffer; slices lie in it until more is added.
 * Threads: one.
 * Errors: without memory text is missing. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef struct LinkText {
    size_t most;
    Buffer text;
    bool is_broken; /* white space before the next word */
} LinkText;

typedef struct LinkTextSlice {
    const char *bytes;
    size_t length;
} LinkTextSlice;

void link_text_init(LinkText *words, size_t most);
void link_text_destroy(LinkText *words);
/* Forgets the document before. */
void link_text_begin(LinkText *words);
/* Adds text; decode: there may be character references in it. */
void link_text_add(LinkText *words, const char *text, size_t length, bool decode);
/* White space, where the markup makes some. */
static inline void link_text_break(LinkText *words)
{
    words->is_broken = true;
}
/* Where the next word will begin, or what was added last ends. */
static inline uint32_t link_text_position(const LinkText *words)
{
    return (uint32_t)words->text.length;
}
/* Forgets all but what may be in front of the next link. Positions noted before are void. */
void link_text_forget(LinkText *words);

/* The text between two positions, and that with what is around it. */
LinkTextSlice link_text_anchor(const LinkText *words, uint32_t from, uint32_t to);
LinkTextSlice link_text_around(const LinkText *words, uint32_t from, uint32_t to);
