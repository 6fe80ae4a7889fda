#include "fetch/transfer/transfer_end.h"

#include <errno.h>
#include <string.h>

#include "base/thread/log.h"
#include "fetch/transfer/transfer.h"

/* Failures of this machine: nobody else has had a part in them. */
static bool is_local(int os_error)
{
    switch (os_error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EPERM: /* a firewall of our own */
    case EACCES:
    case EADDRNOTAVAIL: /* no port is left */
    case EADDRINUSE:
    case EAFNOSUPPORT:
        return true;
    default:
        return false;
    }
}

static int os_error_of(const Transfer *transfer)
{
    long os_error = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_error);
    return (int)os_error;
}

static FetchClass class_of_connect(Transfer *transfer)
{
    int os_error = os_error_of(transfer);
    if (transfer->local_errno == 0 && is_local(os_error)) {
        transfer->local_errno = os_error;
    }
    if (transfer->local_errno != 0) {
        return FETCH_LOCAL;
    }
    switch (os_error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
        return FETCH_NO_ROUTE;
    case ETIMEDOUT:
        return FETCH_CONNECT_TIME;
    default:
        return FETCH_REFUSED;
    }
}

/* Whether it is the proxy that failed, not the host behind it. */
static bool is_proxys(const Transfer *transfer, CURLcode code)
{
    long connect_status = 0;
    long said = 0;
    curl_off_t connected_us = 0;
    if (!transfer->is_proxied || transfer->local_errno != 0) {
        return false;
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    if (code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
        (transfer->late == LATE_CONNECT && connected_us == 0)) {
        return !is_local(os_error_of(transfer));
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_PROXY_ERROR, &said);
    if (code == CURLE_PROXY) {
        return said < CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED || said > CURLPX_REPLY_TTL_EXPIRED;
    }
    return code != CURLE_OK && connect_status == 407;
}

/* What the proxy says of the host. */
static FetchClass class_of_proxy_answer(const Transfer *transfer, CURLcode code)
{
    long connect_status = 0;
    long said = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_PROXY_ERROR, &said);
    if (code == CURLE_PROXY &&
        (said == CURLPX_REPLY_NETWORK_UNREACHABLE || said == CURLPX_REPLY_HOST_UNREACHABLE)) {
        return FETCH_NO_ROUTE;
    }
    bool late = code == CURLE_PROXY ? said == CURLPX_REPLY_TTL_EXPIRED : connect_status == 504;
    return late ? FETCH_CONNECT_TIME : FETCH_REFUSED;
}

static bool is_refused_by_proxy(const Transfer *transfer, CURLcode code)
{
    long connect_status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
    return transfer->is_proxied &&
           (code == CURLE_PROXY ||
            (code != CURLE_OK && transfer->result->answer.header.length == 0 &&
             connect_status >= 300));
}

#define STALE_MOST 2u

/* libcurl wanted to send the request once more. On a connection that others have used that is the
 * server's way of closing it, and a host that does so again gets a connection for each request; on
 * a new one HTTP/2 did not work. */
static FetchClass class_of_repeat(Transfer *transfer)
{
    VisitPoliteness *politeness = &transfer->visit_state->politeness;
    if (!transfer->was_kept) {
        politeness->no_http2 = true;
        return FETCH_HTTP2;
    }
    if (politeness->n_stale < STALE_MOST) {
        politeness->n_stale++;
    }
    politeness->no_keep |= politeness->n_stale >= STALE_MOST;
    return FETCH_STALE;
}

