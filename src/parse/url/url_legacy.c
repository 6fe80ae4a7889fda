#include "parse/url/url_legacy.h"

#include <iconv.h>
#include <string.h>
#include <strings.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_cjk.h"
#include "parse/charset/charset_tables.h"
#include "parse/url/url_encode.h"

/* The query of a link in a document of a legacy encoding: "percent-encode after encoding" of the
 * URL standard with the encoders of the Encoding standard, which differ here and there from what
 * the C library's iconv does under the same name. Rare, so one code point at a time. */

/* What an encoder of the Encoding standard does that the C library's of that name does not. */
typedef enum EncoderKind {
    ENCODER_EUC_KR,
    ENCODER_BIG5, /* no Hong Kong characters */
    ENCODER_GBK,  /* two bytes at most, and the euro sign as 80 */
    ENCODER_GB18030,
    ENCODER_EUC_JP,    /* no three-byte codes; yen sign and overline are ASCII's */
    ENCODER_SHIFT_JIS, /* the same two; minus sign is full-width */
    ENCODER_ISO_2022_JP,
    ENCODER_USER_DEFINED, /* U+F780..U+F7FF */
    ENCODER_SINGLE,       /* one byte a character, by the decoder's table */
} EncoderKind;

typedef struct Encoder {
    const char *name;  /* WHATWG */
    const char *iconv; /* the C library's; NULL: it is not asked */
    EncoderKind kind;
} Encoder;

static const Encoder encoders[] = {
    {"big5", "BIG5-HKSCS", ENCODER_BIG5},      {"euc-jp", "CP932", ENCODER_EUC_JP},
    {"euc-kr", "UHC", ENCODER_EUC_KR},         {"gb18030", "GB18030", ENCODER_GB18030},
    {"gbk", "GB18030", ENCODER_GBK},           {"iso-2022-jp", "CP932", ENCODER_ISO_2022_JP},
    {"shift_jis", "CP932", ENCODER_SHIFT_JIS}, {"x-user-defined", NULL, ENCODER_USER_DEFINED},
};

/* False: queries are in UTF-8. *table: of an ENCODER_SINGLE. */
static bool find_encoder(const char *name, Encoder *encoder, const uint16_t **table)
{
    const char *known = name == NULL ? NULL : charset_of_label(name, strlen(name));
    if (known == NULL || strcasecmp(known, name) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        if (strcasecmp(name, encoders[i].name) == 0) {
            *encoder = encoders[i];
            return true;
        }
    }
    *encoder = (Encoder){.name = known, .kind = ENCODER_SINGLE};
    *table = charset_single_byte_table(known);
    return *table != NULL;
}

bool url_legacy_applies(const char *encoding)
{
    Encoder encoder;
    const uint16_t *table = NULL;
    return find_encoder(encoding, &encoder, &table);
}

#define ENCODER_MAX_BYTES 8

/* Of JIS X 0208 as Shift_JIS counts it: cells in rows of 188. */
enum {
    JIS_NEC_FIRST =
        8272, /* IBM's characters, as NEC selected them: EUC-JP and ISO-2022-JP use these */
    JIS_NEC_END = 8836,
    JIS_PRIVATE_END = 10716, /* up to here: private use; behind it IBM's characters again */
};

typedef enum JapaneseState { JP_ASCII, JP_ROMAN, JP_KANJI } JapaneseState;

typedef struct Encoding {
    Encoder encoder;
    const uint16_t *table; /* ENCODER_SINGLE only */
    iconv_t to;            /* from the machine's UTF-32; (iconv_t)-1 when there is none */
    iconv_t from;          /* the way back */
    JapaneseState state;   /* ISO-2022-JP only */
    bool has_nec;
    uint32_t nec[JIS_NEC_END - JIS_NEC_FIRST]; /* code points of those cells, once has_nec */
} Encoding;

/* Decodes bytes that are one character; 0 when they are none. */
static uint32_t iconv_decode(Encoding *encoding, const unsigned char *bytes, size_t n)
{
    unsigned char copy[ENCODER_MAX_BYTES];
    uint32_t codes[4] = {0};
    memcpy(copy, bytes, n);
    char *in = (char *)copy;
    char *out = (char *)codes;
    size_t out_left = sizeof codes;
    size_t rc = iconv(encoding->from, &in, &n, &out, &out_left);
    size_t flushed = iconv(encoding->from, NULL, NULL, &out, &out_left);
    bool one =
        rc != (size_t)-1 && flushed != (size_t)-1 && sizeof codes - out_left == sizeof *codes;
    return one ? codes[0] : 0;
}

