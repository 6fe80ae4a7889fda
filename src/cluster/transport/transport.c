#include "cluster/transport/transport.h"

#include <stdlib.h>
#include <string.h>

static char *transport_copy_of(const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy != NULL) {
        if (length > 0) {
            memcpy(copy, bytes, length);
        }
        copy[length] = '\0';
    }
    return copy;
}

TransportEvent *transport_event_new(TransportEventKind kind, uint64_t token, const char *subject,
                                    const char *reply_to, const void *bytes, size_t length)
{
    TransportEvent *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return NULL;
    }
    event->kind = kind;
    event->token = token;
    event->subject = subject == NULL ? NULL : transport_copy_of(subject, strlen(subject));
    event->reply_to = reply_to == NULL ? NULL : transport_copy_of(reply_to, strlen(reply_to));
    event->bytes = bytes == NULL ? NULL : transport_copy_of(bytes, length);
    event->length = length;
    if ((subject != NULL && event->subject == NULL) ||
        (reply_to != NULL && event->reply_to == NULL) || (bytes != NULL && event->bytes == NULL)) {
        transport_event_delete(event);
        return NULL;
    }
    return event;
}

void transport_event_delete(TransportEvent *event)
{
    if (event != NULL) {
        free(event->subject);
        free(event->reply_to);
        free(event->bytes);
        free(event->text);
        free(event);
    }
}
