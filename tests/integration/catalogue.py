"""All of tests/web's catalogue as one crawl beside good hosts: each bad host ends as its row says and within the
time that its row says, the good ones get all their pages in the time that they need anyway, memory stays within
the budget, status.log names what binds; wherever the good ones stand among the seeds. With FULL=1 500 good hosts, and
five bad ones of each kind, and their throughput by three pairs of runs."""
import collections
import datetime
import os
import re
import time

import harness
import shares

PLACES = ("first", "between", "last")  # of good hosts among the seeds
SIZES = dict(hosts=500, pages=10000) if harness.FULL else dict(hosts=100, pages=1500)
COPIES = 5 if harness.FULL else 1
SLACK = 1.4  # of the time that good hosts need without the bad ones, in one pair of runs
BUDGET_MI = 128
HOST_DELAY, DEPTH = "200ms", 12
SETTINGS = {"scope.sitemaps": "yes", "dns.timeout": "200ms", "dns.tries": 1, "fetch.first_byte_timeout": "2s",
            "fetch.total_timeout": "4s", "fetch.slow_time": "1s", "fetch.max_body": "300k",
            "politeness.retry_after_max": "2500ms", "politeness.park_after": "4s",
            "limits.trap_fetches": 20, "crawl.memory": f"{BUDGET_MI}Mi", "log.status_interval": "200ms",
            "politeness.retry": ",".join(f"{word} 200ms 1" for word in (
                "local", "busy", "dns", "refused", "timeout", "slow", "broken", "robots-error",
                "server-error"))}
LIMITS = {"politeness", "connections", "shares", "dns", "parser", "writer", "bandwidth", "memory", "disk",
          "network", "operator", "seeds", "schedule", "retries", "none"}

# What its row in the catalogue comes to: statuses in crawl.log of its pages; "robots" of its robots.txt,
# "name" of its name. They are the least that there is: a busy machine adds time-outs.
ENDS = {
    "-3": "bad-length chunked-garbage close-at-once endless-header header-nul http09 huge-header reset-at-once "
          "reset-mid-body truncated truncated-chunks",  # broken off
    "-4": "slow-first slow-header stalls",  # no byte in time
    "-10002": "hang slow-drip",  # too slow
    "-10004": "gzip-bomb gzip-short",
    "-9998": "robots-br robots-deflate robots-gzip robots-zstd robots-costly",  # forbidden by what was decoded
    "302": "credentials moved-away redirect-chain redirect-garbage redirect-loop redirect-nowhere redirect-pair "
           "redirect-scheme",
    "429": "busy-429 retry-zero", "503": "always-503 busy-503 retry-past retry-year", "999": "status-999",
    "502": "server-errors",
    # these give what they have
    "200": "bad-ports binary-html calendar close-after-one credentials deeper dns-chain dns-many dns-moving "
           "dns-truncated dripping empty endless-body endless-chunks escape-header etag-star gone-later "
           "gzip-broken gzip-lie hang interim-storm long-urls many-links moved-later no-length "
           "nul-bytes reset-mid-body retry-past robots-403 robots-br robots-chain robots-costly robots-deflate "
           "robots-endless robots-gzip robots-html robots-noise robots-zstd second-answer server-errors server-recovers "
           "session short-length sitemap-blanks slow-body slow-drip soft-404 stalls stays-open truncated two-codings two-lengths",
    "200 or -3": "many-headers",  # libcurl of Debian 13 takes 5000
    "robots -4": "silent robots-slow", "robots -3": "robots-reset", "robots 302": "robots-away",
    "robots 500": "robots-500", "robots 200": "robots-gzip-bomb robots-gzip-broken",
    "name -1": "dns-empty dns-loop dns-refused dns-servfail dns-silent dns-wrong-id",
    "name -10001": "dns-private", "name": "dns-slow"}
# Nothing of them may be taken for a page.
NO_PAGE = ("bad-length close-at-once endless-header header-nul http09 huge-header reset-at-once slow-first slow-header "
           "silent robots-slow robots-reset robots-away robots-500 robots-gzip-bomb robots-gzip-broken dns-private "
           "dns-empty dns-loop gzip-short status-999").split()


TRIES = 3  # one that is excused, the first that counts, and one more of politeness.retry

# A busy machine may stretch what a row says so far; one that hangs is beyond it when the crawl is killed.
STRETCH, GRACE_S = 2, 20


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "h": 3600}[unit]


def documented(within, settings):
    """The seconds that a row of the catalogue says, in words of tests/web/misbehaviour.h."""
    def of(key):
        return seconds(settings[key])

    turn = seconds(HOST_DELAY)
    pause = turn + seconds(settings["politeness.retry"].split()[1])
    words = {"turn": turn, "level": DEPTH * turn, "failure": TRIES * pause,
             "first-byte": TRIES * (pause + of("fetch.first_byte_timeout")),
             "slow": TRIES * (pause + of("fetch.slow_time")), "total": of("fetch.total_timeout"),
             "busy": TRIES * (pause + 2), "rest": of("politeness.park_after"),
             "name": TRIES * (pause + settings["dns.tries"] * of("dns.timeout"))}
    return sum(int(n) * words[word] for n, word in (part.split() for part in within.split(" + ")))


