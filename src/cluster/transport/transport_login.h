/* Transport login: how an agent proves to the NATS server who it is.
 *
 * What: reads the file of cluster.credentials, which only its owner may read (mode 0600). It is one
 * of these:
 *
 *   user NAME PASSWORD     on one line
 *   token TOKEN            on one line
 *   nkey PUBLIC            and the seed (SU...) on a line of its own
 *   -----BEGIN NATS USER JWT-----   a credentials file as `nsc` writes it
 *
 * Owns: the words; login_destroy wipes them.
 * Threads: one.
 * Errors: RESULT_INVALID: the file is open to others, or says nothing that is known; RESULT_IO;
 * error holds one sentence without a secret in it. */
#ifndef CLUSTER_TRANSPORT_TRANSPORT_LOGIN_H
#define CLUSTER_TRANSPORT_TRANSPORT_LOGIN_H

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef enum LoginKind { LOGIN_NONE, LOGIN_USER, LOGIN_TOKEN, LOGIN_NKEY, LOGIN_FILE } LoginKind;

typedef struct Login {
    LoginKind kind;
    char first[256];  /* name, token, or public key */
    char second[256]; /* password */
} Login;

/* path "": LOGIN_NONE. */
Result login_read(Login *login, const char *path, Buffer *error);
void login_destroy(Login *login);

#endif
