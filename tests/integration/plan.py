"""`ragno plan`: a dry run of seeds asks for robots.txt and nothing else, and says what stands in their way;
the forecast of a crawl follows from its queue, its delays and its limits."""
import json
import os
import signal
import subprocess
import threading

import harness
from sites import Sites, page

RAGNO = f"{harness.OUT}/ragno"
IP_DELAY_MS = 200


def plan(web, path, *arguments):
    """Runs a dry run in a TMPDIR of its own; returns its result and whether it left anything there."""
    scratch = os.path.join(path, "scratch")
    os.makedirs(scratch, exist_ok=True)
    command = [RAGNO, "plan", "-s", f"fetch.port_map=80:{web.http}",
               "-s", f"dns.servers=127.0.0.1:{web.dns}", "-s", "fetch.allow_addresses=127.0.0.0/8",
               "-s", "politeness.host_delay=100ms", "-s", f"politeness.ip_delay={IP_DELAY_MS}ms",
               *arguments]
    result = harness.run(command, 120, env={**os.environ, "TMPDIR": scratch})
    return result, os.listdir(scratch)


def rows(result):
    """The lines about seeds: URL -> fields."""
    found = {}
    for line in result.stdout.splitlines():
        fields = line.split("\t")
        if fields[0] in ("open", "closed"):
            found[fields[1]] = fields
    return found


def private_host(web):
    """A host whose robots.txt forbids /private/."""
    return next(name for name, (_, forbids, _) in web.hosts().items() if forbids)


def delayed_host(web):
    return next(name for name, (_, _, delay) in web.hosts().items() if delay > 0)


def seeds(report, path):
    zone = os.path.join(path, "zone")
    with open(zone, "w") as file:
        file.write("inside.example=10.1.2.3\n")
    with harness.Web(path, pages=500, hosts=12, addresses=4, crawl_delay=2, sitemaps=True,
                     zone=zone) as web:
        private, delayed = private_host(web), delayed_host(web)
        hosts = sorted(web.hosts())
        wanted = {f"http://{host}/": "open" for host in hosts}
        wanted[f"http://{private}/private/x.html"] = "closed"
        wanted["http://nosuch.web.test/"] = "closed"
        wanted["http://inside.example/a"] = "closed"
        wanted[f"http://{hosts[1]}/unwanted"] = "closed"
        wanted[f"http://{hosts[2]}/filtered"] = "closed"
        names = os.path.join(path, "list.txt")
        with open(names, "w") as file:
            file.write("".join(url + "\n" for url in wanted))
        result, left = plan(web, path, "-i", names, "-s", "scope.reject_regex=unwanted",
                            "-s", "filter.fetch=not URLContainsOneOf(filtered)")
        as_json, _ = plan(web, path, "--json", f"http://{private}/private/x.html",
                          f"http://{delayed}/")
        web.stop()
        found = rows(result)
        report.equal("something stands in the way: exit 1", result.returncode, 1)
        report.same_set("each seed has a line", set(found), set(wanted))
        report.equal("which are open", {u: f[0] for u, f in found.items()}, wanted)
        reason = {url: fields[3] for url, fields in found.items()}
        report.check("the rule of robots.txt is told",
                     "line " in reason[f"http://{private}/private/x.html"] and
                     "Disallow: /private/" in reason[f"http://{private}/private/x.html"],
                     reason[f"http://{private}/private/x.html"])
        report.check("a name that does not exist", "does not exist" in
                     reason["http://nosuch.web.test/"], reason["http://nosuch.web.test/"])
        report.check("an address that is refused", "private or special" in
                     reason["http://inside.example/a"], reason["http://inside.example/a"])
        report.check("the scope", "scope" in reason[f"http://{hosts[1]}/unwanted"],
                     reason[f"http://{hosts[1]}/unwanted"])
        report.check("the filter", "filter.fetch" in reason[f"http://{hosts[2]}/filtered"],
                     reason[f"http://{hosts[2]}/filtered"])
        report.check("Crawl-delay is told", "Crawl-delay 2" in reason[f"http://{delayed}/"],
                     reason[f"http://{delayed}/"])
        per_day = float(reason[f"http://{delayed}/"].split()[0])
        report.check("and what it allows", 86400 / 2.5 < per_day <= 43200, per_day)
        report.check("the summary", f"{len(wanted)} seeds on 14 hosts: 12 may be fetched" in
                     result.stdout, result.stdout[-600:])
        report.check("addresses are counted", "12 hosts on 4 addresses" in result.stdout,
                     result.stdout[-600:])
        report.equal("nothing is left in TMPDIR", left, [])
        check_requests(report, web, result)
        check_json(report, as_json, private, delayed)


