/* Name servers: whom to ask for a name, and whom to ask next.
 *
 * What: each name server has a c-ares channel of its own. A question goes to the server that
 * answers. When that one is silent or refuses, the next one gets the question, round and round,
 * until dns.tries are used up for each. A server that is silent is not asked first again, but one
 * question every NAME_SERVERS_PROBE_MS is put to it, to see whether it has come back. So with one
 * dead server of two only the questions of the first dns.timeout wait for it.
 *
 * Owns: the channels and the questions in flight.
 * Threads: the resolver's. Sockets are in the caller's epoll with their descriptor as data.
 * Errors: a question that nobody answers has the status of the last server. */
#pragma once

#include <ares.h>

#include "base/thread/mutex.h"
#include "fetch/dns/resolver_types.h"

#define NAME_SERVERS_MOST     8u
#define NAME_SERVERS_PROBE_MS 10000

typedef struct NameServers NameServers;

/* As ares_addrinfo_callback, but that timeouts counts only what got lost on the way to a server
 * that answers: a dead server says nothing about the network. The answer is the callee's. */
typedef void (*NameAnswered)(void *context, int status, int timeouts, struct ares_addrinfo *answer);

/* RESULT_INVALID: options->servers cannot be parsed. RESULT_MEMORY, RESULT_IO. */
Result name_servers_new(NameServers **servers, const ResolverOptions *options, int epoll);
/* answered is called at some time, perhaps at once. family: AF_UNSPEC for both. */
void name_servers_ask(NameServers *servers, const char *hostname, int family, NameAnswered answered,
                      void *context);
/* Something happened to a descriptor; to none (both false): time has passed. */
void name_servers_event(NameServers *servers, int fd, bool readable, bool writable);
/* How long nothing has to be done, in ms; -1: no question is in flight. */
int name_servers_wait_ms(NameServers *servers);
/* Ends all questions with ARES_ECANCELLED or ARES_EDESTRUCTION. */
void name_servers_cancel(NameServers *servers);
void name_servers_delete(NameServers *servers);

/* Name change: other options for the resolver, on their way to its thread.
 *
 * What: the latest change counts; name servers that never got there are deleted.
 * Owns: name servers that wait.
 * Threads: put, main; take, the resolver's.
 * Errors: as said. */

typedef struct NameChange {
    Mutex mutex; /* RANK_TABLE; guards what is below */
    bool is_there;
    ResolverOptions options;
    NameServers *servers; /* owned; NULL: they stay as they are */
    char *list;           /* options.servers of the last change, owned */
} NameChange;

/* options: those that the resolver begins with. RESULT_MEMORY. */
Result name_change_init(NameChange *change, const ResolverOptions *options);
void name_change_destroy(NameChange *change);
/* Makes other name servers, if options are about them. Errors as those of name_servers_new; nothing
 * changes then. */
Result name_change_put(NameChange *change, const ResolverOptions *options, int epoll);
/* False: nothing has changed. *servers is the caller's, or NULL. */
bool name_change_take(NameChange *change, ResolverOptions *options, NameServers **servers);
