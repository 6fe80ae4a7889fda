"""crawl.memory: a crawl stays within its budget and a fifth.

What counts is what an operator sees: everything that is resident, mapped pages of the database
included. Ordinary pages, thousands of hosts, bodies as large as they may be, decompression bombs; a
limit of what may be allocated at all (RLIMIT_DATA), and one of all that the system charges (a cgroup).
With FULL=1 the crawls are large enough that the database outgrows the budget several times. Under a
sanitizer nothing is measured, only run."""
import gzip
import http.server
import os
import re
import resource
import shutil
import subprocess
import threading
import time

import cgroup
import harness

SLACK = 1.2
SHADOW = "a sanitizer's shadow is not the crawler's"


def resident_kb(process):
    """(all, anonymous)"""
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    found = [re.search(name + r":\s+(\d+) kB", text) for name in ("VmRSS", "RssAnon")]
    return tuple(int(f.group(1)) if f else 0 for f in found)


def watched(command, before=None, timeout=harness.BOUND_S):
    """Exit status, samples of residence as (seconds, all, anonymous) in KiB, standard error.
    before: called in the process before the command. What it costs is CPU, not time: it may take what a test may."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=before)
    samples, start = [], time.monotonic()
    while process.poll() is None and time.monotonic() < start + timeout:
        samples.append((time.monotonic() - start,) + resident_kb(process))
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    return process.wait(), samples, process.communicate()[1]


def judge(report, name, budget_mi, result):
    """It ended well and was within the budget; how much it had at most is in the check's name."""
    status, samples, errors = result
    most = max(s[1] for s in samples) / 1024
    anonymous = max(s[2] for s in samples) / 1024
    report.equal(f"{name} ends", (status, errors[-300:]), (0, ""))
    if harness.SANITIZED:
        report.skip(f"{name}: residence", SHADOW)
        return
    report.check(f"{name}: {most:.1f} Mi resident, {anonymous:.1f} Mi of them its own, of "
                 f"{budget_mi} Mi and a fifth", 0 < anonymous and most <= budget_mi * SLACK)


# Bodies that are broken off to make room on a busy machine, where the server is slow, too: not in ten minutes.
AGAIN = ("--set", "politeness.retry=slow 1s 9")


def crawl_of(web, directory, budget_mi, *arguments):
    return harness.crawl_command(web, directory, "--set", f"crawl.memory={budget_mi}Mi", *AGAIN, *arguments)


def flat(report, samples):
    """Its own memory at the end is what it was after a fifth of the time."""
    if harness.SANITIZED:
        report.skip("its own memory near the end", SHADOW)
        return
    end = samples[-1][0]
    def mean(first, last):
        part = [s[2] for s in samples if first * end <= s[0] <= last * end]
        return sum(part) / len(part) / 1024
    early, late = mean(0.2, 0.3), mean(0.85, 0.95)
    report.check(f"{early:.1f} Mi of its own after a fifth, {late:.1f} Mi near the end",
                 late <= 1.15 * early + 2)


def ordinary_pages(report, path):
    sizes = dict(hosts=400, addresses=200, pages=24000, skew=0.5)  # a fifth of it is more than what sets up
    if harness.FULL:
        sizes = dict(hosts=4000, addresses=400, pages=100000, skew=0.5)
    budgets = (64, 128, 256) if harness.FULL else (64,)
    with harness.Web(path, **sizes) as web:
        for budget in budgets:
            directory = f"{path}/crawl{budget}"
            result = watched(crawl_of(web, directory, budget))
            judge(report, f"{sizes['pages']} pages", budget, result)
            flat(report, result[1])
            pages = {url for url, _, n in harness.db_rows(directory) if n > 0}
            report.check("all pages are there", web.graph_urls() <= pages)


def many_hosts(report, path):
    hosts = 20000 if harness.FULL else 3000
    with harness.Web(path, hosts=hosts, addresses=500, pages=3 * hosts, page_bytes=3000) as web:
        result = watched(crawl_of(web, path + "/crawl", 64))
        judge(report, f"{hosts} hosts", 64, result)


