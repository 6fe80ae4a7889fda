"""`ragno forget`: what is named is in no byte of the directory any more, everything else is as it was,
and it does not come back; at rest, while the crawl runs, and killed at any instant."""
import collections
import gzip
import os
import re
import shutil
import subprocess
import time

import harness
from outages import Machine

RAGNO = f"{harness.OUT}/ragno"
OPTIONS = ["--set", "log.skipped=all", "-q"]


def ragno(*words, timeout=120):
    if words[0] == "forget" or "--forget" in words:
        harness.unlogged("lines of crawl.log are forgotten")
    return harness.run([RAGNO, *words], timeout)


def records(path):
    """(type, header, block) of the records of a WARC file."""
    with gzip.open(path) as file:
        data = file.read()
    at = 0
    while at < len(data):
        block = data.index(b"\r\n\r\n", at) + 4
        head = data[at:block - 4]
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
        kind = re.search(rb"WARC-Type: (\w+)", head).group(1)
        yield kind, head, data[block:block + length]
        at = block + length + 4


def left(directory, name):
    """Where the name still stands: files, and records whose header or own words have it. What other
    hosts' pages say is theirs."""
    found = []
    name = name.encode()
    for folder, _, files in os.walk(directory):
        for file in files:
            path = os.path.join(folder, file)
            if not os.path.isfile(path):
                continue  # the socket of a crawl that runs
            with open(path, "rb") as opened:
                if name in opened.read():
                    found.append(path)
            if path.endswith(".warc.gz"):
                found += [f"{path}: {kind.decode()}" for kind, head, block in records(path)
                          if name in head or (kind != b"response" and name in block)
                          or (kind == b"response" and name in block.partition(b"\r\n\r\n")[0])]
    return found


def verify(report, title, directory):
    answer = ragno("verify", directory)
    report.check(title + ": verify finds no problem", answer.returncode == 0 and
                 "\t0 problems" in answer.stdout, answer.stdout + answer.stderr)


def pages(directory):
    """URL -> number of crawls, of the pages that have a name."""
    return {url: n for url, _, n in harness.db_rows(directory) if ".forgotten/" not in url}


def bodies(directory, urls):
    """What is stored of each."""
    return {url: ragno("db", directory, "get", url, "--body").stdout for url in urls}


def of_host(urls, host):
    return {url for url in urls if url.split("/")[2] == host}


def busiest(urls):
    return collections.Counter(url.split("/")[2] for url in urls).most_common(1)[0][0]


def a_host_at_rest(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=20, addresses=20, pages=600, not_found=0.02) as web:
        harness.crawl(web, directory, *OPTIONS)
        before = pages(directory)
        host = busiest(before)
        kept = set(before) - of_host(before, host)
        # Its pages are among the first with their bodies: others refer to them.
        twins = sorted(u for u in kept if before[u] > 0)[:40]
        stored = bodies(directory, twins)
        report.check("the host is there before", len(left(directory, host)) > 3)
        answer = ragno("verify", directory, "--absent", host)
        report.check("verify finds it in the database, the archive and the log", answer.returncode == 1 and all(
            f"'{host}' stands in {where}" in answer.stdout for where in ("a URL", "a record's header", "a record,", "the file")) and
            "problem\tcrawl.log" in answer.stdout, answer.stdout[-2000:])
        with open(directory + "/denied.txt", "a") as denied:  # as after `complaint --deny`
            denied.write(host + "\nother.test\n")
        answer = ragno("forget", directory, host)
        with open(directory + "/denied.txt") as denied:
            report.check("what else is denied stays so", "\nother.test" in denied.read())
        report.check("it is forgotten", answer.returncode == 0 and "forgotten:" in answer.stdout,
                     answer.stdout + answer.stderr)
        report.equal("no byte of it is left", left(directory, host), [])
        answer = ragno("verify", directory, "--absent", host)
        report.check("as verify says", answer.returncode == 0 and "\t0 problems" in answer.stdout, answer.stdout[-2000:])
        report.equal("everything else is there", pages(directory), {u: before[u] for u in kept})
        report.equal("and what is stored of it", bodies(directory, twins), stored)
        verify(report, "at rest", directory)
        asked = len(web.requests())
        harness.crawl(web, directory, *OPTIONS)  # with the same seeds
        web.stop()
        report.equal("it is not asked for again", [r for r in web.requests()[asked:] if r.host == host],
                     [])
        report.equal("no byte of it has come back", left(directory, host), [])
        verify(report, "after another run", directory)


