"""score.scorer = command and fasttext: a program of the user's scores pages and so steers the crawl.

A good one is asked about every document and answered for; dead, slow, silent and lying ones neither
stop the crawl nor lose a page."""
import glob
import json
import os
import shlex
import shutil
import sys

import harness

SIZES = dict(hosts=10, addresses=10, pages=400, skew=0.5, page_bytes=2000)

GOOD = """
import json, sys
out = open(sys.argv[1], "a")
for line in sys.stdin:
    page = json.loads(line)
    out.write(line)
    out.flush()
    print(json.dumps({"score": 0.9 if "/d3/" in page["url"] else 0.01}), flush=True)
"""
GREETING = """
import sys
print("Scorer 2.1 ready (model of 2020)", flush=True)
print("\\x1b[31mloading ...", flush=True)
for line in sys.stdin:
    print(0.9, flush=True)
"""
SLOW = """
import sys, time
for line in sys.stdin:
    time.sleep(0.5)
    print(0.9, flush=True)
"""
LYING = """
import itertools, sys
for line, answer in zip(sys.stdin, itertools.cycle(["2", "-1", "nan", "yes", '{"score": []}', "0.9"])):
    print(answer, flush=True)
"""


def program(path, name, text, *arguments):
    file = f"{path}/{name}.py"
    with open(file, "w") as out:
        out.write(text)
    return shlex.join([sys.executable, file, *arguments])


def status_of(directory):
    with open(directory + "/status.log") as file:
        last = file.read().splitlines()[-1]
    return dict(word.split("=", 1) for word in last.split() if "=" in word)


def scores(directory):
    """URL -> score of what was crawled."""
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, "dump"])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return {r[2]: float(r[8]) for r in rows if int(r[6]) > 0}


def crawl(web, directory, command, *arguments):
    return harness.crawl(web, directory, "--no-warc", "--set", "score.scorer=command",
                         "--set", "score.command=" + command, *arguments)


def every_page_is_scored(report, path):
    log = path + "/asked"
    with harness.Web(path, **SIZES) as web:
        urls = web.graph_urls()
        result = crawl(web, path + "/crawl", program(path, "good", GOOD, log),
                       "--set", "score.command_queue=65536")
    report.equal("the crawl ends", result.returncode, 0)
    found = {u: s for u, s in scores(path + "/crawl").items() if u in urls}
    report.same_set("all pages are fetched", set(found), urls)
    wrong = [(u, s) for u, s in found.items() if abs(s - (0.9 if "/d3/" in u else 0.01)) > 1e-6]
    report.check("each has the score that was answered", not wrong, f"{len(wrong)}: {wrong[:3]}")
    with open(log) as file:
        asked = [json.loads(line) for line in file]
    report.equal("each was asked about once", sorted(p["url"] for p in asked if p["url"] in urls),
                 sorted(urls))
    report.check("with title, language and text",
                 all({"url", "title", "language", "text"} == set(p) for p in asked) and
                 all(p["text"] and p["title"] for p in asked if p["url"] in urls), str(asked[:1]))
    status = status_of(path + "/crawl")
    report.equal("status.log counts them", (int(status["classified"]), status["classify_default"],
                                            status["classify_starts"]), (len(asked), "0", "1"))


def survives(report, path, name, command, *arguments):
    directory = f"{path}/{name}"
    with harness.Web(path, **SIZES) as web:
        urls = web.graph_urls()
        result = crawl(web, directory, command, *arguments)
    report.equal(f"{name}: the crawl ends", result.returncode, 0)
    found = {u: s for u, s in scores(directory).items() if u in urls}
    report.same_set(f"{name}: all pages are fetched", set(found), urls)
    return found, status_of(directory)


def a_dead_one(report, path):
    found, status = survives(report, path, "dead", "exit 1", "--set", "score.command_default=0.25")
    report.check("all have the default", set(found.values()) == {0.25}, str(set(found.values())))
    report.check("counted", int(status["classify_default"]) >= len(found), str(status))
    with open(path + "/dead/ragno.log") as file:
        log = file.read()
    report.check("the log says so", 'the classifier failed' in log and 'it has ended' in log, log[-500:])


def a_slow_one(report, path):
    found, status = survives(report, path, "slow", program(path, "slow", SLOW), "--set",
                             "score.command_queue=4", "--set", "score.command_batch=2", "--set",
                             "score.command_timeout=5m")
    report.check("what it had time for is scored, the rest has the default",
                 all(abs(s - 0.5) < 1e-6 or abs(s - 0.9) < 1e-6 for s in found.values()) and int(status["classify_default"]) > len(found) / 2, str(status))


def a_silent_one(report, path):
    found, status = survives(report, path, "silent", "exec sleep 1000", "--set",
                             "score.command_timeout=100ms")
    report.check("all have the default", set(found.values()) == {0.5}, str(set(found.values())))
    with open(path + "/silent/ragno.log") as file:
        report.check("the log says why", "no answer within score.command_timeout" in file.read())


