#include "command/cluster/cluster_accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/file.h"

#define KEY_BYTES   32u
#define NKEY_BYTES  64u /* of its text, the end included */
#define PREFIX_USER (20u << 3)
#define PREFIX_SEED (18u << 3)

/* ---- keys ---- */

/* As XMODEM has it. */
static uint16_t cluster_accounts_crc(const uint8_t *bytes, size_t length)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < length * 8; i++) {
        unsigned bit = (unsigned)bytes[i / 8] >> (7 - i % 8) & 1u;
        unsigned high = crc >> 15;
        crc = (uint16_t)((unsigned)crc << 1 ^ (high != bit ? 0x1021u : 0));
    }
    return crc;
}

/* Bytes and their CRC, in base32 without padding. */
static void cluster_accounts_encode(uint8_t *bytes, size_t length, char text[NKEY_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint16_t crc = cluster_accounts_crc(bytes, length);
    size_t n = 0;
    bytes[length++] = (uint8_t)crc;
    bytes[length++] = (uint8_t)(crc >> 8);
    for (size_t bit = 0; bit < length * 8; bit += 5) {
        unsigned two = (unsigned)bytes[bit / 8] << 8;
        two |= bit / 8 + 1 < length ? bytes[bit / 8 + 1] : 0u;
        text[n++] = digits[two >> (11 - bit % 8) & 31u];
    }
    text[n] = '\0';
}

/* A new pair, as texts; the seed is its secret half. */
static Result cluster_accounts_make_key(char public[NKEY_BYTES], char seed[NKEY_BYTES])
{
    uint8_t secret[KEY_BYTES];
    uint8_t bytes[KEY_BYTES + 4] = {PREFIX_USER};
    size_t length = KEY_BYTES;
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        return RESULT_IO;
    }
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, sizeof secret);
    bool good = key != NULL && EVP_PKEY_get_raw_public_key(key, bytes + 1, &length) == 1;
    EVP_PKEY_free(key);
    cluster_accounts_encode(bytes, 1 + KEY_BYTES, public);
    bytes[0] = PREFIX_SEED | PREFIX_USER >> 5;
    bytes[1] = (uint8_t)((PREFIX_USER & 31u) << 3);
    memcpy(bytes + 2, secret, sizeof secret);
    cluster_accounts_encode(bytes, 2 + KEY_BYTES, seed);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(bytes, sizeof bytes);
    return good ? RESULT_OK : RESULT_MEMORY;
}

/* ---- files ---- */

static Result cluster_accounts_save(const char *directory, const char *name, const Buffer *text,
                                    Buffer *error)
{
    Path path;
    int fd = open(file_path(&path, "%s/%s", directory, name),
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    Result rc = fd < 0 && errno == EEXIST ? RESULT_EXISTS : RESULT_IO;
    if (fd >= 0) {
        rc = file_write(fd, text->data, text->length);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path.text, strerror(errno));
    }
    file_close_fd(fd);
    return rc;
}

/* Makes a key, writes it to DIR/NAME.nkey, and appends its public half to the configuration. */
static Result cluster_accounts_add_user(const char *directory, const char *name, Buffer *conf,
                                        Buffer *error)
{
    char public[NKEY_BYTES], seed[NKEY_BYTES], file[64];
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    (void)snprintf(file, sizeof file, "%s.nkey", name);
    Result rc = cluster_accounts_make_key(public, seed);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&text, "nkey %s\n%s\n", public, seed);
    }
    if (rc == RESULT_OK) {
        rc = cluster_accounts_save(directory, file, &text, error);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(conf, "      # %s\n      { nkey: %s, permissions: {\n", name, public);
    }
    explicit_bzero(seed, sizeof seed);
    if (text.data != NULL) {
        explicit_bzero(text.data, text.length);
    }
    buffer_destroy(&text);
    return rc;
}

/* ---- the configuration ---- */

/* A request is answered once; that may take as long as a commit, or as URLs are told again. */
#define ANSWERS "allow_responses: { max: 1, expires: \"30m\" } } },\n"

