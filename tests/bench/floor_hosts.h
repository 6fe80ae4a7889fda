/* Floor hosts: the least that a host costs a crawl besides its requests.
 *
 * What: its name is resolved to addresses of both families (c-ares, one channel, all answers that
 * have come at once); its robots.txt is compiled, kept while the crawl runs, and asked about each
 * page; a row that says so is durable, and each different robots.txt is stored once. Nothing for
 * politeness: no queue, no clock. Owns: the compiled files. Threads: floor_hosts_store may be in
 * another one than the rest. Errors: -1 after a message. */
#ifndef TESTS_BENCH_FLOOR_HOSTS_H
#define TESTS_BENCH_FLOOR_HOSTS_H

#include <lmdb.h>
#include <stdbool.h>

#include "base/memory/buffer.h"
#include "base/memory/map.h"
#include "curl_floor.h"
#include "parse/robots/robots.h"

typedef struct FloorHosts {
    Map rules;      /* Robots, by the hash of the host's name; owned */
    MDB_dbi rows;   /* by the same hash */
    MDB_dbi robots; /* texts by their hash */
    Buffer row;
} FloorHosts;

/* Sets the address of each page to what the name server at 127.0.0.1:port says; *text is what the
 * addresses point into, to be freed. */
int floor_hosts_resolve(FloorPage *pages, size_t n_pages, unsigned port, char **text);

/* Opens the tables; the caller's transaction. */
int floor_hosts_open(FloorHosts *hosts, MDB_txn *txn);
void floor_hosts_close(FloorHosts *hosts);

/* Whether this is an answer about a host, not a page. */
bool floor_hosts_is_robots(const char *url);
/* Compiles a robots.txt; one that is not there allows all. 0 or -1. */
int floor_hosts_parse(const FloorAnswer *answer, Robots **robots);
/* Takes what was compiled; -1 without memory. */
int floor_hosts_keep(FloorHosts *hosts, const char *url, Robots *robots);
/* Writes the host's row, and its robots.txt if nobody has the same. An error of the database, or
 * -1. */
int floor_hosts_store(FloorHosts *hosts, MDB_txn *txn, const FloorAnswer *answer);
/* Whether a page may be fetched; a host that is not known allows all. */
bool floor_hosts_allow(const FloorHosts *hosts, const char *url);

#endif
