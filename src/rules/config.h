/* Configuration: the option table of the crawler, and the struct of values that it yields.
 *
 * What: a row of CONFIG_TABLE is the only place where an option exists: section, key, type, field
 * type, default, least, greatest, words, marks, help. Marks say whether an option may change while
 * the crawl runs, differ by site, or must be the same for all agents of a cluster. The field of an
 * option is named section_key. Parsing, units, ranges, --help-config, --print-config, the sample
 * file and the manual come from the rows.
 * Threads: main; other threads get copies of what they need. */
#pragma once

#include "base/option/options.h"
#include "base/thread/log.h"
#include "fetch/dns/resolver_types.h"
#include "rules/config_words.h"
#include "rules/scope/scope.h"
#include "store/warc/warc_compress.h"

/* The options of the sections [score] and [schedule]: in which order URLs are fetched, and when
 * pages are visited again.
 *
 * What: rows of CONFIG_TABLE (rules/config.h), in which they stand behind those of [warc]. */

/* clang-format off */
#define CONFIG_ORDER(ROW) \
    ROW(score, scorer, WORD, int, "none", 0, 0, WORDS_TEXT(SCORER_WORDS), 0, \
        "what best-first goes by: none = links and their depth; content = score.rules; " \
        "pagerank, hits = the links between pages; command, fasttext = a program's opinion of the " \
        "page with the link") \
    ROW(score, rules, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "file of lines WEIGHT FILTER: the first that matches is the score of a link or page") \
    ROW(score, page_share, REAL, double, "0.3", 0, 1, NULL, OPTION_LIVE, \
        "content: weight of the score of the linking page; the rest is the weight of the link (command, " \
        "fasttext: with score.rules; without them it is all)") \
    ROW(score, command, TEXT, char *, "", 0, 0, NULL, 0, \
        "command: for the shell; reads {\"url\", \"title\", \"language\", \"text\"} as JSON Lines and " \
        "answers each at once with a line, a number from 0 to 1") \
    ROW(score, model, TEXT, char *, "", 0, 0, NULL, 0, \
        "fasttext: file of a supervised model (the program fasttext must be installed)") \
    ROW(score, label, TEXT, char *, "__label__wanted", 0, 0, NULL, 0, \
        "fasttext: the label whose probability is the score") \
    ROW(score, command_batch, COUNT, int64_t, "32", 1, 1024, NULL, 0, \
        "command, fasttext: pages asked about at once, at most") \
    ROW(score, command_queue, COUNT, int64_t, "256", 1, 65536, NULL, 0, \
        "command, fasttext: pages that may wait for it; more go on with the default score " \
        "(classify_default in status.log)") \
    ROW(score, command_timeout, TIME, int64_t, "10s", 10, CONFIG_YEAR, NULL, 0, \
        "command, fasttext: for the answers to a batch; then the program is killed, and started " \
        "again after a pause that doubles each time, up to 5m") \
    ROW(score, command_default, REAL, double, "0.5", 0, 1, NULL, 0, \
        "command, fasttext: score of a page that was not answered about") \
    ROW(score, min_pages, COUNT, int64_t, "10", 1, CONFIG_BIG, NULL, OPTION_LIVE, \
        "pagerank, hits: fetched pages since the last computation before another one begins") \
    ROW(score, growth, REAL, double, "0.02", 0, 100, NULL, OPTION_LIVE, \
        "pagerank, hits: the same as a share of the pages fetched before") \
    ROW(score, share, REAL, double, "0.01", 0, 1, NULL, OPTION_LIVE, \
        "pagerank, hits: of the CPU that the program uses, for computations and the moves that " \
        "follow from them, behind the first 100 ms; 1 = no bound") \
    ROW(score, depth_factor, REAL, double, "0.5", 0, 1, NULL, OPTION_LIVE, \
        "none: a link's score falls by this factor with each further link from the seed") \
    ROW(score, sitemap_hints, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE, \
        "a sitemap's priority, lastmod and changefreq shift its entries by up to one level, and changefreq " \
        "says when a page that was visited once is due again") \
    ROW(schedule, mode, WORD, int, "once", 0, 0, WORDS_TEXT(SCHEDULE_MODE_WORDS), OPTION_AGREED, \
        "continuous: crawled pages are visited again when they are due; the crawl does not end") \
    ROW(schedule, rules, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "file of rules: a regular expression, blanks, and an interval (6h) or xN, N times as often " \
        "as the page changes; the first that matches decides") \
    ROW(schedule, revisit, WORD, int, "optimal", 0, 0, WORDS_TEXT(REVISIT_WORDS), OPTION_LIVE, \
        "what the interval of a page follows from: optimal = its change rate, its score and what a " \
        "visit is worth elsewhere, so that copies are as fresh as the budget of visits allows; " \
        "power = its change rate alone (revisit_power)") \
    ROW(schedule, revisit_rate, REAL, double, "0", 0, 1e6, NULL, OPTION_LIVE, \
        "optimal: visits per second that all pages share; 0 = each page once in revisit_default, " \
        "on average") \
    ROW(schedule, signal_trust, REAL, double, "0.2", 0, 1, NULL, OPTION_LIVE, \
        "a page that a sitemap or feed says has changed is visited at once while so large a share of " \
        "what its host said so was true; 1 = never") \
    ROW(schedule, revisit_default, TIME, int64_t, "7d", 1, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "interval to the next visit of a page while its change rate is not known (the second " \
        "visit comes after half of it at the earliest)") \
    ROW(schedule, revisit_min, TIME, int64_t, "1h", 1, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "shortest interval between two visits, whatever rules and changes say") \
    ROW(schedule, revisit_max, TIME, int64_t, "90d", 1, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "longest interval between two visits") \
    ROW(schedule, revisit_power, REAL, double, "0.5", 0, 1, NULL, OPTION_LIVE, \
        "power: how much change counts: 0 = all pages alike, 1 = as often as they change") \
    ROW(schedule, revisit_tries, COUNT, int64_t, "3", 1, 16, NULL, OPTION_LIVE, \
        "visits in a row that do not find a page (404), or failures of its host, until it is " \
        "given up; the interval doubles with each; a page that is gone (410) is given up at once") \
    ROW(schedule, margin, REAL, double, "-1", -1, 1000, NULL, 0, \
        "a page with a frequency from ragno schedule is visited 1/(frequency*(1+margin)) after " \
        "its last crawl at the earliest; negative = off") \
    ROW(schedule, max_n_crawls, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE, \
        "visits of a page at most; 0 = no limit") \
    ROW(schedule, order, WORD, int, "best-first", 0, 0, WORDS_TEXT(ORDER_WORDS), \
        0, \
        "which URLs go first, within a host and across hosts") \
    ROW(schedule, levels, COUNT, int64_t, "60", 1, 64, NULL, 0, \
        "priority levels (front queues); together they span scores from 1 to 1/65536; with " \
        "visits that are due 63 at most") \
    ROW(schedule, bias, WORD, int, "strict", 0, 0, WORDS_TEXT(LEVEL_BIAS_WORDS), 0, \
        "strict = always the best level that can be fetched; weighted = a share of the turns " \
        "for other levels, so that none starves") \
    ROW(schedule, window, COUNT, int64_t, "32", 4, 100000, NULL, 0, \
        "URLs of one host held in memory at most") \
    ROW(revisit, heuristic, REAL, double, "0", 0, 1, NULL, OPTION_LIVE, \
        "a page that does not say for how long it is fresh is not asked for again within this share of the time " \
        "since its Last-Modified, at most 30 days; 0 = off; 0.1 is what caches do") \
    ROW(revisit, ignore_freshness, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "visit pages again before max-age or Expires of their answers have passed, and behind Sunset " \
        "and unavailable_after, and a page that answers 410 as one that answers 404; only in a [site] " \
        "section that names the host, which is yours")
