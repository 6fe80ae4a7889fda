#include "render/render_forms.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "parse/trap/trap.h"
#include "render/archive_source.h"

#define FORMS_PIECES 16u
#define FORMS_HOLE   '\1'                /* the number of a piece follows, as a letter */
#define FORMS_MOST   200u                /* pages that are remembered of one form */
#define FORMS_LIST   ((size_t)256 << 10) /* bytes of a list */

typedef struct FormPiece {
    const char *bytes;
    size_t length;
} FormPiece;

/* Where the path of an absolute URL begins. */
static const char *form_path(const char *url)
{
    const char *host = strstr(url, "://");
    host = host == NULL ? url : host + 3;
    return host + strcspn(host, "/?#");
}

/* The numbers within a segment that is more than one. */
static unsigned form_numbers(const char *segment, size_t length, FormPiece *pieces, unsigned n)
{
    for (size_t i = 0; i < length && n < FORMS_PIECES;) {
        size_t digits = 0;
        while (i + digits < length && isdigit((unsigned char)segment[i + digits])) {
            digits++;
        }
        if (digits > 0 && digits < length) {
            pieces[n++] = (FormPiece){segment + i, digits};
        }
        i += digits > 0 ? digits : 1;
    }
    return n;
}

static unsigned form_pieces(const char *url, FormPiece *pieces)
{
    static const char between[] = "/?&=.#";
    unsigned n = 0;
    for (const char *at = form_path(url); *at != '\0' && n < FORMS_PIECES;) {
        at += strspn(at, between);
        size_t length = strcspn(at, between);
        if (length > 0) {
            pieces[n++] = (FormPiece){at, length};
            n = form_numbers(at, length, pieces, n);
        }
        at += length;
    }
    return n;
}

/* Whether a piece may begin or end between two characters: not within a word or a number. */
static bool form_is_edge(char before, char behind)
{
    unsigned char a = (unsigned char)before;
    unsigned char b = (unsigned char)behind;
    return !((isdigit(a) && isdigit(b)) || (isalpha(a) && isalpha(b)));
}

/* The longest piece that stands here; FORMS_PIECES: none. The character before is there. */
static unsigned form_piece_at(const char *at, const FormPiece *pieces, unsigned n)
{
    unsigned best = FORMS_PIECES;
    for (unsigned i = 0; i < n; i++) {
        size_t length = pieces[i].length;
        bool is_longer = best == FORMS_PIECES || length > pieces[best].length;
        if (is_longer && strncmp(at, pieces[i].bytes, length) == 0 && form_is_edge(at[-1], *at) &&
            form_is_edge(at[length - 1], at[length])) {
            best = i;
        }
    }
    return best;
}

Result render_forms_shape(const Url *url, Buffer *text, uint64_t *shape)
{
    buffer_reset(text);
    Result rc = trap_pattern(url, text);
    if (rc != RESULT_OK) {
        return rc;
    }
    char *last = text->data + url->path_start;
    size_t length = strcspn(last, "?");
    while (length > 0 && last[length - 1] != '/') {
        length--;
    }
    last += length;
    length = strcspn(last, "?");
    bool is_word = length > 0 && memchr(last, '0', length) == NULL;
    *shape = hash_64(text->data, (size_t)(last - text->data) + (is_word ? 0 : strlen(last)), 0);
    return RESULT_OK;
}

bool render_form_of(const char *page, const char *requisite, Buffer *form)
{
    FormPiece pieces[FORMS_PIECES];
    unsigned n = form_pieces(page, pieces);
    const char *at = form_path(requisite);
    size_t before = form->length;
    bool has_hole = false;
    Result rc = buffer_append(form, requisite, (size_t)(at - requisite));
    if (rc != RESULT_OK) {
        return false;
    }
    while (*at != '\0' && form->length - before < RENDER_FORM_BYTES) {
        unsigned i = at == requisite ? FORMS_PIECES : form_piece_at(at, pieces, n);
        if (i == FORMS_PIECES) {
            rc = buffer_append_char(form, *at++);
        } else {
            rc = buffer_printf(form, "%c%c", FORMS_HOLE, 'A' + (int)i);
            at += pieces[i].length;
            has_hole = true;
        }
        if (rc != RESULT_OK) {
            return false;
        }
    }
    return *at == '\0' && has_hole;
}

