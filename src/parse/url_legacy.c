#include "parse/url_internal.h"

#include <iconv.h>
#include <string.h>
#include <strings.h>

#include "parse/charset.h"

/* The query of a link in a document of a legacy encoding: "percent-encode after encoding" of the
 * URL standard with the encoders of the Encoding standard, which differ here and there from what
 * the C library's iconv does under the same name. Rare, so one code point at a time. */

/* What an encoder of the Encoding standard does that the C library's of that name does not. */
typedef enum EncoderKind {
    ENCODER_SINGLE, /* one byte a character */
    ENCODER_EUC_KR,
    ENCODER_MAC_CYRILLIC, /* euro instead of currency sign */
    ENCODER_KOI8_U,       /* two letters of Belarusian instead of box drawings */
    ENCODER_BIG5,         /* no Hong Kong characters */
    ENCODER_GBK,          /* two bytes at most, and the euro sign as 80 */
    ENCODER_GB18030,      /* U+E5E5 has no code */
    ENCODER_EUC_JP,       /* no three-byte codes; yen sign and overline are ASCII's */
    ENCODER_SHIFT_JIS,    /* the same two; minus sign is full-width */
    ENCODER_ISO_2022_JP,
    ENCODER_USER_DEFINED, /* U+F780..U+F7FF */
} EncoderKind;

typedef struct Encoder {
    const char *name;  /* WHATWG */
    const char *iconv; /* the C library's */
    EncoderKind kind;
    uint32_t holes; /* bit n: byte 80+n is undefined in iconv, here it is the control U+0080+n */
} Encoder;

static const Encoder encoders[] = {
    {"big5", "BIG5-HKSCS", ENCODER_BIG5, 0},
    {"euc-jp", "EUC-JP-MS", ENCODER_EUC_JP, 0},
    {"euc-kr", "UHC", ENCODER_EUC_KR, 0},
    {"gb18030", "GB18030", ENCODER_GB18030, 0},
    {"gbk", "GB18030", ENCODER_GBK, 0},
    {"ibm866", "IBM866", ENCODER_SINGLE, 0},
    {"iso-2022-jp", "EUC-JP-MS", ENCODER_ISO_2022_JP, 0},
    {"iso-8859-10", "ISO-8859-10", ENCODER_SINGLE, 0},
    {"iso-8859-13", "ISO-8859-13", ENCODER_SINGLE, 0},
    {"iso-8859-14", "ISO-8859-14", ENCODER_SINGLE, 0},
    {"iso-8859-15", "ISO-8859-15", ENCODER_SINGLE, 0},
    {"iso-8859-16", "ISO-8859-16", ENCODER_SINGLE, 0},
    {"iso-8859-2", "ISO-8859-2", ENCODER_SINGLE, 0},
    {"iso-8859-3", "ISO-8859-3", ENCODER_SINGLE, 0},
    {"iso-8859-4", "ISO-8859-4", ENCODER_SINGLE, 0},
    {"iso-8859-5", "ISO-8859-5", ENCODER_SINGLE, 0},
    {"iso-8859-6", "ISO-8859-6", ENCODER_SINGLE, 0},
    {"iso-8859-7", "ISO-8859-7", ENCODER_SINGLE, 0},
    {"iso-8859-8", "ISO-8859-8", ENCODER_SINGLE, 0},
    {"iso-8859-8-i", "ISO-8859-8", ENCODER_SINGLE, 0},
    {"koi8-r", "KOI8-R", ENCODER_SINGLE, 0},
    {"koi8-u", "KOI8-U", ENCODER_KOI8_U, 0},
    {"macintosh", "MACINTOSH", ENCODER_SINGLE, 0},
    {"shift_jis", "CP932", ENCODER_SHIFT_JIS, 0},
    {"windows-1250", "CP1250", ENCODER_SINGLE, 0x0101010A},
    {"windows-1251", "CP1251", ENCODER_SINGLE, 0x01000000},
    {"windows-1252", "CP1252", ENCODER_SINGLE, 0x2001A002},
    {"windows-1253", "CP1253", ENCODER_SINGLE, 0xF501F502},
    {"windows-1254", "CP1254", ENCODER_SINGLE, 0x6001E002},
    {"windows-1255", "CP1255", ENCODER_SINGLE, 0xF401F402},
    {"windows-1256", "CP1256", ENCODER_SINGLE, 0x00000000},
    {"windows-1257", "CP1257", ENCODER_SINGLE, 0x9501150A},
    {"windows-1258", "CP1258", ENCODER_SINGLE, 0x6401E402},
    {"windows-874", "CP874", ENCODER_SINGLE, 0xFF01FFDE},
    {"x-mac-cyrillic", "MAC-UK", ENCODER_MAC_CYRILLIC, 0},
    {"x-user-defined", NULL, ENCODER_USER_DEFINED, 0},
};

static const Encoder *find_encoder(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof encoders / sizeof *encoders; i++) {
        if (strcasecmp(name, encoders[i].name) == 0) {
            return &encoders[i];
        }
    }
    return NULL;
}

bool url_legacy_applies(const char *encoding)
{
    return find_encoder(encoding) != NULL;
}

#define ENCODER_MAX_BYTES 8

typedef struct Encoding {
    const Encoder *encoder;
    iconv_t iconv; /* from UTF-32 in the machine's order; (iconv_t)-1 when there is none */
    enum { JP_ASCII, JP_ROMAN, JP_KANJI } state; /* ISO-2022-JP only */
} Encoding;

