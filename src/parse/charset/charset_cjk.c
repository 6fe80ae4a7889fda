#include "parse/charset/charset_cjk.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset_span.h"

/* ---- Where decoders put code points ---- */

void charset_sink_flush(CharsetSink *sink)
{
    size_t n = sink->used;
    sink->used = 0;
    if (sink->rc != RESULT_OK) {
        return;
    }
    Result rc = buffer_append(sink->out, sink->block, n);
    if (rc == RESULT_LIMIT) {
        size_t fits = sink->out->limit - sink->out->length;
        while (fits > 0 && ((unsigned char)sink->block[fits] & 0xC0) == 0x80) {
            fits--;
        }
        (void)buffer_append(sink->out, sink->block, fits);
    }
    sink->rc = rc;
}

void charset_sink_bytes(CharsetSink *sink, const char *bytes, size_t length)
{
    while (length > 0) {
        if (sink->used > CHARSET_BLOCK_BYTES - 8) {
            charset_sink_flush(sink);
        }
        size_t n = CHARSET_BLOCK_BYTES - sink->used;
        if (length <= n) {
            n = length;
        } else {
            while (((unsigned char)bytes[n] & 0xC0) == 0x80) {
                n--;
            }
        }
        memcpy(sink->block + sink->used, bytes, n);
        sink->used += n;
        bytes += n;
        length -= n;
    }
}

/* ---- The decoders of the multi-byte encodings of East Asia ---- */

/* Text is cut into sequences by the Encoding standard's rules for lead and trail bytes; runs of
 * well-formed sequences go to iconv in one call. What the standard's tables hold otherwise than
 * glibc's is patched, what iconv does not know is U+FFFD, and an ASCII byte after a broken lead
 * byte is text again: it may be the quote that ends an attribute. */

#define RUN_BYTES   1024
#define SHORT_ASCII 32 /* up to this it goes to iconv with what is around it */

typedef struct Patch {
    uint16_t code; /* lead and trail byte */
    uint16_t point;
} Patch;

static const Patch gb18030_patches[] = {{0xA3A0, 0x3000}, {0xFE51, 0xE816}, {0xFE52, 0xE817},
                                        {0xFE53, 0xE818}, {0xFE6C, 0xE831}, {0xFE76, 0xE83B},
                                        {0xFE91, 0xE855}};

