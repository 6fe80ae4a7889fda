"""One answer from everybody is our own gateway's: a proxy that says 502 for a time, a captive portal. Nothing is lost by
it. And one answer from many hosts that is theirs: a network of hosts that is down, parked domains."""
import http.client
import http.server
import time

import harness
from page_server import PageServer
from outages import allowed, finished, lines_of, lost, started, told

SIZE = dict(hosts=60, pages=900)
QUICK = ["--set", "log.status_interval=200ms", "--set", "fetch.connections=30", "--no-warc"]
SAME = b"<html><title>Sign in</title><a href='/login'>Please sign in to use this network</a></html>"


class Gateway:
    """Stands before a web, or is its proxy. answer(host): (status, headers, body), or None: what the web says."""

    def __init__(self, web):
        self.answer = lambda host: None
        outer = self
        if web is not None:
            harness.servers.clear()  # what it passes on would count twice

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                path = self.path
                if path.startswith("http://"):
                    path = "/" + path.split("/", 3)[3]
                said = outer.answer(self.headers["Host"])
                status, headers, body = said if said else self.passed(path)
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def passed(self, path):
                wanted = ("Content-Type", "Location", "Content-Encoding", "Retry-After")
                connection = http.client.HTTPConnection("127.0.0.1", web.http)
                connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
                connection.putheader("Host", self.headers["Host"])
                connection.endheaders()
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                return answer.status, [(n, v) for n, v in answer.getheaders() if n in wanted], body

        self.server = harness.HttpServer(("0.0.0.0", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        self.thread = harness.serving(self.server)
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def rows(directory):
    """(status, url) of each line of crawl.log about a page."""
    found = [line.split() for line in lines_of(directory, "crawl.log")]
    return [(int(row[1]), row[3]) for row in found if not row[3].endswith("/robots.txt")]


def asked_of(web):
    return {harness.url_of(r) for r in web.requests() if r.status == 200 and "R" not in r.flags}


def gateway_command(web, gateway, directory, *options, by_proxy=False, **more):
    where = ["--set", f"fetch.proxy=http://127.0.0.1:{gateway.port}"] if by_proxy else \
        ["--set", f"fetch.port_map=80:{gateway.port}"]
    return harness.crawl_command(web, directory, *QUICK, *where, *options, wait="100ms", **more)


def through(report, path, name, said, by_proxy=False):
    """A crawl in whose middle the gateway answers for everybody, for some seconds after that was noticed."""
    directory = path + "/crawl"
    with harness.Web(path, **SIZE) as web, Gateway(web) as gateway:
        crawl = started(gateway_command(web, gateway, directory, by_proxy=by_proxy))
        try:
            report.check(f"{name}: the crawl is in its middle", harness.until(
                lambda: finished(directory) > 250 or crawl.poll() is not None) and crawl.poll() is None)
            gateway.answer = lambda host: said
            report.check(f"{name}: it notices", harness.until(lambda: told(directory, "our own network is out"), 30))
            report.check(f"{name}: status names it", harness.until(lambda: "limit=network" in "".join(
                lines_of(directory, "status.log")[-1:]), 30), lines_of(directory, "status.log")[-1:])
            n = finished(directory)
            harness.until(lambda: finished(directory) > n + 3, 20)  # it asks again, now and then
            gateway.answer = lambda host: None
            report.equal(f"{name}: it goes on by itself, and ends", harness.ended(crawl), 0)
        finally:
            harness.end_process(crawl)
            crawl.communicate()
        report.check(f"{name}: it says when the network is back", told(directory, "our own network is back"))
        gone = [line for line in lost(directory).splitlines() if "portal.example" not in line]
        report.equal(f"{name}: no host is lost", gone, [])
        web.stop()  # its log is complete
        report.same_set(f"{name}: no page is lost", allowed(web) - asked_of(web), set())
        forbidden = {u for u in asked_of(web) if u not in allowed(web)}
        report.same_set(f"{name}: no robots.txt is forgotten", forbidden, set())


def bad_gateway(report, path):
    through(report, path, "502", (502, [("Content-Type", "text/html")], b"<h1>Bad gateway</h1>"))


def bad_proxy(report, path):
    through(report, path, "502 of a proxy", (502, [], b""), by_proxy=True)


def portal(report, path):
    through(report, path, "portal", (302, [("Location", "http://portal.example/login?from=1")], b""))


def portal_page(report, path):
    through(report, path, "page of a portal", (200, [("Content-Type", "text/html")], SAME))


def hosts_that_are_down(report, path):
    """A network of hosts that breaks down in the middle of a crawl, for good: theirs. The others lose nothing, and these
    are asked as the retry table says."""
    directory = path + "/crawl"
    with harness.Web(path, **SIZE) as web, Gateway(web) as gateway:
        names = sorted(web.hosts())
        down = set(names[::2])
        crawl = started(gateway_command(web, gateway, directory, "--set",
                                        "politeness.retry=busy 200ms 2, robots-error 200ms 2", "--set",
                                        "politeness.rest_max=300ms", "--set",
                                        "politeness.wall_answers=0"))
        try:
            harness.until(lambda: finished(directory) > 200 or crawl.poll() is not None)
            gateway.answer = lambda host: (503, [], b"down") if host.split(":")[0] in down else None
            report.equal("down: the crawl ends", harness.ended(crawl), 0)
        finally:
            harness.end_process(crawl)
            crawl.communicate()
        web.stop()
        known = {u for u in allowed(web) if u.split("/")[2] not in down}
        found = {row[0] for row in harness.db_rows(directory)}
        report.same_set("down: the others' pages that were found are all there", (known & found) - asked_of(web), set())
        asks = [url for status, url in rows(directory) if status == 503]
        report.check(f"down: they answered {len(asks)} times, each URL as often as the table says", asks and
                     max(map(asks.count, asks)) <= 3, f"{max(map(asks.count, asks)) if asks else 0} times")


def parked(report, path):
    """All hosts that there are have one page, and always had."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=40, pages=400) as web, Gateway(web) as gateway:
        seeds = path + "/all.txt"
        with open(seeds, "w", encoding="utf-8") as file:
            file.writelines(f"http://{name}/\nhttp://{name}/another\n" for name in web.hosts())
        gateway.answer = lambda host: (200, [("Content-Type", "text/html")], SAME)
        result = harness.run(gateway_command(web, gateway, directory, seeds=seeds), 60)
        report.equal("parked: the crawl ends", result.returncode, 0)
        report.check("parked: nobody takes it for an outage", not told(directory, "our own network"))
        each = [url for status, url in rows(directory)]
        report.check(f"parked: each of {len(set(each))} pages was asked for once", len(each) == len(set(each)) > 79,
                     f"{len(each)} requests")


def mirrors(report, path):
    """The last page of eight hosts is the same: for more than a second they say the same, and nothing else is left. A
    page that came before is asked for again, be it the front page, and nobody waits for an hour."""
    hosts, apart = [f"127.0.4.{i}" for i in range(1, 9)], 0.25
    for name, pages in (("fronts", 1), ("pages", 3)):
        def answer(host, page, pages=pages):
            if page == "/robots.txt":
                time.sleep(apart * hosts.index(host))  # then they are asked one after the other
                return 404, {}, b""
            links = "".join(f"<a href=/{i}>{i}</a>" for i in range(pages)) if page == "/" else page
            body = links if page == f"/{pages - 1}" else host + links
            return 200, {"Content-Type": "text/html"}, body.encode()

        with PageServer(answer) as server:
            result = harness.run(
                [f"{harness.OUT}/ragno", "-d", f"{path}/{name}", "-w", f"{int(apart * 8000)}ms", "--ip-wait", "0",
                 "--progress=never", *QUICK, "--set", "fetch.allow_addresses=127.0.0.0/8",
                 *(f"http://{host}:{server.port}/" for host in hosts)], 60)
        report.equal(f"{name}: a crawl of mirrors ends", result.returncode, 0)
        lines = [line.split() for line in lines_of(f"{path}/{name}", "crawl.log")]
        report.equal("each page is there", len({line[3] for line in lines if line[1] == "200"}),
                     len(hosts) * (pages + 1))
        report.check("they were suspected, and cleared by a page that came before",
                     any(line[1] == "-10009" for line in lines) and any("host-check" in line[11] for line in lines))


if __name__ == "__main__":
    harness.main(bad_gateway, bad_proxy, portal, portal_page, hosts_that_are_down, parked, mirrors)
