"""A topic crawl of real pages: how many of the pages that are fetched first are wanted, by classifier
(score.scorer = fasttext), breadth-first and by PageRank; and what a classified page costs.

R, the documentation of Debian packages (real_web.py), begun at the first page of each package. A page
is wanted when its text says TOPIC often. The classifier learns from a sample of the pages and
never sees the rule.

    topic.R.ORDER.harvest        wanted pages among the first tenth of R's pages to be fetched
    topic.R.ORDER.cpu_ms_per_page   of the crawler and its classifier
"""
import html
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import crawls  # noqa: E402
import real_web  # noqa: E402

SCALE = float(os.environ.get("SCALE") or 1)
TOPIC = re.compile(r"\b(sockets?|tcp|udp|network\w*|resolvers?|ip address\w*)\b", re.I)
OFTEN = 5
SAMPLE = 4000
SOME = ["-w", "2ms", "--ip-wait", "0", "--set", "fetch.connections=16", "--set",
        "scope.sitemaps=no", "--set", "scope.domains=" + real_web.DOMAIN]
ORDERS = {
    "breadth_first": ["--set", "schedule.order=breadth-first"],
    "pagerank": ["--set", "score.scorer=pagerank", "--set", "score.min_pages=200"],
    "rules": ["--set", "score.scorer=content", "--set", "score.rules=RULES"],
    "classifier": ["--set", "score.scorer=fasttext", "--set", "score.command_queue=4096"],
}
# What somebody who wants such pages writes down: what links say, and pages.
RULES = """1    AnchorContainsRegex("(?i)socket|tcp|udp|network|resolver|ip address")
0.5  TextContainsRegex("(?i)\\b(sockets?|tcp|udp|network\\w*|resolvers?|ip address\\w*)\\b")
0.01 true
"""


def file_of(url):
    import urllib.parse
    parts = urllib.parse.urlsplit(url)
    return f"{real_web.PLACE}/www/{parts.hostname}{urllib.parse.unquote(parts.path)}"


def text_of(file):
    with open(file, encoding="utf-8", errors="replace") as page:
        source = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", page.read())
    return html.unescape(re.sub(r"<[^>]*>", " ", source))


def is_wanted(file):
    return len(TOPIC.findall(text_of(file))) >= OFTEN


def first_pages(urls):
    """The first page of each package, nearest to its root."""
    best = {}
    for url in urls:
        package = url.split("/", 4)[3]
        name = url.rsplit("/", 1)[1]
        key = (url.count("/"), name != "index.html", url)
        best[package] = min(best.get(package, key), key)
    return [key[2] for key in best.values()]


def crawl(path, web, dns, seeds, *arguments):
    return subprocess.run([f"{crawls.BUILD}/ragno", "-d", path, "-i", seeds, *SOME, *arguments, "--progress=never", "--set",
                           f"fetch.port_map=80:{web.port}", "--set", f"dns.servers=127.0.0.1:{dns}",
                           "--set", "fetch.allow_addresses=127.0.0.0/8"],
                          capture_output=True, text=True, check=False)


def train(path, web, dns, urls):
    """A model of a sample of pages, made as the manual says: a crawl, its text, fasttext."""
    chosen = random.Random(1).sample(urls, SAMPLE)
    with open(f"{path}/sample.txt", "w") as file:
        file.writelines(url + "\n" for url in chosen)
    crawl(f"{path}/sample", web, dns, f"{path}/sample.txt", "-l", "0")
    text = subprocess.run([f"{crawls.BUILD}/ragno", "export", f"{path}/sample", "text", "--main"],
                          capture_output=True, text=True, check=True).stdout
    lines = {True: [], False: []}
    for line in text.splitlines():
        page = json.loads(line)
        words = f"{page.get('title') or ''} {(page.get('main_text') or page.get('text') or '')[:4096]}"
        wanted = is_wanted(file_of(page["url"]))
        lines[wanted].append(f"__label__{'wanted' if wanted else 'other'} {' '.join(words.split())}\n")
    n = sum(map(len, lines.values()))
    often = max(1, len(lines[False]) // max(1, len(lines[True])))
    mixed = lines[False] + lines[True] * often
    random.Random(2).shuffle(mixed)
    with open(f"{path}/train", "w", encoding="utf-8") as out:
        out.writelines(mixed)
    subprocess.run(["fasttext", "supervised", "-input", f"{path}/train", "-output", f"{path}/model",
                    "-dim", "16", "-epoch", "5", "-lr", "0.3", "-thread", "1"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    crawls.say(f"{len(lines[True])} of {n} pages of the sample are wanted")
    crawls.put("topic.R.all.harvest", len(lines[True]) / max(1, n), "1")


def run(path, web, dns, name, pages):
    directory = f"{path}/{name}"
    model = ["--set", f"score.model={path}/model.bin"] if name == "classifier" else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{path}/rules.txt", "w") as file:
        file.write(RULES)
    order = [word.replace("RULES", f"{path}/rules.txt") for word in ORDERS[name]]
    result = crawl(directory, web, dns, f"{path}/seeds", "--no-warc", *order, *model, "--set",
                   f"crawl.max_pages={pages}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{directory}/crawl.log", encoding="latin-1") as log:
        rows = [line.split() for line in log]
    urls = [r[3] for r in rows if r[4] != "P" and r[1] == "200" and os.path.isfile(file_of(r[3]))]
    wanted = sum(is_wanted(file_of(url)) for url in urls)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    crawls.say(f"{name}: exit {result.returncode}, {len(urls)} pages, {wanted} wanted")
    crawls.put(f"topic.R.{name}.harvest", wanted / max(1, len(urls)), "1")
    crawls.put(f"topic.R.{name}.cpu_ms_per_page", cpu * 1000 / max(1, len(urls)), "ms")
    with open(f"{directory}/status.log") as status:
        last = dict(w.split("=", 1) for w in status.read().splitlines()[-1].split() if "=" in w)
    crawls.say("  ".join(f"{k}={last[k]}" for k in ("classified", "classify_default", "classify_s", "cpu_s")))


def main():
    if shutil.which("fasttext") is None:
        crawls.say("topic: fasttext is not installed (apt-get install fasttext)")
        return
    manifest = real_web.prepare()
    if manifest is None:
        return
    with open(f"{real_web.PLACE}/pages.txt") as file:
        urls = [line.split()[1] for line in file]
    pages = max(500, int(len(urls) / 10 * SCALE))
    path = tempfile.mkdtemp(prefix="ragno-bench-topic-")
    try:
        with open(f"{path}/seeds", "w") as file:
            file.writelines(url + "\n" for url in first_pages(urls))
        dns = subprocess.Popen([f"{crawls.BUILD}/web", "--port", "0", "--dns-port", "0", "--zone", f"{real_web.PLACE}/zone"],
                               stdout=subprocess.PIPE, text=True)
        try:
            port = next(int(re.search(r"dns\D*(\d+)", line)[1]) for line in dns.stdout
                        if re.search(r"dns\D*(\d+)", line))
            with real_web.RealWeb(path) as web:
                train(path, web, port, urls)
                for name in ORDERS:
                    run(path, web, port, name, pages)
        finally:
            dns.terminate()
            dns.wait()
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