def check_requests(report, web, result):
    requests = web.requests()
    report.equal("nothing but robots.txt was asked for",
                 {r.path for r in requests}, {"/robots.txt"})
    first = requests[:12]
    report.equal("once of each host", len({r.host for r in first}), 12)
    gaps = []
    last = {}
    for r in sorted(first, key=lambda r: r.start):
        if r.address in last:
            gaps.append((r.start - last[r.address]) / 1000)
        last[r.address] = r.end
    report.check("the delay of an address was kept", len(gaps) == 8 and min(gaps) >= IP_DELAY_MS,
                 sorted(gaps)[:3])
    named = {f"http://{r.host}/sitemap.xml" for r in first if r.status == 200}
    told = {line.split("\t")[1] for line in result.stdout.splitlines()
            if line.startswith("sitemap\t")}
    report.check("sitemaps are those of robots.txt", told and told <= named, sorted(told)[:3])


def check_json(report, result, private, delayed):
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    by_seed = {line["seed"]: line for line in lines if "seed" in line}
    report.equal("JSON: a line for each seed, and one for all", len(lines), 3)
    closed = by_seed[f"http://{private}/private/x.html"]
    report.check("JSON: what is closed", not closed["open"] and closed["status"] == -9998, closed)
    report.equal("JSON: Crawl-delay", by_seed[f"http://{delayed}/"]["crawl_delay_s"], 2)
    report.equal("JSON: all", lines[-1]["open_seeds"], 1)


def dry_run(sites, path, *arguments):
    """The command line of a dry run of hand-written hosts, and its environment."""
    scratch = os.path.join(path, "scratch")
    os.makedirs(scratch, exist_ok=True)
    return ([RAGNO, "plan", "-s", f"fetch.port_map=80:{sites.port}", "-s",
             f"dns.servers=127.0.0.1:{sites.web.dns}", "-s", "fetch.allow_addresses=127.0.0.0/8",
             "-s", "politeness.host_delay=100ms", *arguments], {**os.environ, "TMPDIR": scratch})


def usage(report, path):
    """What robots.txt says of the use of pages, and politeness.usage asks about, stands in the way."""
    answers = {"http://a.test/robots.txt": (200, {}, "User-agent: *\nContent-Usage: /r/ train-ai=n\n"),
               "http://a.test/": page(), "http://a.test/r/x": page()}
    with Sites(path, answers) as sites:
        command, env = dry_run(sites, path, "-s", "politeness.usage=train-ai no-fetch",
                               "http://a.test/", "http://a.test/r/x")
        found = rows(harness.run(command, 120, env=env))
        report.equal("which are open", {u: f[0] for u, f in found.items()},
                     {"http://a.test/": "open", "http://a.test/r/x": "closed"})
        report.check("the other is told with its reason",
                     "politeness.usage" in found["http://a.test/r/x"][3], found)
        report.equal("nothing but robots.txt was asked for", sites.asked(), set())


def interrupted(report, path):
    """SIGINT in the midst of a dry run: what is known by then is told, and nothing is left behind."""
    asked, over = threading.Event(), threading.Event()

    def hangs(_):
        asked.set()
        over.wait(harness.PATIENCE_S)
        return 200, {}, ""
    answers = {"http://a.test/robots.txt": (200, {}, "User-agent: *\nDisallow: /no\n"),
               "http://b.test/robots.txt": hangs}
    with Sites(path, answers) as sites:
        command, env = dry_run(sites, path, "-s", "crawl.grace=1s", "http://a.test/no", "http://b.test/")

        def a_is_known():
            return asked.is_set() and any(r.host == "a.test" for r in list(sites.requests))
        result = harness.run_until(command, a_is_known, env=env)
        over.set()
        found = rows(result)
        report.equal("exit 11", result.returncode, 11)
        report.equal("each seed has its line", {u: f[0] for u, f in found.items()},
                     {"http://a.test/no": "closed", "http://b.test/": "closed"})
        report.equal("nothing is left in TMPDIR", os.listdir(env["TMPDIR"]), [])


