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

VISITS = 12 if harness.FULL else 4  # of the pages that change most, on average
SIZES = dict(hosts=20, addresses=10, pages=200, skew=0.2, page_bytes=3000)
CHANGE_MS = 1000
PERIODS = 6  # page i changes every CHANGE_MS * 2^(i % 6) ms
HOST_DELAY_MS = 30
IP_DELAY_MS = 5

OPTIONS = ["--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=3s",
           "--set", "schedule.revisit_min=300ms", "--set", "schedule.revisit_max=20s",
           "--set", "log.status_interval=500ms"]


def command(web, directory, *arguments, seeds=None):
    return harness.crawl_command(web, directory, *OPTIONS, *arguments, seeds=seeds,
                                 wait=f"{HOST_DELAY_MS}ms", ip_wait=f"{IP_DELAY_MS}ms")


def crawl_until(report, web, directory, condition, *arguments, seeds=None):
    """A continuous crawl that goes on until condition() holds."""
    result = harness.run_until(command(web, directory, *arguments, seeds=seeds), condition)
    report.check("a continuous crawl goes on until it is stopped",
                 condition() and result.returncode == 11,
                 f"exit {result.returncode}: {result.stderr[-500:]}")


# A visit is due a period after the last; both are noted by the server, a few milliseconds off.
def intervals(visits, since_us=0):
    """Seconds between the visits of each page, the shortest first."""
    return sorted((b.start - a.start) / 1e6 for v in visits for a, b in zip(v, v[1:])
                  if a.start > since_us)


