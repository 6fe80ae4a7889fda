#!/usr/bin/env python3
"""What a page is worth, and whether it has changed, is said by what a browser makes of it: hashes, score, simhash, traps.
And which requisites it may have: two hops, robots.txt, tries. Skipped where chromium is not installed."""
import collections
import gzip
import json
import os
import re
import time

import harness
from harness import OUT, run
from render import BROWSER, USER, Site, crawl
from render_crawl import CrossSite, texts_of

RAGNO = f"{OUT}/ragno"
HOST, OTHER, THIRD, FOURTH = (f"127.9.9.{n}" for n in range(1, 5))
SHELL = "<!doctype html><div id=root></div><script src=/app.js></script>"
SCRIPT = """const root = document.getElementById('root'), n = Number((location.pathname.match(/item.(\\d+)/) || [])[1]);
if (!n) for (let i = 1; i <= %d; i++) root.insertAdjacentHTML('beforeend', `<a href="/item/${i}">item${i}</a> `);
else fetch(`/api/${n}.json`).then(r => r.json()).then(t => { root.insertAdjacentHTML('beforeend', t) });"""


def items(n, text, listed=None):
    """An application with a list and n pages, whose answers are all the same; text(i): what page i shows."""
    pages = {(HOST, "/"): ("text/html", SHELL), (HOST, "/app.js"): ("text/javascript", SCRIPT % (listed or n))}
    for i in range(1, n + 1):
        pages[(HOST, f"/item/{i}")] = ("text/html", SHELL)
        pages[(HOST, f"/api/{i}.json")] = ("application/json", json.dumps(text(i)))
    return pages


def pages_of(directory):
    rows = run([RAGNO, "export", directory, "pages", "--format", "jsonl", "--no-archive"]).stdout.splitlines()
    return {row["url"]: row for row in map(json.loads, rows)}


def changes(before, after):
    """URL -> what ragno compare says."""
    result = run([RAGNO, "compare", before, after, "--format", "jsonl", "-q"])
    return {row["url"]: row["change"] for row in map(json.loads, result.stdout.splitlines())}


def hashes(report, path):
    """The same answers, and other data: the page has changed. The score is that of the text that is shown."""
    if BROWSER is None:
        return report.skip("hashes", "chromium is not installed: make deps-render")
    rules = os.path.join(path, "rules.txt")
    with open(rules, "w", encoding="ascii") as file:
        file.write('0.9 TextContainsRegex("special")\n0.2 true\n')
    directories = {}
    for name, words in (("old", "ordinary"), ("same", "ordinary"), ("new", "special")):
        pages = items(4, lambda i, words=words: f"<p>{'text ' * 30}{words if i == 2 else 'plain'} of {i}</p>")
        directories[name] = os.path.join(path, name)
        with Site(pages) as site:
            result = crawl(site, directories[name], [f"http://{HOST}/"], *USER, "-s", "render.mode=auto", "-s",
                           "score.scorer=content", "-s", f"score.rules={rules}", "-s", "warc.metadata=yes", "-s",
                           "parse.near_duplicates=flag")
        report.equal(f"{name}: the crawl ends", result.returncode, 0)
        verify = run([RAGNO, "verify", directories[name]])
        report.check(f"{name}: archive and database agree", verify.returncode == 0, verify.stdout)
    item = f"http://{HOST}/item/2"
    report.equal("nothing has changed where the data are the same", changes(directories["old"], directories["same"]), {})
    changed = changes(directories["old"], directories["new"])
    report.equal("where they are not, the page and its data have", changed,
                 {item: "changed", f"http://{HOST}/api/2.json": "changed"})
    old, new = pages_of(directories["old"]), pages_of(directories["new"])
    own = {old[f"http://{HOST}/item/{i}"]["content_hash"] for i in range(1, 5)}
    report.equal("pages whose answers are the same have hashes of their own", len(own), 4)
    report.equal("the score is that of the document",
                 [round(crawl_[item]["score"], 2) for crawl_ in (old, new)], [0.2, 0.9])
    found = set()
    for name in os.listdir(f"{directories['old']}/warc"):
        if name.endswith(".warc.gz"):
            with gzip.open(f"{directories['old']}/warc/{name}") as file:
                for record in file.read().split(b"WARC/1.1\r\n"):
                    if b"rendered-by:" in record:
                        found.add(bool(re.search(rb"text-digest: [0-9a-f]{32}\r\n", record)) and b"text-simhash: " in record)
    report.equal("the archive has digest and simhash of the document's text", found - {False}, {True})


AGAIN = ["-s", "render.mode=auto", "-s", "schedule.mode=continuous", "-s", "schedule.revisit_default=2s", "-s",
         "schedule.revisit_min=2s", "-s", "schedule.revisit_max=3s"]


