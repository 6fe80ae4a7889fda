#include "store/warc/warc_format.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/core/ascii.h"

bool warc_bytes_are(WarcBytes bytes, const char *word)
{
    return strlen(word) == bytes.length && strncasecmp(bytes.bytes, word, bytes.length) == 0;
}

bool warc_bytes_next_line(WarcBytes *text, WarcBytes *line)
{
    const char *lf = text->length == 0 ? NULL : memchr(text->bytes, '\n', text->length);
    size_t n = lf == NULL ? text->length : (size_t)(lf - text->bytes);
    bool is_there = text->length > 0;
    *line = warc_bytes(text->bytes, n > 0 && text->bytes[n - 1] == '\r' ? n - 1 : n);
    *text = lf == NULL ? warc_bytes("", 0) : warc_bytes(lf + 1, text->length - n - 1);
    return is_there;
}

WarcBytes warc_bytes_trim(WarcBytes bytes)
{
    ascii_trim_blanks(&bytes.bytes, &bytes.length);
    return bytes;
}

bool warc_field_split(WarcBytes line, WarcField *field)
{
    const char *colon = line.length == 0 ? NULL : memchr(line.bytes, ':', line.length);
    if (colon == NULL) {
        return false;
    }
    size_t n = (size_t)(colon - line.bytes);
    field->name = warc_bytes_trim(warc_bytes(line.bytes, n));
    field->value = warc_bytes_trim(warc_bytes(colon + 1, line.length - n - 1));
    return true;
}

bool warc_fields_find(const WarcField *fields, size_t n, const char *name, WarcBytes *value)
{
    for (size_t i = 0; i < n; i++) {
        if (warc_bytes_are(fields[i].name, name)) {
            *value = fields[i].value;
            return true;
        }
    }
    return false;
}

bool warc_bytes_number(WarcBytes bytes, uint64_t max, uint64_t *number)
{
    return ascii_number(bytes.bytes, bytes.length, max, number);
}

static const char *const type_names[WARC_TYPES] = {
    [WARC_WARCINFO] = "warcinfo",     [WARC_RESPONSE] = "response",
    [WARC_RESOURCE] = "resource",     [WARC_REQUEST] = "request",
    [WARC_METADATA] = "metadata",     [WARC_REVISIT] = "revisit",
    [WARC_CONVERSION] = "conversion", [WARC_CONTINUATION] = "continuation",
};

const char *warc_type_name(WarcType type)
{
    return (unsigned)type < WARC_TYPES ? type_names[type] : "unknown";
}

WarcType warc_type_of(WarcBytes name)
{
    unsigned type = 0;
    while (type < WARC_TYPES && !warc_bytes_are(name, type_names[type])) {
        type++;
    }
    return (WarcType)type;
}

const char *warc_truncation_name(WarcTruncation truncation)
{
    static const char *const names[] = {[WARC_WHOLE] = NULL,
                                        [WARC_TRUNCATED_LENGTH] = "length",
                                        [WARC_TRUNCATED_TIME] = "time",
                                        [WARC_TRUNCATED_DISCONNECT] = "disconnect",
                                        [WARC_TRUNCATED_UNSPECIFIED] = "unspecified"};
    return names[truncation];
}

static const char base32_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

char *warc_digest_format(const WarcDigest *digest, char text[WARC_DIGEST_TEXT])
{
    char *out = text;
    memcpy(out, "sha1:", 5);
    out += 5;
    for (size_t i = 0; i < WARC_DIGEST_BYTES; i += 5) {
        uint64_t five = 0;
        for (size_t k = 0; k < 5; k++) {
            five = five << 8 | digest->bytes[i + k];
        }
        for (int shift = 35; shift >= 0; shift -= 5) {
            *out++ = base32_letters[five >> shift & 31];
        }
    }
    *out = '\0';
    return text;
}

bool warc_digest_parse(WarcBytes text, WarcDigest *digest)
{
    if (text.length != 37 || strncasecmp(text.bytes, "sha1:", 5) != 0) {
        return false;
    }
    const char *in = text.bytes + 5;
    for (size_t i = 0; i < WARC_DIGEST_BYTES; i += 5) {
        uint64_t five = 0;
        for (size_t k = 0; k < 8; k++, in++) {
            const char *letter = *in == '\0' ? NULL : strchr(base32_letters, *in);
            if (letter == NULL) {
                return false;
            }
            five = five << 5 | (uint64_t)(letter - base32_letters);
        }
        for (size_t k = 0; k < 5; k++) {
            digest->bytes[i + k] = (uint8_t)(five >> (32 - 8 * k));
        }
    }
    return true;
}

