/* The cost of a page's text: text.mb_per_cpu_s, megabytes of HTML read for their visible text in a
 * second of CPU time.
 *
 * Files named on the command line are measured instead of the page of documentation_page.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "parse/visible/visible.h"

#include "documentation_page.h"

#define RUN_BYTES 400e6 /* read at SCALE=1 */

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Reads the pages again and again; returns bytes a second, and bytes of text a round in
 * *text_bytes.
 */
static double measure(const Buffer *pages, size_t n_pages, double bytes, bool main_text,
                      size_t *text_bytes)
{
    VisibleReader *reader = NULL;
    VisibleOptions options = {.main_text = main_text};
    if (visible_reader_new(&reader, &options) != RESULT_OK) {
        exit(2);
    }
    double done = 0;
    double start = cpu_seconds();
    do {
        *text_bytes = 0;
        for (size_t i = 0; i < n_pages; i++) {
            VisibleInput input = {
                .body = pages[i].data, .length = pages[i].length, .content_type = "text/html"};
            VisiblePage page;
            if (visible_read(reader, &input, &page) != RESULT_OK) {
                exit(2);
            }
            *text_bytes += page.length;
            done += (double)pages[i].length;
        }
    } while (done < bytes);
    double seconds = cpu_seconds() - start;
    visible_reader_delete(reader);
    return done / seconds;
}

int main(int argc, char **argv)
{
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1 : strtod(scale_text, NULL);
    size_t n = argc > 1 ? (size_t)argc - 1 : 1;
    size_t total = 0;
    Buffer *pages = calloc(n, sizeof *pages);
    if (pages == NULL) {
        return 2;
    }
    for (size_t i = 0; i < n; i++) {
        if (argc == 1) {
            buffer_init(&pages[i], BUFFER_NO_LIMIT);
            documentation_page(&pages[i]);
        } else if (input_file_read(argv[i + 1], &pages[i]) != 0) {
            return 2;
        }
        total += pages[i].length;
    }
    size_t text_bytes = 0;
    double main_rate = measure(pages, n, scale * RUN_BYTES, true, &text_bytes);
    double rate = measure(pages, n, scale * RUN_BYTES, false, &text_bytes);
    (void)fprintf(stderr, "%zu pages, %zu bytes, %zu bytes of text\n", n, total, text_bytes);
    (void)printf("text.mb_per_cpu_s = %.0f MB/s\n", 1e-6 * rate);
    (void)printf("text.main_mb_per_cpu_s = %.0f MB/s\n", 1e-6 * main_rate);
    for (size_t i = 0; i < n; i++) {
        buffer_destroy(&pages[i]);
    }
    free(pages);
    return 0;
}
