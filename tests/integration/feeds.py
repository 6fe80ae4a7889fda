"""Feeds that pages link (scope.sitemaps): found in <link> and in the Link header, read, bounded, and
used as change signals; what a feed cannot do: leave the scope, or be believed when it lies."""
import datetime
import re
import time

import harness
from sites import Sites, log_lines, page

A, B, C, FAR = "http://a.test", "http://b.test", "http://c.test", "http://far.elsewhere"
HTML = {"Content-Type": "text/html"}
ON = ["--set", "scope.sitemaps=yes"]
RSS, ATOM = "application/rss+xml", "application/atom+xml"


def rss(*links):
    items = "".join(f"<item><link>{link}</link></item>" for link in links)
    return 200, {"Content-Type": RSS}, f"<?xml version='1.0'?><rss version='2.0'><channel>{items}</channel></rss>"


def atom_now(url):
    """A feed that says at each moment that the page has changed just now."""
    now = datetime.datetime.fromtimestamp(int(time.time()), datetime.timezone.utc).isoformat()
    return (200, {"Content-Type": ATOM}, "<feed xmlns='http://www.w3.org/2005/Atom'><entry>"
            f"<link href='{url}'/><updated>{now}</updated></entry></feed>")


def linking(*feeds, body="", type=RSS, rel="alternate", headers=None):
    """A page whose head links these feeds."""
    links = "".join(f'<link rel="{rel}" type="{type}" href="{feed}">' for feed in feeds)
    return 200, {**HTML, **(headers or {})}, f"<head><title>t</title>{links}</head>{body}"


def found(report, path):
    """The ways in which a page names its feed."""
    both = f'</tree/h1>; rel=alternate; type="{ATOM}", </tree/h2>; rel=alternate; type="{RSS}"'
    sites = {A + "/": page(*(f"/p{i}" for i in range(7))),
             A + "/p0": linking("/rss", "/rss/comments"),
             A + "/p1": linking("/atom", type="Application/ATOM+xml; charset=utf-8", rel="home Alternate"),
             A + "/p2": linking("/old", rel="feed"),
             A + "/p3": (200, {**HTML, "Link": both}, "<title>t</title>"),
             A + "/p4": linking("/sheet", rel="alternate stylesheet"),
             A + "/p5": linking("/json", type="application/feed+json"),
             A + "/p6": linking("/html", "/called-html"),
             A + "/rss": rss("/from/rss"), A + "/old": rss("/from/old"), A + "/tree/h1": rss("/from/h1"),
             A + "/atom": (200, {"Content-Type": "text/xml"},
                           "<feed><entry><link href='/from/atom'/></entry></feed>"),
             A + "/html": page("/from/html"),
             A + "/called-html": (200, HTML, "\n<!-- x --><rss><channel><item><link>/from/called</link></item></channel></rss>")}
    pages = {A + f"/p{i}" for i in range(7)} | {A + "/"}
    feeds = {A + f for f in ("/rss", "/atom", "/old", "/tree/h1", "/html")}
    entries = {A + "/from/" + e for e in ("rss", "atom", "old", "h1", "html")}
    with Sites(path, sites) as server:
        server.crawl(f"{path}/all", *ON, A + "/")
        report.same_set("the first feed of each page is read, and what is none is a page", server.asked(),
                        pages | feeds | entries)
    ways = {w[3]: w[4] for w in log_lines(path + "/all")}
    report.equal("a feed is found by a link, its entries are S", (ways[A + "/rss"], ways[A + "/from/rss"]),
                 ("LL", "LLS"))
    rows = harness.run([harness.OUT + "/ragno", "export", path + "/all", "links", "--format", "tsv"]).stdout
    report.check("the link is one of kind feed", re.search(rf"{A}/p0\t{A}/rss\t.*\bfeed\b", rows), rows[:600])
    with Sites(path, {**sites, A + "/": page("/called-html")}) as server:
        server.crawl(f"{path}/called", *ON, A + "/")
        report.same_set("a feed that is called HTML, linked as any page, is read as a feed", server.asked(),
                        {A + "/", A + "/called-html", A + "/from/called"})
    for name, options in (("off", []), ("only", [*ON, "--sitemap-only"])):
        with Sites(path, sites) as server:
            server.crawl(f"{path}/{name}", *options, A + "/p0")
            report.same_set(f"no feed is asked for: {name}", server.asked(), {A + "/p0"})


