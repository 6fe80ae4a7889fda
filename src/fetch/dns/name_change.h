/* Name change: other options for the resolver, on their way to its thread.
 *
 * What: the latest change counts; name servers that never got there are deleted.
 * Owns: name servers that wait. Threads: put, main; take, the resolver's.
 * Errors: as said. */
#ifndef FETCH_DNS_NAME_CHANGE_H
#define FETCH_DNS_NAME_CHANGE_H

#include "base/thread/mutex.h"
#include "fetch/dns/name_servers.h"

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

#endif
