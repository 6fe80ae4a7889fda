/* Message signature: the three header lines by which a request proves who sends it.
 *
 *   Signature-Agent: sig1="https://crawler.example"
 *   Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=...;keyid="...";
 *                    alg="ed25519";expires=...;nonce="...";tag="web-bot-auth"
 *   Signature: sig1=:...:
 *
 * What: who verifies fetches the key from the agent's directory (key_directory.h). The signature is
 * for one authority and a short time; the nonce makes each request's its own.
 *
 * Threads: any; a Signer is immutable.
 * Errors: RESULT_MEMORY; RESULT_INTERNAL: OpenSSL has no randomness.
 * Source: RFC 9421; draft-ietf-webbotauth-httpsig-protocol-00 (Signature-Agent as a dictionary). */
#ifndef FETCH_IDENTITY_MESSAGE_SIGNATURE_H
#define FETCH_IDENTITY_MESSAGE_SIGNATURE_H

#include "base/core/clock.h"
#include "fetch/identity/signing_key.h"

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

#endif
