#!/usr/bin/env python3
"""ragno audit on real crawls: it counts what the servers counted, proves what they saw, and finds a
delay that is one millisecond too short, a page that robots.txt forbids, and a log that was cut."""
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess

import harness
from harness import OUT, crawl, crawl_command, run
from running import Crawl
from sites import Sites, log_lines, page


def audit(directory, *arguments):
    return run([f"{OUT}/ragno", "audit", directory, *arguments])


def audit_json(directory, *arguments):
    result = audit(directory, "--json", *arguments)
    return json.loads(result.stdout) if result.stdout else {}


def copy_of(directory, path, name):
    other = os.path.join(path, name)
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(directory, other)
    return other


def lines_of(directory):
    with open(os.path.join(directory, "crawl.log")) as file:
        return file.read().splitlines()


def write_lines(directory, lines):
    with open(os.path.join(directory, "crawl.log"), "w") as file:
        file.write("".join(line + "\n" for line in lines))


MONO = re.compile(r"mono:(\d+)-(\d+)")
OWED = re.compile(r"wait:(\d+)/(\d+)")


def moved(line, start):
    """The line with its request begun, and ended, so that it begins at start."""
    old, end = map(int, MONO.search(line).groups())
    return MONO.sub(f"mono:{start}-{end - old + start}", line)


def a_crawl_is_proven(report, path):
    directory = os.path.join(path, "crawl")
    with harness.Web(path, pages=400, hosts=30, addresses=10) as web:
        code = crawl(web, directory, wait="60ms", ip_wait="15ms").returncode
        web.stop()
        requests = web.requests()
    report.equal("the crawl ends", code, 0)
    result = audit(directory)
    report.check("no breach is found", result.returncode == 0 and "no breach" in result.stdout,
                 result.stdout + result.stderr)
    found = audit_json(directory)
    report.equal("it counts what the servers counted", found["requests"], len(requests))
    report.equal("hosts", found["hosts"], len({r.host for r in requests}))
    report.equal("addresses", found["addresses"], len({r.address for r in requests}))
    report.check("pages are judged by robots.txt, and URLs were refused",
                 found["robots_judged"] == found["pages"] and found["robots_refused"] > 0, found)
    report.equal("nothing is left unproven",
                 sorted(set(map(str, found["unproven"].values()))), ["0", "None"])
    breaches(report, path, directory)
    forbidden(report, path, directory)
    complaint(report, directory, requests)
    rotated(report, path, directory, found)


def breaches(report, path, directory):
    """Of two neighbours of a host the later one is moved: as near as it may be, and 1 ms nearer."""
    harness.unlogged("lines are forged")
    other = copy_of(directory, path, "moved")
    lines = lines_of(directory)
    last, place = {}, None
    for i, line in enumerate(lines):
        if MONO.search(line):
            host = line.split()[3].split("/")[2]
            if host in last and OWED.search(line) and not line.split()[4] == "P":
                place = (last[host], i)
            last[host] = i
    before, at = place
    end, owed = int(MONO.search(lines[before]).group(2)), int(OWED.search(lines[at]).group(1))
    for short, expected in ((0, []), (1, ["host-pause"])):
        # Only the pause of the host is of interest: its address gets a life of its own.
        changed = [re.sub(r"ip:[0-9.]+", "ip:127.99.99.99", line) if i == at else line
                   for i, line in enumerate(lines)]
        changed[at] = moved(changed[at], end + owed - short)
        changed[at] = OWED.sub(f"wait:{owed}/{owed}", changed[at])
        write_lines(other, changed)
        found = audit_json(other)
        kinds = [b["kind"] for b in found["breaches_kept"]]
        report.equal(f"a pause {short} ms too short", kinds, expected)
    result = audit(other)
    report.check("the breach is told with both lines, and the exit status is 1",
                 result.returncode == 1 and f"crawl.log:{at + 1} " in result.stdout and
                 f"crawl.log:{before + 1} " in result.stdout, result.stdout)
    # Two requests to one address at once.
    changed = list(lines)
    address = re.search(r"ip:([0-9.]+)", lines[before]).group(1)
    changed.append(re.sub(r"http://[^/]+/", "http://other.test/",
                          re.sub(r"ip:[0-9.]+", f"ip:{address}",
                                 OWED.sub("wait:0/0", lines[before]).replace(",wait:0/0", ""))))
    write_lines(other, changed)
    found = audit_json(other)
    report.check("two requests at once are found", found["breaches_by_kind"]["at-once"] >= 1, found)


