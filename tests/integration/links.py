"""Which links a crawl follows: by kind, by rel, by option; and the letter each has in the path."""
import json

import harness
from sites import Sites, log_lines, page

A = "http://a.test"
HTML = {"Content-Type": "text/html"}
HEAD = f"""<link rel=canonical href=/canonical><link rel=Next href=/next><link rel=prev href=/prev>
<link rel=alternate hreflang=de href=/de><link rel=alternate type=application/rss+xml href=/feed>
<link rel=stylesheet href=/style.css><link rel="alternate stylesheet" href=/other.css>
<link rel=icon href=/icon.png><link rel=preload as=image imagesrcset="/small.png 1x, /large.png 2x">
<meta http-equiv=refresh content="900; url=/refresh">"""
BODY = """<a href=/plain>1</a><a rel=nofollow href=/nofollow>2</a><a rel="external UGC" href=/ugc>3</a>
<a rel=sponsored href=/sponsored>4</a><iframe src=/frame></iframe><img src=/image.png>
<form action=/form><button formaction=/button></button></form><area href=/area>"""
LINK = ('</linked>; rel="next"; type="text/html", </style2.css>; rel=stylesheet, '
        '</feed2>; rel=alternate; type="application/atom+xml", </about>; rel=next; anchor="/other"')
SITES = {A + "/": (200, {**HTML, "Link": LINK}, f"<title>t</title>{HEAD}{BODY}")}
PAGES = {"/canonical", "/next", "/prev", "/de", "/refresh", "/plain", "/frame", "/area", "/linked"}
MARKED = {"/nofollow", "/ugc", "/sponsored"}
EMBEDS = {"/feed", "/style.css", "/other.css", "/icon.png", "/small.png", "/large.png", "/image.png"}
FORMS = {"/form", "/button"}
for path in PAGES | MARKED | EMBEDS | FORMS:
    SITES[A + path] = page()


def crawl(path, name, *options):
    """What was asked for, and the path letter of each URL."""
    with Sites(path, SITES) as sites:
        words = [w for option in options for w in ("--set", option)]
        result = sites.crawl(f"{path}/{name}", *words, A + "/")
        if result.returncode != 0:
            raise RuntimeError(result.stderr[-300:])
        asked = {r.path for r in sites.requests if r.path not in ("/", "/robots.txt")}
    rows = {w[3]: w[4] for w in log_lines(f"{path}/{name}") if w[3].startswith("http")}
    return asked, rows


def kinds(report, path):
    asked, letters = crawl(path, "default")
    report.same_set("pages are followed, what a page embeds is not", asked, PAGES | MARKED)
    report.same_set("all of them are L in the path",
                    {u for u, way in letters.items() if way == "L"}, {A + p for p in PAGES | MARKED})
    asked, letters = crawl(path, "embeds", "scope.embeds=yes")
    report.same_set("scope.embeds adds the rest", asked, PAGES | MARKED | EMBEDS)
    report.same_set("as E", {u for u, way in letters.items() if way == "E"},
                    {A + p for p in EMBEDS})


def options(report, path):
    for word in ("nofollow", "ugc", "sponsored"):
        asked, _ = crawl(path, word, f"scope.follow_{word}=no")
        report.same_set(f"scope.follow_{word} = no leaves those out", asked,
                        PAGES | MARKED - {"/" + word})
    asked, letters = crawl(path, "forms", "parse.forms=yes")
    report.same_set("parse.forms adds actions", asked, PAGES | MARKED | FORMS)
    report.equal("as L", letters[A + "/form"], "L")


def external(report, path):
    """Links out of scope are part of the graph, and nothing is scheduled for them."""
    b = "http://b.test"
    sites_of = {A + "/": page("/in", b + "/out", b + "/out", b + "/also?x=1"),
                A + "/in": (200, HTML, f'<a rel=nofollow href="{b}/out">x</a><img src="{b}/i.png">'),
                b + "/out": page()}
    for limit, expected in (("1000", [("/", b + "/out", ""), ("/", b + "/also?x=1", ""), ("/in", b + "/out", "nofollow")]),
                            ("1", [("/", b + "/out", ""), ("/in", b + "/out", "nofollow")]), (None, [])):
        directory = f"{path}/{limit}"
        with Sites(path, sites_of) as sites:
            sites.crawl(directory, "--stay", "host", *(["--set", f"parse.external_links={limit}"] if limit else []),
                        A + "/")
            report.same_set(f"external_links = {limit}: nothing out of scope is asked for", sites.asked(),
                            {A + "/", A + "/in"})
        ragno = harness.OUT + "/ragno"
        rows = [json.loads(line) for line in
                harness.run([ragno, "export", directory, "links", "--format", "jsonl"]).stdout.splitlines()]
        report.equal(f"external_links = {limit}: the links", [(r["from"][len(A):], r["to"], r["rel"])
                     for r in rows if r["external"]], expected)
        report.equal("those in scope", [(r["from"], r["to"]) for r in rows if not r["external"]], [(A + "/", A + "/in")])
        report.equal("they are no pages", len(harness.db_rows(directory)), 2)
        report.equal("ragno verify", harness.run([ragno, "verify", directory]).returncode, 0)
        where = harness.run([ragno, "export", directory, "links", "--where", "HostEndsWith(b.test)"]).stdout
        report.equal("--where asks about them", where.count(b), len(expected))


if __name__ == "__main__":
    harness.main(kinds, options, external)
