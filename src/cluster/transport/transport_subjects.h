/* Transport subjects: what a connection to a NATS server listens to.
 *
 * What: a subscription for each subject. libnats delivers messages in a thread of its own, and
 * after the last one of a closed connection it says so for each subscription. Until then that
 * thread may call back, and what it gives to the library's collector of garbage after
 * nats_CloseAndWait has ended the collector stays allocated. Owns: the subscriptions. Threads:
 * added to and destroyed by one; libnats' threads tell of their ends. Errors: results of the call.
 * Source: natsSubscription_SetOnCompleteCB in nats/nats.h. */
#ifndef CLUSTER_TRANSPORT_TRANSPORT_SUBJECTS_H
#define CLUSTER_TRANSPORT_TRANSPORT_SUBJECTS_H

#include "base/thread/mutex.h"
#include "cluster/transport/transport.h"
#include "cluster/transport/transport_library.h"

#define SUBJECTS_MOST 10u

typedef struct TransportSubjects {
    const NatsLibrary *library;
    natsSubscription *listening[SUBJECTS_MOST];
    char names[SUBJECTS_MOST][TRANSPORT_SUBJECT_BYTES];
    size_t n;
    Mutex mutex; /* RANK_TABLE; guards open */
    Condition changed;
    size_t open; /* subscriptions that may still call back */
} TransportSubjects;

void transport_subjects_init(TransportSubjects *subjects, const NatsLibrary *library);
/* Not before nats_library_close. */
void transport_subjects_destroy(TransportSubjects *subjects);
/* Once for each subject: a second call has no effect. RESULT_LIMIT: there are SUBJECTS_MOST, or the
 * name is too long. Otherwise what libnats says. */
Result transport_subjects_add(TransportSubjects *subjects, natsConnection *connection,
                              const char *name, natsMsgHandler take, void *context);
/* Of a closed connection: ends all when nothing calls back any more, or it is that late. */
void transport_subjects_end(TransportSubjects *subjects, MonoTime until);

/* RESULT_LIMIT: a message is too long for the server. RESULT_MEMORY. RESULT_CLOSED otherwise. */
Result transport_result(natsStatus status);

#endif
