"""Politeness, proven from the server's side: what the request log says about overlaps, gaps, paths
forbidden by robots.txt, and robots.txt before the first page.

The server's times bound the crawler's: a request starts at the server after the crawler sent it,
and its end is noted there just before the last bytes are given to the kernel, so before the crawler
can have seen them. The crawler's own gap is never longer than the server's: a gap that is too short
here was too short there.
"""
import collections
import itertools
import re
import socket
import subprocess
import threading

import harness
from name_server import NameServer
from sites import Sites, page

HOST_DELAY_MS = 200
IP_DELAY_MS = 50
# When a client hangs up, the server notices a little later than it happened.
ABORT_SLACK_US = 5000

SIZES = dict(hosts=2000, addresses=500, pages=20000, skew=0.2) if harness.FULL else \
    dict(hosts=200, addresses=50, pages=2000, skew=0.2)


def gaps(requests, key):
    """(gap in us, earlier, later) between neighbours with the same key; negative: they overlap."""
    groups = collections.defaultdict(list)
    for r in requests:
        groups[key(r)].append(r)
    for group in groups.values():
        group.sort(key=lambda r: r.start)
        latest = group[0]
        for r in group[1:]:
            yield r.start - latest.end, latest, r
            if r.end > latest.end:
                latest = r


def slack(earlier):
    return ABORT_SLACK_US if "A" in earlier.flags else 0


def describe(rows):
    return "; ".join(f"{gap / 1000:.3f} ms: {harness.url_of(a)} -> {harness.url_of(b)}"
                     for gap, a, b in sorted(rows, key=lambda row: row[0])[:3])


def judge(report, requests, hosts, crawl_delay=False):
    """All the promises; requests is the whole log."""
    by_ip = list(gaps(requests, lambda r: r.address))
    by_host = list(gaps(requests, lambda r: r.host))
    overlaps = [row for row in by_ip if row[0] + slack(row[1]) < 0]
    report.check(f"no overlap per IP ({len(requests)} requests)", not overlaps,
                 f"{len(overlaps)}, worst {describe(overlaps)}")
    short = [row for row in by_ip if row[0] + slack(row[1]) < IP_DELAY_MS * 1000]
    report.check(f"no gap below {IP_DELAY_MS} ms per IP ({len(by_ip)} gaps)", not short,
                 f"{len(short)}, worst {describe(short)}")
    short = []
    for gap, a, b in by_host:
        owed_ms = HOST_DELAY_MS
        # Crawl-delay is known once robots.txt has been read.
        if crawl_delay and "R" not in a.flags:
            owed_ms = max(owed_ms, hosts[a.host][2])
        if gap + slack(a) < owed_ms * 1000:
            short.append((gap, a, b))
    report.check(f"no gap below {HOST_DELAY_MS} ms{' or Crawl-delay' if crawl_delay else ''} "
                 f"per host ({len(by_host)} gaps)", not short,
                 f"{len(short)}, worst {describe(short)}")
    forbidden = [r for r in requests if "F" in r.flags]
    report.check("no forbidden path", not forbidden,
                 f"{len(forbidden)}, first {[harness.url_of(r) for r in forbidden[:3]]}")
    first = {}
    for r in sorted(requests, key=lambda r: r.start):
        first.setdefault(r.host, r)
    unasked = [h for h, r in first.items() if "R" not in r.flags]
    report.check("robots.txt before the first page of each host", not unasked, f"{unasked[:5]}")
    wrong = [r for r in requests if r.host in hosts and r.address != hosts[r.host][0]]
    report.check("every host at its own address", not wrong, f"{len(wrong)}: {wrong[:3]}")


def crawl_and_judge(report, path, name, **options):
    with harness.Web(path, **options) as web:
        result = harness.crawl(web, path + "/crawl", wait=f"{HOST_DELAY_MS}ms",
                               ip_wait=f"{IP_DELAY_MS}ms", timeout=400)
        hosts, expected = web.hosts(), web.graph_urls()
    report.check(f"{name} ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    report.same_set("and has all pages",
                    {harness.url_of(r) for r in requests if r.status == 200 and r.flags == "-"},
                    expected)
    judge(report, requests, hosts, "crawl_delay" in options)


def large(report, path):
    crawl_and_judge(report, path, "the crawl", delayed=0.02, delay_ms=300, spread_ms=100,
                    not_found=0.01, **SIZES)


def slow_hosts(report, path):
    crawl_and_judge(report, path, "the crawl with Crawl-delay", hosts=20, addresses=5,
                    pages=100, crawl_delay=0.6)


