"""`ragno compare A B`: pages that are new, gone, changed and moved between two crawls of one site, by URL and by host."""
import json
import os
import subprocess

import harness
from sites import Sites, page

RAGNO = f"{harness.OUT}/ragno"


def compare(*words):
    return harness.run([RAGNO, "compare", *words])


def text(words, *links):
    status, headers, body = page(*links)
    return status, headers, body + f"<p>{words}</p>"


LINKS = ("/same", "/changed", "/gone", "/unlinked", "/old", "/from", "/fails")
BEFORE = {"http://a.test/": text("root", *LINKS, "http://b.test/"),
          **{f"http://a.test{p}": text(f"words of {p}") for p in LINKS},
          "http://b.test/": text("the page of b")}
# /unlinked is not linked any more, /old goes to /new with its words, /from redirects to /to
AFTER = {**BEFORE,
         "http://a.test/": text("root", "/same", "/changed", "/gone", "/new", "/from", "/fails", "/added",
                                "http://c.test/"),
         "http://a.test/changed": text("other words"), "http://a.test/new": text("words of /old"),
         "http://a.test/from": (301, {"Location": "/to"}, ""), "http://a.test/to": text("a page at /to"),
         "http://a.test/added": text("an added page"), "http://c.test/": text("the page of c"),
         "http://a.test/gone": (410, {}, ""), "http://a.test/fails": (500, {}, "")}
for url in ("http://a.test/old", "http://a.test/unlinked", "http://b.test/"):
    del AFTER[url]
WANTED = {("changed", "http://a.test/", None), ("changed", "http://a.test/changed", None),
          ("gone", "http://a.test/gone", None), ("gone", "http://a.test/unlinked", None),
          ("gone", "http://b.test/", None), ("moved", "http://a.test/new", "http://a.test/old"),
          ("moved", "http://a.test/to", "http://a.test/from"), ("new", "http://a.test/to", None),
          ("new", "http://a.test/added", None), ("new", "http://c.test/", None)}


def crawled(path, name, answers):
    with Sites(path + "/" + name, answers) as sites:
        return sites.crawl(path + "/" + name + "/crawl", "--set", "politeness.retry=server-error 100ms 1",
                           "http://a.test/"), path + "/" + name + "/crawl"


def kinds(report, path):
    for name in ("before", "after"):
        os.mkdir(path + "/" + name)
    first, before = crawled(path, "before", BEFORE)
    second, after = crawled(path, "after", AFTER)
    report.equal("both crawls end", (first.returncode, second.returncode), (0, 0))
    result = compare(before, after, "--format", "jsonl")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    report.same_set("each change has its row", {(r["change"], r["url"], r["from"]) for r in rows}, WANTED)
    report.equal("and no row stands twice", len(rows), len(WANTED))
    report.equal("with what the servers answered", {r["url"]: (r["before"], r["after"]) for r in rows
                                                    if r["change"] == "gone"},
                 {"http://a.test/gone": (200, 410), "http://a.test/unlinked": (200, 0), "http://b.test/": (200, 0)})
    report.check("the sums", "1 pages are the same, 2 changed, 2 moved, 3 gone, 3 new; 1 of the first were not seen" in
                 result.stderr, result.stderr)
    result = compare(before, after, "--hosts", "--format", "csv", "-q")
    report.equal("by host", sorted(result.stdout.split()),
                 sorted(["host,same,new,gone,changed,moved,unseen", "http://a.test,1,2,2,2,2,1", "http://b.test,0,0,1,0,0,0",
                         "http://c.test,0,1,0,0,0,0"]))
    report.equal("without a summary", result.stderr, "")
    same = compare(before, before)
    report.check("a crawl and itself are told apart from two", same.returncode == 2 and "same crawl" in same.stderr, same)
    back = compare(after, before, "--format", "jsonl")
    report.equal("the other way round what was new is gone",
                 {r["url"] for r in map(json.loads, back.stdout.splitlines()) if r["change"] == "gone"},
                 {"http://a.test/added", "http://a.test/to", "http://c.test/"})


def moments(report, path):
    """A backup and the crawl that went on, also while it runs: what was fetched since is new."""
    with harness.Web(path, pages=1500, hosts=20) as web:
        directory, backup = path + "/crawl", path + "/backup"
        command = harness.crawl_command(web, directory, wait="20ms")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            harness.until(lambda: len(web.requests()) > 300 or process.poll() is not None)
            report.equal("a backup", harness.run([RAGNO, "backup", directory, backup]).returncode, 0)
            report.equal("of a crawl that runs", compare(backup, directory).returncode, 0)
            report.equal("it ends", harness.ended(process), 0)
        rows = [line.split("\t") for line in compare(backup, directory).stdout.splitlines()]

        def fetched(where):
            lines = harness.run([RAGNO, "export", where, "pages", "--no-archive", "--format", "jsonl"]).stdout
            return {r["url"] for r in map(json.loads, lines.splitlines()) if 200 <= (r["status"] or 0) < 300}
        report.same_set("what is new", {r[1] for r in rows if r[0] == "new"}, fetched(directory) - fetched(backup))
        report.equal("and nothing else", {r[0] for r in rows}, {"new"})


def words(report, path):
    for arguments, status, said in (([], 2, "usage"), ([path], 2, "usage"), ([path, path, "--format", "xml"], 2, "xml"),
                                    ([path + "/none", path], 3, "none"), (["--help"], 0, "usage")):
        result = compare(*arguments)
        report.check(f"compare {' '.join(a.replace(path, 'DIR') for a in arguments)}: exit {status}",
                     result.returncode == status and said in result.stdout + result.stderr, result)
    if os.path.exists("/dev/full"):
        with harness.Web(path, pages=200, hosts=5) as web:
            harness.crawl(web, path + "/a", "--max-pages", "20")
            harness.crawl(web, path + "/b")
        result = compare(path + "/a", path + "/b", "-o", "/dev/full")
        report.check("a full disk is told", result.returncode == 3 and "no space" in result.stderr, result)


if __name__ == "__main__":
    harness.main(kinds, moments, words)
