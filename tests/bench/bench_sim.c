/* A crawl of a simulated web in virtual time, as large as SCALE says: what the frontier costs per
 * URL early and late, and what it holds in memory. SCALE=10 is the size that the design promises:
 * 20 million URLs on a million hosts. Runs $OUT/sim, which prints the figures. store.batch_time is
 * thirty seconds: in virtual time a small web gives some ten results in the default's 200 ms, and
 * the figures would be those of commits (sim.results_per_commit). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define URLS          2000000.0
#define HOSTS         100000.0
#define ADDRESSES     30000.0
#define MEMORY_MI     64.0
#define MEMORY_MAX_MI 256.0

int main(void)
{
    const char *out = getenv("OUT");
    const char *scale_text = getenv("SCALE");
    double scale = scale_text == NULL ? 1 : strtod(scale_text, NULL);
    double memory = MEMORY_MI * scale;
    memory = memory > MEMORY_MAX_MI ? MEMORY_MAX_MI : memory < 1 ? 1 : memory;
    char program[4096];
    char urls[32];
    char hosts[32];
    char addresses[32];
    char budget[32];
    (void)snprintf(program, sizeof program, "%s/sim", out == NULL ? "build/release" : out);
    (void)snprintf(urls, sizeof urls, "%.0f", URLS * scale);
    (void)snprintf(hosts, sizeof hosts, "%.0f", HOSTS * scale + 1);
    (void)snprintf(addresses, sizeof addresses, "%.0f", ADDRESSES * scale + 1);
    (void)snprintf(budget, sizeof budget, "%.0fMi", memory);
    (void)execl(program, program, "--urls", urls, "--hosts", hosts, "--addresses", addresses,
                "--memory", budget, "--batch-time", "30000", (char *)NULL);
    perror(program);
    return 2;
}
