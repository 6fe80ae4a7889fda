#include "command/text/text_filter.h"

Result text_filter_init(TextFilter *filter, const Filter *where)
{
    *filter = (TextFilter){.where = where};
    url_init(&filter->url);
    return filter_scratch_new(&filter->scratch);
}

void text_filter_destroy(TextFilter *filter)
{
    filter_scratch_delete(filter->scratch);
    url_destroy(&filter->url);
}

bool text_filter_passes(TextFilter *filter, const TextCapture *capture)
{
    if (filter->where == NULL) {
        return true;
    }
    if (url_parse(&filter->url, NULL, capture->url.bytes, capture->url.length) != RESULT_OK) {
        return false;
    }
    char digest[WARC_DIGEST_TEXT];
    FilterInput input = {.url = &filter->url,
                         .status = (int)capture->status,
                         .content_type = capture->content_type,
                         .has_body = true,
                         .body = capture->body,
                         .body_length = capture->length};
    if (capture->has_digest) {
        input.digest = warc_digest_format(&capture->digest, digest);
    }
    return filter_matches(filter->where, &input, filter->scratch);
}
