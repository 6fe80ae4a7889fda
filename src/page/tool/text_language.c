#include "page/tool/text_language.h"

#include <dlfcn.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/thread/log.h"
#include "parse/url/url_encode.h"

#define LIBRARY      "libcld2.so.0"
#define SAMPLE_BYTES 1024u
#define LINE_BYTES   60u /* a shorter line is a menu's, or a heading */
#define LEAST_BYTES  24u /* of less text CLD2 says nothing */
#define LEAST_CJK    4u  /* characters, for the script alone to tell */
#define LATIN_A_CJK  5u  /* letters of an alphabet that say as much as one such character */

#define UNKNOWN_LANGUAGE 26 /* CLD2's */
#define UNKNOWN_ENCODING 23

/* CLD2::CLDHints, a plain structure. */
typedef struct Hints {
    const char *content_language;
    const char *top_level_domain;
    int encoding;
    int language;
} Hints;

/* CLD2::ExtDetectLanguageSummary; the vector of chunks may be NULL. */
typedef int (*Detect)(const char *text, int length, bool is_plain, const Hints *hints, int flags,
                      int languages[3], int percents[3], double scores[3], void *chunks,
                      int *text_bytes, bool *is_reliable);
typedef const char *(*Name)(int language);

static Detect detect;
static Name code_of;

static void text_language_tell_missing(void)
{
    static bool told;
    if (!told) {
        LOG_WARN("text", "languages are not recognized: no libcld2", "library=%s", LIBRARY);
        told = true;
    }
}

bool text_language_load(void)
{
    if (detect == NULL) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            text_language_tell_missing();
            return false;
        }
        Detect found = NULL;
        Name name = NULL;
        /* ISO C has no way from a pointer to an object to one to a function. */
        void *symbol =
            dlsym(library, "_ZN4CLD224ExtDetectLanguageSummaryEPKcibPKNS_8CLDHintsEi"
                           "PNS_8LanguageEPiPdPSt6vectorINS_11ResultChunkESaISA_EES7_Pb");
        memcpy(&found, &symbol, sizeof found);
        symbol = dlsym(library, "_ZN4CLD212LanguageCodeENS_8LanguageE");
        memcpy(&name, &symbol, sizeof name);
        if (found == NULL || name == NULL) {
            text_language_tell_missing();
            (void)dlclose(library);
            return false;
        }
        detect = found;
        code_of = name;
    }
    return true;
}

/* ---- what is read ---- */

/* Up to SAMPLE_BYTES of the text: lines of some length, from the middle on and then from the start.
 */
static size_t take_sample(const char *text, size_t length, size_t least, char sample[SAMPLE_BYTES])
{
    size_t used = 0;
    const char *end = text + length;
    const char *middle = text + length / 2;
    for (int half = 0; half < 2 && used < SAMPLE_BYTES; half++) {
        const char *p = half == 0 ? middle : text;
        const char *stop = half == 0 ? end : middle;
        while (p < stop && used < SAMPLE_BYTES) {
            const char *feed = memchr(p, '\n', (size_t)(end - p));
            size_t n = (size_t)((feed == NULL ? end : feed) - p);
            size_t left = SAMPLE_BYTES - used;
            if (n >= least) {
                size_t taken = n < left ? n : left - 1;
                memcpy(sample + used, p, taken);
                used += taken;
                sample[used++] = '\n';
            }
            p = feed == NULL ? end : feed + 1;
        }
    }
    return used;
}

/* CLD2 wants whole characters: those that were cut at the ends of the sample or of the middle line
 * are made spaces. */
static void text_language_mend(char *sample, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t n = ascii_utf8_length((unsigned char)sample[i]);
        size_t k = 1;
        while (k < n && i + k < length && ((unsigned char)sample[i + k] & 0xC0) == 0x80) {
            k++;
        }
        if (n == 0 || k < n) {
            sample[i] = ' ';
        } else {
            i += n - 1;
        }
    }
}

/* What CLD2 says, when it is sure. */
static const char *text_language_detect(const char *sample, size_t length)
{
    int languages[3] = {UNKNOWN_LANGUAGE, UNKNOWN_LANGUAGE, UNKNOWN_LANGUAGE};
    int percents[3] = {0, 0, 0};
    double scores[3] = {0, 0, 0};
    int text_bytes = 0;
    bool is_reliable = false;
    const Hints hints = {.encoding = UNKNOWN_ENCODING, .language = UNKNOWN_LANGUAGE};
    int language = detect(sample, (int)length, true, &hints, 0, languages, percents, scores, NULL,
                          &text_bytes, &is_reliable);
    return is_reliable && language != UNKNOWN_LANGUAGE ? code_of(language) : NULL;
}

