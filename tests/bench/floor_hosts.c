#include "floor_hosts.h"

#include <ares.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define QUERIES       200u /* in flight */
#define ADDRESS_BYTES 16u
#define AGENT         "ragno"
#define ROBOTS_PATH   "/robots.txt"
#define WAIT_MS       1000

/* The host in "http://h00001.web.test/a". */
static const char *host_of(const char *url, size_t *length)
{
    const char *host = strstr(url, "//");
    host = host == NULL ? url : host + 2;
    *length = strcspn(host, "/:");
    return host;
}

static const char *path_of(const char *url)
{
    size_t length = 0;
    const char *host = host_of(url, &length);
    const char *path = strchr(host, '/');
    return path == NULL ? "/" : path;
}

static uint64_t key_of(const char *url)
{
    size_t length = 0;
    const char *host = host_of(url, &length);
    return hash_64(host, length, 0);
}

/* ---- names ---- */

typedef struct Asking {
    size_t in_flight;
    size_t failed;
} Asking;

typedef struct Question {
    Asking *asking;
    char *address; /* to be filled in; ADDRESS_BYTES */
} Question;

static void on_answer(void *context, int status, int timeouts, struct ares_addrinfo *answer)
{
    Question *question = context;
    (void)timeouts;
    question->asking->in_flight--;
    bool is_good = status == ARES_SUCCESS && answer->nodes != NULL &&
                   getnameinfo(answer->nodes->ai_addr, (socklen_t)answer->nodes->ai_addrlen,
                               question->address, ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) == 0;
    question->asking->failed += is_good ? 0 : 1;
    if (answer != NULL) {
        ares_freeaddrinfo(answer);
    }
}

/* Takes what has come, and waits for something if nothing has. */
static void take_answers(ares_channel channel)
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd polled[ARES_GETSOCK_MAXNUM];
    int bits = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    nfds_t n = 0;
    while (n < ARES_GETSOCK_MAXNUM && ARES_GETSOCK_READABLE(bits, n)) {
        polled[n] = (struct pollfd){.fd = sockets[n], .events = POLLIN};
        n++;
    }
    (void)poll(polled, n, WAIT_MS);
    for (nfds_t i = 0; i < n; i++) {
        bool is_ready = (polled[i].revents & POLLIN) != 0;
        ares_process_fd(channel, is_ready ? polled[i].fd : ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    }
}

static int open_channel(ares_channel *channel, unsigned port)
{
    char lookups[] = "b";
    char server[32];
    struct ares_options options = {.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_STAYOPEN,
                                   .lookups = lookups,
                                   .socket_receive_buffer_size = 1 << 20};
    (void)snprintf(server, sizeof server, "127.0.0.1:%u", port);
    int rc = ares_init_options(channel, &options,
                               ARES_OPT_FLAGS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_RCVBUF);
    return rc == ARES_SUCCESS ? ares_set_servers_ports_csv(*channel, server) : rc;
}

static int ask_all(ares_channel channel, FloorPage *pages, size_t n_pages, char *text,
                   Question *questions, Map *known)
{
    static const struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT,
                                                     .ai_family = AF_UNSPEC};
    Asking asking = {0};
    for (size_t i = 0; i < n_pages; i++) {
        char name[256];
        size_t length = 0;
        const char *host = host_of(pages[i].url, &length);
        MapKey key = map_key(hash_64(host, length, 0));
        char *address = map_get(known, key);
        if (address == NULL) {
            address = text + known->count * ADDRESS_BYTES;
            Question *question = &questions[known->count];
            *question = (Question){.asking = &asking, .address = address};
            (void)snprintf(name, sizeof name, "%.*s", (int)length, host);
            asking.in_flight++;
            ares_getaddrinfo(channel, name, NULL, &hints, on_answer, question);
            if (map_put(known, key, address) != RESULT_OK) {
                return -1;
            }
        }
        pages[i].address = address;
        while (asking.in_flight >= QUERIES) {
            take_answers(channel);
        }
    }
    while (asking.in_flight > 0) {
        take_answers(channel);
    }
    return asking.failed == 0 ? 0 : -1;
}