def log_times(directory):
    """host -> [begin, end] in seconds, by crawl.log. A name is asked for from the beginning on, and what comes
    behind its host was dropped is the last look before the crawl ends."""
    found, dropped, first = {}, set(), None
    with open(directory + "/crawl.log", encoding="latin-1") as file:
        for line in file:
            f = line.split()
            end = datetime.datetime.fromisoformat(f[0]).timestamp()
            begin = end - int(f[8].split("+")[1]) / 1000 if "+" in f[8] else end
            first = begin if first is None else first
            name = re.match(r"(dns:|https?://)([^/:]*)", f[3])
            if not name or name[2] in dropped:
                continue
            times = found.setdefault(name[2].lower(), [first if name[1] == "dns:" else begin, end])
            times[1] = max(times[1], end)
            if "host-dropped" in f[11]:
                dropped.add(name[2])
    return found


def too_late(directory, requests, table, settings, stretch=STRETCH, grace=GRACE_S):
    """What was not done with in time, as (host, seconds, what its row says). By crawl.log, and by the requests
    that the server saw: those that were under way when the crawl was killed are in no other log."""
    taken = {host: end - begin for host, (begin, end) in log_times(directory).items()}
    asked = {}
    for r in requests:
        asked.setdefault(r.host, []).extend((r.start / 1e6, r.end / 1e6))
    late = []
    for host in sorted(taken.keys() | asked.keys()):
        label = host.split(".")[0]
        row = table.get(label) or table.get(re.sub(r"-\d+$", "", label))
        times = asked.get(host, [0])
        lasted = max(taken.get(host, 0), max(times) - min(times))
        if row and lasted > stretch * documented(row, settings) + grace:
            late.append((host, round(lasted, 1), row))
    return late


def is_good(host):
    return re.match(r"h\d{5}\.", host) is not None


def command(web, path, name, bad, place="last"):
    """A crawl of the good hosts beside the bad ones."""
    options = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    seeds = f"{path}/{name}-seeds.txt"
    with open(seeds, "w") as file:
        file.writelines(f"http://{host}/\n" for host in shares.seed_order(place, list(web.hosts()), bad))
    return harness.crawl_command(web, f"{path}/{name}", "--no-warc", "-l", str(DEPTH), *options, "--reject-regex",
                                 "//(many-links|calendar|session|deeper)[^/]*/..|//soft-404[^/]*/[^/]*/.",
                                 seeds=seeds, wait=HOST_DELAY)


def crawl(path, name, bad, place="last"):
    """Returns (result, directory, requests)."""
    with harness.Web(path, slow_ms=10000, **SIZES) as web:
        result = harness.run(command(web, path, name, bad, place), timeout=250)
    return result, f"{path}/{name}", web.requests()


def good_pages(requests):
    """How many were sent, and the seconds from the first to the last."""
    times = [r.end for r in requests if is_good(r.host) and "R" not in r.flags and r.status < 400]
    return len(times), (max(times) - min(times)) / 1e6 if times else 0


def outcomes(directory, names):
    """name -> what is logged of the hosts of that kind"""
    found = {name: collections.Counter() for name in names}
    with open(directory + "/crawl.log", encoding="latin-1") as file:
        for line in file:
            f = line.split()
            host = re.match(r"(?:dns:|https?://)([^/:]*)\.web\.test", f[3])
            label = host[1].lower() if host else ""
            name = label if label in found else re.sub(r"-\d+$", "", label)
            if name in found:
                kind = "name" if f[3].startswith("dns:") else \
                       "robots" if f[3].endswith("/robots.txt") else ""
                found[name][f"{kind} {f[1]}".strip()] += 1
                found[name][kind] += 1
    return found


def catalogue():
    """name -> within which time a host of that kind is done with"""
    rows = harness.run([f"{harness.OUT}/web", "--catalogue"]).stdout.splitlines()
    return {row.split(".")[0]: row.split("\t")[3] for row in rows}


def bad_hosts(names):
    return [f"{name}-{i}.web.test" if i else f"{name}.web.test" for name in names for i in range(COPIES)]


def good_part(path, name, bad, wanted):
    """A crawl until so many good pages are there (0: to its end): (pages, seconds, CPU-seconds)."""
    with harness.Web(path, slow_ms=10000, **SIZES) as web:
        next_look = [0]

        def is_done():
            if time.monotonic() < next_look[0]:
                return False
            next_look[0] = time.monotonic() + 0.5
            return wanted > 0 and good_pages(web.requests())[0] >= wanted

        result = harness.run_until(command(web, path, name, bad), is_done)
    cpu = re.search(r"CPU ([\d.]+) s", result.stdout + result.stderr)
    return *good_pages(web.requests()), float(cpu[1]) if cpu else 0.0


