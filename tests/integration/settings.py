"""Options change while the crawl runs: each change is logged with key, old and new value and who asked;
what cannot change is named; what an operator has set holds over reloads and restarts."""
import re
import signal
import socket

import harness
from running import RAGNO, Crawl, now_us


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def by_signal(report, path):
    ini = write(path + "/crawl.ini", "[politeness]\nhost_delay = 50ms\n")
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", "-c", ini, ip_wait="1ms", wait=None) as crawl:
        write(ini, "[politeness]\nhost_delay = 70ms\nretry = timeout 2m 1\n[fetch]\nport_map = 1:2\n"
                   "[parse]\nqueue = 99\n[limits]\ntail = 0\n")
        crawl.process.send_signal(signal.SIGHUP)
        harness.until(lambda: "configuration read anew" in crawl.log())
        log = crawl.log()
        report.check("a delay is changed, with key, old and new value", 'config: changed '
                     'key=politeness.host_delay old="50ms" new="70ms" from="' in log, log[-1500:])
        report.check("and where the new one stands", f'from="{ini}:2" signal=SIGHUP' in log, log[-1500:])
        report.check("what cannot change is a warning that names it", "WARN main config: cannot change "
                     'while the crawl runs key=parse.queue value="256" wanted="99"' in log, log[-1500:])
        report.equal("it is in effect", crawl.ask("get", "politeness.host_delay").stdout,
                     "politeness.host_delay = 70ms\n")
        write(ini, "[politeness]\nhost_delay = nonsense\n")
        crawl.process.send_signal(signal.SIGHUP)
        harness.until(lambda: "nothing was changed" in crawl.log())
        report.equal("a mistake changes nothing", crawl.ask("get", "politeness.host_delay").stdout,
                     "politeness.host_delay = 70ms\n")


