"""Slots move while a cluster crawls: an agent is added, drained, restored, killed in the middle. The web's own log
judges politeness, and how often each page was fetched; the directories are compared with one agent's crawl."""
import collections
import contextlib
import os
import random
import re
import shutil
import signal
import threading
import time

import cluster
import harness
import politeness

SEED = 5


def status(nats):
    return cluster.ragno("cluster", "status", "--url", nats.url(), "--name", cluster.NAME).stdout


def figure(text, name, agent=None):
    """A figure of the last line, or of an agent's."""
    lines = [line for line in text.splitlines()
             if line.startswith("cluster=" if agent is None else f"agent={agent} ")]
    words = dict(word.split("=", 1) for word in lines[0].split() if "=" in word) if lines else {}
    return int(words.get(name, -1)) if words.get(name, "0").isdigit() else -1


def command(nats, *words):
    return cluster.ragno("cluster", *words, "--url", nats.url(), "--name", cluster.NAME)


class Agents(cluster.Agents):
    """Each directory is the agent of its number."""

    def __init__(self, web, nats, path, agents=cluster.AGENTS):
        super().__init__(web, nats, path, agents=agents)
        self.commands = [[*c, "--set", f"cluster.agent={i}"] for i, c in enumerate(self.commands)]

    def logs(self):
        """The last lines of each log, for a test that has failed."""
        return "\n".join(f"-- {d}\n" + open(d + "/ragno.log").read()[-1500:] for d in self.directories
                         if os.path.isfile(d + "/ragno.log"))


def has_settled(nats):
    text = status(nats)
    return figure(text, "moving") == 0


def await_pages(nats, n):
    return harness.until(lambda: figure(status(nats), "pages") >= n, 120)


@contextlib.contextmanager
def crawling(report, path, pages=150, agents=cluster.AGENTS, started=cluster.AGENTS):
    """A crawl in the middle: the first agents run, and have so many pages."""
    with cluster.Nats(path) as nats, harness.Web(path, **cluster.SIZES) as web:
        cluster.make(report, nats)
        with Agents(web, nats, path, agents=agents) as processes:
            for i in range(started):
                processes.start(i)
            report.check("it crawls", await_pages(nats, pages), status(nats) + processes.logs())
            yield nats, web, processes


def finish(report, web, agents, codes=None, **again):
    """All end by themselves, and what holds after every move is judged; the pages that are to be there."""
    ended = agents.wait()
    report.check("all end by themselves", ended == (codes or [0] * len(ended)),
                 f"{ended} {[agents.said(i) for i in range(len(ended))]}")
    expected = web.graph_urls()
    web.stop()
    judge(report, web, agents, expected, **again)
    return expected


def judge(report, web, agents, expected, again=0, killed_us=None):
    """What holds after every move: polite, whole, each page once but for `again` of them (or what was under
    way at a kill), each directory sound."""
    requests = web.requests()
    politeness.judge(report, requests, web.hosts())
    pages = collections.Counter(harness.url_of(r) for r in requests if "R" not in r.flags)
    twice = sum(n - 1 for n in pages.values())
    if killed_us is None:
        report.check(f"pages fetched again: {twice} of {len(pages)}, at most {again}", twice <= again,
                     str(pages.most_common(3)))
    else:
        cluster.check_again(report, web, agents, killed_us)
    counts = [cluster.pages_of(d) for d in agents.directories if os.path.isdir(d)]
    together = set().union(*counts)
    report.check(f"all pages are stored ({[len(c) for c in counts]})", expected <= together,
                 f"{len(expected - together)} missing: {sorted(expected - together)[:3]}")
    for d in agents.directories:
        result = cluster.ragno("verify", d)
        report.check(f"{os.path.basename(d)} verifies", result.returncode == 0,
                     (result.stdout + result.stderr)[-400:])


