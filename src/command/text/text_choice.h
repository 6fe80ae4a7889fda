/* Text choice: which URLs of an archive are wanted, as a command line names them.
 *
 * What: --url names a URL, or with `*` at its end all that begin so; --host names a host, or with a
 * dot in front all below a domain and the domain. Both may be given again and again: a URL is
 * wanted when one of them names it, or when none was given. The answer of a name server
 * ("dns:HOST") belongs to its host.
 * Owns: its words.
 * Threads: made by one, asked by all.
 * Errors: RESULT_INVALID: no URL or host; RESULT_MEMORY. */
#ifndef COMMAND_TEXT_TEXT_CHOICE_H
#define COMMAND_TEXT_TEXT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"
#include "store/warc/warc_format.h"

typedef struct TextChoice {
    char **words; /* owned */
    bool *are_hosts;
    size_t n;
} TextChoice;

void text_choice_destroy(TextChoice *choice);
/* Brings a word into the form that URLs have in an archive, and adds it. */
Result text_choice_add_url(TextChoice *choice, const char *word);
Result text_choice_add_host(TextChoice *choice, const char *word);
bool text_choice_admits(const TextChoice *choice, WarcBytes url);

#endif
