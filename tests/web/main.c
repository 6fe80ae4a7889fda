/* web: a synthetic web on loopback, for tests, benchmarks and the demonstration.
 *
 * The main thread waits for signals; each HTTP thread has an event loop with its own listening
 * socket, connections and log buffer; DNS runs in the first. Nothing is shared but what is
 * read-only (Site, Names) and the visit counts (atomic). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "closed_world.h"
#include "dns_server.h"
#include "listener.h"
#include "robots_txt.h"
#include "site.h"
#include "tls.h"

typedef struct Worker {
    pthread_t handle;
    EventLoop loop;
    HttpThread http;
    Listener listener;
    Listener tls_listener;
    DnsServer *dns; /* the first worker's; NULL in the others */
} Worker;

typedef struct Web {
    WebOptions options;
    Names names;
    Site site;
    Tls *tls; /* NULL: HTTP alone */
    Worker *workers;
    size_t n_workers; /* initialised */
    int log_fd;
} Web;

/* Counters are plain and belong to their thread: they are printed by it, in its idle call. */
static void print_counters(Worker *worker)
{
    const HttpThread *http = &worker->http;
    fprintf(stderr,
            "web: requests=%llu aborted=%llu bytes=%llu connections=%llu open=%llu "
            "handshakes=%llu resumed=%llu dns_queries=%llu\n",
            (unsigned long long)http->n_requests, (unsigned long long)http->n_aborted,
            (unsigned long long)http->n_bytes, (unsigned long long)http->n_connections,
            (unsigned long long)http->n_open, (unsigned long long)http->n_handshakes,
            (unsigned long long)http->n_resumed,
            (unsigned long long)(worker->dns != NULL ? dns_server_queries(worker->dns) : 0));
}

static void on_idle(void *context, bool poked)
{
    Worker *worker = context;
    request_log_flush(&worker->http.log);
    if (poked) {
        print_counters(worker);
    }
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    event_loop_run(&worker->loop);
    return NULL;
}

static Result write_lines(const char *path, const Web *web,
                          void (*write)(const Web *web, FILE *file))
{
    if (path == NULL) {
        return RESULT_OK;
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return RESULT_IO;
    }
    write(web, file);
    if (fclose(file) != 0) {
        perror(path);
        return RESULT_IO;
    }
    return RESULT_OK;
}

static void write_graph(const Web *web, FILE *file)
{
    closed_world_print(&web->site, file);
}

static void write_hosts(const Web *web, FILE *file)
{
    char name[NAMES_TEXT_BYTES];
    char address[NAMES_ADDRESS_BYTES];
    for (uint32_t i = 0; i < web->options.hosts; i++) {
        names_of_host(&web->names, i, name);
        names_format_address(names_address_of_host(&web->names, i), address);
        fprintf(file, "%s %s %d %u\n", name, address, robots_txt_forbids_private(&web->options, i),
                robots_txt_crawl_delay_ms(&web->options, i));
    }
}

/* The closed world is reachable from its first page; the open one from the roots of the hosts. */
static void write_seeds(const Web *web, FILE *file)
{
    char name[NAMES_TEXT_BYTES];
    uint32_t n = web->options.pages > 0 ? 1 : web->options.hosts;
    for (uint32_t i = 0; i < n; i++) {
        names_of_host(&web->names, i, name);
        fprintf(file, "%s://%s/\n", options_scheme(&web->options), name);
    }
}

static Result write_files(const Web *web)
{
    Result rc = write_lines(web->options.graph_path, web, write_graph);
    if (rc == RESULT_OK) {
        rc = write_lines(web->options.hosts_path, web, write_hosts);
    }
    if (rc == RESULT_OK) {
        rc = write_lines(web->options.seeds_path, web, write_seeds);
    }
    return rc;
}

