"""Do scores steer a crawl that can fetch only a part of the web it knows?

A web whose in-degrees follow a power law, popular pages being anywhere in it, is crawled whole, and
`ragno rank` says what each page is worth. Then it is crawled by the scorers under test up to a
fifth of its pages, limited by nothing but connections: which share of the worth of the whole web is
in the first 5, 10 and 20 % of the pages? The omniscient order, best page first, bounds them all.

The harvest of a focused crawl, pages on a topic per page fetched, compares score.rules with
breadth-first."""
import collections
import concurrent.futures
import os
import re
import signal
import subprocess
import time

import harness

SIZES = dict(hosts=2000, addresses=500, pages=200000) if harness.FULL else \
    dict(hosts=200, addresses=200, pages=20000)
QUICK = dict(page_bytes=2000, in_degree=4, scatter=True, skew=1, **SIZES)
# The same pages from a server that leaves the scorers time.
WEB = dict(QUICK, delayed=1, delay_ms=20, spread_ms=5)
PARTS = (5, 10, 20)  # percent of the pages
TIMEOUT = 900 if harness.FULL else 120
TOPIC = "/d3/"       # a seventh of the pages
FEW = ("--no-warc", "--set", "fetch.connections=16")
CRAWLS = {
    "breadth-first": ("--set", "schedule.order=breadth-first"),
    "pagerank": ("--set", "score.scorer=pagerank", "--set", "score.share=1"),
    "hits": ("--set", "score.scorer=hits"),
    "pagerank weighted": ("--set", "score.scorer=pagerank", "--set", "schedule.bias=weighted"),
}


def fetched(directory):
    """The URLs of a crawl's pages in the order in which they came."""
    with open(directory + "/crawl.log", encoding="latin-1") as file:
        rows = [line.split() for line in file]
    return [r[3] for r in rows if r[4] != "P" and int(r[1]) > 0]


def worth_of_all(web, directory):
    result = harness.crawl(web, directory, "--no-warc", timeout=TIMEOUT)
    if result.returncode != 0:
        raise RuntimeError(f"the whole web: exit {result.returncode}: {result.stderr[-300:]}")
    rank = harness.run([f"{harness.OUT}/ragno", "rank", directory, "pagerank", "--top", "0",
                        "--precision", "1e-6"], timeout=TIMEOUT)
    if rank.returncode != 0:
        raise RuntimeError(f"ragno rank: exit {rank.returncode}: {rank.stderr[-300:]}")
    rows = (line.split("\t") for line in rank.stdout.splitlines())
    return {row[1]: float(row[0]) for row in rows}


def part_of(web, directory, *arguments):
    """A crawl of the largest part."""
    result = harness.crawl(web, directory, *FEW, *arguments, "--set",
                           f"crawl.max_pages={SIZES['pages'] * max(PARTS) // 100}",
                           timeout=TIMEOUT)
    if result.returncode != 14:
        raise RuntimeError(f"{directory}: exit {result.returncode}: {result.stderr[-300:]}")
    return fetched(directory)


def last_status(directory):
    with open(directory + "/status.log") as file:
        last = file.read().splitlines()[-1]
    return dict(word.split("=", 1) for word in last.split() if "=" in word)


def popular_pages_come_first(report, path):
    with harness.Web(path, **QUICK) as web:
        worth = worth_of_all(web, path + "/whole")
    best = sorted(worth.values(), reverse=True)
    shares = {}

    def crawl_by(name):
        return part_of(web, path + "/" + name.replace(" ", "-"), *CRAWLS[name])

    with harness.Web(path, **WEB) as web, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, urls in zip(CRAWLS, pool.map(crawl_by, CRAWLS)):
            directory = path + "/" + name.replace(" ", "-")
            parts = [urls[:SIZES["pages"] * p // 100] for p in PARTS]
            shares[name] = [sum(worth.get(url, 0) for url in part) for part in parts]
            status = last_status(directory)
            print(f"# {name}: " + "  ".join(f"{p} %: {s:.3f}" for p, s in
                                            zip(PARTS, shares[name])) +
                  f"  (computations {status['scorings']}, moves {status['moves']}, results waited for "
                  f"chores {status['chore_wait_max_ms']} ms at most, a piece took "
                  f"{status['chore_cpu_max_ms']} ms of CPU time, cpu {status['cpu_s']} s)", flush=True)
    print("# omniscient: " + "  ".join(
        f"{p} %: {sum(best[:SIZES['pages'] * p // 100]):.3f}" for p in PARTS), flush=True)
    breadth, rank = shares["breadth-first"], shares["pagerank"]
    for p, b, r in zip(PARTS, breadth, rank):
        report.check(f"pagerank is above breadth-first at {p} %", r > b, f"{r:.3f} and {b:.3f}")
    report.check(f"by {rank[1] / breadth[1]:.2f} at 10 %", rank[1] >= 1.15 * breadth[1],
                 f"{rank[1]:.3f} is below 1.15 times {breadth[1]:.3f}")
    report.check("hits is above breadth-first at 10 %", shares["hits"][1] > breadth[1],
                 f"{shares['hits'][1]:.3f} and {breadth[1]:.3f}")
    weighted = shares["pagerank weighted"][1]
    report.check("the weighted bias costs a part of it", breadth[1] < weighted <= rank[1] * 1.02,
                 f"{weighted:.3f}, strict {rank[1]:.3f}, breadth-first {breadth[1]:.3f}")
    cpu = float(last_status(path + "/pagerank")["chore_cpu_max_ms"])
    report.check(f"moving them kept no commit waiting: pieces of {cpu} ms", 0 < cpu <= 40)
    report.check("entries were moved while it ran",
                 int(last_status(path + "/pagerank")["moves"]) > 0)
    agrees(report, path + "/pagerank")


def scheduled(directory, *arguments):
    """Rows of level, score (None when there is none yet) and URL."""
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, "schedule", *arguments],
                         timeout=TIMEOUT)
    if result.returncode != 0:
        raise RuntimeError(f"ragno db schedule: {result.returncode}: {result.stderr[-300:]}")
    rows = [row.split("\t") for row in result.stdout.splitlines()]
    return [(int(r[0]), None if r[1] == "-" else float(r[1]), r[2]) for r in rows]


