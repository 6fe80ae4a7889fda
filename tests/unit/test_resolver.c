#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "fetch/dns/resolver.h"
#include "unit.h"
#include "until.h"

#define PACKET_BYTES 512u

/* A name server of one thread. What a name gets is in its first label: a-1-2-3-4 that address with
 * a TTL of 60 s, t-... the same with a TTL of 0, two-... that address and the next, none does not
 * exist, fail is a server failure, silent no answer at all. AAAA questions have no answer, but that
 * six has 2a00::1; a server that is old does not know it, and is silent from the second question
 * on.
 */
typedef struct NameServer {
    atomic_bool is_old;
    int fd;
    uint16_t port;
    Thread thread;
    atomic_uint questions; /* for A records */
    atomic_bool stopping;
} NameServer;

static size_t read_name(const unsigned char *packet, size_t length, char *name)
{
    size_t at = 12;
    size_t n = 0;
    while (at < length && packet[at] != 0) {
        size_t label = packet[at++];
        memcpy(name + n, packet + at, label);
        n += label;
        name[n++] = '.';
        at += label;
    }
    name[n] = '\0';
    return at + 5; /* the root label, type and class */
}

static size_t add_address(unsigned char *packet, size_t at, uint32_t address, uint32_t ttl)
{
    const unsigned char record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, (unsigned char)ttl, 0, 4};
    uint32_t bits = htonl(address);
    memcpy(packet + at, record, sizeof record);
    memcpy(packet + at + sizeof record, &bits, 4);
    packet[7]++; /* answers */
    return at + sizeof record + 4;
}

static size_t add_six(unsigned char *packet, size_t at)
{
    const unsigned char record[] = {0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16, 0x2a};
    memset(packet + at, 0, 28);
    memcpy(packet + at, record, sizeof record);
    packet[at + 27] = 1;
    packet[7]++;
    return at + 28;
}

static size_t reply_to(NameServer *server, unsigned char *packet, size_t length)
{
    char name[300];
    size_t end = read_name(packet, length, name);
    unsigned type = packet[end - 3];
    packet[2] = 0x81;
    packet[3] = 0x80;
    memset(packet + 6, 0, 6); /* no answers yet, no additional records */
    if (type == 1) {
        atomic_fetch_add(&server->questions, 1);
    }
    if (strncmp(name, "silent", 6) == 0) {
        return 0;
    }
    if (strncmp(name, "six", 3) == 0) {
        bool is_silent = atomic_load(&server->is_old) && atomic_load(&server->questions) > 1;
        size_t told = type == 28 && !atomic_load(&server->is_old) ? add_six(packet, end) : end;
        return is_silent ? 0 : told;
    }
    if (strncmp(name, "none", 4) == 0) {
        packet[3] |= 3;
        return end;
    }
    if (strncmp(name, "fail", 4) == 0) {
        packet[3] |= 2;
        return end;
    }
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const char *dash = strchr(name, '-');
    if (type != 1 || dash == NULL || sscanf(dash, "-%u-%u-%u-%u", &a, &b, &c, &d) != 4) {
        return end;
    }
    uint32_t address = a << 24 | b << 16 | c << 8 | d;
    end = add_address(packet, end, address, name[0] == 't' && name[1] == '-' ? 0 : 60);
    return strncmp(name, "two", 3) == 0 ? add_address(packet, end, address + 1, 60) : end;
}

static void *serve(void *context)
{
    NameServer *server = context;
    unsigned char packet[PACKET_BYTES];
    struct sockaddr_in from;
    while (!atomic_load(&server->stopping)) {
        socklen_t size = sizeof from;
        ssize_t n =
            recvfrom(server->fd, packet, sizeof packet - 64, 0, (struct sockaddr *)&from, &size);
        if (n > 12) {
            size_t length = reply_to(server, packet, (size_t)n);
            if (length > 0) {
                (void)sendto(server->fd, packet, length, 0, (struct sockaddr *)&from, size);
            }
        }
    }
    return NULL;
}

