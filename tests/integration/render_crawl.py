#!/usr/bin/env python3
"""render.mode: a crawl renders the pages that need a browser, fetches what they lack as politely as anything else, and
follows the links that only scripts make. The judge is the server's log. Skipped where chromium is not installed."""
import collections
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile

import harness
from cluster import Nats
from harness import OUT, browsers_of, run
from render import BROWSER, HOSTILE, QUICK, USER, Site, crawl
from render_reach import document_of

RAGNO = f"{OUT}/ragno"
APPS = [f"127.9.8.{n}" for n in range(1, 5)]  # hosts with pages that need a browser
GOOD = [f"127.9.8.{n}" for n in range(11, 14)]  # first, between and last among the seeds
CDN = "127.9.8.20"
PAGES_OF_APP, PAGES_OF_GOOD = 6, 12

SHELL = (f'<!doctype html><title>app</title><div id=root></div><script src="http://{CDN}/shared.js"></script>'
         '<script src="/own.js"></script>')
SHARED = """
const here = location.pathname.replace(/\\D/g, '') || '0';
const root = document.getElementById('root');
function link(path, words) {
  const a = document.createElement('a'); a.href = path; a.textContent = words; root.append(a, ' ');
}
fetch('http://%s/names.json').then(r => r.json()).then(names => {
  for (const name of names) link('/made/' + here + '/' + name, 'word' + name + 'of' + here);
}).catch(e => root.append('unloaded '));
fetch('http://%s/private/secret.json').then(() => root.append('leaked ')).catch(() => root.append('withheld '));
""" % (CDN, CDN)
CROSS = {"Access-Control-Allow-Origin": "*"}


def app_pages():
    """(host, path) -> (type, text) of all hosts. No two hosts answer alike, as a gateway would."""
    pages = {(CDN, "/robots.txt"): ("text/plain", "User-agent: *\nDisallow: /private/\n"),
             (CDN, "/shared.js"): ("text/javascript", SHARED),
             (CDN, "/names.json"): ("application/json", '["a", "b"]'),
             (CDN, "/private/secret.json"): ("application/json", "1")}
    for host in APPS:
        for n in range(PAGES_OF_APP):
            following = f"link('/page{n + 1}', 'onwards');" if n + 1 < PAGES_OF_APP else ""
            pages[(host, f"/page{n}")] = ("text/html", f"<!-- {host} -->" + SHELL.replace("/own.js", f"/own{n}.js"))
            pages[(host, f"/own{n}.js")] = ("text/javascript", f"// {host}\n{following}")
            for name in "ab":
                pages[(host, f"/made/{n}/{name}")] = ("text/html", f"<p>{'plain text ' * 50}{host}")
    for host in GOOD:
        for n in range(PAGES_OF_GOOD):
            pages[(host, f"/page{n}")] = ("text/html", f"<p>{'good text ' * 60}{host}<a href=/page{n + 1}>next</a>"
                                          "<a href=/page0>first</a><script>1</script>")
    return pages


class CrossSite(Site):
    """Whose answers may be read by the scripts of other hosts."""

    def __init__(self, pages):
        super().__init__(pages)
        kinds = pages

        def answer(host, path):
            self.asked.append((host, path))
            kind, text = kinds.get((host, path), (None, ""))
            return (404, CROSS, b"not here") if kind is None else (200, {"Content-Type": kind, **CROSS}, text.encode())
        self.server.__exit__()
        self.server = type(self.server)(answer)


def seeds_of(order):
    """Good hosts first, last and between."""
    seeds = [*GOOD[:1], *APPS[:2], *GOOD[1:2], *APPS[2:], *GOOD[2:]]
    return [f"http://{host}/page0" for host in (seeds if order else reversed(seeds))]


def rendered_links(directory):
    """(page, link) of the kind `rendered`."""
    result = run([RAGNO, "export", directory, "links"])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return {(row[0], row[1]) for row in rows if len(row) > 5 and row[5] == "rendered"}


def check_crawl(report, name, site, directory, result, pages):
    asked = collections.Counter(site.asked)
    report.equal(f"{name}: the crawl ends", result.returncode, 0)
    wanted = {place for place in pages if place != (CDN, "/private/secret.json")}
    report.same_set(f"{name}: every page of all hosts is fetched, good ones first, between and last",
                    {place for place in asked if place in wanted}, wanted)
    twice = {place: n for place, n in asked.items() if n > 1}
    report.equal(f"{name}: nothing is asked for twice, whatever pages share it", twice, {})
    report.equal(f"{name}: what robots.txt forbids is not", asked[(CDN, "/private/secret.json")], 0)
    expected = {(f"http://{host}/page{n}", f"http://{host}/made/{n}/{x}") for host in APPS
                for n in range(PAGES_OF_APP) for x in "ab"}
    expected |= {(f"http://{host}/page{n}", f"http://{host}/page{n + 1}") for host in APPS
                 for n in range(PAGES_OF_APP - 1)}
    report.same_set(f"{name}: links that scripts make are links of their pages", rendered_links(directory), expected)
    audit = run([RAGNO, "audit", directory])
    report.check(f"{name}: no breach", "no breach" in audit.stdout, audit.stdout[-600:])
    verify = run([RAGNO, "verify", directory])
    report.check(f"{name}: archive and database agree", verify.returncode == 0, verify.stdout)


