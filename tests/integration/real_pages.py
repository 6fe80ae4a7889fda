"""Real pages: Debian documentation packages, served by nginx on loopback under several names. The
set of HTML pages that the crawler fetches equals the set that a separate reading of the same files (by lxml)
reaches: nothing is lost by the defaults, nor with crawl.memory=64Mi, nor when libxml2 finds the links.

`make test` takes a sample of some 1 700 pages. All that is installed, some 50 000 pages (`make deps-bench`),
is crawled with RAGNO_LONG=1, FULL=1, or when somebody asks for it: `make integration T=real_pages`."""
import glob
import html.parser
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

import harness

try:
    import lxml.etree
except ImportError:
    lxml = None

# name, address, root, first page; "*" stands for every folder, for languages that do not link to each
# other
SITES = [
    ("apache.docs.test", "127.77.0.1", "/usr/share/doc/apache2-doc/manual", "/en/index.html"),
    ("handbook.docs.test", "127.77.0.2", "/usr/share/doc/debian-handbook/html", "/*/index.html"),
    ("postgres.docs.test", "127.77.0.3", "/usr/share/doc/postgresql-doc-15/html", "/index.html"),
    ("python.docs.test", "127.77.0.4", "/usr/share/doc/python3.11/html", "/index.html"),
    ("erlang.docs.test", "127.77.0.5", "/usr/share/doc/erlang-doc", "/doc/index.html"),
    ("boost.docs.test", "127.77.0.6", "/usr/share/doc/libboost1.74-doc/doc", "/html/index.html"),
    ("java.docs.test", "127.77.0.7", "/usr/share/doc/openjdk-17-jre-headless/api", "/index.html"),
    ("rust.docs.test", "127.77.0.8", "/usr/share/doc/rust-doc/html", "/index.html"),
]
SAMPLE = ("postgres.docs.test", "python.docs.test")
LEAST_PAGES = 20000  # of all that is installed
ALL = harness.FULL or os.environ.get("RAGNO_LONG", "0") not in ("", "0") or \
    os.environ.get("T", "").split(":")[0] == "real_pages"
TYPES = "types { text/html html htm; text/css css; text/plain txt; image/png png; image/svg+xml svg;" \
        " application/javascript js; application/xhtml+xml xhtml; }"


KINDS = {"a": "href", "area": "href", "frame": "src", "iframe": "src", "link": "href"}


