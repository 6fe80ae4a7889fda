"""One hand on many names: a farm of links with wildcard DNS, under one domain or on one address, takes
neither the frontier nor the disk, and good hosts beside it are fetched whole.

A farm has NAMES host names of PAGES pages; each page leads to LINKS other names. FULL=1: 100 000 names
and the limits that are the default."""
import os
import re
import zlib

import harness
from name_server import NameServer
from page_server import PageServer

NAMES = 100000 if harness.FULL else 4000
MOST = 10000 if harness.FULL else 150
PAGES, LINKS = 3, 40
BATCH = 20  # pages of a transaction
GOOD = dict(hosts=60, pages=600)


class Farm(PageServer):
    """Its web server. name_of(i) is the i-th name."""

    def __init__(self, name_of):
        self.seen = set()
        self.name_of = name_of
        super().__init__(self.answer)

    def answer(self, name, path):
        if path == "/robots.txt":
            return 404, {}, b""
        self.seen.add(name)
        return 200, {}, self.page(name, path)

    def page(self, name, path):
        start = zlib.crc32((name + path).encode())
        links = [f"http://{self.name_of((start + i * 7919) % NAMES)}:{self.port}/"
                 for i in range(LINKS)] + [f"/{i}" for i in range(1, PAGES)]
        return (f"<title>{name}{path}</title>" +
                " ".join(f'<a href="{link}">{start}</a>' for link in links)).encode()


def figures(directory, field):
    with open(directory + "/status.log", encoding="latin-1") as file:
        return [int(n) for n in re.findall(rf"\b{field}=(\d+)", file.read())]


def crawl(web, names, farm, path, *options):
    """A crawl of the good hosts and the farm, to its end: (exit status, directory)."""
    directory = path + "/crawl"
    with open(path + "/farm-seeds.txt", "w") as file:
        file.write(open(web.seeds).read())
        file.writelines(f"http://{farm.name_of(i)}:{farm.port}/\n" for i in range(3))
    result = harness.crawl(
        web, directory, "--set", f"dns.servers=127.0.0.1:{names.port}", "--no-warc", "--set",
        "log.status_interval=200ms", "--set", "log.skipped=all", "--set", "scope.depth=100000",
        *options, seeds=path + "/farm-seeds.txt", timeout=3000 if harness.FULL else 240)
    return result, directory


def good_pages(report, web, directory):
    forbids = {name: forbidden for name, (_, forbidden, _) in web.hosts().items()}
    expected = {u for u in web.graph_urls() if not forbids[u.split("/")[2]] or "/private/" not in u}
    fetched = {row[0] for row in harness.db_rows(directory) if row[2] > 0}
    report.same_set("every good page is fetched", expected - fetched, set())


def tells(report, directory, field, rule, result):
    report.equal("the crawl ends", result.returncode, 0)
    refused = figures(directory, field)[-1]
    with open(directory + "/skipped.log", encoding="latin-1") as file:
        told = sum(f" -5003 {rule} " in line for line in file)
    report.check(f"status.log counts it: {field}={refused}", refused > 0)
    if field == "domain_refused":
        report.check(f"skipped.log names {rule}", told > 0, told)
    with open(directory + "/ragno.log", encoding="latin-1") as file:
        lines = [line for line in file if "a limit of many names is met" in line and rule in line]
    report.equal("ragno.log says it once", len(lines), 1)
    verify = harness.run([f"{harness.OUT}/ragno", "verify", directory], 300)
    report.equal("verify agrees", verify.returncode, 0)
    print(f"# rss {max(figures(directory, 'rss_bytes')) // 1000000} MB, frontier "
          f"{max(figures(directory, 'frontier_bytes')) // 1000} kB, database "
          f"{figures(directory, 'db_bytes')[-1] // 1000} kB, hosts "
          f"{figures(directory, 'hosts')[-1]}, refused {refused}", flush=True)


