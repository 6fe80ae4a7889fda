/* Render series: the parts of a list that a page asks for one by one, told from the first of them.
 *
 *   render_series_note: a URL was answered ... --> render_series_ahead: what will follow those that
 *   are lacking
 *
 * What: a page that has had /list?at=20 and lacks /list?at=40 is going to ask for /list?at=60. An
 * endless list would need a round for each of its parts; so the further ones, up to a bound, are
 * fetched together with the one that is lacking. Two URLs are of one series when they differ in one
 * number. A page that lacks several of a series has asked for them at once: it is none.
 * Owns: nothing but itself. Threads: one.
 * Invariants: bounded by RENDER_SERIES; what is answered behind them is not noted. */
#ifndef RENDER_RENDER_SERIES_H
#define RENDER_RENDER_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

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

#endif
