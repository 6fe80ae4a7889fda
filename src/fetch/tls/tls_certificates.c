#include "fetch/tls/tls_certificates.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

struct TlsCertificate {
    X509 *decoded; /* counted */
    size_t length;
    unsigned char der[];
};

void tls_certificates_init(TlsCertificates *certificates)
{
    *certificates = (TlsCertificates){.slots = {{.kept = NULL}}};
}

static void tls_certificates_drop(TlsCertificate *kept)
{
    if (kept != NULL) {
        X509_free(kept->decoded);
        free(kept);
    }
}

void tls_certificates_destroy(TlsCertificates *certificates)
{
    for (size_t i = 0; i < TLS_CERTIFICATES; i++) {
        tls_certificates_drop(certificates->slots[i].kept);
    }
    tls_certificates_init(certificates);
}

X509 *tls_certificate_decode(X509 **place, const unsigned char **der, long length)
{
    union { /* OpenSSL's own type of whatever is decoded */
        X509 **from;
        ASN1_VALUE **to;
    } value = {.from = place};
    ASN1_VALUE *decoded = ASN1_item_d2i(value.to, der, length, ASN1_ITEM_rptr(X509));
    return (X509 *)decoded;
}

static void tls_certificates_keep(TlsCertificateSlot *slot, X509 *decoded, const unsigned char *der,
                                  size_t length)
{
    TlsCertificate *made = malloc(sizeof *made + length);
    if (made == NULL || X509_up_ref(decoded) != 1) {
        free(made);
        return;
    }
    made->decoded = decoded;
    made->length = length;
    memcpy(made->der, der, length);
    tls_certificates_drop(slot->kept);
    slot->kept = made;
}

static X509 *tls_certificates_hand_out(const TlsCertificate *kept, X509 **place)
{
    if (X509_up_ref(kept->decoded) != 1) {
        return NULL;
    }
    if (place != NULL) {
        X509_free(*place);
        *place = kept->decoded;
    }
    return kept->decoded;
}

X509 *tls_certificates_read(TlsCertificates *certificates, X509 **place, const unsigned char **der,
                            long length)
{
    if (length <= 0 || length > TLS_CERTIFICATE_BYTES) {
        return tls_certificate_decode(place, der, length);
    }
    const unsigned char *start = *der;
    size_t n = (size_t)length;
    uint64_t hash = hash_64(start, n, 0);
    TlsCertificateSlot *slot = &certificates->slots[hash % TLS_CERTIFICATES];
    const TlsCertificate *kept = slot->kept;
    if (kept != NULL && kept->length == n && memcmp(kept->der, start, n) == 0) {
        *der += n;
        return tls_certificates_hand_out(kept, place);
    }
    X509 *decoded = tls_certificate_decode(place, der, length);
    if (decoded != NULL && *der == start + n) { /* nothing is behind it */
        if (slot->seen == hash) {
            tls_certificates_keep(slot, decoded, start, n);
        }
        slot->seen = hash;
    }
    return decoded;
}