/* clang-format on */

#define CONFIG_BIG  9e15
#define CONFIG_YEAR 31536000000.0

/* clang-format off */
#define CONFIG_TABLE(ROW) \
    ROW(crawl, identity, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED, \
        "name of the [identity \"NAME\"] section that says as whom this crawl asks; a crawl keeps it; " \
        "empty = as the options say that could stand there") \
    ROW(crawl, usages, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED | OPTION_IDENTITY, \
        "what its pages are for, such as 'train-ai, search': where a site denies one of these, its pages are " \
        "neither fetched nor stored; empty = politeness.usage alone says what is done") \
    ROW(crawl, contact, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED | OPTION_IDENTITY, \
        "URL or e-mail address where webmasters learn about this crawl; needed outside loopback") \
    ROW(crawl, user_agent, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED | OPTION_IDENTITY, \
        "User-Agent header; empty = ragno/VERSION (+CONTACT)") \
    ROW(crawl, signature_key, TEXT, char *, "", 0, 0, NULL, OPTION_IDENTITY, \
        "file (mode 0600) of the Ed25519 key that requests are signed with (Web Bot Auth; ragno " \
        "identity new FILE makes one); empty = they are not") \
    ROW(crawl, signature_agent, TEXT, char *, "", 0, 0, NULL, OPTION_IDENTITY, \
        "https URL of the site that publishes the key (ragno identity directory): Signature-Agent") \
    ROW(crawl, max_pages, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_DIVIDED, \
        "stop after this many fetched pages, exit 14; 0 = no limit") \
    ROW(crawl, max_bytes, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_DIVIDED, \
        "stop after this many received bytes, with those in flight, exit 14; 0 = no limit") \
    ROW(crawl, max_duration, TIME, int64_t, "0", 0, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "stop a run after this time, exit 15; the next run has it anew; 0 = no limit") \
    ROW(crawl, max_total_duration, TIME, int64_t, "0", 0, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "stop when all runs of the crawl together have lasted so long, exit 15; 0 = no limit") \
    ROW(crawl, min_free_disk, SIZE, int64_t, "256Mi", 0, CONFIG_BIG, NULL, OPTION_LIVE, \
        "pause while less is free in DIR, go on when twice as much is") \
    ROW(crawl, disk_full_exit, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE, \
        "stop with exit 16 instead of pausing when the disk is nearly full") \
    ROW(crawl, grace, TIME, int64_t, "10s", 0, 3600e3, NULL, OPTION_LIVE, \
        "how long fetches in flight may go on after SIGINT or SIGTERM") \
    ROW(crawl, start_paused, BOOL, bool, "no", 0, 0, NULL, 0, \
        "begin nothing until an operator says ragno ctl DIR resume; seeds are taken in") \
    ROW(crawl, memory, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, 0, \
        "one budget of memory, at least 64Mi: lowers the limits of all parts to their shares, and " \
        "unmaps database pages when nearly as much is resident; 0 = off") \
    ROW(politeness, host_delay, TIME, int64_t, "5s", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "least time between the end of a fetch and the next one from the same scheme+authority") \
    ROW(politeness, ip_delay, TIME, int64_t, "1s", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "the same for one IP address") \
    ROW(politeness, crawl_delay_max, TIME, int64_t, "300s", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "a longer Crawl-delay in robots.txt is cut to this") \
    ROW(politeness, connections, COUNT, int64_t, "1", 1, CONFIG_MOST_AT_ONCE, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "requests to a host, and its address, at once, while neither is owed a delay; more than 2 only in " \
        "a [site] section that names the host, which is yours") \
    ROW(politeness, adaptive_factor, REAL, double, "0", 0, 1000, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "wait at least this many times the duration of the last fetch; 0 = off") \
    ROW(politeness, learned, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "a host that answers fast and steadily, and names no delay of its own, is asked more often, step by " \
        "step, down to politeness.least and ten times its usual answer; host_delay holds at once when an answer " \
        "is slow or fails (learned:... in crawl.log, which ragno audit proves)") \
    ROW(politeness, least, TIME, int64_t, "1s", 1, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "learned: shortest delay of a host; ip_delay holds besides") \
    ROW(politeness, keep_alive_time, TIME, int64_t, "0", 0, 60e3, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "a host that is well, and has no Crawl-delay, is asked for one page after the other without " \
        "a pause until so much time has passed; then host_delay and ip_delay; 0 = one request") \
    ROW(politeness, retry_after_max, TIME, int64_t, "1d", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "a host whose Retry-After is longer is parked, with its URLs") \
    ROW(politeness, rest_max, TIME, int64_t, "6h", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "longest rest of a host after a failure; 0 = no limit") \
    ROW(politeness, park_after, TIME, int64_t, "6h", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "a host whose rests after failures add up to this is parked, with its URLs; 0 = never") \
    ROW(politeness, wall_answers, COUNT, int64_t, "10", 0, WALL_RUN_MOST, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "answers in a row that keep crawlers out (401, 403, 429 ..., challenges, one answer to every page) after " \
        "which a host rests; nothing of it is lost; 0 = it is asked on") \
    ROW(politeness, hours, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "times of the day at which hosts are asked for anything, such as '22:00-06:00, 12:00-13:00 " \
        "Europe/Rome'; without a zone in universal time; a host that is closed learns of a change when " \
        "it would have opened; empty = at all times") \
    ROW(politeness, retry, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "changes to the retry table: CLASS WAIT RETRIES [drop], comma separated; waits double") \
    ROW(politeness, usage, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "what is done about pages whose site denies a usage: 'train-ai no-store, tdm no-fetch'; " \
        "usages are train-ai, ai-input, search, tdm, image-ai; empty = they are labelled") \
    ROW(politeness, name_recheck, TIME, int64_t, "1h", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_AGREED, \
        "a host whose name does not exist is asked for again after this, twice and four times this; 0 = never") \
    ROW(politeness, tries, COUNT, int64_t, "0", 0, 100, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "attempts at one URL at most, whatever the table says; 0 = the table alone") \
    ROW(cluster, url, TEXT, char *, "", 0, 0, NULL, 0, \
        "NATS server of a crawl on several machines, such as nats://10.0.0.1:4222 or tls://...; several, " \
        "comma separated; empty = this agent crawls alone (docs/cluster.md)") \
    ROW(cluster, name, TEXT, char *, "", 0, 0, NULL, 0, \
        "name of the crawl at that server, the same for all agents: letters, digits, '-' and '_'") \
    ROW(cluster, agent, TEXT, char *, "", 0, 0, NULL, 0, \
        "number of the agent that a new directory becomes; empty = the first that is free") \
    ROW(cluster, credentials, TEXT, char *, "", 0, 0, NULL, 0, \
        "file (mode 0600) with 'user NAME PASSWORD', 'token TOKEN', 'nkey PUBLIC' and the seed below, or a " \
        "credentials file of nsc; empty = none") \
    ROW(cluster, tls_authority, TEXT, char *, "", 0, 0, NULL, 0, \
        "file (PEM) of the certificates that the server's is checked by; empty = the system's") \
    ROW(cluster, tls_certificate, TEXT, char *, "", 0, 0, NULL, 0, \
        "file (PEM) of this agent's own certificate, if the server wants one") \
    ROW(cluster, tls_key, TEXT, char *, "", 0, 0, NULL, 0, \
        "file (PEM) of its key") \
    ROW(cluster, open_server, BOOL, bool, "no", 0, 0, NULL, 0, \
        "use a server on another machine without cluster.credentials or without TLS: whoever reaches it " \
        "can read every URL and end the crawl") \
    ROW(cluster, replicas, COUNT, int64_t, "1", 1, 5, NULL, 0, \
        "servers that keep the cluster table, when this agent makes the bucket: 3 with three servers") \
    ROW(cluster, lease, TIME, int64_t, "30s", 2000, 600e3, NULL, OPTION_AGREED, \
        "how long an agent may use an address that others use, too, before it asks again; without the " \
        "server the crawl waits after this") \
    ROW(cluster, window, SIZE, int64_t, "32Mi", 65536, 1073741824.0, NULL, 0, \
        "blocks of links that wait in the memory of one agent, from all others together; the rest waits " \
        "on their disks") \
    ROW(cluster, outbox, SIZE, int64_t, "10Gi", 1048576, CONFIG_BIG, NULL, OPTION_LIVE, \
        "blocks of links for other agents that wait on this disk; beyond, this agent pauses until they " \
        "are taken") \
    ROW(dns, servers, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "name servers, such as 127.0.0.1:5353, [::1]; empty = the system's") \
    ROW(dns, timeout, TIME, int64_t, "5s", 50, 120e3, NULL, OPTION_LIVE, \
        "how long one try waits for an answer") \
    ROW(dns, tries, COUNT, int64_t, "3", 1, 10, NULL, OPTION_LIVE, "tries per name server") \
    ROW(dns, queries, COUNT, int64_t, "1000", 1, 30000, NULL, OPTION_LIVE, \
        "queries in flight at most; further names wait") \
    ROW(dns, cache_entries, COUNT, int64_t, "100000", 0, 1e8, NULL, OPTION_LIVE, \
        "answers kept at most; the first to expire is dropped") \
    ROW(dns, ttl_min, TIME, int64_t, "1m", 0, DNS_TTL_MOST_MS, NULL, OPTION_LIVE, \
        "answers are kept at least this long") \
    ROW(dns, negative_ttl, TIME, int64_t, "5m", 0, CONFIG_YEAR, NULL, OPTION_LIVE, \
        "how long a missing answer is remembered") \
    ROW(dns, family, WORD, int, "ipv4-first", 0, 0, WORDS_TEXT(RESOLVER_FAMILY_WORDS), OPTION_LIVE, "which addresses are used, and which first; a host keeps its address until that expires") \
    ROW(fetch, threads, COUNT, int64_t, "0", 0, CONFIG_MOST_THREADS, NULL, OPTION_LIVE, \
        "fetching threads; 0 = one for each processor that the process may use, 64 at most") \
    ROW(fetch, connections, COUNT, int64_t, "256", 1, 100000, NULL, OPTION_LIVE, \
        "transfers in flight at most, over all threads") \
    ROW(fetch, new_share, COUNT, int64_t, "50", 1, 100, NULL, OPTION_LIVE, \
        "percent of fetch.connections that hosts may have which have sent no page in time yet") \
    ROW(fetch, slow_share, COUNT, int64_t, "25", 1, 100, NULL, OPTION_LIVE, \
        "percent of fetch.connections that hosts may have which fail or are slow; what turns slow " \
        "in flight counts, too, and beyond it the slowest are ended, as too slow, while others wait; " \
        "and of fetch.memory when it is full") \
    ROW(fetch, new_patience, TIME, int64_t, "3s", 100, 3600e3, NULL, OPTION_LIVE, \
        "time to the first byte for a host that was never heard of, while new ones wait for a " \
        "connection; its next try has first_byte_timeout") \
    ROW(fetch, memory, SIZE, int64_t, "128Mi", 65536, CONFIG_BIG, NULL, OPTION_LIVE, \
        "bytes of answers received and not yet parsed; beyond it, transfers are paused and none " \
        "is begun; bodies above 64 KiB wait from half of it on") \
    ROW(fetch, idle_connections, COUNT, int64_t, "5000", 0, 1000000, NULL, 0, \
        "connections kept open for the next fetch, over all threads; 4 kB each, with TLS 10 kB and the " \
        "certificates that the server sent") \
    ROW(fetch, connect_timeout, TIME, int64_t, "20s", 10, 3600e3, NULL, OPTION_LIVE | OPTION_SITE, \
        "time to connect, TLS included") \
    ROW(fetch, first_byte_timeout, TIME, int64_t, "30s", 10, 3600e3, NULL, OPTION_LIVE | OPTION_SITE, \
        "time from the start of a fetch to the first byte of the answer") \
    ROW(fetch, total_timeout, TIME, int64_t, "120s", 10, 86400e3, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "time for a whole fetch; what came until then is kept, marked trunc:time") \
    ROW(fetch, slow_rate, SIZE, int64_t, "1K", 0, 1e9, NULL, OPTION_LIVE | OPTION_SITE, \
        "bytes per second; a transfer that is slower for slow_time is ended as too slow; 0 = " \
        "off") \
    ROW(fetch, slow_time, TIME, int64_t, "30s", 1000, 3600e3, NULL, OPTION_LIVE | OPTION_SITE, \
        "how long a transfer may be slower than slow_rate") \
    ROW(fetch, max_body, SIZE, int64_t, "2Mi", 1024, 2147483648.0, NULL, OPTION_LIVE | OPTION_SITE, \
        "bytes of a body kept, as received and again after decoding; marked trunc:length; links are taken " \
        "from all of a page, up to parse.max_bytes") \
    ROW(fetch, spool, SIZE, int64_t, "8Gi", 0, CONFIG_BIG, NULL, OPTION_LIVE, \
        "pages longer than max_body that wait in files for a parsing thread, in bytes; beyond, they " \
        "are cut") \
    ROW(fetch, max_sitemap, SIZE, int64_t, "50Mi", 1024, 2147483648.0, NULL, OPTION_LIVE | OPTION_SITE, \
        "bytes kept of a sitemap that robots.txt or an index names") \
    ROW(fetch, max_length, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE, \
        "answers whose header tells a longer body are ended there; 0 = no matter; cut:length") \
    ROW(fetch, rate, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_DIVIDED, \
        "bytes per second received at most, over all hosts; 0 = no matter") \
    ROW(fetch, max_header, SIZE, int64_t, "256Ki", 1024, 16777216, NULL, OPTION_LIVE | OPTION_SITE, \
        "bytes of a response header; a longer one is a broken answer") \
    ROW(fetch, max_ratio, COUNT, int64_t, "200", 1, 100000, NULL, 0, \
        "greatest ratio of decoded to received bytes; a body beyond it gets status -10004") \
    ROW(fetch, max_redirects, COUNT, int64_t, "5", 0, 50, NULL, OPTION_AGREED, \
        "redirects followed in a chain; a redirect is a link of its own") \
    ROW(fetch, conditional, BOOL, bool, "yes", 0, 0, NULL, 0, \
        "revisits ask whether the page changed (If-None-Match, If-Modified-Since)") \
    ROW(fetch, allow_addresses, TEXT, char *, "", 0, 0, NULL, 0, \
        "special addresses that may be fetched from, such as 127.0.0.0/8, ::1") \
    ROW(fetch, deny_addresses, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED, \
        "addresses that are never connected to, such as 192.0.2.0/24, 2001:db8::/32") \
    ROW(fetch, port_map, TEXT, char *, "", 0, 0, NULL, 0, \
        "connect to another port than the URL names, such as 80:8080 (for tests)") \
    ROW(fetch, headers, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "further request headers, 'Name: value', separated by |") \
    ROW(fetch, accept_language, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "Accept-Language header; empty = none") \
    ROW(fetch, http2, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, "HTTP/2 where TLS offers it") \
    ROW(fetch, tls_verify, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "refuse servers whose certificate cannot be verified") \
    ROW(fetch, ca_file, TEXT, char *, "", 0, 0, NULL, 0, \
        "file of the certificates (PEM) that servers' must lead to, for tls_verify and for what is " \
        "recorded; empty = the system's") \
    ROW(fetch, host_rate, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE, \
        "bytes per second read from one host at most; 0 = no matter") \
    ROW(fetch, proxy, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "http://HOST:PORT, https://..., socks5://... or socks5h://... that requests go through; " \
        "environment: what http_proxy, https_proxy and all_proxy say; empty = none") \
    ROW(fetch, no_proxy, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "hosts, with those below them, and addresses that are asked without the proxy") \
    ROW(fetch, cookies, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE | OPTION_SITE, \
        "keep the cookies of a host while it is in memory (32, 8 Ki), and send them back to it; a " \
        "redirect that sets one is asked for again with it") \
    ROW(fetch, credentials, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "file (mode 0600) of secrets for sites and proxies: lines 'SITE basic USER:PASSWORD', 'SITE " \
        "bearer TOKEN', 'SITE header NAME: VALUE', 'proxy HOST:PORT USER:PASSWORD'") \
    ROW(fetch, tls_sessions, SIZE, int64_t, "32Mi", 0, CONFIG_BIG, NULL, 0, \
        "for TLS sessions of hosts that were visited, over all threads, about 600 bytes each; the next " \
        "connection costs less than half; beyond, those not used longest are forgotten; 0 = none are kept") \
    ROW(robots, agent, TEXT, char *, "ragno", 0, 0, NULL, OPTION_AGREED | OPTION_IDENTITY, \
        "product token that is looked for in robots.txt and meta robots") \
    ROW(robots, expiry, TIME, int64_t, "24h", 60e3, 604800e3, NULL, OPTION_LIVE | OPTION_AGREED, \
        "robots.txt is asked for again after this, or after its Cache-Control max-age") \
    ROW(robots, tdm_file, BOOL, bool, "no", 0, 0, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "ask each host for /.well-known/tdmrep.json behind its robots.txt, one request more; what it " \
        "reserves (usage tdm) counts as TDM-Reservation headers do") \
    ROW(robots, licence_user, WORD, int, "unknown", 0, 0, WORDS_TEXT(RSL_USER_WORDS), \
        OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "as whom licence files (RSL) that robots.txt names are read; unknown = what they permit to some " \
        "users only is not permitted") \
    ROW(robots, obey, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "no: robots.txt is neither asked for nor obeyed; only in [site] sections, for hosts that are " \
        "yours") \
    ROW(scope, domains, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "only these hosts and their subdomains, comma separated; empty = everything") \
    ROW(scope, exclude_domains, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "exclude these hosts and their subdomains, comma separated") \
    ROW(scope, accept_regex, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "only URLs in which this regular expression (PCRE) matches") \
    ROW(scope, reject_regex, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "exclude URLs in which this regular expression (PCRE) matches") \
    ROW(scope, depth, COUNT, int64_t, "20", 0, 1000000, NULL, OPTION_LIVE | OPTION_AGREED, \
        "links from a seed at most; a change counts for links that are found from then on") \
    ROW(scope, max_url_length, COUNT, int64_t, "2048", 16, 65536, NULL, OPTION_AGREED, \
        "longer URLs are refused") \
    ROW(scope, ports, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED, \
        "only URLs with these ports, such as 80,443,8000-8999; empty = all but the bad ports of the " \
        "Fetch standard (22, 25, ...), 6379 and 11211, which are refused in any case") \
    ROW(scope, seed_credentials, BOOL, bool, "no", 0, 0, NULL, OPTION_AGREED, \
        "seeds keep user:password@ and send it; without it, and in all links, it is removed") \
    ROW(scope, dedup_key, TEXT, char *, "", 0, 0, NULL, OPTION_AGREED, \
        "URLs that differ only in this are one page, fetched as first seen: escapes, session_ids, " \
        "tracking, index_pages, sorted_query; empty = only equal URLs; fixed for a crawl") \
    ROW(scope, stay, WORD, int, "anywhere", 0, 0, WORDS_TEXT(STAY_WORDS), OPTION_AGREED, \
        "only URLs on the hosts, in the registered domains or in the directories of seeds; what a seed " \
        "redirects to counts as a seed") \
    ROW(scope, embeds, BOOL, bool, "no", 0, 0, NULL, OPTION_AGREED, \
        "fetch what pages need to be shown, wherever it lives: images, styles with what they refer to, " \
        "scripts, media; robots.txt and delays hold for it as for pages, and no link is followed from it") \
    ROW(scope, embed_hops, COUNT, int64_t, "4", 1, 20, NULL, OPTION_AGREED, \
        "from a page to what it embeds at most: a style sheet, one that it imports, an image of that; " \
        "redirects count") \
    ROW(scope, follow_nofollow, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "follow links marked rel=nofollow") \
    ROW(scope, sitemaps, BOOL, bool, "no", 0, 0, NULL, OPTION_AGREED, \
        "read the sitemaps that robots.txt names, and the first feed (RSS, Atom) that each page links; a " \
        "seed that is a sitemap or a feed is read in any case") \
    ROW(scope, sitemap_only, BOOL, bool, "no", 0, 0, NULL, OPTION_AGREED, \
        "no links of pages are followed: only seeds, what sitemaps and feeds list, and where that " \
        "redirects to; with scope.sitemaps also what the site's robots.txt names") \
    ROW(scope, sitemap_entries, COUNT, int64_t, "50000", 1, 10000000, NULL, OPTION_AGREED, \
        "entries taken from one sitemap or feed") \
    ROW(scope, follow_ugc, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "follow links marked rel=ugc") \
    ROW(scope, follow_sponsored, BOOL, bool, "yes", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "follow links marked rel=sponsored") \
    ROW(filter, schedule, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "which links are scheduled (ragno check filter --atoms); seeds always are") \
    ROW(filter, fetch, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "which scheduled URLs are fetched") \
    ROW(filter, body, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "of which answers the body is read, by status, type and URL, such as 'MIMEIsOneOf(text/*) and not " \
        "StatusIsOneOf(404)'; the others are ended at their header, cut:filter") \
    ROW(filter, parse, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "which answers are searched for links and text") \
    ROW(filter, follow, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE | OPTION_AGREED, \
        "which answers have their links followed") \
    ROW(parse, threads, COUNT, int64_t, "0", 0, CONFIG_MOST_THREADS, NULL, OPTION_LIVE, \
        "parsing threads; 0 = one for each processor that the process may use, 64 at most") \
    ROW(parse, queue, COUNT, int64_t, "256", 1, 100000, NULL, 0, \
        "fetched pages that may wait for a parsing thread; when it is full, fetching waits") \
    ROW(parse, patience, TIME, int64_t, "250ms", 0, 60e3, NULL, OPTION_LIVE, \
        "when pages wait longer for a parsing thread, hosts whose pages take more than 10 ms of it rest " \
        "longer, as long as that lasts; 0 = never") \
    ROW(parse, max_bytes, SIZE, int64_t, "64Mi", 1024, 68719476736.0, NULL, OPTION_LIVE, \
        "bytes of an HTML page that links are taken from, as received and again after decoding, in " \
        "bounded memory; what is kept is fetch.max_body") \
    ROW(parse, max_links, COUNT, int64_t, "50000", 0, 10000000, NULL, OPTION_LIVE, \
        "links of one page that are followed: different URLs that could be scheduled; the rest is " \
        "counted, and told in crawl.log (links-beyond:N) and skipped.log; 0 = no limit") \
    ROW(parse, link_text, SIZE, int64_t, "200", 16, 65536, NULL, 0, \
        "bytes of a link's text, and of the text on either side, that score.rules are asked about; " \
        "costs nothing unless one of them asks (AnchorContainsRegex ...)") \
    ROW(parse, external_links, COUNT, int64_t, "0", 0, 1000000, NULL, OPTION_LIVE, \
        "links of one page out of scope that are kept for the graph (ragno export DIR links), and not " \
        "scheduled; a third of the database where most pages have some; 0 = none") \
    ROW(parse, html_parser, WORD, int, "skim", 0, 0, WORDS_TEXT(HTML_PARSER_WORDS), 0, \
        "who finds the links in HTML: our own reader; or libxml2, with the same results on pages that " \
        "are not damaged, at five to eight times the cost") \
    ROW(parse, memory, SIZE, int64_t, "64Mi", 65536, 4294967296.0, NULL, 0, \
        "memory for one page in one parsing thread") \
    ROW(parse, content_hash, WORD, int, "auto", 0, 0, WORDS_TEXT(CONTENT_HASH_WORDS), 0, \
        "a change of what makes a page changed: body (every byte), text (text and tags without " \
        "digits, white space and attributes; with schedule.mode = continuous also numbers that seldom " \
        "change, as prices), links; auto = text when schedule.mode = continuous, else body") \
    ROW(parse, duplicates, WORD, int, "body", 0, 0, WORDS_TEXT(DUPLICATES_WORDS), 0, \
        "a page is another's duplicate when both have the same body, or the same content as " \
        "parse.content_hash sees it") \
    ROW(parse, follow_duplicates, BOOL, bool, "no", 0, 0, NULL, 0, \
        "keep the links of pages whose body and links are those of another page of their host") \
    ROW(parse, near_duplicates, WORD, int, "off", 0, 0, WORDS_TEXT(NEAR_DUPLICATES_WORDS), 0, \
        "look for pages with nearly the same text (nine tenths of it, of 64 words at least); flag = " \
        "near:URL in crawl.log") \
    ROW(parse, forms, BOOL, bool, "no", 0, 0, NULL, 0, "take form actions as links") \
    ROW(store, batch_pages, COUNT, int64_t, "2048", 1, 100000, NULL, OPTION_LIVE, \
        "results committed together at most") \
    ROW(store, batch_links, COUNT, int64_t, "32768", 1, 4194304, NULL, OPTION_LIVE, \
        "links of the results committed together at most; those of a page with more are merged by the sieve") \
    ROW(store, memory, SIZE, int64_t, "64Mi", 65536, CONFIG_BIG, NULL, OPTION_LIVE, \
        "bytes of parsed pages that wait for their commit; beyond it, parsing waits") \
    ROW(store, batch_time, TIME, int64_t, "200ms", 1, 60e3, NULL, OPTION_LIVE, \
        "longest time that a result waits for its commit") \
    ROW(store, journal, SIZE, int64_t, "48Mi", 0, CONFIG_BIG, NULL, 0, \
        "memory for the index of the journal, in which changed rows wait until many are written at once; the " \
        "more, the fewer bytes a result writes once the database is large; 0 = every row is written at once") \
    ROW(store, retention, TIME, int64_t, "0", 0, 36500 * 24 * 3600e3, NULL, OPTION_LIVE | OPTION_AGREED, \
        "what was fetched longer ago is erased, at each start and when a day (UTC) begins, as ragno forget " \
        "--older-than does, in a cluster by each agent; 0 = it is kept") \
    ROW(store, reader_age, TIME, int64_t, "1m", 1000, 24 * 3600e3, NULL, 0, \
        "a warning names the process whose snapshot keeps the database from reusing room for so long") \
    ROW(store, filter, TEXT, char *, "", 0, 0, NULL, OPTION_LIVE, \
        "which answers are kept in WARC files") \
    ROW(store, map_memory, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, 0, \
        "without crawl.memory: mapped pages of the database that count as this process's memory; beyond it " \
        "they are unmapped and stay in the system's cache, and mapping them again costs CPU; 0 = no bound") \
    ROW(store, map_size, SIZE, int64_t, "0", 0, CONFIG_BIG, NULL, 0, \
        "address space for the database; 0 = 1 Ti, or as much as there is") \
    ROW(warc, enabled, BOOL, bool, "yes", 0, 0, NULL, 0, \
        "keep every answer in WARC files under DIR/warc") \
    ROW(warc, max_size, SIZE, int64_t, "1Gi", 65536, CONFIG_BIG, NULL, 0, \
        "a file that would grow beyond this is finished and a new one begun") \
    ROW(warc, max_age, TIME, int64_t, "0", 0, CONFIG_YEAR, NULL, 0, \
        "a file older than this is finished; 0 = off") \
    ROW(warc, name, TEXT, char *, "ragno-{timestamp}-{serial:05}.warc", 0, 0, NULL, 0, \
        "names of the files, before .gz or .zst; {serial} is needed, {timestamp} and {host} are " \
        "known") \
    ROW(warc, compression, WORD, int, "gzip", 0, 0, WORDS_TEXT(WARC_COMPRESSION_WORDS), 0, \
        "compression of the records, each by itself; not all readers know zstd") \
    ROW(warc, level, WORD, int, "auto", 0, 0, \
        "auto|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19", 0, \
        "level of compression; auto = by what a record holds: what is compressed already is stored, the " \
        "rest is compressed fast; gzip has 1 to 12") \
    ROW(warc, dns, BOOL, bool, "no", 0, 0, NULL, 0, \
        "a resource record for each new DNS answer") \
    ROW(warc, metadata, BOOL, bool, "no", 0, 0, NULL, 0, \
        "a metadata record for each page: how it was found, its digests and its links") \
    ROW(warc, dedup_against, TEXT, char *, "", 0, 0, NULL, 0, \
        "archives of other crawls, separated by blanks: CDXJ files, WACZ files, directories of crawls or " \
        "of CDXJ files; a payload that one has becomes a revisit record to it; they are read once, " \
        "into DIR/dedup") \
    ROW(warc, dedup_fresh, TIME, int64_t, "0", 0, 10 * CONFIG_YEAR, NULL, 0, \
        "a page of which warc.dedup_against has a capture that is no older than this is not fetched, unless " \
        "it is a seed, and so its links are not followed; 0 = off") \
    ROW(warc, mask_secrets, BOOL, bool, "yes", 0, 0, NULL, 0, \
        "request records have *** for the values of Authorization, Proxy-Authorization, Cookie, and of what " \
        "fetch.headers adds but for User-Agent, From, Referer and Accept") \
    CONFIG_ORDER(ROW) \
    ROW(limits, pages_per_host, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "pages stored per host, duplicates not counted; 0 = no limit") \
    ROW(limits, feeds_per_host, COUNT, int64_t, "10", 0, 1000, NULL, OPTION_LIVE | OPTION_AGREED, \
        "feeds that the pages of a host may bring into the crawl (scope.sitemaps); links to further " \
        "ones are dropped; 0 = feeds that are only linked are not read") \
    ROW(limits, hosts_per_domain, COUNT, int64_t, "10000", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "hosts of one registered domain (example.org, example.co.uk); links to further ones are " \
        "dropped; 0 = no limit; in a [site] section: how many there may be before such a host is one") \
    ROW(limits, pages_per_domain, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "pages stored of all its hosts; each of them ends with the page that comes next; 0 = no limit") \
    ROW(limits, urls_per_domain, COUNT, int64_t, "10000000", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "URLs queued for all its hosts; new ones are refused meanwhile; 0 = no limit") \
    ROW(limits, hosts_per_address, COUNT, int64_t, "10000", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "hosts on one IP address, or one /64 of IPv6; further ones are not fetched from, but for some " \
        "whose address becomes known at the same moment; 0 = no limit") \
    ROW(limits, pages_per_address, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "pages stored of all its hosts; each of them ends with the page that comes next; 0 = no limit") \
    ROW(limits, urls_per_address, COUNT, int64_t, "10000000", 0, CONFIG_BIG, NULL, OPTION_LIVE | OPTION_SITE | OPTION_AGREED, \
        "URLs queued for all its hosts; new ones are refused meanwhile; 0 = no limit") \
    ROW(limits, tail, TIME, int64_t, "3h", 0, CONFIG_YEAR, NULL, OPTION_LIVE | OPTION_AGREED, \
        "stop when for so long only hosts were left that have failed and wait for a retry, exit 18; " \
        "they stay scheduled; 0 = wait as long as they do") \
    ROW(limits, repeated_segments, COUNT, int64_t, "3", 0, 100, NULL, OPTION_LIVE | OPTION_AGREED, \
        "links that repeat a run of path segments this often are refused as traps " \
        "(/a/b/a/b/a/b: 3); 0 or 1 = off") \
    ROW(limits, trap_fetches, COUNT, int64_t, "50", 0, 1e9, NULL, OPTION_AGREED, \
        "fetched pages of a URL pattern before trap_yield judges it; 0 = never") \
    ROW(limits, trap_yield, REAL, double, "0.1", 0, 1, NULL, OPTION_AGREED, \
        "least share of a pattern's pages with new content; a pattern below it is throttled at " \
        "half of trap_fetches and refused at trap_fetches") \
    ROW(limits, trap_patterns, COUNT, int64_t, "65536", 64, 1e8, NULL, OPTION_AGREED, \
        "patterns remembered at most, 96 bytes each") \
    ROW(limits, workbench_memory, SIZE, int64_t, "256Mi", 65536, CONFIG_BIG, NULL, OPTION_LIVE, \
        "memory for visit states, their URLs and robots rules, an eighth of it for hosts that have no " \
        "address yet; further hosts wait on disk") \
    ROW(limits, front, COUNT, int64_t, "100000", 1, 1e8, NULL, 0, \
        "addresses kept ready for fetching at most; the number grows to it while fetchers " \
        "starve") \
    ROW(sieve, memory, SIZE, int64_t, "32Mi", 1048576, 4294967296.0, NULL, 0, \
        "memory for links that wait for their look-up, and for recent URLs") \
    ROW(sieve, max_age, TIME, int64_t, "60s", 10, CONFIG_YEAR, NULL, 0, \
        "longest time that a link waits for its look-up") \
    ROW(sieve, least_urls, COUNT, int64_t, "2000000", 0, CONFIG_BIG, NULL, 0, \
        "known URLs from which on links wait to be looked up together; below it, and while " \
        "fetchers have too little to do, each commit looks up its own; 0 = links always wait " \
        "(for tests)") \
    ROW(render, mode, WORD, int, "off", 0, 0, WORDS_TEXT(RENDER_MODE_WORDS), OPTION_SITE, \
        "render pages by a browser without a network, from what the crawl has fetched: those that show " \
        "next to nothing without their scripts (auto), or all (always); needs warc.enabled; in a " \
        "[site] section: auto, always, or off = never, where the crawl renders at all") \
    ROW(render, always, TEXT, char *, "", 0, 0, NULL, OPTION_SITE, \
        "paths of pages that are rendered whatever they look like, with blanks between them; they begin with / " \
        "and may have * ? [a-z]: /app/* /item?id=*") \
    ROW(render, never, TEXT, char *, "", 0, 0, NULL, OPTION_SITE, \
        "the same of pages that are not; it goes before always") \
    ROW(render, command, TEXT, char *, "", 0, 0, NULL, 0, \
        "browser that renders pages: a path, or a name on PATH; empty = chromium-headless-shell or " \
        "chromium") \
    ROW(render, user, TEXT, char *, "", 0, 0, NULL, 0, \
        "user that the browser runs as when root crawls; empty = root may not render") \
    ROW(render, processes, COUNT, int64_t, "1", 1, 32, NULL, 0, \
        "browsers that render at once") \
    ROW(render, tabs, COUNT, int64_t, "1", 1, 8, NULL, 0, \
        "pages that each of them renders at once; they share its memory, and its end") \
    ROW(render, rounds, COUNT, int64_t, "3", 0, 50, NULL, 0, \
        "how often a page is rendered again, when what it lacked has been fetched") \
    ROW(render, scope, WORD, int, "any", 0, 0, WORDS_TEXT(RENDER_SCOPE_WORDS), 0, \
        "where what a page lacks may live: any host, its registered domain, its own host; what is elsewhere is " \
        "refused") \
    ROW(render, hops, COUNT, int64_t, "2", 1, 50, NULL, 0, \
        "rounds in which what a page lacks may live outside of its registered domain: what it asks for, what " \
        "that asks for; behind them it is refused") \
    ROW(render, scrolls, COUNT, int64_t, "10", 0, 1000, NULL, 0, \
        "how often a page that listens for it is scrolled to its end, and how many further parts of a list that " \
        "it asks for one by one are fetched ahead; 0 = never") \
    ROW(render, share, COUNT, int64_t, "10", 1, 100, NULL, 0, \
        "percent of the crawl's pages that mode = auto renders at most; the first 100 do not count") \
    ROW(render, pages_per_context, COUNT, int64_t, "50", 1, 1e6, NULL, 0, \
        "pages after which the browser forgets all that pages may have stored, and has a new tab") \
    ROW(render, memory, SIZE, int64_t, "1Gi", 134217728, CONFIG_BIG, NULL, 0, \
        "memory of one browser, but for its other tabs; a page that needs more is given up") \
    ROW(render, cpu_time, TIME, int64_t, "10s", 100, 3600e3, NULL, 0, \
        "CPU time of one rendering; what the page shows by then is what it shows") \
    ROW(render, timeout, TIME, int64_t, "60s", 1000, 3600e3, NULL, 0, \
        "the same by the clock") \
    ROW(render, most_requisites, COUNT, int64_t, "300", 1, 100000, NULL, 0, \
        "requests of one rendering; further ones fail") \
    ROW(render, max_document, SIZE, int64_t, "8Mi", 1024, 67108864.0, NULL, 0, \
        "length of a rendered document; the rest is left out") \
    ROW(render, screenshot, WORD, int, "no", 0, 0, WORDS_TEXT(RENDER_SCREENSHOT_WORDS), 0, \
        "keep a picture of each rendered page (urn:view:URL in the archive); what the page shows " \
        "besides text, pictures and fonts, is then fetched, too") \
    ROW(log, level, WORD, int, "info", 0, 0, WORDS_TEXT(LOG_LEVEL_WORDS), OPTION_LIVE, \
        "what goes into ragno.log") \
    ROW(log, status_interval, TIME, int64_t, "10s", 100, 86400e3, NULL, OPTION_LIVE, \
        "time between two lines of status.log") \
    ROW(log, crawl, BOOL, bool, "yes", 0, 0, NULL, 0, "write crawl.log") \
    ROW(log, skipped, WORD, int, "sample", 0, 0, WORDS_TEXT(SKIPPED_WORDS), 0, \
        "which refused URLs go into skipped.log; sample = the first 1000 per reason") \
    ROW(control, listen, TEXT, char *, "", 0, 0, NULL, 0, \
        "status page and metrics: 127.0.0.1:PORT, [::1]:PORT (0 = any free port) or unix:PATH; empty = " \
        "none") \
    ROW(control, web_write, BOOL, bool, "no", 0, 0, NULL, 0, \
        "whoever has the token may pause, resume, stop, deny, allow and seed by the status page") \
    ROW(control, token_file, TEXT, char *, "", 0, 0, NULL, 0, \
        "file with this token, readable by its owner alone; made when it is missing; empty = " \
        "DIR/web.token") \
    ROW(control, web_hosts, TEXT, char *, "", 0, 0, NULL, 0, \
        "host names, besides localhost, by which the page may be asked for, such as that of a web " \
        "server that forwards to it; comma separated") \
    ROW(control, alert_command, TEXT, char *, "", 0, 0, NULL, 0, \
        "command for /bin/sh that gets a JSON object on its standard input when the crawl stalls, the " \
        "network is out, the disk is full, hosts keep it out or say that it asks too fast, when that is " \
        "over, and when the crawl ends; 30 s at most; empty = none") \
    ROW(control, alert_after, TIME, int64_t, "5m", 1000, 24 * 3600e3, NULL, 0, \
        "how long nothing is fetched, or the network is out, until that is told; answers are judged in " \
        "spans as long")
