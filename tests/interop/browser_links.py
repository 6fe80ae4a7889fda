#!/usr/bin/env python3
"""Compares the links that ragno finds with those in Chromium's DOM of the same bytes with the same
Content-Type: encoding, tree, base and URLs are all the browser's. Not part of CI.

usage: browser_links.py [--bin build/release/ragno] [--port 21900] [--show N] [FILE...]

Without files, hostile_pages.py's; with, those (as text/html without a charset). Each page is loaded into a
sandboxed frame, so that no script runs and noscript is markup, under a policy that loads nothing else.
"""
import argparse, collections, html, http.server, json, os, re, subprocess, sys, tempfile, threading

import hostile_pages

POLICY = "default-src 'none'"
DRIVER = """<!doctype html><meta charset=windows-1252><body><script>
const PLAIN = [["a","href"],["area","href"],["link","href"],["iframe","src"],["frame","src"],["img","src"],["script","src"],
  ["video","src"],["video","poster"],["audio","src"],["source","src"],["track","src"],
  ["embed","src"],["object","data"],["body","background"]];
const H = "http://www.w3.org/1999/xhtml", S = "http://www.w3.org/2000/svg", X = "http://www.w3.org/1999/xlink";
function srcset(v) { const r = []; let p = 0;
  while (p < v.length) { while (p < v.length && /[ \\t\\n\\f\\r,]/.test(v[p])) p++; let s = p;
    while (p < v.length && !/[ \\t\\n\\f\\r]/.test(v[p])) p++; let u = v.slice(s, p);
    if (u.endsWith(",")) { u = u.replace(/,+$/, ""); if (u) r.push(u); continue; }
    if (u) r.push(u); let open = false;
    while (p < v.length && (open || v[p] != ",")) { open = v[p] == "(" || (open && v[p] != ")"); p++; } }
  return r; }
function links(doc) {
  const found = [], probe = doc.createElementNS(H, "a");
  const blank = v => /^[ \\t\\n\\f\\r]*$/.test(v);
  const add = (v, empty) => { if (v === null || (!empty && blank(v))) return; probe.setAttribute("href", v);
    if (/^https?:$/.test(probe.protocol) && /^https?:\\/\\//.test(probe.href)) { probe.hash = ""; found.push(probe.href.replace(/#$/, "")); } };
  for (const e of doc.getElementsByTagName("*")) { const n = e.localName;
    if (e.namespaceURI == H) {
      for (const [t, a] of PLAIN) if (n == t) add(e.getAttribute(a), t == "a" || t == "area");
      if (n == "input" && (e.getAttribute("type") || "").toLowerCase() == "image") add(e.getAttribute("src"));
      for (const [t, a] of [["img","srcset"],["source","srcset"],["link","imagesrcset"]])
        if (n == t && e.hasAttribute(a)) for (const u of srcset(e.getAttribute(a))) add(u);
      if (n == "meta" && (e.getAttribute("http-equiv") || "").toLowerCase() == "refresh") {
        const m = /^[ \\t\\n\\f\\r]*(?:\\d+|(?=\\.))[\\d.]*(?:[ \\t\\n\\f\\r]+(?:[;,][ \\t\\n\\f\\r]*)?|[;,][ \\t\\n\\f\\r]*)(?:url[ \\t\\n\\f\\r]*=[ \\t\\n\\f\\r]*)?(?:(['"])(.*?)(?:\\1|$)|([^]*))/is.exec(e.getAttribute("content") || "");
        if (m && (m[1] ? m[2] : m[3])) add(m[1] ? m[2] : m[3]); }
    } else if (e.namespaceURI == S && ["a", "image", "use", "script"].includes(n)) {
      let v = e.getAttribute("href"); if (v === null) v = e.getAttributeNS(X, "href");
      if (v !== null && (n == "a" || !v.startsWith("#"))) add(v, n == "a"); } }
  return [...new Set(found)]; }
(async () => { const out = [];
  for (let i = 0; i < %d; i++) {
    const frame = document.createElement("iframe"); frame.setAttribute("sandbox", "allow-same-origin");
    const loaded = new Promise(done => { frame.onload = done; }); frame.src = "/p/" + i; document.body.append(frame);
    await loaded; const doc = frame.contentDocument; out.push([doc.characterSet, links(doc)]); frame.remove(); }
  await fetch("/done", {method: "POST", body: JSON.stringify(out)}); })();
</script>"""


def serve(port, pages):
    done, box = threading.Event(), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, status, content_type, body, **fields):
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            for name, value in fields.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            number = re.fullmatch(r"/p/(\d+)", self.path)
            if number:
                _, content_type, body = pages[int(number[1])]
                self.answer(200, content_type, body, Content_Security_Policy=POLICY)
            elif self.path == "/":
                self.answer(200, "text/html", (DRIVER % len(pages)).encode())
            else:
                self.answer(404, "text/plain", b"")

        def do_POST(self):
            box.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer(200, "text/plain", b"")
            done.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, done, box


def ask_browser(port, pages, folder, seconds):
    server, done, box = serve(port, pages)
    chromium = subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--lang=en-US", "--user-data-dir=" + folder + "/profile",
         "--remote-debugging-port=0", f"http://127.0.0.1:{port}/"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done.wait(seconds)
    chromium.terminate()
    chromium.wait(10)
    server.shutdown()
    server.server_close()
    if not box:
        sys.exit("the browser gave no answer")
    return box[0]


def ask_ragno(args, i, page, folder):
    name = f"{folder}/{i}"
    with open(name, "wb") as file:
        file.write(page[2])
    done = subprocess.run([args.bin, "check", "links", name, "--base", f"http://127.0.0.1:{args.port}/p/{i}", "--content-type", page[1]], capture_output=True)
    return {line.split("\t", 1)[1] for line in done.stdout.decode("utf-8", "replace").split("\n") if "\t" in line}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/ragno")
    parser.add_argument("--port", type=int, default=21900)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    pages = [(os.path.basename(f), "text/html", open(f, "rb").read()) for f in args.files] or list(hostile_pages.pages())
    sums = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    with tempfile.TemporaryDirectory() as folder:
        truth = ask_browser(args.port, pages, folder, args.seconds)
        for i, (page, (label, links)) in enumerate(zip(pages, truth)):
            mine, want = ask_ragno(args, i, page, folder), set(links)
            for key in ("all",) if args.files else (page[0], "all"):
                s = sums[key]
                for k, n in enumerate((1, mine != want, len(want), len(want - mine), len(mine - want))):
                    s[k] += n
            if mine != want and sums["all"][1] <= args.show:
                print(f"{i} {page[0]} {page[1]} ({label}) {page[2][:300]!r}\n   lost {sorted(want - mine)[:5]}\n   spurious {sorted(mine - want)[:5]}")
    for key, (n, bad, total, lost, spurious) in sums.items():
        print(f"{key}: {n} pages, {bad} different; {total} links, {lost} lost, {spurious} spurious; recall {100 * (1 - lost / max(1, total)):.3f} %, "
              f"precision {100 * (1 - spurious / max(1, total - lost + spurious)):.3f} %")
    return 1 if sums["all"][1] else 0


if __name__ == "__main__":
    sys.exit(main())
