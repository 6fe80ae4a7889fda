"""Trouble on our side costs no host anything: this machine stands still, or has no descriptors left."""
import os
import re
import signal
import subprocess
import time

import harness
from name_server import NameServer


def lines_of(directory, name):
    try:
        with open(os.path.join(directory, name), encoding="latin-1") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def failures(directory):
    """Lines of ragno.log that tell of failed fetches."""
    return [line for line in lines_of(directory, "ragno.log") if "fetch failed" in line]


def allowed(web):
    """Every URL of the web that robots.txt does not forbid."""
    forbids = {name: forbidden for name, (_, forbidden, _) in web.hosts().items()}
    return {u for u in web.graph_urls() if not forbids[u.split("/")[2]] or "/private/" not in u}


def fetched(directory):
    return {row[0] for row in harness.db_rows(directory) if row[2] > 0}


def in_flight(directory):
    """How many fetches the crawl is asking for right now."""
    flights = harness.run([f"{harness.OUT}/ragno", "ctl", directory, "flights"])
    return len(flights.stdout.splitlines()) if flights.returncode == 0 else 0


def started(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def standstill(report, path):
    """The whole machine stands still for longer than any time-out, as a laptop that sleeps or a
    virtual machine that is moved: the crawler first, and it wakes up before its network does."""
    directory = path + "/crawl"
    options = ["--set", "fetch.first_byte_timeout=4s", "--set", "fetch.connect_timeout=4s",
               "--set", "fetch.total_timeout=5s", "--set", "fetch.slow_time=4s", "--no-warc"]
    with harness.Web(path, hosts=60, pages=300, delayed=1, delay_ms=300, spread_ms=100) as web:
        crawl = started(harness.crawl_command(web, directory, *options))
        try:
            report.check("there are transfers in flight",
                         harness.until(lambda: in_flight(directory) > 20))
            crawl.send_signal(signal.SIGSTOP)
            web.process.send_signal(signal.SIGSTOP)
            time.sleep(6)  # the outage itself: longer than the time-outs above
            crawl.send_signal(signal.SIGCONT)
            report.check("the log says that the process did not run", harness.until(
                lambda: any("did not run" in line for line in lines_of(directory, "ragno.log")), 30))
            web.process.send_signal(signal.SIGCONT)
            report.equal("the crawl goes on and ends", harness.ended(crawl), 0)
        finally:
            web.process.send_signal(signal.SIGCONT)
            harness.end_process(crawl, (signal.SIGKILL,))
            crawl.communicate()
        report.equal("no host was charged with it", failures(directory), [])
        report.same_set("every page is there", allowed(web) - fetched(directory), set())


def no_descriptors(report, path):
    """More connections than file descriptors: fewer are made, and the operator is told."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=250, pages=1500, delayed=1, delay_ms=200, spread_ms=50) as web:
        command = harness.crawl_command(web, directory, "--set", "fetch.connections=1000", "--no-warc")
        result = harness.run(["prlimit", "--nofile=128:128", *command], 120)
        report.check("a crawl with 128 descriptors ends", result.returncode == 0,
                     f"{result.returncode} {result.stderr[-500:]}")
        report.check("it warns, and says what to do",
                     re.search("fewer connections .*ulimit -n", result.stderr), result.stderr)
        report.equal("no host was charged with it", failures(directory), [])
        report.same_set("every page is there", allowed(web) - fetched(directory), set())


def descriptors_run_out(report, path):
    """They are taken away while it runs: nobody is charged, and what could not be done is done again."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=120, pages=1500, delayed=1, delay_ms=100, spread_ms=50,
                     close=True) as web:
        crawl = started(harness.crawl_command(web, directory, "--set", "fetch.connections=100",
                                              "--no-warc"))
        try:
            report.check("there are transfers in flight",
                         harness.until(lambda: in_flight(directory) > 40))
            files = f"/proc/{crawl.pid}/fd"
            few = len(os.listdir(files)) - 20
            subprocess.run(["prlimit", f"--nofile={few}:", f"--pid={crawl.pid}"], check=True)
            report.check("the operator is told", harness.until(
                lambda: any("this machine could not" in line
                            for line in lines_of(directory, "ragno.log")), 60))
            subprocess.run(["prlimit", "--nofile=4096:", f"--pid={crawl.pid}"], check=True)
            report.equal("the crawl goes on and ends", harness.ended(crawl), 0)
        finally:
            harness.end_process(crawl, (signal.SIGKILL,))
            crawl.communicate()
        charged = [line for line in failures(directory) if "reason=local" not in line]
        report.equal("no host was charged with it", charged, [])
        report.same_set("every page is there", allowed(web) - fetched(directory), set())


