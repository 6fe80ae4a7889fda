/* Guesses: what a page will ask for, before a browser has seen it.
 *
 *   guesses_make --> [what the crawl lacks is fetched first] --> rendering, by guesses_ask
 *                --> guesses_tell: which guesses were right, and what would have been right
 *
 * What: two sources. The page's own HTML names scripts and style sheets. And pages of its shape
 * have asked for URLs that follow from theirs (render_forms.h): so an application's page is
 * rendered once, when its data have come, and not once to learn their name and once more.
 * Owns: its guesses, for one page at a time. Table, database and source are borrowed.
 * Threads: one.
 * Errors: RESULT_MEMORY of guesses_init; a page about which nothing can be guessed has no guesses.
 */
#pragma once

#include "parse/html/html.h"
#include "render/crawl_source.h"
#include "render/render_forms.h"
#include "render/render_table.h"

typedef struct Guess {
    size_t form; /* where its form begins in Guesses.forms, and ends in a line feed */
    size_t url;  /* where its URL begins in Guesses.urls, and ends in NUL */
    bool was_asked;
} Guess;

typedef struct Guesses {
    RenderTable *table;
    PageDB *db;
    CrawlSource *source;
    HtmlParser *html;
    Url url;
    Guess list[RENDER_FORMS];
    unsigned n;
    RenderSeries series; /* of what was answered */
    unsigned n_answered; /* with success, but for the page's own path */
    Buffer forms;        /* of the page's shape */
    Buffer urls;
    Buffer text;
} Guesses;

Result guesses_init(Guesses *guesses, RenderTable *table, PageDB *db, CrawlSource *source);
void guesses_destroy(Guesses *guesses);
/* Guesses what the page of a URL asks for. With an answer (else NULL), what of it and of its
 * scripts and style sheets the crawl may still fetch is appended to lacking, a line each, at most
 * `most`; returns how many. */
unsigned guesses_make(Guesses *guesses, const char *url, const RenderAnswer *answer, unsigned most,
                      Buffer *lacking);
/* RenderSource.ask, by the source; context is the Guesses. */
RenderVerdict guesses_ask(void *context, const char *url, RenderAnswer *answer);
/* What a page's guesses came to. */
typedef enum GuessesEnd {
    GUESSES_ASKED,  /* what they say is fetched now */
    GUESSES_UNSURE, /* the page lacked something, and may ask for more */
    GUESSES_KNOWN   /* it had all that it asked for */
} GuessesEnd;

/* Appends lessons for render_forms_note, a line each, its sign first. lacking: URLs that the page
 * lacked. was_asked: they were fetched for its sake, and now it has been rendered. */
Result guesses_tell(const Guesses *guesses, const char *url, const Buffer *lacking, GuessesEnd end,
                    bool was_asked, Buffer *lessons);
