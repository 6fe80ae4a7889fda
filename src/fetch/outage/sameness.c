#include "fetch/outage/sameness.h"

#include <strings.h>

#include "base/core/hash.h"
#include "parse/http/http_header.h"

#define BODY_BYTES ((size_t)4096) /* of a page are compared, and its length */
#define MARK_SEED  0x53414d45u    /* any number: marks are compared with each other alone */

static uint32_t sameness_mark_of(const void *bytes, size_t length, uint32_t salt)
{
    return (uint32_t)hash_64(bytes, length, MARK_SEED ^ salt) | 2u;
}

/* Where a redirect leads; one within its host says nothing of gateways. */
static uint32_t sameness_target(const HttpHeader *header)
{
    HttpField location;
    if (!http_header_find(header, "Location", &location) || location.value_length < 8 ||
        strncasecmp(location.value, "http", 4) != 0) {
        return SAMENESS_OTHER;
    }
    size_t length = 0;
    while (length < location.value_length && location.value[length] != '?' &&
           location.value[length] != '#') {
        length++;
    }
    return sameness_mark_of(location.value, length, 0);
}

uint32_t sameness_mark(int status, const char *header, size_t header_length, const char *body,
                       size_t body_length)
{
    HttpHeader fields;
    HttpField type;
    if (status == 502 || status == 503 || status == 504 || status == 511) {
        return sameness_mark_of(&status, sizeof status, 0);
    }
    if (http_header_parse(&fields, header, header_length) != RESULT_OK) {
        return SAMENESS_OTHER;
    }
    if (status >= 300 && status < 400 && status != 304) {
        return sameness_target(&fields);
    }
    if ((status != 200 && status != 403) || body_length == 0 ||
        !http_header_find(&fields, "Content-Type", &type)) {
        return SAMENESS_OTHER;
    }
    HttpContentType content = http_header_content_type(type.value, type.value_length);
    return http_header_is_type(&content, "text/html")
               ? sameness_mark_of(body, body_length < BODY_BYTES ? body_length : BODY_BYTES,
                                  (uint32_t)body_length)
               : SAMENESS_OTHER;
}

static void sameness_clear(Sameness *sameness)
{
    sameness->state = OUTAGE_CLEAR;
    sameness->mark = 0;
    sameness->n_row = 0;
    sameness->n_pages = 0;
    sameness->tries = false;
}

static void sameness_trust(Sameness *sameness, MonoTime now)
{
    sameness->theirs[sameness->next_theirs] =
        (SameTheirs){.mark = sameness->mark, .until = mono_add_ms(now, SAMENESS_THEIRS_MS)};
    sameness->next_theirs = (sameness->next_theirs + 1) % SAMENESS_THEIRS;
    sameness_clear(sameness);
}

static bool sameness_is_theirs(const Sameness *sameness, uint32_t mark, MonoTime now)
{
    for (size_t i = 0; i < SAMENESS_THEIRS; i++) {
        if (sameness->theirs[i].mark == mark && mono_before(now, sameness->theirs[i].until)) {
            return true;
        }
    }
    return false;
}

/* Enters a host that had sent other pages before. */
static void sameness_add(Sameness *sameness, const SameAnswer *answer)
{
    bool was_well = answer->before != 0 && answer->before != answer->mark;
    for (unsigned i = 0; i < sameness->n_row; i++) {
        was_well = was_well && sameness->row[i] != answer->who;
    }
    if (was_well && sameness->n_row < SAMENESS_HOSTS) {
        sameness->row[sameness->n_row++] = answer->who;
    }
}

/* The crawl has been let go on, and the gateway has answered. */
static bool sameness_rest(Sameness *sameness, MonoTime now)
{
    bool tried = sameness->tries;
    if (tried) {
        sameness->tries = false;
        sameness->next_try = mono_add_ms(now, sameness->pause_ms);
        sameness->pause_ms = sameness->pause_ms < SAMENESS_PAUSE_MOST / 2 ? 2 * sameness->pause_ms
                                                                          : SAMENESS_PAUSE_MOST;
    }
    return tried;
}

