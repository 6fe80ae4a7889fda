#!/usr/bin/env python3
"""The status page: what it tells, to whom, who may change what, and how it looks in Chromium (which is asked when it is
installed)."""
import http.client
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import time
import urllib.parse

import harness
from harness import OUT, run

RAGNO = f"{OUT}/ragno"
FILES = "src/crawl/web/files"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Crawl:
    """A crawl with a status page, that goes on until it is left."""

    def __init__(self, path, web, *options, listen="127.0.0.1:0", name="crawl"):
        self.directory = os.path.join(path, name)
        self.process = subprocess.Popen(
            harness.crawl_command(web, self.directory, "--set", f"control.listen={listen}", "--set",
                                  "store.batch_time=50ms", "--set", "log.status_interval=200ms", *options,
                                  wait="300ms", ip_wait="10ms"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        harness.until(lambda: "seeds read" in self.log() and os.path.exists(self.directory + "/status.json") or
                      self.process.poll() is not None)
        found = re.search(r"status page url=(\S+)", self.log())
        self.url = found and found[1]
        self.port = urllib.parse.urlsplit(self.url).port if self.url and self.url.startswith("http") else None
        return self

    def __exit__(self, *_):
        harness.end_process(self.process)
        self.process.stderr.close()

    def log(self):
        try:
            with open(self.directory + "/ragno.log") as file:
                return file.read()
        except OSError:
            return ""

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, path, method="GET", body=None, **headers):
        """(status, headers, text)"""
        connection = self.connection()
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def get(self, path):
        return self.ask(path)[2]

    def fetched(self, n):
        """Waits until so many pages are told."""
        return harness.until(lambda: json.loads(self.get("/status.json"))["pages"] >= n)


def metrics_of(text):
    """Names with labels and values, as Prometheus would read them; raises on what it would refuse."""
    types, helps, values = {}, set(), {}
    last = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helps, line
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helps and kind in ("counter", "gauge", "summary") and name not in types, line
            types[name] = kind
            last = name
        else:
            match = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"\\]*"\})? (\S+)', line)
            assert match and match[1] == last, line
            assert (types[last] == "counter") == last.endswith("_total"), line
            assert (types[last] == "summary") == ("quantile=" in line), line
            key = match[1] + (match[2] or "")
            assert key not in values, line
            values[key] = float(match[3])
    return values


