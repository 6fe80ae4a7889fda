"""`ragno complaint`: its figures are those of the server's log, and what it is told to do is done."""
import re

import harness
from forget import OPTIONS, busiest, left, pages, ragno, verify


def figure(letter, name):
    return int(re.search(rf"{name} +(\d+)", letter).group(1))


def what_was_asked(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=12, addresses=6, pages=300) as web:
        harness.crawl(web, directory, *OPTIONS, "--contact", "https://bot.example/", wait="30ms",
                      ip_wait="10ms")
        web.stop()
        requests = web.requests()
    host = busiest(pages(directory))
    address = web.hosts()[host][0]
    url = harness.url_of([r for r in requests if r.host == host and "robots" not in r.path][3])
    for word, mine in ((host, [r for r in requests if r.host == host]),
                       (address, [r for r in requests if r.address == address]),
                       (url, [r for r in requests if harness.url_of(r) == url])):
        answer = ragno("complaint", directory, word)
        letter = answer.stdout
        report.equal(f"{word}: its status", (answer.returncode, answer.stderr), (0, ""))
        report.equal(f"{word}: the requests of the server's log", figure(letter, "requests"), len(mine))
        report.check(f"{word}: when, in UTC, from where, and who we are",
                     re.search(r"first +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", letter) and
                     "They came from 127.0.0.1." in letter and "https://bot.example/" in letter, letter)
        report.check(f"{word}: why", "It came there by links" in letter or "told to begin" in letter, letter)
    shortest = float(re.search(r"shortest +([\d.]+)", ragno("complaint", directory, host).stdout).group(1))
    starts = sorted((r.start, r.end) for r in requests if r.host == host)
    gaps = [(b[0] - a[1]) / 1e6 for a, b in zip(starts, starts[1:])]
    report.check("how fast", 0.03 <= shortest <= min(gaps) + 0.05, f"{shortest}, {min(gaps)}")
    none = ragno("complaint", directory, "never.example")
    report.check("what was never asked", none.returncode == 0 and "has none to never.example" in none.stdout)
    report.equal("what is no host", ragno("complaint", directory, "a b").returncode, 2)


def what_is_done(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=8, addresses=8, pages=200) as web:
        harness.crawl(web, directory, *OPTIONS)
        hosts = sorted({u.split("/")[2] for u in pages(directory)})
        answer = ragno("complaint", directory, hosts[1], "--deny")
        report.check("it is denied, and the letter says so", answer.returncode == 0 and
                     "We do not visit" in answer.stdout and
                     hosts[1] in open(directory + "/denied.txt", encoding="utf-8").read(), answer.stderr)
        answer = ragno("complaint", directory, hosts[2], "--forget")
        report.check("it is forgotten, and the letter says so", answer.returncode == 0 and
                     "is erased from this crawl" in answer.stdout and "first" in answer.stdout,
                     answer.stdout + answer.stderr)
        report.equal("no byte of it is left", left(directory, hosts[2]), [])
        verify(report, "afterwards", directory)


if __name__ == "__main__":
    harness.main(what_was_asked, what_is_done)
