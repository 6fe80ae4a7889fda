#include "parse/charset/charset.h"

#include <string.h>
#include <strings.h>

#include "parse/charset/charset_cjk.h"
#include "parse/charset/charset_span.h"
#include "parse/charset/charset_tables.h"

bool charset_is_ascii_superset(const char *encoding)
{
    return strncmp(encoding, "UTF-16", 6) != 0 && strcmp(encoding, "ISO-2022-JP") != 0 &&
           strcmp(encoding, "replacement") != 0;
}

/* ---- decoders ---- */

static void decode_utf16(const unsigned char *p, size_t length, bool big, CharsetSink *sink)
{
    size_t high_at = big ? 0 : 1;
    size_t i = 0;
    while (i + 1 < length && sink->rc == RESULT_OK) {
        uint32_t c = (uint32_t)p[i + high_at] << 8 | p[i + 1 - high_at];
        i += 2;
        if (c >= 0xDC00 && c <= 0xDFFF) {
            c = CHARSET_REPLACEMENT;
        } else if (c >= 0xD800 && c <= 0xDBFF) {
            uint32_t d = i + 1 < length ? (uint32_t)p[i + high_at] << 8 | p[i + 1 - high_at] : 0;
            if (d >= 0xDC00 && d <= 0xDFFF) {
                c = 0x10000 + ((c - 0xD800) << 10) + (d - 0xDC00);
                i += 2;
            } else {
                /* At the very end an odd byte belongs to the same error. */
                i += i + 1 == length ? 1 : 0;
                c = CHARSET_REPLACEMENT;
            }
        }
        charset_sink_put(sink, c);
    }
    if (i < length) {
        charset_sink_put(sink, CHARSET_REPLACEMENT);
    }
}

static void decode_single_byte(const unsigned char *p, size_t length, const uint16_t *high,
                               CharsetSink *sink)
{
    size_t i = 0;
    while (i < length && sink->rc == RESULT_OK) {
        if (i + 8 <= length &&
            (charset_load_64((const char *)p + i) & UINT64_C(0x8080808080808080)) == 0) {
            size_t ascii = charset_ascii_span((const char *)p + i, length - i);
            charset_sink_bytes(sink, (const char *)p + i, ascii);
            i += ascii;
            if (i == length) {
                break;
            }
        }
        charset_sink_put(sink, p[i] < 0x80 ? p[i] : high[p[i] - 0x80]); /* 0 is put as U+FFFD */
        i++;
    }
}

static void decode_user_defined(const unsigned char *p, size_t length, CharsetSink *sink)
{
    for (size_t i = 0; i < length && sink->rc == RESULT_OK; i++) {
        charset_sink_put(sink, p[i] < 0x80 ? p[i] : 0xF780u + (p[i] - 0x80u));
    }
}

bool charset_is_single_byte(const char *encoding)
{
    return charset_single_byte_table(encoding) != NULL || strcmp(encoding, "x-user-defined") == 0 ||
           strcmp(encoding, "replacement") == 0;
}

size_t charset_bom_length(const char *encoding, const char *p, size_t length)
{
    if (length >= 3 && strcmp(encoding, "UTF-8") == 0 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        return 3;
    }
    if (length >= 2 && ((strcmp(encoding, "UTF-16LE") == 0 && memcmp(p, "\xFF\xFE", 2) == 0) ||
                        (strcmp(encoding, "UTF-16BE") == 0 && memcmp(p, "\xFE\xFF", 2) == 0))) {
        return 2;
    }
    return 0;
}

