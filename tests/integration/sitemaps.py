"""Sitemaps: named by robots.txt, as an index of indexes, gzipped, as text, behind a redirect, as
feeds; their limits; and that without the option nobody asks for them."""
import gzip

import harness
from sites import Sites, log_lines, page, xml

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls):
    return f"<?xml version='1.0'?><urlset {NS}>" + "".join(
        f"<url><loc>{u}</loc><priority>0.8</priority></url>" for u in urls) + "</urlset>"


def index(*urls):
    return f"<?xml version='1.0'?><sitemapindex {NS}>" + "".join(
        f"<sitemap><loc>{u}</loc></sitemap>" for u in urls) + "</sitemapindex>"


A, B = "http://a.test", "http://b.test"
SITES = {
    A + "/robots.txt": (200, {"Content-Type": "text/plain"},
                        f"User-agent: *\nDisallow: /no\nSitemap: {A}/index.xml\n"
                        f"sitemap: /list.txt\nSitemap: {A}/moved.xml\n"),
    A + "/": page(),
    A + "/index.xml": xml(index(A + "/one.xml", A + "/two.xml.gz", A + "/nested.xml")),
    A + "/one.xml": xml(urlset(A + "/1", A + "/no/2", B + "/3")),
    A + "/two.xml.gz": (200, {"Content-Type": "application/x-gzip"},
                        gzip.compress(urlset(A + "/4").encode())),
    A + "/nested.xml": xml(index(A + "/deep.xml")),
    A + "/deep.xml": xml(index(A + "/deeper.xml")),
    A + "/deeper.xml": xml(urlset(A + "/too-deep")),
    A + "/list.txt": (200, {"Content-Type": "text/plain"}, f"{A}/5\n{A}/feed.rss\n"),
    A + "/moved.xml": (301, {"Location": "/here.xml"}, ""),
    A + "/here.xml": xml(urlset(A + "/6")),
    A + "/feed.rss": xml(f"<rss version='2.0'><channel><item><link>{A}/7</link></item>"
                         "</channel></rss>"),
    A + "/1": page("/linked"),
    A + "/linked": page(),
    B + "/3": page(),
}
for n in "4567":
    SITES[f"{A}/{n}"] = page()


def read(report, path):
    with Sites(path, SITES) as sites:
        result = sites.crawl(path + "/crawl", "--set", "scope.sitemaps=yes", A + "/")
        asked = sites.asked()
    report.check("the crawl ends", result.returncode == 0, result.stderr[-300:])
    report.same_set("every sitemap is read, every entry fetched", asked,
                    {u for u in SITES if not u.endswith(("robots.txt", "/deeper.xml"))})
    rows = {w[3]: w for w in log_lines(path + "/crawl") if w[3].startswith("http")}
    report.equal("the path of a sitemap is S", rows[A + "/index.xml"][4], "S")
    report.equal("of an entry below an index SSS", rows[A + "/1"][4], "SSS")
    report.equal("and of what it links to SSSL", rows[A + "/linked"][4], "SSSL")
    report.check("robots.txt holds for entries too", rows[A + "/no/2"][1] == "-9998", f"{rows}")
    skipped = [w for w in log_lines(path + "/crawl", "skipped.log")]
    report.check("an index below too many is refused",
                 [(w[0], w[1]) for w in skipped] == [(A + "/deeper.xml", "-4000")], f"{skipped}")


def limits(report, path):
    with Sites(path, SITES) as sites:
        sites.crawl(path + "/off", A + "/")
        report.same_set("without scope.sitemaps none is asked for", sites.asked(), {A + "/"})
    answers = {A + "/robots.txt": (200, {}, f"Sitemap: {A}/s.xml"), A + "/": page(),
               A + "/s.xml": xml(urlset(*(f"{A}/{i}" for i in range(20)), B + "/x"))}
    with Sites(path, answers) as sites:
        sites.crawl(path + "/few", "--set", "scope.sitemaps=yes", "--set", "scope.sitemap_entries=5",
                    A + "/")
        report.equal("scope.sitemap_entries bounds one sitemap", len(sites.asked() - set(answers)), 5)


