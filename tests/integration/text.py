"""`ragno export DIR text`: the texts of a crawl as JSON Lines and WET, of whole and of damaged archives."""
import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
import zlib

import harness
from sites import Sites, page

A, B = "http://a.test", "http://b.test"
HTML = {"Content-Type": "text/html"}
LONG = "The quick brown fox jumps over the lazy dog while the sun is shining on the hills of the old town. " * 8
GERMAN = ("Der schnelle braune Fuchs springt über den faulen Hund, während die Sonne auf die Hügel der alten "
          "Stadt scheint. ") * 8
ANSWERS = {
    A + "/": (200, {"Content-Type": "text/html; charset=utf-8", "Link": "</canonical>; rel=canonical",
                    "Content-Language": "en-GB"},
              "<title>Home &amp; more</title><meta name=description content='the start'>"
              "<meta property=og:title content='Home &amp; co'><meta name=twitter:card content=summary>"
              "<link rel=alternate hreflang=de href=/de><script type=application/ld+json>{\"@type\": \"WebSite\"}</script>"
              f"<h1>Home</h1><p>{LONG}<table><tr><td>a<td>b<tr><td>c<td>d</table><div hidden>no</div>"
              "<a href=/de>d</a> <a href=/latin>l</a> <a href=/plain.txt>p</a> <a href=/copy>c</a> "
              f"<a href=/gone>g</a> <a href=/i.png>i</a> <a href=/zip>z</a> <a href=/broken>b</a> <a href=/bare>x</a><a href=/nav>n</a>"
              f"<a href='{B}/copy'>c</a><a href=/frames>f</a><a href=/moved>m</a>"
              "<div itemscope itemtype=https://schema.org/Book hidden><b itemprop=name>Fox</b><meta itemprop=isbn content=1></div>"),
    A + "/de": (200, HTML, "<html lang=de><meta charset=utf-8><link rel=canonical href='/de?x=1'><title>Fuchs"
                f"</title><h2>Der<br>Fuchs</h2><p>{GERMAN}"),
    A + "/latin": (200, {"Content-Type": "text/html; charset=iso-8859-1"},
                   "<p>caf\u00e9".encode("latin-1")),
    A + "/plain.txt": (200, {"Content-Type": "text/plain; charset=utf-8"}, "one\r\n<b>two</b>\r\n"),
    A + "/copy": page(A + "/"),
    B + "/copy": page(A + "/"),
    A + "/nav": (200, HTML, "<nav><a href=/>Start</a> <a href=/de>Other</a></nav><main><h1>Title</h1><p>" + LONG +
                 "</main><footer>Imprint and more</footer>"),
    A + "/gone": (404, HTML, "<p>not here"),
    A + "/moved": (301, {**HTML, "Location": "/de"}, "<p>moved"),
    A + "/i.png": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    A + "/zip": (200, {**HTML, "Content-Encoding": "gzip"}, gzip.compress(b"<p>zipped text")),
    A + "/broken": (200, {**HTML, "Content-Encoding": "gzip"},
                    gzip.compress(("<p>" + " ".join(f"w{i * i % 9973}" for i in range(5000))).encode())[:3000]),
    A + "/bare": (200, {}, "<p>no type"),
    A + "/frames": (200, HTML, "<title>F</title><frameset><frame src=/de></frameset>"),
}
FIELDS = ["url", "time", "status", "type", "encoding", "language", "declared_language", "title", "description",
          "canonical", "headings", "truncated", "digest", "text"]


def export(directory, *words, status=0):
    result = subprocess.run([f"{harness.OUT}/ragno", "export", directory, "text", *words], capture_output=True)
    assert result.returncode == status, f"export text {words}: {result.returncode} {result.stderr.decode()}"
    return result.stdout, result.stderr.decode()


def rows(directory, *words, status=0):
    return [json.loads(line) for line in export(directory, *words, status=status)[0].decode().split("\n")[:-1]]


def sample(path):
    crawl = path + "/crawl"
    with Sites(path, ANSWERS) as sites:
        sites.crawl(crawl, A + "/")
    return crawl