static Result start_worker(Web *web, unsigned port, unsigned tls_port)
{
    Worker *worker = &web->workers[web->n_workers];
    Result rc = event_loop_init(&worker->loop, on_idle, worker);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = http_thread_init(&worker->http, &worker->loop, &web->site, web->log_fd);
    worker->listener.watch.fd = -1;
    worker->tls_listener.watch.fd = -1;
    web->n_workers++;
    if (rc == RESULT_OK) {
        rc = listener_open(&worker->listener, &worker->http, port, NULL);
    }
    if (rc == RESULT_OK && web->tls != NULL) {
        rc = listener_open(&worker->tls_listener, &worker->http, tls_port, web->tls);
    }
    if (rc == RESULT_OK && web->n_workers == 1) {
        rc = dns_server_new(&worker->dns, &worker->loop, &web->names, web->options.dns_port);
    }
    return rc;
}

static void stop_worker(Worker *worker)
{
    if (worker->handle != 0) {
        event_loop_stop(&worker->loop);
        pthread_join(worker->handle, NULL);
        print_counters(worker);
    }
    dns_server_delete(worker->dns);
    listener_close(&worker->listener);
    listener_close(&worker->tls_listener);
    http_thread_destroy(&worker->http);
    event_loop_destroy(&worker->loop);
}

static Result start_workers(Web *web)
{
    web->workers = calloc(web->options.threads, sizeof *web->workers);
    if (web->workers == NULL) {
        return RESULT_MEMORY;
    }
    unsigned port = web->options.http_port;
    unsigned tls_port = web->options.tls_port;
    for (unsigned i = 0; i < web->options.threads; i++) {
        Result rc = start_worker(web, port, tls_port);
        if (rc != RESULT_OK) {
            return rc;
        }
        port = listener_port(&web->workers[0].listener);
        tls_port = web->tls == NULL ? 0 : listener_port(&web->workers[0].tls_listener);
    }
    printf("ready http=%u dns=%u", port, dns_server_port(web->workers[0].dns));
    if (web->tls != NULL) {
        printf(" https=%u", tls_port);
    }
    printf("\n");
    fflush(stdout);
    for (unsigned i = 0; i < web->options.threads; i++) {
        Worker *worker = &web->workers[i];
        if (pthread_create(&worker->handle, NULL, worker_main, worker) != 0) {
            worker->handle = 0;
            return RESULT_INTERNAL;
        }
    }
    return RESULT_OK;
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void wait_for_end(Web *web, const sigset_t *signals)
{
    for (int signal = 0; sigwait(signals, &signal) == 0 && signal == SIGUSR1;) {
        for (size_t i = 0; i < web->n_workers; i++) {
            event_loop_poke(&web->workers[i].loop);
        }
    }
}

static Result serve(Web *web)
{
    sigset_t signals;
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to clients that have gone */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    raise_descriptor_limit();
    web->log_fd = -1;
    if (web->options.log_path != NULL) {
        web->log_fd =
            open(web->options.log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
        if (web->log_fd < 0) {
            perror(web->options.log_path);
            return RESULT_IO;
        }
    }
    Result rc = web->options.tls ? tls_new(&web->tls, &web->options) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = start_workers(web);
    }
    if (rc == RESULT_OK) {
        wait_for_end(web, &signals);
    }
    for (size_t i = 0; i < web->n_workers; i++) {
        stop_worker(&web->workers[i]);
    }
    free(web->workers);
    tls_delete(web->tls);
    if (web->log_fd >= 0) {
        close(web->log_fd);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static Web web; /* large; of this thread until serve */
    int status = options_parse(&web.options, argc, argv);
    if (status >= 0) {
        return status;
    }
    if (web.options.catalogue) {
        misbehaviour_print(web.options.suffix);
        return 0;
    }
    if (names_init(&web.names, &web.options) != RESULT_OK) {
        return 2;
    }
    Result rc = site_init(&web.site, &web.options, &web.names);
    if (rc == RESULT_OK) {
        rc = write_files(&web);
    }
    if (rc == RESULT_OK && !web.options.write_only) {
        rc = serve(&web);
    }
    site_destroy(&web.site);
    names_destroy(&web.names);
    return rc == RESULT_OK ? 0 : 1;
}
