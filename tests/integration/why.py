#!/usr/bin/env python3
"""ragno why: one URL of every state, and what the sentences and the JSON say of each."""
import datetime
import json
import os
import subprocess
import time

import harness
from harness import OUT, run
from sites import Sites, log_lines, page

A = "http://a.test"


def why(directory, url, *arguments):
    return run([f"{OUT}/ragno", "why", directory, url, *arguments])


def why_json(directory, url):
    return json.loads(why(directory, url, "--json").stdout)


def state_is(report, directory, url, state, *words, code=0):
    """The state in the first line and in JSON, and words that the text has."""
    result = why(directory, url)
    found = why_json(directory, url)
    first = result.stdout.splitlines()[0] if result.stdout else result.stderr
    report.check(f"{url}: {state}", first.endswith(f": {state}") and found["state"] == state and
                 result.returncode == code, f"{result.returncode} {first} {found.get('state')}")
    for word in words:
        report.check(f"{url}: says '{word}'", word in result.stdout, result.stdout)
    report.check(f"{url}: the sentence is in both", found["sentence"] in result.stdout,
                 found["sentence"])
    return found


def every_state(report, path):
    answers = {
        A + "/robots.txt": (200, {}, "User-agent: *\nDisallow: /private/\nAllow: /private/but\n"),
        A + "/": page("/ok", "/dup1", "/dup2", "/private/x", "/private/but", "/d1", "/nofetch",
                      "/noschedule", "/gone", "/r", "http://out.test/", "http://a.test:81/",
                      "http://nosuch.a.test/", "/x/x/x/y", "http://a.test:6667/x", "/" + "s/" * 40, "/?" + "a=1&" * 40,
                      "/" + "l" * 3000, "http://c.a.test/", "/reject", "/q1", "/q2"),
        A + "/ok": page("/"), A + "/dup1": page("/"), A + "/dup2": page("/"),
        A + "/private/but": page(), A + "/d1": page("/d2"), A + "/d2": page("/d3"),
        A + "/r": (302, {"Location": "/r2"}, ""), A + "/r2": page(text="there"),
    }
    answers[A + "/dup2"] = answers[A + "/dup1"] = page("/ok", text="the same text")
    directory = os.path.join(path, "crawl")
    with Sites(path, answers) as sites:
        result = sites.crawl(
            directory, "-D", "a.test", "-l", "2", "--exclude-domains", "c.a.test", "--reject-regex", "/reject$", "--set", "log.skipped=all", "--set",
            "filter.fetch=not URLEquals(http://a.test/nofetch)", "--set",
            "filter.schedule=not URLEquals(http://a.test/noschedule)", "--set", "politeness.retry=refused 10ms 1", A + "/")
    report.equal("the crawl ends", result.returncode, 0)
    found = state_is(report, directory, A + "/", "fetched", "a seed", "200 (OK)", "Stored\n")
    report.equal("how it was found", [s["hop"] for s in found["path"]], ["M"])
    found = state_is(report, directory, A + "/d2", "fetched", "depth           2")
    report.equal("the path", [s["url"] for s in found["path"]], [A + "/", A + "/d1", A + "/d2"])
    state_is(report, directory, A + "/gone", "fetched", "404 (not found)")
    found = state_is(report, directory, A + "/r2", "fetched", "  by a redirect")
    duplicate, original = (A + "/dup2", A + "/dup1")
    if why_json(directory, duplicate)["state"] != "duplicate":
        duplicate, original = original, duplicate
    found = state_is(report, directory, duplicate, "duplicate", f"its body is that of {original}")
    report.equal("what of", found["attempts"][-1]["duplicate_of"], original)
    found = state_is(report, directory, A + "/private/x", "refused", "line 2: Disallow: /private/",
                     "-9998 (forbidden by robots.txt)")
    state_is(report, directory, A + "/private/but", "fetched", "line 3: Allow: /private/but")
    state_is(report, directory, A + "/nofetch", "refused", "-5001", "REFUSES  filter.fetch")
    state_is(report, directory, A + "/noschedule", "refused", "by filter.schedule", "skipped.log says")
    state_is(report, directory, A + "/d3", "refused", "-4000 (too deep)", "3 of 2 links from a seed")
    state_is(report, directory, "http://out.test/", "refused", "by scope.domains: a.test",
             f"found on        {A}/")
    state_is(report, directory, A + "/x/x/x/y", "refused", "-10006 (trap)",
             "limits.repeated_segments")
    state_is(report, directory, "http://a.test:81/", "host dropped", "dropped since", ": refused",
             "It is kept for when the host comes back", "robots.txt:     -2 (no connection)")
    found = state_is(report, directory, "http://nosuch.a.test/", "host dropped", ": no-name",
                     "its name:       -1 (no address (DNS))")
    report.equal("what for", found["host"]["dropped_for"], "no-name")
    found = state_is(report, directory, A + "/never", "unknown", "it would be taken", code=1)
    report.check("nothing is known of it", not found["known"] and found["attempts"] == [], found)
    found = state_is(report, directory, "http://never.test/", "unknown",
                     "it would be refused by scope.domains", code=1)
    state_is(report, directory, "http://a.test:6667/x", "refused", "by scope.ports", "built in")
    refusals_agree(report, directory)
    report.equal("no URL is a usage error", why(directory, "http://[").returncode, 2)
    report.equal("a URL as people write it", why_json(directory, "a.test/ok")["url"], A + "/ok")


