"""The synthetic web, seen by a naive crawler written here: the closed world is what --graph says,
robots.txt is answered, names resolve, and misbehaving hosts misbehave."""
import collections
import http.client
import re
import socket
import ssl
import struct
import urllib.parse
import zlib

import harness

HREF = re.compile(rb'href="([^"]*)"')


def get(connection, host, path):
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def naive_crawl(web, seed, hosts):
    """All URLs that answer 200 and are allowed, by following every link and redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", web.http, timeout=10)
    seen, todo, good, titles, targets = {seed}, [seed], set(), {}, []
    while todo:
        url = todo.pop()
        parts = urllib.parse.urlsplit(url)
        path = parts.path + ("?" + parts.query if parts.query else "")
        if hosts[parts.netloc][1] and path.startswith("/private/"):
            continue
        status, headers, body = get(connection, parts.netloc, path)
        links = [urllib.parse.urljoin(url, link.decode()) for link in HREF.findall(body)]
        if status in (301, 302):
            links = [headers["Location"]]
        elif status == 200:
            good.add(url)
            targets += links
            titles[body[body.index(b"<title>"):body.index(b"</title>")]] = url
        for link in links:
            if link not in seen:
                seen.add(link)
                todo.append(link)
    return good, titles, targets


def closed_world(report, path):
    with harness.Web(path, pages=1500, hosts=70, addresses=20, not_found=0.02) as web:
        expected, hosts = web.graph_urls(), web.hosts()
        seed = open(web.seeds).read().strip()
        good, titles, targets = naive_crawl(web, seed, hosts)
        report.same_set("the closed world is reachable and nothing else is", good, expected)
        report.equal("every page has a title of its own", len(titles), len(expected))
        in_degree = sorted(collections.Counter(targets).values(), reverse=True)
        report.check("in-degrees are unequal", in_degree[0] > 20 * in_degree[len(in_degree) // 2],
                     f"greatest {in_degree[0]}, median {in_degree[len(in_degree) // 2]}")
        report.check("some hosts forbid /private/, some do not",
                     {True, False} <= {h[1] for h in hosts.values()})
        report.check("some links lead to forbidden pages",
                     any("/private/f" in url for url in targets))
        rules(report, web, hosts)
    flags = [r.flags for r in web.requests()]
    report.check("the log has every request", len(flags) > len(expected), str(len(flags)))


def open_world(report, path):
    """BUbiNG's figures for these parameters: about 17 kB and 17 links a page, 3 % missing."""
    bodies, sizes, links, missing = [], [], [], 0
    for seed in (5, 5, 6):
        with harness.Web(path, hosts=1000, seed=seed) as web:
            connection = http.client.HTTPConnection("127.0.0.1", web.http, timeout=10)
            bodies.append(get(connection, "h00003.web.test", "/")[2])
            todo, seen = [f"http://h{i:05d}.web.test/" for i in range(100)], set()
            while todo and seed == 6 and len(seen) < 3000:
                url = todo.pop(0)
                parts = urllib.parse.urlsplit(url)
                if url in seen:
                    continue
                seen.add(url)
                status, _, body = get(connection, parts.netloc, parts.path)
                found = {urllib.parse.urljoin(url, x.decode()) for x in HREF.findall(body)}
                missing += status == 404
                if status == 200:
                    sizes.append(len(body))
                    links.append(len(found))
                    todo += sorted(found)
    report.check("the same seed is the same web", bodies[0] == bodies[1] and bodies[0])
    report.check("another seed is another web", bodies[1] != bodies[2])
    size, degree = sum(sizes) / len(sizes), sum(links) / len(links)
    share = missing / (missing + len(sizes))
    report.check(f"open world: {size / 1000:.1f} kB, {degree:.1f} links per page, {share:.1%} missing",
                 14e3 < size < 22e3 and 8 < degree < 60 and 0.001 < share < 0.1)


def rules(report, web, hosts):
    connection = http.client.HTTPConnection("127.0.0.1", web.http, timeout=10)
    wrong = []
    for host, (_, forbids, _) in hosts.items():
        status, _, body = get(connection, host, "/robots.txt")
        has_rule = status == 200 and re.search(rb"(?i)disallow:\s*/pri", body) is not None
        if has_rule != forbids:
            wrong.append(host)
    report.check("robots.txt says what the hosts file says", not wrong, str(wrong[:5]))


