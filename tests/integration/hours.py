"""Visit-time of robots.txt: pages are asked for at these hours only, by the server's clock; robots.txt at any time; why says
until when a host is closed, and the audit finds each request outside them. politeness.hours: not even robots.txt is asked for
outside them, by the clocks of a place; limit=hours, and the tail of the crawl does not end it. The crawler's clock is set to a few seconds
before such a time, and the server's with it."""
import calendar
import os
import re
import struct
import time

import harness
from page_server import PageServer

PAGES = [f"/{i}" for i in range(12)]


class Site:
    """Notes when, by the clock that the crawler has, what was asked for."""

    def __init__(self, at, visit_time="Visit-time: 0200-0300"):
        self.visit_time = visit_time
        self.shift = calendar.timegm((2026, 11, 27, *at)) - time.time()
        self.asked = []

    def __call__(self, host, path):
        self.asked.append((time.time() + self.shift, path))
        if path == "/robots.txt":
            return 200, {}, f"User-agent: *\n{self.visit_time}\nDisallow: /never\n".encode()
        return 200, {}, "".join(f"<a href={p}>{p}</a>" for p in PAGES).encode() + path.encode()

    def of_day(self, want_robots):
        return [round(at % 86400, 1) for at, path in self.asked if (path == "/robots.txt") == want_robots]


def crawl(site, server, path, *options):
    with open(path + "/machine", "wb") as file:
        file.write(struct.pack("qqq", int(site.shift * 10**9), 0, 0))
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(f"{harness.OUT}/crash/outage_shim.so"), OUTAGE=path + "/machine",
                       ASAN_OPTIONS="verify_asan_link_order=0")
    return harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "--ip-wait", "0", "--progress=never", "--set",
                        "fetch.allow_addresses=127.0.0.0/8", *options, f"http://127.0.0.1:{server.port}/"], 60, env=environment)


def audit(directory):
    result = harness.run([f"{harness.OUT}/ragno", "audit", directory])
    found = "outside-hours" in result.stdout
    return result.returncode, found


def it_opens(report, path):
    site = Site((1, 59, 56))
    with PageServer(site) as server:
        result = crawl(site, server, path, "-w", "1ms")
    report.equal("the crawl ends by itself", result.returncode, 0)
    report.check("robots.txt is asked for before", len(site.of_day(True)) == 1 and site.of_day(True)[0] < 7200, site.of_day(True))
    pages = site.of_day(False)
    report.check("no page before the hour, and all of them behind it", len(pages) == 13 and min(pages) >= 7200, pages)
    report.equal("the audit agrees", audit(path + "/crawl"), (0, False))


def it_closes(report, path):
    site = Site((2, 59, 57))
    with PageServer(site) as server:
        result = crawl(site, server, path, "-w", "700ms", "--max-duration", "6s")
        url = f"http://127.0.0.1:{server.port}/11"
    pages = site.of_day(False)
    report.check("pages until the hour ends, and none behind it", 3 <= len(pages) < 8 and max(pages) < 10800.3, pages)
    report.check("the crawl was waiting", result.returncode in (0, 14, 15), (result.returncode, result.stderr[-400:]))
    report.equal("the audit agrees", audit(path + "/crawl"), (0, False))
    # The same log, as if robots.txt had always said so: requests at another time of the day.
    with open(path + "/crawl/crawl.log", encoding="latin-1") as file:
        log = file.read()
    with open(path + "/crawl/crawl.log", "w", encoding="latin-1") as file:
        file.write(log.replace(" 202611270259", " 202611270559"))
    harness.unlogged("the times of crawl.log are forged")
    report.equal("requests at another time of the day are found", audit(path + "/crawl"), (1, True))
    why = harness.run([f"{harness.OUT}/ragno", "why", path + "/crawl", url]).stdout
    hour = time.gmtime().tm_hour
    report.check("why says until when it is closed", hour == 2 or (re.search(r"its hours begin at\s+\S+[T ]02:00:00", why) and
                 re.search(r"bound by\s+Visit-time", why)), why)


def status_of(path):
    with open(path + "/crawl/status.log", encoding="utf-8") as file:
        lines = [dict(word.split("=", 1) for word in line.split()) for line in file]
    return lines


def hours_of_the_operator(report, path):
    """03:00 in Rome is 02:00 in universal time, in November."""
    site = Site((1, 59, 55), "Allow: /")
    with open(path + "/hours.ini", "w", encoding="utf-8") as file:
        file.write('[site "127.0.0.*"]\nhours = 03:00-03:01, 03:30-04:00 Europe/Rome\n')
    with PageServer(site) as server:
        result = crawl(site, server, path, "-w", "1ms", "-c", path + "/hours.ini", "--set", "log.status_interval=300ms", "--set",
                       "limits.tail=1s")
    asked = site.of_day(True) + site.of_day(False)
    report.equal("the crawl waits for them, however short its tail, and ends by itself", result.returncode, 0)
    report.check("nothing is asked for before, robots.txt neither", len(asked) == 14 and min(asked) >= 7200, asked)
    limits = [line["limit"] for line in status_of(path)]
    report.check("status says what binds", "hours" in limits and "retries" not in limits, limits)
    report.equal("the audit agrees", audit(path + "/crawl"), (0, False))
    with open(path + "/crawl/crawl.log", encoding="latin-1") as file:
        log = file.read()
    with open(path + "/crawl/crawl.log", "w", encoding="latin-1") as file:
        file.write(log.replace(" 202611270200", " 202611270205"))
    harness.unlogged("the times of crawl.log are forged")
    report.equal("requests between two spans are found", audit(path + "/crawl"), (1, True))


def a_closed_host_is_told(report, path):
    """Now is not within the hours: they begin in some hours from now."""
    hour = (time.gmtime().tm_hour + 5) % 24
    site = Site((12, 0, 0), "Allow: /")
    with PageServer(site) as server:
        url = f"http://127.0.0.1:{server.port}/"
        result = harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8",
                              "--set", f"politeness.hours={hour:02}:00-{hour:02}:30", "--max-duration", "2s", url], 60)
        report.equal("the crawl was waiting", (result.returncode, site.asked), (15, []))
    opens = time.strftime("%Y-%m-%d %H:00:00", time.gmtime(time.time() + 5 * 3600))
    why = harness.run([f"{harness.OUT}/ragno", "why", path + "/crawl", url]).stdout
    report.check("why says when it opens, and by which option", opens in why and "politeness.hours" in why, why)
    hosts = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts"]).stdout
    report.check("so does the list of hosts", "outside its hours" in hosts, hosts)
    plan = harness.run([f"{harness.OUT}/ragno", "plan", path + "/crawl"]).stdout
    report.check("plan foretells hours, not seconds", re.search(r"slowest host.*\n.*\n\s+in\s+[45] h", plan), plan)


def bad_hours(report, path):
    for text, word in (("1-6", "expected spans"), ("01:00-06:00 Europe/Rom", "no such time zone"), ("25:00-26:00", "expected spans")):
        result = harness.run([f"{harness.OUT}/ragno", "--test-config", "--set", f"politeness.hours={text}"])
        report.check(f"'{text}' stops the start with a word", result.returncode == 2 and word in result.stderr, result.stderr)


if __name__ == "__main__":
    harness.main(it_opens, it_closes, hours_of_the_operator, a_closed_host_is_told, bad_hours)
