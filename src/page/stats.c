#include "page/stats.h"

#include <string.h>

unsigned stats_status_class(int status)
{
    return status >= 100 && status < 600 ? (unsigned)status / 100 : 0;
}

StatsType stats_type(const char *mime)
{
    if (strcmp(mime, "text/html") == 0 || strcmp(mime, "application/xhtml+xml") == 0) {
        return STATS_HTML;
    }
    if (strncmp(mime, "text/", 5) == 0) {
        return STATS_TEXT;
    }
    return strncmp(mime, "image/", 6) == 0 ? STATS_IMAGE : STATS_OTHER;
}

StatsAnswers stats_answers(const Stats *stats)
{
    StatsAnswers answers = {.links = distribution_spread(&stats->links),
                            .lengths = distribution_spread(&stats->lengths),
                            .speeds = distribution_spread(&stats->speeds)};
    for (size_t i = 0; i < STATS_TYPES; i++) {
        answers.types[i] = stats_get(&stats->types[i]);
    }
    return answers;
}

uint64_t stats_writer_busy_us(const Stats *stats, MonoTime now)
{
    uint64_t since = stats_get(&stats->writer_since_ns);
    uint64_t open_us =
        since == 0 || since > (uint64_t)now.ns ? 0 : ((uint64_t)now.ns - since) / 1000;
    return stats_get(&stats->writer_busy_us) + open_us;
}
