"""All of tests/web's catalogue as one crawl beside good hosts: each bad host ends as its row says, the good
ones get all their pages in the time that they need anyway, memory stays within the budget, status.log names
what binds. With FULL=1 500 good hosts, and five bad ones of each kind."""
import collections
import re

import harness

SIZES = dict(hosts=500, pages=10000) if harness.FULL else dict(hosts=100, pages=1500)
COPIES = 5 if harness.FULL else 1
SLACK = 1.1 if harness.FULL else 1.4  # of the time that good hosts need without the bad ones
BUDGET_MI = 128
SETTINGS = {"dns.timeout": "200ms", "dns.tries": 1, "fetch.first_byte_timeout": "2s",
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
    "-10004": "gzip-short",
    "-9998": "robots-br robots-deflate robots-gzip robots-zstd robots-costly",  # forbidden by what was decoded
    "302": "credentials moved-away redirect-chain redirect-garbage redirect-loop redirect-nowhere redirect-pair "
           "redirect-scheme",
    "429": "busy-429 retry-zero", "503": "always-503 busy-503 retry-past retry-year", "999": "status-999",
    "502": "server-errors",
    # these give what they have
    "200": "bad-ports binary-html calendar close-after-one credentials deeper dns-chain dns-many dns-moving "
           "dns-truncated dripping empty endless-body endless-chunks escape-header etag-star gone-later gzip-bomb "
           "gzip-broken gzip-lie hang interim-storm long-urls many-headers many-links moved-later no-length "
           "nul-bytes reset-mid-body retry-past robots-403 robots-br robots-chain robots-costly robots-deflate "
           "robots-endless robots-gzip robots-html robots-noise robots-zstd second-answer server-errors server-recovers "
           "session short-length slow-body slow-drip soft-404 stalls stays-open truncated two-codings two-lengths",
    "robots -4": "silent robots-slow", "robots -3": "robots-reset", "robots 302": "robots-away",
    "robots 500": "robots-500", "robots 200": "robots-gzip-bomb robots-gzip-broken",
    "name -1": "dns-empty dns-loop dns-refused dns-servfail dns-silent dns-wrong-id",
    "name -10001": "dns-private", "name": "dns-slow"}
# Nothing of them may be taken for a page.
NO_PAGE = ("bad-length close-at-once endless-header header-nul http09 huge-header reset-at-once slow-first slow-header "
           "silent robots-slow robots-reset robots-away robots-500 robots-gzip-bomb robots-gzip-broken dns-private "
           "dns-empty dns-loop gzip-short status-999").split()


def is_good(host):
    return re.match(r"h\d{5}\.", host) is not None


def crawl(path, name, bad):
    """The good hosts, with the bad ones. Returns (result, directory, requests)."""
    directory = f"{path}/{name}"
    options = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    with harness.Web(path, slow_ms=10000, **SIZES) as web:
        seeds = f"{path}/{name}-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{host}/\n" for host in bad)
            file.writelines(f"http://{host}/\n" for host in web.hosts())
        result = harness.crawl(web, directory, "--no-warc", "-l", "12", *options, "--reject-regex",
                               "//(many-links|calendar|session|deeper)[^/]*/..|//soft-404[^/]*/[^/]*/.",
                               seeds=seeds, timeout=250, wait="200ms")
    return result, directory, web.requests()


def good_pages(requests):
    """How many were sent, and the seconds from the first to the last."""
    times = [r.end for r in requests if is_good(r.host) and "R" not in r.flags and r.status < 400]
    return len(times), (max(times) - min(times)) / 1e6


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


def whole(report, path):
    table = harness.run([f"{harness.OUT}/web", "--catalogue"]).stdout.splitlines()
    names = [row.split(".")[0] for row in table]
    bad = [f"{name}-{i}.web.test" if i else f"{name}.web.test" for name in names for i in range(COPIES)]
    result, _, requests = crawl(path, "alone", [])
    report.equal("good hosts alone are crawled to the end", result.returncode, 0)
    n_alone, alone = good_pages(requests)
    result, directory, requests = crawl(path, "beside", bad)
    report.check(f"a crawl beside all {len(names)} kinds of bad hosts ends", result.returncode == 0,
                 f"{result.returncode} {result.stderr[-300:]}")
    n, seconds = good_pages(requests)
    report.check("good hosts give all their pages", n >= n_alone, f"{n}, alone {n_alone}")  # some asked for twice
    report.check(f"in the time that they need: {seconds:.1f} s, alone {alone:.1f} s",
                 harness.SANITIZED or seconds < SLACK * alone + 1)
    found = outcomes(directory, names)
    missing = [(name, end, dict(found[name])) for end, row in ENDS.items() for name in row.split()
               if found[name][end] == 0]
    report.equal("each bad host ends as its row says", missing, [])
    report.equal("every row is looked at", set(names) - set(" ".join(ENDS.values()).split()), set())
    report.equal("what is no page is not taken for one",
                 [name for name in NO_PAGE if found[name]["200"] > 0], [])
    with open(directory + "/status.log") as file:
        status = [dict(f.split("=", 1) for f in line.split()) for line in file]
    binds = collections.Counter(line["limit"] for line in status)
    report.check("status.log names what binds", set(binds) <= LIMITS and binds["politeness"] > 0, str(binds))
    resident = max(int(line["rss_bytes"]) for line in status) / 2 ** 20
    report.check(f"{resident:.0f} Mi are resident, of a budget of {BUDGET_MI}",
                 harness.SANITIZED or resident <= 1.2 * BUDGET_MI)


if __name__ == "__main__":
    harness.main(whole)
