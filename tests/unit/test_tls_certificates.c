#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/core/hash.h"
#include "fetch/tls/tls_context.h"
#include "unit.h"

typedef struct Der {
    unsigned char *bytes;
    long length;
} Der;

/* A certificate with this serial number. */
static Der make(EVP_PKEY *key, long serial)
{
    Der der = {.bytes = NULL};
    X509 *certificate = X509_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(certificate);
    (void)X509_set_version(certificate, X509_VERSION_3);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    (void)X509_set_pubkey(certificate, key);
    CU_ASSERT_TRUE_FATAL(X509_sign(certificate, key, EVP_sha256()) > 0);
    der.length = i2d_X509(certificate, &der.bytes);
    CU_ASSERT_TRUE_FATAL(der.length > 0);
    X509_free(certificate);
    return der;
}

/* As libssl reads it: into an empty one. The caller frees it. */
static X509 *read_one(TlsCertificates *certificates, const Der *der)
{
    const unsigned char *at = der->bytes;
    X509 *place = X509_new();
    X509 *found = tls_certificates_read(certificates, &place, &at, der->length);
    CU_ASSERT_PTR_EQUAL(found, place);
    CU_ASSERT_PTR_EQUAL(at, der->bytes + der->length);
    unsigned char *again = NULL;
    CU_ASSERT_EQUAL(i2d_X509(found, &again), der->length);
    CU_ASSERT_EQUAL(memcmp(again, der->bytes, (size_t)der->length), 0);
    OPENSSL_free(again);
    return found;
}

static void what_comes_again_is_decoded_twice_at_most(void)
{
    TlsCertificates certificates;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    Der der = make(key, 1);
    tls_certificates_init(&certificates);
    X509 *first = read_one(&certificates, &der);
    X509 *second = read_one(&certificates, &der);
    X509 *third = read_one(&certificates, &der);
    CU_ASSERT_PTR_NOT_EQUAL(first, second);
    CU_ASSERT_PTR_EQUAL(second, third);
    CU_ASSERT_EQUAL(X509_verify(third, key), 1);
    const unsigned char *at = der.bytes;
    X509 *fourth = tls_certificates_read(&certificates, NULL, &at, der.length);
    CU_ASSERT_PTR_EQUAL(third, fourth);
    tls_certificates_destroy(&certificates);
    CU_ASSERT_EQUAL(X509_verify(third, key), 1); /* who has it keeps it */
    X509_free(first);
    X509_free(second);
    X509_free(third);
    X509_free(fourth);
    OPENSSL_free(der.bytes);
    EVP_PKEY_free(key);
}

static void what_comes_once_takes_no_place(void)
{
    TlsCertificates certificates;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    Der der = make(key, 1);
    tls_certificates_init(&certificates);
    X509_free(read_one(&certificates, &der));
    X509 *kept = read_one(&certificates, &der);
    for (long i = 2; i < 300; i++) { /* some have its slot */
        Der other = make(key, i);
        X509_free(read_one(&certificates, &other));
        OPENSSL_free(other.bytes);
    }
    X509 *found = read_one(&certificates, &der);
    CU_ASSERT_PTR_EQUAL(found, kept);
    X509_free(found);
    X509_free(kept);
    OPENSSL_free(der.bytes);
    tls_certificates_destroy(&certificates);
    EVP_PKEY_free(key);
}

static uint64_t slot_of(const Der *der)
{
    return hash_64(der->bytes, (size_t)der->length, 0) % TLS_CERTIFICATES;
}

static void another_that_comes_twice_takes_the_place(void)
{
    TlsCertificates certificates;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    Der one = make(key, 1);
    Der other = make(key, 2);
    for (long i = 3; slot_of(&other) != slot_of(&one); i++) {
        OPENSSL_free(other.bytes);
        other = make(key, i);
    }
    tls_certificates_init(&certificates);
    X509_free(read_one(&certificates, &one));
    X509 *kept = read_one(&certificates, &one);
    X509_free(read_one(&certificates, &other));
    X509 *second = read_one(&certificates, &other);
    X509 *third = read_one(&certificates, &other);
    CU_ASSERT_PTR_EQUAL(second, third);
    X509 *anew = read_one(&certificates, &one);
    CU_ASSERT_PTR_NOT_EQUAL(anew, kept);
    X509_free(anew);
    X509_free(third);
    X509_free(second);
    X509_free(kept);
    OPENSSL_free(one.bytes);
    OPENSSL_free(other.bytes);
    tls_certificates_destroy(&certificates);
    EVP_PKEY_free(key);
}

static void what_is_no_certificate_is_refused_each_time(void)
{
    TlsCertificates certificates;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    Der der = make(key, 1);
    tls_certificates_init(&certificates);
    for (int i = 0; i < 3; i++) {
        const unsigned char *at = der.bytes;
        CU_ASSERT_PTR_NULL(tls_certificates_read(&certificates, NULL, &at, der.length - 1));
        CU_ASSERT_PTR_NULL(tls_certificates_read(&certificates, NULL, &at, 0));
    }
    OPENSSL_free(der.bytes);
    tls_certificates_destroy(&certificates);
    EVP_PKEY_free(key);
}

/* d2i_X509 is the program's own. */
static void a_thread_that_has_entered_a_context_keeps_them(void)
{
    static TlsContext tls;
    TlsSessions sessions;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    Der der = make(key, 1);
    X509 *found[4];
    tls_sessions_init(&sessions, 0);
    tls_context_init(&tls, NULL, &sessions);
    for (int i = 0; i < 4; i++) {
        const unsigned char *at = der.bytes;
        tls_context_enter(i < 3 ? &tls : NULL);
        found[i] = d2i_X509(NULL, &at, der.length);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found[i]);
    }
    CU_ASSERT_PTR_EQUAL(found[1], found[2]);
    CU_ASSERT_PTR_NOT_EQUAL(found[2], found[3]);
    for (int i = 0; i < 4; i++) {
        X509_free(found[i]);
    }
    OPENSSL_free(der.bytes);
    EVP_PKEY_free(key);
    tls_context_destroy(&tls);
    tls_sessions_destroy(&sessions);
}

UNIT_MAIN("tls certificates",
          {"what comes again is decoded twice at most", what_comes_again_is_decoded_twice_at_most},
          {"what comes once takes no place", what_comes_once_takes_no_place},
          {"another that comes twice takes the place", another_that_comes_twice_takes_the_place},
          {"what is no certificate is refused each time",
           what_is_no_certificate_is_refused_each_time},
          {"a thread that has entered a context keeps them",
           a_thread_that_has_entered_a_context_keeps_them})
