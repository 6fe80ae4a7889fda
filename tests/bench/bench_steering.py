"""Steering by PageRank with default settings: what the first tenth of a crawl gathers.

The web is the dependency graph of the distribution: a page for each binary package that apt's lists
lead to from SEEDS packages, with a link to each package that it depends on, recommends or suggests,
spread over HOSTS hosts by chance: a host has one request in flight, so one that had most of the best
pages (lib*: 505 of 915) would measure its politeness. A server waits LATENCY_S before each answer, so
the rate of the crawl follows from fetch.connections. The judge is the order in which the server
was asked. `omniscient` fetches of all pages that it knows the one with the largest PageRank of the
whole graph: one at a time, without hosts; `breadth` is ragno without scores.

    steering.RATE.ORDER.mass          PageRank of the first tenth of the pages, of all
    steering.RATE.ORDER.of_omniscient the same by the omniscient crawl's
    steering.RATE.steered.of_omniscient  a model: the known graph is scored anew after each hundredth
                                         of the pages, and RATE * LATENCY_S requests are in flight
    steering.RATE.ORDER.rate          pages a second that the server was asked for
    steering.RATE.ORDER.scoring_cpu_s CPU of the scoring thread

RATES=150 makes one of them; on a machine that others use the higher one is not reached.
"""
import asyncio
import heapq
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crawls  # noqa: E402

SCALE = float(os.environ.get("SCALE") or 1)
RATES = [int(rate) for rate in (os.environ.get("RATES") or "150,1200").split(",")]
SEEDS = int(os.environ.get("SEEDS") or 100)
HOSTS = 680
LATENCY_S = 0.05
DAMPING = 0.85
ROUNDS = 60
RELATIONS = ("Depends", "Recommends", "Suggests")
ORDERS = {"breadth": [], "default": ["--set", "score.scorer=pagerank"]}