static void server_start(NameServer *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    struct timeval wait = {.tv_usec = 50000};
    *server = (NameServer){.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    CU_ASSERT_TRUE_FATAL(server->fd >= 0);
    int room = 1 << 20;
    (void)setsockopt(server->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(server->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    CU_ASSERT_EQUAL_FATAL(bind(server->fd, (struct sockaddr *)&address, size), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    CU_ASSERT_EQUAL_FATAL(thread_start(&server->thread, "server", serve, server), RESULT_OK);
}

static void server_stop(NameServer *server)
{
    atomic_store(&server->stopping, true);
    thread_join(&server->thread);
    (void)close(server->fd);
}

typedef struct World {
    NameServer server;
    Resolver *resolver;
    Queue answers;
    Buffer heard; /* by the resolver's thread */
    IpPolicy policy;
    char servers[32];
    ResolverOptions options;
} World;

static void on_answer(void *context, VisitState *visit_state)
{
    World *w = context;
    (void)queue_push(&w->answers, visit_state);
}

static void on_heard(void *context, const char *hostname, WallTime asked, const Buffer *records)
{
    World *w = context;
    CU_ASSERT_TRUE(wall_now().us - asked.us < 10000000);
    const char *lines = strchr(records->data, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(lines);
    CU_ASSERT_EQUAL(lines - records->data, 14);
    CU_ASSERT_EQUAL(buffer_printf(&w->heard, "%s:%s", hostname, lines), RESULT_OK);
}

static World *set_up(const char *allowed, size_t cache_entries)
{
    World *w = calloc(1, sizeof *w);
    Buffer error;
    buffer_init(&error, 1000);
    log_set_level(LOG_LEVEL_WARN);
    server_start(&w->server);
    (void)snprintf(w->servers, sizeof w->servers, "127.0.0.1:%u", w->server.port);
    CU_ASSERT_EQUAL_FATAL(queue_init(&w->answers, 100000), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(ip_ranges_parse(&w->policy.allowed, allowed, &error), RESULT_OK);
    w->options = (ResolverOptions){.servers = w->servers,
                                   .timeout_ms = 60000, /* a busy machine asks no question twice */
                                   .tries = 2,
                                   .queries = 200,
                                   .cache_entries = cache_entries,
                                   .ttl_max_ms = 3600000,
                                   .negative_ttl_ms = 60000,
                                   .policy = &w->policy,
                                   .heard = on_heard,
                                   .heard_context = w};
    buffer_init(&w->heard, 100000);
    CU_ASSERT_EQUAL_FATAL(resolver_new(&w->resolver, &w->options, on_answer, w), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(resolver_start(w->resolver), RESULT_OK);
    buffer_destroy(&error);
    return w;
}

/* For a test that waits for a time-out. */
static void hurry(World *w)
{
    w->options.timeout_ms = 100;
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &w->options), RESULT_OK);
}

static void tear_down(World *w)
{
    resolver_stop(w->resolver);
    resolver_delete(w->resolver);
    server_stop(&w->server);
    queue_destroy(&w->answers);
    buffer_destroy(&w->heard);
    ip_ranges_destroy(&w->policy.allowed);
    free(w);
    log_set_level(LOG_LEVEL_INFO);
}

static void ask(World *w, const char *hostname, unsigned failures)
{
    char origin[400];
    VisitState *visit_state = NULL;
    int n = snprintf(origin, sizeof origin, "http://%s", hostname);
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&visit_state, 1, origin, (size_t)n), RESULT_OK);
    visit_state->address.turn = failures;
    resolver_resolve(w->resolver, visit_state);
}

static VisitState *answer(World *w)
{
    void *item = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(queue_pop(&w->answers, &item, 1, &n, mono_add_ms(mono_now(), 120000)),
                          RESULT_OK);
    return item;
}

/* Asks and compares; what is the address or the class of the failure. */
static void expect(World *w, const char *hostname, unsigned failures, const char *what)
{
    char text[IP_ADDRESS_TEXT_BYTES];
    ask(w, hostname, failures);
    VisitState *visit_state = answer(w);
    const char *got = visit_state->address.class == FETCH_OK
                          ? ip_address_format(&visit_state->address.ip, text)
                          : fetch_class_name(visit_state->address.class);
    CU_ASSERT_STRING_EQUAL(got, what);
    if (visit_state->address.class == FETCH_OK) {
        CU_ASSERT_TRUE(visit_state->address.expiry.ns > 0);
    }
    visit_state_delete(visit_state);
}

static void names_become_addresses_or_reasons(void)
{
    World *w = set_up("", 1000);
    hurry(w);
    expect(w, "a-9-8-7-6.example", 0, "9.8.7.6");
    expect(w, "none.example", 0, "no-name");
    expect(w, "fail.example", 0, "dns");
    expect(w, "silent.example", 0, "dns");
    expect(w, "empty.example", 0, "no-name");
    tear_down(w);
}

static void new_answers_are_told(void)
{
    World *w = set_up("", 1000);
    expect(w, "none.example", 0, "no-name");
    expect(w, "two-9-8-7-6.example", 0, "9.8.7.6");
    expect(w, "t-9-8-7-6.example", 0, "9.8.7.6");
    expect(w, "t-9-8-7-6.example", 0, "9.8.7.6");  /* asked again, but nothing new */
    expect(w, "a-10-0-0-1.example", 0, "private"); /* not used, but heard */
    CU_ASSERT_EQUAL(atomic_load(&w->server.questions), 5);
    /* Told before the visit state came back, so it may be read here. */
    CU_ASSERT_STRING_EQUAL(buffer_string(&w->heard), "two-9-8-7-6.example:\n"
                                                     "two-9-8-7-6.example.\t60\tIN\tA\t9.8.7.6\n"
                                                     "two-9-8-7-6.example.\t60\tIN\tA\t9.8.7.7\n"
                                                     "t-9-8-7-6.example:\n"
                                                     "t-9-8-7-6.example.\t0\tIN\tA\t9.8.7.6\n"
                                                     "a-10-0-0-1.example:\n"
                                                     "a-10-0-0-1.example.\t60\tIN\tA\t10.0.0.1\n");
    tear_down(w);
}

static void an_answer_as_text_has_its_aliases(void)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(0x09080706)}};
    struct ares_addrinfo_node nodes[] = {
        {.ai_ttl = 60, .ai_addr = (struct sockaddr *)&v6, .ai_next = &nodes[1]},
        {.ai_ttl = 30, .ai_addr = (struct sockaddr *)&v4}};
    struct ares_addrinfo_cname aliases[] = {
        {.ttl = 300, .alias = (char[]){"www.x.org"}, .name = (char[]){"x.org."}}};
    struct ares_addrinfo answer = {.cnames = aliases, .nodes = nodes};
    Buffer text;
    buffer_init(&text, 1000);
    CU_ASSERT_EQUAL(inet_pton(AF_INET6, "2a00::1", &v6.sin6_addr), 1);
    CU_ASSERT_EQUAL(
        dns_record_format(&text, "www.x.org", &answer, (WallTime){INT64_C(1769860800123456)}),
        RESULT_OK);
    CU_ASSERT_STRING_EQUAL(text.data, "20260131120000\n"
                                      "www.x.org.\t300\tIN\tCNAME\tx.org.\n"
                                      "x.org.\t60\tIN\tAAAA\t2a00::1\n"
                                      "x.org.\t30\tIN\tA\t9.8.7.6\n");
    buffer_destroy(&text);
    uint64_t before = dns_record_fingerprint(&answer);
    nodes[0].ai_ttl = 1;
    nodes[0].ai_next = NULL;
    nodes[1].ai_next = &nodes[0];
    answer.nodes = &nodes[1];
    CU_ASSERT_EQUAL(dns_record_fingerprint(&answer), before);
    v4.sin_addr.s_addr++;
    CU_ASSERT_NOT_EQUAL(dns_record_fingerprint(&answer), before);
}

