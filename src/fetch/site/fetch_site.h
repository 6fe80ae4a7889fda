/* Fetch site: the settings of one fetch that may differ from host to host.
 *
 * What: a fetching thread asks for them when it begins a fetch, and again when the fetch has ended,
 * so that a change of the configuration counts from the next one on. Who answers is above (rules):
 * the thread knows an object that may be replaced, and a function that reads it.
 * Owns: nothing. The texts are borrowed from the object, until the thread asks for the next one.
 * Threads: a value; any. */
#pragma once

#include "base/core/hours.h"
#include "fetch/clock/transfer_clock.h"
#include "frontier/visit/visit_state.h"

/* Credentials: what sites and proxies want to be told before they answer, from a file.
 *
 * What: one line each, '#' begins a remark:
 *
 *   SITE basic USER:PASSWORD          Authorization: Basic ...
 *   SITE bearer TOKEN                 Authorization: Bearer TOKEN
 *   SITE header NAME: VALUE           any header
 *   proxy HOST:PORT USER:PASSWORD     for the proxy there
 *
 * SITE is a host, or "*.example.org" for all below it; "https://" or "http://" before it and
 * ":PORT" behind it narrow it. Without a scheme a secret is sent over https only. All lines that
 * match are sent, and nowhere else: a redirect to another host does not take them along.
 *
 * Owns: the lines. Immutable once read.
 * Threads: read by one; used by any.
 * Errors: RESULT_INVALID: "LINE: what is wrong"; or that others may read the file, which is
 * refused. RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */

typedef struct Credentials Credentials;

/* error gets one sentence without the name of the file. */
Result credentials_read(Credentials **credentials, const char *path, Buffer *error);
void credentials_delete(Credentials *credentials); /* NULL is allowed */

/* The next header line for a URL; begin with *place = 0. NULL: there is no more. Borrowed.
 * credentials may be NULL. */
const char *credentials_next(const Credentials *credentials, const char *url, size_t length,
                             size_t *place);
/* "USER:PASSWORD" for the proxy of this URL, or NULL. Borrowed. */
const char *credentials_of_proxy(const Credentials *credentials, const char *proxy_url);

typedef struct FetchSite {
    PolitenessOptions politeness; /* host_delay_ms is the host's */
    const Hours *hours;           /* NULL: it is asked at all times */
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
    bool asks_tdm;             /* tdmrep.json */
    RslUser licence_user;
    UsageRules usage;   /* pages whose site denies a usage */
    int64_t max_length; /* cut_rules.h */
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

/* Proxy: through which server a request goes, if it does not go to the host itself.
 *
 * What: fetch.proxy is the URL of a proxy, or "environment": then http_proxy, https_proxy (or
 * HTTPS_PROXY), all_proxy (or ALL_PROXY) and no_proxy (or NO_PROXY) say which, as for curl.
 *
 *   http://HOST:PORT     HTTP: plain requests in absolute form, TLS through CONNECT
 *   https://HOST:PORT    the same, and the connection to the proxy is TLS
 *   socks5://HOST:PORT   SOCKS 5, told the address that our resolver found
 *   socks5h://HOST:PORT  SOCKS 5, told the name
 *
 * Names are resolved here in any case: politeness needs the address, and special addresses are
 * refused. http, https and socks5h look the name up once more, so what they connect to is theirs to
 * restrict.
 *
 * Threads: pure functions; proxy_choose reads the environment, which nobody changes.
 * Errors: RESULT_INVALID with a sentence.
 * Source: RFC 9110 9.3.6 (CONNECT), RFC 1928 (SOCKS 5). */

typedef struct ProxyTarget {
    const char *hostname; /* "www.example.org", "192.0.2.1", "[2001:db8::1]" */
    bool https;
    const IpAddress *address; /* what it was resolved to */
} ProxyTarget;

typedef struct Proxy {
    const char *url;    /* borrowed; NULL: the host is asked directly */
    bool wants_address; /* it is told the address, not the name */
} Proxy;

/* Whether text may be fetch.proxy. User and password do not belong there. */
Result proxy_check(const char *text, Buffer *error);
/* Whether text may be fetch.no_proxy. */
Result proxy_check_exceptions(const char *text, Buffer *error);
/* proxy and exceptions are fetch.proxy and fetch.no_proxy. */
Proxy proxy_choose(const char *proxy, const char *exceptions, const ProxyTarget *target);

/* Host cookies: what a host has set, taken from its answers and sent with its requests.
 *
 * What: with fetch.cookies. The jar (parse/cookie/cookie_jar.h) is part of the visit state, and
 * lost with it: a host that is forgotten begins a new session.
 * Owns: nothing.
 * Threads: the one that holds the visit state. */

/* Takes the cookies of an answer to one of the host's URLs. Whether there is a new one. Without
 * memory they are not kept. */
bool host_cookies_take(VisitState *visit_state, const char *header, size_t length, const char *url,
                       int64_t now_s);
/* Appends "Cookie: ..." for a URL of the host; nothing when there is none. */
Result host_cookies_write(const VisitState *visit_state, const char *url, int64_t now_s,
                          Buffer *line);
