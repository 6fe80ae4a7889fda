#include "fetch/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "fetch/site/request_lines.h"
#include "fetch/transfer/transfer_setup.h"

#define HEADER_FIRST_BYTES 1024u
#define BODY_TOLD_BYTES    (256u << 10)
#define RECEIVE_BYTES      32768L
#define CUT_READ_BYTES     16384 /* of an unwanted body */

bool transfer_has_http2(void)
{
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP2) != 0;
}

Result transfer_shared_init(TransferShared *shared, const FetcherOptions *options,
                            uint64_t *connections, Heap *paused, SocketWatch *sockets,
                            TransferClock *clock, TlsContext *tls, FetcherRules *rules)
{
    *shared = (TransferShared){.options = options,
                               .connections = connections,
                               .paused = paused,
                               .sockets = sockets,
                               .clock = clock,
                               .tls = tls,
                               .rules = rules,
                               .has_http2 = transfer_has_http2()};
    Buffer error = {.limit = 1024};
    Result rc = port_map_parse(&shared->ports, options->port_map, &error);
    if (rc != RESULT_OK) {
        LOG_ERROR("fetch", "port map is wrong", "%s", buffer_string(&error));
    }
    buffer_destroy(&error);
    shared->headers = strdup(options->headers);
    shared->accept_language = strdup(options->accept_language);
    if (shared->headers == NULL || shared->accept_language == NULL) {
        rc = RESULT_MEMORY;
    }
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->page_headers, options->user_agent, options->headers,
                                  options->accept_language, false);
    }
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->robots_headers, options->user_agent, options->headers,
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
    free(shared->headers);
    free(shared->accept_language);
    shared->headers = NULL;
    shared->accept_language = NULL;
    shared->page_headers = NULL;
    shared->robots_headers = NULL;
}

/* ---- callbacks ---- */

/* Bytes of the answer have come. */
static void note_bytes(Transfer *transfer, size_t length)
{
    TransferShared *shared = transfer->shared;
    transfer->timer.bytes += length;
    if (shared->options->quota != NULL) {
        byte_quota_take(shared->options->quota, length);
    }
    transfer->was_held_up = false;
    transfer_clock_enter(shared->clock, &transfer->timer, PHASE_RECEIVING, shared->now);
}

static long transfer_bytes_sent(const Transfer *transfer)
{
    long n = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &n);
    return n;
}

bool transfer_has_asked(const Transfer *transfer)
{
    return transfer->is_connected && transfer_bytes_sent(transfer) > transfer->sent_before;
}

/* The connection is there, and the request goes out. libcurl comes here once more to ask again by
 * itself: an HTTP/2 stream was refused, or a kept connection ended under the request. The host is
 * owed its delay before that, and the log a line of what it was asked; so the transfer ends. */
