/* Transport setup: options of a connection to a NATS server, as libnats wants them.
 *
 * What: where the server is, who we are, by which certificates both are checked, and how long a
 * silent server is waited for. The callbacks are transport_nats.h's.
 * Threads: one.
 * Errors: as transport_nats_open. */
#ifndef CLUSTER_TRANSPORT_TRANSPORT_SETUP_H
#define CLUSTER_TRANSPORT_TRANSPORT_SETUP_H

#include "cluster/transport/transport_library.h"
#include "cluster/transport/transport_nats.h"

/* *setup is to be destroyed (natsOptions_Destroy) in any case. */
Result transport_setup(const NatsLibrary *library, natsOptions **setup,
                       const TransportNatsOptions *options, Buffer *error);
/* Says what libnats did not like; what: which option. */
Result transport_complain(const NatsLibrary *library, natsStatus status, const char *what,
                          Buffer *error);

#endif
