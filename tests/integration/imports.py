"""`ragno import`: archives of wget, of ourselves and of others, whole and damaged, become a crawl."""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess

import harness
from sites import Sites, page

A, B = "http://a.test", "http://b.test"
HTML = {"Content-Type": "text/html"}
ANSWERS = {
    A + "/": page("/x", "/copy", B + "/", "/moved"),
    A + "/x": page("/", "/deeper", text="<p>x"),
    A + "/copy": (200, HTML, "<title>copy</title><p>the same"),
    B + "/": page("/copy", "/gone", text="<p>b"),
    B + "/copy": (200, HTML, "<title>copy</title><p>the same"),
    A + "/deeper": (200, HTML, b"<p>" + b"deep " * 3000),
    A + "/moved": (301, {"Location": "/x"}, ""),
}


def run(*words, status=0):
    result = subprocess.run([f"{harness.OUT}/ragno", *words], capture_output=True, check=False)
    assert result.returncode == status, f"{words}: {result.returncode} {result.stdout[-500:]} {result.stderr.decode()}"
    return result.stdout, result.stderr.decode()


def rows(directory, kind, *fields):
    lines = run("export", directory, kind, "--format", "jsonl")[0].decode().splitlines()
    return {tuple(json.loads(line)[f] for f in fields) for line in lines}