def automatic(report, path):
    """Pages that need a browser are rendered, what they lack is fetched once, and their links are followed."""
    if BROWSER is None:
        return report.skip("automatic", "chromium is not installed: make deps-render")
    pages = app_pages()
    for order in (True, False):
        directory = os.path.join(path, f"crawl{order}")
        with CrossSite(pages) as site:
            result = crawl(site, directory, seeds_of(order), "-s", "render.mode=auto", *USER, "-s", "scope.domains=" +
                           ",".join(APPS + GOOD))
        check_crawl(report, f"good {'first' if order else 'last'}", site, directory, result, pages)
        with open(f"{directory}/crawl.log", encoding="ascii") as file:
            shared = [line.split() for line in file if f"http://{CDN}/shared.js" in line]
        report.check("a requisite is in crawl.log as what a page embeds",
                     len(shared) == 1 and shared[0][4].endswith("E") and "/page" in shared[0][5], shared)


def texts_of(directory, again=False):
    """URL -> text, as it is exported; the last one, if pages were rendered again."""
    result = run([RAGNO, "export", directory, "text"])
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert again or len({row["url"] for row in rows}) == len(rows), "a text came twice"
    return {row["url"]: row["text"] for row in rows}


def words_of(texts):
    """Which of two answers comes first is nobody's promise: the words, in no order."""
    return {url: sorted(text.split()) for url, text in texts.items()}


def told(report, path):
    """Texts are those of documents, in place of the empty pages; why and report tell of them; WACZ has both."""
    if BROWSER is None:
        return report.skip("told", "chromium is not installed: make deps-render")
    directory, host = os.path.join(path, "crawl"), APPS[0]
    pages = {place: page for place, page in app_pages().items() if place[0] in (host, CDN, GOOD[0])}
    with CrossSite(pages) as site:
        crawl(site, directory, [f"http://{host}/page0", f"http://{GOOD[0]}/page0"], "-s", "render.mode=auto", *USER,
              "-s", f"scope.domains={host},{GOOD[0]}")
    texts = texts_of(directory)
    words = sorted(texts.get(f"http://{host}/page2", "").split())
    report.equal("the text of a document", words, ["onwards", "withheld", "wordaof2", "wordbof2"])
    report.check("the text of a page that needs none", texts.get(f"http://{GOOD[0]}/page1", "").startswith("good text"),
                 texts.get(f"http://{GOOD[0]}/page1"))
    only = run([RAGNO, "export", directory, "text", "--url", f"http://{host}/page2"]).stdout.splitlines()
    report.equal("the same of one URL", [json.loads(line)["text"] for line in only], [texts[f"http://{host}/page2"]])
    why = run([RAGNO, "why", directory, f"http://{host}/page2"]).stdout
    report.check("why tells of it", re.search(r"A browser has rendered it in \d rounds, which brought 3 links", why), why)
    report.check("and of the verdict", "needed a browser: empty mount point, no text, few links." in why, why)
    told_of = run([RAGNO, "report", directory]).stdout
    report.check("and report", re.search(rf"(?m)^  rendered +{PAGES_OF_APP}$", told_of), told_of)
    wacz = os.path.join(path, "crawl.wacz")
    made = run([RAGNO, "export", directory, "wacz", "--text", "-o", wacz])
    if report.equal("a WACZ file is made", made.returncode, 0):
        with zipfile.ZipFile(wacz) as file:
            name = next(name for name in file.namelist() if name.endswith("pages.jsonl"))
            rows = [json.loads(line) for line in file.read(name).decode().splitlines()]
        found = {row["url"]: row.get("text") for row in rows if "url" in row}
        report.equal("with the text of the document", found.get(f"http://{host}/page2"), texts[f"http://{host}/page2"])


