#!/usr/bin/env python3
"""render.mode: which requisites a page may have, which pages are rendered by their paths, and how much of an endless list
is shown. The judge is the server's log. Skipped where chromium is not installed."""
import collections
import ctypes
import gzip
import json
import os
import re
import subprocess
import time

import harness
from harness import OUT, run
from page_server import PageServer
from render import BROWSER, HOSTILE, QUICK, USER, Site, crawl

RAGNO = f"{OUT}/ragno"
HOST, OTHER, CDN = "127.9.10.1", "127.9.10.2", "127.9.10.3"
CROSS = {"Access-Control-Allow-Origin": "*"}
SHELL = "<!doctype html><div id=root></div><script src=%s></script>"


class Answers(Site):
    """A function (host, path) -> (status, header, text), and what was asked for."""

    def __init__(self, answer):
        super().__init__({})
        self.server.__exit__()

        def told(host, path):
            self.asked.append((host, path))
            status, header, text = answer(host, path)
            return status, {**CROSS, **header}, text.encode()
        self.server = PageServer(told)

    def counts(self):
        return collections.Counter(place for place in self.asked if place[1] != "/robots.txt")


def from_pages(pages):
    """pages: (host, path) -> text, whose type its name tells, or a redirect: ">URL"."""
    kinds = {".js": "text/javascript", ".json": "application/json"}

    def answer(host, path):
        text = pages.get((host, path))
        if text is None:
            return 404, {}, "not here"
        if text.startswith(">"):
            return 302, {"Location": text[1:]}, ""
        return 200, {"Content-Type": kinds.get(os.path.splitext(path)[1], "text/html")}, text
    return answer


def text_of(directory, url):
    rows = run([RAGNO, "export", directory, "text", "--url", url]).stdout.splitlines()
    return json.loads(rows[-1])["text"] if rows else None


def document_of(directory, url):
    """What is told of the newest document of a URL, in the archive's metadata record: name -> values."""
    found = collections.defaultdict(list)
    for name in sorted(os.listdir(f"{directory}/warc")):
        if not name.endswith(".warc.gz"):
            continue
        with gzip.open(f"{directory}/warc/{name}") as file:
            for record in file.read().split(b"WARC/1.1\r\n")[1:]:
                head, _, body = record.partition(b"\r\n\r\n")
                uri = re.search(rb"WARC-Target-URI: (\S+)", head)
                if uri and uri[1].decode().endswith(url) and b"WARC-Type: metadata" in head and b"rendered-by" in body:
                    found.clear()
                    for line in body.decode().splitlines():
                        name, _, value = line.partition(": ")
                        found[name].append(value)
    return found


def started(directory, site, seeds, *options):
    return crawl(site, directory, seeds, "-s", "render.mode=auto", "-s", f"scope.domains={HOST}", *USER, *options)


def requisites(report, path):
    """They may live anywhere, or where render.scope says, in so many rounds as render.hops says; their redirects are
    followed, and what robots.txt of their host forbids is refused, by name."""
    if BROWSER is None:
        return report.skip("requisites", "chromium is not installed: make deps-render")
    put = "document.getElementById('root').append('%s ');"
    load = "for (const u of %s) { const s = document.createElement('script'); s.src = u; document.head.append(s) }"
    pages = {(HOST, "/"): SHELL % f"http://{OTHER}/moved.js",
             (OTHER, "/moved.js"): f">http://{CDN}/moved.js", (CDN, "/moved.js"): f">http://{CDN}/one.js",
             (CDN, "/one.js"): put % "one" + load % f"['http://{CDN}/two.js', 'http://{CDN}/private/no.js', '/own1.js']",
             (CDN, "/private/no.js"): put % "forbidden", (CDN, "/robots.txt"): "User-agent: *\nDisallow: /private/\n"}
    names = ["one", "two", "three", "four", "five"]
    for n in range(1, 4):
        pages[(CDN, f"/{names[n]}.js")] = put % names[n] + load % f"['http://{CDN}/{names[n + 1]}.js']"
        pages[(HOST, f"/own{n}.js")] = put % f"own{n}" + load % f"['/own{n + 1}.js']"
    for name, options, words, refused in (
            ("any host, two rounds", (), "one two three own1 own2 own3", {"private/no.js", "four.js"}),
            ("at the end of the depth", ("-s", "scope.depth=0"), "one two three own1 own2 own3", {"private/no.js", "four.js"}),
            ("one round", ("-s", "render.hops=1"), "one two own1 own2 own3", {"private/no.js", "three.js"}),
            ("its own host", ("-s", "render.scope=host"), "", {"moved.js"}),
            ("its own domain", ("-s", "render.scope=domain"), "", {"moved.js"})):
        directory = os.path.join(path, name.replace(" ", "-"))
        with Answers(from_pages(pages)) as site:
            result = started(directory, site, [f"http://{HOST}/"], *options)
        asked = site.counts()
        report.equal(f"{name}: the crawl ends", result.returncode, 0)
        report.equal(f"{name}: nothing is asked for twice", [p for p, n in asked.items() if n > 1], [])
        report.check(f"{name}: nor what robots.txt forbids", asked[(CDN, "/private/no.js")] == 0, asked)
        text = text_of(directory, f"http://{HOST}/") or ""
        report.same_set(f"{name}: scripts that ran", set(text.split()), set(words.split()))
        found = document_of(directory, f"http://{HOST}/")
        told = {line.split(".3/")[-1].split(".2/")[-1] for line in found["rendered-refused"] if line.startswith("denied ")}
        report.same_set(f"{name}: what was refused is named", told, refused)
        if not words:
            report.equal(f"{name}: and elsewhere nothing is asked for", {host for host, _ in asked}, {HOST})
        audit = run([RAGNO, "audit", directory])
        report.check(f"{name}: no breach", "no breach" in audit.stdout, audit.stdout[-600:])


