"""Answers that keep crawlers out are counted, host by host: 402, 403, 429 and pages that want proof of a
human, in status.log, in crawl.log, by ragno db and in the report."""
import re
import subprocess
import threading
import time

import harness
from page_server import PageServer

PAGES = 6


def answer(host, path):
    if path == "/robots.txt":
        return 404, {}, b""
    if path == "/":
        return 200, {}, "".join(f"<a href=/{i}>{i}</a>" for i in range(PAGES)).encode()
    return {"127.0.1.1": (402, {}, b"pay"),
            "127.0.1.2": (403, {}, b"no"),
            "127.0.1.3": (429, {}, b"slowly"),
            "127.0.1.4": (403, {"cf-mitigated": "challenge"}, b"wait"),
            "127.0.1.5": (200, {}, b"<script>window._cf_chl_opt={}</script>"),
            "127.0.1.6": (200, {}, b"<title>good</title>" + path.encode())}[host]


def walls(report, path):
    with PageServer(answer) as server:
        command = [f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", "0", "--ip-wait", "0",
                   "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8", "--set",
                   "politeness.retry=busy 1ms 2", "--set", "politeness.rest_max=1ms",
                   *(f"http://127.0.1.{i}:{server.port}/" for i in range(1, 7))]
        result = harness.run(command, 120)
        # Its counts are those of the whole crawl, not of this run.
        again = harness.run(command[:-6], 120)
    report.equal("the crawl ends", (result.returncode, again.returncode), (0, 0))
    listed = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts", "--walls"]).stdout
    rows = {line.split("\t")[0].split(":")[1][2:]: [int(n) for n in line.split("\t")[1:]]
            for line in listed.splitlines()}
    busy = rows.get("127.0.1.3", [0] * 4)[2]
    report.equal("ragno db hosts --walls", rows, {
        "127.0.1.1": [PAGES, 0, 0, 0], "127.0.1.2": [0, PAGES, 0, 0], "127.0.1.3": [0, 0, busy, 0],
        "127.0.1.4": [0, 0, 0, PAGES], "127.0.1.5": [0, 0, 0, PAGES]})
    report.check("each attempt counts", busy > PAGES, busy)
    status = harness.run([f"{harness.OUT}/ragno", "status", path + "/crawl"]).stdout
    found = {name: int(n) for name, n in re.findall(r"^(wall\w+) +(\d+)$", status, re.M)}
    report.equal("ragno status", found, {"walls_402": PAGES, "walls_403": PAGES, "walls_429": busy,
                                         "walls_challenge": 2 * PAGES, "walled_hosts": 5})
    with open(path + "/crawl/crawl.log", encoding="latin-1") as file:
        log = re.findall(r",wall:(\w+)", file.read())
    report.equal("crawl.log", {w: log.count(w) for w in set(log)},
                 {"402": PAGES, "403": PAGES, "429": busy, "challenge": 2 * PAGES})
    told = harness.run([f"{harness.OUT}/ragno", "report", path + "/crawl"]).stdout
    section = told[told.find("Answers that keep crawlers out"):]
    report.check("the report", re.search(r"402: payment wanted\D+6\b", section) and
                 re.search(r"proof of a human wanted\D+12\b", section) and
                 re.search(r"http://127\.0\.1\.2:\d+\s+0\s+6\s+0\s+0", section), section[:1500])


MOST = 10      # politeness.wall_answers
HIDDEN = 40    # pages of each host
KINDS = {"127.0.2.1": lambda path: (403, {"cf-mitigated": "challenge"}, b"wait"),
         "127.0.2.2": lambda path: (403, {}, b"no"),
         "127.0.2.3": lambda path: (401, {"WWW-Authenticate": "Basic realm=x"}, b"who"),
         "127.0.2.4": lambda path: (451, {}, b"law " + path.encode()),
         "127.0.2.5": lambda path: (200, {"Cache-Control": "no-store"}, b"<title>one for all</title>"),
         "127.0.2.6": lambda path: (302, {"Location": "/enter?next=" + path}, b""),
         "127.0.2.7": lambda path: (200, {"Set-Cookie": "techaro.lol-anubis-cookie-verification=1"},
                                    b"<title>proof</title>" + path.encode()),
         "127.0.2.8": lambda path: (406, {}, b"no such agent")}
GOOD = "127.0.2.9"
OPENS = 3      # the wall falls at the third page that is asked for after a rest
REST = 0.6     # seconds, the first one


class Walls:
    """Hosts that show their first page and wall for all others, until they open; what was asked of each, when."""

    def __init__(self, opens):
        self.opens = opens
        self.asked = {}
        self.lock = threading.Lock()

    def __call__(self, host, path):
        if path == "/robots.txt":
            return 404, {}, b""
        with self.lock:
            log = self.asked.setdefault(host, [])
            log.append((time.monotonic(), path))
            n = sum(p != "/" and "enter" not in p for _, p in log)
        if path == "/":
            return 200, {}, "".join(f"<a href=/{i}>{i}</a>" for i in range(HIDDEN)).encode()
        if host == GOOD or (self.opens and n >= MOST + OPENS):
            return 200, {}, f"<title>{host}{path}</title>".encode()
        return KINDS[host](path)


