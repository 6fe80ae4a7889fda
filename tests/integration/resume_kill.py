"""Killed with SIGKILL at random moments and resumed: the final set of pages is that of a crawl that
was left alone, no page is stored twice, and at most what was in flight or not yet committed is
fetched again. After SIGINT, nothing is fetched again."""
import collections
import os
import random
import subprocess
import time

import harness

SEED = 7
KILLS = 5
SIZES = dict(hosts=60, addresses=30, pages=6000 if harness.FULL else 3000, skew=0)
WAIT = "100ms"
# A page that is fetched again must have ended this shortly before a kill, on a busy machine.
UNCOMMITTED_US = 10000000


def start(web, directory):
    command = harness.crawl_command(web, directory, wait=WAIT, ip_wait="1ms")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def fetched_again(requests):
    """For every page fetched more than once: the times its earlier fetches began and ended."""
    times = collections.defaultdict(list)
    for r in requests:
        if "R" not in r.flags:
            times[harness.url_of(r)].append((r.start, r.end))
    return {url: sorted(t)[:-1] for url, t in times.items() if len(t) > 1}


def crawled(directory):
    """The pages that the database has fetched; none when it was killed before there was one."""
    if not os.path.exists(directory + "/crawl.mdb/data.mdb"):
        return set()
    return {url for url, _, n in harness.db_rows(directory) if n > 0}


def killed(report, path):
    randomness = random.Random(SEED)
    kills_us = []
    committed = []  # what was in the database after each kill
    with harness.Web(path, **SIZES) as web:
        directory = path + "/crawl"
        log = directory + "/crawl.log"
        for kill in range(KILLS):
            process = start(web, directory)
            if kill == KILLS - 1:  # however slow the machine is, something was committed by then
                harness.until(lambda: process.poll() is not None or os.path.exists(log) and os.path.getsize(log) > 5000)
            try:
                process.wait(0.3 + 0.7 * randomness.random())
                break  # it ended before: the test is too small
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills_us.append(time.monotonic_ns() // 1000)
                committed.append(crawled(directory))
        report.equal("it was killed while it ran", len(kills_us), KILLS)
        result = harness.crawl(web, directory, wait=WAIT, ip_wait="1ms", timeout=200)
        expected = web.graph_urls()
    report.check("the resumed crawl ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    pages = {harness.url_of(r) for r in requests if r.status == 200 and "R" not in r.flags}
    report.same_set(f"all {len(expected)} pages are fetched", pages, expected)
    stored = collections.Counter(url for url, _, n in harness.db_rows(directory) if n > 0)
    again = [url for url, n in stored.items() if n > 1]
    report.check("no page is stored twice", not again, f"{again[:5]}")
    report.check("all pages are stored", expected <= set(stored),
                 f"{len(expected - set(stored))} missing")
    with open(directory + "/crawl.log", encoding="utf-8") as file:
        logged = collections.Counter(line.split()[3] for line in file)
    report.same_set("crawl.log has a line for every page that is stored", set(stored) - set(logged),
                    set())
    wrong = {harness.url_of(r) for kill, pages in zip(kills_us, committed) for r in requests
             if r.start > kill and "R" not in r.flags and harness.url_of(r) in pages}
    report.check(f"what was committed is not fetched again ({[len(c) for c in committed]})",
                 not wrong and any(committed), f"{len(wrong)}: {sorted(wrong)[:5]}")
    again = fetched_again(requests)
    early = [url for url, times in again.items() for _, end in times
             if not any(kill - UNCOMMITTED_US <= end <= kill + 100000 for kill in kills_us)]
    report.check(f"only what was not committed is fetched again ({len(again)} of {len(expected)})",
                 not early, f"{len(early)} long before any kill: {early[:5]}")


def interrupted(report, path):
    with harness.Web(path, **SIZES) as web:
        directory = path + "/crawl"
        command = harness.crawl_command(web, directory, wait=WAIT, ip_wait="1ms")
        result = harness.run_until(command, lambda: len(web.requests()) > SIZES["pages"] // 5)
        report.check("SIGINT: exit 11", result.returncode == 11,
                     f"{result.returncode}: {result.stderr[-500:]}")
        result = harness.crawl(web, directory, wait=WAIT, ip_wait="1ms", timeout=200)
        expected = web.graph_urls()
    report.check("the crawl after SIGINT ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    pages = {harness.url_of(r) for r in requests if r.status == 200 and "R" not in r.flags}
    report.same_set("and has all pages", pages, expected)
    again = [url for url in fetched_again(r for r in requests if "A" not in r.flags)]
    report.check("and fetched none again", not again, f"{len(again)}: {again[:5]}")


if __name__ == "__main__":
    harness.main(killed, interrupted)
