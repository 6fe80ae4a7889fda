"""Pages that need a browser: what a crawl with render.mode finds and costs, beside a browser with a network and beside
rendering every page.

    render.links_recall, words_recall of the links and words (innerText) that the same browser with a network finds on
                                      the applications of the bed (render_bed.py): mean share, and median
    render.plain_rendered             share of the pages that need no browser and were rendered all the same
    render.beside, render.twice       requests in the server's log beside those of crawl.log; requisites fetched twice
    render.breaches                   requests that the server had sooner than DELAY_MS after the one before to their host
    render.rounds                     renderings of a page
    render.cpu_s_per_page             of browsers, for a rendered page, all of its rounds and the starts
    render.over_browser               the same by the CPU of the same browser with a network, for one of the same pages
    render.small_over_browser         the same of two small applications, by a browser that visits each page once
    render.over_every                 CPU of ragno and browsers together, by that of the same browser with a network for
                                      every page of the bed, its fetches not counted
    render.over_always                by that of ragno with render.mode = always
    render.memory_first, _last        memory of the browsers in the first and last quarter of render.mode = always, median
    render.ragno_first, _last         the same of ragno
    render.lost_to_hostile            part of all CPU of browsers that the hostile pages of tests/integration/render.py took
                                      until the last good page had ended, or until 98 in a hundred turns of good pages had
                                      (_soon): each is on a host of its own, and they are named before the bed

SCALE (0.1): of 2 000 plain pages; the applications have 245 in any case, every REFERENCE-th (1) of which is compared.
PARTS: auto (the crawl), hostile (the same behind hostile pages), compare (recall, needs auto), small (two small applications by themselves), plain (SAMPLE (100) of the plain pages, with render.mode = always and
by a browser with a network: what every one of them would cost), always (the whole bed with render.mode = always; memory
each 200 pages). Those that are not named are not run; with KEEP=DIR one can be run after the other, and a figure is put
when all that it needs is there.
"""
import collections
import fcntl
import itertools
import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import crawls
import render_bed
from harness import stat_of
from page_server import PageServer
from render import HOSTILE
from render_reach import turns_of

SCALE = float(os.environ.get("SCALE") or 0.1)
REFERENCE = int(os.environ.get("REFERENCE") or 1)
SAMPLE = int(os.environ.get("SAMPLE") or 100)
PARTS = (os.environ.get("PARTS") or "auto hostile compare small plain always").split()
KEEP = os.environ.get("KEEP")
RAGNO = f"{crawls.BUILD}/ragno"
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
USER = ["-s", "render.user=nobody"] if os.geteuid() == 0 else []
SETTLED_S, PATIENCE_S = 0.7, 8
DELAY_MS = 40
BAD = "127.90.2."
READ = "JSON.stringify([[...document.querySelectorAll('a[href]')].map(a => a.href), document.body.innerText])"