def what_it_tells(report, path):
    with harness.Web(path, pages=50000, hosts=40, addresses=40) as web, Crawl(path, web) as crawl:
        report.check("pages are told", crawl.fetched(50))
        status = json.loads(crawl.get("/status.json"))
        with open(crawl.directory + "/status.json") as file:
            report.equal("the fields of status.json", sorted(status), sorted(json.load(file)))
        metrics = metrics_of(crawl.get("/metrics"))
        promtool = harness.promtool()
        if promtool:
            with open(path + "/metrics", "w") as file:
                file.write(crawl.get("/metrics"))
            result = run(["sh", "-c", f"{promtool} check metrics <{path}/metrics"])
            report.equal("promtool check metrics", (result.returncode, result.stdout + result.stderr), (0, ""))
        else:
            report.skip("promtool check metrics", "it is not here and cannot be fetched (it comes with prometheus)")
        later = json.loads(crawl.get("/status.json"))
        for name, field in (("ragno_pages_total", "pages"), ('ragno_answers_total{class="2xx"}', "2xx"),
                            ("ragno_urls_known", "urls_seen")):
            report.check(f"{name} is between the status before and after",
                         status[field] <= metrics[name] <= later[field], (status[field], metrics[name], later[field]))
        with open("config/ragno-grafana.json") as file:
            asked = set(re.findall(r"ragno_[a-z_]+", json.dumps([p["targets"] for p in json.load(file)["panels"]])))
        report.check("the dashboard asks for metrics that exist", len(asked) > 20 and
                     asked <= {re.sub(r"\{.*", "", name) for name in metrics}, asked)
        with open("config/ragno-alerts.yml") as file:
            expressions = re.findall(r"expr: (.*)", file.read())
        watched = set(re.findall(r"ragno_[a-z_]+", " ".join(expressions))) - {"ragno_agents_away"}  # a cluster's
        report.check("the alert rules ask for metrics that exist", len(watched) > 10 and
                     watched <= {re.sub(r"\{.*", "", name) for name in metrics}, watched)
        report.equal("one limit holds", sum(v for k, v in metrics.items() if k.startswith("ragno_limit")), 1)
        report.equal("it runs", metrics['ragno_state{state="running"}'], 1)
        harness.until(lambda: len(json.loads(crawl.get("/history.json"))["pages_s"]) >= 3)
        history = json.loads(crawl.get("/history.json"))
        lengths = {len(v) for v in history.values() if isinstance(v, list)}
        report.equal("curves are of one length", len(lengths), 1)
        mean = [v for v in history["pages_s"] if v is not None]
        report.check("pages a second are those of the crawl", mean and
                     0.3 * later["pages_s_avg"] < sum(mean) / len(mean) < 3 * later["pages_s_avg"], (mean, later["pages_s_avg"]))
        hosts = json.loads(crawl.get("/hosts.json?order=pages&rows=7"))
        report.equal("as many hosts as asked for", len(hosts["hosts"]), 7)
        report.equal("of all", hosts["counts"]["hosts"], 40)
        pages = [h["pages"] for h in hosts["hosts"]]
        report.equal("in order", pages, sorted(pages, reverse=True))
        found = json.loads(crawl.get("/hosts.json?filter=H00007"))["hosts"]
        report.equal("found by a part of the name", [h["origin"] for h in found], ["http://h00007.web.test"])
        report.equal("or none", json.loads(crawl.get("/hosts.json?filter=%3Cb%3E"))["hosts"], [])
        url = urllib.parse.quote("http://h00000.web.test/", safe="")
        report.equal("why, for programs", json.loads(crawl.get("/why.json?url=" + url))["state"], "fetched")
        report.check("why, in sentences", "How it was found" in crawl.get("/why.txt?url=" + url))
        report.check("why: all logs were read", "Only the ends" not in crawl.get("/why.txt?url=" + url))
        for query in ("/hosts.json?order=nosuch", "/hosts.json?rows=0", "/hosts.json?rows=x", "/hosts.json?rows=99999",
                      "/why.txt", "/why.txt?url=", "/why.json?url=mailto:x"):
            code, _, text = crawl.ask(query)
            report.check(f"{query}: a sentence", code == 400 and len(text) > 20, (code, text))
        report.equal("what is not there", crawl.ask("/nosuch")[0], 404)
        report.equal("twenty times at once", twenty(crawl), [200] * 20)


def twenty(crawl):
    """Connections that are all open before the first is answered."""
    connections = [crawl.connection() for _ in range(20)]
    for i, c in enumerate(connections):
        c.request("GET", ("/status.json", "/hosts.json", "/history.json", "/metrics")[i % 4])
    codes = []
    for c in connections:
        answer = c.getresponse()
        answer.read()
        codes.append(answer.status)
        c.close()
    return codes