Result charset_decode(const char *encoding, const char *body, size_t length, Buffer *out)
{
    const unsigned char *p = (const unsigned char *)body;
    size_t bom = charset_bom_length(encoding, body, length);
    p += bom;
    length -= bom;
    CharsetSink sink;
    sink.out = out;
    sink.used = 0;
    sink.rc = RESULT_OK;
    const uint16_t *table = charset_single_byte_table(encoding);
    Result rc = RESULT_OK;
    if (strcmp(encoding, "UTF-8") == 0) {
        size_t i = 0;
        while (i < length && sink.rc == RESULT_OK) {
            size_t good = charset_utf8_span((const char *)p + i, length - i);
            charset_sink_bytes(&sink, (const char *)p + i, good);
            i += good;
            if (i < length) {
                size_t bad = 1;
                if (p[i] != 0) {
                    (void)charset_utf8_sequence(p + i, length - i, &bad);
                }
                charset_sink_put(&sink, CHARSET_REPLACEMENT);
                i += bad;
            }
        }
    } else if (table != NULL) {
        decode_single_byte(p, length, table, &sink);
    } else if (strcmp(encoding, "UTF-16LE") == 0 || strcmp(encoding, "UTF-16BE") == 0) {
        decode_utf16(p, length, encoding[6] == 'B', &sink);
    } else if (strcmp(encoding, "x-user-defined") == 0) {
        decode_user_defined(p, length, &sink);
    } else if (strcmp(encoding, "replacement") == 0) {
        if (length > 0) {
            charset_sink_put(&sink, CHARSET_REPLACEMENT);
        }
    } else {
        rc = charset_decode_cjk(encoding, p, length, &sink);
    }
    charset_sink_flush(&sink);
    return rc != RESULT_OK ? rc : sink.rc;
}

Result charset_text(const char *encoding, const char *body, size_t length, Buffer *scratch,
                    const char **text, size_t *text_length)
{
    bool utf8 = strcmp(encoding, "UTF-8") == 0;
    size_t bom = utf8 && length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    size_t clean = 0;
    if (utf8) {
        clean = bom + charset_utf8_span(body + bom, length - bom);
    } else if (charset_is_ascii_superset(encoding)) {
        clean = charset_ascii_span(body, length);
    }
    if (clean == length) {
        *text = body + bom;
        *text_length = length - bom;
        return RESULT_OK;
    }
    buffer_reset(scratch);
    Result rc = charset_decode(encoding, body, length, scratch);
    if (rc == RESULT_INVALID) {
        rc = charset_decode("windows-1252", body, length, scratch);
    }
    *text = buffer_string(scratch);
    *text_length = scratch->length;
    return rc;
}

#define PRESCAN_BYTES 1024
#define FALLBACK      "windows-1252"
#define LABEL_BYTES   64 /* no label is as long */
#define BLANKS        " \t\r\n"

/* ---- labels ---- */

/* The encodings of the Encoding standard and their labels, a blank before and behind each. */
static const struct EncodingLabels {
    const char *name;
    const char *labels;
} encodings[] = {
    {"UTF-8", " unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8 "},
    {"windows-1252",
     " ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 "
     "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 "},
    {"Big5", " big5 big5-hkscs cn-big5 csbig5 x-x-big5 "},
    {"EUC-JP", " cseucpkdfmtjapanese euc-jp x-euc-jp "},
    {"EUC-KR",
     " cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
     "ksc_5601 windows-949 "},
    {"gb18030", " gb18030 "},
    {"GBK", " chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk "},
    {"IBM866", " 866 cp866 csibm866 ibm866 "},
    {"ISO-2022-JP", " csiso2022jp iso-2022-jp "},
    {"ISO-8859-10", " csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6 "},
    {"ISO-8859-13", " iso-8859-13 iso8859-13 iso885913 "},
    {"ISO-8859-14", " iso-8859-14 iso8859-14 iso885914 "},
    {"ISO-8859-15", " csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 "},
    {"ISO-8859-16", " iso-8859-16 "},
    {"ISO-8859-2",
     " csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 "
     "latin2 "},
    {"ISO-8859-3",
     " csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 "
     "latin3 "},
    {"ISO-8859-4",
     " csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 "
     "latin4 "},
    {"ISO-8859-5",
     " csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 "
     "iso_8859-5:1988 "},
    {"ISO-8859-6",
     " arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 "
     "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987 "},
    {"ISO-8859-7",
     " csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 "
     "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek "},
    {"ISO-8859-8",
     " csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 "
     "iso88598 iso_8859-8 iso_8859-8:1988 visual "},
    {"ISO-8859-8-I", " csiso88598i iso-8859-8-i logical "},
    {"KOI8-R", " cskoi8r koi koi8 koi8-r koi8_r "},
    {"KOI8-U", " koi8-ru koi8-u "},
    {"macintosh", " csmacintosh mac macintosh x-mac-roman "},
    {"replacement", " csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement "},
    {"Shift_JIS", " csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis "},
    {"UTF-16BE", " unicodefffe utf-16be "},
    {"UTF-16LE", " csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le "},
    {"windows-1250", " cp1250 windows-1250 x-cp1250 "},
    {"windows-1251", " cp1251 windows-1251 x-cp1251 "},
    {"windows-1253", " cp1253 windows-1253 x-cp1253 "},
    {"windows-1254",
     " cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 "
     "l5 latin5 windows-1254 x-cp1254 "},
    {"windows-1255", " cp1255 windows-1255 x-cp1255 "},
    {"windows-1256", " cp1256 windows-1256 x-cp1256 "},
    {"windows-1257", " cp1257 windows-1257 x-cp1257 "},
    {"windows-1258", " cp1258 windows-1258 x-cp1258 "},
    {"windows-874", " dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874 "},
    {"x-mac-cyrillic", " x-mac-cyrillic x-mac-ukrainian "},
    {"x-user-defined", " x-user-defined "},
};

