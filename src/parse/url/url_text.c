#include "parse/url/url_text.h"

#include <stdlib.h>
#include <string.h>

#define URL_FIRST_BYTES 128

void url_init(Url *url)
{
    *url = (Url){.href = NULL};
}

void url_destroy(Url *url)
{
    free(url->href);
    url_init(url);
}

void url_clear(Url *url)
{
    char *href = url->href;
    uint32_t capacity = url->capacity;
    *url = (Url){.href = href, .capacity = capacity};
    if (href != NULL) {
        href[0] = '\0';
    }
}

Result url_reserve(Url *url, size_t capacity)
{
    if (capacity < url->capacity) {
        return RESULT_OK;
    }
    size_t bytes = url->capacity < URL_FIRST_BYTES ? URL_FIRST_BYTES : url->capacity;
    while (bytes <= capacity) {
        bytes *= 2;
    }
    if (bytes > UINT32_MAX) {
        return RESULT_LIMIT;
    }
    char *href = realloc(url->href, bytes);
    if (href == NULL) {
        return RESULT_MEMORY;
    }
    url->href = href;
    url->capacity = (uint32_t)bytes;
    return RESULT_OK;
}

Result url_append(Url *url, const char *bytes, size_t length)
{
    Result rc = url_reserve(url, url->length + length);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (length > 0) {
        memcpy(url->href + url->length, bytes, length);
        url->length += (uint32_t)length;
    }
    return RESULT_OK;
}
