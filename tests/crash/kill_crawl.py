"""Crawls killed with SIGKILL at random instants, and resumed: what they end with is what a crawl
ends with that was left alone, each page is stored exactly once, `ragno verify` has no complaint (after
every kill, too), and the server saw no impolite request, restarts included.

    tests/crash/kill_crawl.py         20 kills; FULL=1: 300; SEED=n for others
"""
import os
import random
import subprocess
import time

import crawl_state
from crawl_state import harness

SEED = int(os.environ.get("SEED", "1"))
KILLS = 300 if harness.FULL else 20
KILLS_PER_CRAWL = 5
SIZES = dict(hosts=60, addresses=30, pages=1500, skew=0, page_bytes=3000, not_found=0.02)
HOST_DELAY_MS, IP_DELAY_MS = 20, 5
# From one beginning to the kill: half a start, early in the crawl, anywhere.
SPANS_S = (0.06, 0.3, 1.2)
# The server notices a little later than it happened that a client is gone.
GONE_SLACK_US = 5000
# Small files, so that there are kills while one is finished.
OPTIONS = ["--warc-max-size", "200k"]
# All links wait in the bucket files of the sieve, as in a large crawl.
SIEVE = ["sieve.least_urls=0", "sieve.max_age=50ms", "sieve.memory=1Mi"]
# Each crawl keeps its answers, and waits with its links, in another way.
# Generations of so few rows that kills meet each state of the journal and its sweeps; in the
# others all rows are still in it.
JOURNAL, LEAST_JOURNAL = "store.journal=24Ki", "store.journal=3Ki"
ARCHIVES = ([JOURNAL], [*SIEVE, LEAST_JOURNAL], SIEVE,
            ["warc.compression=zstd", "warc.metadata=yes", "warc.dns=yes", JOURNAL])


def command(web, directory, archive=()):
    settings = [word for setting in archive for word in ("--set", setting)]
    return harness.crawl_command(web, directory, *OPTIONS, *settings, wait=f"{HOST_DELAY_MS}ms",
                                 ip_wait=f"{IP_DELAY_MS}ms")


def killed_after(arguments, seconds):
    """True when it was killed, False when it had ended by itself."""
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    alive = process.poll() is None
    process.kill()
    process.wait()
    return alive


def impolite(requests):
    """Requests too soon after another one to the same address, or host."""
    wrong = []
    for name, delay_ms in (("address", IP_DELAY_MS), ("host", HOST_DELAY_MS)):
        last = {}
        for r in sorted(requests, key=lambda request: request.start):
            before = last.get(getattr(r, name))
            slack_us = GONE_SLACK_US if before is not None and "A" in before.flags else 0
            if before is not None and r.start - before.end + slack_us < delay_ms * 1000:
                wrong.append(f"{name}: {(r.start - before.end) / 1000} ms before {harness.url_of(r)}")
            if before is None or r.end > before.end:
                last[getattr(r, name)] = r
    return wrong


def one_crawl(report, web, path, name, archive, randomness, undisturbed):
    directory = f"{path}/{name}"
    kills, complaints = 0, []
    for _ in range(KILLS_PER_CRAWL):
        seconds = randomness.choice(SPANS_S) * randomness.random()
        if not killed_after(command(web, directory, archive), seconds):
            break
        kills += 1
        if os.path.exists(directory + "/crawl.mdb/data.mdb"):
            complaints += [f"after {seconds:.3f} s: {c}" for c in crawl_state.verify(directory)]
    result = harness.run(command(web, directory, archive), timeout=120)
    if result.returncode != 0:
        complaints.append(f"resumed: exit {result.returncode}: {result.stderr[-300:]}")
    else:
        complaints += crawl_state.verify(directory)
        complaints += crawl_state.compare(crawl_state.State(directory), undisturbed)
    words = " ".join(archive)
    report.check(f"{name}: as undisturbed after {kills} kills {words}".rstrip(), not complaints,
                 "\n".join(complaints[:5]))
    return kills


def kills(report, path):
    randomness = random.Random(SEED)
    with harness.Web(path, **SIZES) as web:
        result = harness.run(command(web, path + "/undisturbed"), timeout=120)
        report.equal("the undisturbed crawl ends", result.returncode, 0)
        undisturbed = crawl_state.State(path + "/undisturbed")
        report.check("and has all pages", web.graph_urls() <= set(undisturbed.crawled))
        complaints = crawl_state.verify(path + "/undisturbed") + \
            crawl_state.compare(undisturbed, undisturbed)
        report.check("each stored once", not complaints, f"{complaints}")
        done = number = 0
        while done < KILLS and number < KILLS:
            number += 1
            archive = ARCHIVES[number % len(ARCHIVES)]
            done += one_crawl(report, web, path, f"crawl {number}", archive, randomness, undisturbed)
    report.check(f"{done} kills, at least {KILLS}", done >= KILLS)
    requests = web.requests()
    wrong = impolite(requests)
    report.check(f"{len(requests)} requests, none too soon, restarts included", not wrong,
                 f"{len(wrong)}: {wrong[:3]}")


if __name__ == "__main__":
    harness.main(kills)
