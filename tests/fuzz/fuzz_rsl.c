/* parse/usage: whatever licence files say, only known bits come out, none both denied and allowed;
 * statements that are refused leave a licence as one that permits nothing; several files deny what
 * one of them denies, and allow what one allows and none denies (long ones may deny more); a file
 * that was read to its end is not one any more when its last byte is missing, unless that was
 * behind its root; and the same file says the same to the same reader. The first byte says who
 * reads, the second how much of the rest is the path that is asked for. Files are divided by a byte
 * that is none of XML, RS. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact_copy.h"
#include "parse/robots/robots.h"

#define LICENCES (USAGE_PLACES - USAGE_IN_LICENCE)
#define SMALL    1024u /* several files together stay within the bounds of one */

typedef struct Question {
    RslReader reader;
    const char *path;
    size_t path_length;
} Question;

typedef struct Licence {
    char *text;
    size_t length;
} Licence;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What robots.txt says that names so many licences; rc: of each. */
static Usage read_licences(const Licence *licences, size_t n, const Question *question, Result *rc)
{
    char rules[128] = "";
    UsageStatement list[ROBOTS_MAX_USAGES];
    UsageLedger ledger = {.list = list, .max = ROBOTS_MAX_USAGES};
    Robots *robots = NULL;
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        length += (size_t)snprintf(rules + length, sizeof rules - length, "License: /%zu.xml\n", i);
    }
    Result parsed = robots_parse(rules, length, "ragno", &robots);
    assert(parsed == RESULT_OK);
    for (size_t i = 0; i < n; i++) {
        rc[i] = robots_add_licence(robots, USAGE_IN_LICENCE + (UsagePlace)i, licences[i].text,
                                   licences[i].length, &question->reader);
        assert(rc[i] == RESULT_OK || rc[i] == RESULT_INVALID || rc[i] == RESULT_LIMIT);
    }
    Usage usage = robots_usage(robots, question->path, question->path_length, &ledger);
    for (size_t i = 0; i < ledger.n; i++) {
        size_t place = list[i].place - USAGE_IN_LICENCE;
        assert(list[i].place >= USAGE_IN_LICENCE && place < n);
        assert(list[i].length <= ROBOTS_RULE_TEXT_BYTES);
        assert((list[i].line == 0) == (rc[place] != RESULT_OK));
    }
    assert(usage.denied <= USAGE_ALL && (usage.denied & usage.allowed) == 0);
    robots_delete(robots);
    return usage;
}

/* One by itself. */
static Usage read_one(Licence *licence, const Question *question)
{
    Result rc = RESULT_OK;
    Result again = RESULT_OK;
    Usage usage = read_licences(licence, 1, question, &rc);
    assert(rc == RESULT_OK || (usage.denied == USAGE_ALL && usage.allowed == 0));
    if (rc == RESULT_OK && licence->text[licence->length - 1] == '>') {
        const char *text = licence->text;
        size_t length = licence->length--;
        const char *tail = length < 3 ? NULL : memmem(text + length - 3, 3, "-->", 3);
        (void)read_licences(licence, 1, question, &again);
        assert(again == RESULT_INVALID || tail != NULL || text[length - 2] == '?');
        licence->length = length;
    }
    return usage;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t path_length = data[1] < size - 2 ? data[1] : size - 2;
    char *path = exact_copy(data + 2, path_length);
    Question question = {.reader = {.origin = "https://www.example.org",
                                    .user = (RslUser)(data[0] % (RSL_USER_PERSONAL + 1))},
                         .path = path,
                         .path_length = path_length};
    Licence licences[LICENCES];
    Usage joined = {.denied = 0};
    size_t n = 0;
    const uint8_t *next = data + 2 + path_length;
    const uint8_t *end = data + size;
    while (next != NULL && n < LICENCES) {
        const uint8_t *stop = next == end ? NULL : memchr(next, 0x1e, (size_t)(end - next));
        size_t length = (size_t)((stop == NULL ? end : stop) - next);
        licences[n] = (Licence){.text = exact_copy(next, length), .length = length};
        joined = usage_join(joined, read_one(&licences[n++], &question));
        next = stop == NULL ? NULL : stop + 1;
    }
    for (int i = 0; i < 2; i++) {
        Result rc[LICENCES];
        Usage usage = read_licences(licences, n, &question, rc);
        assert((joined.denied & ~usage.denied) == 0 && (usage.allowed & ~joined.allowed) == 0);
        assert(size > SMALL || (usage.denied == joined.denied && usage.allowed == joined.allowed));
    }
    for (size_t i = 0; i < n; i++) {
        free(licences[i].text);
    }
    free(path);
    return 0;
}
