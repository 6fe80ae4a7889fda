/* Input: a path, a line feed, and Set-Cookie values, one a line. Whatever they say, the jar keeps
 * its bounds, and what it sends has no control character. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/cookie/cookie_jar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = exact_copy(data, size);
    char *line = size == 0 ? NULL : memchr(text, '\n', size);
    size_t path = line == NULL ? size : (size_t)(line - text);
    CookiePlace place = {.host = "www.a.test",
                         .host_length = 10,
                         .path = text,
                         .path_length = path,
                         .https = size % 2 == 0,
                         .now_s = 1000};
    CookieJar *jar = cookie_jar_new();
    assert(jar != NULL);
    for (size_t start = path + 1; start < size;) {
        const char *end = memchr(text + start, '\n', size - start);
        size_t length = end == NULL ? size - start : (size_t)(end - text) - start;
        (void)cookie_jar_take(jar, text + start, length, &place);
        assert(cookie_jar_count(jar) <= COOKIE_JAR_MOST);
        start += length + 1;
    }
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    assert(cookie_jar_write(jar, &place, &out) == RESULT_OK);
    assert(out.length <= COOKIE_JAR_BYTES + 4 * COOKIE_JAR_MOST);
    for (size_t i = 0; i < out.length; i++) {
        assert((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\t');
    }
    buffer_destroy(&out);
    cookie_jar_delete(jar);
    free(text);
    return 0;
}
