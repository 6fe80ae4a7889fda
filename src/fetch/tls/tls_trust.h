/* TLS trust: the certificates that servers' chains must end at.
 *
 * What: the file or the system's certificates, read once for all connections of all threads.
 *   Reading the system's certificates takes as long as a hundred handshakes: the first connection
 *   does it.
 * Owns: the certificates.
 * Threads: one thread makes and deletes it; all fetching threads use it. RANK_TABLE.
 * Errors: RESULT_MEMORY; RESULT_INVALID when there is no certificate, and error says where one was
 *   looked for. */
#ifndef FETCH_TLS_TLS_TRUST_H
#define FETCH_TLS_TLS_TRUST_H

#include <openssl/x509.h>
#include <stdbool.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "base/thread/mutex.h"

typedef struct TlsTrust {
    X509_STORE *store; /* NULL: not initialised */
    Mutex mutex;
    bool is_read; /* guarded by mutex */
} TlsTrust;

/* file: certificates in PEM, which are read now; "" = the system's: now is only looked whether
 * there are any. */
Result tls_trust_init(TlsTrust *trust, const char *file, Buffer *error);
/* Does nothing to one that is zeroed. */
void tls_trust_destroy(TlsTrust *trust);
/* The certificates; borrowed. The first call takes some 30 ms. */
X509_STORE *tls_trust_store(TlsTrust *trust);

#endif
