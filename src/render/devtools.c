#include "render/devtools.h"

#include <stdio.h>
#include <string.h>

#define DEVTOOLS_KEPT    ((size_t)1 << 20) /* memory that is kept from page to page */
#define DEVTOOLS_LOOK_MS 250               /* between two questions whether a call waits on */

/* ---- the pipe ---- */

void devtools_pipe_init(DevtoolsPipe *pipe)
{
    *pipe = (DevtoolsPipe){.ended = RESULT_OK};
    browser_init(&pipe->browser);
    mutex_init(&pipe->mutex, RANK_TABLE);
    condition_init(&pipe->came);
    buffer_init(&pipe->in, DEVTOOLS_MESSAGE_BYTES);
    buffer_init(&pipe->out, DEVTOOLS_MESSAGE_BYTES * BROWSER_TABS);
}

void devtools_pipe_destroy(DevtoolsPipe *pipe)
{
    browser_stop(&pipe->browser);
    condition_destroy(&pipe->came);
    mutex_destroy(&pipe->mutex);
    buffer_destroy(&pipe->in);
    buffer_destroy(&pipe->out);
}

void devtools_pipe_end(DevtoolsPipe *pipe)
{
    mutex_lock(&pipe->mutex);
    pipe->ended = pipe->ended == RESULT_OK ? RESULT_CLOSED : pipe->ended;
    browser_kill(&pipe->browser);
    condition_broadcast(&pipe->came);
    mutex_unlock(&pipe->mutex);
}

bool devtools_pipe_has_ended(DevtoolsPipe *pipe)
{
    mutex_lock(&pipe->mutex);
    bool has_ended = pipe->ended != RESULT_OK;
    mutex_unlock(&pipe->mutex);
    return has_ended;
}

/* Whose session a message is of; NULL: nobody's. That a session has ended is told beside it. */
static Devtools *pipe_of_session(const DevtoolsPipe *pipe, JsonValue message)
{
    JsonValue params;
    JsonValue session;
    if (!json_read_member(message, "sessionId", &session) &&
        (!json_read_member(message, "params", &params) ||
         !json_read_member(params, "sessionId", &session))) {
        return NULL;
    }
    for (size_t i = 0; i < BROWSER_TABS; i++) {
        Devtools *tab = pipe->tabs[i];
        if (tab != NULL && tab->session[0] != '\0' && json_read_is(session, tab->session)) {
            return tab;
        }
    }
    return NULL;
}

/* Puts a message, with its NUL byte, where it belongs. */
static void pipe_hand_out(DevtoolsPipe *pipe, const char *text, size_t length)
{
    JsonValue message;
    JsonValue number;
    if (json_read(text, length - 1, &message) != RESULT_OK || message.kind != JSON_OBJECT) {
        pipe->ended = RESULT_CLOSED; /* nonsense */
        return;
    }
    Devtools *tab = json_read_member(message, "id", &number)
                        ? pipe->tabs[(uint64_t)json_read_integer(number, 0) % BROWSER_TABS]
                        : pipe_of_session(pipe, message);
    if (tab != NULL && tab->lost == RESULT_OK) {
        tab->lost = buffer_append(&tab->queue, text, length);
    }
}

/* Takes what there is to read, and hands it out. */
static Result pipe_read(DevtoolsPipe *pipe)
{
    Buffer *in = &pipe->in;
    size_t looked = in->length;
    size_t taken = 0;
    Result rc = browser_read(&pipe->browser, in);
    const char *end = NULL;
    while (in->length > looked &&
           (end = memchr(in->data + looked, '\0', in->length - looked)) != NULL) {
        looked = (size_t)(end - in->data) + 1;
        pipe_hand_out(pipe, in->data + taken, looked - taken);
        taken = looked;
    }
    if (taken > 0) {
        memmove(in->data, in->data + taken, in->length - taken);
        in->length -= taken;
    }
    if (in->length == 0) {
        buffer_trim(in, DEVTOOLS_KEPT);
    }
    return rc;
}