/* The C library's bytes for a code point; 0 when there are none, or only of something similar. */
static size_t iconv_encode(Encoding *encoding, uint32_t c, unsigned char bytes[ENCODER_MAX_BYTES])
{
    if (encoding->to == (iconv_t)-1 || encoding->from == (iconv_t)-1) {
        return 0;
    }
    uint32_t code = c;
    char *in = (char *)&code;
    size_t in_left = sizeof code;
    char *out = (char *)bytes;
    size_t out_left = ENCODER_MAX_BYTES;
    size_t rc = iconv(encoding->to, &in, &in_left, &out, &out_left);
    size_t flushed = iconv(encoding->to, NULL, NULL, &out, &out_left);
    size_t n = rc == 0 && flushed == 0 ? ENCODER_MAX_BYTES - out_left : 0;
    return n > 0 && iconv_decode(encoding, bytes, n) == c ? n : 0;
}

/* The cell of Shift_JIS bytes. */
static unsigned cell_of(const unsigned char bytes[2])
{
    unsigned row = bytes[0] - (bytes[0] < 0xA0 ? 0x81u : 0xC1u);
    return row * 188 + bytes[1] - (bytes[1] < 0x7F ? 0x40u : 0x41u);
}

/* The cell among NEC's that holds c, or 0. */
static unsigned find_nec(Encoding *encoding, uint32_t c)
{
    for (unsigned i = 0; !encoding->has_nec && i < JIS_NEC_END - JIS_NEC_FIRST; i++) {
        unsigned char bytes[2];
        unsigned cell = JIS_NEC_FIRST + i;
        unsigned row = cell / 188;
        unsigned column = cell % 188;
        bytes[0] = (unsigned char)(row + (row < 0x1F ? 0x81 : 0xC1));
        bytes[1] = (unsigned char)(column + (column < 0x3F ? 0x40 : 0x41));
        encoding->nec[i] = iconv_decode(encoding, bytes, sizeof bytes);
    }
    encoding->has_nec = true;
    for (unsigned i = 0; i < JIS_NEC_END - JIS_NEC_FIRST; i++) {
        if (encoding->nec[i] == c) {
            return JIS_NEC_FIRST + i;
        }
    }
    return 0;
}

/* A character of JIS X 0208 as Shift_JIS; 0 when it is none. */
static size_t encode_shift_jis(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    size_t n = iconv_encode(encoding, c == 0x2212 ? 0xFF0D : c, bytes);
    unsigned cell = n == 2 ? cell_of(bytes) : JIS_NEC_END;
    return cell >= JIS_NEC_END && cell < JIS_PRIVATE_END ? 0 : n;
}

/* The same as EUC. */
static size_t encode_jis0208(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    if (encode_shift_jis(encoding, c, bytes) != 2) {
        return 0;
    }
    unsigned cell = cell_of(bytes);
    cell = cell >= JIS_PRIVATE_END ? find_nec(encoding, c) : cell;
    bytes[0] = (unsigned char)(cell / 94 + 0xA1);
    bytes[1] = (unsigned char)(cell % 94 + 0xA1);
    return cell > 0 || c == 0x3000 ? 2 : 0;
}

static size_t encode_japanese(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    bool shift_jis = encoding->encoder.kind == ENCODER_SHIFT_JIS;
    if (c == 0xA5 || c == 0x203E) {
        bytes[0] = c == 0xA5 ? 0x5C : 0x7E;
        return 1;
    }
    if (c == 0x80 && shift_jis) {
        bytes[0] = 0x80;
        return 1;
    }
    if (c >= 0xFF61 && c <= 0xFF9F) {
        size_t n = shift_jis ? 0 : 1;
        bytes[0] = 0x8E;
        bytes[n] = (unsigned char)(c - 0xFF61 + 0xA1);
        return n + 1;
    }
    if (!shift_jis) {
        return encode_jis0208(encoding, c, bytes);
    }
    return encode_shift_jis(encoding, c, bytes);
}

/* Where iconv differs from the standard: the bytes, or none when they are 0. */
typedef struct Exception {
    EncoderKind kind;
    uint32_t code;
    uint16_t bytes;
} Exception;

