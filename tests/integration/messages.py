"""What is said to an operator who has made a mistake, or who must know something: each message names the
place and what to do."""
import os
import re
import signal
import subprocess

import harness
from running import RAGNO, Crawl


def ragno(*words, env=None):
    return harness.run([RAGNO, *words], env=dict(os.environ, **env) if env else None)


LOCAL = ("--set", "fetch.allow_addresses=127.0.0.0/8")


def mistakes(report, path):
    """Each is exit 2 with a sentence, before anything is made."""
    ini = path + "/bad.ini"
    for text, line, sentence in (
            ("[crawl]\ncontact = hello\n", 2, "neither a URL nor an e-mail address"),
            ("[fetch]\nheaders = no colon here\n", 2, "expected 'Name: value'"),
            ("[robots]\nagent = my bot\n", 2, "can stand in no robots.txt"),
            ("[dns]\nservers = ns.example.org\n", 2, "a name server cannot be given by name"),
            ("[score]\nscorer = content\n", 2, "name the file of rules"),
            ("[scope]\ndepth = 1\naccept_regex = a(b\n", 3, "scope.accept_regex: column"),
            ("[scope]\nreject_regex = [\n", 2, "scope.reject_regex: column"),
            ("[scope]\ndepth = 1\nembeds = yes\ndepth = 2\n", 4, "was given in line 2 already")):
        with open(ini, "w", encoding="utf-8") as file:
            file.write(text)
        result = ragno("-c", ini, "--test-config", *LOCAL)
        report.check(f"{text.splitlines()[-1]}: file, line, reason", result.returncode == 2 and
                     f"{ini}:{line}: " in result.stderr and sentence in result.stderr, result.stderr)
    result = ragno("--test-config")
    report.check("--test-config misses the contact", result.returncode == 2 and
                 "a contact address is missing" in result.stderr, result.stderr)
    report.equal("with one all is well", ragno("--test-config", "--contact", "bot@example.org").returncode, 0)
    result = ragno("--help-config=nosuch")
    report.check("--help-config of nothing", result.returncode == 2 and "'nosuch'" in result.stderr,
                 result.stderr)
    result = ragno("--test-config", *LOCAL, env={"RAGNO_CRAWL_GRACEE": "1s"})
    report.check("an unknown variable is a warning, with the nearest option", result.returncode == 0 and
                 "warning: environment variable RAGNO_CRAWL_GRACEE: unknown option 'crawl.gracee', did "
                 "you mean 'crawl.grace'?" in result.stderr, result.stderr)


def while_it_runs(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=5, addresses=5, pages=100000, delayed=1, delay_ms=20000) as web:
        with Crawl(web, directory, "--no-warc", "--set", "crawl.min_free_disk=1K", "--set",
                   "crawl.grace=1s", "--set", "log.status_interval=200ms", wait="20ms", ip_wait="5ms") as crawl:
            harness.until(lambda: int(crawl.status("active")) > 0)
            crawl.ask("set", "crawl.min_free_disk=8000000G")
            harness.until(lambda: "agent: paused" in crawl.log())
            line = next(l for l in crawl.log().splitlines() if "agent: paused" in l)
            report.check("a full disk: bytes, path, option, what to do", re.search(
                r'reason="disk nearly full" path=\S+/crawl free_bytes=\d+ '
                r'crawl.min_free_disk=8000000000000000 next="make room', line), line)
            crawl.ask("set", "crawl.min_free_disk=1K")
            harness.until(lambda: "agent: resumed" in crawl.log())
            line = next(l for l in crawl.log().splitlines() if "agent: resumed" in l)
            report.check("and when there is room again", 'reason="the disk has room again"' in line, line)
            harness.until(lambda: int(crawl.status("active")) > 0)
            crawl.process.send_signal(signal.SIGINT)
            report.equal("stopped", crawl.wait(), 11)
            report.check("the second Ctrl-C is told of", re.search(
                r"stopping: \d+ fetches in flight have .* to end \(crawl.grace\); Ctrl-C once more stops "
                r"at once", crawl.process.stderr.read()))
        shown = ragno("-d", directory, "--print-config").stdout
        report.check("origins survive a restart", "; command line\nmin_free_disk" not in shown and
                     "; operator\nmin_free_disk = 1K" in shown and "; default\ndepth = 20" in shown and
                     "; command line\ngrace = 1s" in shown, shown[:900])


def sums(report, path):
    with harness.Web(path, hosts=5, pages=200, not_found=0.1, errors=0.1) as web:
        result = harness.crawl(web, path + "/crawl", "--no-warc", "--set", "scope.depth=2", "--set",
                               "politeness.retry=server-error 1ms 1, broken 1ms 1",
                               "--set", "log.skipped=all")
        line = next(l for l in result.stdout.splitlines() if l.startswith("  pages "))
        n = [int(x) for x in re.findall(r"(?<!\dx)(?<![2345])\b(\d+)\b(?!xx)", line)]
        numbers = re.search(r"(\d+) answers \(2xx (\d+), 3xx (\d+), 4xx (\d+), 5xx (\d+)\)", line)
        report.check("the sums of the summary add up", numbers and
                     int(numbers[1]) == sum(int(numbers[i]) for i in range(2, 6)), f"{line} {n}")
        with open(path + "/crawl/skipped.log", encoding="utf-8") as file:
            rows = [row.split() for row in file]
        deep = [row for row in rows if "depth" in row]
        report.check("skipped.log has depths", rows and all(row[3] != "-" for row in rows), str(rows[:3]))
        report.check("those too deep are deeper", all(int(row[3]) > 2 for row in deep), str(deep[:3]))


if __name__ == "__main__":
    harness.main(mistakes, while_it_runs, sums)