def members(data):
    """The uncompressed members of a gzip file."""
    found = []
    while data:
        one = zlib.decompressobj(31)
        found.append(one.decompress(data))
        data = one.unused_data
    return found


def wet_records(data):
    """Reads WARC/1.0 records strictly: header fields and block of each."""
    found = []
    while data:
        head, rest = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        assert lines[0] == "WARC/1.0", lines[0]
        fields = dict(line.split(": ", 1) for line in lines[1:])
        length = int(fields["Content-Length"])
        assert rest[length:length + 4] == b"\r\n\r\n", "a record does not end where it says"
        found.append((fields, rest[:length]))
        data = rest[length + 4:]
    return found


def fields(report, path):
    crawl = sample(path)
    found = {row["url"]: row for row in rows(crawl)}
    report.same_set("documents with text, and no others", set(found),
                    {A + p for p in ("/", "/de", "/latin", "/plain.txt", "/copy", "/zip", "/broken", "/bare", "/frames", "/nav")} |
                    {B + "/copy"})
    home = found[A + "/"]
    report.equal("all fields, in order", [list(row) for row in found.values()], [FIELDS] * len(found))
    report.equal("what the page says", [home[k] for k in ("status", "type", "encoding", "title", "description")],
                 [200, "text/html", "UTF-8", "Home & more", "the start"])
    report.check("the time of the capture", re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", home["time"]), home["time"])
    report.equal("what only the header says", [home["canonical"], home["declared_language"]], [A + "/canonical", "en-GB"])
    report.check("the visible text", home["text"].startswith("Home\n\nThe quick") and "\na\tb\nc\td\n" in home["text"] and
                 "no" not in home["text"].split(), home["text"][:200])
    report.equal("headings", [home["headings"], found[A + "/de"]["headings"]],
                 [[{"level": 1, "text": "Home"}], [{"level": 2, "text": "Der Fuchs"}]])
    report.equal("what another page says", [found[A + "/de"][k] for k in ("canonical", "declared_language", "title")],
                 [A + "/de?x=1", "de", "Fuchs"])
    report.equal("legacy encoding", [found[A + "/latin"][k] for k in ("encoding", "text")], ["windows-1252", "caf\u00e9"])
    report.equal("plain text", [found[A + "/plain.txt"][k] for k in ("type", "title", "text")],
                 ["text/plain", None, "one\n<b>two</b>\n"])
    report.equal("content coding undone", found[A + "/zip"]["text"], "zipped text")
    report.check("a broken coding gives what could be decoded", found[A + "/broken"]["truncated"] and
                 found[A + "/broken"]["text"].split()[:100] == [f"w{i * i % 9973}" for i in range(100)], str(found[A + "/broken"])[:300])
    report.equal("without a type the body decides", [found[A + "/bare"][k] for k in ("type", "text")], [None, "no type"])
    report.equal("a frameset has no text", [found[A + "/frames"][k] for k in ("title", "text")], ["F", ""])
    report.equal("a copy elsewhere, stored as a revisit", [found[B + "/copy"]["text"], found[B + "/copy"]["digest"]],
                 [found[A + "/copy"]["text"], found[A + "/copy"]["digest"]])
    if os.path.exists("/usr/lib/x86_64-linux-gnu/libcld2.so.0"):
        report.equal("languages", [found[A + p]["language"] for p in ("/", "/de", "/latin")], ["en", "de", None])
    else:
        report.skip("languages", "libcld2-0 is not installed")
    wrong = path + "/libcld2.so.0"  # a library of that name that is another one stands before the real one
    subprocess.run(["cc", "-shared", "-x", "c", "-o", wrong, "/dev/null"], check=True)
    without = subprocess.run([f"{harness.OUT}/ragno", "export", crawl, "text"], capture_output=True, text=True,
                             env={**os.environ, "LD_LIBRARY_PATH": path})
    report.equal("without libcld2: status, languages, warnings",
                 [without.returncode, {json.loads(line)["language"] for line in without.stdout.splitlines()},
                  without.stderr.count("languages are not recognized: no libcld2")], [0, {None}, 1])
    report.equal("no language when it is not wanted", {row["language"] for row in rows(crawl, "--no-language")}, {None})


def structured(report, path):
    crawl = sample(path)
    data = {"json_ld": ['{"@type": "WebSite"}'],
            "microdata": [{"type": ["https://schema.org/Book"], "properties": {"name": ["Fox"], "isbn": ["1"]}}],
            "opengraph": [{"property": "og:title", "content": "Home & co"}, {"property": "twitter:card", "content": "summary"}],
            "hreflang": [{"hreflang": "de", "href": "/de"}]}
    found = {row["url"]: row for row in rows(crawl, "--structured")}
    report.equal("what pages say for programs", [{k: found[url][k] for k in data} for url in (A + "/", A + "/de")],
                 [data, dict.fromkeys(data, [])])
    report.equal("fields, in order", list(found[A + "/"]), FIELDS[:10] + list(data) + FIELDS[10:])
    for form in "jsonl", "csv":
        table = harness.run([f"{harness.OUT}/ragno", "export", crawl, "pages", "--structured", "--format", form]).stdout
        lines = map(json.loads, table.splitlines()) if form == "jsonl" else csv.DictReader(io.StringIO(table))
        row = {row["url"]: row for row in lines}
        home, image = row[A + "/"], row[A + "/i.png"]
        report.equal(f"the same as columns of pages: {form}", {k: home[k] if form == "jsonl" else json.loads(home[k]) for k in data}, data)
        report.equal(f"{form}: canonical; an image has none of these", [home["canonical"], {image[k] or None for k in [*data, "canonical"]}],
                     [A + "/canonical", {None}])
    big = "".join(f"<meta property=og:image content={'x' * 60}{i}>" for i in range(40))
    with Sites(path, {A + "/": (200, HTML, "<title>big</title>" + big)}) as sites:
        sites.crawl(path + "/big", A + "/")
    out, said = export(path + "/big", "--structured", "--structured-max", "1024")
    row = json.loads(out)
    report.check("a list ends before its bound", 9 <= len(row["opengraph"]) < 13 and row["opengraph"][0]["content"].endswith("x0"), row)
    report.check("and that is told", "1 with more structured data than --structured-max" in said, said)
    _, said = export(path + "/big", "--structured-max", "1000", status=2)
    report.check("the bound has one of its own", "1024" in said, said)


def document(*lines):
    """A PDF document of one page."""
    text = b"BT /F1 12 Tf 14 TL 72 720 Td " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines) + b" ET"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
               b"<</Length %d>>stream\n%s\nendstream" % (len(text), text), b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 6\n0000000000 65535 f \n" + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(out)


