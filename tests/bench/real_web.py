"""Workload R: real pages. HTML documentation of Debian packages on 1 000 host names, each with an
address of its own in 127.80.0.0/16, served by nginx.

    python3 tests/bench/real_web.py          prepares build/real-web and says what it holds
    python3 tests/bench/real_web.py --serve  and serves it: prints ports and a command line

Nothing is installed: what is missing is named, with the command that installs it (exit status 3).

The pages are the packages' files as they are, split in order of their paths over the hosts, 50-odd to a
host. References stay relative within a host; one that leads to a page of another host becomes
absolute, as it would be on the web, and one that leads to nothing here leads out of the crawl's scope. Preparing takes a minute or two and is done once; a change of the
packages' files is noticed.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import posixpath
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.environ.get("REAL_WEB", os.path.join(HERE, "..", "..", "build", "real-web"))
DOMAIN = "docs.test"
HOSTS = 1000
LEAST_PAGES = 50000
MOST_BYTES = 2 << 20  # of a page: fetch.max_body
FORMAT = 6            # of what is prepared

# package, roots of its pages
PACKAGES = [
    ("apache2-doc", ["/usr/share/doc/apache2-doc/manual"]),
    ("debian-handbook", ["/usr/share/doc/debian-handbook/html"]),
    ("erlang-doc", ["/usr/share/doc/erlang-doc"]),
    ("libboost-doc", ["/usr/share/doc/libboost1.74-doc"]),
    ("openjdk-17-doc", ["/usr/share/doc/openjdk-17-jre-headless/api"]),
    ("postgresql-doc-15", ["/usr/share/doc/postgresql-doc-15/html"]),
    ("python3-doc", ["/usr/share/doc/python3.11/html"]),
    ("rust-doc", ["/usr/share/doc/rust-doc/html"]),
]
# What a page refers to: attributes, and the target of a meta refresh.
REFERENCE = re.compile(rb"""(?i)(\b(?:href|src)\s*=\s*|\bcontent="\d+;\s*url=)"""
                       rb"""("[^"]*"|'[^']*'|[^\s"'>]+)""")
LINK = re.compile(rb"(?i)<(?:a|area|meta)[\s/]")
MOST_LINKS = 9000  # of a page, that count as followed: far below parse.max_links
RELATIVE = re.compile(r"(?!#|//|[A-Za-z][A-Za-z0-9+.-]*:)\s*\S")
ELSEWHERE = b"http://elsewhere.example/"


def host_name(host):
    return f"r{host:04}.{DOMAIN}"


def host_address(host):
    return f"127.80.{host // 250}.{host % 250 + 1}"


def missing():
    """What has to be installed, as a list of Debian packages."""
    wanted = [] if shutil.which("nginx") or os.path.exists("/usr/sbin/nginx") else ["nginx-light"]
    return wanted + [name for name, roots in PACKAGES
                     if not any(os.path.isdir(root) for root in roots)]


def list_files():
    """(path on the web, file) of all pages, in order."""
    found = []
    for package, roots in PACKAGES:
        for root in roots:
            for folder, folders, names in os.walk(root):
                folders.sort()
                for name in sorted(names):
                    file = os.path.join(folder, name)
                    if name.endswith((".html", ".htm")) and not os.path.islink(file) and \
                            0 < os.path.getsize(file) <= MOST_BYTES:
                        found.append((f"/{package}/{os.path.relpath(file, root)}", file))
    return found


