"""ragno consent: for which use a capture is allowed, by which sentence, who said otherwise, and what was withdrawn
since. The sentences are those that the server sent."""
import base64
import hashlib
import os
import re
import struct

import harness
from page_server import PageServer

BEFORE = b"User-agent: *\nAllow: /\nContent-Signal: search=yes, ai-input=no\nContent-Usage: /closed/ train-ai=n\n"
AFTER = b"User-agent: *\nDisallow: /gone\nContent-Usage: train-ai=n\n"
PAGES = {
    "/free": ({}, b"free"),
    "/closed/page": ({}, b"closed"),
    "/header": ({"Content-Usage": "train-ai=n"}, b"header"),
    "/meta": ({}, b'<meta name="robots" content="noai"><title>meta</title>'),
    "/conflict": ({"Content-Signal": "ai-train=yes"}, b'<meta name="robots" content="noai">'),
    "/short": ({"Content-Signal": "use=reference"}, b"short"),
    "/gone": ({}, b"gone"),
}


class Site:
    def __init__(self, rules):
        self.rules = rules

    def __call__(self, host, path):
        if path == "/robots.txt":
            return (200, {"Content-Type": "text/plain"}, self.rules) if self.rules else (404, {}, b"")
        if path == "/":
            return 200, {}, "".join(f"<a href={p}>{p}</a>" for p in PAGES).encode()
        fields, body = PAGES[path]
        return 200, fields, body


def crawl(server, directory, *options, env=None):
    return harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", "1ms", "--ip-wait", "0", "--progress=never",
                        "--set", "fetch.allow_addresses=127.0.0.0/8", *options, f"http://127.0.0.1:{server.port}/"], 60, env=env)


def ask(directory, *words):
    result = harness.run([f"{harness.OUT}/ragno", "consent", directory, *words])
    return result.returncode, result.stdout


def block(text, usage):
    """What is said of one usage: the verdict, and the sentences."""
    found = re.search(rf"^{usage}: (.*)\n((?:  .*\n)*)", text, re.M)
    return (found.group(1), found.group(2)) if found else (None, "")


def by_which_sentence(report, path):
    site = Site(BEFORE)
    with PageServer(site) as server:
        result = crawl(server, path + "/crawl")
        report.equal("the crawl ends", result.returncode, 0)
        base = f"http://127.0.0.1:{server.port}"
    directory = path + "/crawl"
    digest = "sha1:" + base64.b32encode(hashlib.sha1(BEFORE).digest()).decode()
    for page, usage, verdict, sentence in (
            ("/free", "search", "allowed", "allowed by robots.txt line 3: Content-Signal: search=yes, ai-input=no"),
            ("/free", "ai-input", "denied", "denied by robots.txt line 3"),
            ("/free", "train-ai", "nothing is said", ""),
            ("/closed/page", "train-ai", "denied", "denied by robots.txt line 4: Content-Usage: /closed/ train-ai=n"),
            ("/header", "train-ai", "denied", "denied by header Content-Usage: train-ai=n"),
            ("/meta", "train-ai", "denied", 'denied by element <meta name="robots" content="noai">'),
            ("/conflict", "train-ai", "denied", "although allowed by header Content-Signal: ai-train=yes"),
            ("/short", "train-ai", "denied", "denied by header Content-Signal: use=reference")):
        code, text = ask(directory, base + page, "--usage", usage)
        found, told = block(text, usage)
        report.equal(f"{page} for {usage}", (code, found), (1 if verdict == "denied" else 0, verdict))
        report.check(f"{page} for {usage}: the sentence", sentence in told, text)
        if "robots.txt" in sentence:
            report.check(f"{page} for {usage}: its place, time and digest", f"{base}/robots.txt, fetched 20" in told and
                         digest in told, told)
    code, text = ask(directory, f"127.0.0.1:{server.port}")
    report.check("a host by its name", code == 0 and block(text, "ai-input")[0] == "denied", text)
    report.equal("a host that nobody knows", ask(directory, "http://other.test/")[0], 1)
    report.equal("a usage that there is not", ask(directory, base, "--usage", "lunch")[0], 2)
    report.equal("nothing has changed", ask(directory, "--changed"), (0, ""))


def withdrawn_since(report, path):
    site = Site(BEFORE)
    directory = path + "/crawl"
    with PageServer(site) as server:
        base = f"http://127.0.0.1:{server.port}"
        crawl(server, directory)
        site.rules = AFTER
        # Two days later: robots.txt has expired, and the pages are due.
        with open(path + "/machine", "wb") as file:
            file.write(struct.pack("qqq", 2 * 86400 * 10**9, 0, 0))
        again = crawl(server, directory, "--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=1d",
                      "--max-duration", "3s", env=dict(
                          os.environ, LD_PRELOAD=os.path.abspath(f"{harness.OUT}/crash/outage_shim.so"),
                          OUTAGE=path + "/machine", ASAN_OPTIONS="verify_asan_link_order=0"))
    report.check("a second crawl ran", again.returncode in (0, 15), (again.returncode, again.stderr[-600:]))
    code, text = ask(directory, "--changed")
    rows = [line.split("\t") for line in text.splitlines()]
    report.equal("it tells", code, 0)
    report.check("what may not be crawled any more", [base + "/gone", "crawl", "Disallow: /gone"] in rows, rows)
    report.check("what may not be trained on any more", [base + "/gone", "train-ai", "Content-Usage: train-ai=n"] in rows,
                 rows)
    report.check("not what was denied before", not any(row[0] == base + "/closed/page" for row in rows), rows)
    code, text = ask(directory, base + "/gone", "--usage", "train")
    report.equal("the capture was allowed when it was made, and still shows it", (code, block(text, "train-ai")[0]),
                 (0, "nothing is said"))


if __name__ == "__main__":
    harness.main(by_which_sentence, withdrawn_since)
