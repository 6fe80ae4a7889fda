/* TLS facts: protocol, verification and expiry of the certificate of one connection.
 *
 * What: they are told whether servers are verified (fetch.tls_verify) or not: a crawl of the open
 * web takes what certificates there are, and says what they were worth.
 * Threads: pure functions on a connection of the calling thread. */
#ifndef FETCH_TLS_TLS_FACTS_H
#define FETCH_TLS_TLS_FACTS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

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
    uint16_t version; /* 0x0303 is TLS 1.2 */
    int64_t expiry_s; /* of the certificate, unix time; 0 = not known */
} TlsFacts;

/* hostname: "www.example.org", "192.0.2.1", "[2001:db8::1]". */
TlsFacts tls_facts_of(const SSL *ssl, const char *hostname);
/* "verified", "expired", ... */
const char *tls_verdict_name(TlsVerdict verdict);
/* "1.2", "1.3"; "?" for what is not known. */
const char *tls_version_name(uint16_t version);

#endif
