"""Several agents, one crawl: three agents and nats-server on loopback against the synthetic web. The
web's own log says whether agents are polite together; the directories say whether they have what one
agent alone has."""
import collections
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import harness
import politeness

AGENTS = 3
SEED = 11
KILLS, KILL_S = (100, 1.0) if harness.FULL else (8, 2.0)
RESTARTS = 8  # the moment in which a want can be lost is short, and longer on a busy machine
NAME = "crawl-1"
# Hosts of web.test would be one registered domain, and so one agent's.
SIZES = dict(hosts=60, addresses=20, pages=900, skew=0.2, suffix="test")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Nats:
    """nats-server with JetStream below path, on a port that it keeps. It is started again when it ends
    by itself, as a service manager does: 2.9.10 crashes when a bucket is asked in the moment in which
    another client makes it (jsMsgGetRequest)."""

    def __init__(self, path, settings=""):
        self.store = path + "/js"
        self.port = free_port()
        self.log = path + "/nats.log"
        self.config = path + "/nats.conf"
        with open(self.config, "w") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\n'
                       f'jetstream {{ store_dir: "{self.store}" }}\n{settings}\n')
        self.process = None
        self.start()

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", "while :; do nats-server -c \"$0\"; sleep 0.1; done", self.config],
                stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        if not harness.until(self.answers):
            raise RuntimeError("nats-server did not start: " + open(self.log).read()[-500:])

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        harness.until(lambda: not self.answers())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def ragno(*words, timeout=60):
    return harness.run([f"{harness.OUT}/ragno", *words], timeout)


def make(report, nats, *words, agents=AGENTS):
    result = ragno("cluster", "init", "--agents", str(agents), "--url", nats.url(), "--name", NAME,
                   *words)
    report.equal("a cluster is made", (result.returncode, result.stderr), (0, ""))


def agent_command(web, nats, directory, *words):
    return harness.crawl_command(
        web, directory, "-q", "--set", f"cluster.url={nats.url()}", "--set", f"cluster.name={NAME}",
        "--set", "cluster.lease=2s", "--set", "fetch.total_timeout=3s", *words,
        wait=f"{politeness.HOST_DELAY_MS}ms", ip_wait=f"{politeness.IP_DELAY_MS}ms")


