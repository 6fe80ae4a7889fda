"""limits.pages_per_host: no host gives more pages than that, to the last one, also when many of its
URLs are in flight at once; hosts that have fewer give all they have."""
import collections
import os

import harness

LIMIT = 25
SIZES = dict(hosts=40, addresses=40, pages=4000, skew=0.5)


def exact(report, path):
    with harness.Web(path, **SIZES) as web:
        result = harness.crawl(web, os.path.join(path, "crawl"), "--set",
                               f"limits.pages_per_host={LIMIT}", timeout=90)
        report.equal("the crawl ends", (result.returncode, result.stderr), (0, ""))
        web.stop()
        good = collections.Counter(r.host for r in web.requests()
                                   if r.status == 200 and r.path != "/robots.txt")
        known = collections.Counter(url.split("/")[2] for url in web.graph_urls())
    most = max(good.values())
    report.equal(f"{len(good)} hosts, the most pages of one", most, LIMIT)
    full = sum(n == LIMIT for n in good.values())
    report.check("most hosts reached the limit", full > len(known) / 2,
                 f"{full} of {len(known)}: {good}")


if __name__ == "__main__":
    harness.main(exact)
