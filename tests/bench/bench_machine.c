/* What this machine is worth, for comparing figures of two machines: what other people's code alone
 * needs for what ragno does. Printed with every group of benchmarks.
 *
 *   machine.curl_floor_ms_per_page   libcurl alone fetches pages of 17 kB of the synthetic web
 *   machine.libxml2_mb_per_cpu_s     libxml2's HTML parser reads them, without a handler */
#include <libxml/HTMLparser.h>
#include <limits.h>

#include "curl_floor.h"
#include "web_process.h"

#define PAGES       20000.0
#define LEAST       1000.0
#define PER_HOST    25
#define CONNECTIONS 256u
#define ROUNDS      3

typedef struct List {
    FloorPage *pages;
    size_t n;
} List;

static void list_add(List *list, const char *url, const char *address)
{
    FloorPage *pages = realloc(list->pages, (list->n + 1) * sizeof *pages);
    if (pages == NULL) {
        abort();
    }
    list->pages = pages;
    pages[list->n++] = (FloorPage){strdup(url), strdup(address)};
}

/* FloorPage's strings are const to everybody else. */
static void list_destroy(List *list)
{
    for (size_t i = 0; i < list->n; i++) {
        union {
            const char *from;
            void *to;
        } url = {.from = list->pages[i].url}, address = {.from = list->pages[i].address};
        free(url.to);
        free(address.to);
    }
    free(list->pages);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The least of some rounds, in ms by page; negative after a message. */
static double measure(FloorOptions *options, double *bytes)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double cpu_s = 0;
        if (curl_floor(options, &cpu_s, bytes) != 0) {
            return -1;
        }
        best = least(best, cpu_s * 1000 / (double)options->n_pages);
    }
    return best;
}

typedef struct Xml {
    double cpu_s;
    double bytes;
} Xml;

static void ignore_error(void *context, const char *message, ...)
{
    (void)context;
    (void)message;
}

static void read_by_libxml2(void *context, const FloorAnswer *answer)
{
    size_t length = answer->body->length;
    htmlSAXHandler none;
    memset(&none, 0, sizeof none);
    Xml *xml = context;
    struct rusage before, after;
    (void)getrusage(RUSAGE_SELF, &before);
    htmlParserCtxtPtr parser =
        htmlCreatePushParserCtxt(&none, NULL, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
    (void)htmlParseChunk(parser, buffer_string(answer->body),
                         length > INT_MAX ? INT_MAX : (int)length, 1);
    htmlFreeParserCtxt(parser);
    (void)getrusage(RUSAGE_SELF, &after);
    xml->cpu_s += web_process_cpu_s(&after) - web_process_cpu_s(&before);
    xml->bytes += (double)length;
}

static int print_machine(const char *program)
{
    const char *scale = getenv("SCALE");
    double pages = PAGES * (scale != NULL ? strtod(scale, NULL) : 1);
    pages = pages < LEAST ? LEAST : pages;
    char hosts[32], n_pages[32];
    unsigned n_hosts = (unsigned)(pages / PER_HOST);
    (void)snprintf(hosts, sizeof hosts, "%u", n_hosts);
    (void)snprintf(n_pages, sizeof n_pages, "%.0f", pages);
    const char *const arguments[] = {"--pages", n_pages,  "--hosts", hosts, "--addresses",
                                     hosts,     "--skew", "0",       NULL};
    WebProcess web;
    List list = {NULL, 0};
    if (web_process_start(&web, program, arguments) != 0) {
        web_process_stop(&web, NULL);
        return 1;
    }
    for (unsigned i = 0; i < (unsigned)pages; i++) { /* the roots of the hosts, again and again */
        char url[64], address[32];
        unsigned host = i % n_hosts;
        (void)snprintf(url, sizeof url, "http://h%05u.web.test/", host);
        (void)snprintf(address, sizeof address, "127.16.%u.%u", host / 250, host % 250 + 1);
        list_add(&list, url, address);
    }
    double bytes = 0;
    Xml xml = {0, 0};
    FloorOptions options = {.pages = list.pages,
                            .n_pages = list.n,
                            .n_hosts = n_hosts,
                            .port = web.http,
                            .connections = CONNECTIONS};
    double ms = measure(&options, &bytes);
    options.take = read_by_libxml2;
    options.context = &xml;
    options.n_pages = list.n > 2 * (size_t)LEAST ? 2 * (size_t)LEAST : list.n;
    xmlSetGenericErrorFunc(NULL, ignore_error);
    double cpu_s = 0;
    int rc = ms < 0 ? -1 : curl_floor(&options, &cpu_s, &bytes);
    web_process_stop(&web, NULL);
    list_destroy(&list);
    if (rc == 0) {
        printf("machine.curl_floor_ms_per_page = %.4f ms\n", ms);
        printf("machine.libxml2_mb_per_cpu_s = %.0f MB/s\n", xml.bytes / 1e6 / xml.cpu_s);
    }
    return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    (void)argc;
    return print_machine(argv[0]);
}
