#include "fetch/dns/name_servers.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/core/ascii.h"
#include "base/thread/log.h"

/* ---- Name change ---- */

Result name_change_init(NameChange *change, const ResolverOptions *options)
{
    *change = (NameChange){.options = *options, .list = strdup(options->servers)};
    mutex_init(&change->mutex, RANK_TABLE);
    return change->list == NULL ? RESULT_MEMORY : RESULT_OK;
}

void name_change_destroy(NameChange *change)
{
    name_servers_delete(change->servers);
    free(change->list);
    mutex_destroy(&change->mutex);
}

static bool are_others(const NameChange *change, const ResolverOptions *options)
{
    return options->timeout_ms != change->options.timeout_ms ||
           options->tries != change->options.tries || strcmp(options->servers, change->list) != 0;
}

Result name_change_put(NameChange *change, const ResolverOptions *options, int epoll)
{
    NameServers *servers = NULL;
    NameServers *unused = NULL;
    char *list = strdup(options->servers);
    Result rc = list == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK && are_others(change, options)) {
        rc = name_servers_new(&servers, options, epoll);
    }
    if (rc != RESULT_OK) {
        free(list);
        return rc;
    }
    free(change->list);
    change->list = list;
    mutex_lock(&change->mutex);
    change->is_there = true;
    change->options = *options;
    change->options.servers = ""; /* they are made, and the text may go */
    if (servers != NULL) {
        unused = change->servers;
        change->servers = servers;
    }
    mutex_unlock(&change->mutex);
    name_servers_delete(unused);
    return RESULT_OK;
}

bool name_change_take(NameChange *change, ResolverOptions *options, NameServers **servers)
{
    mutex_lock(&change->mutex);
    bool is_there = change->is_there;
    if (is_there) {
        *options = change->options;
        *servers = change->servers;
        change->servers = NULL;
        change->is_there = false;
    }
    mutex_unlock(&change->mutex);
    return is_there;
}

/* ---- Name servers ---- */

#define DNS_PORT             53
#define RECEIVE_BUFFER_BYTES (4 << 20)

typedef struct NameServer {
    ares_channel channel;
    bool is_silent; /* the last that was heard of it is nothing */
} NameServer;

struct NameServers {
    int epoll;
    unsigned n;
    unsigned preferred;
    unsigned steps;      /* of one question, over all servers */
    MonoTime next_probe; /* of a silent server */
    bool cancelled;
    NameServer server[NAME_SERVERS_MOST];
};

typedef struct Question {
    NameServers *servers;
    char *hostname; /* owned */
    int family;
    NameAnswered answered;
    void *context;
    unsigned server; /* that is being asked */
    unsigned steps;  /* so far, this one included */
} Question;

/* ---- questions ---- */

/* Who is asked first: the one that answers, but for a look at a silent one now and then. */
static unsigned first_server(NameServers *servers)
{
    MonoTime now = mono_now();
    if (servers->n == 1 || mono_before(now, servers->next_probe)) {
        return servers->preferred;
    }
    for (unsigned i = 0; i < servers->n; i++) {
        if (servers->server[i].is_silent && i != servers->preferred) {
            servers->next_probe = mono_add_ms(now, NAME_SERVERS_PROBE_MS);
            return i;
        }
    }
    return servers->preferred;
}

/* The next one in turn that is not silent, or just the next one. */
static unsigned next_server(const NameServers *servers, unsigned from)
{
    for (unsigned i = 1; i < servers->n; i++) {
        unsigned next = (from + i) % servers->n;
        if (!servers->server[next].is_silent) {
            return next;
        }
    }
    return (from + 1) % servers->n;
}

static bool is_silence(int status)
{
    return status == ARES_ETIMEOUT || status == ARES_ECONNREFUSED;
}

/* Whether another server may know better. */
static bool is_no_answer(int status)
{
    return is_silence(status) || status == ARES_ESERVFAIL || status == ARES_EREFUSED ||
           status == ARES_ENOTIMP || status == ARES_EFORMERR || status == ARES_EBADRESP;
}

static void name_servers_note(NameServers *servers, unsigned number, int status)
{
    NameServer *server = &servers->server[number];
    if (!is_silence(status)) {
        server->is_silent = false;
        return;
    }
    if (!server->is_silent) {
        server->is_silent = true;
        servers->next_probe = mono_add_ms(mono_now(), NAME_SERVERS_PROBE_MS);
    }
    unsigned next = next_server(servers, number);
    if (number == servers->preferred && !servers->server[next].is_silent) {
        servers->preferred = next;
        LOG_INFO("dns", "a name server is silent, another one is asked first",
                 "silent=%u of=%u first=%u", number + 1, servers->n, next + 1);
    }
}

