"""A cluster whose server is away, whose hosts fail, whose limits are reached; and its first start."""
import collections
import json
import os
import re
import shutil
import signal
import time

import cluster
import harness
import politeness

LEASE_S = 2  # cluster.agent_command


def status_of(directory):
    try:
        with open(directory + "/status.json") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def first_start(report, path):
    """In a new cluster nobody has granted anything: its arbiters do not rest. Later ones do."""
    rest_s = 30 + 60
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--set", f"cluster.lease={rest_s - 60}s",
                            "--set", "fetch.total_timeout=60s") as agents:
            start = time.monotonic()
            agents.start_all()
            pages = harness.until(lambda: sum(status_of(d).get("2xx", 0) for d in agents.directories) > 100)
            report.check("a new cluster fetches at once", pages and time.monotonic() - start < rest_s,
                         f"{time.monotonic() - start:.1f} s, {[agents.said(i) for i in range(3)]}")
            for process in agents.processes:
                process.send_signal(signal.SIGINT)
            report.equal("all stop", [harness.ended(p) for p in agents.processes], [11] * 3)


def tail(report, path):
    """Only hosts that have failed are left, at one agent: all end, and say why."""
    with cluster.Nats(path) as nats, harness.Web(path, hosts=4, pages=40) as web:
        cluster.make(report, nats)
        with open(web.seeds, "a") as seeds:
            seeds.write("http://stalls-1.web.test/\nhttp://retry-zero-1.web.test/\n")
        with cluster.Agents(web, nats, path, "--set", "politeness.retry=busy 1h 5, timeout 1h 5",
                            "--set", "fetch.first_byte_timeout=300ms", "--set", "limits.tail=2s") as agents:
            agents.start_all()
            report.equal("all agents end by limits.tail", agents.wait(), [18] * 3)
            for i, directory in enumerate(agents.directories):
                with open(directory + "/ragno.log") as log:
                    report.check(f"agent {i} says so", "stopped at limits.tail" in log.read())


def without_server(report, path):
    """The server dies: what is leased is fetched to its end, then the crawl waits, and says so. It goes on
    soon after the server is back."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--set", "log.status_interval=200ms") as agents:
            agents.start_all()
            harness.until(lambda: sum(status_of(d).get("2xx", 0) for d in agents.directories) > 100)
            nats.kill()
            killed_us = time.monotonic_ns() // 1000
            waits = harness.until(lambda: all(
                status_of(d).get("limit") == "cluster" or status_of(d).get("urls_queued") == 0
                for d in agents.directories))
            report.check("all wait for it: limit=cluster", waits,
                         str([status_of(d).get("limit") for d in agents.directories]))
            waited_us = time.monotonic_ns() // 1000
            harness.until(lambda: time.monotonic_ns() // 1000 - waited_us > 3000000)
            nats.start()
            back_us = time.monotonic_ns() // 1000
            report.equal("all end", agents.wait(), [0] * 3)
        web.stop()
        starts = sorted(r.start for r in web.requests())
        late = [us for us in starts if killed_us + (LEASE_S + 1) * 1000000 < us < back_us]
        last = max(us for us in starts if us < back_us)
        first = min(us for us in starts if us > back_us)
        report.check(f"it waits within the lease (the last request came {(last - killed_us) / 1e6:.1f} s after)",
                     not late, f"{len(late)} later")
        report.check(f"and goes on in seconds ({(first - back_us) / 1e6:.1f})", first - back_us < 60000000)
        cluster.check_whole(report, agents, web.graph_urls())


def bytes_limit(report, path):
    """crawl.max_bytes is of all agents together."""
    most = 3 << 20
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "-Q", "3Mi") as agents:
            agents.start_all()
            report.equal("all stop at the limit", agents.wait(), [14] * 3)
            used = [status_of(d).get("bytes", 0) for d in agents.directories]
        web.stop()
        largest = max(r.bytes for r in web.requests())
        # The last page of each may be larger than the mean (base/thread/byte_quota.h).
        report.check(f"its sum is kept, and used ({used}: {sum(used) / most:.3f} of it)",
                     0.9 * most < sum(used) <= most + cluster.AGENTS * largest, f"largest {largest}")


def never_started(report, path):
    """An agent that was never started has used nothing: the others draw the whole limit, and end by it.
    Without a limit they wait, and say for whom."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        with open(web.seeds, "w") as seeds:
            seeds.writelines(f"http://{host}/\n" for host in web.hosts())
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--max-pages", "100") as agents:
            agents.start(0)
            agents.start(1)
            report.equal("two of three stop at the limit",
                         [harness.ended(agents.processes[i], 250) for i in (0, 1)], [14, 14])
        pages = [sum(cluster.pages_of(agents.directories[i]).values()) for i in (0, 1)]
        report.equal(f"its sum is exact ({pages})", sum(pages), 100)
        with cluster.Agents(web, nats, path) as agents:
            agents.start(0)
            agents.start(1)
            lines = harness.until(lambda: all("links wait for an agent that is not there agent=2" in
                                              open(d + "/ragno.log").read() for d in agents.directories[:2]))
            report.check("without a limit they say for whom they wait", lines, agents.said(0))
            report.equal("the status, too", [status_of(d).get("agents_away") for d in agents.directories[:2]], [1, 1])
            agents.start(2)
            report.equal("then all end", agents.wait(), [0] * 3)