def one_domain(report, path):
    """100 000 names under one domain, each on an address of its own."""
    def address_of(name):
        n = zlib.crc32(name.encode())
        return f"127.{64 + n % 100}.{n // 100 % 250}.{1 + n // 25000 % 250}"

    with harness.Web(path, **GOOD) as web, NameServer(web.dns) as names, \
            Farm(lambda i: f"n{i}.farm.example") as farm:
        names.wild[".farm.example"] = address_of
        limit = [] if harness.FULL else ["--set", f"limits.hosts_per_domain={MOST}"]
        result, directory = crawl(web, names, farm, path, "--set", f"store.batch_pages={BATCH}", *limit)
        tells(report, directory, "domain_refused", "limits.hosts_per_domain", result)
        report.check("no more of its hosts are fetched from", MOST * 0.9 < len(farm.seen) <= MOST,
                     len(farm.seen))
        hosts = figures(directory, "hosts")[-1]
        # Those in the links of the batch that meets the limit.
        report.check("the database hears of few more", hosts <= GOOD["hosts"] + MOST + BATCH * LINKS, hosts)
        why = harness.run([f"{harness.OUT}/ragno", "why", directory, f"http://never.farm.example:{farm.port}/"]).stdout
        report.check("ragno why finds the limit anew", "refused by limits.hosts_per_domain: " in " ".join(why.split()), why)
        report.check("nor the frontier", max(figures(directory, "visit_states")) <=
                     GOOD["hosts"] + MOST, figures(directory, "visit_states"))
        good_pages(report, web, directory)


def one_address(report, path):
    """100 000 domains on one address."""
    with harness.Web(path, **GOOD) as web, NameServer(web.dns) as names, \
            Farm(lambda i: f"farm{i}.example") as farm:
        names.wild[".example"] = lambda name: "127.0.0.77"
        limit = [] if harness.FULL else ["--set", f"limits.hosts_per_address={MOST}"]
        result, directory = crawl(web, names, farm, path, *limit)
        tells(report, directory, "address_refused", "limits.hosts_per_address", result)
        report.check("no more of its hosts are fetched from", MOST * 0.9 < len(farm.seen) <= MOST * 2,
                     len(farm.seen))
        report.check("what is found of the others is not queued",
                     figures(directory, "urls_queued")[-1] == 0)
        listed = harness.run([f"{harness.OUT}/ragno", "db", directory, "hosts"]).stdout
        report.check("its hosts say why", "its address has limits.hosts_per_address" in listed)
        good_pages(report, web, directory)


def pages_and_urls(report, path):
    """Pages of a domain together, and its queue."""
    with harness.Web(path, **GOOD) as web, NameServer(web.dns) as names, \
            Farm(lambda i: f"n{i % 200}.farm.example") as farm:
        names.wild[".farm.example"] = lambda name: f"127.0.9.{1 + zlib.crc32(name.encode()) % 200}"
        # The good hosts are of one domain, too: its limits must not bind.
        result, directory = crawl(web, names, farm, path, "--set", "limits.pages_per_domain=1000",
                                  "--set", "limits.urls_per_domain=1000")
        report.equal("limits that do not bind change nothing", result.returncode, 0)
        good_pages(report, web, directory)
        few = path + "/few"
        os.mkdir(few)

        def crawl_farm(directory, *limits, host="n0"):
            options = [word for limit in (f"dns.servers=127.0.0.1:{names.port}", "log.skipped=all", *limits)
                       for word in ("--set", limit)]
            return harness.crawl(web, directory, *options, "--no-warc",
                                 f"http://{host}.farm.example:{farm.port}/", seeds="/dev/null", timeout=240)

        # Each limit by itself: with both, which one refuses a URL first is a matter of moments.
        queued = crawl_farm(path + "/queued", "limits.urls_per_domain=30", "crawl.max_pages=300")
        report.check("a domain whose queue is short ends with its queue, or by the limit of all pages",
                     queued.returncode in (0, 14), queued.returncode)
        with open(path + "/queued/skipped.log", encoding="latin-1") as file:
            report.check("skipped.log names the limit of its queue", "limits.urls_per_domain" in file.read())
        result = crawl_farm(few + "/crawl", "limits.pages_per_domain=50")
        report.equal("a domain with enough pages ends", result.returncode, 0)
        pages = sum(row[2] > 0 for row in harness.db_rows(few + "/crawl"))
        # A host is full with its next result; one may be in flight behind that.
        report.check("each of its hosts gives one page more, or two", 50 <= pages <= 50 + 2 * 200, pages)
        # Whether a link was judged while its host was not yet full is a matter of moments; a new host is not full.
        again = crawl_farm(few + "/crawl", "limits.pages_per_domain=50", host="another")
        report.equal("a new host of it is not fetched from", (again.returncode, "another.farm.example" in farm.seen),
                     (0, False))
        with open(few + "/crawl/skipped.log", encoding="latin-1") as file:
            text = file.read()
        report.check("skipped.log names the limit of its pages", "limits.pages_per_domain" in text,
                     text[-500:])
        listed = harness.run([f"{harness.OUT}/ragno", "db", few + "/crawl", "hosts"]).stdout
        report.check("its hosts say why", "its domain has limits.pages_per_domain" in listed, listed)
        why = harness.run([f"{harness.OUT}/ragno", "why", few + "/crawl",
                           f"http://n0.farm.example:{farm.port}/never/seen"]).stdout
        report.check("and ragno why", "limits.pages_per_domain: " in " ".join(why.split()), why)
        verify = harness.run([f"{harness.OUT}/ragno", "verify", few + "/crawl"])
        report.equal("verify agrees", verify.returncode, 0)


