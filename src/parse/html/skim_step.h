/* The steps of a SkimStream: one token each, read from its window.
 *
 * What: a step reads the token at p and tells the reader; what is to follow is in the stream's
 * place. Owns: nothing. Threads: the stream's. */
#ifndef PARSE_HTML_SKIM_STEP_H
#define PARSE_HTML_SKIM_STEP_H

#include "parse/html/skim_stream.h"

/* Reads what is at p, which depends on the stream's place. Returns where the next token begins, or
 * NULL when the window ends within this one: then nothing was told. */
const char *skim_step(SkimStream *stream, const char *p, const char *end);

/* The tag that the stream is at gets its name. */
void skim_step_name(SkimStream *stream, HtmlSlice name, const char *end, bool is_end_tag);
/* Reads attributes of that tag as far as they are complete. Returns the end of the tag; NULL: the
 * window ends before it, and *reached is where the attribute begins that is not complete. */
const char *skim_step_attributes(SkimStream *stream, const char *p, const char *end,
                                 const char **reached);
/* Tells raw text or a part of it; not of scripts and style sheets of which a part is gone. */
void skim_step_tell_raw(SkimStream *stream, const char *from, const char *to, bool ended);

#endif
