/* Fetch site: the settings of one fetch that may differ from host to host.
 *
 * What: a fetching thread asks for them when it begins a fetch, and again when the fetch has ended,
 * so that a change of the configuration counts from the next one on. Who answers is above (rules):
 * the thread knows an object that may be replaced, and a function that reads it.
 * Owns: nothing. The texts are borrowed from the object, until the thread asks for the next one.
 * Threads: a value; any. */
#ifndef FETCH_SITE_FETCH_SITE_H
#define FETCH_SITE_FETCH_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "fetch/clock/transfer_clock.h"
#include "fetch/site/credentials.h"
#include "frontier/visit/politeness.h"
#include "parse/usage/usage.h"

typedef struct FetchSite {
    PolitenessOptions politeness; /* host_delay_ms is the host's */
    TransferTimes times;          /* time-outs */
    unsigned connections;         /* requests at once, while nothing is owed */
    bool ignores_freshness;       /* pages are visited before they are stale */
    bool ignores_robots;          /* robots.txt is not asked for, and forbids nothing */
    int64_t robots_expiry_ms;     /* what it says is good for no longer */
    int64_t max_header_bytes;
    int64_t max_body_bytes;
    uint64_t max_page_bytes;   /* of a page that is read to its end */
    int64_t max_sitemap_bytes; /* of a body that was found as a sitemap */
    int64_t most_bytes_s;      /* read no faster; 0 = no matter */
    bool keeps_cookies;        /* and sends them back */
    bool asks_usage_file;      /* tdmrep.json */
    UsageRules usage;          /* pages whose site denies a usage */
    const char *cut_status;    /* cut_rules.h */
    const char *mime_types;
    int64_t max_length;
    bool http2;
    bool tls_verify;
    const char *headers;            /* "Name: value", separated by |; may be "" */
    const char *accept_language;    /* may be "" */
    const char *proxy;              /* "http://proxy.example:3128", "environment", or "" */
    const char *no_proxy;           /* hosts that are asked directly: "localhost, .example.org" */
    const Credentials *credentials; /* NULL: none */
} FetchSite;

/* Fills in *site for a host name. book: the object that was shared. */
typedef void FetchSiteOf(const void *book, const char *hostname, FetchSite *site);

#endif
