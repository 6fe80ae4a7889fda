#!/usr/bin/env python3
"""Pages that need a browser: rendered from what the crawl has fetched, by a browser without a network. Skipped where
chromium is not installed."""
import concurrent.futures
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import harness
from harness import OUT, browsers_of, run
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

# What a page may try against the browser and against what reads it: name -> (script or HTML, how it may end).
SETTLED, STOPPED = {"settled"}, {"cpu", "time"}
BOUND = SETTLED | STOPPED | {"memory", "crashed"}
WASM = ("0061736d01000000010401600000030201000707010372756e00000a0901070003400c000b0b")
HOSTILE = {
    "an endless loop": ("<p>before<script>for(;;);</script>", STOPPED),
    "a timer that asks for the next": ("<script>(function f(){setTimeout(f,0)})()</script><p>text", SETTLED | STOPPED),
    "ten thousand timers": ("<script>for(let i=0;i<1e4;i++)setInterval(()=>{},i%7)</script><p>text", SETTLED | STOPPED),
    "promises without end": ("<script>(function f(){Promise.resolve().then(f)})()</script>", STOPPED),
    "a string of a gigabyte": ("<script>let s='x'.repeat(1<<28);document.body.append(s,s)</script>", BOUND),
    "memory without end": ("<script>const a=[];for(;;)a.push(new Uint8Array(1<<20).fill(1))</script>", BOUND),
    "a million nodes": ("<script>let h='';for(let i=0;i<1e6;i++)h+='<i>x</i>';document.body.innerHTML=h</script>", BOUND),
    "elements a hundred thousand deep": ("<script>let e=document.body;for(let i=0;i<1e5;i++){const d=document."
                                         "createElement('b');e.append(d);e=d}e.append('deep')</script>", BOUND),
    "frames within frames": ("<script>const f=document.createElement('iframe');f.src=location.pathname+'?'+Math.random();"
                             "document.body.append(f)</script>", SETTLED),
    "frames of documents of its own": ("<script>function f(d,n){if(n>9)return;for(let i=0;i<2;i++){const e=d.createElement"
                                       "('iframe');d.body.append(e);f(e.contentDocument,n+1)}}f(document,0)</script>", BOUND),
    "a reload of itself": ("<script>location.reload()</script>", SETTLED),
    "navigation without end": ("<script>setInterval(()=>{location='/?'+Math.random()},1)</script><p>text", SETTLED | STOPPED),
    "a refresh": ("<meta http-equiv=refresh content='0;url=/again'><p>text", SETTLED),
    "dialogs": ("<script>for(let i=0;i<500;i++){alert(i);confirm(i);prompt(i)}</script><p>text", SETTLED),
    "the dialogs of a frame": ("<script>const f=document.createElement('iframe');document.body.append(f);"
                               "f.contentWindow.alert(1);f.contentWindow.confirm(2)</script><p>text", SETTLED),
    "a page that will not be left": ("<script>onbeforeunload=e=>{e.preventDefault();return 'stay'};location='/x'</script>",
                                     SETTLED),
    "blobs and data": ("<script>for(const u of[URL.createObjectURL(new Blob(['<a href=/in>b</a>'],{type:'text/html'})),"
                       "'data:text/html,<p>d'])"
                       "{const f=document.createElement('iframe');f.src=u;document.body.append(f)}</script><p>text", SETTLED),
    "a blob of itself": ("<script>location=URL.createObjectURL(new Blob([document.documentElement.outerHTML],"
                         "{type:'text/html'}))</script>", BOUND | {"nothing"}),
    "a worker that spins": ("<script>new Worker(URL.createObjectURL(new Blob(['for(;;);'])))</script><p>text",
                            SETTLED | STOPPED),
    "a hundred workers": ("<script>for(let i=0;i<100;i++)new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])))"
                          "</script><p>text", BOUND),
    "WebAssembly that spins": (f"<script>const b=new Uint8Array('{WASM}'.match(/../g).map(x=>parseInt(x,16)));"
                               "new WebAssembly.Instance(new WebAssembly.Module(b)).exports.run()</script>", STOPPED | SETTLED),
    "prototypes that lie": ("<p>true text</p><script>for(const p of [Node,Element,Document,Array,String,Object,Map,Set])"
                            "for(const n of Object.getOwnPropertyNames(p.prototype))try{Object.defineProperty(p.prototype,n,"
                            "{get(){throw 1},set(){}})}catch(e){}</script>", SETTLED),
    "names that shadow": ("<form name=documentElement><input name=firstChild><input name=attributes><input name=nodeType>"
                          "</form><img name=body><form name=firstChild></form><p>true text", SETTLED),
    "a document without a root": ("<script>document.documentElement.remove()</script>", SETTLED),
    "a document of another kind": ("<script>document.open();document.write('<p>rewritten');document.close()</script>",
                                   SETTLED),
    "a document that is written without end": ("<script>for(;;)document.write('<p>more')</script>", BOUND),
    "an observer that feeds itself": ("<script>new MutationObserver(()=>document.body.append('x')).observe(document,"
                                      "{childList:true,subtree:true});document.body.append('y')</script>", STOPPED | {"memory"}),
    "private addresses": ("<script>for(const a of['http://127.0.0.1:9/','http://169.254.169.254/latest','http://[::1]/',"
                          "'http://localhost/'])fetch(a).catch(()=>{})</script><p>text", SETTLED),
    "other schemes": ("<script>for(const a of['file:///etc/passwd','ftp://a.test/','chrome://version','about:config',"
                      "'view-source:http://a.test/'])fetch(a).catch(()=>{});const f=document.createElement('iframe');"
                      "f.src='file:///etc/passwd';document.body.append(f)</script><p>text", SETTLED),
    "five thousand fetches": ("<script>for(let i=0;i<5000;i++)fetch('/f'+i).catch(()=>{})</script><p>text", SETTLED | STOPPED),
    "a fetch that asks for the next": ("<script>let n=0;(function f(){fetch('/f'+n++).catch(f)})()</script><p>text",
                                       SETTLED | STOPPED),
    "posts": ("<form id=f method=post action=/p><input name=a></form><script>fetch('/p',{method:'PUT'}).catch(()=>{});"
              "navigator.sendBeacon('/b','x');setTimeout(()=>document.getElementById('f').submit(),50)</script><p>text", SETTLED),
    "sockets": ("<script>for(let i=0;i<300;i++){new WebSocket('ws://a.test/');new EventSource('/e')}"
                "try{new RTCPeerConnection()}catch(e){}</script><p>text", SETTLED),
    "windows": ("<a id=a href=/w target=_blank>w</a><script>for(let i=0;i<99;i++)open('/w');"
                "document.getElementById('a').click()</script><p>text", SETTLED),
    "a download": ("<a id=a download href='data:application/octet-stream,x'>w</a><script>document.getElementById('a')"
                   ".click()</script><p>text", SETTLED),
    "a service worker": ("<script>navigator.serviceWorker&&navigator.serviceWorker.register('/sw.js').catch(()=>{})"
                         "</script><p>text", SETTLED),
    "a regular expression": ("<script>/^(a+)+$/.test('a'.repeat(60)+'b')</script><p>text", STOPPED | SETTLED),
    "the doors of ragno": ("<script>dispatchEvent(new Event('data-ragno-refused'));addEventListener('data-ragno-refused',"
                           "e=>{e.stopImmediatePropagation();document.documentElement.setAttribute('data-ragno-refused',"
                           "'x'.repeat(1e6))},true)</script><p>text", SETTLED),
    "styles without end": ("<style>" + "*{animation:a 1ms infinite}@keyframes a{to{opacity:0}}" * 50 + "</style><p>text",
                           SETTLED),
    "storage": ("<script>for(let i=0;i<20;i++)try{localStorage['k'+i]='x'.repeat(1e6)}catch(e){}indexedDB.open('d');"
                "document.cookie='a=b'</script><p>text", SETTLED),
    "a canvas of a gigabyte": ("<script>const c=document.createElement('canvas');c.width=c.height=16384;"
                               "c.getContext('2d').fillRect(0,0,9,9);c.toDataURL()</script><p>text", BOUND),
    "nothing": ("", SETTLED),
}
QUICK = ["an endless loop", "memory without end", "prototypes that lie", "navigation without end", "other schemes", "posts"]


