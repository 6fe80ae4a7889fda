"""`ragno ctl` about hosts and seeds: what a host waits for, dropped, brought back, visited now, slowed; new
seeds while the crawl runs."""
import harness
from running import AT_ONCE_S, Crawl, now_us, pass_time

DEAD = "http://127.9.9.9:8099"  # nobody listens there


def attempts(crawl, url):
    with open(crawl.directory + "/crawl.log", encoding="utf-8") as file:
        return [line for line in file if f" {url}" in line]


def a_host_that_waits(report, path):
    with harness.Web(path, hosts=5, addresses=5, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", f"{DEAD}/", wait="30ms", ip_wait="5ms") as crawl:
        harness.until(lambda: DEAD in crawl.ask("waiting").stdout)
        answer = crawl.ask("waiting")
        report.check("waiting says who waits, until when, for what", f"{DEAD} refused, 1 in a row, "
                     "1 URLs" in answer.stdout and "1 hosts wait" in answer.stderr,
                     answer.stdout + answer.stderr)
        shown = crawl.ask("host", DEAD).stdout
        report.check("so does host", "waits 10m for a retry: refused, 1 failure in a row" in shown,
                     shown)
        tried = len(attempts(crawl, DEAD))
        answer = crawl.ask("host", DEAD, "visit")
        report.check("visit", answer.returncode == 0 and "is visited" in answer.stderr, answer.stderr)
        report.check("it is tried again at once",
                     harness.until(lambda: len(attempts(crawl, DEAD)) > tried, 20 * AT_ONCE_S))
        report.check("who asked is logged", f"host changed by an operator host={DEAD} wish=visit uid="
                     in crawl.log())
        answer = crawl.ask("host", "nobody.example", "visit")
        report.check("a host that is not known: exit 1", answer.returncode == 1 and
                     "no host 'nobody.example' is known" in answer.stderr, answer.stderr)
        for words, sentence in ((["host", "x.example", "kill"], "unexpected 'kill'"),
                                (["host"], "something is missing"),
                                (["host", "x.example", "delay"], "unexpected 'delay'"),
                                (["host", "x.example", "delay", "soon"], "host_delay"),
                                (["seed", "ftp://x/"], "is not an http or https URL"),
                                (["seed", "http://x.example/", "nonsense"], "nothing was added")):
            answer = crawl.ask(*words)
            report.check(" ".join(words), answer.returncode == 2 and sentence in answer.stderr,
                         f"{answer.returncode} {answer.stderr}")


def drop_and_revive(report, path):
    with harness.Web(path, hosts=5, addresses=5, pages=1200) as web:
        with Crawl(web, path + "/crawl", "--no-warc", wait="20ms", ip_wait="2ms") as crawl:
            harness.until(lambda: len(web.requests()) > 40)
            host = max(web.hosts(), key=lambda name: sum(r.host == name for r in web.requests()))
            answer = crawl.ask("host", host, "drop")
            dropped = now_us()
            report.check("drop says what it keeps", answer.returncode == 0 and "is set aside; URLs: "
                         in answer.stderr, answer.stderr)
            report.check("host says by whom", "by an operator" in crawl.ask("host", host).stdout,
                         crawl.ask("host", host).stdout)
            pass_time(AT_ONCE_S)
            revived = now_us()
            answer = crawl.ask("host", host, "revive")
            report.check("revive", answer.returncode == 0 and "is brought back; URLs: "
                         in answer.stderr, answer.stderr)
            report.equal("the crawl ends", crawl.wait(), 0)
        web.stop()
        late = [r for r in web.requests() if r.host == host and
                dropped + 1000000 * AT_ONCE_S / 2 < r.start < revived]
        report.equal("a dropped host is left alone", late, [])
        allowed = {u for u in web.graph_urls()
                   if not web.hosts()[u.split("/")[2]][1] or "/private/" not in u}
        fetched = {row[0] for row in harness.db_rows(path + "/crawl") if row[2] > 0}
        report.same_set("and nothing of it is lost", allowed - fetched, set())


def delay_and_seeds(report, path):
    with harness.Web(path, hosts=3, addresses=3, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", wait="20ms", ip_wait="2ms") as crawl:
        harness.until(lambda: len(web.requests()) > 30)
        host = sorted(web.hosts())[0]
        answer = crawl.ask("host", host, "delay", "1h")
        report.check("one host is slowed", answer.returncode == 0 and "3600000" in
                     crawl.ask("host", host).stdout, answer.stderr + crawl.ask("host", host).stdout)
        told = crawl.ask("host", f"http://{host}").stdout
        report.check("by its origin it is told, too", "3600000" in told, told)
        changed = f'key=politeness.host_delay site="{host}" old="" new="1h" from="operator" uid='
        report.check("so the log says", changed in crawl.log(), crawl.log()[-900:])
        bound = [line.split()[-1] for line in crawl.ask("host", host).stdout.splitlines() +
                 crawl.ask("host", sorted(web.hosts())[1]).stdout.splitlines()
                 if line.startswith("bound by")]
        report.equal("which delay binds is told", bound, ["politeness.host_delay"] * 2)
        crawl.ask("set", "politeness.ip_delay=3s")
        report.check("another one, when it is longer", "bound by     politeness.ip_delay\n" in
                     crawl.ask("host", sorted(web.hosts())[1]).stdout, crawl.ask("host", sorted(web.hosts())[1]).stdout)
        answer = crawl.ask("host", host, "delay", "1s")
        report.check("so does the answer when a shorter one is set", answer.returncode == 0 and
                     "the delay of its address is 3000 ms and binds" in answer.stderr, answer.stderr)
        crawl.ask("unset", "politeness.ip_delay")
        pass_time(AT_ONCE_S)
        report.equal("back to what is configured", crawl.ask("host", host, "delay", "-").returncode, 0)
        answer = crawl.ask("seed", f"http://{host}/new-seed.html", "http://nobody.example/")
        report.check("seed", answer.returncode == 0 and "2 seeds, 2 of them new" in answer.stderr,
                     answer.stderr)
        report.check("it is fetched", harness.until(
            lambda: attempts(crawl, f"http://{host}/new-seed.html"), 60), crawl.ask("host", host).stdout)
        report.check("a second time it is none", "1 seed, 0 of them new" in
                     crawl.ask("seed", f"{host}/new-seed.html").stderr)
        crawl.ask("stop")
        report.equal("the crawl is stopped", crawl.wait(), 11)


if __name__ == "__main__":
    harness.main(a_host_that_waits, drop_and_revive, delay_and_seeds)
