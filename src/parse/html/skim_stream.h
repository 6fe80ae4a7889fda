/* The tokenizer of HTML text that comes in pieces.
 *
 * What: the tokens are those of skim_token.h for the whole text, wherever the pieces are cut: a
 * token that a piece ends within waits for the next piece. What waits is bounded, so that memory
 * does not grow with the text. A token longer than that is passed over in pieces:
 *   - an attribute loses its value (a picture in a "data:" URL); the others of its tag count;
 *   - comments and declarations are nothing anyway;
 *   - text between <textarea>, <iframe> and their end tags is told in parts;
 *   - what a script or a style sheet says is not told, even if it never ends.
 *
 * Owns: what waits. The reader and its context are the caller's.
 * Threads: one.
 * Invariants: the slices that the reader is told live until it returns; tags are transient. */
#pragma once

#include "base/memory/buffer.h"
#include "parse/text/skim_token.h"

#define SKIM_STREAM_LONGEST ((size_t)256 << 10) /* of a token that is told as a whole */
#define SKIM_STREAM_PIECE   ((size_t)64 << 10)  /* longer pieces are cut */

/* What the text at the front of the window belongs to. */
typedef enum SkimPlace {
    SKIM_AT_TOKEN,
    SKIM_AT_RAW,        /* behind a start tag whose text is no markup */
    SKIM_AT_ATTRIBUTES, /* of a long tag */
    SKIM_AT_NAME,       /* of a long attribute, or of a tag */
    SKIM_AT_VALUE,      /* of a long attribute */
    SKIM_AT_COMMENT,
    SKIM_AT_DECLARATION,
    SKIM_AT_CDATA
} SkimPlace;

typedef struct SkimStream {
    const SkimReader *reader; /* borrowed */
    void *context;
    size_t longest;
    bool is_xml;   /* XHTML: <script/> is an empty element */
    Buffer window; /* text that was not read yet */
    size_t need;   /* so much must be in it before it is looked at again */
    SkimPlace place;
    HtmlTag tag;        /* the one that raw text or attributes belong to */
    HtmlSlice tag_name; /* of a start tag while the reader is told of it; of a long one 16 bytes */
    bool is_end_tag;    /* that tag */
    Buffer held;        /* its values, of attributes that left the window */
    char name[16];      /* of the element whose raw text it is */
    size_t name_length;
    HtmlTextMode mode;
    bool is_cut; /* a part of the raw text has left the window */
    SkimScript script;
    size_t behind; /* bytes at the front of the window that were read, and are looked back at */
    char quote;    /* of the long value; 0 = none */
} SkimStream;

void skim_stream_init(SkimStream *stream, const SkimReader *reader, void *context);
void skim_stream_destroy(SkimStream *stream);
/* Begins a text. longest 0: SKIM_STREAM_LONGEST; another one is for tests, at least 64. */
void skim_stream_begin(SkimStream *stream, size_t longest, bool is_xml);
/* UTF-8 without NUL, cut anywhere. RESULT_MEMORY: the text is not complete; go on with end. */
Result skim_stream_feed(SkimStream *stream, const char *text, size_t length);
/* The text is over. True: it ended within a tag, of which nothing was told. */
bool skim_stream_end(SkimStream *stream);
/* How far a start tag's attributes may be read (skim_find_attribute) while the reader is told of
 * it. */
static inline const char *skim_stream_end_of_window(const SkimStream *stream)
{
    return stream->window.data + stream->window.length;
}