class Links(html.parser.HTMLParser):
    """The same as references by lxml, some ten times slower."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.base = [], None

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in reversed(attributes)}
        if tag == "base":
            self.base = self.base or values.get("href")
        elif tag == "meta":
            self.found += refresh_of(values)
        elif values.get(KINDS.get(tag)):
            self.found.append(values[KINDS[tag]].strip())


def refresh_of(attributes):
    """The target of a meta refresh, in a list."""
    target = re.match(r"\s*[\d.]+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]*)", attributes.get("content", ""), re.I)
    is_refresh = attributes.get("http-equiv", "").lower() == "refresh"
    return [target.group(1)] if target and is_refresh else []


def references(body):
    """(references of a page, its base or None)"""
    if lxml is None:
        slow = Links()
        slow.feed(body.decode("utf-8", "replace"))
        return slow.found, slow.base
    parser = lxml.etree.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        tree = lxml.etree.fromstring(body, parser)
    except lxml.etree.XMLSyntaxError:
        return [], None  # an empty page
    found, base = [], None
    for element in [] if tree is None else tree.iter("base", "meta", *KINDS):
        if element.tag == "base":
            base = base or element.get("href")
        elif element.tag == "meta":
            found += refresh_of(element)
        elif element.get(KINDS[element.tag]):
            found.append(element.get(KINDS[element.tag]).strip())
    return found, base


def links_of(url, body):
    """The URLs that a page leads to, each once."""
    found, base = references(body)
    base = urllib.parse.urljoin(url, base) if base else url
    links = set()
    for link in {link.split("#", 1)[0] for link in found}:
        try:
            links.add(urllib.parse.urljoin(base, link).split("#", 1)[0])
        except ValueError:
            pass  # no URL
    return links


def links_in_file(page):
    """(URL, the links of scheme http in its file)"""
    url, file = page
    links = links_of(url, pathlib.Path(file).read_bytes())
    return url, [link for link in links if link.startswith("http://")]


def first_pages(sites):
    """The URLs to begin with."""
    return [f"http://{name}{file[len(root):]}" for name, _, root, first in sites
            for file in sorted(glob.glob(root + first))]


def place_of(url, roots):
    """(the file that the server gives out for a URL or None, where it redirects to or None)"""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or parts.netloc not in roots:
        return None, None
    file = roots[parts.netloc] + urllib.parse.unquote(parts.path)
    if file.endswith("/"):
        file += "index.html"
    elif os.path.isdir(file):
        return None, parts._replace(path=parts.path + "/").geturl()
    # nginx gives out ".html" as a file without a type, and answers 400 to a "%" that escapes nothing.
    is_page = file.endswith((".html", ".htm")) and os.path.isfile(file) and \
        not os.path.basename(file).startswith(".") and \
        re.search(r"%(?![0-9A-Fa-f]{2})", parts.path) is None
    return (file if is_page else None), None


def reachable(sites):
    """The URLs of all HTML files that are reached from the first pages."""
    roots = {name: root for name, _, root, _ in sites}
    todo = first_pages(sites)
    seen, pages = set(todo), set()
    with multiprocessing.Pool(os.cpu_count(), signal.signal, (signal.SIGTERM, signal.SIG_DFL)) as pool:
        while todo:  # one distance from the first pages after the other
            files, found = [], []
            for url in todo:
                file, target = place_of(url, roots)
                if file is not None:
                    files.append((url, file))
                elif target is not None:
                    found.append(target)
            pages.update(url for url, _ in files)
            for _, links in pool.imap_unordered(links_in_file, files, chunksize=16):
                found.extend(links)
            todo = [link for link in set(found) if link not in seen]
            seen.update(todo)
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


def serve_and_crawl(report, path, sites, *arguments):
    """Crawls the sites into path/crawl."""
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
            result = harness.crawl(web, path + "/crawl", "-D", "docs.test", *arguments,
                                   seeds=path + "/real-seeds.txt", timeout=3000)
    finally:
        harness.end_process(nginx)
    report.check("the crawl ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")


def losses(path):
    """Lines of crawl.log that tell of links that were not taken. (What is too long are links that lead
    elsewhere, with a program as their query.)"""
    with open(path + "/crawl/crawl.log") as log:
        return [line for line in log if re.search(r",links-beyond:|,read:\d+\+", line)]


def crawl_in(report, path, name, sites, expected, *arguments):
    """A crawl of its own, which fetches what is expected, each page once. Returns its directory."""
    place = f"{path}/{name}"
    os.mkdir(place)
    serve_and_crawl(report, place, sites, *arguments)
    pages = fetched(place)
    report.same_set(f"{name}: the crawler fetched the same {len(expected)} pages", set(pages),
                    expected)
    report.equal(f"{name}: each of them once", len(pages), len(set(pages)))
    report.equal(f"{name}: no link was left out", losses(place)[:3], [])
    return place


def write_links(place):
    """All links of a crawl, sorted, in a file."""
    with open(place + "/links", "wb") as out:
        links = subprocess.Popen([f"{harness.OUT}/ragno", "db", place + "/crawl", "links"],
                                 stdout=subprocess.PIPE)
        subprocess.run(["sort", "-u", "-S", "200M"], stdin=links.stdout, stdout=out, check=True,
                       env={**os.environ, "LC_ALL": "C"})
        links.stdout.close()
        links.wait()
    return place + "/links"


def is_ready(report, sites):
    missing = [] if shutil.which("nginx") else ["nginx"]
    missing += [] if sites else ["documentation"]
    if missing:
        report.skip("real pages", f"{', '.join(missing)} not installed (make deps-dev)")
    return not missing


def installed(names=None):
    return [site for site in SITES if (names is None or site[0] in names) and
            glob.glob(site[2] + site[3])]


def check_all(report, path, sites, least):
    if not is_ready(report, sites):
        return
    expected = reachable(sites)
    if len(expected) < least:
        report.skip("all real pages", f"only {len(expected)} pages are installed, of {least}: "
                    f"{[site[0] for site in sites]} (make deps-bench)")
        return
    print(f"# {len(expected)} pages on {len(sites)} hosts", flush=True)
    crawl_in(report, path, "default", sites, expected)
    shutil.rmtree(path + "/default")
    crawl_in(report, path, "64Mi", sites, expected, "--set", "crawl.memory=64Mi")
    shutil.rmtree(path + "/64Mi")
    # Which of two equal pages is read depends on the order of fetches; so both are.
    both = ["--set", "parse.follow_duplicates=yes", "--set", "warc.enabled=no"]
    ours = crawl_in(report, path, "skim", sites, expected, *both)
    theirs = crawl_in(report, path, "libxml2", sites, expected, *both, "--set",
                      "parse.html_parser=libxml2")
    differences = subprocess.run(["diff", write_links(ours), write_links(theirs)],
                                 stdout=subprocess.PIPE, text=True).stdout.splitlines()
    size = os.path.getsize(ours + "/links")
    report.check(f"the skimmer and libxml2 found the same links ({size / 1e6:.1f} MB of them)",
                 size > 0 and not differences, f"{len(differences)}: {differences[:6]}")


def a_sample(report, path):
    check_all(report, path, installed(SAMPLE), 500)


@harness.alone  # it takes all processors for minutes
def all_that_is_installed(report, path):
    if not ALL:
        report.skip("all real pages", "long (RAGNO_LONG=1, or make integration T=real_pages)")
        return
    check_all(report, path, installed(), LEAST_PAGES)


def use_lxml():
    """Debian's lxml is for Debian's python."""
    debian = "/usr/bin/python3"
    if lxml is None and os.access(debian, os.X_OK) and os.path.realpath(debian) != \
            os.path.realpath(sys.executable) and \
            subprocess.run([debian, "-c", "import lxml.etree"], stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(debian, [debian] + sys.argv)


if __name__ == "__main__":
    use_lxml()
    harness.main(a_sample, all_that_is_installed)
