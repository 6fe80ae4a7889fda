"""Archives that travel: `ragno export DIR warc` and `wacz`, of whole, of chosen and of damaged archives."""
import csv
import gzip
import hashlib
import json
import os
import re
import subprocess
import zipfile

import harness
from sites import Sites, page

A, B = "http://a.test", "http://b.test"
TEXT = "A page with enough words in it to be somebody's page. " * 4
ANSWERS = {
    A + "/": page("/x", "/copy", B + "/", text=f"<h1>Home</h1><p>{TEXT}"),
    A + "/x": page("/", text="<p>x"),
    A + "/copy": (200, {"Content-Type": "text/html"}, "<title>copy</title><p>the same everywhere " + TEXT),
    B + "/": page("/copy", "/gone", text="<p>b"),
    B + "/copy": (200, {"Content-Type": "text/html"}, "<title>copy</title><p>the same everywhere " + TEXT),
}


def export(directory, *words, status=0):
    result = subprocess.run([f"{harness.OUT}/ragno", "export", directory, *words], capture_output=True, check=False)
    assert result.returncode == status, f"export {words}: {result.returncode} {result.stderr.decode()}"
    return result.stdout, result.stderr.decode()


def sample(path, *words):
    crawl = path + "/crawl"
    with Sites(path, ANSWERS) as sites:
        sites.crawl(crawl, A + "/", *words)
    return crawl


def records(data):
    """(type, URL, payload digest, whole record) of each record of a WARC file."""
    found = []
    text = gzip.decompress(data)
    while text:
        head, rest = text.split(b"\r\n\r\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        length = int(fields["Content-Length"])
        assert rest[length:length + 4] == b"\r\n\r\n", "a record does not end where it says"
        found.append((fields["WARC-Type"], fields.get("WARC-Target-URI"), fields.get("WARC-Payload-Digest"),
                      head + rest[:length]))
        text = rest[length + 4:]
    return found


def stored(crawl):
    files = sorted(f for f in os.listdir(crawl + "/warc") if f.endswith(".warc.gz"))
    return b"".join(open(f"{crawl}/warc/{f}", "rb").read() for f in files)


def parts(report, path):
    crawl = sample(path)
    whole, said = export(crawl, "warc")
    everything = records(whole)
    report.check("the whole archive is copied byte by byte", whole == stored(crawl), said)
    report.check("and counted", re.search(rf"records of {len(everything)} \(", said), said)

    def urls(*words):
        return {(t, u) for t, u, _, _ in records(export(crawl, "warc", *words)[0]) if t in ("response", "revisit", "request")}

    report.equal("one URL, with its request", urls("--url", A + "/x"), {("response", A + "/x"), ("request", A + "/x")})
    report.equal("URLs that begin so", {u for _, u in urls("--url", B + "/c*", "--url", A + "/x")} - {A + "/copy"}, {B + "/copy", A + "/x"})
    revisit = next(u for t, u, _, _ in everything if t == "revisit" and u.endswith("/copy"))
    original = ({A + "/copy", B + "/copy"} - {revisit}).pop()
    report.equal("what a revisit refers to comes with it", urls("--url", revisit),
                 {("response", original), ("revisit", revisit), ("request", revisit)})
    report.same_set("one host", {u for t, u in urls("--host", "b.test") if t == "request"},
                    {u for t, u, _, _ in everything if t == "request" and u.startswith(B)})
    report.equal("all hosts below a domain", urls("--host", ".test"), urls())
    for chosen, where in ((("--host", "b.test"), "HostEndsWith(b.test)"), (("--url", A + "/*"), "HostEndsWith(a.test)"),
                          (("--url", revisit), f"URLEquals({revisit})")):
        report.check(f"{chosen}, by the index, is what reading everything finds",
                     export(crawl, "warc", *chosen)[0] == export(crawl, "warc", "--where", where)[0] != b"")
        report.check(f"and its texts: {chosen}",
                     export(crawl, "text", *chosen)[0] == export(crawl, "text", "--where", where)[0] != b"")
    report.equal("nothing of a host that is not there", export(crawl, "text", "--host", "no.test")[0], b"")
    report.equal("a filter on the answer", {u for t, u in urls("--where", "StatusCategory(4)") if t == "response"},
                 {u for t, u, _, r in everything if t == "response" and b"HTTP/1.1 404" in r})
    report.equal("nothing is that new", [t for t, _, _, _ in records(export(crawl, "warc", "--since", "2100-01-01")[0])], [])
    report.equal("nothing is that old", records(export(crawl, "warc", "--until", "2000-01-01")[0]), [])
    digests = {(u, d) for _, u, d, _ in everything}
    report.check("digests stay", all((u, d) in digests for _, u, d, _ in records(export(crawl, "warc", "--host", "a.test")[0])))
    export(crawl, "warc", "-o", path + "/part.warc.zst", "--host", "a.test")
    plain = subprocess.run(["zstd", "-dcq", path + "/part.warc.zst"], capture_output=True, check=True).stdout
    report.equal("Zstandard holds the same", records(gzip.compress(plain)), records(export(crawl, "warc", "--host", "a.test")[0]))
    for words, why in ((["--url", "no"], "--url: expected a URL"), (["--host", ""], "--host: expected a host"),
                       (["--since", "x"], "expected a time"), (["--nope"], "unknown option"), (["--where", "x("], "column")):
        report.check(f"refused: {words}", why in export(crawl, "warc", *words, status=2)[1])
    line = f"{harness.OUT}/ragno export {crawl} warc | head -c 10 | wc -c; echo ${{PIPESTATUS[0]}}"
    report.equal("| head", subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False).stdout.split(), ["10", "0"])


