"""One console: a command that is given nats://SERVER/NAME in place of a directory is answered by all agents of the
crawl, from any machine; what belongs to one host, by its owner. An agent that is dead is named."""
import json
import os
import re
import shutil
import time

import harness
import top
from cluster import AGENTS, NAME, Agents, Nats, agent_command, log_lines, make, pages_of, ragno

WEB = dict(hosts=40, addresses=30, pages=8000, suffix="test")


def whole(report, path):
    """Three agents, then two of them: status, report, why, audit, plan, consent, db, ctl."""
    login = path + "/login"
    with open(login, "w") as file:
        file.write("user ragno secret\n")
    os.chmod(login, 0o600)
    with Nats(path, "authorization { user: ragno, password: secret }") as nats, \
            harness.Web(path, **WEB) as web:
        url, user = f"{nats.url()}/{NAME}", ["--credentials", login]

        def console(command, *words):
            return ragno(command, url, *words, *user)

        make(report, nats, *user)
        with Agents(web, nats, path, "--set", f"cluster.credentials={login}") as agents:
            agents.start_all()
            busy = harness.until(lambda: all(log_lines(d) >= 60 for d in agents.directories))
            report.check("all agents have pages", busy, str([log_lines(d) for d in agents.directories]))
            everything(report, agents, console)
            on_screen(report, path, url, user)
            changes(report, agents, console)
            dead(report, agents, console)
            report.equal("no login, no answer", ragno("status", url, "--json").returncode, 4)


def everything(report, agents, console):
    status = console("status", "--json")
    told = json.loads(status.stdout)
    report.check("status --json: all agents, and their sums", status.returncode == 0 and
                 [a["state"] for a in told["agents"]] == ["running"] * AGENTS and
                 told["whole"]["agents_running"] == AGENTS and
                 sum(a["says"]["pages"] for a in told["agents"]) == told["whole"]["pages"] > 100,
                 status.stdout[:400] + status.stderr)
    text = console("report")
    report.check("report: the whole, and each agent's", text.stdout.startswith(f"The whole crawl, {AGENTS} of") and text.stdout.count("== agent") == AGENTS and
                 all(d in text.stdout for d in agents.directories), text.stdout[:400] + text.stderr)
    text = console("audit")
    report.check("audit: no breach at any", text.returncode == 0 and text.stdout.count("== agent") == AGENTS,
                 text.stdout[-400:] + text.stderr)
    text = console("plan", "--json")
    report.check("plan --json: each agent's", text.returncode == 0 and
                 all(a["says"]["slowest_host"] for a in json.loads(text.stdout)["agents"]), text.stdout[-400:] + text.stderr)
    for i, d in enumerate(agents.directories):
        page = next(iter(pages_of(d)))
        text = console("why", page, "--json")
        why = json.loads(text.stdout)
        report.check(f"why of a page of agent {i}, by its owner", text.returncode == 0 and
                     (why["url"], why["state"]) == (page, "fetched"), text.stdout[:300] + text.stderr)
        text = console("db", "get", page)
        report.check("and its row", text.returncode == 0 and page in text.stdout, text.stdout + text.stderr)
    consent = console("consent", page)
    report.check("consent of one page, by its owner", consent.returncode in (0, 1) and consent.stdout and
                 "== agent" not in consent.stdout, consent.stdout[:300] + consent.stderr)
    for words in (("report", "-o", "/tmp/x"), ("verify", "--repair"), ("export", "pages"), ("plan", "-i", "/etc/passwd")):
        said = console(*words)
        report.check(f"{' '.join(words)} is not for another machine", said.returncode == 1 and
                     said.stderr.count("not") >= AGENTS and not said.stdout, said.stdout[:300] + said.stderr)
    said = console("verify")
    report.check("verify: each directory, and what they know of each other", said.returncode == 0 and
                 said.stdout.count("== agent") == AGENTS and
                 re.search(rf"^peers\t{AGENTS} of {AGENTS} agents compared\t\d+ blocks on their way\t0 problems$",
                           said.stdout, re.M), said.stdout[-600:] + said.stderr)
    said = console("verify", "--peers")
    report.check("the latter alone", said.returncode == 0 and said.stdout.startswith("peers\t"), said.stdout + said.stderr)
    report.equal("a wrong URL", ragno("report", "nats://127.0.0.1").returncode, 2)


