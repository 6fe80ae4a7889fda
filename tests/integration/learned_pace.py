"""politeness.learned: a host that answers fast and steadily is asked more often, step by step, down to politeness.least; one
slow or failed answer gives it its whole delay back; one that names a delay has that. By the server's log; and the audit
repeats each step from crawl.log, and finds one that does not follow."""
import json
import re
import time

import harness
from page_server import PageServer

DELAY, LEAST = 0.8, 0.2


class Site:
    """A chain of pages; `slow` are answered late, `bad` with 500, and of each it is noted when it came and when it was over."""

    def __init__(self, n, slow=(), bad=(), robots="Disallow: /never"):
        self.n, self.slow, self.bad, self.robots = n, slow, bad, robots
        self.asked = []

    def __call__(self, host, path):
        if path == "/robots.txt":
            return 200, {}, f"User-agent: *\n{self.robots}\n".encode()
        i = 0 if path == "/" else int(path[1:])
        begin = time.time()
        if i in self.slow:
            time.sleep(0.5)
        self.asked.append((begin, time.time()))
        body = f"page {i} " + "".join(f"<a href=/{j}>next</a>" for j in (i + 1, i + 2) if j < self.n)
        return (500 if i in self.bad else 200), {}, body.encode()

    def pauses(self):
        """From the end of one answer to the next request."""
        return [round(after[0] - before[1], 3) for before, after in zip(self.asked, self.asked[1:])]


def crawl(site, path, *options):
    with PageServer(site) as server:
        return harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "-w", f"{DELAY}s", "--ip-wait", "1ms", "--progress=never", "-l", "100",
                            "--set", "fetch.allow_addresses=127.0.0.0/8", "--set", f"politeness.least={LEAST}s", *options,
                            f"http://127.0.0.1:{server.port}/"], 120)


LEARNED = ("--set", "politeness.learned=on")


def audit(path):
    result = harness.run([f"{harness.OUT}/ragno", "audit", path + "/crawl"])
    return result.returncode, result.stdout


def it_is_asked_more_often(report, path):
    site = Site(60)
    result = crawl(site, path, *LEARNED)
    pauses = site.pauses()
    report.equal("the crawl ends by itself, with all pages", (result.returncode, len(site.asked)), (0, 60))
    report.check("the first answers are owed the whole delay", min(pauses[:7]) >= DELAY, pauses[:8])
    report.check("then step by step less", all(min(pauses[8 * i:8 * i + 7]) >= max(DELAY * .75 ** i, LEAST) - .001 for i in range(7)), pauses)
    report.check("down to the least, and not below", LEAST <= min(pauses) and pauses[-1] < LEAST + .15, pauses[-8:])
    code, text = audit(path)
    report.equal("the audit proves each step", code, 0)
    log = path + "/crawl/crawl.log"
    with open(log, encoding="latin-1") as file:
        text = file.read()
    with open(log, "w", encoding="latin-1") as file:
        file.write(re.sub(r"learned:600/(\d+)/3", r"learned:450/\1/3", text, count=1))
    harness.unlogged("a step of crawl.log is forged")
    code, text = audit(path)
    report.check("and finds one that does not follow", code == 1 and "learned" in text, text[-600:])


def one_slow_answer(report, path):
    site = Site(34, slow=(22,), bad=(29,))
    result = crawl(site, path, *LEARNED, "--set", "politeness.retry=server-error 1ms 0")
    pauses = site.pauses()
    report.equal("the crawl ends by itself", result.returncode, 0)
    report.check("it was asked more often", pauses[21] < DELAY * .8, pauses)
    report.check("behind the slow answer the whole delay at once, and for the next ones", min(pauses[22:28]) >= DELAY, pauses[20:])
    report.check("the same behind the one that failed", len(pauses) == 33 and min(pauses[29:33]) >= DELAY, pauses[20:])
    report.equal("the audit agrees", audit(path)[0], 0)


def who_names_a_delay(report, path):
    site = Site(12, robots="Crawl-delay: 0.5")
    crawl(site, path, *LEARNED)
    report.check("has the longer of the two", min(site.pauses()) >= DELAY, site.pauses())
    report.equal("the audit agrees", audit(path)[0], 0)


def by_default_nothing_is_learned(report, path):
    site = Site(12)
    crawl(site, path)
    report.check("the delay stays", len(site.asked) == 12 and min(site.pauses()) >= DELAY, site.pauses())
    # The line of a crawl that has learned nothing cannot claim it.
    log = path + "/crawl/crawl.log"
    with open(log, encoding="latin-1") as file:
        text = file.read()
    with open(log, "w", encoding="latin-1") as file:
        file.write(re.sub(r"owes:800/(\d+)", r"owes:600/\1,learned:600/3/0", text))
    harness.unlogged("crawl.log is forged")
    report.equal("the audit finds what was not allowed to be learned", audit(path)[0], 1)


def the_plan_knows(report, path):
    """A page of a host takes what its answers have taught, and its whole delay without that."""
    site = Site(200)
    result = crawl(site, path, *LEARNED, "--set", "crawl.max_pages=50", "--set", "politeness.host_delay=400ms")
    report.equal("it ends by its limit", result.returncode, 14)
    told = [json.loads(harness.run([f"{harness.OUT}/ragno", "plan", path + "/crawl", "--json", "-s", f"politeness.learned={word}"]).stdout)
            ["slowest_host"]["seconds_per_url"] for word in ("on", "off")]
    report.check("the delay that was learned", LEAST <= told[0] < LEAST + .1, (told, site.pauses()[-3:]))
    report.check("the configured one without it", .4 <= told[1] < .5, told)


if __name__ == "__main__":
    harness.main(it_is_asked_more_often, one_slow_answer, who_names_a_delay, by_default_nothing_is_learned, the_plan_knows)