def awaited(report, path):
    """The server has forgotten what an agent has used that is away: nothing more is given out, and log and
    status say who is waited for. The crawl is slow enough for its limit to be far away by then: each agent has
    its part of it, also one that begins seconds after the others."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--max-pages", "500", "--ip-wait", "400ms",
                            "--set", "log.status_interval=200ms") as agents:
            agents.start_all()
            harness.until(lambda: min(status_of(d).get("2xx", 0) for d in agents.directories) > 20)
            report.equal("nobody has reached the limit", [p.poll() for p in agents.processes], [None] * 3)
            number = status_of(agents.directories[1])["agent"]
            agents.processes[1].kill()
            agents.processes[1].wait()
            nats.kill()
            shutil.rmtree(nats.store)
            nats.start()
            others = [agents.directories[i] for i in (0, 2)]
            told = harness.until(lambda: all(status_of(d).get("agents_awaited") == 1 for d in others))
            report.check("the status says so", told, str([status_of(d).get("agents_awaited") for d in others]))
            for directory in others:
                with open(directory + "/ragno.log") as log:
                    lines = [line for line in log if "nothing more is given out of the limits" in line]
                report.check("the log says who", lines and f"agents={number} n=1" in lines[-1], str(lines))
            agents.start(1)
            report.equal("all stop at the limit", agents.wait(), [14] * 3)
            last = [status_of(d).get("agents_awaited") for d in agents.directories]
            report.equal("nobody is waited for any more", last, [0] * 3)
        pages = [sum(cluster.pages_of(d).values()) for d in agents.directories]
        report.check(f"the limit is not exceeded ({pages})", sum(pages) <= 500)


def stopped(report, path):
    """All agents are stopped and started again: they say how long those that come need to rest, which is
    not the length of a lease and a fetch."""
    rest_s = 30 + 60
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--set", f"cluster.lease={rest_s - 60}s",
                            "--set", "fetch.total_timeout=60s") as agents:
            agents.start_all()
            harness.until(lambda: sum(status_of(d).get("2xx", 0) for d in agents.directories) > 100)
            for process in agents.processes:
                process.send_signal(signal.SIGINT)
            report.equal("all stop", [harness.ended(p) for p in agents.processes], [11] * 3)
            before = [cluster.log_lines(d) for d in agents.directories]
            start = time.monotonic()
            agents.start_all()
            # Who had next to nothing left ends with it.
            all_fetch = harness.until(lambda: all(
                cluster.log_lines(d) > n + 5 or p.poll() == 0
                for d, n, p in zip(agents.directories, before, agents.processes)))
            took = time.monotonic() - start
            report.check(f"all fetch again before a lease and a fetch would be over ({took:.1f} s)",
                         all_fetch and took < rest_s, str(before))
            report.equal("all end by themselves", agents.wait(), [0] * 3)
            hosts = web.hosts()
        web.stop()
        politeness.judge(report, web.requests(), hosts)
        cluster.check_whole(report, agents, web.graph_urls())


def idle_agents(nats):
    said = cluster.ragno("cluster", "status", "--url", nats.url(), "--name", cluster.NAME).stdout
    return len(re.findall(r"^agent=.*\bidle=yes", said, re.M))


def started_again(report, path):
    """A crawl that has ended is started again, one agent after the other, and only the last has something
    new: the first ones wait for it. Who is started alone ends by itself, when nobody else comes."""
    with cluster.Nats(path) as nats, harness.Web(path, hosts=12, addresses=6, pages=60, suffix="test") as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path) as agents:
            agents.start_all()
            report.equal("all end by themselves", agents.wait(), [0] * 3)
            new = [f"http://{host}/?again" for host in web.hosts()]
            agents.start(0)
            agents.start(1)
            report.check("two have nothing to do, and wait", harness.until(lambda: idle_agents(nats) == 2),
                         str([agents.said(i) for i in range(2)]))
            with open(path + "/new", "w") as seeds:
                seeds.writelines(url + "\n" for url in new)
            agents.commands[2] += ["-i", path + "/new"]
            agents.start(2)
            report.equal("all end by themselves again", agents.wait(), [0] * 3)
            agents.start(1)
            report.equal("so does one alone", harness.ended(agents.processes[1]), 0)
        fetched = collections.Counter(u for d in agents.directories for u in cluster.pages_of(d))
        report.equal("what was new is fetched, once", [u for u in new if fetched[u] != 1], [])


RATE = 600 << 10


def shares_of(nats):
    """What each agent may take of fetch.rate, by `ragno cluster status`."""
    said = cluster.ragno("cluster", "status", "--url", nats.url(), "--name", cluster.NAME).stdout
    return [int(n) for n in re.findall(r"^agent=.*\brate=(\d+)", said, re.M)]


def rate(report, path):
    """fetch.rate is of all agents together, by the log of the web."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--set", f"fetch.rate={RATE}") as agents:
            agents.start_all()
            some = harness.until(lambda: len([s for s in shares_of(nats) if s > 0]) == 3)
            report.check("all have a share", some, str(shares_of(nats)))
            report.equal("all end by themselves", agents.wait(), [0] * 3)
        web.stop()
        requests = web.requests()
        took = (max(r.end for r in requests) - min(r.start for r in requests)) / 1e6
        total = sum(r.bytes for r in requests)
        # Each agent has a burst of 100 ms (base/thread/rate_gate.h), and what is in socket buffers.
        slack = RATE / 10 + cluster.AGENTS * max(r.bytes for r in requests) + (256 << 10)
        report.check(f"the rate is kept ({total / took / RATE:.2f} of it, {total} bytes in {took:.1f} s)",
                     total <= RATE * took + slack, "")
        cluster.check_whole(report, agents, web.graph_urls())