def on_screen(report, path, url, user):
    """`ragno top` of all agents: a row for each, its status at the press of a key; pause reaches all."""
    if shutil.which("tmux") is None:
        report.skip("top of all agents", "tmux is not installed (make deps-dev)")
        return
    with top.Screen(path, f"{top.TOP} top {url} {' '.join(user)}", columns=110) as screen:
        report.check("top: a row for each agent", screen.shows(*(f"agent {i} " for i in range(AGENTS)), "running for"),
                     "\n".join(screen.lines()))
        screen.keys("Enter")
        report.check("and its status", screen.shows("state", "elapsed_s"), "\n".join(screen.lines()))
        screen.keys("Escape")
        screen.keys("d")
        screen.keys("y")
        report.check("hosts are not denied there", screen.shows("the rows are agents"), "\n".join(screen.lines()))
        screen.keys("p")
        report.check("p pauses all", screen.shows("paused"), "\n".join(screen.lines()))
        screen.keys("p")
        screen.keys("q")
        report.check("q leaves it", screen.shows("status=0"), "\n".join(screen.lines()))


def changes(report, agents, console):
    """An order is given once, and all agents hear of it; what is each agent's own is said to each."""
    said = console("ctl", "pause")
    report.check("ctl pause: all are told", said.returncode == 0 and f"{AGENTS} agents were told" in said.stdout,
                 said.stdout + said.stderr)
    states = [a["says"]["state"] for a in json.loads(console("status", "--json").stdout)["agents"]]
    report.equal("and pause", states, ["paused"] * AGENTS)
    said = console("ctl", "set", "politeness.host_delay=1s")
    report.check("ctl set of what must agree: once", said.returncode == 0 and "== agent" not in said.stdout and
                 f"{AGENTS} agents were told" in said.stdout, said.stdout + said.stderr)
    said = console("ctl", "get", "politeness.host_delay")
    report.check("ctl get: each agent's", said.stdout.count("= 1s") == AGENTS, said.stdout + said.stderr)
    said = console("ctl", "rotate")
    report.check("ctl rotate: at each", said.returncode == 0 and said.stdout.count("== agent") == AGENTS,
                 said.stdout + said.stderr)
    report.equal("ctl resume", console("ctl", "resume").returncode, 0)
    said = console("ctl", "no-such-word")
    report.equal("what no agent understands", said.returncode, 2)


def dead(report, agents, console):
    """Agent 1 is killed: the others answer, and it is named; why of its pages says so."""
    numbers = {a["name"].split(":", 1)[1]: a["agent"]
               for a in json.loads(console("status", "--json").stdout)["agents"]}
    gone = agents.directories[1]
    page = next(iter(pages_of(gone)))
    agents.processes[1].kill()
    agents.processes[1].wait()
    said = console("verify", "--peers")
    report.check("verify compares the others", said.returncode == 1 and
                 f"{AGENTS - 1} of {AGENTS} agents compared" in said.stdout, said.stdout + said.stderr)
    for command in ("report", "audit", "status"):
        said = console(command, *(["--json"] if command == "status" else []))
        report.check(f"{command} names it", said.returncode == 1 and gone in said.stderr and
                     f"agent {numbers[gone]} (" in said.stderr and
                     (command == "status" or said.stdout.count("== agent") == AGENTS - 1),
                     said.stdout[-300:] + said.stderr)
    said = console("why", page)
    report.check("why of its page does, too", said.returncode == 1 and gone in said.stderr,
                 said.stdout + said.stderr)
    agents.start(1)
    back = harness.until(lambda: console("status", "--json").returncode == 0, 60)
    report.check("it is back", back, console("status", "--json").stderr)


def open_server(report, path):
    """Who has no login may look, and change nothing."""
    with Nats(path) as nats, harness.Web(path, **WEB) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            harness.until(lambda: all(log_lines(d) >= 10 for d in agents.directories))
            url = f"{nats.url()}/{NAME}"
            report.equal("it may look", ragno("ctl", url, "threads").returncode, 0)
            said = ragno("ctl", url, "pause")
            report.check("and not steer", said.returncode == 1 and "no login" in said.stderr,
                         said.stdout + said.stderr)
            report.equal("nor stop", ragno("ctl", url, "stop").returncode, 1)
            time.sleep(1)
            told = json.loads(ragno("status", url, "--json").stdout)
            report.equal("all run", [a["says"]["state"] for a in told["agents"]], ["running"] * AGENTS)


if __name__ == "__main__":
    harness.main(whole, open_server)
