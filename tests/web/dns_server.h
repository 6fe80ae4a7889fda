/* The name server of the synthetic web: A records over UDP and TCP on 127.0.0.1.
 *
 * Answers for the names of names.h: A as there, AAAA and other types empty, NXDOMAIN for unknown
 * names, Hosts dns-* misbehave as
 * misbehaviour.c says. Runs in one event loop's thread. Source: RFC 1035. */
#ifndef TESTS_WEB_DNS_SERVER_H
#define TESTS_WEB_DNS_SERVER_H

#include "event_loop.h"
#include "names.h"

typedef struct DnsServer DnsServer;

/* Binds port (0: any free one, the same for UDP and TCP) and starts answering within loop.
 * RESULT_IO after a message on stderr. names and loop stay with the caller and outlive it. */
Result dns_server_new(DnsServer **server, EventLoop *loop, const Names *names, unsigned port);
void dns_server_delete(DnsServer *server);

unsigned dns_server_port(const DnsServer *server);
uint64_t dns_server_queries(const DnsServer *server);

#endif