static void special_addresses_are_no_answer_unless_allowed(void)
{
    World *w = set_up("127.0.0.5", 1000);
    expect(w, "a-10-0-0-1.example", 0, "private");
    expect(w, "a-127-0-0-1.example", 0, "private");
    expect(w, "a-127-0-0-5.example", 0, "127.0.0.5");
    expect(w, "two-127-0-0-5.example", 1, "127.0.0.5"); /* .6 is not allowed */
    expect(w, "127.0.0.1", 0, "private");
    expect(w, "127.0.0.5", 0, "127.0.0.5");
    expect(w, "[::1]", 0, "private");
    expect(w, "[2a00::1]", 0, "2a00::1");
    CU_ASSERT_EQUAL(atomic_load(&w->server.questions), 4); /* none for literals */
    tear_down(w);
}

static void answers_are_kept_for_their_time(void)
{
    World *w = set_up("", 1000);
    ResolverStats stats;
    for (int i = 0; i < 5; i++) {
        expect(w, "a-9-8-7-6.example", 0, "9.8.7.6");
        expect(w, "none.example", 0, "no-name");
    }
    CU_ASSERT_EQUAL(atomic_load(&w->server.questions), 2);
    for (int i = 0; i < 3; i++) {
        expect(w, "t-9-8-7-6.example", 0, "9.8.7.6"); /* a TTL of zero */
    }
    CU_ASSERT_EQUAL(atomic_load(&w->server.questions), 5);
    resolver_stats(w->resolver, &stats);
    CU_ASSERT_EQUAL(stats.hits, 8);
    CU_ASSERT_EQUAL(stats.queries, 5);
    tear_down(w);
}

