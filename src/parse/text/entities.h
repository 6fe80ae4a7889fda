/* Character references of HTML: the 2 231 named ones and the numeric ones.
 *
 * What: by the HTML standard's rules for text and for the values of attributes.
 * Threads: pure functions.
 * Source: html.spec.whatwg.org 13.2.5.72 and behind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ENTITY_MAX_BYTES 8 /* no reference stands for more than this */

/* Reads the reference at p[0] == '&'. Returns the bytes that it takes, and what it stands for in
 * value[0..*value_length) as UTF-8; 0 when there is none, and the '&' is an '&'. In an attribute a
 * reference without semicolon before "=", a letter or a digit is none. */
size_t entity_read(const char *p, size_t length, bool attribute, char value[ENTITY_MAX_BYTES],
                   size_t *value_length);

/* The room that entity_decode may need for length bytes. */
#define ENTITY_ROOM(length) ((length) + (length) / 4 + ENTITY_MAX_BYTES)

/* Decodes all references of a text into out (ENTITY_ROOM(length) bytes; may not overlap); returns
 * how many bytes were written. CR and CR LF become LF; nothing else is changed. */
size_t entity_decode(const char *text, size_t length, bool attribute, char *out);
