#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptionType { TYPE_TEXT, TYPE_COUNT, TYPE_REAL, TYPE_SEED, TYPE_FLAG } OptionType;

typedef struct OptionRow {
    const char *name;
    OptionType type;
    size_t field; /* offset in WebOptions */
    double least;
    double greatest;
} OptionRow;

#define FIELD(name) offsetof(WebOptions, name)

static const OptionRow rows[] = {
    {"suffix", TYPE_TEXT, FIELD(suffix), 0, 0},
    {"port", TYPE_COUNT, FIELD(http_port), 0, 65535},
    {"dns-port", TYPE_COUNT, FIELD(dns_port), 0, 65535},
    {"tls", TYPE_FLAG, FIELD(tls), 0, 0},
    {"tls-port", TYPE_COUNT, FIELD(tls_port), 0, 65535},
    {"tls-rsa", TYPE_FLAG, FIELD(tls_rsa), 0, 0},
    {"tls-no-tickets", TYPE_FLAG, FIELD(tls_no_tickets), 0, 0},
    {"tls-ca", TYPE_TEXT, FIELD(tls_ca_path), 0, 0},
    {"close", TYPE_FLAG, FIELD(close), 0, 0},
    {"threads", TYPE_COUNT, FIELD(threads), 1, 64},
    {"seed", TYPE_SEED, FIELD(seed), 0, 0},
    {"hosts", TYPE_COUNT, FIELD(hosts), 1, 100e6},
    {"addresses", TYPE_COUNT, FIELD(addresses), 1, 12e6},
    {"pages", TYPE_COUNT, FIELD(pages), 0, 100e6},
    {"degree", TYPE_REAL, FIELD(degree), 0, 300},
    {"depth", TYPE_COUNT, FIELD(depth), 0, 100},
    {"page-bytes", TYPE_COUNT, FIELD(page_bytes), 200, 1e6},
    {"popularity", TYPE_REAL, FIELD(popularity), 0.1, 10},
    {"skew", TYPE_REAL, FIELD(skew), 0, 10},
    {"in-degree", TYPE_REAL, FIELD(in_degree), 1, 20},
    {"scatter", TYPE_FLAG, FIELD(scatter), 0, 0},
    {"not-found", TYPE_REAL, FIELD(not_found), 0, 1},
    {"errors", TYPE_REAL, FIELD(errors), 0, 1},
    {"delayed", TYPE_REAL, FIELD(delayed), 0, 1},
    {"delay-ms", TYPE_COUNT, FIELD(delay_ms), 0, 600000},
    {"spread-ms", TYPE_COUNT, FIELD(spread_ms), 0, 600000},
    {"crawl-delay", TYPE_REAL, FIELD(crawl_delay_s), 0, 3600},
    {"change-ms", TYPE_COUNT, FIELD(change_ms), 0, 86400000},
    {"sitemaps", TYPE_FLAG, FIELD(sitemaps), 0, 0},
    {"ttl", TYPE_COUNT, FIELD(ttl_s), 0, 604800},
    {"move", TYPE_COUNT, FIELD(move_s), 1, 86400},
    {"slow-ms", TYPE_COUNT, FIELD(slow_ms), 1, 3600000},
    {"unknown-ms", TYPE_COUNT, FIELD(unknown_ms), 0, 3600000},
    {"log", TYPE_TEXT, FIELD(log_path), 0, 0},
    {"graph", TYPE_TEXT, FIELD(graph_path), 0, 0},
    {"hosts-file", TYPE_TEXT, FIELD(hosts_path), 0, 0},
    {"seeds", TYPE_TEXT, FIELD(seeds_path), 0, 0},
    {"zone", TYPE_TEXT, FIELD(zone_path), 0, 0},
    {"catalogue", TYPE_FLAG, FIELD(catalogue), 0, 0},
    {"write-only", TYPE_FLAG, FIELD(write_only), 0, 0},
};

#define N_ROWS (sizeof rows / sizeof *rows)

