/* Message signature: the three header lines by which a request proves who sends it.
 *
 *   Signature-Agent: sig1="https://crawler.example"
 *   Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=...;keyid="...";
 *                    alg="ed25519";expires=...;nonce="...";tag="web-bot-auth"
 *   Signature: sig1=:...:
 *
 * What: who verifies fetches the key from the agent's directory (message_signature.h). The
 * signature is for one authority and a short time; the nonce makes each request's its own.
 *
 * Threads: any; a Signer is immutable.
 * Errors: RESULT_MEMORY; RESULT_INTERNAL: OpenSSL has no randomness.
 * Source: RFC 9421; draft-ietf-webbotauth-httpsig-protocol-00 (Signature-Agent as a dictionary). */
#pragma once

#include "base/core/clock.h"
#include "base/memory/buffer.h"

/* Signing key: an Ed25519 key pair in a file that only its owner may read.
 *
 * What: the file is PEM (PKCS #8), as other tools write it (openssl genpkey -algorithm ed25519).
 * The key's id is the thumbprint of its public half as a JSON Web Key.
 * Owns: the key.
 * Threads: made by one; signing is safe for any number of them at once.
 * Errors: RESULT_INVALID with a sentence; RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY.
 * Source: RFC 8032 (Ed25519), RFC 8037 (its JWK), RFC 7638 (thumbprints). */

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

/* Key directory: what is published so that others can verify who we are.
 *
 * What: the directory is a JSON Web Key Set, served as DIRECTORY_TYPE at DIRECTORY_PATH of the
 * Signature-Agent's site, and, where the operator says what the crawler is for, its card, too: who
 * asks, for what, and whether pages are rendered. The statement lists the addresses that the
 * crawler uses, in the form that large search engines publish theirs in, for sites that go by
 * addresses.
 *
 * Threads: pure functions.
 * Errors: those of the Buffer; RESULT_INVALID with a sentence: not an address.
 * Source: RFC 7517 (JWK sets); draft-meunier-http-message-signatures-directory;
 * draft-meunier-webbotauth-registry (-02, and the editors' copy of 10 June 2026: web_bot_auth),
 * whose readers pass over members that they do not know, such as rendering. */

#define KEY_DIRECTORY_PATH "/.well-known/http-message-signatures-directory"
#define KEY_DIRECTORY_TYPE "application/http-message-signatures-directory+json"

typedef struct KeyDirectoryCard {
    const char *agent; /* product token */
    const char *contact;
    const char *user_agent;
    const char *purpose;
    const char *rendering;
    const char *ranges; /* where the statement of addresses is; NULL: nowhere */
} KeyDirectoryCard;

/* All keys that are in use or about to be. card may be NULL. */
Result key_directory_write(const SigningKey *const *keys, size_t n, const KeyDirectoryCard *card,
                           Buffer *out);
/* The statement of addresses: "192.0.2.1", "2001:db8::/64". */
Result key_directory_write_addresses(const char *const *addresses, size_t n, WallTime now,
                                     Buffer *out, Buffer *error);

typedef struct Signer {
    const SigningKey *key; /* borrowed */
    const char *agent;     /* URL whose directory has the key; borrowed */
    int64_t valid_s;       /* how long a signature is */
} Signer;

/* What a signature is of. */
typedef struct SignatureTerms {
    const char *label;     /* of the signature: "sig1" */
    const char *agent_key; /* of the member of Signature-Agent; NULL: the agent is not told */
    const char *agent;
    const char *authority; /* "www.example.org:8443", the port if it is not the scheme's */
    size_t authority_length;
    int64_t created_s;
    int64_t expires_s;
    const char *nonce; /* base64 */
} SignatureTerms;

typedef struct SignatureLines {
    Buffer agent; /* "Signature-Agent: ..."; empty when it is not told */
    Buffer input;
    Buffer signature;
} SignatureLines;

void signature_lines_init(SignatureLines *lines);
void signature_lines_destroy(SignatureLines *lines);

/* Whether text may be the URL of a Signature-Agent. RESULT_INVALID with a sentence. */
Result message_signature_check_agent(const char *text, Buffer *error);
/* Writes the lines for these terms. */
Result message_signature_write(const SigningKey *key, const SignatureTerms *terms,
                               SignatureLines *lines);
/* The lines of a request for a URL that is sent now. */
Result message_signature_of(const Signer *signer, const char *url, size_t length, WallTime now,
                            SignatureLines *lines);
