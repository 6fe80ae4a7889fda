#include "fetch/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/thread/log.h"
#include "parse/host/authority.h"
#include "fetch/site/proxy.h"
#include "fetch/transfer/request_lines.h"

#define HEADER_FIRST_BYTES 1024u
#define BODY_FIRST_BYTES   32768u /* of a body that does not say how long it is */
#define BODY_TOLD_BYTES    (256u << 10)
#define RECEIVE_BYTES      65536L
#define CONNECT_BEYOND_MS  86400000L
#define PROXY_NAME_S       60L /* the address of a proxy is kept */
/* What a transfer is counted with from its start: the first piece of its body, and what libcurl
 * and the system hold for it. */
#define TRANSFER_FIRST_BYTES (BODY_FIRST_BYTES + 16384u)

Result transfer_shared_init(TransferShared *shared, const FetcherOptions *options,
                            uint64_t *connections, Heap *paused, SocketWatch *sockets,
                            TransferClock *clock, TlsContext *tls)
{
    *shared = (TransferShared){.options = options,
                               .connections = connections,
                               .paused = paused,
                               .sockets = sockets,
                               .clock = clock,
                               .tls = tls};
    Buffer error;
    buffer_init(&error, 1024);
    Result rc = port_map_parse(&shared->ports, options->port_map, &error);
    if (rc != RESULT_OK) {
        LOG_ERROR("fetch", "port map is wrong", "%s", buffer_string(&error));
    }
    buffer_destroy(&error);
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->page_headers, options->headers, options->accept_language,
                                  false);
    }
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->robots_headers, options->headers,
                                  options->accept_language, true);
    }
    if (rc != RESULT_OK) {
        transfer_shared_destroy(shared);
    }
    return rc;
}

void transfer_shared_destroy(TransferShared *shared)
{
    curl_slist_free_all(shared->page_headers);
    curl_slist_free_all(shared->robots_headers);
    shared->page_headers = NULL;
    shared->robots_headers = NULL;
}

/* ---- callbacks
 * ------------------------------------------------------------------------------------ */

/* Bytes of the answer have come. */
static void note_bytes(Transfer *transfer, size_t length)
{
    TransferShared *shared = transfer->shared;
    transfer->timer.bytes += length;
    transfer->was_held_up = false;
    transfer_clock_enter(shared->clock, &transfer->timer, PHASE_RECEIVING, shared->now);
}

/* The connection is there, and the request goes out. */
static int on_connected(void *context, char *peer, char *self, int peer_port, int own_port)
{
    Transfer *transfer = context;
    (void)peer;
    (void)self;
    (void)peer_port;
    (void)own_port;
    transfer_clock_enter(transfer->shared->clock, &transfer->timer, PHASE_ASKING,
                         transfer->shared->now);
    return CURL_PREREQFUNC_OK;
}

void transfer_break_off(Transfer *transfer)
{
    (void)curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, 1L);
}

/* Counts what the result has become. */
static void count_bytes(const Transfer *transfer)
{
    FetchResult *result = transfer->result;
    size_t bytes = result->answer.header.capacity + result->answer.body.capacity;
    if (bytes > result->cost.share.bytes && result->cost.share.gate != NULL) {
        byte_gate_move(&result->cost.share, result->cost.share.gate, bytes);
    }
}

/* Has the body to grow, and may it not now? Then the transfer is in the heap of those that wait. */
static bool has_to_wait(Transfer *transfer, size_t length)
{
    const Buffer *body = &transfer->result->answer.body;
    ByteGate *gate = transfer->shared->options->gate;
    return gate != NULL && !transfer->favoured && body->capacity > 0 &&
           body->length + length >= body->capacity && !byte_gate_is_open(gate) &&
           heap_push(transfer->shared->paused, &transfer->by_pause, mono_now().ns,
                     transfer->result->request.index) == RESULT_OK;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *context)
{
    Transfer *transfer = context;
    size_t length = size * n;
    Buffer *header = &transfer->result->answer.header;
    note_bytes(transfer, length);
    if (header->capacity == 0 && header->limit >= HEADER_FIRST_BYTES) {
        (void)buffer_reserve(header, HEADER_FIRST_BYTES);
    }
    if (buffer_append(header, bytes, length) != RESULT_OK) {
        transfer->header_overflow = true;
        transfer_break_off(transfer);
        return 0;
    }
    count_bytes(transfer);
    return length;
}

