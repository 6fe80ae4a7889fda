/* robots.match_us: microseconds of CPU that one verdict costs, over files of 20 to 60 rules as
 * shops, wikis and content management systems have them (a third with wildcards) and paths of their
 * kind, one in eight of them escaped. robots.parse_us: compiling such a file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "base/core/hash.h"
#include "parse/robots/robots.h"

#define N_FILES 64
#define N_PATHS 4096

static const char *const words[] = {
    "search", "cart",    "checkout", "account", "admin", "login", "product", "category", "tag",
    "media",  "uploads", "wp-admin", "node",    "user",  "print", "feed",    "archive",  "blog",
    "news",   "images",  "static",   "api",     "forum", "topic", "profile", "download", "help",
};
static const char *const parameters[] = {"sort", "page",   "utm_source", "sid",
                                         "q",    "filter", "view"};

#define N_WORDS      (sizeof words / sizeof *words)
#define N_PARAMETERS (sizeof parameters / sizeof *parameters)

static uint64_t next_random(uint64_t *state, uint64_t n)
{
    return hash_mix(*state += UINT64_C(0x9E3779B97F4A7C15)) % n;
}

static void make_file(uint64_t *state, Buffer *out)
{
    size_t n_rules = 20 + next_random(state, 41);
    (void)buffer_append_string(out, "User-agent: *\n");
    for (size_t i = 0; i < n_rules; i++) {
        const char *kind = next_random(state, 5) == 0 ? "Allow" : "Disallow";
        const char *a = words[next_random(state, N_WORDS)];
        const char *b = words[next_random(state, N_WORDS)];
        const char *p = parameters[next_random(state, N_PARAMETERS)];
        switch (next_random(state, 9)) {
        case 0:
            (void)buffer_printf(out, "%s: /*?*%s=\n", kind, p);
            break;
        case 1:
            (void)buffer_printf(out, "%s: /%s/*/%s$\n", kind, a, b);
            break;
        case 2:
            (void)buffer_printf(out, "%s: /*/%s/\n", kind, a);
            break;
        case 3:
            (void)buffer_printf(out, "%s: /%s\n", kind, a);
            break;
        default:
            (void)buffer_printf(out, "%s: /%s/%s/\n", kind, a, b);
            break;
        }
    }
}

static char *make_path(uint64_t *state)
{
    Buffer b;
    buffer_init(&b, 4096);
    size_t depth = 1 + next_random(state, 4);
    for (size_t i = 0; i < depth; i++) {
        (void)buffer_printf(&b, "/%s", words[next_random(state, N_WORDS)]);
    }
    (void)buffer_printf(&b, "/some-longer-title-%u.html", (unsigned)next_random(state, 1000000));
    if (next_random(state, 8) == 0) {
        (void)buffer_append_string(&b, "%C3%A9t%C3%A9");
    }
    if (next_random(state, 3) == 0) {
        (void)buffer_printf(&b, "?%s=%u", parameters[next_random(state, N_PARAMETERS)],
                            (unsigned)next_random(state, 1000));
    }
    return buffer_detach(&b);
}

int main(void)
{
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1.0 : strtod(scale_text, NULL);
    uint64_t rounds = (uint64_t)(20.0 * scale) + 1;
    uint64_t state = 7;
    Robots *robots[N_FILES] = {NULL};
    char *paths[N_PATHS];
    size_t lengths[N_PATHS];
    Buffer file;
    buffer_init(&file, 1u << 20);

    int64_t parse_ns = 0;
    for (size_t i = 0; i < N_FILES; i++) {
        buffer_reset(&file);
        make_file(&state, &file);
        int64_t start = cpu_thread_ns();
        if (robots_parse(file.data, file.length, "ragno", &robots[i]) != RESULT_OK) {
            return 1;
        }
        parse_ns += cpu_thread_ns() - start;
    }
    for (size_t i = 0; i < N_PATHS; i++) {
        paths[i] = make_path(&state);
        lengths[i] = strlen(paths[i]);
    }
    uint64_t n = 0;
    uint64_t n_denied = 0;
    int64_t start = cpu_thread_ns();
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < N_FILES; i++) {
            for (size_t k = 0; k < N_PATHS; k++) {
                n_denied += !robots_allows(robots[i], paths[k], lengths[k], NULL);
                n++;
            }
        }
    }
    double us = (double)(cpu_thread_ns() - start) / 1000.0 / (double)n;
    (void)printf("robots.match_us = %.4f us\n", us);
    (void)printf("robots.parse_us = %.2f us\n", (double)parse_ns / 1000.0 / N_FILES);
    (void)fprintf(stderr, "%llu verdicts, %.1f %% denied\n", (unsigned long long)n,
                  100.0 * (double)n_denied / (double)n);
    for (size_t i = 0; i < N_PATHS; i++) {
        free(paths[i]);
    }
    for (size_t i = 0; i < N_FILES; i++) {
        robots_delete(robots[i]);
    }
    buffer_destroy(&file);
    return n_denied > 0 && n_denied < n ? 0 : 1;
}
