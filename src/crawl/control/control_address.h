/* Control address: where the socket of a crawl is.
 *
 * What: DIR/control. A socket's address has room for some hundred bytes only, and DIR may be
 * longer: then the socket is named through a descriptor of DIR (/proc/self/fd/N/control).
 * Owns: an open address owns that descriptor until it is closed.
 * Threads: any. */
#ifndef CRAWL_CONTROL_CONTROL_ADDRESS_H
#define CRAWL_CONTROL_CONTROL_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/core/result.h"

#define CONTROL_NAME "control" /* in the crawl's directory */

typedef struct ControlAddress {
    struct sockaddr_un name;
    int directory; /* descriptor, or -1 */
} ControlAddress;

/* RESULT_NOT_FOUND and the like: the directory cannot be opened; there is nothing to close. */
Result control_address_open(ControlAddress *address, const char *directory);
void control_address_close(ControlAddress *address);

#endif