def pdf(report, path):
    crawl, kind = path + "/crawl", {"Content-Type": "application/pdf"}
    with Sites(path, {A + "/": page("/a.pdf", "/packed.pdf", "/broken.pdf"), A + "/a.pdf": (200, kind, document("Hello from a document", LONG[:90])),
                      A + "/packed.pdf": (200, {**kind, "Content-Encoding": "gzip"}, gzip.compress(document("packed"))),
                      A + "/broken.pdf": (200, kind, b"%PDF-1.4 and no more")}) as sites:
        sites.crawl(crawl, A + "/")

    def run(*words, program=None, before=None):
        env, folder = dict(os.environ), path + "/bin"
        if program is not None:
            os.makedirs(folder, exist_ok=True)
            with open(folder + "/pdftotext", "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + program)
            os.chmod(folder + "/pdftotext", 0o755 if program else 0o644)
            env["PATH"] = folder + (":" + env["PATH"] if program else "")
        began = time.monotonic()
        result = subprocess.run([f"{harness.OUT}/ragno", "export", crawl, "text", *words], capture_output=True, env=env, check=False,
                                preexec_fn=before)
        took, said = time.monotonic() - began, result.stderr.decode()
        lines = [json.loads(line) for line in result.stdout.decode().splitlines()]
        return {row["url"][len(A):]: row for row in lines if row["url"].endswith(".pdf")}, said, result.returncode, took

    if shutil.which("pdftotext"):
        found, said, status, _ = run()
        report.equal("texts of PDF documents", [found[p]["text"].splitlines()[:1] for p in ("/a.pdf", "/packed.pdf", "/broken.pdf")],
                     [["Hello from a document"], ["packed"], []])
        report.equal("type, title, and whether it is all", [(row["type"], row["title"], row["truncated"]) for _, row in sorted(found.items())],
                     [("application/pdf", None, False), ("application/pdf", None, True), ("application/pdf", None, False)])
        report.check("what failed is told", status == 0 and "1 PDF documents of which pdftotext made not all" in said, said)
    else:
        report.skip("texts of PDF documents", "poppler-utils is not installed")
    found, _, status, took = run(program="exec cat\n", before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    report.check("also where the parent ignores the ends of children", status == 0 and len(found) == 3 and took < 20,
                 f"exit {status}, {took:.1f} s: {found}")
    found, said, status, _ = run(program="")
    report.equal("without pdftotext: documents, status, warnings", [set(found), status, said.count("PDF documents are left out: pdftotext cannot be run")],
                 [set(), 0, 1])
    report.check("and how many", "3 PDF documents left out" in said, said)
    report.equal("not wanted", run("--no-pdf")[0], {})
    found, _, status, _ = run(program='echo "$@"\nexec cat\n')
    report.check("no shell reads its words, and all of the document comes", status == 0 and
                 found["/a.pdf"]["text"].startswith("-q -nopgbrk -enc UTF-8 -eol unix - -\n%PDF-1.4\n") and
                 found["/a.pdf"]["text"].endswith("%EOF\n"), found)
    for what, program, words, least in (
            ("time: one that waits", "echo begun\nexec sleep 600\n", ("--pdf-time", "1"), 1), ("time: one that works", "echo begun\nwhile :; do :; done\n", ("--pdf-time", "1"), 1),
            ("output", "echo begun\nexec yes\n", ("--pdf-text", "1"), 0), ("memory", "echo begun\nexec tail /dev/zero\n", ("--pdf-memory", "64"), 0),
            ("a process that it begins is ended, too", "echo begun\nsleep 600 &\nsleep 600\n", ("--pdf-time", "1"), 1)):
        found, said, status, took = run("--threads", "3", *words, program=program)
        row = found["/a.pdf"]
        report.check(f"a bound: {what}", status == 0 and row["truncated"] and row["text"].startswith("begun\n") and
                     len(row["text"]) <= 1 << 20 and "3 PDF documents of which" in said and took >= least, (status, took, said, str(row)[:300]))


def choices(report, path):
    crawl = sample(path)
    everything = rows(crawl, "--status", "all")
    report.equal("--status", sorted(row["url"] for row in rows(crawl, "--status=300-404")), [A + "/gone", A + "/moved"])
    report.equal("--status all", {row["status"] for row in everything}, {200, 301, 404})
    report.equal("--where", [row["url"] for row in rows(crawl, "--where", 'URLContainsOneOf(plain) and MIMEIsOneOf(text/plain)')],
                 [A + "/plain.txt"])
    report.equal("--where looks at the body", {row["url"] for row in rows(crawl, "--where", 'ResponseContainsRegex("schnelle")')}, {A + "/de"})
    times = sorted(row["time"] for row in everything)
    middle = times[len(times) // 2]
    report.equal("--since", sorted(row["time"] for row in rows(crawl, "--status", "all", "--since", middle)),
                 [t for t in times if t >= middle])
    report.equal("--until, the rest", sorted(row["time"] for row in rows(crawl, "--status", "all", "--until", middle)),
                 [t for t in times if t < middle])
    _out, said = export(crawl)
    report.check("the summary says how to go on", re.search(r"--since (\S+)\n", said), said)
    report.equal("nothing is new since then", rows(crawl, "--status", "all", "--since", re.search(r"--since (\S+)\n", said)[1]), [])
    report.equal("a day alone", len(rows(crawl, "--since", "2001-01-01")), len(rows(crawl)))
    report.equal("--quiet", harness.said(export(crawl, "-q")[1]), "")
    main = {row["url"]: row["text"] for row in rows(crawl, "--main")}
    report.check("--main leaves the links of the page out", main[A + "/"].startswith("Home\n\nThe quick") and
                 main[A + "/plain.txt"] == "one\n<b>two</b>\n" and main[A + "/nav"].startswith("Title\n") and "Imprint" not in main[A + "/nav"],
                 main)
    one = export(crawl, "--threads", "1")[0]
    report.equal("the order is the archive's, whatever the threads", [export(crawl, "--threads", n)[0] == one for n in ("2", "5")], [True] * 2)
    for words, wrong in ((["--format", "xml"], "--format"), (["--since", "soon"], "--since"), (["--status", "2x"], "--status"),
                         (["--where", "Nothing(x)"], "--where: column 1"), (["--threads", "0"], "--threads"), (["--nonsense"], "--nonsense"),
                         (["more"], "more")):
        said = export(crawl, *words, status=2)[1]
        report.check(f"a mistake is named: {words}", wrong in said, said)
    report.check("no such crawl", "warc" in export(path + "/none", status=3)[1])


def wet(report, path):
    crawl = sample(path)
    plain = rows(crawl, "--no-language")
    records = wet_records(export(crawl, "--format", "wet")[0])
    report.equal("a warcinfo record, then a conversion record for each text", [f["WARC-Type"] for f, _b in records],
                 ["warcinfo"] + ["conversion"] * len(plain))
    report.equal("URLs and texts", [(f["WARC-Target-URI"], b.decode()) for f, b in records[1:]], [(r["url"], r["text"]) for r in plain])
    ids = {}
    for name in os.listdir(crawl + "/warc"):
        if name.endswith(".warc.gz"):
            with open(f"{crawl}/warc/{name}", "rb") as file:
                for record in members(file.read()):
                    head = dict(line.split(": ", 1) for line in record.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:])
                    if head["WARC-Type"] in ("response", "revisit"):
                        ids[head["WARC-Target-URI"]] = head["WARC-Record-ID"]
    report.equal("each refers to its record", [f["WARC-Refers-To"] for f, _b in records[1:]], [ids[r["url"]] for r in plain])
    report.check("types and dates", all(f["Content-Type"] == "text/plain" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", f["WARC-Date"])
                                        for f, _b in records[1:]))
    name = path + "/out.warc.wet.gz"
    export(crawl, "--format", "wet", "-o", name)
    with open(name, "rb") as file:
        parts = members(file.read())
    report.equal("compressed, each record is a member", [len(wet_records(part)) for part in parts], [1] * len(records))
    report.equal("the file knows its name", wet_records(parts[0])[0][0]["WARC-Filename"], "out.warc.wet.gz")
    export(crawl, "--no-language", "-o", path + "/out.jsonl.gz")
    with gzip.open(path + "/out.jsonl.gz", "rt") as file:
        report.equal("JSON Lines are compressed, too", [json.loads(line) for line in file], plain)


def damage(report, path):
    crawl = sample(path)
    whole = rows(crawl)
    name = next(f"{crawl}/warc/{n}" for n in os.listdir(crawl + "/warc") if n.endswith(".warc.gz"))
    with open(name, "rb") as file:
        good = file.read()
    starts = [m.start() for m in re.finditer(rb"\x1f\x8b\x08", good)]

    def with_file(data, *words, status):
        with open(name, "wb") as file:
            file.write(data)
        out, said = export(crawl, *words, status=status)
        return [json.loads(line)["url"] for line in out.decode().split("\n")[:-1]], said

    urls = [row["url"] for row in whole]
    found, said = with_file(good[:-30], status=17)
    report.check("a file that is cut", set(found) <= set(urls) and len(found) >= len(urls) - 1 and "passed over, to its end" in said, said)
    at = starts[len(starts) // 2]
    broken = bytearray(good)
    broken[at + 12:at + 40] = bytes(28)
    found, said = with_file(bytes(broken), status=17)
    report.check("a record that is broken costs itself alone", len(found) >= len(urls) - 1 and set(found) <= set(urls) and
                 re.search(r"offset \d+: no complete compressed record; \d+ bytes passed over\n", said), said)
    found, said = with_file(good[:at] + b"x" * 1000 + good[at:], status=17)
    report.check("what is between records is passed over", found == urls and "1000 bytes passed over" in said, said)
    found, said = with_file(b"", status=0)
    report.equal("an empty file has no texts", found, [])
    found, said = with_file(good[:at], status=0)
    report.check("a file that ends between records is whole", found == urls[:len(found)] and said.count("passed over") == 0, said)
    with_file(good, status=0)
    os.rename(name, name + ".open")
    with open(name + ".open", "ab") as file:
        file.write(good[starts[1]:starts[1] + 20])
    report.equal("the unfinished end of a file that is being written is no damage", rows(crawl), whole)
    os.rename(name + ".open", name)
    with open(name, "wb") as file:
        file.write(good)
    os.mkdir(f"{crawl}/warc/other.warc.gz")
    found, said = with_file(good, status=3)
    report.check("a file that cannot be read is named, the others are read", found == urls and "other.warc.gz: cannot be read" in said, said)


def styles(report, path):
    """Style sheets that the crawl has hold for the pages that link them, whatever order they came in."""
    answers = {
        A + "/": (200, HTML, "<link rel=stylesheet href=/s.css><link rel=stylesheet href=/none.css media=screen><style>@import '/moved.css'; .e{display:none}</style>"
                  "<p class=n>hidden<p>seen<p class=i>import<p class=e>element<p class=u>upper <a href=/b>b</a>"),
        A + "/b": (200, HTML, "<link rel=stylesheet href=/s.css media=print><p class=n>b"),
        A + "/s.css": (200, {"Content-Type": "text/css", "Content-Encoding": "gzip"}, gzip.compress(b".n{display:none} .u{text-transform:uppercase}")),
        A + "/moved.css": (301, {"Location": "/d/i.css"}, ""),
        A + "/d/i.css": (200, {"Content-Type": "text/css"}, "@import url(j.css);"),
        A + "/d/j.css": (200, {"Content-Type": "text/css"}, ".i { display: none }"),
    }
    with Sites(path, answers) as sites:
        sites.crawl(path + "/crawl", "--page-requisites", A + "/")
    texts = {row["url"]: row["text"] for row in rows(path + "/crawl")}
    report.equal("what sheets hide is no text", texts, {A + "/": "seen\n\nUPPER B", A + "/b": "b"})
    texts = {row["url"]: row["text"] for row in rows(path + "/crawl", "--format", "markdown")}
    report.equal("Markdown has the links", texts[A + "/"], f"seen\n\nUPPER [B]({A}/b)")
    report.check("another format is refused", "expected jsonl|markdown|wet, not 'md'" in export(path + "/crawl", "--format", "md", status=2)[1])
    texts = {row["url"]: row["text"] for row in rows(path + "/crawl", "--no-styles")}
    report.equal("unless they are not wanted", texts[A + "/"], "hidden\n\nseen\n\nimport\n\nelement\n\nupper b")


def readers(report, path):
    crawl = sample(path)
    with harness.Web(path, pages=3000, hosts=20, addresses=20) as web:
        harness.crawl(web, path + "/large")
    for words in (["text"], ["text", "--format", "wet"], ["pages"], ["links"], ["links", "--format", "arcs"]):
        line = f"{harness.OUT}/ragno export {path}/large {' '.join(words)} 2>{path}/said | head -n 2; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=120)
        with open(path + "/said") as file:
            said = harness.said(file.read())
        report.check(f"| head: {' '.join(words)}", done.stdout.decode().split("\n")[-2] == "0" and said == "", (done.stdout[-200:], said))
    full = subprocess.run([f"{harness.OUT}/ragno", "export", crawl, "text", "-o", "/dev/full"], capture_output=True)
    report.check("a full disk is said", full.returncode == 3 and b"/dev/full: No space left" in full.stderr, full.stderr)
    for kind in ("text", "pages"):
        nowhere = subprocess.run([f"{harness.OUT}/ragno", "export", crawl, kind, "-o", path + "/none/x"], capture_output=True)
        report.check(f"a folder that is not there: {kind}", nowhere.returncode == 3 and b"No such file" in nowhere.stderr, nowhere.stderr)


if __name__ == "__main__":
    harness.main(fields, structured, pdf, choices, wet, damage, styles, readers)
