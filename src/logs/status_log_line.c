#include "logs/status_log_line.h"

#include <string.h>

LogText status_log_get(const char *line, size_t length, const char *key)
{
    size_t n = strlen(key);
    size_t at = 0;
    while (at + n + 1 < length) {
        const char *blank = memchr(line + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - line);
        if (end - at > n && line[at + n] == '=' && memcmp(line + at, key, n) == 0) {
            return (LogText){line + at + n + 1, end - at - n - 1};
        }
        at = end + 1;
    }
    return (LogText){NULL, 0};
}

double status_log_number(const char *line, size_t length, const char *key, double absent)
{
    return log_text_real(status_log_get(line, length, key), absent);
}

bool status_log_time(const char *line, size_t length, WallTime *time)
{
    return log_text_time(status_log_get(line, length, "time"), time);
}
