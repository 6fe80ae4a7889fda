#include "fetch/identity/signing_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/base64.h"

struct SigningKey {
    EVP_PKEY *pair;
    char public_text[SIGNING_ID_TEXT];
    char id[SIGNING_ID_TEXT];
};

static Result write_text(char text[SIGNING_ID_TEXT], const uint8_t *bytes, size_t length)
{
    Buffer buffer;
    buffer_init(&buffer, SIGNING_ID_TEXT);
    Result rc = base64_append(&buffer, bytes, length, BASE64_URL);
    if (rc == RESULT_OK) {
        (void)snprintf(text, SIGNING_ID_TEXT, "%s", buffer_string(&buffer));
    }
    buffer_destroy(&buffer);
    return rc;
}

/* RFC 7638: the members that are required, in order of their names, without blanks. */
static Result make_names(SigningKey *key)
{
    uint8_t bytes[SIGNING_KEY_BYTES];
    uint8_t digest[EVP_MAX_MD_SIZE];
    size_t length = sizeof bytes;
    unsigned digest_length = 0;
    char json[128];
    if (EVP_PKEY_get_raw_public_key(key->pair, bytes, &length) != 1) {
        return RESULT_INVALID;
    }
    Result rc = write_text(key->public_text, bytes, length);
    int n = snprintf(json, sizeof json, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"%s\"}",
                     key->public_text);
    if (rc == RESULT_OK &&
        EVP_Digest(json, (size_t)n, digest, &digest_length, EVP_sha256(), NULL) != 1) {
        rc = RESULT_INTERNAL;
    }
    return rc == RESULT_OK ? write_text(key->id, digest, digest_length) : rc;
}

/* Takes the pair, which may be NULL. */
static Result make_key(SigningKey **out, EVP_PKEY *pair)
{
    SigningKey *key = calloc(1, sizeof *key);
    if (key == NULL || pair == NULL) {
        EVP_PKEY_free(pair);
        free(key);
        return RESULT_MEMORY;
    }
    key->pair = pair;
    Result rc = make_names(key);
    if (rc != RESULT_OK) {
        signing_key_delete(key);
        return rc;
    }
    *out = key;
    return RESULT_OK;
}

Result signing_key_generate(SigningKey **key)
{
    return make_key(key, EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"));
}

Result signing_key_of_seed(SigningKey **key, const uint8_t seed[SIGNING_KEY_BYTES])
{
    return make_key(key,
                    EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGNING_KEY_BYTES));
}

/* PEM with a passphrase is refused: nobody is there to type it. */
static int no_passphrase(char *text, int size, int writes, void *context)
{
    (void)text;
    (void)size;
    (void)writes;
    (void)context;
    return -1;
}

Result signing_key_read(SigningKey **key, const char *path, Buffer *error)
{
    struct stat st;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        (void)buffer_printf(error, "cannot be opened: %s", strerrordesc_np(errno));
        return errno == ENOENT ? RESULT_NOT_FOUND : RESULT_IO;
    }
    if (fstat(fileno(file), &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        (void)buffer_printf(error,
                            "has mode %04o, so that others may read it; expected 0600 (chmod 600)",
                            (unsigned)st.st_mode & 07777u);
        (void)fclose(file);
        return RESULT_INVALID;
    }
    EVP_PKEY *pair = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    (void)fclose(file);
    ERR_clear_error();
    if (pair == NULL || EVP_PKEY_get_id(pair) != EVP_PKEY_ED25519) {
        (void)buffer_append_string(
            error, "expected an Ed25519 private key in PEM (ragno identity new FILE makes one)");
        EVP_PKEY_free(pair);
        return RESULT_INVALID;
    }
    return make_key(key, pair);
}

Result signing_key_write(const SigningKey *key, const char *path, Buffer *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        (void)buffer_append_string(error, errno == EEXIST
                                              ? "exists already, and a key is never replaced"
                                              : strerrordesc_np(errno));
        return errno == EEXIST ? RESULT_INVALID : RESULT_IO;
    }
    FILE *file = fdopen(fd, "w");
    if (file == NULL) {
        (void)close(fd);
        return RESULT_MEMORY;
    }
    bool is_written = PEM_write_PrivateKey(file, key->pair, NULL, NULL, 0, NULL, NULL) == 1;
    is_written = fflush(file) == 0 && is_written && fsync(fd) == 0;
    is_written = fclose(file) == 0 && is_written;
    if (!is_written) {
        (void)buffer_append_string(error, "cannot be written");
        (void)unlink(path);
    }
    return is_written ? RESULT_OK : RESULT_IO;
}

void signing_key_delete(SigningKey *key)
{
    if (key != NULL) {
        EVP_PKEY_free(key->pair);
        free(key);
    }
}

const char *signing_key_public(const SigningKey *key)
{
    return key->public_text;
}

const char *signing_key_id(const SigningKey *key)
{
    return key->id;
}

Result signing_key_sign(const SigningKey *key, const void *bytes, size_t length,
                        uint8_t signature[SIGNING_SIGNATURE_BYTES])
{
    size_t signature_length = SIGNING_SIGNATURE_BYTES;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_signed = context != NULL &&
                     EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1 &&
                     EVP_DigestSign(context, signature, &signature_length, bytes, length) == 1;
    EVP_MD_CTX_free(context);
    return is_signed ? RESULT_OK : RESULT_MEMORY;
}
