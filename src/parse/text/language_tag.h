/* Language tag: what a page or its header says of its language ("en", "de-AT"), made comparable.
 *
 * What: letters, digits and hyphens, in lower case, as BCP 47 allows them.
 * Threads: any; pure.
 * Source: RFC 5646. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LANGUAGE_TAG_BYTES 36u /* the longest tag that RFC 5646 requires to be held, and a NUL */

/* White space around it does not count. False: the text is no tag, or a longer one, or several; tag
 * is "" then. */
bool language_tag_read(const char *text, size_t length, char tag[LANGUAGE_TAG_BYTES]);
