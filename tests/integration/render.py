#!/usr/bin/env python3
"""Pages that need a browser: rendered from what the crawl has fetched, by a browser without a network. Skipped where
chromium is not installed."""
import os
import re
import shutil
import subprocess
import threading

import harness
from harness import OUT, run
from page_server import PageServer

RAGNO = f"{OUT}/ragno"
SITE, OTHER = "127.9.7.1", "127.9.7.2"
USER = ["-s", "render.user=nobody"] if os.geteuid() == 0 else []
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")

APP = """
fetch('/data.json').then(r => r.json()).then(names => {
  for (const name of names) {
    const a = document.createElement('a');
    a.href = 'made/' + name; a.textContent = 'word' + name;
    document.getElementById('root').append(a);
  }
});
setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<a href="/late">later</a>') }, 3000);
const host = document.createElement('div');
host.innerHTML = '<b slot="s">slotted</b>';
document.body.append(host);
host.attachShadow({mode: 'open'}).innerHTML = '<a href="/shadow">shadow</a><slot name="s"></slot>';
new Worker('/worker.js').onmessage = e =>
  document.body.insertAdjacentHTML('beforeend', '<a href="/worked">' + e.data + '</a>');
document.body.append('clock' + Date.now() + 'dice' + Math.random() + crypto.randomUUID());
fetch('/absent.json?at=' + Date.now()).catch(() => document.body.append('absent'));
fetch('/send', {method: 'POST', body: 'x'}).catch(() => document.body.append('unsent'));
new WebSocket('ws://127.9.7.1/socket').onerror = () => document.body.append('unplugged');
open('/window');
setTimeout(() => { location.href = '/onward' }, 200);
import('/module.js').then(m => document.body.append(m.word));
"""
PAGES = {
    (SITE, "/"): ("text/html", '<!doctype html><title>app</title><link rel=stylesheet href=/s.css><div id=root></div>'
                  '<noscript>needs JavaScript</noscript><script src=/app.js></script>'
                  f'<iframe src="http://{OTHER}/frame.html"></iframe><img src=/picture.png>'),
    (SITE, "/app.js"): ("text/javascript", APP),
    (SITE, "/s.css"): ("text/css", "a { color: red }"),
    (SITE, "/data.json"): ("application/json", '["1", "2", "3"]'),
    (SITE, "/worker.js"): ("text/javascript", "fetch('/work.json').then(r => r.text()).then(t => postMessage(t))"),
    (SITE, "/work.json"): ("application/json", "workword"),
    (SITE, "/module.js"): ("text/javascript", "import {w} from './part.js'; export const word = 'module' + w"),
    (SITE, "/part.js"): ("text/javascript", "export const w = 'word'"),
    (OTHER, "/frame.html"): ("text/html", "<base href='/in/'><a href=side>inframe</a>"),
}


