#include "command/wacz/wacz_signature.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/memory/base64.h"

#define NUMBER_BYTES 48 /* of P-384 */

struct WaczKey {
    EVP_PKEY *pair;
};

static Result wacz_signature_complain(Buffer *error, Result rc, const char *why)
{
    (void)buffer_append_string(error, why);
    return rc;
}

static bool is_p384(const EVP_PKEY *pair)
{
    char group[64] = "";
    size_t length = 0;
    return pair != NULL && EVP_PKEY_is_a(pair, "EC") == 1 &&
           EVP_PKEY_get_group_name(pair, group, sizeof group, &length) == 1 &&
           strcmp(group, "secp384r1") == 0;
}

Result wacz_key_read(WaczKey **key, const char *path, Buffer *error)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return wacz_signature_complain(error, result_of_errno(errno), strerror(errno));
    }
    if (fstat(fileno(file), &info) != 0 || (info.st_mode & 077) != 0) {
        (void)fclose(file);
        return wacz_signature_complain(error, RESULT_INVALID, "others may read it: chmod 600");
    }
    WaczKey *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->pair = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    }
    (void)fclose(file);
    if (made == NULL || !is_p384(made->pair)) {
        wacz_key_delete(made);
        return made == NULL
                   ? RESULT_MEMORY
                   : wacz_signature_complain(error, RESULT_INVALID,
                                             "no private key on the curve P-384: openssl genpkey "
                                             "-algorithm EC -pkeyopt ec_paramgen_curve:P-384");
    }
    *key = made;
    return RESULT_OK;
}

void wacz_key_delete(WaczKey *key)
{
    if (key != NULL) {
        EVP_PKEY_free(key->pair);
        free(key);
    }
}

/* r and s out of the DER form that libcrypto makes. */
static Result plain_signature(const unsigned char *der, size_t length, unsigned char *out)
{
    const unsigned char *at = der;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)length);
    bool made = pair != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, NUMBER_BYTES) > 0 &&
                BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + NUMBER_BYTES, NUMBER_BYTES) > 0;
    ECDSA_SIG_free(pair);
    return made ? RESULT_OK : RESULT_INTERNAL;
}

static Result sign(const WaczKey *key, const char *text, Buffer *out)
{
    unsigned char der[256];
    unsigned char plain[2 * NUMBER_BYTES];
    size_t length = sizeof der;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool made =
        context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->pair) == 1 &&
        EVP_DigestSign(context, der, &length, (const unsigned char *)text, strlen(text)) == 1;
    EVP_MD_CTX_free(context);
    Result rc = made ? plain_signature(der, length, plain) : RESULT_INTERNAL;
    return rc == RESULT_OK ? base64_append(out, plain, sizeof plain, BASE64_STANDARD) : rc;
}

static Result public_half(const WaczKey *key, Buffer *out)
{
    unsigned char *der = NULL;
    int length = i2d_PUBKEY(key->pair, &der);
    Result rc =
        length > 0 ? base64_append(out, der, (size_t)length, BASE64_STANDARD) : RESULT_INTERNAL;
    OPENSSL_free(der);
    return rc;
}

Result wacz_signature_put(const WaczKey *key, const char *hash, WallTime now, JsonWriter *json)
{
    Buffer signature;
    Buffer public;
    char text[CLOCK_TEXT_BYTES];
    buffer_init(&signature, BUFFER_NO_LIMIT);
    buffer_init(&public, BUFFER_NO_LIMIT);
    Result rc = sign(key, hash, &signature);
    rc = rc == RESULT_OK ? public_half(key, &public) : rc;
    if (rc == RESULT_OK) {
        (void)wall_format_iso(now, text);
        json_open(json, "signedData", '{');
        json_string(json, "hash", hash);
        json_string(json, "created", text);
        json_string(json, "software", "ragno/" RAGNO_VERSION);
        json_string(json, "signature", buffer_string(&signature));
        json_string(json, "publicKey", buffer_string(&public));
        json_string(json, "version", "0.1.0");
        json_close(json);
    }
    buffer_destroy(&signature);
    buffer_destroy(&public);
    return rc;
}
