"""A robots.txt that redirects to a host of another agent: its owner asks for it, with that host's own
delay, and tells what it says. When the owner dies meanwhile, the host that needs it waits."""
import os
import re
import threading

import cluster
import harness
from robots_redirects import moved, rules, short_gaps, url
from sites import Sites, log_lines, page

DELAY, IP_DELAY = 0.3, 0.1
PAIRS = range(9)


def start(path, nats, sites, *words):
    """Three agents that crawl the sites; the last arguments are seeds of the first."""
    agents = cluster.Agents(sites.web, nats, path)
    shared = ["-q", "--set", f"cluster.url={nats.url()}", "--set", f"cluster.name={cluster.NAME}",
              "--set", "cluster.lease=2s", "--set", "fetch.total_timeout=3s"]
    agents.commands = [sites.command(d, *shared, *(words if i == 0 else ()), wait=f"{DELAY}s",
                                     ip_wait=f"{IP_DELAY}s") for i, d in enumerate(agents.directories)]
    return agents


def owners(agents):
    """host -> index of the directory that fetched its pages."""
    return {u.split("/")[2].split(".")[0]: i for i, d in enumerate(agents.directories)
            for u in cluster.pages_of(d)}


def check_polite(report, sites):
    short = short_gaps(sites.requests, lambda r: r.host, DELAY)
    report.check(f"no host is asked too soon ({len(sites.requests)} requests)", not short, f"{short[:3]}")
    short = short_gaps(sites.requests, lambda r: r.address, IP_DELAY)
    report.check("no address is asked too soon", not short, f"{short[:3]}")


def check_sound(report, agents):
    for i, d in enumerate(agents.directories):
        result = cluster.ragno("verify", d)
        report.check(f"agent {i} verifies", result.returncode == 0, result.stdout[-400:])
        result = cluster.ragno("audit", d)
        report.check("and its log proves its delays", result.returncode == 0, result.stdout[-400:])


def foreign(report, path):
    """a-N redirects to b-N, which is crawled, too; c-N to guest-N, of which nothing else is known."""
    answers, seeds = {}, []
    for n in PAIRS:
        answers[url(f"a-{n}", "/robots.txt")] = moved(url(f"b-{n}", "/robots.txt"))
        answers[url(f"b-{n}", "/robots.txt")] = rules("Disallow: /no")
        answers[url(f"c-{n}", "/robots.txt")] = moved(url(f"guest-{n}", "/shared.txt"))
        answers[url(f"guest-{n}", "/shared.txt")] = rules("Disallow: /no")
        for host in (f"a-{n}", f"b-{n}", f"c-{n}"):
            seeds.append(url(host, "/"))
            answers[url(host, "/")] = page("/no", "/1", "/2")
            answers[url(host, "/no")] = answers[url(host, "/1")] = answers[url(host, "/2")] = page()
    # what is redirected to shares its address with hosts that are crawled
    addresses = {f"{h}-{n}.test": f"127.78.1.{n % 4 + 1}" for n in PAIRS for h in ("guest", "b", "c")}
    with cluster.Nats(path) as nats, Sites(path, answers, addresses) as sites:
        cluster.make(report, nats)
        with start(path, nats, sites, *seeds) as agents:
            agents.start_all()
            report.equal("all end by themselves", agents.wait(), [0] * cluster.AGENTS)
        check_polite(report, sites)
        expected = {s + p for s in seeds for p in ("", "1", "2")}
        report.same_set("the rules behind the redirects hold",
                        {u for u in sites.asked() if not u.endswith("/shared.txt")}, expected)
        owner = owners(agents)
        crossing = [n for n in PAIRS if owner[f"a-{n}"] != owner[f"b-{n}"]]
        report.check(f"some lead to another agent ({len(crossing)} of {len(PAIRS)})", crossing, str(owner))
        rows = [{w[3]: w for w in log_lines(d)} for d in agents.directories]
        target = [url(f"b-{n}", "/robots.txt") for n in crossing]
        told = [rows[owner[f"a-{n}"]].get(t) for n, t in zip(crossing, target)]
        report.check("the log says which agent has asked", all(w and "agent:" in w[-1] and
                                                               "ip:" not in w[-1] for w in told), str(told[:2]))
        asked = [rows[owner[f"b-{n}"]].get(t) for n, t in zip(crossing, target)]
        report.check("which is the owner", all(w and "ip:127.78.1." in w[-1] for w in asked), str(asked[:2]))
        check_sound(report, agents)


def number_of(agents, nats, name):
    """The directory of the agent that owns a host."""
    why = cluster.ragno("why", agents.directories[0], url(name, "/")).stdout
    away = re.search(r"belongs to agent (\d+)", why)
    if away is None:
        return 0
    status = cluster.ragno("cluster", "status", "--url", nats.url(), "--name", cluster.NAME).stdout
    row = next(line for line in status.splitlines() if re.match(rf"agent={away.group(1)}\b", line))
    return next(i for i, d in enumerate(agents.directories) if row.endswith(os.path.basename(d)))


def killed(report, path):
    """The owner dies while it asks; then it is away for a while. Nothing is fetched that its answer
    forbids, nor anything before there is one."""
    reached, released = threading.Event(), threading.Event()

    def slow(_):
        reached.set()
        released.wait(60)
        return rules("Disallow: /no")

    answers = {url("b", "/robots.txt"): rules(""), url("b", "/"): page("/1"), url("b", "/1"): page(),
               url("b", "/shared.txt"): slow}
    # one of them is another agent's than b is
    names = [f"a-{n}" for n in range(8)]
    for name in names:
        answers[url(name, "/robots.txt")] = moved(url("b", "/shared.txt"))
        answers[url(name, "/")] = page("/no", "/1")
        answers[url(name, "/no")] = answers[url(name, "/1")] = page()
    with cluster.Nats(path) as nats, Sites(path, answers) as sites:
        cluster.make(report, nats)
        with start(path, nats, sites, url("b", "/"), *(url(a, "/") for a in names)) as agents:
            agents.start_all()
            report.check("it is asked for", reached.wait(60), "")
            home = number_of(agents, nats, "b")
            agents.processes[home].kill()
            agents.processes[home].wait()
            others = [a for a in names if number_of(agents, nats, a) != home]
            report.check(f"hosts of others need it ({len(others)} of {len(names)})", others, "")
            released.set()
            early = {u for u in sites.asked() if u.split("/")[2].split(".")[0] in names}
            report.equal("nothing of them has been fetched", early, set())
            agents.start(home)
            report.equal("all end by themselves", agents.wait(), [0] * cluster.AGENTS)
        check_polite(report, sites)
        report.same_set("and then what it allows is fetched",
                        {u for u in sites.asked() if u.split("/")[2].startswith("a-")},
                        {url(a, p) for a in names for p in ("/", "/1")})
        check_sound(report, agents)


if __name__ == "__main__":
    harness.main(foreign, killed)