def paths(report, path):
    """render.always and render.never, for all hosts and in [site] sections."""
    if BROWSER is None:
        return report.skip("paths", "chromium is not installed: make deps-render")
    plain, script = "words " * 600, "<script>document.body.append('madeword')</script>"
    pages = {}
    for host in (HOST, OTHER):
        for name in ("/app/1", "/app/2?x=1", "/doc/1", "/doc/2"):
            shown = plain if name.endswith("1") and "?" not in name else "<div id=root></div>"
            pages[(host, name)] = f"<p>{host}{name} {shown}{script}"
    settings = os.path.join(path, "settings.ini")
    with open(settings, "w", encoding="ascii") as file:
        file.write(f'[render]\nmode = auto\nalways = /app/*\nnever = *x=1\n[site "{OTHER}"]\nalways =\nnever = /doc/2 /none/*\n'
                   "mode = always\n")
    directory = os.path.join(path, "crawl")
    with Answers(from_pages(pages)) as site:
        result = crawl(site, directory, [f"http://{host}{name}" for host, name in pages], "-c", settings, *USER)
    report.equal("the crawl ends", result.returncode, 0)
    rendered = {place for place in pages if document_of(directory, f"http://{place[0]}{place[1]}")}
    report.same_set("by their paths", rendered, {(HOST, "/app/1"), (HOST, "/doc/2"), (OTHER, "/app/1"),
                                                 (OTHER, "/app/2?x=1"), (OTHER, "/doc/1")})
    for name in ("always", "never"):
        result = run([RAGNO, "-d", os.path.join(path, "wrong"), "-s", f"render.{name}=app/*", f"http://{HOST}/"])
        report.check(f"a wrong pattern is told: {name}", result.returncode == 2 and f"render.{name}" in result.stderr and
                     "begins with /" in result.stderr, result.stderr)


LIST = """
let at = 0, busy = false; const root = document.getElementById('root'), size = 20;
async function more() {
  if (busy) return; busy = true;
  try {
    const r = await fetch(`/api/list?at=${at}&size=${size}`); if (!r.ok) return;
    for (const n of await r.json()) root.insertAdjacentHTML('beforeend', `<p style="height:90px"><a href="/i/${n}">item${n}</a>`);
    at += size; busy = false } catch (e) { root.append('broken') }
}
%s
"""
SCROLLED = ("more(); addEventListener('scroll', () => { if (scrollY + innerHeight > document.documentElement.scrollHeight - 300) "
            "more() })")
SEEN = ("const end = document.createElement('i'); end.textContent = '.'; document.body.append(end); "
        "new IntersectionObserver(es => { if (es.some(e => e.isIntersecting)) more() }).observe(end)")
TIMED = "more(); setInterval(more, 500)"


