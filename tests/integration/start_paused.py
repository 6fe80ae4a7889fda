"""crawl.start_paused: nothing is begun until an operator says so. And what the answers and the
queues are like, in status.log and the report."""
import json
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


def queues_are_described(report, path):
    """Three hosts with 3, 20 and 300 seeds, of a crawl that is paused."""
    counts = (3, 20, 300)
    with harness.Web(path, pages=40, hosts=4) as web:
        with open(f"{path}/many.txt", "w") as seeds:
            seeds.writelines(f"http://h{host:05}.web.test/q{i}\n"
                             for host, n in enumerate(counts) for i in range(n))
        process = subprocess.Popen(harness.crawl_command(
            web, f"{path}/crawl", "--set", "crawl.start_paused=yes", seeds=f"{path}/many.txt"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def queues():
            answer = harness.run([f"{harness.OUT}/ragno", "status", "--json", f"{path}/crawl"])
            found = json.loads(answer.stdout) if answer.returncode == 0 else {}
            return [found.get(f"queue_p{share}", 0) for share in (50, 90, 99)]
        found = harness.until(lambda: (lambda q: q if q[0] >= 16 and q[1] >= 32 else None)(queues()))
        report.check("half of the hosts have less than 32 URLs in memory, the others more",
                     found is not None and 16 <= found[0] <= 32 <= found[1] <= found[2],
                     f"{found} {queues()}")

        def bins():
            told = harness.run([f"{harness.OUT}/ragno", "report", f"{path}/crawl"])
            found = re.search(r"URLs that are scheduled, by host.*?\n\n", told.stdout + "\n\n", re.S)
            return found.group() if found is not None else told.stdout + told.stderr

        def bins_told():
            told = bins()
            return all(re.search(rf"\b{bin}\b.* 1\b", told) for bin in ("2 to 3", "16 to 31", "256 to 511"))
        # The last seeds may still be on their way to the database.
        report.check("the report has all that is scheduled", harness.until(bins_told), bins())
        harness.run([f"{harness.OUT}/ragno", "ctl", f"{path}/crawl", "stop"])
        report.equal("the crawl stops", harness.ended(process), 11)
        with open(f"{path}/crawl/crawl.log") as log:
            report.equal("nothing was asked for, not even at the start", log.readlines(), [])


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
    harness.main(starts_paused, queues_are_described, answers_are_described)
