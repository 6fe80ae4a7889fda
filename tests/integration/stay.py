"""scope.stay: a crawl stays on the hosts, in the domains or directories of its seeds, and of what they redirect
to, also when it is resumed; `ragno why` tells it."""
import http.server
import threading

import harness
from harness import OUT

A, B, C = "127.9.3.1", "127.9.3.2", "127.9.3.3"
PAGES = {
    (A, "/docs/index.html"): f'<a href="sub/x.html">x</a><a href="/other.html">o</a><a href="http://{B}/b.html">b</a>',
    (A, "/docs/sub/x.html"): '<a href="../y.html">y</a><a href="/docs2/z.html">z</a>',
    (A, "/docs/y.html"): "y",
    (A, "/other.html"): '<a href="/docs/index.html">i</a>',
    (A, "/docs2/z.html"): "z",
    (B, "/b.html"): f'<a href="http://{A}/other.html">o</a>',
    (C, "/moved"): ("redirect", f"http://{B}/step"),
    (B, "/step"): ("redirect", f"http://{A}/docs/index.html"),
}


class Sites:
    def __init__(self):
        sites = self
        self.asked = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                host = self.headers.get("Host", "").split(":")[0]
                if self.path != "/robots.txt":
                    sites.asked.add((host, self.path))
                body = PAGES.get((host, self.path))
                self.send_response(404 if body is None else 302 if isinstance(body, tuple) else 200)
                if isinstance(body, tuple):
                    self.send_header("Location", body[1])
                text = body.encode() if isinstance(body, str) else b""
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.servers = [harness.HttpServer((A, 0), Handler)]
        self.port = self.servers[0].server_address[1]
        self.servers += [harness.HttpServer((a, self.port), Handler) for a in (B, C)]
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()


def crawl(sites, directory, *arguments):
    return harness.run([f"{OUT}/ragno", "-d", directory, "-w", "5ms", "--ip-wait", "5ms", "--progress=never",
                        "-s", f"fetch.port_map=80:{sites.port}", "-s", "fetch.allow_addresses=127.0.0.0/8",
                        *arguments])


def stay(report, path, name, where, seed, expected):
    with Sites() as sites:
        ended = crawl(sites, f"{path}/{name}", "--stay", where, seed)
        report.equal(f"{name}: it ends well", ended.returncode, 0)
        report.same_set(f"{name}: only what belongs to it is fetched", sites.asked, expected)


def test_places(report, path):
    docs = {(A, "/docs/index.html"), (A, "/docs/sub/x.html"), (A, "/docs/y.html")}
    on_a = docs | {(A, "/other.html"), (A, "/docs2/z.html")}
    stay(report, path, "host", "host", f"http://{A}/docs/index.html", on_a)
    stay(report, path, "directory", "directory", f"http://{A}/docs/index.html", docs)
    stay(report, path, "domain", "domain", f"http://{A}/docs/index.html", on_a)
    # What stands between a seed and its end is a place, too: /step is in B's topmost directory.
    moved = {(C, "/moved"), (B, "/step"), (B, "/b.html")}
    stay(report, path, "redirected", "directory", f"http://{C}/moved", moved | docs)
    why = harness.run([f"{OUT}/ragno", "why", f"{path}/directory", f"http://{A}/other.html"])
    report.check("why names the rule", "scope.stay" in why.stdout, why.stdout + why.stderr)


def test_resumed(report, path):
    """The seeds are remembered, and what they redirected to; new ones are added."""
    with Sites() as sites:
        crawl(sites, f"{path}/crawl", "--stay", "directory", "--max-pages", "3", f"http://{C}/moved")
        before = set(sites.asked)
        ended = crawl(sites, f"{path}/crawl")
        report.equal("it ends well", ended.returncode, 0)
        docs = {(A, "/docs/index.html"), (A, "/docs/sub/x.html"), (A, "/docs/y.html")}
        report.check("it was stopped on the way", not docs <= before, str(before))
        report.same_set("the rest is fetched, and no more", sites.asked, docs | {(C, "/moved"), (B, "/step"), (B, "/b.html")})
        ended = crawl(sites, f"{path}/crawl", f"http://{A}/other.html")
        report.equal("with another seed it ends well, too", ended.returncode, 0)
        report.check("the other seed was fetched", (A, "/other.html") in sites.asked, str(sites.asked))


if __name__ == "__main__":
    harness.main(test_places, test_resumed)
