#include "parse/url/url_idna.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "parse/url/url_encode.h"
#include "parse/url/url_idna_tables.h"

/* ---- Normalization form C of host names ---- */

enum {
    HANGUL_BASE = 0xAC00,
    HANGUL_L = 0x1100,
    HANGUL_V = 0x1161,
    HANGUL_T = 0x11A7,
    HANGUL_N_L = 19,
    HANGUL_N_V = 21,
    HANGUL_N_T = 28,
    HANGUL_N = HANGUL_N_L * HANGUL_N_V * HANGUL_N_T,
};

void url_codes_destroy(UrlCodes *codes)
{
    free(codes->at);
    *codes = (UrlCodes){.at = NULL};
}

/* RESULT_MEMORY. */
static Result url_codes_add(UrlCodes *codes, uint32_t c)
{
    return array_add(&codes->at, &codes->n, sizeof c, &c);
}

/* The packed properties of a code point (url_idna_tables.h). */
static unsigned url_nfc_properties(uint32_t c)
{
    size_t low = 0;
    size_t high = url_idna_n_properties;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (url_idna_property_starts[middle] <= c) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return url_idna_properties[low];
}

static unsigned combining_class(uint32_t c)
{
    return url_nfc_properties(c) & 0xFFu;
}

static const UrlIdnaPair *find_decomposition(uint32_t c)
{
    size_t low = 0;
    size_t high = url_idna_n_pairs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const UrlIdnaPair *pair = &url_idna_pairs[url_idna_by_composed[middle]];
        if (pair->composed == c) {
            return pair;
        }
        if (pair->composed < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* The second part of a pair never decomposes further. */
static Result add_decomposed(UrlCodes *out, uint32_t c)
{
    if (c >= HANGUL_BASE && c < HANGUL_BASE + HANGUL_N) {
        uint32_t i = c - HANGUL_BASE;
        uint32_t t = i % HANGUL_N_T;
        Result rc = url_codes_add(out, HANGUL_L + i / (HANGUL_N_V * HANGUL_N_T));
        if (rc == RESULT_OK) {
            rc = url_codes_add(out, HANGUL_V + i % (HANGUL_N_V * HANGUL_N_T) / HANGUL_N_T);
        }
        return rc == RESULT_OK && t > 0 ? url_codes_add(out, HANGUL_T + t) : rc;
    }
    uint32_t tail[8];
    size_t n_tail = 0;
    const UrlIdnaPair *pair = find_decomposition(c);
    while (pair != NULL && n_tail < sizeof tail / sizeof *tail) {
        tail[n_tail++] = pair->second;
        c = pair->first;
        pair = find_decomposition(c);
    }
    Result rc = url_codes_add(out, c);
    while (rc == RESULT_OK && n_tail > 0) {
        rc = url_codes_add(out, tail[--n_tail]);
    }
    return rc;
}

/* Canonical order: runs of marks are sorted by class, stably. Hosts are short: insertion. */
static void reorder(UrlCodes *codes)
{
    for (size_t i = 1; i < codes->n; i++) {
        uint32_t c = codes->at[i];
        unsigned class = combining_class(c);
        size_t to = i;
        while (class != 0 && to > 0 && combining_class(codes->at[to - 1]) > class) {
            codes->at[to] = codes->at[to - 1];
            to--;
        }
        codes->at[to] = c;
    }
}

/* The primary composite of two code points, or 0. */
static uint32_t compose_pair(uint32_t a, uint32_t b)
{
    if (a >= HANGUL_L && a < HANGUL_L + HANGUL_N_L && b >= HANGUL_V && b < HANGUL_V + HANGUL_N_V) {
        return HANGUL_BASE + ((a - HANGUL_L) * HANGUL_N_V + (b - HANGUL_V)) * HANGUL_N_T;
    }
    if (a >= HANGUL_BASE && a < HANGUL_BASE + HANGUL_N && (a - HANGUL_BASE) % HANGUL_N_T == 0 &&
        b > HANGUL_T && b < HANGUL_T + HANGUL_N_T) {
        return a + (b - HANGUL_T);
    }
    size_t low = 0;
    size_t high = url_idna_n_pairs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const UrlIdnaPair *pair = &url_idna_pairs[middle];
        if (pair->first == a && pair->second == b) {
            return pair->composed;
        }
        if (pair->first < a || (pair->first == a && pair->second < b)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

/* Combines each code point with the last starter unless something of its class or higher is in
 * between. */
static void compose(UrlCodes *codes)
{
    size_t to = 0;
    size_t starter = 0;
    bool has_starter = false;
    unsigned last_class = 0;
    for (size_t i = 0; i < codes->n; i++) {
        uint32_t c = codes->at[i];
        unsigned class = combining_class(c);
        bool blocked = !has_starter || (to > starter + 1 && last_class >= class);
        uint32_t composed = blocked ? 0 : compose_pair(codes->at[starter], c);
        if (composed != 0) {
            codes->at[starter] = composed;
            continue;
        }
        if (class == 0) {
            starter = to;
            has_starter = true;
        }
        last_class = class;
        codes->at[to++] = c;
    }
    codes->n = to;
}

Result url_nfc(const uint32_t *in, size_t n, UrlCodes *out)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        rc = add_decomposed(out, in[i]);
    }
    if (rc == RESULT_OK) {
        reorder(out);
        compose(out);
    }
    return rc;
}

/* ---- Domain to ASCII ---- */

/* Domain to ASCII as the URL standard calls UTS 46 (Unicode 16): CheckHyphens, UseSTD3ASCIIRules,
 * VerifyDnsLength and transitional processing off, CheckBidi and CheckJoiners on.
 *
 * libidn2 is not used for it: it applies IDNA 2008 on top of UTS 46 and so refuses names that
 * browsers open (emoji, "a--b" beside a non-ASCII letter, long labels). */

#define IDNA_MAX_BYTES 4096 /* a name has 253 at most; bounds the quadratic steps of Punycode */
#define PREFIX_CODES   4    /* "xn--" */

static UrlIdnaKind find_mapping(uint32_t c, int32_t *value)
{
    size_t low = 0;
    size_t high = url_idna_n_ranges;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if ((url_idna_ranges[middle] & 0x1FFFFF) <= c) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *value = url_idna_values[low];
    UrlIdnaKind kind = (UrlIdnaKind)(url_idna_ranges[low] >> 21);
    if (kind == URL_IDNA_ALTERNATE) {
        *value = 1;
        kind = ((c - url_idna_ranges[low]) & 1) == 0 ? URL_IDNA_SHIFTED : URL_IDNA_VALID;
    }
    return kind;
}

static Result map_code(UrlCodes *out, uint32_t c)
{
    int32_t value = 0;
    Result rc = RESULT_OK;
    switch (find_mapping(c, &value)) {
    case URL_IDNA_VALID:
        return url_codes_add(out, c);
    case URL_IDNA_SHIFTED:
        return url_codes_add(out, (uint32_t)((int32_t)c + value));
    case URL_IDNA_MAPPED:
        for (int32_t i = 0; i < value % 32 && rc == RESULT_OK; i++) {
            rc = url_codes_add(out, url_idna_pool[value / 32 + i]);
        }
        return rc;
    case URL_IDNA_IGNORED:
        return RESULT_OK;
    case URL_IDNA_DISALLOWED:
    case URL_IDNA_ALTERNATE:
        break;
    }
    return RESULT_INVALID;
}

static bool is_ascii(const uint32_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (codes[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

static bool has_prefix(const uint32_t *codes, size_t n)
{
    return n >= PREFIX_CODES && codes[0] == 'x' && codes[1] == 'n' && codes[2] == '-' &&
           codes[3] == '-';
}

/* Punycode (RFC 3492). */
enum { PUNY_BASE = 36, PUNY_T_MIN = 1, PUNY_T_MAX = 26, PUNY_FIRST_BIAS = 72, PUNY_FIRST = 128 };

static uint32_t puny_adapt(uint32_t delta, uint32_t n, bool first)
{
    delta = first ? delta / 700 : delta / 2;
    delta += delta / n;
    uint32_t k = 0;
    while (delta > ((PUNY_BASE - PUNY_T_MIN) * PUNY_T_MAX) / 2) {
        delta /= PUNY_BASE - PUNY_T_MIN;
        k += PUNY_BASE;
    }
    return k + (PUNY_BASE - PUNY_T_MIN + 1) * delta / (delta + 38);
}

static uint32_t puny_threshold(uint32_t k, uint32_t bias)
{
    if (k <= bias) {
        return PUNY_T_MIN;
    }
    return k - bias >= PUNY_T_MAX ? PUNY_T_MAX : k - bias;
}

static uint32_t puny_digit(uint32_t c)
{
    if (c >= 'a' && c <= 'z') {
        return c - 'a';
    }
    return c >= '0' && c <= '9' ? c - '0' + 26 : PUNY_BASE;
}

/* Reads one generalised variable-length integer on top of *i. */
static bool puny_read(const uint32_t **p, const uint32_t *end, uint32_t bias, uint32_t *i)
{
    uint64_t weight = 1;
    uint64_t value = *i;
    for (uint32_t k = PUNY_BASE;; k += PUNY_BASE) {
        uint32_t digit = *p < end ? puny_digit(*(*p)++) : PUNY_BASE;
        if (digit >= PUNY_BASE) {
            return false;
        }
        value += digit * weight;
        if (value > INT32_MAX) {
            return false;
        }
        uint32_t t = puny_threshold(k, bias);
        if (digit < t) {
            *i = (uint32_t)value;
            return true;
        }
        weight *= PUNY_BASE - t;
        if (weight > INT32_MAX) {
            return false;
        }
    }
}

/* Appends the decoded label, without "xn--", to out. */
static Result puny_decode(const uint32_t *p, size_t n, UrlCodes *out)
{
    const uint32_t *end = p + n;
    size_t start = out->n;
    size_t basic = n;
    while (basic > 0 && p[basic - 1] != '-') {
        basic--;
    }
    for (size_t k = 0; k + 1 < basic; k++) {
        Result rc = url_codes_add(out, p[k]);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    p += basic;
    uint32_t code = PUNY_FIRST;
    uint32_t bias = PUNY_FIRST_BIAS;
    uint32_t i = 0;
    while (p < end) {
        uint32_t before = i;
        if (!puny_read(&p, end, bias, &i)) {
            return RESULT_INVALID;
        }
        Result rc = url_codes_add(out, 0);
        if (rc != RESULT_OK) {
            return rc;
        }
        uint32_t length = (uint32_t)(out->n - start);
        bias = puny_adapt(i - before, length, before == 0);
        code += i / length;
        i %= length;
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
            return RESULT_INVALID;
        }
        uint32_t *at = out->at + start + i;
        memmove(at + 1, at, (length - 1 - i) * sizeof *at);
        *at = code;
        i++;
    }
    return RESULT_OK;
}

static Result puny_write(Url *out, uint32_t value, uint32_t bias)
{
    for (uint32_t k = PUNY_BASE;; k += PUNY_BASE) {
        uint32_t t = puny_threshold(k, bias);
        uint32_t digit = value < t ? value : t + (value - t) % (PUNY_BASE - t);
        char c = (char)(digit < 26 ? 'a' + digit : '0' + digit - 26);
        Result rc = url_append(out, &c, 1);
        if (rc != RESULT_OK || value < t) {
            return rc;
        }
        value = (value - t) / (PUNY_BASE - t);
    }
}

static Result append_ascii(Url *out, const uint32_t *label, size_t n, uint32_t *n_basic)
{
    *n_basic = 0;
    assert(label != NULL || n == 0);
    for (size_t i = 0; i < n; i++) {
        if (label[i] < 0x80) {
            char c = (char)label[i];
            Result rc = url_append(out, &c, 1);
            if (rc != RESULT_OK) {
                return rc;
            }
            *n_basic += 1;
        }
    }
    return RESULT_OK;
}

/* Appends "xn--" and the label. Deltas fit: at most 0x10FFFF times the bounded length. */
static Result puny_encode(Url *out, const uint32_t *label, size_t n)
{
    uint32_t basic = 0;
    Result rc = url_append(out, "xn--", PREFIX_CODES);
    if (rc == RESULT_OK) {
        rc = append_ascii(out, label, n, &basic);
    }
    if (rc == RESULT_OK && basic > 0) {
        rc = url_append(out, "-", 1);
    }
    uint32_t done = basic;
    uint32_t code = PUNY_FIRST;
    uint32_t bias = PUNY_FIRST_BIAS;
    uint64_t delta = 0;
    while (rc == RESULT_OK && done < n) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < n; i++) {
            next = label[i] >= code && label[i] < next ? label[i] : next;
        }
        delta += (uint64_t)(next - code) * (done + 1);
        code = next;
        for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
            delta += label[i] < code;
            if (delta > INT32_MAX) {
                rc = RESULT_INVALID;
            } else if (label[i] == code) {
                rc = puny_write(out, (uint32_t)delta, bias);
                bias = puny_adapt((uint32_t)delta, done + 1, done == basic);
                delta = 0;
                done++;
            }
        }
        delta++;
        code++;
    }
    return rc;
}

static unsigned joining_type(uint32_t c)
{
    return URL_IDNA_JOINING(url_nfc_properties(c));
}

/* RFC 5892 appendix A: a joiner must follow a virama, or (ZWNJ) stand between letters that join. */
static bool joiner_is_allowed(const uint32_t *label, size_t n, size_t at)
{
    const unsigned virama = 9;
    if (at > 0 && (url_nfc_properties(label[at - 1]) & 0xFF) == virama) {
        return true;
    }
    if (label[at] != 0x200C) {
        return false;
    }
    size_t before = at;
    while (before > 0 && joining_type(label[before - 1]) == JOINING_T) {
        before--;
    }
    size_t after = at + 1;
    while (after < n && joining_type(label[after]) == JOINING_T) {
        after++;
    }
    if (before == 0 || after == n) {
        return false;
    }
    unsigned left = joining_type(label[before - 1]);
    unsigned right = joining_type(label[after]);
    return (left == JOINING_L || left == JOINING_D) && (right == JOINING_R || right == JOINING_D);
}

/* The validity criteria of UTS 46 section 4.1, but for bidi. */
static bool label_is_valid(const uint32_t *label, size_t n)
{
    if (n == 0) {
        return true;
    }
    if (has_prefix(label, n) || (url_nfc_properties(label[0]) & URL_IDNA_IS_MARK) != 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t ignored = 0;
        if (label[i] == '.' || find_mapping(label[i], &ignored) != URL_IDNA_VALID) {
            return false;
        }
        if ((label[i] == 0x200C || label[i] == 0x200D) && !joiner_is_allowed(label, n, i)) {
            return false;
        }
    }
    return true;
}

#define BIDI_BIT(class) (1u << (class))

/* RFC 5893 section 2, the six rules for a label of a bidi domain name. */
static bool label_is_bidi_valid(const uint32_t *label, size_t n)
{
    unsigned neutral = BIDI_BIT(BIDI_EN) | BIDI_BIT(BIDI_ES) | BIDI_BIT(BIDI_CS) |
                       BIDI_BIT(BIDI_ET) | BIDI_BIT(BIDI_ON) | BIDI_BIT(BIDI_BN) |
                       BIDI_BIT(BIDI_NSM);
    if (n == 0) {
        return true;
    }
    unsigned seen = 0;
    for (size_t i = 0; i < n; i++) {
        seen |= BIDI_BIT(URL_IDNA_BIDI(url_nfc_properties(label[i])));
    }
    size_t end = n;
    while (end > 1 && URL_IDNA_BIDI(url_nfc_properties(label[end - 1])) == BIDI_NSM) {
        end--;
    }
    unsigned first = URL_IDNA_BIDI(url_nfc_properties(label[0]));
    unsigned last = BIDI_BIT(URL_IDNA_BIDI(url_nfc_properties(label[end - 1])));
    if (first == BIDI_L) {
        return (seen & ~(neutral | BIDI_BIT(BIDI_L))) == 0 &&
               (last & (BIDI_BIT(BIDI_L) | BIDI_BIT(BIDI_EN))) != 0;
    }
    if (first != BIDI_R && first != BIDI_AL) {
        return false;
    }
    unsigned strong = BIDI_BIT(BIDI_R) | BIDI_BIT(BIDI_AL) | BIDI_BIT(BIDI_AN);
    unsigned numbers = BIDI_BIT(BIDI_EN) | BIDI_BIT(BIDI_AN);
    return (seen & ~(neutral | strong)) == 0 && (seen & numbers) != numbers &&
           (last & (strong | BIDI_BIT(BIDI_EN))) != 0;
}

/* Appends the Unicode form of a mapped label to out, checked but for bidi. */
static Result decode_label(const uint32_t *label, size_t n, UrlCodes *out)
{
    size_t start = out->n;
    Result rc = RESULT_OK;
    if (!has_prefix(label, n)) {
        for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
            rc = url_codes_add(out, label[i]);
        }
        return rc == RESULT_OK && !label_is_valid(label, n) ? RESULT_INVALID : rc;
    }
    if (!is_ascii(label, n)) {
        return RESULT_INVALID;
    }
    rc = puny_decode(label + PREFIX_CODES, n - PREFIX_CODES, out);
    if (rc != RESULT_OK || out->n == start) {
        return rc != RESULT_OK ? rc : RESULT_INVALID;
    }
    const uint32_t *decoded = out->at + start;
    size_t n_decoded = out->n - start;
    if (is_ascii(decoded, n_decoded) || !label_is_valid(decoded, n_decoded)) {
        return RESULT_INVALID;
    }
    UrlCodes normal = {.at = NULL};
    rc = url_nfc(decoded, n_decoded, &normal);
    if (rc == RESULT_OK &&
        (normal.n != n_decoded || memcmp(normal.at, decoded, n_decoded * sizeof *decoded) != 0)) {
        rc = RESULT_INVALID;
    }
    url_codes_destroy(&normal);
    return rc;
}

/* How many codes up to the next "." or the end. */
static size_t label_length(const UrlCodes *codes, size_t start)
{
    size_t end = start;
    while (end < codes->n && codes->at[end] != '.') {
        end++;
    }
    return end - start;
}

/* From mapped and normalised text to the Unicode form of all labels. */
static Result decode_labels(const UrlCodes *mapped, UrlCodes *labels)
{
    size_t start = 0;
    for (;;) {
        size_t n = label_length(mapped, start);
        Result rc = decode_label(mapped->at + start, n, labels);
        start += n;
        if (rc != RESULT_OK || start == mapped->n) {
            return rc;
        }
        rc = url_codes_add(labels, '.');
        if (rc != RESULT_OK) {
            return rc;
        }
        start++;
    }
}

/* From the Unicode form of all labels to their ASCII form. */
static Result encode_labels(const UrlCodes *labels, Url *out)
{
    unsigned rtl = BIDI_BIT(BIDI_R) | BIDI_BIT(BIDI_AL) | BIDI_BIT(BIDI_AN);
    bool bidi = false;
    for (size_t i = 0; i < labels->n && !bidi; i++) {
        bidi = (BIDI_BIT(URL_IDNA_BIDI(url_nfc_properties(labels->at[i]))) & rtl) != 0;
    }
    size_t start = 0;
    for (;;) {
        size_t n = label_length(labels, start);
        const uint32_t *label = labels->at + start;
        if (bidi && !label_is_bidi_valid(label, n)) {
            return RESULT_INVALID;
        }
        uint32_t n_ascii = 0;
        Result rc =
            is_ascii(label, n) ? append_ascii(out, label, n, &n_ascii) : puny_encode(out, label, n);
        start += n;
        if (rc != RESULT_OK || start == labels->n) {
            return rc;
        }
        rc = url_append(out, ".", 1);
        if (rc != RESULT_OK) {
            return rc;
        }
        start++;
    }
}

Result url_idna_append(Url *out, const char *domain, size_t length)
{
    if (length > IDNA_MAX_BYTES) {
        return RESULT_LIMIT;
    }
    UrlCodes mapped = {.at = NULL};
    UrlCodes normal = {.at = NULL};
    UrlCodes labels = {.at = NULL};
    Result rc = RESULT_OK;
    const char *end = domain + length;
    while (domain < end && rc == RESULT_OK) {
        rc = map_code(&mapped, url_utf8_next(&domain));
    }
    if (rc == RESULT_OK && mapped.n == 0) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = url_nfc(mapped.at, mapped.n, &normal);
    }
    if (rc == RESULT_OK) {
        rc = decode_labels(&normal, &labels);
    }
    if (rc == RESULT_OK) {
        rc = encode_labels(&labels, out);
    }
    url_codes_destroy(&mapped);
    url_codes_destroy(&normal);
    url_codes_destroy(&labels);
    return rc;
}
