/* Request lines: the header fields that a request is sent with.
 *
 * What: lists of lines for libcurl, made once per fetching thread from the options, and the text of
 * a request's header block for the archive.
 * Owns: a list is its maker's (curl_slist_free_all).
 * Errors: RESULT_MEMORY. */
#pragma once

#include <curl/curl.h>

#include "fetch/identity/message_signature.h"
#include "fetch/site/fetch_site.h"

/* Appends a copy of the line; the list stays as it is without memory for it. */
Result request_lines_add(struct curl_slist **list, const char *line);
/* The same of a line "NAME: TEXT". */
Result request_lines_add_field(struct curl_slist **list, const char *name, const char *text);
/* The lines that all requests to hosts with the same settings have in common: those for pages, or
 * for robots.txt. The user agent is the first of them, unless headers has another: what libcurl is
 * told by CURLOPT_USERAGENT it writes twice for each request. */
Result request_lines_common(struct curl_slist **list, const char *user_agent, const char *headers,
                            const char *accept_language, bool robots);
/* Appends what the file of credentials has for a URL, and counts it. */
Result request_lines_secrets(struct curl_slist **list, const Credentials *credentials,
                             const char *url, size_t *n);

/* Appends the signature of a request for a URL that is sent now. */
Result request_lines_signature(struct curl_slist **list, const Signer *signer, const char *url);

/* What the text shows of secrets. */
typedef struct RequestMask {
    size_t n_first;      /* lines whose values are written as "***" */
    bool all;            /* and those of all Authorization, Proxy-Authorization and Cookie lines, */
    const char *headers; /* and of these, "A: b | C: d", but for what says who asks; NULL: none */
} RequestMask;

/* The request's header block as libcurl writes it for HTTP/1.1: request line, Host, Authorization
 * if the URL has user information, then the lines in order. (HTTP/2 sends the same fields in binary
 * form.) The caller frees it; NULL without memory. */
char *request_lines_text(const char *url, const struct curl_slist *lines, RequestMask mask);
