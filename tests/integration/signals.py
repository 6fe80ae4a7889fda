"""Sitemaps say what has changed: pages are visited at once, and a host that says so of everything is not
believed for long."""
import datetime
import http.server
import threading
import time

import harness
from page_server import PageServer

PAGES = 20
HONEST, LIAR = "127.0.0.1", "127.0.0.2"
RULES = "/sitemap 1s\n/p 1h\n"


class Site:
    """Two hosts of pages that nothing but sitemaps says has changed. Of the honest one a page changes when
    the test says so; the other one always says that all has changed, and nothing has."""

    def __enter__(self):
        site = self
        self.changed = {}   # number of the page -> seconds since 1970
        self.visits = {HONEST: [], LIAR: []}  # (number, seconds)
        self.started = time.time()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body, kind = site.answer(self.headers["Host"], self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, *_):
                pass
        self.server = harness.HttpServer(("0.0.0.0", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def answer(self, host, path):
        if path == "/robots.txt":
            return f"User-agent: *\nSitemap: http://{host}/sitemap.xml\n", "text/plain"
        if path == "/sitemap.xml":
            rows = "".join(f"<url><loc>http://{host}/p{n}</loc><lastmod>{self.date(host, n)}</lastmod></url>"
                           for n in range(PAGES))
            return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{rows}</urlset>", "text/xml"
        if path[:2] == "/p":
            number = int(path[2:])
            self.visits[host].append((number, time.time()))
            words = "changed " * (1 if number in self.changed and host == HONEST else 0)
            return f"<title>Page</title><p>Words of {'x' * (number + 1)} {words}here", "text/html"
        return (f"<a href='/p0'>x</a>", "text/html") if path == "/" else (None, "text/html")

    def date(self, host, number):
        when = time.time() if host == LIAR else self.changed.get(number, self.started - 86400)
        return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def times(self, host, number):
        return [t for n, t in self.visits[host] if n == number]


def command(site, path, *arguments):
    with open(path + "/rules", "w") as file:
        file.write(RULES)
    port = site.server.server_address[1]
    return [f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", "5ms", "--ip-wait", "0", "--progress=never",
            "--set", f"fetch.port_map=80:{port}", "--set", "fetch.allow_addresses=127.0.0.0/8", "--set",
            "schedule.mode=continuous", "--set", "scope.sitemaps=yes", "--set", f"schedule.rules={path}/rules", "--set",
            "schedule.revisit_min=100ms", *arguments, f"http://{HONEST}/", f"http://{LIAR}/"]


def signals_of(path):
    result = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts", "--signals"])
    rows = (line.split("\t") for line in result.stdout.splitlines())
    return {r[0]: (int(r[1]), int(r[2])) for r in rows}


def what_is_said_to_have_changed_is_visited(report, path):
    with Site() as site:
        def goes_on():
            """All pages were had; then three change; then they are visited, and the liar is found out."""
            if min(len(site.times(h, n)) for h in (HONEST, LIAR) for n in range(PAGES)) < 1:
                return False
            if not site.changed:
                now = time.time() + 2
                site.changed = {n: now for n in (3, 7, 11)}
                return False
            return all(len(site.times(HONEST, n)) >= 2 for n in site.changed) and \
                sum(len(site.times(LIAR, n)) for n in range(PAGES)) > PAGES and \
                len(signals_of(path)) == 2
        result = harness.run_until(command(site, path), goes_on)
        report.equal("the crawl goes on until it is stopped", result.returncode, 11)
        others = [n for n in range(PAGES) if n not in site.changed and len(site.times(HONEST, n)) > 1]
        report.equal("nothing else of the honest host is visited again", others, [])
        signals = signals_of(path)
        said, true = signals[f"http://{HONEST}"]
        report.check(f"the honest host told the truth ({true} of {said})", 0 < said == true <= 3)
        said, true = signals[f"http://{LIAR}"]
        report.check(f"the other one did not ({true} of {said})", said > 0 and true == 0)


def a_liar_is_not_believed_for_long(report, path):
    with Site() as site:
        def enough():
            reads = signals_of(path)
            return reads.get(f"http://{LIAR}", (0, 0))[0] >= 4
        harness.run_until(command(site, path), enough)
        before = len(site.visits[LIAR])
        began = time.time()
        harness.run_until(command(site, path), lambda: time.time() - began > 4)
        after = len(site.visits[LIAR])
        report.check(f"its pages are left alone then ({before}, then {after} visits)",
                     after - before <= PAGES)
        said, true = signals_of(path)[f"http://{LIAR}"]
        report.check(f"after some signals ({true} of {said})", true == 0 and said <= 2 * PAGES)


def signals_can_be_left_alone(report, path):
    with Site() as site:
        began = time.time()
        harness.run_until(command(site, path, "--set", "schedule.signal_trust=1"),
                          lambda: time.time() - began > 4 and len(site.visits[LIAR]) >= PAGES)
        again = [n for h in (HONEST, LIAR) for n in range(PAGES) if len(site.times(h, n)) > 1]
        report.equal("with schedule.signal_trust = 1 nothing is visited again", again, [])


def changefreq_is_a_hint(report, path):
    """Of pages that were visited once, the next visit is when their sitemap says that they change; nothing is said: when all do."""
    said = {"/hour": "hourly", "/day": "daily", "/week": "weekly", "/never": "never", "/none": None}

    def answer(host, name):
        if name == "/robots.txt":
            return 200, {}, b"User-agent: *\nSitemap: /sitemap.xml\n"
        if name == "/sitemap.xml":
            rows = "".join(f"<url><loc>http://{host}:{server.port}{p}</loc>{f'<changefreq>{f}</changefreq>' if f else ''}</url>" for p, f in said.items())
            return 200, {"Content-Type": "text/xml"}, f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{rows}</urlset>".encode()
        asked.add(name)
        return 200, {}, name.encode()

    for option, expected in (("yes", {"/hour": 3600, "/day": 86400, "/week": 7 * 86400, "/never": 20 * 86400}), ("no", {})):
        asked = set()
        directory = f"{path}/{option}"
        with PageServer(answer) as server:
            harness.run_until([f"{harness.OUT}/ragno", "-d", directory, "-w", "5ms", "--ip-wait", "0", "--progress=never", "--set",
                               "fetch.allow_addresses=127.0.0.0/8", "--set", "schedule.mode=continuous", "--set", "scope.sitemaps=yes",
                               "--set", "schedule.revisit_default=10d", "--set", "schedule.revisit_max=20d", "--set",
                               f"score.sitemap_hints={option}", f"http://127.0.0.1:{server.port}/"],
                              lambda: asked >= {"/", *said} and len(due(directory)) > len(said))
        found = {p: due(directory)[p] for p in said}
        report.check(f"score.sitemap_hints={option}: hinted pages are due as they say",
                     all(abs(found[p] - s) < 120 for p, s in expected.items()), found)
        report.check("the others by the default", all(4.9 * 86400 < found[p] < 10.1 * 86400 for p in said if p not in expected), found)


def due(directory):
    """Seconds from now until the next visit, by path."""
    rows = harness.run([f"{harness.OUT}/ragno", "db", directory, "schedule", "--due"]).stdout.splitlines()
    return {"/" + r[2].split("/", 3)[3]: datetime.datetime.fromisoformat(r[0].replace("Z", "+00:00")).timestamp() - time.time()
            for r in (row.split("\t") for row in rows)}


if __name__ == "__main__":
    harness.main(what_is_said_to_have_changed_is_visited, a_liar_is_not_believed_for_long,
                 signals_can_be_left_alone, changefreq_is_a_hint)
