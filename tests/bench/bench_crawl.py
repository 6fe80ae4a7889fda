"""The whole crawler: crawls of the synthetic web and of real pages, each a new process and a new
directory.

    S      100 000 pages of 17 kB on 4 000 hosts, no delays, plain HTTP. two_core_speedup: pages a
           second on all cores by those on one; two_core_floor: the same of two crawls of half the web
           each, which share nothing but the machine
    H      8 000 pages on 400 hosts over TLS 1.3: kept, connections live on; new, the server closes
           after each answer; first, 4 000 hosts of one page, so that every page is a first contact;
           verify, the same with fetch.tls_verify (a chain of one certificate). over_floor: what TLS
           adds, by what as many handshakes and answers add for a client that does nothing else
           (bench_tls.c)
    R      real pages: HTML documentation, see real_web.py; only where the packages are installed.
           written_bytes_per_page, database_mb: what the disk gets
           writer_ms_per_page: CPU of the thread that writes; writer_floor, of LMDB alone for the same
           rows, look-ups and bytes of files, writer_floor_rows, for the rows (bench_writer.c)
           floor, of S and R: the same pages by a program that does nothing but what a crawl cannot
           leave out (bench_floor.c), in turn with the crawls; over_floor, the crawl's CPU by that
    W      the web as it weighs, see heavy_web.py: pages of 240 kB in the mean, compressed, over TLS with
           a connection each, WARC on. floor_curl, floor: TLS and libcurl alone; and decoding, links,
           database and WARC (bench_floor.c). over_wget2: by wget2 that keeps files, in its first minute
    polite R's pages at 400 a second, connections closed after each answer, beside the same at full
           rate; polite.kept, the same with connections that are kept. floor: that of R at this rate, and
           floor_over_fast by the same at full rate: what a machine that is nearly idle makes of the
           same work (caches that others have used meanwhile, a processor that sleeps)

WORKLOADS=S,H,R,W,polite runs some. COMPARE=PROGRAM and RUNS: see crawls.py.
"""
import concurrent.futures
import contextlib
import os
import sys
import time

import bench_peers
import crawls
import heavy_web
import real_web

S_PAGES, S_HOSTS = 100000, 4000
H_PAGES, H_HOSTS, H_FIRST = 8000, 400, 4000
POLITE_RATE, POLITE_PAGES = 400, 12000
WGET2_S = 60  # of W
WANTED = [word for word in os.environ.get("WORKLOADS", "").split(",") if word]

NOWARC, WARC = ("warc.enabled=no",), ("warc.enabled=yes",)
SINGLE = ("fetch.threads=1", "parse.threads=1")
REAL = (f"scope.domains={real_web.DOMAIN}",)


def scaled(n, least):
    return max(least, int(n * crawls.SCALE))


def synthetic_address(host):
    """Of a host of tests/web: h00001.web.test."""
    number = int(host[1:6])
    return f"127.16.{number // 250}.{number % 250 + 1}"


def real_address(host):
    """Of one of real_web.py: r0001.docs.test."""
    return real_web.host_address(int(host[1:5]))


def floors(floor, warc=False):
    """What is run beside a crawl, for Runs.over_floors."""
    stages = {"floor": "warc"} if warc else {"floor_curl": "curl", "floor_links": "links",
                                             "floor": "store"}
    return [(name, lambda stage=stage: floor.run(stage)) for name, stage in stages.items()]