/* clang-format on */

typedef struct Config {
#define CONFIG_FIELD(section, key, type, ctype, standard, least, most, words, marks, help)         \
    ctype section##_##key;
    CONFIG_TABLE(CONFIG_FIELD)
#undef CONFIG_FIELD
    Options options; /* behind the values: where each came from */
} Config;

#define CONFIG_MOST_THREADS 64 /* of a kind */
#define CONFIG_MOST_AT_ONCE 32 /* requests to one host */
#define CONFIG_FEW_AT_ONCE  2  /* to a host that no section names */

/* The last line of a config.ini that a crawl has written. Lines after it do not count. */
#define CONFIG_END "; end of the settings\n"

typedef enum ConfigFile {
    CONFIG_FILE_WHOLE, /* or there but unreadable, which reading it will say */
    CONFIG_FILE_CUT,   /* CONFIG_END is not in it: cut, or written by somebody else */
    CONFIG_FILE_NONE   /* missing or empty */
} ConfigFile;

ConfigFile config_file_look(const char *path);

/* Fills in the defaults. RESULT_MEMORY. */
Result config_init(Config *config);
void config_destroy(Config *config);

/* What it says of the scope; borrowed from it. */
ScopeOptions config_scope(const Config *config);
/* How many threads fetch.threads or parse.threads asks for: itself, or for 0 the number of
 * processors that the process may use, CONFIG_MOST_THREADS at most. */
