#include "crawl/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "report/write/report_words.h"

bool progress_is_wanted(const char *output_path)
{
    bool to_file = output_path != NULL && strcmp(output_path, "-") != 0;
    return isatty(STDERR_FILENO) == 1 && (to_file || isatty(STDOUT_FILENO) == 0);
}

void progress_begin(Progress *progress, const char *command, const char *items, bool on, FILE *out,
                    MonoTime now)
{
    *progress = (Progress){.out = out,
                           .command = command,
                           .items = items,
                           .on = on,
                           .start = now,
                           .next = mono_add_ms(now, PROGRESS_MS)};
}

MonoTime progress_due(const Progress *progress)
{
    return progress->on ? progress->next : MONO_NEVER;
}

void progress_show(Progress *progress, uint64_t done, uint64_t total, uint64_t n_items,
                   MonoTime now)
{
    if (!progress->on || mono_before(now, progress->next)) {
        return;
    }
    progress->next = mono_add_ms(now, PROGRESS_MS);
    progress->shown = true;
    double seconds = (double)mono_ms_between(progress->start, now) / 1000;
    done = done < total ? done : total;
    double share = total == 0 ? 1 : (double)done / (double)total;
    (void)fprintf(progress->out, "\rragno %s: %.0f %%  %" PRIu64 " %s (%.0f/s)  ",
                  progress->command, 100 * share, n_items, progress->items,
                  seconds > 0 ? (double)n_items / seconds : 0);
    if (share > 0 && share < 1) {
        char left[WORDS_BYTES];
        (void)fprintf(progress->out, "%s left",
                      words_ms(1e3 * seconds * (1 - share) / share, left));
    }
    (void)fputs("\033[K", progress->out);
    (void)fflush(progress->out);
}

void progress_end(Progress *progress)
{
    if (progress->shown) {
        (void)fputs("\r\033[K", progress->out);
        (void)fflush(progress->out);
    }
    progress->on = false;
    progress->shown = false;
}
