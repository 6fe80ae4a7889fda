"""One transfer, one request. Servers that make an HTTP library ask again by itself: HTTP/2 that refuses streams,
that wants HTTP/1.1, that resets a kept connection; HTTP/1.1 that closes a kept connection at its second request.
Whatever they do, each request that they see comes after the host's delay, and is a line of crawl.log and a record
of the archive. The judge is the server's own log."""
import glob
import gzip
import http.server
import os
import re
import shutil
import signal
import socketserver
import subprocess
import threading
import time

import harness
from real_servers import certificate
from sites import log_lines

DELAY_MS = 400
PAGES = 4

# Prints a line a request: milliseconds, version of HTTP, path. The first request of a kind may be answered as
# the mode says; `left` counts how often it still misbehaves.
NODE = r"""
const http2 = require('http2'), fs = require('fs');
const [mode, dir, times, pages] = process.argv.slice(1);
let left = Number(times), raw;
const server = http2.createSecureServer({key: fs.readFileSync(dir + '/key.pem'),
    cert: fs.readFileSync(dir + '/cert.pem'), allowHTTP1: true});
const body = p => Array.from({length: Number(pages)}, (_, i) => `<a href="/${i}">x</a>`).join('') + p;
const seen = (version, path) => console.log(`${Date.now()} ${version} ${path}`);
server.on('stream', (stream, headers) => {
    const path = headers[':path'];
    seen('2', path);
    stream.on('error', () => 0);
    const bad = path.length === 2 && left > 0 && (stream.session.asked || mode !== 'reset');
    stream.session.asked = true;
    if (!bad) {
        stream.respond({':status': path === '/robots.txt' ? 404 : 200, 'content-type': 'text/html'});
        return stream.end(body(path));
    }
    left--;
    if (mode === 'refuse') return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    if (mode === 'http11') return stream.close(http2.constants.NGHTTP2_HTTP_1_1_REQUIRED);
    return raw.resetAndDestroy();
});
server.on('request', (request, answer) => {
    if (request.httpVersionMajor !== 1) return;
    seen('1', request.url);
    answer.writeHead(request.url === '/robots.txt' ? 404 : 200, {'content-type': 'text/html'});
    answer.end(body(request.url));
});
server.on('connection', socket => raw = socket);
server.on('sessionError', () => 0);
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
"""


class Http2:
    """A server in Node; requests is [(ms, version, path)]."""

    def __init__(self, path, mode, times):
        certificate(path)
        self.log = open(path + "/node.log", "w+")
        self.process = subprocess.Popen(["node", "-e", NODE, "--", mode, path, str(times), str(PAGES)], stdout=self.log,
                                        stdin=subprocess.DEVNULL)

    def lines(self):
        with open(self.log.name) as file:
            return [line.split() for line in file if line.endswith("\n")]

    def __enter__(self):
        first = harness.until(lambda: self.lines() or self.process.poll() is not None and [["?"]])
        if not first or first[0][0] != "port":
            raise RuntimeError("node does not start")
        self.port = int(first[0][1])
        return self

    def __exit__(self, *_):
        harness.end_process(self.process)
        self.log.close()

    @property
    def requests(self):
        return [(int(line[0]), line[1], line[2]) for line in self.lines()[1:]]


