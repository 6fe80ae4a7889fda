"""Pages that need a browser: what a crawl with render.mode finds and costs, beside a browser with a network and beside
rendering every page.

    render.links_recall, words_recall of the links and words (innerText) that the same browser with a network finds on
                                      the applications of the bed (render_bed.py): mean share, and median
    render.plain_rendered             share of the pages that need no browser and were rendered all the same
    render.beside, render.twice       requests in the server's log beside those of crawl.log; requisites fetched twice
    render.breaches                   requests that the server had sooner than DELAY_MS after the one before to their host
    render.memory_first, _last        memory of the browsers in the first and last quarter of render.mode = always, median
    render.rounds                     renderings of a page
    render.over_always                CPU of ragno and browsers together, by that of render.mode = always
    render.cpu_s_per_page             of browsers, for a rendered page, all of its rounds and the starts
    render.over_browser               CPU of browsers for a page, all rounds, by that of the same browser with a network
                                      for one of the same pages, in the same run

SCALE (0.1): of 2 000 plain pages; the applications have 220 in any case, REFERENCE (all) of which are compared.
"""
import collections
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import crawls
import render_bed

SCALE = float(os.environ.get("SCALE") or 0.1)
REFERENCE = int(os.environ.get("REFERENCE") or 1000)
RAGNO = f"{crawls.BUILD}/ragno"
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
USER = ["-s", "render.user=nobody"] if os.geteuid() == 0 else []
SETTLED_S, PATIENCE_S = 0.7, 8
DELAY_MS = 40
READ = "JSON.stringify([[...document.querySelectorAll('a[href]')].map(a => a.href), document.body.innerText])"


