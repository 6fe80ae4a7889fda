#include "ingest/move/left_hosts.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS_FIRST 256u

void left_hosts_init(LeftHosts *left)
{
    *left = (LeftHosts){.n = 0};
    mutex_init(&left->mutex, RANK_TABLE);
}

void left_hosts_destroy(LeftHosts *left)
{
    free(left->hosts);
    mutex_destroy(&left->mutex);
}

void left_hosts_listen(LeftHosts *left, bool listens)
{
    mutex_lock(&left->mutex);
    left->listens = listens;
    left->n = 0;
    mutex_unlock(&left->mutex);
}

static bool left_hosts_make_room(LeftHosts *left)
{
    if (left->n < left->capacity) {
        return true;
    }
    size_t capacity = left->capacity == 0 ? HOSTS_FIRST : 2 * left->capacity;
    uint32_t *more = reallocarray(left->hosts, capacity, sizeof *more);
    if (more == NULL) {
        return false;
    }
    left->hosts = more;
    left->capacity = capacity;
    return true;
}

bool left_hosts_put(LeftHosts *left, uint32_t host)
{
    mutex_lock(&left->mutex);
    bool fits = left->listens && left_hosts_make_room(left);
    if (fits) {
        left->hosts[left->n++] = host;
    }
    mutex_unlock(&left->mutex);
    return fits;
}

size_t left_hosts_count(LeftHosts *left)
{
    mutex_lock(&left->mutex);
    size_t n = left->n;
    mutex_unlock(&left->mutex);
    return n;
}

uint32_t left_hosts_get(LeftHosts *left, size_t place)
{
    mutex_lock(&left->mutex);
    uint32_t host = left->hosts[place];
    mutex_unlock(&left->mutex);
    return host;
}

void left_hosts_drop(LeftHosts *left, size_t n)
{
    mutex_lock(&left->mutex);
    left->n -= n;
    if (n > 0) {
        memmove(left->hosts, left->hosts + n, left->n * sizeof *left->hosts);
    }
    mutex_unlock(&left->mutex);
}
