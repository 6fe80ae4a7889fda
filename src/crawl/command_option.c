#include "crawl/command_option.h"

#include <stdio.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "rules/filters.h"

/* ---- Command filter ---- */

int command_filter(const char *command, const char *text, unsigned available, Filter **filter)
{
    *filter = NULL;
    if (text == NULL) {
        return 0;
    }
    FilterOptions options = {.available = available, .read_file = filters_read_list};
    FilterError why;
    Result rc = filter_compile(filter, text, strlen(text), &options, &why);
    if (rc == RESULT_OK) {
        return 0;
    }
    (void)fprintf(stderr, "ragno %s: --where: column %zu: %s%s%s\n", command, why.column,
                  why.message, why.hint[0] == '\0' ? "" : "; ", why.hint);
    return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_USAGE;
}

/* ---- Command option ---- */

const char *command_option(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    const char *word = argv[*i];
    if (strncmp(word, name, n) != 0 || (word[n] != '\0' && word[n] != '=')) {
        return NULL;
    }
    if (word[n] == '=') {
        return word + n + 1;
    }
    return *i + 1 < argc ? argv[++*i] : "";
}
