/* The options of the sections [score] and [schedule]: in which order URLs are fetched, and when
 * pages are visited again.
 *
 * What: rows of CONFIG_TABLE (rules/config.h), in which they stand behind those of [warc]. */
#ifndef RULES_CONFIG_ORDER_H
#define RULES_CONFIG_ORDER_H

/* clang-format off */
#define CONFIG_ORDER(ROW) \
    ROW(score, scorer, WORD, int, "none", 0, 0, WORDS_TEXT(SCORER_WORDS), false, false, \
        "what best-first goes by: none = links and their depth; content = score.rules; " \
        "pagerank, hits = the links between pages; command, fasttext = a program's opinion of the " \
        "page with the link") \
    ROW(score, rules, TEXT, char *, "", 0, 0, NULL, true, false, \
        "file of lines WEIGHT FILTER: the first that matches is the score of a link or page") \
    ROW(score, page_share, REAL, double, "0.3", 0, 1, NULL, true, false, \
        "content: weight of the score of the linking page; the rest is the weight of the link (command, " \
        "fasttext: with score.rules; without them it is all)") \
    ROW(score, command, TEXT, char *, "", 0, 0, NULL, false, false, \
        "command: for the shell; reads {\"url\", \"title\", \"language\", \"text\"} as JSON Lines and " \
        "answers each at once with a line, a number from 0 to 1") \
    ROW(score, model, TEXT, char *, "", 0, 0, NULL, false, false, \
        "fasttext: file of a supervised model (the program fasttext must be installed)") \
    ROW(score, label, TEXT, char *, "__label__wanted", 0, 0, NULL, false, false, \
        "fasttext: the label whose probability is the score") \
    ROW(score, command_text, SIZE, int64_t, "4Ki", 0, 1048576, NULL, false, false, \
        "command, fasttext: so much of a page's main text is shown; the rest is cut off") \
    ROW(score, command_batch, COUNT, int64_t, "32", 1, 1024, NULL, false, false, \
        "command, fasttext: pages asked about at once, at most") \
    ROW(score, command_queue, COUNT, int64_t, "256", 1, 65536, NULL, false, false, \
        "command, fasttext: pages that may wait for it; more go on with the default score " \
        "(classify_default in status.log)") \
    ROW(score, command_timeout, TIME, int64_t, "10s", 10, CONFIG_YEAR, NULL, false, false, \
        "command, fasttext: for the answers to a batch; then the program is killed, and started " \
        "again after a pause that doubles each time, up to 5m") \
    ROW(score, command_default, REAL, double, "0.5", 0, 1, NULL, false, false, \
        "command, fasttext: score of a page that was not answered about") \
    ROW(score, min_pages, COUNT, int64_t, "1000", 1, CONFIG_BIG, NULL, true, false, \
        "pagerank, hits: fetched pages since the last computation before another one begins") \
    ROW(score, growth, REAL, double, "0.2", 0, 100, NULL, true, false, \
        "pagerank, hits: the same as a share of the pages fetched before") \
    ROW(score, interval, TIME, int64_t, "0", 0, CONFIG_YEAR, NULL, true, false, \
        "pagerank, hits: compute again after this time in any case, if a page was fetched; 0 = " \
        "off") \
    ROW(score, damping, REAL, double, "0.85", 0, 1, NULL, true, false, \
        "pagerank: share of the surfer's steps that follow links") \
    ROW(score, precision, REAL, double, "1e-2", 1e-9, 1, NULL, true, false, \
        "pagerank, hits: largest relative change of a score at the end; a level is a factor of 2") \
    ROW(score, threads, COUNT, int64_t, "1", 1, 16, NULL, true, false, \
        "threads of a computation") \
    ROW(score, depth_factor, REAL, double, "0.5", 0, 1, NULL, true, false, \
        "none: a link's score falls by this factor with each further link from the seed") \
    ROW(score, redirect, REAL, double, "1", 0, 1000, NULL, true, false, \
        "weight of a redirect's target, relative to a link") \
    ROW(score, sitemap_hints, BOOL, bool, "yes", 0, 0, NULL, true, false, \
        "a sitemap's priority, lastmod and changefreq shift its entries by up to one level") \
    ROW(schedule, mode, WORD, int, "once", 0, 0, WORDS_TEXT(SCHEDULE_MODE_WORDS), false, false, \
        "continuous: crawled pages are visited again when they are due; the crawl does not end") \
    ROW(schedule, rules, TEXT, char *, "", 0, 0, NULL, true, false, \
        "file of rules: a regular expression, blanks, and an interval (6h) or xN, N times as often " \
        "as the page changes; the first that matches decides") \
    ROW(schedule, revisit, WORD, int, "optimal", 0, 0, WORDS_TEXT(REVISIT_WORDS), true, false, \
        "what the interval of a page follows from: optimal = its change rate, its score and what a " \
        "visit is worth elsewhere, so that copies are as fresh as the budget of visits allows; " \
        "power = its change rate alone (revisit_power)") \
    ROW(schedule, revisit_rate, REAL, double, "0", 0, 1e6, NULL, true, false, \
        "optimal: visits per second that all pages share; 0 = each page once in revisit_default, " \
        "on average") \
    ROW(schedule, signal_trust, REAL, double, "0.2", 0, 1, NULL, true, false, \
        "a page that a sitemap or feed says has changed is visited at once while so large a share of " \
        "what its host said so was true; 1 = never") \
    ROW(schedule, revisit_default, TIME, int64_t, "7d", 1, CONFIG_YEAR, NULL, true, false, \
        "interval to the next visit of a page while its change rate is not known (the second " \
        "visit comes after half of it at the earliest)") \
    ROW(schedule, revisit_min, TIME, int64_t, "1h", 1, CONFIG_YEAR, NULL, true, false, \
        "shortest interval between two visits, whatever rules and changes say") \
    ROW(schedule, revisit_max, TIME, int64_t, "90d", 1, CONFIG_YEAR, NULL, true, false, \
        "longest interval between two visits") \
    ROW(schedule, revisit_power, REAL, double, "0.5", 0, 1, NULL, true, false, \
        "power: how much change counts: 0 = all pages alike, 1 = as often as they change") \
    ROW(schedule, revisit_tries, COUNT, int64_t, "3", 1, 16, NULL, true, false, \
        "visits in a row that find a page gone (404, 410), or failures of its host, until it is " \
        "given up; the interval doubles with each") \
    ROW(schedule, margin, REAL, double, "-1", -1, 1000, NULL, false, false, \
        "a page with a frequency from ragno schedule is visited 1/(frequency*(1+margin)) after " \
        "its last crawl at the earliest; negative = off") \
    ROW(schedule, max_n_crawls, COUNT, int64_t, "0", 0, CONFIG_BIG, NULL, true, false, \
        "visits of a page at most; 0 = no limit") \
    ROW(schedule, order, WORD, int, "best-first", 0, 0, WORDS_TEXT(ORDER_WORDS), \
        false, false, \
        "which URLs go first, within a host and across hosts") \
    ROW(schedule, levels, COUNT, int64_t, "32", 1, 64, NULL, false, false, \
        "priority levels (front queues); together they span scores from 1 to 1/65536") \
    ROW(schedule, bias, WORD, int, "strict", 0, 0, WORDS_TEXT(LEVEL_BIAS_WORDS), false, false, \
        "strict = always the best level that can be fetched; weighted = a share of the turns " \
        "for other levels, so that none starves") \
    ROW(schedule, lower_share, REAL, double, "0.2", 0, 1, NULL, false, false, \
        "weighted: share of the turns for levels that are not the best") \
    ROW(schedule, window, COUNT, int64_t, "32", 4, 100000, NULL, false, false, \
        "URLs of one host held in memory at most") \
    ROW(revisit, heuristic, REAL, double, "0", 0, 1, NULL, true, false, \
        "a page that does not say for how long it is fresh is not asked for again within this share of the time " \
        "since its Last-Modified, at most 30 days; 0 = off; 0.1 is what caches do") \
    ROW(revisit, ignore_freshness, BOOL, bool, "no", 0, 0, NULL, true, true, \
        "visit pages again before max-age or Expires of their answers have passed; only in a [site] section " \
        "that names the host, which is yours")
/* clang-format on */

#endif
