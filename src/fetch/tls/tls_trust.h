/* TLS trust: the certificates that servers' chains must end at.
 *
 * What: the file or the system's certificates, read once for all connections of all threads.
 *   Reading the system's certificates takes as long as a hundred handshakes.
 * Owns: the certificates.
 * Threads: one thread makes and deletes it; all fetching threads use it.
 * Errors: RESULT_MEMORY; RESULT_INVALID when there is no certificate, and error says where one was
 *   looked for. */
#ifndef FETCH_TLS_TLS_TRUST_H
#define FETCH_TLS_TLS_TRUST_H

#include <openssl/x509.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct TlsTrust {
    X509_STORE *store;
} TlsTrust;

/* file: certificates in PEM; "" = the system's. */
Result tls_trust_init(TlsTrust *trust, const char *file, Buffer *error);
void tls_trust_destroy(TlsTrust *trust);

#endif
