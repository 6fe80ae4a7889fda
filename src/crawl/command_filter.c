#include "crawl/command_filter.h"

#include <stdio.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "rules/filters.h"

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
