"""scope.dedup_key: spellings of one page are fetched once, as first seen; redirects between them and
refusals lose no page; a crawl keeps the steps it began with."""
import harness
from sites import Sites, page

A = "http://a.test"
STEPS = ("--set", "scope.dedup_key=tracking, index_pages, sorted_query")
SITES = {
    A + "/": page("/x?utm_source=1", "/x?utm_source=2", "/x", "/q?b=1&a=2", "/q?a=2&b=1", "/i/",
                  "/i/index.html", "/old?utm_source=3", "/no?utm_source=4", "/second"),
    A + "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /no?\n"),
    A + "/x?utm_source=1": page("/behind"),
    A + "/x?utm_source=2": page(),
    A + "/x": page(),
    A + "/behind": page("/x?utm_medium=9"),
    A + "/q?b=1&a=2": page(),
    A + "/q?a=2&b=1": page(),
    A + "/i/": page(),
    A + "/i/index.html": page(),
    A + "/old?utm_source=3": (301, {"Location": "/old"}, ""),
    A + "/old": page(text="moved here"),
    A + "/second": page("/third"),
    A + "/third": page("/no", text="later than the refusal"),
    A + "/no": page(),
}
ONCE = {A + p for p in ("/", "/x?utm_source=1", "/behind", "/q?b=1&a=2", "/i/", "/old?utm_source=3",
                        "/old", "/second", "/third", "/no")}


def pages_of(sites):
    return sites.asked()


def merged(report, path):
    with Sites(path, SITES) as sites:
        result = sites.crawl(path + "/crawl", *STEPS, "--set", "store.batch_time=1ms", A + "/")
        report.check("the crawl ends", result.returncode == 0, result.stderr[-300:])
        report.same_set("one spelling of each page is fetched", pages_of(sites), ONCE)
        report.same_set("and only those are pages of the database",
                        {u for u, _, _ in harness.db_rows(path + "/crawl")},
                        ONCE | {A + "/no?utm_source=4"})
        seeds = sites.crawl(path + "/crawl", *STEPS, A + "/x?utm_campaign=5", A + "/index.html")
        report.check("seeds are merged, too", seeds.returncode == 0, seeds.stderr[-300:])
        report.same_set("with what is known", pages_of(sites), ONCE)
        again = sites.crawl(path + "/crawl")
        report.check("its own configuration is kept", again.returncode == 0, again.stderr[-300:])
        other = sites.crawl(path + "/crawl", "--set", "scope.dedup_key=tracking")
        report.equal("other steps are refused", other.returncode, 2)
        report.check("with the reason", "begun with" in other.stderr, other.stderr[-300:])
        verified = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
        get = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "get", A + "/q?a=2&b=1"])
        report.check("ragno db knows the other spellings, and says which one stands for it",
                     get.returncode == 0 and A + "/q?b=1&a=2\t" in get.stdout and
                     A + "/q?b=1&a=2 stands for it" in get.stderr, get.stdout + get.stderr)
        body = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "get", A + "/x?utm_id=7",
                            "--body"])
        report.check("and its answer", body.returncode == 0 and "/behind" in body.stdout, body.stderr)
        none = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "get", A + "/none?a=1"])
        report.equal("what is not there is not there", none.returncode, 1)
        report.check("the directory is whole", verified.returncode == 0, verified.stdout[-500:])


def apart(report, path):
    with Sites(path, SITES) as sites:
        result = sites.crawl(path + "/crawl", A + "/")
        report.check("a crawl without steps ends", result.returncode == 0, result.stderr[-300:])
        report.same_set("and fetches every spelling", pages_of(sites),
                        set(SITES) - {A + "/robots.txt"} | {A + "/x?utm_medium=9"})


def wrong(report, path):
    result = harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "--set",
                          "scope.dedup_key=tracking sorted", "http://127.0.0.1/"])
    report.check("a step that is none is refused",
                 result.returncode == 2 and
                 "'sorted' is not a step" in result.stderr, result.stderr[-300:])


if __name__ == "__main__":
    harness.main(merged, apart, wrong)
