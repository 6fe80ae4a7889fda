"""What is sent, to whom, through what: [site] sections, secrets of a file, proxies, rates, refused
addresses."""
import base64
import gzip
import json
import os
import re
import select
import shutil
import socket
import socketserver
import subprocess
import threading
import time

import harness
from sites import Sites, log_lines, page

TEXT = {"Content-Type": "text/html"}


def write(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def log_of(directory, name="ragno.log"):
    with open(f"{directory}/{name}", errors="replace") as file:
        return file.read()


def lines_of(directory, url):
    """The lines of crawl.log for a URL."""
    return [line for line in log_lines(directory) if line[3] == url]


def archive(directory):
    text = b""
    for name in os.listdir(f"{directory}/warc"):
        if name.endswith(".gz"):
            with gzip.open(f"{directory}/warc/{name}") as file:
                text += file.read()
    return text.decode(errors="replace")


def fields_of(head, name):
    """The values of a field in a request's header."""
    return tuple(re.findall(rf"^{name}: (.*?)\r?$", head, re.MULTILINE | re.IGNORECASE))


# ---- [site] sections ------------------------------------------------------------------------------

def sections(report, path):
    """Each option of a section counts for its hosts alone; the last line wins."""
    big = (200, TEXT, "<title>t</title>" + "x" * 20000)
    answers = {}
    for host in ("a.test", "b.test"):
        answers[f"http://{host}/"] = page("/big", "/1", "/2", "/3", "/no/x")
        answers[f"http://{host}/big"] = big
        answers[f"http://{host}/robots.txt"] = (200, {}, "User-agent: *\nDisallow: /no/")
        for name in ("1", "2", "3", "no/x"):
            answers[f"http://{host}/{name}"] = page(text=host + name)
    config = write(path + "/c.ini", """
[fetch]
max_body = 8Ki
headers = X-All: 1
accept_language = en
[site "*.test"]
accept_language = de
[site "A.test"]
host_delay = 30ms
headers = X-One: 1|X-Two: 2
accept_language = fr
fetch.max_body = 64Ki
robots.obey = no
[site "b.*"]
pages_per_host = 3
""")
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "-c", config, "http://a.test/", "http://b.test/")
        seen = {(host, at): headers for host, at, headers in sites.headers}
    report.equal("it ends", result.returncode, 0)
    a, b = seen[("a.test", "/")], seen[("b.test", "/")]
    report.equal("headers of a section take the place of the others",
                 (a.get("X-One"), a.get("X-Two"), a.get("X-All")), ("1", "2", None))
    report.equal("others keep theirs", (b.get("X-One"), b.get("X-All")), (None, "1"))
    report.equal("the last section wins", (a["Accept-Language"], b["Accept-Language"]), ("fr", "de"))
    report.check("robots.txt is not asked for where it is not obeyed",
                 ("a.test", "/robots.txt") not in seen and ("a.test", "/no/x") in seen,
                 str(seen.keys()))
    report.check("and is obeyed elsewhere", ("b.test", "/no/x") not in seen)
    report.check("loudly", "robots.txt is NOT obeyed for a site site=\"A.test\"" in
                 log_of(path + "/crawl") and "warning: " in result.stderr, log_of(path + "/crawl"))
    words = lines_of(path + "/crawl", "http://a.test/no/x")[0][-1]
    report.check("crawl.log says so", "robots:ignored" in words, words)
    cut_a = lines_of(path + "/crawl", "http://a.test/big")[0][-1]
    report.check("max_body of the section", "trunc:length" not in cut_a, cut_a)
    pages_b = [line for line in log_lines(path + "/crawl")
               if line[3].startswith("http://b.test/") and line[1] == "200" and line[4] != "P"]
    report.equal("pages_per_host of the section", len(pages_b), 3)
    owed = [word for line in log_lines(path + "/crawl") if line[3].startswith("http://a.test/")
            for word in line[-1].split(",") if word.startswith("wait:30/")]
    report.check("host_delay of the section", len(owed) >= 4, str(owed))
    result = harness.run([f"{harness.OUT}/ragno", "audit", path + "/crawl"])
    report.equal("the audit knows of it", result.returncode, 0)