static const char help[] =
    "usage: web [OPTION]...   a synthetic web on loopback: HTTP on 127.x.y.z, DNS on 127.0.0.1\n"
    "  --port N          HTTP port, 0 = any free one (8080)     --dns-port N      (5353)\n"
    "  --tls             HTTPS too (TLS 1.3), and all links lead there   --tls-port N  (any free "
    "one)\n"
    "  --tls-rsa         an RSA key instead of P-256            --tls-no-tickets  nothing is "
    "resumed\n"
    "  --tls-ca FILE     write the certificate, for --cacert    --close           after each "
    "answer\n"
    "  --suffix DOMAIN   hosts are hNNNNN.DOMAIN (web.test)     --threads N       (1)\n"
    "  --hosts N         number of hosts (1000)                 --addresses N     (hosts, at most "
    "500)\n"
    "  --pages N         a closed world of exactly N pages; without it an open, endless one\n"
    "  --seed N          another web (1)                        --page-bytes N    mean size "
    "(17000)\n"
    "  --degree X        mean links per page (17; open 50)      --depth N         open world (3)\n"
    "  --popularity X    external links: 1 Zipf, 3 mostly to host 0 (1)\n"
    "  --skew X          closed world: how unequal the hosts are (0.5)\n"
    "  --in-degree X     closed world: how unequal the pages are; 1 alike (3)   --scatter   "
    "popular ones anywhere\n"
    "  --not-found X     share of 404 (0)                       --errors X        500 or close "
    "(0)\n"
    "  --delayed X       share of late answers (0), by --delay-ms N (1000) +- --spread-ms N "
    "(1000)\n"
    "  --crawl-delay S   in robots.txt of every fourth host     --sitemaps        serve "
    "/sitemap.xml\n"
    "  --change-ms N     closed world: page i changes every N * 2^(i % 6) ms; ETag, "
    "Last-Modified, 304\n"
    "  --ttl S           of DNS answers (3600)                  --move S          dns-moving (2)\n"
    "  --slow-ms N       what slow misbehaviours wait (60000)   --unknown-ms N    and DNS, for a "
    "name that is none (0)\n"
    "  --log FILE        a line per request: start_us end_us address host status bytes flags path\n"
    "                    flags: F forbidden by robots.txt, A aborted by the client, R robots.txt,\n"
    "                    C conditional, X and not on what the page was served with last\n"
    "  --graph FILE      write all pages of the closed world    --seeds FILE      where to begin\n"
    "  --hosts-file FILE write: name address forbids-private(0|1) crawl-delay-ms\n"
    "  --zone FILE       further names for DNS, NAME=ADDRESS    --write-only      files, then end\n"
    "  --catalogue       what misbehaving hosts there are (slow-first.web.test, ...)\n"
    "Prints `ready http=PORT dns=PORT`, with --tls also `https=PORT`. SIGUSR1 prints counters; "
    "SIGINT or SIGTERM ends, and "
    "prints them.\n";

static void set_defaults(WebOptions *o)
{
    memset(o, 0, sizeof *o);
    o->suffix = "web.test";
    o->http_port = 8080;
    o->dns_port = 5353;
    o->threads = 1;
    o->seed = 1;
    o->hosts = 1000;
    o->depth = 3;
    o->degree = -1;
    o->page_bytes = 17000;
    o->popularity = 1;
    o->skew = 0.5;
    o->in_degree = 3;
    o->delay_ms = 1000;
    o->spread_ms = 1000;
    o->ttl_s = 3600;
    o->move_s = 2;
    o->slow_ms = 60000;
}

/* The row's field of o; the row says its type. */
static void *field_of(WebOptions *o, const OptionRow *row)
{
    return (char *)o + row->field;
}

static int set_number(WebOptions *o, const OptionRow *row, const char *text)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    bool whole = row->type == TYPE_REAL || value == floor(value);
    if (errno != 0 || end == text || *end != '\0' || !whole || !(value >= row->least) ||
        !(value <= row->greatest)) {
        fprintf(stderr, "web: --%s %s: expected a %s from %.15g to %.15g\n", row->name, text,
                row->type == TYPE_REAL ? "number" : "whole number", row->least, row->greatest);
        return 2;
    }
    if (row->type == TYPE_REAL) {
        *(double *)field_of(o, row) = value;
    } else {
        *(unsigned *)field_of(o, row) = (unsigned)value;
    }
    return -1;
}

static int set_option(WebOptions *o, const OptionRow *row, const char *text)
{
    switch (row->type) {
    case TYPE_TEXT:
        *(const char **)field_of(o, row) = text;
        return -1;
    case TYPE_FLAG:
        *(bool *)field_of(o, row) = true;
        return -1;
    case TYPE_SEED:
        *(uint64_t *)field_of(o, row) = strtoull(text, NULL, 10);
        return -1;
    case TYPE_COUNT:
    case TYPE_REAL:
        break;
    }
    return set_number(o, row, text);
}

const char *options_scheme(const WebOptions *options)
{
    return options->tls ? "https" : "http";
}

int options_parse(WebOptions *o, int argc, char **argv)
{
    set_defaults(o);
    struct option table[N_ROWS + 2] = {{NULL, 0, NULL, 0}};
    for (size_t i = 0; i < N_ROWS; i++) {
        int argument = rows[i].type == TYPE_FLAG ? no_argument : required_argument;
        table[i] = (struct option){rows[i].name, argument, NULL, (int)i + 256};
    }
    table[N_ROWS] = (struct option){"help", no_argument, NULL, 'h'};
    for (;;) {
        int c = getopt_long(argc, argv, "h", table, NULL);
        if (c == -1) {
            break;
        }
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c < 256) {
            fputs("web: try --help\n", stderr);
            return 2;
        }
        int status = set_option(o, &rows[c - 256], optarg);
        if (status >= 0) {
            return status;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "web: unexpected argument: %s (try --help)\n", argv[optind]);
        return 2;
    }
    if (o->pages != 0 && o->pages < o->hosts) {
        o->hosts = o->pages; /* every host has at least its root page */
    }
    if (o->addresses == 0) {
        o->addresses = o->hosts < 500 ? o->hosts : 500;
    }
    if (o->degree < 0) {
        o->degree = o->pages != 0 ? 17 : 50;
    }
    return -1;
}
