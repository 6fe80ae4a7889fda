#!/usr/bin/env python3
"""How well `ragno plan` foretells: crawls of the synthetic web to their end, asked every second what is left.

Four webs: clean, dirty (pages that are missing, fail or come late), one host with half of all pages, and a web with
hosts that fail for a while and are asked again. From a quarter of the time on each sample is compared with what came:
`plan.NAME.within_20` is the share of samples whose remaining time is at most a fifth off, `plan.NAME.range_right` the
share whose range held the end, `plan.NAME.median_error` the median of |foretold - true| / true. Samples of the last
twentieth are left out, where a second is more than a fifth. WORKLOADS=clean,dirty names some, SCALE makes them smaller."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402

RAGNO = f"{harness.OUT}/ragno"
SCALE = float(os.environ.get("SCALE", "1"))
FROM, UNTIL = 0.25, 0.95
# name: pages, delay of a host, options of the web, options of the crawl
WEBS = {
    "clean": (9000, "200ms", {"hosts": 60}, ()),
    "quick": (60000, "20ms", {"hosts": 300}, ("politeness.ip_delay=0",)),
    "dirty": (3000, "200ms", {"hosts": 60, "not_found": 0.15, "errors": 0.02, "delayed": 0.05}, ()),
    "onehost": (1500, "200ms", {"hosts": 40, "skew": 1.6}, ()),
    "retrying": (2500, "200ms", {"hosts": 60, "errors": 0.08}, ("politeness.retry=server-error 1s 3, broken 1s 3",)),
}


def samples_of(name, path):
    """[(seconds since the start, foretold remaining, least, most)], and how long it took."""
    pages, wait, web_options, crawl_options = WEBS[name]
    pages = int(pages * SCALE)
    samples = []
    with harness.Web(path, pages=pages, **web_options) as web:
        directory = os.path.join(path, "crawl")
        words = [w for o in ("log.status_interval=500ms", *crawl_options) for w in ("-s", o)]
        process = subprocess.Popen(harness.crawl_command(web, directory, "--no-warc", *words, wait=wait),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while process.poll() is None:
            result = harness.run([RAGNO, "plan", directory, "--json"])
            at = time.monotonic() - begin
            if result.returncode == 0:
                told = json.loads(result.stdout)
                samples.append((at, told.get("seconds"), told.get("seconds_least"), told.get("seconds_most"), told))
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                pass
        return samples, time.monotonic() - begin


def main():
    names = [n for n in os.environ.get("WORKLOADS", ",".join(WEBS)).split(",") if n]
    for name in names:
        with tempfile.TemporaryDirectory() as path:
            samples, total = samples_of(name, path)
        judged = [s for s in samples if FROM * total <= s[0] <= UNTIL * total]
        errors, right = [], 0
        for at, seconds, least, most, told in judged:
            true = total - at
            errors.append(abs(seconds - true) / true if seconds is not None else 9.0)
            right += least is not None and least <= true and (most is None or true <= most)
            if os.environ.get("KEEP"):
                print(f"{name} {at:6.1f} true {true:6.1f} told {seconds} [{least}, {most}] {told.get('bound')} "
                      f"queued {told.get('urls_queued')} seen {told.get('urls_seen')} able {told.get('pages_s_able')} "
                      f"growth {told.get('new_urls_per_url')} polite {told.get('seconds_by_politeness')}", file=sys.stderr)
        print(f"plan.{name}.samples = {len(judged)} samples")
        print(f"plan.{name}.seconds = {total:.1f} s")
        print(f"plan.{name}.within_20 = {sum(e <= 0.2 for e in errors) / len(errors):.3f} of samples")
        print(f"plan.{name}.range_right = {right / len(errors):.3f} of samples")
        print(f"plan.{name}.median_error = {statistics.median(errors):.3f} of the time left", flush=True)


if __name__ == "__main__":
    main()
