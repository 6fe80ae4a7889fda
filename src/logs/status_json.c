#include "logs/status_json.h"

#include <string.h>

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
    return log_text_real(status_json_get(json, name), absent);
}
