#include "parse/url/url_idna.h"

#include <string.h>
#include <unicode/uidna.h>

#include "parse/url/url_encode.h"

/* ICU does the mapping, normalization, Punycode and checks. What is here is where the URL standard
 * is laxer than ICU, and what UTS 46 has said of single characters only since its revision for
 * Unicode 16, so that a name is the same one with the ICU of every Debian. libidn2 is not used for
 * it: it applies IDNA 2008 on top of UTS 46 and so refuses names that browsers open (emoji, "a--b"
 * beside a non-ASCII letter, long labels). */

#define IDNA_MAX_BYTES 4096 /* a name has 253 at most; bounds the quadratic steps of Punycode */

/* What DNS would refuse is not checked, and neither are hyphens: a browser opens such names. */
#define IDNA_IGNORED                                                                               \
    (UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG |     \
     UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4)

/* Characters from first to last are mapped to those from to on; 0: they are nothing. */
typedef struct IdnaChange {
    uint32_t first;
    uint32_t last;
    uint32_t to;
} IdnaChange;

static const IdnaChange idna_changes[] = {
    {0x04C0, 0x04C0, 0x04CF},   {0x10A0, 0x10C5, 0x2D00},   {0x180E, 0x180E, 0},
    {0x1E9E, 0x1E9E, 0xDF},     {0x2132, 0x2132, 0x214E},   {0x2183, 0x2183, 0x2184},
    {0x2F868, 0x2F868, 0x36FC}, {0x2F874, 0x2F874, 0x5F53}, {0x2F91F, 0x2F91F, 0x243AB},
    {0x2F95F, 0x2F95F, 0x7AEE}, {0x2F9BF, 0x2F9BF, 0x45D7},
};

static uint32_t idna_changed(uint32_t c)
{
    for (size_t i = 0; i < sizeof idna_changes / sizeof *idna_changes; i++) {
        const IdnaChange *change = &idna_changes[i];
        if (c >= change->first && c <= change->last) {
            return change->to == 0 ? 0 : change->to + (c - change->first);
        }
    }
    return c;
}

/* Whether a label says in Punycode that it begins with "xn--": UTS 46 refuses such a one by itself,
 * ICU by its check of hyphens. */
static bool idna_is_twice_encoded(const char *name, int32_t length, uint32_t errors)
{
    static const char twice[] = "xn--xn--";
    const char *found = (errors & UIDNA_ERROR_HYPHEN_3_4) == 0
                            ? NULL
                            : memmem(name, (size_t)length, twice, sizeof twice - 1);
    return found != NULL && (found == name || found[-1] == '.');
}

/* Appends to out, which has room for what ICU says that it needs after the first try. */
static Result idna_convert(UIDNA *idna, const Buffer *name, Url *out)
{
    UErrorCode status = U_BUFFER_OVERFLOW_ERROR;
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    int32_t n = (int32_t)name->length;
    while (status == U_BUFFER_OVERFLOW_ERROR) {
        Result rc = url_reserve(out, out->length + (size_t)n);
        if (rc != RESULT_OK) {
            return rc;
        }
        status = U_ZERO_ERROR;
        n = uidna_nameToASCII_UTF8(idna, name->data, (int32_t)name->length, out->href + out->length,
                                   (int32_t)(out->capacity - out->length), &info, &status);
    }
    if (status == U_MEMORY_ALLOCATION_ERROR) {
        return RESULT_MEMORY;
    }
    if (U_FAILURE(status) || (info.errors & ~(uint32_t)IDNA_IGNORED) != 0 || n == 0) {
        return RESULT_INVALID;
    }
    if (idna_is_twice_encoded(out->href + out->length, n, info.errors)) {
        return RESULT_INVALID;
    }
    out->length += (uint32_t)n;
    return RESULT_OK;
}

Result url_idna_append(Url *out, const char *domain, size_t length)
{
    if (length > IDNA_MAX_BYTES) {
        return RESULT_LIMIT;
    }
    UErrorCode status = U_ZERO_ERROR;
    UIDNA *idna = uidna_openUTS46(
        UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII, &status);
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    Result rc = U_FAILURE(status) ? RESULT_MEMORY : RESULT_OK;
    const char *end = domain + length;
    while (domain < end) {
        uint32_t c = idna_changed(url_utf8_next(&domain));
        if (c != 0) {
            (void)buffer_append_code_point(&name, c); /* its error sticks */
        }
    }
    rc = result_first(rc, name.failed);
    if (rc == RESULT_OK) {
        rc = name.length == 0 ? RESULT_INVALID : idna_convert(idna, &name, out);
    }
    buffer_destroy(&name);
    uidna_close(idna);
    return rc;
}
