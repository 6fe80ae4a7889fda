#include "render/desk/guesses.h"

#include <string.h>

#define GUESSES_TEXT ((size_t)1 << 20) /* bytes of forms and URLs */

Result guesses_init(Guesses *guesses, RenderTable *table, PageDB *db, CrawlSource *source)
{
    HtmlOptions options = {.no_digests = true};
    *guesses = (Guesses){.table = table, .db = db, .source = source};
    url_init(&guesses->url);
    buffer_init(&guesses->forms, GUESSES_TEXT);
    buffer_init(&guesses->urls, GUESSES_TEXT);
    buffer_init(&guesses->text, GUESSES_TEXT);
    return html_parser_new(&guesses->html, &options);
}

void guesses_destroy(Guesses *guesses)
{
    html_parser_delete(guesses->html);
    url_destroy(&guesses->url);
    buffer_destroy(&guesses->forms);
    buffer_destroy(&guesses->urls);
    buffer_destroy(&guesses->text);
}

/* What pages of its shape ask for. */
static void guesses_load_forms(Guesses *guesses, const char *url)
{
    MDB_txn *txn = NULL;
    uint64_t shape = 0;
    buffer_reset(&guesses->forms);
    if (url_parse(&guesses->url, NULL, url, strlen(url)) != RESULT_OK ||
        render_forms_shape(&guesses->url, &guesses->text, &shape) != RESULT_OK ||
        page_db_txn_begin(guesses->db, true, &txn) != page_db_error_ok) {
        return;
    }
    if (render_table_forms(guesses->table, txn, shape, &guesses->forms) != RESULT_OK) {
        buffer_reset(&guesses->forms);
    }
    page_db_txn_abort(guesses->db, txn);
}

static void guesses_fill(Guesses *guesses, const char *url)
{
    RenderForm form;
    const char *at = buffer_string(&guesses->forms);
    const char *start = at;
    guesses->n = 0;
    buffer_reset(&guesses->urls);
    while (guesses->n < RENDER_FORMS && render_forms_next(&at, &form)) {
        size_t place = guesses->urls.length;
        buffer_reset(&guesses->text);
        if (render_form_is_good(&form) && render_form_fill(&form, url, &guesses->text) &&
            buffer_append(&guesses->urls, guesses->text.data, guesses->text.length + 1) ==
                RESULT_OK) {
            guesses->list[guesses->n++] =
                (Guess){.form = (size_t)(form.text - start), .url = place};
        }
    }
}

static const char *guess_url(const Guesses *guesses, unsigned i)
{
    return buffer_string(&guesses->urls) + guesses->list[i].url;
}

/* Whether the crawl may still fetch a URL. */
static bool guesses_lack(Guesses *guesses, const char *url)
{
    RenderAnswer answer;
    return crawl_source_ask(guesses->source, url, &answer) == RENDER_LACKING;
}

/* Scripts and style sheets that the page names. The answer is read before the source is asked. */
static void guesses_read(Guesses *guesses, const char *url, const RenderAnswer *answer)
{
    Page page;
    HtmlInput input = {
        .body = answer->body, .length = answer->length, .url = url, .url_length = strlen(url)};
    buffer_reset(&guesses->text);
    if (html_parse(guesses->html, &input, &page) != RESULT_OK) {
        return;
    }
    for (size_t i = 0; i < page.n_links; i++) {
        const PageLink *link = &page.links[i];
        bool is_loaded = link->kind == LINK_SCRIPT ||
                         (link->kind == LINK_LINK && (link->flags & LINK_REQUISITE) != 0);
        if (is_loaded) {
            (void)buffer_printf(&guesses->text, "%s\n", link->url);
        }
    }
}

unsigned guesses_make(Guesses *guesses, const char *url, const RenderAnswer *answer, unsigned most,
                      Buffer *lacking)
{
    unsigned n = 0;
    render_series_clear(&guesses->series);
    guesses->n_answered = 0;
    guesses_load_forms(guesses, url);
    guesses_fill(guesses, url);
    if (answer == NULL) {
        return 0;
    }
    guesses_read(guesses, url, answer);
    for (unsigned i = 0; i < guesses->n && n < most; i++) {
        if (guesses_lack(guesses, guess_url(guesses, i))) {
            n += buffer_printf(lacking, "%s\n", guess_url(guesses, i)) == RESULT_OK;
        }
    }
    for (const char *line = buffer_string(&guesses->text); *line != '\0' && n < most;) {
        char *end = strchr(line, '\n');
        *end = '\0';
        if (guesses_lack(guesses, line)) {
            n += buffer_printf(lacking, "%s\n", line) == RESULT_OK;
        }
        line = end + 1;
    }
    return n;
}

/* Whether a URL is the page's, but for its query. */
static bool guesses_is_own(const Guesses *guesses, const char *url)
{
    const char *page = guesses->url.href;
    size_t length = strcspn(page, "?#");
    return strcspn(url, "?#") == length && memcmp(url, page, length) == 0;
}

RenderVerdict guesses_ask(void *context, const char *url, RenderAnswer *answer)
{
    Guesses *guesses = context;
    for (unsigned i = 0; i < guesses->n; i++) {
        const char *guess = guess_url(guesses, i);
        guesses->list[i].was_asked = guesses->list[i].was_asked || strcmp(guess, url) == 0 ||
                                     archive_source_is_near(guess, url);
    }
    RenderVerdict verdict = crawl_source_ask(guesses->source, url, answer);
    if (verdict == RENDER_ANSWERED) {
        render_series_note(&guesses->series, url);
        guesses->n_answered += answer->status / 100 == 2 && !guesses_is_own(guesses, url);
    }
    return verdict;
}

static Result guesses_tell_lacking(const char *url, const Buffer *lacking, Buffer *lessons)
{
    Buffer line;
    Buffer form;
    Result rc = RESULT_OK;
    buffer_init(&line, GUESSES_TEXT);
    buffer_init(&form, GUESSES_TEXT);
    for (const char *at = buffer_string(lacking); *at != '\0';) {
        size_t length = strcspn(at, "\n");
        buffer_reset(&line);
        buffer_reset(&form);
        rc = buffer_append(&line, at, length);
        if (rc == RESULT_OK && render_form_of(url, line.data, &form)) {
            rc = buffer_printf(lessons, "+%s\n", form.data);
        }
        if (rc != RESULT_OK) {
            goto done;
        }
        at += length + (at[length] == '\n');
    }
done:
    buffer_destroy(&line);
    buffer_destroy(&form);
    return rc;
}

Result guesses_tell(const Guesses *guesses, const char *url, const Buffer *lacking, GuessesEnd end,
                    bool was_asked, Buffer *lessons)
{
    Result rc = end == GUESSES_ASKED ? RESULT_OK : guesses_tell_lacking(url, lacking, lessons);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (unsigned i = 0; i < guesses->n; i++) {
        const char *form = buffer_string(&guesses->forms) + guesses->list[i].form;
        int length = (int)strcspn(form, "\n");
        if (end == GUESSES_ASKED || was_asked) {
            rc = buffer_printf(lessons, "%c%.*s\n", end == GUESSES_ASKED ? '?' : '~', length, form);
        }
        if (rc == RESULT_OK && end == GUESSES_KNOWN) {
            rc = buffer_printf(lessons, "%c%.*s\n", guesses->list[i].was_asked ? '+' : '-', length,
                               form);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}
