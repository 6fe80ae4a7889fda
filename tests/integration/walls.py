"""Answers that keep crawlers out are counted, host by host: 402, 403, 429 and pages that want proof of a
human, in status.log, in crawl.log, by ragno db and in the report."""
import re

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


if __name__ == "__main__":
    harness.main(walls)