def read_relations():
    """The packages that a package names, of all that apt knows."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    names = {}
    for record in listed.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in record.split("\n") if ": " in line and line[0] != " ")
        words = re.split("[,|]", ",".join(fields.get(kind, "") for kind in RELATIONS))
        names[fields.get("Package", "")] = [re.split("[ (:]", word.strip())[0] for word in words]
    return {package: [name for name in dict.fromkeys(of) if name in names and name not in ("", package)]
            for package, of in names.items() if package}


class Graph:
    """The part of the distribution that the seeds lead to."""

    def __init__(self):
        relations = read_relations()
        self.seeds = random.Random(1).sample(sorted(relations), min(SEEDS, len(relations)))
        self.links, to_do = {}, list(self.seeds)
        while to_do:
            package = to_do.pop()
            if package not in self.links:
                self.links[package] = relations[package]
                to_do.extend(relations[package])
        self.hosts = sorted({host_of(package) for package in self.links})
        self.rank = self.find_rank()

    def find_rank(self, crawled=None, rounds=ROUNDS):
        """PageRank of all, or of what is known when these were crawled."""
        leading = [(p, self.links[p]) for p in (self.links if crawled is None else crawled) if self.links[p]]
        known = dict.fromkeys(self.links if crawled is None else self.seeds)
        for package, links in leading:
            known[package] = None
            known.update(dict.fromkeys(links))
        rank = dict.fromkeys(known, 1 / len(known))
        for _ in range(rounds):
            kept = sum(rank[package] for package, _ in leading)
            after = dict.fromkeys(known, (1 - DAMPING * kept) / len(known))
            for package, links in leading:
                share = DAMPING * rank[package] / len(links)
                for link in links:
                    after[link] += share
            rank = after
        return rank

    def steered(self, n, in_flight):
        """The mass that scores come to which are computed anew with each hundredth of the pages."""
        waiting, crawled, seen, flying, due = dict.fromkeys(self.seeds), [], set(), [], 0
        rank = dict.fromkeys(self.seeds, 1.0)
        while len(crawled) < n:
            if len(crawled) >= due:
                rank = self.find_rank(crawled, 20)
                due = max(len(crawled) + 10, len(crawled) * 1.01)
            while len(flying) < in_flight and waiting:
                best = max(waiting, key=lambda package: rank.get(package, 0.0))
                del waiting[best]
                seen.add(best)
                flying.append(best)
            done = flying.pop(0)
            crawled.append(done)
            waiting.update(dict.fromkeys(link for link in self.links[done] if link not in seen))
        return sum(self.rank[package] for package in crawled)

    def omniscient(self, n):
        known, mass = set(self.seeds), 0.0
        heap = [(-self.rank[package], package) for package in known]
        heapq.heapify(heap)
        for _ in range(n):
            value, package = heapq.heappop(heap)
            mass -= value
            for link in self.links[package]:
                if link not in known:
                    known.add(link)
                    heapq.heappush(heap, (-self.rank[link], link))
        return mass


def host_of(package):
    return f"h{zlib.crc32(package.encode()) % HOSTS}.packages.test"


def url_of(package):
    return f"http://{host_of(package)}/{package}"


class Server(threading.Thread):
    """The graph as a web, on all addresses of this machine; asked: packages in order."""

    def __init__(self, graph):
        super().__init__(daemon=True)
        self.graph, self.asked, self.times, self.ready = graph, [], [], threading.Event()
        self.loop = asyncio.new_event_loop()
        self.start()
        self.ready.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.talk, "0.0.0.0", 0, backlog=4096))
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.join()

    def answer(self, path):
        links = self.graph.links.get(path)
        if links is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        self.asked.append(path)
        self.times.append(time.monotonic())
        body = "".join(f'<a href="{url_of(link)}">{link}</a>\n' for link in links)
        page = f"<!DOCTYPE html><title>{path}</title><h1>{path}</h1>\n{body}".encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page) + page

    async def talk(self, reader, writer):
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(LATENCY_S)
                writer.write(self.answer(request.split(b" ", 2)[1].decode().lstrip("/")))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


def crawl(path, graph, name, rate, n):
    server = Server(graph)
    with open(f"{path}/zone", "w") as zone, open(f"{path}/seeds", "w") as seeds:
        zone.writelines(f"{host}=127.90.{i // 250}.{i % 250 + 1}\n" for i, host in enumerate(graph.hosts))
        seeds.writelines(url_of(package) + "\n" for package in graph.seeds)
    dns = subprocess.Popen([f"{crawls.BUILD}/web", "--port", "0", "--dns-port", "0", "--zone", f"{path}/zone"],
                           stdout=subprocess.PIPE, text=True)
    try:
        port = next(re.search(r"dns\D*(\d+)", line)[1] for line in dns.stdout if re.search(r"dns\D*(\d+)", line))
        done = subprocess.run([f"{crawls.BUILD}/ragno", "-d", f"{path}/{name}.{rate}", "-i", f"{path}/seeds", "--progress=never",
                               "--no-warc", "-w", "2ms", "--ip-wait", "0", *ORDERS[name],
                               "--set", f"fetch.connections={int(rate * LATENCY_S * 1.05)}",
                               "--set", "scope.domains=packages.test", "--set", "scope.sitemaps=no",
                               "--set", f"crawl.max_pages={n}", "--set", f"fetch.port_map=80:{server.port}",
                               "--set", f"dns.servers=127.0.0.1:{port}", "--set", "fetch.allow_addresses=127.0.0.0/8"],
                              capture_output=True, text=True, check=False)
    finally:
        dns.terminate()
        dns.wait()
        server.stop()
    if len(server.asked) < n:
        sys.exit(f"{name} at {rate}: {len(server.asked)} pages of {n}, exit status {done.returncode}\n{done.stderr[-500:]}")
    with open(f"{path}/{name}.{rate}/status.log", encoding="ascii") as status:
        last = dict(word.split("=", 1) for word in status.read().splitlines()[-1].split() if "=" in word)
    return server.asked[:n], server.times[n - 1] - server.times[0], last


def main():
    if shutil.which("apt-cache") is None:
        crawls.say("steering: needs the package lists of apt")
        return
    graph = Graph()
    n = len(graph.links) // 10
    best = graph.omniscient(n)
    crawls.say(f"steering: {len(graph.links)} pages, {len(graph.hosts)} hosts, {sum(map(len, graph.links.values()))} links")
    crawls.put("steering.omniscient.mass", best, "1")
    path = tempfile.mkdtemp(prefix="ragno-bench-steering-")
    try:
        for rate in RATES:
            in_flight = int(rate * LATENCY_S)
            crawls.put(f"steering.{rate}.steered.of_omniscient", graph.steered(n, in_flight) / best, "1")
            for name in ORDERS:
                asked, seconds, last = crawl(path, graph, name, rate, n)
                mass = sum(graph.rank[package] for package in set(asked))
                crawls.put(f"steering.{rate}.{name}.mass", mass, "1")
                crawls.put(f"steering.{rate}.{name}.of_omniscient", mass / best, "1")
                crawls.put(f"steering.{rate}.{name}.rate", n / seconds, "1/s", 0)
                crawls.put(f"steering.{rate}.{name}.scoring_cpu_s", float(last.get("score_cpu_s", 0)), "s")
                crawls.say("  ".join(f"{key}={value}" for key, value in last.items() if "scor" in key or key in ("cpu_s", "limit")))
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