/* Characters of a text by script. */
typedef struct ScriptCount {
    size_t kana;
    size_t hangul;
    size_t han;
    size_t other; /* letters of alphabets */
} ScriptCount;

/* What the scripts say where CLD2 is not sure: titles and short pages in Chinese, Japanese and
 * Korean with Latin names between, each of which counts for CLD2 as another language. */
static const char *text_language_of_script(const char *sample, size_t length)
{
    ScriptCount count = {.kana = 0};
    const char *end = sample + length;
    for (const char *p = sample; p < end;) {
        uint32_t c = url_utf8_next(&p);
        if (c >= 0x3041 && c <= 0x30FA) {
            count.kana++;
        } else if (c >= 0xAC00 && c <= 0xD7A3) {
            count.hangul++;
        } else if ((c >= 0x3400 && c <= 0x9FFF) || (c >= 0x20000 && c <= 0x3FFFF)) {
            count.han++;
        } else if (((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= 0xC0 && c < 0x2000)) {
            count.other++;
        }
    }
    size_t all = count.kana + count.hangul + count.han;
    if (all < LEAST_CJK || LATIN_A_CJK * all < count.other) {
        return NULL;
    }
    if (2 * count.hangul > all) {
        return "ko";
    }
    if (10 * count.kana >= all) {
        return "ja"; /* hardly a sentence is without: particles and endings are kana */
    }
    return count.kana + count.hangul == 0 ? "zh" : NULL;
}

const char *text_language_of(const char *text, size_t length)
{
    char sample[SAMPLE_BYTES];
    if (detect == NULL) {
        return NULL;
    }
    size_t n = take_sample(text, length, LINE_BYTES, sample);
    if (n < 4 * (size_t)LINE_BYTES) {
        n = take_sample(text, length, 1, sample);
    }
    text_language_mend(sample, n);
    const char *sure = length < LEAST_BYTES ? NULL : text_language_detect(sample, n);
    return sure != NULL ? sure : text_language_of_script(sample, n);
}

/* ---- three letters ---- */

const char *text_language_iso3(const char *tag)
{
    static const char pairs[][8] = {
        "af afr", "am amh", "ar ara", "as asm", "ay aym", "az aze", "ba bak", "be bel", "bg bul",
        "bh bih", "bi bis", "bn ben", "bo bod", "br bre", "bs bos", "ca cat", "co cos", "cs ces",
        "cy cym", "da dan", "de deu", "dv div", "dz dzo", "el ell", "en eng", "eo epo", "es spa",
        "et est", "eu eus", "fa fas", "fi fin", "fj fij", "fo fao", "fr fra", "fy fry", "ga gle",
        "gd gla", "gl glg", "gn grn", "gu guj", "gv glv", "ha hau", "hi hin", "hr hrv", "ht hat",
        "hu hun", "hy hye", "ia ina", "id ind", "ie ile", "ig ibo", "ik ipk", "is isl", "it ita",
        "iu iku", "iw heb", "ja jpn", "jw jav", "ka kat", "kk kaz", "kl kal", "km khm", "kn kan",
        "ko kor", "ks kas", "ku kur", "ky kir", "la lat", "lb ltz", "lg lug", "ln lin", "lo lao",
        "lt lit", "lv lav", "mg mlg", "mi mri", "mk mkd", "ml mal", "mn mon", "mr mar", "ms msa",
        "mt mlt", "my mya", "na nau", "ne nep", "nl nld", "nn nno", "no nor", "ny nya", "oc oci",
        "om orm", "or ori", "pa pan", "pl pol", "ps pus", "pt por", "qu que", "rm roh", "rn run",
        "ro ron", "ru rus", "rw kin", "sa san", "sd snd", "sg sag", "si sin", "sk slk", "sl slv",
        "sm smo", "sn sna", "so som", "sq sqi", "sr srp", "ss ssw", "st sot", "su sun", "sv swe",
        "sw swa", "ta tam", "te tel", "tg tgk", "th tha", "ti tir", "tk tuk", "tl tgl", "tn tsn",
        "to ton", "tr tur", "ts tso", "tt tat", "tw twi", "ug uig", "uk ukr", "ur urd", "uz uzb",
        "vi vie", "vo vol", "wo wol", "xh xho", "yi yid", "yo yor", "za zha", "zh zho", "zu zul"};
    size_t n = strcspn(tag, "-");
    if (n == 3) {
        return tag; /* CLD2 has some that have no shorter name: "ceb", "haw" */
    }
    for (size_t i = 0; n == 2 && i < sizeof pairs / sizeof *pairs; i++) {
        if (memcmp(pairs[i], tag, 2) == 0) {
            return pairs[i] + 3;
        }
    }
    return NULL;
}