class Site:
    """PAGES, (host, path) -> (type, text[, headers]), on a port of all loopback addresses, and what was asked for."""

    def __init__(self, pages):
        self.asked = []
        lock = threading.Lock()

        def answer(host, path):
            with lock:
                self.asked.append((host, path))
            kind, text, *more = pages.get((host, path), (None, ""))
            return (404, {}, b"not here") if kind is None else (
                200, {"Content-Type": kind, **(more[0] if more else {})}, text.encode())
        self.server = PageServer(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()


def crawl(site, directory, seeds, *options):
    return run([RAGNO, "-d", directory, "-w", "0", "--ip-wait", "0", "--progress=never",
                "--set", f"fetch.port_map=80:{site.server.port}", "--set", "fetch.allow_addresses=127.0.0.0/8",
                *options, *seeds])


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
        place = tempfile.mkdtemp(prefix="ragno-test-", dir="/tmp")  # where the browser's user may go
        os.chmod(place, 0o755)
        fake = os.path.join(place, "liar")
        for name, script in (("a browser that talks nonsense", "printf 'nonsense\\0' >&4; cat <&3 >/dev/null"),
                             ("a browser that ends at once", "exit 1"),
                             ("a browser that floods the pipe", "yes x >&4")):
            with open(fake, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(fake, 0o755)
            result = run([RAGNO, "check", "render", page, "http://a.test/", *USER, "-s", f"render.command={fake}"])
            report.check(name, result.returncode in (1, 4) and "no browser" in result.stderr,
                         f"{result.returncode} {result.stderr}")
        shutil.rmtree(place)


def leaves_nothing(report, path):
    """Neither a process nor a folder is left, of a rendering that ends and of one that is killed."""
    if BROWSER is None:
        return report.skip("leaves nothing", "chromium is not installed: make deps-render")
    temporary = tempfile.mkdtemp(prefix="ragno-test-", dir="/tmp")  # where the browser's user may go
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
    sessions = set()
    found = harness.until(lambda: len(browsers_of(temporary, sessions)) > 3)
    process.kill()
    process.wait()
    report.check("a browser was at work", found)
    report.check("it ends with the crawl", harness.until(lambda: not browsers_of(temporary, sessions)),
                 browsers_of(temporary, sessions))
    report.equal("its folder is left", len(os.listdir(temporary)), 1)
    run(quick, 300, environment)
    report.equal("and the next one removes it", os.listdir(temporary), [])
    os.rmdir(temporary)


def hostile(report, path):
    """Whatever a page tries, it ends by a bound, and what text it has is read where it can be."""
    if BROWSER is None:
        return report.skip("hostile pages", "chromium is not installed: make deps-render")
    names = list(HOSTILE) if harness.FULL else QUICK

    def ended(name):
        page = os.path.join(path, name.replace(" ", "-") + ".html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("<!doctype html><body>" + HOSTILE[name][0])
        return name, check_render(page, "http://a.test/", "-s", "render.cpu_time=2s", "-s", "render.memory=500Mi")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, (result, facts, text) in pool.map(ended, names):
            end = set(facts.get("end", ["none"]))
            report.check(f"{name}: it ends", result.returncode in (0, 1) and end <= HOSTILE[name][1],
                         f"{result.returncode} {end} {result.stderr}")
            if end == SETTLED and ">text" in HOSTILE[name][0]:
                report.check(f"{name}: its text", "text" in text, result.stdout)
            report.check(f"{name}: no file is read", "root:" not in result.stdout, result.stdout[:200])


# What a page may try against being read: name -> (HTML, how it may end, words that are there all the same, links).
SLY = {
    "a handler that spins while it is asked": ("<p>text<script>addEventListener('data-ragno-refused',()=>{for(;;);})</script>",
                                               STOPPED, (), ()),
    "a listener for scrolling that spins": ("<p>text<script>onscroll=()=>{for(;;);};document.body.style.height='9000px'</script>",
                                            STOPPED, (), ()),
    "an attribute of 200 MB": ("<p>text<script>document.body.setAttribute('x','y'.repeat(2e8))</script><a href=/good>good</a>",
                               SETTLED, ("text", "good"), ("good",)),
    "a name of 10 MB": ("<p>text<script>document.body.append(document.createElement('e'.repeat(1e7)))</script>"
                        "<a href=/good>good</a>", SETTLED, ("text", "good"), ("good",)),
    "elements that swallow what follows": (
        "<p>text<script>document.body.prepend(document.createElement('plaintext'));const x=document.createElement('xmp');"
        "x.append('</xmp><a href=/evil>e</a>');document.body.append(x);document.body.insertAdjacentHTML('beforeend',"
        "'<iframe>unseen</iframe><noembed>unseen</noembed><noframes>unseen</noframes>')</script><a href=/good>good</a>",
        SETTLED, ("text", "good", "</xmp>"), ("good",)),
}


def reading(report, path):
    """What a page does while it is read has a bound, too, and what it puts in the way hides nothing else."""
    if BROWSER is None:
        return report.skip("reading", "chromium is not installed: make deps-render")
    for name, (html, ends, words, links) in SLY.items():
        page = os.path.join(path, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("<!doctype html><body>" + html)
        bounds = ["-s", "render.cpu_time=1s"] if ends == STOPPED else []
        result, facts, text = check_render(page, "https://a.test/", *bounds)
        report.check(f"{name}: it ends", set(facts.get("end", ["none"])) <= ends, result.stdout[:500])
        report.check(f"{name}: its text", all(word in text for word in words) and "unseen" not in text, result.stdout[:500])
        report.equal(f"{name}: its links", facts.get("link", []), [f"a\thttps://a.test/{link}" for link in links])


class Canary:
    """Counts who connects to a port of all loopback addresses, by TCP or by a datagram."""

    def __init__(self):
        self.heard = 0
        self.stream = socket.create_server(("", 0))
        self.port = self.stream.getsockname()[1]
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("", self.port))
        for wait in (self.accept, self.receive):
            threading.Thread(target=wait, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.stream.accept()
            except OSError:
                return
            self.heard += 1
            connection.close()

    def receive(self):
        while True:
            try:
                self.datagrams.recv(100)
            except OSError:
                return
            self.heard += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.datagrams.close()


FORTRESS = """#!/usr/bin/python3
import ctypes, json, os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
found, home = {}, os.environ["HOME"]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def refused(what):
    try:
        return what() and None
    except OSError as error:
        return error.strerror
found["data"] = [libc.mmap(None, n << 30, 3, 0x4022, -1, 0) != ctypes.c_void_p(-1).value for n in (4, 9)]
with open(home + "/big", "wb") as file:
    found["file"] = [refused(lambda: file.truncate(n << 20)) for n in (1000, 1100)]
held = []
found["files"] = refused(lambda: [held.append(os.open("/dev/null", os.O_RDONLY)) for _ in range(5000)])
found["held"] = len(held)
for fd in held:
    os.close(fd)
found["core"] = resource.getrlimit(resource.RLIMIT_CORE)
def raised(name):
    try:
        resource.setrlimit(name, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return True
    except (ValueError, OSError):
        return False
found["raised"] = [raised(n) for n in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)]
found["user"] = os.getuid()
found["leader"] = os.getsid(0) == os.getpid()
found["devices"] = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
found["adjusted"] = int(open("/proc/self/oom_score_adj").read())
found["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1]
found["environment"] = sorted(os.environ)
with open("%s", "w") as file:
    json.dump(found, file)
"""


def limits(report, path):
    """The walls of a browser's process, seen from within by a program in its place: the kernel's limits, which it cannot
    raise, its user, session, network namespace, descriptors and environment."""
    folder = tempfile.mkdtemp(prefix="ragno-test-", dir="/tmp")  # where the browser's user may go
    os.chmod(folder, 0o1777)
    program, told, page = f"{folder}/fortress", f"{folder}/found.json", os.path.join(path, "page.html")
    with open(program, "w", encoding="ascii") as file:
        file.write(FORTRESS % told)
    os.chmod(program, 0o755)
    with open(page, "w", encoding="ascii") as file:
        file.write("text")
    result = run([RAGNO, "check", "render", page, "http://a.test/", *USER, "-s", f"render.command={program}"], 300)
    report.check("a program that is no browser is told", result.returncode != 0 and "browser" in result.stdout + result.stderr,
                 result.stdout + result.stderr)
    found = {}
    if os.path.exists(told):
        with open(told, encoding="ascii") as file:
            found = json.load(file)
    shutil.rmtree(folder, ignore_errors=True)
    if not found:
        return report.equal("the program has run", found, "what it found")
    report.equal("data: 4 GiB, but not 9 beside them", found["data"], [True, False])
    report.equal("files: 1 000 MiB, not 1 100", found["file"], [None, "File too large"])
    report.check("descriptors: 4 096", found["files"] == "Too many open files" and found["held"] < 4096, found)
    report.equal("no core, and no limit can be raised", (found["core"], found["raised"]), ([0, 0], [False] * 4))
    expected = pwd.getpwnam("nobody").pw_uid if USER else os.getuid()
    report.equal("its user, and a session of its own", (found["user"], found["leader"]), (expected, True))
    report.equal("the kernel ends it before anything else", found["adjusted"], 1000)
    report.equal("it has its two pipes and nothing else of ragno's", found["descriptors"], [0, 1, 2, 3, 4])
    report.check("nor its environment", not set(found["environment"]) - {"HOME", "TMPDIR", "PATH", "TZ", "LANG", "LC_CTYPE"},
                 found["environment"])
    allowed = subprocess.run(["unshare", "-Un", "true"], user=expected, stderr=subprocess.DEVNULL).returncode == 0
    if allowed:
        report.equal("no device of a network but its own loopback", found["devices"], ["lo"])
    else:
        report.skip("its network namespace", "this kernel has no user namespaces")


# What a page may try beside requests, and what names it where it was refused.
DOORS = {"navigator.serviceWorker.register('/sw.js')": "worker ServiceWorker", "new SharedWorker('/s.js')": "worker SharedWorker",
         "new WebSocket('wss://a.test/')": "socket WebSocket", "new EventSource('/events')": "socket EventSource",
         "new RTCPeerConnection()": "socket RTCPeerConnection", "new WebTransport('https://a.test:1/')": "socket WebTransport",
         "new PushManager().subscribe()": "device Push", "Notification.requestPermission()": "device Notification",
         "new Notification('hello')": "device Notification",
         "navigator.geolocation.getCurrentPosition(() => 0)": "device Geolocation",
         "navigator.geolocation.watchPosition(() => 0)": "device Geolocation",
         "open('/window')": "window open", "print()": "window print", "alert(1)": "window dialog", "confirm(1)": "window dialog",
         "prompt(1)": "window dialog", "fetch('/post', {method: 'POST'})": "method https://a.test/post",
         "navigator.sendBeacon('/beacon')": "method https://a.test/beacon", "document.getElementById('data').click()": "download download",
         "location = '/onward'": "navigation https://a.test/onward"}


def doors(report, path):
    """Whatever a page may try beside requests is refused, and each time counted and named."""
    if BROWSER is None:
        return report.skip("doors", "chromium is not installed: make deps-render")
    for name, tried in (("each once", DOORS), ("none", {})):
        page = os.path.join(path, "page.html")
        with open(page, "w", encoding="ascii") as file:
            file.write("<p>text<a id=data download href='data:application/octet-stream,x'>d</a><script>\n" + "".join(
                f"try {{ Promise.resolve({what}).catch(() => 0) }} catch (e) {{ }}\n" for what in tried) + "</script>")
        result, facts, text = check_render(page, "https://a.test/")
        report.check(f"{name}: the page is rendered", facts.get("end") == ["settled"] and "text" in text,
                     result.stdout + result.stderr)
        report.equal(f"{name}: refused and named", sorted(facts.get("refused", [])), sorted(tried.values()))
        report.equal(f"{name}: nothing is asked for but the page", facts.get("requests"), ["1"])


def canary(report, path):
    """A page that tries every way out reaches nobody on this machine."""
    if BROWSER is None:
        return report.skip("a canary", "chromium is not installed: make deps-render")
    with Canary() as listener:
        socket.create_connection(("127.9.7.3", listener.port)).close()
        report.check("the canary hears", harness.until(lambda: listener.heard == 1), listener.heard)
        there = f"127.9.7.3:{listener.port}"
        page = os.path.join(path, "page.html")
        with open(page, "w", encoding="ascii") as file:
            file.write(f"""<!doctype html><link rel=preconnect href=http://{there}/><link rel=dns-prefetch href=//{there}/>
<link rel=prefetch href=http://{there}/a><link rel=preload as=font href=http://{there}/b crossorigin>
<link rel=icon href=http://{there}/i><link rel=manifest href=http://{there}/m><img src=http://{there}/c>
<video src=http://{there}/v autoplay></video><iframe src=http://{there}/d></iframe><object data=http://{there}/e></object>
<style>@font-face{{font-family:f;src:url(http://{there}/f)}} p{{font-family:f}}</style><p>text<script src=http://{there}/s>
</script><form id=f action=http://{there}/p method=post></form><a id=a ping=http://{there}/n href=#x>a</a><script>
const there = '{there}', ask = f => {{ try {{ f() }} catch (e) {{}} }};
ask(() => fetch('http://' + there + '/g').catch(() => 0));
ask(() => fetch('http://' + there + '/h', {{method: 'POST', mode: 'no-cors', keepalive: true}}).catch(() => 0));
ask(() => {{ const x = new XMLHttpRequest(); x.open('GET', 'http://' + there + '/x'); x.send() }});
ask(() => navigator.sendBeacon('http://' + there + '/beacon'));
ask(() => import('http://' + there + '/module.js').catch(() => 0));
const worker = `try {{ new WebSocket('ws://${{there}}/') }} catch (e) {{}}
  try {{ new EventSource('http://${{there}}/w') }} catch (e) {{}}
  fetch('http://${{there}}/k').catch(() => 0); try {{ importScripts('http://${{there}}/l') }} catch (e) {{}}`;
ask(() => new Worker(URL.createObjectURL(new Blob([worker]))));
const frame = document.createElement('iframe'); document.body.append(frame);
ask(() => new frame.contentWindow.WebSocket('ws://' + there + '/'));
for (const w of [window, frame.contentWindow]) ask(() => {{
  const c = new w.RTCPeerConnection({{iceServers: [{{urls: 'stun:' + there}}]}});
  c.createDataChannel('c'); c.createOffer().then(o => c.setLocalDescription(o)) }});
ask(() => new WebTransport('https://' + there + '/'));
setTimeout(() => {{ document.getElementById('a').click(); document.getElementById('f').submit() }}, 50);
</script>""")
        result, facts, text = check_render(page, f"http://{there}/")
        report.check("the page is rendered", facts.get("end") == ["settled"] and "text" in text,
                     result.stdout + result.stderr)
        report.check("its requests were seen", len(facts.get("lacking", [])) > 3, facts)
        report.equal("and the canary heard nothing", listener.heard, 1)


def traced(report, path):
    """By the kernel's word: no process of a browser sends a byte to any network, or connects to one."""
    if BROWSER is None or shutil.which("strace") is None:
        return report.skip("traced", "chromium or strace is not installed: make deps-render")
    page, trace = os.path.join(path, "page.html"), os.path.join(path, "trace")
    with open(page, "w", encoding="ascii") as file:
        file.write("<p>text<script>fetch('http://127.0.0.1:9/a').catch(() => 0); new Image().src = 'http://b.test/';"
                   "navigator.sendBeacon('http://c.test/', 'x'); new Worker(URL.createObjectURL(new Blob(["
                   "'new WebSocket(\"ws://127.0.0.1:9/\")'])))</script>")
    result = run(["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg,execve", "-o", trace, RAGNO, "check",
                  "render", page, "http://a.test/", *USER], 300)
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    report.check("the page is rendered, and the browser was traced", result.returncode == 0 and "text" in result.stdout and
                 any("execve(" in line and "chrom" in line for line in lines), result.stderr)
    # A datagram socket that is connected has sent nothing: so the browser asks the kernel for a route.
    there = [line for line in lines if re.search(r"AF_INET6?\b", line)]
    sent = [line for line in there if "connect(" not in line or re.search(r"(= 0|EINPROGRESS|ECONNREFUSED)", line)]
    report.equal("nothing is sent to a network, and no route to one is found", sent, [])


def verdicts(report, path):
    """ragno check page says which pages need a browser, and why."""
    for name, html, needs in (("app", "<div id=root></div><script src=a.js></script>", "yes"),
                              ("text", "<p>hello<script src=a.js></script><a href=a>a</a><a href=b>b</a>", "no"),
                              ("none", "<div id=root></div>", "no")):
        page = os.path.join(path, name)
        with open(page, "w", encoding="ascii") as file:
            file.write(html)
        result = run([RAGNO, "check", "page", page, "--base", "http://a.test/"])
        facts = dict(line.split("\t", 1) for line in result.stdout.splitlines())
        report.equal(f"{name} needs a browser", (result.returncode, facts.get("browser")), (0, needs))
        report.check(f"{name} has reasons", facts.get("why"), result.stdout)


if __name__ == "__main__":
    harness.main(offline, refusals, leaves_nothing, limits, hostile, reading, doors, canary, traced, verdicts)
