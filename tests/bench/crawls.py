"""What the benchmarks of whole crawls share: webs, runs of ragno, and what a run used.

A figure is CPU time of the crawler's process (user and system), by fetched page, since the server shares
the machine. Where a thread's share or its wake-ups are told, they come from /proc while the process
runs; commits are the crawl's own figure: each syncs the database, and with WARC a file. With COMPARE=PROGRAM every run is repeated with that ragno,
alternately, RUNS times (3), and `NAME.ratio` is this one's median by the other's.
"""
import collections
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get("OUT", "build/release")
SCALE = float(os.environ.get("SCALE") or 1)
OTHER = os.environ.get("COMPARE", "")
RUNS = int(os.environ.get("RUNS") or (3 if OTHER else 1))
SAMPLE_S = 0.1
CONNECTIONS = 256  # the default of fetch.connections

Thread = collections.namedtuple("Thread", "cpu_s wakes")


def say(*words, sep=" "):
    print(*words, sep=sep, file=sys.stderr, flush=True)


def put(name, value, unit, digits=4):
    """One figure, on standard output."""
    print(f"{name} = {value:.{digits}f} {unit}", flush=True)


class Run:
    """What one process used: cpu_s, wall_s, rss_mb at most, own_mb of that at most not mapped from
    files (sampled), wakes (voluntary switches), written (bytes of pages that it made dirty in the
    system's cache of files), threads by the name of their kind (fetch-0 and fetch-1 are fetch), and, of
    a crawl, database_bytes (its file) and status, its own last figures."""

    def __init__(self):
        self.code, self.cpu_s, self.wall_s, self.rss_mb, self.wakes = None, 0.0, 0.0, 0.0, 0
        self.own_mb, self.threads, self.status, self.output = 0.0, {}, {}, ""
        self.written, self.database_bytes = 0, 0
        self.answers = None  # what to divide by instead of good pages

    @property
    def pages(self):
        return max(1, self.answers or self.status.get("2xx", 0))

    def commits_per_page(self):
        """NaN of a ragno that does not tell."""
        return self.status.get("commits", float("nan")) / self.pages

    def per_page_ms(self):
        return self.cpu_s * 1000 / self.pages


