"""What a million answers need: the figures of "How large a machine" in docs/operating.md. Each is of a whole crawl with WARC and
without delays, by a million answers, those of robots.txt included.

    size.S.*        the synthetic web, 100 000 pages
    size.R.*        real pages as nginx compresses them (real_web.py), where the packages are installed
    size.polite.*   50 hosts with delays: how long it took, by the answers of the largest host x delay

.cpu_s, .received_gb, .warc_gb (with the index), .database_gb, .log_gb (crawl.log), .mbit (at 100 answers a second) are what
they say; .rss_mb is the most that was resident and .files how many files there were, at .answers answers and .known URLs.
"""
import collections
import json
import os
import shutil

import crawls
import real_web

PROGRAM = f"{crawls.BUILD}/ragno"
DELAY_S, HOSTS, PAGES = 0.2, 50, 4000


def bytes_of(*paths):
    return sum(os.path.getsize(os.path.join(folder, name)) for path in paths for folder, _, names in os.walk(path)
               for name in names)


def size(name, web, path, *options):
    directory = f"{path}/crawl"
    shutil.rmtree(directory, ignore_errors=True)
    one = crawls.run(crawls.command(PROGRAM, web, directory, options))
    if one.code not in (0, 14):
        raise RuntimeError(f"exit status {one.code}: {one.output[-800:]}")
    with open(f"{directory}/status.json") as file:
        status = json.load(file)
    answers = len(crawls.answers(f"{directory}/crawl.log"))
    by_million = 1e6 / answers
    for figure, value, unit in (
            ("cpu_s", one.cpu_s, "s"), ("received_gb", status["bytes"] / 1e9, "GB"),
            ("warc_gb", bytes_of(f"{directory}/warc") / 1e9, "GB"),
            ("database_gb", bytes_of(f"{directory}/crawl.mdb") / 1e9, "GB"),
            ("log_gb", os.path.getsize(f"{directory}/crawl.log") / 1e9, "GB")):
        crawls.put(f"size.{name}.{figure}", value * by_million, f"{unit}/million", 2)
    crawls.put(f"size.{name}.mbit", status["bytes"] / answers * 100 * 8 / 1e6, "Mbit/s", 1)
    crawls.put(f"size.{name}.rss_mb", one.rss_mb, "MB", 0)
    crawls.put(f"size.{name}.files", sum(len(names) for _, _, names in os.walk(directory)), "files", 0)
    crawls.put(f"size.{name}.answers", answers, "answers", 0)
    crawls.put(f"size.{name}.known", status["urls_seen"], "URLs", 0)


def synthetic(path):
    pages = max(500, int(100000 * crawls.SCALE))
    with crawls.Web(path, pages=pages, hosts=pages // 100, addresses=pages // 100, skew=0) as web:
        size("S", web, path)


def real(path):
    manifest = real_web.prepare()
    if manifest is None:
        crawls.say("size.R: left out")
        return
    with real_web.RealWeb(path, gzip=True) as nginx, crawls.Web(path, hosts=1, zone=nginx.zone) as web:
        web.http, web.seeds = nginx.port, nginx.seeds
        limit = () if crawls.SCALE >= 1 else (f"crawl.max_pages={max(500, int(manifest['pages'] * crawls.SCALE))}",)
        size("R", web, path, f"scope.domains={real_web.DOMAIN}", *limit)


def polite(path):
    urls = []
    with crawls.Web(path, pages=PAGES, hosts=HOSTS, addresses=HOSTS, skew=0) as web:
        one = crawls.crawl(PROGRAM, web, path, count_all=True, urls=urls, wait=f"{DELAY_S}s")
    largest = max(collections.Counter(url.split("/")[2] for url in urls).values())
    crawls.put("size.polite.over_rule", one.wall_s / (largest * DELAY_S), "", 2)
    crawls.put("size.polite.wall_s", one.wall_s, "s", 1)


if __name__ == "__main__":
    crawls.main(synthetic, real, polite)