def visited(directory, site, condition):
    """Lets a crawl that visits its pages again and again run until condition() held; whether it did, and the crawl ended well."""
    command = [RAGNO, "-d", directory, "-w", "0", "--ip-wait", "0", "--progress=never", "-s",
               f"fetch.port_map=80:{site.server.port}", "-s", "fetch.allow_addresses=127.0.0.0/8", *USER, *AGAIN, f"http://{HOST}/"]
    looks = []

    def held():
        time.sleep(0.2)  # a look costs as much as a page
        looks.append(bool(condition()))
        return looks[-1]
    return harness.run_until(command, held, harness.BOUND_S / 4).returncode == 11 and looks[-1]


def revisits(report, path):
    """A page that is fetched again has changed when its document has, whatever its answer is."""
    if BROWSER is None:
        return report.skip("revisits", "chromium is not installed: make deps-render")
    directory, pages = os.path.join(path, "crawl"), items(2, lambda i: f"one{i} " + "more words " * 9)

    def seen(name):
        rows = pages_of(directory)
        return [rows.get(f"http://{HOST}/item/{i}", {}).get(name, 0) for i in (1, 2)]

    shown = set()  # a page that was fetched again shows nothing until it is rendered again

    def are_shown():
        shown.update(text[:4] for text in texts_of(directory, True).values())
        return {"one1", "one2"} <= shown
    with Site(pages) as site:
        report.check("both are shown", visited(directory, site, are_shown), shown)
        report.check("and visited again", visited(directory, site, lambda: min(seen("n_crawls")) > 2), seen("n_crawls"))
        report.equal("nothing has changed yet", seen("n_changes"), [0, 0])
        pages[(HOST, "/api/2.json")] = ("application/json", json.dumps("two2 " + "more words " * 9))
        report.check("other data are a change", visited(directory, site, lambda: seen("n_changes")[1] > 0), seen("n_changes"))
        before = seen("n_crawls")
        report.check("both were visited again", visited(
            directory, site, lambda: all(now > then + 1 for now, then in zip(seen("n_crawls"), before))), before)
    report.equal("the one whose data have changed has changed, once", seen("n_changes"), [0, 1])


def fresh(report, path):
    """What a rendered page needs is asked for again as a page is: not before its answer says."""
    if BROWSER is None:
        return report.skip("fresh requisites", "chromium is not installed: make deps-render")
    pages = items(2, lambda i: f"one{i} " + "more words " * 9)
    pages[(HOST, "/app.js")] = (*pages[(HOST, "/app.js")], {"Cache-Control": "max-age=86400"})
    with Site(pages) as site:
        def again():
            return min(sum(place == name for _, place in list(site.asked)) for name in ("/item/1", "/item/2", "/api/1.json")) > 1
        report.check("the page and its data were asked for again", visited(os.path.join(path, "crawl"), site, again), site.asked)
        report.equal("its script, which is fresh for a day, was not", sum(place == "/app.js" for _, place in site.asked), 1)


def traps(report, path):
    """Pages whose answers are all the same are no trap when their documents differ; when these are the same, too, they
    are."""
    if BROWSER is None:
        return report.skip("traps", "chromium is not installed: make deps-render")
    words = "and more words" * 9
    with Site(items(130, lambda i: f"content of {i}, {words}")) as site:
        directory = os.path.join(path, "application")
        crawl(site, directory, [f"http://{HOST}/"], *USER, "-s", "render.mode=auto", "-s", "render.share=100")
        report.equal("every page of an application is fetched", len({p for _, p in site.asked if p.startswith("/item/")}), 130)
    texts = texts_of(directory)
    report.equal("and rendered", [i for i in range(1, 131) if texts.get(f"http://{HOST}/item/{i}") != f"content of {i}, {words}"],
                 [])
    with Site(items(300, lambda i: f"{words} <a href=/item/{i + 1}>next</a>", 1)) as site:
        crawl(site, os.path.join(path, "trap"), [f"http://{HOST}/"], *USER, "-s", "render.mode=auto", "-s", "render.share=100",
              "-s", "scope.depth=1000")
        asked = len({p for _, p in site.asked if p.startswith("/item/")})
        report.check("a calendar without end that always shows the same is given up", 50 <= asked < 80, asked)


def forgotten(report, path):
    """What was learned of the requisites of a host is forgotten with it."""
    if BROWSER is None:
        return report.skip("forgotten", "chromium is not installed: make deps-render")
    harness.unlogged("lines of crawl.log are forgotten")
    directory, form = os.path.join(path, "crawl"), f"http://{HOST}/api/\1".encode()
    pages = items(6, lambda i: f"content of {i}, " + "and more words" * 9)
    pages[(OTHER, "/")] = ("text/html", "other")

    def database():
        with open(f"{directory}/crawl.mdb/data.mdb", "rb") as file:
            return file.read()
    with Site(pages) as site:
        crawl(site, directory, [f"http://{HOST}/", f"http://{OTHER}/"], *USER, "-s", "render.mode=auto")
    report.check("a form is learned", form in database())
    result = run([RAGNO, "forget", directory, HOST, "-q"], 120)
    report.equal("the host is forgotten", (result.returncode, HOST.encode() + b"/api" in database()), (0, False))
    verify = run([RAGNO, "verify", directory])
    report.check("archive and database agree", verify.returncode == 0, verify.stdout)


