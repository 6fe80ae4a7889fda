#include "fetch/tls/tls_facts.h"

#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define NAME_BYTES 256u

const char *tls_verdict_name(TlsVerdict verdict)
{
    static const char *const names[TLS_VERDICTS] = {
        "-", "verified", "expired", "other-name", "self-signed", "untrusted", "invalid"};
    return verdict < TLS_VERDICTS ? names[verdict] : "?";
}

const char *tls_version_name(uint16_t version)
{
    switch (version) {
    case TLS1_VERSION:
        return "1.0";
    case TLS1_1_VERSION:
        return "1.1";
    case TLS1_2_VERSION:
        return "1.2";
    case TLS1_3_VERSION:
        return "1.3";
    default:
        return "?";
    }
}

static bool is_for(X509 *certificate, const char *hostname)
{
    char bare[NAME_BYTES];
    size_t length = strlen(hostname);
    if (length > 2 && length < sizeof bare && hostname[0] == '[') {
        memcpy(bare, hostname + 1, length - 2);
        bare[length - 2] = '\0';
        hostname = bare;
        length -= 2;
    }
    return X509_check_ip_asc(certificate, hostname, 0) == 1 ||
           X509_check_host(certificate, hostname, length, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                           NULL) == 1;
}

static TlsVerdict verdict_of(const SSL *ssl, X509 *certificate, const char *hostname)
{
    switch (SSL_get_verify_result(ssl)) {
    case X509_V_OK:
        return certificate != NULL && is_for(certificate, hostname) ? TLS_VERIFIED : TLS_OTHER_NAME;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return TLS_EXPIRED;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return TLS_OTHER_NAME;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return TLS_SELF_SIGNED;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return TLS_UNTRUSTED;
    default:
        return TLS_INVALID;
    }
}

TlsFacts tls_facts_of(const SSL *ssl, const char *hostname)
{
    TlsFacts facts = {.version = (uint16_t)SSL_version(ssl)};
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    struct tm until;
    facts.verdict = verdict_of(ssl, certificate, hostname);
    if (certificate != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) == 1) {
        facts.expiry_s = (int64_t)timegm(&until);
    }
    return facts;
}
