#include "command/import/import_fetch.h"

#include <string.h>

#include "parse/host/authority.h"

static Result import_fetch_copy_text(Buffer *out, WarcBytes text)
{
    return buffer_append(out, text.bytes, text.length);
}

static bool import_fetch_is_robots(const char *url)
{
    Authority at = authority_of(url, strlen(url));
    return strcmp(url + at.end, "/robots.txt") == 0;
}

FetchResult *import_fetch_of(const ImportCapture *capture)
{
    FetchResult *fetch =
        fetch_result_new(import_fetch_is_robots(capture->url) ? FETCHED_ROBOTS : FETCHED_PAGE);
    if (fetch == NULL) {
        return NULL;
    }
    fetch->final = true;
    fetch->request.url = strdup(capture->url);
    (void)ip_address_parse(capture->ip.bytes, capture->ip.length, &fetch->request.address);
    fetch->answer.status = (int)capture->status;
    fetch->answer.http_version = capture->is_10 ? 10 : 11;
    fetch->answer.truncated = capture->is_cut ? TRUNCATED_UNSPECIFIED : TRUNCATED_NOT;
    fetch->cost.wall_start = capture->date;
    fetch->cost.start = mono_now();
    fetch->cost.end = fetch->cost.start;
    fetch->cost.bytes = capture->header.length + capture->body.length;
    fetch->cost.owed_ms = -1;
    fetch->cost.given_ms = -1;
    fetch->host.crawl_delay_ms = -1;
    if (fetch->request.url == NULL ||
        import_fetch_copy_text(&fetch->answer.header, capture->header) != RESULT_OK ||
        import_fetch_copy_text(&fetch->answer.body, capture->body) != RESULT_OK) {
        fetch_result_delete(fetch);
        return NULL;
    }
    return fetch;
}
