/* DevTools: commands to a browser, their answers, and its events.
 *
 *   devtools_send ... --> devtools_next --> an event, or the answer to a command
 *   devtools_call: sends one, hands all events to the listener, returns with its answer
 *
 *   Devtools of tab 0 --.                                    .--> queue of tab 0
 *   Devtools of tab 1 --+--> DevtoolsPipe --> the browser ---+--> queue of tab 1
 *
 * What: messages are JSON and end with a NUL byte. Commands carry numbers that rise and tell the
 * tab, answers the number of their command, events the session of their tab. All tabs of a browser
 * share its pipe: one of those that wait reads it for all, and puts each message where it belongs.
 * Owns: the pipe its browser; a Devtools its buffers. A message is borrowed until the next one is
 * read.
 * Threads: a Devtools has one; those of a pipe run side by side.
 * Invariants: a message is never longer than DEVTOOLS_MESSAGE_BYTES, in either direction; no more
 * wait for a tab; what a tab does not read keeps no other tab from reading.
 * Errors: RESULT_TIMEOUT (or goes_on said no); RESULT_CLOSED (the browser has ended, or talks
 * nonsense) and what else devtools_pipe_has_ended knows of, for all tabs; RESULT_LIMIT (too much
 * for this tab); RESULT_INVALID (the answer to a command is an error).
 * Source: the Chrome DevTools protocol, 1.3. */
#pragma once

#include "base/memory/json_writer.h"
#include "base/thread/mutex.h"
#include "render/browser.h"
#include "render/json_reader.h"

#define DEVTOOLS_MESSAGE_BYTES ((size_t)96 << 20)
#define DEVTOOLS_SESSION_BYTES 80

typedef struct DevtoolsPipe {
    Browser browser;
    Mutex mutex; /* guards what follows, the queues of its tabs, and all of browser but its wait */
    Condition came;
    struct Devtools *tabs[BROWSER_TABS];
    Buffer in; /* not handed out yet */
    Buffer out;
    size_t written;
    bool is_read; /* somebody waits for the browser */
    Result ended; /* why no message comes any more; RESULT_OK: they do */
} DevtoolsPipe;

typedef struct Devtools {
    DevtoolsPipe *pipe; /* borrowed; NULL: none */
    unsigned tab;       /* below BROWSER_TABS; no other Devtools of its pipe has it */
    Buffer queue;       /* the pipe's, as the next */
    Result lost;        /* why messages for it were lost */
    Buffer in;
    size_t taken; /* bytes of it that were handed out as messages */
    Buffer out;
    JsonWriter json;                      /* of the command that is written */
    int64_t number;                       /* of the command that was sent last */
    char session[DEVTOOLS_SESSION_BYTES]; /* commands go to this page; "": to the browser itself */
    void (*listener)(void *context, JsonValue event);
    /* Asked now and then while a call waits; false: it waits no more. NULL: it waits on. */
    bool (*goes_on)(void *context);
    void *context;
} Devtools;

void devtools_pipe_init(DevtoolsPipe *pipe);
/* No Devtools has it any more. Ends the browser. */
void devtools_pipe_destroy(DevtoolsPipe *pipe);
/* Ends the browser: all tabs see RESULT_CLOSED. */
void devtools_pipe_end(DevtoolsPipe *pipe);
bool devtools_pipe_has_ended(DevtoolsPipe *pipe);

void devtools_init(Devtools *devtools, unsigned tab);
void devtools_destroy(Devtools *devtools);
void devtools_attach(Devtools *devtools, DevtoolsPipe *pipe);
/* Forgets all of its pipe, for the next one. */
void devtools_detach(Devtools *devtools);
/* From now on commands go to a page, whose events come here. */
void devtools_set_session(Devtools *devtools, const char *session);

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

/* The tab's process, what it takes, and counting it: browser_find_tab, browser_end_tab,
 * browser_use, browser_cpu_ms, browser_count. */
void devtools_find_tab(Devtools *devtools);
void devtools_end_tab(Devtools *devtools);
BrowserUse devtools_use(Devtools *devtools);
int64_t devtools_cpu_ms(Devtools *devtools);
int64_t devtools_count(Devtools *devtools);
