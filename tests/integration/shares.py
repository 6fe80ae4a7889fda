"""Connections and bytes are shares: silent and slow hosts have a bounded part of both. Good hosts that are
found while bad ones hold all they can get are crawled to their last page, long before the first bad host
has used up its time."""
import collections
import os
import re
import resource

import harness
import running

GOOD = dict(hosts=100, pages=2000)
CONNECTIONS = 256
SLOW = "1h"  # what a server may take: good pages do not wait for it


class GoodPages:
    """Which pages of good hosts the server has sent; asked again and again."""

    def __init__(self, web):
        forbids = {name: forbidden for name, (_, forbidden, _) in web.hosts().items()}
        self.web = web
        self.wanted = {u for u in web.graph_urls()
                       if not forbids[u.split("/")[2]] or "/private/" not in u}
        self.missing = set(self.wanted)
        self.offset = 0

    def are_all_sent(self):
        with open(self.web.log, encoding="latin-1") as file:
            file.seek(self.offset)
            for line in file:
                if line.endswith("\n"):
                    self.offset += len(line.encode("latin-1"))
                    f = line.split()
                    self.missing.discard(f"http://{f[3]}{f[7]}")
        return not self.missing


def read_status(directory):
    """Its whole lines; none before the first."""
    try:
        with open(directory + "/status.log") as file:
            lines = file.read().split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [dict(f.split("=", 1) for f in line.split()) for line in lines]


def last_status(directory):
    """Its last whole line; None before the first. Asked often: the lines before it are not read."""
    try:
        with open(directory + "/status.log", "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - (64 << 10)))
            lines = file.read().decode().split("\n")[:-1]
    except FileNotFoundError:
        return None
    return dict(f.split("=", 1) for f in lines[-1].split()) if lines else None


def beside(report, path, bad, have_it_all, *options):
    """Crawls bad hosts until they have all they can get: have_it_all(the last line of status.log). Only
    then good hosts are named; when all their pages are sent, the crawl is stopped. Returns it, and the
    lines of status.log."""
    directory = path + "/crawl"
    with harness.Web(path, **GOOD) as web:
        seeds = path + "/bad-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{name}.web.test/\n" for name in bad)
        pages = GoodPages(web)
        command = harness.crawl_command(web, directory, "--no-warc", "--set",
                                        f"fetch.connections={CONNECTIONS}", "--set",
                                        f"fetch.first_byte_timeout={SLOW}", "--set",
                                        f"fetch.total_timeout={SLOW}", "--set", "fetch.slow_rate=0", "--set",
                                        "crawl.grace=0s", "--set", "log.status_interval=200ms",
                                        *options, seeds=seeds)
        phase = {"named": False}

        def all_sent():
            if not phase["named"]:
                status = last_status(directory)
                if status and have_it_all(status):
                    harness.run([f"{harness.OUT}/ragno", "ctl", directory, "seed",
                                 *(f"http://{name}/" for name in web.hosts())])
                    phase["named"] = True
            return phase["named"] and pages.are_all_sent()

        result = harness.run_until(command, all_sent)
        report.equal("the crawl runs until it is stopped", result.returncode, 11)
    report.check("bad hosts had all they can get before", phase["named"])
    report.equal("then all pages of good hosts were fetched", sorted(pages.missing)[:3], [])
    return result, read_status(directory), web.requests()


def most(status, field):
    return max(int(line[field]) for line in status)


def is_good(request):
    return re.match(r"h\d{5}\.", request.host) is not None


def silent_crowd(report, path):
    """1 000 hosts that never answer, four for each connection."""
    half = CONNECTIONS // 2
    result, status, requests = beside(
        report, path, [f"silent-{i}" for i in range(1000)],
        lambda line: int(line["active_new"]) >= half and int(line["waiting_new"]) > 0,
        "--set", "fetch.new_patience=500ms")
    report.equal("new hosts have half of the connections, and no more", most(status, "active_new"), half)
    report.check("status.log says what waits, and for what",
                 any(line["limit"] == "shares" and int(line["waiting_new"]) > 0 for line in status),
                 str(status[-1]))
    cut = most(status, "cut_new")
    asked = sum(not is_good(f) for f in requests)
    report.check("those that are silent make room for others", asked > half and cut >= asked - half,
                 f"{asked} asked, {cut} cut")
    failed = re.search(r"(\d+) failed attempts", result.stdout)
    report.check("failed attempts count failed fetches of robots.txt", failed and int(failed[1]) >= cut,
                 result.stdout)