def hints(report, path):
    entries = "".join(f"<url><loc>{A}/{name}{i}</loc><priority>{value}</priority></url>"
                      for i in range(5) for name, value in (("low", 0), ("plain", 0.5), ("high", 1)))
    answers = {A + "/robots.txt": (200, {}, f"Sitemap: {A}/s.xml"), A + "/": page(),
               A + "/s.xml": xml(f"<?xml version='1.0'?><urlset {NS}>{entries}</urlset>")}
    for setting, order in (("yes", ["high"] * 5 + ["plain"] * 5 + ["low"] * 5),
                           ("no", ["low", "plain", "high"] * 5)):
        with Sites(path, answers) as sites:
            sites.crawl(path + "/" + setting, "--set", "scope.sitemaps=yes", "--set",
                        "score.sitemap_hints=" + setting, A + "/")
            asked = [r.path.strip("/0123456789") for r in sites.requests]
        report.equal(f"entries in the order of score.sitemap_hints = {setting}",
                     [name for name in asked if name in ("low", "plain", "high")], order)


def large(report, path):
    foreign = "".join(f"<url><loc>http://elsewhere.test/{i:060d}</loc></url>" for i in range(40000))
    answers = {A + "/robots.txt": (200, {}, f"Sitemap: {A}/s.xml"), A + "/": page(), A + "/end": page(),
               A + "/s.xml": xml(f"<?xml version='1.0'?><urlset {NS}>{foreign}<url><loc>{A}/end</loc></url>"
                                 "</urlset>")}
    for limit, expected in (("50Mi", {A + "/end"}), ("2Mi", set())):
        with Sites(path, answers) as sites:
            sites.crawl(path + "/" + limit, "--set", "scope.sitemaps=yes", "--domains", "a.test",
                        "--set", "fetch.max_sitemap=" + limit, A + "/")
            report.same_set(f"a sitemap of {len(answers[A + '/s.xml'][2])} bytes is read with "
                            f"fetch.max_sitemap = {limit}", sites.asked() - {A + "/", A + "/s.xml"},
                            expected)


def seeds(report, path):
    """A seed may be a sitemap or a feed, whatever it is called, also behind a redirect."""
    tree = {A + "/1", A + "/linked", A + "/no/2", B + "/3"}
    for name, seed, found in (
            ("a sitemap", A + "/one.xml", {A + "/one.xml", A + "/1", A + "/linked", B + "/3"}),
            ("a feed", A + "/feed.rss", {A + "/feed.rss", A + "/7"}),
            ("a packed sitemap", A + "/two.xml.gz", {A + "/two.xml.gz", A + "/4"}),
            ("one that a redirect leads to", A + "/moved.xml", {A + "/moved.xml", A + "/here.xml", A + "/6"})):
        with Sites(path, SITES) as sites:
            sites.crawl(f"{path}/{name}", seed)
            report.same_set(f"{name} as a seed", sites.asked(), found)
        check = harness.run([harness.OUT + "/ragno", "verify", f"{path}/{name}"])
        report.equal(f"{name} as a seed: ragno verify", check.returncode, 0)
    with Sites(path, SITES) as sites:
        sites.crawl(path + "/only", "--sitemap-only", A + "/one.xml")
        report.same_set("--sitemap-only follows no links of pages", sites.asked(),
                        {A + "/one.xml"} | tree - {A + "/linked", A + "/no/2"})
    with Sites(path, SITES) as sites:
        sites.crawl(path + "/site", "--sitemap-only", "--set", "scope.sitemaps=yes", A + "/")
        report.same_set("with scope.sitemaps: what the robots.txt of a seed names", sites.asked(),
                        {u for u in SITES if not u.endswith(("robots.txt", "/deeper.xml", "/linked"))})
    many = "".join(f"<url><loc>{A}/x?{'y' * 60}{i}</loc></url>" for i in range(30000))
    with Sites(path, {A + "/big.xml": xml(f"<urlset {NS}>{many}<url><loc>{A}/1</loc></url></urlset>"),
                      A + "/1": page()}) as sites:
        sites.crawl(path + "/big", "--reject-regex", "yyy", A + "/big.xml")
        report.check("a seed that ends in .xml may be as long as a sitemap", A + "/1" in sites.asked())


if __name__ == "__main__":
    harness.main(read, limits, hints, large, seeds)