def forecast_of(directory, *arguments):
    result = harness.run([RAGNO, "plan", directory, "--json", *arguments])
    return json.loads(result.stdout) if result.returncode == 0 else {"error": result.stderr}


def status_of(directory):
    try:
        with open(os.path.join(directory, "status.json")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def crawl(report, path):
    with harness.Web(path, pages=20000, hosts=40) as web:
        directory = os.path.join(path, "crawl")
        command = harness.crawl_command(web, directory, "-s", "log.status_interval=200ms",
                                        "--max-pages", "1000000", wait="20ms")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.until(lambda: status_of(directory).get("pages", 0) > 600)
        running = forecast_of(directory)
        report.check("of a crawl that runs", running.get("running") is True and
                     running["pages"] > 0 and running["pages_s"] > 0, running)
        report.check("its limits hold", "crawl.max_pages" in
                     [limit["name"] for limit in running["limits"]], running.get("limits"))
        report.check("something ends it, and when", running["ends_by"] is not None and
                     running["seconds"] > 0 and running["more_pages"] > 0, running)
        process.send_signal(signal.SIGINT)
        harness.ended(process)
    status = status_of(directory)
    stopped = forecast_of(directory)
    report.check("of a run that is over they do not", "crawl.max_pages" not in
                 [limit["name"] for limit in stopped["limits"]], stopped["limits"])
    report.equal("pages as in status.json", stopped["pages"], status["pages"])
    report.equal("and URLs queued", stopped["urls_queued"], status["urls_queued"])
    limit = status["pages"] + 100
    limited = forecast_of(directory, "-s", f"crawl.max_pages={limit}")
    report.equal("-s names a limit of the next run", limited["ends_by"], "crawl.max_pages")
    report.equal("so many pages more", limited["more_pages"], 100)
    check_pace(report, directory, stopped)
    text = harness.run([RAGNO, "plan", directory])
    report.check("one screen", text.returncode == 0 and len(text.stdout.splitlines()) <= 40 and
                 "what binds" in text.stdout, text.stdout + text.stderr)


def check_pace(report, directory, stopped):
    """A delay of ten seconds: the slowest host has its queue times ten, and the fetches."""
    slow = forecast_of(directory, "-s", "politeness.host_delay=10s")
    host = slow["slowest_host"]
    requests = host["urls"] * (host["requests_per_url"] - 0.0005)  # it has three decimals
    report.check("the slowest host by its delay", requests * 10 <= host["seconds"] + 1 and
                 host["seconds"] < requests * 12 + 1 and
                 slow["seconds_by_politeness"] > stopped["seconds_by_politeness"], slow)
    with open(os.path.join(directory, "config.ini"), "a") as file:
        file.write('\n[site "*.web.test"]\nhost_delay = 30s\n')
    by_site = forecast_of(directory)["slowest_host"]
    report.check("a [site] has its own", 30 <= by_site["seconds_per_url"] < 32, by_site)
    by_address = forecast_of(directory, "-s", "politeness.ip_delay=100s")["slowest_address"]
    report.check("and addresses", by_address["seconds"] >= by_address["urls"] * 50, by_address)


def words(report, path):
    for arguments, status in (([], 2), (["--wrong", path], 2), (["a", "b"], 2),
                              ([path, "-s", "crawl.nonsense=1"], 3),
                              ([os.path.join(path, "none")], 3), (["-i", path + "/none"], 3),
                              (["--help"], 0)):
        result = harness.run([RAGNO, "plan", *arguments])
        said = result.stdout if status == 0 else result.stderr
        report.check(f"plan {' '.join(a.replace(path, 'DIR') for a in arguments)}: exit {status}",
                     result.returncode == status and said != "", (result.returncode, said))


if __name__ == "__main__":
    harness.main(seeds, usage, interrupted, crawl, words)
