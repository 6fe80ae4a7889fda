#include "parse/url/url.h"

#include <assert.h>
#include <string.h>

#include "parse/url/url_fast.h"
#include "parse/url/url_standard.h"

Result url_parse_in_document(Url *out, const Url *base, const char *input, size_t length,
                             const char *encoding)
{
    assert(out != base);
    if (url_fast_parse(out, base, input, length)) {
        return RESULT_OK;
    }
    return url_parse_standard(out, base, input, length, encoding);
}

Result url_parse(Url *out, const Url *base, const char *input, size_t length)
{
    return url_parse_in_document(out, base, input, length, NULL);
}

Result url_origin(const Url *url, Buffer *out)
{
    const char *scheme = url->https ? "https://" : "http://";
    size_t n = strlen(scheme);
    Result rc = buffer_reserve(out, n + url->path_start - url->host_start);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)buffer_append(out, scheme, n);
    return buffer_append(out, url->href + url->host_start, url->path_start - url->host_start);
}