static const Patch big5_patches[] = {
    {0x8E69, 0x7BB8}, {0x8E6F, 0x7C06}, {0x8E7E, 0x7CCE}, {0x8EAB, 0x7DD2}, {0x8EB4, 0x7E1D},
    {0x8ECD, 0x8005}, {0x8ED0, 0x8028}, {0x8F57, 0x83C1}, {0x8F69, 0x84A8}, {0x8F6E, 0x840F},
    {0x8FCB, 0x89A6}, {0x8FCC, 0x89A9}, {0x8FFE, 0x8D77}, {0x906D, 0x90FD}, {0x907A, 0x92B9},
    {0x90DC, 0x975C}, {0x90F1, 0x97FF}, {0x91BF, 0x9F16}, {0x9244, 0x8503}, {0x92AF, 0x5159},
    {0x92B0, 0x515B}, {0x92B1, 0x515D}, {0x92B2, 0x515E}, {0x92C8, 0x936E}, {0x92D1, 0x7479},
    {0x9447, 0x6D67}, {0x94CA, 0x799B}, {0x95D9, 0x9097}, {0x9644, 0x975D}, {0x96ED, 0x701E},
    {0x96FC, 0x5B28}, {0x9B76, 0x7201}, {0x9B78, 0x77D7}, {0x9B7B, 0x7E87}, {0x9BC6, 0x99D6},
    {0x9BDE, 0x91D4}, {0x9BEC, 0x60DE}, {0x9BF6, 0x6FB6}, {0x9C42, 0x8F36}, {0x9C53, 0x4FBB},
    {0x9C62, 0x71DF}, {0x9C68, 0x9104}, {0x9C6B, 0x9DF0}, {0x9C77, 0x83CF}, {0x9CBC, 0x5C10},
    {0x9CBD, 0x79E3}, {0x9CD0, 0x5A67}, {0x9D57, 0x8F0B}, {0x9D5A, 0x7B51}, {0x9DC4, 0x62D0},
    {0x9EA9, 0x6062}, {0x9EEF, 0x75F9}, {0x9EFD, 0x6C4A}, {0x9F60, 0x9B2E}, {0x9F66, 0x9F17},
    {0x9FCB, 0x50ED}, {0x9FD8, 0x5F0C}, {0xA063, 0x880F}, {0xA077, 0x62CE}, {0xA0D5, 0x7468},
    {0xA0DF, 0x7162}, {0xA0E4, 0x7250}, {0xA145, 0x2027}, {0xA14E, 0xFE51}, {0xA15A, 0x2574},
    {0xA1C2, 0x00AF}, {0xA1C3, 0xFFE3}, {0xA1C5, 0x02CD}, {0xA1E3, 0xFF5E}, {0xA1F2, 0x2295},
    {0xA1F3, 0x2299}, {0xA1FE, 0xFF0F}, {0xA240, 0xFF3C}, {0xA241, 0x2215}, {0xA242, 0xFE68},
    {0xA244, 0xFFE5}, {0xA246, 0xFFE0}, {0xA247, 0xFFE1}, {0xA2CC, 0x5341}, {0xA2CE, 0x5345},
    {0xA3C0, 0x2400}, {0xA3C1, 0x2401}, {0xA3C2, 0x2402}, {0xA3C3, 0x2403}, {0xA3C4, 0x2404},
    {0xA3C5, 0x2405}, {0xA3C6, 0x2406}, {0xA3C7, 0x2407}, {0xA3C8, 0x2408}, {0xA3C9, 0x2409},
    {0xA3CA, 0x240A}, {0xA3CB, 0x240B}, {0xA3CC, 0x240C}, {0xA3CD, 0x240D}, {0xA3CE, 0x240E},
    {0xA3CF, 0x240F}, {0xA3D0, 0x2410}, {0xA3D1, 0x2411}, {0xA3D2, 0x2412}, {0xA3D3, 0x2413},
    {0xA3D4, 0x2414}, {0xA3D5, 0x2415}, {0xA3D6, 0x2416}, {0xA3D7, 0x2417}, {0xA3D8, 0x2418},
    {0xA3D9, 0x2419}, {0xA3DA, 0x241A}, {0xA3DB, 0x241B}, {0xA3DC, 0x241C}, {0xA3DD, 0x241D},
    {0xA3DE, 0x241E}, {0xA3DF, 0x241F}, {0xA3E0, 0x2421}, {0xA3E1, 0x20AC}, {0xC6CF, 0x5EF4},
    {0xC6D3, 0x65E0}, {0xC6D5, 0x7676}, {0xC6D7, 0x96B6}, {0xC6DE, 0x3003}, {0xC6DF, 0x4EDD},
    {0xFA5F, 0x5029}, {0xFA66, 0x507D}, {0xFABD, 0x5305}, {0xFAC5, 0x5344}, {0xFAD5, 0x537F},
    {0xFB48, 0x5605}, {0xFBB8, 0x5A77}, {0xFBF3, 0x5E75}, {0xFBF9, 0x5ED0}, {0xFC4F, 0x5F58},
    {0xFC6C, 0x60A4}, {0xFCB9, 0x6490}, {0xFCE2, 0x6674}, {0xFCF1, 0x675E}, {0xFDB7, 0x6C9C},
    {0xFDB8, 0x6E1D}, {0xFDBB, 0x6E2F}, {0xFDF1, 0x716E}, {0xFE52, 0x732A}, {0xFE6F, 0x745C},
    {0xFEAA, 0x74E9}, {0xFEDD, 0x7809}};

typedef struct Decoder Decoder;

/* Reads one sequence at p: puts it into the run or straight into the sink; returns its length. */
typedef size_t (*StepFunction)(Decoder *d, const unsigned char *p, size_t left);