/* Waits for the browser, for all. The mutex is let go meanwhile. */
static void pipe_exchange_locked(DevtoolsPipe *pipe, MonoTime deadline)
{
    bool writes = pipe->written < pipe->out.length;
    pipe->is_read = true;
    mutex_unlock(&pipe->mutex);
    Result rc = browser_wait(&pipe->browser, writes, deadline);
    mutex_lock(&pipe->mutex);
    pipe->is_read = false;
    if (rc == RESULT_OK) {
        rc = browser_write(&pipe->browser, &pipe->out, &pipe->written);
    }
    if (rc == RESULT_OK) {
        rc = pipe_read(pipe);
    }
    if (rc != RESULT_OK && rc != RESULT_TIMEOUT && pipe->ended == RESULT_OK) {
        pipe->ended = rc;
    }
    condition_broadcast(&pipe->came);
}

/* ---- a tab ---- */

void devtools_init(Devtools *devtools, unsigned tab)
{
    *devtools = (Devtools){.tab = tab, .number = tab};
    buffer_init(&devtools->queue, DEVTOOLS_MESSAGE_BYTES);
    buffer_init(&devtools->in, DEVTOOLS_MESSAGE_BYTES);
    buffer_init(&devtools->out, DEVTOOLS_MESSAGE_BYTES);
}

void devtools_destroy(Devtools *devtools)
{
    devtools_detach(devtools);
    buffer_destroy(&devtools->queue);
    buffer_destroy(&devtools->in);
    buffer_destroy(&devtools->out);
}

void devtools_attach(Devtools *devtools, DevtoolsPipe *pipe)
{
    devtools->pipe = pipe;
    mutex_lock(&pipe->mutex);
    pipe->tabs[devtools->tab] = devtools;
    mutex_unlock(&pipe->mutex);
}

void devtools_detach(Devtools *devtools)
{
    DevtoolsPipe *pipe = devtools->pipe;
    if (pipe != NULL) {
        mutex_lock(&pipe->mutex);
        pipe->tabs[devtools->tab] = NULL;
        mutex_unlock(&pipe->mutex);
    }
    devtools->pipe = NULL;
    devtools->lost = RESULT_OK;
    devtools->taken = 0;
    devtools->session[0] = '\0';
    buffer_reset(&devtools->queue);
    buffer_reset(&devtools->in);
    buffer_reset(&devtools->out);
}

void devtools_set_session(Devtools *devtools, const char *session)
{
    mutex_lock(&devtools->pipe->mutex);
    (void)snprintf(devtools->session, sizeof devtools->session, "%s", session);
    devtools->lost = RESULT_OK;
    mutex_unlock(&devtools->pipe->mutex);
}

/* ---- commands ---- */

JsonWriter *devtools_begin(Devtools *devtools, const char *method)
{
    JsonWriter *json = &devtools->json;
    devtools->number += BROWSER_TABS;
    json_init(json, &devtools->out);
    json_open(json, NULL, '{');
    json_integer(json, "id", devtools->number);
    json_string(json, "method", method);
    if (devtools->session[0] != '\0') {
        json_string(json, "sessionId", devtools->session);
    }
    json_open(json, "params", '{');
    return json;
}

Result devtools_send(Devtools *devtools)
{
    JsonWriter *json = &devtools->json;
    json_close(json);
    json_close(json);
    return json->result != RESULT_OK ? json->result : buffer_append_char(&devtools->out, '\0');
}

Result devtools_tell(Devtools *devtools, const char *method)
{
    (void)devtools_begin(devtools, method);
    return devtools_send(devtools);
}

/* What is queued goes behind what others have queued. Who waits for the browser is to write what
 * there is no room for yet. */
static Result devtools_flush_locked(Devtools *devtools)
{
    DevtoolsPipe *pipe = devtools->pipe;
    if (devtools->out.length == 0) {
        return RESULT_OK;
    }
    if (pipe->written == pipe->out.length) {
        buffer_reset(&pipe->out);
        buffer_trim(&pipe->out, DEVTOOLS_KEPT);
        pipe->written = 0;
    }
    Result rc = buffer_append(&pipe->out, devtools->out.data, devtools->out.length);
    buffer_reset(&devtools->out);
    buffer_trim(&devtools->out, DEVTOOLS_KEPT);
    if (rc == RESULT_OK) {
        rc = browser_write(&pipe->browser, &pipe->out, &pipe->written);
    }
    if (pipe->is_read && pipe->written < pipe->out.length) {
        browser_wake(&pipe->browser);
    }
    return rc;
}

/* ---- messages ---- */

