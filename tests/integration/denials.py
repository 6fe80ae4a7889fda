"""What the operator denies is not fetched any more from the next second on, leaves the schedule with
its reason, and returns when the rule goes: by `ragno ctl`, by SIGHUP, by a start with other rules."""
import collections
import os
import re
import signal

import harness
from running import AT_ONCE_S, RAGNO, Crawl, now_us, pass_time


def ragno(*words):
    return harness.run([RAGNO, *words])


def fetched(directory):
    return {row[0] for row in harness.db_rows(directory) if row[2] > 0}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def crawl_log(directory):
    """(status, URL, annotations) of each line."""
    rows = [line.split() for line in lines_of(directory + "/crawl.log")]
    return [(int(r[1]), r[3], r[11]) for r in rows]


def busiest(web):
    """The host with the most requests so far."""
    return collections.Counter(r.host for r in web.requests()).most_common(1)[0][0]


def asked(web, host, since, until=None):
    """Requests to a host in a time; whole only when the web has ended, which writes its log then."""
    return [r for r in web.requests()
            if r.host == host and since < r.start and (until is None or r.start < until)]


def allowed_pages(web):
    """What a whole crawl fetches."""
    hosts = web.hosts()
    return {u for u in web.graph_urls() if not hosts[u.split("/")[2]][1] or "/private/" not in u}


def what_the_answer_says(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=12, addresses=3, pages=3000) as web:
        with Crawl(web, directory, "--no-warc", wait="20ms", ip_wait="5ms") as crawl:
            harness.until(lambda: len({r.host for r in web.requests()}) == 12)
            host, address = busiest(web), None
            address = web.hosts()[host][0]
            there = len([h for h, row in web.hosts().items() if row[0] == address])
            answer = crawl.ask("deny", address)
            report.check("deny ADDRESS says how many hosts are there",
                         f"; {there} hosts are known there" in answer.stderr, answer.stderr)
            answer = crawl.ask("deny", "127.99.99.99")
            report.check("and that none is", "; no host is known there yet" in answer.stderr, answer.stderr)
            answer = crawl.ask("deny", "*")
            report.check("deny '*' is not done by mistake", answer.returncode != 0 and
                         "every host" in answer.stderr, answer.stderr)
    for words in (["help"], ["help", "ctl"]):
        answer = ragno(*words)
        report.check(f"ragno {' '.join(words)}", answer.returncode == 0 and "usage: ragno" in answer.stdout)
    report.check("help of what is unknown names the nearest", "did you mean 'verify'" in
                 ragno("help", "verfy").stderr)


def a_host(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=20, addresses=20, pages=3000) as web:
        with Crawl(web, directory, "--no-warc", wait="20ms", ip_wait="5ms") as crawl:
            harness.until(lambda: len(web.requests()) > 300)
            host = busiest(web)
            answer = crawl.ask("deny", host)
            moment = now_us()
            report.check("deny HOST says what it holds back", answer.returncode == 0 and
                         f"'{host}' is denied from now on" in answer.stderr and
                         "URLs scheduled" in answer.stderr, answer.stderr)
            report.equal("a second time is no mistake", crawl.ask("deny", host).returncode, 0)
            pass_time(AT_ONCE_S)
            harness.until(lambda: "host denied" in crawl.log())
            report.check("who denied it is logged", f'rules: denied rule="{host}" uid=' in crawl.log())
            listed = crawl.ask("denials").stdout
            report.check("it is listed, with when and by whom",
                         host in listed and "uid=" in listed, listed)
            report.equal("the others are crawled to their end, and the exit status says what is left", crawl.wait(), 20)
        shown = ragno("db", directory, "hosts", host).stdout
        report.check("db hosts says so", "denied by the operator" in shown, shown)
        kept = ragno("db", directory, "hosts", "--parked").stdout
        report.check("and how many URLs are kept", f"http://{host}\tdenied\t-\t" in kept, kept)
        known = {row[0] for row in harness.db_rows(directory)}
        left = allowed_pages(web) & known - fetched(directory)
        report.check("nothing but its URLs is left",
                     left and {u.split("/")[2] for u in left} == {host}, str(left)[:300])
        why = ragno("why", directory, sorted(left)[0]).stdout
        report.check("why names the rule", host in why and "denied" in why, why)
        report.equal("verify agrees", ragno("verify", directory).returncode, 0)
        report.equal("a second run ends at once", harness.crawl(web, directory, "--no-warc").returncode, 20)
        end = now_us()
        with open(directory + "/denied.txt", "a", encoding="utf-8") as file:
            file.write("not a rule\n")
        wrong = harness.crawl(web, directory, "--no-warc")
        report.check("a line that is no rule stops the start, with file and line",
                     wrong.returncode == 2 and "denied.txt:" in wrong.stderr, wrong.stderr)
        os.unlink(directory + "/denied.txt")
        result = harness.crawl(web, directory, "--no-warc", timeout=120)
        report.equal("without the rule the crawl goes on", result.returncode, 0)
        report.same_set("and every page is fetched", allowed_pages(web) - fetched(directory), set())
        report.equal("verify agrees at the end", ragno("verify", directory).returncode, 0)
        web.stop()
        late = asked(web, host, moment, end)
        report.equal("within a second of the denial nobody asks it any more, nor in a second run",
                     [r for r in late if r.start > moment + 1000000 * AT_ONCE_S], [])
        report.check("in flight was at most one", len(late) <= 1, late)