def rate_of_one(report, path):
    """One agent has all hosts (they are one domain): it gets what the others do not use."""
    with cluster.Nats(path) as nats, harness.Web(path, hosts=40, addresses=20, pages=2000) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path, "--set", f"fetch.rate={RATE >> 3}") as agents:
            agents.start_all()
            most = harness.until(lambda: max(shares_of(nats), default=0) > 0.8 * (RATE >> 3))
            report.check("it gets nearly all of the rate", most, str(shares_of(nats)))
            for process in agents.processes:
                process.send_signal(signal.SIGINT)
            report.equal("all stop", [harness.ended(p) for p in agents.processes], [11] * 3)


def changed(report, path):
    """What is divided among all agents cannot change at one of them: it is said, by name, and nothing changes."""
    divided = {"crawl.max_pages": "900", "crawl.max_bytes": "70Mi", "fetch.rate": "50Mi"}
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats, agents=1)
        with open(path + "/ragno.ini", "w") as file:
            file.write("[crawl]\nmax_pages = 600\n[politeness]\nhost_delay = 1s\n")
        words = ["-c", path + "/ragno.ini"]
        with cluster.Agents(web, nats, path, *words, agents=1) as agents:
            agents.start(0)
            directory = agents.directories[0]
            harness.until(lambda: status_of(directory).get("2xx", 0) > 20)
            with open(path + "/ragno.ini", "w") as file:
                file.write("[crawl]\nmax_pages = 900\nmax_bytes = 70Mi\n[fetch]\nrate = 50Mi\n"
                           "[limits]\npages_per_domain = 7000\n")
            agents.processes[0].send_signal(signal.SIGHUP)

            def lines(words):
                with open(directory + "/ragno.log") as log:
                    return [line for line in log if words in line]
            harness.until(lambda: lines("configuration read anew"))
            warned = re.findall(r"WARN main config: cannot change while the crawl runs key=(\S+) .*divided among all agents",
                                "".join(lines("cannot change")))
            report.same_set("a warning for each of them", set(warned), set(divided))
            alone = re.findall(r"at this agent alone, .*key=(\S+)", "".join(lines("at this agent alone")))
            report.equal("what all must agree about is changed here alone, and that is said", alone,
                         ["limits.pages_per_domain"])
            for name, value in divided.items():
                answer = cluster.ragno("ctl", directory, "set", f"{name}={value}")
                report.check(f"ctl set {name} is refused with a sentence",
                             answer.returncode == 1 and f"{name} cannot change" in answer.stderr and
                             "divided among all agents" in answer.stderr, answer.stdout + answer.stderr)
            report.equal("the limit is what it was", (agents.wait(), sum(cluster.pages_of(directory).values())),
                         ([14], 600))


if __name__ == "__main__":
    harness.main(first_start, tail, without_server, bytes_limit, never_started, awaited, stopped, started_again, rate, rate_of_one, changed)