class Browser:
    """One with a network, spoken to by DevTools over its pipe."""

    def __init__(self, port):
        self.folder = tempfile.mkdtemp()
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        command = [BROWSER, "--headless", "--no-sandbox",
                   "--remote-debugging-pipe", "--disable-gpu", f"--user-data-dir={self.folder}",
                   f"--host-resolver-rules=MAP *:80 127.0.0.1:{port}", "about:blank"]

        def hand_over():  # a shell's redirections take no descriptor above 9
            ends = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in (to_child, from_child)]
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)
                os.close(end)
        self.process = subprocess.Popen(command, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        start_new_session=True, preexec_fn=hand_over)
        os.close(to_child)
        os.close(from_child)
        self.number, self.buffer, self.events = 0, b"", []

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (answer := self.next()).get("id") != self.number:
            self.events += [answer.get("params", {})]
        return answer.get("result", {})

    def next(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def wait(self, is_wanted):
        """For an event; those before it are forgotten. A page that never rests is left after PATIENCE_S."""
        end = time.monotonic() + PATIENCE_S
        while not any(map(is_wanted, self.events)):
            left = max(0, end - time.monotonic())
            if b"\0" not in self.buffer and not select.select([self.read], [], [], left)[0]:
                break
            self.events = [self.next().get("params", {})]
        self.events = []

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

    def visit(self, url):
        """As other crawlers do: links and text once, when the page is loaded and asks for nothing more."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        self.call("Page.setLifecycleEventsEnabled", session, enabled=True)
        loader = self.call("Page.navigate", session, url=url)["loaderId"]
        self.wait(lambda event: event.get("name") == "networkIdle" and event.get("loaderId") == loader)
        self.call("Runtime.evaluate", session, expression=READ)
        self.call("Target.closeTarget", targetId=target)

    def cpu_s(self):
        """Of all of its processes, those that have ended included."""
        ticks = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = stat_of(pid)
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def crawler_of(pid):
    """The crawler of this run whose browser a process belongs to: it is of a session whose first process has a profile that
    is named after its crawler's. None: there is none."""
    with open(f"/proc/{stat_of(pid)[3]}/cmdline", "rb") as file:
        found = re.search(rb"/ragno-render\.(\d+)\.", file.read())
    return int(found[1]) if found and int(stat_of(int(found[1]))[1]) == os.getpid() else None


def private_mib(pid):
    """What a process takes, not shared with anybody."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE") / 2**20


class Memory:
    """What the browsers of a crawl and the crawler itself take, in MiB; looked at twice a second, and said each 200 pages that
    were rendered: the median of the looks since."""

    def __init__(self, directory):
        self.directory, self.seen, self.ended = directory, [], threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def pages(self):
        try:
            return json.loads(tell("report", self.directory, "--json"))["renders"]["done"]
        except (subprocess.CalledProcessError, KeyError):
            return 0  # it has not begun

    def look(self):
        browsers, crawlers = 0, set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if (crawler := crawler_of(pid)) is not None:
                    browsers += private_mib(pid)
                    crawlers.add(crawler)
            except (OSError, ValueError, IndexError):
                continue
        return (browsers, sum(map(private_mib, crawlers))) if crawlers else None

    def watch(self):
        said, next_pages = 0, 200
        for n in itertools.count(1):
            if self.ended.wait(0.5):
                return
            try:
                self.seen += [seen] if (seen := self.look()) else []
            except OSError:
                continue  # it has just ended
            if n % 10 == 0 and len(self.seen) > said and (pages := self.pages()) >= next_pages:
                browsers, crawler = map(statistics.median, zip(*self.seen[said:]))
                crawls.say(f"  {pages} pages: browsers {browsers:.0f} MiB, ragno {crawler:.0f} MiB")
                said, next_pages = len(self.seen), pages // 200 * 200 + 200

    def end(self):
        """Of browsers and crawler each: the median in the first quarter, in the last one, and the most."""
        self.ended.set()
        self.thread.join()
        quarter = max(1, len(self.seen) // 4)
        return [(statistics.median(row[:quarter]), statistics.median(row[-quarter:]), max(row)) for row in zip(*self.seen)]


def crawl(bed, directory, mode, seeds=None, options=()):
    """CPU seconds of ragno and its browsers, and what report says of renderings; of seeds alone, where some are given."""
    delay = f"{DELAY_MS if mode == 'auto' else 0}ms"
    command = [RAGNO, "-d", directory, "-q", "-w", delay, "--ip-wait", delay, "-s", f"fetch.port_map=80:{bed.server.port}", "-s",
               "fetch.allow_addresses=127.0.0.0/8", "-s", f"render.mode={mode}", "-s", "render.share=100", "-s",
               "fetch.max_body=8Mi", *(("-s", "scope.depth=0") if seeds else ()), *options, *USER, *(seeds or bed.seeds)]
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
    pages = bed.apps[::REFERENCE]
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


def part_auto(bed, path, figures):
    shutil.rmtree(f"{path}/auto", ignore_errors=True)
    cpu, renders = crawl(bed, f"{path}/auto", "auto")
    asked = collections.Counter((host, path) for _, host, path in bed.asked)
    crawls.put("render.breaches", breaches([(at, host) for at, host, _ in bed.asked]), f"of {len(bed.asked)} requests", 0)
    with open(f"{path}/auto/crawl.log", encoding="latin-1") as file:
        logged = collections.Counter(line.split()[3] for line in file if " ip:" in line and "mono:" in line)
    crawls.put("render.beside", sum(asked.values()) - sum(logged.values()), "requests", 0)
    crawls.put("render.twice", sum(n > 1 for n in asked.values()), "URLs", 0)
    n_plain = sum(1 for url in bed.plain if renders_of(f"{path}/auto", url))
    crawls.put("render.plain_rendered", n_plain / len(bed.plain), "share")
    crawls.put("render.pages", renders["done"], f"rendered, of {len(set(bed.apps))} that need it", 0)
    crawls.put("render.rounds", renders["rounds"] / max(1, renders["done"]), "a page")
    figures["page"] = renders["cpu_ms"] / 1000 / max(1, renders["done"])
    crawls.put("render.cpu_s_per_page", figures["page"], "s", 4)
    figures["auto"] = cpu
    crawls.put("render.cpu", cpu, "s", 1)


class HostileFirst:
    """The bed behind hostile hosts."""

    def __init__(self, bed):
        pages = [f"<div id=root></div><script>0</script>{page}".encode() for page, *_ in HOSTILE.values()]
        self.hosts = {f"{BAD}{n}": page for n, page in enumerate(pages, 1)}
        self.bed, self.server = bed, PageServer(self.answer)
        self.seeds = [f"http://{host}/" for host in self.hosts] + bed.seeds

    def answer(self, host, path):
        if host not in self.hosts:
            return self.bed.answer(host, path)
        return (200, {"Content-Type": "text/html"}, self.hosts[host]) if path == "/" else (404, {}, b"not here")


def part_hostile(bed, path, figures):
    directory = f"{path}/hostile"
    shutil.rmtree(directory, ignore_errors=True)
    web = HostileFirst(bed)
    try:
        crawl(web, directory, "auto", options=("-s", "log.level=debug"))
    finally:
        web.server.__exit__()
    turns = [(BAD in url, s) for url, s in turns_of(directory)]
    good_turns = [n for n, (is_bad, _) in enumerate(turns) if not is_bad]
    for name, last in (("_soon", good_turns[len(good_turns) * 98 // 100 - 1]), ("", good_turns[-1])):
        bad, good = (sum(s for is_bad, s in turns[:last + 1] if is_bad == kind) for kind in (True, False))
        crawls.put(f"render.lost_to_hostile{name}", bad / (bad + good), f"share, {bad:.1f} s beside {good:.1f} s of good pages")
    crawls.put("render.hostile_in_all", sum(s for is_bad, s in turns if is_bad), f"s for {len(web.hosts)} pages, to the end", 1)


def part_compare(bed, path, figures):
    found_links, found_words, figures["app"] = compare(bed, f"{path}/auto")
    for name, found in (("links", found_links), ("words", found_words)):
        crawls.put(f"render.{name}_recall", statistics.mean(found), f"mean share, of {len(found)} pages")
        crawls.put(f"render.{name}_recall_median", statistics.median(found), "share")
    crawls.put("render.browser_cpu_s", figures["app"], "s for a page with a network", 4)


def bare(bed, pages):
    """CPU seconds of a browser with a network, for one of these pages."""
    browser = Browser(bed.server.port)
    browser.visit(pages[0])
    before = browser.cpu_s()
    for url in pages:
        browser.visit(url)
    spent = browser.cpu_s() - before
    browser.end()
    return spent / len(pages)


def part_small(bed, path, figures):
    """The start of ragno's browser counts, for some sixty pages instead of 500."""
    hosts = list(render_bed.APPS)[::4]
    pages = [url for url in bed.apps if url.split("/")[2] in hosts]
    shutil.rmtree(f"{path}/small", ignore_errors=True)
    _, renders = crawl(bed, f"{path}/small", "auto", pages)
    figures["small"] = renders["cpu_ms"] / 1000 / max(1, renders["done"])
    figures["small_browser"] = bare(bed, pages)
    crawls.put("render.small_cpu_s", figures["small"], f"s for a page, all rounds, of {renders['done']}", 4)
    crawls.put("render.small_browser_cpu_s", figures["small_browser"], f"s for a page with a network, of {len(pages)}", 4)
    crawls.put("render.small_over_browser", figures["small"] / figures["small_browser"], "times")


def part_plain(bed, path, figures):
    """The starts of browsers are not counted here: a crawl has one for 500 pages."""
    pages = bed.plain[::max(1, len(bed.plain) // SAMPLE)]
    for name in ("one", "plain"):
        shutil.rmtree(f"{path}/{name}", ignore_errors=True)
    one, _ = crawl(bed, f"{path}/one", "always", pages[:1])
    rest, renders = crawl(bed, f"{path}/plain", "always", pages)
    figures["plain_always"] = (rest - one) / max(1, renders["done"] - 1)
    figures["plain_browser"] = bare(bed, pages)
    crawls.put("render.plain_always_cpu_s", figures["plain_always"], f"s for a plain page, of {renders['done']}", 4)
    crawls.put("render.plain_browser_cpu_s", figures["plain_browser"], f"s for a plain page with a network, of {len(pages)}", 4)


def part_always(bed, path, figures):
    shutil.rmtree(f"{path}/always", ignore_errors=True)
    memory = Memory(f"{path}/always")
    try:
        figures["always"], renders = crawl(bed, f"{path}/always", "always")
    finally:
        seen = memory.end()
    crawls.put("render.pages_always", renders["done"], "in a row", 0)
    for who, row in zip(("memory", "ragno"), seen):
        for name, value in zip(("first", "last", "most"), row):
            crawls.put(f"render.{who}_{name}", value, "MiB", 0)
    crawls.put("render.cpu_always", figures["always"], "s", 1)


def put_ratios(bed, figures):
    n_plain, n_apps = len(bed.plain), len(bed.apps)
    if "auto" in figures and "app" in figures:
        crawls.put("render.over_browser", figures["page"] / figures["app"], "times")
    if {"auto", "app", "plain_browser"} <= set(figures):
        every = n_apps * figures["app"] + n_plain * figures["plain_browser"]
        crawls.put("render.over_every", figures["auto"] / every, f"times {every:.1f} s")
    if "auto" in figures and "always" in figures:
        crawls.put("render.over_always", figures["auto"] / figures["always"], "times")
    elif "auto" in figures and "plain_always" in figures:  # applications cost what they cost with auto
        always = figures["auto"] + n_plain * figures["plain_always"]
        crawls.put("render.over_always", figures["auto"] / always, f"times {always:.1f} s, reckoned from plain pages")


def main():
    if BROWSER is None:
        render_bed.complain("no browser", "make deps-render")
    bed = render_bed.Bed(SCALE)
    path, figures = KEEP or tempfile.mkdtemp(), {}
    os.makedirs(path, exist_ok=True)
    if os.path.exists(f"{path}/figures.json"):
        with open(f"{path}/figures.json", encoding="ascii") as file:
            figures = json.load(file)
    try:
        for part in PARTS:
            globals()[f"part_{part}"](bed, path, figures)
            with open(f"{path}/figures.json", "w", encoding="ascii") as file:
                json.dump(figures, file)
        put_ratios(bed, figures)
    finally:
        if not KEEP:
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