def refused_sections(report, path):
    """Mistakes are named with their place."""
    for text, words in (
            ("[robots]\nobey = no\n", "only a [site"),
            ("[site \"x\"]\nqueue = 3\n", "'queue' cannot be set for a site; these can:"),
            ("[site \"x\"]\nproxy = ftp://h:1\n", "c.ini:2: fetch.proxy: 'ftp://h:1' is not a proxy"),
            ("[fetch]\nproxy = http://u:p@h:1\n", "user and password do not belong here"),
            ("[fetch]\nproxy = http://h:99999\n", "is not a proxy"),
            ("[site \"x\"]\nheaders = nonsense\n", "'nonsense' is not a header"),
            ("[fetch]\ndeny_addresses = 1.2.3.4/99\n", "'1.2.3.4/99' is not an address"),
            ("[fetch]\nslow_rate = 2K\n[site \"x\"]\nhost_rate = 1K\n", "host_rate: must be greater"),
            ("[fetch]\ncredentials = /nowhere/at/all\n", "/nowhere/at/all: cannot be opened")):
        config = write(path + "/c.ini", text)
        result = harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "-c", config,
                              "--set", "fetch.allow_addresses=127.0.0.0/8", "http://127.0.0.1:1/"])
        report.check(f"{text.splitlines()[-1]} is refused",
                     result.returncode == 2 and words in result.stderr,
                     f"{result.returncode} {result.stderr}")