def added(report, path):
    """Three agents become four in the middle of the crawl."""
    with crawling(report, path, agents=4) as (nats, web, agents):
        result = command(nats, "add")
        report.check("an agent is added", result.returncode == 0 and "agent 3" in result.stdout,
                     result.stdout + result.stderr)
        report.check("status shows that slots move", figure(status(nats), "moving") == 1024,
                     status(nats))
        agents.start(3)
        report.check("they arrive", harness.until(lambda: has_settled(nats), 120), status(nats))
        report.equal("each has its share",
                     [figure(status(nats), "slots", i) for i in range(4)], [1024] * 4)
        finish(report, web, agents)
    counts = [cluster.pages_of(d) for d in agents.directories]
    twice = [u for u, n in sum(counts, collections.Counter()).items() if n > 1]
    report.check("each page is at one agent", not twice, str(twice[:3]))
    report.check("the new one has some", len(counts[3]) > 20, str([len(c) for c in counts]))
    alone = path + "/web2"
    os.mkdir(alone)
    with harness.Web(alone, **cluster.SIZES) as web:
        harness.crawl(web, path + "/alone", "-q")
    report.same_set("what one agent alone fetches", set().union(*counts),
                    set(cluster.pages_of(path + "/alone")))


def drained(report, path):
    """One of three gives all it has away, is stopped, and the others end the crawl without it."""
    with crawling(report, path) as (nats, web, agents):
        result = command(nats, "drain", "1")
        report.equal("an agent is drained", (result.returncode, result.stderr), (0, ""))
        again = command(nats, "drain", "1")
        report.check("once", again.returncode == 1 and
                     ("under way" in again.stderr or "nothing to move" in again.stderr), again.stderr)
        report.check("its slots leave", harness.until(lambda: has_settled(nats), 120), status(nats))
        report.equal("it has none", figure(status(nats), "slots", 1), 0)
        agents.processes[1].send_signal(signal.SIGINT)
        report.equal("it stops", harness.ended(agents.processes[1], 60), 11)
        had = len(cluster.pages_of(agents.directories[1]))
        again = command(nats, "drain", "1")
        report.check("there is nothing left of it",
                     again.returncode == 1 and "nothing to move" in again.stderr, again.stderr)
        expected = finish(report, web, agents, codes=[0, 11, 0])
    report.check(f"it was not the end yet ({had})", 0 < had < len(expected) / 2, str(had))


def refusals(report, nats):
    """What cannot be done while agent 2 is away is told."""
    for name, sentence, *words in (
            ("to nobody", "no agent 9", "move", "7", "--from", "0", "--to", "9"),
            ("to one that is away", "agent 2 is away", "move", "7", "--from", "0", "--to", "2"),
            ("from one that is away", "agent 2 is away", "move", "7", "--from", "2", "--to", "0"),
            ("a drain of one that is away", "restore 2", "drain", "2"),
            ("a restore of one that runs", "agent 1 runs", "restore", "1"),
            ("a restore of one that never was", "waits for a directory", "restore", "2")):
        refusal(report, nats, name, sentence, *words)
    report.equal("wrong words", [command(nats, *w).returncode for w in (
        ("move", "7", "--to", "1"), ("add", "7"), ("drain",), ("move", "0", "--from", "1", "--to", "0"))],
                 [2] * 4)


def refusal(report, nats, name, sentence, *words):
    result = command(nats, *words)
    report.check(name, result.returncode == 1 and sentence in result.stderr,
                 f"{result.returncode}: {result.stderr}")


def moved(report, path):
    """Slots, and one host, go from one agent to another; and what cannot be done is told."""
    with crawling(report, path, pages=0, started=2) as (nats, web, agents):
        report.check("two run", harness.until(lambda: figure(status(nats), "running") == 2), status(nats))
        refusals(report, nats)
        agents.start(2)
        report.check("it crawls", await_pages(nats, 150), status(nats) + agents.logs())
        host = sorted(web.hosts())[0]
        result = command(nats, "move", "600", "--from", "0", "--to", "1")
        report.check("slots move", result.returncode == 0 and "600 slots" in result.stdout,
                     result.stdout + result.stderr)
        for to in range(3):  # to two of them there is something to move
            result = command(nats, "move", f"http://{host}/", "--to", str(to))
            if result.returncode == 0:
                break
        report.check("a host moves", result.returncode == 0, result.stderr)
        refusal(report, nats, "it moves already", "under way", "move", host, "--to", str((to + 1) % 3))
        report.check("they arrive", harness.until(lambda: has_settled(nats), 120), status(nats))
        refusal(report, nats, "it is there", "nothing to move", "move", host, "--to", str(to))
        finish(report, web, agents)