/* Room for all of the body when the header says how long it is, so that it never moves; but no more
 * than one that says nothing gets, while the gate is closed or the length may be a lie. */
static void make_room(Transfer *transfer, size_t length)
{
    Buffer *body = &transfer->result->answer.body;
    ByteGate *gate = transfer->shared->options->gate;
    curl_off_t told = -1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
    size_t room = told < 0 ? BODY_FIRST_BYTES : (size_t)told;
    if (room > BODY_FIRST_BYTES &&
        (room > BODY_TOLD_BYTES || (gate != NULL && !byte_gate_is_open(gate)))) {
        room = BODY_FIRST_BYTES;
    }
    room = room < length ? length : room;
    (void)buffer_reserve(body, room < body->limit ? room : body->limit);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
    Transfer *transfer = context;
    Buffer *body = &transfer->result->answer.body;
    size_t length = size * n;
    if (has_to_wait(transfer, length)) {
        transfer_clock_pause(transfer->shared->clock, &transfer->timer, transfer->shared->now);
        return CURL_WRITEFUNC_PAUSE;
    }
    note_bytes(transfer, length);
    if (body->capacity == 0) {
        make_room(transfer, length);
    }
    size_t room = body->limit - body->length;
    if (length > room) {
        transfer->body_overflow = true;
        transfer_break_off(transfer);
        (void)buffer_append(body, bytes, room);
        return 0;
    }
    if (buffer_append(body, bytes, length) != RESULT_OK) {
        return 0;
    }
    count_bytes(transfer);
    return length;
}

static curl_socket_t open_socket(Transfer *transfer, const struct curl_sockaddr *address)
{
    (*transfer->shared->connections)++;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) {
        socket_watch_opened(transfer->shared->sockets, fd);
    } else {
        transfer->local_errno = errno; /* whatever it is: nobody has been asked yet */
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    Transfer *transfer = context;
    const IpAddress *ip = &transfer->visit_state->address.ip;
    if (transfer->is_proxied) {
        return open_socket(transfer, address); /* the operator's, wherever it is */
    }
    if (purpose != CURLSOCKTYPE_IPCXN || !ip_policy_allows(transfer->shared->options->policy, ip)) {
        transfer->refused_address = true;
        return CURL_SOCKET_BAD;
    }
    connect_key_resolve(ip, address);
    return open_socket(transfer, address);
}

/* ---- one transfer
 * ----------------------------------------------------------------------------------- */

static void set_up_once(Transfer *transfer)
{
    const FetcherOptions *options = transfer->shared->options;
    CURL *easy = transfer->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* What is for the host is not for its proxy. */
    (void)curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, options->user_agent);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    /* Time is transfer_clock's; libcurl has a default of its own for connecting. */
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_BEYOND_MS);
    tls_context_prepare(transfer->shared->tls, easy, &transfer->peer);
}

Result transfer_new(Transfer **out, TransferShared *shared)
{
    Transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL) {
        return RESULT_MEMORY;
    }
    transfer->shared = shared;
    transfer_timer_init(&transfer->timer);
    heap_node_init(&transfer->by_pause);
    transfer->connect_to.data = transfer->connect_key;
    transfer->easy = curl_easy_init();
    if (transfer->easy == NULL) {
        free(transfer);
        return RESULT_MEMORY;
    }
    set_up_once(transfer);
    *out = transfer;
    return RESULT_OK;
}

void transfer_delete(Transfer *transfer)
{
    if (transfer != NULL) {
        transfer_reset(transfer);
        curl_easy_cleanup(transfer->easy);
        free(transfer);
    }
}

/* Frees the lines of the last use; the shared ones behind them are not theirs. */
static void forget_lines(Transfer *transfer)
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
    Buffer line;
    buffer_init(&line, 1024);
    if (validator != NULL && buffer_printf(&line, "%s: %s", name, validator) == RESULT_OK) {
        (void)request_lines_add(&transfer->lines, buffer_string(&line)); /* else: unconditional */
    }
    buffer_destroy(&line);
}

static bool has_common_lines(const Transfer *transfer, const FetchSite *site)
{
    const FetcherOptions *options = transfer->shared->options;
    return strcmp(site->headers, options->headers) == 0 &&
           strcmp(site->accept_language, options->accept_language) == 0;
}

