/* What: TLS for the synthetic web: TLS 1.3, one context for all threads, session tickets.
 * Owns: a key (P-256 or RSA-2048) and a self-signed certificate for SUFFIX and everything below it,
 *       made at the start; nothing of it is a secret.
 * Threads: tls_new and tls_delete are the main thread's; a TlsStream belongs to its connection.
 * Invariants: tickets hold the sessions, so that the server remembers nothing.
 * Errors: RESULT_MEMORY, RESULT_IO, after a message. */
#ifndef TESTS_WEB_TLS_H
#define TESTS_WEB_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/result.h"
#include "options.h"

typedef struct Tls Tls;
typedef struct TlsStream TlsStream;

/* With options->tls_ca_path the certificate is written there, for clients that verify. */
Result tls_new(Tls **tls, const WebOptions *options);
void tls_delete(Tls *tls);

/* A server's end on fd, a non-blocking socket. NULL without memory. */
TlsStream *tls_stream_new(const Tls *tls, int fd);
/* Says goodbye (close_notify) when the handshake is over; does not close fd. */
void tls_stream_delete(TlsStream *stream);

/* As recv and send: -1 with EAGAIN when the socket has to be waited for; recv gives 0 at the end.
 * The handshake is done on the way. */
ssize_t tls_stream_recv(TlsStream *stream, void *bytes, size_t length);
ssize_t tls_stream_send(TlsStream *stream, const void *bytes, size_t length);
/* Whether the client offered a ticket that was taken. */
bool tls_stream_resumed(const TlsStream *stream);

#endif
