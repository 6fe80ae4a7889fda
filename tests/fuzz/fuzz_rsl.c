/* parse/usage: whatever a licence file says, only known bits come out, none both denied and
 * allowed; statements that are refused leave the licence as one that permits nothing; a file that
 * was read to its end is not one any more when its last byte is missing, unless that was behind its
 * root; and the same file says the same to the same reader. The first byte says who reads, the
 * second how much of the rest is the path that is asked for. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/robots/robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Usage read_licence(const char *text, size_t length, RslUser user, const char *path,
                          size_t path_length, Result *rc)
{
    static const char rules[] = "License: /l.xml\n";
    RslReader reader = {.origin = "https://www.example.org", .user = user};
    UsageStatement list[ROBOTS_MAX_USAGES];
    UsageLedger ledger = {.list = list, .max = ROBOTS_MAX_USAGES};
    Robots *robots = NULL;
    *rc = robots_parse(rules, sizeof rules - 1, "ragno", &robots);
    assert(*rc == RESULT_OK);
    *rc = robots_add_licence(robots, USAGE_IN_LICENCE, text, length, &reader);
    Usage usage = robots_usage(robots, path, path_length, &ledger);
    for (size_t i = 0; i < ledger.n; i++) {
        assert(list[i].place == USAGE_IN_LICENCE && list[i].length <= ROBOTS_RULE_TEXT_BYTES);
        assert((list[i].line == 0) == (*rc != RESULT_OK));
    }
    robots_delete(robots);
    return usage;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t path_length = data[1] < size - 2 ? data[1] : size - 2;
    size_t length = size - 2 - path_length;
    char *path = exact_copy(data + 2, path_length);
    char *text = exact_copy(data + 2 + path_length, length);
    RslUser user = (RslUser)(data[0] % (RSL_USER_PERSONAL + 1));
    Result rc = RESULT_OK;
    Result again = RESULT_OK;
    Usage usage = read_licence(text, length, user, path, path_length, &rc);
    assert(rc == RESULT_OK || rc == RESULT_INVALID || rc == RESULT_LIMIT);
    assert(rc == RESULT_OK || (usage.denied == USAGE_ALL && usage.allowed == 0));
    assert(usage.denied <= USAGE_ALL && (usage.denied & usage.allowed) == 0);
    Usage same = read_licence(text, length, user, path, path_length, &again);
    assert(again == rc && same.denied == usage.denied && same.allowed == usage.allowed);
    if (rc == RESULT_OK && text[length - 1] == '>') {
        const char *tail = length < 3 ? NULL : memmem(text + length - 3, 3, "-->", 3);
        (void)read_licence(text, length - 1, user, path, path_length, &again);
        assert(again == RESULT_INVALID || tail != NULL || text[length - 2] == '?');
    }
    free(path);
    free(text);
    return 0;
}