class Agents:
    """The processes, by number of their directories; what they say is kept."""

    def __init__(self, web, nats, path, *words, agents=AGENTS):
        self.directories = [f"{path}/agent{i}" for i in range(agents)]
        self.commands = [agent_command(web, nats, d, *words) for d in self.directories]
        self.processes = [None] * agents

    def start(self, i):
        with open(self.directories[i] + ".err", "a") as errors:
            self.processes[i] = subprocess.Popen(self.commands[i], stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=errors)

    def start_all(self):
        for i in range(len(self.processes)):
            self.start(i)

    def said(self, i):
        with open(self.directories[i] + ".err") as file:
            return file.read()[-600:]

    def wait(self):
        return [harness.ended(p, 250) for p in self.processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p is not None:
                harness.end_process(p)


def pages_of(directory):
    return collections.Counter(u for u, _, n in harness.db_rows(directory) if n > 0)


def log_lines(directory):
    try:
        with open(directory + "/crawl.log") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


def check_whole(report, agents, expected):
    """Together they have all pages, nobody a page of another, and each directory is sound."""
    counts = [pages_of(d) for d in agents.directories]
    together = sum(counts, collections.Counter())
    report.check(f"all pages are stored ({[len(c) for c in counts]})", expected <= set(together),
                 f"{len(expected - set(together))} missing")
    twice = [u for u, n in together.items() if n > 1]
    report.check("each at one agent", not twice, f"{len(twice)}: {twice[:3]}")
    report.check("every agent has some", all(counts), str([len(c) for c in counts]))
    for i, d in enumerate(agents.directories):
        result = ragno("verify", d)
        report.check(f"agent {i} verifies", result.returncode == 0,
                     (result.stdout + result.stderr)[-400:])


def check_again(report, web, agents, killed_us):
    """What is fetched again was under way at a kill, between its two fetches, and had not been committed."""
    fetched = collections.defaultdict(list)
    for request in sorted(web.requests(), key=lambda r: r.start):
        if "R" not in request.flags:
            fetched[harness.url_of(request)].append(request.start)
    pairs = [(u, a, b) for u, starts in fetched.items() for a, b in zip(starts, starts[1:])]
    other = [u for u, a, b in pairs if not any(a <= k <= b for k in killed_us)]
    report.check(f"what is fetched again was under way at a kill ({len(pairs)} of {len(fetched)} pages, "
                 f"{len(killed_us)} kills)", not other, f"{len(other)}: {other[:3]}")
    committed = sum((answered(d, lambda url: url) for d in agents.directories if os.path.isdir(d)),
                    collections.Counter())
    twice = [u for u, n in committed.items() if n > 1]
    report.check(f"nothing that was committed ({len(committed)} lines of 200)", committed and not twice,
                 f"{len(twice)}: {twice[:3]}")


def three_agents(report, path):
    """Without a mishap: as one agent alone, politely, and it ends by itself."""
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            codes = agents.wait()
            report.equal("all end by themselves", codes, [0] * AGENTS)
            hosts, expected = web.hosts(), web.graph_urls()
        web.stop()
        requests = web.requests()
        politeness.judge(report, requests, hosts)
        pages = collections.Counter(harness.url_of(r) for r in requests if "R" not in r.flags)
        twice = [u for u, n in pages.items() if n > 1]
        report.check("nothing is fetched twice", not twice, f"{len(twice)}: {twice[:3]}")
        robots = collections.Counter(r.host for r in requests if "R" in r.flags)
        report.check("nor a robots.txt", max(robots.values()) == 1, str(robots.most_common(3)))
        check_whole(report, agents, expected)
    alone = path + "/web2"
    os.mkdir(alone)
    with harness.Web(alone, **SIZES) as web:
        harness.crawl(web, path + "/alone", "-q")
    together = set().union(*(pages_of(d) for d in agents.directories))
    report.same_set("what one agent alone fetches", together, set(pages_of(path + "/alone")))


def ranks(report, path):
    """What flows between agents is exchanged while the crawl runs, and counts in `ragno rank`."""
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path, "--set", "score.scorer=pagerank", "--set",
                    "score.min_pages=20", "--set", "score.growth=0.1") as agents:
            agents.start_all()
            report.equal("all end by themselves", agents.wait(), [0] * AGENTS)
        total, listed, numbers = 0.0, [], set()
        for d in agents.directories:
            result = ragno("rank", d, "pagerank", "--top", "0")
            rows = [line.split("\t") for line in result.stdout.splitlines()]
            listed.append({row[1] for row in rows})
            total += sum(float(row[0]) for row in rows)
            report.equal("an agent is ranked", result.returncode, 0)
            said = re.search(r"pages of agent (\d) of 3;", result.stderr)
            number = int(said.group(1)) if said else -1
            numbers.add(number)
            for other in set(range(AGENTS)) - {number}:
                report.check(f"and it is said when agent {other} was heard",
                             f"agent {other}, as of 20" in result.stderr, result.stderr[-300:])
        report.equal("and whose pages they are", numbers, set(range(AGENTS)))
        twice = sum(len(urls) for urls in listed) - len(set().union(*listed))
        report.equal("no page is listed by two agents", twice, 0)
        report.check(f"all scores together are 1 ({total:.3f})", 0.7 < total < 1.4, "")


def parents(report, directory):
    """`ragno export pages` names the page of another agent that a page was found on, and that agent's export has it."""
    def rows_of(name):
        result = ragno("export", name, "pages", "--format", "jsonl", "--no-archive")
        return [json.loads(line) for line in result.stdout.splitlines()]

    rows = rows_of(directory)
    linked = {row["url"]: row["linked_from"] for row in rows}
    foreign = {u: re.fullmatch(r"agent (\d+) page (\d+)", parent or "") for u, parent in linked.items()}
    foreign = {u: found.groups() for u, found in foreign.items() if found}
    without = [row for row in rows if row["found"] == "L" and not row["linked_from"]]
    report.check(f"every page that was linked to has its parent in an export ({len(foreign)} at other agents)",
                 foreign and not without, f"{len(without)}: {without[:2]}")
    folder = os.path.dirname(directory)
    others = [{str(row["index"]): row["url"] for row in rows_of(f"{folder}/{name}")}
              for name in os.listdir(folder) if re.fullmatch(r"agent\d", name)]
    some = {u: foreign[u] for u in list(foreign)[:20]}
    paths_of = {u: ragno("db", directory, "path", u).stdout.split()[-2] for u in some}
    for agent in {agent for agent, _ in some.values()}:
        pages = {page: paths_of[u] for u, (number, page) in some.items() if number == agent}
        report.check(f"an agent has those of agent {agent}, as their paths say",
                     any(all(urls.get(page) == url for page, url in pages.items()) for urls in others), pages)


