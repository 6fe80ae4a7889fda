#include "command/export/export.h"

#include <stddef.h>
#include <string.h>

#include "command/export/export_tables.h"
#include "command/text/text_export.h"

static const struct {
    const char *kind;
    int (*run)(int argc, char **argv);
} commands[] = {{"text", text_export_main}};

/* What is exported: the second word that is neither an option nor an option's value; "" when there
 * is none. */
static const char *kind_in(int argc, char **argv)
{
    static const char *const with_value[] = {"--format", "--since",  "--status", "--threads",
                                             "--where",  "--output", "-o"};
    int words = 0;
    for (int i = 1; i < argc; i++) {
        words += argv[i][0] != '-' ? 1 : 0;
        if (words == 2) {
            return argv[i];
        }
        for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
            i += strcmp(argv[i], with_value[k]) == 0 && i + 1 < argc ? 1 : 0;
        }
    }
    return "";
}

int export_main(int argc, char **argv)
{
    const char *kind = kind_in(argc, argv);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(kind, commands[i].kind) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    return export_tables_main(argc, argv);
}