def workload_s(path):
    pages = scaled(S_PAGES, 500)
    hosts = max(1, pages * S_HOSTS // S_PAGES)
    with crawls.Web(path, pages=pages, hosts=hosts, addresses=hosts, skew=0) as web:
        servers = []
        floor = crawls.Floor(path, web.http, synthetic_address)

        def crawl(program, options, cores=None):
            before = web.used_s()
            one = crawls.crawl(program, web, path, options, cores, urls=floor.urls)
            servers.append(web.used_s() - before)
            return one

        both = crawls.alternate("crawl.S.nowarc", lambda program: crawl(program, NOWARC), floors(floor))
        server_s = crawls.statistics.median(servers)
        kept = crawls.alternate("crawl.S.warc", lambda program: crawl(program, WARC),
                                floors(floor, warc=True))
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:  # the server has another one
            web.pin(set(cores[1:]))
        alone = crawls.alternate("crawl.S.one", lambda program: crawl(program, NOWARC, {cores[0]}))
    if len(cores) > 1:
        halves_s(path, pages, hosts, alone)
    both.cpu()
    kept.cpu()
    kept.over_floors()
    both.name = "crawl.S"
    both.over_floors()
    both.rate()
    both.rss()
    both.figure("wakes_per_page", lambda one: one.wakes / one.pages, "", 3)
    speedup(both, alone, server_s)
    crawls.put("crawl.S.writer_share", both.writer_share(), "")
    crawls.put("crawl.S.writer_ms_per_page", both.thread_ms("ingest"), "ms")
    crawls.put("crawl.S.warc.writer_ms_per_page", kept.thread_ms("ingest"), "ms")
    both.detail()
    kept.detail()


def halves_s(path, pages, hosts, alone):
    """Two crawls of half the web each, side by side, by the crawl on one core: what this machine's
    cores can give. The servers' CPU is accounted for as in speedup."""
    found = []
    for _ in range(crawls.RUNS):
        with contextlib.ExitStack() as stack:
            webs = [stack.enter_context(crawls.Web(stack.enter_context(crawls.Place()), skew=0,
                                                   pages=max(1, pages // 2), hosts=max(1, hosts // 2),
                                                   addresses=max(1, hosts // 2))) for _ in range(2)]
            start, before = time.monotonic(), sum(web.used_s() for web in webs)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda web: crawls.crawl(f"{crawls.BUILD}/ragno", web,
                                                       os.path.dirname(web.seeds), NOWARC + SINGLE), webs))
            wall = time.monotonic() - start
            found.append((wall, sum(web.used_s() for web in webs) - before))
    wall, server_s = sorted(found)[len(found) // 2]
    one_s = crawls.median(alone.by["this"], lambda one: one.wall_s)
    n = len(os.sched_getaffinity(0))
    crawls.put("crawl.S.two_core_floor", one_s / wall, "", 2)
    crawls.put("crawl.S.two_core_floor.of_cores", one_s * n / max(n * wall - server_s, 1e-9), "", 2)


def speedup(both, alone, server_s):
    """Pages per second on all cores by those on one, where the crawler has it alone. On all of them
    the server takes server_s of what there is: .of_cores is the speed-up by what is left for the
    crawler, scaled to all. What would bind at many cores is the thread that uses most."""
    n = len(os.sched_getaffinity(0))
    for label in ("this", "other"):
        if not both.by[label]:
            continue
        suffix = "" if label == "this" else ".other"
        wall = crawls.median(both.by[label], lambda one: one.wall_s)
        raw = crawls.median(alone.by[label], lambda one: one.wall_s) / wall
        free = max(n * wall - server_s, 1e-9)
        dearer = (crawls.median(both.by[label], crawls.Run.per_page_ms) /
                  crawls.median(alone.by[label], crawls.Run.per_page_ms))
        crawls.put(f"crawl.S.two_core_speedup{suffix}", raw, "", 2)
        crawls.put(f"crawl.S.two_core_speedup.of_cores{suffix}", raw * n * wall / free, "", 2)
        crawls.put(f"crawl.S.two_core_cpu_ratio{suffix}", dearer, "", 3)
        used = crawls.median(both.by[label], lambda one: one.cpu_s)
        crawls.say(f"crawl.S ({label}): server {server_s:.2f} s CPU in {wall:.2f} s on {n} cores: "
                   f"the crawler used {used / free:.2f} of what was left")


def over_tls(path, name, **options):
    """The same crawl plain and over TLS; returns what TLS adds to a page, in ms, and how many
    handshakes from the beginning, and resumed ones, a page has."""
    plain, value, first, resumed = None, None, 0, 0
    for tls in (False, True):
        with crawls.Web(path, skew=0, tls=tls, **options) as web:
            label = name if tls else f"{name}.plain"
            runs = crawls.alternate(label, lambda program: crawls.crawl(program, web, path, NOWARC))
        value, plain = runs.cpu(), value
        runs.detail()
        if tls:
            pages = sum(one.pages for label in runs.by for one in runs.by[label])
            resumed = web.counters.get("resumed", 0) / pages
            first = web.counters.get("handshakes", 0) / pages - resumed
            crawls.say(f"{name}: handshakes a page: {first:.3f} from the beginning, {resumed:.3f} resumed")
            crawls.put(f"{name}.over_plain", value / plain, "", 2)
    return value - plain, first, resumed


def tls_floors():
    """What bench_tls prints: by kind, milliseconds a page."""
    one = crawls.run([f"{crawls.BUILD}/bench/bench_tls"])
    if one.code != 0:
        raise RuntimeError(f"no floor: {one.output}")
    words = [line.split() for line in one.output.splitlines() if line.startswith("tls.floor.")]
    found = {row[0].split(".")[2].removesuffix("_ms"): float(row[2]) for row in words}
    for kind, ms in found.items():
        crawls.put(f"crawl.H.floor_{kind}_ms", ms, "ms")
    return found


def verify(path, first):
    """First contacts whose certificates are verified, beside the same that are not."""
    authority = os.path.join(path, "authority.pem")
    trusting = ("fetch.tls_verify=yes", f"fetch.ca_file={authority}")
    with crawls.Web(path, skew=0, tls=True, tls_ca=authority, pages=first, hosts=first,
                    addresses=first, close=True) as web:
        runs = {}
        for name, options in (("unverified", ()), ("verify", trusting)):
            runs[name] = crawls.alternate(f"crawl.H.{name}", lambda program: crawls.crawl(
                program, web, path, NOWARC + options))
    crawls.put("crawl.H.verify.adds_ms", runs["verify"].cpu() - runs["unverified"].cpu(), "ms")


def workload_h(path):
    pages, hosts = scaled(H_PAGES, 400), scaled(H_HOSTS, 20)
    first = scaled(H_FIRST, 200)
    added = {
        "kept": over_tls(path, "crawl.H.kept", pages=pages, hosts=hosts, addresses=hosts),
        "new": over_tls(path, "crawl.H.new", pages=pages, hosts=hosts, addresses=hosts, close=True),
        "first": over_tls(path, "crawl.H.first", pages=first, hosts=first, addresses=first, close=True)}
    floor = tls_floors()
    answer = floor["kept"] - floor["kept_plain"]  # a part of what a page with a handshake adds
    for name, (ms, n_first, n_resumed) in added.items():
        least = (n_first * (floor["first"] - floor["plain"]) +
                 n_resumed * (floor["resumed"] - floor["plain"]) +
                 max(0, 1 - n_first - n_resumed) * answer)
        if not crawls.OTHER:  # the web counts the handshakes of both
            crawls.put(f"crawl.H.{name}.over_floor", ms / least, "", 2)
    verify(path, first)


def real(path, group):
    """Calls group(names, web, crawl options) with the real pages; says so when they are missing."""
    manifest = real_web.prepare()
    if manifest is None:
        crawls.say("crawl.R: left out")
        return
    crawls.say(real_web.describe(manifest))
    group(path, manifest)


def pages_options(pages):
    """Of a part of them only."""
    return () if crawls.SCALE >= 1 else (f"crawl.max_pages={pages}",)


def workload_r(path):
    real(path, crawl_r)


def crawl_r(path, manifest):
    pages = scaled(manifest["pages"], 500)
    for gzip in (False, True):
        with real_web.RealWeb(path, gzip=gzip) as nginx, \
                crawls.Web(path, hosts=1, zone=nginx.zone) as web:
            floor = crawls.Floor(path, nginx.port, real_address)

            def crawl(program, options):
                return crawls.crawl(program, web, path, options + REAL + pages_options(pages),
                                    seeds=nginx.seeds, http=nginx.port, codes=(0, 14), urls=floor.urls)

            name = "crawl.R.gzip" if gzip else "crawl.R"
            for label, options in (("nowarc", NOWARC), ("warc", WARC)):
                beneath = [] if gzip else floors(floor, label == "warc")
                runs = crawls.alternate(f"{name}.{label}", lambda program: crawl(program, options),
                                        beneath)
                runs.cpu()
                runs.detail()
                runs.name = name if label == "nowarc" else f"{name}.warc"
                runs.over_floors()
                runs.rate()
                runs.rss()
                runs.disk()
                if not gzip:
                    runs.over_writer_floor(crawls.WriterFloor(
                        path, lambda: crawl(f"{crawls.BUILD}/ragno", options)))


def heavy_address(host):
    """Of one of heavy_web.py: w0001.heavy.test."""
    return heavy_web.host_address(int(host[1:5]))


def heavy_wget2(path, nginx):
    """By page that it has kept: 1.99 crashes now and then on the way, and its statistics with it."""
    command = bench_peers.wget2_command(path, nginx, nginx.seeds, True, domain=heavy_web.DOMAIN)
    one = crawls.run(["timeout", str(WGET2_S)] + command + [f"--ca-certificate={nginx.authorities}"])
    one.answers = sum(len(files) for _, _, files in os.walk(f"{path}/out"))
    crawls.say(f"crawl.W: wget2 kept {one.answers} pages, exit status {one.code}")
    return one


def workload_w(path):
    manifest = heavy_web.prepare()
    if manifest is None:
        crawls.say("crawl.W: left out")
        return
    crawls.say(heavy_web.describe(manifest))
    with heavy_web.HeavyWeb(path) as nginx, crawls.Web(path, hosts=1, zone=nginx.zone) as web:
        floor = crawls.Floor(path, nginx.port, heavy_address, nginx.authorities)
        options = WARC + (f"scope.domains={heavy_web.DOMAIN}", "fetch.tls_verify=yes",
                          f"fetch.ca_file={nginx.authorities}")

        def crawl(program):
            return crawls.crawl(program, web, path, options, seeds=nginx.seeds, https=nginx.port,
                                urls=floor.urls)

        beneath = [("floor_curl", lambda: floor.run("curl")), ("floor", lambda: floor.run("warc"))]
        if bench_peers.can_run():
            beneath.append(("wget2", lambda: heavy_wget2(path, nginx)))
        runs = crawls.alternate("crawl.W", crawl, beneath)
    runs.cpu()
    runs.over_floors()
    runs.rate()
    runs.rss()
    runs.disk()
    runs.figure("database_bytes_per_page", lambda one: one.database_bytes / one.pages, "bytes", 0)
    runs.detail()


def workload_polite(path):
    real(path, crawl_polite)


def crawl_polite(path, manifest):
    """All hosts alike, each with a delay that makes POLITE_RATE pages a second of them all."""
    pages = scaled(POLITE_PAGES, 400)
    wait_ms = manifest["hosts"] * 1000 // POLITE_RATE
    for name, close in (("crawl.polite", True), ("crawl.polite.kept", False)):
        with real_web.RealWeb(path, close=close) as nginx, \
                crawls.Web(path, hosts=1, zone=nginx.zone) as web:
            def crawl(program, wait):
                return crawls.crawl(program, web, path, NOWARC + REAL + (f"crawl.max_pages={pages}",),
                                    wait=wait, seeds=nginx.seeds, http=nginx.port, codes=(0, 14), urls=floor.urls)

            floor = crawls.Floor(path, nginx.port, real_address)
            fast = crawls.alternate(f"{name}.fast", lambda program: crawl(program, "0"),
                                    [("floor", lambda: floor.run("store"))])
            slow = crawls.alternate(name, lambda program: crawl(program, f"{wait_ms}ms"),
                                    [("floor", lambda: floor.run("store", rate=POLITE_RATE))])
        full, value = fast.cpu(), slow.cpu()
        fast.over_floors()
        slow.over_floors()
        crawls.put(f"{name}.floor_over_fast", slow.floor_ms("floor") / fast.floor_ms("floor"), "", 2)
        slow.rate()
        slow.figure("wakes_per_page", lambda one: one.wakes / one.pages, "", 3)
        slow.figure("commits_per_page", crawls.Run.commits_per_page, "", 4)
        crawls.put(f"{name}.over_fast", value / full, "", 2)
        fast.detail()
        slow.detail()


if __name__ == "__main__":
    ALL = {"S": workload_s, "H": workload_h, "R": workload_r, "W": workload_w,
           "polite": workload_polite}
    unknown = [word for word in WANTED if word not in ALL]
    if unknown:
        crawls.say(f"bench: no such workload: {' '.join(unknown)}; there are {' '.join(ALL)}")
        sys.exit(2)
    crawls.main(*[ALL[word] for word in WANTED or ALL])
