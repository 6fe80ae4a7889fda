/* Request lines: the header fields that a request is sent with.
 *
 * What: lists of lines for libcurl, made once per fetching thread from the options, and the text of
 * a request's header block for the archive.
 * Owns: a list is its maker's (curl_slist_free_all).
 * Errors: RESULT_MEMORY. */
#ifndef FETCH_TRANSFER_REQUEST_LINES_H
#define FETCH_TRANSFER_REQUEST_LINES_H

#include <curl/curl.h>

#include "fetch/transfer/fetcher.h"

/* Appends a copy of the line; the list stays as it is without memory for it. */
Result request_lines_add(struct curl_slist **list, const char *line);
/* The lines that all requests of a thread have in common: those for pages, or for robots.txt. */
Result request_lines_common(struct curl_slist **list, const FetcherOptions *options, bool robots);
/* The request's header block as libcurl writes it for HTTP/1.1: request line, Host, Authorization
 * if the URL has user information, User-Agent, then the lines in order. (HTTP/2 sends the same
 * fields in binary form.) mask_secrets: the values of Authorization, Proxy-Authorization and Cookie
 * are written as "***". The caller frees it; NULL without memory. */
char *request_lines_text(const char *url, const char *user_agent, const struct curl_slist *lines,
                         bool mask_secrets);

#endif
