"""parse.content_hash: what makes a page changed, with it how often it is visited again, and duplicates."""
import collections

import harness
from sites import Sites

A = "http://a.test"
HTML = {"Content-Type": "text/html"}
VISITS = 5
CONTINUOUS = ["--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=200ms", "--set", "schedule.revisit_min=100ms",
              "--set", "schedule.revisit_max=400ms", "--set", "log.status_interval=200ms"]


class Answers(dict):
    """Pages of which something is new at each visit."""

    def __init__(self):
        super().__init__({A + path: None for path in ("/", "/token", "/counter", "/news", "/price", "/links", "/same", "/plain")})
        self.visits = collections.Counter()

    def get(self, url, default=None):
        self.visits[url] += 1
        n = 1000 + self.visits[url]
        text = "<p>The same words at every visit, enough of them to be a text.</p>"
        bodies = {
            "/": "".join(f'<a href="{path}">{path}</a>' for path in ("/token", "/counter", "/news", "/price", "/links", "/same", "/plain")),
            "/token": f'<form><input type=hidden name=csrf value="t{n}x"></form><!-- {n} -->{text}<script>var t="{n}"</script>',
            "/counter": f"{text}<p>Visitor number {n}, on 2026-01-{n % 28 + 1}</p>",
            "/news": f"{text}<p>News: word{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}</p>",
            "/price": f"{text}<p>Visitor number {n}</p><p>It costs <b>{n // 4}.99</b></p>",
            "/links": f'{text}<a href="/same?{n % 2}">x</a>',
            "/same": text,
        }
        path = url[len(A):].split("?")[0]
        if path == "/plain":
            return 200, {"Content-Type": "text/plain"}, f"bytes {n}"
        return (200, HTML, bodies[path]) if path in bodies else default


def pages(directory):
    """path -> (n_changes, n_crawls)"""
    rows = [line.split("\t") for line in harness.run([f"{harness.OUT}/ragno", "db", directory, "dump"]).stdout.splitlines()]
    return {r[2][len(A):]: (int(r[5]), int(r[6])) for r in rows}


def visit(report, sites, directory, *options, least=VISITS):
    """Until each page was visited often enough."""
    def enough():
        found = pages(directory)
        return len(found) >= 7 and all(crawls >= least for path, (_c, crawls) in found.items() if "?" not in path)

    result = sites.crawl_until(enough, directory, *CONTINUOUS, *options, A + "/")
    report.check("the crawl went on until it was stopped", result.returncode == 11, result.stderr[-300:])
    return pages(directory)


def kinds(report, path):
    """Of each kind, the pages that count as changed at every visit, and those that never do."""
    expected = {"text": ({"/news", "/plain"}, {"/token", "/counter", "/same", "/", "/links"}),
                "body": ({"/news", "/token", "/counter", "/links", "/plain"}, {"/same", "/"}),
                "links": ({"/links", "/plain", "/news", "/token", "/counter"}, {"/", "/same"})}
    with Sites(path, Answers()) as sites:
        for kind, (changing, constant) in expected.items():
            found = visit(report, sites, f"{path}/{kind}", "--set", f"parse.content_hash={kind}")
            report.equal(f"{kind}: what never changes", {p: found[p][0] for p in constant}, {p: 0 for p in constant})
            report.check(f"{kind}: what changes at every visit", all(found[p][0] >= (found[p][1] - 1) / 3 for p in changing), str(found))
        found = visit(report, sites, f"{path}/auto")
        report.equal("text is what a crawl takes that visits pages again", {p: found[p][0] for p in ("/token", "/counter")},
                     {"/token": 0, "/counter": 0})
        for least in range(2 * VISITS, 8 * VISITS, VISITS):  # learned in the first visits
            found = visit(report, sites, f"{path}/auto", least=least)
            if found["/price"][0] > 0:
                break
        changes, crawls = found["/price"]
        report.check("a number that changes seldom counts, beside one that always does", 0 < changes <= crawls / 3, str(found))
        report.equal("and what always changes still does not", {p: found[p][0] for p in ("/token", "/counter", "/same")},
                     {"/token": 0, "/counter": 0, "/same": 0})


def change_of_kind(report, path):
    """A crawl of one pass, gone on with as a continuous one: no page has changed by that."""
    with Sites(path, Answers()) as sites:
        sites.crawl(path + "/crawl", A + "/")
        before = pages(path + "/crawl")
        report.equal("no changes in one pass", {changes for changes, _n in before.values()}, {0})
        found = visit(report, sites, path + "/crawl", least=3)
        report.equal("pages whose text stays have not changed", {p: found[p][0] for p in ("/", "/token", "/counter", "/same")},
                     {"/": 0, "/token": 0, "/counter": 0, "/same": 0})
    verified = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.equal("it verifies", (verified.returncode, verified.stderr), (0, ""))


def duplicates(report, path):
    """Two pages that differ by a token are duplicates by their content, and are not by their bodies."""
    text = "<p>The same words on both pages, enough of them to be a text.</p>"
    answers = {A + "/": (200, HTML, '<a href="/one">1</a> <a href="/two">2</a>'),
               A + "/one": (200, HTML, f'<form><input type=hidden name=csrf value="x1"></form>{text}'),
               A + "/two": (200, HTML, f'<form><input type=hidden name=csrf value="y2"></form>{text}')}
    with Sites(path, answers) as sites:
        for name, options, expected in (("body", [], 0), ("text", ["parse.content_hash=text"], 0),
                                        ("content", ["parse.content_hash=text", "parse.duplicates=content"], 1)):
            sites.crawl(f"{path}/{name}", *(word for option in options for word in ("--set", option)), A + "/")
            with open(f"{path}/{name}/crawl.log") as log:
                found = sum("dup:" in line for line in log)
            report.equal(f"duplicates by {name}", found, expected)


if __name__ == "__main__":
    harness.main(kinds, change_of_kind, duplicates)