def by_operator(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web:
        with Crawl(web, directory, "--no-warc", ip_wait="1ms", wait="50ms") as crawl:
            answer = crawl.ask("set", "politeness.host_delay=30ms")
            report.check("set KEY=VALUE", answer.returncode == 0 and
                         "politeness.host_delay = 30ms (it was '50ms')" in answer.stderr, answer.stderr)
            report.equal("set KEY VALUE", crawl.ask("set", "fetch.connections", "17").returncode, 0)
            report.check("who set it is logged", 'key=fetch.connections old="256" new="17" '
                         'from="operator" uid=' in crawl.log(), crawl.log()[-900:])
            for words, status, sentence in (
                    (["set", "fetch.conections=1"], 2, "did you mean 'fetch.connections'"),
                    (["set", "fetch.connections=0"], 2, "1 to 100000"),
                    (["set", "scope.reject_regex=("], 2, "column 2"),
                    (["set", "fetch.connections"], 2, "expected SECTION.KEY=VALUE"),
                    (["set", "store.map_size=1Gi"], 1, "cannot change while the crawl runs"),
                    (["get", "politness"], 2, "unknown option"),
                    (["unset", "crawl.grace"], 1, "was not set by an operator")):
                answer = crawl.ask(*words)
                report.check(" ".join(words), answer.returncode == status and
                             sentence in answer.stderr, f"{answer.returncode} {answer.stderr}")
            crawl.process.send_signal(signal.SIGHUP)
            harness.until(lambda: "configuration read anew" in crawl.log())
            report.equal("it holds over a reload", crawl.ask("get", "fetch.connections").stdout,
                         "fetch.connections = 17\n")
            report.check("get of a section lists it",
                         "politeness.ip_delay = 1ms" in crawl.ask("get", "politeness").stdout)
            crawl.ask("set", "scope.depth=7")
            crawl.ask("stop")
            crawl.wait()
        shown = harness.run([RAGNO, "-d", directory, "--print-config"]).stdout
        report.check("it holds over a restart", "connections = 17" in shown, shown[:500])
        with Crawl(web, directory, seeds="/dev/null", ip_wait="1ms", wait="50ms") as crawl:
            report.equal("in the next run", crawl.ask("get", "fetch.connections").stdout,
                         "fetch.connections = 17\n")
            crawl.ask("set", "fetch.connections=9")
            answer = crawl.ask("unset", "fetch.connections")
            report.equal("unset", answer.returncode, 0)


def threads_named(crawl, name):
    """How many threads of that kind run, by `ragno ctl threads`, but for parse-spare."""
    return sum(re.match(name + r"-\d", line) is not None for line in crawl.ask("threads").stdout.splitlines())


def pages(crawl):
    return crawl.status("pages")


def threads_come_and_go(report, path):
    with harness.Web(path, hosts=100, addresses=100, pages=1000000, page_bytes=2000) as web, \
            Crawl(web, path + "/crawl", ip_wait="1ms", wait="100ms") as crawl:
        harness.until(lambda: pages(crawl) > 50)
        for fetch, parse in 2 * ((5, 4), (1, 1), (3, 2), (8, 8), (2, 1)):
            crawl.ask("set", f"fetch.threads={fetch}")
            crawl.ask("set", f"parse.threads={parse}")
            report.check(f"{fetch} fetching threads and {parse} parsing threads run", harness.until(
                lambda f=fetch, p=parse: (threads_named(crawl, "fetch"), threads_named(crawl, "parse"))
                == (f, p)), crawl.ask("threads").stdout)
            before = pages(crawl)
            report.check("and pages go on coming", harness.until(lambda n=before: pages(crawl) > n + 100))
        report.check("each change is logged", 'key=fetch.threads old="5" new="1" from="operator"'
                     in crawl.log() and 'key=parse.threads old="8" new="1"' in crawl.log())
        crawl.ask("stop")
        report.equal("the crawl ends well", crawl.wait(), 11)
    check = harness.run([RAGNO, "verify", path + "/crawl"], 120)
    report.equal("and nothing is wrong with what it wrote", check.returncode, 0)
    urls = [row[0] for row in harness.db_rows(path + "/crawl") if row[2] > 0]
    requests = [r for r in web.requests() if "R" not in r.flags and "A" not in r.flags]
    report.check("no page was fetched twice", len(requests) == len({(r.host, r.path) for r in requests}),
                 f"{len(requests)} requests")
    report.check("all that was fetched is there", len(urls) >= pages_in_log(path), str(len(urls)))


def pages_in_log(path):
    with open(path + "/crawl/crawl.log") as log:
        return len({line.split()[3] for line in log if "/robots.txt" not in line and
                    line.split()[1].isdigit()})


def limits_of_a_fetch(report, path):
    """Time-outs, body limits and retries are those of now."""
    seeds = write(path + "/one.txt", "http://slow-first.web.test/\n")
    later = write(path + "/later.txt", "http://slow-first-1.web.test/\n")
    with harness.Web(path, hosts=3, addresses=3, pages=100000, page_bytes=30000,
                     slow_ms=600000) as web, \
            Crawl(web, path + "/crawl", "--set", "politeness.retry=timeout 1h 5",
                  "--set", "fetch.first_byte_timeout=1h", "--set", "fetch.total_timeout=1h",
                  "--no-warc", seeds=seeds, wait="1ms") as crawl:
        harness.until(lambda: "slow-first.web.test" in crawl.ask("flights").stdout)
        for key, value in (("fetch.first_byte_timeout", "100ms"), ("politeness.retry", "timeout 1m 0"),
                           ("fetch.max_body", "2Ki"), ("robots.expiry", "2h"), ("score.depth_factor", "0.25"),
                           ("parse.max_links", "3"), ("politeness.ip_delay", "2ms")):
            answer = crawl.ask("set", f"{key}={value}")
            report.equal(f"{key} can be set", answer.returncode, 0)
            report.check(f"{key}: key, old and new value are logged", harness.until(
                lambda k=key, v=value: f"key={k} " in crawl.log() and f'new="{v}"' in crawl.log()))
        with open(later) as file:
            crawl.ask("seed", file.read().strip())
        report.check("a fetch that begins now has the time-out and the retries of now", harness.until(
            lambda: any("slow-first-1.web.test/ " in line and " -4 " in line
                        for line in open(path + "/crawl/crawl.log"))))
        report.check("one that was in flight keeps its own", "slow-first.web.test" in
                     crawl.ask("flights").stdout, crawl.ask("flights").stdout)
        crawl.ask("seed", "http://h00000.web.test/")
        report.check("bodies are cut where they are to be now", harness.until(
            lambda: "trunc:length" in open(path + "/crawl/crawl.log").read()))
        answer = crawl.ask("set", "politeness.retry=nonsense 1m 0")
        report.equal("a wrong table is refused", answer.returncode, 2)
        report.equal("and changes nothing", crawl.ask("get", "politeness.retry").stdout,
                     "politeness.retry = timeout 1m 0\n")


def score_rules_are_read_again(report, path):
    rules = write(path + "/rules", '0.9 URLContainsRegex("nothing")\n')
    with harness.Web(path, hosts=5, addresses=5, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", "--set", "score.scorer=content",
                  "--set", "score.rules=" + rules, wait="1s") as crawl:
        write(rules, "oops\n")
        answer = crawl.ask("reload")
        report.check("a mistake in score.rules is named with its line", answer.returncode != 0 and
                     "rules:1" in answer.stdout, answer.stdout + answer.stderr)
        write(rules, '0.25 URLContainsRegex("l$")\n')
        report.equal("score.rules is read again", crawl.ask("reload").returncode, 0)


def room_on_the_disk(report, path):
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", "--set", "log.status_interval=1h", wait="50ms") as crawl:
        for least, state in (("900T", "paused"), ("1Mi", "running")):
            began = now_us()
            crawl.ask("set", f"crawl.min_free_disk={least}")
            report.check(f"crawl.min_free_disk = {least}: {state}", harness.until(
                lambda s=state: crawl.status("state") == s), crawl.status("state"))
            report.check("within a second, though the next status line is an hour away",
                         harness.SANITIZED or now_us() - began < 30e6, f"{(now_us() - began) / 1e6:.1f} s")


def who_waits_for_what(report, path):
    seeds = write(path + "/one.txt", "http://reset-at-once.web.test/\n")
    with harness.Web(path, hosts=2, addresses=2, pages=100) as web, \
            Crawl(web, path + "/crawl", "--no-warc", seeds=seeds) as crawl:
        harness.until(lambda: crawl.status("hosts_waiting") == 1)
        crawl.process.send_signal(signal.SIGUSR1)
        harness.until(lambda: "hosts that wait for a retry all=1" in crawl.log())
        report.check("SIGUSR1 says who waits for what until when", re.search(
            r"waits for a retry host=http://reset-at-once.web.test until=\S+Z why=\S+ failures=1 urls=1\n",
            crawl.log()), crawl.log()[-900:])
        report.check("so does `ctl waiting`", re.search(
            r"^\S+Z http://reset-at-once.web.test \S+, 1 in a row, 1 URLs$", crawl.ask("waiting").stdout),
            crawl.ask("waiting").stdout)
        report.check("and `db hosts`", "reset-at-once" in
                     harness.run([RAGNO, "db", path + "/crawl", "hosts"]).stdout)
        report.check("and the status", crawl.status("next_retry_s") > 0)
    table = harness.run([RAGNO, "check", "retries", "dns 1m 9 drop"]).stdout
    report.check("the retry table can be asked for, with changes", "\ndns\t1m\t9\thost\thost\t" in table and
                 "\nrefused\t10m\t4\thost\thost\tconnection refused\n" in table and
                 "\nbroken\t1m\t2\tURL\tURL\t" in table, table)
    with open("doc/ragno.ini.5") as page:
        report.check("it stands in the manual", "\nrefused\t10m\t4\thost\thost\tconnection refused\n" in
                     page.read())


def options_of(words):
    """Rows of ragno --help-config: {name: (value, what is allowed)}."""
    lines = harness.run([RAGNO, "--help-config", *words]).stdout.splitlines()
    rows = {}
    for i, line in enumerate(lines):
        match = re.match(r"([a-z]+\.[a-z0-9_]+) = (.*)$", line)
        if match:
            rows[match.group(1)] = (match.group(2), lines[i + 1].strip() if i + 1 < len(lines) else "")
    return rows


def another_value(name, value, allowed):
    """A value that the option takes and has not."""
    texts = {"crawl.contact": "https://example.org/", "crawl.user_agent": "x/1 (+https://example.org/)",
             "scope.ports": "80,443", "scope.dedup_key": "tracking", "fetch.allow_addresses": "127.0.0.0/7",
             "fetch.deny_addresses": "192.0.2.0/24", "crawl.usages": "search", "fetch.port_map": "80:1", "robots.agent": "other",
             "warc.name": "x-{serial:05}.warc", "control.web_hosts": "x.example", "schedule.margin": "1",
             "render.command": "/usr/bin/chromium", "render.user": "nobody",
             "control.alert_command": "cat", "render.always": "/app/*", "render.never": "/doc/*"}
    words = re.search(r"\(([a-z0-9|-]+\|[a-z0-9|-]+)[;)]", allowed)
    if words:
        return next(word for word in words.group(1).split("|") if word != value)
    if value in ("yes", "no"):
        return "no" if value == "yes" else "yes"
    number = re.match(r"([0-9.]+)(\D*)$", value)
    return texts[name] if name in texts else None if not number else "0.25" if "." in value else \
        f"{int(number.group(1)) + 1}{number.group(2)}"


def what_waits_for_the_next_start(report, path):
    """Each option that is not live is named, by ctl and by a reload."""
    rows = {name: row for name, row in options_of([]).items() if "; live" not in row[1]}
    report.check("there are some", 60 < len(rows) < 120, len(rows))
    ini = write(path + "/crawl.ini", "[politeness]\nhost_delay = 50ms\n")
    # What needs others beside it, a file, or another directory.
    alone = {name for name in rows if name.split(".")[0] == "cluster" or name in (
        "crawl.identity", "crawl.signature_key", "crawl.signature_agent", "crawl.memory", "control.listen", "warc.dedup_against", "warc.dedup_fresh",
        "control.web_write", "control.token_file", "score.scorer", "score.command", "score.model",
        "score.label", "fetch.ca_file", "fetch.port_map", "fetch.allow_addresses", "render.mode")}
    changed = {name: another_value(name, *row) for name, row in rows.items() if name not in alone}
    report.equal("the test knows a value for each", [n for n, v in changed.items() if v is None], [])
    with harness.Web(path, hosts=3, addresses=3, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", "-c", ini, ip_wait="1ms", wait=None) as crawl:
        changed.pop("warc.enabled")  # the command line says it
        sections = {}
        for name, value in changed.items():
            section, key = name.split(".")
            sections.setdefault(section, []).append(f"{key} = {value}\n")
        write(ini, "".join(f"[{section}]\n" + "".join(lines) for section, lines in sections.items()))
        crawl.process.send_signal(signal.SIGHUP)
        harness.until(lambda: "configuration read anew" in crawl.log() or
                      "nothing was changed" in crawl.log())
        warned = {match.group(1): match.group(0) for match in re.finditer(
            r"WARN main config: cannot change while the crawl runs key=(\S+) .*", crawl.log())}
        report.equal("a reload names each of them", (sorted(set(changed) - set(warned)), re.findall(
            "nothing was changed.*", crawl.log())), ([], []))
        report.check("and says when it takes effect", all(
            'next="it takes effect at the next start' in line for line in warned.values()),
                     crawl.log()[-1500:])
        for name in ("parse.queue", "warc.max_size", "scope.stay"):
            answer = crawl.ask("set", f"{name}={changed[name]}")
            report.check(f"so does ctl: {name}", answer.returncode == 1 and
                         f"{name} cannot change while the crawl runs" in answer.stderr and
                         f"start it again with --set {name}={changed[name]}" in answer.stderr, answer.stderr)


def parts_that_were_fixed(report, path):
    """Name servers, depth, batches, memory, the interval of status lines."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        with harness.Web(path, hosts=20, addresses=20, pages=100000) as web, \
                Crawl(web, path + "/crawl", "--no-warc", "--set", f"dns.servers={servers}",
                      "--set", "dns.timeout=2m", "--set", "scope.depth=1",
                      "--set", "log.status_interval=1d", "--set", "store.batch_pages=1",
                      wait="20ms", ip_wait="1ms") as crawl:
            harness.until(lambda: crawl.status("dns_waiting") > 0)
            for key, value in (("fetch.memory", "64Ki"), ("store.memory", "64Ki"), ("fetch.spool", "1Mi"),
                               ("store.batch_pages", "3000"), ("store.batch_links", "2"),
                               ("store.batch_time", "50ms"), ("dns.cache_entries", "3"),
                               ("dns.ttl_min", "0"), ("scope.depth", "3"),
                               ("dns.servers", f"127.0.0.1:{web.dns}")):
                answer = crawl.ask("set", f"{key}={value}")
                report.check(f"{key} can be set", answer.returncode == 0 and " (it was '" in answer.stderr,
                             answer.stderr)
            report.check("the new name server is asked, also what the old one was asked",
                         harness.until(lambda: crawl.status("pages") > 20), crawl.log()[-900:])
            report.check("the new depth counts", harness.until(lambda: any(
                line.split()[4] == "LLL" for line in open(path + "/crawl/crawl.log"))))
            answer = crawl.ask("set", "dns.servers=nonsense")
            report.check("a name server that is none is refused", answer.returncode == 2 and
                         "dns.servers" in answer.stderr, f"{answer.returncode} {answer.stderr}")
            lines = len(open(path + "/crawl/status.log").readlines())
            crawl.ask("set", "log.status_interval=100ms")
            report.check("status lines come as often as is said now, though the next one was a day away",
                         harness.until(lambda: len(open(path + "/crawl/status.log").readlines()) > lines + 2))
            crawl.ask("set", "fetch.memory=128Mi")
            before = crawl.status("pages")
            report.check("pages go on coming", harness.until(lambda: crawl.status("pages") > before + 50))
            crawl.ask("stop")
            report.equal("the crawl ends well", crawl.wait(), 11)
    check = harness.run([RAGNO, "verify", path + "/crawl"], 120)
    report.equal("and nothing is wrong with what it wrote", check.returncode, 0)


if __name__ == "__main__":
    harness.main(by_signal, by_operator, threads_come_and_go, limits_of_a_fetch,
                 score_rules_are_read_again, room_on_the_disk, who_waits_for_what,
                 what_waits_for_the_next_start, parts_that_were_fixed)