typedef struct Encoding {
    const char *name;
    const char *iconv_name;
    StepFunction step;    /* NULL: ISO-2022-JP, which has states */
    const Patch *patches; /* sorted by code */
    size_t n_patches;
    bool from_jis; /* pairs in the run were made from JIS rows: their second byte is no text */
} Encoding;

struct Decoder {
    const Encoding *of;
    CharsetSink *sink;
    iconv_t main;     /* of the runs */
    iconv_t jis_0212; /* the supplementary plane of EUC-JP, opened when it is met */
    size_t used;      /* of run */
    char run[RUN_BYTES];
};

static int compare_patches(const void *key, const void *row)
{
    return (int)((const Patch *)key)->code - (int)((const Patch *)row)->code;
}

static uint32_t patched(const Decoder *d, unsigned lead, unsigned trail)
{
    Patch key = {.code = (uint16_t)(lead << 8 | trail), .point = 0};
    const Encoding *of = d->of;
    if (of->n_patches == 0) {
        return 0;
    }
    const Patch *row = bsearch(&key, of->patches, of->n_patches, sizeof key, compare_patches);
    return row == NULL ? 0 : row->point;
}

/* iconv stopped at a sequence that it has no character for: what it stands for, and its length. */
static size_t unknown_sequence(const Decoder *d, const unsigned char *p, size_t left,
                               uint32_t *point)
{
    *point = CHARSET_REPLACEMENT;
    if (left < 2) {
        return 1;
    }
    if (p[1] >= '0' && p[1] <= '9' && left >= 4 && d->of->n_patches != 0) {
        return 4;
    }
    uint32_t patch = patched(d, p[0], p[1]);
    if (patch != 0) {
        *point = patch;
        return 2;
    }
    return p[1] < 0x80 && !d->of->from_jis ? 1 : 2;
}

static void flush_run(Decoder *d)
{
    char *in = d->run;
    size_t left = d->used;
    while (left > 0) {
        char out[2 * RUN_BYTES];
        char *to = out;
        size_t room = sizeof out;
        size_t n = iconv(d->main, &in, &left, &to, &room);
        int error = n == (size_t)-1 ? errno : 0;
        if (error != E2BIG) {
            (void)iconv(d->main, NULL, NULL, &to, &room); /* Big5 holds back a base letter */
        }
        charset_sink_bytes(d->sink, out, (size_t)(to - out));
        if (error == EILSEQ || error == EINVAL) {
            uint32_t point = 0;
            size_t skip = unknown_sequence(d, (const unsigned char *)in, left, &point);
            charset_sink_put(d->sink, point);
            skip = skip < left ? skip : left;
            in += skip;
            left -= skip;
        } else if (error != 0 && error != E2BIG) {
            break;
        }
    }
    d->used = 0;
}

static void add_to_run(Decoder *d, const void *bytes, size_t n)
{
    if (d->used + n > RUN_BYTES) {
        flush_run(d);
    }
    memcpy(d->run + d->used, bytes, n);
    d->used += n;
}

static void put_point(Decoder *d, uint32_t point)
{
    flush_run(d);
    charset_sink_put(d->sink, point);
}

/* A lead byte without a trail byte: an ASCII byte is given back. */
static size_t broken_pair(Decoder *d, const unsigned char *p, size_t left)
{
    put_point(d, CHARSET_REPLACEMENT);
    return left >= 2 && p[1] >= 0x80 ? 2 : 1;
}

static size_t charset_cjk_pair(Decoder *d, const unsigned char *p)
{
    if (d->of->n_patches != 0 && ((p[0] >= 0xA1 && p[0] <= 0xA3) || p[0] == 0xFE)) {
        uint32_t point = patched(d, p[0], p[1]);
        if (point != 0) {
            put_point(d, point);
            return 2;
        }
    }
    add_to_run(d, p, 2);
    return 2;
}

/* ---- one step of each encoding; p[0] >= 0x80 ---- */

