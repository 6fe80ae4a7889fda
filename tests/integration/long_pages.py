"""Pages longer than what is kept of them: their links are taken to the end (parse.max_bytes), whatever
their encoding, content coding and base; what is beyond a limit is told; memory stays within the budget with
64 of them at once."""
import glob
import gzip
import http.server
import random
import re
import threading
import zlib

import harness
import memory

MI = 1 << 20
WORDS = random.Random(14)
FILLING = b"".join(b"<p>%s</p>\n" % " ".join("%x" % WORDS.getrandbits(30) for _ in range(30)).encode()
                   for _ in range(200))


class Pages(harness.HttpServer):
    """Serves what is in pages: path -> (headers, pieces of the body as a function). Every host name of
    h*.long.test leads here."""

    def __init__(self, pages):
        self.pages, self.asked, self.lock = pages, [], threading.Lock()
        self.now, self.most = 0, 0  # answers under way
        super().__init__(("0.0.0.0", 0), Handler)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        page = self.server.pages.get(self.path)
        with self.server.lock:
            self.server.asked.append(f"http://{self.headers['Host']}{self.path}")
        if page is None:
            self.answer(404, {}, [b"none"])
            return
        headers, body = page
        with self.server.lock:
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            self.answer(200, headers, body())
        finally:
            with self.server.lock:
                self.server.now -= 1

    def answer(self, status, headers, pieces):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in filter(None, pieces):
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def html(head, megabytes, tail, filling=FILLING):
    """A page as pieces, with so much between its beginning and its end."""
    block = filling * (65536 // len(filling) + 1)
    def pieces():
        yield head
        for _ in range(int(megabytes * MI) // len(block) + 1):
            yield block
        yield tail
    return pieces


def whole(pieces):
    return lambda: [b"".join(pieces())]


def link(path):
    return f'<a href="{path}">x</a>'.encode()


def crawl(report, path, server, *arguments, hosts=1, name="crawl", seeds=("/",), memory_mi=None):
    """Crawls hosts h0.long.test ...; returns (completed process or memory samples, lines of crawl.log)."""
    with open(f"{path}/zone", "w") as zone:
        zone.writelines(f"h{i}.long.test=127.78.0.{i + 1}\n" for i in range(hosts))
    with open(f"{path}/long-seeds.txt", "w") as file:
        file.writelines(f"http://h{i}.long.test{seed}\n" for i in range(hosts) for seed in seeds)
    with harness.Web(path, hosts=1, zone=f"{path}/zone") as web:
        web.http = server.server_address[1]
        command = harness.crawl_command(web, f"{path}/{name}", "-D", "long.test", "--set",
                                        "log.skipped=all", *arguments,
                                        seeds=f"{path}/long-seeds.txt")
        if memory_mi is not None:
            result = memory.watched(command)
        else:
            result = harness.run(command, timeout=200)
            report.equal(f"{name} ends", (result.returncode, result.stderr[-300:]), (0, ""))
    lines = {}
    for file in glob.glob(f"{path}/{name}/crawl.log"):
        with open(file) as log:
            for line in log:
                fields = line.split()
                lines[fields[3]] = fields
    return result, lines


def asked(server, host="h0.long.test"):
    prefix = f"http://{host}"
    return {url[len(prefix):] for url in server.asked if url.startswith(prefix)}


def links_are_taken_to_the_end(report, path):
    long_comment = b"<!--" + b" <a href=/hidden> " * 40000 + b"-->"
    long_script = b"<script>" + b"var x = '<a href=/script>';\n" * 40000 + b"</script>"
    long_image = b'<img alt="x" src="data:image/png;base64,' + b"QUJD" * 100000 + b'">'
    cp1251 = "<a href='/кот?я'>x</a>".encode("cp1251")
    sjis = "<a href='/sj?".encode() + "表".encode("shift_jis") + b"'>x</a>"
    deflated = zlib.compress(b"".join(html(b"", 4, link("/from-deflate"))()))
    packed = gzip.compress(b"".join(html(b"", 3, link("/from-gzip"))()), 1)
    utf8 = {"Content-Type": "text/html; charset=utf-8"}
    pages = {
        "/": (utf8, lambda: [b"".join(link(p) for p in sorted(pages) if p != "/")]),
        "/plain": (utf8, html(b"<title>t</title>", 3, link("/from-plain"))),
        "/middle": (utf8, html(b"", 3, link("/from-middle") + b"".join(html(b"", 3, b"")()))),
        "/traps": (utf8, html(b"", 2.5, long_comment + long_script + long_image +
                              b'<a title="' + b"x" * 700000 + b'" href="/from-long-tag">x</a>')),
        "/base/page": (utf8, html(b"<base href='/elsewhere/'>", 3, link("from-base"))),
        # 9 000 links come before the base element that holds for all of them
        "/late/page": (utf8, html(b"".join(link(f"n{i % 50}") for i in range(9000)), 3,
                                  b"<base href='/late-base/'>" + link("from-late-base"))),
        "/gzip": ({**utf8, "Content-Encoding": "gzip"}, lambda: [packed]),
        "/deflate": ({**utf8, "Content-Encoding": "deflate"}, lambda: [deflated]),
        "/cp1251": ({"Content-Type": "text/html"},
                    html(b"<meta charset=windows-1251>", 3, cp1251, "кот ".encode("cp1251") * 200)),
        "/shift-jis": ({"Content-Type": "text/html; charset=shift_jis"},
                       html(b"", 3, sjis, "表示<br>".encode("shift_jis") * 200)),
        "/late-meta": ({"Content-Type": "text/html"},
                       html(b" " * 2000 + b"<meta charset=windows-1251>", 3, cp1251)),
        "/untyped": ({}, html(b"<!doctype html>", 3, link("/from-untyped"))),
        "/text": ({"Content-Type": "text/plain"}, html(b"", 3, link("/from-text"))),
        "/nofollow": (utf8, html(b"<meta name=robots content=nofollow>", 3, link("/from-nofollow"))),
    }
    with Pages(pages) as server:
        result, lines = crawl(report, path, server, "--set", "warc.metadata=yes")
    found = asked(server) - set(pages) - {"/robots.txt"}
    expected = {"/from-plain", "/from-middle", "/from-long-tag", "/elsewhere/from-base",
                "/late-base/from-late-base", "/from-gzip", "/from-deflate", "/from-untyped",
                "/%D0%BA%D0%BE%D1%82?%FF", "/sj?%95\\"} | {f"/late-base/n{i}" for i in range(50)}
    report.same_set("all that long pages link to was asked for, and nothing else", found, expected)
    plain = lines["http://h0.long.test/plain"]
    length = len(b"".join(pages["/plain"][1]()))
    report.check("crawl.log has all bytes received", length <= int(plain[2]) <= length + 1000,
                 plain[2])
    report.check("what is kept is cut, and links were read to the end",
                 "trunc:length" in plain[11] and f",read:{length}," in plain[11] + ",", plain[11])
    packed_line = lines["http://h0.long.test/gzip"]
    report.check("what is kept whole as received is not cut", "trunc:" not in packed_line[11] and
                 "read:" in packed_line[11], packed_line[11])
    archive = b"".join(gzip.open(name).read() for name in glob.glob(f"{path}/crawl/warc/*.gz"))
    records = archive.split(b"WARC/1.1\r\n")
    record = next(r for r in records if b"WARC-Type: response" in r and
                  b"WARC-Target-URI: http://h0.long.test/plain\r" in r)
    report.check("the record is truncated to fetch.max_body",
                 b"WARC-Truncated: length" in record and
                 2 * MI <= len(record) <= 2 * MI + 2000, str(len(record)))
    verify = harness.run([f"{harness.OUT}/ragno", "verify", f"{path}/crawl"])
    report.equal("verify finds no problem", verify.returncode, 0)


def two_long_pages_with_one_beginning_are_no_duplicates(report, path):
    utf8 = {"Content-Type": "text/html; charset=utf-8"}
    words = [b"<p>word%c%c is here, and so is number %s</p>" % (97 + i % 26, 97 + i // 26, b"abcdefghij"[i % 10:]) for i in range(60)]
    body = b"".join(words) * 1300
    pages = {"/": (utf8, lambda: [link("/a") + link("/b") + link("/c")]),
             "/a": (utf8, lambda: [body + b"the end" + link("/z")]),
             "/b": (utf8, lambda: [body + b"another end" + link("/z")]),
             "/c": (utf8, lambda: [body + b"the end" + link("/z")]),
             "/z": (utf8, lambda: [b"z"])}
    with Pages(pages) as server:
        _, lines = crawl(report, path, server, "--set", "parse.near_duplicates=flag",
                         "--set", "parse.threads=1", "-j", "1")
    notes = {p: lines[f"http://h0.long.test/{p}"][11] for p in "abc"}
    report.check("pages that differ behind what is kept are different",
                 "dup:" not in notes["a"] and "dup:" not in notes["b"], str(notes))
    report.check("though nearly the same", "near:http://h0.long.test/a" in notes["b"], str(notes))
    report.check("and the same are duplicates", "dup:http://h0.long.test/a" in notes["c"], str(notes))


def what_is_beyond_a_limit_is_told(report, path):
    utf8 = {"Content-Type": "text/html; charset=utf-8"}
    many = b"".join(link("#own%d" % i) + link("/p%d" % (i % 120)) +
                    b"<img src=/i%d.png>" % i + link("http://elsewhere.test/%d" % i)
                    for i in range(3000))
    long_url = "/" + "l" * 3000
    pages = {"/": (utf8, lambda: [many + link(long_url) + link("/cut")]),
             "/cut": (utf8, html(link("/before"), 6, link("/behind")))}
    with Pages(pages) as server:
        _, lines = crawl(report, path, server, "--set", "parse.max_links=100", "--set",
                         "parse.max_bytes=4Mi")
    found = {p for p in asked(server) if re.fullmatch(r"/p\d+", p)}
    report.equal("max_links counts different URLs that can be scheduled", found,
                 {f"/p{i}" for i in range(100)})
    notes = lines["http://h0.long.test/"][11]
    # p100 to p119 and /cut
    report.check("crawl.log has how many are beyond, and how many too long",
                 "links-beyond:21" in notes and "links-long:1" in notes, notes)
    with open(f"{path}/crawl/skipped.log") as file:
        skipped = [line.split() for line in file]
    beyond = {f[0] for f in skipped if f[2] == "too-many-links"}
    report.same_set("skipped.log has each of them", beyond,
                    {f"http://h0.long.test/p{i}" for i in range(100, 120)} |
                    {"http://h0.long.test/cut"})
    report.equal("the long one has a reason of its own",
                 [f[1:3] for f in skipped if f[0].startswith("http://h0.long.test/lll")],
                 [["-5001", "length"]])
    told = harness.run([f"{harness.OUT}/ragno", "report", f"{path}/crawl"]).stdout
    report.check("the report counts such pages",
                 re.search(r"beyond parse.max_links\D+1\b", told) is not None, told[:3000])
    with Pages(pages) as server:
        _, lines = crawl(report, path, server, "--set", "parse.max_bytes=4Mi", name="second",
                         seeds=("/cut",))
    notes = lines["http://h0.long.test/cut"][11]
    report.check("a page is read up to parse.max_bytes, which is told",
                 f"read:{4 * MI}+" in notes and "/before" in asked(server) and
                 "/behind" not in asked(server), notes)


def a_host_without_ends_is_read_on_only_now_and_then(report, path):
    """Forty pages that have no end within parse.max_bytes: two are read so far, and one of sixteen behind them."""
    html_type = {"Content-Type": "text/html"}
    index = b"".join(link(f"/e{i}") for i in range(40))
    pages = {"/": (html_type, lambda: [index])}
    for i in range(40):
        pages[f"/e{i}"] = (html_type, html(b"<title>%d</title>" % i, 2, link("/behind")))
    with Pages(pages) as server:
        _, lines = crawl(report, path, server, "--set", "parse.max_bytes=1Mi", "--set", "fetch.max_body=64Ki")
    notes = [fields[11] for url, fields in lines.items() if "/e" in url]
    read = [note for note in notes if f"read:{MI}+" in note]
    report.equal("pages of a host without ends are read on now and then", (len(notes), len(read)), (40, 4))
    report.check("the others are cut", sum("trunc:length" in note for note in notes) == 40, str(notes[:3]))
    with open(f"{path}/crawl/status.log") as file:
        last = dict(f.split("=", 1) for f in file.readlines()[-1].split())
    report.equal("and counted", last["cut_endless"], "36")


def sixty_four_at_once_stay_within_the_budget(report, path):
    """Each of 64 hosts has a page of 20 Mi; all of them are under way together."""
    hosts = 64
    body = html(b"<title>long</title>", 20, link("/end"))
    together = 50  # the budget grants 53 connections
    gate, waiting = threading.Event(), []
    def page():
        # None ends before so many are longer than what is kept.
        for i, piece in enumerate(body()):
            if i == 40:
                with server.lock:
                    waiting.append(i)
                    if len(waiting) == together:
                        gate.set()
                gate.wait(harness.PATIENCE_S)
            yield piece
    pages = {"/": ({"Content-Type": "text/html"}, page),
             "/end": ({"Content-Type": "text/html"}, lambda: [b"end"])}
    with Pages(pages) as server:
        result, lines = crawl(report, path, server, "--set", "crawl.memory=64Mi", "--set",
                              "fetch.connections=100", "--set", "fetch.slow_rate=0", hosts=hosts, memory_mi=64)
    status, samples, _ = result # a busy machine may have made it say something
    memory.judge(report, "64 long pages", 64, (status, samples, ""))
    report.check("50 and more were under way together", server.most >= together, str(server.most))
    ends = {url for url in server.asked if url.endswith("/end")}
    report.equal("the last link of each was taken", len(ends), hosts)
    report.check("and nothing was left unread", not any(
        re.search(r"read:\d+\+", fields[11]) for fields in lines.values()))


if __name__ == "__main__":
    harness.main(links_are_taken_to_the_end, two_long_pages_with_one_beginning_are_no_duplicates,
                 what_is_beyond_a_limit_is_told, a_host_without_ends_is_read_on_only_now_and_then,
                 sixty_four_at_once_stay_within_the_budget)
