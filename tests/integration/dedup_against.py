"""warc.dedup_against: what another crawl has is stored as a revisit record to it; the two archives together replay."""
import gzip
import hashlib
import base64
import json
import os
import re
import shutil
import subprocess
import time
import zipfile

import harness
from sites import Sites, page

A, B = "http://a.test", "http://b.test"
HTML = {"Content-Type": "text/html"}
PICTURE = (200, {"Content-Type": "image/png"}, bytes(range(256)) * 40)
OLD = {
    A + "/": page("/x", "/copy", "/p.png", B + "/", "/changes", "/chunked"),
    A + "/x": page("/", text="<p>x"),
    A + "/copy": (200, HTML, "<title>copy</title><p>the same"),
    A + "/p.png": PICTURE,
    A + "/chunked": (200, {**HTML, "Transfer-Encoding": "chunked"}, "<p>chunked"),
    A + "/changes": (200, HTML, "<p>of the first crawl"),
    B + "/": page("/moved.png", text="<p>b"),
    B + "/moved.png": (200, HTML, "<p>will be the picture"),
}
NEW = {**OLD, A + "/changes": (200, HTML, "<p>of the second crawl"), B + "/moved.png": PICTURE}
UNCHANGED = {url for url in OLD if url not in (A + "/changes", B + "/moved.png")}
RAGNO = f"{harness.OUT}/ragno"


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def records(data):
    """(fields, block) of each record of a gzipped WARC file."""
    found, text = [], gzip.decompress(data)
    while text:
        head, rest = text.split(b"\r\n\r\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        length = int(fields["Content-Length"])
        found.append((fields, rest[:length]))
        text = rest[length + 4:]
    return found


def archive(crawl):
    """Of each answer of a crawl: URL -> (fields, block)."""
    data = b"".join(open(f"{crawl}/warc/{f}", "rb").read() for f in sorted(os.listdir(crawl + "/warc")) if f.endswith(".gz"))
    return {f["WARC-Target-URI"]: (f, b) for f, b in records(data)
            if f["WARC-Type"] in ("response", "revisit") and not f["WARC-Target-URI"].endswith("/robots.txt")}


def of_wacz(path):
    """(SURT key's URL, timestamp) -> whole record, and the lines of the index."""
    with zipfile.ZipFile(path) as file:
        data = file.read("archive/data.warc.gz")
        lines = [json.loads(line.split(b" ", 2)[2]) | {"at": line.split(b" ", 2)[1].decode()}
                 for line in gzip.decompress(file.read("indexes/index.cdx.gz")).splitlines()]
    captures = {}
    for line in lines:
        at = int(line["offset"])
        captures[line["url"], line["at"]] = records(data[at:at + int(line["length"])])[0]
    return captures


def run(*words, status=0):
    result = subprocess.run([RAGNO, *words], capture_output=True, text=True, check=False)
    assert result.returncode == status, f"{words}: {result.returncode} {result.stdout[-500:]} {result.stderr}"
    return result.stdout + result.stderr


def both(path, *sources):
    """The crawl of OLD, a second later that of NEW against what sources makes of it."""
    first, second = path + "/first", path + "/second"
    with Sites(path, OLD) as sites:
        sites.crawl(first, A + "/")
    time.sleep(1.1)  # two captures of a URL are told apart by their second
    words = [source(first, path) for source in sources]
    with Sites(path, NEW) as sites:
        result = sites.crawl(second, A + "/", "--set", "warc.dedup_against=" + " ".join(words))
        asked = sites.asked()
    return first, second, asked, result


def check(report, first, second, asked):
    old, new = archive(first), archive(second)
    report.same_set("all is fetched", asked & set(NEW), set(NEW))
    report.same_set("what the other crawl has is a revisit", {u for u, (f, _) in new.items() if f["WARC-Type"] == "revisit"} & set(NEW),
                    UNCHANGED | {B + "/moved.png"})
    for url in sorted(UNCHANGED):
        fields = new[url][0]
        report.equal(f"{url} refers to its record", (fields["WARC-Refers-To-Target-URI"], fields["WARC-Refers-To-Date"][:19]),
                     (url, old[url][0]["WARC-Date"][:19]))
        report.equal(f"{url} has its digest", fields["WARC-Payload-Digest"], old[url][0]["WARC-Payload-Digest"])
        report.check(f"{url} has no id that nobody knows", "WARC-Refers-To" not in fields and
                     fields["WARC-Profile"].endswith("identical-payload-digest"))
    report.equal("the same payload under another URL", new[B + "/moved.png"][0]["WARC-Refers-To-Target-URI"], A + "/p.png")
    report.check("what has changed is stored", new[A + "/changes"][1].endswith(b"of the second crawl"))


def times_read(crawl):
    with open(crawl + "/ragno.log", encoding="utf-8") as file:
        return file.read().count("index of another crawl was read")


def a_crawl(report, path):
    first, second, asked, _ = both(path, lambda crawl, _: crawl)
    check(report, first, second, asked)
    with open(second + "/ragno.log", encoding="utf-8") as file:
        report.check("ragno.log counts them", re.search(rf"asked=\d+ found={len(UNCHANGED) + 3}\n", file.read()))  # and two robots.txt
    said = run("verify", second)
    report.check("verify: they are elsewhere", re.search(r"note\t\d+ revisits refer to records of other crawls", said) and
                 " 0 problems" in said.replace("\t", " "), said)
    with Sites(path, NEW) as sites:
        sites.crawl(second, "--set", "warc.dedup_against=" + first)
    report.equal("it is read once", times_read(second), 1)
    with open(f"{first}/warc/more.cdxj", "w", encoding="ascii") as file:
        file.write(f'test,a)/y 20200102030405 {{"url": "{A}/y", "mime": "text/html", "status": "200", '
                   f'"digest": "{sha1(b"y")}", "length": "5", "offset": "0", "filename": "y.warc.gz"}}\n')
    with Sites(path, NEW) as sites:
        sites.crawl(second, "--set", "warc.dedup_against=" + first)
    report.equal("and again when it has changed: both files", times_read(second), 3)


def wacz_of(crawl, path):
    run("export", crawl, "wacz", "-o", path + "/first.wacz")
    return path + "/first.wacz"


def a_package_and_its_replay(report, path):
    first, second, asked, _ = both(path, wacz_of)
    check(report, first, second, asked)
    run("export", second, "wacz", "-o", path + "/second.wacz")
    with zipfile.ZipFile(path + "/second.wacz") as file:
        pages = [json.loads(line)["url"] for line in file.read("pages/pages.jsonl").splitlines()[1:]]
    report.equal("its pages are listed, wherever their payloads are", sorted(pages),
                 sorted(u for u, (_, headers, _b) in NEW.items() if headers == HTML or "Transfer-Encoding" in headers))
    captures = {**of_wacz(path + "/first.wacz")}
    later = of_wacz(path + "/second.wacz")
    captures.update(later)
    replayed = {}
    for (url, _), (fields, block) in later.items():  # as a player does: by URL and second
        if fields["WARC-Type"] == "revisit":
            when = re.sub(r"\D", "", fields["WARC-Refers-To-Date"][:19])
            block = captures[fields["WARC-Refers-To-Target-URI"], when][1]
        if not url.endswith("/robots.txt"):
            replayed[url] = block.split(b"\r\n\r\n", 1)[1]
    report.equal("both packages together replay all of the second crawl", {u: replayed.get(u) for u in NEW},
                 {u: (b if isinstance(b, bytes) else b.encode()) for u, (_, _, b) in NEW.items()})


def lines_of(crawl, path):
    name = next(f for f in os.listdir(crawl + "/warc") if f.endswith(".cdxj"))
    with open(f"{crawl}/warc/{name}", "rb") as file, gzip.open(path + "/old.cdxj.gz", "wb") as out:
        out.write(b"!meta of another program\n")
        for line in file:  # as other programs write it: numbers, bare digests, milliseconds
            line = re.sub(rb'"(length|offset|status)": "(\d+)"', rb'"\1": \2', line).replace(b'"sha1:', b'"')
            key, stamp, rest = line.split(b" ", 2)
            out.write(key + b" " + stamp + b"123 " + rest)
    return path + "/old.cdxj.gz"


def an_index_of_another_program(report, path):
    first, second, asked, _ = both(path, lines_of)
    check(report, first, second, asked)
    harness.unlogged("the first crawl is removed")
    shutil.rmtree(first)
    report.check("the other crawl is not needed behind it", " 0 problems" in run("verify", second).replace("\t", " "))


def aged(crawl, path):
    """Its index, as if it had been made years ago."""
    name = next(f for f in os.listdir(crawl + "/warc") if f.endswith(".cdxj"))
    with open(f"{crawl}/warc/{name}", "rb") as file, open(path + "/aged.cdxj", "wb") as out:
        out.writelines(re.sub(rb" \d{14} ", b" 20200102030405 ", line, count=1) for line in file)
    return path + "/aged.cdxj"


def what_is_there_and_fresh(report, path):
    first, second, third = path + "/first", path + "/second", path + "/third"
    with Sites(path, OLD) as sites:
        sites.crawl(first, A + "/")
    new = {**NEW, A + "/": page("/x", "/copy", "/p.png", B + "/", "/changes", "/chunked", "/new"), A + "/new": page("/x", "/newer"),
           A + "/newer": (200, HTML, "<p>newer")}
    with Sites(path, new) as sites:
        result = sites.crawl(second, A + "/", "--set", "warc.dedup_against=" + first, "--set", "warc.dedup_fresh=1h")
        report.same_set("the seed, and what the other crawl has not", sites.asked(), {A + "/", A + "/new", A + "/newer"})
    report.equal("status", result.returncode, 0)
    with open(second + "/status.json", encoding="utf-8") as file:
        report.equal("they are counted", json.load(file)["elsewhere"], 6)
    with open(second + "/skipped.log", encoding="utf-8") as file:
        report.same_set("and told", {next(w for w in line.split() if w.startswith("http")) for line in file if "elsewhere" in line}, set(OLD) - {A + "/", B + "/moved.png"})
    why = run("why", second, A + "/x")
    report.check("ragno why knows", "elsewhere" in why and "would let it pass" not in why, why)
    with Sites(path, new) as sites:
        sites.crawl(third, A + "/", "--set", "warc.dedup_against=" + aged(first, path), "--set", "warc.dedup_fresh=1h")
        report.same_set("what is not fresh is fetched", sites.asked(), set(new))
    report.equal("most of the third are revisit records", archive(third)[A + "/x"][0]["WARC-Type"], "revisit")
    with Sites(path, new) as sites:
        sites.crawl(path + "/fourth", A + "/", "--set", "warc.dedup_against=" + third, "--set", "warc.dedup_fresh=1h")
        report.same_set("and these are captures, too", sites.asked(), {A + "/"})
    result = harness.run([RAGNO, "-d", path + "/none", "--contact", "https://example.org/", "--set", "warc.dedup_fresh=1h", A + "/"])
    report.check("without archives it is refused", result.returncode == 2 and "it needs warc.dedup_against" in result.stderr, result.stderr)


def what_is_no_index(report, path):
    os.mkdir(path + "/empty")
    for name, data in (("x.cdxj", b"no line\n" * 9), ("x.wacz", b"PK\5\6 no"), ("x.gz", gzip.compress(b"a" * 9000)[:30]),
                       ("sha256.cdxj", b'test,a)/ 20200102030405 {"url": "http://a.test/", "mime": "text/html", "status": "200", '
                        b'"digest": "sha256:00", "length": "5", "offset": "0", "filename": "y.warc.gz"}\n')):
        with open(f"{path}/{name}", "wb") as file:
            file.write(data)
    with zipfile.ZipFile(path + "/packed.wacz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("indexes/index.cdxj", "x" * 1000)
    with zipfile.ZipFile(path + "/other.wacz", "w") as file:
        file.writestr("pages/pages.jsonl", "{}")
    with Sites(path, OLD) as sites:
        for name, why in (("none.cdxj", "not found"), ("empty", "no file NAME.cdxj"), ("x.cdxj", "9 lines are not CDXJ"), ("x.wacz", "invalid"),
                          ("x.gz", "damaged"), ("packed.wacz", "invalid"), ("other.wacz", "invalid"), ("sha256.cdxj", "digest of SHA-1")):
            shutil.rmtree(path + "/crawl", ignore_errors=True)
            result = sites.crawl(path + "/crawl", A + "/", "--set", f"warc.dedup_against={path}/{name}")
            said = result.stdout + result.stderr
            report.check(f"{name} is refused", result.returncode not in (0, 11) and f"{path}/{name}" in said and why in said,
                         (result.returncode, said[-400:]))
        result = sites.crawl(path + "/crawl", A + "/", "--set", f"warc.dedup_against={path}/x.cdxj", "--set", "warc.enabled=no")
        report.equal("without an archive it is refused", result.returncode, 2)
        report.equal("and nothing was asked for", sites.asked(robots=True), set())


if __name__ == "__main__":
    harness.main(a_crawl, a_package_and_its_replay, an_index_of_another_program, what_is_there_and_fresh,
                 what_is_no_index)
