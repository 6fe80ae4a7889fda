"""A few hand-written hosts for tests that need to know every byte: a table of answers, served on all
of 127.0.0.0/8, with names from the synthetic web's DNS responder. What has an ETag is answered with
304 when the request names it.

    with Sites(path, {"http://a.test/": page("/x"), "http://a.test/x": (200, {}, "text")}) as sites:
        result = sites.crawl(path + "/crawl", "http://a.test/")
        sites.requests  # (host, address, path, start, end), monotonic seconds
"""
import collections
import http.server
import threading
import time

import harness

Seen = collections.namedtuple("Seen", "host address path start end")


def page(*links, text=""):
    """An HTML answer with these links."""
    anchors = "".join(f'<p><a href="{link}">{i}</a></p>' for i, link in enumerate(links))
    return 200, {"Content-Type": "text/html"}, f"<title>t</title>{text}{anchors}"


def xml(body, **headers):
    return 200, {"Content-Type": "application/xml", **headers}, body


class Sites:
    """answers: URL -> (status, headers, body), or a function of the request's handler that returns
    one; what is not there is 404. addresses: host -> address, by default each host has its own.
    headers: what came with each request, as (host, path, fields)."""

    def __init__(self, path, answers, addresses=None):
        self.path = path
        self.answers = answers
        self.requests = []
        self.headers = []
        lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # header and body in one segment: no wait for a delayed ACK

            def do_GET(self):
                start = time.monotonic()
                host = self.headers.get("Host", "").split(":")[0]
                path = self.path
                if path.startswith("http://"):  # a proxy passed on the absolute form
                    path = "/" + path.split("/", 3)[3]
                answer = outer.answers.get(f"http://{host}{path}", (404, {}, "not found"))
                status, headers, body = answer(self) if callable(answer) else answer
                body = body if isinstance(body, bytes) else body.encode()
                length = len(body)
                if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                    status, body = 304, b""
                end = time.monotonic()
                with lock:
                    outer.headers.append((host, path, dict(self.headers.items())))
                    outer.requests.append(Seen(host, self.connection.getsockname()[0], path,
                                               start, end))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Transfer-Encoding" in headers:  # the last coding is "chunked"
                    body = b"%x\r\n%s\r\n0\r\n\r\n" % (length, body)
                else:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = harness.HttpServer(("0.0.0.0", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        hosts = sorted({url.split("/")[2] for url in answers})
        self.addresses = {h: f"127.77.0.{i + 1}" for i, h in enumerate(hosts)}
        self.addresses.update(addresses or {})
        zone = path + "/zone.txt"
        with open(zone, "w") as file:
            file.writelines(f"{h}={a}\n" for h, a in self.addresses.items())
        self.web = harness.Web(path, hosts=1, addresses=1, pages=1, zone=zone)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.web.stop()

    def command(self, directory, *arguments, wait="0ms", ip_wait="0ms"):
        """Seeds are among the arguments; options as --set pairs or any other."""
        return [f"{harness.OUT}/ragno", "-d", directory, "-w", wait, "--ip-wait", ip_wait,
                "--progress=never", "--set", f"fetch.port_map=80:{self.port}",
                "--set", f"dns.servers=127.0.0.1:{self.web.dns}",
                "--set", "fetch.allow_addresses=127.0.0.0/8", *arguments]

    def crawl(self, directory, *arguments, timeout=harness.BOUND_S, **delays):
        return harness.run(self.command(directory, *arguments, **delays), timeout)

    def crawl_until(self, condition, directory, *arguments, **delays):
        """A crawl that is stopped when condition() holds."""
        return harness.run_until(self.command(directory, *arguments, **delays), condition)

    def asked(self, robots=False):
        """The URLs that were asked for, but for robots.txt."""
        return {f"http://{r.host}{r.path}" for r in self.requests
                if robots or r.path != "/robots.txt"}


def log_lines(directory, name="crawl.log"):
    """The lines of a log as lists of words."""
    with open(f"{directory}/{name}", errors="replace") as file:
        return [line.split() for line in file]
