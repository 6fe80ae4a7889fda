/* Connect key: which kept connection a request may use, and where a new one goes.
 *
 * What: libcurl keeps idle connections in one list per host and port it connects to, and asks each
 * of a list whether it is still alive before it takes one. With the address as that host, thousands
 * of hosts on one address share a list, and every request looks at all of them. So libcurl is given
 * a name of our own for each pair of host and address, an IPv6 literal out of fc00::/8, which needs
 * no look-up, and the socket's real address is put in when it is opened (CURLOPT_OPENSOCKETFUNCTION
 * may change it):
 *
 *   fc00:0000 : host id (32 bits) : the address, IPv4 or 64 bits of a hash of IPv6
 *
 * Owns: nothing; pure functions.
 * Threads: any.
 * Invariants: two requests have one key only if host, address and port are the same; so a
 * connection is never used for a host that has moved to another address. */
#pragma once

#include <curl/curl.h>

#include "parse/host/ip_address.h"

#define CONNECT_KEY_BYTES 64

/* Writes "::[fc00:...]:PORT", an item of CURLOPT_CONNECT_TO: whatever host and port the URL names.
 */
void connect_key_format(uint32_t host, const IpAddress *address, uint16_t port,
                        char text[CONNECT_KEY_BYTES]);
/* Writes "::ADDRESS:PORT": the place itself, for a proxy that is to be told it. */
void connect_key_plain(const IpAddress *address, uint16_t port, char text[CONNECT_KEY_BYTES]);
/* Replaces the key, which libcurl has taken for an address, by the address; the port stays. */
void connect_key_resolve(const IpAddress *address, struct curl_sockaddr *socket_address);