unsigned config_threads(int64_t option);
/* The same for a number of processors. */
unsigned config_threads_for(int64_t option, int processors);
/* What it says of one host (a name), with its [site] sections: a flat copy, whose texts are
 * borrowed and which is not to be destroyed. Each pattern is tried; whoever asks for each fetch has
 * a SiteBook. */
void site_values_of(const Config *config, const char *host, Config *values);
/* Picks crawl.identity, once all sources are read. RESULT_INVALID: error gets a line. */
Result config_identify(Config *config, Buffer *error);
/* Takes what the crawl in a directory was last started with, its config.ini, into an initialised
 * one. Errors as options_load; error may be NULL. */
Result config_load_of(Config *config, const char *directory, Buffer *error);
/* The bits of crawl.usages. */
unsigned config_usages(const Config *config);
/* Appends the User-Agent of its requests. */
Result config_user_agent(const Config *config, Buffer *text);
/* schedule.mode = continuous. */
bool config_is_continuous(const Config *config);

/* Replaces relative paths of files that options name by absolute ones, so that a crawl can be
 * resumed from any working directory. A file that does not exist is left for config_check to
 * report. RESULT_MEMORY. */
Result config_resolve_paths(Config *config, Buffer *error);

/* Checks what depends on more than one value, or is more than a range: lists, expressions,
 * contradictions. error gets one line for each mistake. RESULT_INVALID. */
Result config_check(const Config *config, Buffer *error);
/* Whether it says who crawls, as far as it must: crawls of loopback need not. RESULT_INVALID: error
 * gets one sentence. Apart from config_check, since a file may leave it to the command line. */
Result config_check_identity(const Config *config, Buffer *error);
