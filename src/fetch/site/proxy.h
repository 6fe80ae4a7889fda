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
#ifndef FETCH_SITE_PROXY_H
#define FETCH_SITE_PROXY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "parse/host/ip_address.h"

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

#endif