static FetchClass class_of_code(Transfer *transfer, CURLcode code)
{
    if (transfer->is_aborted) {
        return FETCH_LOCAL;
    }
    if (transfer->would_repeat) {
        return class_of_repeat(transfer);
    }
    if (is_proxys(transfer, code)) {
        return FETCH_PROXY;
    }
    if (is_refused_by_proxy(transfer, code)) {
        return class_of_proxy_answer(transfer, code);
    }
    if (transfer->refused_address) {
        return FETCH_PRIVATE;
    }
    BodySpool *spool = &transfer->result->answer.spool;
    if (spool->is_open && code != CURLE_OK && !transfer->made_room) {
        spool->is_cut = true; /* what is kept came whole: only links are lost */
        return FETCH_OK;
    }
    if (transfer->late == LATE_CONNECT) {
        return FETCH_CONNECT_TIME;
    }
    if (transfer->late == LATE_ROOM) {
        return FETCH_LOCAL;
    }
    if (transfer->late != LATE_NOT) {
        return transfer->late == LATE_SLOW ? FETCH_SLOW : FETCH_TIMEOUT;
    }
    if (code == CURLE_OK || transfer->result->answer.cut != CUT_NOT) {
        return FETCH_OK;
    }
    if (code == CURLE_COULDNT_CONNECT) {
        return class_of_connect(transfer);
    }
    if (code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
        code == CURLE_SSL_CIPHER || code == CURLE_SSL_CERTPROBLEM ||
        code == CURLE_SSL_INVALIDCERTSTATUS || code == CURLE_SSL_ISSUER_ERROR) {
        return FETCH_TLS;
    }
    if (code == CURLE_WRITE_ERROR && transfer->body_overflow) {
        return FETCH_OK; /* we cut it */
    }
    /* It broke while this thread did not run: the other side could not know. */
    return transfer->was_held_up ? FETCH_LOCAL : FETCH_BROKEN;
}

/* A body of which only a part came is still worth something when its header is complete. */
static void note_truncation(Transfer *transfer, bool answered)
{
    FetchResult *result = transfer->result;
    if (result->answer.cut != CUT_NOT) {
        result->answer.truncated = TRUNCATED_UNSPECIFIED;
    } else if (transfer->body_overflow || result->answer.spool.is_open) {
        result->answer.truncated = TRUNCATED_LENGTH;
    } else if (answered && (transfer->late == LATE_TOTAL || transfer->late == LATE_SLOW)) {
        result->answer.truncated = TRUNCATED_TIME;
    } else if (answered && result->answer.class == FETCH_BROKEN) {
        result->answer.truncated = TRUNCATED_DISCONNECT;
    }
}

/* Whether what came until it was too late is all that is to be had: fetch.total_timeout is over, or
 * the server never said how long the body is, and just keeps the connection. Half a robots.txt is
 * none. What was broken off for others that waited may well have an end: it is asked for again. */
static bool is_kept(const Transfer *transfer, bool answered)
{
    const FetchResult *result = transfer->result;
    curl_off_t told = -1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
    bool has_no_end = told < 0 && result->answer.http_version != 20;
    return answered && result->kind != FETCHED_ROBOTS && result->answer.body.length > 0 &&
           !transfer->made_room &&
           (transfer->late == LATE_TOTAL || (transfer->late == LATE_SLOW && has_no_end));
}

/* libcurl 7.88 can miss the end of an HTTP/2 answer that came in one piece with its header, and
 * waits for more until it is too slow. The same request over HTTP/1.1 is not affected, so that is
 * what the host is asked with from now on. */
static void blame_http2(Transfer *transfer)
{
    FetchResult *result = transfer->result;
    if (result->answer.http_version == 20 &&
        (result->answer.class == FETCH_SLOW || result->answer.class == FETCH_TIMEOUT ||
         result->answer.class == FETCH_BROKEN)) {
        result->answer.class = FETCH_HTTP2;
        transfer->visit_state->politeness.no_http2 = true;
    }
}

/* What went wrong, in words of the configuration where curl's mislead: it knows no address but the
 * key of the connection. */