def kill_browsers(folder, sessions):
    for pid in browsers_of(folder, sessions):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def killed(report, path):
    """However often ragno or a browser is killed: the pages, links and texts of a crawl that nobody disturbed."""
    if BROWSER is None:
        return report.skip("killed", "chromium is not installed: make deps-render")
    harness.unlogged("ragno is killed")
    times = 50 if os.environ.get("FULL") else 8
    pages, dice, found, sessions = app_pages(), random.Random(29), {}, set()
    temporary = tempfile.mkdtemp(prefix="ragno-test-", dir="/tmp")  # where the browser's user may go
    os.chmod(temporary, 0o1777)
    for name, kills in (("undisturbed", 0), ("killed", times)):
        directory = os.path.join(path, name)
        with CrossSite(pages) as site:
            command = [RAGNO, "-d", directory, "-w", "30ms", "--ip-wait", "0", "--progress=never", "-s",
                       f"fetch.port_map=80:{site.server.port}", "-s", "fetch.allow_addresses=127.0.0.0/8", "-s",
                       "render.mode=auto", *USER, "-s", "scope.domains=" + ",".join(APPS + GOOD), *seeds_of(True)]
            status, done = None, 0
            while status != 0:
                process = subprocess.Popen(command, env={**os.environ, "TMPDIR": temporary}, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                while done < kills and process.poll() is None:
                    time.sleep(dice.uniform(0.05, 0.5 if harness.FULL else 1.2))  # fifty before a fast machine has ended
                    done += 1
                    if done % 2:
                        kill_browsers(temporary, sessions)
                    else:
                        process.kill()
                        break
                status = process.wait(240)
                if status > 0:
                    break
        print(f"   {name}: {done} kills, every other one of ragno, the others of all browsers")
        report.equal(f"{name}: it ends", (status, done >= min(kills, 40 if harness.FULL else 3)), (0, True))
        verify = run([RAGNO, "verify", directory])
        report.check(f"{name}: archive and database agree", verify.returncode == 0, verify.stdout)
        known = {line.split("\t")[2] for line in run([RAGNO, "db", directory, "dump"]).stdout.splitlines()}
        found[name] = (known, rendered_links(directory), words_of(texts_of(directory)))
    harness.until(lambda: not browsers_of(temporary, sessions))
    shutil.rmtree(temporary, ignore_errors=True)
    for what, expected, other in zip(("pages", "links", "texts"), found["undisturbed"], found["killed"]):
        report.equal(f"the same {what}: {len(expected)}", other, expected)


class Watched:
    """A crawl of PAGES whose browsers are watched: pids of all that there were, the most pages that one had at once."""

    def __init__(self, directory, pages, seeds, *options, kill_every=0):
        temporary = tempfile.mkdtemp(prefix="ragno-test-", dir="/tmp")  # where the browser's user may go
        os.chmod(temporary, 0o1777)
        self.pids, self.killed, self.most_pages = set(), set(), 0
        with CrossSite(pages) as site:
            command = [RAGNO, "-d", directory, "-w", "20ms", "--ip-wait", "0", "--progress=never", "-s",
                       f"fetch.port_map=80:{site.server.port}", "-s", "fetch.allow_addresses=127.0.0.0/8", *USER, *options, *seeds]
            process = subprocess.Popen(command, env={**os.environ, "TMPDIR": temporary}, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            while process.poll() is None:
                time.sleep(0.05)
                self.look(temporary, kill_every)
            self.status, self.asked = process.returncode, list(site.asked)
        harness.until(lambda: not browsers_of(temporary, self.pids))
        shutil.rmtree(temporary, ignore_errors=True)
        with open(f"{directory}/ragno.log", encoding="utf-8") as file:
            lines = list(file)
        self.blamed = [line for line in lines if "a page ended its browser" in line]
        self.unsure = [line for line in lines if "a browser ended with several pages" in line]

    def look(self, temporary, kill_every):
        """Kills each browser that has kill_every pages at once."""
        pages = collections.Counter()
        for leader, words in browsers_of(temporary, self.pids).values():
            pages[leader] += b"--type=renderer" in words
        for leader, n in pages.items():
            self.most_pages = max(self.most_pages, n)
            if kill_every and n >= kill_every and len(self.killed) < 4 and leader not in self.killed:
                self.killed.add(leader)
                os.kill(leader, signal.SIGKILL)


def tabs(report, path):
    """render.tabs pages share a browser. Its end costs each of them a try and no more; a page that spins or swells ends with
    its tab, and the others stay."""
    if BROWSER is None:
        return report.skip("tabs", "chromium is not installed: make deps-render")
    hosts = APPS[:3]
    pages = {place: page for place, page in app_pages().items() if place[0] in (CDN, *hosts)}
    seeds = [f"http://{host}/page0" for host in hosts]
    options = ("-s", "render.mode=auto", "-s", "render.tabs=4", "-s", "scope.domains=" + ",".join(hosts))
    expected = {(f"http://{host}/page{n}", f"http://{host}/made/{n}/{x}") for host in hosts
                for n in range(PAGES_OF_APP) for x in "ab"}
    expected |= {(f"http://{host}/page{n}", f"http://{host}/page{n + 1}") for host in hosts for n in range(PAGES_OF_APP - 1)}
    for name, kill_every in (("undisturbed", 0), ("killed", 2)):
        directory = os.path.join(path, name)
        seen = Watched(directory, pages, seeds, *options, kill_every=kill_every)
        report.equal(f"{name}: the crawl ends", seen.status, 0)
        report.equal(f"{name}: nothing is asked for twice", [p for p, n in collections.Counter(seen.asked).items() if n > 1], [])
        report.same_set(f"{name}: links that scripts make", rendered_links(directory), expected)
        told_of = run([RAGNO, "report", directory, "--json"]).stdout
        failed = json.loads(told_of)["renders"]["failed"]
        report.equal(f"{name}: no page has failed", failed, 0)
        report.check(f"{name}: several pages were in one browser at once", 2 <= seen.most_pages <= 4, seen.most_pages)
        if kill_every:
            report.check("a browser was killed beside its pages", seen.killed and len(seen.pids) > len(seen.killed),
                         (seen.pids, seen.killed))
            report.check("each page that was in it is rendered once more, alone",
                         seen.unsure and not seen.blamed, (seen.unsure, seen.blamed))
        else:
            report.equal("one browser was enough", len(seen.pids), 1)
    bad = "127.9.8.30"
    pages.update({(bad, f"/bad{n}"): ("text/html", f"<!-- {name} -->{HOSTILE[name][0]}")
                  for n, name in enumerate(("an endless loop", "memory without end", "a regular expression", "promises without end"))})
    directory = os.path.join(path, "hostile")
    seen = Watched(directory, pages, [f"http://{bad}/bad{n}" for n in range(4)] + seeds, *options, "-s",
                   "render.always=/bad*", "-s", "render.cpu_time=2s", "-s", "render.memory=400Mi")
    report.equal("hostile: the crawl ends", seen.status, 0)
    report.same_set("hostile: links that scripts make", rendered_links(directory), expected)
    report.equal("hostile: pages that were stopped have ended no browser", len(seen.pids), 1)
    report.check("hostile: and are to blame themselves", not seen.unsure and all(bad in line for line in seen.blamed),
                 (seen.unsure, seen.blamed))


def offline(report, path):
    """ragno render: what a stopped crawl has is rendered without asking anybody; what is lacking comes when the crawl
    goes on."""
    if BROWSER is None:
        return report.skip("offline", "chromium is not installed: make deps-render")
    host, directory = APPS[0], os.path.join(path, "crawl")
    names = {f"/{name}" for n in (4, 5) for name in (f"page{n}", f"own{n}.js", f"made/{n}/a", f"made/{n}/b")}
    pages = {place: page for place, page in app_pages().items()
             if place[0] == CDN or place[0] == GOOD[0] or (place[0] == host and place[1] in names)}
    seeds = [f"http://{GOOD[0]}/page0", f"http://{host}/page4"]
    scope = ["-s", f"scope.domains={host},{GOOD[0]}"]
    missing = run([RAGNO, "render", os.path.join(path, "nothing")])
    report.check("no crawl: it says so", missing.returncode == 3 and "no crawl" in missing.stderr, missing.stderr)
    with CrossSite(pages) as site:
        crawl(site, directory, seeds, *scope)
        found = run([RAGNO, "render", directory, *USER, "--where", "HostEquals(none.test)"])
        report.check("--where chooses", found.returncode == 0 and "0 new jobs" in found.stderr, found.stderr)
        asked = None
        while asked != len(site.asked):
            asked = len(site.asked)
            result = run([RAGNO, "render", directory, *USER], 120)
            if not report.check("it renders, and asks nobody", (result.returncode, len(site.asked)) == (0, asked),
                                result.stderr):
                break
            crawl(site, directory, [], *scope)
        wanted = {place for place in pages if place != (CDN, "/private/secret.json")}
        report.same_set("in the end every page was fetched", {place for place in site.asked if place in wanted}, wanted)
        report.equal("nothing twice", [p for p, n in collections.Counter(site.asked).items() if n > 1], [])
    expected = {(f"http://{host}/page{n}", f"http://{host}/made/{n}/{x}") for n in (4, 5) for x in "ab"}
    expected.add((f"http://{host}/page4", f"http://{host}/page5"))
    report.same_set("the links of documents", rendered_links(directory), expected)
    texts = words_of(texts_of(directory))
    counted = ("links", "unanswered", "refused", "done")
    once = json.loads(run([RAGNO, "report", directory, "--json"]).stdout)["renders"]
    report.equal("the report counts their links", once["links"], len(expected))
    again = run([RAGNO, "render", directory, *USER, "--again"], 120)
    report.check("--again renders all of them", again.returncode == 0 and "2 new jobs" in again.stderr, again.stderr)
    report.equal("and nothing has changed", (rendered_links(directory), words_of(texts_of(directory, True))),
                 (expected, texts))
    twice = json.loads(run([RAGNO, "report", directory, "--json"]).stdout)["renders"]
    report.equal("nor what the report counts", [twice[name] for name in counted], [once[name] for name in counted])
    verify = run([RAGNO, "verify", directory])
    report.check("archive and database agree", verify.returncode == 0, verify.stdout)


def hostile_crawl(report, path):
    """Pages that fight their browser cost themselves a try each and the crawl nothing."""
    if BROWSER is None:
        return report.skip("hostile crawl", "chromium is not installed: make deps-render")
    bad, names = "127.9.8.30", list(HOSTILE) if os.environ.get("FULL") else QUICK
    pages = {place: page for place, page in app_pages().items() if place[0] in (*GOOD, APPS[0], CDN)}
    for n, name in enumerate(names):
        pages[(bad, f"/bad{n}")] = ("text/html", HOSTILE[name][0])
    seeds = [f"http://{GOOD[0]}/page0", *(f"http://{bad}/bad{n}" for n in range(len(names))),
             f"http://{APPS[0]}/page0", f"http://{GOOD[1]}/page0", f"http://{GOOD[2]}/page0"]
    directory = os.path.join(path, "crawl")
    with CrossSite(pages) as site:
        result = crawl(site, directory, seeds, *USER, "-s", "render.mode=always", "-s", "render.cpu_time=1s", "-s",
                       "render.timeout=8s", "-s", "render.memory=600Mi", "-s",
                       "render.most_requisites=20", "-s", "render.processes=2", "-s",
                       "scope.domains=" + ",".join((*GOOD, APPS[0], bad)))
        report.equal("the crawl ends", result.returncode, 0)
        good = {place for place in pages if place[0] in GOOD}
        report.same_set("no good page is lost", {place for place in site.asked if place in good}, good)
    texts = texts_of(directory)
    wanted = {f"http://{host}{place}" for host, place in good} | {f"http://{APPS[0]}/page{n}" for n in range(PAGES_OF_APP)}
    report.equal("nor is the document of one", sorted(url for url in wanted if not re.search(
        "good text|word[ab]of", texts.get(url, ""))), [])
    told_of = run([RAGNO, "report", directory]).stdout
    facts = dict(re.findall(r"(?m)^  (rendered|of which no document came|that wait for a browser) +(\d+)$", told_of))
    n_good = len([place for place in pages if place[1].startswith(("/page", "/made", "/bad"))])
    report.check("every page was rendered, or is known to have failed",
                 int(facts["rendered"]) + int(facts["of which no document came"]) >= n_good and
                 facts["that wait for a browser"] == "0", told_of)
    audit = run([RAGNO, "audit", directory])
    report.check("no breach", "no breach" in audit.stdout, audit.stdout[-600:])
    verify = run([RAGNO, "verify", directory])
    report.check("archive and database agree", verify.returncode == 0, verify.stdout)


def chosen(report, path):
    """[site] sections, the share, and what was learned say which pages are rendered."""
    if BROWSER is None:
        return report.skip("chosen", "chromium is not installed: make deps-render")
    host, other, dull = "127.9.8.1", "127.9.8.2", "127.9.8.3"
    shell = "<div id=root></div><script>document.getElementById('root').innerHTML='<a href=/made>made</a>'</script>"
    empty = "<div id=root></div><script>1</script>"
    pages = {(host, "/"): ("text/html", shell), (other, "/"): ("text/html", f"<p>{'words ' * 600}{shell}"),
             (host, "/made"): ("text/html", "made"), (other, "/made"): ("text/html", "made")}
    for n in range(20):
        pages[(dull, f"/dull{n}")] = ("text/html", empty)
    seeds = [f"http://{host}/", f"http://{other}/"]

    def rendered(name, parts, *options):
        directory = os.path.join(path, name)
        with Site(pages) as site:
            for more in parts:
                crawl(site, directory, seeds + more, *USER, *options)
            rows = run([RAGNO, "report", directory, "--json"]).stdout
            return {h for h, p in site.asked if p == "/made"}, json.loads(rows)["renders"]
    # When the second ten come, what the first taught is known, however slow the machine is.
    tens = [[f"http://{dull}/dull{n}" for n in range(first, first + 10)] for first in (0, 10)]
    made, counts = rendered("auto", tens, "-s", "render.mode=auto")
    report.equal("auto: a page without text, not one with much", made, {host})
    report.check("learned: where eight renderings brought nothing, the others are passed by",
                 8 <= counts["done"] - 1 <= 10 and counts["done"] - 1 + counts["passed"] == 20, counts)
    settings = os.path.join(path, "sites.ini")
    with open(settings, "w", encoding="ascii") as file:
        file.write(f'[render]\nmode = auto\n[site "{host}"]\nmode = off\n[site "{other}"]\nmode = always\n')
    made, counts = rendered("sites", tens[:1], "-c", settings)
    report.equal("sites: never and always", made, {other})


def guessed(report, path):
    """What pages like it have asked for is fetched before a browser sees a page: it is rendered once. A guess that is
    not used any more is given up, and a query that changes nothing is not rendered again."""
    if BROWSER is None:
        return report.skip("guessed", "chromium is not installed: make deps-render")
    good, fickle, items = "127.9.8.1", "127.9.8.2", 60
    script = """const root = document.getElementById('root'), n = Number((location.pathname.match(/item.(\\d+)/) || [])[1]);
const link = (a, t) => root.insertAdjacentHTML('beforeend', `<a href="${a}">${t}</a> `);
if (!n) for (let i = 1; i <= %d; i++) link('/item/' + i, 'item' + i);
else if (n > %d) root.append('plain' + n);
else fetch(`/api/${n}.json`).then(r => r.json()).then(t => {
  root.append(t); if (n <= 30) link('?id=' + n, 'here'); if (n < %d) link('/item/' + (n + 1), 'next') });"""
    pages = {}
    # A good page leads to the next: whoever finds it knows what was learned of the one before, however late that is.
    for host, listed, most in ((good, 1, items), (fickle, items, 4)):
        shell = f"<!-- {host} --><div id=root></div><script src=/app.js></script>"
        pages |= {(host, "/"): ("text/html", shell), (host, "/app.js"): ("text/javascript", script % (listed, most, most))}
        for n in range(1, items + 1):
            pages[(host, f"/item/{n}")] = pages[(host, f"/item/{n}?id={n}")] = ("text/html", shell)
            pages[(host, f"/api/{n}.json")] = ("application/json", f'"data{n}"')
    for host in (good, fickle):
        directory = os.path.join(path, host)
        with Site(pages) as site:
            result = crawl(site, directory, [f"http://{host}/"], *USER, "-s", "render.mode=auto", "-s", "render.share=100",
                           "-s", "scope.depth=1000")
        report.equal(f"{host}: the crawl ends", result.returncode, 0)
        report.equal(f"{host}: nothing is asked for twice",
                     [place for place, n in collections.Counter(site.asked).items() if n > 1], [])
        renders = json.loads(run([RAGNO, "report", directory, "--json"]).stdout)["renders"]
        texts, asked = texts_of(directory), [p for _, p in site.asked if p.startswith("/api/")]
        expected = "data" if host == good else "plain"
        report.equal(f"{host}: every document is whole",
                     [n for n in range(31, items + 1) if not texts.get(f"http://{host}/item/{n}", "").startswith(f"{expected}{n}")], [])
        if host == good:
            report.check("a page is rendered once", renders["rounds"] < 1.35 * renders["done"], renders)
            report.check("queries that change nothing", renders["passed"] >= 8, renders)
        else:
            report.check("what was guessed in vain is bounded", 4 <= len(asked) <= 4 + 30, len(asked))


def pictures_of(directory):
    """urn:view:URL -> JPEG, of the archive's resource records."""
    found = {}
    for name in sorted(os.listdir(f"{directory}/warc")):
        if name.endswith(".warc.gz"):
            with gzip.open(f"{directory}/warc/{name}") as file:
                for record in file.read().split(b"WARC/1.1\r\n")[1:]:
                    head, _, body = record.partition(b"\r\n\r\n")
                    uri = re.search(rb"WARC-Target-URI: (urn:view:\S+)", head)
                    if uri and b"WARC-Type: resource" in head and b"Content-Type: image/jpeg" in head:
                        found[uri[1].decode()] = body[:-4]
    return found


def jpeg_size(picture):
    """(width, height) of its frame header."""
    at = picture.index(b"\xff\xc0") + 5
    return int.from_bytes(picture[at + 2:at + 4], "big"), int.from_bytes(picture[at:at + 2], "big")


def pictures(report, path):
    """render.screenshot: how a page looks, with its pictures, which are asked for as other requisites are."""
    if BROWSER is None:
        return report.skip("pictures", "chromium is not installed: make deps-render")
    shell = ("<div id=root></div><script>document.getElementById('root').innerHTML="
             "'<h1>%s</h1><img src=http://" + CDN + "/%s.svg width=900 height=700>'</script>")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="7"><rect width="9" height="7" fill="%s"/></svg>'
    pages = {(APPS[i], "/"): ("text/html", shell % (APPS[i], ("red", "red", "blue")[i])) for i in range(3)}
    pages |= {(CDN, f"/{colour}.svg"): ("image/svg+xml", svg % colour) for colour in ("red", "blue")}
    for name, options, asked in (("no", (), set()), ("jpeg", ("-s", "render.screenshot=jpeg"), {"/red.svg", "/blue.svg"})):
        directory = os.path.join(path, name)
        with Site(pages) as site:
            result = crawl(site, directory, [f"http://{host}/" for host in APPS[:3]], *USER, "-s", "render.mode=auto",
                           *options)
            report.equal(f"{name}: the crawl ends", result.returncode, 0)
            report.equal(f"{name}: pictures that the server was asked for, each once",
                         sorted(p for h, p in site.asked if h == CDN and p != "/robots.txt"), sorted(asked))
        found = pictures_of(directory)
        wanted = {f"urn:view:http://{host}/" for host in APPS[:3]} if asked else set()
        report.equal(f"{name}: pictures in the archive", set(found), wanted)
        verify = run([RAGNO, "verify", directory])
        report.check(f"{name}: archive and database agree", verify.returncode == 0, verify.stdout)
    report.check("they are JPEG of the window's size", all(p[:2] == b"\xff\xd8" and p[-2:] == b"\xff\xd9" and
                 jpeg_size(p)[0] == 1280 for p in found.values()), {u: (len(p), p[:4], p[-4:]) for u, p in found.items()})
    report.check("and differ by what is seen", len(set(found.values())) == 3, [len(p) for p in found.values()])
    if os.environ.get("KEEP"):
        for n, picture in enumerate(found.values()):
            with open(f"{path}/seen{n}.jpg", "wb") as file:
                file.write(picture)


def known(report, path):
    """A page is rendered with the cookies that its host had set by then, an answer stands for one whose query differs in
    a clock; a picture of it leaves its document as it is."""
    if BROWSER is None:
        return report.skip("known", "chromium is not installed: make deps-render")
    host, directory = "127.9.8.1", os.path.join(path, "crawl")
    red = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9' fill='red'/></svg>"
    script = ("fetch('/data.json?_=' + Date.now()).then(r => r.text()).then(t => { document.getElementById('root').innerHTML ="
              " '<p>' + document.cookie + ' ' + t + '<img src=/red.svg>' })")
    pages = {"/": ("text/html", f"<p>{'words ' * 600}<a href=/app>app</a><a href='/data.json?_=1234567890123'>data</a>"),
             "/app": ("text/html", "<div id=root></div><script src=/app.js></script>"),
             "/app.js": ("text/javascript", script), "/data.json": ("text/plain", "dataword"),
             "/red.svg": ("image/svg+xml", red)}
    asked = []

    def answer(_, place):
        asked.append(place)
        kind, text = pages.get(place.split("?")[0], (None, ""))
        cookie = {"Set-Cookie": "jar=kept; Path=/"} if place == "/" else {}
        return (404, {}, b"not here") if kind is None else (200, {"Content-Type": kind, **cookie}, text.encode())
    with Site({}) as site:
        site.server.__exit__()
        site.server = type(site.server)(answer)
        result = crawl(site, directory, [f"http://{host}/"], "-s", "render.mode=auto", "-s", "render.screenshot=jpeg", "-s",
                       "fetch.cookies=yes", "-s", "warc.mask_secrets=no", *USER)
    report.equal("the crawl ends", result.returncode, 0)
    text = texts_of(directory).get(f"http://{host}/app", "")
    report.equal("the cookie of an earlier page, and the answer of another clock", text.split(), ["jar=kept", "dataword"])
    report.equal("which was asked for once", [p for p in asked if p.startswith("/data")], ["/data.json?_=1234567890123"])
    renders = json.loads(run([RAGNO, "report", directory, "--json"]).stdout)["renders"]
    report.check("and is counted", renders["near"] > 0, renders)
    report.check("what the page shows is fetched", "/red.svg" in asked, asked)
    report.equal("one picture of it is in the archive", list(pictures_of(directory)), [f"urn:view:http://{host}/app"])
    verify = run([RAGNO, "verify", directory])
    report.check("archive and database agree", verify.returncode == 0, verify.stdout)


def agents(report, path):
    """In a cluster the agent that fetched a page renders it; what belongs to another agent's host is handed over as a
    link is, and refused in the page by name. Each URL is fetched once by all of them together."""
    if BROWSER is None or shutil.which("nats-server") is None:
        return report.skip("agents", "chromium or nats-server is not installed")
    own = ("{ const here = '%s'; for (const n of 'ab') { const a = document.createElement('a'); a.href = '/made/' + here + n;"
           "a.textContent = 'word' + n; document.getElementById('root').append(a, ' ') } }")
    shell = "<!doctype html><div id=root></div>"
    others = [f"127.9.8.{n}" for n in range(20, 26)]
    pages = {}
    for n, host in enumerate(others):
        pages[(host, "/shared.js")] = ("text/javascript", own % f"shared{n}")
        pages[(host, "/")] = ("text/html", f"nothing {host}")
    made = [f"{name}{letter}" for name in ("own", *(f"shared{n}" for n in range(len(others)))) for letter in "ab"]
    for host in APPS:
        pages[(host, "/")] = ("text/html", f"{shell}<script src=/own.js></script>")
        pages[(host, "/own.js")] = ("text/javascript", own % "own" + ";document.getElementById('root').insertAdjacentHTML("
                                    "'beforeend', '<a href=/cross>cross</a>')")
        pages[(host, "/cross")] = ("text/html", shell + "".join(f"<script src=http://{n}/shared.js></script>" for n in others))
        for name in made:
            pages[(host, f"/made/{name}")] = ("text/html", f"<p>{'plain text ' * 50}")
    with CrossSite(pages) as site, Nats(path) as nats:
        made = run([RAGNO, "cluster", "init", "--agents", "2", "--url", nats.url(), "--name", "r"])
        report.equal("a cluster is made", (made.returncode, made.stderr), (0, ""))
        directories = [os.path.join(path, f"agent{n}") for n in range(2)]
        seeds = [f"http://{host}/" for host in (*APPS, *others)]
        processes = [subprocess.Popen(
            [RAGNO, "-d", directory, "-q", "-w", "0", "--ip-wait", "0", "-s", f"fetch.port_map=80:{site.server.port}",
             "-s", "fetch.allow_addresses=127.0.0.0/8", "-s", f"cluster.url={nats.url()}", "-s", "cluster.name=r", "-s",
             "cluster.lease=2s", "-s", "render.mode=auto", "-s", "scope.domains=" + ",".join((*APPS, *others)), *USER, *seeds],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for directory in directories]
        report.equal("both end", [harness.ended(process, 200) for process in processes], [0, 0])
    asked = collections.Counter(site.asked)
    report.equal("nothing is asked for twice", {place: n for place, n in asked.items() if n > 1}, {})
    own_pages = {place for place in pages if not place[1].startswith("/made/shared")}
    report.same_set("what hosts of one agent need is there", {place for place in asked if place in own_pages}, own_pages)
    links = set().union(*(rendered_links(directory) for directory in directories))
    kinds = collections.Counter()
    for host in APPS:
        page = f"http://{host}/cross"
        says = [json.loads(run([RAGNO, "why", directory, page, "--json"]).stdout).get("render") for directory in directories]
        report.equal(f"{host}: one agent rendered it", sum(1 for render in says if render), 1)
        directory = next(directory for directory, render in zip(directories, says) if render)
        denied = {line for line in document_of(directory, page)["rendered-refused"] if line.startswith("denied ")}
        there = {n for n in range(len(others)) if (page, f"http://{host}/made/shared{n}a") in links}
        report.equal(f"{host}: scripts of hosts of its agent have run, those of the other's are refused by name",
                     denied, {f"denied http://{other}/shared.js" for n, other in enumerate(others) if n not in there})
        kinds += collections.Counter({"run": len(there), "refused": len(denied)})
    report.check("there were some of both", kinds["run"] > 0 and kinds["refused"] > 0, kinds)


def refused(report, path):
    """What it needs is said at the start; without the option no browser is looked for."""
    for name, options, words in (
            ("no archive", ["-s", "render.mode=auto", "-s", "warc.enabled=no"], "warc.enabled"),
            ("no browser", ["-s", "render.mode=auto", "-s", "render.command=/no/browser"], "make deps-render")):
        with Site({}) as site:
            result = crawl(site, os.path.join(path, name.replace(" ", "-")), ["http://127.9.8.1/"], *options)
            report.check(f"{name}: it says so", result.returncode != 0 and words in result.stderr,
                         f"{result.returncode} {result.stderr}")
            report.equal(f"{name}: and nothing is asked for", site.asked, [])
    with Site({("127.9.8.1", "/"): ("text/html", "<div id=root></div><script src=a.js></script>")}) as site:
        directory = os.path.join(path, "off")
        result = crawl(site, directory, ["http://127.9.8.1/"], "-s", "render.command=/no/browser")
        report.equal("off: nothing is rendered", (result.returncode, [p for _, p in site.asked]),
                     (0, ["/robots.txt", "/"]))


if __name__ == "__main__":
    harness.main(automatic, told, killed, tabs, offline, hostile_crawl, chosen, guessed, pictures, known, agents, refused)