def paths(report, path):
    """`ragno db path` and `why` ask the other agents, and say which of them does not answer."""
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            directories = agents.directories
            some = harness.until(lambda: all(log_lines(d) >= 60 for d in directories))
            report.check("all agents have pages", some, str([log_lines(d) for d in directories]))
            for d in directories:
                ragno("ctl", d, "pause")
            with open(web.seeds) as file:
                seeds = file.read().split()
            seed = seeds[0]
            home = next(d for d in directories if seed in pages_of(d))
            away = next(d for d in directories if d != home)
            answers = {u: ragno("db", away, "path", u) for u in list(pages_of(away))[:40]}
            begins = {u: a.stdout.splitlines()[:1] for u, a in answers.items()}
            report.check("every path begins with the seed", all(b and b[0] in seeds for b in begins.values()),
                         str([(u, a.stdout, a.stderr) for u, a in answers.items()
                              if not set(begins[u]) & set(seeds)][:3]))
            report.check("and ends with its page", all(a.stdout.splitlines()[-1:] == [u]
                                                       for u, a in answers.items()), "")
            why = ragno("why", away, seed)
            report.check("why says whose page it is", "Its host belongs to agent" in why.stdout and
                         "says:" in why.stdout and why.returncode == 0, why.stdout + why.stderr)
            why = json.loads(ragno("why", away, "--json", seed).stdout)
            report.check("and as JSON", why["owner"]["says"]["state"] == "fetched", str(why))
            befores = [json.loads(ragno("why", away, "--json", u).stdout).get("before") for u in list(answers)[:20]]
            ends = {b["pages"][-1]["url"] for b in befores if b}
            report.check(f"as is how others found the first page of a path ({len(ends)} seeds)",
                         ends and ends <= set(seeds), str(befores[:2]))
            parents(report, away)
            agents.processes[directories.index(home)].kill()
            agents.processes[directories.index(home)].wait()
            short = [ragno("db", away, "path", u) for u in list(answers)[:40]]
            told = [a for a in short if "does not run" in a.stderr]
            report.check("an agent that is away is named", told and
                         all(a.returncode == 1 and a.stdout for a in told), str(short[:2]))
            why = ragno("why", away, seed)
            report.check("also by why", "It cannot be asked: agent" in why.stdout, why.stdout)
            nats.kill()
            lost = ragno("db", away, "path", list(answers)[0])
            report.check("without the server, too", lost.returncode in (0, 1), lost.stderr)
            nats.start()


def killed(report, path):
    """Agents and server are killed again and again; JetStream's directory is lost once."""
    randomness = random.Random(SEED)
    killed_us = []
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            stop = threading.Event()
            for k in range(KILLS):
                stop.wait(KILL_S * (0.5 + randomness.random()))
                place = randomness.randrange(AGENTS + 1)
                if place == AGENTS:
                    nats.kill()
                    if k >= KILLS // 2 and os.path.exists(nats.store):
                        shutil.rmtree(nats.store)
                    nats.start()
                elif agents.processes[place].poll() is None:
                    agents.processes[place].kill()
                    agents.processes[place].wait()
                    killed_us.append(time.monotonic_ns() // 1000)
                    agents.start(place)
            codes = agents.wait()
            report.check("all end by themselves", codes == [0] * AGENTS,
                         f"{codes} {[agents.said(i) for i in range(AGENTS)]}")
            hosts, expected = web.hosts(), web.graph_urls()
        web.stop()
        requests = web.requests()
        politeness.judge(report, requests, hosts)
        check_whole(report, agents, expected)
        check_again(report, web, agents, killed_us)


def crash_loop(report, path):
    """Agents are killed again and again, one every two seconds on average: the crawl goes on between."""
    randomness = random.Random(SEED)
    rates = {}
    with Nats(path) as nats, harness.Web(path, **{**SIZES, "pages": 20000}) as web:
        make(report, nats)
        with Agents(web, nats, path, "--set", "politeness.host_delay=1s") as agents:
            agents.start_all()
            harness.until(lambda: len(web.requests()) > 150)

            def measure(name, seconds, kills):
                begin = time.monotonic_ns() // 1000
                while time.monotonic_ns() // 1000 < begin + seconds * 1e6:
                    time.sleep(0.5 + 3 * randomness.random())
                    if kills:
                        place = randomness.randrange(AGENTS)
                        agents.processes[place].kill()
                        agents.processes[place].wait()
                        agents.start(place)
                ended = time.monotonic_ns() // 1000
                n = sum(begin < r.start < ended for r in web.requests())
                rates[name] = n / ((ended - begin) / 1e6)
            measure("calm", 8, False)
            measure("killed", 24, True)
            for p in agents.processes:
                harness.end_process(p, (signal.SIGINT, signal.SIGKILL))
            hosts = web.hosts()
        web.stop()
        politeness.judge(report, web.requests(), hosts)
    report.check(f"at least half of the pages ({rates})", rates["killed"] >= rates["calm"] / 2, str(rates))


def wants_a_lease(directory):
    said = ragno("ctl", directory, "status")
    return said.returncode == 0 and re.search(r"^leases(_wanted)? *=? *1$", said.stdout, re.M)


def begun_anew(report, path):
    """What a host waits for from the first moment of a run is asked for."""
    with Nats(path) as nats, harness.Web(path, hosts=1, pages=2000, suffix="test") as web:
        make(report, nats, agents=1)
        with Agents(web, nats, path, agents=1) as agents:
            wanted = 0
            for _ in range(RESTARTS):
                agents.start(0)
                wanted += harness.until(lambda: wants_a_lease(agents.directories[0]), 30) is not None
                agents.processes[0].kill()
                agents.processes[0].wait()
    report.equal("each time", wanted, RESTARTS)


def limits(report, path):
    """crawl.max_pages is of all agents together, to the page."""
    most = 300
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path, "--max-pages", str(most)) as agents:
            agents.start_all()
            report.equal("all stop at the limit", agents.wait(), [14] * AGENTS)
        web.stop()
        pages = [sum(pages_of(d).values()) for d in agents.directories]
        report.equal(f"its sum is exact ({pages})", sum(pages), most)