def a_page_that_is_lifted_again(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=10, addresses=10, pages=300) as web:
        harness.crawl(web, directory, *OPTIONS)
        before = pages(directory)
        seeds = open(web.seeds, encoding="utf-8").read().split()
        url = sorted(u for u in before if before[u] > 0 and u not in seeds)[7]
        host = url.split("/")[2]
        answer = ragno("forget", directory, url)
        report.equal("a page is forgotten", answer.returncode, 0)
        after = pages(directory)
        report.equal("that page alone", set(before) - set(after), {url})
        report.equal("no byte of it is left", [f for f in left(directory, url + " ")], [])
        verify(report, "a page", directory)
        report.equal("--again takes the tombstone away",
                     ragno("forget", directory, url, "--again").returncode, 0)
        again = ragno("forget", directory, url, "--again")
        report.check("a second time there is none", again.returncode == 2 and
                     "was not forgotten" in again.stderr, again.stderr)
        harness.crawl(web, directory, *OPTIONS, seeds=write(path, [url]))
        report.equal("then it may be crawled", pages(directory).get(url), 1)
        report.check("its host was there all the time", len(of_host(after, host)) > 0)
        verify(report, "again", directory)


def write(path, lines):
    name = f"{path}/more.txt"
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return name


def an_expression_with_the_graph(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=10, addresses=10, pages=400) as web:
        harness.crawl(web, directory, *OPTIONS)
        before = pages(directory)
        hosts = sorted({u.split("/")[2] for u in before})
        regex = f"^http://({hosts[2]}|{hosts[3]})/"
        meant = of_host(before, hosts[2]) | of_host(before, hosts[3])
        arcs = len(ragno("db", directory, "links", "--ids").stdout.splitlines())
        answer = ragno("forget", directory, "--regex", regex, "--keep-graph", "--hash-logs")
        report.equal("an expression is forgotten", answer.returncode, 0)
        report.same_set("what it finds, and no more", set(pages(directory)), set(before) - meant)
        report.equal("the graph has its arcs",
                     len(ragno("db", directory, "links", "--ids").stdout.splitlines()), arcs)
        log = open(directory + "/crawl.log", encoding="utf-8").read()
        report.check("lines of the log stay with a hash",
                     log.count("http://forgotten.invalid/") >= len([u for u in meant if before[u]]))
        report.check("and without a name", not any(u + " " in log for u in meant))
        verify(report, "an expression", directory)


def a_host_out_of_scope(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=8, addresses=8, pages=200) as web:
        inside = ",".join(f"h{i:05}.web.test" for i in range(4))
        harness.crawl(web, directory, *OPTIONS, "-D", inside, "--set", "parse.external_links=1000")
    arcs = ragno("export", directory, "links", "--format", "tsv").stdout.splitlines()
    host, other = "h00005.web.test", "h00006.web.test"
    report.check("links lead out of scope", any(host in a for a in arcs) and any(other in a for a in arcs))
    report.equal("a host out of scope is forgotten", ragno("forget", directory, host).returncode, 0)
    report.same_set("links to it are gone, all others stay",
                    set(ragno("export", directory, "links", "--format", "tsv").stdout.splitlines()),
                    {a for a in arcs if host not in a})
    report.equal("no byte of it is left", left(directory, host), [])
    verify(report, "out of scope", directory)


