#include "fetch/dns/name_change.h"

#include <stdlib.h>
#include <string.h>

Result name_change_init(NameChange *change, const ResolverOptions *options)
{
    *change = (NameChange){.options = *options, .list = strdup(options->servers)};
    mutex_init(&change->mutex, RANK_TABLE);
    return change->list == NULL ? RESULT_MEMORY : RESULT_OK;
}

void name_change_destroy(NameChange *change)
{
    name_servers_delete(change->servers);
    free(change->list);
    mutex_destroy(&change->mutex);
}

static bool are_others(const NameChange *change, const ResolverOptions *options)
{
    return options->timeout_ms != change->options.timeout_ms ||
           options->tries != change->options.tries || strcmp(options->servers, change->list) != 0;
}

Result name_change_put(NameChange *change, const ResolverOptions *options, int epoll)
{
    NameServers *servers = NULL;
    NameServers *unused = NULL;
    char *list = strdup(options->servers);
    Result rc = list == NULL                  ? RESULT_MEMORY
                : are_others(change, options) ? name_servers_new(&servers, options, epoll)
                                              : RESULT_OK;
    if (rc != RESULT_OK) {
        free(list);
        return rc;
    }
    free(change->list);
    change->list = list;
    mutex_lock(&change->mutex);
    change->is_there = true;
    change->options = *options;
    change->options.servers = ""; /* they are made, and the text may go */
    if (servers != NULL) {
        unused = change->servers;
        change->servers = servers;
    }
    mutex_unlock(&change->mutex);
    name_servers_delete(unused);
    return RESULT_OK;
}

bool name_change_take(NameChange *change, ResolverOptions *options, NameServers **servers)
{
    mutex_lock(&change->mutex);
    bool is_there = change->is_there;
    if (is_there) {
        *options = change->options;
        *servers = change->servers;
        change->servers = NULL;
        change->is_there = false;
    }
    mutex_unlock(&change->mutex);
    return is_there;
}
