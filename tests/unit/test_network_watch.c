#include "fetch/outage/network_watch.h"

#include <stdatomic.h>
#include <unistd.h>

#include "unit.h"
#include "until.h"

static atomic_uint n_changes;

static void changed(void *context)
{
    (void)context;
    atomic_fetch_add(&n_changes, 1);
}

/* Listens on a free port of 127.0.0.HOST. */
static int listen_on(unsigned host, IpAddress *address, uint16_t *port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(0x7F000000 + host)}};
    socklen_t length = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_TRUE(fd >= 0);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&place, sizeof place), 0);
    CU_ASSERT_EQUAL(listen(fd, 8), 0);
    CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)&place, &length), 0);
    *address = ip_address_v4(&place.sin_addr);
    *port = ntohs(place.sin_port);
    return fd;
}

static OutageState state_of(NetworkWatch *watch)
{
    return network_watch_report(watch).state;
}

static void nobody_answers_then_somebody_does(void)
{
    enum { HOSTS = 4 };
    NetworkWatch *watch = NULL;
    IpAddress address[HOSTS];
    uint16_t port[HOSTS];
    int fd[HOSTS];
    CU_ASSERT_EQUAL(network_watch_new(&watch, changed, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(network_watch_start(watch), RESULT_OK);
    MonoTime now = mono_now();
    for (unsigned i = 0; i < HOSTS; i++) {
        fd[i] = listen_on(i + 1, &address[i], &port[i]);
        CU_ASSERT_EQUAL(state_of(watch), OUTAGE_CLEAR);
        network_watch_answered(watch, &address[i], port[i], now);
    }
    /* A time-out, while the others can be reached: theirs. It is excused, since nobody knew. */
    MonoTime began = mono_add_ms(now, 1);
    MonoTime failed = mono_add_ms(now, 30000);
    CU_ASSERT_TRUE(network_watch_failed(watch, &address[0], true, began, failed));
    UNTIL(state_of(watch) == OUTAGE_CLEAR);
    CU_ASSERT_EQUAL(network_watch_report(watch).n_outages, 0);
    CU_ASSERT_EQUAL(atomic_load(&n_changes), 1);
    /* The same when nobody can be reached. */
    for (unsigned i = 0; i < HOSTS; i++) {
        (void)close(fd[i]);
    }
    began = mono_add_ms(mono_now(), 1);
    failed = mono_add_ms(began, 30000);
    CU_ASSERT_TRUE(network_watch_failed(watch, &address[1], true, began, failed));
    UNTIL(state_of(watch) == OUTAGE_OUT);
    CU_ASSERT_EQUAL(network_watch_report(watch).n_outages, 1);
    CU_ASSERT_TRUE(network_watch_failed(watch, &address[2], false, began, failed));
    UNTIL(atomic_load(&n_changes) == 2);
    network_watch_answered(watch, &address[3], port[3], mono_now());
    CU_ASSERT_EQUAL(state_of(watch), OUTAGE_CLEAR);
    UNTIL(atomic_load(&n_changes) == 3);
    CU_ASSERT_EQUAL(network_watch_report(watch).n_excused, 3);
    network_watch_stop(watch);
    network_watch_delete(watch);
}

static void two_addresses_are_no_canary(void)
{
    NetworkWatch *watch = NULL;
    IpAddress address[3];
    uint16_t port = 0;
    CU_ASSERT_EQUAL(network_watch_new(&watch, NULL, NULL), RESULT_OK);
    MonoTime now = mono_now();
    for (unsigned i = 0; i < 3; i++) {
        (void)close(listen_on(i + 1, &address[i], &port));
        network_watch_answered(watch, &address[i], port, now);
        network_watch_answered(watch, &address[i], port, now);
    }
    for (unsigned i = 0; i < 9; i++) {
        CU_ASSERT_FALSE(network_watch_failed(watch, &address[i % 3], true, mono_add_ms(now, 1),
                                             mono_add_ms(now, 30000)));
    }
    CU_ASSERT_EQUAL(state_of(watch), OUTAGE_CLEAR);
    network_watch_stop(watch);
    network_watch_delete(watch);
}

/* Neighbouring addresses, each excused once: they are told apart. */
static void many_neighbours_are_excused_once(void)
{
    NetworkWatch *watch = NULL;
    IpAddress address;
    unsigned excused = 0;
    CU_ASSERT_EQUAL(network_watch_new(&watch, NULL, NULL), RESULT_OK);
    MonoTime now = mono_now();
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            struct in_addr good = {htonl(0x7F010001 + (i % 8 << 8))};
            struct in_addr bad = {htonl(0x7FFA0001 + (i << 8))};
            address = ip_address_v4(&good);
            network_watch_answered(watch, &address, 80, now);
            address = ip_address_v4(&bad);
            excused += network_watch_failed(watch, &address, true, now, now);
            now = mono_add_ms(now, 1);
        }
    }
    /* In the first round and, since they are charged in the second, in the third. */
    CU_ASSERT_TRUE(excused >= 1600 && excused <= 2000);
    network_watch_stop(watch);
    network_watch_delete(watch);
}

UNIT_MAIN("network watch",
          {"nobody answers, then somebody does", nobody_answers_then_somebody_does},
          {"many neighbours are excused once", many_neighbours_are_excused_once},
          {"two addresses are no canary", two_addresses_are_no_canary})
