/* Words: a request to a running crawl as one line of text.
 *
 * What: words with blanks or tabs between them. A word in double quotes may contain blanks; inside
 * the quotes \" stands for a quote and \\ for a backslash. A quote inside a word that does not
 * begin with one is an ordinary character. Example, three words:
 *
 *   set filter.fetch "not HostEndsWith(\".example\")"
 *
 * Owns: ControlWords owns its copy of the words.
 * Threads: pure functions.
 * Errors: error gets one sentence that says which byte is wrong and why. */
#ifndef CRAWL_CONTROL_CONTROL_WORDS_H
#define CRAWL_CONTROL_CONTROL_WORDS_H

#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

#define CONTROL_LINE_BYTES ((size_t)1 << 20) /* of a request at most, without its line end */

typedef struct ControlWords {
    char **words; /* NULL when there is none */
    size_t n;
    char *bytes; /* what they point into */
} ControlWords;

/* Takes a line apart, without its line end. An empty line has no words. RESULT_INVALID,
 * RESULT_MEMORY: there is nothing to destroy. */
Result control_words_parse(ControlWords *words, const char *line, size_t length, Buffer *error);
void control_words_destroy(ControlWords *words);
/* Appends the line, without a line end, that control_words_parse reads as these words.
 * RESULT_INVALID: a word has a character that no line can hold. RESULT_LIMIT, RESULT_MEMORY. */
Result control_words_join(char *const *words, size_t n, Buffer *line, Buffer *error);

#endif