def forbidden(report, path, directory):
    """A line says that a page was fetched which robots.txt forbids."""
    other = copy_of(directory, path, "forbidden")
    lines = lines_of(directory)
    refused = next(line.split()[3] for line in lines if line.split()[1] == "-9998")
    host = refused.split("/")[2]
    at = next(i for i, line in enumerate(lines) if f" http://{host}/" in line and
              MONO.search(line) and line.split()[4] != "P")
    words = lines[at].split(" ")
    words[words.index(lines[at].split()[3])] = refused
    lines[at] = " ".join(words)
    write_lines(other, lines)
    found = audit_json(other)
    kept = found["breaches_kept"]
    report.check("a forbidden page is found, with the rule", len(kept) == 1 and
                 kept[0]["kind"] == "forbidden" and kept[0]["subject"] == refused and
                 kept[0]["rule"].startswith("Disallow: /"), kept)
    # Without the database the WARC files know the robots.txt.
    shutil.rmtree(os.path.join(other, "crawl.mdb"))
    found = audit_json(other)
    report.check("without the database the content comes from the WARC files",
                 [b["kind"] for b in found["breaches_kept"]] == ["forbidden"] and
                 found["unproven"]["robots_not_known"] == 0, found)


def complaint(report, directory, requests):
    host = max({r.host for r in requests}, key=lambda h: sum(r.host == h for r in requests))
    mine = [r for r in requests if r.host == host]
    result = audit(directory, "--host", host)
    rows = [line for line in result.stdout.splitlines() if f" http://{host}/" in line and
            line.startswith("20")]
    report.equal("a complaint is answered with every request",
                 sorted(row.split("/", 3)[3] for row in rows), sorted(r.path[1:] for r in mine))
    report.check("in order of time", rows == sorted(rows))
    report.check("and with the robots.txt", "    | User-agent: *" in result.stdout or
                 "everything is allowed" in result.stdout, result.stdout)
    nobody = audit(directory, "--host", "nobody.test")
    report.check("a name that was never asked is an error, not a clean record",
                 nobody.returncode == 2 and "nobody.test" in nobody.stderr, nobody)
    report.equal("that day", audit_json(directory, "--day", "2001-01-01")["requests"], 0)
    report.equal("since an hour", audit_json(directory, "--since", "1h")["requests"],
                 len(requests))
    report.equal("a wrong day is a usage error", audit(directory, "--day", "2001-02-30").returncode,
                 2)


def rotated(report, path, directory, found):
    """The log in three files, two of them compressed or dated, is the same log."""
    other = copy_of(directory, path, "rotated")
    lines = lines_of(directory)
    third = len(lines) // 3
    with gzip.open(os.path.join(other, "crawl.log.2.gz"), "wt") as file:
        file.write("".join(line + "\n" for line in lines[:third]))
    with open(os.path.join(other, "crawl.log.1"), "w") as file:
        file.write("".join(line + "\n" for line in lines[third:2 * third]))
    write_lines(other, lines[2 * third:])
    again = audit_json(other)
    same = ("breaches", "requests", "hosts", "host_pauses", "address_pauses", "robots_judged")
    report.equal("a rotated log is the same log", [again[k] for k in same],
                 [found[k] for k in same])


    damaged(report, other, lines)


