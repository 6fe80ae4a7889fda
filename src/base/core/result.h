/* Result: what a call returns. 0 is success; every other value says what the caller can do about
 * it.
 *
 * What: foreign codes (LMDB, CURLcode, ares, pcre2, errno) are translated into one of these where
 * they occur, and logged there once. The documented C library (store/pages/page_db.h and its
 * neighbours) has enums of its own, as published; inside the crawler this is the only set.
 * Threads: any. */
#ifndef BASE_CORE_RESULT_H
#define BASE_CORE_RESULT_H

#include "base/core/symbol.h"

typedef enum Result {
    RESULT_OK = 0,
    RESULT_MEMORY,    /* out of memory: give this piece of work back and carry on */
    RESULT_LIMIT,     /* a stated bound was reached: count it */
    RESULT_INVALID,   /* the input is not what it claims to be */
    RESULT_NOT_FOUND, /* no such key, file or host */
    RESULT_EXISTS,    /* it is there already */
    RESULT_IO,        /* read, write or sync failed: errno was logged */
    RESULT_FULL,      /* disk or map full: pause, make room, try again */
    RESULT_CLOSED,    /* the queue or file was closed: stop */
    RESULT_TIMEOUT,   /* nothing came before the deadline */
    RESULT_DAMAGED,   /* checksum or structure is wrong: ragno verify */
    RESULT_VERSION,   /* written by another format version */
    RESULT_LOCKED,    /* another process holds it */
    RESULT_INTERNAL   /* a bug */
} Result;

/* A short phrase in lower case for logs and messages. */
const char *result_name(Result result) RAGNO_SYMBOL(result_name);

/* The Result for an errno value. */
Result result_of_errno(int error) RAGNO_SYMBOL(result_of_errno);

#endif
