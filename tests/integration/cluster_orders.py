"""What an operator orders at one agent of a cluster reaches all of them: `ctl` says yes when each has carried it out,
and names those that are away, which hear of it at their return, before their first request. The web's log judges."""
import os
import re
import time

import harness
import politeness
from cluster import AGENTS, NAME, Agents, Nats, log_lines, make, pages_of, ragno
from forget import left, records
from outages import Machine

WEB = dict(hosts=40, addresses=30, pages=8000, suffix="test")


def now_us():
    return time.monotonic_ns() // 1000


def asked(web, hosts, since_us):
    """Requests to these hosts that began since."""
    return [r for r in web.requests() if r.host in hosts and r.start > since_us]


def owner_of(agents, host):
    """Which directory fetches from a host."""
    def finds():
        return next((i for i, d in enumerate(agents.directories)
                     if any(host == u.split("/")[2] for u in pages_of(d))), None)
    return harness.until(lambda: finds() is not None, 60) and finds()


def hosts_of(agents):
    """Hosts with pages, those of all agents in turn."""
    by_agent = [sorted({u.split("/")[2] for u in pages_of(d)}) for d in agents.directories]
    return [host for some in zip(*by_agent) for host in some]


def ctl(agents, i, *words):
    return ragno("ctl", agents.directories[i], *words)


def value(agents, i, name):
    return ctl(agents, i, "get", name).stdout.strip()


def all_told(report, name, said, n=AGENTS):
    report.check(f"{name}: all are told", said.returncode == 0 and f"{n} agents were told" in said.stderr and
                 "away" not in said.stderr, f"{said.returncode} {said.stdout} {said.stderr}")


def denied_by_host(report, web, agents, hosts):
    """deny at each agent that does not own the host."""
    for host in hosts:
        owner = owner_of(agents, host)
        report.check(f"{host} is crawled", owner is not None, "by nobody")
        said = ctl(agents, (owner + 1) % AGENTS, "deny", host)
        since = now_us()
        all_told(report, f"deny at another agent than {owner}", said)
        time.sleep(3)  # three delays of the host
        late = asked(web, {host}, since)
        report.check("its owner asks it no more", not late, str(late[:3]))
        all_told(report, "allow", ctl(agents, owner, "allow", host))


