#include "frontier/visit/wall_run.h"

#include <stdlib.h>

#include "base/core/hash.h"

#define SAME_SEED 0x57414c4cu /* any number: the hash is compared with itself alone */

void wall_run_destroy(WallRun *run)
{
    free(run->pages);
    *run = (WallRun){.length = 0};
}

bool wall_run_is_status(int status)
{
    return status == 401 || status == 402 || status == 403 || status == 406 || status == 429 ||
           status == 451 || status == 503;
}

/* Whether no cache is to keep the answer. */
static bool wall_run_is_passing(const HttpHeader *header)
{
    HttpCacheControl control = HTTP_CACHE_CONTROL_NONE;
    HttpField field;
    size_t position = 0;
    while (http_header_next_named(header, "Cache-Control", &position, &field)) {
        http_header_cache_control(field.value, field.value_length, &control);
    }
    return control.no_store || control.no_cache || control.max_age_s == 0;
}

/* What may be the same for different pages; 0: nothing that would tell of a wall. */
static uint32_t wall_run_mark(const WallAnswer *answer, const HttpHeader *header)
{
    HttpField type = {.value = NULL};
    if (answer->status >= 300 && answer->status < 400 && answer->status != 304) {
        /* Where a redirect leads, without its query: that often names the page that was asked for.
         */
        HttpField location;
        if (!http_header_find(header, "Location", &location)) {
            return 0;
        }
        size_t length = 0;
        while (length < location.value_length && location.value[length] != '?' &&
               location.value[length] != '#') {
            length++;
        }
        return hash_32(location.value, length, SAME_SEED) | 1u;
    }
    if (answer->status != 200 || answer->body_length == 0 || !wall_run_is_passing(header) ||
        !http_header_find(header, "Content-Type", &type)) {
        return 0;
    }
    HttpContentType content = http_header_content_type(type.value, type.value_length);
    return http_header_is_type(&content, "text/html")
               ? hash_32(answer->body, answer->body_length, SAME_SEED) | 1u
               : 0;
}

bool wall_run_take(WallRun *run, const WallAnswer *answer, unsigned most)
{
    HttpHeader header;
    bool was_walled = most > 0 && run->length >= most;
    run->is_part = false;
    if (most == 0 || answer->status < 200 ||
        http_header_parse(&header, answer->header, answer->header_length) != RESULT_OK) {
        return false;
    }
    if (wall_run_is_status(answer->status) || answer->wall == WALL_CHALLENGE) {
        run->has_first &= run->length > 0; /* that was a page, and no other was like it */
        run->same = was_walled ? run->same : 0;
        run->is_part = was_walled || !answer->is_walled;
        run->length += run->is_part;
        return run->length >= most;
    }
    if (answer->status >= 500) {
        return false;
    }
    uint32_t mark = wall_run_mark(answer, &header);
    if (answer->status == 304 && was_walled && run->same != 0) {
        return true; /* what is stored is the wall's answer */
    }
    if (mark != 0 && mark == run->same && (was_walled || !answer->again)) {
        run->length += run->length == 0 ? 2 : 1; /* the one before it counts now */
        run->is_part = true;
        return run->length >= most;
    }
    wall_run_destroy(run);
    run->same = answer->again ? 0 : mark;
    run->is_part = run->same != 0;
    return false;
}

void wall_run_settle(WallRun *run, uint64_t page)
{
    if (!run->is_part || run->length < 2) { /* nearly every page: there is no run yet */
        run->first = run->is_part ? page : run->first;
        run->has_first |= run->is_part;
        return;
    }
    if (run->pages == NULL) {
        run->pages = calloc(WALL_RUN_MOST, sizeof *run->pages);
    }
    if (run->pages != NULL && run->has_first) {
        run->pages[run->n_pages++] = run->first;
        run->has_first = false;
    }
    if (run->pages != NULL && run->n_pages < WALL_RUN_MOST) {
        run->pages[run->n_pages++] = page;
    }
}
