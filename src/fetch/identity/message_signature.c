#include "fetch/identity/message_signature.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/base64.h"
#include "base/memory/json_writer.h"
#include "base/memory/file.h"
#include "parse/host/authority.h"
#include "parse/host/ip_address.h"

/* ---- Signing key ---- */

struct SigningKey {
    EVP_PKEY *pair;
    char public_text[SIGNING_ID_TEXT];
    char id[SIGNING_ID_TEXT];
};

static Result write_text(char text[SIGNING_ID_TEXT], const uint8_t *bytes, size_t length)
{
    Buffer buffer = {.limit = SIGNING_ID_TEXT};
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
    FILE *file = NULL;
    Result rc = file_open_private(&file, path, error);
    if (rc != RESULT_OK) {
        return rc;
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

/* ---- Key directory ---- */

static void key_directory_put_card(JsonWriter *json, const KeyDirectoryCard *card)
{
    static const char *const obeyed[] = {"User-Agent",    "Allow",          "Disallow",
                                         "Content-Usage", "Content-Signal", "License",
                                         "Crawl-delay",   "Request-rate",   "Visit-time"};
    json_string(json, "client_name", card->agent);
    json_open(json, "contacts", '[');
    json_string(json, NULL, card->contact);
    json_close(json);
    json_open(json, "web_bot_auth", '{');
    json_string(json, "expected-user-agent", card->user_agent);
    json_string(json, "rfc9309-product-token", card->agent);
    json_open(json, "rfc9309-compliance", '[');
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++) {
        json_string(json, NULL, obeyed[i]);
    }
    json_close(json);
    json_string(json, "trigger", "crawler");
    json_string(json, "purpose", card->purpose);
    json_string(json, "rendering", card->rendering);
    json_string(json, "rate-control", "429");
    if (card->ranges != NULL) {
        json_string(json, "ips_uri", card->ranges);
    }
    json_close(json);
}

Result key_directory_write(const SigningKey *const *keys, size_t n, const KeyDirectoryCard *card,
                           Buffer *out)
{
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_open(&json, "keys", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "kty", "OKP");
        json_string(&json, "crv", "Ed25519");
        json_string(&json, "kid", signing_key_id(keys[i]));
        json_string(&json, "x", signing_key_public(keys[i]));
        json_string(&json, "use", "sig");
        json_close(&json);
    }
    json_close(&json);
    if (card != NULL) {
        key_directory_put_card(&json, card);
    }
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

Result key_directory_write_addresses(const char *const *addresses, size_t n, WallTime now,
                                     Buffer *out, Buffer *error)
{
    char time[CLOCK_TEXT_BYTES];
    size_t before = out->length;
    (void)buffer_printf(out, "{\"creationTime\":\"%s\",\"prefixes\":[", wall_format_iso(now, time));
    for (size_t i = 0; i < n; i++) {
        IpRange range;
        if (ip_range_parse(addresses[i], strlen(addresses[i]), &range) != RESULT_OK) {
            (void)buffer_printf(error, "'%s' is not an address or prefix such as 192.0.2.0/28",
                                addresses[i]);
            return RESULT_INVALID;
        }
        char text[IP_ADDRESS_TEXT_BYTES];
        (void)buffer_printf(out, "%s{\"%s\":\"%s/%u\"}", i == 0 ? "" : ",",
                            range.first.v6 ? "ipv6Prefix" : "ipv4Prefix",
                            ip_address_format(&range.first, text),
                            range.first.v6 ? range.prefix : range.prefix - 96);
    }
    (void)buffer_append_string(out, "]}\n");
    return buffer_end(out, before);
}

/* ---- Message signature ---- */

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
static void append_params(Buffer *out, const SigningKey *key, const SignatureTerms *terms)
{
    (void)buffer_append_string(out, "(\"@authority\"");
    if (terms->agent_key != NULL) {
        (void)buffer_printf(out, " \"signature-agent\";key=\"%s\"", terms->agent_key);
    }
    (void)buffer_printf(out,
                        ");created=%" PRId64 ";keyid=\"%s\";alg=\"ed25519\";expires=%" PRId64
                        ";nonce=\"%s\";tag=\"web-bot-auth\"",
                        terms->created_s, signing_key_id(key), terms->expires_s, terms->nonce);
}

/* RFC 9421 2.5. */
static Result append_base(Buffer *base, const SigningKey *key, const SignatureTerms *terms)
{
    (void)buffer_printf(base, "\"@authority\": %.*s\n", (int)terms->authority_length,
                        terms->authority);
    if (terms->agent_key != NULL) {
        (void)buffer_printf(base, "\"signature-agent\";key=\"%s\": \"%s\"\n", terms->agent_key,
                            terms->agent);
    }
    (void)buffer_append_string(base, "\"@signature-params\": ");
    append_params(base, key, terms);
    return buffer_end(base, 0);
}

Result message_signature_write(const SigningKey *key, const SignatureTerms *terms,
                               SignatureLines *lines)
{
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    Buffer base = {.limit = LINE_BYTES};
    Result rc = append_base(&base, key, terms);
    if (rc == RESULT_OK) {
        rc = signing_key_sign(key, base.data, base.length, signature);
    }
    buffer_destroy(&base);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (terms->agent_key != NULL) {
        (void)buffer_printf(&lines->agent, "Signature-Agent: %s=\"%s\"", terms->agent_key,
                            terms->agent);
    }
    (void)buffer_printf(&lines->input, "Signature-Input: %s=", terms->label);
    append_params(&lines->input, key, terms);
    (void)buffer_printf(&lines->signature, "Signature: %s=:", terms->label);
    (void)base64_append(&lines->signature, signature, sizeof signature, BASE64_STANDARD);
    (void)buffer_append_char(&lines->signature, ':');
    rc = result_first(buffer_end(&lines->agent, 0), buffer_end(&lines->input, 0));
    return result_first(rc, buffer_end(&lines->signature, 0));
}

Result message_signature_of(const Signer *signer, const char *url, size_t length, WallTime now,
                            SignatureLines *lines)
{
    uint8_t bytes[NONCE_BYTES];
    Authority at = authority_of(url, length);
    Buffer nonce = {.limit = LINE_BYTES};
    Result rc = RAND_bytes(bytes, NONCE_BYTES) == 1 ? RESULT_OK : RESULT_INTERNAL;
    if (rc == RESULT_OK) {
        rc = base64_append(&nonce, bytes, sizeof bytes, BASE64_STANDARD);
    }
    SignatureTerms terms = {.label = "sig1",
                            .agent_key = *signer->agent == '\0' ? NULL : "sig1",
                            .agent = signer->agent,
                            .authority = url + at.host,
                            .authority_length = at.end - at.host,
                            .created_s = wall_seconds(now),
                            .expires_s = wall_seconds(now) + signer->valid_s,
                            .nonce = buffer_string(&nonce)};
    if (rc == RESULT_OK) {
        rc = message_signature_write(signer->key, &terms, lines);
    }
    buffer_destroy(&nonce);
    return rc;
}