int floor_hosts_resolve(FloorPage *pages, size_t n_pages, unsigned port, char **text)
{
    ares_channel channel = NULL;
    Map known;
    Question *questions = calloc(n_pages, sizeof *questions);
    map_init(&known);
    *text = calloc(n_pages, ADDRESS_BYTES);
    int rc = questions == NULL || *text == NULL ? -1 : open_channel(&channel, port);
    rc = rc == 0 ? ask_all(channel, pages, n_pages, *text, questions, &known) : rc;
    if (channel != NULL) {
        ares_destroy(channel);
    }
    map_destroy(&known);
    free(questions);
    if (rc != 0) {
        fprintf(stderr, "bench: floor: names cannot be resolved\n");
    }
    return rc;
}

/* ---- robots.txt ---- */

int floor_hosts_open(FloorHosts *hosts, MDB_txn *txn)
{
    *hosts = (FloorHosts){.rows = 0};
    map_init(&hosts->rules);
    buffer_init(&hosts->row, BUFFER_NO_LIMIT);
    int rc = mdb_dbi_open(txn, "hosts", MDB_INTEGERKEY | MDB_CREATE, &hosts->rows);
    return rc == 0 ? mdb_dbi_open(txn, "robots", MDB_INTEGERKEY | MDB_CREATE, &hosts->robots) : rc;
}

void floor_hosts_close(FloorHosts *hosts)
{
    Robots *rules = NULL;
    size_t place = 0;
    while ((rules = map_next(&hosts->rules, &place)) != NULL) {
        robots_delete(rules);
    }
    map_destroy(&hosts->rules);
    buffer_destroy(&hosts->row);
}

bool floor_hosts_is_robots(const char *url)
{
    return strcmp(path_of(url), ROBOTS_PATH) == 0;
}

/* The host's name, behind what a crawler goes by when it meets the host again. */
static int put_row(FloorHosts *hosts, MDB_txn *txn, const char *url, uint64_t robots)
{
    struct {
        uint64_t robots;
        int64_t robots_expiry_ms;
        int64_t not_before_ms;
        uint32_t pages;
        uint32_t failures;
    } facts = {.robots = robots};
    size_t length = 0;
    const char *host = host_of(url, &length);
    uint64_t key = hash_64(host, length, 0);
    buffer_reset(&hosts->row);
    if (buffer_append(&hosts->row, &facts, sizeof facts) != RESULT_OK ||
        buffer_append(&hosts->row, host, length) != RESULT_OK) {
        return -1;
    }
    MDB_val place = {sizeof key, &key};
    MDB_val value = {hosts->row.length, hosts->row.data};
    return mdb_put(txn, hosts->rows, &place, &value, 0);
}

static bool is_there(const FloorAnswer *answer)
{
    return strncmp(buffer_string(answer->header), "HTTP/1.1 200", 12) == 0;
}

int floor_hosts_parse(const FloorAnswer *answer, Robots **robots)
{
    Result rc = is_there(answer)
                    ? robots_parse(buffer_string(answer->body), answer->body->length, AGENT, robots)
                    : robots_allow_all(robots);
    return rc == RESULT_OK ? 0 : -1;
}

int floor_hosts_keep(FloorHosts *hosts, const char *url, Robots *robots)
{
    if (map_put(&hosts->rules, map_key(key_of(url)), robots) != RESULT_OK) {
        robots_delete(robots);
        return -1;
    }
    return 0;
}

int floor_hosts_store(FloorHosts *hosts, MDB_txn *txn, const FloorAnswer *answer)
{
    const char *url = answer->page->url;
    const char *body = buffer_string(answer->body);
    size_t length = is_there(answer) ? answer->body->length : 0;
    uint64_t hash = robots_content_hash(body, length);
    MDB_val key = {sizeof hash, &hash};
    MDB_val text = {length, NULL};
    int rc = mdb_put(txn, hosts->robots, &key, &text, MDB_NOOVERWRITE | MDB_RESERVE);
    if (rc == 0) {
        memcpy(text.mv_data, body, text.mv_size);
    }
    return rc == 0 || rc == MDB_KEYEXIST ? put_row(hosts, txn, url, hash) : rc;
}

bool floor_hosts_allow(const FloorHosts *hosts, const char *url)
{
    const Robots *rules = map_get(&hosts->rules, map_key(key_of(url)));
    const char *path = path_of(url);
    return rules == NULL || robots_allows(rules, path, strlen(path), NULL);
}
