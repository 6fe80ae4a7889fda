"""`ragno export`: what a crawl of a few pages found, as tables. Kinds and rel of links go the whole way
from the page to the table, whether links are looked up at once or by the sieve."""
import csv
import io
import json

import harness
from sites import Sites, page

A, B = "http://a.test", "http://b.test"
HTML = {"Content-Type": "text/html"}
ANSWERS = {
    A + "/": (200, {**HTML, "Link": "</next>; rel=next"},
              '<a href="/one">1</a><a href="/two" rel="nofollow ugc">2</a><img src="/i.png">'
              f'<a href="{B}/" rel=sponsored>b</a><area href="/area"><iframe src="/frame"></iframe>'
              '<a href="/moved">m</a><a href="/">self</a>'),
    A + "/moved": (301, {"Location": "/one"}, ""),
    A + "/i.png": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    A + "/one": page("/two", f"{B}/x,'y"),
    B + "/": page(A + "/", A + "/one"),
}
KINDS = {("/", A + "/one"): ("a", ""), ("/", A + "/two"): ("a", "nofollow ugc"),
         ("/", A + "/i.png"): ("img", ""), ("/", B + "/"): ("a", "sponsored"),
         ("/", A + "/area"): ("area", ""), ("/", A + "/frame"): ("iframe", ""),
         ("/", A + "/moved"): ("a", ""), ("/", A + "/"): ("a", ""),
         ("/", A + "/next"): ("header", ""), ("/moved", A + "/one"): ("redirect", ""),
         ("/one", A + "/two"): ("a", "")}


def export(directory, *words):
    result = harness.run([f"{harness.OUT}/ragno", "export", directory, *words])
    assert result.returncode == 0, f"export {words}: {result.stderr}"
    return result.stdout


def tables(report, path):
    crawl = path + "/crawl"
    with Sites(path, ANSWERS) as sites:
        sites.crawl(crawl, "--set", "scope.embeds=yes", A + "/")
    rows = [json.loads(line) for line in export(crawl, "links", "--format", "jsonl").splitlines()]
    found = {(row["from"][len(A):], row["to"]): (row["kind"], row["rel"]) for row in rows
             if row["from"].startswith(A)}
    report.equal("kinds and rel of links", {key: found.get(key) for key in KINDS}, KINDS)
    report.equal("links to another host are marked", {row["to"] for row in rows if row["cross"] == 1},
                 {B + "/", B + "/x,'y", A + "/", A + "/one"})
    report.check("each has a weight and its target's score",
                 all(row["weight"] == 1 and 0 <= row["score"] <= 1 for row in rows))
    table = list(csv.DictReader(io.StringIO(export(crawl, "links", "--format", "csv"))))
    report.equal("CSV says the same", [(r["from"], r["to"], r["kind"], r["rel"]) for r in table],
                 [(r["from"], r["to"], r["kind"], r["rel"]) for r in rows])
    ids = {row["url"]: int(row["index"]) for row in
           csv.DictReader(io.StringIO(export(crawl, "pages", "--format", "csv")))}
    report.equal("pages have dense numbers", sorted(ids.values()), list(range(len(ids))))
    arcs = [tuple(map(int, line.split("\t"))) for line in
            export(crawl, "links", "--format", "arcs").splitlines()]
    report.equal("arcs are ascending pairs of them", arcs,
                 sorted({(ids[r["from"]], ids[r["to"]]) for r in rows}))
    def where(kind, expression):
        return [json.loads(line) for line in export(crawl, kind, "--format", "jsonl", "--where", expression).splitlines()]

    report.equal("pages where", sorted(row["url"] for row in where("pages", "StatusIsOneOf(301) or HostEquals(b.test)")),
                 sorted([A + "/moved", B + "/", B + "/x,'y"]))
    report.equal("pages where, by where they were found", {row["url"] for row in where("pages", "not SameHost() and DepthAtMost(2)")},
                 {A + "/", B + "/", B + "/x,'y"})
    report.equal("links where", [(row["from"], row["to"]) for row in where("links", "HostEquals(a.test) and not SameHost()")],
                 [(r["from"], r["to"]) for r in rows if r["to"].startswith(A) and not r["from"].startswith(A)])
    report.equal("arcs where", [tuple(map(int, line.split("\t"))) for line in
                                export(crawl, "links", "--format", "arcs", "--where", "not SameHost()").splitlines()],
                 sorted({(ids[r["from"]], ids[r["to"]]) for r in rows if r["from"].split("/")[2] != r["to"].split("/")[2]}))
    report.equal("hosts where", [(row["from"], row["to"]) for row in where("hosts", "not SameHost()")], [(A, B), (B, A)])
    for kind, expression, wrong in (("pages", "SizeLessThan(3)", "SizeLessThan needs a response"), ("hosts", "DepthAtMost(2)", "needs a depth"),
                                    ("links", "Nope()", "column 1")):
        result = harness.run([f"{harness.OUT}/ragno", "export", crawl, kind, "--where", expression])
        report.check(f"{kind} where {expression} is refused", result.returncode == 2 and wrong in result.stderr, result.stderr)
    hosts = {(r["from"], r["to"]): int(r["weight"]) for r in
             csv.DictReader(io.StringIO(export(crawl, "hosts", "--format", "csv")))}
    report.equal("the host graph adds them up", hosts,
                 {(A, A): sum(r["cross"] == 0 for r in rows), (A, B): 2, (B, A): 2})


if __name__ == "__main__":
    harness.main(tables)