class Pages:
    """Which host has which page, and what leads where."""

    def __init__(self, files):
        self.files = files
        self.number = {path: i for i, (path, _) in enumerate(files)}
        self.host_of = [i * HOSTS // len(files) for i in range(len(files))]

    def find(self, base, reference):
        """The page that a reference in the page at path base leads to, or None."""
        reference = reference.strip().split("#", 1)[0].split("?", 1)[0]
        if not reference or ":" in reference.split("/", 1)[0] or reference.startswith("//"):
            return None
        path = urllib.parse.unquote(reference, errors="surrogateescape")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
        number = self.number.get(path)
        return number if number is not None else self.number.get(path + "/index.html")

    def url_path(self, number):
        return urllib.parse.quote(self.files[number][0])

    def rewrite(self, number):
        """(bytes of the page, references, pages that links of it lead to)"""
        base, file = self.files[number]
        host, leads, n = self.host_of[number], [], 0

        def is_link(match):
            start = match.string.rfind(b"<", 0, match.start())
            return LINK.match(match.string, max(start, 0)) is not None

        def replace(match):
            nonlocal n
            n += 1
            value = match.group(2)
            quote = value[:1] if value[:1] in (b'"', b"'") else b""
            text = value[len(quote):len(value) - len(quote)].decode("utf-8", "surrogateescape")
            target = self.find(base, text)
            if target is None:
                dead = RELATIVE.match(text) is not None and is_link(match)
                return match.group(1) + quote + ELSEWHERE + quote if dead else match.group(0)
            if n <= MOST_LINKS and is_link(match):
                leads.append(target)
            if self.host_of[target] == host and not text.split("#")[0].endswith("/"):
                return match.group(0)
            fragment = "#" + text.split("#", 1)[1] if "#" in text else ""
            url = f"http://{host_name(self.host_of[target])}{self.url_path(target)}{fragment}"
            return match.group(1) + quote + url.encode("utf-8", "surrogateescape") + quote

        with open(file, "rb") as page:
            body = REFERENCE.sub(replace, page.read())
        return body, n, leads

    def write(self, number):
        body, n, leads = self.rewrite(number)
        name = host_name(self.host_of[number])
        file = f"{PLACE}/www/{name}{self.files[number][0]}"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        with open(file, "wb") as out, open(file + ".gz", "wb") as packed:
            out.write(body)
            packed.write(packer.compress(body) + packer.flush())
        return number, len(body), n, sorted(set(leads))


_pages = None  # of a worker process


def _work(numbers):
    return [_pages.write(number) for number in numbers]


def seeds_of(pages, links):
    """First pages of hosts, and whatever is not reached by links from what is there already."""
    first = {}
    for number, host in enumerate(pages.host_of):
        first.setdefault(host, number)
    seeds, seen = [], set()
    n_first = len(first)
    for place, number in enumerate(list(first.values()) + list(range(len(pages.files)))):
        if number in seen and place >= n_first:
            continue
        seeds.append(number)
        seen.add(number)
        todo = collections.deque([number])
        while todo:
            for target in links[todo.popleft()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
    return seeds


def fingerprint(files):
    text = "\n".join(f"{path} {os.path.getsize(file)} {int(os.path.getmtime(file))}"
                     for path, file in files)
    return hashlib.sha1(f"{FORMAT} {HOSTS}\n{text}".encode("utf-8", "replace")).hexdigest()


def read_manifest():
    try:
        with open(f"{PLACE}/manifest.json") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def prepare():
    """The manifest of what is prepared; None after a message when something is missing."""
    global _pages
    lacking = missing()
    if lacking:
        print("real pages: not installed: " + " ".join(lacking) + "  (apt-get install " +
              " ".join(lacking) + ")", file=sys.stderr)
        return None
    files = list_files()
    if len(files) < LEAST_PAGES:
        print(f"real pages: only {len(files)} pages, {LEAST_PAGES} are needed", file=sys.stderr)
        return None
    key = fingerprint(files)
    manifest = read_manifest()
    if manifest.get("key") == key:
        return manifest
    print(f"real pages: preparing {len(files)} pages in {os.path.normpath(PLACE)}, once",
          file=sys.stderr)
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(f"{PLACE}/www")
    _pages = Pages(files)
    links, size, references, distinct = [None] * len(files), 0, 0, 0
    lots = [range(i, min(i + 200, len(files))) for i in range(0, len(files), 200)]
    with concurrent.futures.ProcessPoolExecutor() as workers:
        for rows in workers.map(_work, lots):
            for number, n_bytes, n, leads in rows:
                links[number] = leads
                size, references = size + n_bytes, references + n
                distinct += len(leads)
    seeds = seeds_of(_pages, links)
    with open(f"{PLACE}/seeds.txt", "w") as file:
        file.writelines(f"http://{host_name(_pages.host_of[n])}{_pages.url_path(n)}\n"
                        for n in seeds)
    with open(f"{PLACE}/pages.txt", "w") as file:
        file.writelines(f"{host_address(host)} http://{host_name(host)}{_pages.url_path(n)}\n"
                        for n, host in enumerate(_pages.host_of))
    write_names()
    manifest = {"key": key, "pages": len(files), "bytes": size, "references": references,
                "links": distinct, "seeds": len(seeds), "hosts": HOSTS}
    with open(f"{PLACE}/manifest.json", "w") as file:
        json.dump(manifest, file)
    return manifest


def write_names(place=PLACE):
    with open(f"{place}/zone", "w") as zone, open(f"{place}/hosts", "w") as hosts:
        for host in range(HOSTS):
            zone.write(f"{host_name(host)}={host_address(host)}\n")
            hosts.write(f"{host_address(host)} {host_name(host)}\n")


def describe(manifest):
    n = manifest["pages"]
    return (f"R: {n} pages on {manifest['hosts']} hosts, {manifest['bytes'] / n / 1000:.1f} kB, "
            f"{manifest['references'] / n:.0f} references and {manifest['links'] / n:.0f} distinct "
            f"links to pages each, {manifest['seeds']} seeds")


def free_port(address="127.80.0.1"):
    with socket.socket() as s:
        s.bind((address, 0))
        return s.getsockname()[1]


class RealWeb:
    """nginx with the prepared pages; names come from tests/web's DNS (zone()), or, for others, from
    hosts(), a file as /etc/hosts."""

    def __init__(self, path, gzip=False, close=False, port=None, root=None, names=PLACE):
        """root: this folder alone, as the pages of the first host. names: where write_names wrote."""
        self.path = path
        self.port = port or free_port()
        self.seeds = f"{PLACE}/seeds.txt"
        self.zone = f"{names}/zone"
        self.hosts = f"{names}/hosts"
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        files = min(200000, files) if files != resource.RLIM_INFINITY else 200000
        hosts = HOSTS if root is None else 1
        self.last = host_address(hosts - 1)
        root = root or os.path.abspath(PLACE) + "/www/$host"
        listen = "".join(f"    listen {host_address(host)}:{self.port};\n" for host in range(hosts))
        with open(f"{path}/nginx.conf", "w") as file:
            file.write(f"""{"user root;" if os.getuid() == 0 else ""} daemon off; worker_processes 1; pid {path}/nginx.pid;
error_log {path}/nginx-error.log; events {{ worker_connections 16000; }}
worker_rlimit_nofile {files};
http {{
  types {{ text/html html htm; }} default_type text/html;
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  keepalive_timeout {"0" if close else "75s"};
  open_file_cache max={max(1000, files - 20000)} inactive=10m; open_file_cache_valid 10m; open_file_cache_errors on;
  gzip_static {"on" if gzip else "off"};
  client_body_temp_path {path}/t1; proxy_temp_path {path}/t2; fastcgi_temp_path {path}/t3;
  uwsgi_temp_path {path}/t4; scgi_temp_path {path}/t5;
  server {{
{listen}    root {root}; index index.html; absolute_redirect off;
  }}
}}
""")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-e", f"{path}/nginx-error.log", "-p", path, "-c",
                                         f"{path}/nginx.conf"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                with open(f"{path}/nginx-error.log") as log:
                    raise RuntimeError("nginx did not start: " + log.read()[-500:])
            time.sleep(0.05)

    def _answers(self):
        try:
            socket.create_connection((self.last, self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def serve(manifest):
    import tempfile
    path = tempfile.mkdtemp(prefix="ragno-real-web-")
    with RealWeb(path) as web:
        print(f"nginx on port {web.port}; names: build/release/web --port 0 --zone {web.zone}\n"
              f"seeds: {web.seeds}; ends with Ctrl-C")
        try:
            web.process.wait()
        except KeyboardInterrupt:
            pass
    shutil.rmtree(path)
    del manifest


if __name__ == "__main__":
    prepared = prepare()
    if prepared is None:
        sys.exit(3)
    print(describe(prepared))
    if sys.argv[1:] == ["--serve"]:
        serve(prepared)
