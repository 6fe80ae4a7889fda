/* The command line of the synthetic web: one struct, read-only once parsed. */
#ifndef TESTS_WEB_OPTIONS_H
#define TESTS_WEB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct WebOptions {
    /* where */
    const char *suffix;      /* domain below which all hosts live */
    unsigned http_port;      /* 0: the kernel chooses */
    unsigned dns_port;       /* 0: the kernel chooses */
    bool tls;                /* HTTPS is served, too, and links lead there */
    unsigned tls_port;       /* 0: the kernel chooses */
    bool tls_rsa;            /* an RSA key instead of P-256 */
    bool tls_no_tickets;     /* no connection is resumed */
    const char *tls_ca_path; /* the certificate is written there */
    bool close;              /* connections are closed after each answer */
    unsigned threads;        /* HTTP threads; DNS runs in the first */
    /* the web */
    uint64_t seed;        /* everything is a function of it */
    unsigned hosts;       /* h00000 ... */
    unsigned addresses;   /* distinct 127.x.y.z they are spread over */
    unsigned pages;       /* closed world of so many pages; 0: the open world */
    double degree;        /* mean links of a page */
    unsigned depth;       /* mean of the hosts' greatest depth (open world) */
    unsigned page_bytes;  /* mean size of a page */
    double popularity;    /* 1: Zipf-like; 3: two thirds of the external links go to host 0 */
    double skew;          /* closed world: 0 hosts of equal size; larger: more unequal */
    double in_degree;     /* closed world: in-degrees fall as rank^(1/in_degree - 1) */
    bool scatter;         /* closed world: popular pages are anywhere, not near the seed */
    double not_found;     /* share of pages (open) or links (closed) that answer 404 */
    double errors;        /* share that answer 500 or close the connection */
    double delayed;       /* share of answers that are late */
    unsigned delay_ms;    /* by so much on average */
    unsigned spread_ms;   /* with this deviation */
    double crawl_delay_s; /* Crawl-delay or Request-rate of every fourth host; 0: none */
    bool sitemaps;        /* robots.txt names /sitemap.xml */
    unsigned change_ms;   /* closed world: pages change (change.h); 0: never */
    unsigned ttl_s;       /* of DNS answers */
    unsigned move_s;      /* hosts dns-moving change their address so often */
    unsigned slow_ms;     /* what the slow misbehaviours wait for */
    unsigned unknown_ms;  /* what the answer that a name does not exist waits for */
    /* files */
    const char *log_path;   /* one line per request */
    const char *graph_path; /* written at the start: every page a crawl must find (closed world) */
    const char *hosts_path; /* written at the start: name address forbids-private crawl-delay */
    const char *seeds_path; /* written at the start: where to begin */
    const char *zone_path;  /* further names, NAME=ADDRESS per line */
    /* instead of serving */
    bool catalogue;  /* print the misbehaviour table */
    bool write_only; /* write the files above and end */
} WebOptions;

/* Parses argv. Returns -1 to go on, or the exit status: 0 after --help, 2 after a message. */
int options_parse(WebOptions *options, int argc, char **argv);

/* Of all links: "https" with TLS. */
const char *options_scheme(const WebOptions *options);

#endif