def answered(directory, what=lambda url: url.split("/")[2]):
    """The pages that were answered with 200, by domain (or what else), from the log."""
    count = collections.Counter()
    with open(directory + "/crawl.log") as file:
        for line in file:
            words = line.split()
            if words[1] == "200" and not words[3].endswith("/robots.txt"):
                count[what(words[3])] += 1
    return count


def domains(report, path):
    """A domain has one owner, so its limits are the whole crawl's: each of its hosts (here it has
    one) ends with the page that comes after the last."""
    most = 5
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        make(report, nats)
        with Agents(web, nats, path, "--set", f"limits.pages_per_domain={most}") as agents:
            agents.start_all()
            report.equal("all end by themselves", agents.wait(), [0] * AGENTS)
    by_agent = [answered(d) for d in agents.directories]
    together = sum(by_agent, collections.Counter())
    report.equal("each domain is at one agent", sum(len(c) for c in by_agent), len(together))
    report.check(f"none has more ({len(together)} domains)", max(together.values()) <= most + 1,
                 str(together.most_common(3)))
    full = sum(n >= most for n in together.values())
    report.check(f"and {full} of them as many", full > len(together) // 2, str(together))


def forgotten(report, path):
    """The server loses the cluster before any agent has joined: it is made again."""
    with Nats(path) as nats, harness.Web(path, hosts=6, addresses=3, pages=30, suffix="test") as web:
        make(report, nats)
        nats.kill()
        shutil.rmtree(nats.store)
        nats.start()
        result = harness.run(agent_command(web, nats, path + "/agent0"), 60)
        report.check("an agent says what to do", result.returncode == 17 and
                     "`ragno cluster init` (again" in result.stderr, result.stderr[-300:])
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            report.equal("and then they crawl", agents.wait(), [0] * AGENTS)
            found = set().union(*(pages_of(d) for d in agents.directories))
            missing = web.graph_urls() - found
            report.check("all of it", not missing, str(missing))


def refused(report, path):
    """Who may not be an agent is told why, and nothing is fetched."""
    with Nats(path) as nats, harness.Web(path, **SIZES) as web:
        def refusal(name, words, sentence, directory=path + "/other"):
            result = harness.run(agent_command(web, nats, directory, *words), 60)
            report.check(name, result.returncode in (2, 17) and sentence in result.stderr,
                         f"{result.returncode}: {result.stderr[-300:]}")

        refusal("without `cluster init`", [], "there is no cluster")
        make(report, nats)
        result = ragno("cluster", "init", "--agents", "3", "--url", nats.url(), "--name", NAME)
        report.check("a second init changes nothing",
                     result.returncode == 1 and "already" in result.stderr, result.stderr)
        with Agents(web, nats, path) as agents:
            agents.start(0)
            status = ["cluster", "status", "--url", nats.url(), "--name", NAME]
            report.check("status shows who runs", harness.until(
                lambda: " running=1 " in ragno(*status).stdout), ragno(*status).stdout)
            report.check("and what bounds it", re.search(r" limit=[a-z]+ ", ragno(*status).stdout),
                         ragno(*status).stdout)
            report.check("so does ragno status URL",
                         " running=1 " in ragno("status", f"{nats.url()}/{NAME}").stdout, "no")
            refusal("other delays", ["-w", "1s"], "politeness.host_delay")
            refusal("a number beyond the table", ["--set", "cluster.agent=9"], "cluster.agent")
            refusal("a secret in the URL", ["--set", "cluster.url=nats://me:word@127.0.0.1:1"],
                    "cluster.credentials")
            with open(path + "/open.txt", "w") as file:
                file.write("user me word\n")
            os.chmod(path + "/open.txt", 0o644)
            refusal("credentials that others can read",
                    ["--set", f"cluster.credentials={path}/open.txt"], "chmod 600")
            refusal("scope.stay", ["--set", "scope.stay=host"], "scope.stay")
            agents.processes[0].send_signal(signal.SIGINT)
            report.equal("the agent stops", harness.ended(agents.processes[0]), 11)
            shutil.copytree(agents.directories[0], path + "/copy")
            agents.start(0)
            report.check("it goes on", harness.until(
                lambda: " running=1 " in ragno(*status).stdout), ragno(*status).stdout)
            refusal("a copy of its directory", [], "copy of this directory", path + "/copy")
            shutil.copytree(agents.directories[0], path + "/double", ignore=shutil.ignore_patterns("control"))
            refusal("a copy of a directory that runs", [], "runs already", path + "/double")
            report.check("which goes on", agents.processes[0].poll() is None and
                         " running=1 " in ragno(*status).stdout, ragno(*status).stdout)
    single = path + "/single"
    with harness.Web(path, hosts=2, pages=10) as web:
        harness.crawl(web, single, "-q")
        with Nats(single) as nats:
            make(report, nats)
            result = harness.run(agent_command(web, nats, single), 60)
            report.check("a crawl of one agent alone", result.returncode == 2 and
                         "one agent alone" in result.stderr, f"{result.returncode}: {result.stderr}")


def secrets(report, path):
    """The server wants a user, a token: right ones are taken, wrong ones are told of."""
    for kind, settings, right, wrong in (
            ("user", 'authorization { user: "me", password: "a long word" }', "user me a long word",
             "user me a long"),
            ("token", 'authorization { token: "secret" }', "token secret", "token guess")):
        below = f"{path}/{kind}"
        os.mkdir(below)
        with Nats(below, settings) as nats:
            for name, text in (("right", right), ("wrong", wrong)):
                with open(f"{below}/{name}", "w") as file:
                    file.write(text + "\n")
                os.chmod(f"{below}/{name}", 0o600)
            make(report, nats, "--credentials", f"{below}/right")
            result = ragno("cluster", "status", "--url", nats.url(), "--name", NAME,
                           "--credentials", f"{below}/wrong")
            report.check(f"a wrong {kind} is not taken", result.returncode == 4,
                         f"{result.returncode}: {result.stderr}")


def alone_without_library(report, path):
    """Without a [cluster] section no library is loaded, and none is linked."""
    with harness.Web(path, hosts=20, pages=200) as web:
        command = harness.crawl_command(web, path + "/crawl", "-q", wait="200ms")
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
            maps = f"/proc/{process.pid}/maps"
            harness.until(lambda: os.path.exists(path + "/crawl/status.log"))
            with open(maps) as file:
                loaded = file.read()
            threads = [open(f"/proc/{process.pid}/task/{t}/comm").read().strip()
                       for t in os.listdir(f"/proc/{process.pid}/task")]
            harness.end_process(process, (signal.SIGINT, signal.SIGKILL))
    report.check("libnats is not loaded", "libnats" not in loaded and "liblmdb" in loaded, loaded)
    report.check("there is no thread of it", "cluster" not in threads, str(threads))
    linked = harness.run(["ldd", f"{harness.OUT}/ragno"]).stdout
    report.check("nor linked", "nats" not in linked and "lmdb" in linked, linked)


if __name__ == "__main__":
    harness.main(three_agents, ranks, paths, killed, crash_loop, begun_anew, limits, domains, forgotten,
                 refused, secrets, alone_without_library)