def to_whom(report, path):
    with harness.Web(path, pages=50000, hosts=20, addresses=20) as web, \
            Crawl(path, web, "--set", "control.web_hosts=crawl.example.org, other.example") as crawl:
        good = (f"127.0.0.1:{crawl.port}", f"localhost:{crawl.port}", "LOCALHOST", "127.8.9.1", "[::1]:9", "[::1]",
                "crawl.example.org", "Other.Example:443")
        bad = ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
               "[::2]", "crawl.example.org.evil", "localhost:80x", "", "[", "example.org")
        for host in good:
            report.equal(f"Host {host}", crawl.ask("/status.json", Host=host)[0], 200)
        for host in bad:
            report.equal(f"Host '{host}' is refused", crawl.ask("/metrics", Host=host)[0], 403)
        me = f"127.0.0.1:{crawl.port}"
        report.equal("its own origin", crawl.ask("/status.json", Origin="http://" + me)[0], 200)
        for origin in ("http://evil.example", "null", f"http://localhost:{crawl.port}", "http://127.0.0.1:1", f"file://{me}"):
            report.equal(f"Origin {origin} is refused", crawl.ask("/status.json", Origin=origin)[0], 403)
        report.equal("another site's script", crawl.ask("/status.json", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0], 403)
        report.equal("another site's link", crawl.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0], 200)
        _, headers, _ = crawl.ask("/")
        report.check("nothing from elsewhere is allowed", "default-src 'none'" in headers["Content-Security-Policy"] and
                     "http" not in headers["Content-Security-Policy"], headers["Content-Security-Policy"])
        for method in ("PUT", "DELETE", "OPTIONS", "POST"):
            report.equal(f"{method} is not known", crawl.ask("/", method)[0], 405)
        report.equal("it is read-only", crawl.ask("/control", "POST", "pause")[0], 403)
        report.check("and has no token", not os.path.exists(crawl.directory + "/web.token"))
        raw = socket.create_connection(("127.0.0.1", crawl.port))
        raw.sendall(b"GET / HTTP/1.0\r\n\r\n")
        report.check("no Host at all", b" 403 " in raw.recv(4096).split(b"\r\n")[0])
        raw.close()
        raw = socket.create_connection(("127.0.0.1", crawl.port))
        raw.sendall(b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        try:
            answer = raw.recv(4096)
        except ConnectionError:
            pass
        raw.close()
        report.check("a request line without end", answer == b"" or b" 4" in answer[:20] or b" 5" in answer[:20], answer[:80])
        idle = [socket.create_connection(("127.0.0.1", crawl.port)) for _ in range(40)]
        report.equal("others are silent, and it answers", crawl.ask("/status.json")[0], 200)
        for s in idle:
            s.close()


def who_may_change_what(report, path):
    with harness.Web(path, pages=50000, hosts=20, addresses=20) as web, \
            Crawl(path, web, "--set", "control.web_write=yes") as crawl:
        file = crawl.directory + "/web.token"
        report.equal("the token's file is its owner's", stat.S_IMODE(os.stat(file).st_mode), 0o600)
        with open(file) as f:
            token = f.read().strip()
        report.check("it has 256 bits", re.fullmatch("[0-9a-f]{64}", token), token)
        bearer = "Bearer " + token

        def state():
            return json.loads(crawl.get("/status.json"))["state"]

        for wrong in (None, "", "Bearer", "Bearer ", "Bearer x", bearer + "0", bearer[:-1], "Basic " + token, bearer.replace(token[-1], "x")):
            headers = {} if wrong is None else {"Authorization": wrong}
            report.equal(f"authorization {str(wrong)[:14]}", crawl.ask("/control", "POST", "pause", **headers)[0], 401)
        report.equal("nothing was changed", state(), "running")
        code = crawl.ask("/control", "POST", "pause", Authorization=bearer, Origin="http://evil.example")[0]
        report.equal("a script of another site, even with the token", code, 403)
        begun = time.monotonic()
        report.equal("pause", crawl.ask("/control", "POST", "pause", Authorization=bearer)[0], 200)
        report.equal("it is paused", state(), "paused")
        report.check("within a second", time.monotonic() - begun < 1)
        report.equal("resume", crawl.ask("/control", "POST", "resume\n", Authorization=bearer,
                                         Origin=f"http://127.0.0.1:{crawl.port}")[0], 200)
        report.equal("it goes on", state(), "running")
        report.check("both are in the log", 'words="pause" status=200' in crawl.log() and "component=" not in crawl.log())
        crawl.fetched(200)
        harness.until(lambda: json.loads(crawl.get("/hosts.json?filter=h00003"))["hosts"])
        report.equal("deny a host", crawl.ask("/control", "POST", "deny h00003.web.test", Authorization=bearer)[0], 200)
        report.equal("it is denied", harness.until(
            lambda: json.loads(crawl.get("/hosts.json?filter=h00003"))["hosts"][0]["kind"] == "denied"), True)
        report.equal("allow it", crawl.ask("/control", "POST", "allow h00003.web.test", Authorization=bearer)[0], 200)
        report.equal("it is allowed", harness.until(
            lambda: json.loads(crawl.get("/hosts.json?filter=h00003"))["hosts"][0]["kind"] != "denied"), True)
        for words in ("set fetch.allow_addresses 0.0.0.0/0", "checkpoint /tmp/x", "status follow", "nosuch"):
            code, _, text = crawl.ask("/control", "POST", words, Authorization=bearer)
            report.check(f"'{words}' is not for the page", code == 403 and "pause" in text, (code, text))
        for words in ("", "\n", 'pause "', "pause a b c", "pause\nresume"):
            code, _, text = crawl.ask("/control", "POST", words, Authorization=bearer)
            report.check(f"{words!r} gets a sentence", code in (400, 409) and len(text) > 10, (code, text))
        report.equal("too long", crawl.ask("/control", "POST", "seed " + "x" * 100000, Authorization=bearer)[0], 413)
        report.equal("stop", crawl.ask("/control", "POST", "stop", Authorization=bearer)[0], 200)
        report.equal("it has stopped", crawl.process.wait(harness.PATIENCE_S), 11)


def where_it_listens(report, path):
    with harness.Web(path, pages=50000, hosts=20, addresses=20) as web:
        name = path + "/page.sock"
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(name)  # as a killed crawl leaves it
        stale.close()
        with Crawl(path, web, listen="unix:" + name, name="u") as crawl:
            connection = UnixConnection(name)
            connection.request("GET", "/status.json")
            report.equal("a Unix socket", json.loads(connection.getresponse().read())["state"], "running")
            report.equal("of its user and group", stat.S_IMODE(os.stat(name).st_mode), 0o660)
        report.check("is gone after the crawl", not os.path.exists(name))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with Crawl(path, web, listen=f"127.0.0.1:{taken.getsockname()[1]}", name="t") as crawl:
                report.check("a port that is taken: the log says so", harness.until(
                    lambda: "no status page" in crawl.log() and "Address already in use" in crawl.log()), crawl.log())
                report.check("and it crawls", harness.until(lambda: os.path.exists(crawl.directory + "/status.json")) and
                             crawl.process.poll() is None)
        with Crawl(path, web, listen="", name="off") as crawl:
            report.check("off by default", "status page" not in crawl.log())
        token = path + "/token"
        with open(token, "w") as file:
            file.write("s" * 20 + "\n")
        os.chmod(token, 0o644)
        with Crawl(path, web, "--set", "control.web_write=yes", "--set", f"control.token_file={token}", name="m") as crawl:
            report.check("a token that others can read opens no page", "chmod 600" in crawl.log(), crawl.log())
        for value, word in (("0.0.0.0:80", "ssh -L"), ("192.168.1.1:80", "can be reached"), ("127.0.0.1", "is no address"),
                            ("127.0.0.1:99999", "is no address"), ("localhost:http", "is no address"), ("unix:", "1 to"),
                            ("[::1:80", "is no address"), ("unix:" + "x" * 200, "1 to")):
            result = run([RAGNO, "crawl", "--test-config", "--contact", "http://x.example/", "--set", f"control.listen={value}"])
            report.check(f"control.listen={value[:20]} is refused", result.returncode == 2 and word in result.stderr and
                         "control.listen" in result.stderr, result.stderr)
        result = run([RAGNO, "crawl", "--test-config", "--contact", "http://x.example/", "--set", "control.web_write=yes"])
        report.check("writing without a page", result.returncode == 2 and "control.listen" in result.stderr, result.stderr)


def look(crawl, *arguments, fragment="", budget=4000):
    """What Chromium makes of the page: its document, and what its console says."""
    profile = os.path.join(crawl.directory, "..", "chromium")
    result = run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                  f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0", f"--virtual-time-budget={budget}",
                  *arguments, f"http://127.0.0.1:{crawl.port}/{fragment}"], timeout=120)
    return result.stdout, [line for line in result.stderr.splitlines() if "CONSOLE" in line]


