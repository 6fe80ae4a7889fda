"""robots.txt that redirects: to the same host, to another one, to one that is crawled too, to one that
is known for nothing else, in a circle, to nowhere. The target must be asked at its own address, and the
server must see every host's and every address's delay."""
import collections
import ctypes
import gzip
import re

import harness
from sites import Sites, log_lines, page

DELAY, IP_DELAY = 0.3, 0.1
TXT = {"Content-Type": "text/plain"}


def moved(url):
    return 301, {"Location": url}, ""


def rules(text):
    return 200, TXT, "User-agent: *\n" + text


def url(host, path=""):
    return f"http://{host}.test{path}"


def robots(host):
    return url(host, "/robots.txt")


SITES = {
    # own: the same host, another path
    robots("own"): moved("/r"), url("own", "/r"): rules("Disallow: /no"),
    # a asks b, which is crawled as well; and so does a2
    robots("a"): moved(robots("b")), robots("a2"): moved(robots("b")),
    robots("b"): rules("Disallow: /no"),
    # guest is known for nothing but its robots.txt, until b links to it
    robots("c"): moved(url("guest", "/shared.txt")),
    robots("c2"): moved(url("guest", "/shared.txt")),
    url("guest", "/shared.txt"): rules("Disallow: /no"),
    # a chain over three hosts; a circle of two; a host that does not exist; one that fails
    robots("d"): moved(url("d1", "/1")), url("d1", "/1"): moved(url("d2", "/2")),
    url("d2", "/2"): rules("Disallow: /no"),
    robots("e"): moved(robots("f")), robots("f"): moved(robots("e")),
    robots("g"): moved("http://nowhere.test/robots.txt"),
    robots("h"): moved(url("broken", "/robots.txt")),
    url("broken", "/robots.txt"): (500, {}, ""),
}
HOSTS = ["own", "a", "a2", "b", "c", "c2", "d", "e", "f", "g", "h"]
for name in HOSTS:
    SITES[url(name, "/")] = page("/no", "/1", "/2", *(url(h, "/") for h in ("guest",) if name == "b"))
    SITES[url(name, "/no")] = SITES[url(name, "/1")] = SITES[url(name, "/2")] = page()
SITES[url("guest", "/")] = page("/x")
SITES[url("guest", "/x")] = page()


def short_gaps(requests, key, least):
    groups = collections.defaultdict(list)
    for r in requests:
        groups[key(r)].append(r)
    found = []
    for group in groups.values():
        group.sort(key=lambda r: r.start)
        found += [(b.start - a.end, a, b) for a, b in zip(group, group[1:])
                  if b.start - a.end < least]
    return found


def crawl(report, path):
    # b and d1 share an address, a and guest do
    addresses = {"b.test": "127.77.9.1", "d1.test": "127.77.9.1",
                 "a.test": "127.77.9.2", "guest.test": "127.77.9.2"}
    expected = {url(host, page) for host in HOSTS[:-2] for page in ("/", "/1", "/2")} | {
        url("e", "/no"), url("f", "/no"), url("guest", "/"), url("guest", "/x")}
    with Sites(path, SITES, addresses) as sites:
        # g and h are left, which ask again and again for a robots.txt that never comes.
        result = sites.crawl_until(lambda: expected <= sites.asked() and
                                   sum(r.host == "broken.test" for r in sites.requests) > 1,
                                   path + "/crawl", "--set",
                                   "politeness.retry=robots-error 1s 9, no-name 1s 9",
                                   *(url(h, "/") for h in HOSTS), wait=f"{DELAY}s",
                                   ip_wait=f"{IP_DELAY}s")
    requests, asked = sites.requests, sites.asked(robots=True)
    report.equal("the crawl is stopped", result.returncode, 11)
    wrong = [r for r in requests if sites.addresses.get(r.host) != r.address]
    report.check(f"every host at its own address ({len(requests)} requests)", not wrong, f"{wrong[:3]}")
    short = short_gaps(requests, lambda r: r.host, DELAY)
    report.check("no host is asked too soon", not short, f"{short[:3]}")
    short = short_gaps(requests, lambda r: r.address, IP_DELAY)
    report.check("no address is asked too soon", not short, f"{short[:3]}")
    for host in ("own", "a", "a2", "b", "c", "c2", "d"):
        report.same_set(f"{host}: the rules behind the redirects hold",
                        {u for u in asked if u.startswith(url(host, "/"))} -
                        {robots(host), url(host, "/r")},
                        {url(host, "/"), url(host, "/1"), url(host, "/2")})
    for host in ("e", "f"):
        report.check(f"{host}: a circle ends after five redirects, as if there were no file",
                     url(host, "/no") in asked)
    for host in ("g", "h"):
        report.same_set(f"{host}: nothing is fetched while the target does not answer",
                        {u for u in asked if u.startswith(url(host, "/"))}, {robots(host)})
    report.check("a guest that is linked to becomes a host",
                 {url("guest", "/"), url("guest", "/x")} <= asked)
    rows = [w for w in log_lines(path + "/crawl") if w[3] == url("guest", "/shared.txt")]
    report.check("the log has the errands, at the address of the target",
                 len(rows) == 2 and all("ip:127.77.9.2," in w[-1] for w in rows), f"{rows}")


