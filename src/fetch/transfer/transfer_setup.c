#include "fetch/transfer/transfer_setup.h"

#include <string.h>
#include <strings.h>

#include "fetch/site/request_lines.h"
#include "parse/host/authority.h"

#define PROXY_NAME_S 60L /* the address of a proxy is kept */
/* Time is transfer_clock's. libcurl has a default of its own for connecting; another one is a timer
 * of each transfer, and is set only where the default would come first. */
#define CONNECT_DEFAULT_MS 300000
#define CONNECT_BEYOND_MS  86400000L
/* What a transfer is counted with from its start: the first piece of its body, and what libcurl
 * and the system hold for it. */
#define TRANSFER_FIRST_BYTES (TRANSFER_BODY_BYTES + 8192u)

/* Frees the lines of the last use; the shared ones behind them are not theirs. */
void transfer_setup_forget(Transfer *transfer)
{
    if (transfer->last_line != NULL) {
        transfer->last_line->next = NULL;
        curl_slist_free_all(transfer->lines);
    }
    transfer->lines = NULL;
    transfer->last_line = NULL;
    transfer->n_secrets = 0;
}

static void add_condition(Transfer *transfer, const char *name, const char *validator)
{
    if (validator != NULL) { /* without memory for it: unconditional */
        (void)request_lines_add_field(&transfer->lines, name, validator);
    }
}

static bool has_common_lines(const Transfer *transfer, const FetchSite *site)
{
    const TransferShared *shared = transfer->shared;
    return strcmp(site->headers, shared->headers) == 0 &&
           strcmp(site->accept_language, shared->accept_language) == 0;
}

/* The header lines of this request: its own, then the shared ones. RESULT_MEMORY. */
static Result gather_lines(Transfer *transfer, const FetchSite *site, const FetchResult *result,
                           bool robots)
{
    struct curl_slist *common = NULL;
    Result rc = request_lines_secrets(&transfer->lines, site->credentials, result->request.url,
                                      &transfer->n_secrets);
    const Signer *signer = transfer->shared->options->signer;
    if (rc == RESULT_OK && signer != NULL) {
        rc = request_lines_signature(&transfer->lines, signer, result->request.url);
    }
    if (rc == RESULT_OK && !robots && site->keeps_cookies) {
        Buffer line = {.limit = 4 * COOKIE_JAR_BYTES};
        rc = host_cookies_write(transfer->visit_state, result->request.url,
                                wall_seconds(wall_now()), &line);
        if (rc == RESULT_OK && line.length > 0) {
            rc = request_lines_add(&transfer->lines, buffer_string(&line));
        }
        buffer_destroy(&line);
    }
    if (rc == RESULT_OK && !robots) {
        add_condition(transfer, "If-None-Match", result->request.etag);
        add_condition(transfer, "If-Modified-Since", result->request.last_modified);
    }
    if (has_common_lines(transfer, site)) {
        common = robots ? transfer->shared->robots_headers : transfer->shared->page_headers;
    } else if (rc == RESULT_OK) {
        rc = request_lines_common(&transfer->lines, transfer->shared->options->user_agent,
                                  site->headers, site->accept_language, robots);
    }
    for (struct curl_slist *line = transfer->lines; line != NULL; line = line->next) {
        transfer->last_line = line;
    }
    if (transfer->last_line != NULL) {
        transfer->last_line->next = common;
    } else {
        transfer->lines = common;
    }
    return rc;
}

/* libcurl writes what it has parsed as a URL again, letter by letter, unless it is given the parsed
 * one. What cannot be parsed is left to it: then the transfer fails and says why. */
static bool set_url(const Transfer *transfer, const char *url)
{
    bool is_parsed = curl_url_set(transfer->parsed, CURLUPART_URL, url,
                                  CURLU_PATH_AS_IS | CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    return curl_easy_setopt(transfer->easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(transfer->easy, CURLOPT_CURLU, is_parsed ? transfer->parsed : NULL) ==
               CURLE_OK;
}

/* Addresses come from our resolver. libcurl would keep what it takes for their names, and look
 * through all of them twice in every transfer. A proxy's name is libcurl's to resolve. */
static bool set_proxy(Transfer *transfer, const FetchSite *site, const Proxy *proxy)
{
    CURL *easy = transfer->easy;
    bool is_direct = proxy->url == NULL;
    const char *secret = is_direct ? NULL : credentials_of_proxy(site->credentials, proxy->url);
    const char *agent = is_direct ? NULL : transfer->shared->options->user_agent;
    return curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, is_direct ? 0L : PROXY_NAME_S) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, is_direct ? "" : proxy->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXYUSERPWD, secret) == CURLE_OK &&
           /* for a CONNECT; the host gets it as a line */
           curl_easy_setopt(easy, CURLOPT_USERAGENT, agent) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECT_TO,
                            is_direct || proxy->wants_address ? &transfer->connect_to : NULL) ==
               CURLE_OK;
}

