#include "store/warc/warc_format.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

bool warc_bytes_are(WarcBytes bytes, const char *word)
{
    return strlen(word) == bytes.length && strncasecmp(bytes.bytes, word, bytes.length) == 0;
}

static bool warc_format_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

WarcBytes warc_bytes_trim(WarcBytes bytes)
{
    while (bytes.length > 0 && warc_format_is_blank(bytes.bytes[0])) {
        bytes.bytes++;
        bytes.length--;
    }
    while (bytes.length > 0 && warc_format_is_blank(bytes.bytes[bytes.length - 1])) {
        bytes.length--;
    }
    return bytes;
}

bool warc_bytes_number(WarcBytes bytes, uint64_t max, uint64_t *number)
{
    uint64_t n = 0;
    if (bytes.length == 0) {
        return false;
    }
    for (size_t i = 0; i < bytes.length; i++) {
        unsigned digit = (unsigned)(unsigned char)bytes.bytes[i] - '0';
        if (digit > 9 || digit > max || n > (max - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    *number = n;
    return true;
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
    switch (truncation) {
    case WARC_TRUNCATED_LENGTH:
        return "length";
    case WARC_TRUNCATED_TIME:
        return "time";
    case WARC_TRUNCATED_DISCONNECT:
        return "disconnect";
    case WARC_TRUNCATED_UNSPECIFIED:
        return "unspecified";
    case WARC_WHOLE:
        break;
    }
    return NULL;
}

/* Seconds and the microseconds within them, also before 1970. */
static struct tm broken_down(WallTime t, int *us)
{
    int64_t rest = t.us % 1000000;
    time_t seconds = (time_t)(t.us / 1000000);
    if (rest < 0) {
        rest += 1000000;
        seconds--;
    }
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm);
    *us = (int)rest;
    return tm;
}

/* Writes the last width digits of n. */
static char *put_digits(char *at, int n, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        at[i] = (char)('0' + n % 10);
        n /= 10;
    }
    return at + width;
}

/* Year to second with these characters between; '\0' is none. By hand: with several dates per page
 * strftime stands out in the profile. */
static char *put_seconds(char *at, const struct tm *tm, char in_date, char between, char in_time)
{
    const int numbers[] = {tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday,
                           tm->tm_hour,        tm->tm_min,     tm->tm_sec};
    const char separators[] = {in_date, in_date, between, in_time, in_time, '\0'};
    for (int i = 0; i < 6; i++) {
        at = put_digits(at, numbers[i], i == 0 ? 4 : 2);
        if (separators[i] != '\0') {
            *at++ = separators[i];
        }
    }
    return at;
}

char *warc_date_format(WallTime t, char text[WARC_DATE_BYTES])
{
    int us = 0;
    struct tm tm = broken_down(t, &us);
    char *at = put_seconds(text, &tm, '-', 'T', ':');
    *at++ = '.';
    at = put_digits(at, us, 6);
    *at++ = 'Z';
    *at = '\0';
    return text;
}

char *warc_date_timestamp(WallTime t, char text[WARC_DATE_BYTES])
{
    int us = 0;
    struct tm tm = broken_down(t, &us);
    *put_seconds(text, &tm, '\0', '\0', '\0') = '\0';
    return text;
}

/* The two or four digits at text + at; -1 when they are none. */
static int digits_at(const char *text, size_t at, size_t count)
{
    uint64_t n = 0;
    return warc_bytes_number(warc_bytes(text + at, count), 9999, &n) ? (int)n : -1;
}

bool warc_date_parse(WarcBytes text, WallTime *t)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";
    size_t fixed = sizeof shape - 1;
    if (text.length < fixed + 1 || text.bytes[text.length - 1] != 'Z') {
        return false;
    }
    for (size_t i = 0; i < fixed; i++) {
        if (shape[i] != 'd' && shape[i] != text.bytes[i]) {
            return false;
        }
    }
    struct tm tm = {.tm_year = digits_at(text.bytes, 0, 4) - 1900,
                    .tm_mon = digits_at(text.bytes, 5, 2) - 1,
                    .tm_mday = digits_at(text.bytes, 8, 2),
                    .tm_hour = digits_at(text.bytes, 11, 2),
                    .tm_min = digits_at(text.bytes, 14, 2),
                    .tm_sec = digits_at(text.bytes, 17, 2)};
    if (tm.tm_year < -1900 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 ||
        tm.tm_sec < 0 || tm.tm_sec > 60) {
        return false;
    }
    size_t n_decimals = 0;
    int64_t us = 0;
    if (text.bytes[fixed] == '.') {
        n_decimals = text.length - fixed - 2;
        uint64_t fraction = 0;
        if (n_decimals > 9 || !warc_bytes_number(warc_bytes(text.bytes + fixed + 1, n_decimals),
                                                 999999999, &fraction)) {
            return false;
        }
        us = (int64_t)fraction;
        for (size_t i = n_decimals; i < 6; i++) {
            us *= 10;
        }
        for (size_t i = n_decimals; i > 6; i--) {
            us /= 10;
        }
    } else if (text.length != fixed + 1) {
        return false;
    }
    t->us = (int64_t)timegm(&tm) * 1000000 + us;
    return true;
}

bool warc_date_of_timestamp(WarcBytes digits, WallTime *t)
{
    const char *at = digits.bytes;
    char text[WARC_DATE_BYTES];
    if (digits.length < 14) {
        return false;
    }
    int n = snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", at, at + 4, at + 6,
                     at + 8, at + 10, at + 12);
    return warc_date_parse(warc_bytes(text, (size_t)n), t);
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
