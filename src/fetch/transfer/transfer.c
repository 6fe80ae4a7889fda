#include "fetch/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "parse/host/authority.h"
#include "fetch/transfer/request_lines.h"

#define HEADER_FIRST_BYTES 1024u
#define BODY_FIRST_BYTES   32768u /* of a body that does not say how long it is */
#define BODY_TOLD_BYTES    (256u << 10)
#define RECEIVE_BYTES      65536L
#define CONNECT_BEYOND_MS  86400000L
/* What a transfer is counted with from its start: the first piece of its body, and what libcurl
 * and the system hold for it. */
#define TRANSFER_FIRST_BYTES (BODY_FIRST_BYTES + 16384u)

Result transfer_shared_init(TransferShared *shared, const FetcherOptions *options,
                            uint64_t *connections, Heap *paused, SocketWatch *sockets,
                            TransferClock *clock)
{
    *shared = (TransferShared){.options = options,
                               .connections = connections,
                               .paused = paused,
                               .sockets = sockets,
                               .clock = clock};
    Buffer error;
    buffer_init(&error, 1024);
    Result rc = port_map_parse(&shared->ports, options->port_map, &error);
    if (rc != RESULT_OK) {
        LOG_ERROR("fetch", "port map is wrong", "%s", buffer_string(&error));
    }
    buffer_destroy(&error);
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->page_headers, options, false);
    }
    if (rc == RESULT_OK) {
        rc = request_lines_common(&shared->robots_headers, options, true);
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

static curl_socket_t on_open_socket(void *context, curlsocktype purpose,
                                    struct curl_sockaddr *address)
{
    Transfer *transfer = context;
    const IpAddress *ip = &transfer->visit_state->address.ip;
    if (purpose != CURLSOCKTYPE_IPCXN || !ip_policy_allows(transfer->shared->options->policy, ip)) {
        transfer->refused_address = true;
        return CURL_SOCKET_BAD;
    }
    connect_key_resolve(ip, address);
    (*transfer->shared->connections)++;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) {
        socket_watch_opened(transfer->shared->sockets, fd);
    } else {
        transfer->local_errno = errno; /* whatever it is: nobody has been asked yet */
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
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
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* not from the environment */
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    /* Addresses come from our resolver. libcurl would keep what it takes for their names, and look
     * through all of them twice in every transfer. */
    (void)curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
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
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->tls_verify ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->tls_verify ? 2L : 0L);
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

/* Frees the conditions of the last use; the shared headers behind them are not theirs. */
static void forget_conditions(Transfer *transfer)
{
    if (transfer->last_condition != NULL) {
        transfer->last_condition->next = NULL;
    }
    curl_slist_free_all(transfer->conditions);
    transfer->conditions = NULL;
    transfer->last_condition = NULL;
}

static void add_condition(Transfer *transfer, const char *name, const char *validator)
{
    Buffer line;
    buffer_init(&line, 1024);
    if (validator != NULL && buffer_printf(&line, "%s: %s", name, validator) == RESULT_OK) {
        (void)request_lines_add(&transfer->conditions,
                                buffer_string(&line)); /* else: unconditional */
    }
    buffer_destroy(&line);
}

/* The header lines of this request: the shared ones, behind its conditions. */
static struct curl_slist *request_headers(Transfer *transfer, const FetchResult *result,
                                          bool robots)
{
    if (robots) {
        return transfer->shared->robots_headers;
    }
    add_condition(transfer, "If-None-Match", result->request.etag);
    add_condition(transfer, "If-Modified-Since", result->request.last_modified);
    if (transfer->conditions == NULL) {
        return transfer->shared->page_headers;
    }
    transfer->last_condition = transfer->conditions;
    while (transfer->last_condition->next != NULL) {
        transfer->last_condition = transfer->last_condition->next;
    }
    transfer->last_condition->next = transfer->shared->page_headers;
    return transfer->conditions;
}

Result transfer_prepare(Transfer *transfer, VisitState *visit_state, FetchResult *result,
                        const char *url, bool robots)
{
    const FetcherOptions *options = transfer->shared->options;
    transfer->visit_state = visit_state;
    transfer->result = result;
    byte_gate_move(&result->cost.share, options->gate, TRANSFER_FIRST_BYTES);
    result->answer.header.limit = (size_t)options->max_header_bytes;
    result->answer.body.limit = robots                       ? ROBOTS_MAX_BYTES
                                : result->request.hop == 'S' ? (size_t)options->max_sitemap_bytes
                                                             : (size_t)options->max_body_bytes;
    struct curl_slist *headers = request_headers(transfer, result, robots);
    if (options->keep_requests) {
        result->request.header =
            request_lines_text(url, options->user_agent, headers, options->mask_secrets);
    }
    connect_key_format(visit_state->identity.host, &visit_state->address.ip,
                       port_map_port(&transfer->shared->ports, authority_of(url, strlen(url)).port),
                       transfer->connect_key);
    long version = options->http2 && !visit_state->politeness.no_http2
                       ? (long)CURL_HTTP_VERSION_2TLS
                       : (long)CURL_HTTP_VERSION_1_1;
    bool is_set =
        curl_easy_setopt(transfer->easy, CURLOPT_URL, url) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, 0L) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, &transfer->connect_to) == CURLE_OK &&
        curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
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
    forget_conditions(transfer);
    fetch_result_delete(transfer->result);
    transfer->result = NULL;
    transfer->visit_state = NULL;
    transfer->refused_address = false;
    transfer->header_overflow = false;
    transfer->body_overflow = false;
    transfer->was_held_up = false;
    transfer->local_errno = 0;
    transfer->late = LATE_NOT;
    transfer->error[0] = '\0';
}