static const char *error_text(const Transfer *transfer, CURLcode code)
{
    static const char *const late[] = {[LATE_NOT] = "",
                                       [LATE_CONNECT] = "no connection in fetch.connect_timeout",
                                       [LATE_FIRST_BYTE] = "no byte in fetch.first_byte_timeout",
                                       [LATE_SLOW] = "slower than fetch.slow_rate",
                                       [LATE_TOTAL] = "not whole in fetch.total_timeout",
                                       [LATE_ROOM] = "memory stayed full"};
    int os_error = transfer->local_errno != 0 ? transfer->local_errno : os_error_of(transfer);
    if (transfer->refused_address) {
        return "a special address, and not one of fetch.allow_addresses";
    }
    if (transfer->is_aborted) {
        return "the crawl stops";
    }
    if (transfer->would_repeat) {
        return "the server refused the stream, or closed a kept connection";
    }
    if (transfer->late == LATE_SLOW && transfer->made_room) {
        return "slow, and others waited for its connection or its memory";
    }
    if (transfer->late != LATE_NOT) {
        return late[transfer->late];
    }
    if (code == CURLE_COULDNT_CONNECT) {
        return os_error != 0 ? strerrordesc_np(os_error) : "no connection";
    }
    if (transfer->header_overflow) {
        return "the header is longer than fetch.max_header";
    }
    if (code == CURLE_OUT_OF_MEMORY) { /* so it calls a line of more than 100 kB, too */
        return "a line of the header is too long for curl, or memory is short";
    }
    return transfer->error[0] != '\0' ? transfer->error : curl_easy_strerror(code);
}

void transfer_end(Transfer *transfer, CURLcode code)
{
    FetchResult *result = transfer->result;
    long status = 0;
    long version = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
    result->request.has_left = transfer_has_asked(transfer);
    result->answer.class = class_of_code(transfer, code);
    body_spool_judge(&result->answer.spool, transfer->max_page_bytes,
                     &transfer->visit_state->politeness.endless);
    uint8_t http_1 = version == CURL_HTTP_VERSION_1_0 ? 10 : 11;
    result->answer.http_version = version == CURL_HTTP_VERSION_2_0 ? 20 : http_1;
    result->cost.bytes =
        result->answer.header.length + result->answer.body.length + result->answer.spool.length;
    HttpHeader header;
    bool answered =
        http_header_parse(&header,
                          result->answer.header.data == NULL ? "" : result->answer.header.data,
                          result->answer.header.length) == RESULT_OK &&
        header.is_complete && !transfer->header_overflow;
    answered = answered && status >= 200;
    note_truncation(transfer, answered);
    if (is_kept(transfer, answered)) {
        result->answer.class = FETCH_OK;
    }
    if (transfer->is_proxied && status == 407 && result->answer.class == FETCH_OK) {
        result->answer.class = FETCH_PROXY; /* it speaks for itself */
    }
    if (result->answer.class == FETCH_OK && answered) {
        result->answer.status = (int)status;
        if (status == 429 || status == 503) {
            result->answer.class = FETCH_BUSY;
        } else if (status == 500 || status == 502 || status == 504) {
            result->answer.class = FETCH_SERVER;
        }
    } else {
        if (result->answer.class == FETCH_OK) {
            result->answer.class = FETCH_BROKEN;
        }
        blame_http2(transfer);
        result->answer.status = fetch_status_of_class(result->answer.class);
        result->answer.partial_status = answered ? (int)status : 0;
    }
    if (result->answer.class == FETCH_TLS) {
        tls_context_forget(transfer->shared->tls, &transfer->peer);
    }
    if (result->answer.class == FETCH_PROXY) {
        LOG_WARN("fetch", "the proxy cannot be used", "url=%s error=\"%s\"", result->request.url,
                 status == 407 ? "it asks for user and password (fetch.credentials)"
                               : error_text(transfer, code));
    } else if (result->answer.class != FETCH_OK && result->answer.class != FETCH_BUSY &&
               result->answer.class != FETCH_SERVER) {
        LOG_INFO("fetch", "fetch failed", "url=%s reason=%s error=\"%s\"", result->request.url,
                 fetch_class_name(result->answer.class), error_text(transfer, code));
    }
}

/* Whom it was connected to; false: nobody. */
static bool find_peer(const Transfer *transfer, IpAddress *address, uint16_t *port)
{
    char *text = NULL;
    long number = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_PRIMARY_IP, &text);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_PRIMARY_PORT, &number);
    *port = (uint16_t)number;
    return text != NULL && number > 0 && number <= UINT16_MAX &&
           ip_address_parse(text, strlen(text), address) == RESULT_OK;
}

