/* parse/robots: whatever a tdmrep.json says, only the bits that it can set come out, it forbids no
 * path, the same file once more changes nothing, and what stands before a mistake still counts when
 * the file is cut there. The first byte says how much of the rest is the path that is asked for. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/robots/robots.h"

#define TDM (USAGE_TDM | USAGE_TRAIN_AI)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Robots *new_robots(void)
{
    Robots *robots = NULL;
    Result rc = robots_parse("", 0, "ragno", &robots);
    assert(rc == RESULT_OK);
    return robots;
}

static bool same(Usage a, Usage b)
{
    return a.denied == b.denied && a.allowed == b.allowed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t path_length = data[0] < size - 1 ? data[0] : size - 1;
    size_t length = size - 1 - path_length;
    char *path = exact_copy(data + 1, path_length);
    char *text = exact_copy(data + 1 + path_length, length);
    Robots *robots = new_robots();
    Result rc = robots_add_tdm(robots, text, length);
    assert(rc == RESULT_OK || rc == RESULT_INVALID || rc == RESULT_LIMIT);
    Usage usage = robots_usage(robots, path, path_length, NULL);
    assert((usage.denied & ~(unsigned)TDM) == 0 && (usage.allowed & ~(unsigned)USAGE_TDM) == 0);
    assert((usage.denied & usage.allowed) == 0);
    assert(robots_add_tdm(robots, text, length) == rc);
    assert(same(usage, robots_usage(robots, path, path_length, NULL)));
    robots_delete(robots);
    robots = new_robots();
    char *longer = malloc(length + 2);
    assert(longer != NULL);
    memcpy(longer, text, length);
    memcpy(longer + length, "]{", 2);
    Result again = robots_add_tdm(robots, longer, length + 2);
    assert(rc == RESULT_OK || again == RESULT_INVALID || length > 0);
    assert(rc != RESULT_OK || length > ROBOTS_MAX_BYTES ||
           same(usage, robots_usage(robots, path, path_length, NULL)));
    robots_delete(robots);
    free(longer);
    free(path);
    free(text);
    return 0;
}
