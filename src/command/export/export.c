#include "command/export/export.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command/export/export_tables.h"
#include "command/part/part_command.h"
#include "command/text/text_export.h"
#include "command/wacz/wacz_export.h"
#include "crawl/exit_status.h"

/* No library for Parquet is in Debian; another program makes it of JSON Lines. */
static int parquet_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)fprintf(stderr,
                  "ragno export: Parquet is not written: no library for it is in Debian. DuckDB "
                  "makes it of JSON Lines:\n"
                  "  ragno export DIR pages --format jsonl -o pages.jsonl\n"
                  "  duckdb -c \"COPY (FROM 'pages.jsonl') TO 'pages.parquet'\"\n"
                  "The same goes for links, hosts and text.\n");
    return EXIT_USAGE;
}

static const struct {
    const char *kind;
    int (*run)(int argc, char **argv);
} commands[] = {{"text", text_export_main},
                {"warc", warc_export_main},
                {"wacz", wacz_export_main},
                {"parquet", parquet_main}};

/* What is exported: the second word that is neither an option nor an option's value; "" when there
 * is none. */
static const char *kind_in(int argc, char **argv)
{
    static const char *const with_value[] = {
        "--format", "--agent", "--since", "--until", "--status", "--threads",     "--where",
        "--output", "-o",      "--url",   "--host",  "--title",  "--description", "--main-page"};
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