static void name_servers_put(Question *question);

static void name_servers_on_answer(void *context, int status, int timeouts,
                                   struct ares_addrinfo *answer)
{
    Question *question = context;
    NameServers *servers = question->servers;
    bool is_over = servers->cancelled || status == ARES_ECANCELLED || status == ARES_EDESTRUCTION;
    if (!is_over) {
        name_servers_note(servers, question->server, status);
        if (is_no_answer(status) && question->steps < servers->steps) {
            question->server = next_server(servers, question->server);
            name_servers_put(question);
            return;
        }
    }
    question->answered(question->context, status, timeouts, answer);
    free(question->hostname);
    free(question);
}

static void name_servers_put(Question *question)
{
    struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT, .ai_family = question->family};
    question->steps++;
    ares_getaddrinfo(question->servers->server[question->server].channel, question->hostname, NULL,
                     &hints, name_servers_on_answer, question);
}

void name_servers_ask(NameServers *servers, const char *hostname, int family, NameAnswered answered,
                      void *context)
{
    Question *question = calloc(1, sizeof *question);
    char *copy = strdup(hostname);
    if (question == NULL || copy == NULL) {
        free(question);
        free(copy);
        answered(context, ARES_ENOMEM, 0, NULL);
        return;
    }
    *question = (Question){.servers = servers,
                           .hostname = copy,
                           .family = family,
                           .answered = answered,
                           .context = context,
                           .server = first_server(servers)};
    name_servers_put(question);
}

/* ---- channels ---- */

