/* The threads of `ragno export DIR text` and what they share.
 *
 * Threads: text_run is called by the main thread, which writes; workers are started and ended in
 * it. */
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

/* Exports. RESULT_CLOSED: nobody reads any more; what the output, memory or the folder says
 * (complained about, but for RESULT_MEMORY); totals are valid in every case. */
Result text_run(const TextRunOptions *options, OutputFile *output, Progress *progress,
                TextTotals *totals);

#endif