def large_bodies(report, path):
    pages = 4000 if harness.FULL else 400
    with harness.Web(path, hosts=pages // 2, addresses=500, pages=pages,
                     page_bytes=1000000) as web:
        result = watched(crawl_of(web, path + "/crawl", 64))
        judge(report, f"{pages} pages of 1 MB", 64, result)
        with open(path + "/crawl/status.log", encoding="ascii") as file:
            last = file.read().splitlines()[-1]
        waits = int(re.search(r"held_waits=(\d+)", last).group(1))
        report.check("fetching had to wait, and that was counted", waits > 0, last)
        report.check("nothing is held at the end", " held_bytes=0 " in last, last)


NUMBERS = [b"%x" % i for i in range(100000)]


def links_of(name, numbers=NUMBERS):
    """A page of links of the host `name`, one to each number: made for each request, so it must not cost what a crawler does."""
    return b"<a href=/%s/" % name + (b">x</a><a href=/%s/" % name).join(numbers) + b">x</a>"


class Hostile(http.server.BaseHTTPRequestHandler):
    """2 MiB that do not compress, a bomb, or 100 000 links: by the last figure of the address; and
    of every third host 25 000 rules, which take ten times their 500 kB when they are parsed."""
    protocol_version = "HTTP/1.1"
    noise = os.urandom((2 << 20) - 100)
    rules = b"User-agent: *\n" + b"".join(b"Disallow: /*a*b%d*c$\n" % i for i in range(25000))
    bomb = None  # hostile_pages makes it: it costs a second

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = int(self.headers["Host"].rsplit(".", 1)[1]) % 3
        coding = None
        if self.path == "/robots.txt":
            body = self.rules if kind == 0 else b""
        elif kind == 0:
            body = self.noise
        elif kind == 1:
            body, coding = self.bomb, "gzip"
        else:
            body = links_of(self.headers["Host"].encode())
        try:
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            if coding:
                self.send_header("Content-Encoding", coding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            pass  # cut at the limit of the body


def hostile_pages(report, path):
    """From many addresses at once; one page of each."""
    Hostile.bomb = gzip.compress(b"<a href=x>" * (20 << 20 if harness.FULL else 5 << 19), 1)
    server = harness.HttpServer(("0.0.0.0", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hosts = 450 if harness.FULL else 60
    with open(path + "/seeds", "w", encoding="ascii") as seeds:
        seeds.writelines(f"http://127.0.{i // 200}.{i % 200 + 1}/\n" for i in range(hosts))
    command = [f"{harness.OUT}/ragno", "-d", path + "/crawl", "-i", path + "/seeds", "-w", "0ms",
               "--ip-wait", "0ms", "--progress=never", "--set", "crawl.memory=64Mi", "--set",
               "scope.depth=0", "--set", f"fetch.port_map=80:{server.server_address[1]}",
               "--set", "fetch.allow_addresses=127.0.0.0/8", *AGAIN]
    result = watched(command)
    server.shutdown()
    judge(report, f"{hosts} hostile pages at once", 64, result)
    pages = sum(n > 0 for _, _, n in harness.db_rows(path + "/crawl"))
    report.check("what could be read of them is stored", pages >= hosts // 3, f"{pages} pages")


class WidePage(http.server.BaseHTTPRequestHandler):
    """Links to as many hosts as there are."""
    hosts = 100000

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = b"" if self.path == "/robots.txt" else b"".join(
            b"<a href=http://h%05d.web.test/>x</a>" % i for i in range(self.hosts))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def a_page_that_leads_to_many_hosts(report, path):
    """Its links are not one transaction: they are looked up a piece at a time."""
    server = harness.HttpServer(("127.91.0.1", 0), WidePage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(f"{path}/zone", "w", encoding="ascii") as file:
        file.write("wide.docs.test=127.91.0.1\n")
    with open(f"{path}/wide.txt", "w", encoding="ascii") as file:
        file.write(f"http://wide.docs.test:{server.server_port}/\n")
    options = [f"--set={o}" for o in ("parse.max_links=1000000", "fetch.max_body=16Mi",
                                      "limits.hosts_per_domain=0", "limits.hosts_per_address=0",
                                      "crawl.memory=128Mi")]
    with harness.Web(path, hosts=WidePage.hosts, pages=WidePage.hosts, addresses=500, skew=0,
                     page_bytes=2000, zone=f"{path}/zone") as web:
        status, samples, errors = watched(harness.crawl_command(
            web, f"{path}/crawl", "--max-pages", "50", *options, seeds=f"{path}/wide.txt"))
    server.shutdown()
    report.equal("the crawl ends at its limit of pages", (status, errors[-300:]), (14, ""))
    most = max(s[1] for s in samples) / 1024
    if harness.SANITIZED:
        report.skip("residence", SHADOW)
    else:
        report.check(f"{most:.1f} Mi resident, of 128 Mi and a fifth", most <= 128 * SLACK)
    with open(f"{path}/crawl/status.log", encoding="ascii") as file:
        last = dict(field.split("=", 1) for field in file.read().splitlines()[-1].split())
    links = int(last["urls_seen"])
    report.check(f"{links} URLs are known", links > 10000, str(last))
    # The limit of pages may be met while they are.
    report.check("its links are merged by the sieve",
                 int(last["sieve_merges"]) >= 1 or int(last["sieve_pending"]) > 0, str(last))


def a_limit_of_the_system(report, path):
    """RLIMIT_DATA counts what is allocated, used or not, and not the map of the database."""
    if harness.SANITIZED:
        report.skip("a limit of what may be allocated", SHADOW)
        return
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (320 << 20, 320 << 20))
    with harness.Web(path, hosts=400, addresses=200, pages=4000) as web:
        result = watched(crawl_of(web, path + "/crawl", 64), before=limit)
        judge(report, "a crawl that may allocate 320 Mi", 64, result)


def in_a_cgroup(report, path, name, sizes):
    """One crawl with a limit of the budget and a fifth on all that the system charges."""
    try:
        group = cgroup.Cgroup(int(64 * SLACK * (1 << 20)))
    except cgroup.Unavailable as why:
        report.skip(name, f"{why}")
        return
    try:
        with harness.Web(path, **sizes) as web:
            result = watched(crawl_of(web, path + "/crawl", 64), before=group.enter)
            judge(report, name, 64, result)
            found = {url for url, _, n in harness.db_rows(path + "/crawl") if n > 0}
            report.check("all pages are there", web.graph_urls() <= found)
        peak = group.peak()
        report.check(f"{name}: version {group.version}, "
                     f"{0 if peak is None else peak / (1 << 20):.1f} Mi charged at most, the system "
                     "never lacked memory for it", group.ooms() == 0, f"{group.ooms()} times")
        shutil.rmtree(path + "/crawl")
    finally:
        group.remove()


def a_limit_of_a_cgroup(report, path):
    """It counts what the process has, mapped pages, page cache, buffers of sockets, the kernel's own
    objects. The cache gives way, so nothing more than the budget and a fifth is needed; at the limit
    the crawl is slower, and ends."""
    name = "in a cgroup of the budget and a fifth"
    if harness.SANITIZED:
        report.skip(name, SHADOW)
        return
    pages = 100000 if harness.FULL else 8000
    in_a_cgroup(report, path, f"{pages} pages {name}",
                dict(hosts=400, addresses=200, pages=pages, skew=0.5))
    in_a_cgroup(report, path, f"400 pages of 1 MB {name}",
                dict(hosts=200, addresses=200, pages=400, page_bytes=1000000))


def shown(report, path):
    """--print-config says what follows from the budget."""
    del path
    command = [f"{harness.OUT}/ragno", "--print-config", "--set"]
    text = harness.run(command + ["crawl.memory=64Mi"]).stdout
    report.check("what follows is shown, and is not a setting",
                 re.search(r"^; crawl\.memory\n; connections = \d+$", text, re.M) is not None, text)
    parts = [float(f) for f in re.findall(r"^; +([0-9.]+)  [a-z]+\.[a-z_]+$|^; +([0-9.]+)  the pr",
                                          text, re.M) for f in f if f]
    report.check(f"{len(parts)} parts add up to {sum(parts):.1f} Mi",
                 len(parts) > 8 and 58 < sum(parts) <= 64.05, text)
    result = harness.run(command + ["crawl.memory=63Mi"])
    report.check("63Mi is refused", result.returncode == 2 and "64Mi" in result.stderr,
                 f"{result.returncode}: {result.stderr}")
    result = harness.run(command + ["crawl.memory=1Gi", "--set", "fetch.connections=3"])
    report.check("a lower limit stays", "; command line\nconnections = 3" in result.stdout)


if __name__ == "__main__":
    harness.main(shown, ordinary_pages, many_hosts, large_bodies, hostile_pages,
                 a_page_that_leads_to_many_hosts,
                 a_limit_of_the_system, a_limit_of_a_cgroup)
