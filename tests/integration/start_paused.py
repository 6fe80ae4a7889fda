"""crawl.start_paused: nothing is begun until an operator says so. And what the answers were like, in
status.log and the report."""
import re
import subprocess

import harness


def starts_paused(report, path):
    with harness.Web(path, pages=40, hosts=4) as web:
        process = subprocess.Popen(harness.crawl_command(
            web, f"{path}/crawl", "--set", "crawl.start_paused=yes"), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        def status():
            answer = harness.run([f"{harness.OUT}/ragno", "ctl", f"{path}/crawl", "status"])
            return answer.stdout if answer.returncode == 0 else ""
        told = harness.until(lambda: (lambda s: s if re.search(r"urls_queued\W+[1-9]", s) else None)(
            status()))
        report.check("seeds are taken in", told is not None)
        report.check("the crawl is paused by the operator",
                     told is not None and "paused" in told and "operator" in told, str(told)[:500])
        report.equal("nothing was asked for", len(web.requests()), 0)
        answer = harness.run([f"{harness.OUT}/ragno", "ctl", f"{path}/crawl", "resume"])
        report.equal("resume is understood", answer.returncode, 0)
        report.equal("the crawl ends", harness.ended(process), 0)
    report.check("with its pages", len(web.requests()) > 30)


def answers_are_described(report, path):
    with harness.Web(path, pages=200, hosts=10) as web:
        result = harness.crawl(web, f"{path}/crawl")
    served = [r.bytes for r in web.requests() if r.status == 200 and "R" not in r.flags]
    report.equal("the crawl ends", (result.returncode, result.stderr), (0, ""))
    with open(f"{path}/crawl/status.log") as log:
        last = dict(field.split("=", 1) for field in log.readlines()[-1].split())
    spreads = {name: [int(last[f"{name}_p{share}"]) for share in (50, 90, 99)]
               for name in ("links", "length", "speed")}
    report.check("half, nine tenths and 99 % of them", all(
        0 < half <= most <= nearly for half, most, nearly in spreads.values()), str(spreads))
    median = sorted(served)[len(served) // 2]
    report.check("the length is that of the answers, within a factor of two",
                 median / 2 <= spreads["length"][0] <= median * 2.2, f"{median} {spreads['length']}")
    report.equal("all pages are HTML", (int(last["type_html"]), int(last["type_image"])),
                 (len(served), 0))
    told = harness.run([f"{harness.OUT}/ragno", "report", f"{path}/crawl"]).stdout
    for name in ("Links of a page", "Bytes of a page", "Bytes a second of a page", "Types"):
        report.check(f"the report has: {name}", name in told, told[-2000:])


if __name__ == "__main__":
    harness.main(starts_paused, answers_are_described)