def allowed_while_it_runs(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=10, addresses=10, pages=1500) as web, \
            Crawl(web, directory, "--no-warc", wait="20ms", ip_wait="5ms") as crawl:
        harness.until(lambda: len(web.requests()) > 100)
        host = busiest(web)
        address = web.hosts()[host][0]
        report.equal("deny ADDRESS/32", crawl.ask("deny", address + "/32").returncode, 0)
        pass_time(AT_ONCE_S)
        moment = now_us()
        report.equal("deny a pattern of URLs", crawl.ask("deny", "regex:/p[0-9]*[13579].html$").returncode, 0)
        harness.until(lambda: any(status == -5002 for status, _, _ in crawl_log(directory)))
        end = now_us()
        refused = [r for r in crawl_log(directory) if r[0] == -5002 and r[1].startswith("http://h")]
        report.check("refused URLs are in crawl.log, with the rule", refused and
                     any("regex" in r[2] for r in refused), str(refused[:3]))
        unknown = crawl.ask("allow", "nobody.example")
        report.check("allow of what was not denied is exit 1, and says so",
                     unknown.returncode == 1 and "there is no denial" in unknown.stderr, unknown.stderr)
        for rule, sentence in (("exa mple", "expected a host"), ("regex:(", "column"),
                               ("ftp://x/", "no http")):
            answer = crawl.ask("deny", rule)
            report.check(f"deny {rule} is exit 2 with a sentence", answer.returncode == 2 and
                         sentence in answer.stderr, answer.stderr)
        report.equal("allow", crawl.ask("allow", "regex:/p[0-9]*[13579].html$").returncode, 0)
        report.equal("allow the address", crawl.ask("allow", address + "/32").returncode, 0)
        report.equal("the crawl ends", crawl.wait(), 0)
        report.same_set("and every page is fetched", allowed_pages(web) - fetched(directory), set())
        report.equal("verify agrees", ragno("verify", directory).returncode, 0)
        web.stop()
        report.equal("nobody asked at the address", asked(web, host, moment, end), [])


def at_other_ports(report, path):
    """Hosts at ports of their own and hosts below the one that is denied are counted, too."""
    directory = path + "/crawl"
    seeds = ["http://own.test:8099/a", "http://own.test:8099/b", "http://own.test/c", "http://x.own.test:81/d",
             "http://notown.test:8099/e"]
    with harness.Web(path, hosts=10, addresses=10, pages=1500) as web, \
            Crawl(web, directory, "--no-warc", wait="1h") as crawl:
        for seed in seeds:
            crawl.ask("seed", seed)
        harness.until(lambda: len(harness.db_rows(directory)) > 0 and
                      set(seeds) <= {row[0] for row in harness.db_rows(directory)})
        answer = crawl.ask("deny", "own.test").stderr
        report.check("all ports, and hosts below it", "; own.test has 4 URLs scheduled, on 3 hosts and ports"
                     in answer, answer)
        answer = crawl.ask("deny", "x.own.test").stderr
        report.check("one host", "; x.own.test has 1 URLs scheduled" in answer, answer)
        answer = crawl.ask("deny", "never-seen.test").stderr
        report.check("none is known", "no URL of never-seen.test is known yet" in answer, answer)


