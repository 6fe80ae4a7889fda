"""Webs of extreme shapes, crawled without delays and without WARC; CPU by page, and the greatest resident
memory.

    shape.onehost      20 000 pages on one host
    shape.oneaddress   12 000 pages on 3 000 hosts that share one address
    shape.manyhosts    50 000 hosts of one page, each with an address
    shape.wide         one page with links to 300 000 hosts, crawled for 20 seconds; by answer, since half
                       of these are robots.txt files

floor: what the same pages cost a program that does nothing but resolve each host's name, fetch
its robots.txt and its pages over one connection, one request of an address at a time, ask the rules, look for
links, and store pages, links and hosts (bench_floor.c), by page, in one thread; floor_threads, the same work
handed from thread to thread as it has to be in ragno; over_floor and over_floor_threads, the crawl's CPU by these.
The floors of wide know neither its page of links nor the names that the crawl resolved and did not get to.

COMPARE=PROGRAM and RUNS: see crawls.py. SHAPES=onehost,wide runs some.
"""
import http.server
import os
import subprocess
import sys
import threading

import crawls

WANTED = [word for word in os.environ.get("SHAPES", "").split(",") if word]
WIDE_ADDRESS = "127.90.0.1"


def scaled(n, least):
    return max(least, int(n * crawls.SCALE))


def unbounded(program):
    """All hosts are of one domain, which is bounded in ragnos that know that limit."""
    known = subprocess.run([program, "--help-config"], stdout=subprocess.PIPE, text=True).stdout
    return [f"{option}=0" for option in ("limits.hosts_per_domain", "limits.hosts_per_address")
            if f"\n{option} =" in known]


def shape(path, name, options=(), web_options=None, **how):
    """how: of the crawl (crawls.py)."""
    urls = []
    with crawls.Web(path, hosts_file=f"{path}/hosts.txt", **web_options) as web:
        with open(f"{path}/hosts.txt") as file:
            addresses = dict(line.split()[:2] for line in file)
        floor = crawls.Floor(path, web.http, addresses.__getitem__)

        def run_floor(stage):
            floor.urls = [url for url in urls if url.split("/", 3)[2] in addresses]
            return floor.run(stage, web.dns, min(crawls.CONNECTIONS, web_options["addresses"]))

        runs = crawls.alternate(f"shape.{name}", lambda program: crawls.crawl(
            program, web, path, ("warc.enabled=no", *unbounded(program), *options), urls=urls, **how),
            [("floor", lambda: run_floor("store")), ("floor_threads", lambda: run_floor("handed"))])
    runs.cpu()
    runs.over_floors()
    runs.rate()
    runs.rss()
    runs.detail()


def onehost(path):
    shape(path, "onehost", web_options={"pages": scaled(20000, 500), "hosts": 1, "addresses": 1})


def oneaddress(path):
    shape(path, "oneaddress",
          web_options={"pages": scaled(12000, 600), "hosts": scaled(3000, 150), "addresses": 1, "skew": 0})


def manyhosts(path):
    hosts = scaled(50000, 1000)
    shape(path, "manyhosts", web_options={"pages": hosts, "hosts": hosts, "addresses": hosts, "skew": 0})


class WidePage(http.server.BaseHTTPRequestHandler):
    """One page with links to all hosts, at any path but /robots.txt."""

    hosts = 0

    def do_GET(self):
        body = b"" if self.path == "/robots.txt" else b"<!DOCTYPE html><title>All</title>" + b"".join(
            b'<a href="http://h%05d.web.test/">h</a>\n' % i for i in range(self.hosts))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def wide(path):
    hosts = scaled(300000, 3000)
    WidePage.hosts = hosts
    server = http.server.ThreadingHTTPServer((WIDE_ADDRESS, 0), WidePage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(f"{path}/zone", "w") as file:
        file.write(f"wide.docs.test={WIDE_ADDRESS}\n")
    with open(f"{path}/wide.txt", "w") as file:
        file.write(f"http://wide.docs.test:{server.server_port}/\n")
    options = ("fetch.max_body=64Mi", "parse.max_links=10000000", f"crawl.max_duration={scaled(20, 3)}s")
    web_options = {"pages": hosts, "hosts": hosts, "addresses": min(hosts, 20000), "skew": 0, "zone": f"{path}/zone"}
    shape(path, "wide", options, web_options, seeds=f"{path}/wide.txt", codes=(0, 15), count_all=True)
    server.shutdown()


if __name__ == "__main__":
    ALL = {"onehost": onehost, "oneaddress": oneaddress, "manyhosts": manyhosts, "wide": wide}
    unknown = [word for word in WANTED if word not in ALL]
    if unknown:
        crawls.say(f"bench: no such shape: {' '.join(unknown)}; there are {' '.join(ALL)}")
        sys.exit(2)
    crawls.main(*[ALL[word] for word in WANTED or ALL])
