"""Three agents of one crawl beside one agent alone, and what a URL of another agent's host costs.

    cluster        50 000 pages of 17 kB on 2 000 hosts with 1 000 addresses, no delays, without WARC: by one
                   agent alone, by three with nats-server between them, and by three that know nothing of
                   each other, each with a third of hosts, addresses and pages (floor: what three processes
                   cost in any case), in turn. What a crawl of ten pages costs is taken off all, and told
                   apart (start)
    cluster.polite the same with 13 200 pages on 880 hosts with 440 addresses, each host asked once in 2 s: 220
                   pages a second, until the last hosts have fewer
    cluster.url    300 000 URLs on 15 000 hosts, all of one other agent, found by an agent on 60 pages:
                   the threads that write and that carry, at the finder (sender) and at the owner
                   (receiver), which fetches nothing; beside it the floor: one agent alone, given the same URLs
                   as seeds

RUNS (3): see crawls.py. PARTS=ratio,polite,url runs some.
"""
import contextlib
import hashlib
import http.server
import json
import os
import shutil
import socket
import socketserver
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import crawls

AGENTS = 3
NAME = "bench"
FULL = {"pages": 50000, "hosts": 2000, "addresses": 1000}
POLITE = {"pages": 13200, "hosts": 880, "addresses": 440}
POLITE_WAITS = {"wait": "2", "ip_wait": "1"}
URLS, PER_HOST, HUBS = 300000, 20, 60
SOON = ()
CARRIERS = ("ingest", "cluster", "nats")
WANTED = [word for word in os.environ.get("PARTS", "").split(",") if word]
RUNS = int(os.environ.get("RUNS") or 3)
RAGNO = f"{crawls.BUILD}/ragno"
PATIENCE_S = 120


def scaled(n, least):
    return max(least, int(n * crawls.SCALE))


