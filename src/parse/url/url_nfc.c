#include "parse/url/url_nfc.h"

#include <stdbool.h>
#include <stdlib.h>

#include "parse/url/url_idna_tables.h"

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

Result url_codes_add(UrlCodes *codes, uint32_t c)
{
    if (codes->n == codes->capacity) {
        size_t capacity = codes->capacity == 0 ? 64 : codes->capacity * 2;
        uint32_t *at = realloc(codes->at, capacity * sizeof *at);
        if (at == NULL) {
            return RESULT_MEMORY;
        }
        codes->at = at;
        codes->capacity = capacity;
    }
    codes->at[codes->n++] = c;
    return RESULT_OK;
}

unsigned url_nfc_properties(uint32_t c)
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