/* glibc lacks these four-byte codes of GB 18030-2005. */
static uint32_t gb18030_four_byte_patch(const unsigned char *p)
{
    uint32_t pointer =
        ((p[0] - 0x81u) * 10u + (p[1] - 0x30u)) * 1260u + (p[2] - 0x81u) * 10u + (p[3] - 0x30u);
    if (pointer >= 19057 && pointer <= 19064) {
        return 0x9FB4u + (pointer - 19057);
    }
    if (pointer >= 39076 && pointer <= 39085) {
        return 0xFE10u + (pointer - 39076);
    }
    return 0;
}

static size_t gb18030_step(Decoder *d, const unsigned char *p, size_t left)
{
    if (p[0] == 0x80) {
        put_point(d, 0x20AC);
        return 1;
    }
    if (p[0] == 0xFF) {
        put_point(d, CHARSET_REPLACEMENT);
        return 1;
    }
    if (left >= 2 && p[1] >= '0' && p[1] <= '9') {
        if (left < 4 && (left == 2 || (p[2] >= 0x81 && p[2] <= 0xFE))) {
            put_point(d, CHARSET_REPLACEMENT); /* the text ends within a sequence */
            return left;
        }
        if (p[2] < 0x81 || p[2] > 0xFE || p[3] < '0' || p[3] > '9') {
            put_point(d, CHARSET_REPLACEMENT);
            return 1;
        }
        uint32_t point = gb18030_four_byte_patch(p);
        if (point != 0) {
            put_point(d, point);
        } else {
            add_to_run(d, p, 4);
        }
        return 4;
    }
    if (left < 2 || p[1] < 0x40 || p[1] == 0x7F || p[1] == 0xFF) {
        return broken_pair(d, p, left);
    }
    return charset_cjk_pair(d, p);
}

static size_t big5_step(Decoder *d, const unsigned char *p, size_t left)
{
    if (p[0] == 0x80 || p[0] == 0xFF) {
        put_point(d, CHARSET_REPLACEMENT);
        return 1;
    }
    if (left < 2 || p[1] < 0x40 || (p[1] > 0x7E && p[1] < 0xA1) || p[1] == 0xFF) {
        return broken_pair(d, p, left);
    }
    return charset_cjk_pair(d, p);
}

static size_t euc_kr_step(Decoder *d, const unsigned char *p, size_t left)
{
    if (p[0] == 0x80 || p[0] == 0xFF) {
        put_point(d, CHARSET_REPLACEMENT);
        return 1;
    }
    if (left < 2 || p[1] < 0x41 || p[1] == 0xFF || (p[0] == 0xA2 && p[1] == 0xE8)) {
        return broken_pair(d, p, left); /* glibc steps over A2 E8 when it complains about it */
    }
    return charset_cjk_pair(d, p);
}

static size_t shift_jis_step(Decoder *d, const unsigned char *p, size_t left)
{
    if (p[0] >= 0xA1 && p[0] <= 0xDF) {
        add_to_run(d, p, 1);
        return 1;
    }
    if (p[0] == 0x80 || p[0] == 0xA0 || p[0] > 0xFC) {
        put_point(d, p[0] == 0x80 ? 0x80 : CHARSET_REPLACEMENT);
        return 1;
    }
    if (left < 2 || p[1] < 0x40 || p[1] == 0x7F || p[1] > 0xFC) {
        return broken_pair(d, p, left);
    }
    return charset_cjk_pair(d, p);
}

/* Row and cell of JIS X 0208 (both 0x21-0x7E) as the two bytes of Shift_JIS, whose table the
 * standard shares among the three Japanese encodings. */
static void add_jis_pair(Decoder *d, unsigned row, unsigned cell)
{
    unsigned r = row - 0x21;
    unsigned c = cell - 0x21 + (r & 1) * 94;
    unsigned lead = r / 2 + (r / 2 < 0x1F ? 0x81 : 0xC1);
    unsigned trail = c + (c < 0x3F ? 0x40 : 0x41);
    unsigned char bytes[2] = {(unsigned char)lead, (unsigned char)trail};
    /* Rows above 94 of Shift_JIS's own range cannot be reached: row is at most 0x7E. */
    add_to_run(d, bytes, 2);
}

