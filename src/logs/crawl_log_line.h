/* Crawl log line: one line of crawl.log, taken apart.
 *
 * What: the twelve columns and the annotations of page/crawl_log_notes.h, as numbers and texts.
 * Owns: nothing; texts are borrowed from the line.
 * Threads: any; pure.
 * Errors: a line that does not have the form of crawl.log is refused with a reason. An unknown
 * annotation is passed over. Of two annotations with the same name the first counts. */
#pragma once

#include "logs/log_text.h"
#include "parse/host/ip_address.h"

/* A text without bytes: the column is "-", or the annotation is not there. */
typedef struct CrawlLogLine {
    WallTime end;
    int status;    /* HTTP, or negative */
    int64_t bytes; /* received; -1 = none: nothing was asked */
    LogText url;
    LogText path; /* how it was found: "LLE"; the last letter is P for robots.txt */
    LogText referrer;
    LogText mime;
    LogText worker;
    WallTime start;
    int64_t duration_ms;
    LogText digest; /* "sha1:..." */
    LogText tag;    /* of its seed */
    uint64_t notes; /* 1 << CrawlLogNote: annotations that it has, and that are well-formed */
    /* their values; -1 = not there, but where said */
    bool was_sent; /* a request went out: it has ip and mono */
    IpAddress address;
    int64_t mono_start; /* ms, rounded down */
    int64_t mono_end;   /* ms, rounded up */
    int64_t burst;      /* number of the request in it */
    int64_t at_once;    /* most requests to its host in flight with it */
    int64_t us_start;   /* mono-us:START-END, of a request of a burst */
    int64_t us_end;
    int64_t owed; /* wait:OWED/GIVEN */
    int64_t given;
    int64_t owes_host; /* owes:HOST/IP */
    int64_t owes_ip;
    LogText learned; /* "DELAY/USUAL/N" */
    int64_t robots;  /* version */
    int64_t retry;
    LogText as; /* origin */
    LogText boot;
    LogText error; /* class */
    LogText rule;
    LogText duplicate_of;
    LogText near;
    LogText language; /* as the page says */
    LogText truncated;
    bool host_dropped;
    bool unread;          /* read:N+, links were taken from N bytes, and there were more */
    int64_t links_beyond; /* of the page, not followed for their number; 0 = not there */
    int64_t links_long;   /* and for their length */
} CrawlLogLine;

/* The columns of a line, separated by blanks; "-" is empty. How many there are: one more than there
 * is room for when there are more. */
#define CRAWL_LOG_COLUMNS 12u
unsigned crawl_log_columns(const char *line, size_t length, LogText column[CRAWL_LOG_COLUMNS]);

/* RESULT_INVALID: *why is a phrase that says what is wrong with the line. */
Result crawl_log_line_parse(const char *line, size_t length, CrawlLogLine *out, const char **why);

/* Whether the line is about a robots.txt: that of a host, or one that such a file redirects to. */
/* When the oldest fetch of a log and of its predecessors ended. RESULT_NOT_FOUND: it has none. */
Result crawl_log_oldest(const char *path, WallTime *oldest);
bool crawl_log_line_is_robots(const CrawlLogLine *line);