def by_configuration(report, path):
    directory = path + "/crawl"
    ini = path + "/crawl.ini"

    def write(text):
        with open(ini, "w", encoding="utf-8") as file:
            file.write(text)

    write("[scope]\n")
    with harness.Web(path, hosts=10, addresses=10, pages=1500) as web:
        with Crawl(web, directory, "--no-warc", "-c", ini, wait="20ms", ip_wait="5ms") as crawl:
            harness.until(lambda: len(web.requests()) > 100)
            host = busiest(web)
            write(f"[scope]\nexclude_domains = {host}\n")
            crawl.process.send_signal(signal.SIGHUP)
            harness.until(lambda: "host denied" in crawl.log())
            excluded = now_us()
            pass_time(AT_ONCE_S)
            crawl.ask("stop")
            report.equal("the crawl is stopped", crawl.wait(), 11)
        queued = ragno("db", directory, "schedule").stdout
        report.check("nothing of it comes next", f"//{host}/" not in queued, queued[:300])
        write("[scope]\nreject_regex = /p[0-9]*[02468].html$\n")
        started = now_us()
        result = harness.crawl(web, directory, "--no-warc", "-c", ini, timeout=120)
        ended = now_us()
        report.equal("a start with another rule crawls to the end", result.returncode, 0)
        report.check("what it rejects is in crawl.log, with the option", any(
            status == -5000 and "scope.reject_regex" in notes
            for status, _, notes in crawl_log(directory)))
        write("[scope]\n")
        result = harness.crawl(web, directory, "--no-warc", "-c", ini, timeout=120)
        report.equal("without it, too", result.returncode, 0)
        left = allowed_pages(web) - fetched(directory)
        known = {row[0] for row in harness.db_rows(directory)}
        report.same_set("every page that was scheduled is fetched", left & known, set())
        report.equal("verify agrees", ragno("verify", directory).returncode, 0)
        web.stop()
        report.check("a host that SIGHUP excludes is left",
                     len(asked(web, host, excluded, started)) <= 1)
        report.check("and back when the rule has gone", asked(web, host, started, ended))
        even = [r for r in web.requests() if started < r.start < ended and
                re.search(r"/p[0-9]*[02468]\.html$", r.path)]
        report.equal("what is rejected now is not fetched", even, [])


def the_last_host(report, path):
    """A crawl whose last hosts are denied ends and says so; its list can be changed while it does not run."""
    directory = path + "/crawl"
    with harness.Web(path, hosts=3, addresses=3, pages=600) as web:
        with Crawl(web, directory, "--no-warc", wait="20ms", ip_wait="5ms") as crawl:
            harness.until(lambda: len(web.requests()) > 60)
            for host in web.hosts():
                crawl.ask("deny", host)
            report.equal("denying all that is left has an exit status of its own", crawl.wait(), 20)
            report.check("and the log says what to do", "all that is left is denied" in crawl.log() and
                         "allow RULE" in crawl.log(), crawl.log()[-500:])
        first, *others = web.hosts()
        unknown = ragno("ctl", directory, "allow", "nobody.example")
        report.check("a denial that there is not cannot be taken back", unknown.returncode == 1 and
                     "there is no denial" in unknown.stderr, unknown.stderr)
        report.equal("a rule that is none is exit 2", ragno("ctl", directory, "deny", "http://").returncode, 2)
        report.equal("other words need a crawl", ragno("ctl", directory, "pause").returncode, 3)
        report.equal("nothing is made where no crawl is", ragno("ctl", path + "/none", "deny", first).returncode, 3)
        allowed = [ragno("ctl", directory, "allow", host).returncode for host in others]
        report.equal("allow works while no crawl runs", allowed, [0] * len(others))
        result = harness.crawl(web, directory, "--no-warc", timeout=120)
        report.equal("the allowed ones are crawled", result.returncode, 20)
        report.equal("deny, too, and a second time", [ragno("ctl", directory, "deny", first).returncode
                                                      for _ in range(2)], [0, 0])
        ragno("ctl", directory, "allow", first)
        result = harness.crawl(web, directory, "--no-warc", timeout=120)
        report.equal("and in the end nothing is left", result.returncode, 0)
        report.same_set("every page is fetched", allowed_pages(web) - fetched(directory), set())
        report.equal("verify agrees", ragno("verify", directory).returncode, 0)


if __name__ == "__main__":
    harness.main(what_the_answer_says, a_host, the_last_host, allowed_while_it_runs, at_other_ports, by_configuration)