static int on_connected(void *context, char *peer, char *self, int peer_port, int own_port)
{
    Transfer *transfer = context;
    (void)peer;
    (void)self;
    (void)peer_port;
    (void)own_port;
    if (transfer_has_asked(transfer)) {
        transfer->would_repeat = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!transfer->is_connected) {
        transfer->is_connected = true;
        transfer->was_kept = !transfer->is_new;
    }
    transfer->sent_before = transfer_bytes_sent(transfer);
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

static void charge_rate(const Transfer *transfer, size_t length)
{
    RateGate *rate = transfer->shared->options->rate;
    if (rate != NULL) {
        rate_gate_take(rate, length, mono_now());
    }
}

/* For whom the gate has to be open when the body has this length. */
static ByteGateFor transfer_kind_of(size_t length)
{
    return length > TRANSFER_LARGE_BYTES ? BYTE_GATE_LARGE : BYTE_GATE_ANY;
}

bool transfer_has_room(const Transfer *transfer)
{
    ByteGate *gate = transfer->shared->options->gate;
    return gate == NULL ||
           byte_gate_is_open_for(gate, transfer_kind_of(transfer->result->answer.body.length));
}

/* Small bodies first, then in the order in which they began to wait. */
static bool transfer_wait(Transfer *transfer, MonoTime now)
{
    bool is_large = transfer_kind_of(transfer->result->answer.body.length) == BYTE_GATE_LARGE;
    return heap_push(transfer->shared->paused, &transfer->by_pause,
                     now.ns + (is_large ? INT64_MAX / 2 : 0),
                     transfer->result->request.index) == RESULT_OK;
}

/* Has the body to wait for the rate of all bytes? Then the transfer is in the heap of those that
 * wait. */
static bool has_to_slow_down(Transfer *transfer)
{
    RateGate *rate = transfer->shared->options->rate;
    MonoTime now = mono_now();
    return rate != NULL && !rate_gate_is_open(rate, now) && transfer_wait(transfer, now);
}

/* Has the body to grow, and may it not now? Then the transfer is in the heap of those that wait. */
static bool has_to_wait(Transfer *transfer, size_t length)
{
    const Buffer *body = &transfer->result->answer.body;
    ByteGate *gate = transfer->shared->options->gate;
    return gate != NULL && !transfer->favoured && body->capacity > 0 &&
           body->length + length >= body->capacity &&
           !byte_gate_is_open_for(gate, transfer_kind_of(body->length)) &&
           transfer_wait(transfer, mono_now());
}

/* Whether the body of this answer is wanted, now that its header is whole. */
static CutReason judge_header(Transfer *transfer, int status)
{
    const TransferShared *shared = transfer->shared;
    const FetchResult *result = transfer->result;
    FetchSite site;
    HttpHeader header;
    curl_off_t told = -1;
    if (result->kind != FETCHED_PAGE || result->request.hop == 'S' ||
        http_header_parse(&header, result->answer.header.data, result->answer.header.length) !=
            RESULT_OK) {
        return CUT_NOT;
    }
    fetcher_rules_site(shared->rules, transfer->visit_state->identity.hostname, &site);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
    CutRules rules = {.usages = site.usage.no_fetch,
                      .most_bytes = site.max_length,
                      .scratch = shared->rules->filter_scratch,
                      .url = &shared->rules->url,
                      .depth = result->request.depth};
    const Filter *filter = fetcher_rules_body_filter(shared->rules);
    if (filter != NULL && url_parse(&shared->rules->url, NULL, result->request.url,
                                    strlen(result->request.url)) == RESULT_OK) {
        rules.filter = filter;
    }
    return told == 0 ? CUT_NOT : cut_rules_judge(&rules, status, &header, told);
}

/* The header is whole. False: the transfer is to be ended here. A body that is unwanted but short
 * is read all the same, and thrown away: that costs less than another connection. */
static bool take_header(Transfer *transfer)
{
    long status = 0;
    curl_off_t told = -1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || transfer->has_header) {
        return true; /* an interim answer, or a trailer */
    }
    transfer->has_header = true;
    /* What is known of the connection; it may be another's as soon as this answer has ended. */
    struct curl_tlssessioninfo *session = NULL;
    if (strncmp(transfer->result->request.url, "https:", 6) == 0 &&
        curl_easy_getinfo(transfer->easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK &&
        session != NULL && session->backend == CURLSSLBACKEND_OPENSSL &&
        session->internals != NULL) {
        transfer->result->answer.tls =
            tls_facts_of(session->internals, transfer->visit_state->identity.hostname);
    }
    CutReason cut = judge_header(transfer, (int)status);
    transfer->result->answer.cut = cut;
    if (cut == CUT_NOT) {
        return true;
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
    if (told > 0 && told <= CUT_READ_BYTES) {
        return true;
    }
    transfer_break_off(transfer);
    return false;
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
    charge_rate(transfer, length);
    bool is_end = length <= 2 && (bytes[0] == '\r' || bytes[0] == '\n');
    return is_end && !take_header(transfer) ? 0 : length;
}

/* Room for all of the body when the header says how long it is, so that it never moves. A length
 * that may be a lie gets BODY_TOLD_BYTES, which grow where they are once they are full; while the
 * gate is closed, no more than one that says nothing. */
static void transfer_make_room(Transfer *transfer, size_t length)
{
    Buffer *body = &transfer->result->answer.body;
    ByteGate *gate = transfer->shared->options->gate;
    curl_off_t told = -1;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
    size_t room = told < 0 ? TRANSFER_BODY_BYTES : (size_t)told;
    bool is_open = gate == NULL || byte_gate_is_open_for(gate, transfer_kind_of(room));
    size_t most = is_open ? BODY_TOLD_BYTES : TRANSFER_BODY_BYTES;
    room = room < most ? room : most;
    room = room < length ? length : room;
    (void)buffer_reserve(body, room < body->limit ? room : body->limit);
}

/* The body is full. The rest of a page goes to a file, with what came before; else it is cut here.
 */
static size_t take_beyond(Transfer *transfer, const char *bytes, size_t length)
{
    FetchResult *result = transfer->result;
    FetchAnswer *answer = &result->answer;
    BodySpoolOptions options = transfer->shared->options->spool;
    options.max_bytes = transfer->max_page_bytes;
    size_t room = answer->spool.is_open ? 0 : answer->body.limit - answer->body.length;
    (void)buffer_append(&answer->body, bytes, room);
    bool has_spool = answer->spool.is_open ||
                     (result->kind == FETCHED_PAGE && result->request.hop != 'S' &&
                      body_spool_is_for(&answer->header, &answer->body) &&
                      body_spool_may(&options, &transfer->visit_state->politeness.endless) &&
                      body_spool_open(&answer->spool, &options, &answer->body) == RESULT_OK);
    if (has_spool &&
        body_spool_add(&answer->spool, &options, bytes + room, length - room) == RESULT_OK) {
        if (result->cost.share.gate != NULL) { /* it is in memory no longer */
            byte_gate_move(&result->cost.share, result->cost.share.gate,
                           result->answer.header.capacity);
        }
        return length;
    }
    transfer->body_overflow = true;
    transfer_break_off(transfer);
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
    Transfer *transfer = context;
    Buffer *body = &transfer->result->answer.body;
    size_t length = size * n;
    if (transfer->result->answer.cut != CUT_NOT) {
        note_bytes(transfer, length);
        charge_rate(transfer, length);
        transfer->n_unwanted += length;
        return transfer->n_unwanted <= CUT_READ_BYTES ? length
                                                      : 0; /* it may lie about its length */
    }
    if (has_to_slow_down(transfer) || has_to_wait(transfer, length)) {
        transfer_clock_pause(transfer->shared->clock, &transfer->timer, transfer->shared->now);
        return CURL_WRITEFUNC_PAUSE;
    }
    note_bytes(transfer, length);
    charge_rate(transfer, length);
    if (transfer->result->answer.spool.is_open) {
        return take_beyond(transfer, bytes, length);
    }
    if (body->capacity == 0) {
        transfer_make_room(transfer, length);
    }
    size_t room = body->limit - body->length;
    if (length > room) {
        return take_beyond(transfer, bytes, length);
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
    transfer->is_new = true;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) {
        socket_watch_opened(transfer->shared->sockets, fd);
    } else {
        transfer->local_errno = errno; /* whatever it is: nobody has been asked yet */
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close_socket(void *context, curl_socket_t fd)
{
    socket_watch_closed(context, fd);
    return close(fd);
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    Transfer *transfer = context;
    const IpAddress *ip = &transfer->visit_state->address.ip;
    if (transfer_has_asked(transfer)) {
        transfer->would_repeat = true;
        return CURL_SOCKET_BAD;
    }
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

/* ---- one transfer ---- */

static void set_up_once(Transfer *transfer)
{
    CURL *easy = transfer->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* What is for the host is not for its proxy. */
    (void)curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
    /* Who goes without a proxy is said by proxy_choose, not by no_proxy of the environment. */
    (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    /* A connection outlives its transfers, so its socket is closed on behalf of none. */
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, transfer->shared->sockets);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
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
    transfer->parsed = curl_url();
    if (transfer->easy == NULL || transfer->parsed == NULL) {
        curl_easy_cleanup(transfer->easy);
        curl_url_cleanup(transfer->parsed);
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
        curl_url_cleanup(transfer->parsed);
        free(transfer);
    }
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
    transfer->has_header = false;
    transfer->n_unwanted = 0;
    transfer_setup_forget(transfer);
    fetch_result_delete(transfer->result);
    transfer->result = NULL;
    transfer->visit_state = NULL;
    transfer->is_proxied = false;
    transfer->refused_address = false;
    transfer->is_new = false;
    transfer->is_connected = false;
    transfer->was_kept = false;
    transfer->would_repeat = false;
    transfer->is_aborted = false;
    transfer->sent_before = 0;
    transfer->header_overflow = false;
    transfer->body_overflow = false;
    transfer->was_held_up = false;
    transfer->local_errno = 0;
    transfer->late = LATE_NOT;
    transfer->made_room = false;
    transfer->error[0] = '\0';
}

void transfer_take_url(Transfer *transfer)
{
    VisitState *visit_state = transfer->visit_state;
    const WindowUrl *url = visit_state_peek(visit_state);
    transfer->has_url =
        transfer->result->cost.at_once > 1 && url != NULL && transfer->result->kind == FETCHED_PAGE;
    if (transfer->has_url) {
        transfer->url = *url;
        visit_state_take(visit_state);
    }
}

void transfer_put_url_back(Transfer *transfer)
{
    if (transfer->has_url) {
        visit_state_put_back(transfer->visit_state, &transfer->url);
        transfer->has_url = false;
    }
}
