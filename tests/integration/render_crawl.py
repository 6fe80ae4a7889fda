#!/usr/bin/env python3
"""render.mode: a crawl renders the pages that need a browser, fetches what they lack as politely as anything else, and
follows the links that only scripts make. The judge is the server's log. Skipped where chromium is not installed."""
import collections
import os
import re
import subprocess

import harness
from harness import OUT, run
from render import BROWSER, USER, Site, crawl

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
}).catch(e => root.append('unloaded'));
fetch('http://%s/private/secret.json').then(() => root.append('leaked')).catch(() => root.append('withheld'));
""" % (CDN, CDN)
CROSS = {"Access-Control-Allow-Origin": "*"}


def app_pages():
    """(host, path) -> (type, text) of all hosts."""
    pages = {(CDN, "/robots.txt"): ("text/plain", "User-agent: *\nDisallow: /private/\n"),
             (CDN, "/shared.js"): ("text/javascript", SHARED),
             (CDN, "/names.json"): ("application/json", '["a", "b"]'),
             (CDN, "/private/secret.json"): ("application/json", "1")}
    for host in APPS:
        for n in range(PAGES_OF_APP):
            following = f"link('/page{n + 1}', 'onwards');" if n + 1 < PAGES_OF_APP else ""
            pages[(host, f"/page{n}")] = ("text/html", SHELL.replace("/own.js", f"/own{n}.js"))
            pages[(host, f"/own{n}.js")] = ("text/javascript", following)
            for name in "ab":
                pages[(host, f"/made/{n}/{name}")] = ("text/html", f"<p>{'plain text ' * 50}")
    for host in GOOD:
        for n in range(PAGES_OF_GOOD):
            pages[(host, f"/page{n}")] = ("text/html", f"<p>{'good text ' * 60}<a href=/page{n + 1}>next</a>"
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
    harness.main(automatic, refused)