def damaged(report, other, lines):
    """A log of which a part cannot be read proves nothing of that part, and no command is silent about it."""
    url = lines[0].split()[3]
    host = url.split("/")[2]
    first = os.path.join(other, "crawl.log.2.gz")
    with open(first, "r+b") as file:
        file.truncate(os.path.getsize(first) // 2)
    result = audit(other)
    report.check("audit of a log that is cut off: what could be read", result.returncode == 3 and
                 "no breach in what could be read" in result.stdout and "cut off" in result.stdout,
                 f"exit {result.returncode}: {result.stdout[-300:]}")
    result = run([f"{OUT}/ragno", "report", other])
    report.check("report says so, too", "not counted here" in result.stdout and first in result.stdout,
                 result.stdout[:600])
    os.unlink(first)
    os.symlink("crawl.log.2.gz", first)  # may be read by nobody, not even root
    for words in (("audit",), ("report",), ("why", url), ("complaint", host), ("audit", "--host", host)):
        result = run([f"{OUT}/ragno", words[0], other, *words[1:]])
        report.check(f"{' '.join(words)}: a log that may not be read is an error",
                     result.returncode == 3 and "symbolic links" in result.stderr,
                     f"exit {result.returncode}: {result.stdout[-200:]} {result.stderr}")
    os.unlink(first)


def killed_and_resumed(report, path):
    """Through kills, the line that a kill cuts, and a rotation while it runs."""
    directory = os.path.join(path, "crawl")
    with harness.Web(path, pages=1500, hosts=40, addresses=12) as web:
        command = crawl_command(web, directory, "--set", "store.batch_time=20ms", wait="30ms",
                                ip_wait="10ms")
        for kill in range(3):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            log = os.path.join(directory, "crawl.log")
            least = 200 * (kill + 1)
            harness.until(lambda: process.poll() is not None or
                               (os.path.exists(log) and sum(1 for _ in open(log)) > least))
            if kill == 1 and process.poll() is None:
                os.rename(log, log + ".1")
                process.send_signal(signal.SIGHUP)
                harness.until(lambda: os.path.exists(log) and os.path.getsize(log) > 20000)
            process.kill()
            process.wait()
            with open(log, "a") as file:
                file.write("2026-01-31T12:00:00.123Z 200 17 http://cut.")
        code = run(command, 120).returncode
        web.stop()
        requests = web.requests()
    found = audit_json(directory)
    report.equal("the crawl ends", code, 0)
    report.equal("no breach, whatever was killed", found["breaches_kept"], [])
    report.equal("three cut lines, and none behind them is lost",
                 found["unproven"]["unreadable_lines"], 3)
    report.check("all that was committed is there", found["requests"] <= len(requests) and
                 found["requests"] > 0.9 * len(requests), (found["requests"], len(requests)))


def a_delay_changes_while_it_runs(report, path):
    """Shorter at once, longer at once: neither is a breach, and the answer says who did it."""
    directory = os.path.join(path, "live")
    with harness.Web(path, pages=100000, hosts=8, addresses=8) as web, \
            Crawl(web, directory, "--no-warc", wait="200ms", ip_wait="10ms") as crawler:
        for delay in ("20ms", "150ms", "30ms"):
            n = len(lines_of(directory))
            harness.until(lambda: len(lines_of(directory)) > n + 40)
            answer = crawler.ask("set", f"politeness.host_delay={delay}")
            report.equal(f"set to {delay}", answer.returncode, 0)
        n = len(lines_of(directory))
        harness.until(lambda: len(lines_of(directory)) > n + 200)
        crawler.ask("stop")
        crawler.wait()
    result = audit(directory)
    report.check("no breach is found", result.returncode == 0 and "no breach" in result.stdout,
                 result.stdout + result.stderr)
    report.check("the changes are told, and who made them", [row.split("politeness.")[1].split(" from")[0]
                 for row in result.stdout.splitlines() if "politeness." in row] ==
                 [f'host_delay old="{a}" new="{b}"' for a, b in
                  (("200ms", "20ms"), ("20ms", "150ms"), ("150ms", "30ms"))] and
                 'from="operator" uid=' in result.stdout, result.stdout)
    changes = [row["time"] for row in audit_json(directory)["delays_changed"]]
    report.equal("so does the JSON", len(changes), 3)
    # A millisecond less than the delay of the time, in the crawl's last pause.
    lines = lines_of(directory)
    at = max(i for i, line in enumerate(lines) if "wait:30/" in line)
    given = int(OWED.search(lines[at]).group(2))
    start = int(MONO.search(lines[at]).group(1))
    lines[at] = OWED.sub("wait:30/29", moved(lines[at], start - given + 29))
    write_lines(directory, lines)
    kinds = {b["kind"] for b in audit_json(directory)["breaches_kept"]}
    report.check("a millisecond less than the new delay is one", "host-pause" in kinds, kinds)


def lines_of_host(directory, host):
    return [line for line in lines_of(directory) if f" http://{host}/" in line]


def changes_told(directory):
    """(option, site, old, new, who) of each."""
    pattern = r'(\S+) (?:site="(.*?)" )?old="(.*?)" new="(.*?)" from="(.*?)"'
    return [re.match(pattern, row["change"]).groups()
            for row in audit_json(directory)["delays_changed"]]


def a_host_s_delay_changes(report, path):
    """By ctl, by a reload, by a restart with an edited config.ini and with an option: the audit goes by
    what was in force at each moment."""
    directory = os.path.join(path, "site")
    ini = os.path.join(path, "crawl.ini")

    def configure(*site):
        with open(ini, "w") as file:
            file.write("[politeness]\nhost_delay = 200ms\n" + "".join(site))

    def go_on(host, delay, times=3):
        """Until the host was asked that often with this delay. 3 s: some of the lines are then beyond
        the time in which a change may be on its way."""
        owed = f"owes:{delay}/"
        harness.until(lambda: sum(owed in line for line in lines_of_host(directory, host)) >= times)

    configure()
    with harness.Web(path, pages=100000, hosts=6, addresses=6) as web:
        one, two = sorted(web.hosts())[:2]
        with Crawl(web, directory, "--no-warc", "-c", ini, wait=None, ip_wait="10ms") as crawler:
            go_on(one, "200")
            for delay in ("20", "120"):
                report.equal("ctl host delay", crawler.ask("host", one, "delay", delay + "ms").returncode, 0)
                go_on(one, delay)
            go_on(one, "120", 3000 // 120)
            for delay in ("40", "90"):
                configure(f'[site "{two}"]\nhost_delay = {delay}ms\n')
                crawler.process.send_signal(signal.SIGHUP)
                go_on(two, delay)
            go_on(two, "90", 3000 // 90)
            crawler.ask("stop")
            crawler.wait()
        with open(os.path.join(directory, "config.ini")) as file:
            text = file.read()
        with open(os.path.join(directory, "config.ini"), "w") as file:
            file.write(text.replace("host_delay = 200ms", "host_delay = 30ms"))
        three = sorted(web.hosts())[2]
        for wait, delay in ((None, "30"), ("150ms", "150")):
            with Crawl(web, directory, "--no-warc", seeds="/dev/null", wait=wait,
                       ip_wait="10ms") as crawler:
                go_on(three, delay)
                crawler.ask("stop")
                crawler.wait()
    result = audit(directory)
    report.check("no breach is found", result.returncode == 0 and "no breach" in result.stdout,
                 result.stdout + result.stderr)
    told = changes_told(directory)
    option = "politeness.host_delay"
    report.equal("each change is told with old and new value", [change[:4] for change in told],
                 [(option, one, "", "20ms"), (option, one, "20ms", "120ms"),
                  (option, two, "", "40ms"), (option, two, "40ms", "90ms"),
                  (option, None, "200ms", "30ms"), (option, None, "30ms", "150ms")])
    report.equal("and where it came from", [change[4].split("/")[-1] for change in told],
                 ["operator", "operator", "crawl.ini:4", "crawl.ini:4", "crawl.ini:2", "command line"])
    too_little(report, path, directory, one, "owes:120/")
    too_little(report, path, directory, three, "owes:200/")
    too_little(report, path, directory, two, "owes:90/")


def too_little(report, path, directory, host, owes):
    """Of the lines with that delay, the middle one says a millisecond less."""
    harness.unlogged("lines are forged")
    other = copy_of(directory, path, "little")
    lines = lines_of(directory)
    places = [i for i, line in enumerate(lines) if f" http://{host}/" in line and owes in line]
    at = places[len(places) // 2]
    number = int(owes[5:-1])
    lines[at] = lines[at].replace(owes, f"owes:{number - 1}/")
    write_lines(other, lines)
    kinds = [b["kind"] for b in audit_json(other)["breaches_kept"]]
    report.check(f"a millisecond less than {owes} is found", "owed-too-little" in kinds, kinds)


def orders_and_rests(report, path):
    """An operator's order that a host be asked at once is told as one; a rest that a restart restores is not
    shorter than others; and whatever a webmaster pastes finds the requests."""
    directory = path + "/crawl"
    # Hosts that want to be left alone at every second page, for 3 s each time; some rest over the restart.
    hosts = [f"h{i}.b.test" for i in range(12)]
    answers = {"http://a.test/": page(*[f"/{i}" for i in range(40)])}
    for i in range(40):
        answers[f"http://a.test/{i}"] = page()
    for host in hosts:
        answers[f"http://{host}/"] = page(*[f"/{i}" for i in range(6)])
        answers |= {f"http://{host}/{i}": (503, {"Retry-After": "3"}, "") if i % 2 else page()
                    for i in range(6)}
    seeds = [f"http://{host}/" for host in ["a.test", *hosts]]

    def failed(host):
        return sum(line[1] == "503" for line in log_lines(directory) if f"//{host}/" in line[3])

    with Sites(path, answers) as sites:
        command = sites.command(directory, "--no-warc", "--set", "politeness.adaptive_factor=0", *seeds, wait="40ms")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            harness.until(lambda: os.path.exists(directory + "/crawl.log") and failed(hosts[0]) == 2)
            before = len([r for r in sites.requests if r.host == hosts[0]])
            asked = harness.run([f"{harness.OUT}/ragno", "ctl", directory, "host", hosts[0], "visit"])
            report.equal("an operator has a host asked at once", asked.returncode, 0)
            harness.until(lambda: len([r for r in sites.requests if r.host == hosts[0]]) > before)
            harness.until(lambda: all(failed(host) >= 2 for host in hosts[1:]))
        finally:
            harness.end_process(process, (signal.SIGINT, signal.SIGKILL))
        sites.crawl_until(lambda: all(failed(host) >= 4 for host in hosts[1:]), directory, "--no-warc", wait="20ms")
        result = audit(directory)
        report.check("neither the order nor a restored rest is a breach", result.returncode == 0, result.stdout)
        report.check("the order is told", re.search(r"^  asked early, by order +1\n.*\n.*host=" + hosts[0], result.stdout, re.M),
                     result.stdout)
        with open(directory + "/ragno.log") as file:
            text = file.read()
        with open(directory + "/ragno.log", "w") as file:
            file.write(text.replace("wish=visit", "wish=nothing"))
        result = audit(directory)
        report.check("without it there is a breach", result.returncode == 1 and hosts[0] in result.stdout, result.stdout)
        seen = [r for r in sites.requests]
        address = sites.addresses["a.test"]
    of_a = sum(r.host == "a.test" for r in seen)
    for text, n in (("a.test", of_a), ("http://a.test/", of_a), ("https://a.test/x?y", of_a), ("A.test.", of_a),
                    ("a.test:80", of_a), (address, of_a), ("b.test", len(seen) - of_a), ("*.b.test", len(seen) - of_a)):
        found = harness.run([f"{harness.OUT}/ragno", "audit", directory, "--host", text, "--json"])
        report.check(f"--host {text}", f'"requests": {n},' in found.stdout or f'"requests":{n},' in found.stdout,
                     f"{n} {found.stdout[:200]} {found.stderr}")
    for text, words in (("a.tset", "did you mean http://a.test?"), ("nobody.example", "knows nothing"),
                        ("a.test:81", "knows nothing"), ("10.0.0.1", "knows nothing"), ("http://", "expected a host")):
        found = audit(directory, "--host", text)
        report.check(f"--host {text} is an error", found.returncode == 2 and words in found.stderr,
                     f"{found.returncode} {found.stderr}")


def many_requests(report, path):
    directory = os.path.join(path, "big")
    os.mkdir(directory)
    n, hosts = (1_000_000 if harness.FULL else 200_000), 4_000
    with open(os.path.join(directory, "crawl.log"), "w") as file:
        for i in range(n):
            host, turn = i % hosts, i // hosts
            start = 1000 + turn * 150 + host % 40
            wait = "wait:100/109," if turn else ""
            file.write(f"2026-01-31T12:00:00.{host % 1000:03}Z   200 12345 http://h{host}.test/p{i} "
                       f"LL http://h{host}.test/ text/html fetch-1 20260131120000000+40 "
                       f"sha1:XHLMTZ4AZZMA34J53YZ7U6DTJY72RZXY - ip:127.{host // 65536}."
                       f"{host // 256 % 256}.{host % 256},mono:{start}-{start + 40},{wait}"
                       f"owes:100/20,robots:1\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = audit_json(directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report.equal(f"{n} requests", (found["requests"], found["host_pauses"]), (n, n - hosts))
    if harness.SANITIZED:
        report.skip("five microseconds each", "a sanitizer")
    else:
        report.check(f"five microseconds each ({cpu:.2f} s of CPU)", cpu < 5e-6 * n, cpu)


if __name__ == "__main__":
    harness.main(a_crawl_is_proven, killed_and_resumed, a_delay_changes_while_it_runs,
                 a_host_s_delay_changes, orders_and_rests, many_requests)