class Sampler(threading.Thread):
    """Reads what the threads of a process have used, until they are gone."""

    TICK = os.sysconf("SC_CLK_TCK")

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.found, self.own_kb, self.over = pid, {}, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(SAMPLE_S):
            try:
                tasks = os.listdir(f"/proc/{self.pid}/task")
            except OSError:
                return
            for task in tasks:
                self._look(task)

    def _look(self, task):
        try:
            with open(f"/proc/{self.pid}/task/{task}/status") as file:
                status = dict(line.split(":", 1) for line in file if ":" in line)
            with open(f"/proc/{self.pid}/task/{task}/schedstat") as file:
                cpu_s = int(file.read().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            return  # it has ended meanwhile
        self.own_kb = max(self.own_kb, int(status.get("RssAnon", "0").split()[0]))
        self.found[task] = (status["Name"].strip(), cpu_s,
                            int(status["voluntary_ctxt_switches"]))

    def threads(self):
        self.over.set()
        self.join()
        sums = collections.defaultdict(lambda: [0.0, 0])
        for name, cpu_s, wakes in self.found.values():
            kind = name.rstrip("0123456789").rstrip("-")
            sums[kind][0] += cpu_s
            sums[kind][1] += wakes
        return {kind: Thread(*both) for kind, both in sums.items()}


def run(command, cores=None):
    """Runs a program to its end. cores: on these alone."""
    result = Run()
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None)
        try:
            sampler = Sampler(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = result.code = os.waitstatus_to_exitcode(status)
        result.wall_s = time.monotonic() - start
        result.threads = sampler.threads()
        result.own_mb = sampler.own_kb / 1024
        output.seek(0)
        result.output = output.read()
    result.cpu_s = usage.ru_utime + usage.ru_stime
    result.rss_mb = usage.ru_maxrss / 1024
    result.wakes = usage.ru_nvcsw
    result.written = usage.ru_oublock * 512
    return result


class Place:
    """A temporary directory of a benchmark."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="ragno-bench-")

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Web:
    """The synthetic web in directory path; options are those of `web --help`, with _ for -."""

    def __init__(self, path, **options):
        self.seeds = os.path.join(path, "seeds.txt")
        command = [f"{BUILD}/web", "--port", "0", "--dns-port", "0", "--seeds", self.seeds]
        for key, value in options.items():
            if value is not False:
                command.append("--" + key.replace("_", "-"))
            if value is not True and value is not False:
                command.append(str(value))
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        words = self.process.stdout.readline().split()
        if not words or words[0] != "ready":
            raise RuntimeError("web did not start: " + self.process.stderr.read())
        ports = dict(word.split("=") for word in words[1:])
        self.dns, self.http = int(ports["dns"]), int(ports["http"])
        self.https = int(ports.get("https", 0))
        self.cpu_s, self.counters = 0.0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def used_s(self):
        """CPU seconds of it so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / Sampler.TICK

    def pin(self, cores):
        """Its threads run on these alone from now on."""
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            os.sched_setaffinity(int(task), cores)

    def stop(self):
        """Ends it; counters is what it printed."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            text = self.process.stderr.read()
            _, _, usage = os.wait4(self.process.pid, 0)
            self.process.returncode = 0
            self.cpu_s = usage.ru_utime + usage.ru_stime
            for line in text.splitlines():
                for word in line.split():
                    if "=" in word:
                        key, value = word.split("=", 1)
                        self.counters[key] = self.counters.get(key, 0) + int(value)
            self.process.stdout.close()
            self.process.stderr.close()


def command(program, web, directory, options, wait="0", ip_wait="0", connections=CONNECTIONS, seeds=None,
            http=None, config=None, https=None):
    """The command line of a crawl; http, https: other ports than the web's own; config: a file of options."""
    https = https or web.https
    ports = f"80:{http or web.http}" + (f",443:{https}" if https else "")
    words = [program, "-d", directory, "-i", seeds or web.seeds, "-w", wait, "--ip-wait", ip_wait,
             "--progress=never", "--set", f"fetch.port_map={ports}",
             "--set", f"dns.servers=127.0.0.1:{web.dns}",
             "--set", "fetch.allow_addresses=127.0.0.0/8",
             "--set", f"fetch.connections={connections}"]
    words += ["-c", config] if config else []
    for option in options:
        words += ["--set", option]
    return words


def crawl(program, web, path, options=(), cores=None, codes=(0,), count_all=False, urls=None, **how):
    """One crawl into a new directory below path, which is removed after it. count_all: figures are by
    answer, robots.txt files included, not by good page. urls: a list that gets those that are counted,
    in their order."""
    directory = os.path.join(path, "crawl")
    shutil.rmtree(directory, ignore_errors=True)
    result = run(command(program, web, directory, options, **how), cores)
    try:
        with open(f"{directory}/status.json") as file:
            result.status = json.load(file)
    except (OSError, ValueError):
        pass
    database = f"{directory}/crawl.mdb/data.mdb"
    result.database_bytes = os.path.getsize(database) if os.path.exists(database) else 0
    if result.code not in codes:
        raise RuntimeError(f"{program} ended with exit status {result.code}: {result.output[-800:]}")
    if count_all or urls is not None:
        counted = (answers if count_all else good_pages)(f"{directory}/crawl.log")
        result.answers = len(counted)
        if urls is not None:
            urls[:] = counted
    shutil.rmtree(directory, ignore_errors=True)
    return result


def rows(log):
    """Status and URL of each line of crawl.log: time, status, bytes, URL."""
    with open(log) as file:
        for line in file:
            _, status, _, url, _ = line.split(maxsplit=4)
            yield int(status), url


def answers(log):
    """The URLs that a server answered."""
    return [url for status, url in rows(log) if status > 0]


def good_pages(log):
    """Those of pages that are there."""
    return [url for status, url in rows(log) if status == 200 and not is_rules(url)]


def is_rules(url):
    return url.endswith("/robots.txt")


def with_robots(urls):
    """Before the first page of each host its robots.txt, if it is not there."""
    seen = set()
    for url in urls:
        host = url.split("/", 3)[2]
        if host not in seen and not is_rules(url):
            yield f"{url.split(':', 1)[0]}://{host}/robots.txt"
        seen.add(host)
        yield url


class Floor:
    """The floor beneath a crawl (bench_floor.c): a program that does its work and nothing else, with
    the pages of a crawl in their order, and with the files of rules when it stores."""

    def __init__(self, path, port, address_of, authorities=None):
        """address_of: from the name of a host to its address. authorities: of servers with TLS."""
        self.path, self.port, self.address_of, self.urls = path, port, address_of, []
        self.authorities = [authorities] if authorities else []

    def run(self, stage, dns=0, connections=CONNECTIONS, rate=0):
        """dns: the port of a name server; then hosts are counted, too. connections: in flight. rate: so many
        are begun a second."""
        list_file, directory = f"{self.path}/floor.txt", f"{self.path}/floor"
        addresses = {}
        with open(list_file, "w") as file:
            for url in with_robots(self.urls) if stage in ("store", "handed", "warc") else self.urls:
                host = url.split("/", 3)[2]
                address = addresses.get(host) or addresses.setdefault(host, self.address_of(host))
                file.write(f"{address} {url}\n")
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        one = run([f"{BUILD}/bench/bench_floor", stage, list_file, str(self.port), str(connections),
                   str(len(addresses)), directory, str(dns or 0), str(rate)] + self.authorities)
        shutil.rmtree(directory, ignore_errors=True)
        if one.code != 0:
            raise RuntimeError(f"no floor: {one.output}")
        one.answers = len(self.urls)
        return one


class WriterFloor:
    """The floor beneath the thread that writes (bench_writer.c): what it gave to LMDB and to files, as
    rows_shim.so has recorded it of one crawl, given to them again and nothing else done."""

    def __init__(self, path, crawl):
        """crawl(): one crawl of this ragno; how long it takes does not matter."""
        self.path, self.log = path, f"{path}/rows.log"
        shim = {"LD_PRELOAD": os.path.abspath(f"{BUILD}/crash/rows_shim.so"), "ROWS_RECORD": self.log}
        os.environ.update(shim)
        try:
            self.pages = crawl().pages
        finally:
            for name in shim:
                del os.environ[name]

    def run(self):
        """By the name of the figure, ms a page."""
        directory = f"{self.path}/rows"
        os.mkdir(directory)
        one = run([f"{BUILD}/bench/bench_writer", self.log, str(self.pages), directory])
        shutil.rmtree(directory)
        if one.code != 0:
            raise RuntimeError(f"no floor of the writer: {one.output}")
        self.tables = [line for line in one.output.splitlines() if line.startswith("    ")]
        words = [line.split() for line in one.output.splitlines() if line.startswith("writer.")]
        return {row[0].removeprefix("writer."): float(row[2]) for row in words}


def programs():
    """(label, program): this ragno and, with COMPARE, another."""
    found = [("this", f"{BUILD}/ragno")]
    return found + [("other", OTHER)] if OTHER else found


def median(runs, of):
    return statistics.median(of(one) for one in runs)


class Runs:
    """All runs of one workload: this ragno's, and those of the one compared with."""

    def __init__(self, name):
        self.name, self.by, self.floors = name, {"this": [], "other": []}, {}

    def figure(self, suffix, of, unit, digits=4):
        """Prints the median of this one's, and the ratio when there is another; returns it."""
        value = median(self.by["this"], of)
        put(f"{self.name}.{suffix}", value, unit, digits)
        if self.by["other"]:
            other = median(self.by["other"], of)
            put(f"{self.name}.{suffix}.other", other, unit, digits)
            put(f"{self.name}.{suffix}.ratio", value / other if other else 0, "", 3)
        return value

    def cpu(self):
        return self.figure("cpu_ms_per_page", Run.per_page_ms, "ms")

    def floor_ms(self, label):
        return median(self.floors[label], Run.per_page_ms)

    def over_floors(self):
        """Each floor, and this one's CPU and the other's by it."""
        for label in self.floors:
            floor = self.floor_ms(label)
            put(f"{self.name}.{label}", floor, "ms")
            for which, suffix in (("this", ""), ("other", ".other")):
                if self.by[which]:
                    put(f"{self.name}.over_{label}{suffix}",
                        median(self.by[which], Run.per_page_ms) / floor, "", 3)

    def rss(self):
        """Of the crawl at most, what of it is no mapped file, and the floor's, when it was run."""
        value = self.figure("rss_mb", lambda one: one.rss_mb, "MB", 0)
        self.figure("rss_own_mb", lambda one: one.own_mb, "MB", 0)
        if "floor" in self.floors:
            floor = median(self.floors["floor"], lambda one: one.rss_mb)
            put(f"{self.name}.floor_rss_mb", floor, "MB", 0)
            put(f"{self.name}.rss_over_floor", value / floor, "", 3)
        return value

    def disk(self):
        """What was written, which is mostly the database's pages, and the file of the database."""
        self.figure("written_bytes_per_page", lambda one: one.written / one.pages, "bytes", 0)
        self.figure("database_mb", lambda one: one.database_bytes / 1e6, "MB", 1)

    def rate(self):
        return self.figure("pages_per_s", lambda one: one.pages / one.wall_s, "1/s", 0)

    def detail(self):
        """To standard error: each thread's CPU and wake-ups by page, and the commits."""
        for label, runs in self.by.items():
            if not runs:
                continue
            one = sorted(runs, key=Run.per_page_ms)[len(runs) // 2]
            say(f"{self.name} ({label}): {one.pages} pages, {one.cpu_s:.2f} s CPU, {one.wall_s:.2f} s,"
                f" {one.wakes / one.pages:.3f} wake-ups and "
                f"{one.commits_per_page():.4f} commits a page")
            for kind, thread in sorted(one.threads.items(), key=lambda row: -row[1].cpu_s):
                say(f"    {kind:12} {thread.cpu_s * 1000 / one.pages:8.4f} ms a page"
                    f" {thread.wakes / one.pages:8.3f} wake-ups a page")

    def thread_ms(self, kind):
        """CPU of the threads of a kind, by page."""
        return median(self.by["this"],
                      lambda one: one.threads.get(kind, Thread(0, 0)).cpu_s * 1000 / one.pages)

    def over_writer_floor(self, floor):
        """CPU of the writing thread, by the median of RUNS floors of it."""
        ms = self.thread_ms("ingest")
        put(f"{self.name}.writer_ms_per_page", ms, "ms")
        found = [floor.run() for _ in range(RUNS)]
        for name in found[0]:
            least = statistics.median(one[name] for one in found)
            put(f"{self.name}.writer_{name}", least, "ms")
            put(f"{self.name}.writer_over_{name}", ms / least, "", 2)
        say(f"{self.name}: rows of the writer", *floor.tables, sep="\n")

    def writer_share(self):
        """CPU of the writing thread, of all the process used."""
        return median(self.by["this"],
                      lambda one: one.threads.get("ingest", Thread(0, 0)).cpu_s / one.cpu_s)


def alternate(name, one_run, floors=()):
    """RUNS times, one_run(program) for each program in turn, and then each of floors: (name, function
    that returns a Run)."""
    runs = Runs(name)
    for _ in range(RUNS):
        for label, program in programs():
            runs.by[label].append(one_run(program))
        for label, floor in floors:
            runs.floors.setdefault(label, []).append(floor())
    return runs


def main(*groups):
    """Runs each group(path); the exit status says whether all could be measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = 0
    for group in groups:
        with Place() as path:
            try:
                group(path)
            except (RuntimeError, OSError) as error:
                say(f"bench: {group.__name__}: {error}")
                failed = 1
    sys.exit(failed)
