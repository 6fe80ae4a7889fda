/* Which language a text is in: by CLD2 (Compact Language Detector 2), when libcld2.so.0 is
 * installed (Debian: libcld2-0).
 *
 * What: the library is looked for when the first detector is asked for, and never needed to build
 * or to run. CLD2 reads some 30 MB of text a second, which is a tenth of what the text itself costs
 * to make; so a detector reads a sample: lines that are sentences rather than menus, from the
 * middle on. Where CLD2 is not sure, the scripts of the characters tell Chinese, Japanese and
 * Korean: of 8 000 messages of programs in these languages that have Latin words, 20 to 200 bytes
 * long, CLD2 alone says nothing of 4 500, both together of 234.
 *
 * Owns: the library stays loaded.
 * Threads: each detector belongs to one thread; the library has no state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Loads the library; false: it is not installed, or is another one, which one WARN says. Called
 * before threads begin. */
bool text_language_load(void);

/* The language of a text (UTF-8): a BCP 47 tag ("en", "zh-Hant"), static; NULL: unknown, not
 * certain, or there is no library. */
const char *text_language_of(const char *text, size_t length);

/* The three letters of ISO 639-3 for such a tag ("eng"), as WET files have them; NULL: not known.
 */
const char *text_language_iso3(const char *tag);
