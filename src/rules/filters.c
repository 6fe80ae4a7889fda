#include "rules/filters.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/file.h"

#define FILE_LIMIT      ((size_t)1 << 30) /* of a list of hosts */
#define HAS_EVERYWHERE  FILTER_HAS_DEPTH
#define HAS_IN_LINK     (FILTER_HAS_DEPTH | FILTER_HAS_SOURCE)
#define HAS_AT_HEADER   (FILTER_HAS_DEPTH | FILTER_HAS_STATUS | FILTER_HAS_TYPE)
#define HAS_IN_RESPONSE (HAS_AT_HEADER | FILTER_HAS_RESPONSE | FILTER_HAS_USAGE)

Result filters_read_list(void *context, const char *path, Buffer *out)
{
    (void)context;
    out->limit = FILE_LIMIT;
    return file_read(path, out);
}

Result filters_compile(Filters *filters, const Config *config, Buffer *error)
{
    const struct {
        FilterHook hook;
        const char *name;
        const char *text;
        unsigned available;
    } rows[] = {
        {HOOK_SCHEDULE, "filter.schedule", config->filter_schedule, HAS_IN_LINK},
        {HOOK_FETCH, "filter.fetch", config->filter_fetch, HAS_EVERYWHERE},
        {HOOK_BODY, "filter.body", config->filter_body, HAS_AT_HEADER},
        {HOOK_PARSE, "filter.parse", config->filter_parse, HAS_IN_RESPONSE},
        {HOOK_FOLLOW, "filter.follow", config->filter_follow, HAS_IN_RESPONSE},
        {HOOK_STORE, "store.filter", config->store_filter, HAS_IN_RESPONSE},
    };
    Result result = RESULT_OK;
    *filters = (Filters){.of = {NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = rows[i].text;
        if (text[strspn(text, " \t\r\n")] == '\0') {
            continue;
        }
        FilterOptions options = {.available = rows[i].available, .read_file = filters_read_list};
        FilterError why;
        Result rc = filter_compile(&filters->of[rows[i].hook], text, strlen(text), &options, &why);
        if (rc != RESULT_OK) {
            size_t row =
                (size_t)(options_find(&config->options, rows[i].name) - config->options.specs);
            (void)buffer_printf(error, "%s: %s: column %zu: %s%s%s\n", config->options.origins[row],
                                rows[i].name, why.column, why.message,
                                why.hint[0] == '\0' ? "" : "; ", why.hint);
            result = rc == RESULT_MEMORY ? rc : RESULT_INVALID;
        }
    }
    return result;
}

void filters_destroy(Filters *filters)
{
    for (size_t i = 0; i < FILTER_HOOKS; i++) {
        filter_delete(filters->of[i]);
        filters->of[i] = NULL;
    }
}

void filters_delete(void *filters)
{
    filters_destroy(filters);
    free(filters);
}

void filters_delete_one(void *filter)
{
    filter_delete(filter);
}

/* Takes one out of a set. */
static Result share_one(Shared *shared, Filters *filters, FilterHook hook)
{
    Filter *filter = filters->of[hook];
    filters->of[hook] = NULL;
    return shared_replace(shared, filter);
}

Result filters_share(Shared *parse, Shared *fetch, Shared *body, const Config *config,
                     Buffer *error)
{
    Filters *filters = malloc(sizeof *filters);
    if (filters == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = filters_compile(filters, config, error);
    if (rc != RESULT_OK) {
        filters_delete(filters);
        return rc;
    }
    rc = share_one(fetch, filters, HOOK_FETCH);
    Result second = share_one(body, filters, HOOK_BODY);
    Result rest = shared_replace(parse, filters);
    return result_first(rc, result_first(second, rest));
}
