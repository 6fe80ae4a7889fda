#!/usr/bin/env python3
"""Compares the visible text that `ragno check text` prints with Chromium's innerText of the same bytes.
Not part of CI: it needs Debian's chromium.

usage: browser_text.py [--bin build/release/ragno] [--port 21910] [--show N] [--pages N] [--seed N] [--styles] [--scripts]
                       [--least PERCENT] [--cases] [--sides FOLDER] [FILE...]

--cases: the small documents of text_cases.txt; every one must agree to the byte, but for those that it
marks as departures. Otherwise real pages: the files named, or N (500) that are drawn (seeded) from the
documentation that Debian packages have installed below /usr/share/doc. Each is loaded into a frame as the
document alone: neither scripts nor style sheets of its own are loaded, style attributes and elements
count; --styles loads style sheets too: they are crawled as well, and the text is that of `ragno export text`;
--scripts runs the browser's scripts as well. --sides writes a page and a picture for each page into FOLDER: Chromium's
text and ragno's side by side, with the lines that differ marked, and an index.html of all.

Prints, over all pages: words of Chromium's text that are in ours in the same order (recall), words of ours
that are in Chromium's (precision; both by the longest common subsequence, `diff -d`), and how many pages
and how many lines agree to the byte. Exit status 1: a case differs, or recall or precision is below
--least (99)."""
import argparse, difflib, html, http.server, json, mimetypes, os, random, re, resource, subprocess, sys, tempfile, threading, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
POLICIES = {
    "document": "default-src 'none'; style-src 'unsafe-inline'",
    "styles": "default-src 'none'; style-src 'self' 'unsafe-inline'",
    "scripts": "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'",
}
# The encoding of the driver is what frames take that name none: that of a document of its own in Western languages.
DRIVER = """<!doctype html><meta charset=windows-1252><body><script>(async () => {
  const paths = await (await fetch("/pages")).json(), out = [];
  for (const path of paths) {
    const frame = document.createElement("iframe");
    frame.style = "width: 1280px; height: 800px";
    frame.setAttribute("sandbox", "allow-same-origin allow-scripts");
    const loaded = new Promise(done => { frame.onload = done; });
    frame.src = path;
    document.body.append(frame);
    await loaded;
    const doc = frame.contentDocument;
    out.push([doc.characterSet, doc.body ? doc.body.innerText : ""]);
    frame.remove();
  }
  await fetch("/done", {method: "POST", body: JSON.stringify(out)});
})();
</script>"""


class Server:
    """Serves the pages by number ("/p/7") or, with what they load, by path ("/f/usr/share/doc/...")."""

    def __init__(self, port, pages, policy):
        self.port, self.pages, self.policy = port, pages, policy
        self.done, self.answer = threading.Event(), None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def reply(self, status, content_type, body, policy=None):
                self.send_response(status)
                if content_type:
                    self.send_header("Content-Type", content_type)
                if policy:
                    self.send_header("Content-Security-Policy", policy)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # the frame was gone before all of it was loaded

            def do_GET(self):
                path = urllib.parse.unquote(self.path.split("?")[0])
                if path == "/":
                    self.reply(200, "text/html; charset=windows-1252", DRIVER.encode())
                elif path == "/pages":
                    self.reply(200, "application/json", json.dumps([url for url, _body in outer.pages]).encode())
                elif path.startswith("/p/"):
                    self.reply(200, "text/html", outer.pages[int(path[3:])][1], outer.policy)
                elif path.startswith("/f/usr/share/") and os.path.isfile(path[2:]):
                    kind = "text/html" if path.endswith(HTML) else mimetypes.guess_type(path)[0]
                    with open(path[2:], "rb") as file:
                        self.reply(200, kind, file.read(), outer.policy)
                else:
                    self.reply(404, "text/plain", b"")

            def do_POST(self):
                outer.answer = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.reply(200, "text/plain", b"")
                outer.done.set()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def ask_browser(port, pages, policy, seconds):
    """The encoding and the innerText of each page."""
    server = Server(port, pages, policy)
    with tempfile.TemporaryDirectory() as folder:
        chromium = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en-US",
             "--user-data-dir=" + folder + "/profile", "--remote-debugging-port=0", f"http://127.0.0.1:{port}/"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.done.wait(seconds)
        chromium.terminate()
        chromium.wait(30)
    server.stop()
    if server.answer is None:
        sys.exit("the browser gave no answer")
    return server.answer