#define LABEL_MAX_BYTES 32 /* the longest label is shorter */

const char *charset_of_label(const char *label, size_t length)
{
    ascii_trim(&label, &length);
    if (length == 0 || length >= LABEL_MAX_BYTES) {
        return NULL;
    }
    char spaced[LABEL_MAX_BYTES + 2] = " ";
    for (size_t i = 0; i < length; i++) {
        if (label[i] == '\0' || ascii_is_space(label[i])) {
            return NULL;
        }
        spaced[i + 1] = ascii_lower(label[i]);
    }
    spaced[length + 1] = ' ';
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (strstr(encodings[i].labels, spaced) != NULL) {
            return encodings[i].name;
        }
    }
    return NULL;
}

/* ---- labels in headers and attributes ---- */

/* A quoted string without its backslashes, cut to LABEL_BYTES; returns where it ends. */
static const char *unquote(const char *p, char out[LABEL_BYTES], size_t *length)
{
    *length = 0;
    for (p++; *p != '\0' && *p != '"'; p++) {
        p += *p == '\\' && p[1] != '\0' ? 1 : 0;
        if (*length < LABEL_BYTES) {
            out[(*length)++] = *p;
        }
    }
    return p;
}

/* One of the types of a Content-Type header: bytes of its essence, and what its charset names. */
typedef struct TypeOfHeader {
    const char *essence;
    size_t length;
    bool has_charset;
    const char *encoding; /* NULL: the label is none */
} TypeOfHeader;

/* Reads one type up to the comma behind it, or the end. */
static const char *read_type(const char *p, TypeOfHeader *type)
{
    p += strspn(p, BLANKS);
    *type = (TypeOfHeader){.essence = p};
    p += strcspn(p, ";,");
    type->length = (size_t)(p - type->essence);
    ascii_trim(&type->essence, &type->length);
    while (*p == ';') {
        p++;
        p += strspn(p, BLANKS);
        const char *name = p;
        p += strcspn(p, ";,=");
        bool is_charset = p - name == 7 && strncasecmp(name, "charset", 7) == 0;
        if (*p != '=') {
            continue;
        }
        p++;
        char quoted[LABEL_BYTES];
        const char *start = p;
        size_t length = 0;
        if (*p == '"') {
            start = quoted;
            p = unquote(p, quoted, &length);
        } else {
            length = strcspn(start, ";,");
        }
        if (is_charset && !type->has_charset && length > 0) {
            type->has_charset = true;
            type->encoding = charset_of_label(start, length);
        }
        p += strcspn(p, ";,");
    }
    return p;
}

/* The charset of a Content-Type header. Of several types, as proxies join them with commas, the
 * last one counts; it inherits the charset from one before it that is the same but for that. What
 * is behind a comma and no type is nothing. */
