"""Nothing that hostile sites send starves the others, or takes more memory than crawl.memory and a fifth.

Good hosts of tests/web are crawled beside bombs: pages with links to tens of thousands of host names that do not
exist, of links, of sitemaps, of compressed zeros, of noise, rules of robots.txt without number, and hosts that drip.
How many pages of good hosts the server sends in each window is compared with what it sends when they are alone; the
residence of the crawl is sampled from outside. With FULL=1 there are 200 good hosts, 25 bombs of each kind and 10 000
hosts that drip, wherever the good ones stand among the seeds."""
import collections
import gzip
import http.server
import os
import random
import threading
import time

import harness
import memory
import running
import shares

GOOD = 200 if harness.FULL else 100
BOMBS = 25 if harness.FULL else 5
NAMES = 45000 if harness.FULL else 15000
DRIPS = 10000 if harness.FULL else 3000
MEMORY = 192 if harness.FULL else 64
WINDOW = 10 if harness.FULL else 4  # seconds
START = 0.9 if harness.FULL else 0.8  # of the first window, in which everybody is asked for robots.txt
FIRST = 0.4  # of the first window beside them, in which all of them come at once
LEAST_ALONE = 0.8  # of what the delay of a host allows
BESIDE = 0.9 if harness.FULL else 0.5  # of each later window, beside bombs of other kinds than names
PLACES = ("first", "between", "last")
DOMAIN = "bombs.test"