def table(report, path):
    crawl = sample(path)
    rows = [json.loads(line) for line in export(crawl, "captures")[0].splitlines()]
    report.equal("a row for each answer", sorted((r["url"], r["warc_record_type"]) for r in rows),
                 sorted((u, t) for t, u, _, _ in records(stored(crawl)) if t in ("response", "revisit")))
    good = True
    for row in rows:
        with open(f"{crawl}/warc/{row['warc_filename']}", "rb") as file:
            file.seek(row["warc_record_offset"])
            kind, url, digest, whole = records(file.read(row["warc_record_length"]))[0]
        head = whole.split(b"\r\n\r\n")[0].decode()
        good = good and (kind, url, digest) == (row["warc_record_type"], row["url"], "sha1:" + row["content_digest"]) and all(
            f"{name}: {row[column]}" in head for name, column in (("WARC-Record-ID", "record_id"), ("WARC-IP-Address", "ip"), ("WARC-Date", "fetch_time")))
    report.check("each is where its row says, with id, digest, address and date", good and rows)
    home = next(r for r in rows if r["url"] == A + "/")
    report.equal("parts of the URL", [home[k] for k in ("url_surtkey", "url_host_name", "url_host_registered_domain", "url_protocol", "url_port",
                                                         "url_path", "url_query")], ["test,a)/", "a.test", "a.test", "http", None, "/", None])
    report.equal("what it is", [home[k] for k in ("fetch_status", "content_mime_type", "fetch_redirect", "content_truncated")],
                 [200, "text/html", None, None])
    report.check("charset and language of documents", home["content_charset"] and home["content_languages"] in ("eng", None), home)
    lines = list(csv.reader(export(crawl, "captures", "--format", "csv")[0].decode().splitlines()))
    report.equal("CSV has the same columns and values", [dict(zip(lines[0], line)) for line in lines[1:]],
                 [{k: "" if v is None else str(v) for k, v in r.items()} for r in rows])
    report.same_set("a part", {json.loads(line)["url"] for line in export(crawl, "captures", "--host", "b.test", "--where", "StatusCategory(2)")[0].splitlines()},
                    {r["url"] for r in rows if r["url"].startswith(B) and 200 <= r["fetch_status"] <= 299})
    report.check("no such format", "expected tsv" in export(crawl, "captures", "--format", "x", status=2)[1])
    moved = sites_with_redirect(path)
    row = next(r for r in map(json.loads, export(moved, "captures")[0].splitlines()) if r["fetch_status"] == 301)
    report.equal("where a redirect leads", row["fetch_redirect"], A + "/x?q=1")


def sites_with_redirect(path):
    os.mkdir(path + "/r")
    with Sites(path + "/r", {A + "/": (301, {"Location": "x?q=1"}, ""), A + "/x?q=1": page()}) as sites:
        sites.crawl(path + "/r/crawl", A + "/")
    return path + "/r/crawl"