def endless(report, path):
    """Of a list without end so much is shown as render.scrolls says, in few rounds, and it is told."""
    if BROWSER is None:
        return report.skip("endless", "chromium is not installed: make deps-render")

    def answer(host, place):
        if match := re.fullmatch(r"/api/list\?at=(\d+)&size=20", place):
            at = int(match[1])
            items = list(range(at, at + 20)) if host != CDN or at < 60 else []
            return 200, {"Content-Type": "application/json"}, json.dumps(items)
        if place == "/list.js":
            how = {HOST: SCROLLED, OTHER: SEEN, CDN: TIMED}[host]
            return 200, {"Content-Type": "text/javascript"}, LIST % how
        return (200, {"Content-Type": "text/html"}, f"<!-- {host} -->" + SHELL % "/list.js") if place == "/" else (404, {}, host)
    for scrolls in (10, 3, 0):
        directory = os.path.join(path, f"crawl{scrolls}")
        with Answers(answer) as site:
            result = crawl(site, directory, [f"http://{host}/" for host in (HOST, OTHER, CDN)], *USER, "-s", "render.mode=auto",
                           "-s", "scope.depth=0", "-s", f"render.scrolls={scrolls}")
        report.equal(f"{scrolls}: the crawl ends", result.returncode, 0)
        asked = site.counts()
        report.equal(f"{scrolls}: nothing is asked for twice", [p for p, n in asked.items() if n > 1], [])
        for host, how in ((HOST, "scrolled"), (OTHER, "in sight"), (CDN, "by a timer")):
            parts = sum(1 for h, p in asked if h == host and p.startswith("/api/"))
            items = len(re.findall(r"item\d+", text_of(directory, f"http://{host}/") or ""))
            told = document_of(directory, f"http://{host}/")
            why = run([RAGNO, "why", directory, f"http://{host}/"]).stdout
            least, most = {10: (10, 24), 3: (4, 10), 0: (1, 4)}[scrolls]
            if host == CDN:
                least = min(least, 3)
            if host == OTHER and not scrolls:
                least = 0  # nobody waits for the frame that would tell the page
            report.check(f"{scrolls}, {how}: bounded, and shown", least <= parts <= most and items >= 20 * (least - 1),
                         (parts, items, told))
            n = int((told["rendered-scrolls"] or ["-1"])[0])
            report.check(f"{scrolls}, {how}: it is told how often", 0 <= n <= scrolls and (n > 0 or host == CDN or not scrolls),
                         told)
            report.check(f"{scrolls}, {how}: why tells it", re.search(r"has\s+rendered it in \d rounds", why), why)


PLAINS = [f"127.9.11.{n}" for n in range(1, 4)]  # good hosts: first, between and last
GOODS = [f"127.9.11.{n}" for n in range(11, 14)]  # the same whose pages need a browser
BAD = "127.9.12."
N_PLAIN, N_GOOD, N_MANY = (300, 60, 300) if harness.FULL else (100, 15, 15)
STEP = """
const n = Number(location.pathname.slice(5)), root = document.getElementById('root');
fetch(`/part${n}.json`).then(r => r.json()).then(t => root.insertAdjacentHTML('beforeend',
  `<h1>${t}</h1><a href="/page${n + 1}">next</a>`));
"""


def good_answer(host, place):
    """Each page leads to the next; those of GOODS only by script."""
    number = re.search(r"(\d+)(\.json)?$", place)
    n = int(number[1]) if number else -1
    if host in PLAINS and 0 <= n < N_PLAIN:
        return 200, {"Content-Type": "text/html"}, f"<p>{host} {n} {'good text ' * 60}<a href=/page{n + 1}>next</a>"
    if host in GOODS and place == "/step.js":
        return 200, {"Content-Type": "text/javascript"}, f"// {host}" + STEP
    if host in GOODS and place == f"/part{n}.json":
        return 200, {"Content-Type": "application/json"}, f'"good words {n}"'
    if host in GOODS and 0 <= n < N_MANY:
        return 200, {"Content-Type": "text/html"}, f"<!-- {host} {n} -->" + SHELL % "/step.js"
    return 404, {}, "not here"


class Sessions:
    """CPU time of a crawler and its browsers, each the leader of a session. What a browser leaves when it ends becomes this
    process's child and stays, so that its time is not lost."""

    def __init__(self):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        self.leaders = set()

    def cpu_s(self, crawler):
        ticks = {}
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            ticks[pid] = int(fields[3]), sum(map(int, fields[11:15]))
            if (int(fields[1]), int(fields[3])) == (crawler, pid):
                self.leaders.add(pid)
        return sum(n for pid, (leader, n) in ticks.items() if pid == crawler or leader in self.leaders) / os.sysconf("SC_CLK_TCK")


def turns_of(directory):
    """(URL, CPU seconds) of each page that a browser has had, by the crawl's log."""
    urls = {row[1]: row[2] for row in (line.split("\t") for line in run([RAGNO, "db", directory, "dump"]).stdout.splitlines())}
    with open(f"{directory}/ragno.log", encoding="utf-8") as file:
        return [(urls[page], int(ms) / 1000) for page, ms in re.findall(r"render: turn .*page=(\d+) .*took_ms=(\d+)", file.read())]


