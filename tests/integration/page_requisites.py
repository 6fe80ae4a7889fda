"""scope.embeds: what pages need to be shown is fetched wherever it lives, as politely as pages, one hop; and a
browser that gets it from the archive shows the pages as they looked live."""
import http.server
import os
import shutil
import struct
import subprocess
import threading
import urllib.parse
import zlib

import harness
from harness import OUT

SITE, CDN, OTHER = "127.9.1.1", "127.9.1.2", "127.9.1.3"
DOCUMENTS = ["/usr/share/doc/python3.11/html", "/usr/share/doc/postgresql-doc-15/html",
             "/usr/share/doc/apache2-doc/manual/en", "/usr/share/doc/debian-handbook/html/en-US"]
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".png": "image/png",
         ".js": "text/javascript", ".svg": "image/svg+xml", ".xml": "application/rss+xml"}


def png(red, green, blue):
    """An image of 8 x 8 points of one colour."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF))
    rows = (b"\0" + bytes((red, green, blue)) * 8) * 8
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


INDEX = f"""<!doctype html><html><head><title>requisites</title>
<link rel="stylesheet" href="http://{CDN}/s.css">
<link rel="alternate" type="application/rss+xml" href="http://{CDN}/feed.xml">
<link rel="preconnect" href="http://{CDN}/preconnect">
<style>@import "http://{CDN}/inline.css"; /* url(http://{CDN}/comment.png) */
div.a {{ background: url(http://{CDN}/style.png); width: 80px; height: 80px }}</style>
<script src="http://{CDN}/s.js"></script></head><body>
<div class="a"></div>
<div style="background-image: url(&quot;http://{CDN}/attribute.png&quot;); height: 40px"></div>
<img src="http://{CDN}/plain.png" width="64" height="64">
<img src="http://{CDN}/moved.png" width="64" height="64">
<img src="http://{CDN}/private/no.png" width="8" height="8">
<img src="http://{CDN}/ads/no.png" width="8" height="8">
<a href="http://{CDN}/linked.png"><img src="http://{CDN}/linked.png" width="32" height="32"></a>
<p class="b">text</p><p class="c">text</p>
<a href="http://{CDN}/page.html">elsewhere</a> <a href="/next.html">next</a>
<object data="http://{CDN}/guest.html" width="100" height="50"></object>
</body></html>"""

PAGES = {
    (SITE, "/index.html"): INDEX,
    (SITE, "/next.html"): f'<img src="http://{CDN}/deep.png"><a href="/too-deep.html">x</a>',
    (SITE, "/too-deep.html"): "no",
    (CDN, "/robots.txt"): "User-agent: *\nDisallow: /private/\n",
    (CDN, "/s.css"): '@import "t.css"; p.b { background: url(img/b.png); height: 60px }',
    (CDN, "/t.css"): "@import url('u.css'); p.c { background: url(\"img/c.png\") }",
    (CDN, "/u.css"): "@import 'v.css'; body { background: url(img/u.png) }",
    (CDN, "/v.css"): "h1 { background: url(img/v.png) }",
    (CDN, "/inline.css"): "body { color: #333; font: 16px sans-serif }",
    (CDN, "/s.js"): "document.documentElement.dataset.run = 'yes';",
    (CDN, "/guest.html"): '<a href="/guest2.html">x</a><img src="/guest.png">guest',
    (CDN, "/page.html"): "no",
    (CDN, "/feed.xml"): "<rss></rss>",
}
for number, name in enumerate(["style", "attribute", "plain", "linked", "deep", "comment", "private/no", "ads/no",
                               "guest", "img/b", "img/c", "img/u", "img/v"]):
    PAGES[(CDN, f"/{name}.png")] = png(250 - 17 * number, 40 + 13 * number, 90 + 11 * number)
PAGES[(OTHER, "/real.png")] = png(10, 120, 40)


class Sites:
    """Serves PAGES, or a folder, at several addresses; knows what was asked."""

    def __init__(self, addresses, folder=None):
        sites = self
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                host = self.headers.get("Host", "").split(":")[0]
                path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
                sites.asked.append((host, path))
                sites.answer(self, host, path, folder)

            def log_message(self, *_):
                pass

        self.servers = [harness.HttpServer((addresses[0], 0), Handler)]
        self.port = self.servers[0].server_address[1]
        for address in addresses[1:]:
            self.servers.append(harness.HttpServer((address, self.port), Handler))
        for server in self.servers:
            server.handle_error = lambda *_: None  # a crawler that has enough of a body hangs up
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @staticmethod
    def answer(handler, host, path, folder):
        if path == "/moved.png":
            handler.send_response(302)
            handler.send_header("Location", f"http://{OTHER}/real.png")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        body = PAGES.get((host, path))
        if folder is not None:
            name = folder + os.path.normpath(path)
            body = None
            if os.path.isfile(name):
                with open(name, "rb") as file:
                    body = file.read()
        status = 404 if body is None else 200
        body = b"none" if body is None else body if isinstance(body, bytes) else body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", TYPES.get(os.path.splitext(path)[1], "text/plain"))
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()


def crawl(sites, directory, seed, *arguments):
    return harness.run([f"{OUT}/ragno", "-d", directory, "-w", "5ms", "--ip-wait", "5ms", "--progress=never",
                        "-s", f"fetch.port_map=80:{sites.port}", "-s", "fetch.allow_addresses=127.0.0.0/8",
                        *arguments, seed])


def test_requisites(report, path):
    with Sites([SITE, CDN, OTHER]) as sites:
        ended = crawl(sites, f"{path}/crawl", f"http://{SITE}/index.html", "-D", SITE, "-l", "1",
                      "--page-requisites", "--reject-regex", "/ads/")
        report.equal("the crawl ends well", ended.returncode, 0)
        asked = sites.asked[:]
    wanted = {(SITE, "/index.html"), (SITE, "/next.html"), (OTHER, "/real.png")}
    wanted |= {(CDN, "/" + p) for p in (
        "s.css", "t.css", "u.css", "v.css", "inline.css", "s.js", "style.png", "attribute.png", "plain.png",
        "moved.png", "linked.png", "deep.png", "img/b.png", "img/c.png", "img/u.png", "guest.html")}
    robots = {(h, "/robots.txt") for h in (SITE, CDN, OTHER)}
    report.same_set("what the pages need is fetched, and nothing else", set(asked), wanted | robots)
    report.equal("each once", len(asked), len(set(asked)))
    audit = harness.run([f"{OUT}/ragno", "audit", f"{path}/crawl"])
    report.equal("as politely as pages", audit.returncode, 0)
    why = harness.run([f"{OUT}/ragno", "why", f"{path}/crawl", f"http://{CDN}/img/u.png"])
    report.check("why tells it", why.returncode == 0 and "fetched" in why.stdout, why.stdout + why.stderr)


def test_without(report, path):
    with Sites([SITE, CDN, OTHER]) as sites:
        ended = crawl(sites, f"{path}/crawl", f"http://{SITE}/index.html", "-D", SITE, "-l", "1")
        report.equal("the crawl ends well", ended.returncode, 0)
        report.same_set("without the option only pages are fetched", set(sites.asked),
                        {(SITE, "/robots.txt"), (SITE, "/index.html"), (SITE, "/next.html")})


def test_check(report, path):
    """`ragno check links --embeds` lists what a page and a style sheet refer to."""
    with open(f"{path}/page.html", "w") as file:
        file.write(INDEX)
    with open(f"{path}/s.css", "w") as file:
        file.write(PAGES[(CDN, "/s.css")])
    base = ["--base", f"http://{SITE}/index.html"]
    style = [f"http://{CDN}/{p}" for p in ("inline.css", "style.png", "attribute.png")]
    printed = harness.run([f"{OUT}/ragno", "check", "links", f"{path}/page.html", *base, "--embeds"]).stdout
    report.equal("of a page", [line.split("\t")[1] for line in printed.splitlines()
                               if line.startswith("style\t")], style)
    printed = harness.run([f"{OUT}/ragno", "check", "links", f"{path}/page.html", *base]).stdout
    report.check("only when asked", "style\t" not in printed and "img\t" in printed, printed)
    printed = harness.run([f"{OUT}/ragno", "check", "links", f"{path}/s.css", "--base", f"http://{CDN}/s.css",
                           "--content-type", "text/css"]).stdout
    report.equal("of a style sheet", printed,
                 f"style\thttp://{CDN}/t.css\nstyle\thttp://{CDN}/img/b.png\n")


class Replay:
    """A proxy that answers from the archive of a crawl, and from nowhere else."""

    def __init__(self, directory):
        replay = self
        self.missing = []
        self.failed = []  # for another reason than that it is not there

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                def get(*what):
                    result = subprocess.run([f"{OUT}/ragno", "db", directory, "get", self.path, *what],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                    if result.returncode not in (0, 1):
                        replay.failed.append((self.path, result.returncode, result.stderr.decode()[-300:]))
                    return result
                header = get("--headers")
                if header.returncode != 0:
                    replay.missing.append(self.path)
                    self.send_error(404)
                    return
                lines = header.stdout.decode("latin-1").splitlines()
                body = get("--body").stdout
                self.send_response(int(lines[0].split()[1]))
                for line in lines[1:]:
                    if line.lower().startswith(("content-type:", "location:")):
                        self.send_header(*line.split(": ", 1))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = harness.HttpServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def picture(url, proxy_port, file):
    """What a browser shows, as the bytes of a picture, and what it complained of; every request goes to the
    proxy. Each picture is by a browser that was never started before: nothing is cached from the last one,
    and all pictures are made alike. A browser that ends without a picture is started once more."""
    errors = ""
    for attempt in range(2):
        home = f"{file}.home{attempt}"
        browser = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-dev-shm-usage", "--disable-checker-imaging",
             "--run-all-compositor-stages-before-draw", "--window-size=1000,1400",
             f"--user-data-dir={home}", f"--proxy-server=http://127.0.0.1:{proxy_port}",
             "--proxy-bypass-list=<-loopback>", f"--screenshot={file}", url],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=harness.PATIENCE_S, check=False)
        errors += f"exit {browser.returncode}: {browser.stderr.decode(errors='replace')[-500:]}\n"
        shutil.rmtree(home, ignore_errors=True)
        if os.path.exists(file):
            with open(file, "rb") as image:
                return image.read(), errors
    return None, errors


def compare(report, path, name, sites, urls):
    """The pictures of pages, live and from the archive."""
    with Replay(f"{path}/crawl") as replay:
        for i, url in enumerate(urls):
            live, live_errors = picture(url, sites.port, f"{path}/{name}-{i}-live.png")
            again, errors = picture(url, replay.server.server_address[1], f"{path}/{name}-{i}-replay.png")
            report.check(f"{name}: {url} can be shown", live is not None and again is not None,
                         live_errors + errors)
            report.check(f"{name}: {url} looks as it looked", live == again,
                         f"{path}/{name}-{i}-live.png differs from -replay.png (KEEP=1 keeps them)\n"
                         f"not in the archive: {replay.missing}\n{live_errors}{errors}")
        report.equal(f"{name}: the archive can be read", replay.failed, [])
        kept = os.environ.get("PICTURES")
        if kept:
            os.makedirs(kept, exist_ok=True)
            for file in os.listdir(path):
                if file.startswith(name):
                    shutil.copy(f"{path}/{file}", kept)
        missing = [u for u in replay.missing if u.startswith("http://127.9.") and not u.endswith(("/favicon.ico", "/no.png", "/guest.png"))]
        report.equal(f"{name}: everything that the browser asks for is in the archive", missing, [])


def test_replay(report, path):
    if not shutil.which("chromium"):
        report.skip("replay", "chromium is not installed")
        return
    with Sites([SITE, CDN, OTHER, "127.0.0.1"]) as sites:
        ended = crawl(sites, f"{path}/crawl", f"http://{SITE}/index.html", "-D", SITE, "--page-requisites")
        report.equal("the crawl ends well", ended.returncode, 0)
        # Forbidden, and a hop too far: what is not crawled is not compared.
        del PAGES[(CDN, "/private/no.png")], PAGES[(CDN, "/guest.png")]
        compare(report, path, "sheets", sites, [f"http://{SITE}/index.html"])


def test_documentation(report, path):
    """Pages of installed manuals."""
    folder = next((f for f in DOCUMENTS if os.path.isfile(f + "/index.html")), None)
    if not shutil.which("chromium") or folder is None:
        report.skip("documentation", "chromium or documentation packages are not installed (make deps-dev)")
        return
    with Sites([SITE, "127.0.0.1"], folder) as sites:
        ended = crawl(sites, f"{path}/crawl", f"http://{SITE}/index.html", "-D", SITE, "-l", "1",
                      "--page-requisites", "--max-pages", "120")
        report.check("the crawl ends", ended.returncode in (0, 14), ended.stderr)
        names = sorted({p for _, p in sites.asked if p.endswith(".html") and p != "/index.html" and
                        os.path.isfile(folder + p)})
        urls = [f"http://{SITE}{p}" for p in ["/index.html"] + names[:1]]
        compare(report, path, "manual", sites, urls)


if __name__ == "__main__":
    harness.main(test_requisites, test_without, test_check, test_replay, test_documentation)