static void put_jis_0212(Decoder *d, const unsigned char *p)
{
    flush_run(d);
    if (d->jis_0212 == (iconv_t)-1) {
        d->jis_0212 = iconv_open("UTF-8", "EUC-JP");
    }
    char in[3];
    memcpy(in, p, 3);
    char out[8];
    char *from = in;
    char *to = out;
    size_t left = sizeof in;
    size_t room = sizeof out;
    if (d->jis_0212 != (iconv_t)-1 && iconv(d->jis_0212, &from, &left, &to, &room) != (size_t)-1) {
        charset_sink_bytes(d->sink, out, (size_t)(to - out));
    } else {
        charset_sink_put(d->sink, CHARSET_REPLACEMENT);
    }
}

static size_t euc_jp_step(Decoder *d, const unsigned char *p, size_t left)
{
    if (p[0] == 0x8E && left >= 2 && p[1] >= 0xA1 && p[1] <= 0xDF) {
        add_to_run(d, p + 1, 1); /* the half-width katakana of Shift_JIS */
        return 2;
    }
    if (p[0] == 0x8F && left >= 2 && p[1] >= 0xA1 && p[1] <= 0xFE) {
        if (left >= 3 && p[2] >= 0xA1 && p[2] <= 0xFE) {
            put_jis_0212(d, p);
            return 3;
        }
        put_point(d, CHARSET_REPLACEMENT);
        return left >= 3 && p[2] >= 0x80 ? 3 : 2;
    }
    bool lead = p[0] == 0x8E || p[0] == 0x8F || (p[0] >= 0xA1 && p[0] <= 0xFE);
    if (!lead) {
        put_point(d, CHARSET_REPLACEMENT);
        return 1;
    }
    if (left < 2 || p[0] < 0xA1 || p[1] < 0xA1 || p[1] == 0xFF) {
        return broken_pair(d, p, left);
    }
    add_jis_pair(d, p[0] & 0x7Fu, p[1] & 0x7Fu);
    return 2;
}

static void run_steps(Decoder *d, const unsigned char *p, size_t length)
{
    size_t i = 0;
    while (i < length && d->sink->rc == RESULT_OK) {
        if (p[i] >= 0x80) {
            i += d->of->step(d, p + i, length - i);
        } else if (p[i] == 0) {
            put_point(d, CHARSET_REPLACEMENT);
            i++;
        } else {
            size_t n = charset_ascii_span((const char *)p + i, length - i);
            if (n <= SHORT_ASCII) {
                add_to_run(d, p + i, n);
            } else {
                flush_run(d);
                charset_sink_bytes(d->sink, (const char *)p + i, n);
            }
            i += n;
        }
    }
    flush_run(d);
}

/* ---- ISO-2022-JP ---- */

typedef enum JisState { JIS_ASCII, JIS_ROMAN, JIS_KATAKANA, JIS_LEAD } JisState;

/* The state that an escape sequence selects, when p (after ESC) begins with one. */
static bool jis_escape(const unsigned char *p, size_t left, JisState *state)
{
    if (left < 2) {
        return false;
    }
    if (p[0] == '(' && (p[1] == 'B' || p[1] == 'J' || p[1] == 'I')) {
        if (p[1] == 'I') {
            *state = JIS_KATAKANA;
        } else {
            *state = p[1] == 'B' ? JIS_ASCII : JIS_ROMAN;
        }
        return true;
    }
    if (p[0] == '$' && (p[1] == '@' || p[1] == 'B')) {
        *state = JIS_LEAD;
        return true;
    }
    return false;
}