def killed_at_any_instant(report, path):
    """The n-th write, sync, rename or removal below the directory is the last of the process, for n all
    over the erasure; each time from the same state, and then it goes on."""
    directory = os.path.realpath(path) + "/crawl"
    with harness.Web(path, hosts=8, addresses=8, pages=150) as web:
        harness.crawl(web, directory, *OPTIONS)
    before = pages(directory)
    host = busiest(before)
    shutil.copytree(directory, path + "/as-it-was")
    shim = {**os.environ, "IO_DIR": directory,
            "LD_PRELOAD": f"{os.path.abspath(harness.OUT)}/crash/io_shim.so"}
    count = f"{path}/count"
    harness.run([RAGNO, "forget", directory, host], env={**shim, "IO_COUNT": count})
    calls = int(open(count, encoding="utf-8").read())
    step = 1 if harness.FULL else max(1, calls // 24)
    wrong, stopped = [], 0
    for n in range(1, calls + 1, step):
        shutil.rmtree(directory)
        shutil.copytree(path + "/as-it-was", directory)
        how = ("kill", "killed-after", "half")[n % 3]
        harness.run([RAGNO, "forget", directory, host], env={**shim, "IO_FAIL": str(n), "IO_HOW": how})
        pending = os.path.exists(directory + "/forget/order") or os.path.exists(directory + "/forget/ready")
        stopped += pending
        answer = ragno("forget", directory, *([] if pending else [host]))
        check = ragno("verify", directory)
        if answer.returncode != 0 or left(directory, host) or check.returncode != 0 or \
                os.path.exists(directory + "/forget"):
            wrong.append((n, how, answer.stderr, left(directory, host)[:3], check.stdout[-300:]))
    report.check("it was interrupted on its way", stopped > 8, f"{stopped} of {calls // step}")
    report.equal(f"killed at one of {calls} calls it goes on, and nothing is left", wrong, [])
    report.equal("everything else is there", pages(directory),
                 {u: n for u, n in before.items() if u.split("/")[2] != host})


def what_a_power_cut_leaves(report, path):
    """The power is cut when `ready` has its name, and nothing is on the disk that was not synced, names of
    files included: what `ready` promises is there, and the order is carried out."""
    directory, cut = os.path.realpath(path) + "/crawl", path + "/cut"
    tools = os.path.abspath(harness.OUT) + "/crash"
    log = path + "/log"
    shim = {**os.environ, "IO_DIR": directory, "LD_PRELOAD": tools + "/io_shim.so"}
    with harness.Web(path, hosts=8, addresses=8, pages=150) as web:
        harness.crawl(web, directory, *OPTIONS)
    host = busiest(pages(directory))
    shutil.copytree(directory, cut)
    harness.run([RAGNO, "forget", directory, host], env={**shim, "IO_RECORD": log})
    events = harness.run([f"{tools}/power_cut", log, "list"]).stdout.splitlines()
    named = [n for n, event in enumerate(events) if "forget/ready" in event and "rename" in event][0]
    os.mkdir(path + "/replayed")
    # One more: the folder that has the name is synced.
    harness.run([f"{tools}/power_cut", log, "replay", str(named + 2), "strict-drop", "1", directory, path + "/replayed"])
    shutil.copytree(path + "/replayed", cut, dirs_exist_ok=True)
    report.check("the order is ready", os.path.exists(cut + "/forget/ready"))
    answer = ragno("forget", cut)
    report.check("it is carried out", answer.returncode == 0, answer.stdout + answer.stderr)
    report.equal("and no byte is left", left(cut, host), [])
    verify(report, "after the power cut", cut)


def while_it_runs(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=20, addresses=20, pages=2000) as web:
        command = harness.crawl_command(web, directory, *OPTIONS, "--set", "sieve.least_urls=0", "--set",
                                        f"control.alert_command=cat >> {path}/told", wait="60ms", ip_wait="20ms")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            harness.until(lambda: len(web.requests()) > 400)
            host, denied = busiest([harness.url_of(r) for r in web.requests()]), "h00019.web.test"
            ragno("ctl", directory, "deny", denied if denied != host else "h00018.web.test")
            answer = ragno("forget", directory, host)
            moment = time.time()
            report.check("a running crawl forgets", answer.returncode == 0 and
                         "forgotten:" in answer.stdout, answer.stdout + answer.stderr)
            report.check("and goes on, as the same process", process.poll() is None or
                         process.returncode == 0)
            with open(directory + "/ragno.log") as log:
                report.check("a stop for an erasure is not told as an end", "all that is left is denied" not in log.read() and
                             not os.path.exists(path + "/told"))
            harness.until(lambda: ragno("ctl", directory, "allow", denied if denied != host else "h00018.web.test").returncode == 0)
            report.equal("it ends by itself", harness.ended(process), 0)
            with open(path + "/told") as told:
                report.equal("which is told once", told.read().count('"event": "end"'), 1)
        web.stop()
        report.equal("it was not asked any more",
                     [r.path for r in web.requests() if r.host == host and r.start / 1e6 > moment], [])
        report.equal("no byte of it is left", left(directory, host), [])
        hosts = web.hosts()
        found = {u for u, n in pages(directory).items() if n > 0 and "/go/" not in u}  # redirects
        wanted = {u for u in web.graph_urls() if u.split("/")[2] != host and
                  not (hosts[u.split("/")[2]][1] and "/private/" in u)}
        # What only the forgotten host leads to may be missing.
        report.check("nearly all others were fetched", len(found & wanted) > 0.8 * len(wanted) and
                     not found - wanted, f"{len(found & wanted)} of {len(wanted)}, {sorted(found - wanted)[:5]} more")
        verify(report, "while it runs", directory)


def retention(report, path):
    """store.retention: what is older goes at a start, and when a day begins, by the crawl itself."""
    directory = path + "/crawl"
    harness.unlogged("lines of crawl.log are forgotten")
    with harness.Web(path, hosts=10, addresses=10, pages=300) as web:
        harness.crawl(web, directory, *OPTIONS, "--max-pages", "60")
        first = {u for u, n in pages(directory).items() if n > 0}
        moment = time.time()
        since_us = time.monotonic_ns() // 1000
        harness.until(lambda: time.time() > moment + 2)
        harness.crawl(web, directory, *OPTIONS, "--max-pages", "80", "--set", "store.retention=2s")
        crawled = {u for u, n in pages(directory).items() if n > 0}

        def asked_again():
            """Later pages may link to what was forgotten. The server writes its log when it is idle."""
            return {harness.url_of(r) for r in web.requests() if r.start > since_us}

        harness.until(lambda: not (first - asked_again()) & crawled)
        again = asked_again()
        report.equal("at a start the old is forgotten", (first - again) & crawled, set())
        report.check("nearly all of it", len(first - again) > len(first) / 2, (len(first), len(again)))
        with open(directory + "/forgotten.log", encoding="utf-8") as told:
            report.equal("and told in a line", len(told.readlines()), 1)
        verify(report, "after the start", directory)
        harness.crawl(web, directory, *OPTIONS)
        second = {u for u, n in pages(directory).items() if n > 0}
        report.check("without the option nothing goes", len(second) > 80, len(second))
        harness.crawl(web, directory, *OPTIONS, "--set", "store.retention=1d")
        report.same_set("what is younger stays", {u for u, n in pages(directory).items() if n > 0}, second)


def a_day_begins(report, path):
    """The clock of a crawl with store.retention comes to another day: what has become too old goes, and it goes on."""
    directory = path + "/crawl"
    harness.unlogged("lines of crawl.log are forgotten")
    machine = Machine(path)
    with harness.Web(path, hosts=20, addresses=20, pages=1500) as web:
        command = harness.crawl_command(web, directory, *OPTIONS, "--set", "store.retention=12h", wait="20ms")
        process = machine.start(command)
        try:
            harness.until(lambda: len(web.requests()) > 400 or process.poll() is not None)
            noon = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 43200))
            machine.set(clock_s=86400)
            report.check("what is old is forgotten", harness.until(
                lambda: os.path.exists(directory + "/forgotten.log") or process.poll() is not None) and
                process.poll() is None)
            report.equal("the same process goes on to the end", harness.ended(process), 0)
        finally:
            harness.end_process(process)
            process.communicate()
        web.stop()
    dates = [re.search(rb"WARC-Date: ([0-9T:-]+)", head)[1].decode() for name in os.listdir(directory + "/warc")
             if name.endswith(".gz") for kind, head, _ in records(f"{directory}/warc/{name}") if kind != b"warcinfo"]
    report.check("what came later is kept, and no capture is older", len(dates) > 100 and min(dates) > noon,
                 (len(dates), min(dates), noon))
    verify(report, "a day later", directory)


