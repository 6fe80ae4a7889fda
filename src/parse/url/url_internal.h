/* What the files of the URL parser (url*.c) share; nobody else includes it.
 *
 *   url.c        the states of the standard, in order: scheme, authority, port, path, query
 *   url_fast.c   the same result for input that is in normal form already
 *   url_host.c   host parser: domains, IPv4, IPv6
 *   url_idna.c   domain to ASCII (UTS 46), with url_nfc.c and url_idna_tables.c
 *   url_encode.c percent-encode sets, UTF-8 repair
 *   url_legacy.c the query in legacy encodings */
#ifndef PARSE_URL_URL_INTERNAL_H
#define PARSE_URL_URL_INTERNAL_H

#include "parse/url/url.h"

/* Classes of a byte; url_class[byte] is their sum. */
enum {
    URL_PATH_SAFE = 1,       /* stays as it is inside a path segment ('%' and '.' included) */
    URL_QUERY_SAFE = 2,      /* outside the special-query percent-encode set */
    URL_USERINFO_SAFE = 4,   /* outside the userinfo percent-encode set */
    URL_HOST_PLAIN = 8,      /* a-z 0-9 - . _ : a host made of them is in normal form */
    URL_HOST_FORBIDDEN = 16, /* forbidden domain code point */
    URL_SCHEME = 32,         /* alphanumeric + - . */
    URL_AUTHORITY_END = 64,  /* / \ ? # */
    URL_UNCLEAN = 128,       /* tab, LF, CR (to be removed), and bytes that may be bad UTF-8 */
};
extern const uint8_t url_class[256];

static inline unsigned url_class_of(char c)
{
    return url_class[(unsigned char)c];
}

/* The value of a hexadecimal digit, or -1. */
static inline int url_hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Makes room for capacity bytes and the NUL behind them. RESULT_MEMORY. */
Result url_reserve(Url *url, size_t capacity);
/* Reserves and appends. */
Result url_append(Url *url, const char *bytes, size_t length);

static inline void url_put(Url *url, char c) /* room was reserved */
{
    url->href[url->length++] = c;
}

/* url_fast.c: true when it resolved input; false when the states of the standard must (out is then
 * unspecified but valid). Never wrong: whatever it accepts, url_parse_standard answers alike. */
bool url_fast_parse(Url *out, const Url *base, const char *input, size_t length);

/* url.c: the reference, for the fast path to be compared with. Arguments as url_parse_in_document.
 */
Result url_parse_standard(Url *out, const Url *base, const char *input, size_t length,
                          const char *encoding);

/* url_host.c: parses a host as written (not empty, valid UTF-8) and appends its serialisation. */
Result url_host_append(Url *out, const char *input, size_t length);

/* url_idna.c: domain to ASCII of a valid UTF-8 domain that is not all ASCII, as browsers do: UTS
 * 46, non-transitional, no STD3 rules, hyphens and DNS lengths unchecked, joiners and bidi checked.
 * Appends to out. RESULT_INVALID, RESULT_LIMIT (longer than any name can be), RESULT_MEMORY. */
Result url_idna_append(Url *out, const char *domain, size_t length);

/* url_encode.c: appends bytes, those that lack the class safe as %XX. */
Result url_encode_append(Url *out, const char *bytes, size_t length, unsigned safe);
/* Whether there is neither a tab nor a newline nor anything that is not UTF-8. */
bool url_encode_is_clean(const char *input, size_t length);
/* Copies input without tabs and newlines and with U+FFFD for what is not UTF-8; out must hold
 * 3 * length bytes. Returns the length. */
size_t url_encode_clean(const char *input, size_t length, char *out);
/* Decodes one code point of valid UTF-8. */
uint32_t url_utf8_next(const char **p);

/* url_legacy.c: whether a query depends on the encoding at all (not NULL, UTF-8, UTF-16,
 * replacement or unknown), and the query in such an encoding, percent-encoded. */
bool url_legacy_applies(const char *encoding);
Result url_legacy_append(Url *out, const char *query, size_t length, const char *encoding);

#endif
