/* parse/usage: whatever a site states, only the known bits come out, none of them both denied and
 * allowed, and they can be printed. The first byte chooses what is read. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/robots/robots.h"
#include "parse/usage/usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(Usage usage)
{
    Buffer text;
    assert(usage.denied <= USAGE_ALL && usage.allowed <= USAGE_ALL);
    assert((usage.denied & usage.allowed) == 0);
    buffer_init(&text, 256);
    assert(usage_print(usage.denied, &text) == RESULT_OK);
    assert(text.length > 0);
    buffer_destroy(&text);
}

static void read_robots(const char *text, size_t length)
{
    Robots *robots = NULL;
    if (robots_parse(text, length, "ragno", &robots) == RESULT_OK) {
        check(robots_usage(robots, text, length));
        check(robots_usage(robots, "/", 1));
        RobotsUsageLine lines[ROBOTS_MAX_USAGES];
        Usage sum = {0};
        size_t n = robots_usage_lines(robots, text, length, lines, ROBOTS_MAX_USAGES);
        for (size_t i = 0; i < n; i++) {
            assert(lines[i].line > 0);
            sum = usage_join(sum, lines[i].usage);
        }
        Usage whole = robots_usage(robots, text, length);
        assert(sum.denied == whole.denied && sum.allowed == whole.allowed);
        robots_delete(robots);
    }
}

static void read_header(const char *text, size_t length)
{
    HttpHeader header;
    if (http_header_parse(&header, text, length) == RESULT_OK) {
        check(usage_of_header(&header));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *text = exact_copy(data + 1, size - 1);
    size_t length = size - 1;
    switch (data[0] % 5) {
    case 0:
        check(usage_of_dictionary(text, length));
        break;
    case 1:
        check(usage_of_robots_words(text, length));
        break;
    case 2:
        check(usage_of_html(text, length));
        break;
    case 3:
        read_robots(text, length);
        break;
    default:
        read_header(text, length);
        break;
    }
    free(text);
    return 0;
}
