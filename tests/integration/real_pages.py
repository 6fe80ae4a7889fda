"""Real pages: Debian documentation packages, served by nginx on loopback under several names. The
set of HTML pages that the crawler fetches equals the set that a separate, simple reading of the same
files reaches. Long: runs with FULL=1 only; the packages are those of `make deps-dev`."""
import glob
import html.parser
import os
import pathlib
import shutil
import subprocess
import time
import urllib.parse

import harness

# name, address, root, first page; "*" stands for every folder, for languages that do not link to each
# other
SITES = [
    ("apache.docs.test", "127.77.0.1", "/usr/share/doc/apache2-doc/manual", "/en/index.html"),
    ("handbook.docs.test", "127.77.0.2", "/usr/share/doc/debian-handbook/html", "/*/index.html"),
    ("postgres.docs.test", "127.77.0.3", "/usr/share/doc/postgresql-doc-15/html", "/index.html"),
    ("python.docs.test", "127.77.0.4", "/usr/share/doc/python3.11/html", "/index.html"),
]
TYPES = "types { text/html html htm; text/css css; text/plain txt; image/png png; image/svg+xml svg;" \
        " application/javascript js; application/xhtml+xml xhtml; }"


class Links(html.parser.HTMLParser):
    """Where a page leads."""

    KINDS = {"a": "href", "area": "href", "frame": "src", "iframe": "src", "link": "href"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.base = [], None

    def handle_starttag(self, tag, attributes):
        values = dict(reversed(attributes))
        if tag == "base" and values.get("href") and self.base is None:
            self.base = values["href"]
        elif self.KINDS.get(tag) in values and values[self.KINDS[tag]]:
            self.found.append(values[self.KINDS[tag]].strip())


def links_of(url, body):
    parser = Links()
    parser.feed(body.decode("utf-8", "replace"))
    base = urllib.parse.urljoin(url, parser.base) if parser.base else url
    for link in parser.found:
        try:
            yield urllib.parse.urldefrag(urllib.parse.urljoin(base, link)).url
        except ValueError:
            pass  # no URL


def first_pages(sites):
    """The URLs to begin with."""
    return [f"http://{name}{file[len(root):]}" for name, _, root, first in sites
            for file in sorted(glob.glob(root + first))]


def reachable(sites):
    """The URLs of all HTML files that are reached from the first pages."""
    roots = {name: root for name, _, root, _ in sites}
    todo = first_pages(sites)
    seen, pages = set(todo), set()
    while todo:
        url = todo.pop()
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or parts.netloc not in roots:
            continue
        file = roots[parts.netloc] + urllib.parse.unquote(parts.path)
        found = []
        if file.endswith("/"):
            file += "index.html"
        elif os.path.isdir(file):
            found = [url + "/"]  # nginx redirects
        if file.endswith((".html", ".htm")) and os.path.isfile(file):
            pages.add(url)
            found = links_of(url, pathlib.Path(file).read_bytes())
        for link in found:
            if link not in seen:
                seen.add(link)
                todo.append(link)
    return pages


def write_configuration(path, port, sites):
    servers = "".join(
        f"  server {{ listen {address}:{port}; server_name {name}; root {root}; index index.html;"
        " absolute_redirect off; }\n" for name, address, root, _ in sites)
    log = "log_format short '$msec $host $status $bytes_sent $sent_http_content_type $request_uri';"
    with open(path + "/nginx.conf", "w") as file:
        file.write(f"""daemon off; worker_processes 1; pid {path}/nginx.pid;
error_log {path}/nginx-error.log; events {{ worker_connections 1000; }}
http {{
  {TYPES} default_type application/octet-stream; {log}
  access_log {path}/nginx-access.log short;
  client_body_temp_path {path}/t1; proxy_temp_path {path}/t2; fastcgi_temp_path {path}/t3;
  uwsgi_temp_path {path}/t4; scgi_temp_path {path}/t5; keepalive_requests 100000;
{servers}}}
""")


def fetched(path):
    """The HTML pages given out with 200, in a list."""
    pages = []
    with open(path + "/nginx-access.log") as file:
        for line in file:
            _, host, status, _, kind, uri = line.rstrip("\n").split(" ", 5)
            if status == "200" and kind.startswith("text/html"):
                pages.append(f"http://{host}{uri}")
    return pages


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.77.0.1", 0))
        return s.getsockname()[1]


def report_alive(report, nginx, path):
    if nginx.poll() is None:
        return True
    return report.check("nginx runs", False, pathlib.Path(path + "/nginx-error.log").read_text())


def serve_and_crawl(report, path, sites):
    port = free_port()
    write_configuration(path, port, sites)
    with open(path + "/zone", "w") as zone, open(path + "/real-seeds.txt", "w") as seeds:
        zone.writelines(f"{name}={address}\n" for name, address, _, _ in sites)
        seeds.writelines(f"{url}\n" for url in first_pages(sites))
    nginx = subprocess.Popen(["nginx", "-e", path + "/nginx-error.log", "-p", path, "-c",
                              path + "/nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        with harness.Web(path, hosts=1, zone=path + "/zone") as web:
            web.http = port  # pages come from nginx, names from the web
            while not os.path.exists(path + "/nginx.pid"):
                if not report_alive(report, nginx, path):
                    return
                time.sleep(0.05)
            result = harness.crawl(web, path + "/crawl", "-D", "docs.test",
                                   seeds=path + "/real-seeds.txt", timeout=120)
    finally:
        harness.end_process(nginx)
    report.check("the crawl ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")


def real_pages(report, path):
    sites = [site for site in SITES if glob.glob(site[2] + site[3])]
    if not harness.FULL:
        report.skip("real pages", "long (FULL=1)")
        return
    report.check("three documentation packages are installed (make deps-dev)", len(sites) >= 3,
                 f"only {[s[0] for s in sites]}")
    if not report.check("nginx is installed (make deps-dev)", shutil.which("nginx") is not None):
        return
    expected = reachable(sites)
    report.check("there are at least 5000 pages", len(expected) >= 5000, str(len(expected)))
    serve_and_crawl(report, path, sites)
    pages = fetched(path)
    report.same_set(f"the crawler fetched the same {len(expected)} pages", set(pages), expected)
    report.equal("each of them once", len(pages), len(set(pages)))


if __name__ == "__main__":
    harness.main(real_pages)
