/* Left hosts: hosts that the distributor has let go, on their way to the chore that waits for them.
 *
 *   distributor --left_hosts_put--> [hosts] --left_hosts_get--> moves_chore.h --left_hosts_drop-->
 *
 * What: a list that grows with the hosts that move. While nobody listens, what is put is dropped.
 * Owns: the list.
 * Threads: any thread may put; one reads and drops. Without memory a host is lost, and the reader
 * asks for it again. */
#ifndef INGEST_MOVE_LEFT_HOSTS_H
#define INGEST_MOVE_LEFT_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread/mutex.h"

typedef struct LeftHosts {
    Mutex mutex; /* RANK_TABLE; guards what follows */
    bool listens;
    uint32_t *hosts; /* owned */
    size_t n;
    size_t capacity;
} LeftHosts;

void left_hosts_init(LeftHosts *left);
void left_hosts_destroy(LeftHosts *left);
/* Begins or ends to listen; the list is empty then. */
void left_hosts_listen(LeftHosts *left, bool listens);
/* False: it was dropped. */
bool left_hosts_put(LeftHosts *left, uint32_t host);
size_t left_hosts_count(LeftHosts *left);
uint32_t left_hosts_get(LeftHosts *left, size_t place);
/* The first n have been dealt with. */
void left_hosts_drop(LeftHosts *left, size_t n);

#endif
