#include "crawl/command_option.h"

#include <string.h>

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
