"""Completeness on the closed synthetic web: every page is fetched exactly once, and nothing else is
stored; the first page comes within a second of the start, the exit within a second of the last."""
import collections
import time

import harness

SIZES = dict(hosts=2000, addresses=500, pages=50000, skew=0) if harness.FULL else \
    dict(hosts=100, addresses=40, pages=3000, skew=0)


def pages_of(requests):
    """How often each page was given out whole."""
    return collections.Counter(harness.url_of(r) for r in requests
                               if r.status == 200 and "R" not in r.flags)


def closed_world(report, path):
    with harness.Web(path, not_found=0.01, **SIZES) as web:
        started_us = time.monotonic_ns() // 1000
        result = harness.crawl(web, path + "/crawl", timeout=600)
        ended_us = time.monotonic_ns() // 1000
        expected = web.graph_urls()
    report.check("the crawl ends by itself", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    pages = pages_of(requests)
    report.same_set(f"all {len(expected)} pages are fetched", set(pages), expected)
    again = [url for url, n in pages.items() if n > 1]
    report.check("no page is fetched twice", not again, f"{len(again)}: {again[:5]}")
    asked = collections.Counter(harness.url_of(r) for r in requests)
    again = [url for url, n in asked.items() if n > 1]
    report.check("no URL at all is asked for twice", not again, f"{len(again)}: {again[:5]}")
    with open(path + "/crawl/crawl.log") as file:
        answered = sum(int(line.split()[1]) > 0 for line in file)  # others were never sent
    report.equal("crawl.log has a line per request", answered, len(requests))
    if requests:
        first = min((r.end for r in requests if "R" not in r.flags), default=ended_us)
        last = max(r.end for r in requests)
        most_us = 10000000 if harness.SANITIZED else 1000000
        words = f"more than {most_us // 1000000} s"
        report.check(f"first page after {(first - started_us) / 1000:.0f} ms",
                     first - started_us < most_us, words)
        report.check(f"exit {(ended_us - last) / 1000:.0f} ms after the last page",
                     ended_us - last < most_us, words)
    stored = collections.Counter(url for url, _, n_crawls in
                                 harness.db_rows(path + "/crawl") if n_crawls > 0)
    again = [url for url, n in stored.items() if n > 1]
    report.check("no page is stored twice", not again, f"{len(again)}: {again[:5]}")
    report.check("all pages are stored as crawled", expected <= set(stored),
                 f"{len(expected - set(stored))} missing")


if __name__ == "__main__":
    harness.main(closed_world)