bool render_form_fill(const RenderForm *form, const char *page, Buffer *requisite)
{
    FormPiece pieces[FORMS_PIECES];
    unsigned n = form_pieces(page, pieces);
    for (size_t i = 0; i < form->length; i++) {
        const char *bytes = form->text + i;
        size_t length = 1;
        if (*bytes == FORMS_HOLE) {
            i++;
            size_t piece = i < form->length ? (size_t)(form->text[i] - 'A') : n;
            if (piece >= n) {
                return false;
            }
            bytes = pieces[piece].bytes;
            length = pieces[piece].length;
        }
        if (buffer_append(requisite, bytes, length) != RESULT_OK) {
            return false;
        }
    }
    return true;
}

bool render_form_is_good(const RenderForm *form)
{
    return form->seen >= RENDER_FORM_LEAST && form->missed * 4 <= form->seen &&
           form->asked < form->seen * RENDER_FORM_TRUST;
}

bool render_forms_next(const char **at, RenderForm *form)
{
    char *end = NULL;
    if (**at == '\0') {
        return false;
    }
    form->seen = strtoul(*at, &end, 10);
    form->missed = strtoul(end, &end, 10);
    form->asked = strtoul(end, &end, 10);
    form->text = end + (*end == ' ');
    form->length = strcspn(form->text, "\n");
    *at = form->text + form->length;
    *at += **at == '\n';
    return true;
}

/* Whether two forms are one, but for clock or dice. */
static bool form_is(const RenderForm *form, const char *text, size_t length)
{
    char a[RENDER_FORM_BYTES];
    char b[RENDER_FORM_BYTES];
    if (form->length == length && memcmp(form->text, text, length) == 0) {
        return true;
    }
    if (form->length >= sizeof a || length >= sizeof b) {
        return false;
    }
    memcpy(a, form->text, form->length);
    memcpy(b, text, length);
    a[form->length] = '\0';
    b[length] = '\0';
    return archive_source_is_near(a, b);
}

static Result form_write(Buffer *list, const RenderForm *form)
{
    return buffer_printf(list, "%lu %lu %lu %.*s\n", form->seen, form->missed, form->asked,
                         (int)form->length, form->text);
}

/* One more page counts, the older ones less and less. */
static void form_count(RenderForm *form, char sign)
{
    form->seen += sign == '+';
    form->missed += sign == '-';
    form->asked += sign == '?';
    form->asked -= sign == '~' && form->asked > 0;
    if (form->seen + form->missed > FORMS_MOST) {
        form->seen /= 2;
        form->missed /= 2;
        form->asked /= 2;
    }
}

Result render_forms_note(Buffer *list, const char *form, size_t length, char sign)
{
    Buffer next;
    RenderForm each;
    bool is_known = false;
    unsigned n = 0;
    for (const char *at = buffer_string(list); render_forms_next(&at, &each); n++) {
        is_known = is_known || form_is(&each, form, length);
    }
    bool is_full = n >= RENDER_FORMS;
    Result rc = RESULT_OK;
    buffer_init(&next, FORMS_LIST);
    for (const char *at = buffer_string(list); render_forms_next(&at, &each);) {
        if (form_is(&each, form, length)) {
            form_count(&each, sign);
        } else if (!is_known && is_full && each.seen < RENDER_FORM_LEAST) {
            is_full = false; /* it makes room */
            continue;
        }
        rc = form_write(&next, &each);
        if (rc != RESULT_OK) {
            goto done;
        }
    }
    if (!is_known && !is_full && sign == '+') {
        each = (RenderForm){.seen = 1, .text = form, .length = length};
        rc = form_write(&next, &each);
    }
    if (rc == RESULT_OK) {
        buffer_reset(list);
        rc = buffer_append(list, buffer_string(&next), next.length);
    }
done:
    buffer_destroy(&next);
    return rc;
}

