"""Trouble on our side costs no host anything: this machine stands still, or has no descriptors left."""
import os
import re
import signal
import struct
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


def started(command, stdin=subprocess.DEVNULL):
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class Island:
    """A network of its own (namespaces of user and network), whose routes go and come back."""

    def __init__(self):
        self.reason = None  # why there is none
        self.holder = started(["unshare", "--user", "--map-root-user", "--net", "sh", "-c",
                               "ip link set lo up && echo ready && exec cat"], stdin=subprocess.PIPE)
        if self.holder.stdout.readline() != "ready\n":
            self.reason = self.holder.communicate()[1].strip() or "no namespaces here"
        self.prefix = ["nsenter", f"--target={self.holder.pid}", "--user", "--net",
                       "--preserve-credentials", "--"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.reason is None:
            self.holder.communicate()

    def ip(self, *words):
        subprocess.run([*self.prefix, "ip", *words], check=True)


class Machine:
    """What a crawl's machine does to it: tests/crash/outage_shim.c, turned on and off while it runs."""

    def __init__(self, path):
        self.path = path + "/outage"
        self.values = [0, 0, 0]
        self.write()

    def write(self):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
            file.write(struct.pack("=3q", *self.values))

    def set(self, clock_s=0, no_route=False, sync_ms=0):
        self.values = [clock_s * 10**9, int(no_route), sync_ms]
        self.write()

    def command(self, command):
        """The same, on this machine."""
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        shim = os.path.abspath(harness.OUT) + "/crash/outage_shim.so"
        return ["env", f"LD_PRELOAD={shim}", f"OUTAGE={self.path}", f"ASAN_OPTIONS={asan}", *command]

    def start(self, command):
        return started(self.command(command))


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


def through_outage(report, path, web, command, begin, end, name, start=started):
    """A crawl with an outage in its middle, from begin() to end(); default rules."""
    directory = path + "/crawl"
    crawl = start(command)
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


def no_route(report, path):
    """This machine has no way to anybody: neither to hosts nor to name servers."""
    machine = Machine(path)
    with harness.Web(path, close=True, **SIZE) as web:
        command = harness.crawl_command(web, path + "/crawl", *QUICK, wait="100ms")
        through_outage(report, path, web, command, lambda: machine.set(no_route=True),
                       lambda: machine.set(), "no route", machine.start)


def charged(directory):
    """What failed and was not taken for our outage (-10009), or forbidden by robots.txt (-9998)."""
    rows = [line.split() for line in lines_of(directory, "crawl.log")]
    return [row[1:4] for row in rows if int(row[1]) < 0 and row[1] not in ("-10009", "-9998")]


def through_island(report, path, name, *outage):
    """A crawl whose network is taken away by Linux itself, until nothing is in flight any more."""
    directory = path + "/crawl"
    with Island() as island:
        if island.reason is not None:
            report.skip(name, island.reason)
            return
        with harness.Web(path, island.prefix, delayed=1, delay_ms=300, spread_ms=100, **SIZE) as web:
            command = harness.crawl_command(
                web, directory, *QUICK, "--set", "fetch.first_byte_timeout=3s", "--set",
                "fetch.connect_timeout=3s", "--set", "fetch.slow_time=3s", wait="100ms")

            def after():
                report.check(f"{name}: what was in flight has ended", harness.until(
                    lambda: in_flight(directory) == 0))
                for state in ("down", "up"):  # Linux makes the routes anew
                    island.ip("link", "set", "lo", state)

            through_outage(report, path, web, island.prefix + command, lambda: island.ip(*outage), after, name)
        report.equal(f"{name}: no host was charged with it", charged(directory), [])


def lost_route(report, path):
    """The routes are taken away: connect says that the network is unreachable."""
    through_island(report, path, "lost route", "route", "flush", "table", "local")


def lost_link(report, path):
    """The only link goes down: whatever is sent vanishes."""
    through_island(report, path, "lost link", "link", "set", "lo", "down")


def nothing_is_lost(report, path, web, crawl, name):
    directory = path + "/crawl"
    report.equal(f"{name}: the crawl ends", harness.ended(crawl), 0)
    report.equal(f"{name}: no host was charged with it", failures(directory), [])
    report.equal(f"{name}: no host is lost", lost(directory), "")
    report.same_set(f"{name}: no page is lost", allowed(web) - fetched(directory), set())
    verify = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    report.equal(f"{name}: verify agrees", verify.returncode, 0)


def through_machine(report, path, name, do, **size):
    """A crawl whose machine is changed in its middle by do(machine, directory)."""
    machine = Machine(path)
    directory = path + "/crawl"
    with harness.Web(path, **(size or SIZE)) as web:
        crawl = machine.start(harness.crawl_command(web, directory, *QUICK, wait="100ms"))
        try:
            report.check(f"{name}: the crawl is in its middle", harness.until(
                lambda: finished(directory) > 100 or crawl.poll() is not None)
                and crawl.poll() is None)
            do(machine, directory, lambda: crawl.poll() is None)
            nothing_is_lost(report, path, web, crawl, name)
        finally:
            harness.end_process(crawl, (signal.SIGKILL,))
            crawl.communicate()


def clock_lines(directory):
    return sum("the clock of the system was set" in line for line in lines_of(directory, "ragno.log"))


def clock_steps(report, path):
    """The system's clock goes a day ahead, and later a day back behind what it was: delays hold, no host
    waits for a day, and the log says so."""
    def step(machine, directory, alive):
        for seconds, direction in ((86400, "ahead"), (-86400, "back")):
            n = finished(directory)
            told_before = clock_lines(directory)
            machine.set(clock_s=seconds)
            report.check(f"clock: the log tells of the step {direction}", harness.until(
                lambda: clock_lines(directory) > told_before or not alive()) and alive())
            report.check(f"clock: pages go on coming after the step {direction}", harness.until(
                lambda: finished(directory) > n + 50 or not alive()) and alive())
    through_machine(report, path, "clock", step, hosts=60, pages=2500)
    audit = harness.run([f"{harness.OUT}/ragno", "audit", path + "/crawl"])
    report.check("clock: the audit finds no delay broken", audit.returncode == 0, audit.stdout[-800:])


def clock_between_runs(report, path):
    """A crawl whose clock was a day ahead, or behind, is resumed with the right one: it goes on at once."""
    for name, seconds in (("ahead", 86400), ("behind", -86400)):
        directory = path + "/" + name
        os.mkdir(directory)
        machine = Machine(directory)
        with harness.Web(directory, **SIZE) as web:
            command = harness.crawl_command(web, directory + "/crawl", *QUICK, wait="100ms")
            machine.set(clock_s=seconds)
            crawl = machine.start(command)
            try:
                harness.until(lambda: finished(directory + "/crawl") > 100 or crawl.poll() is not None)
                crawl.send_signal(signal.SIGINT)
                report.equal(f"{name}: the first run stops", harness.ended(crawl), 11)
            finally:
                harness.end_process(crawl, (signal.SIGKILL,))
                crawl.communicate()
            machine.set()
            nothing_is_lost(report, directory, web, machine.start(command), name)


def slow_disk(report, path):
    """Syncs take seconds for a while, longer than any time-out of a fetch."""
    def slow(machine, directory, _):
        machine.set(sync_ms=3000)
        n = finished(directory)
        report.check("disk: commits go on, slowly", harness.until(lambda: finished(directory) > n))
        machine.set()
    through_machine(report, path, "disk", slow)


def names_as_they_are(report, path):
    """The machine's search domains and aliases, as in each pod of a cluster, make no other name of a host."""
    hosts = ["foo", "h00003", "h00001.web.test"]
    with open(path + "/aliases", "w") as file:
        file.write("foo h00002.web.test\n")
    with open(path + "/resolv.conf", "w") as file:
        file.write("nameserver 127.0.0.1\nsearch web.test b.test\noptions ndots:5\n")
    mount = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/resolv.conf || exit 99; shift; exec "$@"', "sh", path + "/resolv.conf"]
    if os.getuid() != 0 or harness.run(mount + ["true"]).returncode != 0:
        mount = []  # LOCALDOMAIN says the same as `search`
    with harness.Web(path, **SIZE) as web, NameServer(web.dns) as server:
        with open(path + "/names.txt", "w") as file:
            file.writelines(f"http://{host}/\n" for host in hosts)
        command = harness.crawl_command(web, path + "/crawl", "--set", f"dns.servers=127.0.0.1:{server.port}", "--set",
                                        "scope.depth=0", seeds=path + "/names.txt", wait="10ms")
        env = dict(os.environ, HOSTALIASES=path + "/aliases", LOCALDOMAIN="web.test", RES_OPTIONS="ndots:5")
        result = harness.run(mount + command, env=env)
        report.check("the crawl ends", result.returncode == 0, f"exit {result.returncode}: {result.stderr[-300:]}")
        report.equal("each name is asked as it is", sorted(server.asked), sorted(hosts))
        web.stop()
        report.equal("and only that of the web is fetched", {harness.url_of(r).split("/")[2] for r in web.requests()}, {hosts[2]})


def one_dead_name_server(report, path):
    """One of two name servers is silent, then the other one: hosts do not pay for it."""
    directory = path + "/crawl"
    with harness.Web(path, ttl=1, hosts=200, pages=800) as web, NameServer(web.dns, "silent") as first, \
            NameServer(web.dns) as second:
        crawl = started(harness.crawl_command(
            web, directory, *QUICK, "--set", f"dns.servers=127.0.0.1:{first.port},127.0.0.1:{second.port}",
            "--set", "dns.timeout=500ms", "--set", "dns.ttl_min=1s", wait="100ms"))
        try:
            report.check("names come from the other one", harness.until(
                lambda: finished(directory) > 100 or crawl.poll() is not None))
            asked, answered = sum(first.asked.values()), sum(second.asked.values())
            report.check("the one that answers is preferred", asked < 0.75 * answered,
                         f"{asked} to the silent one, {answered} to the other")
            first.mood, second.mood = "pass", "silent"
            report.equal("it goes on when they change their roles, and ends", harness.ended(crawl), 0)
        finally:
            harness.end_process(crawl, (signal.SIGKILL,))
            crawl.communicate()
        names_failed = [line for line in lines_of(directory, "crawl.log") if " dns:" in line]
        report.equal("no name has failed", names_failed, [])
        report.equal("no host is lost", lost(directory), "")
        report.same_set("no page is lost", allowed(web) - fetched(directory), set())


def one_name_that_nobody_resolves(report, path):
    """All that is left of a crawl without name servers is one name: it ends by the retry table. (FULL: silence
    from the start is ours for two minutes.)"""
    if not harness.FULL:
        report.skip("one name that nobody resolves", "takes three minutes")
        return
    with harness.Web(path, hosts=1, pages=1) as web, NameServer(web.dns, "silent") as names:
        seeds = path + "/two-seeds.txt"
        with open(seeds, "w") as file:
            file.write("http://127.0.0.1/\nhttp://nobody.example/\n")
        result = harness.crawl(web, path + "/crawl", "--no-warc", "--set", f"dns.servers=127.0.0.1:{names.port}",
                               "--set", "politeness.retry=dns 1s 1 drop", seeds=seeds, timeout=280)
    report.check("the crawl ends by itself", result.returncode in (0, 19), f"{result.returncode} {result.stderr[-300:]}")
    report.check("and says what failed", "dropped     dns 1" in result.stdout, result.stdout)


if __name__ == "__main__":
    harness.main(one_name_that_nobody_resolves, names_that_lie, names_that_are_silent, names_that_fail, gone_network, no_route,
                 lost_route, lost_link, clock_steps, clock_between_runs, slow_disk, names_as_they_are, one_dead_name_server,
                 standstill, no_descriptors, descriptors_run_out)
