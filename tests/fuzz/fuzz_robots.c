/* Input: a URL's path, LF, a robots.txt file. The verdict must not depend on how the path is
 * escaped, and every answer must be one that the header allows. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/robots/robots.h"
#include "parse/robots/robots_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *lf = size == 0 ? NULL : memchr(text, '\n', size);
    size_t path_length = lf == NULL ? size : (size_t)(lf - text);
    const char *body = lf == NULL ? text + size : lf + 1;
    size_t body_length = size - (size_t)(body - text);

    Robots *robots = NULL;
    if (robots_parse(body, body_length, "ragno", &robots) != RESULT_OK) {
        return 0;
    }
    RobotsVerdict verdict;
    bool allowed = robots_allows(robots, text, path_length, &verdict);
    assert(allowed == verdict.allowed);
    assert((verdict.line == 0) == (verdict.rule == NULL));
    assert(allowed || verdict.line > 0);
    if (verdict.rule != NULL) {
        assert(strlen(verdict.rule) <= ROBOTS_RULE_TEXT_BYTES);
    }

    /* Escaping what may be escaped in a URL changes nothing; '%' itself must stay. */
    char *escaped = malloc(3 * path_length + 1);
    assert(escaped != NULL);
    size_t n = 0;
    for (size_t i = 0; i < path_length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80 || c <= 0x20 ||
            (c >= 'a' && c <= 'z' && (i < 1 || text[i - 1] != '%') &&
             (i < 2 || text[i - 2] != '%'))) {
            n += (size_t)snprintf(escaped + n, 4, "%%%02x", c);
        } else {
            escaped[n++] = text[i];
        }
    }
    RobotsVerdict again;
    if (path_length > 0 && memchr(text, '%', path_length) == NULL &&
        !(path_length == 11 && memcmp(text, "/robots.txt", 11) == 0)) {
        assert(robots_allows(robots, escaped, n, &again) == allowed);
        assert(again.line == verdict.line);
    }
    free(escaped);
    assert(robots_crawl_delay_ms(robots) >= -1);
    assert(robots_crawl_delay_ms(robots) <= ROBOTS_DELAY_MAX_MS);
    for (size_t i = 0; i < robots_n_sitemaps(robots); i++) {
        assert(robots_sitemap(robots, i)[0] != '\0');
    }
    robots_delete(robots);
    assert(robots_meta_header(text, size, "ragno") < 8);
    assert(robots_meta_content(text, size) < 8);
    return 0;
}
