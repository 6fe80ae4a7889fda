#include "logs/status_json.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 64u

LogText status_json_get(const char *json, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strchr(json, '"'); at != NULL; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, name, n) != 0 || strncmp(at + 1 + n, "\": ", 3) != 0) {
            continue;
        }
        const char *value = at + n + 4;
        bool quoted = *value == '"';
        value += quoted;
        return (LogText){value, strcspn(value, quoted ? "\"" : ",}\n")};
    }
    return (LogText){NULL, 0};
}

double status_json_number(const char *json, const char *name, double absent)
{
    LogText text = status_json_get(json, name);
    char copy[NUMBER_BYTES];
    char *end = NULL;
    if (text.length == 0 || text.length >= sizeof copy) {
        return absent;
    }
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    double number = strtod(copy, &end);
    return *end == '\0' ? number : absent;
}
