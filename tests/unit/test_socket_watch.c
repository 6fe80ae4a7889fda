#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fetch/connect/socket_watch.h"
#include "unit.h"

typedef struct Pair {
    SocketWatch watch;
    int epoll;
    int ends[2]; /* the watched one, its peer */
} Pair;

static void connect_pair(Pair *pair)
{
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->ends), 0);
    socket_watch_opened(&pair->watch, pair->ends[0]);
}

static void start(Pair *pair)
{
    pair->epoll = epoll_create1(EPOLL_CLOEXEC);
    socket_watch_init(&pair->watch, pair->epoll);
    connect_pair(pair);
}

static void stop(Pair *pair)
{
    (void)close(pair->ends[0]);
    (void)close(pair->ends[1]);
    (void)close(pair->epoll);
    socket_watch_destroy(&pair->watch);
}

/* What epoll tells of the watched socket now; 0: nothing. */
static uint32_t told(const Pair *pair)
{
    struct epoll_event event;
    int n = epoll_wait(pair->epoll, &event, 1, 0);
    CU_ASSERT(n == 0 || event.data.fd == pair->ends[0]);
    return n == 1 ? event.events : 0;
}

static void say(const Pair *pair)
{
    CU_ASSERT_EQUAL(write(pair->ends[1], "x", 1), 1);
}

static void what_is_wanted_is_told(void)
{
    Pair pair;
    start(&pair);
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
    CU_ASSERT_EQUAL(told(&pair), 0);
    say(&pair);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
    CU_ASSERT_TRUE(socket_watch_wants(&pair.watch, pair.ends[0]));
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN | EPOLLOUT);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN | EPOLLOUT);
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLOUT);
    CU_ASSERT_EQUAL(told(&pair), EPOLLOUT);
    socket_watch_want(&pair.watch, pair.ends[0], 0); /* epoll would tell for ever */
    CU_ASSERT_EQUAL(told(&pair), 0);
    stop(&pair);
}

static void one_that_rests_is_told_of_once(void)
{
    Pair pair;
    start(&pair);
    for (int i = 0; i < 3; i++) {
        socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
        socket_watch_want(&pair.watch, pair.ends[0], 0);
        say(&pair);
        CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
        CU_ASSERT_FALSE(socket_watch_wants(&pair.watch, pair.ends[0]));
        CU_ASSERT_EQUAL(told(&pair), 0);
        socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
        CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
        CU_ASSERT_TRUE(socket_watch_wants(&pair.watch, pair.ends[0]));
    }
    stop(&pair);
}

static void a_new_socket_with_an_old_number_is_watched(void)
{
    Pair pair;
    start(&pair);
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
    socket_watch_want(&pair.watch, pair.ends[0], 0);
    int number = pair.ends[0];
    (void)close(pair.ends[0]);
    (void)close(pair.ends[1]);
    connect_pair(&pair);
    CU_ASSERT_EQUAL(pair.ends[0], number);
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
    say(&pair);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
    stop(&pair);
}

/* epoll_wait tells of many sockets at once: an earlier event may close a later event's socket, and
 * another thread may have its number by then. */
static void what_was_told_of_a_closed_socket_is_dropped(void)
{
    Pair pair;
    start(&pair);
    socket_watch_want(&pair.watch, pair.ends[0], EPOLLIN);
    socket_watch_want(&pair.watch, pair.ends[0], 0);
    say(&pair);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
    int number = pair.ends[0];
    socket_watch_closed(&pair.watch, number);
    (void)close(pair.ends[0]);
    (void)close(pair.ends[1]);
    int others[2]; /* the number is somebody else's, who has it in this epoll himself */
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others), 0);
    CU_ASSERT_EQUAL_FATAL(others[0], number);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = number}};
    CU_ASSERT_EQUAL(epoll_ctl(pair.epoll, EPOLL_CTL_ADD, number, &event), 0);
    CU_ASSERT_FALSE(socket_watch_wants(&pair.watch, number));
    pair.ends[0] = others[0];
    pair.ends[1] = others[1];
    say(&pair);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN); /* nobody has taken it out */
    stop(&pair);
}

static void numbers_may_be_large(void)
{
    Pair pair;
    start(&pair);
    int high = fcntl(pair.ends[0], F_DUPFD_CLOEXEC, 1000);
    CU_ASSERT_FATAL(high >= 1000);
    CU_ASSERT_TRUE(socket_watch_wants(&pair.watch, 1 << 20)); /* never heard of: let libcurl say */
    (void)close(pair.ends[0]);
    pair.ends[0] = high;
    socket_watch_opened(&pair.watch, high);
    socket_watch_want(&pair.watch, high, EPOLLIN);
    say(&pair);
    CU_ASSERT_EQUAL(told(&pair), EPOLLIN);
    stop(&pair);
}

UNIT_MAIN("socket_watch", {"what is wanted is told", what_is_wanted_is_told},
          {"one that rests is told of once", one_that_rests_is_told_of_once},
          {"a new socket with an old number is watched",
           a_new_socket_with_an_old_number_is_watched},
          {"what was told of a closed socket is dropped",
           what_was_told_of_a_closed_socket_is_dropped},
          {"numbers may be large", numbers_may_be_large})