/* An answer that is not the host's: as if it had not come. */
static void transfer_excuse(FetchResult *result, int said)
{
    result->answer.class = FETCH_LOCAL;
    result->answer.status = fetch_status_of_class(FETCH_LOCAL);
    result->answer.partial_status = said;
}

/* Who answers, as far as unrelated hosts differ: behind a proxy that asks for their names they have
 * no address. */
static uint64_t transfer_who(const VisitState *visit_state)
{
    static const IpAddress none;
    const char *name = visit_state->identity.hostname;
    MapKey key = ip_address_key(&visit_state->address.ip);
    return memcmp(&visit_state->address.ip, &none, sizeof none) == 0
               ? hash_64(name, strlen(name), 0) | 1
               : (key.high ^ key.low) | 1;
}

/* Whether a gateway of ours said it. A proxy says so of a connection, too, before there is an
 * answer. */
static bool transfer_is_gateways(Transfer *transfer, NetworkWatch *network)
{
    FetchResult *result = transfer->result;
    FetchAnswer *answer = &result->answer;
    StandingRecord *record = &transfer->visit_state->politeness.standing;
    long connect_status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
    bool has_answer = answer->status >= 200 && !answer->spool.is_open;
    int proxys_status = transfer->is_proxied ? (int)connect_status : 0;
    int status = has_answer ? answer->status : proxys_status;
    if (status < 200) {
        return false;
    }
    SameAnswer same = {
        .who = transfer_who(transfer->visit_state),
        .mark = has_answer
                    ? sameness_mark(status, buffer_string(&answer->header), answer->header.length,
                                    answer->body.data, answer->body.length)
                    : sameness_mark(status, "", 0, NULL, 0),
        .before = record->same,
        .page = result->request.index,
        .has_page = result->request.has_page && !result->request.check && answer->class == FETCH_OK,
        .is_check = result->request.check,
        .began = result->cost.start};
    bool is_ours = network_watch_said(network, &same, result->cost.end, &result->host.walled_pages,
                                      &result->host.n_walled_pages);
    if (result->request.has_page) {
        record->same = same.mark;
    }
    return is_ours;
}

void transfer_ask_network(Transfer *transfer, NetworkWatch *network)
{
    FetchResult *result = transfer->result;
    const VisitState *visit_state = transfer->visit_state;
    int said = result->answer.status;
    if (transfer_is_gateways(transfer, network)) {
        result->answer.by_gateway = true;
        transfer_excuse(result, said > 0 ? said : 0);
        buffer_reset(&result->answer.header);
        buffer_reset(&result->answer.body);
        return;
    }
    FetchClass class = result->answer.class;
    if (class == FETCH_OK || class == FETCH_BUSY || class == FETCH_SERVER) {
        IpAddress peer;
        uint16_t port = 0;
        if (find_peer(transfer, &peer, &port)) {
            network_watch_answered(network, &peer, port, result->cost.end);
        }
    } else if (fetch_class_may_be_ours(class) &&
               network_watch_failed(network, &visit_state->address.ip,
                                    visit_state->politeness.health.failures == 0,
                                    result->cost.start, result->cost.end)) {
        transfer_excuse(result, 0);
    }
}

void transfer_note_standing(const Transfer *transfer)
{
    StandingRecord *record = &transfer->visit_state->politeness.standing;
    FetchClass class = transfer->result->answer.class;
    if (class == FETCH_OK || class == FETCH_BUSY || class == FETCH_SERVER) {
        int64_t took_ms = mono_ms_between(transfer->timer.start, transfer->shared->now);
        record->has_answered = true;
        record->is_slow = standing_is_slow(took_ms, transfer->timer.bytes, transfer->most_bytes_s);
        record->is_proven = record->is_proven || (transfer->is_page && !record->is_slow);
    } else if (class == FETCH_SLOW || class == FETCH_TIMEOUT) {
        record->is_slow = true;
    }
}
