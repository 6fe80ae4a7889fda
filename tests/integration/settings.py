"""Options change while the crawl runs: each change is logged with key, old and new value and who asked;
what cannot change is named; what an operator has set holds over reloads and restarts."""
import signal

import harness
from running import RAGNO, Crawl


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def by_signal(report, path):
    ini = write(path + "/crawl.ini", "[politeness]\nhost_delay = 50ms\n")
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", "-c", ini, ip_wait="1ms", wait=None) as crawl:
        write(ini, "[politeness]\nhost_delay = 70ms\nretry = timeout 2m 1\n[fetch]\nport_map = 1:2\n"
                   "[parse]\nmax_links = 99\n[limits]\ntail = 0\n")
        crawl.process.send_signal(signal.SIGHUP)
        harness.until(lambda: "configuration read anew" in crawl.log())
        log = crawl.log()
        report.check("a delay is changed, with key, old and new value", 'config: changed '
                     'key=politeness.host_delay old="50ms" new="70ms" from="' in log, log[-1500:])
        report.check("and where the new one stands", f'from="{ini}:2" signal=SIGHUP' in log, log[-1500:])
        report.check("what cannot change is a warning that names it", "WARN main config: cannot change "
                     'while the crawl runs key=parse.max_links value="50000" wanted="99"' in log, log[-1500:])
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


if __name__ == "__main__":
    harness.main(by_signal, by_operator)
