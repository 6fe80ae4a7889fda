/* The cost of reading pages: html.skim.mb_per_cpu_s and html.libxml2.mb_per_cpu_s, each with URL
 * resolution and digests; html.page_ms is the cost of one page of 26 kB with 107 anchors.
 *
 * Files named on the command line are measured instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "parse/html/html.h"

#include "documentation_page.h"

#define RUN_BYTES 400e6         /* read by the skimmer at SCALE=1; a tenth by libxml2 */
#define LINK_TEXT ((size_t)200) /* parse.link_text */
#define URL       "http://docs.example.org/manual/chapter-7/page.html"

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Reads the pages again and again; returns seconds a byte, and links a round in *links. */
static double measure(const Buffer *pages, size_t n_pages, HtmlOptions options, double bytes,
                      size_t *links)
{
    options.forms = true;
    HtmlParser *parser = NULL;
    if (html_parser_new(&parser, &options) != RESULT_OK) {
        exit(2);
    }
    double done = 0;
    double start = cpu_seconds();
    do {
        *links = 0;
        for (size_t i = 0; i < n_pages; i++) {
            HtmlInput input = {.body = pages[i].data,
                               .length = pages[i].length,
                               .content_type = "text/html",
                               .url = URL,
                               .url_length = sizeof URL - 1};
            Page page;
            if (html_parse(parser, &input, &page) != RESULT_OK) {
                exit(2);
            }
            *links += page.n_links;
            done += (double)pages[i].length;
        }
    } while (done < bytes);
    double seconds = cpu_seconds() - start;
    html_parser_delete(parser);
    return seconds / done;
}

int main(int argc, char **argv)
{
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1 : strtod(scale_text, NULL);
    size_t n = argc > 1 ? (size_t)argc - 1 : 1;
    Buffer *pages = calloc(n, sizeof *pages);
    if (pages == NULL) {
        return 2;
    }
    size_t total = 0;
    if (argc > 1) {
        for (size_t i = 0; i < n; i++) {
            if (input_file_read(argv[i + 1], &pages[i]) != 0) {
                return 2;
            }
            total += pages[i].length;
        }
    } else {
        buffer_init(&pages[0], BUFFER_NO_LIMIT);
        documentation_page(&pages[0]);
        total = pages[0].length;
    }
    size_t links = 0;
    double libxml2 =
        measure(pages, n, (HtmlOptions){.use_libxml2 = true}, scale * RUN_BYTES / 10, &links);
    double skim = measure(pages, n, (HtmlOptions){.forms = true}, scale * RUN_BYTES, &links);
    (void)fprintf(stderr, "%zu pages, %zu bytes, %zu links\n", n, total, links);
    (void)printf("html.libxml2.mb_per_cpu_s = %.0f MB/s\n", 1e-6 / libxml2);
    (void)printf("html.skim.mb_per_cpu_s = %.0f MB/s\n", 1e-6 / skim);
    double text =
        measure(pages, n, (HtmlOptions){.link_text = LINK_TEXT}, scale * RUN_BYTES, &links);
    (void)printf("html.skim_with_link_text.mb_per_cpu_s = %.0f MB/s\n", 1e-6 / text);
    (void)printf("html.page_ms = %.4f ms\n", 1e3 * skim * (double)total / (double)n);
    for (size_t i = 0; i < n; i++) {
        buffer_destroy(&pages[i]);
    }
    free(pages);
    return 0;
}
