"""schedule.mode = continuous: pages that change at known rates are visited again and again.

Judged by the server's log: conditions name what a page was served with last, visits follow the
rates, politeness holds, and after kill -9 the schedule goes on where it was.
"""
import collections
import datetime
import glob
import gzip
import os
import re
import signal
import subprocess
import time

import harness
import politeness

SECONDS = 40 if harness.FULL else 12
SIZES = dict(hosts=20, addresses=10, pages=200, skew=0.2, page_bytes=3000)
CHANGE_MS = 1000
PERIODS = 6  # page i changes every CHANGE_MS * 2^(i % 6) ms
HOST_DELAY_MS = 30
IP_DELAY_MS = 5
# A result is committed this soon.
UNCOMMITTED_US = 2000000
# A page is visited this soon after it is due, on a busy machine.
LATE_S = 2.5

OPTIONS = ["--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=3s",
           "--set", "schedule.revisit_min=300ms", "--set", "schedule.revisit_max=20s",
           "--set", "log.status_interval=500ms"]


def start(web, directory, *arguments, seeds=None):
    command = harness.crawl_command(web, directory, *OPTIONS, *arguments, seeds=seeds,
                                    wait=f"{HOST_DELAY_MS}ms", ip_wait=f"{IP_DELAY_MS}ms")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def run(web, directory, seconds, *arguments, seeds=None):
    return harness.crawl(web, directory, *OPTIONS, "--max-duration", f"{seconds}s", *arguments,
                         seeds=seeds, timeout=seconds + 30, wait=f"{HOST_DELAY_MS}ms",
                         ip_wait=f"{IP_DELAY_MS}ms")


def number_of(path):
    """The number of a page of the closed world, from its path; None: it is none."""
    if path.startswith("/go/") or path == "/robots.txt":
        return None
    digits = re.findall(r"\d+", path)
    return int(digits[-1]) if digits else None


def visits(requests, urls):
    """url -> its requests in order, for pages of the closed world."""
    found = collections.defaultdict(list)
    for r in sorted(requests, key=lambda r: r.start):
        url = harness.url_of(r)
        if url in urls and "A" not in r.flags:
            found[url].append(r)
    return found


def db_pages(directory):
    """url -> (n_changes, n_crawls)"""
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, "dump"])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return {r[2]: (int(r[5]), int(r[6])) for r in rows}


def due_pages(directory):
    """(when, URL) of `ragno db DIR schedule --due`, in its order."""
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, "schedule", "--due"])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return [(datetime.datetime.fromisoformat(r[0].replace("Z", "+00:00")).timestamp(), r[2])
            for r in rows]


def status_of(directory):
    with open(directory + "/status.log") as file:
        line = file.read().splitlines()[-1]
    return dict(word.split("=", 1) for word in line.split(" "))


def warc_profiles(directory):
    """How many revisit records there are of each profile; a reader of our own."""
    found = collections.Counter()
    for path in glob.glob(directory + "/warc/*.warc.gz*"):
        with gzip.open(path) as file:
            for line in file:
                if line.startswith(b"WARC-Profile:"):
                    found[line.strip().rsplit(b"/", 1)[1].decode()] += 1
    return found


def check_conditions(report, by_url, kills_us=()):
    """Visits after the first are conditional, on what the page was served with last."""
    bare, stale = [], []
    for url, requests in by_url.items():
        for before, r in zip(requests, requests[1:]):
            near = any(kill - UNCOMMITTED_US <= before.end <= kill + 100000 for kill in kills_us)
            if "C" not in r.flags and not near:
                bare.append(url)
            if "X" in r.flags and not near:
                stale.append(url)
    n = sum(len(requests) - 1 for requests in by_url.values())
    report.check(f"visits after the first are conditional ({n})", n > 0 and not bare,
                 f"{len(bare)}: {bare[:5]}")
    report.check("on what the page was served with last", not stale, f"{len(stale)}: {stale[:5]}")


def check_gaps(report, requests):
    for name, key, least_ms in (("host", lambda r: r.host, HOST_DELAY_MS),
                                ("address", lambda r: r.address, IP_DELAY_MS)):
        rows = list(politeness.gaps(requests, key))
        short = [row for row in rows if row[0] + politeness.slack(row[1]) < least_ms * 1000]
        report.check(f"no gap below {least_ms} ms per {name} ({len(rows)} gaps)", not short,
                     f"{len(short)}, worst {politeness.describe(short)}")