def told(directory, words):
    return any(words in line for line in lines_of(directory, "ragno.log"))


def finished(directory):
    """Pages that the crawl has fetched so far."""
    return len(lines_of(directory, "crawl.log"))


def lost(directory):
    """Hosts that are dropped or parked."""
    return harness.run([f"{harness.OUT}/ragno", "db", directory, "hosts", "--parked"]).stdout


def through_outage(report, path, web, command, begin, end, name):
    """A crawl with an outage in its middle, from begin() to end(); default rules."""
    directory = path + "/crawl"
    crawl = started(command)
    try:
        report.check(f"{name}: the crawl is in its middle", harness.until(
            lambda: finished(directory) > 150 or crawl.poll() is not None) and crawl.poll() is None)
        begin()
        report.check(f"{name}: it notices", harness.until(
            lambda: told(directory, "our own network is out")))
        status = harness.until(lambda: "limit=network" in "".join(
            lines_of(directory, "status.log")[-1:]))
        report.check(f"{name}: status names it", status, lines_of(directory, "status.log")[-1:])
        end()
        report.equal(f"{name}: it goes on by itself, and ends", harness.ended(crawl), 0)
    finally:
        harness.end_process(crawl, (signal.SIGKILL,))
        crawl.communicate()
    report.check(f"{name}: it says when the network is back", told(directory, "our own network is back"))
    report.equal(f"{name}: no host is lost", lost(directory), "")
    report.same_set(f"{name}: no page is lost", allowed(web) - fetched(directory), set())


SIZE = dict(hosts=150, pages=1200)
QUICK = ["--set", "log.status_interval=200ms", "--set", "fetch.connections=30", "--no-warc"]


def names(report, path, mood, *options):
    with harness.Web(path, ttl=1, **SIZE) as web, NameServer(web.dns) as server:
        command = harness.crawl_command(web, path + "/crawl", *QUICK, "--set",
                                        f"dns.servers=127.0.0.1:{server.port}", "--set",
                                        "dns.ttl_min=1s", *options, wait="100ms")

        def begin():
            server.mood = mood

        def end():
            server.mood = "pass"

        through_outage(report, path, web, command, begin, end, mood)


def names_that_lie(report, path):
    """A name server says of every name that it does not exist."""
    names(report, path, "nxdomain")


def names_that_are_silent(report, path):
    names(report, path, "silent", "--set", "dns.timeout=1s", "--set", "dns.tries=2")


def names_that_fail(report, path):
    names(report, path, "servfail")


def gone_network(report, path):
    """Every connection is refused, as by a firewall of ours, or a route that leads nowhere."""
    web = harness.Web(path, **SIZE)
    fixed = dict(SIZE, port=web.http, dns_port=web.dns)
    try:
        command = harness.crawl_command(web, path + "/crawl", *QUICK, wait="100ms")

        def begin():
            web.stop()

        def end():
            again.append(harness.Web(path, **fixed))

        again = []
        through_outage(report, path, web, command, begin, end, "refused")
    finally:
        web.stop()
        for each in again:
            each.stop()


if __name__ == "__main__":
    harness.main(names_that_lie, names_that_are_silent, names_that_fail, gone_network, standstill, no_descriptors, descriptors_run_out)