struct WarcHasher {
    EVP_MD *algorithm;
    EVP_MD_CTX *context;
};

Result warc_hasher_new(WarcHasher **hasher)
{
    *hasher = NULL;
    WarcHasher *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return RESULT_MEMORY;
    }
    /* Fetched once: an implicit fetch for every digest costs more than hashing a small record. */
    h->algorithm = EVP_MD_fetch(NULL, "SHA1", NULL);
    h->context = EVP_MD_CTX_new();
    if (h->algorithm == NULL || h->context == NULL) {
        warc_hasher_delete(h);
        return RESULT_MEMORY;
    }
    *hasher = h;
    return RESULT_OK;
}

void warc_hasher_delete(WarcHasher *hasher)
{
    if (hasher != NULL) {
        EVP_MD_CTX_free(hasher->context);
        EVP_MD_free(hasher->algorithm);
        free(hasher);
    }
}

Result warc_hasher_digest(WarcHasher *hasher, WarcBytes head, WarcBytes tail, WarcDigest *digest)
{
    bool done = EVP_DigestInit_ex2(hasher->context, hasher->algorithm, NULL) == 1 &&
                EVP_DigestUpdate(hasher->context, head.bytes, head.length) == 1 &&
                EVP_DigestUpdate(hasher->context, tail.bytes, tail.length) == 1 &&
                EVP_DigestFinal_ex(hasher->context, digest->bytes, NULL) == 1;
    return done ? RESULT_OK : RESULT_INTERNAL;
}

Result warc_hasher_pair(WarcHasher *hasher, WarcBytes head, WarcBytes tail, WarcDigest *both,
                        WarcDigest *tail_only)
{
    Result rc = warc_hasher_digest(hasher, head, tail, both);
    if (rc != RESULT_OK) {
        return rc;
    }
    return warc_hasher_digest(hasher, tail, warc_bytes("", 0), tail_only);
}

static const char id_start[] = "<urn:uuid:";
static const char hex_digits[] = "0123456789abcdef";

/* A UUID has dashes before its bytes 4, 6, 8 and 10. */
static bool dash_before(size_t i)
{
    return i == 4 || i == 6 || i == 8 || i == 10;
}

char *warc_id_format(const WarcId *id, char text[WARC_ID_TEXT])
{
    char *out = text;
    memcpy(out, id_start, sizeof id_start - 1);
    out += sizeof id_start - 1;
    for (size_t i = 0; i < sizeof id->bytes; i++) {
        if (dash_before(i)) {
            *out++ = '-';
        }
        *out++ = hex_digits[id->bytes[i] >> 4];
        *out++ = hex_digits[id->bytes[i] & 15];
    }
    *out++ = '>';
    *out = '\0';
    return text;
}

bool warc_id_parse(WarcBytes text, WarcId *id)
{
    size_t start = sizeof id_start - 1;
    if (text.length != start + 37 || memcmp(text.bytes, id_start, start) != 0 ||
        text.bytes[text.length - 1] != '>') {
        return false;
    }
    const char *in = text.bytes + start;
    for (size_t i = 0; i < sizeof id->bytes; i++) {
        if (dash_before(i) && *in++ != '-') {
            return false;
        }
        const char *high = in[0] == '\0' ? NULL : strchr(hex_digits, in[0]);
        const char *low = in[1] == '\0' ? NULL : strchr(hex_digits, in[1]);
        if (high == NULL || low == NULL) {
            return false;
        }
        id->bytes[i] = (uint8_t)((high - hex_digits) << 4 | (low - hex_digits));
        in += 2;
    }
    return true;
}

void warc_ids_init(WarcIds *ids)
{
    ids->used = sizeof ids->random;
}

Result warc_ids_next(WarcIds *ids, WarcId *id)
{
    static_assert(sizeof ids->random % sizeof id->bytes == 0, "ids are cut from whole blocks");
    if (ids->used == sizeof ids->random) {
        size_t n = 0;
        while (n < sizeof ids->random) {
            ssize_t got = getrandom(ids->random + n, sizeof ids->random - n, 0);
            if (got < 0 && errno != EINTR) {
                return RESULT_IO;
            }
            n += got > 0 ? (size_t)got : 0;
        }
        ids->used = 0;
    }
    memcpy(id->bytes, ids->random + ids->used, sizeof id->bytes);
    ids->used += sizeof id->bytes;
    /* RFC 4122 4.4: version 4 in byte 6, variant 10 in byte 8. */
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | 0x40);
    id->bytes[8] = (uint8_t)((id->bytes[8] & 0x3f) | 0x80);
    return RESULT_OK;
}