def verified(report, path):
    """What a robots.txt redirects to is a page that was found, too, but never crawled."""
    answers = {robots("a"): moved(url("guest", "/1")), url("guest", "/1"): moved("/shared.txt"),
               url("guest", "/shared.txt"): rules("Disallow: /no"),
               url("a", "/"): page(url("guest", "/1"), url("guest", "/shared.txt"))}
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--max-pages", "1", url("a", "/"))
    report.equal("a crawl of one page", result.returncode, 14)
    # A query for guest's address that the stop cuts off has a row, too.
    rows = [w[3] for w in log_lines(path + "/crawl") if not w[3].startswith("dns:")]
    report.equal("fetches", rows, [robots("a"), url("guest", "/1"), url("guest", "/shared.txt"),
                                   url("a", "/")])
    result = harness.run([f"{harness.OUT}/ragno", "verify", path + "/crawl"])
    report.check("ragno verify knows why pages were captured that were not tried",
                 result.returncode == 0, result.stdout)


def curl_version():
    library = ctypes.CDLL("libcurl.so.4")
    library.curl_version.restype = ctypes.c_char_p
    return tuple(int(n) for n in re.search(rb"libcurl/(\d+)\.(\d+)", library.curl_version()).groups())


def coded_transfers(report, path):
    """A robots.txt with a transfer coding is decoded, or counts as unreadable (as an error of the server does:
    RFC 9309, 2.3.1.4), but never as one that allows everything. Of a page the links are found. libcurl from 8.14 on takes
    no answer with a coding that was not asked for: it is a broken one."""
    text = b"User-agent: *\nDisallow: /no\n"
    answers = {}
    for host, coding, body in (("a", "gzip, chunked", gzip.compress(text)),
                               ("b", "gzip, chunked", gzip.compress(text)[:-9]),
                               ("c", "compress, chunked", b"\x1f\x9d\x90" + b"\x00" * 40),
                               ("d", "chunked", text)):
        answers |= {f"http://{host}.test/robots.txt": (200, {"Transfer-Encoding": coding}, body),
                    f"http://{host}.test/no": page(), f"http://{host}.test/yes": page(),
                    f"http://{host}.test/": (200, {"Content-Type": "text/html", "Transfer-Encoding": "gzip, chunked"},
                                             gzip.compress(b"<a href=/no>n</a><a href=/yes>y</a>"))}
    with Sites(path, answers) as sites:
        result = sites.crawl(path + "/crawl", "--set", "politeness.retry=robots-error 100ms 1 drop, broken 100ms 1 drop",
                             *(f"http://{host}.test/" for host in "abcd"))
    refuses = curl_version() >= (8, 14)
    report.equal("a crawl of coded transfers ends", result.returncode, 19 if refuses else 0)  # no seed could be fetched
    report.same_set("forbidden pages are not asked for", sites.asked(), {"http://d.test/"} if refuses else
                    {f"http://{host}.test/{name}" for host in "ad" for name in ("", "yes")})
    if refuses:
        report.skip("a stored page with a transfer coding", "libcurl takes none")
        return
    shown = harness.run([f"{harness.OUT}/ragno", "db", path + "/crawl", "get", "http://a.test/", "--body"])
    report.check("the stored page is read, too", "<a href=/no>" in shown.stdout, shown.stdout + shown.stderr)


if __name__ == "__main__":
    harness.main(crawl, verified, coded_transfers)