def how_it_looks(report, path):
    for name in sorted(os.listdir(FILES)):
        with open(f"{FILES}/{name}") as file:
            text = file.read().replace("http://www.w3.org/2000/svg", "")
        report.check(f"{name} asks for nothing from elsewhere", not re.search(r"""(src|href|url\(|@import|fetch\(|ask\()["'(= ]*(https?:)?//""", text) and
                     "innerHTML" not in text and "eval(" not in text)
    if shutil.which("chromium") is None:
        report.skip("in Chromium", "it is not installed")
        return
    with harness.Web(path, pages=50000, hosts=40, addresses=40) as web, \
            Crawl(path, web, "--set", "control.web_write=yes", "--set", "log.status_interval=2s") as crawl:
        crawl.fetched(100)
        harness.until(lambda: sum(n is not None for n in json.loads(crawl.get("/history.json"))["pages_s"]) >= 3)
        page, console = look(crawl, "--dump-dom", "--window-size=1280,1000", fragment="#why=http://h00000.web.test/&host=h0000")
        report.equal("its scripts run without a complaint", console, [])
        report.check("the state", re.search(r'class="badge running">running<', page), page[:3000])
        pages = re.search(r"<dt>Pages</dt><dd><span>([\d,]+)</span>", page)
        report.check("figures", pages and int(pages[1].replace(",", "")) >= 100, page[:3000])
        report.check("what limits it", re.search(r"What limits it: [a-z]+", page))
        report.check("how far apart their values are, whatever the places", "one value for each 2 s" in page, re.search("one value[^<]*", page))
        report.check("graphs with lines", len(re.findall(r'<path class="line s\d" d="M[^"]*L', page)) >= 6, page[3000:9000])
        report.equal("hosts that match", len(re.findall(r'<td class="host">', page)), 10)
        report.check("why", "How it was found" in page and "a seed" in page)
        report.check("buttons", 'id="steer">' in page and ">deny</button>" in page)
        plain = crawl.get("/" + re.search(r'<noscript><meta http-equiv="refresh" content="0; url=([^"]+)', crawl.get("/"))[1])
        pages = re.search(r"Pages<td>(\d+)\n", plain)
        report.check("the same figures as a table without JavaScript", pages and int(pages[1]) >= 100, plain)
        picture = os.path.join(path, "page.png")
        for name, options in (("phone", ["--window-size=390,2600"]), ("light", ["--window-size=1280,1900"]),
                              ("dark", ["--window-size=1280,1900", "--blink-settings=preferredColorScheme=0"])):
            if name == "phone" or os.environ.get("PICTURES"):
                _, console = look(crawl, f"--screenshot={picture}", "--hide-scrollbars", *options)
                report.check(f"a picture, {name}", os.path.getsize(picture) > 20000 and console == [], console)
            if os.environ.get("PICTURES"):
                shutil.copy(picture, os.path.join(os.environ["PICTURES"], f"page-{name}.png"))


