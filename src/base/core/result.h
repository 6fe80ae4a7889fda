/* Result: what a call returns. 0 is success; every other value says what the caller can do about
 * it.
 *
 * What: foreign codes (LMDB, CURLcode, ares, pcre2, errno) are translated into one of these where
 * they occur, and logged there once. The documented C library (store/pages/page_db.h and its
 * neighbours) has enums of its own, as published; inside the crawler this is the only set.
 * Threads: any. */
#ifndef BASE_CORE_RESULT_H
#define BASE_CORE_RESULT_H

#include "base/core/words.h"

/* Symbol: the name by which the linker knows a function of base that libragno shows.
 *
 * What: a program that links libragno may have a buffer_append or an error_set of its own. So the
 * functions of base that are part of the library's interface are ragno_buffer_append and
 * ragno_error_set in object files, and buffer_append and error_set in sources. The names of the
 * other rooms (page_db_*, drum_*) are as special as a prefix.
 * Invariants: src/libragno.map shows ragno_*; no symbol of base is shown under its short name.
 * tests/integration/install.py compares. */

/* Behind the parameters of a declaration, before its attributes. */
#define RAGNO_SYMBOL(name) __asm__("ragno_" #name)

/* clang-format off */
#define RESULT_WORDS(WORD) \
    WORD(RESULT_OK, "ok") \
    /* out of memory: give this piece of work back and carry on */ \
    WORD(RESULT_MEMORY, "out of memory") \
    WORD(RESULT_LIMIT, "limit reached") /* a stated bound was reached: count it */ \
    WORD(RESULT_INVALID, "invalid") /* the input is not what it claims to be */ \
    WORD(RESULT_NOT_FOUND, "not found") /* no such key, file or host */ \
    WORD(RESULT_EXISTS, "exists already") /* it is there already */ \
    WORD(RESULT_IO, "input/output error") /* read, write or sync failed: errno was logged */ \
    WORD(RESULT_FULL, "full") /* disk or map full: pause, make room, try again */ \
    WORD(RESULT_CLOSED, "closed") /* the queue or file was closed: stop */ \
    WORD(RESULT_TIMEOUT, "timed out") /* nothing came before the deadline */ \
    WORD(RESULT_DAMAGED, "damaged") /* checksum or structure is wrong: ragno verify */ \
    WORD(RESULT_VERSION, "unknown format version") /* written by another format version */ \
    WORD(RESULT_LOCKED, "locked by another process") /* another process holds it */ \
    WORD(RESULT_INTERNAL, "internal error") /* a bug */
/* clang-format on */

typedef enum Result { WORDS_ENUM(RESULT_WORDS) } Result;

/* A short phrase in lower case for logs and messages. */
const char *result_name(Result result) RAGNO_SYMBOL(result_name);

/* The Result for an errno value. */
Result result_of_errno(int error) RAGNO_SYMBOL(result_of_errno);

/* Of two steps that were both taken: what went wrong first. */
static inline Result result_first(Result one, Result other)
{
    return one != RESULT_OK ? one : other;
}

#endif
