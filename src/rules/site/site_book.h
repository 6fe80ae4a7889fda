/* Site book: the configuration as it holds for one host.
 *
 * What: a copy of the configuration, and an index of its [site "pattern"] sections. A pattern is
 * compared with the host's name, without regard to case; * and ? stand for any characters. Of all
 * sections that match, a later line wins over an earlier one, option by option:
 *
 *   [site "*.example.org"]        www.example.org: host_delay 1s, max_body 64Mi
 *   host_delay = 1s               example.org:     the standard values
 *   [site "www.*"]
 *   max_body = 64Mi
 *
 * Names and "*.NAME" cost a look-up each, however many there are; other patterns are tried one by
 * one.
 * Owns: the copy. Immutable once made.
 * Threads: made by the main thread; read by any.
 * Errors: RESULT_MEMORY; what credentials_read says of fetch.credentials, with a sentence. */
#pragma once

#include "fetch/site/fetch_site.h"
#include "rules/config.h"

typedef struct SiteBook SiteBook;

/* config has been checked; the file of fetch.credentials is read anew. */
Result site_book_new(SiteBook **book, const Config *config, Buffer *error);
void site_book_delete(void *book); /* a SiteBook or NULL */

/* The configuration for a host: a flat copy, whose texts are borrowed from the book, and which is
 * not to be destroyed. */
void site_book_config(const SiteBook *book, const char *hostname, Config *config);
/* What a configuration says of delays, rests and tries; the retry table stays as it is. */
void site_book_politeness(const Config *config, PolitenessOptions *politeness);
/* The settings of a fetch (a FetchSiteOf). */
void site_book_fetch_site(const void *book, const char *hostname, FetchSite *site);
/* Whether a section sets one of the limits that count pages, URLs and hosts. */
bool site_book_has_limits(const SiteBook *book);
