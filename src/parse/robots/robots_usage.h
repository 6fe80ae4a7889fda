/* Robots usage: which lines of a robots.txt, or of a tdmrep.json, say for what a path may be used.
 *
 * What: what robots_usage (robots.h) sums up, line by line: for those who must show the sentence
 * and not only what follows from it.
 * Threads: pure functions. */
#ifndef PARSE_ROBOTS_ROBOTS_USAGE_H
#define PARSE_ROBOTS_ROBOTS_USAGE_H

#include "parse/robots/robots.h"

typedef struct RobotsUsageLine {
    unsigned line; /* of robots.txt, 1-based; 0: it is of tdmrep.json */
    bool of_file;  /* of tdmrep.json */
    Usage usage;
} RobotsUsageLine;

/* The statements that count for a path with its query, at most max of them; how many. */
size_t robots_usage_lines(const Robots *robots, const char *path, size_t length,
                          RobotsUsageLine *lines, size_t max);

#endif