def one_that_greets(report, path):
    found, status = survives(report, path, "greeting", program(path, "greeting", GREETING), "--set",
                             "score.command_queue=65536")
    report.check("all are scored", {round(s, 6) for s in found.values()} == {0.9} and
                 status["classify_starts"] == "1", f"{set(found.values())} {status}")
    with open(path + "/greeting/ragno.log", encoding="latin-1") as file:
        log = file.read()
    report.check("the log quotes what was left out", 'line="Scorer 2.1 ready (model of 2020)"' in log and
                 'line="?[31mloading ..."' in log, log[-800:])


def one_that_is_not_there(report, path):
    """Told at the start; one that the shell finds missing later costs nothing but the scores."""
    with harness.Web(path, hosts=3, addresses=3, pages=30) as web:
        refused = harness.crawl(web, path + "/refused", "--no-warc", "--set", "score.scorer=command", "--set",
                                "score.command=no-such-program-anywhere --fast")
    report.check("it is told at the start", refused.returncode == 2 and
                 "score.command: there is no program 'no-such-program-anywhere'" in refused.stderr, refused.stderr)
    survives(report, path, "none", "exec no-such-program-anywhere")
    with open(path + "/none/ragno.log", encoding="latin-1") as file:
        report.check("the log says so", "there is no such program (score.command)" in file.read())


def one_that_talks(report, path):
    survives(report, path, "talking", "while read line; do echo 0.5; echo 0.5 more; done")
    with open(path + "/talking/ragno.log", encoding="latin-1") as file:
        log = file.read()
    report.check("the log quotes it", 'said="0.5' in log, log[-800:])


def a_lying_one(report, path):
    found, status = survives(report, path, "lying", program(path, "lying", LYING), "--set",
                             "score.command_queue=65536")
    report.check("what is no score is counted", int(status["classify_bad"]) > 0, str(status))
    report.check("and the page has the default",
                 all(abs(s - 0.5) < 1e-6 or abs(s - 0.9) < 1e-6 for s in found.values()) and
                 0.5 in found.values(), str(set(found.values())))


def garbage(report, path):
    found, _ = survives(report, path, "garbage", "exec cat /dev/urandom")
    report.check("all have the default", set(found.values()) == {0.5}, str(set(found.values())))


def a_stop_does_not_wait(report, path):
    sleeper = f"sleep {1000000 + os.getpid()}"
    with harness.Web(path, **SIZES) as web:
        command = harness.crawl_command(web, path + "/crawl", "--no-warc", "--set", "score.scorer=command",
                                        "--set", "score.command=exec " + sleeper, "--set",
                                        "score.command_timeout=30m")
        result = harness.run_until(command, lambda: is_running(sleeper))
    report.equal("it ends by the signal", result.returncode, 11)
    report.check("and its program with it", not is_running(sleeper))


def is_running(command):
    """Whether there is a process of this command line."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if file.read() == wanted:
                    return True
        except OSError:
            pass  # it has just ended
    return False


def fasttext(report, path):
    if shutil.which("fasttext") is None:
        report.skip("a fastText model", "fasttext is not installed")
        return
    with harness.Web(path, **SIZES) as web:
        urls = web.graph_urls()
        harness.crawl(web, path + "/first")
        text = harness.run([f"{harness.OUT}/ragno", "export", path + "/first", "text"])
        with open(path + "/train", "w") as out:
            for line in text.stdout.splitlines():
                page = json.loads(line)
                label = "__label__wanted" if "/d3/" in page["url"] else "__label__other"
                out.write(f"{label} {page['url'].replace('/', ' ')} {' '.join(page['text'].split())}\n")
        harness.run(["fasttext", "supervised", "-input", path + "/train", "-output", path + "/model",
                     "-epoch", "5", "-dim", "8", "-thread", "1"])
        result = harness.crawl(web, path + "/crawl", "--no-warc", "--set", "score.scorer=fasttext",
                               "--set", f"score.model={path}/model.bin", "--set",
                               "score.command_queue=65536")
    report.equal("a crawl by a fastText model ends", result.returncode, 0)
    found = {u: s for u, s in scores(path + "/crawl").items() if u in urls}
    report.same_set("with all pages", set(found), urls)
    report.check("and their scores are probabilities", all(0 <= s <= 1 for s in found.values()) and
                 len(set(found.values())) > 3, str(sorted(found.values())[:5]))
    report.equal("all of its answers are scores", status_of(path + "/crawl")["classify_bad"], "0")
    wrong = harness.run([f"{harness.OUT}/ragno", "--test-config", "--set", "score.scorer=fasttext",
                         "--set", "score.model=/nowhere", "--set",
                         "fetch.allow_addresses=127.0.0.0/8"])
    report.check("a model that cannot be read is told before the start",
                 wrong.returncode == 2 and "score.model" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    harness.main(every_page_is_scored, a_dead_one, a_slow_one, a_silent_one, a_lying_one, one_that_greets, one_that_is_not_there, one_that_talks, garbage,
                 a_stop_does_not_wait, fasttext)
