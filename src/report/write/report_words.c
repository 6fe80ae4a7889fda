#include "report/write/report_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "fetch/transfer/fetch_result.h"

char *words_count(uint64_t n, char text[WORDS_BYTES])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *out = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

static char *scaled(double value, double step, const char *const *units, size_t n, int decimals,
                    char text[WORDS_BYTES])
{
    size_t unit = 0;
    while (value >= step * 0.99995 && unit + 1 < n) {
        value /= step;
        unit++;
    }
    (void)snprintf(text, WORDS_BYTES, "%.*f%s", unit == 0 ? 0 : decimals, value, units[unit]);
    return text;
}

char *words_bytes(double bytes, char text[WORDS_BYTES])
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    return scaled(bytes, 1000, units, 6, 1, text);
}

char *words_share(uint64_t part, uint64_t all, char text[WORDS_BYTES])
{
    text[0] = '\0';
    if (all > 0) {
        double share = 100.0 * (double)part / (double)all;
        (void)snprintf(text, WORDS_BYTES, part > 0 && share < 0.1 ? "<0.1 %%" : "%.1f %%", share);
    }
    return text;
}

char *words_ms(double ms, char text[WORDS_BYTES])
{
    int64_t s = (int64_t)(ms / 1000);
    if (ms < 1000) {
        (void)snprintf(text, WORDS_BYTES, "%.0f ms", ms);
    } else if (s < 60) {
        (void)snprintf(text, WORDS_BYTES, "%.1f s", ms / 1000);
    } else if (s < 3600) {
        (void)snprintf(text, WORDS_BYTES, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    } else if (s < 86400) {
        (void)snprintf(text, WORDS_BYTES, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
    } else {
        (void)snprintf(text, WORDS_BYTES, "%" PRId64 " d %" PRId64 " h", s / 86400, s / 3600 % 24);
    }
    return text;
}

char *words_time(WallTime time, char text[WORDS_BYTES])
{
    char iso[CLOCK_TEXT_BYTES];
    (void)snprintf(text, WORDS_BYTES, "%.19s", wall_format_iso(time, iso));
    text[10] = ' ';
    return text;
}

char *words_range(uint64_t from, uint64_t to, char text[WORDS_BYTES])
{
    if (from == to) {
        (void)snprintf(text, WORDS_BYTES, "%" PRIu64, from);
    } else {
        (void)snprintf(text, WORDS_BYTES, "%" PRIu64 " to %" PRIu64, from, to);
    }
    return text;
}

char *words_bytes_range(uint64_t from, uint64_t to, char text[WORDS_BYTES])
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    char a[WORDS_BYTES];
    char b[WORDS_BYTES];
    (void)scaled((double)from, 1024, units, 6, 0, a);
    (void)scaled((double)to + (to == UINT64_MAX ? 0 : 1), 1024, units, 6, 0, b);
    (void)snprintf(text, WORDS_BYTES, from == 0 ? "0 B" : "%.20s to %.20s", a, b);
    return text;
}

char *words_tick(double value, bool bytes, char text[WORDS_BYTES])
{
    static const char *const counts[] = {"", "k", "M", "G", "T"};
    static const char *const sizes[] = {" B", " kB", " MB", " GB", " TB"};
    size_t unit = 0;
    while (value >= 1000 && unit < 4) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, WORDS_BYTES, "%.3g%s", value, bytes ? sizes[unit] : counts[unit]);
    return text;
}

const char *words_status(int status)
{
#define STATUS_ROW(constant, status, words) {status, words},
    static const struct {
        int status;
        const char *words;
    } all[] = {FETCH_STATUS_LIST(STATUS_ROW){200, "OK"},
               {206, "partial content"},
               {301, "moved permanently"},
               {302, "found elsewhere"},
               {303, "see other"},
               {304, "not modified"},
               {307, "temporary redirect"},
               {308, "permanent redirect"},
               {400, "bad request"},
               {401, "needs a login"},
               {403, "forbidden"},
               {404, "not found"},
               {405, "method not allowed"},
               {406, "not acceptable"},
               {410, "gone"},
               {429, "too many requests"},
               {451, "unavailable for legal reasons"},
               {500, "internal server error"},
               {502, "bad gateway"},
               {503, "service unavailable"},
               {504, "gateway time-out"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].status == status) {
            return all[i].words;
        }
    }
    return NULL;
}
