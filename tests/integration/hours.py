"""Visit-time of robots.txt: pages are asked for at these hours only, by the server's clock; robots.txt at any time; why says
until when a host is closed, and the audit finds each request outside them. The crawler's clock is set to a few seconds
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

    def __init__(self, at):
        self.shift = calendar.timegm((2026, 11, 27, *at)) - time.time()
        self.asked = []

    def __call__(self, host, path):
        self.asked.append((time.time() + self.shift, path))
        if path == "/robots.txt":
            return 200, {}, b"User-agent: *\nVisit-time: 0200-0300\nDisallow: /never\n"
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
    report.check("why says until when it is closed", hour == 2 or (re.search(r"Visit-time: opens at\s+\S+[T ]02:00:00", why) and
                 re.search(r"bound by\s+Visit-time", why)), why)


if __name__ == "__main__":
    harness.main(it_opens, it_closes)