def package(report, path):
    crawl = sample(path)
    wacz = path + "/c.wacz"
    _, said = export(crawl, "wacz", "-o", wacz, "--text", "--title", "Ours", "--main-page", A + "/")
    report.check("what came of it is said", "captures" in said, said)
    report.same_set("nothing else is left beside it", {f for f in os.listdir(path) if f.startswith("c.wacz")}, {"c.wacz"})
    with zipfile.ZipFile(wacz) as file:
        report.equal("all entries can be read", file.testzip(), None)
        entries = {i.filename: file.read(i) for i in file.infolist()}
        report.equal("the text is deflated, all else stored", [i.filename for i in file.infolist() if i.compress_type != zipfile.ZIP_STORED],
                     ["pages/pages.jsonl"])
        text = file.getinfo("pages/pages.jsonl")
        report.check("which makes it smaller", text.compress_size < text.file_size, text)
    report.equal("entries", list(entries), ["archive/data.warc.gz", "indexes/index.cdx.gz", "indexes/index.idx",
                                            "pages/pages.jsonl", "datapackage.json", "datapackage-digest.json"])
    described = json.loads(entries["datapackage.json"])
    report.equal("the package", [described[k] for k in ("profile", "wacz_version", "title", "mainPageUrl")],
                 ["data-package", "1.1.1", "Ours", A + "/"])
    report.equal("names, sizes and digests of what is in it",
                 [(r["path"], r["name"], r["bytes"], r["hash"]) for r in described["resources"]],
                 [(n, n.split("/")[1], len(b), "sha256:" + hashlib.sha256(b).hexdigest()) for n, b in list(entries.items())[:4]])
    digest = json.loads(entries["datapackage-digest.json"])
    report.equal("the digest of the package", digest["hash"], "sha256:" + hashlib.sha256(entries["datapackage.json"]).hexdigest())
    report.equal("the records are those of the archive", records(entries["archive/data.warc.gz"]), records(stored(crawl)))
    index(report, entries)
    pages = [json.loads(line) for line in entries["pages/pages.jsonl"].decode().splitlines()]
    report.equal("the head of the pages", pages[0], {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True})
    report.same_set("documents are pages", {p["url"] for p in pages[1:]}, set(ANSWERS))
    home = next(p for p in pages[1:] if p["url"] == A + "/")
    report.check("with title, text and time", home["title"] == "t" and TEXT.strip() in home["text"] and home["ts"].endswith("Z"), home)
    _, said = export(crawl, "wacz", "-o", path + "/part.wacz", "--host", "a.test", "-q")
    with zipfile.ZipFile(path + "/part.wacz") as file:
        lines = file.read("pages/pages.jsonl").decode().splitlines()
    report.check("a part, without texts", said == "" and all(json.loads(line)["url"].startswith(A) for line in lines[1:]) and
                 "text" not in json.loads(lines[1]) and not json.loads(lines[0])["hasText"], lines)
    report.check("a pipe is refused", "-o a file" in export(crawl, "wacz", "-o", "/dev/stdout", status=3)[1])
    report.check("a name is needed", "-o FILE.wacz" in export(crawl, "wacz", status=2)[1])
    report.check("Parquet: what to do instead", "duckdb -c" in export(crawl, "parquet", status=2)[1] and
                 "duckdb" in export(crawl, "pages", "--format", "parquet", status=2)[1])


def index(report, entries):
    idx = entries["indexes/index.idx"].decode().splitlines()
    report.equal("the small index begins with its format", json.loads(idx[0].split(" ", 2)[2])["format"], "cdxj-gzip-1.0")
    lines = []
    for line in idx[1:]:
        key, stamp, rest = line.split(" ", 2)
        place = json.loads(rest)
        piece = entries["indexes/index.cdx.gz"][place["offset"]:place["offset"] + place["length"]]
        report.equal("digest of a piece", place["digest"], "sha256:" + hashlib.sha256(piece).hexdigest())
        some = gzip.decompress(piece).decode().splitlines()
        report.check("a piece begins where the small index says", some[0].startswith(f"{key} {stamp} "), some[0])
        lines += some
    report.check("the lines are sorted", lines == sorted(lines, key=str.encode))
    for line in lines:
        entry = json.loads(line.split(" ", 2)[2])
        at, n = int(entry["offset"]), int(entry["length"])
        record = gzip.decompress(entries["archive/data.warc.gz"][at:at + n])
        assert entry["filename"] == "data.warc.gz" and f"WARC-Target-URI: {entry['url']}\r\n".encode() in record, line
    report.check("each line leads to its record", lines)


def damage(report, path):
    crawl = sample(path)
    name = next(f"{crawl}/warc/{n}" for n in os.listdir(crawl + "/warc") if n.endswith(".warc.gz"))
    with open(name, "rb") as file:
        good = file.read()
    starts = [m.start() for m in re.finditer(rb"\x1f\x8b\x08", good)]
    at = starts[len(starts) // 2]
    for what, bad in (("a file that is cut", good[:-30]), ("what is no record", good[:at] + b"x" * 500 + good[at:])):
        with open(name, "wb") as file:
            file.write(bad)
        out, said = export(crawl, "warc", status=17)
        found = records(out)
        report.check(f"{what}: the rest is copied", found == [r for r in records(good) if r in found] and
                     len(found) >= len(records(good)) - 1 and said.count("passed over") == 1, said)
        _, said = export(crawl, "wacz", "-o", path + "/d.wacz", status=17)
        with zipfile.ZipFile(path + "/d.wacz") as file:
            report.check(f"{what}: the rest is packed", records(file.read("archive/data.warc.gz")) == found and
                         said.count("passed over") == 1, said)
    with open(name, "wb") as file:
        file.write(good[:starts[-1]] + b"x" * (len(good) - starts[-1]))
    last = [r for r in records(good) if r[1] is not None][-1][1]
    other = next(u for _, u, _, _ in records(good) if u and not u.startswith(last[:14]))
    report.equal("damage that is no part of what is chosen is not met", {u for _, u, _, _ in records(export(
        crawl, "warc", "--url", other)[0]) if u}, {other})
    os.unlink(name)
    os.mkdir(name)
    report.check("a file that cannot be read", "cannot be read" in export(crawl, "warc", status=3)[1])


if __name__ == "__main__":
    harness.main(parts, table, package, damage)
