"""`ragno export`: what a crawl of a few pages found, as tables. Kinds and rel of links go the whole way
from the page to the table, whether links are looked up at once or by the sieve."""
import csv
import gzip
import io
import json
import os
import re

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


GERMAN = ("<html lang=de-AT><head><title> Grüße &amp;\n aus\tWien </title></head><body>"
          "<p>Die Katze sitzt auf der warmen Bank vor dem Haus und wartet auf den Abend, an dem die Kinder nach Hause "
          "kommen und ihr etwas zu fressen geben.</p>").encode()
STORED = {
    A + "/": page("/de", "/zip", "/i.png", "/moved", "/out", "/same", "/none", "/gone", "/plain", "/star"),
    A + "/de": (200, {"Content-Type": "Text/HTML; charset=utf-8"}, GERMAN),
    A + "/zip": (200, {**HTML, "Content-Encoding": "gzip", "Content-Language": "fr"},
                 gzip.compress(b"<title>packed</title>x")),
    A + "/i.png": (200, {"Content-Type": "image/png"}, b"\x89PNG1234"),
    A + "/moved": (301, {"Location": "/de#part"}, ""),
    A + "/out": (302, {"Location": "http://elsewhere.test/x"}, "gone"),
    A + "/same": (200, {"Content-Type": "text/html; charset=utf-8"}, GERMAN),  # the bytes of /de: a revisit record
    A + "/none": (200, {}, "<title>no type</title>"),
    A + "/plain": (200, {"Content-Type": "text/plain"}, "words"),
    A + "/star": (200, {"Content-Type": "*/*"}, "<title>any type</title><a href=/behind>"),
    A + "/behind": (200, {"Content-Type": "text/xml"},
                    "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><title>by XML</title></html>"),
}


def record_at(directory, row):
    """The URL of the record that a row points to."""
    with open(f"{directory}/warc/{row['warc_file']}", "rb") as file:
        file.seek(row["warc_offset"])
        head = gzip.GzipFile(fileobj=file).read(1000).decode(errors="replace")
    return dict(line.split(": ", 1) for line in head.split("\r\n\r\n")[0].split("\r\n")[1:])["WARC-Target-URI"]


def stored_answers(report, path):
    crawl = path + "/crawl"
    with Sites(path, STORED) as sites:
        sites.crawl(crawl, "--set", "scope.embeds=yes", "-D", "a.test", A + "/")
    rows = {row["url"]: row for row in
            map(json.loads, export(crawl, "pages", "--format", "jsonl").splitlines())}

    def told(url, *names):
        return tuple(rows[A + url][name] for name in names)

    report.equal("type, size, title", told("/de", "mime", "bytes", "title"), ("text/html", len(GERMAN), "Grüße & aus Wien"))
    report.check("language", told("/de", "language")[0] in ("de", "de-AT"), told("/de", "language"))
    report.equal("a packed page: bytes as received", told("/zip", "bytes", "title", "language"),
                 (len(STORED[A + "/zip"][2]), "packed", "fr"))
    report.equal("an image", told("/i.png", "mime", "bytes", "title", "language"), ("image/png", 8, None, None))
    report.equal("a redirect", told("/moved", "status", "redirect", "bytes"), (301, A + "/de", 0))
    report.equal("one out of the scope", told("/out", "redirect"), ("http://elsewhere.test/x",))
    report.equal("the same bytes again", told("/same", "mime", "bytes", "title"), ("text/html", len(GERMAN), "Grüße & aus Wien"))
    report.equal("no type", told("/none", "mime", "bytes", "title"), ("", 22, "no type"))
    report.equal("a type that says nothing", told("/star", "mime", "title"), ("*/*", "any type"))
    report.equal("XHTML as XML, behind it", told("/behind", "mime", "title"), ("text/xml", "by XML"))
    lost = harness.run([f"{harness.OUT}/ragno", "db", crawl, "path", A + "/nowhere"])
    report.check("a URL that the crawl does not know", "does not know" in lost.stderr and lost.returncode != 0, lost.stderr)
    report.equal("plain text", told("/plain", "mime", "title"), ("text/plain", None))
    report.equal("a page that is not there", told("/gone", "status", "bytes", "redirect"), (404, 9, None))
    report.equal("each place holds its record", {record_at(crawl, row) for row in rows.values() if row["status"] > 0},
                 {url for url, row in rows.items() if row["status"] > 0})
    known = {"mime", "bytes", "title", "language", "redirect", "usage_allowed", "warc_file", "warc_offset"}
    lines = list(csv.DictReader(io.StringIO(export(crawl, "pages", "--format", "csv"))))
    report.equal("CSV says the same", {r["url"]: (r["title"], r["warc_offset"]) for r in lines},
                 {u: (r["title"] or "", str(r["warc_offset"] if r["warc_offset"] is not None else "")) for u, r in rows.items()})
    short = json.loads(export(crawl, "pages", "--format", "jsonl", "--no-archive").splitlines()[0])
    report.equal("--no-archive leaves them out", (known & set(short), set(rows[A + "/"]) - set(short)), (set(), known))
    name = rows[A + "/de"]["warc_file"]
    with open(f"{crawl}/warc/{name}", "r+b") as file:
        file.seek(rows[A + "/de"]["warc_offset"] + 30)
        file.write(b"\0" * 40)
    result = harness.run([f"{harness.OUT}/ragno", "export", crawl, "pages", "--format", "jsonl"])
    broken = {r["url"]: r for r in map(json.loads, result.stdout.splitlines())}
    report.check("a damaged record has no facts, the others have theirs", result.returncode == 0 and
                 broken[A + "/de"]["title"] is None and broken[A + "/zip"]["title"] == "packed" and
                 "could not be read" in result.stderr, result.stderr)
    with Sites(path, STORED) as sites:
        sites.crawl(path + "/bare", "--no-warc", A + "/")
    rows = {row["url"]: row for row in map(json.loads, export(path + "/bare", "pages", "--format", "jsonl").splitlines())}
    report.equal("without an archive: the redirect is known to the graph", told("/moved", "redirect", "mime", "warc_file"),
                 (A + "/de", "", None))


