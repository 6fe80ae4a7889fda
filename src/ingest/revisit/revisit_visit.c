#include "ingest/revisit/revisit_visit.h"

#include <string.h>

static void take_validator(const char *validator, char *out, size_t most)
{
    size_t length = validator == NULL ? 0 : strlen(validator);
    if (length > 0 && length <= most) {
        memcpy(out, validator, length + 1);
    }
}

/* Validators are those of the content that is stored: an incomplete one has none. */
static void take_validators(const ParsedPage *page, RevisitNote *note)
{
    const FetchResult *fetch = page->fetch;
    if (fetch->answer.status >= 200 && fetch->answer.status < 400 && fetch->answer.status != 304) {
        note->etag[0] = '\0';
        note->last_modified[0] = '\0';
    }
    bool is_cut = fetch->answer.truncated == TRUNCATED_TIME ||
                  fetch->answer.truncated == TRUNCATED_DISCONNECT;
    if (fetch->answer.status == 304 || (fetch->answer.status == 200 && !is_cut)) {
        take_validator(page->etag, note->etag, REVISIT_ETAG_BYTES);
        take_validator(page->last_modified, note->last_modified, REVISIT_DATE_BYTES);
    }
}

/* A page that is gone, or was never there to be fetched, is missed; an answer ends that. */
static void count_miss(const FetchResult *fetch, const PageRef *page, RevisitNote *note)
{
    bool is_gone = fetch->answer.status == 404 || fetch->answer.status == 410;
    if (is_gone || page->n_crawls == 0) {
        note->misses = note->misses < UINT8_MAX ? (uint8_t)(note->misses + 1) : UINT8_MAX;
    } else if (fetch->answer.status >= 100) {
        note->misses = 0;
    }
}

void revisit_visit_note(const ParsedPage *page, const PageRef *ref, RevisitNote *note)
{
    take_validators(page, note);
    count_miss(page->fetch, ref, note);
}

bool revisit_visit_is_same(const RevisitNote *a, const RevisitNote *b)
{
    return a->misses == b->misses && a->has_signal == b->has_signal &&
           !(a->fixed_freq < b->fixed_freq) && !(a->fixed_freq > b->fixed_freq) &&
           strcmp(a->etag, b->etag) == 0 && strcmp(a->last_modified, b->last_modified) == 0;
}
