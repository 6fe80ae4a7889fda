#include "fetch/transfer/fetch_result.h"

#include <stdlib.h>
#include <string.h>

FetchResult *fetch_result_new(FetchKind kind)
{
    FetchResult *result = calloc(1, sizeof *result);
    if (result != NULL) {
        result->kind = kind;
        result->cost.owed_ms = -1;
        result->cost.given_ms = -1;
        result->cost.owes_host_ms = -1;
        result->cost.owes_ip_ms = -1;
        result->host.crawl_delay_ms = -1;
        buffer_init(&result->answer.header, BUFFER_NO_LIMIT);
        buffer_init(&result->answer.body, BUFFER_NO_LIMIT);
        buffer_init(&result->answer.decoded, BUFFER_NO_LIMIT);
        buffer_init(&result->answer.sitemaps, BUFFER_NO_LIMIT);
    }
    return result;
}

void fetch_result_delete(FetchResult *result)
{
    if (result == NULL) {
        return;
    }
    fetch_result_strip(result, false);
    byte_gate_move(&result->cost.share, NULL, 0);
    free(result->request.url);
    free(result->request.as_origin);
    free(result->request.etag);
    free(result->request.last_modified);
    free(result->request.header);
    free(result->answer.refusal);
    free(result->host.walled_pages);
    if (result->rendering != NULL) {
        free(result->rendering->lacks);
        free(result->rendering->onward);
        free(result->rendering->fields);
        free(result->rendering->forms);
        buffer_destroy(&result->rendering->picture);
        free(result->rendering);
    }
    free(result);
}

void fetch_result_set_conditions(FetchResult *result, const VisitState *visit_state,
                                 const WindowUrl *url)
{
    if (url->validators == 0) {
        return;
    }
    const char *etag = visit_state->window.bytes + url->validators;
    const char *date = etag + strlen(etag) + 1;
    bool is_tag = *etag != '\0' && strcmp(etag, "*") != 0; /* crawls before 0.2 kept a "*" */
    result->request.etag = is_tag ? strdup(etag) : NULL;
    result->request.last_modified = *date == '\0' ? NULL : strdup(date);
}

void fetch_result_strip(FetchResult *result, bool keep_body)
{
    free(result->request.header);
    result->request.header = NULL;
    buffer_destroy(&result->answer.header);
    buffer_destroy(&result->answer.sitemaps);
    body_spool_close(&result->answer.spool);
    if (!keep_body) {
        buffer_destroy(&result->answer.body);
        buffer_destroy(&result->answer.decoded);
    }
}

void fetch_result_note_sitemaps(FetchResult *result, const Robots *robots)
{
    buffer_reset(&result->answer.sitemaps); /* an errand's file is read for each asker */
    for (size_t i = 0; i < robots_n_sitemaps(robots); i++) {
        const char *line = robots_sitemap(robots, i);
        if (buffer_append(&result->answer.sitemaps, line, strlen(line) + 1) != RESULT_OK) {
            return;
        }
    }
}

const char *fetch_result_text(const FetchResult *result, size_t *length)
{
    const FetchAnswer *answer = &result->answer;
    const Buffer *text = answer->is_decoded ? &answer->decoded : &answer->body;
    *length = text->length;
    return buffer_string(text);
}

int fetch_status_of_class(FetchClass class)
{
#define CLASS_STATUS(constant, name, status, wait, retries, gone, whose, meaning)                  \
    [constant] = status,
    static const int statuses[FETCH_CLASSES] = {FETCH_CLASS_LIST(CLASS_STATUS)};
    return class < FETCH_CLASSES ? statuses[class] : STATUS_BROKEN;
}

const char *fetch_truncation_name(FetchTruncation truncation)
{
    static const char *const names[] = {"", "length", "time", "disconnect", "unspecified"};
    return names[truncation];
}

int64_t fetch_result_retry_after_ms(const FetchResult *result)
{
    HttpHeader header;
    HttpField field;
    if (http_header_parse(&header,
                          result->answer.header.data == NULL ? "" : result->answer.header.data,
                          result->answer.header.length) != RESULT_OK ||
        !http_header_find(&header, "Retry-After", &field)) {
        return -1;
    }
    int64_t seconds = http_header_retry_after(field.value, field.value_length,
                                              wall_seconds(result->cost.wall_start));
    return seconds < 0 ? -1 : seconds * 1000;
}
