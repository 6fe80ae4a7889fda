#include "misbehaviour.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const Misbehaviour misbehaviour_table[] = {
    {"always-503", TRICK_PAGES, trick_always_503, "503 with Retry-After: 3600",
     "waits as long as crawl_delay_max allows, then gives up"},
    {"bad-length", TRICK_PAGES, trick_bad_length, "Content-Length: -5",
     "counts a protocol error, goes on"},
    {"binary-html", TRICK_PAGES, trick_binary_html, "random bytes called text/html",
     "parses without harm, finds no links"},
    {"busy-429", TRICK_PAGES, trick_busy_429, "three of four requests: 429, Retry-After: 2",
     "waits 2 s, asks again, gets every page"},
    {"busy-503", TRICK_PAGES, trick_busy_503, "three of four requests: 503, Retry-After: 2",
     "waits 2 s, asks again, gets every page"},
    {"calendar", TRICK_PAGES, trick_calendar,
     "every day links to the next and the previous, without end",
     "stops by depth, pages per host or as a trap"},
    {"chunked-garbage", TRICK_PAGES, trick_chunked_garbage, "chunk sizes that are no numbers",
     "keeps nothing or a part, counts an error"},
    {"close-after-one", TRICK_PAGES, trick_close_after_one,
     "promises keep-alive, closes after each answer", "opens a new connection, loses nothing"},
    {"close-at-once", TRICK_PAGES, trick_close_at_once, "closes without a byte",
     "tries again later, gives up after its tries"},
    {"deeper", TRICK_PAGES, trick_deeper, "every directory links to a directory below",
     "stops by depth or by repeated segments"},
    {"empty", TRICK_PAGES, trick_empty, "200 with Content-Length: 0", "stores an empty page"},
    {"endless-body", TRICK_PAGES, trick_endless_body, "a body without length and without end",
     "cuts at the body limit, hangs up, keeps the beginning"},
    {"endless-chunks", TRICK_PAGES, trick_endless_chunks, "chunks without end",
     "cuts at the body limit, hangs up"},
    {"endless-header", TRICK_PAGES, trick_endless_header, "header lines without end",
     "stops at the header limit"},
    {"gone-later", TRICK_PAGES, trick_gone_later, "after ten requests: 410 but for the root",
     "visits it ever less often, then no more"},
    {"gzip-bomb", TRICK_PAGES, trick_gzip_bomb, "1 MB that unpack to 1 GiB",
     "stops at the decoded limit or ratio, bounded memory"},
    {"gzip-broken", TRICK_PAGES, trick_gzip_broken, "gzip header, then noise",
     "counts a decoding error"},
    {"gzip-lie", TRICK_PAGES, trick_gzip_lie, "says gzip, sends plain text",
     "counts a decoding error"},
    {"gzip-short", TRICK_PAGES, trick_gzip_short, "gzip that stops in the middle",
     "keeps the beginning or counts an error"},
    {"hang", TRICK_PAGES, trick_hang, "half of the body, then silence",
     "gives up: too slow or total time"},
    {"header-nul", TRICK_PAGES, trick_header_nul, "NUL bytes in the header",
     "refuses or goes on, no harm"},
    {"http09", TRICK_PAGES, trick_http09, "a body without any header", "refuses (HTTP/0.9)"},
    {"huge-header", TRICK_PAGES, trick_huge_header, "one header line of 1 MiB",
     "stops at the header limit"},
    {"interim-storm", TRICK_PAGES, trick_interim_storm,
     "5000 interim answers (1xx) before the real one", "stops, or takes the real one; bounded"},
    {"long-urls", TRICK_PAGES, trick_long_urls, "links of 10 kB", "refuses them by the URL limit"},
    {"many-headers", TRICK_PAGES, trick_many_headers, "5000 header lines",
     "stops at the header limit or goes on; bounded"},
    {"many-links", TRICK_PAGES, trick_many_links, "20000 links on a page",
     "keeps links up to the limit per page"},
    {"moved-later", TRICK_PAGES, trick_moved_later,
     "after ten requests pages are redirected to /new/", "follows, replaces the links"},
    {"moved-away", TRICK_PAGES, trick_redirect_private,
     "redirects to private and link-local addresses", "refuses them at connect time"},
    {"no-length", TRICK_PAGES, trick_no_length, "no length, ends by closing (legal)",
     "stores the page whole"},
    {"nul-bytes", TRICK_PAGES, trick_nul_bytes, "NUL bytes inside tags and links",
     "parses as a browser would"},
    {"redirect-chain", TRICK_PAGES, trick_redirect_chain,
     "every page redirects to the next, without end", "stops after the chain limit"},
    {"redirect-garbage", TRICK_PAGES, trick_redirect_garbage,
     "Location of spaces, bad escapes and control bytes", "refuses it as a bad URL"},
    {"redirect-loop", TRICK_PAGES, trick_redirect_loop, "redirects to itself",
     "notices at once: seen already"},
    {"redirect-nowhere", TRICK_PAGES, trick_redirect_nowhere, "302 without Location",
     "stores the 302, no link"},
    {"redirect-pair", TRICK_PAGES, trick_redirect_pair, "two pages redirect to each other",
     "fetches each once"},
    {"redirect-scheme", TRICK_PAGES, trick_redirect_scheme,
     "redirects to file:, javascript: and ftp:", "refuses other schemes"},
    {"reset-at-once", TRICK_PAGES, trick_reset_at_once, "RST instead of an answer",
     "tries again later, gives up after its tries"},
    {"reset-mid-body", TRICK_PAGES, trick_reset_mid_body, "RST in the middle of the body",
     "tries again, does not store a part as whole"},
    {"second-answer", TRICK_PAGES, trick_second_answer, "a second answer nobody asked for",
     "does not take it for the next request's"},
    {"session", TRICK_PAGES, trick_session, "links carry a session id, another one on each visit",
     "stops by pages per host, duplicates or as a trap"},
    {"short-length", TRICK_PAGES, trick_short_length, "Content-Length smaller than what follows",
     "takes the stated length, closes the connection"},
    {"slow-drip", TRICK_PAGES, trick_slow_drip, "one byte at a time", "gives up: too slow"},
    {"slow-first", TRICK_PAGES, trick_slow_first, "nothing for --slow-ms, then a page",
     "gives up after the first-byte limit"},
    {"slow-header", TRICK_PAGES, trick_slow_header, "the header one byte at a time",
     "gives up after the first-byte limit"},
    {"soft-404", TRICK_PAGES, trick_soft_404, "the same text with 200 for every path",
     "marks duplicates, does not follow their links"},
    {"status-999", TRICK_PAGES, trick_status_999, "status 999",
     "treats it as a failure of the page"},
    {"truncated", TRICK_PAGES, trick_truncated, "Content-Length 20000, sends 5000, closes",
     "tries again or keeps it marked as truncated"},
    {"truncated-chunks", TRICK_PAGES, trick_truncated_chunks, "closes before the last chunk",
     "tries again or keeps it marked as truncated"},
    {"two-lengths", TRICK_PAGES, trick_two_lengths, "two different Content-Length lines",
     "refuses, or closes after the answer"},
    {"robots-403", TRICK_ROBOTS, trick_robots_403, "robots.txt is 403", "crawls everything"},
    {"robots-500", TRICK_ROBOTS, trick_robots_500, "robots.txt is 500",
     "crawls nothing until it answers"},
    {"robots-away", TRICK_ROBOTS, trick_redirect_private,
     "robots.txt redirects to a private address",
     "does not connect there; unreachable: crawls nothing"},
    {"robots-chain", TRICK_ROBOTS, trick_redirect_chain, "robots.txt redirects without end",
     "stops after five: crawls everything"},
    {"robots-endless", TRICK_ROBOTS, trick_endless_body, "robots.txt without end",
     "reads 500 KiB, obeys what it has"},
    {"robots-html", TRICK_ROBOTS, trick_soft_404, "robots.txt is an HTML page",
     "finds no rule: crawls everything"},
    {"robots-noise", TRICK_ROBOTS, trick_binary_html, "robots.txt is noise",
     "finds no rule: crawls everything"},
    {"robots-reset", TRICK_ROBOTS, trick_reset_at_once, "RST on robots.txt",
     "unreachable: crawls nothing for now"},
    {"robots-slow", TRICK_ROBOTS, trick_slow_first, "robots.txt after --slow-ms",
     "unreachable: crawls nothing for now"},
    {"dns-chain", TRICK_DNS, NULL, "a chain of 8 CNAMEs", "follows it"},
    {"dns-empty", TRICK_DNS, NULL, "the name exists but has no address",
     "gives up: no such address"},
    {"dns-loop", TRICK_DNS, NULL, "a CNAME to itself", "gives up"},
    {"dns-many", TRICK_DNS, NULL, "20 addresses", "takes one and stays with it"},
    {"dns-moving", TRICK_DNS, NULL, "another address every --move seconds, TTL as long",
     "moves the host to the other workbench entry"},
    {"dns-private", TRICK_DNS, NULL, "addresses 10.1.2.3 and 192.168.1.1",
     "refuses them at connect time"},
    {"dns-refused", TRICK_DNS, NULL, "REFUSED", "tries again later, gives up"},
    {"dns-servfail", TRICK_DNS, NULL, "SERVFAIL", "tries again later, gives up"},
    {"dns-silent", TRICK_DNS, NULL, "no answer",
     "gives up after its time-outs, others do not wait"},
    {"dns-slow", TRICK_DNS, NULL, "answers after 1500 ms", "waits without blocking others"},
    {"dns-truncated", TRICK_DNS, NULL, "truncated over UDP, whole over TCP", "asks again over TCP"},
    {"dns-wrong-id", TRICK_DNS, NULL, "the answer carries another query's id",
     "ignores it: as silent"},
};

#define N_ROWS (sizeof misbehaviour_table / sizeof *misbehaviour_table)
_Static_assert(N_ROWS <= MISBEHAVIOURS_MAX, "raise MISBEHAVIOURS_MAX");

const Misbehaviour *misbehaviour_find(const char *name, size_t length)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *row = misbehaviour_table[i].name;
        if (strlen(row) == length && strncasecmp(row, name, length) == 0) {
            return &misbehaviour_table[i];
        }
    }
    return NULL;
}

uint32_t misbehaviour_index(const Misbehaviour *row)
{
    return (uint32_t)(row - misbehaviour_table);
}

void misbehaviour_print(const char *suffix)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const Misbehaviour *row = &misbehaviour_table[i];
        printf("%s.%s\t%s\t%s\n", row->name, suffix, row->does, row->crawler);
    }
}