def what_is_old(report, path):
    directory = path + "/crawl"
    with harness.Web(path, hosts=10, addresses=10, pages=300) as web:
        seeds = open(web.seeds, encoding="utf-8").read().split()
        harness.crawl(web, directory, *OPTIONS, "--max-pages", "60")
        first = {u for u, n in pages(directory).items() if n > 0}
        time.sleep(1.1)
        moment = time.gmtime()
        harness.crawl(web, directory, *OPTIONS)
        second = {u for u, n in pages(directory).items() if n > 0} - first
        answer = ragno("forget", directory, "--older-than", time.strftime("%Y-%m-%dT%H:%M:%S", moment))
        report.equal("what is old is forgotten", answer.returncode, 0)
        report.same_set("the rest stays", {u for u, n in pages(directory).items() if n > 0}, second)
        report.equal("no capture is older", [
            head for name in os.listdir(directory + "/warc") if name.endswith(".gz")
            for kind, head, _ in records(f"{directory}/warc/{name}") if kind != b"warcinfo" and
            re.search(rb"WARC-Date: ([0-9T:-]+)", head).group(1).decode() <
            time.strftime("%Y-%m-%dT%H:%M:%S", moment)], [])
        verify(report, "what is old", directory)
        report.check("seeds were among it", any(s in first for s in seeds))


def mistakes(report, path):
    directory = path + "/crawl"
    for words in ([], [path], [directory, "a b"], [directory, "--regex", "("], [directory, "x", "--older"]):
        answer = ragno("forget", *words)
        report.check(f"a mistake is told: {words[1:]}", answer.returncode == 2 and answer.stderr,
                     f"{answer.returncode}: {answer.stderr}")


if __name__ == "__main__":
    harness.main(a_host_at_rest, a_host_out_of_scope, a_page_that_is_lifted_again, an_expression_with_the_graph,
                 killed_at_any_instant, what_a_power_cut_leaves, while_it_runs, what_is_old, retention, a_day_begins, mistakes)
