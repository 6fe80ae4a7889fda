"""Bad hosts cost the others nothing: each kind of tests/web's catalogue that once harmed a crawl, beside
good hosts. What the good hosts get is measured by the server's log and compared with a crawl without
the bad ones; what becomes of the bad hosts is documented in the catalogue and checked here."""
import collections
import gzip
import os
import pty
import re
import subprocess

import harness
from name_server import NameServer


def good_pages(web):
    """Requests for pages of good hosts, and how many seconds lie between the first and the last."""
    found = [r for r in web.requests() if re.match(r"h\d{5}\.", r.host) and "R" not in r.flags
             and r.status < 400]
    times = [r.end for r in found]
    return len(found), (max(times) - min(times)) / 1e6 if times else 0.0


def log_lines(directory):
    with open(os.path.join(directory, "crawl.log"), encoding="latin-1") as file:
        return [line.split(" ") for line in (" ".join(line.split()) for line in file)]


class Beside:
    """A crawl of good hosts alone, then one with bad hosts beside them."""

    def __init__(self, path, hosts=120, pages=3000, **web_options):
        self.path = path
        self.web_options = dict(hosts=hosts, pages=pages, **web_options)

    def crawl(self, name, bad, *arguments, timeout=150, **delays):
        """Returns (result, directory, number of good pages, their seconds, all requests)."""
        path = os.path.join(self.path, name)
        os.mkdir(path)
        seeds = os.path.join(path, "all-seeds.txt")
        with harness.Web(path, **self.web_options) as web:
            with open(seeds, "w") as file, open(web.seeds) as good:
                file.write(good.read())
                file.writelines(f"http://{host}.web.test/\n" for host in bad)
            result = harness.crawl(web, path + "/crawl", "--no-warc", *arguments, seeds=seeds,
                                   timeout=timeout, **delays)
        return result, path + "/crawl", *good_pages(web), web.requests()


def many(name, n):
    return [f"{name}-{i}" for i in range(n)]


def costly_rules(report, path):
    beside = Beside(path)
    _, _, n_alone, alone, _ = beside.crawl("alone", [], wait="100ms")
    result, directory, n, seconds, _ = beside.crawl("costly", many("robots-costly", 8),
                                                    wait="100ms")
    report.check("a crawl with costly robots rules ends", result.returncode == 0,
                 f"{result.returncode} {result.stderr[-300:]}")
    report.equal("good hosts beside costly rules get all their pages", n, n_alone)
    report.check("and in the time they need anyway", seconds < 1.25 * alone + 1,
                 f"{seconds:.1f} s, alone {alone:.1f} s")
    lines = log_lines(directory)
    undecided = [f for f in lines if f[-1].endswith("_(undecided)")]
    report.equal("what costly rules leave undecided is forbidden, and the log says so",
                 collections.Counter(f[1] for f in undecided), {"-9998": 8 * 60})
    with open(directory + "/ragno.log") as file:
        told = [line for line in file if "rules are too expensive" in line]
    report.equal("each such host is named once", len(told), 8)


def stored(directory):
    """Every URL the crawl knows."""
    return [row[0] for row in harness.db_rows(directory)]


