/* How soon a computation of scores ends when it is stopped. */
#ifndef TESTS_BENCH_STOPS_H
#define TESTS_BENCH_STOPS_H

#include <stddef.h>

/* Computations over the links of n_pages pages of the workload are stopped n_stops times each, at
 * random instants from the reading of the links to the publishing of the scores; then once more
 * while busy processes share the machine. Prints schedule.stop.{pagerank,hits}.max_cpu_ms, the CPU
 * time of the process between the request and the end of the thread, and max_ms, the same on the
 * clock, and max_ms_loaded. */
void stops_run(size_t n_pages, unsigned n_stops);

#endif
