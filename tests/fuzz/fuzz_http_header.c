/* Input: a response header block; each of its values goes through every reader. What is returned
 * must lie inside the input. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/http/http_header.h"
#include "parse/robots/robots_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(const char *p, size_t n, const char *start, size_t length)
{
    assert(p == NULL || (p >= start && n <= length && p + n <= start + length));
}

static void check_value(const char *value, size_t length)
{
    HttpContentType type = http_header_content_type(value, length);
    inside(type.type, type.type_length, value, length);
    HttpCacheControl control = HTTP_CACHE_CONTROL_NONE;
    http_header_cache_control(value, length, &control);
    assert(control.max_age_s >= -1 && control.max_age_s <= HTTP_MAX_SECONDS);
    int64_t seconds = 0;
    (void)http_header_date(value, length, &seconds);
    assert(robots_meta_end(value, length) >= 0);
    assert(robots_meta_header_end(value, length, "ragno") >= 0);
    seconds = http_header_retry_after(value, length, 1000000);
    assert(seconds >= -1 && seconds <= HTTP_MAX_SECONDS);
    const char *uri = NULL;
    size_t uri_length = 0;
    if (http_header_refresh(value, length, &seconds, &uri, &uri_length)) {
        inside(uri, uri_length, value, length);
        assert(seconds >= 0 && seconds <= HTTP_MAX_SECONDS);
    }
    HttpLink link;
    size_t position = 0;
    size_t before = 0;
    while (http_header_next_link(value, length, &position, &link)) {
        inside(link.uri, link.uri_length, value, length);
        inside(link.rel, link.rel_length, value, length);
        inside(link.type, link.type_length, value, length);
        assert(position > before);
        before = position;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    HttpHeader header;
    check_value(text, size);
    if (http_header_parse(&header, text, size) != RESULT_OK) {
        return 0;
    }
    assert(header.status >= 100 && header.status <= 999 && header.bytes <= size);
    inside(header.fields, header.fields_length, text, size);
    HttpFreshness freshness = http_freshness_of(&header, 1800000000, size % 2 == 0 ? 0 : 0.1);
    assert(freshness.fresh_s >= 0 && freshness.fresh_s <= HTTP_MAX_SECONDS);
    assert(freshness.ends_s >= 0);
    size_t position = 0;
    HttpField field;
    while (http_header_next(&header, &position, &field)) {
        inside(field.name, field.name_length, text, size);
        inside(field.value, field.value_length, text, size);
        assert(field.name_length > 0);
        check_value(field.value, field.value_length);
    }
    return 0;
}