def orders(report, path):
    """deny, allow, set, unset, host, pause and resume, at whichever agent they are given."""
    with Nats(path) as nats, harness.Web(path, **WEB) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            busy = harness.until(lambda: all(log_lines(d) > 20 for d in agents.directories), 60)
            report.check("all agents crawl", busy, str([log_lines(d) for d in agents.directories]))
            hosts = hosts_of(agents)
            denied_by_host(report, web, agents, [hosts[0], hosts[-1], hosts[len(hosts) // 2]])
            all_told(report, "set", ctl(agents, 1, "set", "politeness.host_delay=700ms"))
            texts = {value(agents, i, "politeness.host_delay") for i in range(AGENTS)}
            report.equal("all have it", texts, {"politeness.host_delay = 700ms"})
            all_told(report, "host delay", ctl(agents, 2, "host", hosts[1], "delay", "900ms"))
            texts = {value(agents, i, "politeness.host_delay") for i in range(AGENTS)}
            report.equal("all have that, too", len(texts), 1)
            site = [line for line in texts.pop().splitlines() if hosts[1] in line]
            report.equal("once", len(site), 1)
            all_told(report, "host delay -", ctl(agents, 0, "host", hosts[1], "delay", "-"))
            all_told(report, "unset", ctl(agents, 1, "unset", "politeness.host_delay"))
            own = ctl(agents, 1, "set", "log.level=debug")
            report.check("what is each agent's own is set there alone", own.returncode == 0 and
                         "told" not in own.stderr and "debug" not in value(agents, 0, "log.level"), own.stderr)
            host = hosts[2]
            owner = owner_of(agents, host)
            said = ctl(agents, (owner + 1) % AGENTS, "host", host, "drop")
            report.check("its owner sets a host aside, and says so", said.returncode == 0 and
                         re.search(r"agent \d: .* is set aside; URLs: \d+; 3 agents were told", said.stderr), said.stderr)
            said = ctl(agents, 0, "host", "nobody.test", "drop")
            report.check("a host that nobody knows", said.returncode == 1 and "no host" in said.stderr, said.stderr)
            report.equal("a wrong rule is refused at once", ctl(agents, 0, "deny", "a b").returncode, 2)
            all_told(report, "pause", ctl(agents, 2, "pause"))
            since = now_us()
            time.sleep(2)
            report.equal("nobody asks anything", len([r for r in web.requests() if r.start > since]), 0)
            all_told(report, "resume", ctl(agents, 0, "resume"))
            goes_on = harness.until(lambda: len([r for r in web.requests() if r.start > since]) > 20, 30)
            report.check("and then all go on", goes_on, "")


def returns(report, path):
    """An agent that is away hears of it at its return, before its first request; also when all were away since, and
    the server has forgotten everything."""
    with Nats(path) as nats, harness.Web(path, **WEB) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            harness.until(lambda: all(log_lines(d) > 20 for d in agents.directories), 60)
            host = hosts_of(agents)[0]
            owner = owner_of(agents, host)
            other = (owner + 1) % AGENTS
            agents.processes[owner].kill()
            agents.processes[owner].wait()
            said = ctl(agents, other, "deny", host)
            report.check("the one that is away is named", said.returncode == 0 and "2 agents were told" in said.stderr and
                         re.search(r"away: agent \d \(\S*agent%d\), to be told at its return" % owner, said.stderr),
                         said.stderr)
            said = ctl(agents, other, "set", "politeness.host_delay=600ms")
            report.check("also by set", "away: agent" in said.stderr, said.stderr)
            since = now_us()
            before = log_lines(agents.directories[owner])
            agents.start(owner)
            harness.until(lambda: log_lines(agents.directories[owner]) > before + 30, 60)
            report.check("it comes back and crawls", log_lines(agents.directories[owner]) > before + 30, agents.said(owner))
            report.equal("and never asks the host", asked(web, {host}, since), [])
            report.equal("it has the other one, too", value(agents, owner, "politeness.host_delay"),
                         "politeness.host_delay = 600ms")
            for process in agents.processes:
                process.kill()
                process.wait()
            nats.kill()
            since = now_us()
            nats.start()
            agents.start_all()
            more = harness.until(lambda: len([r for r in web.requests() if r.start > since]) > 50, 60)
            report.check("all are started again", more, str([agents.said(i) for i in range(AGENTS)]))
            report.equal("and nobody asks the host", asked(web, {host}, since), [])
            said = ctl(agents, other, "allow", host)
            all_told(report, "allow", said)
            since = now_us()
            report.check("then it is asked again", harness.until(lambda: asked(web, {host}, since), 30), "never")


def without_server(report, path):
    """Without the server an order is not said to be carried out."""
    with Nats(path) as nats, harness.Web(path, **WEB) as web:
        make(report, nats)
        with Agents(web, nats, path) as agents:
            agents.start_all()
            harness.until(lambda: all(log_lines(d) > 5 for d in agents.directories), 60)
            nats.kill()
            said = ctl(agents, 0, "deny", "nobody.test")
            report.check("it is refused, with what is so", said.returncode == 1 and
                         "at this agent alone" in said.stderr, f"{said.returncode} {said.stderr}")
            nats.start()
            done = harness.until(lambda: "3 agents were told" in ctl(agents, 1, "deny", "nobody.test").stderr, 30)
            report.check("and taken when the server is back", done, "")


def told(directory):
    """What came of each erasure there."""
    try:
        with open(directory + "/forgotten.log") as file:
            return file.read().count("forgotten:")
    except FileNotFoundError:
        return 0


def forgets(report, path):
    """`ragno forget` at one agent, or at the server, erases in all directories: that of one that is away at its
    return, and it asks for nothing of it. Links that others had for it before do not bring it back. The order's own
    words go when all have heard of it."""
    harness.unlogged("lines of crawl.log are forgotten")
    login = path + "/login"
    with open(login, "w") as file:
        file.write("user ragno secret\n")
    os.chmod(login, 0o600)
    user = ["--credentials", login]
    with Nats(path, "authorization { user: ragno, password: secret }") as nats, harness.Web(path, **{**WEB, "pages": 20000}) as web:
        make(report, nats, *user)
        with Agents(web, nats, path, "--set", f"cluster.credentials={login}") as agents:
            agents.start_all()
            harness.until(lambda: all(log_lines(d) > 40 for d in agents.directories), 60)
            first, second = hosts_of(agents)[:2]
            owner = owner_of(agents, first)
            away, other = owner, (owner + 1) % AGENTS
            agents.processes[away].kill()
            agents.processes[away].wait()
            refused = ragno("forget", agents.directories[away], first)
            report.check("one that does not run refuses it", refused.returncode == 2 and "does not run" in refused.stderr,
                         refused.stderr)
            report.check("all know it", all(left(d, first) for d in agents.directories))
            said = ragno("forget", agents.directories[other], first, timeout=120)
            report.check("one is away", said.returncode == 0 and "2 agents were told; away: agent" in said.stdout,
                         said.stdout + said.stderr)
            since = now_us()
            rest = [d for i, d in enumerate(agents.directories) if i != away]
            report.check("the others do it", harness.until(lambda: all(told(d) == 1 for d in rest), 90),
                         str([told(d) for d in rest]))
            agents.start(away)
            report.check("it does it at its return", harness.until(lambda: told(agents.directories[away]) == 1, 90),
                         agents.said(away))
            said = ragno("forget", f"{nats.url()}/{NAME}", first, second, *user)
            report.check("by the server: all are told", said.returncode == 0 and "3 agents were told" in said.stdout,
                         said.stdout + said.stderr)
            report.check("all do it", harness.until(lambda: all(told(d) == 2 for d in agents.directories), 90),
                         str([told(d) for d in agents.directories]))
            late = now_us()
            before = [log_lines(d) for d in agents.directories]
            on = harness.until(lambda: all(log_lines(d) > n + 40 for d, n in zip(agents.directories, before)), 90)
            report.check("all crawl on", on, str([agents.said(i) for i in range(AGENTS)]))
            proof = ragno("verify", f"{nats.url()}/{NAME}", "--absent", first, *user)
            report.check("verify --absent: in no directory", proof.returncode == 0 and proof.stdout.count("== agent") == AGENTS,
                         proof.stdout[-400:] + proof.stderr)
            report.equal("nobody has asked the first host since", asked(web, {first}, since), [])
            report.equal("nor the second since then", asked(web, {second}, late), [])
            for process in agents.processes:
                process.terminate()
            report.equal("all stop", [harness.ended(p) for p in agents.processes], [11] * AGENTS)
        for i, directory in enumerate(agents.directories):
            for host in (first, second):
                report.equal(f"agent {i}: no byte of it is left", left(directory, host), [])
            result = ragno("verify", directory)
            report.check(f"agent {i} verifies", result.returncode == 0, (result.stdout + result.stderr)[-400:])


def dates(directory):
    """When each capture there was made."""
    return [re.search(rb"WARC-Date: ([0-9T:-]+)", head)[1].decode() for name in os.listdir(directory + "/warc")
            if name.endswith(".gz") for kind, head, _ in records(f"{directory}/warc/{name}") if kind != b"warcinfo"]


def retention(report, path):
    """store.retention in a cluster: when a day begins each agent erases what is old, and goes on; one that is away when it
    begins again. Nobody asks a host too often meanwhile."""
    harness.unlogged("lines of crawl.log are forgotten")
    machine = Machine(path)
    with Nats(path) as nats, harness.Web(path, **{**WEB, "pages": 3000}) as web:
        make(report, nats)
        with Agents(web, nats, path, "--set", "store.retention=12h") as agents:
            agents.commands = [machine.command(command) for command in agents.commands]
            agents.start_all()
            busy = harness.until(lambda: all(log_lines(d) > 60 for d in agents.directories), 60)
            report.check("all agents crawl", busy, str([log_lines(d) for d in agents.directories]))
            away = 2
            agents.processes[away].kill()
            agents.processes[away].wait()
            noon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 43200))
            machine.set(clock_s=86400)
            day = harness.until(lambda: all(told(agents.directories[i]) == 1 for i in range(away)), 90)
            report.check("a day later two have erased", day, str([agents.said(i) for i in range(AGENTS)]))
            report.equal("and the one that is away has not", told(agents.directories[away]), 0)
            agents.start(away)
            report.check("it does so when it begins", harness.until(lambda: told(agents.directories[away]) == 1, 60), agents.said(away))
            on = harness.until(lambda: all(log_lines(d) > 60 for d in agents.directories), 90)
            report.check("all crawl on", on, str([agents.said(i) for i in range(AGENTS)]))
            for process in agents.processes:
                process.terminate()
            report.equal("as the same processes", [harness.ended(p) for p in agents.processes], [11] * AGENTS)
        for i, directory in enumerate(agents.directories):
            made = dates(directory)
            report.check(f"agent {i}: what came later is kept, and no capture is older", len(made) > 60 and min(made) > noon,
                         (len(made), min(made, default=None), noon))
            result = ragno("verify", directory)
            report.check(f"agent {i} verifies", result.returncode == 0, (result.stdout + result.stderr)[-400:])
        politeness.judge(report, web.requests(), web.hosts())


if __name__ == "__main__":
    harness.main(orders, returns, without_server, forgets, retention)