def links_that_harm(report, path):
    """Ports where other protocols wait, and other people's passwords."""
    with harness.Web(path, hosts=4, pages=40) as web:
        seeds = path + "/links-seeds.txt"
        with open(seeds, "w") as file:
            file.write("http://bad-ports.web.test/\nhttp://credentials.web.test/\n"
                       "http://me:word@empty-1.web.test/\n"
                       "http://h00001.web.test:22/\nhttp://h00001.web.test:0/\n")
        result = harness.crawl(web, path + "/crawl", "--set", "log.skipped=all", seeds=seeds,
                               wait="0ms", timeout=60)
        report.check("a crawl of links that harm ends by itself", result.returncode == 0,
                     f"{result.returncode} {result.stderr[-500:]}")
        report.check("seeds on bad ports are named", ":4: a port" in result.stderr and
                     ":5: a port" in result.stderr, result.stderr)
        result = harness.crawl(web, path + "/kept", "--set", "scope.seed_credentials=yes",
                               "http://me:word@empty-2.web.test/", "--set", "warc.mask_secrets=no",
                               seeds=os.devnull, wait="0ms", timeout=60)
        masked = harness.crawl(web, path + "/masked", "--set", "scope.seed_credentials=yes",
                               "http://me:word@empty-2.web.test/", "--set", "warc.mask_secrets=yes",
                               seeds=os.devnull, wait="0ms", timeout=60)
        report.check("credentials of seeds can be kept", result.returncode == masked.returncode == 0,
                     result.stderr + masked.stderr)
    urls = stored(path + "/crawl")
    report.equal("no URL has user information", [u for u in urls if "@" in u], [])
    report.equal("no URL has a bad port",
                 [u for u in urls if re.match(r"http://[^/]*:(0|22|25|6379|11211)/", u)], [])
    report.same_set("links with user information are followed without it",
                    {u for u in urls if "/empty." in u},
                    {f"http://empty.web.test/{w}" for w in ("linked", "redirected", "header")})
    with open(path + "/crawl/skipped.log") as file:
        ports = [line.split()[:3] for line in file if " port " in line]
    report.equal("and skipped.log says why", collections.Counter(f[1] for f in ports), {"-10005": 50})
    for name, line in (("kept", b"Authorization: Basic bWU6d29yZA=="),
                       ("masked", b"Authorization: Basic ***")):
        text = b"".join(gzip.open(f"{path}/{name}/warc/{f}").read()
                        for f in os.listdir(f"{path}/{name}/warc") if f.endswith(".gz"))
        report.check(f"the request record shows what was sent: {name}", line in text, text[:2000])


