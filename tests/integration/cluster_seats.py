"""An agent that is dead for good stops its own hosts, and not the addresses of all others: others decide about them, by
themselves when more than half of the agents are there, or by the operator's word."""
import re

import harness
import politeness
from cluster import NAME, Agents, Nats, check_whole, log_lines, make, ragno

WEB = dict(hosts=60, addresses=30, pages=1500, skew=0.2, suffix="test")


def status(nats):
    """The fields of each agent, by number."""
    said = ragno("cluster", "status", "--url", nats.url(), "--name", NAME).stdout
    rows = [dict(w.split("=", 1) for w in line.split() if "=" in w) | {"line": line} for line in said.splitlines()]
    return {int(row["agent"]): row for row in rows if "agent" in row}


def dead(report, path, agents_n, words):
    with Nats(path) as nats, harness.Web(path, **WEB) as web:
        make(report, nats, agents=agents_n)
        with Agents(web, nats, path, agents=agents_n) as agents:
            agents.start_all()
            busy = harness.until(lambda: all(log_lines(d) > 30 for d in agents.directories), 60)
            report.check("all agents crawl", busy, str([log_lines(d) for d in agents.directories]))
            agents.processes[0].kill()
            agents.processes[0].wait()
            number = harness.until(lambda: [n for n, row in status(nats).items() if row["state"] == "silent"], 30)[0]

            def others():
                return [row for n, row in status(nats).items() if n != number]
            named = harness.until(lambda: any(row.get("waits_for") == str(number) and row["limit"] == "cluster"
                                              for row in others()), 30)
            report.check("status names whom it waits for", named, str(others()))
            if words:
                said = ragno("cluster", *words, str(number), "--url", nats.url(), "--name", NAME)
                report.check("the operator's word is taken", said.returncode == 0, said.stderr)
            moved = harness.until(lambda: " unseated " in status(nats)[number]["line"], 60)
            report.check("others decide about its addresses", moved, str(status(nats)))
            done = harness.until(lambda: all(row.get("queued") == "0" for row in others()), 150)
            report.check("and the others fetch all they have", done, str(others()))
            agents.start(0)
            report.equal("when it is back, all end", agents.wait(), [0] * agents_n)
            hosts, expected = web.hosts(), web.graph_urls()
        web.stop()
        politeness.judge(report, web.requests(), hosts)
        check_whole(report, agents, expected)


def by_majority(report, path):
    """Two of three are there."""
    dead(report, path, 3, [])


def by_word(report, path):
    """One of two is there: that is no majority."""
    dead(report, path, 2, ["unseat"])


if __name__ == "__main__":
    harness.main(by_majority, by_word)