def bursts(report, path):
    """politeness.keep_alive_time: requests without a pause, then the whole pause. Hosts with a
    Crawl-delay are asked one by one."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=20, addresses=10, pages=500, crawl_delay=0.5) as web:
        result = harness.crawl(web, directory, "--set", "politeness.keep_alive_time=150ms",
                               wait=f"{HOST_DELAY_MS}ms", ip_wait=f"{IP_DELAY_MS}ms", timeout=400)
        hosts, expected = web.hosts(), web.graph_urls()
    report.check("the crawl ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    report.same_set("and has all pages",
                    {harness.url_of(r) for r in requests if r.status == 200 and r.flags == "-"},
                    expected)
    overlaps = [row for row in gaps(requests, lambda r: r.address) if row[0] < 0]
    report.check("no overlap per IP", not overlaps, describe(overlaps))
    short = [row for row in gaps(requests, lambda r: r.address)
             if row[1].host != row[2].host and row[0] < IP_DELAY_MS * 1000]
    report.check("the delay of the address between two hosts", not short, describe(short))
    slow = [row for row in gaps(requests, lambda r: r.host) if hosts[row[1].host][2] > 0]
    short = [row for row in slow if row[0] < HOST_DELAY_MS * 1000]
    report.check(f"no burst at a host with Crawl-delay ({len(slow)} pauses)",
                 slow and not short, describe(short))
    long, at_once = judge_bursts([r for r in requests if hosts[r.host][2] == 0])
    report.check("bursts are not longer than the time between their first request and the end of "
                 "the time", not long, f"{long[:3]}")
    report.check("most requests follow another one without a pause", at_once > len(requests) / 4,
                 f"{at_once} of {len(requests)}")
    audit = harness.run([f"{harness.OUT}/ragno", "audit", directory])
    report.check("the audit proves it", audit.returncode == 0, audit.stdout[:1500])
    with open(directory + "/in-force.ini") as file:
        text = file.read()
    with open(directory + "/in-force.ini", "w") as file:
        file.write(re.sub(r"(?m)^(;?)keep_alive_time = .*", "keep_alive_time = 0", text))
    audit = harness.run([f"{harness.OUT}/ragno", "audit", directory])
    report.check("but not to who did not allow it", audit.returncode == 1, audit.stdout[:500])


def own_host(report, path):
    """politeness.connections: a host that a section names is asked for several pages at once, and no
    other host is."""
    directory = path + "/crawl"
    own, most = "h00000.web.test", 4
    with open(path + "/own.ini", "w") as file:
        file.write(f"[site \"{own}\"]\nhost_delay = 0\nip_delay = 0\nconnections = {most}\n")
    with harness.Web(path, hosts=4, addresses=4, pages=400, skew=0) as web:
        result = harness.crawl(web, directory, "-c", path + "/own.ini", wait="20ms", ip_wait="10ms",
                               timeout=400)
        expected = web.graph_urls()
    report.check("the crawl ends", result.returncode == 0,
                 f"exit {result.returncode}: {result.stderr[-500:]}")
    requests = web.requests()
    report.same_set("and has all pages",
                    {harness.url_of(r) for r in requests if r.status == 200 and r.flags == "-"},
                    expected)
    others = [r for r in requests if r.host != own]
    overlaps = [row for row in gaps(others, lambda r: r.address) if row[0] < 0]
    report.check("other hosts are asked one by one", others and not overlaps, describe(overlaps))
    with open(directory + "/crawl.log", encoding="utf-8", errors="replace") as log:
        report.check("and the own host is not", "at-once:4" in log.read())
    audit = harness.run([f"{harness.OUT}/ragno", "audit", directory])
    report.check("the audit proves it", audit.returncode == 0, audit.stdout[:1500])
    for name, text in (("for all", "[politeness]\nconnections = 3\n"),
                       ("for a pattern", "[site \"*.web.test\"]\nconnections = 3\n")):
        with open(path + "/wrong.ini", "w") as file:
            file.write(text)
        check = harness.run([f"{harness.OUT}/ragno", "check", "config", path + "/wrong.ini"])
        report.check(f"many at once are refused {name}",
                     check.returncode == 2 and "hosts that are yours" in check.stdout + check.stderr,
                     f"exit {check.returncode}: {check.stderr[-500:]}")


def judge_bursts(requests):
    """(bursts that are not followed by a whole pause, requests that followed without one)"""
    groups, long, at_once = collections.defaultdict(list), [], 0
    for r in sorted(requests, key=lambda r: r.start):
        groups[r.host].append(r)
    for host, group in groups.items():
        first = group[0]
        for before, r in zip(group, group[1:]):
            if r.start - before.end >= HOST_DELAY_MS * 1000:
                first = r
                continue
            at_once += 1
            # The request before has ended within the time, as the crawler saw it, which is later
            # at both ends; it has begun by then in any case.
            if before.start - first.end > 150000:
                long.append((host, (before.start - first.end) / 1000))
    return long, at_once


class Six(harness.HttpServer):
    """The same pages at ::1, with a connection for each request."""
    address_family = socket.AF_INET6


def both_families(report, path):
    """A name with an IPv4 and an IPv6 address is one host and two addresses: over IPv6 first, and over IPv4 when
    the server at ::1 is gone, each host and each address has its delay."""
    if not socket.has_ipv6 or not can_listen_at_six():
        report.skip("IPv6", "there is no ::1 here")
        return
    wait_ms, ip_wait_ms, hosts = 250, 150, ("a.test", "b.test", "c.test")
    answers = {f"http://{host}/": page(*[f"/{i}" for i in range(12)]) for host in hosts}
    answers |= {f"http://{host}/{i}": page() for host in hosts for i in range(12)}
    with Sites(path, answers) as sites, NameServer(sites.web.dns) as names:
        names.sixes = {"a.test", "b.test"}
        handler = type("Once", (sites.server.RequestHandlerClass.__mro__[1],), {"protocol_version": "HTTP/1.0"})
        six = Six(("::1", sites.port), handler)
        thread = harness.serving(six)
        command = sites.command(path + "/crawl", "--set", f"dns.servers=127.0.0.1:{names.port}", "--set",
                                "dns.family=ipv6-first", "--set", "fetch.allow_addresses=127.0.0.0/8, ::1/128",
                                "--set", "politeness.adaptive_factor=0", *(f"http://{host}/" for host in hosts),
                                wait=f"{wait_ms}ms", ip_wait=f"{ip_wait_ms}ms")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            harness.until(lambda: sum(r.address == "::1" for r in sites.requests) >= 10 or process.poll() is not None)
            six.shutdown()
            six.server_close()
            report.equal("a crawl of both families ends", harness.ended(process), 0)
        finally:
            harness.end_process(process)
            thread.join()
        seen = sorted(sites.requests, key=lambda r: r.start)
    report.equal("every page came", sites.asked(), set(answers))
    used = {host: {r.address for r in seen if r.host == host} for host in hosts}
    report.equal("by both addresses where there are two", used,
                 {host: {sites.addresses[host]} | ({"::1"} if host in names.sixes else set()) for host in hosts})
    for name, key, least in (("host", lambda r: r.host, wait_ms), ("address", lambda r: r.address, ip_wait_ms)):
        found = [(later.start - earlier.end) * 1000 for _, group in
                 itertools.groupby(sorted(seen, key=lambda r: (key(r), r.start)), key)
                 for earlier, later in itertools.pairwise(list(group))]
        report.check(f"every {name} has its delay in {len(found)} pauses, the shortest {min(found):.0f} ms",
                     min(found) >= least - 1, str(sorted(found)[:5]))
    audit = harness.run([f"{harness.OUT}/ragno", "audit", path + "/crawl"])
    report.equal("and the audit finds no breach", audit.returncode, 0)


def another_family(report, path):
    """dns.family at a restart, and while the crawl runs, holds for every host that is resolved from then on."""
    if not socket.has_ipv6 or not can_listen_at_six():
        report.skip("IPv6", "there is no ::1 here")
        return
    hosts = [f"{c}.test" for c in "abcdef"]
    answers = {f"http://{host}/": page(*[f"/{i}" for i in range(30)]) for host in hosts}
    answers |= {f"http://{host}/{i}": page() for host in hosts for i in range(30)}
    seeded = threading.Event()  # until then a page that is asked for late is held back: the crawl cannot end
    answers["http://a.test/29"] = lambda _: seeded.wait(harness.BOUND_S) and page()
    with Sites(path, answers) as sites, NameServer(sites.web.dns) as names:
        names.sixes = set(hosts)
        six = Six(("::1", sites.port), sites.server.RequestHandlerClass.__mro__[1])
        thread = harness.serving(six)
        options = ("--set", f"dns.servers=127.0.0.1:{names.port}", "--set",
                   "fetch.allow_addresses=127.0.0.0/8, ::1/128")
        sites.crawl_until(lambda: len(sites.requests) >= 6, path + "/crawl", "--set", "dns.family=ipv4", *options,
                          *(f"http://{host}/" for host in hosts[:3]), wait="100ms")
        first = len(sites.requests)
        report.equal("first by IPv4", {r.address == "::1" for r in sites.requests}, {False})
        command = sites.command(path + "/crawl", "--set", "dns.family=ipv6", *options, wait="100ms")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            harness.until(lambda: len(sites.requests) >= first + 4 or process.poll() is not None)
            second = len(sites.requests)
            report.equal("after a restart by IPv6", {r.address for r in sites.requests[first:second]}, {"::1"})
            for words in (("set", "dns.family=ipv4"), ("seed", *(f"http://{host}/" for host in hosts[3:]))):
                result = harness.run([f"{harness.OUT}/ragno", "ctl", path + "/crawl", *words])
                report.equal(f"ctl {words[0]}", result.returncode, 0)
            seeded.set()
            report.equal("it ends", harness.ended(process), 0)
        report.equal("and hosts that are new by IPv4 again",
                     {r.address == "::1" for r in sites.requests[second:] if r.host in hosts[3:]}, {False})
        six.shutdown()
        six.server_close()
        thread.join()
    report.equal("every page came", sites.asked(), set(answers))


def can_listen_at_six():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


if __name__ == "__main__":
    harness.main(large, slow_hosts, bursts, own_host, both_families, another_family)