def site_limits(report, path):
    """A [site] section lets in all hosts of a service whose others are bounded: on one domain, on one address."""
    few, names_of = 20, {"domain": lambda i: f"n{i % 200}.farm.example", "address": lambda i: f"n{i % 200}.example"}
    for kind, name_of in names_of.items():
        directory, settings = f"{path}/{kind}", f"{path}/{kind}.ini"
        with open(settings, "w") as file:
            file.write(f"[limits]\nhosts_per_{kind} = {few}\n[site \"n1*\"]\nhosts_per_{kind} = 0\n")
        with harness.Web(path, hosts=1, pages=1) as web, NameServer(web.dns) as names, Farm(name_of) as farm:
            names.wild[".example"] = lambda name: f"127.0.9.{1 + zlib.crc32(name.encode()) % 200}" \
                if kind == "domain" else "127.0.9.1"  # pylint: disable=cell-var-from-loop
            seeds = [f"http://{name_of(i)}:{farm.port}/" for i in range(2)]
            # A host counts on its address once a batch has told of it: before its turn comes there, with a delay.
            result = harness.crawl(web, directory, "-c", settings, "--no-warc", "--set",
                                   f"dns.servers=127.0.0.1:{names.port}", *seeds, seeds="/dev/null", timeout=240,
                                   ip_wait="0ms" if kind == "domain" else "50ms")
            report.equal(f"{kind}: the crawl ends", result.returncode, 0)
            all_names = {name_of(i) for i in range(200)}
            named = {name for name in all_names if name.startswith("n1")}
            report.same_set(f"{kind}: all hosts that the section names are fetched from", named - farm.seen, set())
            others = len(farm.seen - named)
            report.check(f"{kind}: others are as many as the limit says", 0 < others <= few, others)
            for host, state in (("n1", None), ("n2", "limits.hosts_per_domain: ")) if kind == "domain" else ():
                told = harness.run([f"{harness.OUT}/ragno", "why", directory,
                                    f"http://{host}new.farm.example:{farm.port}/"])
                text = " ".join(told.stdout.split())
                report.check(f"ragno why judges a new host {host}new by its own limit",
                             told.stdout and ("refused by limits.hosts_per_domain" in text) == (state is not None),
                             told.stdout + told.stderr)
            verify = harness.run([f"{harness.OUT}/ragno", "verify", directory])
            report.equal(f"{kind}: verify agrees", verify.returncode, 0)


if __name__ == "__main__":
    harness.main(one_domain, one_address, pages_and_urls, site_limits)