static const char *encoding_of_header(const char *value)
{
    TypeOfHeader last = {.essence = NULL};
    TypeOfHeader type;
    const char *p = value;
    bool more = true;
    while (more) {
        p = read_type(p, &type);
        more = *p == ',';
        p += more ? 1 : 0;
        bool is_type = memchr(type.essence, '/', type.length) != NULL;
        if (last.essence != NULL && !is_type) {
            continue;
        }
        bool is_same = last.essence != NULL && last.length == type.length &&
                       strncasecmp(last.essence, type.essence, type.length) == 0;
        if (is_same && !type.has_charset) {
            type.has_charset = last.has_charset;
            type.encoding = last.encoding;
        }
        last = type;
    }
    return last.encoding;
}

/* The label in a meta element's content attribute ("text/html; charset=x") or NULL; borrowed. */
static const char *charset_label_in_content(const char *content, size_t length,
                                            size_t *label_length)
{
    const char *end = content + length;
    const char *p = content;
    for (;;) {
        while (end - p >= 7 && strncasecmp(p, "charset", 7) != 0) {
            p++;
        }
        if (end - p < 7) {
            return NULL;
        }
        p += 7;
        while (p < end && ascii_is_space(*p)) {
            p++;
        }
        if (p < end && *p == '=') {
            break;
        }
    }
    p++;
    while (p < end && ascii_is_space(*p)) {
        p++;
    }
    if (p == end) {
        return NULL;
    }
    if (*p == '"' || *p == '\'') {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
        if (close == NULL) {
            return NULL;
        }
        *label_length = (size_t)(close - p - 1);
        return p + 1;
    }
    const char *start = p;
    while (p < end && !ascii_is_space(*p) && *p != ';') {
        p++;
    }
    *label_length = (size_t)(p - start);
    return start;
}

const char *charset_of_meta_label(const char *label, size_t length)
{
    const char *name = charset_of_label(label, length);
    if (name == NULL) {
        return NULL;
    }
    if (strncmp(name, "UTF-16", 6) == 0) {
        return "UTF-8";
    }
    return strcmp(name, "x-user-defined") == 0 ? "windows-1252" : name;
}

/* ---- the prescan ---- */

const char *charset_of_meta(const HtmlSlice *charset, const HtmlSlice *equiv,
                            const HtmlSlice *content)
{
    size_t length = 0;
    if (charset != NULL) {
        return charset_of_meta_label(charset->bytes, charset->length);
    }
    if (equiv == NULL || content == NULL ||
        !ascii_is(equiv->bytes, equiv->length, "content-type")) {
        return NULL;
    }
    const char *label = charset_label_in_content(content->bytes, content->length, &length);
    return label == NULL ? NULL : charset_of_meta_label(label, length);
}

const char *charset_of_meta_tag(const HtmlTag *tag)
{
    const HtmlSlice *charset = &tag->values[HTML_ATTR_CHARSET];
    const HtmlSlice *equiv = &tag->values[HTML_ATTR_HTTP_EQUIV];
    const HtmlSlice *content = &tag->values[HTML_ATTR_CONTENT];
    return charset_of_meta(html_tag_has(tag, HTML_ATTR_CHARSET) ? charset : NULL,
                           html_tag_has(tag, HTML_ATTR_HTTP_EQUIV) ? equiv : NULL,
                           html_tag_has(tag, HTML_ATTR_CONTENT) ? content : NULL);
}

typedef struct Scan {
    const char *p;
    const char *end;
} Scan;

static bool starts(const Scan *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->p) >= n && strncasecmp(s->p, word, n) == 0;
}

/* Moves behind a tag whose name ends here. False: the bytes ran out. */
static bool prescan_tag(Scan *s, HtmlTag *tag)
{
    const uint32_t wanted =
        1u << HTML_ATTR_CHARSET | 1u << HTML_ATTR_HTTP_EQUIV | 1u << HTML_ATTR_CONTENT;
    tag->present = 0;
    s->p = skim_attributes(s->p, s->end, wanted, tag);
    return s->p != NULL;
}

