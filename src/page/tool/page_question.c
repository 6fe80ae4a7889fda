#include "page/tool/page_question.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "page/tool/text_language.h"

#define NUMBER_BYTES 64u
#define BLANKS       " \t\r"

QuestionForm page_question_wanted(const Config *config)
{
    switch ((ScorerWord)config->score_scorer) {
    case SCORER_COMMAND:
        return QUESTION_JSON;
    case SCORER_FASTTEXT:
        return QUESTION_FASTTEXT;
    case SCORER_NONE:
    case SCORER_CONTENT:
    case SCORER_PAGERANK:
    case SCORER_HITS:
        break;
    }
    return QUESTION_NONE;
}

/* Cut before a character that would be cut in two. */
static size_t page_question_cut(const char *text, size_t length, size_t most)
{
    if (length <= most) {
        return length;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) {
        most--;
    }
    return most;
}

/* Errors stick in the buffer. */
static void append_on_one_line(Buffer *out, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        size_t n = 0;
        while (text + n < end && (unsigned char)text[n] > ' ') {
            n++;
        }
        (void)buffer_append(out, text, n);
        if (n > 0) {
            (void)buffer_append_char(out, ' ');
        }
        text += n + 1;
    }
}

Result page_question(Buffer *out, QuestionForm form, const char *url, const VisiblePage *page,
                     size_t text_bytes)
{
    const char *title = page->title == NULL ? "" : page->title;
    bool has_main = page->main_length > 0;
    const char *text = has_main ? page->main_text : page->text;
    size_t length =
        page_question_cut(text, has_main ? page->main_length : page->length, text_bytes);
    Result rc = RESULT_OK;
    if (form == QUESTION_FASTTEXT) {
        append_on_one_line(out, title, strlen(title));
        append_on_one_line(out, text, length);
        rc = out->failed;
    } else {
        const char *language = text_language_of(page->text, page->length);
        JsonWriter json;
        json_init(&json, out);
        json_open(&json, NULL, '{');
        json_string(&json, "url", url);
        json_string(&json, "title", page->title);
        json_string(&json, "language", language != NULL ? language : page->language);
        json_text(&json, "text", text, length);
        json_close(&json);
        rc = json.result;
    }
    return rc == RESULT_OK ? buffer_append_char(out, '\n') : rc;
}

/* ---- answers ---- */

/* A number from 0 to 1 at the beginning of some bytes; *end: what is behind it. */
static bool read_share(const char *from, const char *stop, const char **end, float *score)
{
    char text[NUMBER_BYTES];
    size_t n = (size_t)(stop - from);
    n = n < sizeof text - 1 ? n : sizeof text - 1;
    memcpy(text, from, n);
    text[n] = '\0';
    char *behind = NULL;
    float value = strtof(text, &behind);
    *score = value;
    *end = from + (behind - text);
    return behind != text && value >= 0.0f && value <= 1.00005f; /* fastText's 1 is 1.00001 */
}

static const char *page_question_skip(const char *p, const char *end, const char *which)
{
    while (p < end && strchr(which, *p) != NULL && *p != '\0') {
        p++;
    }
    return p;
}

static bool read_json(const char *p, const char *end, float *score)
{
    static const char name[] = "\"score\"";
    if (p < end && *p == '{') {
        const char *at = memmem(p, (size_t)(end - p), name, sizeof name - 1);
        if (at == NULL) {
            return false;
        }
        p = page_question_skip(at + sizeof name - 1, end, BLANKS);
        if (p == end || *p != ':') {
            return false;
        }
        p = page_question_skip(p + 1, end, BLANKS);
        return read_share(p, end, &p, score);
    }
    bool found = read_share(p, end, &p, score);
    return found && page_question_skip(p, end, BLANKS) == end;
}

/* "__label__a 0.9 __label__b 0.1"; nothing at all: it knows no word of the text. */
static bool read_labels(const char *label, const char *p, const char *end, float *score)
{
    size_t length = strlen(label);
    *score = 0.0f;
    while (p < end) {
        const char *word = p;
        while (p < end && strchr(BLANKS, *p) == NULL) {
            p++;
        }
        bool is_wanted = (size_t)(p - word) == length && memcmp(word, label, length) == 0;
        float share = 0.0f;
        p = page_question_skip(p, end, BLANKS);
        if (!read_share(p, end, &p, &share)) {
            return false;
        }
        *score = is_wanted ? share : *score;
        p = page_question_skip(p, end, BLANKS);
    }
    return true;
}

bool page_question_answer(QuestionForm form, const char *label, const char *line, size_t length,
                          float *score)
{
    const char *end = line + length;
    const char *p = page_question_skip(line, end, BLANKS);
    bool found =
        form == QUESTION_FASTTEXT ? read_labels(label, p, end, score) : read_json(p, end, score);
    *score = *score < 1.0f ? *score : 1.0f;
    return found;
}