def ask_ragno(program, body, folder):
    name = folder + "/page"
    with open(name, "wb") as file:
        file.write(body)
    done = subprocess.run([program, "check", "text", name, "--content-type", "text/html"], capture_output=True)
    if done.returncode != 0:
        sys.exit("ragno check text: " + done.stderr.decode())
    return done.stdout.decode("utf-8")[:-1]


def ask_export(program, port, pages, policy, folder):
    """The texts of a crawl of the pages and of what they need, with their style sheets; and megabytes of HTML that
    a second of CPU time exports with them, and without."""
    server = Server(port, pages, policy)
    urls = [f"http://127.0.0.1:{port}{path}" for path, _body in pages]
    with open(folder + "/seeds", "w") as file:
        file.writelines(url + "\n" for url in urls)
    done = subprocess.run([program, "-q", "-d", folder + "/crawl", "-i", folder + "/seeds", "--depth", "0", "-w", "0", "--ip-wait", "0",
                           "--page-requisites", "-s", "fetch.allow_addresses=127.0.0.0/8"], capture_output=True)
    server.stop()
    if done.returncode != 0:
        sys.exit("ragno: " + done.stderr.decode())
    bytes_, rates = sum(len(body) for _path, body in pages), []
    for option in ("--no-styles", "--no-language"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([program, "export", folder + "/crawl", "text", "--no-language", option, "--threads", "1"], capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rates.append(1e-6 * bytes_ / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    texts = {row["url"]: row["text"] for row in map(json.loads, done.stdout.splitlines())}
    print(f"text.archive_mb_per_cpu_s = {rates[0]:.0f} MB/s\ntext.styles_mb_per_cpu_s = {rates[1]:.0f} MB/s")
    return [texts.get(url, "") for url in urls]


def common(ours, theirs, folder):
    """How many items the two lists have in common, in order."""
    if ours == theirs:
        return len(ours)
    for name, items in (("ours", ours), ("theirs", theirs)):
        with open(folder + "/" + name, "w", encoding="utf-8") as file:
            file.writelines(item.replace("\n", " ") + "\n" for item in items)
    done = subprocess.run(["diff", "-d", "--unchanged-line-format==", "--old-line-format=", "--new-line-format=",
                           folder + "/ours", folder + "/theirs"], capture_output=True)
    return len(done.stdout)


def first_difference(ours, theirs):
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    start = max(0, at - 60)
    return f"   chromium {theirs[start:at + 60]!r}\n   ragno    {ours[start:at + 60]!r}"


HTML = (".html", ".htm", ".xhtml")


def draw_pages(count, seed):
    """Pages from all packages, as many of each as there are, but none twice."""
    found = {}
    for top, _folders, names in os.walk("/usr/share/doc"):
        for name in names:
            path = os.path.join(top, name)
            if name.endswith(HTML) and os.path.isfile(path):
                found[os.path.realpath(path)] = path
    packages = {}
    for path in sorted(found.values()):
        packages.setdefault(path.split("/")[4], []).append(path)
    rng, drawn = random.Random(seed), []
    for paths in packages.values():
        rng.shuffle(paths)
    while len(drawn) < count and packages:  # in turn, so that a large package is not all
        for name in sorted(packages):
            drawn.append(packages[name].pop())
            if not packages[name]:
                del packages[name]
    return drawn[:count]


def read_cases():
    """text_cases.txt: a document a line, with Python's escapes; "# " a remark, "~" in front a departure."""
    with open(HERE + "/text_cases.txt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    lines = [line for line in lines if line and not line.startswith("# ")]
    return [(line[1:] if line[0] == "~" else line, line[0] == "~") for line in lines]


def judge_cases(args):
    cases = [(text.encode().decode("unicode_escape"), departs) for text, departs in read_cases()]
    pages = [(f"/p/{i}", ("<!doctype html><meta charset=utf-8><body>" + text).encode()) for i, (text, _d) in enumerate(cases)]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for (text, departs), (_url, body), (_label, theirs) in zip(cases, pages, ask_browser(args.port, pages, POLICIES["document"], args.seconds)):
            ours = ask_ragno(args.bin, body, folder)
            if (ours != theirs) != departs:
                bad += 1
                print(f"{text!r}\n   chromium {theirs!r}\n   ragno    {ours!r}" + ("\n   is no departure any more" if departs else ""))
    print(f"{len(cases)} cases, {sum(d for _t, d in cases)} of them departures, {bad} not as expected")
    return bad > 0


SHEET = """<!doctype html><meta charset=utf-8><title>{title}</title><style>
body {{ font: 13px sans-serif; margin: 12px }} table {{ border-collapse: collapse; width: 100%; table-layout: fixed }}
td, th {{ vertical-align: top; text-align: left; padding: 0 6px; border-left: 1px solid #ccc }}
td {{ white-space: pre-wrap; font: 12px monospace; overflow-wrap: anywhere }} .other td {{ background: #fde2e2 }}
</style><h3>{title}</h3><p>{lines} lines, {other} differ</p>
<table><tr><th>Chromium, innerText<th>ragno export text</tr>{rows}</table>"""
BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1600"]


def write_sides(folder, number, name, ours, theirs):
    """Both texts in one page, and its picture. Returns its line of the index."""
    left, right = theirs.split("\n"), ours.split("\n")
    rows, other = [], 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for i in range(max(b - a, d - c)):
            cells = [html.escape(side[at + i]) if at + i < end else "" for side, at, end in ((left, a, b), (right, c, d))]
            other += kind != "equal"
            rows.append(f"<tr{'' if kind == 'equal' else ' class=other'}><td>{cells[0]}<td>{cells[1]}</tr>")
    sheet = os.path.abspath(f"{folder}/{number}.html")
    with open(sheet, "w", encoding="utf-8") as file:
        file.write(SHEET.format(title=html.escape(name), lines=len(rows), other=other, rows="\n".join(rows)))
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([*BROWSER, "--user-data-dir=" + profile, f"--screenshot={sheet[:-5]}.png", "file://" + sheet],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if done.returncode != 0 or not os.path.exists(sheet[:-5] + ".png"):
        sys.exit("no picture: " + done.stderr.decode(errors="replace")[-500:])
    print(f"{sheet[:-5]}.png: {name}: {len(rows)} lines, {other} differ")
    return f"<p><a href={number}.html>{html.escape(name)}</a>: {len(rows)} lines, {other} differ<br><img src={number}.png width=900>\n"


def judge_pages(args, files):
    mode = "scripts" if args.scripts else "styles" if args.styles else "document"
    pages = []
    for name in files:
        with open(name, "rb") as file:
            pages.append(("/f" + urllib.parse.quote(os.path.abspath(name)), file.read()))
    if any(not url.startswith("/f/usr/share/") for url, _body in pages):
        pages = [(f"/p/{i}", body) for i, (_url, body) in enumerate(pages)]
    words = [0, 0, 0]  # Chromium's, ours, in common
    lines = [0, 0]
    equal = worse = shown = 0
    index = []
    with tempfile.TemporaryDirectory() as folder:
        answers = ask_browser(args.port, pages, POLICIES[mode], args.seconds)
        exported = [] if mode == "document" else ask_export(args.bin, args.port + 1, pages, POLICIES[mode], folder)
        for i, (name, (_url, body), (label, theirs)) in enumerate(zip(files, pages, answers)):
            ours = exported[i] if exported else ask_ragno(args.bin, body, folder)
            if args.sides:
                os.makedirs(args.sides, exist_ok=True)
                index.append(write_sides(args.sides, len(index) + 1, name, ours, theirs))
            a, b = ours.split(), theirs.split()
            n = common(a, b, folder)
            for i, more in enumerate((len(b), len(a), n)):
                words[i] += more
            a, b = ours.split("\n"), theirs.split("\n")
            lines[0] += len(b)
            lines[1] += common(a, b, folder)
            equal += ours == theirs
            few = n < 0.99 * max(len(theirs.split()), len(ours.split()))
            worse += few
            if (few or (args.all and ours != theirs)) and shown < args.show:
                shown += 1
                print(f"{name} ({label}): {n} of {len(theirs.split())} words, {len(ours.split())} of ours\n{first_difference(ours, theirs)}")
    if args.sides:
        with open(args.sides + "/index.html", "w", encoding="utf-8") as file:
            file.write("<!doctype html><meta charset=utf-8><title>Chromium and ragno</title>\n" + "".join(index))
    recall, precision = (100 * words[2] / max(1, words[i]) for i in (0, 1))
    print(f"{len(files)} pages ({mode}), {words[0]} words: recall {recall:.3f} %, precision {precision:.3f} %; "
          f"{equal} pages equal to the byte, {worse} below 99 %; {100 * lines[1] / max(1, lines[0]):.2f} % of lines equal")
    return min(recall, precision) < args.least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/ragno")
    parser.add_argument("--port", type=int, default=21910)
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="show pages that differ at all")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=99)
    parser.add_argument("--styles", action="store_true")
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--sides", metavar="FOLDER")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    sys.exit(1 if (judge_cases(args) if args.cases else judge_pages(args, args.files or draw_pages(args.pages, args.seed))) else 0)


if __name__ == "__main__":
    main()
