#include "base/core/error.h"

#include <stdlib.h>
#include <string.h>

static const char no_error[] = "NO ERROR";

static void error_lock(Error *error)
{
    (void)pthread_mutex_lock(&error->mtx);
}

static void unlock(Error *error)
{
    (void)pthread_mutex_unlock(&error->mtx);
}

/* Copies as much of text as fits behind the first `at` bytes of the message. */
static void error_put(Error *error, size_t at, const char *text)
{
    size_t length = strlen(text);
    if (length > MAX_ERROR_LENGTH - at) {
        length = MAX_ERROR_LENGTH - at;
    }
    /* cppcheck-suppress arrayIndexOutOfBoundsCond */
    memcpy(error->message + at, text, length);
    /* cppcheck-suppress arrayIndexOutOfBoundsCond */
    error->message[at + length] = '\0';
}

void error_init(Error *error)
{
    if (error == NULL) {
        return;
    }
    (void)pthread_mutex_init(&error->mtx, NULL);
    error->code = 0;
    error_put(error, 0, no_error);
}

void error_destroy(Error *error)
{
    if (error != NULL) {
        (void)pthread_mutex_destroy(&error->mtx);
    }
}

Error *error_new(void)
{
    Error *error = malloc(sizeof *error);
    error_init(error);
    return error;
}

void error_delete(Error *error)
{
    error_destroy(error);
    free(error);
}

void error_set(Error *error, int code, const char *msg)
{
    if (error == NULL) {
        return;
    }
    error_lock(error);
    if (error->code == 0 && code != 0) {
        error->code = code;
        error_put(error, 0, msg == NULL ? "" : msg);
    }
    unlock(error);
}

void error_clean(Error *error)
{
    if (error == NULL) {
        return;
    }
    error_lock(error);
    if (error->code != 0) {
        error->code = 0;
        error_put(error, 0, no_error);
    }
    unlock(error);
}

void error_add(Error *error, const char *msg)
{
    if (error == NULL || msg == NULL) {
        return;
    }
    error_lock(error);
    if (error->code != 0) {
        error_put(error, strlen(error->message), ": ");
        error_put(error, strlen(error->message), msg);
    }
    unlock(error);
}

const char *error_message(const Error *error)
{
    return error_code(error) == 0 ? NULL : error->message;
}

int error_code(const Error *error)
{
    if (error == NULL) {
        return 0;
    }
    /* The documented signatures take a const object; the mutex is the part that changes. */
    union {
        const Error *in;
        Error *out;
    } u = {.in = error};
    Error *mutable = u.out;
    error_lock(mutable);
    int code = error->code;
    unlock(mutable);
    return code;
}
