/* Listen address: where the status page listens (control.listen).
 *
 *   127.0.0.1:8088   localhost:8088   [::1]:8088   8088      loopback; port 0 = any that is free
 *   unix:/run/ragno/page.sock                                a Unix socket
 *
 * What: reads the option. Any other address is refused: the page knows no users, and speaks no TLS.
 * Threads: pure functions.
 * Errors: error gets what is wrong and what to do, without the option's name. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "parse/host/ip_address.h"

typedef struct ListenAddress {
    bool is_unix;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* of the Unix socket */
    IpAddress ip;
    uint16_t port;
} ListenAddress;

/* RESULT_INVALID. */
Result listen_address_parse(ListenAddress *address, const char *text, Buffer *error);
/* For bind(2); returns the length. */
socklen_t listen_address_socket(const ListenAddress *address, struct sockaddr_storage *out);
