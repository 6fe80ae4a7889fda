/* The error object of the documented library: a code, and a message that reads like a stack trace.
 *
 * What: every object of the library (PageDB, MMapArray, TxnManager, the scorers and schedulers) has
 * one. The code that a call returns is the truth about that call; the object adds the words. It
 * keeps the first error until error_clean: lower layers say what broke, upper layers add what they
 * were doing. Every public call of the library cleans the object before it starts, so that an error
 * never outlives the call it belongs to. NULL is accepted everywhere and does nothing.
 * Owns: its message.
 * Threads: any. A mutex that fails is silently ignored, as documented, which is why this file uses
 * the mutex of pthread itself and not mutex.h.
 * Source: seed 000, "Error handling". */
#ifndef BASE_CORE_ERROR_H
#define BASE_CORE_ERROR_H

#include <pthread.h>

#include "base/core/result.h"

#define MAX_ERROR_LENGTH 10000 /* bytes of a message; what is longer is cut */

typedef struct Error {
    pthread_mutex_t mtx;                /* guards the rest */
    int code;                           /* 0 = no error; else the codes of the owner */
    char message[MAX_ERROR_LENGTH + 1]; /* "NO ERROR" when code is 0 */
} Error;

/* Makes an embedded Error: code 0, message "NO ERROR". */
void error_init(Error *error) RAGNO_SYMBOL(error_init);
/* Undoes error_init; does not free error. */
void error_destroy(Error *error) RAGNO_SYMBOL(error_destroy);
/* The same on the heap; NULL when memory is short. */
Error *error_new(void) RAGNO_SYMBOL(error_new);
void error_delete(Error *error) RAGNO_SYMBOL(error_delete);

/* Sets code and message unless an error is already there (call error_clean first to replace it).
 * A NULL message is empty. */
void error_set(Error *error, int code, const char *msg) RAGNO_SYMBOL(error_set);
/* Back to code 0 and "NO ERROR". */
void error_clean(Error *error) RAGNO_SYMBOL(error_clean);
/* Appends ": msg" to the message; the code stays. Without an error it does nothing. */
void error_add(Error *error, const char *msg) RAGNO_SYMBOL(error_add);
/* The message, or NULL when there is no error. Borrowed: valid until the object is changed. */
const char *error_message(const Error *error) RAGNO_SYMBOL(error_message);
int error_code(const Error *error) RAGNO_SYMBOL(error_code);

#endif
