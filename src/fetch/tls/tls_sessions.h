/* TLS sessions: the tickets of hosts that were visited. The next connection to such a host resumes
 * its session and skips the expensive half of the handshake.
 *
 * What: the last session of each host, as bytes. Reading them takes 2 microseconds; a handshake
 *   from the beginning takes 400. The server's certificate is most of a session and is left out:
 *   nobody looks at it again, because only the server that wrote a ticket can read it.
 * Owns: the bytes, within a bound. Beyond it, the sessions not used longest are forgotten.
 * Threads: any; a lock inside, held for about two microseconds. A host's sessions are found by
 *   whichever fetching thread comes to it next.
 * Invariants: the bytes held, with what surrounds them, are at most max_bytes.
 * Errors: a session that cannot be kept is not kept; the host's next handshake is a full one.
 * Source: RFC 8446, 2.2 and 4.6.1. */
#pragma once

#include <openssl/ssl.h>

#include "base/memory/map.h"
#include "base/thread/mutex.h"

typedef struct TlsSession TlsSession;

typedef struct TlsSessions {
    Mutex lock; /* of what follows */
    Map by_host;
    TlsSession *newest; /* a list by last use */
    TlsSession *oldest;
    size_t bytes;
    size_t max_bytes;
    uint64_t n_forgotten; /* for lack of room */
} TlsSessions;

/* max_bytes 0: nothing is kept. */
void tls_sessions_init(TlsSessions *sessions, size_t max_bytes);
void tls_sessions_destroy(TlsSessions *sessions);

/* Keeps a session of the host, instead of the one before; it stays the caller's. */
void tls_sessions_put(TlsSessions *sessions, uint64_t host, const SSL_SESSION *session);
/* The caller frees it (SSL_SESSION_free). NULL: there is none, or it has expired. now_s: seconds
 * since 1970. */
SSL_SESSION *tls_sessions_get(TlsSessions *sessions, uint64_t host, int64_t now_s);
void tls_sessions_forget(TlsSessions *sessions, uint64_t host);

typedef struct TlsSessionStats {
    size_t bytes;
    uint64_t forgotten; /* for lack of room */
} TlsSessionStats;

void tls_sessions_stats(TlsSessions *sessions, TlsSessionStats *stats);
