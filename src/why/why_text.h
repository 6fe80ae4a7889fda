/* Why text: what is known of a URL, in sentences for people and as JSON for programs.
 *
 * What: formats a Why (why.h).
 * Threads: any; pure. */
#ifndef WHY_WHY_TEXT_H
#define WHY_WHY_TEXT_H

#include "base/memory/buffer.h"
#include "base/memory/json_writer.h"
#include "why/why.h"

/* Appends a first line with the state, then paragraphs. now: for "in 5 s". Errors of the buffer. */
Result why_text(const Why *why, WallTime now, Buffer *out);
/* Appends one sentence: the state and its reason. */
Result why_sentence(const Why *why, WallTime now, Buffer *out);
/* Writes one object. */
void why_json(const Why *why, WallTime now, JsonWriter *json);

#endif
