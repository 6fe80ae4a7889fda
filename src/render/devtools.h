/* DevTools: commands to a browser, their answers, and its events.
 *
 *   devtools_send ... --> devtools_next --> an event, or the answer to a command
 *   devtools_call: sends one, hands all events to the listener, returns with its answer
 *
 * What: messages are JSON and end with a NUL byte. Commands carry numbers that rise, answers the
 * number of their command.
 * Owns: its buffers; the browser is the caller's. A message is borrowed until the next one is read.
 * Threads: one.
 * Invariants: a message is never longer than DEVTOOLS_MESSAGE_BYTES, in either direction.
 * Errors: RESULT_TIMEOUT; RESULT_CLOSED (the browser has ended); RESULT_LIMIT
 * (a message is too long); RESULT_INVALID (nonsense, or the answer to a command is an error); after
 * any but RESULT_TIMEOUT and RESULT_INVALID of devtools_call stop the browser.
 * Source: the Chrome DevTools protocol, 1.3. */
#ifndef RENDER_DEVTOOLS_H
#define RENDER_DEVTOOLS_H

#include "base/memory/json_writer.h"
#include "render/browser.h"
#include "render/json_reader.h"

#define DEVTOOLS_MESSAGE_BYTES ((size_t)96 << 20)
#define DEVTOOLS_SESSION_BYTES 80

typedef struct Devtools {
    Browser *browser; /* borrowed */
    Buffer in;
    size_t taken; /* bytes of it that were handed out as messages */
    Buffer out;
    size_t written;
    JsonWriter json;                      /* of the command that is written */
    int64_t number;                       /* of the command that was sent last */
    char session[DEVTOOLS_SESSION_BYTES]; /* commands go to this page; "": to the browser itself */
    void (*listener)(void *context, JsonValue event);
    void *context;
} Devtools;

void devtools_init(Devtools *devtools, Browser *browser);
void devtools_destroy(Devtools *devtools);
/* Forgets all of an ended browser, for the next one. */
void devtools_reset(Devtools *devtools);

/* Begins a command; its parameters are written to the returned writer, in an object that is open.
 */
JsonWriter *devtools_begin(Devtools *devtools, const char *method);
/* Ends the command that was begun, and queues it. */
Result devtools_send(Devtools *devtools);
/* A command without parameters. */
Result devtools_tell(Devtools *devtools, const char *method);
/* Ends the command that was begun, sends it, and waits for its answer. RESULT_INVALID: the browser
 * refuses it. result may be NULL. */
Result devtools_call(Devtools *devtools, MonoTime deadline, JsonValue *result);
/* Waits for the next message: an event or an answer. What is queued is written meanwhile. */
Result devtools_next(Devtools *devtools, MonoTime deadline, JsonValue *message);

#endif
