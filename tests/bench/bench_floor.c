/* The floor beneath a crawl: the least that its work costs with the same libraries, and without a
 * crawler around it.
 *
 *   bench_floor STAGE FILE PORT CONNECTIONS HOSTS DIRECTORY [DNS [RATE [AUTHORITIES]]]
 *
 * FILE has the pages, lines "ADDRESS URL" in the order of a crawl, from stage store on with the
 * robots.txt of each host before its first page (crawls.py); PORT is where all are served. The
 * stages, each with what is before it:
 *
 *   curl    libcurl fetches them, as bench/curl_floor.h says
 *   links   the house's tokenizer finds their links and resolves them
 *   store   a robots.txt is parsed. A database in DIRECTORY gets, in batches of
 *           store.batch_pages and durably: each page's URL with the hashes of its content and of
 *           its links, at the end of its table; the URL of each link that it does not have yet,
 *           those of a batch looked up once, in order of their hashes; a row of the schedule for
 *           each of these, by host, which goes when the page is fetched. A line of crawl.log for
 *           each answer is written with the batch.
 *   handed  a page goes from the thread that fetches it to one that finds its links, and from
 *           there to the only one that writes, where files of rules go at once; when a host has no
 *           more, one that releases hosts says which is next
 *   warc    not handed, but each answer is digested twice (SHA-1 of block and payload), compressed
 *           as warc.level=auto does, and written to a file that is synced with each batch
 *
 * What no crawler that is asked for these things can leave out is in it, and nothing else. Not in
 * it: delays and what is kept of hosts and addresses; scores and order; who links to a page, how
 * often and when it was fetched; duplicates and traps; charsets (all is taken for UTF-8); scope,
 * filters and limits; request records, an index and what crawl.log says besides. Up to store all is
 * done in one thread; "handed" adds what ragno's threads cost by themselves, since they are given:
 * those that fetch, those that parse, one that writes, and the todo thread that releases; a single
 * one of each here. What may wait a few milliseconds goes by the dozen.
 *
 * With DNS, the port of a name server (0: none), also what each host needs (bench/floor_hosts.h):
 * its name is resolved, its robots.txt asked about each URL, and it has a durable row. RATE: so
 * many are begun a second, as a polite crawl does; 0: as fast as they come.
 *
 * AUTHORITIES, a file of certificates: the pages are over TLS, compressed, with the crawl's own TLS
 * context, its tickets and its decoders beneath (workload W).
 *
 * What it costs is the CPU of the process: bench_crawl.py compares. By itself it says nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "floor_threads.h"

/* The lines of a file, cut where their fields end; *text is what the pages point into. */
static FloorPage *read_list(const char *path, char **text, size_t *n_pages)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    size_t n = 0;
    *n_pages = 0;
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        perror(path);
        return NULL;
    }
    *text = calloc(1, (size_t)status.st_size + 1);
    n = *text == NULL ? 0 : fread(*text, 1, (size_t)status.st_size, file);
    fclose(file);
    FloorPage *pages = calloc(n / 2 + 1, sizeof *pages);
    char *rest = NULL;
    for (char *line = n == 0 || pages == NULL ? NULL : strtok_r(*text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *url = strchr(line, ' ');
        if (url != NULL) {
            *url++ = '\0';
            pages[(*n_pages)++] = (FloorPage){.url = url, .address = line};
        }
    }
    return pages;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    static const char *const stages[FLOOR_STAGES] = {"curl", "links", "store", "handed", "warc"};
    static FloorWork work;
    static FloorThreads threads;
    char *text = NULL;
    char *addresses = NULL;
    size_t n_pages = 0;
    while (argc >= 7 && work.stage < FLOOR_STAGES && strcmp(argv[1], stages[work.stage]) != 0) {
        work.stage++;
    }
    if (argc == 1) {
        return 0; /* `make bench`: crawl and its workloads run it */
    }
    if (argc < 7 || argc > 10 || work.stage == FLOOR_STAGES) {
        fprintf(stderr,
                "usage: bench_floor curl|links|store|handed|warc FILE PORT CONNECTIONS HOSTS "
                "DIRECTORY [DNS [RATE [AUTHORITIES]]]\n");
        return 2;
    }
    FloorPage *pages = read_list(argv[2], &text, &n_pages);
    FloorOptions options = {.pages = pages,
                            .n_pages = n_pages,
                            .port = number(argv[3]),
                            .connections = number(argv[4]),
                            .n_hosts = number(argv[5]),
                            .rate = argc >= 9 ? number(argv[8]) : 0,
                            .authorities = argc == 10 ? argv[9] : NULL,
                            .has_releaser = work.stage == FLOOR_HANDED,
                            .take = work.stage == FLOOR_CURL     ? NULL
                                    : work.stage == FLOOR_HANDED ? floor_threads_take
                                                                 : floor_work_take,
                            .context = work.stage == FLOOR_HANDED ? (void *)&threads : &work};
    double cpu_s = 0;
    double bytes = 0;
    unsigned dns = argc >= 8 ? number(argv[7]) : 0;
    work.has_hosts = dns > 0 && work.stage >= FLOOR_STORE;
    int rc = n_pages == 0 ? -1 : floor_work_open(&work, argv[6]);
    if (rc == 0 && work.has_hosts) {
        rc = floor_hosts_resolve(pages, n_pages, dns, &addresses);
    }
    rc = rc == 0 && work.stage == FLOOR_HANDED ? floor_threads_start(&threads, &work) : rc;
    bool has_threads = rc == 0 && work.stage == FLOOR_HANDED;
    rc = rc == 0 ? curl_floor(&options, &cpu_s, &bytes) : rc;
    if (has_threads) {
        floor_threads_end(&threads);
    }
    rc = rc == 0 ? floor_work_commit(&work) : rc;
    floor_work_close(&work);
    free(pages);
    free(text);
    free(addresses);
    if (rc != 0 || work.has_failed) {
        fprintf(stderr, "bench: floor: failed (%d)\n", rc);
        return 1;
    }
    printf("floor.%s = %.4f ms\n", argv[1], cpu_s * 1000 / (double)n_pages);
    return 0;
}
