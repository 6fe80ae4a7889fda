"""What is written on links and around them: score.rules go by it."""
import http.server
import json
import threading

import harness

PAGES = {
    "/": "<title>The sky</title><p>About stars: <a href='/galaxies'>On &amp; off <b>galaxies</b></a> far away"
         "<p>And <a href='/shop'>our shop</a>, <a href='/telescopes'>more</a> on telescopes."
         "<p><a href='/picture'><img src='/i.png' alt='A picture'></a>",
    "/galaxies": "<title>Galaxies</title><p>A galaxy. <a href='/'>Home</a>",
    "/shop": "<title>Shop</title><p>Buy things. <a href='/'>Home</a>",
    "/telescopes": "<title>Glass</title><p>Nothing but lenses. <a href='/'>Home</a>",
    "/picture": "<title>A picture</title><p>Of nothing. <a href='/'>Home</a>",
}
RULES = """
1    AnchorContainsRegex("(?i)galax")
0.6  TextContainsRegex("telescope")
0.4  TitleContainsRegex("^Galax")
0.1  true
"""


class Site:
    """The pages, on loopback."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = PAGES.get(self.path)
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((text or "").encode())

            def log_message(self, *_):
                pass
        self.server = harness.HttpServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def crawl(self, directory, *arguments):
        port = self.server.server_address[1]
        return harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", "0", "--ip-wait", "0",
                            "--progress=never", "--set", f"fetch.port_map=80:{port}", "--set",
                            "fetch.allow_addresses=127.0.0.0/8", *arguments, "http://127.0.0.1/"])


def scores(directory):
    """path -> (score, crawls)"""
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, "dump"])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return {r[2].replace("http://127.0.0.1", ""): (float(r[8]), int(r[6])) for r in rows}


def rules_go_by_text(report, path):
    with open(path + "/rules", "w") as file:
        file.write(RULES)
    for parser in ("skim", "libxml2"):
        with Site() as site:
            rules = ("--set", "score.scorer=content", "--set", f"score.rules={path}/rules", "--set",
                     f"parse.html_parser={parser}", "--set", "parse.link_text=40")
            first = site.crawl(f"{path}/{parser}", *rules, "--max-pages", "1")
            links = {p: round(s, 4) for p, (s, n) in scores(f"{path}/{parser}").items() if n == 0}
            report.equal(f"{parser}: the crawl stops after a page", first.returncode, 14)
            report.equal(f"{parser}: links have scores by their text", links,
                         {"/galaxies": 1.0, "/shop": 0.6, "/telescopes": 0.6, "/picture": 0.6})
            site.crawl(f"{path}/{parser}", *rules)
        pages = {p: round(s, 4) for p, (s, n) in scores(f"{path}/{parser}").items() if n > 0}
        report.equal(f"{parser}: and pages by theirs", pages,
                     {"/": 0.6, "/galaxies": 0.4, "/shop": 0.1, "/telescopes": 0.1, "/picture": 0.1})


if __name__ == "__main__":
    harness.main(rules_go_by_text)