static void after_failures_the_next_address_has_its_turn(void)
{
    World *w = set_up("", 1000);
    expect(w, "two-9-8-7-6.example", 0, "9.8.7.6");
    expect(w, "two-9-8-7-6.example", 1, "9.8.7.7");
    expect(w, "two-9-8-7-6.example", 2, "9.8.7.6");
    tear_down(w);
}

static void many_names_at_once_are_all_answered_and_the_cache_is_bounded(void)
{
    World *w = set_up("", 100);
    ResolverStats stats;
    for (unsigned i = 0; i < 3000; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "a-9-8-%u-%u.example", i / 2 / 250, i / 2 % 250);
        ask(w, name, 0); /* each twice: asked for once while it is in flight */
    }
    for (unsigned i = 0; i < 3000; i++) {
        VisitState *visit_state = answer(w);
        unsigned c = 0;
        unsigned d = 0;
        char expected[32];
        char text[IP_ADDRESS_TEXT_BYTES];
        CU_ASSERT_EQUAL(sscanf(visit_state->identity.hostname, "a-9-8-%u-%u.", &c, &d), 2);
        (void)snprintf(expected, sizeof expected, "9.8.%u.%u", c, d);
        CU_ASSERT_EQUAL(visit_state->address.class, FETCH_OK);
        CU_ASSERT_STRING_EQUAL(ip_address_format(&visit_state->address.ip, text), expected);
        visit_state_delete(visit_state);
    }
    /* The figures are published between events. A name that does not exist is excused once. */
    expect(w, "none.example", 0, "local");
    resolver_stats(w->resolver, &stats);
    CU_ASSERT_TRUE(stats.cached <= 100);
    CU_ASSERT_TRUE(stats.queries <= 1600);
    tear_down(w);
}

static void names_that_need_no_query_do_not_pile_up_on_the_stack(void)
{
    World *w = set_up("", 1000);
    unsigned n = 60000;
    hurry(w);
    ask(w, "silent.example", 0);
    for (unsigned i = 0; i < n; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "h%u.onion", i); /* c-ares refuses them at once */
        ask(w, name, 0);
    }
    for (unsigned i = 0; i < n + 1; i++) {
        VisitState *visit_state = answer(w);
        CU_ASSERT_NOT_EQUAL(visit_state->address.class, FETCH_OK);
        visit_state_delete(visit_state);
    }
    tear_down(w);
}