def agrees(report, directory):
    """The schedule that is left stands as the scores say."""
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory], timeout=TIMEOUT)
    report.check("the crawl that was stopped is whole", result.returncode == 0,
                 result.stdout[-300:] + result.stderr[-300:])
    rows = scheduled(directory)
    levels = [r[0] for r in rows]
    report.check(f"{len(rows)} scheduled URLs on {len(set(levels))} levels, best first",
                 levels == sorted(levels) and len(set(levels)) > 1)  # the highest may have been fetched empty
    scored = [r for r in rows if r[1] is not None]
    order = [r[1] for r in scored]
    # Moves that were found when the crawl was stopped are not applied any more: some may stand off.
    fit = sum(a >= b for a, b in zip(order, order[1:])) / max(1, len(order) - 1)
    report.check(f"{len(scored)} with a score, {100 * fit:.1f} % of neighbours in its order",
                 len(scored) > 0.8 * len(rows) and fit > 0.99)


def a_running_crawl_can_be_looked_at_and_stopped(report, path):
    """Scores are computed all the time; no page is lost or fetched twice, and an end does not wait
    for a computation."""
    directory = path + "/crawl"
    small = dict(QUICK, hosts=100, addresses=100, pages=10000)
    arguments = ("--no-warc", "--set", "score.scorer=pagerank", "--set", "score.min_pages=20",
                 "--set", "score.growth=0", "--set", "fetch.connections=16",
                 "--set", "log.status_interval=200ms")
    requests = []
    with harness.Web(path, delayed=1, delay_ms=40, **small) as web:
        crawl = subprocess.Popen(harness.crawl_command(web, directory, *arguments),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_scores(directory, crawl)
            rows = scheduled(directory, "--top", "5")
            report.check("ragno db schedule shows it", len(rows) == 5, str(rows))
            rank = harness.run([f"{harness.OUT}/ragno", "rank", directory, "pagerank",
                                "--top", "3"], timeout=60)
            report.check("so does ragno rank", rank.returncode == 0 and
                         len(rank.stdout.splitlines()) == 3, rank.stderr[-300:])
            start = time.monotonic()
            crawl.send_signal(signal.SIGTERM)
            _, errors = crawl.communicate(timeout=60)
            seconds = time.monotonic() - start
        finally:
            harness.end_process(crawl)
    requests += web.requests()
    report.equal("it ends by the signal", crawl.returncode, 11)
    report.check(f"within {seconds:.2f} s", seconds < 9, "as long as crawl.grace")
    report.check("ThreadSanitizer is silent", "ThreadSanitizer" not in errors, errors[-2000:])
    with harness.Web(path, **small) as web:  # as many pages as before, from a quick server
        result = harness.crawl(web, directory, *arguments, timeout=TIMEOUT)
        report.check("a second run goes on to the end, also silent",
                     result.returncode == 0 and "ThreadSanitizer" not in result.stderr,
                     f"exit {result.returncode}: {result.stderr[-2000:]}")
        expected = web.graph_urls()
    requests += web.requests()
    asked = collections.Counter(harness.url_of(r) for r in requests
                                if r.status == 200 and "R" not in r.flags)
    report.same_set(f"all {len(expected)} pages are fetched", set(asked), expected)
    again = [url for url, n in asked.items() if n > 1]
    report.check("no page is fetched twice", not again, f"{len(again)}: {again[:5]}")
    report.check("the database is whole",
                 harness.run([f"{harness.OUT}/ragno", "verify", directory]).returncode == 0)


def wait_for_scores(directory, crawl):
    def computed():
        try:
            return int(last_status(directory)["scorings"]) >= 2
        except (OSError, IndexError, KeyError):
            return False
    if not harness.until(lambda: computed() or crawl.poll() is not None) or not computed():
        raise RuntimeError(f"no scores were computed: exit {crawl.poll()}")


def rules_make_a_crawl_focused(report, path):
    rules = path + "/rules"
    with open(rules, "w") as file:
        file.write(f'1 URLContainsRegex("{re.escape(TOPIC)}")\n0.1 true\n')
    harvest = {}
    with harness.Web(path, **WEB) as web:
        for name, arguments in {
                "breadth-first": ("--set", "schedule.order=breadth-first"),
                "content": ("--set", "score.scorer=content", "--set", f"score.rules={rules}"),
        }.items():
            urls = part_of(web, path + "/" + name, *arguments)[:SIZES["pages"] // 20]
            harvest[name] = sum(TOPIC in url for url in urls) / max(1, len(urls))
    print("# harvest at 5 %: " + ", ".join(f"{n} {h:.3f}" for n, h in harvest.items()), flush=True)
    report.check(f"content scores harvest {harvest['content'] / harvest['breadth-first']:.1f} "
                 "times as much", harvest["content"] >= 2 * harvest["breadth-first"])


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    harness.main(popular_pages_come_first, rules_make_a_crawl_focused,
                 a_running_crawl_can_be_looked_at_and_stopped)