static bool sameness_begin_outage(Sameness *sameness, MonoTime now)
{
    if (sameness->n_row < SAMENESS_HOSTS ||
        mono_before(now, mono_add_ms(sameness->since, SAMENESS_LEAST_MS))) {
        return false;
    }
    sameness->state = OUTAGE_OUT;
    sameness->out_since = now;
    sameness->pause_ms = 2 * SAMENESS_PAUSE_MS;
    sameness->next_try = mono_add_ms(now, SAMENESS_PAUSE_MS);
    sameness->n_outages++;
    return true;
}

/* An answer that begins no row, because it is its host's first or was under way when the row began.
 */
static void sameness_note_early(Sameness *sameness, const SameAnswer *answer, MonoTime now)
{
    if (!answer->has_page || answer->mark == SAMENESS_OTHER || answer->before == answer->mark) {
        return;
    }
    sameness->early[sameness->next_early] =
        (SameEarly){.mark = answer->mark, .page = answer->page, .at = now};
    sameness->next_early = (sameness->next_early + 1) % SAMENESS_EARLY;
}

static void sameness_begin_row(Sameness *sameness, const SameAnswer *answer, MonoTime now)
{
    sameness->state = OUTAGE_SUSPECTED;
    sameness->mark = answer->mark;
    sameness->since = now;
    sameness_add(sameness, answer);
    for (size_t i = 0; i < SAMENESS_EARLY; i++) {
        const SameEarly *early = &sameness->early[i];
        if (early->mark == answer->mark &&
            mono_before(now, mono_add_ms(early->at, SAMENESS_ROW_MS))) {
            sameness->pages[sameness->n_pages++] = early->page;
        }
    }
}

/* An answer with another mark, or the first with one. */
static void sameness_take_other(Sameness *sameness, const SameAnswer *answer, MonoTime now,
                                bool *changed)
{
    if (sameness->mark != 0 && mono_before(answer->began, sameness->since)) {
        sameness_note_early(sameness, answer, now);
        return;
    }
    *changed = sameness->state == OUTAGE_OUT;
    sameness_clear(sameness);
    if (answer->mark == SAMENESS_OTHER || answer->before == answer->mark ||
        sameness_is_theirs(sameness, answer->mark, now)) {
        return;
    }
    if (answer->before != 0) {
        sameness_begin_row(sameness, answer, now);
    } else {
        sameness_note_early(sameness, answer, now);
    }
}

bool sameness_answered(Sameness *sameness, const SameAnswer *answer, MonoTime now, bool *changed)
{
    *changed = false;
    if (answer->mark != sameness->mark) {
        sameness_take_other(sameness, answer, now, changed);
    }
    if (sameness->mark == 0 || answer->mark != sameness->mark) {
        return false;
    }
    if (sameness->state == OUTAGE_OUT) {
        *changed = sameness_rest(sameness, now);
    } else if (!mono_before(now, mono_add_ms(sameness->since, SAMENESS_ROW_MS))) {
        sameness_trust(sameness, now);
        return false;
    } else {
        sameness_add(sameness, answer);
        *changed = sameness_begin_outage(sameness, now);
    }
    bool is_excused = sameness->n_row == SAMENESS_HOSTS;
    sameness->n_excused += is_excused;
    if (!is_excused && answer->has_page && sameness->n_pages < SAMENESS_PAGES) {
        sameness->pages[sameness->n_pages++] = answer->page;
    }
    return is_excused;
}

MonoTime sameness_next(const Sameness *sameness)
{
    if (sameness->state != OUTAGE_OUT) {
        return MONO_NEVER;
    }
    return sameness->tries ? mono_add_ms(sameness->out_since, SAMENESS_MOST_MS)
                           : sameness->next_try;
}

bool sameness_tick(Sameness *sameness, MonoTime now)
{
    if (mono_before(now, sameness_next(sameness))) {
        return false;
    }
    if (!mono_before(now, mono_add_ms(sameness->out_since, SAMENESS_MOST_MS))) {
        sameness_trust(sameness, now);
    } else {
        sameness->tries = true;
    }
    return true;
}