static const char *prescan(const char *bytes, size_t length)
{
    Scan s = {.p = bytes, .end = bytes + length};
    HtmlTag tag;
    while (s.p < s.end) {
        if (*s.p != '<') {
            s.p++;
        } else if (starts(&s, "<!--")) {
            /* The two hyphens may be the same: "<!-->" is a whole comment. */
            const char *close = memmem(s.p + 2, (size_t)(s.end - s.p - 2), "-->", 3);
            if (close == NULL) {
                return NULL;
            }
            s.p = close + 3;
        } else if (starts(&s, "<meta") && s.end - s.p > 5 &&
                   (ascii_is_space(s.p[5]) || s.p[5] == '/')) {
            s.p += 5;
            if (!prescan_tag(&s, &tag)) {
                return NULL;
            }
            const char *encoding = charset_of_meta_tag(&tag);
            if (encoding != NULL) {
                return encoding;
            }
        } else if (s.end - s.p > 2 &&
                   (ascii_is_letter(s.p[1]) || (s.p[1] == '/' && ascii_is_letter(s.p[2])))) {
            s.p = find_class(s.p + 1, s.end, SCAN_SPACE | SCAN_TAG_NAME_END);
            if (!prescan_tag(&s, &tag)) {
                return NULL;
            }
        } else if (starts(&s, "<!") || starts(&s, "</") || starts(&s, "<?")) {
            const char *close = memchr(s.p, '>', (size_t)(s.end - s.p));
            if (close == NULL) {
                return NULL;
            }
            s.p = close + 1;
        } else {
            s.p++;
        }
    }
    return NULL;
}

/* The encoding that an XML declaration at the very start names, or NULL. */
static const char *xml_encoding(const char *bytes, size_t length)
{
    if (length < 5 || memcmp(bytes, "<?xml", 5) != 0) {
        return NULL;
    }
    const char *end = memchr(bytes, '>', length);
    const char *p = end == NULL ? NULL : memmem(bytes, (size_t)(end - bytes), "encoding", 8);
    if (p == NULL) {
        return NULL;
    }
    p += 8;
    while (p < end && (unsigned char)*p <= ' ') {
        p++;
    }
    if (p == end || *p != '=') {
        return NULL;
    }
    p++;
    while (p < end && (unsigned char)*p <= ' ') {
        p++;
    }
    if (p == end || (*p != '"' && *p != '\'')) {
        return NULL;
    }
    const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
    if (close == NULL) {
        return NULL;
    }
    const char *name = charset_of_label(p + 1, (size_t)(close - p - 1));
    return name != NULL && strncmp(name, "UTF-16", 6) == 0 ? "UTF-8" : name;
}

static const char *encoding_of_bom(const char *body, size_t length)
{
    if (length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0) {
        return "UTF-8";
    }
    if (length >= 2 && memcmp(body, "\xFE\xFF", 2) == 0) {
        return "UTF-16BE";
    }
    return length >= 2 && memcmp(body, "\xFF\xFE", 2) == 0 ? "UTF-16LE" : NULL;
}

const char *charset_sniff_source(const char *body, size_t length, const char *content_type,
                                 CharsetSource *source)
{
    *source = CHARSET_FROM_BOM;
    const char *name = encoding_of_bom(body, length);
    if (name == NULL && content_type != NULL) {
        *source = CHARSET_FROM_HEADER;
        name = encoding_of_header(content_type);
    }
    if (name == NULL) {
        *source = CHARSET_FROM_PRESCAN;
        size_t n = length < PRESCAN_BYTES ? length : PRESCAN_BYTES;
        if (n >= 6 && memcmp(body, "<\0?\0x\0", 6) == 0) {
            name = "UTF-16LE";
        } else if (n >= 6 && memcmp(body, "\0<\0?\0x", 6) == 0) {
            name = "UTF-16BE";
        } else {
            name = prescan(body, n);
            name = name == NULL ? xml_encoding(body, n) : name;
        }
    }
    if (name == NULL) {
        *source = CHARSET_FROM_FALLBACK;
        name = FALLBACK;
    }
    return name;
}

const char *charset_sniff_page(const char *body, size_t length, const char *content_type,
                               bool is_xml, CharsetSource *source)
{
    const char *name = charset_sniff_source(body, length, content_type, source);
    if (is_xml && *source == CHARSET_FROM_FALLBACK) {
        *source = CHARSET_FROM_PRESCAN;
        return "UTF-8";
    }
    return name;
}

const char *charset_sniff(const char *body, size_t length, const char *content_type)
{
    CharsetSource source = CHARSET_FROM_FALLBACK;
    return charset_sniff_source(body, length, content_type, &source);
}
