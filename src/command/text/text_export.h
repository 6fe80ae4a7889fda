/* `ragno export DIR text`: the texts of a crawl's archive, as JSON Lines or WET.
 *
 *   pieces of WARC files (text_jobs) -> threads: captures (text_source) -> texts (text_page) ->
 *   records (text_writer) -> in the order of the pieces (text_run) -> output
 *
 * What: works on a finished or a running crawl. The order of the output is that of the archive,
 * however many threads there are. Memory does not grow with the archive: a few pages for each
 * thread, and the output of its piece, of which 16 MiB wait at most.
 * Threads: as many as processors, or --threads.
 * Errors: a damaged record costs that record, an unreadable file that file. Both are reported, and
 * the exit status is then EXIT_DIRECTORY or EXIT_IO although the rest was written. */
#pragma once

#include "command/text/text_source.h"
#include "crawl/command_line.h"

/* argv: "export", DIR, "text" and options in any order. Returns the exit status. */
int text_export_main(int argc, char **argv);

/* The command line of an export of the archive: `ragno export DIR text`, `warc`, `wacz`.
 *
 * What: which part of the archive, and where it goes; each kind has options of its own beside
 * these.
 * Owns: the choice and the filter. */

typedef struct TextExport {
    const char *directory; /* of the crawl */
    const char *output;    /* -o; NULL: standard output */
    const char *where;
    bool quiet;
    Path warc;         /* folder of the archive */
    TextWanted wanted; /* since, until, url, host, where; what else is wanted is the kind's */
    TextChoice choice;
    Filter *filter; /* of where; NULL: all */
} TextExport;

/* Takes the command line and runs the export, which stands at the begin of its command's struct.
 * extra: n_extra more rows. Returns the exit status. */
int text_export_command(TextExport *export, int argc, char **argv, const char *usage,
                        const CommandOption *extra, size_t n_extra, int (*run)(TextExport *export));
/* The exit status of an export that ended so; errors of memory are told. */
int text_export_status(Result rc, const TextCounts *counts);