class Site:
    """PAGES on a port of all loopback addresses, and what was asked for."""

    def __init__(self, pages):
        self.asked = []
        lock = threading.Lock()

        def answer(host, path):
            with lock:
                self.asked.append((host, path))
            kind, text = pages.get((host, path), (None, ""))
            return (404, {}, b"not here") if kind is None else (200, {"Content-Type": kind}, text.encode())
        self.server = PageServer(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()


def crawl(site, directory, seeds, *options):
    return run([RAGNO, "-d", directory, "-w", "0", "--ip-wait", "0", "--progress=never",
                "--set", f"fetch.port_map=80:{site.server.port}", "--set", "fetch.allow_addresses=127.0.0.0/8",
                *options, *seeds], 120)


def check_render(place, url, *options):
    """Exit status, facts (name -> list of values), text."""
    result = run([RAGNO, "check", "render", place, url, *USER, *options], 300)
    head, _, text = result.stdout.partition("\n\n")
    facts = {}
    for line in head.splitlines():
        name, _, value = line.partition("\t")
        facts.setdefault(name, []).append(value)
    return result, facts, text


def offline(report, path):
    """A crawled application is shown as a browser with a network shows it, always alike, and asks nobody."""
    if BROWSER is None:
        return report.skip("offline", "chromium is not installed: make deps-render")
    directory = os.path.join(path, "crawl")
    with Site(PAGES) as site:
        seeds = [f"http://{host}{name}" for host, name in PAGES]
        result = crawl(site, directory, seeds)
        report.equal("the crawl ends", result.returncode, 0)
        before = len(site.asked)
        runs = [check_render(directory, f"http://{SITE}/") for _ in range(3)]
        report.equal("nobody is asked", len(site.asked), before)
    result, facts, text = runs[0]
    report.equal("it is rendered", (result.returncode, facts.get("end")), (0, ["settled"]))
    links = {line.split("\t")[1] for line in facts.get("link", []) if line.startswith("a\t")}
    expected = {f"http://{SITE}/made/{n}" for n in (1, 2, 3)} | {
        f"http://{SITE}/late", f"http://{SITE}/shadow", f"http://{SITE}/worked", f"http://{OTHER}/in/side"}
    report.same_set("links that scripts, frames, shadows and workers make", links, expected)
    missing = [word for word in ("word1", "later", "shadow", "slotted", "workword", "inframe", "absent", "unsent",
                                 "unplugged", "moduleword") if word not in text]
    report.check("and their words", not missing, f"{missing} of {text!r}")
    report.check("no text for browsers without scripts", "needs" not in text, text)
    # Which of two requests that race each other is answered first is nobody's promise.
    report.equal("the same again, three times", len({"".join(sorted(r[0].stdout)) for r in runs}), 1)
    lacking = facts.get("lacking", [])
    report.check("what was lacking is named", len(lacking) == 1 and
                 re.fullmatch(rf"http://{SITE}/absent\.json\?at=\d+", lacking[0]), lacking)
    report.same_set("what was refused is named", set(facts.get("refused", [])),
                    {f"method http://{SITE}/send", "socket WebSocket", "window open",
                     f"navigation http://{SITE}/onward"})
    report.equal("another document in its place is a link", facts.get("onward"), [f"http://{SITE}/onward"])


def refusals(report, path):
    """Without a browser, or as root, it says what to do."""
    page = os.path.join(path, "page.html")
    with open(page, "w", encoding="ascii") as file:
        file.write("<p>hello")
    result = run([RAGNO, "check", "render", page, "http://a.test/", "-s", "render.command=/no/browser"])
    report.check("no such browser", result.returncode == 4 and "make deps-render" in result.stderr, result.stderr)
    result = run([RAGNO, "check", "render", page, "nonsense"])
    report.equal("no URL", result.returncode, 2)
    if os.geteuid() == 0 and BROWSER is not None:
        result = run([RAGNO, "check", "render", page, "http://a.test/"])
        report.check("not as root", result.returncode == 4 and "render.user" in result.stderr, result.stderr)
        result = run([RAGNO, "check", "render", page, "http://a.test/", "-s", "render.user=root"])
        report.check("nor as root by name", result.returncode == 4 and "root" in result.stderr, result.stderr)
    if BROWSER is not None:
        fake = os.path.join(path, "liar")
        for name, script in (("a browser that talks nonsense", "printf 'nonsense\\0' >&4; cat <&3 >/dev/null"),
                             ("a browser that ends at once", "exit 1"),
                             ("a browser that floods the pipe", "yes x >&4")):
            with open(fake, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(fake, 0o755)
            os.chmod(path, 0o755)
            result = run([RAGNO, "check", "render", page, "http://a.test/", *USER, "-s", f"render.command={fake}"])
            report.check(name, result.returncode in (1, 4) and "no browser" in result.stderr,
                         f"{result.returncode} {result.stderr}")


def processes_of(folder):
    """Command lines that name a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if folder.encode() in line:
            found.append(line)
    return found


def leaves_nothing(report, path):
    """Neither a process nor a folder is left, of a rendering that ends and of one that is killed."""
    if BROWSER is None:
        return report.skip("leaves nothing", "chromium is not installed: make deps-render")
    temporary = os.path.join(path, "tmp")
    os.mkdir(temporary)
    os.chmod(path, 0o755)
    os.chmod(temporary, 0o1777)
    page = os.path.join(path, "page.html")
    with open(page, "w", encoding="ascii") as file:
        file.write("<script>for(;;);</script>")
    environment = {**os.environ, "TMPDIR": temporary}
    command = [RAGNO, "check", "render", page, "http://a.test/", *USER]
    quick = [*command, "-s", "render.cpu_time=500ms"]
    run(quick, 300, environment)
    report.equal("no folder of a rendering that ended", os.listdir(temporary), [])
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = harness.until(lambda: len(processes_of(temporary)) > 3)
    process.kill()
    process.wait()
    report.check("a browser was at work", found)
    report.check("it ends with the crawl", harness.until(lambda: not processes_of(temporary)),
                 processes_of(temporary)[:3])
    report.equal("its folder is left", len(os.listdir(temporary)), 1)
    run(quick, 300, environment)
    report.equal("and the next one removes it", os.listdir(temporary), [])


if __name__ == "__main__":
    harness.main(offline, refusals, leaves_nothing)
