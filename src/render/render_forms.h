/* Render forms: requisites of a page that follow from its own URL, as learned of pages like it.
 *
 *   /item/17 has asked for /api/17.json --render_form_of--> /api/<2nd piece>.json
 *   /item/18 --render_form_fill--> /api/18.json, before a browser has seen it
 *
 * What: the pieces of a page's URL are the segments of its path and its query (between / ? & = .),
 * and the numbers within them. A form is the URL of a requisite with numbers of pieces in place of
 * what stands in the page's URL, too. Pages that may share forms have one shape: host and path
 * without numbers and identifiers, and without the last segment where that is but a word. A list of
 * forms is text, a line "SEEN MISSED ASKED FORM" each; forms that differ in clock or dice are one
 * (archive_source.h).
 * A form is believed when two pages have asked for what it says, as long as at most one page
 * in five did not ask for what was fetched for its sake. An answer of 404 that the page asks for
 * was worth it: the browser would have had to wait for it.
 * Series: a page that has had /list?at=20 and lacks /list?at=40 is going to ask for /list?at=60. An
 * endless list would need a round for each of its parts; so the further ones, up to a bound, are
 * fetched together with the one that is lacking. Two URLs are of one series when they differ in one
 * number. A page that lacks several of a series has asked for them at once: it is none.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: RESULT_MEMORY. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "parse/url/url.h"

#define RENDER_FORMS      16u  /* of one shape; a new one replaces one that was seen once */
#define RENDER_FORM_BYTES 512u /* longer ones are not learned */
#define RENDER_FORM_LEAST 2u   /* pages that a form is believed for */
#define RENDER_FORM_TRUST 4u

typedef struct RenderForm {
    unsigned long seen;   /* pages that asked for what it says */
    unsigned long missed; /* for whose sake it was fetched, and who did not */
    unsigned long asked;  /* for whose sake it is fetched now */
    const char *text;     /* borrowed, not terminated */
    size_t length;
} RenderForm;

/* The key of a URL's shape. text is scratch. */
Result render_forms_shape(const Url *url, Buffer *text, uint64_t *shape);
/* Appends the form of a requisite. False: nothing of the page's URL is in it, or it is too long. */
bool render_form_of(const char *page, const char *requisite, Buffer *form);
/* Appends what a form says of a page. False: the page's URL lacks a piece. */
bool render_form_fill(const RenderForm *form, const char *page, Buffer *requisite);
bool render_form_is_good(const RenderForm *form);
/* Steps through a list, from its first byte on. False at its end. */
bool render_forms_next(const char **at, RenderForm *form);
/* Notes one page in a list: '+' it has asked for what a form says, '-' it has not; '?' that is
 * fetched for its sake, '~' that is over. */
Result render_forms_note(Buffer *list, const char *form, size_t length, char sign);

#define RENDER_SERIES 1024u /* numbers of URLs that are remembered */

typedef struct RenderSeriesPart {
    uint64_t key; /* of the URL without the number */
    uint64_t number;
} RenderSeriesPart;

typedef struct RenderSeries {
    RenderSeriesPart parts[RENDER_SERIES];
    unsigned n;
} RenderSeries;

void render_series_clear(RenderSeries *series);
void render_series_note(RenderSeries *series, const char *url);
/* Appends the URLs that follow those of lacking (a line each, as what is appended), at most `most`;
 * returns how many. */
unsigned render_series_ahead(const RenderSeries *series, const Buffer *lacking, unsigned most,
                             Buffer *out);