class ClosesKept(socketserver.ThreadingTCPServer):
    """HTTP/1.1 that says nothing of closing, answers the first request of a connection, and closes it when the
    next one has come; requests is [(ms, "1", path)]."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def __init__(self):
        self.requests = []
        super().__init__(("127.0.0.1", 0), Connection)
        self.port = self.server_address[1]


class Connection(socketserver.BaseRequestHandler):
    def handle(self):
        file = self.request.makefile("rb")
        for asked in range(2):
            line = file.readline()
            if not line:
                return
            path = line.split()[1].decode()
            while file.readline() not in (b"\r\n", b""):
                pass
            self.server.requests.append((time.time() * 1000, "1", path))
            if asked:
                return
            body = "".join(f'<a href="/{i}">x</a>' for i in range(PAGES)).encode()
            status = b"404 Not Found" if path == "/robots.txt" else b"200 OK"
            self.request.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Type: text/html\r\nContent-Length: "
                                 + str(len(body)).encode() + b"\r\n\r\n" + body)


def records(directory):
    """The request records of an archive."""
    text = b""
    for name in glob.glob(f"{directory}/warc/*.gz"):
        with gzip.open(name) as file:
            text += file.read()
    return text.count(b"\r\nWARC-Type: request\r\n") + text.startswith(b"WARC-Type: request")


def judge(report, directory, url, server, name, most):
    """crawl.log, archive and audit tell what the server saw."""
    result = harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", f"{DELAY_MS}ms", "--ip-wait", "0",
                          "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8", url])
    report.equal(f"{name}: the crawl ends", result.returncode, 0)
    seen = sorted(server.requests)
    gaps = [round(b[0] - a[0]) for a, b in zip(seen, seen[1:])]
    report.check(f"{name}: no request comes before the host's delay is over", min(gaps) >= DELAY_MS - 1,
                 f"{gaps} {seen}")
    report.equal(f"{name}: crawl.log has a line for each request",
                 sorted(line[3].split("/", 3)[3] for line in log_lines(directory)),
                 sorted(path[1:] for _, _, path in seen))
    report.equal(f"{name}: the archive has a record of each request", records(directory), len(seen))
    report.equal(f"{name}: every page came at last",
                 {line[3].split("/", 3)[3] for line in log_lines(directory) if line[1] == "200"},
                 {""} | {str(i) for i in range(PAGES)})
    report.check(f"{name}: it takes few requests more than pages", len(seen) <= PAGES + 2 + most,
                 f"{len(seen)} {seen}")
    audit = harness.run([f"{harness.OUT}/ragno", "audit", directory])
    report.check(f"{name}: the audit has seen as many, and no breach",
                 audit.returncode == 0 and re.search(rf"^ *requests +{len(seen)}$", audit.stdout, re.M), audit.stdout)
    return seen


def http2(report, path, mode, times, most):
    if not shutil.which("node"):
        report.skip(mode, "node is not installed")
        return []
    with Http2(path, mode, times) as server:
        return judge(report, path + "/crawl", f"https://127.0.0.1:{server.port}/", server, mode, most)


def refused_streams(report, path):
    """A stream is refused twice."""
    http2(report, path, "refuse", 2, 2)


def all_refused(report, path):
    """Every stream is refused: HTTP/1.1 is left."""
    http2(report, path, "refuse", 1000, 3)


def wants_http1(report, path):
    """It answers HTTP_1_1_REQUIRED to each stream but those of the first pages."""
    seen = http2(report, path, "http11", 1000, 3)
    report.check("it gets HTTP/1.1", seen == [] or seen[-1][1] == "1", str(seen))


def kept_is_reset(report, path):
    """The first connection is reset at its second request or later."""
    http2(report, path, "reset", 1, 1)


def kept_is_closed(report, path):
    """An HTTP/1.1 server that closes each kept connection when it is used."""
    with ClosesKept() as server:
        thread = harness.serving(server)
        try:
            judge(report, path + "/crawl", f"http://127.0.0.1:{server.port}/", server, "closes", 2)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class KeepsWaiting(http.server.BaseHTTPRequestHandler):
    """Answers robots.txt and the first page; the others wait."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if len(self.path) > 1 and self.path != "/robots.txt":
            self.server.waiting.add(self.path)
            self.server.end.wait(60)
        body = "".join(f'<a href="/{i}">x</a>' for i in range(PAGES)).encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def broken_off(report, path):
    """What was asked for when the grace of a stop is over is told and owed its delay, too."""
    server = harness.HttpServer(("0.0.0.0", 0), KeepsWaiting)
    server.waiting, server.end = set(), threading.Event()
    thread = harness.serving(server)
    hosts = [f"http://127.88.0.{i}:{server.server_address[1]}/" for i in range(1, 6)]
    try:
        process = subprocess.Popen([f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", "50ms", "--ip-wait", "0", "-q", "-s", "crawl.grace=300ms",
                                    "--progress=never", "--set", "fetch.allow_addresses=127.0.0.0/8", *hosts])
        harness.until(lambda: os.path.exists(path + "/crawl/crawl.log") and
                      sum(line[1] == "200" for line in log_lines(path + "/crawl")) == len(hosts) and server.waiting)
        process.send_signal(signal.SIGINT)
        report.equal("the crawl stops before they are answered", harness.ended(process, 30), 11)
    finally:
        server.end.set()
        server.shutdown()
        thread.join()
        server.server_close()
    report.check("requests that were under way are in crawl.log as ended by us",
                 any(line[1] == "-10009" for line in log_lines(path + "/crawl")), str(log_lines(path + "/crawl")))
    audit = harness.run([f"{harness.OUT}/ragno", "audit", path + "/crawl"])
    report.equal("and no breach", audit.returncode, 0)


if __name__ == "__main__":
    harness.main(refused_streams, all_refused, wants_http1, kept_is_reset, kept_is_closed, broken_off)