@harness.alone
def throughput(report, path):
    """Good hosts beside bad ones and alone, in turn. What else the machine does only adds to a time, so the least
    of each is compared; where others have most of the machine, the times say nothing. The CPU that the crawl
    has used when the good pages are there says the same under any load. Alone: it measures time."""
    bad = bad_hosts(catalogue())
    wanted, pairs, load = 0, [], 0.0
    for _ in range(3):
        alone = good_part(path, f"alone{len(pairs)}", [], wanted)
        wanted = wanted or alone[0]
        pairs.append((alone, good_part(path, f"beside{len(pairs)}", bad, wanted)))
        load = max(load, os.getloadavg()[0])
    report.check("good hosts give all their pages beside bad ones", all(b[0] >= wanted for _, b in pairs), str(pairs))
    ratio = min(b[1] for _, b in pairs) / min(a[1] for a, _ in pairs)
    told = ", ".join(f"{b[1]:.1f}/{a[1]:.1f} s (CPU {b[2]:.1f}/{a[2]:.1f})" for a, b in pairs)
    if load > 3 * (os.cpu_count() or 1) and ratio > 1.1:
        report.skip("in the time that they need alone", f"{ratio:.3f} at a load of {load:.1f}: {told}")
    else:
        report.check(f"in {ratio:.3f} of the time that they need alone: {told}",
                     harness.SANITIZED or ratio <= 1.1, told)
    cpu = min(b[2] for _, b in pairs) / max(min(a[2] for a, _ in pairs), 0.01)
    report.check(f"with {cpu:.2f} of the CPU, for {len(bad)} bad hosts beside {SIZES['hosts']} good ones",
                 harness.SANITIZED or cpu <= 3.5, told)


def late_is_noticed(report, path):
    """The check of times can fail: of hosts that may take longer than their rows say those that do are named."""
    settings = SETTINGS | {"fetch.first_byte_timeout": "5s", "politeness.park_after": "1h"}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    hosts = [f"{name}.web.test" for name in ("silent", "slow-first", "dns-empty", "empty", "reset-at-once")]
    with harness.Web(path, slow_ms=10000, hosts=1, pages=1) as web:
        seeds = path + "/seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{host}/\n" for host in hosts)
        crawl = harness.crawl(web, path + "/crawl", "--no-warc", *options, seeds=seeds, wait=HOST_DELAY)
    report.equal("a crawl with a longer time-out ends", crawl.returncode, 0)
    rows = catalogue()
    late = too_late(path + "/crawl", web.requests(), rows, SETTINGS | {"fetch.first_byte_timeout": "10ms"}, 1, 2)
    report.equal("hosts that take longer than their rows say are named", [host for host, _, _ in late],
                 ["silent.web.test", "slow-first.web.test"])


def beside(report, path, place, table, alone):
    """The whole catalogue beside good hosts that stand there among the seeds; alone: (good pages, seconds)."""
    names = list(table)
    result, directory, requests = crawl(path, place, bad_hosts(names), place)
    report.check(f"a crawl of good hosts, named {place}, beside all {len(names)} kinds of bad ones ends",
                 result.returncode == 0, f"{result.returncode} {result.stderr[-300:]}")
    n, seconds = good_pages(requests)
    report.check("good hosts give all their pages", n >= alone[0], f"{n}, alone {alone[0]}")  # some asked for twice
    report.check(f"in the time that they need: {seconds:.1f} s, alone {alone[1]:.1f} s",
                 harness.SANITIZED or seconds < SLACK * alone[1] + 1)
    found = outcomes(directory, names)
    missing = [(name, end, dict(found[name])) for end, row in ENDS.items() for name in row.split()
               if not any(found[name][one] for one in end.split(" or "))]
    report.equal("each bad host ends as its row says", missing, [])
    report.equal("within the time that its row says", too_late(directory, requests, table, SETTINGS), [])
    told = {r.path for r in requests if r.host == "sitemap-blanks.web.test"}
    report.check("sitemaps within white space give their pages", {f"/{i}.html" for i in range(1, 10)} <= told, str(told))
    report.equal("what is no page is not taken for one",
                 [name for name in NO_PAGE if found[name]["200"] > 0], [])
    with open(directory + "/status.log") as file:
        status = [dict(f.split("=", 1) for f in line.split()) for line in file]
    binds = collections.Counter(line["limit"] for line in status)
    report.check("status.log names what binds", set(binds) <= LIMITS and binds["politeness"] > 0, str(binds))
    resident = max(int(line["rss_bytes"]) for line in status) / 2 ** 20
    report.check(f"{resident:.0f} Mi are resident, of a budget of {BUDGET_MI}",
                 harness.SANITIZED or resident <= 1.2 * BUDGET_MI)


def whole(report, path):
    table = catalogue()
    report.equal("every row is looked at", set(table) - set(" ".join(ENDS.values()).split()), set())
    result, _, requests = crawl(path, "alone", [])
    report.equal("good hosts alone are crawled to the end", result.returncode, 0)
    alone = good_pages(requests)
    for place in PLACES:
        beside(report, path, place, table, alone)


if __name__ == "__main__":
    harness.main(whole, late_is_noticed, *([throughput] if harness.FULL else []))