def check_archive(report, directory, n_not_modified):
    report.equal("each 304 is a WARC revisit record",
                 warc_profiles(directory)["server-not-modified"], n_not_modified)
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check("ragno verify finds no problem", result.returncode == 0,
                 f"{result.returncode}: {result.stdout[-500:]}{result.stderr[-500:]}")


def changing(report, path):
    directory = path + "/crawl"
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        result = run(web, directory, SECONDS)
        urls = web.graph_urls()
    report.check("a continuous crawl ends by its limit", result.returncode == 15,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    by_url = visits(requests, urls)
    report.same_set("all pages are fetched", set(by_url), urls)
    seldom = [url for url in urls if len(by_url[url]) < 2]
    report.check("and visited again", not seldom, f"{len(seldom)} were not: {seldom[:5]}")
    check_conditions(report, by_url)
    check_gaps(report, requests)
    pages = db_pages(directory)
    wrong = [(url, pages[url], len(by_url[url])) for url in urls if
             pages[url] != (sum(r.status == 200 for r in by_url[url]) - 1, len(by_url[url]))]
    report.check("changes and crawls are counted", not wrong, f"{len(wrong)}: {wrong[:3]}")
    often, seldom = ([len(by_url[url]) for url in urls
                      if (number_of("/" + url.split("/", 3)[3]) or 0) % PERIODS == k]
                     for k in (0, PERIODS - 1))
    mean_often, mean_seldom = sum(often) / len(often), sum(seldom) / len(seldom)
    report.check(f"pages that change more are visited more ({mean_often:.1f} {mean_seldom:.1f})",
                 mean_often > 1.2 * mean_seldom)
    n_304 = sum(r.status == 304 for r in requests)
    status = status_of(directory)
    report.equal("status.log counts what was not modified", int(status["not_modified"]), n_304)
    n_visits = sum(len(r) for r in by_url.values()) - len(urls)
    redirects = sum(r.path.startswith("/go/") for r in requests)
    report.check("and the visits", n_visits <= int(status["revisits"]) <= n_visits + redirects,
                 f"{status['revisits']}, not {n_visits} and at most {redirects}")
    with open(directory + "/crawl.log") as file:
        report.equal("so does crawl.log", sum(line.split()[1] == "304" for line in file), n_304)
    check_archive(report, directory, n_304)
    line = harness.run([f"{harness.OUT}/ragno", "db", directory, "get", sorted(urls)[0]])
    report.check("ragno db get shows the next visit", "next visit\t20" in line.stdout, line.stdout)


def killed(report, path):
    directory = path + "/crawl"
    kills_us = []
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        for _ in range(3):
            process = start(web, directory)
            time.sleep(1.7)
            process.kill()
            process.communicate()
            kills_us.append(time.monotonic_ns() // 1000)
        process = start(web, directory)
        time.sleep(4)
        end = time.time()
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        urls = web.graph_urls()
    report.check("SIGINT ends it: exit 11", process.returncode == 11, f"{errors[-500:]}")
    requests = web.requests()
    by_url = visits(requests, urls)
    check_conditions(report, by_url, kills_us)
    due = due_pages(directory)
    late = [(url, end - when) for when, url in due if end - when > LATE_S]
    report.check("after three kills no page that was due is forgotten", due and not late,
                 f"{len(late)}: {late[:5]}")
    crawled = [url for url, (_, n) in db_pages(directory).items() if n > 0]
    report.equal("every crawled page has one next visit", sorted(url for _, url in due),
                 sorted(crawled))
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check("ragno verify finds no problem", result.returncode == 0, result.stdout[-500:])


def gone_and_moved(report, path):
    directory = path + "/crawl"
    seeds = path + "/two.txt"
    with open(seeds, "w") as file:
        file.write("http://gone-later.web.test/\nhttp://moved-later.web.test/\n")
    with harness.Web(path, hosts=2) as web:
        result = run(web, directory, 9, "--set", "schedule.revisit_default=1s",
                     "--set", "schedule.revisit_max=2s",
                     "--set", "scope.domains=gone-later.web.test,moved-later.web.test",
                     seeds=seeds)
    report.check("the crawl ends by its limit", result.returncode == 15, result.stderr[-500:])
    requests = web.requests()
    gone = collections.Counter(r.path for r in requests
                               if r.host == "gone-later.web.test" and r.status == 410)
    report.check("a page that is gone is asked for three times, then no more",
                 len(gone) == 9 and all(n == 3 for n in gone.values()), f"{gone}")
    due = [url for _, url in due_pages(directory)]
    report.equal("it has no next visit", [u for u in due if "gone-later" in u],
                 ["http://gone-later.web.test/"])
    moved = {r.path for r in requests if r.host == "moved-later.web.test" and r.status == 200}
    expected = {f"/new/{i}.html" for i in range(1, 10)}
    report.check("a page that moved is followed", expected <= moved, f"{sorted(moved)}")
    links = harness.run([f"{harness.OUT}/ragno", "db", directory, "links", "--from",
                         "http://moved-later.web.test/1.html"])
    report.check("and its links are those of the redirect",
                 "http://moved-later.web.test/new/1.html" in links.stdout and
                 len(links.stdout.splitlines()) == 1, links.stdout)


def built_by_command(report, path):
    directory = path + "/crawl"
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        first = harness.crawl(web, directory, wait="10ms", ip_wait="1ms")
        command = harness.run([f"{harness.OUT}/ragno", "schedule", directory, "freq",
                               "--default", "2s"])
        time.sleep(0.1)
        again = run(web, directory, 9, "--set", "fetch.conditional=no")
        urls = web.graph_urls()
    report.check("a crawl of one pass ends", first.returncode == 0, first.stderr[-500:])
    report.check("ragno schedule builds", command.returncode == 0, command.stderr)
    report.check("it is resumed in continuous mode", again.returncode == 15, again.stderr[-500:])
    requests = web.requests()
    by_url = visits(requests, urls)
    counts = collections.Counter(len(r) for r in by_url.values())
    # One of the first pass, then every two seconds.
    report.check("every page is visited at the frequency of the command",
                 all(4 <= n <= 6 for n in counts), f"{counts}")
    report.check("what is the same is a WARC revisit record",
                 warc_profiles(directory)["identical-payload-digest"] > len(urls))
    report.check("unconditionally, when it is said so",
                 not any("C" in r.flags for r in requests), "some are conditional")


def policy_is_live(report, path):
    """SIGHUP takes over how often pages are visited, and the rules, from the next visits on."""
    rules, config = path + "/rules.txt", path + "/live.ini"

    def write(seconds, rule):
        with open(rules, "w") as file:
            file.write(rule)
        with open(config, "w") as file:
            file.write(f"[schedule]\nrules = {rules}\nrevisit_min = 300ms\n"
                       f"revisit_max = {seconds}s\n")

    write(3, "")
    with harness.Web(path, hosts=5, addresses=5, pages=50, skew=0, page_bytes=2000) as web:
        command = harness.crawl_command(web, path + "/crawl", "-c", config, "--set",
                                        "schedule.mode=continuous", wait="5ms", ip_wait="1ms")
        crawl = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(4)
        slow = len(web.requests())
        write(1, "0 soon\n")  # not a rule: all is refused
        crawl.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        write(2, "[02468]([.]html)?$ 1s\n")
        crawl.send_signal(signal.SIGHUP)
        time.sleep(9)
        harness.end_process(crawl)
        by_url = visits(web.requests(), web.graph_urls())
    often = [len(v) for url, v in by_url.items() if re.search("[02468]([.]html)?$", url)]
    others = [len(v) for url, v in by_url.items() if not re.search("[02468]([.]html)?$", url)]
    with open(path + "/crawl/ragno.log") as log:
        text = log.read()
    report.check("a wrong file of rules changes nothing", "nothing was changed" in text, text[-800:])
    report.check("few visits before", slow < 250, f"{slow}")
    # With an interval of three there would be five or six.
    report.check("the rule's pages are visited each second", bool(often) and min(often) >= 7,
                 f"{collections.Counter(often)}")
    report.check("the others each two", bool(others) and min(others) >= 4 and max(others) <= 8,
                 f"{collections.Counter(others)}")
    report.equal("it ends well", crawl.returncode, 11)


if __name__ == "__main__":
    harness.main(changing, killed, gone_and_moved, built_by_command, policy_is_live)