static Result cluster_accounts_add_agent(const char *crawl, uint32_t agent, Buffer *conf)
{
    static const char *const shared[] = {"table", "edicts", "ledger", "end", "config"};
    size_t before = conf->length;
    (void)buffer_printf(conf,
                        "        publish: [ \"ragno.%s.*.*\", "
                        "\"$JS.API.STREAM.MSG.GET.KV_ragno_%s\", "
                        "\"$JS.API.STREAM.CREATE.KV_ragno_%s\", \"$KV.ragno_%s.agent.%u\"",
                        crawl, crawl, crawl, crawl, agent);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        (void)buffer_printf(conf, ", \"$KV.ragno_%s.%s\"", crawl, shared[i]);
    }
    (void)buffer_printf(conf,
                        " ],\n        subscribe: [ \"ragno.%s.*.%u\", \"$KV.ragno_%s.>\", "
                        "\"_INBOX.>\" ],\n        " ANSWERS,
                        crawl, agent, crawl);
    return buffer_end(conf, before);
}

/* What the server listens to: HOST:PORT of the first URL. */
static Result cluster_accounts_begin(const Config *config, const char *directory, Buffer *conf)
{
    const char *url = config->cluster_url;
    const char *host = strstr(url, "://");
    host = host == NULL ? url : host + 3;
    int length = (int)strcspn(host, ",/");
    bool tls = strncmp(url, "tls://", 6) == 0;
    char *path = realpath(directory, NULL);
    Result rc = path == NULL
                    ? RESULT_IO
                    : buffer_printf(conf,
                                    "# Made by `ragno cluster init --write`: nobody but the "
                                    "users below may do anything.\n"
                                    "listen: \"%.*s\"\n"
                                    "jetstream { store_dir: \"%s/jetstream\" }\n",
                                    length, host, path);
    free(path);
    if (rc == RESULT_OK && tls) {
        rc = buffer_append_string(
            conf, "tls {\n  cert_file: \"/etc/nats/server.pem\" # of this server: to be filled in\n"
                  "  key_file: \"/etc/nats/server.key\"\n}\n");
    }
    return rc == RESULT_OK ? buffer_printf(conf,
                                           "accounts {\n  ragno_%s {\n    jetstream: enabled\n"
                                           "    users: [\n",
                                           config->cluster_name)
                           : rc;
}

Result cluster_accounts_write(const Config *config, uint32_t agents, const char *directory,
                              Buffer *error)
{
    Buffer conf = {.limit = BUFFER_NO_LIMIT};
    char name[32];
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        (void)buffer_printf(error, "%s: %s", directory, strerror(errno));
        return RESULT_IO;
    }
    Result rc = cluster_accounts_begin(config, directory, &conf);
    for (uint32_t i = 0; rc == RESULT_OK && i < agents; i++) {
        (void)snprintf(name, sizeof name, "agent-%u", i);
        rc = cluster_accounts_add_user(directory, name, &conf, error);
        if (rc == RESULT_OK) {
            rc = cluster_accounts_add_agent(config->cluster_name, i, &conf);
        }
    }
    if (rc == RESULT_OK) {
        rc = cluster_accounts_add_user(directory, "operator", &conf, error);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(&conf,
                           "        publish: [ \"ragno.%s.ask.*\", \"$KV.ragno_%s.table\", "
                           "\"$JS.API.STREAM.MSG.GET.KV_ragno_%s\", "
                           "\"$JS.API.STREAM.CREATE.KV_ragno_%s\" ],\n"
                           "        subscribe: [ \"$KV.ragno_%s.>\", \"_INBOX.>\" ] } },\n",
                           config->cluster_name, config->cluster_name, config->cluster_name,
                           config->cluster_name, config->cluster_name);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&conf, "    ]\n  }\n}\n");
    }
    if (rc == RESULT_OK) {
        rc = cluster_accounts_save(directory, "nats.conf", &conf, error);
    }
    buffer_destroy(&conf);
    return rc;
}