def median(numbers):
    return numbers[len(numbers) // 2] if numbers else 0


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


def uncommitted(requests, url, kills):
    """The visits of a page that a kill came before the commit of; kills: (when, pages then)."""
    lost, found = 0, set()
    for when_us, pages in kills:
        before = [r for r in requests if r.start < when_us]
        missing = len(before) - pages.get(url, (0, 0))[1]
        found.update(before[len(before) - (missing - lost):] if missing > lost else ())
        lost = missing
    return found


def check_conditions(report, by_url, kills=()):
    """Visits after the first are conditional, on what the page was served with last."""
    bare, stale = [], []
    for url, requests in by_url.items():
        unknown = uncommitted(requests, url, kills)
        for before, r in zip(requests, requests[1:]):
            if before not in unknown:
                bare += [url] if "C" not in r.flags else []
                stale += [url] if "X" in r.flags else []
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


def mean_visits(by_url, kind):
    """How often pages were visited that change every CHANGE_MS * 2^kind ms."""
    counts = [len(v) for url, v in by_url.items()
              if (number_of("/" + url.split("/", 3)[3]) or 0) % PERIODS == kind]
    return sum(counts) / max(1, len(counts))


def changing(report, path):
    directory = path + "/crawl"
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        urls = web.graph_urls()

        def visited_by_their_rates():
            by_url = visits(web.requests(), urls)
            often = mean_visits(by_url, 0)
            return len(by_url) == len(urls) and min(len(v) for v in by_url.values()) >= 2 and \
                often >= VISITS and often > 1.2 * mean_visits(by_url, PERIODS - 1)
        crawl_until(report, web, directory, visited_by_their_rates)
    requests = web.requests()
    by_url = visits(requests, urls)
    report.same_set("all pages are fetched", set(by_url), urls)
    seldom = [url for url in urls if len(by_url[url]) < 2]
    report.check("and visited again", not seldom, f"{len(seldom)} were not: {seldom[:5]}")
    often, seldom = mean_visits(by_url, 0), mean_visits(by_url, PERIODS - 1)
    report.check(f"pages that change more are visited more ({often:.1f} {seldom:.1f})",
                 often > 1.2 * seldom)
    check_conditions(report, by_url)
    check_gaps(report, requests)
    # Fetches that the stop has cut off count nowhere.
    pages, whole = db_pages(directory), [r for r in requests if "A" not in r.flags]
    wrong = [(url, pages[url], len(by_url[url])) for url in urls if
             pages[url] != (sum(r.status == 200 for r in by_url[url]) - 1, len(by_url[url]))]
    report.check("changes and crawls are counted", not wrong, f"{len(wrong)}: {wrong[:3]}")
    n_304 = sum(r.status == 304 for r in whole)
    status = status_of(directory)
    report.equal("status.log counts what was not modified", int(status["not_modified"]), n_304)
    n_visits = sum(len(r) for r in by_url.values()) - len(urls)
    redirects = sum(r.path.startswith("/go/") for r in whole)
    report.check("and the visits", n_visits <= int(status["revisits"]) <= n_visits + redirects,
                 f"{status['revisits']}, not {n_visits} and at most {redirects}")
    with open(directory + "/crawl.log") as file:
        report.equal("so does crawl.log", sum(line.split()[1] == "304" for line in file), n_304)
    check_archive(report, directory, n_304)
    line = harness.run([f"{harness.OUT}/ragno", "db", directory, "get", sorted(urls)[0]])
    report.check("ragno db get shows the next visit", "next visit\t20" in line.stdout, line.stdout)
    check_plan(report, directory, len(urls))


def plan(directory, *arguments):
    """What `ragno schedule DIR plan` prints: name -> the first number behind it."""
    result = harness.run([f"{harness.OUT}/ragno", "schedule", directory, "plan", *arguments])
    rows = (re.match(r"(.{24})\s*([-+0-9.e]+)", line) for line in result.stdout.splitlines())
    return {row[1].strip(): float(row[2]) for row in rows}


def check_plan(report, directory, n_urls):
    few, many = plan(directory, "--visits", "20"), plan(directory, "--visits", "200")
    report.check("ragno schedule plan knows the pages", few["pages"] >= n_urls, f"{few}")
    report.check("the optimal plan is the freshest",
                 few["freshness, optimal"] >= few["freshness, all alike"] > 0, f"{few}")
    report.check("more visits keep more up to date, each less than the one before",
                 many["freshness, optimal"] > few["freshness, optimal"] and
                 0 < many["one visit more a second"] < few["one visit more a second"],
                 f"{few} {many}")
    report.check("it tells what is scheduled now", "freshness, as scheduled" in few, f"{few}")
    report.equal("politeness binds nowhere", few["politeness binds at"], 0)
    with open(os.path.join(directory, "config.ini"), "a") as file:
        file.write('\n[site "*.web.test"]\nip_delay = 60s\n')
    bound = plan(directory, "--visits", "20")
    report.check("with the delay of a [site] it binds, and copies are older",
                 bound["politeness binds at"] > 0 and
                 bound["freshness, optimal"] < few["freshness, optimal"], f"{bound} {few}")


def killed(report, path):
    directory = path + "/crawl"
    often = ["--set", "schedule.revisit_max=4s"]
    kills = []
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        urls = web.graph_urls()
        for _ in range(3):
            before = len(web.requests())
            process = subprocess.Popen(command(web, directory, *often), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            harness.until(lambda: len(web.requests()) > before + len(urls) * 0.75)
            process.kill()
            process.wait()
            kills.append((time.monotonic_ns() // 1000, db_pages(directory)))

        def all_again():
            after = [r for r in web.requests() if r.start > kills[-1][0]]
            return len(visits(after, urls)) == len(urls)
        crawl_until(report, web, directory, all_again, *often)
    by_url = visits(web.requests(), urls)
    check_conditions(report, by_url, kills)
    forgotten = [url for url in urls if by_url[url][-1].start < kills[-1][0]]
    report.check("after three kills no page is forgotten", not forgotten,
                 f"{len(forgotten)}: {forgotten[:5]}")
    crawled = [url for url, (_, n) in db_pages(directory).items() if n > 0]
    report.equal("every crawled page has one next visit", sorted(u for _, u in due_pages(directory)),
                 sorted(crawled))
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check("ragno verify finds no problem", result.returncode == 0, result.stdout[-500:])


def limited(report, path):
    with harness.Web(path, hosts=2, pages=4) as web:
        result = harness.crawl(web, path + "/crawl", *OPTIONS, "--max-duration", "1s", wait="5ms")
    report.check("a continuous crawl ends by its limit", result.returncode == 15,
                 f"exit {result.returncode}: {result.stderr[-500:]}")


def gone_and_moved(report, path):
    directory = path + "/crawl"
    seeds = path + "/two.txt"
    with open(seeds, "w") as file:
        file.write("http://gone-later.web.test/\nhttp://moved-later.web.test/\n")
    new = {f"/new/{i}.html" for i in range(1, 10)}
    with harness.Web(path, hosts=2) as web:
        def gone():
            return collections.Counter(r.path for r in web.requests()
                                       if r.host == "gone-later.web.test" and r.status == 410)

        def moved():
            return {r.path for r in web.requests()
                    if r.host == "moved-later.web.test" and r.status == 200}
        crawl_until(report, web, directory,
                    lambda: len(gone()) == 9 and new <= moved(),
                    "--set", "schedule.revisit_default=1s", "--set", "schedule.revisit_max=2s",
                    "--set", "scope.domains=gone-later.web.test,moved-later.web.test", seeds=seeds)
    report.check("a page that is gone is asked for no more",
                 len(gone()) == 9 and all(n == 1 for n in gone().values()), f"{gone()}")
    due = [url for _, url in due_pages(directory)]
    report.equal("it has no next visit", [u for u in due if "gone-later" in u],
                 ["http://gone-later.web.test/"])
    report.check("a page that moved is followed", new <= moved(), f"{sorted(moved())}")
    links = harness.run([f"{harness.OUT}/ragno", "db", directory, "links", "--from",
                         "http://moved-later.web.test/1.html"])
    report.check("and its links are those of the redirect",
                 "http://moved-later.web.test/new/1.html" in links.stdout and
                 len(links.stdout.splitlines()) == 1, links.stdout)


def built_by_command(report, path):
    directory = path + "/crawl"
    with harness.Web(path, change_ms=CHANGE_MS, **SIZES) as web:
        urls = web.graph_urls()
        first = harness.crawl(web, directory, wait="10ms", ip_wait="1ms")
        built = harness.run([f"{harness.OUT}/ragno", "schedule", directory, "freq",
                             "--default", "2s"])

        def four_visits():
            by_url = visits(web.requests(), urls)
            return len(by_url) == len(urls) and min(len(v) for v in by_url.values()) >= 4
        crawl_until(report, web, directory, four_visits, "--set", "fetch.conditional=no")
    requests = web.requests()
    report.check("a crawl of one pass ends", first.returncode == 0, first.stderr[-500:])
    report.check("ragno schedule builds", built.returncode == 0, built.stderr)
    seconds = intervals(visits(requests, urls).values())
    report.check("every page is visited at the frequency of the command",
                 seconds and seconds[0] >= 1.9 and median(seconds) < 4,
                 f"{seconds[:3]}, {median(seconds)}")
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

    def logged(words, times):
        with open(path + "/crawl/ragno.log") as log:
            return log.read().count(words) >= times

    def is_ruled(url):
        return re.search("[02468]([.]html)?$", url) is not None

    write(3, "")
    with harness.Web(path, hosts=5, addresses=5, pages=50, skew=0, page_bytes=2000) as web:
        urls = web.graph_urls()

        def least_visits(since_us):
            by_url = visits((r for r in web.requests() if r.start > since_us), urls)
            return min(len(by_url[url]) for url in urls)
        crawl = subprocess.Popen(
            harness.crawl_command(web, path + "/crawl", "-c", config, "--set",
                                  "schedule.mode=continuous", wait="5ms", ip_wait="1ms"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.until(lambda: least_visits(0) >= 2)
        write(1, "0 soon\n")  # not a rule: all is refused
        crawl.send_signal(signal.SIGHUP)
        refused = harness.until(lambda: logged("nothing was changed", 1))
        write(2, "[02468]([.]html)?$ 1s\n")
        crawl.send_signal(signal.SIGHUP)
        harness.until(lambda: logged("configuration read anew", 1))
        # Visits that were due before are over with the next one.
        changed_us = time.monotonic_ns() // 1000
        harness.until(lambda: least_visits(changed_us) >= 1)
        ruled_us = time.monotonic_ns() // 1000
        harness.until(lambda: least_visits(ruled_us) >= 3)
        harness.end_process(crawl)
        by_url = visits(web.requests(), urls)
    before = intervals([[r for r in v if r.start < changed_us] for v in by_url.values()])
    often = intervals((v for url, v in by_url.items() if is_ruled(url)), changed_us)
    others = intervals((v for url, v in by_url.items() if not is_ruled(url)), changed_us)
    report.check("a wrong file of rules changes nothing", refused)
    report.check("pages are visited each three seconds before", before and before[0] >= 2.9,
                 f"{before[:5]}")
    report.check("the rule's pages are visited each second",
                 often and often[0] >= 0.95 and median(often) < 1.9, f"{often[:3]}, {median(often)}")
    report.check("the others each two", others and others[0] >= 1.9 and median(others) < 2.9,
                 f"{others[:3]}, {median(others)}")
    report.equal("it ends well", crawl.returncode, 11)


if __name__ == "__main__":
    harness.main(changing, killed, limited, gone_and_moved, built_by_command, policy_is_live)