/* ---- series ---- */

#define SERIES_RUNS   8u /* numbers of one URL */
#define SERIES_DIGITS 9u /* of one of them: a longer one is an identifier */

/* A number within a URL. */
typedef struct SeriesRun {
    size_t start;
    size_t length;
    RenderSeriesPart part;
} SeriesRun;

void render_series_clear(RenderSeries *series)
{
    series->n = 0;
}

static unsigned series_runs(const char *url, size_t length, SeriesRun *runs)
{
    static const char digits[] = "0123456789";
    const char *host = memmem(url, length, "://", 3);
    size_t at = host == NULL ? 0 : (size_t)(host + 3 - url);
    unsigned n = 0;
    at += strcspn(url + at, "/\n");
    while (at < length && n < SERIES_RUNS) {
        size_t run = strspn(url + at, digits);
        if (run > 0 && run <= SERIES_DIGITS) {
            uint64_t key = hash_64(url, at, 0);
            runs[n++] = (SeriesRun){.start = at,
                                    .length = run,
                                    .part = {.key = hash_64(url + at + run, length - at - run, key),
                                             .number = strtoull(url + at, NULL, 10)}};
        }
        at += run > 0 ? run : 1;
    }
    return n;
}

void render_series_note(RenderSeries *series, const char *url)
{
    SeriesRun runs[SERIES_RUNS];
    unsigned n = series_runs(url, strlen(url), runs);
    for (unsigned i = 0; i < n && series->n < RENDER_SERIES; i++) {
        series->parts[series->n++] = runs[i].part;
    }
}

/* By how much a number is more than the greatest that was answered before it; 0: none was. */
static uint64_t series_step(const RenderSeries *series, const RenderSeriesPart *part)
{
    uint64_t step = 0;
    for (unsigned i = 0; i < series->n; i++) {
        const RenderSeriesPart *known = &series->parts[i];
        if (known->key == part->key && known->number < part->number &&
            (step == 0 || part->number - known->number < step)) {
            step = part->number - known->number;
        }
    }
    return step;
}

/* Whether another URL that is lacking is of the same series. */
static bool series_is_wide(const Buffer *lacking, const RenderSeriesPart *part)
{
    SeriesRun runs[SERIES_RUNS];
    for (const char *line = buffer_string(lacking); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        unsigned n = series_runs(line, length, runs);
        for (unsigned i = 0; i < n; i++) {
            if (runs[i].part.key == part->key && runs[i].part.number != part->number) {
                return true;
            }
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

/* The first number of a URL that goes on from another one; NULL: none does. */
static const SeriesRun *series_find(const RenderSeries *series, const Buffer *lacking,
                                    const SeriesRun *runs, unsigned n, uint64_t *step)
{
    for (unsigned i = 0; i < n; i++) {
        *step = series_step(series, &runs[i].part);
        if (*step > 0 && !series_is_wide(lacking, &runs[i].part)) {
            return &runs[i];
        }
    }
    return NULL;
}

unsigned render_series_ahead(const RenderSeries *series, const Buffer *lacking, unsigned most,
                             Buffer *out)
{
    SeriesRun runs[SERIES_RUNS];
    unsigned total = 0;
    for (const char *line = buffer_string(lacking); *line != '\0' && total < most;) {
        size_t length = strcspn(line, "\n");
        unsigned n = series_runs(line, length, runs);
        uint64_t step = 0;
        const SeriesRun *run = series_find(series, lacking, runs, n, &step);
        for (uint64_t k = 1; run != NULL && total < most; k++) {
            size_t end = run->start + run->length;
            /* A number that begins with 0 keeps its width. */
            int width = line[run->start] == '0' ? (int)run->length : 1;
            Result rc = buffer_printf(out, "%.*s%0*" PRIu64 "%.*s\n", (int)run->start, line, width,
                                      run->part.number + k * step, (int)(length - end), line + end);
            if (rc != RESULT_OK) {
                return total;
            }
            total++;
        }
        line += length + (line[length] == '\n');
    }
    return total;
}
