/* TLS certificates: those that servers send again and again, decoded once.
 *
 * What: the authorities between a host and its root are few: the same certificate comes with every
 *   tenth host. OpenSSL 3.0 takes 140 microseconds to decode one, a third of a handshake, most of
 *   them to find a decoder of its key. A certificate is kept when it comes for the second time, and
 *   no other of its slot came in between: most servers' own come once.
 * Owns: the certificates: TLS_CERTIFICATES at most, each of TLS_CERTIFICATE_BYTES at most.
 * Threads: one fetching thread. A certificate may be in use when it makes room: it is counted.
 * Errors: one that cannot be decoded is never kept. Without memory nothing is kept. */
#ifndef FETCH_TLS_TLS_CERTIFICATES_H
#define FETCH_TLS_TLS_CERTIFICATES_H

#include <openssl/x509.h>
#include <stdint.h>

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
/* The same, of a thread that keeps none. */
X509 *tls_certificate_decode(X509 **place, const unsigned char **der, long length);

#endif
