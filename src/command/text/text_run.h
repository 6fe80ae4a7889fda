/* Text run: the threads of `ragno export DIR text` and what they share.
 *
 * What: text_run starts the workers, writes what they make, and ends them.
 * Threads: the main thread calls text_run. */
#ifndef COMMAND_TEXT_TEXT_RUN_H
#define COMMAND_TEXT_TEXT_RUN_H

#include "command/text/text_page.h"
#include "command/text/text_source.h"
#include "command/text/text_writer.h"
#include "crawl/output_file.h"
#include "crawl/progress.h"
#include "parse/filter/filter.h"

#define TEXT_THREADS_MAX 64u

typedef struct TextRunOptions {
    const char *warc_directory;
    TextWanted wanted;
    TextPagesOptions pages;
    TextWriterOptions writer;
    const Filter *where; /* borrowed; NULL: every page */
    unsigned threads;
} TextRunOptions;

typedef struct TextTotals {
    TextCounts counts;
    uint64_t pages; /* that came out */
} TextTotals;

/* Exports the texts. RESULT_CLOSED: the reader has closed the output. Other errors are those of the
 * output, of memory or of the folder; all but RESULT_MEMORY have been reported. totals are valid in
 * every case. */
Result text_run(const TextRunOptions *options, OutputFile *output, Progress *progress,
                TextTotals *totals);

#endif