static void name_servers_on_socket(void *context, ares_socket_t fd, int readable, int writable)
{
    NameServers *servers = context;
    struct epoll_event event = {.events = (readable ? (uint32_t)EPOLLIN : 0u) |
                                          (writable ? (uint32_t)EPOLLOUT : 0u),
                                .data = {.fd = fd}};
    if (!readable && !writable) {
        (void)epoll_ctl(servers->epoll, EPOLL_CTL_DEL, fd, NULL);
    } else if (epoll_ctl(servers->epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
        (void)epoll_ctl(servers->epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

void name_servers_event(NameServers *servers, int fd, bool readable, bool writable)
{
    for (unsigned i = 0; i < servers->n; i++) { /* it belongs to one of them */
        ares_process_fd(servers->server[i].channel, readable ? fd : ARES_SOCKET_BAD,
                        writable ? fd : ARES_SOCKET_BAD);
    }
}

int name_servers_wait_ms(NameServers *servers)
{
    struct timeval most = {.tv_sec = 3600, .tv_usec = 0};
    int least = -1;
    for (unsigned i = 0; i < servers->n; i++) {
        struct timeval left = {0};
        const struct timeval *wait = ares_timeout(servers->server[i].channel, &most, &left);
        int ms = wait == NULL ? -1 : (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1);
        least = least < 0 || (ms >= 0 && ms < least) ? ms : least;
    }
    return least;
}

static Result open_channel(NameServers *servers, const ResolverOptions *options, unsigned tries,
                           ares_channel *channel)
{
    /* DNS only, and names as they are: the machine's /etc/hosts, search domains (resolv.conf,
     * LOCALDOMAIN) and aliases (HOSTALIASES) are not the web's. ARES_FLAG_NOSEARCH alone is not
     * heard by ares_getaddrinfo before c-ares 1.27. */
    char lookups[] = "b";
    struct ares_options own = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_STAYOPEN,
        .timeout = (int)options->timeout_ms,
        .tries = (int)tries,
        .lookups = lookups,
        .ndomains = 0,
        .sock_state_cb = name_servers_on_socket,
        .sock_state_cb_data = servers,
    };
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
               ARES_OPT_DOMAINS | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
    mask |= ARES_OPT_QUERY_CACHE; /* none: a canary (name_watch.h) would hear what it has heard */
#endif
    /* A burst of answers must fit: what is dropped costs a whole time-out. The kernel may give
     * less. */
    own.socket_receive_buffer_size = RECEIVE_BUFFER_BYTES;
    int rc = ares_init_options(channel, &own, mask | ARES_OPT_SOCK_RCVBUF);
    if (rc != ARES_SUCCESS) {
        LOG_ERROR("dns", "c-ares cannot start", "error=\"%s\"", ares_strerror(rc));
        return rc == ARES_ENOMEM ? RESULT_MEMORY : RESULT_IO;
    }
    return RESULT_OK;
}

/* The servers of a channel as ADDRESS:PORT with commas between: those of dns.servers, or the
 * system's. */
static Result name_servers_list(ares_channel channel, Buffer *list)
{
#if ARES_VERSION >= 0x011800 /* 1.24 */
    char *text = ares_get_servers_csv(channel);
    Result rc = text == NULL ? RESULT_MEMORY : buffer_append(list, text, strlen(text));
    ares_free_string(text);
    return rc;
#else
    struct ares_addr_port_node *nodes = NULL;
    Result rc = ares_get_servers_ports(channel, &nodes) == ARES_SUCCESS ? RESULT_OK : RESULT_MEMORY;
    for (const struct ares_addr_port_node *node = nodes; rc == RESULT_OK && node != NULL;
         node = node->next) {
        char text[INET6_ADDRSTRLEN] = "";
        (void)inet_ntop(node->family, &node->addr, text, sizeof text);
        rc = buffer_printf(list, node->family == AF_INET6 ? "%s[%s]:%d" : "%s%s:%d",
                           list->length > 0 ? "," : "", text,
                           node->udp_port > 0 ? node->udp_port : DNS_PORT);
    }
    ares_free_data(nodes);
    return rc;
#endif
}

/* Opens a channel for each server of the list, which is cut into its words. */
static Result open_channels(NameServers *servers, const ResolverOptions *options, char *list)
{
    unsigned n = 1;
    for (const char *at = list; (at = strchr(at, ',')) != NULL && n < NAME_SERVERS_MOST; at++) {
        n++;
    }
    char *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one != NULL && servers->n < n;
         one = strtok_r(NULL, ",", &rest)) {
        NameServer *server = &servers->server[servers->n];
        Result rc = open_channel(servers, options, n == 1 ? options->tries : 1, &server->channel);
        if (rc != RESULT_OK) {
            return rc;
        }
        servers->n++;
        if (ares_set_servers_ports_csv(server->channel, one) != ARES_SUCCESS) {
            return RESULT_MEMORY;
        }
    }
    servers->steps = n == 1 ? 1 : n * options->tries;
    return RESULT_OK;
}

/* c-ares knows no blanks, and wants brackets only where a port follows. */
static Result name_servers_set(ares_channel channel, const char *list)
{
    Buffer all = {.limit = BUFFER_NO_LIMIT};
    for (size_t length = 0; ascii_next_word(&list, &length, ", \t");) {
        bool is_bracketed = length > 2 && *list == '[' && list[length - 1] == ']';
        (void)buffer_append_string(&all, all.length > 0 ? "," : "");
        (void)buffer_append(&all, list + is_bracketed, length - (is_bracketed ? 2 : 0));
    }
    Result rc = buffer_end(&all, 0);
    if (rc == RESULT_OK && all.length > 0 &&
        ares_set_servers_ports_csv(channel, buffer_string(&all)) != ARES_SUCCESS) {
        rc = RESULT_INVALID; /* config_check has told which one */
    }
    buffer_destroy(&all);
    return rc;
}

Result name_servers_new(NameServers **out, const ResolverOptions *options, int epoll)
{
    NameServers *servers = calloc(1, sizeof *servers);
    ares_channel all = NULL;
    Buffer list = {.limit = BUFFER_NO_LIMIT};
    if (servers == NULL) {
        return RESULT_MEMORY;
    }
    servers->epoll = epoll;
    Result rc = open_channel(servers, options, 1, &all); /* to have the list read */
    if (rc == RESULT_OK) {
        rc = name_servers_set(all, options->servers);
    }
    if (rc == RESULT_OK) {
        rc = name_servers_list(all, &list);
    }
    if (rc == RESULT_OK) {
        rc = list.length == 0 ? RESULT_INVALID : open_channels(servers, options, list.data);
    }
    buffer_destroy(&list);
    ares_destroy(all);
    if (rc != RESULT_OK) {
        name_servers_delete(servers);
        return rc;
    }
    *out = servers;
    return RESULT_OK;
}

void name_servers_cancel(NameServers *servers)
{
    servers->cancelled = true;
    for (unsigned i = 0; i < servers->n; i++) {
        ares_cancel(servers->server[i].channel);
    }
}

void name_servers_delete(NameServers *servers)
{
    if (servers == NULL) {
        return;
    }
    servers->cancelled = true;
    for (unsigned i = 0; i < servers->n; i++) {
        ares_destroy(servers->server[i].channel);
    }
    free(servers);
}