def bounds(report, path):
    """Feeds without end, feeds of others, and those that may not be fetched."""
    many = linking(*(f"/many/{i}" for i in range(10000)))
    sites = {A + "/": page(*(f"/post/{i}" for i in range(40))), C + "/": many, C + "/many/0": rss(),
             FAR + "/feed": rss(A + "/planted"),
             B + "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /feed\n"),
             B + "/": linking(FAR + "/feed", "/feed", body="<a href=/nofollow>x</a>"), B + "/feed": rss(B + "/planted"),
             B + "/nofollow": (200, HTML, "<meta name=robots content=nofollow>" + linking("/other")[2])}
    for i in range(40):
        sites[f"{A}/post/{i}"] = linking(f"/post/{i}/feed")
        sites[f"{A}/post/{i}/feed"] = rss(f"{A}/post/{i}")
    with Sites(path, sites) as server:
        result = server.crawl(path + "/crawl", *ON, "--domains", "a.test,b.test,c.test", "--set", "log.skipped=all",
                              "--set", "limits.feeds_per_host=5", A + "/", B + "/", C + "/")
        asked = server.asked()
    report.equal("of a page with 10 000 feeds one is read", {u for u in asked if "/many/" in u}, {C + "/many/0"})
    own = {u for u in asked if re.search("/post/[0-9]+/feed$", u)}
    report.equal("of the feeds of a host as many as limits.feeds_per_host allows", len(own), 5)
    report.check("what is left out is counted", re.search(r"feeds 10034\b", result.stderr + result.stdout),
                 (result.stderr + result.stdout)[-800:])
    rules = [w[2] for w in log_lines(path + "/crawl", "skipped.log") if "feed" in w[2]]
    report.equal("and told with the rule", {r: rules.count(r) for r in set(rules)},
                 {"feeds": 9999, "limits.feeds_per_host": 35})
    report.equal("none is asked for out of scope, against robots.txt, or against nofollow",
                 {u for u in asked if u.startswith(FAR) or u in (B + "/feed", B + "/other")}, set())
    with Sites(path, sites) as server:
        server.crawl(path + "/none", *ON, "--set", "limits.feeds_per_host=0", A + "/")
        report.equal("limits.feeds_per_host = 0: none is", {u for u in server.asked() if "feed" in u}, set())


def tell_changes(report, path, *options):
    """A page whose change a linked feed tells is visited again long before its time; a host that lies is
    believed for a few times only."""
    visited = []

    def changing(_):
        visited.append(1)  # digits make no difference to a text
        return page(text="a " + "long " * len(visited) + "tale")

    sites = {A + "/": linking("/feed", body="<a href=/post>x</a>"), A + "/post": changing,
             A + "/feed": lambda _: atom_now(A + "/post"),
             B + "/": (200, {**HTML, "Link": f'</feed>; rel=alternate; type="{ATOM}"'}, "<a href=/post>x</a>"),
             B + "/post": page(text="always the same"), B + "/feed": lambda _: atom_now(B + "/post")}
    rules = path + "/rules.txt"
    with open(rules, "w") as file:
        file.write("/feed$ 0.5\n^http://[^/]*/$ 0.5\n/post$ 1h\n")
    options = [*options, "--set", "schedule.mode=continuous", "--set", f"schedule.rules={rules}", "--set",
               "schedule.revisit_min=100ms", "--set", "log.status_interval=500ms", A + "/", B + "/"]

    def visits(server, url):
        host, name = url[7:].split("/", 1)
        return sum(1 for r in list(server.requests) if r.host == host and r.path == "/" + name)
    for name, more in (("with", ON), ("without", [])):
        with Sites(path, sites) as server:
            result = server.crawl_until(
                (lambda: visits(server, A + "/post") >= 8) if more else (lambda: visits(server, A + "/") >= 12),
                f"{path}/{name}", *more, *options)
            seen = {url: visits(server, url) for url in (A + "/feed", A + "/post", B + "/feed", B + "/post")}
        report.equal(f"{name} feeds: the crawl goes on until it is stopped", result.returncode, 11)
        if not more:
            report.equal("without them a page is visited once an hour", seen,
                         {A + "/feed": 0, A + "/post": 1, B + "/feed": 0, B + "/post": 1})
            continue
        report.check("the page of an honest feed is visited for its signals", seen[A + "/post"] >= 8, f"{seen}")
        report.check("that of a liar a few times", 2 <= seen[B + "/post"] <= 5, f"{seen}")
        rows = harness.run([harness.OUT + "/ragno", "db", f"{path}/{name}", "hosts", "--signals"]).stdout
        report.check("how often each told the truth is known", A in rows and B in rows, rows)
        for row in rows.splitlines():
            words = row.split("\t")
            if words[0] in (A, B):
                report.check(f"{words[0]}: {row}", (words[1] == words[2]) if words[0] == A else words[2] == "0", rows)


def signals(report, path):
    tell_changes(report, path)


if __name__ == "__main__":
    harness.main(found, bounds, signals)