class Bombs(http.server.BaseHTTPRequestHandler):
    """KIND-N.bombs.test"""
    protocol_version = "HTTP/1.1"
    noise = random.Random(1).randbytes((2 << 20) - 100)
    rules = b"User-agent: *\n" + b"".join(b"Disallow: /*a*b%d*c$\n" % i for i in range(25000))
    zeros = None  # memory_of() makes it: it costs a second

    def log_message(self, *_):
        pass

    def body_of(self, kind, name):
        """(body, coding); of a path that is none of these the same as of the root."""
        if self.path == "/robots.txt":
            lists = b"".join(b"Sitemap: http://%s/map%d.xml\n" % (self.headers["Host"].encode(), i) for i in range(20))
            return {"rules": self.rules, "sitemaps": lists}.get(kind, b""), None
        if kind == "names":  # of every other page they are of one registered domain
            number = int(name.rpartition(b"-")[2])
            of = b"of-%d.test" % number if number % 2 else b"test"
            return b"".join(b"<a href=http://%x-%d.%s/>x</a>" % (i, number, of) for i in range(NAMES)), None
        if kind == "links":
            return memory.links_of(name), None
        if kind == "sitemaps" and self.path.startswith("/map"):
            host, path = self.headers["Host"].encode(), self.path.encode()
            return (b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" +
                    b"<url><loc>http://%s%s/" % (host, path) +
                    (b"</loc></url><url><loc>http://%s%s/" % (host, path)).join(memory.NUMBERS[:50000]) +
                    b"</loc></url></urlset>"), None
        if kind == "zeros":
            return self.zeros, "gzip"
        return (b"a page" if kind in ("rules", "sitemaps") else self.noise), None

    def do_GET(self):
        name = self.headers["Host"].split(".")[0].encode()
        kind = name.split(b"-")[0].decode()
        if self.path == "/" or kind in ("rules", "zeros", "noise") or self.path == "/robots.txt":
            body, coding = self.body_of(kind, name)
        elif kind == "sitemaps" and self.path.startswith("/map"):
            body, coding = self.body_of(kind, name)
        else:
            body, coding = b"a page of " + name, None
        try:
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/xml" if self.path.startswith("/map") else "text/html")
            if coding:
                self.send_header("Content-Encoding", coding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            pass  # cut at the limit of the body


def bombs_of(kinds):
    return [f"{kind}-{i}" for kind in kinds for i in range(BOMBS)]


def crowded(path, place, kinds, n_drips, seconds, *options):
    """Crawls good hosts, each asked every 500 ms, beside bombs of these kinds and hosts that drip. Returns how many
    good pages the server sent in each window, the most that was resident in MiB, and the lines of status.log."""
    os.mkdir(path)
    server = harness.HttpServer(("0.0.0.0", 0), Bombs)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bad = [f"{name}.{DOMAIN}" for name in bombs_of(kinds)]
    with open(path + "/zone", "w", encoding="ascii") as zone:
        zone.writelines(f"{name}=127.91.{i // 200}.{i % 200 + 1}\n" for i, name in enumerate(bad))
    port = server.server_address[1]
    bad = [f"{name}:{port}" for name in bad] + [f"slow-drip-{i}.web.test" for i in range(n_drips)]
    with harness.Web(path, hosts=GOOD, zone=path + "/zone", unknown_ms=200) as web:
        seeds = path + "/all-seeds.txt"
        with open(seeds, "w", encoding="ascii") as file:
            file.writelines(f"http://{name}/\n" for name in shares.seed_order(place, list(web.hosts()), bad))
        most, ended, start = [0], threading.Event(), time.monotonic()

        def sample(pid):
            while not ended.wait(0.1):
                most[0] = max(most[0], memory.resident_kb(pid)[0])

        with running.Crawl(web, path + "/crawl", "--no-warc", *(word for option in (
                "crawl.grace=0s", "log.status_interval=500ms", "limits.hosts_per_domain=0", "scope.sitemaps=yes",
                *options) for word in ("--set", option)), seeds=seeds, wait="500ms") as crawl:
            sampler = threading.Thread(target=sample, args=(crawl.process,))
            sampler.start()
            harness.until(lambda: crawl.process.poll() is not None or time.monotonic() > start + seconds, seconds + 60)
            ended.set()
            sampler.join()
        requests = web.requests()
    server.shutdown()
    first = min(r.start for r in requests)
    counts = collections.Counter(int((r.start - first) / 1e6 / WINDOW) for r in requests
                                 if shares.is_good(r) and "R" not in r.flags)
    return [counts[i] for i in range(int(seconds / WINDOW))], most[0] / 1024, shares.read_status(path + "/crawl")


def alone(report, path, seconds=4 * WINDOW):
    """What good hosts get when no bomb is beside them: the least of its windows but the first. The other tests here
    do the same then: most of what the delay of a host allows is what it must be, or it would be no measure."""
    got = min(crowded(path + "/alone", "first", (), 0, seconds, f"crawl.memory={MEMORY}Mi")[0][1:-1])
    most = GOOD * WINDOW / 0.5
    report.check(f"good hosts alone: {got} pages in {WINDOW} s, of {most:.0f} that their delay allows",
                 harness.SANITIZED or got >= LEAST_ALONE * most)
    return got


@harness.alone  # it compares rates
def bombs_of_names(report, path):
    """Pages with links to names that do not exist."""
    wanted = alone(report, path)
    for place in PLACES if harness.FULL else PLACES[:1]:
        got, most, status = crowded(f"{path}/{place}", place, ("names",), 0, 6 * WINDOW,
                                    f"crawl.memory={MEMORY}Mi")
        report.check(f"good hosts named {place} beside bombs of names: {got} pages in {WINDOW} s each, {wanted} alone", min(got[1:-1]) > 0.9 * wanted,
                     str(status[-1:]))
        report.check(f"and {most:.0f} Mi are resident, of {MEMORY} Mi and a fifth", most < MEMORY * memory.SLACK)


@harness.alone  # it compares rates
def hosts_that_drip(report, path):
    """Hosts that send robots.txt at once, and then a byte at a time. Good hosts that are named first are proven
    first, and lose nothing; others wait until those before them have shown what they are."""
    wanted = alone(report, path)
    known_s = DRIPS / 300  # 128 connections, a third of a second each
    for place in PLACES if harness.FULL else ("first", "last"):
        since = 0 if place == "first" else int(known_s / WINDOW) + 2
        got, _, status = crowded(f"{path}/{place}", place, (), DRIPS, (since + 4) * WINDOW)
        report.check(f"good hosts named {place} beside {DRIPS} that drip: {got} pages in {WINDOW} s each, "
                     f"{wanted} alone, counted from window {since} on", min(got[since:-1]) > (0.9 if since else START) * wanted,
                     str(status[-1:]))


KINDS = ("names", "links", "sitemaps", "zeros", "noise", "rules")
BUDGETS = (64, 192) if harness.FULL else (64,)


@harness.alone  # it compares rates
def memory_of_links(report, path):
    memory_of(report, path, [(budget, (kind,), 0) for budget in BUDGETS for kind in KINDS[:3]])


@harness.alone  # it compares rates
def memory_of_bodies(report, path):
    memory_of(report, path, [*((budget, (kind,), 0) for budget in BUDGETS for kind in KINDS[3:]),
                             (192, KINDS, DRIPS if harness.FULL else 500)])


def memory_of(report, path, cases):
    """Each kind of bomb alone, and all together: the crawl keeps to its budget and a fifth, by samples from outside."""
    seconds = 6 * WINDOW if harness.FULL else 2 * WINDOW
    Bombs.zeros = gzip.compress(b"<a href=x>" * (20 << 20 if harness.FULL else 5 << 19), 1)
    wanted = alone(report, path)
    for budget, kinds, n_drips in cases:
        name = kinds[0] if len(kinds) == 1 else "all"
        place = "first" if n_drips > 0 else "between"  # what drips cost who is named behind is told above
        got, most, status = crowded(f"{path}/{name}{budget}", place, kinds, n_drips, seconds,
                                    f"crawl.memory={budget}Mi")
        if harness.SANITIZED:
            report.skip(f"residence beside bombs of {name}", memory.SHADOW)
            continue
        report.check(f"bombs of {name}: {most:.1f} Mi resident, of {budget} Mi and a fifth",
                     0 < most <= budget * memory.SLACK, str(status[-1:]))
        bar = BESIDE if budget == MEMORY or name == "all" else 0
        report.check(f"and good pages came beside them: {got} in {WINDOW} s each, {wanted} alone",
                     min(got[1:-1] or got[1:]) > bar * wanted and got[0] > FIRST * wanted, str(status[-1:]))


if __name__ == "__main__":
    harness.main(bombs_of_names, hosts_that_drip, memory_of_links, memory_of_bodies)
