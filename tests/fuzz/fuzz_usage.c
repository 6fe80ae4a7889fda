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

/* The statements come to the sum, and stand where they say. */
static void check_ledger(Usage whole, const UsageLedger *ledger, const char *text, size_t length)
{
    Usage sum = {0};
    check(whole);
    for (size_t i = 0; i < ledger->n; i++) {
        const UsageStatement *statement = &ledger->list[i];
        /* What a licence says stands in no line of robots.txt. */
        assert(statement->line > 0 || text != NULL || usage_is_licence(statement->place));
        assert(text == NULL ||
               (statement->text >= text && statement->text + statement->length <= text + length));
        sum = usage_join(sum, statement->usage);
    }
    assert(ledger->is_cut || (sum.denied == whole.denied && sum.allowed == whole.allowed));
}

static void read_robots(const char *text, size_t length)
{
    Robots *robots = NULL;
    if (robots_parse(text, length, "ragno", &robots) == RESULT_OK) {
        UsageStatement list[ROBOTS_MAX_USAGES];
        UsageLedger ledger = {.list = list, .max = ROBOTS_MAX_USAGES};
        check(robots_usage(robots, "/", 1, NULL));
        check_ledger(robots_usage(robots, text, length, &ledger), &ledger, NULL, 0);
        robots_delete(robots);
    }
}

static void read_html(const char *text, size_t length)
{
    UsageStatement list[64];
    UsageLedger ledger = {.list = list, .max = 64};
    check_ledger(usage_of_html(text, length, &ledger), &ledger, text, length);
}

static void read_header(const char *text, size_t length)
{
    HttpHeader header;
    UsageStatement list[64];
    UsageLedger ledger = {.list = list, .max = 64};
    if (http_header_parse(&header, text, length) == RESULT_OK) {
        check_ledger(usage_of_header(&header, &ledger), &ledger, text, length);
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
        read_html(text, length);
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