/* To where a connection is made. */
static bool set_route(Transfer *transfer, const FetchSite *site, const char *url)
{
    const VisitState *visit_state = transfer->visit_state;
    ProxyTarget target = {.hostname = visit_state->identity.hostname,
                          .https = strncmp(url, "https:", 6) == 0,
                          .address = &visit_state->address.ip};
    Proxy proxy = proxy_choose(site->proxy, site->no_proxy, &target);
    uint16_t port = port_map_port(&transfer->shared->ports, authority_of(url, strlen(url)).port);
    transfer->is_proxied = proxy.url != NULL;
    if (proxy.url == NULL) {
        connect_key_format(visit_state->identity.host, &visit_state->address.ip, port,
                           transfer->connect_key);
    } else {
        connect_key_plain(&visit_state->address.ip, port, transfer->connect_key);
    }
    bool twofold = proxy.url != NULL && strncasecmp(proxy.url, "https:", 6) == 0;
    transfer->peer =
        (TlsPeer){.host = hash_64(visit_state->identity.origin, visit_state->identity.origin_length,
                                  site->tls_verify ? 1 : 0),
                  .name = twofold ? NULL : visit_state->identity.hostname,
                  .verify = site->tls_verify};
    if (proxy.url == NULL && transfer->is_direct) {
        return true;
    }
    bool is_set = set_proxy(transfer, site, &proxy);
    transfer->is_direct = is_set && proxy.url == NULL;
    return is_set;
}

/* What holds for this host. */
static bool set_site(Transfer *transfer, const FetchSite *site)
{
    CURL *easy = transfer->easy;
    bool http2 =
        site->http2 && transfer->shared->has_http2 && !transfer->visit_state->politeness.no_http2;
    long version = http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1;
    long connect = site->times.connect_ms < CONNECT_DEFAULT_MS ? 0L : CONNECT_BEYOND_MS;
    bool verify = site->tls_verify && !tls_context_verifies(transfer->shared->tls, &transfer->peer);
    return curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)site->most_bytes_s) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L) == CURLE_OK;
}

/* Whether a URL looks like a sitemap or a feed; what it is shows when it is read. */
static bool names_sitemap(const char *url)
{
    static const char *const ends[] = {".xml", ".xml.gz", ".rss", ".atom"};
    size_t length = strcspn(url, "?#");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(ends[i]);
        if (length > n && strncasecmp(url + length - n, ends[i], n) == 0) {
            return true;
        }
    }
    return false;
}

Result transfer_setup(Transfer *transfer, VisitState *visit_state, FetchResult *result,
                      const FetchSite *site)
{
    const FetcherOptions *options = transfer->shared->options;
    const char *url = result->request.url;
    bool robots = result->kind == FETCHED_ROBOTS;
    bool is_sitemap =
        result->request.hop == 'S' || (result->request.hop == 'M' && names_sitemap(url));
    transfer->visit_state = visit_state;
    transfer->result = result;
    transfer->max_page_bytes = site->max_page_bytes;
    transfer->is_page = !robots;
    byte_gate_move(&result->cost.share, options->gate, TRANSFER_FIRST_BYTES);
    result->answer.header.limit = (size_t)site->max_header_bytes;
    size_t max_body = (size_t)(is_sitemap ? site->max_sitemap_bytes : site->max_body_bytes);
    result->answer.body.limit = robots ? ROBOTS_MAX_BYTES : max_body;
    result->request.ignores_freshness = site->ignores_freshness;
    result->request.usage_no_store = site->usage.no_store | site->usage.no_fetch;
    result->request.max_body = robots ? 0 : max_body;
    Result rc = gather_lines(transfer, site, result, robots);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (options->keep_requests) {
        RequestMask mask = {
            .n_first = transfer->n_secrets, .all = options->mask_secrets, .headers = site->headers};
        result->request.header = request_lines_text(url, transfer->lines, mask);
    }
    long is_single = visit_state->politeness.no_keep ? 1L : 0L;
    bool is_set =
        set_url(transfer, url) &&
        curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, is_single) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_FRESH_CONNECT, is_single) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->lines) == CURLE_OK &&
        set_route(transfer, site, url) && set_site(transfer, site);
    return is_set ? RESULT_OK : RESULT_MEMORY;
}
