/* ASCII: classes of bytes, and comparisons without case, whatever the locale is.
 *
 * What: the words of the protocols that a crawler reads. White space is that of HTML: tab, LF, FF,
 * CR and space; who means another set has a function of its own.
 * Threads: pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static inline bool ascii_is_alnum(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

static inline bool ascii_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* White space of XML. */
static inline bool ascii_is_xml_space(char c)
{
    return ascii_is_blank(c) || c == '\r' || c == '\n';
}

static inline char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* How long the UTF-8 character is that begins with this byte; 0: none begins so. */
static inline size_t ascii_utf8_length(unsigned char lead)
{
    if (lead < 0xC0) {
        return lead < 0x80;
    }
    return 2 + (size_t)(lead >= 0xE0) + (size_t)(lead >= 0xF0);
}

/* Writes a code point as UTF-8, four bytes at most; returns how many. */
static inline size_t ascii_put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : 3 + (size_t)(c >= 0x10000);
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)(0xF00u >> n | c);
    return n;
}

/* Whether these bytes are the word, whatever their case; bytes may be NULL when length is 0. */
static inline bool ascii_is(const char *bytes, size_t length, const char *word)
{
    return strlen(word) == length && (length == 0 || strncasecmp(bytes, word, length) == 0);
}

/* The next of the words that stand between such bytes: *text is moved there from the last one, of
 * *length, which is 0 at first. False at the end. */
static inline bool ascii_next_word(const char **text, size_t *length, const char *between)
{
    *text += *length;
    *text += strspn(*text, between);
    *length = strcspn(*text, between);
    return *length > 0;
}

/* Bytes of the control character that begins here, which a terminal may obey: 1 of one below the
 * space and of DEL, 2 of U+0080 to U+009F in UTF-8, 0: it is none. left: bytes that there are. */
static inline size_t ascii_control_bytes(const char *bytes, size_t left)
{
    unsigned char c = (unsigned char)bytes[0];
    unsigned char next = left > 1 ? (unsigned char)bytes[1] : 0;
    if (c == 0xC2 && next >= 0x80 && next < 0xA0) {
        return 2;
    }
    return c < ' ' || c == 0x7F ? 1 : 0;
}

/* Prints what a stranger wrote, with another character in place of each control character. */
static inline void ascii_print(FILE *out, const char *text, size_t length, char instead)
{
    for (size_t i = 0; i < length;) {
        size_t control = ascii_control_bytes(text + i, length - i);
        (void)fputc(control > 0 ? instead : text[i], out);
        i += control > 0 ? control : 1;
    }
}

/* Leaves out white space at both ends. */
static inline void ascii_trim(const char **bytes, size_t *length)
{
    while (*length > 0 && ascii_is_space(**bytes)) {
        (*bytes)++;
        (*length)--;
    }
    while (*length > 0 && ascii_is_space((*bytes)[*length - 1])) {
        (*length)--;
    }
}

/* The same with blanks alone. */
static inline void ascii_trim_blanks(const char **bytes, size_t *length)
{
    while (*length > 0 && ascii_is_blank(**bytes)) {
        (*bytes)++;
        (*length)--;
    }
    while (*length > 0 && ascii_is_blank((*bytes)[*length - 1])) {
        (*length)--;
    }
}

/* Where the blanks that begin at p end. */
static inline const char *ascii_skip_blanks(const char *p, const char *end)
{
    while (p < end && ascii_is_blank(*p)) {
        p++;
    }
    return p;
}

/* Whether these bytes are a number in decimal digits, of `most` at most; else *number stays. */
static inline bool ascii_number(const char *bytes, size_t length, uint64_t most, uint64_t *number)
{
    uint64_t n = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)bytes[i] - '0';
        if (digit > 9 || digit > most || n > (most - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    *number = length > 0 ? n : *number;
    return length > 0;
}
