"""schedule.mode = continuous asks for nothing twice while its site says that it is fresh.

Judged by what the server was asked for, and when."""
import email.utils
import threading
import time

import harness
from page_server import PageServer

START = time.time()


def date(seconds):
    return email.utils.formatdate(START + seconds, usegmt=True)


# path -> status, fields, body; what it is not to be asked for within (seconds), and behind which time never again
HOUR = 3600
ONCE = 1e9
PAGES = {
    "/immutable": ({"Cache-Control": "max-age=86400, immutable"}, ONCE),
    "/no-store": ({"Cache-Control": "no-store, max-age=86400"}, ONCE),
    "/expires": ({"Expires": date(HOUR), "Date": date(0)}, ONCE),
    "/short": ({"Cache-Control": "max-age=3"}, 3),
    "/aged": ({"Cache-Control": "max-age=3600", "Age": "3597"}, 3),
    "/plain": ({}, 0),
    "/no-cache": ({"Cache-Control": "no-cache, max-age=3600"}, 0),
    "/shared": ({"Cache-Control": "s-maxage=3600"}, 0),
    "/sunset": ({"Sunset": date(-HOUR)}, ONCE),
    "/unavailable": ({"X-Robots-Tag": "unavailable_after: " + date(-HOUR)}, ONCE),
    "/others": ({"X-Robots-Tag": "otherbot: unavailable_after: " + date(-HOUR)}, 0),
    "/meta": ({}, ONCE),
    "/guess": ({"Last-Modified": date(-10 * 86400)}, 0),
    "/moved": ({"Location": "/plain", "Retry-After": "3600"}, ONCE),
    "/gone": ({}, ONCE),
}
META = b'<meta name="robots" content="noarchive, unavailable_after: 2020-02-03">'
CONTINUOUS = ["--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=500ms", "--set",
              "schedule.revisit_min=300ms", "--set", "schedule.revisit_max=1s", "--set", "schedule.revisit=power"]
VISITS = 8  # of /plain


class Site:
    def __init__(self):
        self.asked = {}
        self.lock = threading.Lock()

    def __call__(self, host, path):
        with self.lock:
            self.asked.setdefault(path, []).append(time.monotonic())
        if path == "/":
            links = "".join(f'<a href="{p}">x</a>' for p in PAGES)
            return 200, {"Cache-Control": "max-age=86400"}, links.encode()
        if path not in PAGES:
            return 404, {}, b""
        fields = PAGES[path][0]
        status = 302 if "Location" in fields else 410 if path == "/gone" else 200
        return status, fields, (META if path == "/meta" else b"") + f"<title>{path}</title>".encode()

    def times(self, path):
        with self.lock:
            return list(self.asked.get(path, []))


def crawl(site, directory, *options):
    """Until /plain was asked for VISITS times."""
    with PageServer(site) as server:
        command = [f"{harness.OUT}/ragno", "-d", directory, "-w", "1ms", "--ip-wait", "0", "--progress=never", "--set",
                   "fetch.allow_addresses=127.0.0.0/8", *CONTINUOUS, *options, f"http://127.0.0.1:{server.port}/"]
        return harness.run_until(command, lambda: len(site.times("/plain")) >= VISITS)


def what_is_fresh_is_not_asked_for(report, path):
    site = Site()
    result = crawl(site, path + "/crawl")
    report.equal("it goes on until it is stopped", result.returncode, 11)
    for page, (_, least) in PAGES.items():
        times = site.times(page)
        gaps = [b - a for a, b in zip(times, times[1:])]
        report.check(f"{page} was fetched", times, times)
        report.check(f"{page} is not asked for within {least:g} s", all(gap >= least for gap in gaps), gaps)
        if least == 0:
            report.check(f"{page} is visited", len(times) >= VISITS // 2, len(times))
    report.equal("nor is the page that links to them", len(site.times("/")), 1)


def what_is_guessed_is_an_option(report, path):
    site = Site()
    crawl(site, path + "/crawl", "--set", "revisit.heuristic=0.1")
    report.equal("/guess", len(site.times("/guess")), 1)


def the_operators_own_hosts_are_visited_all_the_same(report, path):
    site = Site()
    with open(path + "/own.ini", "w", encoding="utf-8") as file:
        file.write('[site "127.0.0.1"]\nrevisit.ignore_freshness = yes\n')
    crawl(site, path + "/crawl", "-c", path + "/own.ini")
    for page in ("/immutable", "/expires", "/short", "/sunset", "/unavailable", "/meta"):
        report.check(f"{page} is visited", len(site.times(page)) >= VISITS // 2, len(site.times(page)))
    report.equal("/gone has the tries of a page that is not found", len(site.times("/gone")), 3)
    refused = harness.run([f"{harness.OUT}/ragno", "-d", path + "/other", "--set", "revisit.ignore_freshness=yes",
                           "--test-config"])
    report.equal("but not those of others", refused.returncode, 2)


if __name__ == "__main__":
    harness.main(what_is_fresh_is_not_asked_for, what_is_guessed_is_an_option,
                 the_operators_own_hosts_are_visited_all_the_same)