def beside(report, path):
    """What a catalogue of hostile pages, which look as much in need of a browser as good ones, costs good ones: plain pages
    and pages that only a browser leads to; good hosts first, between and last among the seeds. The server's clock says when
    the last good page was fetched; on a busy machine CPU time says more: what hostile pages took of all until then."""
    if BROWSER is None:
        return report.skip("beside", "chromium is not installed: make deps-render")
    names = list(HOSTILE) if harness.FULL else QUICK

    def answer(host, place):
        if host.startswith(BAD) and (match := re.match(r"/bad(\d+)", place)):
            return 200, {"Content-Type": "text/html"}, (f"<!-- {place} --><div id=root></div><script>0</script>"
                                                        f"{HOSTILE[names[int(match[1])]][0]}")
        return good_answer(host, place)

    def told(name, seeds, n_good=N_GOOD):
        """CPU seconds of hostile pages and of good ones until the last good page of each kind was asked for; of all that ran."""
        directory, took, began, spent_s = os.path.join(path, name.replace(" ", "-")), {}, time.monotonic(), 0
        kinds, sessions = {"plain": (PLAINS, N_PLAIN), "rendered": (GOODS, n_good)}, Sessions()
        with Answers(answer) as site:
            process = subprocess.Popen(
                [RAGNO, "-d", directory, "-q", "-w", "20ms", "--ip-wait", "0", "-s",
                 f"fetch.port_map=80:{site.server.port}", "-s", "fetch.allow_addresses=127.0.0.0/8", "-s", "render.mode=auto",
                 "-s", "render.share=100", "-s", "scope.depth=100000", "-s", "log.level=debug", *USER, *seeds],
                stdin=subprocess.DEVNULL)
            while len(took) < 2 and time.monotonic() < began + (2400 if harness.FULL else 400) and process.poll() is None:
                time.sleep(0.2)  # a look goes through all processes
                asked, spent_s = set(site.asked), sessions.cpu_s(process.pid)
                for kind, (hosts, n) in kinds.items():
                    if kind not in took and all((host, f"/page{n - 1}") in asked for host in hosts):
                        took[kind] = time.monotonic() - began
            process.terminate()
            harness.ended(process, 60)
        lost = {(host, f"/page{i}") for hosts, n in kinds.values() for host in hosts for i in range(n)} - set(site.asked)
        report.check(f"{name}: no good page is lost", not lost, (took, sorted(lost)[:5]))
        turns = turns_of(directory)
        bad_s = sum(s for url, s in turns if BAD in url)
        good_s = sum(s for url, s in turns if BAD not in url)
        report.check(f"{name}: what ragno tells of its browsers is what the kernel does", 0.6 * spent_s < bad_s + good_s < 1.1 * spent_s,
                     (bad_s, good_s, spent_s))
        print(f"   {name}: {bad_s:.1f} s of hostile pages, {good_s:.1f} s of good ones, {spent_s:.1f} s of all: "
              f"{bad_s / spent_s:.3f} lost; " + ", ".join(f"{kind} {at:.1f} s" for kind, at in took.items()))
        return bad_s, good_s, spent_s
    good = [f"http://{host}/page0" for host in PLAINS + GOODS]
    bad = {"one host": [f"http://{BAD}1/bad{n}" for n in range(len(names))],
           "a host each": [f"http://{BAD}{n + 1}/bad{n}" for n in range(len(names))]}
    harness.unlogged("the crawls are stopped when the good pages are there")
    for how in ("one host", "a host each") if harness.FULL else ("one host",):
        some, half = bad[how], len(names) // 2
        for where, seeds in (("first", [*good, *some]), ("last", [*some, *good]), ("between", [*some[:half], *good, *some[half:]])):
            bad_s, good_s, _ = told(f"{how}, good ones {where}", seeds)
            # A host of which nothing is known has a look, as long as pages take that settle; behind one that was stopped a
            # tab is made anew. Where good hosts come first, hostile ones wait as soon as one look came to nothing.
            looks = len(some) if how == "a host each" and where != "first" else 8
            page_s = good_s / (len(GOODS) * N_GOOD)
            report.check(f"{how}, good ones {where}: hostile hosts have a look before they are there",
                         bad_s < 0.3 * good_s + 3 * page_s * looks, (bad_s, good_s, page_s))
    if harness.FULL:  # as many good pages as cost as much as those of the bed (tests/bench/render_bed.py)
        bad_s, _, spent_s = told("many behind hostile hosts", [*bad["a host each"], *good], N_MANY)
        report.check(f"{N_MANY * len(GOODS)} good pages lose less than a tenth", bad_s < 0.1 * spent_s, (bad_s, spent_s))


if __name__ == "__main__":
    harness.main(requisites, paths, endless, beside)
