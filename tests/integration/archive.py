"""What a crawl keeps: after crawls of misbehaving hosts (and, with FULL=1, of real documentation)
every WARC file is read here byte for byte, with nothing but gzip's format and WARC 1.1 in mind. The
index names exactly its records, crawl.log and files tell of the same answers, `ragno verify` agrees,
and `ragno db DIR get` prints what the servers sent."""
import base64
import collections
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import zlib

import harness
import real_pages
from sites import Sites, log_lines, page

A = "http://a.test"
CAPTURES = ("response", "revisit", "resource")
ONCE = ("warc-type", "warc-record-id", "warc-date", "content-length", "warc-block-digest",
        "warc-payload-digest", "warc-target-uri", "content-type", "warc-truncated")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
Record = collections.namedtuple("Record", "offset length fields block")


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def split_header(data):
    """(first line, [(name, value)], rest) of a block whose lines end with CRLF."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    assert separator, "no end of the header"
    lines = head.split(b"\r\n")
    assert b"\n" not in head.replace(b"\r\n", b""), "a bare line feed in a header"
    fields = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            fields.append((name.strip().decode("latin-1").lower(), value.strip()))
    return lines[0], fields, rest


def read_record(offset, length, data):
    version, pairs, rest = split_header(data)
    assert version == b"WARC/1.1", f"version {version!r}"
    fields = {name: value.decode() for name, value in reversed(pairs)}
    for name in ONCE:
        assert sum(other == name for other, _ in pairs) <= 1, f"{name} repeated"
    size = int(fields["content-length"])
    assert len(rest) == size + 4, f"a block of {len(rest) - 4} bytes, not {size}"
    assert rest[size:] == b"\r\n\r\n", "no two empty lines behind the block"
    return Record(offset, length, fields, rest[:size])


def unpack_frames(path):
    """What is left of a .warc.zst file without compression, and where each frame begins."""
    with open(path, "rb") as file:
        data = file.read()
    starts = [match.start() for match in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), data)]
    frames, at = [], 0
    for end in starts[1:] + [len(data)]:
        # The magic number may be anywhere: a frame ends where what lies before unpacks.
        result = subprocess.run(["zstd", "-dcq"], input=data[at:end], capture_output=True)
        if result.returncode == 0:
            frames.append((at, end - at, result.stdout))
            at = end
    assert at == len(data), f"{path} ends within the record at {at}"
    return frames


def read_file(path):
    """The records; each is one member of the gzip file, or one frame."""
    if path.endswith(".zst"):
        return [read_record(*frame) for frame in unpack_frames(path)]
    with open(path, "rb") as file:
        data = memoryview(file.read())
    offset, records = 0, []
    while offset < len(data):
        inflater = zlib.decompressobj(31)
        parts, at = [], offset
        while not inflater.eof:
            assert at < len(data), f"{path} ends within the record at {offset}"
            parts.append(inflater.decompress(data[at:at + 65536]))
            at += 65536
        end = min(at, len(data)) - len(inflater.unused_data)
        records.append(read_record(offset, end - offset, b"".join(parts)))
        offset = end
    return records


def check_message(record, payload_digest):
    """An HTTP answer: its header does not contradict the bytes beside it."""
    first, pairs, body = split_header(record.block)
    fields = dict(pairs)
    assert re.match(rb"HTTP/1\.[01] \d{3}( |$)", first), f"status line {first!r}"
    if record.fields["warc-type"] == "revisit":
        assert body == b"" and "warc-profile" in record.fields, "a revisit with a body"
        return
    assert sha1(body) == payload_digest, "payload digest"
    assert "transfer-encoding" not in fields, "a transfer coding that was undone"
    if "warc-truncated" in record.fields:
        return
    stated = fields.get("content-length")
    assert stated is None or int(stated) == len(body), f"{stated} bytes stated, {len(body)} kept"
    if fields.get("content-encoding") == b"gzip" and body:
        assert body[:2] == b"\x1f\x8b", "gzip that is none"


def check_record(record, ids):
    fields = record.fields
    kind = fields["warc-type"]
    assert fields["warc-record-id"] not in ids, "an id that was there before"
    assert re.fullmatch(r"<urn:uuid:[0-9a-f-]{36}>", fields["warc-record-id"]), "record id"
    assert DATE.fullmatch(fields["warc-date"]), f"date {fields['warc-date']}"
    assert fields["warc-block-digest"] == sha1(record.block), "block digest"
    if kind in ("request", "response", "revisit"):
        assert fields["content-type"] == ("application/http; msgtype=" +
                                          ("request" if kind == "request" else "response"))
        assert re.fullmatch(r"https?://\S+", fields["warc-target-uri"]), "target"
        assert fields["warc-ip-address"].startswith("127."), "address"
    if kind in ("response", "revisit"):
        check_message(record, fields.get("warc-payload-digest"))
    if kind == "request" and "warc-concurrent-to" in fields:  # else it got no answer
        assert fields["warc-concurrent-to"] in ids, "concurrent to a record that is not here"
    if kind == "warcinfo":
        assert b"software: ragno" in record.block, "warcinfo names the software"
    ids.add(fields["warc-record-id"])


def check_index(path, records):
    with open(re.sub(r"\.warc\.(gz|zst)$", ".cdxj", path), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines == sorted(lines, key=str.encode), "the index is not sorted"
    entries = [json.loads(line[line.index("{"):]) for line in lines]
    named = {(int(e["offset"]), int(e["length"]), e["url"], e["digest"]) for e in entries}
    there = {(r.offset, r.length, r.fields["warc-target-uri"],
              r.fields["warc-payload-digest"]) for r in records
             if r.fields["warc-type"] in CAPTURES}
    assert len(entries) == len(named), "the index names a record twice"
    assert named == there, f"index: {sorted(named ^ there)[:3]}"


def check_revisits(records):
    """Each refers to a response of another time with the same payload."""
    originals = {(r.fields["warc-target-uri"], r.fields["warc-date"]):
                 r.fields["warc-payload-digest"] for r in records
                 if r.fields["warc-type"] == "response"}
    for record in records:
        if record.fields["warc-type"] == "revisit":
            target = (record.fields["warc-refers-to-target-uri"],
                      record.fields["warc-refers-to-date"])
            assert originals.get(target) == record.fields["warc-payload-digest"], \
                f"revisit of {target}"


def check_archive(report, name, directory):
    """All checks of a finished crawl; returns the records."""
    records, problems = [], []
    paths = sorted(glob.glob(glob.escape(directory) + "/warc/*"))
    files = [path for path in paths if path.endswith((".warc.gz", ".warc.zst"))]
    report.check(f"{name}: there is nothing but files and their indexes",
                 files and len(paths) == 2 * len(files),
                 str([path for path in paths if not path.endswith((".cdxj", ".gz", ".zst"))]))
    for path in files:
        found, ids = read_file(path), set()
        if found[0].fields["warc-type"] != "warcinfo" or \
                found[0].fields["warc-filename"] != os.path.basename(path):
            problems.append(f"{path} does not begin with its warcinfo")
        for record in found:
            try:
                check_record(record, ids)
            except (AssertionError, KeyError, ValueError) as error:
                problems.append(f"{record.offset} {record.fields}: {error!r}")
        try:
            check_index(path, found)
        except AssertionError as error:
            problems.append(f"{path}: {error}")
        records += found
    report.check(f"{name}: {len(records)} records in {len(files)} files are right", not problems,
                 f"{len(problems)}: {problems[:3]}")
    try:
        check_revisits(records)
        report.check(f"{name}: revisits have their originals", True)
    except AssertionError as error:
        report.check(f"{name}: revisits have their originals", False, str(error))
    logged = collections.Counter((f[3], f[9]) for f in log_lines(directory, "crawl.log")
                                 if f[9] != "-")
    stored = collections.Counter((r.fields["warc-target-uri"], r.fields["warc-payload-digest"])
                                 for r in records if r.fields["warc-type"] in CAPTURES[:2])
    report.check(f"{name}: crawl.log tells of the same {sum(stored.values())} answers",
                 stored == logged, f"log {(logged - stored).most_common(3)}, "
                                   f"WARC {(stored - logged).most_common(3)}")
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.check(f"{name}: ragno verify agrees", result.returncode == 0, result.stdout[-500:])
    return records


def misbehaviour(report, path):
    rows = subprocess.run([f"{harness.OUT}/web", "--catalogue"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()
    seeds = path + "/all-seeds.txt"
    with open(seeds, "w") as file:
        file.writelines(f"http://{row.split()[0]}/\n" for row in rows)
        file.write("http://h00000.web.test/\n")
    settings = {"dns.timeout": "200ms", "dns.tries": 1, "fetch.first_byte_timeout": "700ms",
                "fetch.total_timeout": "2s", "fetch.slow_time": "1s", "fetch.max_body": "300k",
                "politeness.retry_after_max": "200ms", "limits.trap_fetches": 20,
                "politeness.retry": ",".join(
                    f"{word} 200ms 1" for word in ("local", "busy", "dns", "refused", "timeout", "slow",
                                                   "broken", "robots-error"))}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with harness.Web(path, hosts=4, pages=40, slow_ms=5000) as web:
        result = harness.crawl(web, path + "/crawl", "-l", "1", "--warc-max-size", "300k", *options,
                               "--reject-regex", "//many-links[^/]*/..", seeds=seeds, timeout=60, wait="5ms")
    report.check(f"a crawl of {len(rows)} misbehaving hosts ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    records = check_archive(report, "misbehaviour", path + "/crawl")
    kinds = collections.Counter(r.fields["warc-type"] for r in records)
    report.check("there are responses, revisits and requests",
                 kinds["response"] > 150 and kinds["revisit"] > 10 and
                 kinds["request"] > kinds["response"] + kinds["revisit"], str(kinds))
    alone = collections.Counter(r.fields["warc-target-uri"] for r in records if r.fields["warc-type"] == "request"
                                and "warc-concurrent-to" not in r.fields)
    broken = collections.Counter(f[3] for f in log_lines(path + "/crawl") if int(f[1]) < 0)
    report.check(f"{sum(alone.values())} requests that got no answer stand alone, as crawl.log says",
                 len(alone) > 10 and not alone - broken, str(alone - broken))
    tries = collections.Counter(f[3] for f in log_lines(path + "/crawl") if f[3].startswith("dns:"))
    report.equal("name servers that fail are asked again, names without address once before the end",
                 [tries[f"dns:dns-{name}.web.test"] for name in ("servfail", "refused", "silent",
                                                                 "empty")], [2, 2, 2, 2])
    again = sum(f[3] == "http://robots-away.web.test/robots.txt" for f in log_lines(path + "/crawl"))
    report.equal("robots.txt that leads nowhere is asked for twice, as the retry table says", again, 2)
    cut = {r.fields["warc-truncated"] for r in records if "warc-truncated" in r.fields}
    report.check("answers that were cut say so", "length" in cut, str(cut))


def get(directory, *words):
    result = subprocess.run([f"{harness.OUT}/ragno", "db", directory, "get", *words],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return result.returncode, result.stdout


def printed(report, path):
    text = page("/packed", "/twin", "/picture", text="hello ")
    packed = gzip.compress(b"<title>packed</title>" + b"many words " * 500)
    picture = bytes(range(256)) * 40
    answers = {A + "/": text, A + "/twin": text, A + "/robots.txt": (200, {}, "User-agent: *\n"),
               A + "/packed": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"},
                               packed),
               A + "/picture": (200, {"Content-Type": "image/png", "X-Is": "a picture"}, picture)}
    crawl = path + "/crawl"
    with Sites(path, answers) as sites:
        sites.crawl(crawl, A + "/")
    records = check_archive(report, "a small site", crawl)
    kinds = {r.fields["warc-target-uri"]: r.fields["warc-type"] for r in records
             if r.fields["warc-type"] in CAPTURES}
    report.equal("the second of two equal answers is a revisit", kinds.get(A + "/twin"), "revisit")
    for name, url, words, expected in (
            ("a page", "/", ["--body"], text[2].encode()),
            ("a revisit's body", "/twin", ["--body"], text[2].encode()),
            ("robots.txt", "/robots.txt", ["--body"], b"User-agent: *\n"),
            ("a body that was packed", "/packed", ["--body"], gzip.decompress(packed)),
            ("the same as it was sent", "/packed", ["--raw"], packed),
            ("a picture", "/picture", ["--body"], picture),
            ("a page that is not there", "/none", ["--body"], b"")):
        code, output = get(crawl, A + url, *words)
        report.check(f"db get prints {name}", output == expected and code == (url == "/none"),
                     f"exit {code}, {len(output)} bytes")
    code, output = get(crawl, A + "/picture", "--headers")
    report.check("db get prints headers", code == 0 and output.startswith(b"HTTP/1.1 200 OK\r\n") and
                 b"\r\nX-Is: a picture\r\n" in output and output.endswith(b"\r\n\r\n"), str(output))
    report.equal("db get prints both", get(crawl, A + "/picture", "--headers", "--body")[1],
                 output + picture)


def described(report, path):
    """warc.metadata: links, digests and the way to a page are beside its answer."""
    answers = {A + "/": (200, {"Content-Type": "text/html; charset=iso-8859-1",
                               "Link": "</next>; rel=next"},
                         '<title>t</title><a href="/a" rel=nofollow>a</a> <img src="i.png">'
                         '<a href="/b">many words that make a text</a>'),
               A + "/b": (302, {"Location": "/c"}, ""), A + "/c": page(text="end")}
    crawl = path + "/crawl"
    with Sites(path, answers) as sites:
        sites.crawl(crawl, "--set", "warc.metadata=yes", "--set", "warc.dns=yes", A + "/")
    records = check_archive(report, "with metadata", crawl)
    resources = [r for r in records if r.fields["warc-type"] == "resource"]
    report.equal("one DNS answer", [r.fields["warc-target-uri"] for r in resources], ["dns:a.test"])
    report.check("as text", resources and resources[0].fields["content-type"] == "text/dns" and
                 re.fullmatch(rb"\d{14}\n(a\.test\.\t\d+\tIN\tA\t127\.[\d.]+\n)+",
                              resources[0].block), str(resources))
    report.equal("db get prints it", get(crawl, "dns:a.test", "--body"), (0, resources[0].block))
    captures = {r.fields["warc-record-id"]: r for r in records
                if r.fields["warc-type"] in CAPTURES}
    metadata = {r.fields["warc-target-uri"]: r for r in records
                if r.fields["warc-type"] == "metadata"}
    report.equal("every page has a metadata record", sorted(metadata),
                 sorted(A + url for url in ("/", "/a", "/b", "/c", "/next")))
    report.check("it is concurrent to the answer", all(
        captures[r.fields["warc-concurrent-to"]].fields["warc-target-uri"] == url and
        captures[r.fields["warc-concurrent-to"]].fields["warc-date"] == r.fields["warc-date"]
        for url, r in metadata.items()))
    fields = {url: [line.split(": ", 1) for line in r.block.decode().splitlines()]
              for url, r in metadata.items()}
    report.equal("links in order, those that are not followed, too",
                 [value for name, value in fields[A + "/"] if name == "outlink"],
                 [f"{A}/next L header", f"{A}/a L a nofollow", f"{A}/i.png E img", f"{A}/b L a"])
    names = [name for name, _ in fields[A + "/"]]
    report.check("encoding and digests", "text-digest" in names and
                 ["charsetForLinkExtraction", "windows-1252"] in fields[A + "/"], str(names))
    report.equal("how a page was found", [f for f in fields[A + "/c"] if f[0] in ("via", "hopsFromSeed")],
                 [["via", A + "/b"], ["hopsFromSeed", "LR"]])
    report.equal("a redirect's target", [f for f in fields[A + "/b"] if f[0] == "outlink"],
                 [["outlink", f"{A}/c R redirect"]])


def confirmed(report, path):
    """Pages that are visited again: a 304 is a revisit record that leads to what it confirms."""
    html, etag = {"Content-Type": "text/html", "ETag": '"1"'}, {"ETag": '"2"'}
    answers = {A + "/": (200, html, "<a href=/same>a</a><a href=/twin>b</a>"),
               A + "/same": (200, html, "the same text"), A + "/twin": (200, etag, "the same text")}
    crawl = path + "/crawl"
    with Sites(path, answers) as sites:
        def three_visits():
            seen = collections.Counter(r.path for r in sites.requests)
            return all(seen[url[len(A):]] >= 3 for url in answers)
        sites.crawl_until(three_visits, crawl, "--set", "schedule.mode=continuous",
                          "--set", "schedule.revisit_default=400ms",
                          "--set", "schedule.revisit_min=300ms", A + "/")
    records = check_archive(report, "visited again", crawl)
    again = [r for r in records if b" 304 " in r.block[:13] and r.fields["warc-type"] in CAPTURES]
    first = {(r.fields["warc-target-uri"], r.fields["warc-date"]): r.fields["warc-record-id"]
             for r in records if r.fields["warc-type"] == "response"}
    report.check("every page was confirmed", {r.fields["warc-target-uri"] for r in again} >=
                 set(answers), f"{len(again)} answers 304")
    report.check("by revisit records that refer to the response that holds the payload", all(
        r.fields["warc-type"] == "revisit" and
        r.fields["warc-profile"].endswith("/server-not-modified") and
        first[r.fields["warc-refers-to-target-uri"], r.fields["warc-refers-to-date"]] ==
        r.fields["warc-refers-to"] for r in again))
    report.equal("db get finds the body", get(crawl, A + "/same", "--body"), (0, b"the same text"))
    report.check("db get prints the header of the 304",
                 get(crawl, A + "/same", "--headers")[1].startswith(b"HTTP/1.1 304 "))


def n_logged(directory, url):
    return sum(f[3] == url for f in log_lines(directory))


def tried(report, path):
    """A crawl that ends while an answer is to be asked for again."""
    answers = {A + "/": page("/busy", "/cut"), A + "/busy": (503, {"Retry-After": "60"}, "later")}
    with Sites(path, answers) as sites:
        result = sites.crawl_until(lambda: A + "/busy" in sites.asked() and
                                   n_logged(path + "/crawl", A + "/busy"), path + "/crawl", A + "/")
    report.equal("the crawl waits for the second try", result.returncode, 11)
    result = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.check("ragno verify takes the first for what it is", result.returncode == 0, result.stdout)


def two_compressions(report, path):
    """warc.compression, and a second run that wants it otherwise."""
    if not shutil.which("zstd"):
        report.skip("two compressions", "no zstd")
        return
    crawl = path + "/crawl"
    answers = {f"{A}/{i}": page(f"/{i * 2}", f"/{i * 2 + 1}", text=f"page {i} " * 50)
               for i in range(1, 60)}
    with Sites(path, answers) as sites:
        for kind, pages in (("zstd", 20), ("gzip", 0)):
            sites.crawl(crawl, "--set", f"warc.compression={kind}", "--set", "warc.metadata=yes", "--max-pages", str(pages), A + "/1")
    records = check_archive(report, "two compressions", crawl)
    names = glob.glob(glob.escape(crawl) + "/warc/*.warc.*")
    report.equal("one of each kind",
                 [sum(name.endswith(end) for name in names) for end in (".zst", ".gz")], [1, 1])
    report.equal("every page is there once",
                 sorted(r.fields["warc-target-uri"] for r in records
                        if r.fields["warc-type"] in CAPTURES[:2] and b" 200 OK" in r.block[:20]),
                 sorted(answers))
    report.equal("db get reads both", [get(crawl, f"{A}/{i}", "--body") for i in (1, 59)],
                 [(0, answers[f"{A}/{i}"][2].encode()) for i in (1, 59)])


def filtered(report, path):
    answers = {A + "/": page("/keep", "/leave"), A + "/keep": page(text="kept"),
               A + "/leave": page(text="left")}
    with Sites(path, answers) as sites:
        sites.crawl(path + "/crawl", "--set", 'store.filter=not PathStartsWithOneOf(/leave)', A + "/")
        sites.crawl(path + "/none", "--no-warc", A + "/")
    report.equal("store.filter keeps one answer out", [get(path + "/crawl", A + url, "--body") for url in
                                                       ("/keep", "/leave")],
                 [(0, answers[A + "/keep"][2].encode()), (1, b"")])
    result = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.check("and ragno verify does not miss it", result.returncode == 0, result.stdout)
    for file in glob.glob(glob.escape(path) + "/crawl/warc/*"):
        os.remove(file)
    result = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    missed = re.findall(r"in no WARC file: (\S+)", result.stdout)
    report.equal("but what was stored and is lost", sorted(missed), [A + "/", A + "/keep"])
    report.check("--no-warc keeps pages without files", not os.path.exists(path + "/none/warc") and
                 len([url for url, _, n in harness.db_rows(path + "/none") if n > 0]) == 3)


def documentation(report, path):
    sites = [site for site in real_pages.SITES if glob.glob(site[2] + site[3])]
    if not harness.FULL or not sites:
        report.skip("documentation", "long (FULL=1)")
        return
    real_pages.serve_and_crawl(report, path, sites)
    check_archive(report, "documentation", path + "/crawl")


if __name__ == "__main__":
    harness.main(misbehaviour, printed, described, confirmed, tried, two_compressions, filtered, documentation)
