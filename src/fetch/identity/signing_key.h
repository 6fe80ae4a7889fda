/* Signing key: an Ed25519 key pair in a file that only its owner may read.
 *
 * What: the file is PEM (PKCS #8), as other tools write it (openssl genpkey -algorithm ed25519).
 * The key's id is the thumbprint of its public half as a JSON Web Key. Owns: the key. Threads: made
 * by one; signing is safe for any number of them at once. Errors: RESULT_INVALID with a sentence;
 * RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. Source: RFC 8032 (Ed25519), RFC 8037 (its JWK), RFC
 * 7638 (thumbprints). */
#ifndef FETCH_IDENTITY_SIGNING_KEY_H
#define FETCH_IDENTITY_SIGNING_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

#define SIGNING_KEY_BYTES       32u
#define SIGNING_SIGNATURE_BYTES 64u
#define SIGNING_ID_TEXT         44u /* base64 without padding, and NUL */

typedef struct SigningKey SigningKey;

Result signing_key_generate(SigningKey **key);
/* From the 32 bytes of a private key (RFC 8032's seed). */
Result signing_key_of_seed(SigningKey **key, const uint8_t seed[SIGNING_KEY_BYTES]);
/* error gets one sentence without the name of the file. A file that others may read is refused. */
Result signing_key_read(SigningKey **key, const char *path, Buffer *error);
/* Writes a new file with mode 0600; an existing one is never replaced (RESULT_INVALID). */
Result signing_key_write(const SigningKey *key, const char *path, Buffer *error);
void signing_key_delete(SigningKey *key); /* NULL is allowed */

/* The public half, base64 as in URLs: "x" of its JWK. */
const char *signing_key_public(const SigningKey *key);
/* The thumbprint: "keyid" of signatures, "kid" of its JWK. */
const char *signing_key_id(const SigningKey *key);
Result signing_key_sign(const SigningKey *key, const void *bytes, size_t length,
                        uint8_t signature[SIGNING_SIGNATURE_BYTES]);

#endif