def restored(report, path):
    """The disk of an agent is lost; an empty directory in its place gets its part of the frontier back."""
    harness.unlogged("its log is lost with it")
    with crawling(report, path, pages=300) as (nats, web, agents):
        agents.processes[1].kill()
        agents.processes[1].wait()
        lost = set(cluster.pages_of(agents.directories[1]))
        asked = {harness.url_of(r) for r in web.requests() if "R" not in r.flags}
        asked -= set().union(*(cluster.pages_of(agents.directories[i]) for i in (0, 2)))  # with what was not committed
        shutil.rmtree(agents.directories[1])
        result = harness.run(agents.commands[1], 60)
        report.check("an empty directory is refused",
                     result.returncode == 17 and "has a directory already" in result.stderr,
                     f"{result.returncode} {result.stderr[-300:]}")
        shutil.rmtree(agents.directories[1], ignore_errors=True)
        result = command(nats, "restore", "1")
        report.check("it is restored", result.returncode == 0 and "begins anew" in result.stdout,
                     result.stdout + result.stderr)
        agents.start(1)
        finish(report, web, agents, again=len(lost | asked) + 20)
    report.check(f"much was lost ({len(lost)})", len(lost) > 20, str(len(lost)))


def killed(report, path):
    """Agents are killed while slots move: an agent comes, another is drained, each dies in the middle."""
    randomness = random.Random(SEED)
    kills = 24 if harness.FULL else 8
    stop = threading.Event()
    killed_us = []
    with crawling(report, path, pages=100, agents=4) as (nats, web, agents):
        report.equal("an agent is added", command(nats, "add").returncode, 0)
        agents.start(3)
        drains = False
        for k in range(kills):
            stop.wait(0.3 + 1.2 * randomness.random())
            place = randomness.choice((3, 0, 1, 2)) if not drains else randomness.randrange(4)
            if agents.processes[place].poll() is None:
                agents.processes[place].kill()
                agents.processes[place].wait()
                killed_us.append(time.monotonic_ns() // 1000)
                agents.start(place)
            if k >= kills // 2 and not drains:
                drains = harness.until(lambda: command(nats, "drain", "0").returncode == 0, 60)
        report.check("one is drained meanwhile", drains, status(nats))
        report.check("all arrive", harness.until(lambda: has_settled(nats), 180), status(nats))
        finish(report, web, agents, killed_us=killed_us)
    report.check(f"some were killed ({len(killed_us)})", len(killed_us) > kills / 2, "")


def without_server(report, path):
    """The server is killed every second while an agent takes its share over; once its disk is lost, too."""
    kills = 24 if harness.FULL else 6
    stop = threading.Event()
    moving = 0
    with crawling(report, path, pages=100, agents=4) as (nats, web, agents):
        report.equal("an agent is added", command(nats, "add").returncode, 0)
        report.check("an agent knows", harness.until(
            lambda: re.search(r" moves=(?!none)", status(nats))), status(nats))
        for k in range(kills):
            moving += not has_settled(nats)
            nats.kill()
            if k == 0:
                shutil.rmtree(nats.store)
            nats.start()
            if k == 1:  # a new directory is refused as long as there is no table
                harness.until(lambda: command(nats, "status").returncode == 0)
                agents.start(3)
            stop.wait(1)
        report.check(f"some die while slots move ({moving} of {kills})", moving > 1, status(nats))
        report.check("they arrive", harness.until(lambda: has_settled(nats), 180),
                     status(nats) + agents.said(3) + agents.logs())
        finish(report, web, agents)
    report.check("the new one has some", len(cluster.pages_of(agents.directories[3])) > 20, "")


if __name__ == "__main__":
    harness.main(added, drained, moved, restored, killed, without_server)