def captures(report, path):
    """An index in Common Crawl's columns: each row tells what the record says that it points to."""
    crawl = path + "/crawl"
    with Sites(path, STORED) as sites:
        sites.crawl(crawl, "--set", "scope.embeds=yes", A + "/")
    rows = list(map(json.loads, export(crawl, "captures").splitlines()))
    found = {}
    for row in rows:
        with open(f"{crawl}/warc/{row['warc_filename']}", "rb") as file:
            file.seek(row["warc_record_offset"])
            data = gzip.decompress(file.read(row["warc_record_length"]))  # one whole record, and no more
        head, block = data.split(b"\r\n\r\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        found[row["url"]] = row
        report.equal(f"{row['url']}: as its record",
                     [row["url"], row["record_id"], row["warc_record_type"], row["ip"], "sha1:" + row["content_digest"], row["fetch_time"],
                      row["fetch_status"]],
                     [fields["WARC-Target-URI"], fields["WARC-Record-ID"], fields["WARC-Type"], fields["WARC-IP-Address"],
                      fields["WARC-Payload-Digest"], fields["WARC-Date"], int(block.split()[1])])
    report.same_set("all answers have one", set(found) - {A + "/robots.txt"}, set(STORED) | {A + "/gone"})
    report.equal("redirect", found[A + "/moved"]["fetch_redirect"], A + "/de")
    report.equal("parts of the URL", [found[A + "/de"][k] for k in ("url_surtkey", "url_host_name", "url_protocol", "url_path", "url_query")],
                 ["test,a)/de", "a.test", "http", "/de", None])
    if os.path.exists("/usr/lib/x86_64-linux-gnu/libcld2.so.0"):
        report.equal("type, charset, language", [found[A + "/de"][k] for k in ("content_mime_type", "content_charset", "content_languages")],
                     ["text/html", "UTF-8", "deu"])
    lines = list(csv.DictReader(io.StringIO(export(crawl, "captures", "--format", "csv"))))
    report.equal("CSV says the same", lines, [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows])


def quiet_all(report, path):
    """-q is known to each export: it says nothing, and writes the same."""
    crawl = path + "/crawl"
    with Sites(path, ANSWERS) as sites:
        sites.crawl(crawl, A + "/")
    usage = harness.run([f"{harness.OUT}/ragno", "export", "--help"]).stdout
    kinds = [kind for words in re.findall(r"DIR ([a-z|]+) \[OPTION", usage) for kind in words.split("|")]
    report.check("the kinds are found", len(kinds) >= 7, kinds)
    said = {}
    for kind in kinds:
        written = []
        for options in ([], ["-q"], ["--quiet"]):
            result = harness.run([f"{harness.OUT}/ragno", "export", crawl, kind, "-o", f"{path}/{kind}", *options])
            told = harness.said(result.stderr)
            said[kind] = told if options == [] else said[kind]
            report.equal(f"export {kind} {options}", (result.returncode, result.stdout, told), (0, "", said[kind] if options == [] else ""))
            written.append(os.path.getsize(f"{path}/{kind}"))
            os.remove(f"{path}/{kind}")
        # The date in a WACZ, and so its length when packed, is another one each time.
        report.check(f"export {kind} -q writes the same", written[0] > 0 and max(written) - min(written) <= 32 * (kind == "wacz"), written)
    report.equal("and these have a summary without it", sorted(kind for kind in said if said[kind]), ["text", "wacz", "warc"])


if __name__ == "__main__":
    harness.main(tables, stored_answers, captures, quiet_all)
