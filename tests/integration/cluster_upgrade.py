"""Agents are replaced by those of the next version one after the other, while the crawl goes on. Two more builds are
made for it: their agents speak the next version of messages (NODE_WIRE), and the one after that."""
import collections
import json
import re
import signal
import subprocess

import cluster
import harness
import politeness

SIZES = dict(cluster.SIZES, pages=2000)
STOPPED = 11  # exit status


def wire_of(step):
    """The version that this many builds later is spoken; 0: by the program that is tested."""
    with open("src/cluster/message/node_link.h") as file:
        return int(re.search(r"^#define NODE_WIRE (\d+)u$", file.read(), flags=re.M).group(1)) + step


def program(step):
    path = f"{harness.OUT}/wire-{wire_of(step)}/ragno"
    made = subprocess.run(["make", f"OUT={harness.OUT}", path], capture_output=True, text=True)
    if made.returncode != 0:
        raise ValueError(made.stderr[-500:])
    return path


def spoken(directory):
    """By the lines of its log in which an agent is connected."""
    with open(directory + "/ragno.log") as file:
        return [int(n) for n in re.findall(r" wire=(\d+)", file.read())]


def one_by_one(report, path):
    newer, too_new = program(1), program(2)
    with cluster.Nats(path) as nats, harness.Web(path, **SIZES) as web:
        cluster.make(report, nats)
        with cluster.Agents(web, nats, path) as agents:
            agents.start_all()
            report.check("all are at work", harness.until(lambda: all(cluster.log_lines(d) >= 20
                                                                      for d in agents.directories)), "")
            for i, command in enumerate(agents.commands):
                agents.processes[i].send_signal(signal.SIGTERM)
                report.equal(f"agent {i} stops", harness.ended(agents.processes[i], 60), STOPPED)
                refused = harness.run([too_new, *command[1:]])
                report.check("the version behind the next one is refused", refused.returncode == 17 and
                             f"here wire = {wire_of(2)}, there wire = {wire_of(0)}" in refused.stderr,
                             f"{refused.returncode}: {refused.stderr[-300:]}")
                before = cluster.log_lines(agents.directories[i])
                command[0] = newer
                agents.start(i)
                report.check("the next version goes on in its place",
                             harness.until(lambda: cluster.log_lines(agents.directories[i]) > before + 5),
                             agents.said(i))
                asked = harness.run([newer, "status", f"{nats.url()}/{cluster.NAME}", "--json"])
                states = [agent["state"] for agent in json.loads(asked.stdout or '{"agents": []}')["agents"]]
                report.equal("and asks all, as they ask each other", states, ["running"] * cluster.AGENTS)
            report.equal("all end by themselves", agents.wait(), [0] * cluster.AGENTS)
            report.equal("they have spoken what the crawl was begun with",
                         [set(spoken(d)) for d in agents.directories], [{wire_of(0)}] * cluster.AGENTS)
            hosts, expected = web.hosts(), web.graph_urls()
            agents.start_all()
            report.equal("started together they end again", agents.wait(), [0] * cluster.AGENTS)
            report.equal("and speak the newer version", [spoken(d)[-1] for d in agents.directories],
                         [wire_of(1)] * cluster.AGENTS)
        web.stop()
        requests = web.requests()
        politeness.judge(report, requests, hosts)
        twice = [u for u, n in collections.Counter(harness.url_of(r) for r in requests
                                                   if "R" not in r.flags).items() if n > 1]
        report.check("nothing is fetched twice", not twice, str(twice[:3]))
        cluster.check_whole(report, agents, expected)


if __name__ == "__main__":
    harness.main(one_by_one)