static size_t in_flight(World *w)
{
    ResolverStats stats;
    resolver_stats(w->resolver, &stats);
    return stats.in_flight;
}

/* Names wait for a server that says nothing. Then the operator names another one. */
static void other_name_servers_get_the_questions_of_the_old_ones(void)
{
    World *w = set_up("", 1000);
    char silent[32];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, size), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(silent, sizeof silent, "127.0.0.1:%u", ntohs(address.sin_port));
    ResolverOptions options = w->options;
    options.servers = silent;
    options.timeout_ms = 3600000;
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &options), RESULT_OK);
    memset(silent, 'x', 3); /* the text is not needed any more */
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "a-9-8-7-%u.example", i + 1);
        ask(w, name, 0);
    }
    UNTIL(in_flight(w) > 0);
    options.servers = "nonsense";
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &options), RESULT_INVALID);
    w->options.cache_entries = 10;
    w->options.queries = 7;
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &w->options), RESULT_OK);
    for (unsigned i = 0; i < 100; i++) {
        VisitState *visit_state = answer(w);
        CU_ASSERT_EQUAL(visit_state->address.class, FETCH_OK);
        visit_state_delete(visit_state);
    }
    ResolverStats stats;
    resolver_stats(w->resolver, &stats);
    CU_ASSERT_TRUE(stats.cached <= 10);
    CU_ASSERT_EQUAL(close(fd), 0);
    tear_down(w);
}

/* The old servers have no address of either family, and are asked once more for the preferred one
 * alone, when others take over. These know the other family. */
static void other_name_servers_are_asked_for_both_families(void)
{
    World *w = set_up("", 1000);
    NameServer newer;
    char servers[32];
    atomic_store(&w->server.is_old, true);
    w->options.timeout_ms = 3600000;
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &w->options), RESULT_OK);
    ask(w, "six.example", 0);
    UNTIL(atomic_load(&w->server.questions) > 1);
    server_start(&newer);
    (void)snprintf(servers, sizeof servers, "127.0.0.1:%u", newer.port);
    w->options.servers = servers;
    CU_ASSERT_EQUAL(resolver_change(w->resolver, &w->options), RESULT_OK);
    VisitState *visit_state = answer(w);
    CU_ASSERT_EQUAL(visit_state->address.class, FETCH_OK);
    CU_ASSERT_TRUE(visit_state->address.ip.v6);
    visit_state_delete(visit_state);
    tear_down(w);
    server_stop(&newer);
}

static void stopping_answers_everybody(void)
{
    World *w = set_up("", 1000);
    for (unsigned i = 0; i < 500; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "silent%u.example", i);
        ask(w, name, 0);
    }
    resolver_stop(w->resolver);
    ask(w, "a-9-8-7-6.example", 0); /* too late */
    for (unsigned i = 0; i < 501; i++) {
        VisitState *visit_state = answer(w);
        CU_ASSERT_EQUAL(visit_state->address.class, FETCH_LOCAL);
        visit_state_delete(visit_state);
    }
    tear_down(w);
}

UNIT_MAIN("resolver", {"names become addresses or reasons", names_become_addresses_or_reasons},
          {"new answers are told", new_answers_are_told},
          {"an answer as text has its aliases", an_answer_as_text_has_its_aliases},
          {"special addresses are no answer unless allowed",
           special_addresses_are_no_answer_unless_allowed},
          {"answers are kept for their time", answers_are_kept_for_their_time},
          {"after failures the next address has its turn",
           after_failures_the_next_address_has_its_turn},
          {"many names at once are all answered, and the cache is bounded",
           many_names_at_once_are_all_answered_and_the_cache_is_bounded},
          {"names that need no query do not pile up on the stack",
           names_that_need_no_query_do_not_pile_up_on_the_stack},
          {"other name servers get the questions of the old ones",
           other_name_servers_get_the_questions_of_the_old_ones},
          {"other name servers are asked for both families",
           other_name_servers_are_asked_for_both_families},
          {"stopping answers everybody", stopping_answers_everybody})
