"""The five filters, each seen from the server's side and in the logs; and that a wrong one stops the
start with its place."""
import glob
import gzip
import subprocess

import harness
from sites import Sites, log_lines, page

TREE = {
    "http://a.test/": page("/x/1", "/y/1", "/x/bin", "http://b.test/"),
    "http://a.test/x/1": page("/x/2"),
    "http://a.test/x/2": page(),
    "http://a.test/y/1": page("/y/2"),
    "http://a.test/y/2": page(),
    "http://a.test/x/bin": (200, {"Content-Type": "application/pdf"}, "%PDF"),
    "http://b.test/": page("http://b.test/z"),
    "http://b.test/z": page(),
}
ALL = set(TREE)


def warc_urls(directory):
    found = set()
    for name in glob.glob(directory + "/warc/*.warc.gz"):
        kind = None
        for line in gzip.open(name, "rb"):
            if line.startswith(b"WARC-Type:"):
                kind = line.split()[1]
            elif line.startswith(b"WARC-Target-URI:") and kind in (b"response", b"revisit"):
                found.add(line.split()[1].strip(b"<>").decode())
    return found


def crawl(report, path, name, option, expression):
    with Sites(path, TREE) as sites:
        result = sites.crawl(f"{path}/{name}", "--set", f"{option}={expression}", "http://a.test/")
        report.check(f"{name}: the crawl ends", result.returncode == 0, result.stderr[-300:])
        return sites.asked(), f"{path}/{name}"


def schedule(report, path):
    asked, directory = crawl(report, path, "schedule", "filter.schedule",
                             "SameHost() and not PathStartsWithOneOf(/y/)")
    report.same_set("filter.schedule: what is refused is not asked for", asked,
                    {"http://a.test/", "http://a.test/x/1", "http://a.test/x/2",
                     "http://a.test/x/bin"})
    skipped = {(w[0], w[1], w[2]) for w in log_lines(directory, "skipped.log")}
    report.same_set("and is in skipped.log", skipped,
                    {("http://a.test/y/1", "-5001", "filter"),
                     ("http://b.test/", "-5001", "filter")})
    asked, _ = crawl(report, path, "depth", "filter.schedule", "DepthAtMost(1) and HostEquals(a.test)")
    report.check("filter.schedule knows the depth of a link", "http://a.test/x/1" in asked and
                 "http://a.test/x/2" not in asked, f"{asked}")


def fetch(report, path):
    asked, directory = crawl(report, path, "fetch", "filter.fetch", "not PathStartsWithOneOf(/y/)")
    report.same_set("filter.fetch: what is refused is not asked for", asked,
                    {u for u in ALL if "/y/" not in u})
    rows = [w for w in log_lines(directory) if w[1] == "-5001"]
    report.check("and is in crawl.log with -5001", [w[3] for w in rows] == ["http://a.test/y/1"] and
                 "rule:filter.fetch" in rows[0][-1], f"{rows}")


def answers(report, path):
    asked, directory = crawl(report, path, "parse", "filter.parse",
                             "not (HostEquals(a.test) and PathStartsWithOneOf(/y/))")
    report.same_set("filter.parse: no links of what is not parsed", asked,
                    ALL - {"http://a.test/y/2"})
    report.check("and crawl.log says so", [w[3] for w in log_lines(directory)
                                           if w[-1].endswith(",no-parse")] == ["http://a.test/y/1"])
    asked, directory = crawl(report, path, "follow", "filter.follow",
                             "not ResponseContainsRegex(/[xy]/2)")
    report.same_set("filter.follow: no links of what is not followed", asked,
                    ALL - {"http://a.test/x/2", "http://a.test/y/2"})
    asked, directory = crawl(report, path, "store", "store.filter",
                             "MIMEIsOneOf(text/html) and StatusIsOneOf(200) and HostEquals(a.test)")
    report.same_set("store.filter: everything is asked for", asked, ALL)
    stored = {u for u in warc_urls(directory) if not u.endswith("/robots.txt")}
    report.same_set("and only what it lets through is in the WARC files", stored,
                    {u for u in ALL if "a.test" in u and "bin" not in u})


def mistakes(report, path):
    ini = path + "/wrong.ini"
    with open(ini, "w") as file:
        file.write("[filter]\nfetch = HostEquals(a.test) and\n    HostEkwals(b.test)\n"
                   "schedule = StatusIsOneOf(200)\n[store]\nfilter = true or (\n")
    result = harness.run([f"{harness.OUT}/ragno", "-c", ini, "-d", path + "/none", "http://a.test/"])
    report.equal("wrong filters: exit 2", result.returncode, 2)
    for line, name, what in ((2, "filter.fetch", "column 24"), (4, "filter.schedule", "response"),
                             (6, "store.filter", "column ")):
        report.check(f"{name} is named with its place",
                     any(f"{ini}:{line}: {name}:" in row and what in row
                         for row in result.stderr.splitlines()), result.stderr)
    check = harness.run([f"{harness.OUT}/ragno", "check", "config", ini])
    report.equal("ragno check config: exit 2", check.returncode, 2)
    report.equal("and the same three lines", len(check.stderr.splitlines()), 3)


def change(report, path, name, section, wrong, where, right):
    """A long chain of pages; the live option first gets a wrong value, then one that ends the chain."""
    chain = {f"http://a.test/{i}": page(f"/{i + 1}") for i in range(3000)}
    ini, directory = f"{path}/{name}.ini", f"{path}/{name}"
    with open(ini, "w") as file:
        file.write("[crawl]\nmax_pages = 0\n")
    with Sites(path, chain) as sites:
        crawl = subprocess.Popen(sites.command(directory, "-c", ini, "http://a.test/0", wait="10ms"),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        log = lambda: open(directory + "/ragno.log").read()
        harness.until(lambda: len(sites.requests) > 10)
        with open(ini, "w") as file:
            file.write(f"[{section}]\n{name} = {wrong}\n")
        crawl.send_signal(1)
        harness.until(lambda: "nothing was changed" in log())
        report.check(f"a wrong {section}.{name} is logged with its place",
                     f"{section}.{name}: {where}" in log(), log()[-500:])
        before = len(sites.requests)
        report.check("and the crawl goes on", harness.until(lambda: len(sites.requests) > before + 5))
        with open(ini, "w") as file:
            file.write(f"[{section}]\n{name} = {right}\n")
        crawl.send_signal(1)
        code = harness.ended(crawl)
        report.equal(f"a right one holds from then on: {section}.{name}", code, 0)
        report.check("before the chain's end", len(sites.requests) < len(chain), len(sites.requests))


def live(report, path):
    change(report, path, "fetch", "filter", "true and HostEkwals(b)", "column 10", "HostEquals(b.test)")
    change(report, path, "schedule", "filter", "true true", "column 6", "HostEquals(b.test)")
    change(report, path, "reject_regex", "scope", "a.test/(", "column 9", "a.test/[0-9]+")


if __name__ == "__main__":
    harness.main(schedule, fetch, answers, mistakes, live)
