"""Dead links and hosts that are down: a page that has answered well is asked again before a host is blamed.

One host has hundreds of dead links in a row behind its good pages, one is down for a while when a few of its pages are
there, one is well; each stands first, between and last among the seeds. By the server's log the host of dead links is
asked as ever, the host that is down is asked once behind each rest, for the same page, and no page of it is lost."""
import collections
import json
import threading
import time

import harness
from page_server import PageServer

DEAD, DOWN, GOOD = "127.0.3.1", "127.0.3.2", "127.0.3.3"
LINKS, PAGES = 300, 20
DOWN_FROM, DOWN_S = 6, 5.0  # its sixth page, and how long
TRIES = 3
OPTIONS = ("--set", "politeness.retry=server-error 100ms 2", "--set", "fetch.allow_addresses=127.0.0.0/8",
           "--set", "log.status_interval=300ms")


class Hosts:
    def __init__(self):
        self.asked = collections.defaultdict(list)  # host -> [(when, path, status)]
        self.lock = threading.Lock()

    def status_of(self, host, path, now):
        if host == DEAD and "dead" in path:
            return 500
        log = self.asked[DOWN]
        if host == DOWN and len(log) >= DOWN_FROM and now < log[DOWN_FROM - 1][0] + DOWN_S:
            return 502
        return 200

    def __call__(self, host, path):
        if path == "/robots.txt":
            return 404, {}, b""
        with self.lock:
            now = time.monotonic()
            status = self.status_of(host, path, now)
            self.asked[host].append((now, path, status))
        if path != "/":
            return status, {}, f"<title>{host}{path}</title>".encode()
        names = [f"/{i}" for i in range(PAGES)] + [f"/dead/{i}" for i in range(LINKS if host == DEAD else 0)]
        return status, {}, "".join(f"<a href={name}>x</a>" for name in names).encode()


def look(report, path, place, seeds):
    hosts = Hosts()
    with PageServer(hosts) as server:
        start = time.monotonic()
        result = harness.run([f"{harness.OUT}/ragno", "-d", f"{path}/{place}", "-w", "5ms", "--ip-wait", "0",
                              "--progress=never", *OPTIONS, *(f"http://{name}:{server.port}/" for name in seeds)], 240)
        took = time.monotonic() - start
    report.equal(f"the host that is down named {place}: the crawl ends", result.returncode, 0)
    for host in (DEAD, DOWN, GOOD):
        got = {p for _, p, status in hosts.asked[host] if status == 200}
        report.equal(f"all good pages of {host} came", len(got), PAGES + 1)
    dead = [p for _, p, _ in hosts.asked[DEAD] if "dead" in p]
    others = len(hosts.asked[DEAD]) - len(dead) - PAGES - 1
    report.equal("each dead link is tried as often as the table says", set(collections.Counter(dead).values()), {TRIES})
    report.check(f"{others} requests tell that their host is well", 0 < others < LINKS * TRIES / 20)
    report.check(f"and it does not rest: {took:.1f} s", took < 3 * DOWN_S)
    down = [p for _, p, status in hosts.asked[DOWN] if status == 502]
    most = collections.Counter(down).most_common(1)[0]
    report.check(f"the host that is down is asked {len(down)} times for {len(set(down))} pages, {most[1]} times for one "
                 "that came before", len(down) <= 14 and len(set(down)) <= 6 and most[1] >= 4, str(down))
    again = 0
    for log in hosts.asked.values():
        good = set()
        for _, p, status in log:
            again += p in good
            good |= {p} if status == 200 else set()
    with open(f"{path}/{place}/crawl.log", encoding="latin-1") as file:
        checks = sum(",host-check" in line for line in file)
    report.equal("what was asked for again behind a good answer is told as host-check", checks, again)


def the_good_page_goes(report, path):
    """The page that is asked for again is not there any more: that is an answer, too, and changes nothing of what is
    stored, nor does one that has not been committed yet."""
    hosts = [f"127.0.3.{i}" for i in range(10, 30)]
    asked, lock = collections.Counter(), threading.Lock()

    def answer(host, name):
        with lock:
            asked[host, name] += 1
            again = asked[host, name] > 1
        if name == "/":
            links = ["/good"] + [f"/dead/{i}" for i in range(40)]
            return 200, {}, "".join(f"<a href={link}>x</a>" for link in links).encode()
        if name == "/good":
            return (404 if again else 200), {}, f"<title>good {host}</title><a href=/late>x</a>".encode() if not again else b"gone"
        return (500, {}, b"dead") if "dead" in name else (404, {}, b"none")

    with PageServer(answer) as server:
        result = harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", "0", "--ip-wait", "0",
                              "--progress=never", *OPTIONS, *(f"http://{host}:{server.port}/" for host in hosts)], 120)
    report.equal("the crawl ends", (result.returncode, result.stderr), (0, ""))
    report.check("each host was asked for it again", all(asked[host, "/good"] > 1 for host in hosts), str(asked))
    found = [(url, crawls) for url, _, crawls in harness.db_rows(path + "/crawl") if url.endswith("/good")]
    report.equal("it is stored, once", [crawls for _, crawls in found], [1] * len(hosts))
    said = {url: harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "get", url, "--body"]).stdout for url, _ in found}
    is_own = {url: f"<title>good {url.split('/')[2].split(':')[0]}</title>" in text for url, text in said.items()}
    report.check("and what was stored of it stays, of each its own", said and all(is_own.values()), str(said))
    rows = [json.loads(line) for line in harness.run([f"{harness.OUT}/ragno", "export", path + "/crawl", "pages", "--format", "jsonl"])
            .stdout.splitlines()]
    report.same_set("exports tell of the same answer", {row["url"] for row in rows if row["url"] in said and row["title"] and row["title"] in said[row["url"]]},
                    set(said))
    report.equal("each link of it was found once", sum(asked[host, "/late"] for host in hosts), len(hosts))
    verified = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.equal("ragno verify finds no problem", verified.returncode, 0)


def a_good_page_tells(report, path):
    for place, seeds in (("first", (DOWN, DEAD, GOOD)), ("between", (GOOD, DOWN, DEAD)), ("last", (DEAD, GOOD, DOWN))):
        look(report, path, place, seeds)


if __name__ == "__main__":
    harness.main(a_good_page_tells, the_good_page_goes)
