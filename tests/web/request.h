/* Reading a request head. Pure; works in the caller's bytes. */
#ifndef TESTS_WEB_REQUEST_H
#define TESTS_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Request {
    const char *target; /* path and query, starting with '/'; not NUL-terminated */
    size_t target_length;
    const char *host; /* without port; NULL when there is none */
    size_t host_length;
    const char *if_none_match; /* NULL when there is none, as the next */
    size_t if_none_match_length;
    const char *if_modified_since;
    size_t if_modified_since_length;
    bool head;       /* HEAD instead of GET */
    bool keep_alive; /* the client allows another request */
    size_t bytes;    /* of the whole head */
} Request;

typedef enum RequestState {
    REQUEST_INCOMPLETE, /* read more */
    REQUEST_COMPLETE,
    REQUEST_BAD,         /* 400 */
    REQUEST_OTHER_METHOD /* 405 */
} RequestState;

/* Parses the first request of bytes; fields of request point into bytes. */
RequestState request_parse(const char *bytes, size_t length, Request *request);

#endif