/* The header lines of this request: its own, then the shared ones. RESULT_MEMORY. */
static Result gather_lines(Transfer *transfer, const FetchSite *site, const FetchResult *result,
                           bool robots)
{
    struct curl_slist *common = NULL;
    Result rc = request_lines_secrets(&transfer->lines, site->credentials, result->request.url,
                                      &transfer->n_secrets);
    if (rc == RESULT_OK && !robots) {
        add_condition(transfer, "If-None-Match", result->request.etag);
        add_condition(transfer, "If-Modified-Since", result->request.last_modified);
    }
    if (has_common_lines(transfer, site)) {
        common = robots ? transfer->shared->robots_headers : transfer->shared->page_headers;
    } else if (rc == RESULT_OK) {
        rc = request_lines_common(&transfer->lines, site->headers, site->accept_language, robots);
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

/* To where a connection is made. */
static bool set_route(Transfer *transfer, const FetchSite *site, const char *url)
{
    CURL *easy = transfer->easy;
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
    bool names_place = proxy.url == NULL || proxy.wants_address;
    const char *secret =
        proxy.url == NULL ? NULL : credentials_of_proxy(site->credentials, proxy.url);
    /* Addresses come from our resolver. libcurl would keep what it takes for their names, and look
     * through all of them twice in every transfer. A proxy's name is libcurl's to resolve. */
    return curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT,
                            proxy.url == NULL ? 0L : PROXY_NAME_S) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, proxy.url == NULL ? "" : proxy.url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXYUSERPWD, secret) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECT_TO, names_place ? &transfer->connect_to : NULL) ==
               CURLE_OK;
}

/* What holds for this host. */
static bool set_site(Transfer *transfer, const FetchSite *site)
{
    CURL *easy = transfer->easy;
    long version = site->http2 && !transfer->visit_state->politeness.no_http2
                       ? (long)CURL_HTTP_VERSION_2TLS
                       : (long)CURL_HTTP_VERSION_1_1;
    bool verify = site->tls_verify && !tls_context_verifies(transfer->shared->tls, &transfer->peer);
    return curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)site->most_bytes_s) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L) == CURLE_OK;
}

Result transfer_prepare(Transfer *transfer, VisitState *visit_state, FetchResult *result,
                        const FetchSite *site)
{
    const FetcherOptions *options = transfer->shared->options;
    const char *url = result->request.url;
    bool robots = result->kind == FETCHED_ROBOTS;
    transfer->visit_state = visit_state;
    transfer->result = result;
    byte_gate_move(&result->cost.share, options->gate, TRANSFER_FIRST_BYTES);
    result->answer.header.limit = (size_t)options->max_header_bytes;
    result->answer.body.limit = robots                       ? ROBOTS_MAX_BYTES
                                : result->request.hop == 'S' ? (size_t)site->max_sitemap_bytes
                                                             : (size_t)site->max_body_bytes;
    result->request.max_body = robots ? 0 : result->answer.body.limit;
    Result rc = gather_lines(transfer, site, result, robots);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (options->keep_requests) {
        RequestMask mask = {.n_first = transfer->n_secrets, .all = options->mask_secrets};
        result->request.header =
            request_lines_text(url, options->user_agent, transfer->lines, mask);
    }
    bool is_set =
        curl_easy_setopt(transfer->easy, CURLOPT_URL, url) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, 0L) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->lines) == CURLE_OK &&
        set_route(transfer, site, url) && set_site(transfer, site);
    return is_set ? RESULT_OK : RESULT_MEMORY;
}

static void leave_the_paused(Transfer *transfer)
{
    if (heap_holds(&transfer->by_pause)) {
        heap_remove(transfer->shared->paused, &transfer->by_pause);
    }
}

CURLcode transfer_continue(Transfer *transfer)
{
    leave_the_paused(transfer);
    transfer_clock_go_on(transfer->shared->clock, &transfer->timer, transfer->shared->now);
    lanes_touch(transfer->lane);
    return curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
}

void transfer_reset(Transfer *transfer)
{
    transfer_clock_stop(transfer->shared->clock, &transfer->timer);
    leave_the_paused(transfer);
    transfer->favoured = false;
    forget_lines(transfer);
    fetch_result_delete(transfer->result);
    transfer->result = NULL;
    transfer->visit_state = NULL;
    transfer->is_proxied = false;
    transfer->refused_address = false;
    transfer->header_overflow = false;
    transfer->body_overflow = false;
    transfer->was_held_up = false;
    transfer->local_errno = 0;
    transfer->late = LATE_NOT;
    transfer->error[0] = '\0';
}