class Browser:
    """One with a network, spoken to by DevTools over its pipe."""

    def __init__(self, port):
        self.folder = tempfile.mkdtemp()
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        for descriptor in (to_child, from_child):
            os.set_inheritable(descriptor, True)
        command = ["sh", "-c", f'exec "$0" "$@" 3<&{to_child} 4>&{from_child}', BROWSER, "--headless", "--no-sandbox",
                   "--remote-debugging-pipe", "--disable-gpu", f"--user-data-dir={self.folder}",
                   f"--host-resolver-rules=MAP *:80 127.0.0.1:{port}", "about:blank"]
        self.process = subprocess.Popen(command, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.number, self.buffer = 0, b""

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                self.buffer += os.read(self.read, 1 << 20)
            line, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer.get("result", {})

    def look(self, url):
        """Links and text, once they have not changed for a while."""
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        last, since, end = None, time.monotonic(), time.monotonic() + PATIENCE_S
        while last is None or (time.monotonic() < end and time.monotonic() - since < SETTLED_S):
            time.sleep(0.1)
            found = self.call("Runtime.evaluate", session, expression=READ)["result"].get("value")
            if found != last:
                last, since = found, time.monotonic()
        self.call("Target.closeTarget", targetId=target)
        return json.loads(last)

    def cpu_s(self):
        """Of all of its processes, those that have ended included."""
        ticks = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_mine(pid):
    """Whether a process belongs to a browser of a crawl of this run: its profile is named after the crawl's process."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        found = re.search(rb"/ragno-render\.(\d+)\.", file.read())
    if found is None:
        return False
    with open(f"/proc/{int(found[1])}/stat", encoding="latin-1") as file:
        return int(file.read().rpartition(")")[2].split()[1]) == os.getpid()


class Memory:
    """What the browsers of the crawl take, not shared with anybody, in MiB; looked at twice a second."""

    def __init__(self):
        self.seen, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        page = os.sysconf("SC_PAGESIZE")
        while not self.ended.wait(0.5):
            total = 0
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if is_mine(pid):
                        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                            _, resident, shared, *_ = map(int, file.read().split())
                        total += (resident - shared) * page
                except (OSError, ValueError):
                    continue
            self.seen += [total / 2**20] if total else []

    def end(self):
        self.ended.set()
        self.thread.join()
        quarter = max(1, len(self.seen) // 4)
        return statistics.median(self.seen[:quarter]), statistics.median(self.seen[-quarter:]), max(self.seen)


def crawl(bed, directory, mode):
    """CPU seconds of ragno and its browsers, and what report says of renderings."""
    delay = f"{DELAY_MS if mode == 'auto' else 0}ms"
    command = [RAGNO, "-d", directory, "-q", "-w", delay, "--ip-wait", delay, "-s", f"fetch.port_map=80:{bed.server.port}", "-s",
               "fetch.allow_addresses=127.0.0.0/8", "-s", f"render.mode={mode}", "-s", "render.share=100", "-s",
               "fetch.max_body=8Mi", *USER, *bed.seeds]
    code = subprocess.run(command, stdout=subprocess.DEVNULL, timeout=3600).returncode
    if code != 0:
        raise RuntimeError(f"ragno ended with {code}")
    renders = json.loads(tell("report", directory, "--json"))["renders"]
    with open(f"{directory}/status.json", encoding="ascii") as file:
        return json.load(file)["cpu_s"] + renders["cpu_ms"] / 1000, renders


def tell(*words):
    return subprocess.run([RAGNO, *words], capture_output=True, text=True, check=True).stdout


def rendered_pages(directory):
    rows = [line.split("\t") for line in tell("export", directory, "links").splitlines()]
    links = collections.defaultdict(set)
    for row in rows:
        links[row[0]].add(row[1])
    texts = {row["url"]: row["text"] for row in map(json.loads, tell("export", directory, "text").splitlines())}
    return links, texts


def words(text):
    return collections.Counter(re.findall(r"\w+", text.lower()))


def share(expected, found):
    """Of a multiset."""
    n = sum(expected.values())
    return 1 if n == 0 else sum((expected & found).values()) / n


def compare(bed, directory):
    """How much of what a browser with a network finds is there."""
    links, texts = rendered_pages(directory)
    browser, found_links, found_words = Browser(bed.server.port), [], []
    browser.look("about:blank")
    before = browser.cpu_s()
    pages = random.Random(29).sample(bed.apps, min(REFERENCE, len(bed.apps)))
    for url in pages:
        hrefs, text = browser.look(url)
        expected = {href.split("#")[0] for href in hrefs if href.startswith("http://127.90.")} - {url}
        found_links.append(1 if not expected else len(expected & links[url]) / len(expected))
        found_words.append(share(words(text), words(texts.get(url, ""))))
        if min(found_links[-1], found_words[-1]) < 0.99:
            crawls.say(f"  {url}: links {found_links[-1]:.2f}, words {found_words[-1]:.2f}")
    cpu_s = (browser.cpu_s() - before) / len(pages)
    browser.end()
    return found_links, found_words, cpu_s


def breaches(asked):
    """asked: (time, host), as the server noted them before it answered."""
    last, n = {}, 0
    for at, host in asked:
        n += host in last and at - last[host] < DELAY_MS / 1000
        last[host] = at
    return n


def main():
    if BROWSER is None:
        render_bed.complain("no browser", "make deps-render")
    bed = render_bed.Bed(SCALE)
    path = tempfile.mkdtemp()
    try:
        cpu, renders = crawl(bed, f"{path}/auto", "auto")
        asked = collections.Counter((host, path) for _, host, path in bed.asked)
        crawls.put("render.breaches", breaches([(at, host) for at, host, _ in bed.asked]), f"of {len(bed.asked)} requests", 0)
        with open(f"{path}/auto/crawl.log", encoding="latin-1") as file:
            logged = collections.Counter(line.split()[3] for line in file if " ip:" in line and "mono:" in line)
        crawls.put("render.beside", sum(asked.values()) - sum(logged.values()), "requests", 0)
        crawls.put("render.twice", sum(n > 1 for n in asked.values()), "URLs", 0)
        n_apps = len(set(bed.apps))
        n_plain = sum(1 for url in bed.plain if renders_of(f"{path}/auto", url))
        crawls.put("render.plain_rendered", n_plain / len(bed.plain), "share")
        crawls.put("render.pages", renders["done"], f"rendered, of {n_apps} that need it", 0)
        crawls.put("render.rounds", renders["rounds"] / max(1, renders["done"]), "a page")
        crawls.put("render.cpu_s_per_page", renders["cpu_ms"] / 1000 / max(1, renders["done"]), "s", 4)
        found_links, found_words, browser_s = compare(bed, f"{path}/auto")
        for name, found in (("links", found_links), ("words", found_words)):
            crawls.put(f"render.{name}_recall", statistics.mean(found), "mean share")
            crawls.put(f"render.{name}_recall_median", statistics.median(found), "share")
        crawls.put("render.browser_cpu_s", browser_s, "s for a page with a network", 4)
        crawls.put("render.over_browser", renders["cpu_ms"] / 1000 / max(1, renders["done"]) / browser_s, "times")
        memory = Memory()
        always, renders = crawl(bed, f"{path}/always", "always")
        crawls.put("render.pages_always", renders["done"], "in a row", 0)
        for name, value in zip(("first", "last", "most"), memory.end()):
            crawls.put(f"render.memory_{name}", value, "MiB", 0)
        crawls.put("render.cpu", cpu, "s", 1)
        crawls.put("render.cpu_always", always, "s", 1)
        crawls.put("render.over_always", cpu / always, "times")
    finally:
        shutil.rmtree(path, ignore_errors=True)
        bed.server.__exit__()


def renders_of(directory, url):
    """Whether a page that needs no browser has a document all the same."""
    if not hasattr(renders_of, "urls"):
        renders_of.urls = set()
        for name in os.listdir(f"{directory}/warc"):
            if name.endswith(".cdxj"):
                with open(f"{directory}/warc/{name}", encoding="latin-1") as file:
                    renders_of.urls |= {line.split()[0][len("urn:rendered:"):] for line in file if line.startswith("urn:")}
    return url in renders_of.urls


if __name__ == "__main__":
    sys.exit(main())
