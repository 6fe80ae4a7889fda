"""limits.pages_per_host: no host gives more pages than that, to the last one, also when many of its
URLs are in flight at once; hosts that have fewer give all they have. Limits of time and bytes."""
import collections
import os
import re

import harness

LIMIT = 25
SIZES = dict(hosts=40, addresses=40, pages=4000, skew=0.5)


def exact(report, path):
    with harness.Web(path, **SIZES) as web:
        result = harness.crawl(web, os.path.join(path, "crawl"), "--set",
                               f"limits.pages_per_host={LIMIT}", timeout=90)
        report.equal("the crawl ends", (result.returncode, result.stderr), (0, ""))
        web.stop()
        good = collections.Counter(r.host for r in web.requests()
                                   if r.status == 200 and r.path != "/robots.txt")
        known = collections.Counter(url.split("/")[2] for url in web.graph_urls())
    most = max(good.values())
    report.equal(f"{len(good)} hosts, the most pages of one", most, LIMIT)
    full = sum(n == LIMIT for n in good.values())
    report.check("most hosts reached the limit", full > len(known) / 2,
                 f"{full} of {len(known)}: {good}")


def fetches(directory):
    with open(directory + "/crawl.log", encoding="utf-8") as file:
        return len(file.readlines())


def duration(report, path):
    """crawl.max_duration is each run's own, crawl.max_total_duration that of all."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=5, addresses=5, pages=20000) as web:
        done = []
        for run in range(2):
            result = harness.crawl(web, directory, "--no-warc", "--max-duration", "500ms", wait="5ms")
            report.equal(f"run {run + 1} ends at its limit of time", result.returncode, 15)
            done.append(fetches(directory))
        report.check("the second run has its time anew", done[1] > done[0] + 5, str(done))
        result = harness.crawl(web, directory, "--no-warc", "--set", "crawl.max_total_duration=600ms",
                               wait="5ms")
        report.check("a limit of all runs together has been reached", result.returncode == 15 and
                     "crawl.max_total_duration" in result.stdout, result.stdout)

def received(result):
    """Bytes, as the summary says."""
    found = re.search(r"received +([\d.]+) (kB|MB)", result.stdout)
    return float(found[1]) * {"kB": 1e3, "MB": 1e6}[found[2]] if found else 0


def quota_of_bytes(report, path):
    """-Q counts what is in flight: 256 connections to 200 hosts do not carry a crawl beyond it. How much an
    answer has is known with its header: a guess of what comes at one moment may be wrong."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=200, addresses=200, pages=20000, delayed=0.5, delay_ms=300) as web:
        seeds = path + "/all-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{name}/\n" for name in web.hosts())
        for run, quota in enumerate((5, 8)):
            result = harness.crawl(web, directory, "--no-warc", "-Q", f"{quota}M", seeds=seeds, timeout=90)
            report.equal(f"run {run + 1} ends at its quota", (result.returncode, "crawl.max_bytes" in
                                                              result.stdout), (14, True))
            report.check(f"and near it: {received(result) / 1e6} MB of {quota}",
                         quota * 1e6 <= received(result) < quota * 1.1e6, result.stdout)


if __name__ == "__main__":
    harness.main(exact, duration, quota_of_bytes)