/* The C library's bytes for a code point; 0 when there are none. */
static size_t iconv_encode(Encoding *encoding, uint32_t c, unsigned char bytes[ENCODER_MAX_BYTES])
{
    if (encoding->iconv == (iconv_t)-1) {
        return 0;
    }
    char *in = (char *)&c;
    size_t in_left = sizeof c;
    char *out = (char *)bytes;
    size_t out_left = ENCODER_MAX_BYTES;
    size_t rc = iconv(encoding->iconv, &in, &in_left, &out, &out_left);
    size_t flushed = iconv(encoding->iconv, NULL, NULL, &out, &out_left);
    /* A positive count says that something merely similar was written. */
    return rc == 0 && flushed == 0 ? ENCODER_MAX_BYTES - out_left : 0;
}

/* The row and cell of JIS X 0208 as EUC bytes. */
static size_t encode_jis0208(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    size_t n = iconv_encode(encoding, c == 0x2212 ? 0xFF0D : c, bytes);
    return n == 2 && bytes[0] >= 0xA1 ? 2 : 0;
}

static size_t encode_japanese(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    bool shift_jis = encoding->encoder->kind == ENCODER_SHIFT_JIS;
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
    size_t n = iconv_encode(encoding, c == 0x2212 ? 0xFF0D : c, bytes);
    return n == 2 ? n : 0;
}

static size_t encode_single_byte(Encoding *encoding, uint32_t c, unsigned char *bytes)
{
    if (encoding->encoder->kind == ENCODER_KOI8_U) {
        bytes[0] = c == 0x45E ? 0xAE : 0xBE;
        if (c == 0x45E || c == 0x40E) {
            return 1;
        }
        if (c == 0x255D || c == 0x256C) {
            return 0;
        }
    }
    if (encoding->encoder->kind == ENCODER_MAC_CYRILLIC && (c == 0x20AC || c == 0xA4)) {
        bytes[0] = 0xFF;
        return c == 0x20AC ? 1 : 0;
    }
    size_t n = iconv_encode(encoding, c, bytes);
    if (n == 0 && c >= 0x80 && c <= 0x9F && (encoding->encoder->holes >> (c - 0x80) & 1) != 0) {
        bytes[0] = (unsigned char)c;
        return 1;
    }
    return n == 1 ? n : 0;
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
    switch (encoding->encoder->kind) {
    case ENCODER_USER_DEFINED:
        bytes[0] = (unsigned char)(c - 0xF780 + 0x80);
        return c >= 0xF780 && c <= 0xF7FF ? 1 : 0;
    case ENCODER_SINGLE:
    case ENCODER_MAC_CYRILLIC:
    case ENCODER_KOI8_U:
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
        if (c == 0x20AC) {
            bytes[0] = 0x80;
            return 1;
        }
        n = iconv_encode(encoding, c, bytes);
        return n == 2 ? n : 0;
    case ENCODER_GB18030:
        return c == 0xE5E5 ? 0 : iconv_encode(encoding, c, bytes);
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

static Result switch_japanese(Encoding *encoding, Url *out, int state)
{
    if ((int)encoding->state == state) {
        return RESULT_OK;
    }
    encoding->state = state;
    return append_bytes(out,
                        state == JP_ASCII   ? "\033(B"
                        : state == JP_ROMAN ? "\033(J"
                                            : "\033$B",
                        3);
}

/* The ISO-2022-JP encoder, the only one with a state and the only one that changes ASCII. */
static Result append_iso_2022_jp(Encoding *encoding, Url *out, uint32_t c)
{
    unsigned char bytes[ENCODER_MAX_BYTES] = {(unsigned char)c};
    if (encoding->state != JP_KANJI && (c == 0x0E || c == 0x0F || c == 0x1B)) {
        return append_reference(out, 0xFFFD);
    }
    size_t n = 1;
    int state = JP_ASCII;
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
        Result rc =
            encoding->state == JP_KANJI ? switch_japanese(encoding, out, JP_ASCII) : RESULT_OK;
        return rc == RESULT_OK ? append_reference(out, c) : rc;
    }
    bool control = c == 0x0E || c == 0x0F || c == 0x1B;
    Result rc = switch_japanese(encoding, out, state);
    if (rc != RESULT_OK) {
        return rc;
    }
    return control ? append_reference(out, 0xFFFD) : append_bytes(out, bytes, n);
}

static Result append_char(Encoding *encoding, Url *out, uint32_t c)
{
    if (encoding->encoder->kind == ENCODER_ISO_2022_JP) {
        return append_iso_2022_jp(encoding, out, c);
    }
    unsigned char bytes[ENCODER_MAX_BYTES] = {(unsigned char)c};
    size_t n = c < 0x80 ? 1 : encode_char(encoding, c, bytes);
    return n > 0 ? append_bytes(out, bytes, n) : append_reference(out, c);
}

Result url_legacy_append(Url *out, const char *query, size_t length, const char *encoding)
{
    Encoding state = {.encoder = find_encoder(encoding), .iconv = (iconv_t)-1};
    if (state.encoder == NULL) {
        return RESULT_INVALID;
    }
    if (state.encoder->iconv != NULL) {
        state.iconv = iconv_open(state.encoder->iconv, "WCHAR_T");
    }
    const char *end = query + length;
    Result rc = RESULT_OK;
    while (query < end && rc == RESULT_OK) {
        rc = append_char(&state, out, url_utf8_next(&query));
        if (rc == RESULT_OK && out->length > URL_MAX_BYTES) {
            rc = RESULT_LIMIT;
        }
    }
    if (rc == RESULT_OK) {
        rc = switch_japanese(&state, out, JP_ASCII);
    }
    if (state.iconv != (iconv_t)-1) {
        (void)iconv_close(state.iconv);
    }
    return rc;
}