def live_sections(report, path):
    """A section that is changed counts from the next fetch on."""
    answers = {"http://a.test/": page(*[f"/{i}" for i in range(400)])}
    for i in range(400):
        answers[f"http://a.test/{i}"] = page(text=str(i))
    config = write(path + "/c.ini", "[site \"a.test\"]\nheaders = X-Is: old\n")
    with Sites(path, answers) as sites:
        process = subprocess.Popen(sites.command(path + "/crawl", "-c", config, "http://a.test/",
                                                 wait="20ms"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            harness.until(lambda: len(sites.headers) > 5)
            write(config, "[site \"a.test\"]\nheaders = X-Is: new\nhost_delay = 0\n")
            result = harness.run([f"{harness.OUT}/ragno", "ctl", path + "/crawl", "reload"])
            process.wait(timeout=60)
        finally:
            harness.end_process(process)
        kinds = [headers.get("X-Is") for _, _, headers in sites.headers]
    report.equal("reload", result.returncode, 0)
    report.check("first the old, then the new", kinds == sorted(kinds, reverse=True)
                 and kinds[0] == "old" and kinds[-1] == "new", str(kinds[:20]))
    waits = [line[-1] for line in log_lines(path + "/crawl")]
    report.check("the delay, too", "wait:20/" in waits[5] and "wait:0/" in waits[-1],
                 waits[5] + " " + waits[-1])


# ---- secrets --------------------------------------------------------------------------------------

def secrets(report, path):
    """A secret goes to its site alone, and stays out of the archive."""
    def gate(handler):
        if handler.headers.get("Authorization") == "Basic " + base64.b64encode(b"u:p:w").decode():
            return page("/in", "http://b.test/")
        return 401, {}, "who are you?"
    answers = {"http://a.test/": gate, "http://a.test/in": (302, {"Location": "http://b.test/x"}, ""),
               "http://b.test/": page(), "http://b.test/x": page(text="x"),
               "http://c.test/": page(text="c")}
    for host in "abc":
        answers[f"http://{host}.test/robots.txt"] = (200, {}, "")
    file = write(path + "/secrets", "# a remark\n\nhttp://a.test basic u:p:w\n"
                 "http://*.test:80 header X-Key: k3y\nc.test bearer only-over-https\n", 0o600)
    with Sites(path, answers) as sites:
        before = os.umask(0)
        result = sites.crawl(path + "/crawl", "--set", f"fetch.credentials={file}", "-H", "X-Api-Key: s3cr3t",
                             "http://a.test/", "http://c.test/")
        os.umask(before)
        seen = {(host, at): headers for host, at, headers in sites.headers}
        os.chmod(file, 0o640)
        refused = sites.crawl(path + "/crawl2", "--set", f"fetch.credentials={file}",
                              "http://a.test/")
    report.equal("it ends", result.returncode, 0)
    report.check("the site lets us in", ("a.test", "/in") in seen, str(seen.keys()))
    report.check("robots.txt is asked for with it",
                 "Authorization" in seen[("a.test", "/robots.txt")])
    report.check("no other host gets it", "Authorization" not in seen[("b.test", "/x")])
    report.equal("a pattern of hosts", seen[("b.test", "/x")].get("X-Key"), "k3y")
    report.check("not over http unless the file says so",
                 "Authorization" not in seen[("c.test", "/")])
    text = archive(path + "/crawl")
    report.check("the archive does not show it", "X-Key: ***" in text and "k3y" not in text
                 and "Authorization: ***" in text)
    report.check("nor what the operator adds to each request", "X-Api-Key: ***" in text and "s3cr3t" not in text and
                 seen[("a.test", "/")].get("X-Api-Key") == "s3cr3t")
    modes = {name: oct(os.stat(os.path.join(folder, name)).st_mode & 0o777) for folder, _, names in os.walk(path + "/crawl")
             for name in names if os.stat(os.path.join(folder, name)).st_mode & 0o027}
    report.equal("what a crawl keeps is for its user and group, whatever the umask", modes, {})
    report.check("a file that others may read is refused", refused.returncode == 2
                 and "has mode 0640" in refused.stderr, refused.stderr)


# ---- proxies --------------------------------------------------------------------------------------

class Proxy:
    """A proxy for HTTP or SOCKS 5 that connects any name to one port of loopback."""

    def __init__(self, kind, port, serves=True):
        self.seen = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                client = self.request
                if kind == "socks":
                    head = self.socks(client)
                else:
                    head = self.http(client)
                if head is None:
                    return
                with socket.create_connection(("127.0.0.1", port)) as server:
                    server.sendall(head)
                    pair = [client, server]
                    while True:
                        for one in select.select(pair, [], [])[0]:
                            data = one.recv(65536)
                            if not data:
                                return
                            if one is client and kind == "http":
                                outer.seen.append(data.decode(errors="replace"))
                            pair[one is client].sendall(data)

            def http(self, client):
                head = b""
                while b"\r\n\r\n" not in head:
                    data = client.recv(65536)
                    if not data:
                        return None
                    head += data
                outer.seen.append(head.decode(errors="replace"))
                return head

            def socks(self, client):
                client.recv(262)
                client.sendall(b"\x05\x00")
                ask = client.recv(262)
                if ask[3] == 1:
                    outer.seen.append(socket.inet_ntoa(ask[4:8]))
                else:
                    outer.seen.append(ask[5:5 + ask[4]].decode())
                client.sendall(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
                return b""

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.server_bind()
        self.port = self.server.server_address[1]
        self.server.handle_error = lambda *_: None
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.is_serving = False
        if serves:
            self.serve()

    def serve(self):
        self.server.server_activate()
        self.is_serving = True
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_serving:
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()


SMALL = {"http://a.test/": page("/1", "http://b.test/"), "http://a.test/1": page(text="1"),
         "http://b.test/": page(text="b")}


def through_http(report, path):
    """The absolute form, one host excepted, the environment's names; who asks."""
    us = {("ragno/" + harness.run([f"{harness.OUT}/ragno", "--version"]).stdout.split()[1],)}
    with Sites(path, SMALL) as sites, Proxy("http", sites.port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        command = sites.command(path + "/crawl", "--set", f"fetch.proxy={url}", "--set",
                                "fetch.no_proxy=.b.test", "http://a.test/")
        result = harness.run(command, env={**os.environ, "no_proxy": "*"})  # which is not asked
        report.equal("it ends", result.returncode, 0)
        report.equal("all pages came", sites.asked(), set(SMALL))
        report.check("a.test through the proxy", any("GET http://a.test/1 HTTP/1.1" in head
                                                     for head in proxy.seen), str(proxy.seen))
        report.equal("each request says once who asks",
                     {fields_of(head, "User-Agent") for head in proxy.seen}, us)
        report.equal("and so does the archive",
                     {fields_of(record, "User-Agent")
                      for record in archive(path + "/crawl").split("WARC/1.1")
                      if "WARC-Type: request" in record}, us)
        report.check("b.test without it", not any("b.test/" in head.split("\r\n")[0]
                                                  for head in proxy.seen), str(proxy.seen))
        for at, name in enumerate(("http_proxy", "all_proxy")):
            proxy.seen.clear()
            env = {**os.environ, name: url, "no_proxy": "127.77.0.2/32"}
            command = sites.command(f"{path}/crawl{at}", "--set", "fetch.proxy=environment",
                                    "http://a.test/")
            result = harness.run(command, env=env)
            report.check(f"{name} of the environment", result.returncode == 0 and proxy.seen
                         and not any("b.test/" in head.split("\r\n")[0] for head in proxy.seen),
                         str(proxy.seen))
        proxy.seen.clear()
        command = sites.command(path + "/crawl3", "http://a.test/")
        harness.run(command, env={**os.environ, "http_proxy": url})
        report.equal("only when asked for", proxy.seen, [])
        sites.crawl(path + "/tls", "--set", f"fetch.proxy={url}", "--set", "crawl.max_duration=3s",
                    "https://a.test/")
        asked = [head for head in proxy.seen if head.startswith("CONNECT ")]
        report.equal("CONNECT says it, too", {fields_of(head, "User-Agent") for head in asked}, us)


def through_socks(report, path):
    with Sites(path, SMALL) as sites, Proxy("socks", sites.port) as proxy:
        for kind, expected in (("socks5", {"127.77.0.1", "127.77.0.2"}),
                               ("socks5h", {"a.test", "b.test"})):
            proxy.seen.clear()
            result = sites.crawl(path + "/" + kind, "--set",
                                 f"fetch.proxy={kind}://127.0.0.1:{proxy.port}", "http://a.test/")
            report.equal(f"{kind}: it ends", result.returncode, 0)
            report.equal(f"{kind}: what it is told", set(proxy.seen), expected)


def a_dead_proxy(report, path):
    """It is nobody's fault but ours: hosts stay as they are, and all is fetched when it is back."""
    with Sites(path, SMALL) as sites, Proxy("http", sites.port, serves=False) as proxy:
        process = subprocess.Popen(
            sites.command(path + "/crawl", "--set", f"fetch.proxy=http://127.0.0.1:{proxy.port}",
                          "--set", "politeness.retry=proxy 100ms 0", "http://a.test/"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            harness.until(lambda: os.path.exists(path + "/crawl/ragno.log") and
                          log_of(path + "/crawl").count("the proxy cannot be used") > 8)
            proxy.serve()
            process.wait(timeout=60)
        finally:
            harness.end_process(process)
    report.equal("it goes on when the proxy is back", process.returncode, 0)
    report.equal("all pages came", sites.asked(), set(SMALL))
    hosts = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts"]).stdout
    report.check("no host was dropped", "dropped" not in hosts and "parked" not in hosts, hosts)


def by_server(report, path, sites, name, command, proxy, port, file):
    """A crawl of a site with an address as its name, through a proxy of Debian's."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not report.check(f"{name} starts", harness.until(lambda: harness.answers_at(port))
                            is not False):
            return
        seed = f"http://127.0.0.1:{sites.port}/"
        result = sites.crawl(f"{path}/{name}", "--set", f"fetch.proxy={proxy}", "--set",
                             f"fetch.credentials={file}", seed)
        report.equal(f"{name}: it ends", result.returncode, 0)
        asked = {at for host, at, _ in sites.headers if host == "127.0.0.1"}
        report.check(f"{name}: the pages came", {"/", "/1"} <= asked, str(asked))
        sites.headers.clear()
    finally:
        harness.end_process(process)


def through_debians(report, path):
    """tinyproxy, which asks for a password; dante, which speaks SOCKS 5."""
    answers = {"http://127.0.0.1/": page("/1"), "http://127.0.0.1/1": page(text="1")}
    with Sites(path, answers) as sites:
        port = harness.free_port()
        file = write(path + "/secrets", f"proxy 127.0.0.1:{port} me:secret\n", 0o600)
        if shutil.which("tinyproxy"):
            config = write(path + "/tinyproxy.conf",
                           f"Port {port}\nListen 127.0.0.1\nMaxClients 20\nBasicAuth me secret\n"
                           f"LogFile \"{path}/tinyproxy.log\"\nLogLevel Connect\n")
            by_server(report, path, sites, "tinyproxy", ["tinyproxy", "-d", "-c", config],
                      f"http://127.0.0.1:{port}", port, file)
            report.check("tinyproxy: it was asked", "GET http://127.0.0.1" in
                         log_of(path, "tinyproxy.log"))
        else:
            report.skip("tinyproxy", "not installed (make deps-dev)")
        port = harness.free_port()
        if shutil.which("danted"):
            config = write(path + "/danted.conf", f"""
logoutput: {path}/danted.log
internal: 127.0.0.1 port = {port}
external: 127.0.0.1
clientmethod: none
socksmethod: none
client pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 }}
socks pass {{ from: 127.0.0.0/8 to: 0.0.0.0/0 log: connect }}
""")
            by_server(report, path, sites, "danted", ["danted", "-f", config, "-p", path + "/pid"],
                      f"socks5://127.0.0.1:{port}", port, file)
        else:
            report.skip("danted", "not installed (make deps-dev)")


# ---- rates and addresses --------------------------------------------------------------------------

def host_rate(report, path):
    """A host is owed the time that its bytes take at its rate."""
    answers = {"http://a.test/": page("/1"), "http://a.test/1": page(text="x" * 30000)}
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--set", "fetch.host_rate=100K", "http://a.test/")
    report.equal("it ends", result.returncode, 0)
    line = lines_of(path + "/crawl", "http://a.test/1")[0]
    took = int(line[8].split("+")[1])
    owes = int(line[-1].split("owes:")[1].split("/")[0])
    # Some time of the 302 ms may have passed while it came.
    report.check("30 kB at 100 kB/s take 300 ms", 295 <= owes + took, f"{owes} {took}")


def denied_addresses(report, path):
    with Sites(path, SMALL) as sites:
        result = sites.crawl(path + "/crawl", "--set", "fetch.deny_addresses=127.77.0.2",
                             "http://a.test/", "http://b.test/")
        report.equal("it ends", result.returncode, 0)
        report.equal("no connection to it", {url for url in sites.asked(robots=True) if "b.test" in url},
                     set())
        report.check("the others are fetched", "http://a.test/1" in sites.asked())


def cutting_short(report, path):
    """An answer nobody wants is ended at its header: what came of the body is thrown away."""
    sent = {}

    def endless(handler):
        """2 MB, as far as they are taken."""
        handler.send_response(200)
        handler.send_header("Content-Type", "video/mp4")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        n = 0
        try:
            for _ in range(512):
                handler.wfile.write(b"x" * 65536)
                n += 65536
        except OSError:
            pass
        sent[handler.path] = n
        raise ConnectionAbortedError

    html = page(*[f"/{name}" for name in ("video", "gone", "long", "pdf", "deep", "kept", "short")])
    kept = (200, {"Content-Type": "Application/XHTML+xml; charset=utf-8"}, "<html/>")
    answers = {"http://a.test/": html, "http://a.test/video": endless,
               "http://a.test/gone": (404, TEXT, "<a href=/never>" + "x" * 20000),
               "http://a.test/long": (200, TEXT, "<a href=/never>" + "x" * 60000),
               "http://a.test/pdf": (200, {"Content-Type": "application/pdf"}, "x" * 20000),
               "http://a.test/deep": (200, TEXT, "<a href=/never>" + "x" * 20000),
               "http://a.test/kept": kept,
               "http://a.test/short": (200, {"Content-Type": "image/png"}, "x" * 100)}
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--set", "fetch.max_length=50K", "--set", "filter.body="
                             "MIMEIsOneOf(text/*, application/xhtml+xml) and not StatusIsOneOf(404, 500-599) and "
                             "not PathEndsWithOneOf(deep)", "http://a.test/")
        asked = sites.asked()
    report.equal("it ends", result.returncode, 0)
    cut = {line[3].rsplit("/", 1)[1]: (line[1], word, int(line[2]))
           for line in log_lines(path + "/crawl") for word in line[-1].split(",")
           if word.startswith("cut:")}
    report.equal("which, and why", {name: value[:2] for name, value in cut.items()},
                 {"video": ("200", "cut:filter"), "gone": ("404", "cut:filter"),
                  "long": ("200", "cut:length"), "pdf": ("200", "cut:filter"),
                  "deep": ("200", "cut:filter"), "short": ("200", "cut:filter")})
    report.check("bytes are the header's", all(value[2] < 1000 for value in cut.values()), str(cut))
    report.check("the server was stopped", harness.until(lambda: "/video" in sent) is not False
                 and sent["/video"] < 512 * 65536, str(sent))
    report.check("no link of them was followed", "http://a.test/never" not in asked)
    report.check("the others were read", "http://a.test/kept" in asked)
    text = archive(path + "/crawl")
    records = [r for r in text.split("WARC/1.1") if "WARC-Truncated: unspecified" in r]
    report.equal("the archive has their headers", len(records), len(cut))
    result = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.equal("verify is content", result.returncode, 0)


def rate_of_all(report, path):
    """The rate of all hosts together holds on average, and the status names it."""
    hosts = [f"h{i}.test" for i in range(8)]
    answers = {f"http://{h}/{name}": (200, TEXT, "<title>t</title>" + h + name + "x" * 40000)
               for h in hosts for name in ("", "1", "2")}
    for h in hosts:
        answers[f"http://{h}/"] = page("/1", "/2", text="x" * 40000)
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--set", "fetch.rate=500K", "--set",
                             "log.status_interval=300ms", *[f"http://{h}/" for h in hosts])
    report.equal("it ends", result.returncode, 0)
    lines = log_lines(path + "/crawl")
    marks = [word for line in lines for word in line[-1].split(",") if word.startswith("mono:")]
    times = [int(t) for mark in marks for t in mark[5:].split("-")]
    total = sum(int(line[2]) for line in lines)
    rate = total / (max(times) - min(times)) * 1000
    report.check("24 pages of 40 kB at 500 kB/s", total > 900000 and rate < 500000 * 1.25,
                 f"{total} bytes, {rate:.0f} a second")
    limits = [word for line in log_lines(path + "/crawl", "status.log") for word in line
              if word.startswith("limit=")]
    report.check("limit=bandwidth", "limit=bandwidth" in limits, str(limits))


# ---- TLS ------------------------------------------------------------------------------------------

def tls_facts(report, path):
    """What connections are worth is known, whether it counts or not."""
    ca = path + "/ca.pem"

    def hosts_of(directory):
        text = harness.run([f"{harness.OUT}/ragno", "db", directory, "hosts"]).stdout
        return [line.split("\t")[-1] for line in text.splitlines()]

    with harness.Web(path, pages=20, hosts=3, tls=True, tls_ca=ca) as web:
        result = harness.crawl(web, path + "/verified", "--set", "fetch.tls_verify=yes", "--set",
                               f"fetch.ca_file={ca}", "--set", "warc.metadata=yes")
        report.equal("verified: it ends", result.returncode, 0)
        pages = [line for line in log_lines(path + "/verified") if line[1] == "200"]
        report.check("verified: crawl.log", len(pages) >= 20 and
                     all(",tls:1.3/verified" in line[-1] for line in pages), str(pages[:1]))
        rows = hosts_of(path + "/verified")
        report.check("verified: hosts", all(row.startswith("1.3 verified 20") for row in rows),
                     str(rows))
        text = archive(path + "/verified")
        report.check("verified: metadata", "tls-protocol: 1.3\r\ntls-verification: verified\r\n"
                     "tls-certificate-expiry: 20" in text)
        result = harness.crawl(web, path + "/unverified")
        rows = hosts_of(path + "/unverified")
        report.check("taken all the same, and what it is worth is told", result.returncode == 0
                     and rows and all(row.startswith("1.3 self-signed 20") for row in rows),
                     str(rows))
        result = harness.crawl(web, path + "/refused", "--set", "fetch.tls_verify=yes",
                               "--set", "politeness.retry=tls 0 0 drop")
        lines = log_lines(path + "/refused")
        report.check("refused when it counts", lines and
                     not [line for line in lines if line[1] == "200"], str(lines[:2]))
        os.mkdir(path + "/none")
        command = harness.crawl_command(web, path + "/without", "--set", "fetch.tls_verify=yes")
        result = harness.run(command, env={**os.environ, "SSL_CERT_DIR": path + "/none",
                                           "SSL_CERT_FILE": path + "/none/at.pem"})
        report.check("without certificates it does not start", result.returncode == 2 and
                     "fetch.ca_file" in result.stderr, result.stderr)
        result = harness.crawl(web, path + "/wrong", "--set", f"fetch.ca_file={path}/seeds.txt")
        report.check("a file without certificates is named", result.returncode == 2 and
                     "fetch.ca_file" in result.stderr, result.stderr)


# ---- who we are -----------------------------------------------------------------------------------

def verify(fields, authority, directory, now):
    """Verifies a request as the drafts say, with another implementation of Ed25519. What is wrong, or
    None."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    match = re.fullmatch(r'sig1=(\((.*?)\);created=(\d+);keyid="(.*?)";alg="ed25519";'
                         r'expires=(\d+);nonce="(.*?)";tag="web-bot-auth")',
                         fields.get("Signature-Input", ""))
    agent = re.fullmatch(r'sig1=("https://[^"]+")', fields.get("Signature-Agent", ""))
    signature = re.fullmatch(r"sig1=:(.*):", fields.get("Signature", ""))
    if not match or not agent or not signature:
        return f"no signature: {fields}"
    if match[2] != '"@authority" "signature-agent";key="sig1"':
        return "components " + match[2]
    if not int(match[3]) - 5 <= now <= int(match[5]):
        return "not of now"
    key = [key for key in directory["keys"] if key["kid"] == match[4]]
    if not key:
        return "unknown key " + match[4]
    base = (f'"@authority": {authority}\n"signature-agent";key="sig1": {agent[1]}\n'
            f'"@signature-params": {match[1]}')
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key[0]["x"] + "="))
    public.verify(base64.b64decode(signature[1]), base.encode())
    return None


def identity(report, path):
    """Every request is signed, and verified with what `ragno identity directory` publishes."""
    key = path + "/key.pem"
    tool = [f"{harness.OUT}/ragno", "identity"]
    made = harness.run([*tool, "new", key])
    report.check("new makes a key", made.returncode == 0 and "keyid" in made.stdout
                 and os.stat(key).st_mode & 0o777 == 0o600, made.stderr)
    again = harness.run([*tool, "new", key])
    report.check("and never replaces one", again.returncode == 2 and "exists already" in
                 again.stderr, again.stderr)
    directory = json.loads(harness.run([*tool, "directory", key]).stdout)
    addresses = json.loads(harness.run([*tool, "addresses", "192.0.2.1", "2001:db8::/48"]).stdout)
    report.equal("addresses", [list(p.values())[0] for p in addresses["prefixes"]],
                 ["192.0.2.1/32", "2001:db8::/48"])
    with Sites(path, SMALL) as sites:
        result = sites.crawl(path + "/crawl", "--set", f"crawl.signature_key={key}", "--set",
                             "crawl.signature_agent=https://agent.test", "http://a.test/")
        report.equal("it ends", result.returncode, 0)
        seen = list(sites.headers)
        plain = sites.crawl(path + "/plain", "http://a.test/")
        report.check("off by default", plain.returncode == 0 and
                     "Signature" not in sites.headers[-1][2], str(sites.headers[-1]))
        os.chmod(key, 0o644)
        refused = sites.crawl(path + "/crawl2", "--set", f"crawl.signature_key={key}",
                              "http://a.test/")
        report.check("a key that others may read is refused", refused.returncode == 2 and
                     "has mode 0644" in refused.stderr, refused.stderr)
    try:
        wrong = [why for host, _, fields in seen
                 if (why := verify(fields, host, directory, time.time())) is not None]
        report.check(f"all {len(seen)} requests are verified", len(seen) >= 5 and not wrong,
                     str(wrong[:3]))
        nonces = {fields["Signature-Input"] for _, _, fields in seen}
        report.equal("no nonce twice", len(nonces), len(seen))
    except ImportError:
        report.skip("verification", "python3-cryptography is not installed (make deps-dev)")
    text = archive(path + "/crawl")
    report.check("the archive shows what was sent", 'Signature-Agent: sig1="https://agent.test"'
                 in text)


# ---- cookies --------------------------------------------------------------------------------------

def cookies(report, path):
    """A site that redirects until its cookie comes back is read; other hosts get nothing of it."""
    def gate(handler):
        if "seen=yes" in handler.headers.get("Cookie", ""):
            return page("/deep/x", "http://b.test/", text="inside")
        return 302, {"Location": "http://a.test/", "Set-Cookie": "seen=yes; Path=/; HttpOnly"}, ""

    def endless(handler):
        endless.n += 1
        return 302, {"Location": "/endless", "Set-Cookie": f"n{endless.n}=1"}, ""

    endless.n = 0
    answers = {"http://a.test/": gate, "http://a.test/deep/x": page("/endless", text="deep"),
               "http://a.test/endless": endless, "http://b.test/": page(text="b")}
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--set", "fetch.cookies=yes", "http://a.test/")
        seen = {(host, at): headers for host, at, headers in sites.headers}
        asked = [at for host, at, _ in sites.headers if host == "a.test" and at == "/"]
        report.equal("it ends", result.returncode, 0)
        report.check("the page behind the redirect is read", ("a.test", "/deep/x") in seen,
                     str(seen.keys()))
        report.equal("it took one more request", len(asked), 2)
        report.equal("cookies go back to their host", seen[("a.test", "/deep/x")].get("Cookie"),
                     "seen=yes")
        report.check("and to no other", "Cookie" not in seen[("b.test", "/")])
        report.check("a site that sets ever new ones is left", endless.n <= 3, str(endless.n))
        text = archive(path + "/crawl")
        report.check("the archive has both answers", text.count("Set-Cookie: seen=yes") == 1 and
                     "inside" in text and "Cookie: seen=yes" in text)
        hosts = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts"]).stdout
        report.check("no host is worse for it", "failed" not in hosts and "dropped" not in hosts,
                     hosts)
        sites.headers.clear()
        result = sites.crawl(path + "/without", "http://a.test/")
        report.check("off by default", not any("Cookie" in h for _, _, h in sites.headers))


# ---- consent --------------------------------------------------------------------------------------

def consent(report, path):
    """What sites state of the use of their pages is kept, and politeness.usage decides."""
    answers = {
        "http://a.test/robots.txt": (200, {}, "User-agent: *\nContent-Usage: /r/ train-ai=n\n"
                                     "Content-Signal: search=yes\n"),
        "http://a.test/": page("/r/x", "/h", "/t", "/m", "/free"),
        "http://a.test/r/x": page(text="by robots.txt"),
        "http://a.test/h": (200, {**TEXT, "Content-Usage": "ai-use=n"}, "<title>h</title>header"),
        "http://a.test/t": (200, {**TEXT, "TDM-Reservation": "1"},
                            "<title>t</title>reserved" + "x" * 20000),
        "http://a.test/m": (200, TEXT, "<meta name=robots content='noimageai'>meta"),
        "http://a.test/free": page(text="free")}
    expected = {"/r/x": "train-ai", "/h": "ai-input", "/t": "train-ai+tdm", "/m": "image-ai"}

    def denied(directory):
        return {line[3][13:]: word[13:] for line in log_lines(directory)
                for word in line[-1].split(",") if word.startswith("usage-denied:")}

    with Sites(path, answers) as sites:
        one = path + "/label"
        result = sites.crawl(one, "--set", "warc.metadata=yes", "http://a.test/")
        report.equal("it ends", result.returncode, 0)
        report.equal("crawl.log has what is denied", denied(one), expected)
        text = archive(one)
        for name, usage in expected.items():
            report.check(f"metadata of {name}", f"usage-denied: {usage}\r\n" in text)
        report.check("permissions, too", "usage-allowed: search\r\n" in text)
        rows = harness.run([f"{harness.OUT}/ragno", "export", one, "pages", "--format",
                            "jsonl"]).stdout.splitlines()
        kept = {row["url"][13:]: row.get("usage_denied") for row in map(json.loads, rows)}
        report.equal("the database has it", {k: v for k, v in kept.items() if v}, expected)

        two = path + "/rules"
        sites.headers.clear()
        result = sites.crawl(two, "--set", "politeness.usage=train-ai no-fetch, image-ai no-store",
                             "http://a.test/")
        asked = {at for _, at, _ in sites.headers}
        report.check("no-fetch by robots.txt: it is not asked for", "/r/x" not in asked)
        refused = lines_of(two, "http://a.test/r/x")
        report.check("and crawl.log says why", refused and refused[0][1] == "-5001" and
                     "rule:politeness.usage" in refused[0][-1], str(refused))
        cut = lines_of(two, "http://a.test/t")[0]
        report.check("no-fetch by a header: it is ended there", "cut:usage" in cut[-1] and
                     int(cut[2]) < 1000, str(cut))
        text = archive(two)
        report.check("no-store: it is not in the archive", "noimageai" not in text and
                     "no-store" in lines_of(two, "http://a.test/m")[0][-1])
        report.check("the others are", "free" in text and "header" in text)
        three = path + "/filter"
        result = sites.crawl(three, "--set", "store.filter=not UsageDenied(ai-input,tdm)",
                             "http://a.test/")
        text = archive(three)
        report.check("UsageDenied in a filter", result.returncode == 0 and "reserved" not in text
                     and "<title>h" not in text and "by robots.txt" in text, result.stderr)


if __name__ == "__main__":
    harness.main(sections, refused_sections, live_sections, secrets, through_http, through_socks,
                 a_dead_proxy, through_debians, host_rate, denied_addresses, cutting_short,
                 rate_of_all, tls_facts, identity, consent, cookies)