def captures(data):
    """(URL, payload digest) of the answers of a gzipped WARC file."""
    text = gzip.decompress(data)
    found = set()
    while text.lstrip(b"\r\n"):
        head, rest = text.lstrip(b"\r\n").split(b"\r\n\r\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        if fields["WARC-Type"] in ("response", "revisit"):
            found.add((fields["WARC-Target-URI"].strip("<>"), fields["WARC-Payload-Digest"]))
        text = rest[int(fields["Content-Length"]):]
    return found


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def record(kind, url, block, *more, version="1.0", eol="\r\n", date="2026-01-31T12:00:00Z", content="application/http; msgtype=response"):
    head = [f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", f"WARC-Date: {date}",
            "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>", f"Content-Type: {content}", *more,
            f"Content-Length: {len(block)}", "", ""]
    return eol.join(head).encode() + block + b"\r\n\r\n"


def answer(body, *fields, status="200 OK"):
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: text/html", *fields, "", ""]).encode() + body


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def verified(report, name, directory):
    out, _ = run("verify", directory)
    report.check(f"{name}: verify finds nothing", b"0 problems" in out, out)


def wget(report, path):
    if not shutil.which("wget"):
        report.skip("an archive of wget", "wget is not installed")
        return
    with Sites(path, ANSWERS) as sites:
        subprocess.run(["wget", "-q", "-r", "-l", "5", "-e", "robots=off", f"--warc-file={path}/w", "-P", path + "/tree",
                        f"--execute=http_proxy=http://127.0.0.1:{sites.port}", A + "/"], check=False, capture_output=True)
    with open(path + "/w.warc.gz", "rb") as file:
        archive = file.read()
    theirs = captures(archive)
    answers = gzip.decompress(archive).count(b"\r\nWARC-Type: response\r\n")
    report.check("wget has them", {A + "/", A + "/x", A + "/deeper"} <= {u for u, _ in theirs}, theirs)
    _, said = run("import", "-d", path + "/c", path + "/w.warc.gz")
    # wget asks twice for what a redirect leads to: within one second the dates of both are the same.
    taken = sum(int(n) for n in re.findall(r"(\d+) (?:answers with|not newer)", said))
    report.equal("what came of it is said", taken, answers)
    report.equal("exported again with equal digests", captures(run("export", path + "/c", "warc")[0]), theirs)
    verified(report, "wget", path + "/c")
    _, said = run("import", "-d", path + "/c", path + "/w.warc.gz")
    report.check("a second time nothing is new", said.startswith("ragno import: 0 answers with 0 links") and "not newer" in said, said)
    report.equal("text", {json.loads(line)["url"] for line in run("export", path + "/c", "text")[0].splitlines()} >= {A + "/x"}, True)


def ours(report, path):
    crawl, again = path + "/crawl", path + "/again"
    with Sites(path, ANSWERS) as sites:
        sites.crawl(crawl, A + "/")
        run("export", crawl, "warc", "-o", path + "/all.warc.gz")
        _, said = run("import", "-d", again, path + "/all.warc.gz")
        for kind, fields in (("pages", ("url", "status", "n_crawls", "content_hash", "title", "mime")),
                             ("links", ("from", "to", "weight", "kind")), ("hosts", ("from", "to", "weight"))):
            report.equal(f"{kind} as in the crawl", rows(again, kind, *fields), rows(crawl, kind, *fields))
        verified(report, "ours", again)
        report.check("scores are computed", A + "/" in run("rank", again, "pagerank")[0].decode())
        report.check("a page has its reason", "fetched" in run("why", again, A + "/x")[0].decode())
        before = len(sites.requests)
        sites.crawl(again, B + "/new")
        asked = {f"http://{r.host}{r.path}" for r in sites.requests[before:]}
        report.check("a crawl goes on from there, and fetches nothing again", B + "/new" in asked and A + "/x" not in asked, asked)
        verified(report, "resumed", again)
        report.check("the audit finds no breach", "no breach" in run("audit", again)[0].decode())


def forms(report, path):
    body = b"<title>t</title><a href=/next>n</a>"
    chunked = b"%x\r\n" % 10 + body[:10] + b"\r\n%x;ext=1\r\n" % (len(body) - 10) + body[10:] + b"\r\n0\r\n\r\n"
    raw = answer(chunked, "Transfer-Encoding: chunked")
    whole = [record("warcinfo", "", b"software: x\r\n", content="application/warc-fields"),
             record("request", A + "/1", b"GET / HTTP/1.1\r\n\r\n", content="application/http; msgtype=request"),
             record("response", A + "/1", answer(body), "WARC-Payload-Digest: " + sha1(body)),
             record("response", f"<{A}/2>", raw, "WARC-Payload-Digest: " + sha1(chunked)),
             record("response", A + "/3#part", raw, "WARC-Payload-Digest: " + sha1(body), version="1.1", date="2026-01-31T12:00:00.5Z"),
             record("response", A + "/4", answer(body, "Transfer-Encoding: chunked"), eol="\n", version="0.18"),
             record("response", A + "/5", answer(body), "WARC-Truncated: length", "X-Folded: a", " b"),
             record("resource", A + "/6.html", body, content="text/html"),
             record("revisit", A + "/7", answer(b""), "WARC-Payload-Digest: " + sha1(body), "WARC-Profile: x",
                    f"WARC-Refers-To-Target-URI: {A}/1"),
             record("response", A + "/8", answer(b"", status="304 Not Modified")),
             record("response", "dns:a.test", b"x", content="text/dns"),
             record("response", A + "/9", answer(b"", status="404 Not Found"))]
    wanted = {(f"{A}/{n}", 200) for n in ("1", "2", "3", "4", "5", "6.html", "7")} | {(A + "/9", 404)}
    files = {"plain.warc": b"".join(whole), "one.warc.gz": gzip.compress(b"".join(whole)),
             "each.warc.gz": b"".join(gzip.compress(r) for r in whole)}
    for name, data in files.items():
        write(f"{path}/{name}", data)
    if shutil.which("zstd"):
        for name in ("one", "each"):
            parts = [b"".join(whole)] if name == "one" else whole
            write(f"{path}/{name}.warc.zst", b"".join(subprocess.run(["zstd", "-qc"], input=p, capture_output=True, check=True).stdout
                                                      for p in parts))
            files[f"{name}.warc.zst"] = b""
    for name in files:
        run("import", "-q", "-d", f"{path}/{name}.d", f"{path}/{name}")
        found = {r for r in rows(f"{path}/{name}.d", "pages", "url", "status", "n_crawls") if r[2] > 0}
        report.equal(f"all forms of answers: {name}", {r[:2] for r in found}, wanted)
    links = rows(path + "/plain.warc.d", "links", "from", "to")
    report.equal("the first of the same body has its links, as in a crawl", links, {(A + "/1", A + "/next")})
    late = write(path + "/late.warc", record("response", A + "/1", answer(b"newer"), date="2026-03-01T00:00:00Z"))
    run("import", "-q", "-d", path + "/order", late, path + "/plain.warc")
    report.check("files are taken in the order of their captures",
                 (A + "/1", 2, 1) in rows(path + "/order", "pages", "url", "n_crawls", "n_changes"))
    run("import", "-q", "-d", path + "/few", "-s", "scope.domains=other.test", "-s", "warc.enabled=no", path + "/plain.warc")
    report.equal("links are judged by scope: what is out of it becomes no page",
                 [(A + "/next",) in rows(f"{path}/{d}", "pages", "url") for d in ("few", "plain.warc.d")], [False, True])


def zstd(data, *words):
    return subprocess.run(["zstd", "-qc", *words], input=data, capture_output=True, check=True).stdout


def found_in(path, data, *more, status=0):
    """(URL, status) of the answers that come of a file, and what was said."""
    shutil.rmtree(path + "/d", ignore_errors=True)
    name = path + "/x"
    _, said = run("import", "-d", path + "/d", write(name, data), *more, status=status)
    return {r[:2] for r in rows(path + "/d", "pages", "url", "status", "n_crawls") if r[2] > 0}, said


def dictionaries(report, path):
    if not shutil.which("zstd"):
        report.skip("dictionaries of Zstandard", "zstd is not installed")
        return
    urls = [f"{A}/{i}" for i in range(200)]
    whole = [record("response", url, answer(b"<title>%d</title><p>of many words, which all of them have" % i)) for i, url in enumerate(urls)]
    wanted = {(url, 200) for url in urls}
    for i, data in enumerate(whole):
        write(f"{path}/sample{i}", data)
    subprocess.run(["zstd", "-q", "--train", *(f"{path}/sample{i}" for i in range(200)), "--maxdict=2000", "-o", path + "/trained"], check=True,
                   capture_output=True)
    write(path + "/raw", whole[0])
    for name in ("trained", "raw"):
        with open(f"{path}/{name}", "rb") as file:
            plain = file.read()
        frames = b"".join(zstd(data, "-D", f"{path}/{name}") for data in whole)
        for how, dictionary in (("as it is", plain), ("compressed", zstd(plain))):
            head = b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little")
            report.equal(f"a dictionary, {name}, {how}", found_in(path, head + dictionary + frames)[0], wanted)
        report.check(f"{name}: it is needed", "broken" in found_in(path, frames, status=17)[1] or name == "raw")
        for n in (3, 8, 9, len(head) + 20):
            report.equal(f"{name}: cut after {n} bytes", found_in(path, (head + dictionary + frames)[:n], status=17)[0], set())


def arc(report, path):
    def line(url, block, kind="text/html"):
        return f"{url} 192.0.2.1 20040131120000 {kind} {len(block)}\n".encode() + block + b"\n"
    body = b"<title>t</title><a href=/next>n</a>"
    head = line("filedesc://x.arc", b"1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n<arcmetadata/>\n", "text/plain")
    parts = [head, line("dns:a.test", b"20040131120000\na.test. 1 IN A 192.0.2.1\n", "text/dns"), line(A + "/1", answer(body)),
             line(A + "/2 with blank", answer(body)), line(A + "/3", answer(b"", status="404 Not Found"))]
    wanted = {(A + "/1", 200), (A + "/2%20with%20blank", 200), (A + "/3", 404)}
    for name, data in (("plain", b"".join(parts)), ("a member each", b"".join(gzip.compress(p) for p in parts)),
                       ("one member", gzip.compress(b"".join(parts))), ("behind an empty line", b"\n" + b"".join(parts)),
                       ("the same in one member", gzip.compress(b"\n" + b"".join(parts)))):
        report.equal(f"ARC 1.1: {name}", found_in(path, data)[0], wanted)
    report.check("its links", (A + "/1", A + "/next") in rows(path + "/d", "links", "from", "to"))
    run("export", path + "/d", "warc", "-o", path + "/out.warc.gz")
    with gzip.open(path + "/out.warc.gz") as file:
        text = file.read()
    report.check("its dates and addresses", b"WARC-Date: 2004-01-31T12:00:00" in text and b"WARC-IP-Address: 192.0.2.1" in text)
    verified(report, "ARC", path + "/d")
    bad = gzip.compress(parts[2])
    bad = bad[:30] + bytes(20) + bad[50:]
    found, said = found_in(path, b"".join([gzip.compress(head), bad, *(gzip.compress(p) for p in parts[3:])]), status=17)
    report.check("a broken member of ARC is passed over", found == wanted - {(A + "/1", 200)} and "passed over" in said, (found, said))
    found, said = found_in(path, b"".join(parts)[:-30], status=17)
    report.check("a cut one is told", found == wanted - {(A + "/3", 404)} and "it is cut" in said, (found, said))


def revisits(report, path):
    body = b"<title>t</title><a href=/next>n</a>"
    original = record("response", A + "/1", answer(body)).replace(b"00000000-0000-4000-8000-000000000000", b"11111111-0000-4000-8000-000000000000")
    wanted = {(A + "/1", 200), (B + "/copy", 200)}
    says = {"its digest": ["WARC-Payload-Digest: " + sha1(body)],
            "an id": ["WARC-Refers-To: <urn:uuid:11111111-0000-4000-8000-000000000000>"],
            "URL and date": [f"WARC-Refers-To-Target-URI: {A}/1", "WARC-Refers-To-Date: 2026-01-31T12:00:00Z"],
            "an id beside a digest of SHA-256": ["WARC-Refers-To: <urn:uuid:11111111-0000-4000-8000-000000000000>", "WARC-Payload-Digest: sha256:00"]}
    for name, fields in says.items():
        revisit = record("revisit", B + "/copy", answer(b""), "WARC-Profile: x", *fields)
        for order, data in (("behind", original + revisit), ("before", revisit + original), ("before, compressed", gzip.compress(revisit + original))):
            found, said = found_in(path, data)
            report.equal(f"a revisit that tells {name}, {order} its original", found, wanted)
        found, said = found_in(path, revisit, write(path + "/y", original))
        report.check(f"{name}: in another file", found == wanted and "not known" not in said, said)
        found, said = found_in(path, revisit)
        report.check(f"{name}: without its original it is counted", found == set() and re.search(r"\b1 .*whose payload is not known", said), said)


def damage(report, path):
    body = b"<p>" + os.urandom(3000).hex().encode()
    good = [record("response", f"{A}/{i}", answer(body + b"%d" % i), "WARC-Block-Digest: " + sha1(answer(body + b"%d" % i)))
            for i in range(5)]
    members = [gzip.compress(r) for r in good]
    broken = members[2][:600] + bytes(300) + members[2][900:]
    short = good[2].replace(b"Content-Length: ", b"Content-Length: 9", 1)
    lying = good[2].replace(b"%d" % len(answer(body + b"2")), b"100", 1)
    wrong = good[2].replace(b"<p>", b"<q>")
    bare = good[2].replace(b"HTTP/1.1 200 OK", b"nothing at all!")
    odd = record("response", "http://[", answer(body))
    cases = {"cut": (b"".join(members)[:-200], 4, "broken, or it is cut"),
             "cut plain": (b"".join(good)[:-200], 4, "it is cut"),
             "a broken member": (b"".join(members[:2] + [broken] + members[3:]), 4, "passed over"),
             "rubbish between members": (b"".join(members[:2]) + b"\x1f\x8b\x08rubbish" + b"".join(members[2:]), 5, "broken, or it is cut"),
             "a length that is too long": (b"".join(gzip.compress(r) for r in good[:2] + [short] + good[3:]), 4, "it is cut"),
             "a length that is too short": (b"".join(gzip.compress(r) for r in good[:2] + [lying] + good[3:]), 4, "Content-Length does not fit"),
             "the same in one member": (gzip.compress(b"".join(good[:2] + [lying] + good[3:])), 4, "Content-Length does not fit"),
             "the same, plain": (b"".join(good[:2] + [lying] + good[3:]), 4, "Content-Length does not fit"),
             "a wrong digest": (b"".join(good[:2] + [wrong] + good[3:]), 4, "its digest is wrong"),
             "no HTTP": (b"".join(good[:2] + [bare] + good[3:]), 4, "no answer of HTTP"),
             "no URL": (b"".join(good[:2] + [odd] + good[3:]), 4, "no URL"),
             "no length": (b"".join(good[:2]) + b"WARC/1.0\r\nWARC-Type: response\r\n\r\n" + b"".join(good[2:]), 5, "no Content-Length"),
             "a header that the next record begins in": (b"".join(good[:2]) + b"WARC/1.0\r\nWARC-Type: response\r\n" + b"".join(good[2:]), 5, "cut in its header"),
             "nothing but beginnings": (b"WARC/1.0\r\n" * 2000 + b"".join(good), 5, "cut in its header"),
             "rubbish alone": (os.urandom(100000), 0, "no WARC record"),
             "no end of a header": (b"WARC/1.0\r\n" + b"x" * 200000 + b"\r\n" + b"".join(good), 5, "header does not end")}
    for name, (data, n, why) in cases.items():
        file = write(f"{path}/x.warc", data)
        shutil.rmtree(path + "/d", ignore_errors=True)
        _, said = run("import", "-d", path + "/d", file, status=17)
        found = {r[0] for r in rows(path + "/d", "pages", "url", "n_crawls") if r[1] > 0}
        report.check(f"{name}: a sentence, and the rest is taken", len(found) == n and why in said, (len(found), said))
    hostile = record("response", A + "/h", answer(b"<a href='" + b"x" * 300000 + b"'>" + b"<div>" * 100000 + b"\0\xff<a href=/ok>"))
    run("import", "-d", path + "/h", write(path + "/h.warc", hostile))
    report.check("hostile HTML", (A + "/h", A + "/ok") in rows(path + "/h", "links", "from", "to"))
    run("import", "-d", path + "/e", write(path + "/e.warc.gz", b""))
    _, said = run("import", "-d", path + "/n", path + "/none.warc.gz", write(path + "/one.warc", good[0]), status=3)
    report.check("a file that is not there is named, the others are read", "none.warc.gz: cannot be read" in said and "1 answers" in said, said)
    for words in ([], ["--nope", path + "/one.warc"], ["-s", "x", path + "/one.warc"], ["-s", "no.such=1", path + "/one.warc"]):
        report.check(f"refused: {words[:2]}", run("import", "-d", path + "/r", *words, status=2)[1] != "" and not os.path.exists(path + "/r"))


if __name__ == "__main__":
    harness.main(wget, ours, forms, dictionaries, arc, revisits, damage)