def ask(port, name, kind=1, timeout=3.0):
    """(response code, records of the answer section) over UDP; None when there is no answer."""
    question = b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"
    query = struct.pack(">HHHHHH", 99, 0x100, 1, 0, 0, 0) + question + struct.pack(">HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.sendto(query, ("127.0.0.1", port))
        try:
            answer = s.recv(4096)
        except TimeoutError:
            return None
    return answer[3] & 15, answer[7], answer[-4:]


def names(report, path):
    zone = path + "/zone"
    with open(zone, "w") as file:
        file.write("# others\ndocs.example=127.3.2.1\n")
    with harness.Web(path, hosts=10, zone=zone) as web:
        address = socket.inet_aton(web.hosts()["h00003.web.test"][0])
        report.equal("a host has its address", ask(web.dns, "h00003.web.test"), (0, 1, address))
        report.equal("case does not matter", ask(web.dns, "H00003.Web.TEST"), (0, 1, address))
        report.equal("no AAAA", ask(web.dns, "h00003.web.test", 28)[:2], (0, 0))
        report.equal("no such host", ask(web.dns, "h00010.web.test")[:2], (3, 0))
        report.equal("one spelling only", ask(web.dns, "h3.web.test")[:2], (3, 0))
        report.equal("the zone file", ask(web.dns, "docs.example"),
                     (0, 1, socket.inet_aton("127.3.2.1")))
        report.equal("SERVFAIL", ask(web.dns, "dns-servfail.web.test")[:2], (2, 0))
        report.equal("silence", ask(web.dns, "dns-silent.web.test", timeout=0.3), None)
        report.equal("a chain of names", ask(web.dns, "dns-chain.web.test")[:2], (0, 9))


def raw(web, host, seconds=1.0, most=1 << 20):
    """What a host sends for / within some time, and how it ended."""
    with socket.create_connection(("127.0.0.1", web.http)) as s:
        s.settimeout(seconds)
        s.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        data = b""
        try:
            while len(data) < most:
                piece = s.recv(65536)
                if not piece:
                    return data, "closed"
                data += piece
        except TimeoutError:
            return data, "waits"
        except ConnectionResetError:
            return data, "reset"
    return data, "more"


def misbehaviour(report, path):
    expected = {"slow-first": "waits", "endless-body": "more", "endless-header": "more",
                "reset-at-once": "reset", "close-at-once": "closed", "truncated": "closed",
                "hang": "waits", "http09": "closed", "slow-drip": "waits"}
    with harness.Web(path, hosts=10) as web:
        for name, end in expected.items():
            data, found = raw(web, name + ".web.test", 0.3)
            report.equal(f"{name} is as bad as it says", found, end)
        packed, _ = raw(web, "gzip-bomb.web.test", 0.5, 4 << 20)
        packed = packed[packed.index(b"\r\n\r\n") + 4:]
        size = len(zlib.decompressobj(31).decompress(packed, 200 << 20))
        report.check("gzip-bomb unpacks to a hundred times its size", size > 100 * len(packed),
                     f"{len(packed)} bytes to {size}")
        table = harness.run([f"{harness.OUT}/web", "--catalogue"]).stdout.splitlines()
        silent = []
        for row in table:
            host = row.split("\t")[0]
            if not host.startswith(("dns-", "robots-")):
                raw(web, host.replace(".", "-17.", 1), 0.05)
            if web.process.poll() is not None:
                silent.append(host)
                break
        report.check(f"the server survives all {len(table)} rows of its own table", not silent,
                     str(silent))
        pipelined = b"".join(b"GET /robots.txt HTTP/1.1\r\nHost: h%05d.web.test\r\n\r\n" % i
                             for i in range(10))
        with socket.create_connection(("127.0.0.1", web.http)) as s:
            s.settimeout(1)
            s.sendall(pipelined)
            s.shutdown(socket.SHUT_WR)
            data = b""
            while piece := s.recv(65536):
                data += piece
        report.equal("pipelined requests are answered one by one", data.count(b"HTTP/1.1 "), 10)


def tls(report, path):
    certificate = path + "/ca.pem"
    for close in (False, True):
        options = {"close": True} if close else {}
        with harness.Web(path, pages=100, hosts=5, tls=True, tls_ca=certificate, **options) as web:
            urls = web.graph_urls()
            report.check("links of a web with TLS are https",
                         all(url.startswith("https://") for url in urls), str(sorted(urls)[:2]))
            context = ssl.create_default_context(cafile=certificate)
            session = None
            found = []
            for _ in range(2):
                plain = socket.create_connection(("127.16.1.1", web.https), 10)
                with context.wrap_socket(plain, server_hostname="h00000.web.test",
                                         session=session) as s:
                    s.sendall(b"GET / HTTP/1.1\r\nHost: h00000.web.test\r\n\r\n")
                    data = b""
                    while not data.endswith(b"</html>\n"):
                        data += s.recv(65536)
                    closed = close and s.recv(65536) == b""
                    session = s.session
                    found.append((s.version(), s.session_reused, closed))
        report.equal("TLS 1.3, a certificate that can be verified, sessions resumed, " +
                     ("closed after each answer" if close else "kept"), found,
                     [("TLSv1.3", False, close), ("TLSv1.3", True, close)])


def deserted(report, path):
    """Clients that ask over TLS and go before the answer is written, which is longer than a record."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with harness.Web(path, pages=10, hosts=1, tls=True, page_bytes=400000) as web:
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", web.https), timeout=30) as plain:
                with context.wrap_socket(plain) as stream:
                    stream.sendall(b"GET / HTTP/1.1\r\nHost: h00000.web.test\r\n\r\n")
        connection = http.client.HTTPSConnection("127.0.0.1", web.https, timeout=30, context=context)
        report.equal("the web goes on", get(connection, "h00000.web.test", "/")[0], 200)


if __name__ == "__main__":
    harness.main(closed_world, open_world, names, misbehaviour, tls, deserted)
