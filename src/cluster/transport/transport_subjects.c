#include "cluster/transport/transport_subjects.h"

#include <stdio.h>
#include <string.h>

Result transport_result(natsStatus status)
{
    return status == NATS_OK            ? RESULT_OK
           : status == NATS_MAX_PAYLOAD ? RESULT_LIMIT
           : status == NATS_NO_MEMORY   ? RESULT_MEMORY
                                        : RESULT_CLOSED;
}

void transport_subjects_init(TransportSubjects *subjects, const NatsLibrary *library)
{
    *subjects = (TransportSubjects){.library = library};
    mutex_init(&subjects->mutex, RANK_TABLE);
    condition_init(&subjects->changed);
}

void transport_subjects_destroy(TransportSubjects *subjects)
{
    condition_destroy(&subjects->changed);
    mutex_destroy(&subjects->mutex);
}

static void count_open(TransportSubjects *subjects, size_t more, size_t fewer)
{
    mutex_lock(&subjects->mutex);
    subjects->open += more;
    subjects->open -= fewer;
    condition_broadcast(&subjects->changed);
    mutex_unlock(&subjects->mutex);
}

static void on_complete(void *context)
{
    count_open(context, 0, 1);
}

Result transport_subjects_add(TransportSubjects *subjects, natsConnection *connection,
                              const char *name, natsMsgHandler take, void *context)
{
    const NatsLibrary *library = subjects->library;
    for (size_t i = 0; i < subjects->n; i++) {
        if (strcmp(subjects->names[i], name) == 0) {
            return RESULT_OK;
        }
    }
    if (subjects->n == SUBJECTS_MOST || strlen(name) >= TRANSPORT_SUBJECT_BYTES) {
        return RESULT_LIMIT;
    }
    natsSubscription **place = &subjects->listening[subjects->n];
    Result rc =
        transport_result(library->natsConnection_Subscribe(place, connection, name, take, context));
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)snprintf(subjects->names[subjects->n++], TRANSPORT_SUBJECT_BYTES, "%s", name);
    count_open(subjects, 1, 0);
    if (library->natsSubscription_SetOnCompleteCB(*place, on_complete, subjects) != NATS_OK) {
        count_open(subjects, 0, 1); /* it is closed already */
    }
    return RESULT_OK;
}

void transport_subjects_end(TransportSubjects *subjects, MonoTime until)
{
    mutex_lock(&subjects->mutex);
    while (subjects->open > 0 &&
           condition_wait_until(&subjects->changed, &subjects->mutex, until)) {
    }
    mutex_unlock(&subjects->mutex);
    for (size_t i = 0; i < subjects->n; i++) {
        subjects->library->natsSubscription_Destroy(subjects->listening[i]);
    }
    subjects->n = 0;
}