static const Exception exceptions[] = {
    {ENCODER_BIG5, 0x2CD, 0xA1C5}, {ENCODER_BIG5, 0x2574, 0xA15A}, {ENCODER_BIG5, 0xFFE3, 0xA1C3},
    {ENCODER_GBK, 0x20AC, 0x80},   {ENCODER_GB18030, 0xE5E5, 0},   {ENCODER_GBK, 0xE5E5, 0},
};

static const Exception *find_exception(EncoderKind kind, uint32_t c)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        if (exceptions[i].kind == kind && exceptions[i].code == c) {
            return &exceptions[i];
        }
    }
    return NULL;
}

static size_t encode_single_byte(const Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    for (unsigned i = 0; encoding->table != NULL && i < 128; i++) {
        if (encoding->table[i] == c) {
            bytes[0] = (unsigned char)(0x80 + i);
            return 1;
        }
    }
    return 0;
}

/* No Hong Kong characters (lead bytes below A1), and the standard's codes where glibc's differ. */
static size_t encode_big5(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    size_t n = iconv_encode(encoding, c, bytes);
    unsigned code = n == 2 ? (unsigned)bytes[0] << 8 | bytes[1] : 0;
    uint32_t point = code == 0 ? 0 : charset_big5_point(code);
    if (code < 0xA100 || (point != 0 && point != c)) {
        code = charset_big5_code(c);
    }
    bytes[0] = (unsigned char)(code >> 8);
    bytes[1] = (unsigned char)code;
    return bytes[0] >= 0xA1 ? 2 : 0;
}

/* The bytes of a code point above ASCII in a stateless encoding; 0 when it has none. */
static size_t encode_char(Encoding *encoding, uint32_t c, unsigned char bytes[ENCODER_MAX_BYTES])
{
    size_t n = 0;
    const Exception *exception = find_exception(encoding->encoder.kind, c);
    if (exception != NULL) {
        bool is_double = exception->bytes > 0xFF;
        bytes[0] = (unsigned char)(is_double ? exception->bytes >> 8 : exception->bytes);
        bytes[1] = (unsigned char)exception->bytes;
        return (size_t)is_double + (exception->bytes > 0);
    }
    switch (encoding->encoder.kind) {
    case ENCODER_USER_DEFINED:
        bytes[0] = (unsigned char)(c - 0xF780 + 0x80);
        return c >= 0xF780 && c <= 0xF7FF ? 1 : 0;
    case ENCODER_SINGLE:
        return encode_single_byte(encoding, c, bytes);
    case ENCODER_EUC_JP:
    case ENCODER_SHIFT_JIS:
        return encode_japanese(encoding, c, bytes);
    case ENCODER_EUC_KR:
        n = iconv_encode(encoding, c, bytes);
        return n == 2 ? n : 0;
    case ENCODER_BIG5:
        return encode_big5(encoding, c, bytes);
    case ENCODER_GBK:
        n = iconv_encode(encoding, c, bytes);
        return n == 2 ? n : 0;
    case ENCODER_GB18030:
        return iconv_encode(encoding, c, bytes);
    case ENCODER_ISO_2022_JP:
        break;
    }
    return 0;
}

static Result append_bytes(Url *out, const void *bytes, size_t n)
{
    return url_encode_append(out, bytes, n, URL_QUERY_SAFE);
}

/* What has no code is written as a decimal reference, already escaped. */
static Result append_reference(Url *out, uint32_t c)
{
    char text[24] = "%26%23";
    char digits[8];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + c % 10);
        c /= 10;
    } while (c > 0);
    size_t length = strlen(text);
    memcpy(text + length, digits + n, sizeof digits - n);
    length += sizeof digits - n;
    memcpy(text + length, "%3B", 3);
    return url_append(out, text, length + 3);
}