def shares_change(report, path):
    """An operator changes the shares while 600 silent hosts hold all they can get."""
    with harness.Web(path, hosts=1, pages=1) as web:
        seeds = path + "/seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://silent-{i}.web.test/\n" for i in range(600))
        with running.Crawl(web, path + "/crawl", "--no-warc", "--set", f"fetch.connections={CONNECTIONS}", "--set",
                           f"fetch.first_byte_timeout={SLOW}", "--set", "fetch.new_patience=1h", "--set",
                           "crawl.grace=0s", "--set", "politeness.retry=timeout 200ms 20", "--set",
                           "politeness.rest_max=1s", "--set", "politeness.park_after=1h", seeds=seeds) as crawl:
            # What new ones hold, with nobody waiting, they hold: 60 and 40 have room beside each other.
            half, more, wanted = CONNECTIONS // 2, CONNECTIONS * 60 // 100, CONNECTIONS * 40 // 100
            report.check("new hosts have half of the connections",
                         harness.until(lambda: crawl.status("active_new") == half), crawl.status("active_new"))
            crawl.ask("set", "fetch.new_share=60")
            report.check("six tenths when an operator says so",
                         harness.until(lambda: crawl.status("active_new") == more), crawl.status("active_new"))
            report.equal("none is hurried within its patience", crawl.status("cut_new"), 0)
            crawl.ask("set", "fetch.new_patience=500ms")
            report.check("with less patience they make room", harness.until(lambda: crawl.status("cut_new") > more),
                         crawl.status("cut_new"))
            ill = harness.until(lambda: crawl.status("active_ill") == CONNECTIONS // 4)
            report.check("those that fail have a quarter", ill, crawl.status("active_ill"))
            crawl.ask("set", "fetch.slow_share=40")
            report.check("four tenths when an operator says so",
                         harness.until(lambda: crawl.status("active_ill") == wanted), crawl.status("active_ill"))


def slow_bodies(report, path):
    """220 hosts that send 2 MB each, at 17 kB a second: more than there is memory for."""
    memory = 16 << 20
    _, status, requests = beside(report, path, [f"slow-body-{i}" for i in range(220)],
                                 lambda line: int(line["held_waits"]) > 0,
                                 "--set", f"fetch.memory={memory}")
    report.check("the slowest are cut first", most(status, "cut_slow") > 0, str(status[-1]))
    cut = [f.bytes for f in requests if not is_good(f) and "R" not in f.flags]
    report.check("and what is held keeps to its limit", most(status, "held_bytes") < 1.25 * memory + (8 << 20),
                 str(most(status, "held_bytes")))
    report.check("what was cut had come slowly", cut and max(cut) < 2000000, str(cut[-3:]))


def slow_connections(report, path):
    """300 hosts that answer once, and never again: slow ones give up their connections to the others."""
    _, status, _ = beside(report, path, [f"stalls-{i}" for i in range(300)],
                          lambda line: int(line["active"]) >= CONNECTIONS)
    report.check("those that were slowest are cut", most(status, "cut_slow") > 0, str(status[-1]))
    report.check("and hosts that fail have a quarter of the connections, and no more",
                 most(status, "active_ill") <= CONNECTIONS // 4, str(most(status, "active_ill")))


def seed_order(place, good, bad):
    """Seeds: the good ones first, last, or among the bad ones."""
    if place == "between":
        step = len(bad) // len(good) + 1
        return [name for i, host in enumerate(good) for name in [*bad[i * step:(i + 1) * step], host]]
    return good + bad if place == "first" else bad + good


def good_in_windows(path, kind, n_bad, place, seconds, n_good=40, window=4, **web_options):
    """Pages of good hosts, asked for every 500 ms each, in each window of a crawl that has n_bad hosts of a kind
    beside them, by the server's log; and the last line of status.log."""
    os.mkdir(path)
    with harness.Web(path, hosts=n_good, **web_options) as web:
        seeds = path + "/all-seeds.txt"
        with open(seeds, "w") as file:
            names = seed_order(place, list(web.hosts()), [f"{kind}-{i}.web.test" for i in range(n_bad)])
            file.writelines(f"http://{name}/\n" for name in names)
        command = harness.crawl_command(web, path + "/crawl", "--no-warc", "--set", "fetch.connections=64", "--set",
                                        "crawl.grace=0s", "--set", "log.status_interval=500ms", seeds=seeds,
                                        wait="500ms")
        harness.run_until(command, lambda: float((last_status(path + "/crawl") or {}).get("elapsed_s", 0)) >= seconds)
        requests = web.requests()
    start = min(r.start for r in requests)
    counts = collections.Counter(int((r.start - start) / 1e6 / window) for r in requests
                                 if is_good(r) and "R" not in r.flags)
    return [counts[i] for i in range(int(seconds / window))], read_status(path + "/crawl")[-1]


def drips(report, path, kind="slow-drip", n_bad=160):
    """Hosts that send robots.txt at once, and then drip: 160 for 64 connections. Wherever the good ones are
    named, after the time that it takes to know the others they get their pages as if they were alone."""
    alone = min(good_in_windows(path + "/alone", kind, 0, "first", 12)[0][1:])
    for place in ("first", "between", "last"):
        got, status = good_in_windows(path + "/" + place, kind, n_bad, place, 24)
        report.check(f"good hosts named {place} beside {kind}: none is starved", min(got[4:]) > 0.8 * alone,
                     f"{got} pages in 4 s each, {alone} alone")
        report.check(f"and hosts that are slow have their share ({place})", int(status["cut_slow"]) > 0, str(status))


def slow_pages(report, path):
    """The same of hosts that send 2 MB each at 17 kB a second."""
    drips(report, path, "slow-body", 90)


def failing_urls(report, path):
    """A seventh of all pages answer 500 or close: each is tried again later, and its host goes on."""
    alone = good_in_windows(path + "/alone", "none", 0, "first", 18)[0]
    got, status = good_in_windows(path + "/failing", "none", 0, "first", 18, errors=1 / 7)
    report.check("URLs that fail do not stop their hosts", min(got[1:]) > 0.8 * min(alone[1:]),
                 f"{got} requests in 4 s each, {alone} without failures")
    report.check("and many have failed", int(status["5xx"]) + int(status["err"]) > 50, str(status))


def many_transfers(report, path):
    """Transfers that drip cost little memory and next to no time: 1 000 of them, 10 000 with FULL=1, with
    fetch.memory as it is by default."""
    n, seconds, most_mb = (10000, 60, 400) if harness.FULL else (1000, 5, 90)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files != resource.RLIM_INFINITY and files < n + 1000:
        report.skip("many transfers", f"{files} file descriptors")
        return
    with harness.Web(path, hosts=2, pages=4) as web:
        seeds = path + "/dripping-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://dripping-{i}.web.test/\n" for i in range(n))
        command = harness.crawl_command(web, path + "/crawl", "--no-warc", *(
            word for option in (f"fetch.connections={n}", "fetch.slow_rate=0", "fetch.total_timeout=24h",
                                "fetch.new_share=100", "crawl.grace=0s", "log.status_interval=500ms")
            for word in ("--set", option)),
            seeds=seeds)
        seen = {}

        def dripped_long_enough():
            status = last_status(path + "/crawl")
            if status and int(status["active"]) == n:
                seen.setdefault("first", status)
                seen["last"] = status
                return float(seen["last"]["elapsed_s"]) - float(seen["first"]["elapsed_s"]) >= seconds
            return False

        result = harness.run_until(command, dripped_long_enough)
    report.equal("the crawl is stopped", result.returncode, 11)
    report.check(f"{n} transfers are in flight at once", "last" in seen, str(read_status(path + "/crawl")[-1:]))
    cpu = float(seen["last"]["cpu_s"]) - float(seen["first"]["cpu_s"])
    lasted = float(seen["last"]["elapsed_s"]) - float(seen["first"]["elapsed_s"])
    resident = int(seen["last"]["rss_bytes"]) / 1e6
    if harness.SANITIZED:
        report.skip("their memory and CPU time", "a sanitizer's are not the crawler's")
        return
    report.check(f"{resident:.0f} MB are resident, of at most {most_mb}", resident <= most_mb)
    report.check(f"{cpu * 60 / lasted:.1f} s of CPU a minute, of at most 5", cpu * 60 / lasted <= 5)


if __name__ == "__main__":
    harness.main(silent_crowd, shares_change, slow_bodies, slow_connections, drips, slow_pages, failing_urls,
                 many_transfers)
