/* TLS context: what the TLS connections of one fetching thread share.
 *
 * What: one OpenSSL context (SSL_CTX) for all connections of the thread, and the sessions of the
 *   hosts that were visited. libcurl 7.88 makes a context for each connection, a tenth of a
 *   millisecond of work, and has no option that hands it one. libcurl gets its context from
 *   SSL_CTX_new, on the thread that connects, and a program's own definition of a function takes
 *   the place of the shared library's. So tls_context.c defines SSL_CTX_new: a thread that has
 *   entered a TlsContext gets that one's context; every other caller gets what OpenSSL makes.
 *   Where libcurl does not come this way (another TLS library, a static libcurl), each connection
 *   has a context of its own again, and everything else still works. d2i_X509, by which libssl
 *   decodes what servers send, is taken over in the same way (tls_context.h).
 *
 *   The order of events for one connection:
 *     1. tls_context_prepare has told libcurl's handle whom it connects to;
 *     2. libcurl sets up the context and calls back (CURLOPT_SSL_CTX_FUNCTION);
 *     3. the handshake begins: the host's last session is offered (tls_sessions.h);
 *     4. the chain is verified against the trusted certificates (tls_context.h), and its name
 * against the host's: libcurl itself would read its files for each connection;
 *     5. the server's new ticket is kept.
 * Owns: the OpenSSL context, and certificates that come again and again. The sessions and the
 * trusted certificates are borrowed.
 * Threads: one fetching thread, from tls_context_enter on; tls_context_stats: any.
 * Invariants: a session is offered only to the scheme, name and port that it came from.
 * Errors: a connection whose context cannot be set up fails (CURLE_OUT_OF_MEMORY).
 * Source: RFC 8446; RFC 6125 (names). */
#pragma once

#include <curl/curl.h>
#include <openssl/x509.h>
#include <openssl/ssl.h>

#include "fetch/tls/tls_sessions.h"
#include "base/memory/buffer.h"

/* TLS trust: the certificates that servers' chains must end at.
 *
 * What: the file or the system's certificates, read once for all connections of all threads.
 *   Reading the system's certificates takes as long as a hundred handshakes: the first connection
 *   does it.
 * Owns: the certificates.
 * Threads: one thread makes and deletes it; all fetching threads use it. RANK_TABLE.
 * Errors: RESULT_MEMORY; RESULT_INVALID when there is no certificate, and error says where one was
 *   looked for. */

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

/* TLS certificates: those that servers send again and again, decoded once.
 *
 * What: the authorities between a host and its root are few: the same certificate comes with every
 *   tenth host. OpenSSL 3.0 takes 140 microseconds to decode one, a third of a handshake, most of
 *   them to find a decoder of its key. A certificate is kept when it comes for the second time, and
 *   no other of its slot came in between: most servers' own come once.
 * Owns: the certificates: TLS_CERTIFICATES at most, each of TLS_CERTIFICATE_BYTES at most.
 * Threads: one fetching thread. A certificate may be in use when it makes room: it is counted.
 * Errors: one that cannot be decoded is never kept. Without memory nothing is kept. */

#define TLS_CERTIFICATES      64u
#define TLS_CERTIFICATE_BYTES 8192

typedef struct TlsCertificate TlsCertificate;

typedef struct TlsCertificateSlot {
    uint64_t seen;        /* the hash of the last one that came */
    TlsCertificate *kept; /* NULL: none */
} TlsCertificateSlot;

typedef struct TlsCertificates {
    TlsCertificateSlot slots[TLS_CERTIFICATES];
} TlsCertificates;

void tls_certificates_init(TlsCertificates *certificates);
void tls_certificates_destroy(TlsCertificates *certificates);

/* As OpenSSL's d2i_X509: reads a certificate in DER, moves *der behind it, and puts it into *place
 * (place may be NULL) instead of what is there. NULL: it is none. */
X509 *tls_certificates_read(TlsCertificates *certificates, X509 **place, const unsigned char **der,
                            long length);

/* Whom the next connection is made to. */
typedef struct TlsPeer {
    uint64_t host;    /* one number for each scheme, name and port */
    const char *name; /* "www.example.org", "192.0.2.1" or "[2001:db8::1]"; borrowed. NULL: libcurl
                         has two handshakes, the first with a proxy, and sees to both itself */
    bool verify;
} TlsPeer;

typedef struct TlsStats {
    uint64_t handshakes;
    uint64_t resumed; /* of them */
} TlsStats;

typedef struct TlsContext {
    SSL_CTX *context;      /* libcurl's, once it has asked for one */
    TlsTrust *trust;       /* NULL: no server can be verified; borrowed */
    TlsSessions *sessions; /* of all threads; borrowed */
    bool is_asked;         /* libcurl calls back before it connects */
    const TlsPeer *peer;   /* of the connection that is being made */
    TlsCertificates certificates;
    struct { /* as in TlsStats; written by the thread, read by any */
        _Atomic uint64_t handshakes;
        _Atomic uint64_t resumed;
    } counts;
} TlsContext;

/* trust may be NULL. */
void tls_context_init(TlsContext *tls, TlsTrust *trust, TlsSessions *sessions);
void tls_context_destroy(TlsContext *tls);
/* From now on this thread's connections share the context. */
void tls_context_enter(TlsContext *tls);

/* Sets up a handle: its connections are this context's, and go to what *peer says when they are
 * made. */
void tls_context_prepare(TlsContext *tls, CURL *easy, const TlsPeer *peer);
/* Whether this module verifies the peer, so that libcurl need not. */
bool tls_context_verifies(const TlsContext *tls, const TlsPeer *peer);
/* A connection to the host could not be made: what is kept of it may be why. */
void tls_context_forget(TlsContext *tls, const TlsPeer *peer);

/* Any thread. */
void tls_context_stats(const TlsContext *tls, TlsStats *stats);

/* TLS facts: protocol, verification and expiry of the certificate of one connection.
 *
 * What: they are told whether servers are verified (fetch.tls_verify) or not: a crawl of the open
 * web takes what certificates there are, and says what they were worth.
 * Threads: pure functions on a connection of the calling thread. */

typedef enum TlsVerdict {
    TLS_NOT_KNOWN, /* no TLS */
    TLS_VERIFIED,
    TLS_EXPIRED,    /* or not valid yet */
    TLS_OTHER_NAME, /* the certificate is for other hosts */
    TLS_SELF_SIGNED,
    TLS_UNTRUSTED, /* its chain ends at nothing that is trusted */
    TLS_INVALID,   /* anything else */
    TLS_VERDICTS
} TlsVerdict;

typedef struct TlsFacts {
    TlsVerdict verdict;
    uint16_t version;   /* 0x0303 is TLS 1.2 */
    int64_t expiry_s;   /* of the certificate, unix time; 0 = not known */
    const char *cipher; /* "TLS_AES_128_GCM_SHA256", the IANA's name; static; NULL = not known */
} TlsFacts;

/* hostname: "www.example.org", "192.0.2.1", "[2001:db8::1]". */
TlsFacts tls_facts_of(const SSL *ssl, const char *hostname);
/* "verified", "expired", ... */
const char *tls_verdict_name(TlsVerdict verdict);
/* "1.2", "1.3"; "?" for what is not known. */
const char *tls_version_name(uint16_t version);
