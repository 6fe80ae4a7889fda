/* Any bytes as a filter expression: it compiles or says where it is wrong, and what compiles can be
 * evaluated and explained with the same answer. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "parse/filter/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Result read_file(void *context, const char *path, Buffer *out)
{
    (void)context;
    return buffer_append_string(out, path);
}

static void evaluate(const Filter *filter)
{
    static const char *const texts[] = {"http://www.example.co.uk/a/b/a/b?x=1&y=2",
                                        "https://[::1]/"};
    FilterScratch *scratch = NULL;
    Url url;
    Buffer reason;
    url_init(&url);
    buffer_init(&reason, BUFFER_NO_LIMIT);
    if (filter_scratch_new(&scratch) == RESULT_OK) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            assert(url_parse(&url, NULL, texts[i], strlen(texts[i])) == RESULT_OK);
            FilterInput input = {.url = &url,
                                 .source = i == 0 ? &url : NULL,
                                 .status = 200,
                                 .content_type = "text/html",
                                 .has_body = true,
                                 .body = "body",
                                 .body_length = 4};
            bool value = filter_matches(filter, &input, scratch);
            bool again = !value;
            assert(filter_explain(filter, &input, scratch, &again, &reason) == RESULT_OK);
            assert(value == again);
        }
    }
    buffer_destroy(&reason);
    url_destroy(&url);
    filter_scratch_delete(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FilterOptions options = {.available = FILTER_HAS_ALL, .read_file = read_file};
    FilterError error;
    Filter *filter = NULL;
    Result rc = filter_compile(&filter, (const char *)data, size, &options, &error);
    if (rc == RESULT_OK) {
        evaluate(filter);
        filter_delete(filter);
    } else {
        assert(filter == NULL && error.column >= 1 && error.column <= size + 1);
        assert(error.message[0] != '\0' && strlen(error.message) < sizeof error.message);
    }
    return 0;
}