def on_terminal(command):
    """What a terminal would get."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            text += piece
        process.wait(30)
    os.close(ours)
    return text


def odd_headers(report, path):
    """Fields that are stored, shown and sent back."""
    with harness.Web(path, hosts=4, pages=40) as web:
        options = ["--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=500ms",
                   "--set", "schedule.revisit_min=200ms", "--max-pages", "12"]
        seeds = path + "/odd-seeds.txt"
        with open(seeds, "w") as file:
            file.write("http://etag-star.web.test/\nhttp://two-codings.web.test/\n"
                       "http://escape-header.web.test/\n")
        result = harness.crawl(web, path + "/crawl", *options, seeds=seeds, timeout=60)
        report.check("a crawl of odd headers goes on", result.returncode == 14, result.stderr)
    again = [r for r in web.requests() if r.host.startswith("etag-star") and r.path == "/"]
    report.check("an ETag of * and a date that is none are not sent back",
                 len(again) > 1 and not any("C" in r.flags for r in again), str(again[:5]))
    report.check("two lines of Content-Encoding are undone, both",
                 "http://two-codings.web.test/inside.html" in stored(path + "/crawl"))
    command = [f"{harness.OUT}/ragno", "db", path + "/crawl", "get",
               "http://escape-header.web.test/", "--headers"]
    text = on_terminal(command)
    report.check("a terminal gets no escape sequences", b"\x1b" not in text and
                 b"\xc2\x9b" not in text and b"\\x1b]0;you\\x07\\x1b[2J" in text, text)
    plain = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    report.check("a file gets what was sent", b"X-Title: \x1b]0;you\x07\x1b[2J\r\n" in plain, plain)


def packed_rules(report, path):
    """robots.txt as servers send it that store files compressed: /7.html is forbidden in all."""
    kinds = ("gzip", "deflate", "br", "zstd")
    with harness.Web(path, hosts=4, pages=40) as web:
        seeds = path + "/packed-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://robots-{kind}.web.test/\n"
                            for kind in kinds + ("gzip-bomb", "gzip-broken"))
        options = ["--set", "scope.sitemaps=yes", "--set", "politeness.retry=robots-error 100ms 2"]
        result = harness.crawl(web, path + "/crawl", "-l", "2", *options, seeds=seeds, timeout=60)
        report.check("a crawl of packed rules ends", result.returncode == 0, result.stderr)
        again = harness.crawl(web, path + "/again", "-l", "1", *options, "--max-pages", "8",
                              seeds=seeds, timeout=60)
        resumed = harness.crawl(web, path + "/again", "--max-pages", "0", seeds=os.devnull,
                                timeout=60)
        report.check("and one that is resumed, too", (again.returncode, resumed.returncode) == (14, 0),
                     again.stderr + resumed.stderr)
    pages = collections.Counter(r.host for r in web.requests() if r.path.endswith(".html"))
    forbidden = [r for r in web.requests() if r.path == "/7.html"
                 and r.host.removeprefix("robots-").removesuffix(".web.test") in kinds]
    report.equal("no page that packed rules forbid is asked for", forbidden, [])
    report.check("the others are", all(pages[f"robots-{kind}.web.test"] >= 8 for kind in kinds),
                 str(pages))
    report.equal("what cannot be decoded forbids everything",
                 pages["robots-gzip-broken.web.test"], 0)
    tries = [r for r in web.requests() if r.host == "robots-gzip-broken.web.test"]
    report.check("and is asked for again as the retry table says", 3 < len(tries) <= 9, str(tries))


def paced(web, host):
    """Milliseconds between the requests of a host, robots.txt left out."""
    times = [(r.start, r.end) for r in web.requests() if r.host == host + ".web.test"
             and "R" not in r.flags]
    times.sort()
    return [(b[0] - a[1]) / 1000 for a, b in zip(times, times[1:])]


BUSY = ["--set", "politeness.retry=busy 100ms 2, server-error 100ms 2, timeout 100ms 1, slow 100ms 1",
        "--set", "politeness.park_after=2s", "--set", "politeness.rest_max=600ms",
        "--set", "fetch.first_byte_timeout=300ms"]


RESTS = [100, 200, 400, 600, 300, 150, 75, 37]  # ms; behind each of four failures, then each of four pages


def ill_hosts(report, path):
    """Hosts that are busy, break or stall: they are slowed down, recover, or are parked with their URLs."""
    names = ("retry-zero-1", "retry-past-1", "retry-year-1", "server-errors-1", "server-recovers-1",
             "stalls-1")
    with harness.Web(path, hosts=4, pages=40) as web:
        seeds = path + "/ill-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{name}.web.test/\n" for name in names)
        result = harness.crawl(web, path + "/crawl", *BUSY, seeds=seeds, timeout=90, wait="10ms")
        report.check("a crawl of ill hosts ends", result.returncode == 0, result.stderr)
    listed = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "hosts", "--parked"]).stdout
    parked = {line.split("\t")[0].split("/")[2].split(".")[0]: line.split("\t")[1:3]
              + [int(line.split("\t")[4])] for line in listed.splitlines()}
    report.equal("those that do not get well are parked",
                 {name: found[:2] for name, found in parked.items()},
                 {"retry-zero-1": ["parked", "busy"], "retry-past-1": ["parked", "busy"],
                  "retry-year-1": ["parked", "busy"], "server-errors-1": ["parked", "server-error"],
                  "stalls-1": ["parked", "timeout"]})
    report.check("and nearly all URLs of a host that stalls are kept", parked["stalls-1"][2] >= 290,
                 str(parked))
    for name in ("retry-zero-1", "retry-past-1"):
        gaps = paced(web, name)
        report.check(f"{name}: the host is asked ever more rarely",
                     len(gaps) >= 4 and all(g >= 99 for g in gaps[1:]) and gaps[-1] > 500, str(gaps))
    report.equal("retry-year: one such answer is enough", len(paced(web, "retry-year-1")), 1)
    gaps = paced(web, "server-errors-1")
    report.check("server-errors: repeated errors slow the host", max(gaps) > 500, str(gaps))
    good = [r for r in web.requests() if r.host == "server-recovers-1.web.test" and r.status == 200
            and r.path.endswith(".html")]
    gaps = paced(web, "server-recovers-1")
    report.check("server-recovers: what comes back is fetched", len(good) >= 2, str(len(good)))
    report.check("and the delay comes down step by step", len(gaps) == 9 and gaps[-1] < 0.7 * max(gaps)
                 and all(gap >= rest - 1 for gap, rest in zip(gaps[1:], RESTS)), str(gaps))
    counts = harness.run([f"{harness.OUT}/ragno", "status", path + "/crawl", "--json"]).stdout
    report.check("the status tells of parked hosts", '"hosts_parked": 5' in counts, counts)


def tails(report, path):
    """A crawl that has only failing hosts left ends by limits.tail, and goes on when it is resumed."""
    with harness.Web(path, hosts=4, pages=40) as web:
        seeds = path + "/tail-seeds.txt"
        with open(seeds, "w") as file, open(web.seeds) as good:
            file.write(good.read() + "http://stalls-1.web.test/\nhttp://retry-zero-1.web.test/\n")
        options = ["--set", "politeness.retry=busy 1h 5, timeout 1h 5",
                   "--set", "fetch.first_byte_timeout=300ms", "--set", "log.status_interval=200ms",
                   "--progress=always"]
        result = harness.crawl(web, path + "/crawl", *options, "--set", "limits.tail=2s", seeds=seeds,
                               timeout=60)
        report.equal("a crawl that only waits for retries ends by limits.tail", result.returncode, 18)
        report.check("its summary says so", "limits.tail" in result.stdout
                     and "still queued on 2 hosts" in result.stdout, result.stdout)
        report.check("the status line says what it waited for",
                     re.search(r"waiting for retries: 2 hosts, next in (59 min|1 h)", result.stderr),
                     result.stderr[-500:])
        with open(path + "/crawl/status.log") as file:
            lines = [dict(f.split("=", 1) for f in line.split()) for line in file]
        waiting = [line for line in lines if line["limit"] == "retries"]
        report.check("and so does status.log", waiting and waiting[-1]["hosts_waiting"] == "2"
                     and 3000 < float(waiting[-1]["next_retry_s"]) < 3601, str(waiting[-1:]))
        again = harness.crawl(web, path + "/crawl", "--set", "limits.tail=1s", seeds=os.devnull,
                              timeout=60)
        report.equal("resumed, it waits on", again.returncode, 18)


def open_ends(report, path):
    """A page without length whose connection stays open: what came is kept, as fetch.total_timeout says."""
    for name, option, seconds in (("slow", "fetch.slow_time=1s", "60s"),
                                  ("total", "fetch.slow_time=60s", "1s")):
        directory = os.path.join(path, name)
        os.mkdir(directory)
        with harness.Web(directory, hosts=2, pages=10) as web:
            seeds = directory + "/open-seeds.txt"
            with open(seeds, "w") as file:
                file.write("http://stays-open.web.test/\n")
            result = harness.crawl(web, directory + "/crawl", "--set", option, "--set",
                                   f"fetch.total_timeout={seconds}", "-l", "0", seeds=seeds,
                                   timeout=60)
        report.check(f"{name}: a crawl of pages without end ends", result.returncode == 0, result.stderr)
        pages = [f for f in log_lines(directory + "/crawl") if f[3].startswith("http://stays-open.")
                 and not f[3].endswith("robots.txt")]
        report.equal(f"{name}: what came of them is kept, at the first try",
                     collections.Counter((f[1], "trunc:time" in f[-1]) for f in pages),
                     {("200", True): 1})


def dead_addresses(report, path):
    """Hosts with a dead ::1 beside their living IPv4 address lose nothing, and nobody waits for it."""
    with harness.Web(path, hosts=6, pages=60) as web, NameServer(web.dns) as names:
        names.sixes.update(web.hosts())
        result = harness.crawl(web, path + "/crawl", "--set", "dns.family=ipv6-first", "--set",
                               "fetch.allow_addresses=127.0.0.0/8,::1", "--set",
                               f"dns.servers=127.0.0.1:{names.port}", timeout=60, wait="10ms")
        report.equal("a crawl of hosts with a dead address ends", result.returncode, 0)
        forbids = {name: forbidden for name, (_, forbidden, _) in web.hosts().items()}
        allowed = {u for u in web.graph_urls() if not forbids[u.split("/")[2]] or "/private/" not in u}
    fetched = {row[0] for row in harness.db_rows(path + "/crawl") if row[2] > 0}
    report.same_set("every page is there", allowed - fetched, set())
    tries = collections.Counter(f[3].split("/")[2] for f in log_lines(path + "/crawl") if f[1] == "-2")
    report.check("the dead address of each is tried once",
                 len(tries) == 6 and max(tries.values()) <= 2, str(tries))


if __name__ == "__main__":
    harness.main(open_ends, dead_addresses, costly_rules, links_that_harm, odd_headers, packed_rules, ill_hosts,
                 tails)