def command(server, directory, *options, hosts=None):
    """Good hosts in the seeds first, last and between."""
    names = hosts or [*KINDS, GOOD]
    return [f"{harness.OUT}/ragno", "-d", directory, "-w", "1ms", "--ip-wait", "0", "--progress=never", "--set",
            "fetch.allow_addresses=127.0.0.0/8", "--set", "log.status_interval=300ms", *options,
            *(f"http://{name}:{server.port}/" for name in names)]


def crawl(*words, **hosts):
    return harness.run(command(*words, **hosts), 240)


def a_wall_is_left_alone(report, path):
    walls = Walls(opens=False)
    with PageServer(walls) as server:
        result = crawl(server, path + "/crawl", "--set", "limits.tail=2s")
        name = f"127.0.2.1:{server.port}"
        why = harness.run([f"{harness.OUT}/ragno", "why", path + "/crawl", f"http://{name}/39"]).stdout
        told = harness.run([f"{harness.OUT}/ragno", "report", path + "/crawl"]).stdout
        queue = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "schedule", "--host",
                             f"http://{name}"]).stdout.splitlines()
    report.equal("only hosts that rest are left", result.returncode, 18)
    asked = {host: sum(p != "/" for _, p in log) for host, log in walls.asked.items()}
    report.equal("ten answers of each wall, all of the good host", asked,
                 {**{host: MOST for host in KINDS}, GOOD: HIDDEN})
    report.check("nothing of a queue is lost", len(queue) == HIDDEN, (len(queue), queue[:3]))
    report.check("ragno why knows of it", "wall" in why, why)
    report.check("so does the report", re.search(r"of these rest\D+8\b", told), told[-3000:])
    with open(path + "/crawl/status.log", encoding="utf-8") as file:
        limits = set(re.findall(r"\blimit=(\w+)", file.read()))
    report.check("limit=walls", "walls" in limits, limits)


def an_operator_brings_it_back(report, path):
    """Before its rest is over, which takes an hour here."""
    walls, name = Walls(opens=True), "127.0.2.2"
    with PageServer(walls) as server:
        directory = path + "/crawl"
        process = subprocess.Popen(command(server, directory, "--set", "politeness.retry=wall 1h 0", hosts=[name, GOOD]),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rests = [f"{harness.OUT}/ragno", "why", directory, f"http://{name}:{server.port}/39"]
        report.check("it rests", harness.until(lambda: "wall" in harness.run(rests).stdout))
        before = len(walls.asked[name])
        answer = harness.run([f"{harness.OUT}/ragno", "ctl", directory, "host", f"{name}:{server.port}", "revive"])
        report.equal("ctl host H revive", answer.returncode, 0)
        report.equal("then the crawl ends", harness.ended(process), 0)
    report.equal("ten answers, and no more until then", before, MOST + 1)
    log = [path for _, path in walls.asked[name]]
    report.check("all of its pages have come", {f"/{i}" for i in range(HIDDEN)} <= set(log), log)


def a_wall_that_opens_has_cost_nothing(report, path):
    walls = Walls(opens=True)
    with PageServer(walls) as server:
        result = crawl(server, path + "/crawl", "--set", f"politeness.retry=wall {int(REST * 1000)}ms 0")
        dump = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "dump"]).stdout
    report.equal("the crawl ends by itself", result.returncode, 0)
    pages = {f"/{i}" for i in range(HIDDEN)}
    for host in KINDS:
        log = [entry for entry in walls.asked.get(host, []) if entry[1] != "/" and "enter" not in entry[1]]
        behind = [p for _, p in log[MOST + OPENS - 1:]]
        report.same_set(f"{host}: each page is answered once it opens", set(behind), pages)
        report.check(f"{host}: and none twice then", len(behind) == len(pages), len(behind))
        rests = [log[MOST + i][0] - log[MOST + i - 1][0] for i in range(OPENS)] if len(log) > MOST + 3 else []
        report.check(f"{host}: rests double", len(rests) == OPENS and
                     all(rest >= REST * 2 ** i for i, rest in enumerate(rests)), rests)
    report.check("all are stored", len(dump.splitlines()) >= (HIDDEN + 1) * (len(KINDS) + 1), len(dump.splitlines()))


def a_page_that_is_forbidden_is_no_wall(report, path):
    """Every other page is: nobody rests. Ten in a row that stay forbidden cost one rest, and are asked for twice."""
    asked = []

    def answer(host, path):
        if path in ("/robots.txt", "/"):
            return Walls(opens=False)(host, path)
        asked.append(path)
        number = int(path[1:])
        forbidden = number % 2 == 0 if host == "127.0.2.1" else number < 15
        return (403, {}, b"no") if forbidden else (200, {}, f"<title>{path}</title>".encode())

    with PageServer(answer) as server:
        for host, most in (("127.0.2.1", HIDDEN), ("127.0.2.2", HIDDEN + 15)):
            asked.clear()
            result = crawl(server, path + "/" + host, "--set", "politeness.retry=wall 200ms 0", hosts=[host])
            report.equal(f"{host}: the crawl ends", result.returncode, 0)
            report.check(f"{host}: {most} requests at most", HIDDEN <= len(asked) <= most, len(asked))
            report.equal(f"{host}: all were asked for", set(asked), {f"/{i}" for i in range(HIDDEN)})


if __name__ == "__main__":
    harness.main(walls, a_wall_is_left_alone, an_operator_brings_it_back, a_wall_that_opens_has_cost_nothing, a_page_that_is_forbidden_is_no_wall)