static uint32_t jis_point(JisState state, unsigned byte)
{
    if (state == JIS_KATAKANA) {
        return byte >= 0x21 && byte <= 0x5F ? 0xFF61u - 0x21u + byte : CHARSET_REPLACEMENT;
    }
    if (byte >= 0x80 || byte == 0x0E || byte == 0x0F) {
        return CHARSET_REPLACEMENT;
    }
    if (state == JIS_ROMAN && byte == 0x5C) {
        return 0xA5;
    }
    return state == JIS_ROMAN && byte == 0x7E ? 0x203E : byte;
}

static void run_iso_2022_jp(Decoder *d, const unsigned char *p, size_t length)
{
    JisState state = JIS_ASCII;
    bool just_escaped = false; /* two escapes in a row are an error */
    size_t i = 0;
    while (i < length && d->sink->rc == RESULT_OK) {
        unsigned byte = p[i];
        if (byte == 0x1B) {
            if (jis_escape(p + i + 1, length - i - 1, &state)) {
                if (just_escaped) {
                    put_point(d, CHARSET_REPLACEMENT);
                }
                just_escaped = true;
                i += 3;
            } else {
                put_point(d, CHARSET_REPLACEMENT);
                just_escaped = false;
                i++;
            }
            continue;
        }
        just_escaped = false;
        if (state != JIS_LEAD) {
            put_point(d, jis_point(state, byte));
            i++;
        } else if (byte < 0x21 || byte > 0x7E) {
            put_point(d, CHARSET_REPLACEMENT);
            i++;
        } else if (i + 1 < length && p[i + 1] >= 0x21 && p[i + 1] <= 0x7E) {
            add_jis_pair(d, byte, p[i + 1]);
            i += 2;
        } else {
            put_point(d, CHARSET_REPLACEMENT);
            i += i + 1 < length && p[i + 1] != 0x1B ? 2 : 1;
        }
    }
    flush_run(d);
}

/* ---- the encodings ---- */

#define ROWS(table) (sizeof(table) / sizeof *(table))

static const Encoding encodings[] = {
    {"Shift_JIS", "CP932", shift_jis_step, NULL, 0, false},
    {"EUC-JP", "CP932", euc_jp_step, NULL, 0, true},
    {"ISO-2022-JP", "CP932", NULL, NULL, 0, true},
    {"EUC-KR", "UHC", euc_kr_step, NULL, 0, false},
    {"GBK", "GB18030", gb18030_step, gb18030_patches, ROWS(gb18030_patches), false},
    {"gb18030", "GB18030", gb18030_step, gb18030_patches, ROWS(gb18030_patches), false},
    {"Big5", "BIG5-HKSCS", big5_step, big5_patches, ROWS(big5_patches), false},
};

Result charset_decode_cjk(const char *encoding, const unsigned char *body, size_t length,
                          CharsetSink *sink)
{
    size_t i = 0;
    while (i < ROWS(encodings) && strcmp(encodings[i].name, encoding) != 0) {
        i++;
    }
    if (i == ROWS(encodings)) {
        return RESULT_INVALID;
    }
    Decoder d;
    d.of = &encodings[i];
    d.sink = sink;
    d.used = 0;
    d.jis_0212 = (iconv_t)-1;
    d.main = iconv_open("UTF-8", d.of->iconv_name);
    if (d.main == (iconv_t)-1) {
        return RESULT_INVALID;
    }
    if (d.of->step == NULL) {
        run_iso_2022_jp(&d, body, length);
    } else {
        run_steps(&d, body, length);
    }
    (void)iconv_close(d.main);
    if (d.jis_0212 != (iconv_t)-1) {
        (void)iconv_close(d.jis_0212);
    }
    return RESULT_OK;
}

uint32_t charset_big5_point(unsigned code)
{
    for (size_t i = 0; i < ROWS(big5_patches); i++) {
        if (big5_patches[i].code == code) {
            return big5_patches[i].point;
        }
    }
    return 0;
}

unsigned charset_big5_code(uint32_t point)
{
    for (size_t i = 0; i < ROWS(big5_patches); i++) {
        if (big5_patches[i].point == point) {
            return big5_patches[i].code;
        }
    }
    return 0;
}
