/* The whole crawler against the synthetic web: 100 000 pages of 17 kB on 4 000 hosts, no delays.
 *
 *   crawl.S.nowarc.cpu_ms_per_page   user and system time of the crawler, by fetched page
 *   crawl.S.warc.cpu_ms_per_page     the same with every answer kept; the other figures are without
 *   crawl.S.pages_per_s              by the clock; the server shares the machine
 *   crawl.S.rss_mb                   the greatest resident memory
 *   crawl.S.two_core_speedup         pages per second, on all cores by on one
 *
 * Each run is a new process and a new directory. */
#include <sched.h>

#include "base/core/clock.h"
#include "web_process.h"

#define N_PAGES 100000
#define N_HOSTS 4000

typedef struct Run {
    double cpu_s;
    double wall_s;
    double rss_mb;
} Run;

/* One crawl into directory NAME. -1 when it did not end well. */
static int crawl(const WebProcess *web, const char *name, const char *warc, Run *run)
{
    char program[300], directory[128], ports[64], dns[64];
    (void)snprintf(program, sizeof program, "%s/ragno", web->build);
    (void)snprintf(directory, sizeof directory, "%s/%s", web->directory, name);
    (void)snprintf(ports, sizeof ports, "fetch.port_map=80:%u", web->http);
    (void)snprintf(dns, sizeof dns, "dns.servers=127.0.0.1:%u", web->dns);
    const char *const argv[] = {program,    "-d",
                                directory,  "-i",
                                web->seeds, "-w",
                                "0",        "--ip-wait",
                                "0",        "--progress=never",
                                "--set",    ports,
                                "--set",    dns,
                                "--set",    "fetch.allow_addresses=127.0.0.0/8",
                                "--set",    "fetch.connections=512",
                                "--set",    warc,
                                NULL};
    struct rusage usage = {0};
    MonoTime start = mono_now();
    int status = web_process_run(argv, &usage);
    run->wall_s = (double)(mono_now().ns - start.ns) / 1e9;
    run->cpu_s = web_process_cpu_s(&usage);
    run->rss_mb = (double)usage.ru_maxrss / 1024;
    if (status != 0) {
        fprintf(stderr, "bench: the crawl ended with exit status %d\n", status);
    }
    return status == 0 ? 0 : -1;
}

/* Without WARC, and with this process, and so its children, on the first of its cores. */
static int crawl_on_one_core(const WebProcess *web, Run *run)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return -1;
    }
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        return -1;
    }
    int rc = crawl(web, "one", "warc.enabled=no", run);
    (void)sched_setaffinity(0, sizeof all, &all);
    return rc;
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *scale = getenv("SCALE");
    double pages = N_PAGES * (scale != NULL ? strtod(scale, NULL) : 1);
    pages = pages < 500 ? 500 : pages;
    char n_pages[32], n_hosts[32];
    (void)snprintf(n_pages, sizeof n_pages, "%.0f", pages);
    (void)snprintf(n_hosts, sizeof n_hosts, "%.0f", pages * N_HOSTS / N_PAGES);
    const char *const options[] = {"--pages", n_pages,  "--hosts", n_hosts, "--addresses",
                                   n_hosts,   "--skew", "0",       NULL};
    WebProcess web;
    Run all = {0}, one = {0}, warc = {0};
    int failed = web_process_start(&web, argv[0], options) != 0 ||
                 crawl(&web, "all", "warc.enabled=no", &all) != 0 ||
                 crawl(&web, "warc", "warc.enabled=yes", &warc) != 0 ||
                 crawl_on_one_core(&web, &one) != 0;
    web_process_stop(&web, NULL);
    if (failed) {
        return 1;
    }
    printf("crawl.S.nowarc.cpu_ms_per_page = %.4f ms\n", all.cpu_s * 1000 / pages);
    printf("crawl.S.warc.cpu_ms_per_page = %.4f ms\n", warc.cpu_s * 1000 / pages);
    printf("crawl.S.pages_per_s = %.0f 1/s\n", pages / all.wall_s);
    printf("crawl.S.rss_mb = %.0f MB\n", all.rss_mb);
    printf("crawl.S.two_core_speedup = %.2f\n", one.wall_s / all.wall_s);
    return 0;
}