/* Waits until messages are queued for the tab, and takes them. */
static Result devtools_fill(Devtools *devtools, MonoTime deadline)
{
    DevtoolsPipe *pipe = devtools->pipe;
    Buffer *queue = &devtools->queue;
    mutex_lock(&pipe->mutex);
    Result rc = pipe->ended == RESULT_OK ? devtools_flush_locked(devtools) : RESULT_OK;
    while (rc == RESULT_OK && queue->length == 0) {
        rc = pipe->ended != RESULT_OK ? pipe->ended : devtools->lost;
        if (rc == RESULT_OK && !mono_before(mono_now(), deadline)) {
            rc = RESULT_TIMEOUT;
        }
        if (rc != RESULT_OK) {
            break;
        }
        if (pipe->is_read) {
            (void)condition_wait_until(&pipe->came, &pipe->mutex, deadline);
        } else {
            pipe_exchange_locked(pipe, deadline);
        }
    }
    if (rc == RESULT_OK) {
        Buffer empty = devtools->in;
        devtools->in = *queue;
        *queue = empty;
        buffer_reset(queue);
        buffer_trim(queue, DEVTOOLS_KEPT);
        devtools->taken = 0;
    }
    mutex_unlock(&pipe->mutex);
    return rc;
}

Result devtools_next(Devtools *devtools, MonoTime deadline, JsonValue *message)
{
    if (devtools->pipe == NULL) {
        return RESULT_CLOSED;
    }
    if (devtools->taken == devtools->in.length) {
        Result rc = devtools_fill(devtools, deadline);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    const char *start = devtools->in.data + devtools->taken;
    size_t length = strlen(start);
    devtools->taken += length + 1;
    return json_read(start, length, message);
}

/* The next message, as long as whoever waits for it may: a page may neither spin meanwhile nor keep
 * it waiting with events. */
static Result devtools_next_watched(Devtools *devtools, MonoTime deadline, MonoTime *look,
                                    JsonValue *message)
{
    Result rc = RESULT_TIMEOUT;
    while (rc == RESULT_TIMEOUT && mono_before(mono_now(), deadline)) {
        if (!mono_before(mono_now(), *look)) {
            if (devtools->goes_on != NULL && !devtools->goes_on(devtools->context)) {
                return RESULT_TIMEOUT;
            }
            *look = mono_add_ms(mono_now(), DEVTOOLS_LOOK_MS);
        }
        rc = devtools_next(devtools, mono_earlier(deadline, *look), message);
    }
    return rc;
}

Result devtools_call(Devtools *devtools, MonoTime deadline, JsonValue *result)
{
    JsonValue message;
    JsonValue member;
    int64_t number = devtools->number;
    MonoTime look = mono_add_ms(mono_now(), DEVTOOLS_LOOK_MS);
    Result rc = devtools_send(devtools);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (;;) {
        rc = devtools_next_watched(devtools, deadline, &look, &message);
        if (rc != RESULT_OK) {
            return rc;
        }
        if (!json_read_member(message, "id", &member)) {
            devtools->listener(devtools->context, message);
        } else if (json_read_integer(member, -1) == number) {
            bool done = json_read_member(message, "result", &member);
            if (result != NULL) {
                *result = member;
            }
            return done ? RESULT_OK : RESULT_INVALID;
        }
    }
}

/* ---- what it takes ---- */

void devtools_find_tab(Devtools *devtools)
{
    mutex_lock(&devtools->pipe->mutex);
    browser_find_tab(&devtools->pipe->browser, devtools->tab);
    mutex_unlock(&devtools->pipe->mutex);
}

void devtools_end_tab(Devtools *devtools)
{
    mutex_lock(&devtools->pipe->mutex);
    browser_end_tab(&devtools->pipe->browser, devtools->tab);
    mutex_unlock(&devtools->pipe->mutex);
}

BrowserUse devtools_use(Devtools *devtools)
{
    mutex_lock(&devtools->pipe->mutex);
    BrowserUse use = browser_use(&devtools->pipe->browser, devtools->tab);
    mutex_unlock(&devtools->pipe->mutex);
    return use;
}

int64_t devtools_cpu_ms(Devtools *devtools)
{
    mutex_lock(&devtools->pipe->mutex);
    int64_t cpu_ms = browser_cpu_ms(&devtools->pipe->browser, devtools->tab);
    mutex_unlock(&devtools->pipe->mutex);
    return cpu_ms;
}

int64_t devtools_count(Devtools *devtools)
{
    mutex_lock(&devtools->pipe->mutex);
    int64_t spent = browser_count(&devtools->pipe->browser, devtools->tab);
    mutex_unlock(&devtools->pipe->mutex);
    return spent;
}