def refusals_agree(report, directory):
    """Whatever the crawl refused, `why` refuses, with the same number."""
    codes = ("-4000", "-5000", "-5001", "-5002", "-5003", "-9998", "-10005", "-10006", "-10007")
    refused = {(line[3], line[1]) for line in log_lines(directory) if line[1] in codes}
    with open(directory + "/skipped.log") as file:
        for line in file:
            words = line.split()
            url = next(word for word in words if word.startswith("http"))
            refused |= {(url, word) for word in words if word in codes and word != url}
    differ = []
    for url, code in refused:
        said = why(directory, url)
        if "would let it pass" in said.stdout or ": refused" not in said.stdout or code not in said.stdout:
            differ.append((url[:80], code, said.stdout[:300], said.stderr))
    found = sorted({code for _, code in refused})
    report.check(f"why agrees with {len(refused)} refusals ({' '.join(found)})", not differ and len(found) >= 5, str(differ))


def waits(report, path):
    """Queued: beside the crawl, when it does not run, and to be visited again."""
    answers = {A + "/": page("/1", "/2", "/3"), A + "/1": page(text="one"), A + "/2": page(text="two"), A + "/3": page(text="three")}
    directory = os.path.join(path, "crawl")
    with Sites(path, answers) as sites:
        command = sites.command(directory, A + "/1", A + "/2", A + "/3", wait="1h")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # robots.txt is fetched at once; then the host is owed an hour.
            report.check("robots.txt is fetched", harness.until(
                lambda: os.path.exists(directory + "/crawl.log") and log_lines(directory)))
            found = state_is(report, directory, A + "/3", "queued", "Its turn cannot come before",
                             "with 2 URLs of its host before it", "delay           1 h 0 min",
                             "bound by        politeness.host_delay")
            report.equal("which delay binds", found["host"]["bound_by"], "politeness.host_delay")
            earliest = datetime.datetime.fromisoformat(found["queue"]["earliest"][:19] + "+00:00")
            report.check("two hours behind the first",
                         2.9 * 3600 < earliest.timestamp() - time.time() < 3.1 * 3600,
                         found["queue"])
        finally:
            harness.end_process(process)
        state_is(report, directory, A + "/3", "queued", "The crawl is not running")
    again = os.path.join(path, "again")
    with Sites(path, answers) as sites:
        sites.crawl_until(lambda: os.path.exists(again + "/crawl.log") and
                          len(log_lines(again)) >= 5, again, "--set", "schedule.mode=continuous",
                          "--set", "schedule.revisit_default=2d", "--set",
                          "schedule.revisit_power=0", A + "/")
    found = state_is(report, again, A + "/1", "fetched", "It is visited again at")
    report.check("within its interval", 0 < found["revisit"]["interval_s"] <= 2 * 86400 + 1,
                 found["revisit"])


def failed_and_in_flight(report, path):
    directory = os.path.join(path, "crawl")
    slow, broken = "http://slow-first.web.test/", "http://close-at-once.web.test/"
    with harness.Web(path, hosts=1, slow_ms=300000) as web:
        seeds = os.path.join(path, "seeds2.txt")
        with open(seeds, "w") as file:
            file.write(f"{slow}\n{broken}\n")
        command = harness.crawl_command(web, directory, "--set", "fetch.first_byte_timeout=300s",
                                        "--set", "politeness.retry=broken 10ms 2", "--set",
                                        "crawl.grace=0", seeds=seeds)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            report.check("it is asked for", harness.until(
                lambda: os.path.exists(directory + "/status.json") and
                why_json(directory, slow).get("state") == "in flight" and
                why_json(directory, broken).get("state") == "failed"))
            state_is(report, directory, slow, "in flight", "being fetched right now")
            flights = run([f"{OUT}/ragno", "ctl", directory, "flights"])
            report.check("and listed among what is in flight", flights.returncode == 0 and
                         flights.stdout.split()[1:] == [slow] and
                         flights.stdout.split()[0].isdigit(), flights.stdout + flights.stderr)
            found = state_is(report, directory, broken, "failed", "-3 (connection broken)",
                             "class broken, after 3 attempts")
            # The first one may have been sent on a connection that was kept.
            report.equal("each attempt", [(a["status"], a["error"].replace("stale", "broken")) for a in
                                          found["attempts"]], [(-3, "broken")] * 3)
        finally:
            harness.end_process(process)


if __name__ == "__main__":
    harness.main(every_state, waits, failed_and_in_flight)