/* The full-width form of U+FF61..U+FF9F, which ISO-2022-JP has no half-width codes for. */
static uint32_t widen_katakana(uint32_t c)
{
    static const uint16_t wide[] = {
        0x3002, 0x300C, 0x300D, 0x3001, 0x30FB, 0x30F2, 0x30A1, 0x30A3, 0x30A5, 0x30A7, 0x30A9,
        0x30E3, 0x30E5, 0x30E7, 0x30C3, 0x30FC, 0x30A2, 0x30A4, 0x30A6, 0x30A8, 0x30AA, 0x30AB,
        0x30AD, 0x30AF, 0x30B1, 0x30B3, 0x30B5, 0x30B7, 0x30B9, 0x30BB, 0x30BD, 0x30BF, 0x30C1,
        0x30C4, 0x30C6, 0x30C8, 0x30CA, 0x30CB, 0x30CC, 0x30CD, 0x30CE, 0x30CF, 0x30D2, 0x30D5,
        0x30D8, 0x30DB, 0x30DE, 0x30DF, 0x30E0, 0x30E1, 0x30E2, 0x30E4, 0x30E6, 0x30E8, 0x30E9,
        0x30EA, 0x30EB, 0x30EC, 0x30ED, 0x30EF, 0x30F3, 0x309B, 0x309C};
    return c >= 0xFF61 && c <= 0xFF9F ? wide[c - 0xFF61] : c;
}

static Result switch_japanese(Encoding *encoding, Url *out, JapaneseState state)
{
    if (encoding->state == state) {
        return RESULT_OK;
    }
    static const char escapes[][4] = {
        [JP_ASCII] = "\033(B", [JP_ROMAN] = "\033(J", [JP_KANJI] = "\033$B"};
    encoding->state = state;
    return append_bytes(out, escapes[state], 3);
}

/* The ISO-2022-JP encoder, the only one with a state and the only one that changes ASCII. */
static Result append_iso_2022_jp(Encoding *encoding, Url *out, uint32_t c)
{
    unsigned char bytes[ENCODER_MAX_BYTES] = {(unsigned char)c};
    if (encoding->state != JP_KANJI && (c == 0x0E || c == 0x0F || c == 0x1B)) {
        return append_reference(out, 0xFFFD);
    }
    size_t n = 1;
    JapaneseState state = JP_ASCII;
    if (c == 0xA5 || c == 0x203E) {
        bytes[0] = c == 0xA5 ? 0x5C : 0x7E;
        state = JP_ROMAN;
    } else if (c < 0x80) {
        bool same = c != 0x5C && c != 0x7E;
        state = encoding->state == JP_ROMAN && same ? JP_ROMAN : JP_ASCII;
    } else {
        n = encode_jis0208(encoding, widen_katakana(c), bytes);
        bytes[0] &= 0x7F;
        bytes[1] &= 0x7F;
        state = JP_KANJI;
    }
    if (n == 0) {
        state = encoding->state == JP_KANJI ? JP_ASCII : encoding->state;
    }
    bool control = c == 0x0E || c == 0x0F || c == 0x1B;
    Result rc = switch_japanese(encoding, out, state);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (n == 0 || control) {
        return append_reference(out, n == 0 ? c : 0xFFFD);
    }
    return append_bytes(out, bytes, n);
}

static Result append_char(Encoding *encoding, Url *out, uint32_t c)
{
    if (encoding->encoder.kind == ENCODER_ISO_2022_JP) {
        return append_iso_2022_jp(encoding, out, c);
    }
    unsigned char bytes[ENCODER_MAX_BYTES] = {(unsigned char)c};
    size_t n = c < 0x80 ? 1 : encode_char(encoding, c, bytes);
    return n > 0 ? append_bytes(out, bytes, n) : append_reference(out, c);
}

Result url_legacy_append(Url *out, const char *query, size_t length, const char *encoding)
{
    Encoding state = {.to = (iconv_t)-1, .from = (iconv_t)-1};
    if (!find_encoder(encoding, &state.encoder, &state.table)) {
        return RESULT_INVALID;
    }
    if (state.encoder.iconv != NULL) {
        state.to = iconv_open(state.encoder.iconv, "WCHAR_T");
        state.from = iconv_open("WCHAR_T", state.encoder.iconv);
    }
    const char *end = query + length;
    Result rc = RESULT_OK;
    while (query < end) {
        rc = append_char(&state, out, url_utf8_next(&query));
        if (rc == RESULT_OK && out->length > URL_MAX_BYTES) {
            rc = RESULT_LIMIT;
        }
        if (rc != RESULT_OK) {
            break;
        }
    }
    if (rc == RESULT_OK) {
        rc = switch_japanese(&state, out, JP_ASCII);
    }
    if (state.to != (iconv_t)-1) {
        (void)iconv_close(state.to);
    }
    if (state.from != (iconv_t)-1) {
        (void)iconv_close(state.from);
    }
    return rc;
}