def its_end(report, path):
    """The crawl ends while it is asked."""
    with harness.Web(path, pages=50000, hosts=20, addresses=20) as web, Crawl(path, web) as crawl:
        crawl.fetched(10)
        connections = [crawl.connection() for _ in range(30)]
        for i, c in enumerate(connections):
            c.request("GET", ("/hosts.json?filter=%d" % i, "/status.json", "/why.txt?url=http://h00000.web.test/")[i % 3])
        crawl.process.terminate()
        codes = []
        for c in connections:
            try:
                codes.append(c.getresponse().status)
            except (OSError, http.client.HTTPException):
                codes.append(0)  # it had ended
            c.close()
        report.equal("it ends as it should", crawl.process.wait(harness.PATIENCE_S), 11)
        report.check("whoever was answered got an answer", set(codes) <= {0, 200, 503}, codes)


def silent_clients(report, path):
    """More connections that ask for nothing than there are places: whoever asks is answered all the same."""
    with harness.Web(path, hosts=2, pages=2000) as web, Crawl(path, web) as crawl:
        idle = [socket.create_connection(("127.0.0.1", crawl.port)) for _ in range(113)]
        half = [s.sendall(b"GET /metrics HTTP/1.1\r\nHost:") for s in idle[::2]]
        start = time.monotonic()
        status, _, text = crawl.ask("/metrics")
        report.check(f"113 silent connections do not block /metrics ({len(half)} half-open)", status == 200 and
                     "ragno_" in text and time.monotonic() - start < 20, f"{status} {time.monotonic() - start:.1f} s")
        for each in idle:
            each.close()


def paused_at_once(report, path):
    """With a status every ten minutes, a pause is told at once."""
    with harness.Web(path, hosts=2, pages=2000) as web, \
            Crawl(path, web, "--set", "log.status_interval=10m") as crawl:
        harness.run([RAGNO, "ctl", crawl.directory, "pause"])

        def said():
            with open(crawl.directory + "/status.json", encoding="utf-8") as file:
                return '"paused"' in file.read()
        report.check("a pause is in status.json at once", harness.until(said, 20))


if __name__ == "__main__":
    harness.main(silent_clients, paused_at_once, what_it_tells, to_whom, who_may_change_what, where_it_listens, how_it_looks, its_end)