def until(condition):
    """Its first true value; RuntimeError when that takes too long."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"nothing happened for {PATIENCE_S} s")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nats:
    """nats-server with JetStream below path."""

    def __init__(self, path):
        self.port, self.watched = free_port(), free_port()
        with open(f"{path}/nats.conf", "w") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{self.watched}"\n'
                       f'jetstream {{ store_dir: "{path}/js" }}\n')
        shutil.rmtree(f"{path}/js", ignore_errors=True)
        self.process = subprocess.Popen(["nats-server", "-c", f"{path}/nats.conf"],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers)

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def used_s(self):
        return sum(process_s(self.process.pid).values())

    def figures(self):
        """Messages and bytes that came in, and those that went out."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.watched}/varz") as answer:
            return json.load(answer)

    def __enter__(self):
        subprocess.run([RAGNO, "cluster", "init", "--agents", str(AGENTS), "--url", self.url(),
                        "--name", NAME], check=True, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def options(self):
        return (*SOON, f"cluster.url={self.url()}", f"cluster.name={NAME}")


def process_s(pid):
    """CPU seconds of a process that runs, by kind of thread. Those of the NATS library have the name of
    the thread that made them, which is the process's: `ragno`, but not the first one."""
    sums = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            used = int(file.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{task}/comm") as file:
            kind = file.read().strip().rstrip("0123456789").rstrip("-")
        kind = "nats" if kind == "ragno" and int(task) != pid else kind
        sums[kind] = sums.get(kind, 0) + used
    return sums


class Three:
    """What three processes used that ran at the same time: the agents of one crawl, or, with nats None, three
    crawls. webs: one for each."""

    def __init__(self, webs, nats, path, waits):
        self.parts = [None] * AGENTS
        self.pages, self.cpu_s, self.status = 0, 0.0, {}
        errors = []

        def one(i):
            try:
                below = f"{path}/agent{i}"
                os.makedirs(below, exist_ok=True)
                theirs = nats.options() if nats else ()
                self.parts[i] = crawls.crawl(RAGNO, webs[i], below, ("warc.enabled=no", *theirs),
                                             **waits)
            except RuntimeError as error:
                errors.append(error)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(AGENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        for part in self.parts:
            self.pages += part.pages
            self.cpu_s += part.cpu_s
            for key, value in part.status.items():
                if isinstance(value, (int, float)):
                    self.status[key] = self.status.get(key, 0) + value
        self.nats_s, self.nats = (nats.used_s(), nats.figures()) if nats else (0, {})

    def thread_s(self, kind):
        return sum(part.threads.get(kind, crawls.Thread(0, 0)).cpu_s for part in self.parts)

    def detail(self, name):
        kinds = sorted({kind for part in self.parts for kind in part.threads},
                       key=self.thread_s, reverse=True)
        crawls.say(f"{name}: {self.pages} pages {[part.pages for part in self.parts]},"
                   f" {self.cpu_s:.2f} s CPU, {max(part.wall_s for part in self.parts):.1f} s")
        for kind in kinds:
            wakes = sum(part.threads.get(kind, crawls.Thread(0, 0)).wakes for part in self.parts)
            crawls.say(f"    {kind:12} {self.thread_s(kind) * 1000 / self.pages:8.4f} ms a page"
                       f" {wakes / self.pages:8.3f} wake-ups a page")
        crawls.say("    " + " ".join(f"{key}={value}" for key, value in self.status.items()
                                     if "block" in key or "lease" in key or key == "commits"))


def all_ways(path, web_size, waits):
    """(alone, together, apart) of each run."""
    found = []
    with contextlib.ExitStack() as webs:
        web = webs.enter_context(crawls.Web(path, **web_size, skew=0, suffix="test"))
        thirds = []
        for i in range(AGENTS):
            os.makedirs(f"{path}/third{i}", exist_ok=True)
            size = {key: -(-n // AGENTS) for key, n in web_size.items()}
            thirds.append(webs.enter_context(
                crawls.Web(f"{path}/third{i}", **size, skew=0, suffix="test", seed=i + 1)))
        for _ in range(RUNS):
            alone = crawls.crawl(RAGNO, web, path, ("warc.enabled=no",), **waits)
            with Nats(path) as nats:
                together = Three([web] * AGENTS, nats, path, waits)
            found.append((alone, together, Three(thirds, None, path, waits)))
    return found


def over_start_ms(runs, starts):
    """CPU by page without that of a start; medians."""
    start_s = statistics.median(start.cpu_s for start in starts)
    return statistics.median((run.cpu_s - start_s) * 1000 / run.pages for run in runs)


def put_ratio(path, name, web_size, waits):
    """CPU by page of three agents by that of one."""
    starts = list(zip(*all_ways(path, {"pages": 10, "hosts": 5, "addresses": 5}, {})))
    for word, some in zip(("alone_", "", "floor_"), starts):
        crawls.put(f"{name}.start.{word}cpu_s", statistics.median(run.cpu_s for run in some), "s", 3)
    pages = scaled(web_size["pages"], 600)
    runs = all_ways(path, {key: max(15, pages * n // web_size["pages"]) for key, n in web_size.items()},
                waits)
    for one, three, _ in runs:
        if abs(one.pages - three.pages) > one.pages // 100:
            raise RuntimeError(f"{one.pages} pages alone, {three.pages} together")
    alone, together, apart = (over_start_ms(*way) for way in zip(zip(*runs), starts))
    three, floor_run = (sorted((run[way] for run in runs), key=lambda run: run.cpu_s)[len(runs) // 2]
                        for way in (1, 2))
    crawls.put(f"{name}.alone.cpu_ms_per_page", alone, "ms")
    crawls.put(f"{name}.cpu_ms_per_page", together, "ms")
    crawls.put(f"{name}.floor_ms_per_page", apart, "ms")
    crawls.put(f"{name}.cpu_ratio", together / alone, "", 3)
    crawls.put(f"{name}.floor_ratio", apart / alone, "", 3)
    crawls.put(f"{name}.over_floor", together / apart, "", 3)
    crawls.put(f"{name}.cpu_ratio_with_starts", statistics.median(
        (three.cpu_s / three.pages) / (one.cpu_s / one.pages) for one, three, _ in runs), "", 3)
    crawls.put(f"{name}.nats_ms_per_page", three.nats_s * 1000 / three.pages, "ms")
    crawls.put(f"{name}.messages_per_page", three.nats["in_msgs"] / three.pages, "", 4)
    crawls.put(f"{name}.message_bytes_per_page", three.nats["in_bytes"] / three.pages, "B", 1)
    crawls.put(f"{name}.lease_messages_per_page",
               three.status.get("lease_messages", 0) / three.pages, "", 4)
    crawls.put(f"{name}.block_messages_per_page",
               three.status.get("blocks_sent", 0) / three.pages, "", 4)
    one = sorted((run[0] for run in runs), key=lambda run: run.cpu_s)[len(runs) // 2]
    alone_runs = crawls.Runs(f"{name}.alone")
    alone_runs.by["this"].append(one)
    alone_runs.detail()
    three.detail(name)
    floor_run.detail(f"{name}.floor")


def ratio(path):
    put_ratio(path, "cluster", FULL, {})


def polite(path):
    put_ratio(path, "cluster.polite", POLITE, POLITE_WAITS)


class EveryName(socketserver.BaseRequestHandler):
    """DNS: every name is at 127.90.0.1. Names that are not there would be work of the receiver's."""

    def handle(self):
        query, sock = self.request
        end = query.index(b"\0", 12) + 5
        kind = int.from_bytes(query[end - 4:end - 2], "big")
        answer = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + bytes((127, 90, 0, 1)) if kind == 1 else b""
        sock.sendto(query[:2] + b"\x81\x80\0\1" + (b"\0\1" if answer else b"\0\0") + b"\0\0\0\0" +
                    query[12:end] + answer, self.client_address)


class Hub(http.server.BaseHTTPRequestHandler):
    """Roots without links but the one of Hub.host, which leads to pages /0, /1, ... with n_urls / n_pages
    links each to hosts of Hub.far."""

    host, far, n_pages, n_urls = "", "", 1, 0

    def do_GET(self):
        robots = self.path == "/robots.txt"
        body = b"" if robots else b"<!DOCTYPE html><title>Hub</title>" + self.links().encode()
        self.send_response(404 if robots else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def links(self):
        if self.headers["Host"].split(":")[0] != self.host:
            return ""
        if self.path == "/":
            return "".join(f'<a href="/{i}">p</a>\n' for i in range(self.n_pages))
        each = self.n_urls // self.n_pages
        first = int(self.path[1:]) * each
        return "".join(f'<a href="{self.link(i)}">u</a>\n' for i in range(first, first + each))

    @classmethod
    def link(cls, i):
        """Of 60 bytes, of any host, and with little to compress."""
        luck = hashlib.md5(str(i).encode()).hexdigest()
        host = int(luck[:8], 16) % max(1, cls.n_urls // PER_HOST)
        return f"http://h{host:05d}.{cls.far}/{luck[8:18]}/article-{luck[18:30]}.html"

    def log_message(self, *_):
        pass


class Agent:
    """One that begins paused. nats None: the only one."""

    def __init__(self, web, nats, path, i, seeds):
        self.directory = f"{path}/paused{i if nats else 'alone'}"
        shutil.rmtree(self.directory, ignore_errors=True)
        theirs = (f"cluster.agent={i}", *nats.options()) if nats else ()
        options = ("warc.enabled=no", "crawl.start_paused=yes", "limits.hosts_per_domain=0",
                   "limits.hosts_per_address=0", "fetch.max_body=64Mi", "parse.max_links=1000000",
                   "log.status_interval=1s", *theirs)
        self.process = subprocess.Popen(
            crawls.command(RAGNO, web, self.directory, options, seeds=seeds),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def status(self):
        try:
            with open(f"{self.directory}/status.json") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def resume(self):
        subprocess.run([RAGNO, "ctl", self.directory, "resume"], check=True,
                       stdout=subprocess.DEVNULL)

    def names(self):
        """The hosts that are its own: only these have work."""
        told = subprocess.run([RAGNO, "db", self.directory, "schedule", "--top", "1000"],
                              stdout=subprocess.PIPE, text=True).stdout
        return {line.split("http://")[1].split("/")[0] for line in told.splitlines()
                if "http://" in line}

    def end(self):
        self.process.kill()
        self.process.wait()


def carried_s(agent):
    used = process_s(agent.process.pid)
    return {kind: used.get(kind, 0) for kind in CARRIERS}


def url(path):
    """What a URL of another agent's host costs the one who finds it and the one who gets it."""
    server = http.server.ThreadingHTTPServer(("127.90.0.1", 0), Hub)
    names = socketserver.UDPServer(("127.0.0.1", 0), EveryName)
    for each in (server, names):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    domains = [f"d{i}.test" for i in range(12)]
    with open(f"{path}/domains.txt", "w") as file:
        file.writelines(f"http://{name}/\n" for name in domains)
    with open(f"{path}/none.txt", "w") as file:
        file.write("# other agents have the seeds\n")
    Hub.n_pages, Hub.n_urls = HUBS, scaled(URLS, 6000) // HUBS * HUBS
    with crawls.Web(path, pages=10, hosts=5) as web, Nats(path) as nats:
        web.http, web.dns = server.server_port, names.server_address[1]
        agents = [Agent(web, nats, path, i, f"{path}/{'none' if i else 'domains'}.txt")
                  for i in range(AGENTS)]
        try:
            measure(nats, agents, domains)
        finally:
            for agent in agents:
                agent.end()
            server.shutdown()
        floor(web, path)


def measure(nats, agents, domains):
    until(lambda: sum(agent.status().get("urls_queued", 0) for agent in agents) == len(domains))
    owners = [agent.names() for agent in agents]
    Hub.host, Hub.far = sorted(owners[0])[0], sorted(owners[1])[0]
    finder, owner = agents[0], agents[1]
    before = [carried_s(agent) for agent in (finder, owner)]
    known = [agent.status()["urls_seen"] for agent in (finder, owner)]
    sent, carried, served = finder.status()["blocks_sent"], nats.figures()["in_bytes"], nats.used_s()
    finder.resume()
    until(lambda: all(agent.status().get("urls_seen", 0) >= before + Hub.n_urls
                      for agent, before in zip((finder, owner), known)) and
          finder.status().get("outbox_bytes", 1) == 0)
    for name, agent, start in (("sender", finder, before[0]), ("receiver", owner, before[1])):
        used = carried_s(agent)
        each = {kind: (used[kind] - start[kind]) * 1e6 / Hub.n_urls for kind in CARRIERS}
        crawls.put(f"cluster.{name}_us_per_url", sum(each.values()), "us", 2)
        crawls.say(f"cluster.url: {name}: {agent.status()['commits']} commits, " +
                   ", ".join(f"{kind} {us:.2f} us" for kind, us in each.items()))
    crawls.put("cluster.nats_us_per_url", (nats.used_s() - served) * 1e6 / Hub.n_urls, "us", 2)
    crawls.put("cluster.bytes_per_url", (nats.figures()["in_bytes"] - carried) / Hub.n_urls, "B", 1)
    crawls.put("cluster.urls_per_message",
               Hub.n_urls / max(1, finder.status()["blocks_sent"] - sent), "", 0)


def floor(web, path):
    """What one agent alone, paused as the receiver is, pays for the same URLs when they are its seeds: to parse
    them, to discover and to schedule them. It does so before its threads begin."""
    with open(f"{path}/urls.txt", "w") as file:
        file.writelines(Hub.link(i) + "\n" for i in range(Hub.n_urls))
    agent = Agent(web, None, path, 0, f"{path}/urls.txt")
    try:
        until(lambda: agent.status().get("urls_seen", 0) >= Hub.n_urls)
        used = process_s(agent.process.pid)
        crawls.put("cluster.receiver_floor_us", sum(used.values()) * 1e6 / Hub.n_urls, "us", 2)
        crawls.say("cluster.url: floor: " + ", ".join(f"{kind} {s * 1e6 / Hub.n_urls:.2f} us"
                                                      for kind, s in used.items() if s > 1e-3))
    finally:
        agent.end()


if __name__ == "__main__":
    ALL = {"ratio": ratio, "polite": polite, "url": url}
    crawls.main(*[ALL[word] for word in WANTED or ALL])