def hops(report, path):
    """What a page needs may live on another host, and what that redirects to or embeds on a third; its robots.txt forbids
    there as well. No page of these hosts is followed."""
    if BROWSER is None:
        return report.skip("hops", "chromium is not installed: make deps-render")
    pages = {
        (HOST, "/"): ("text/html", f"<div id=root></div><script src=http://{OTHER}/a.js></script>"),
        (OTHER, "/a.js"): ("text/javascript", "const s = document.createElement('script'); "
                           f"s.src = 'http://{THIRD}/b.js'; document.head.append(s);"
                           f"fetch('http://{THIRD}/private/c.json').catch(() => document.body.append('withheld '))"),
        (THIRD, "/robots.txt"): ("text/plain", "User-agent: *\nDisallow: /private/\n"),
        (THIRD, "/private/c.json"): ("application/json", "1"),
        (THIRD, "/b.js"): ("text/javascript", "document.body.insertAdjacentHTML('beforeend', "
                           f"'<a href=/own>own</a> <a href=http://{OTHER}/page>theirs</a> words ');"
                           f"document.body.insertAdjacentHTML('beforeend', '<iframe src=http://{FOURTH}/frame></iframe>')"),
        (FOURTH, "/frame"): ("text/html", f"<p>framed <a href=http://{FOURTH}/more>more</a>"),
        (FOURTH, "/more"): ("text/html", "more"),
        (HOST, "/own"): ("text/html", "own page"), (OTHER, "/page"): ("text/html", "their page")}
    directory = os.path.join(path, "crawl")
    with CrossSite(pages) as site:
        result = crawl(site, directory, [f"http://{HOST}/"], *USER, "-s", "render.mode=auto", "-s", f"scope.domains={HOST}")
    asked = collections.Counter(site.asked)
    report.equal("the crawl ends", result.returncode, 0)
    report.same_set("requisites of other hosts are fetched, pages of theirs are not, and what robots.txt forbids is not",
                    {place for place in asked if place[1] != "/robots.txt"},
                    {(HOST, "/"), (OTHER, "/a.js"), (THIRD, "/b.js"), (FOURTH, "/frame"), (HOST, "/own")})
    report.equal("each once, and robots.txt of each host first", [
        (place, n) for place, n in asked.items() if n > 1], [])
    report.same_set("robots.txt of all hosts", {h for h, p in asked if p == "/robots.txt"}, {HOST, OTHER, THIRD, FOURTH})
    report.equal("the document is whole", sorted(re.findall(r"\w+", texts_of(directory)[f"http://{HOST}/"])),
                 sorted(["withheld", "own", "theirs", "words", "framed", "more"]))


def rounds(report, path):
    """A page is rendered again render.rounds times for what it lacks, three by default, and then taken as it is."""
    if BROWSER is None:
        return report.skip("rounds", "chromium is not installed: make deps-render")
    script = ("const root = document.getElementById('root'); (async () => { for (let n = 1; n < 9; n++) root.append(await ("
              "await fetch(`/part${n}.txt`)).text() + ' ') })()")
    pages = {(HOST, "/"): ("text/html", f"<div id=root></div><script>{script}</script>")}
    pages |= {(HOST, f"/part{n}.txt"): ("text/plain", f"word{n}") for n in range(1, 9)}
    for name, options, expected in (("by default", (), 3), ("none", ("-s", "render.rounds=0"), 0),
                                    ("enough", ("-s", "render.rounds=20"), 8)):
        directory = os.path.join(path, name.replace(" ", "-"))
        with Site(pages) as site:
            crawl(site, directory, [f"http://{HOST}/"], *USER, "-s", "render.mode=auto", "-s", "render.scrolls=0",
                  *options)
            asked = sum(p.startswith("/part") for _, p in site.asked)
        words = texts_of(directory).get(f"http://{HOST}/", "").split()
        report.equal(f"{name}: {expected} tries", (asked, words), (expected, [f"word{n}" for n in range(1, expected + 1)]))
        if name == "by default":
            why = run([RAGNO, "why", directory, f"http://{HOST}/"]).stdout
            report.check("why says so", "in 4 rounds" in why and "1 requests were not answered" in why, why)


if __name__ == "__main__":
    harness.main(hashes, revisits, fresh, traps, forgotten, hops, rounds)
