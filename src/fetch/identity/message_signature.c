#include "fetch/identity/message_signature.h"

#include <inttypes.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/memory/base64.h"
#include "parse/host/authority.h"

#define NONCE_BYTES 64
#define LINE_BYTES  8192u

void signature_lines_init(SignatureLines *lines)
{
    buffer_init(&lines->agent, LINE_BYTES);
    buffer_init(&lines->input, LINE_BYTES);
    buffer_init(&lines->signature, LINE_BYTES);
}

void signature_lines_destroy(SignatureLines *lines)
{
    buffer_destroy(&lines->agent);
    buffer_destroy(&lines->input);
    buffer_destroy(&lines->signature);
}

Result message_signature_check_agent(const char *text, Buffer *error)
{
    size_t name = strncmp(text, "https://", 8) == 0 ? strcspn(text + 8, "/?#@\"\\ ") : 0;
    for (const char *c = text; *c != '\0'; c++) {
        name = *c <= ' ' || *c > '~' || *c == '"' || *c == '\\' ? 0 : name;
    }
    if (*text != '\0' && (name == 0 || text[8 + name] == '@')) {
        (void)buffer_printf(error,
                            "'%s' is no agent: expected the https URL of the site that publishes "
                            "the directory of keys, such as https://crawler.example",
                            text);
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

/* What both the base and Signature-Input say: components and parameters. */
static Result append_params(Buffer *out, const SigningKey *key, const SignatureTerms *terms)
{
    Result rc = buffer_append_string(out, "(\"@authority\"");
    if (rc == RESULT_OK && terms->agent_key != NULL) {
        rc = buffer_printf(out, " \"signature-agent\";key=\"%s\"", terms->agent_key);
    }
    return rc != RESULT_OK
               ? rc
               : buffer_printf(out,
                               ");created=%" PRId64 ";keyid=\"%s\";alg=\"ed25519\";expires=%" PRId64
                               ";nonce=\"%s\";tag=\"web-bot-auth\"",
                               terms->created_s, signing_key_id(key), terms->expires_s,
                               terms->nonce);
}

/* RFC 9421 2.5. */
static Result append_base(Buffer *base, const SigningKey *key, const SignatureTerms *terms)
{
    Result rc = buffer_printf(base, "\"@authority\": %.*s\n", (int)terms->authority_length,
                              terms->authority);
    if (rc == RESULT_OK && terms->agent_key != NULL) {
        rc = buffer_printf(base, "\"signature-agent\";key=\"%s\": \"%s\"\n", terms->agent_key,
                           terms->agent);
    }
    rc = rc == RESULT_OK ? buffer_append_string(base, "\"@signature-params\": ") : rc;
    return rc == RESULT_OK ? append_params(base, key, terms) : rc;
}

Result message_signature_write(const SigningKey *key, const SignatureTerms *terms,
                               SignatureLines *lines)
{
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    Buffer base;
    buffer_init(&base, LINE_BYTES);
    Result rc = append_base(&base, key, terms);
    rc = rc == RESULT_OK ? signing_key_sign(key, base.data, base.length, signature) : rc;
    if (rc == RESULT_OK && terms->agent_key != NULL) {
        rc = buffer_printf(&lines->agent, "Signature-Agent: %s=\"%s\"", terms->agent_key,
                           terms->agent);
    }
    rc = rc == RESULT_OK ? buffer_printf(&lines->input, "Signature-Input: %s=", terms->label) : rc;
    rc = rc == RESULT_OK ? append_params(&lines->input, key, terms) : rc;
    rc = rc == RESULT_OK ? buffer_printf(&lines->signature, "Signature: %s=:", terms->label) : rc;
    rc = rc == RESULT_OK
             ? base64_append(&lines->signature, signature, sizeof signature, BASE64_STANDARD)
             : rc;
    rc = rc == RESULT_OK ? buffer_append_char(&lines->signature, ':') : rc;
    buffer_destroy(&base);
    return rc;
}

Result message_signature_of(const Signer *signer, const char *url, size_t length, WallTime now,
                            SignatureLines *lines)
{
    uint8_t bytes[NONCE_BYTES];
    Authority at = authority_of(url, length);
    Buffer nonce;
    buffer_init(&nonce, LINE_BYTES);
    Result rc = RAND_bytes(bytes, NONCE_BYTES) == 1 ? RESULT_OK : RESULT_INTERNAL;
    rc = rc == RESULT_OK ? base64_append(&nonce, bytes, sizeof bytes, BASE64_STANDARD) : rc;
    SignatureTerms terms = {.label = "sig1",
                            .agent_key = *signer->agent == '\0' ? NULL : "sig1",
                            .agent = signer->agent,
                            .authority = url + at.host,
                            .authority_length = at.end - at.host,
                            .created_s = wall_seconds(now),
                            .expires_s = wall_seconds(now) + signer->valid_s,
                            .nonce = buffer_string(&nonce)};
    rc = rc == RESULT_OK ? message_signature_write(signer->key, &terms, lines) : rc;
    buffer_destroy(&nonce);
    return rc;
}
