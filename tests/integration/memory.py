"""crawl.memory: a crawl within 64 Mi. What it asks of the system for itself (anonymous pages; the
database's map is page cache) stays within the budget and a fifth, and a second crawl ends under a limit
of the address space that leaves no room for anything not planned."""
import os
import re
import resource
import subprocess
import time

import harness

BUDGET_MI = 64
# Libraries and the database's map are address space too, and glibc reserves more than it uses.
SPACE_MI = 512
SIZES = dict(hosts=400 if not harness.FULL else 4000, addresses=200,
             pages=8000 if not harness.FULL else 100000, skew=0.5)


def anonymous_kb(process):
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            found = re.search(r"RssAnon:\s+(\d+) kB", file.read())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(found.group(1)) if found else 0


def watched(command, limit=None, timeout=90):
    """Exit status, peak of anonymous memory in KiB, standard error."""
    before = (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) if limit else None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=before,
                               env=dict(os.environ, MALLOC_ARENA_MAX="2"))
    peak, end = 0, time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < end:
        peak = max(peak, anonymous_kb(process))
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    return process.wait(), peak, process.communicate()[1]


def judge(report, name, web, directory, result):
    status, peak, errors = result
    report.equal(f"{name} ends", (status, errors[-300:]), (0, ""))
    pages = {url for url, _, n in harness.db_rows(directory) if n > 0}
    report.check(f"{name} has all pages", web.graph_urls() <= pages)
    return peak


def within(report, path):
    with harness.Web(path, **SIZES) as web:
        command = harness.crawl_command(web, path + "/crawl", "--set",
                                        f"crawl.memory={BUDGET_MI}Mi")
        peak = judge(report, "a crawl with crawl.memory", web, path + "/crawl", watched(command))
        report.check(f"at most {peak / 1024:.1f} Mi of {BUDGET_MI} Mi and a fifth",
                     0 < peak <= BUDGET_MI * 1024 * 1.2)
        command = harness.crawl_command(web, path + "/limited", "--set",
                                        f"crawl.memory={BUDGET_MI}Mi", "--set",
                                        "store.map_size=128Mi")
        result = watched(command, SPACE_MI << 20)
        judge(report, f"a crawl in {SPACE_MI} Mi of address space", web, path + "/limited", result)


def shown(report, path):
    """--print-config says what follows from the budget, and a resumed crawl may have another."""
    del path
    command = [f"{harness.OUT}/ragno", "--print-config", "--set"]
    text = harness.run(command + [f"crawl.memory={BUDGET_MI}Mi"]).stdout
    report.check("what follows is shown, and is not a setting",
                 re.search(r"^; crawl\.memory\n; connections = \d+$", text, re.M) is not None, text)
    result = harness.run(command + ["crawl.memory=63Mi"])
    report.check("63Mi is refused", result.returncode == 2 and "64Mi" in result.stderr,
                 f"{result.returncode}: {result.stderr}")
    result = harness.run(command + ["crawl.memory=1Gi", "--set", "fetch.connections=3"])
    report.check("a lower limit stays", "; command line\nconnections = 3" in result.stdout)


if __name__ == "__main__":
    harness.main(shown, within)
