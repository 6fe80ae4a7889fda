#!/usr/bin/env python3
"""Compares the links that ragno finds with those in a browser's DOM (Chromium). Not part of CI.

usage: compare_browser.py [--bin build/release/ragno] [--front-end skim] [--against libxml2] [--mutate N] [--seed S]
                          [--show N] FILE...

Each file is decoded in the encoding that `ragno check charset` names and parsed by the browser's own HTML
parser (DOMParser, scripting off as in ragno); every attribute that holds a link is resolved against the
document's base by the browser's URL parser. With --mutate N, N damaged versions are made of the files'
pieces (seeded), to compare what no author would write. With --against libxml2 the truth is the reference
front end instead of the browser. Prints recall and precision over all pages.
"""
import argparse, base64, html, json, os, random, re, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

PAGE_URL = "http://h.test/d/p.html"
HARNESS = """<!doctype html><meta charset=utf-8><pre id=out></pre><script>
const pages = %s, out = [];
const PLAIN = [["a","href"],["area","href"],["link","href"],["iframe","src"],["frame","src"],["img","src"],
  ["script","src"],["form","action"],["button","formaction"],["input","formaction"],["video","src"],
  ["video","poster"],["audio","src"],["source","src"],["track","src"],["embed","src"],["object","data"],
  ["body","background"]];
const XLINK = "http://www.w3.org/1999/xlink";
function srcset(v) { const r = []; let p = 0;
  while (p < v.length) { while (p < v.length && /[\\s,]/.test(v[p])) p++; let s = p;
    while (p < v.length && !/\\s/.test(v[p])) p++; let u = v.slice(s, p);
    if (u.endsWith(",")) { u = u.replace(/,+$/, ""); if (u) r.push(u); continue; }
    if (u) r.push(u); let open = false;
    while (p < v.length && (open || v[p] != ",")) { open = v[p] == "(" || (open && v[p] != ")"); p++; } }
  return r; }
for (const [label, data] of pages) {
  const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  const text = new TextDecoder(label).decode(bytes);
  const doc = new DOMParser().parseFromString(text.replaceAll("\\0", "\\uFFFD"), "text/html");
  let base = "%s"; const b = [...doc.getElementsByTagName("base")].find(e => e.namespaceURI == "http://www.w3.org/1999/xhtml" && e.hasAttribute("href"));
  if (b) { try { const u = new URL(b.getAttribute("href"), base);
    if (u.protocol != "data:" && u.protocol != "javascript:") base = u.href; } catch (e) {} }
  const found = [];
  const add = (kind, v, empty) => { if (v === null || (!empty && !v.trim())) return;
    try { const u = new URL(v, base); if (/^https?:$/.test(u.protocol)) { u.hash = ""; found.push([kind, u.href.replace(/#$/, "")]); } } catch (e) {} };
  const H = "http://www.w3.org/1999/xhtml", S = "http://www.w3.org/2000/svg";
  for (const e of doc.getElementsByTagName("*")) {
    const n = e.localName;
    if (e.namespaceURI == H) {
      for (const [t, a] of PLAIN) if (n == t) add(t, e.getAttribute(a), t == "a" || t == "area");
      if (n == "input" && (e.getAttribute("type") || "").toLowerCase() == "image") add("input", e.getAttribute("src"));
      for (const [t, a] of [["img","srcset"],["source","srcset"],["link","imagesrcset"]])
        if (n == t && e.hasAttribute(a)) for (const u of srcset(e.getAttribute(a))) add(t, u);
      if (n == "meta" && (e.getAttribute("http-equiv") || "").toLowerCase() == "refresh") {
        const m = /^\\s*(?:\\d[\\d.]*|\\.[\\d.]*)(?:\\s*[;,]|\\s)\\s*(?:url\\s*=\\s*)?(?:(['"])(.*?)(?:\\1|$)|(.*))/is.exec(e.getAttribute("content") || "");
        if (m) add("meta", m[1] ? m[2] : m[3]); }
    } else if (e.namespaceURI == S && ["a", "image", "use", "script"].includes(n)) {
      let v = e.getAttribute("href"); if (v === null) v = e.getAttributeNS(XLINK, "href");
      if (v !== null && (n == "a" || !v.startsWith("#"))) add(n, v, n == "a");
    }
  }
  out.push(found);
}
document.getElementById("out").textContent = JSON.stringify(out);
</script>
"""


def arguments():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bin", default="build/release/ragno")
    ap.add_argument("--front-end", default="skim")
    ap.add_argument("--against", default="browser")
    ap.add_argument("--mutate", type=int, default=0)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--show", type=int, default=10)
    ap.add_argument("files", nargs="+")
    return ap.parse_args()


PIECES = re.findall(r"<[^<>]*>|[^<>\s]+|[<>]", """<a href=x1> <a href="x2"> </a> <p> </p> <div> </div> <svg> </svg> <math> </math> <mi> </mi> <foreignObject>
</foreignObject> <desc> </desc> <title> </title> <template> </template> <script> </script> <style> </style> <textarea>
</textarea> <iframe src=f1> </iframe> <noscript> </noscript> <table> <tr> <td> </td> </tr> </table> <form action=fo1>
</form> <select> <option> </select> <!-- --> --!> <![CDATA[ ]]> <frameset> <frame src=fr1> </frameset> <noframes>
</noframes> <xmp> </xmp> <plaintext> <base href="/b/"> <br> <img src=i1> <image href=i2 src=i3> <annotation-xml>
<annotation-xml encoding=text/html> </annotation-xml> <font> <font color=red> <body background=bg> <g> </g> <path/>
<svg/> <a/href=x3> <a href='x4'class=y> <a href=x5 <a "x" = ' > < </ <? <! &amp; &lt &notin; &#x41 <input type=image
src=in1> <input type=hidden> <button formaction=fa1> <span> </span> <b> </b> <li> <ul> </ul> <caption> <col> <head>
</head> <html> <link href=l1> <meta http-equiv=refresh content="1;url=m1"> <object data=o1> </object> <embed src=e1>
text <script><!--<script> </script>--> <!--><a href=x6> <mglyph> <use href=u1> <noembed> </noembed> </br> <video
poster=v1 src=v2> <source srcset="s1 1x, s2"> <h1> </h1> <ms> <mtext> <annotation-xml> </body> </html>""")


def mutants(files, count, seed):
    rng = random.Random(seed)
    tags = list(PIECES)
    pages = []
    for name in files[:200]:
        with open(name, "rb") as f:
            pages.append(f.read(200000).decode("latin-1"))
            tags += re.findall(r"<[^<>]{1,80}>", pages[-1])[:40]
    for i in range(count):
        if i % 2 == 1:  # a part of a page with a dozen things put in and taken out
            page = rng.choice(pages)
            at = rng.randrange(max(1, len(page) - 6000))
            page = page[at : at + rng.randrange(200, 6000)]
            for _ in range(rng.randrange(1, 12)):
                at = rng.randrange(len(page) + 1)
                page = page[:at] + rng.choice(tags + ["<", ">", '"', "'", "/", "--"]) + page[at + rng.randrange(3) :]
            yield page.encode("latin-1", "replace")
            continue
        parts = rng.choices(PIECES, k=rng.randrange(3, 25)) + rng.choices(tags, k=rng.randrange(0, 6))
        rng.shuffle(parts)
        body = rng.choice(["", " "]).join(parts)
        if rng.random() < 0.3:
            at = rng.randrange(len(body))
            body = body[:at] + rng.choice("<>\"'=/!-&\n\0") + body[at:]
        yield ("<!doctype html>" + body + "<a href=last>").encode("latin-1", "replace")


def ragno(args, *words):
    done = subprocess.run([args.bin, "check", *words], capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def links_by(args, front_end, name):
    text = ragno(args, "links", name, "--base", PAGE_URL, "--front-end", front_end)
    return {line.split("\t", 1)[1] for line in text.split("\n") if "\t" in line}


def ours(args, name):
    return ragno(args, "charset", name).strip(), links_by(args, args.front_end, name)


def browser(pages, folder):
    path = os.path.join(folder, "harness.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write(HARNESS % (json.dumps(pages), PAGE_URL))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--user-data-dir=" + os.path.join(folder, "profile"), "--virtual-time-budget=600000", "--dump-dom",
         "file://" + path], capture_output=True, timeout=300)
    text = done.stdout.decode("utf-8", "replace")
    start = text.index('<pre id="out">') + len('<pre id="out">')
    return json.loads(html.unescape(text[start:text.index("</pre>", start)]))


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        names = args.files
        if args.mutate:
            names = []
            for i, body in enumerate(mutants(args.files, args.mutate, args.seed)):
                names.append(os.path.join(folder, "m%d.html" % i))
                with open(names[-1], "wb") as f:
                    f.write(body)
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda n: ours(args, n), names))
        truth, batch, size = [], [], 0
        if args.against != "browser":
            with ThreadPoolExecutor(2) as pool:
                truth = [[("", u) for u in links] for links in pool.map(lambda n: links_by(args, args.against, n), names)]
        for name, (label, _links) in zip(names, found):
            if args.against != "browser":
                break
            with open(name, "rb") as f:
                data = base64.b64encode(f.read()).decode()
            if size + len(data) > 16e6:
                truth += browser(batch, folder)
                batch, size = [], 0
            batch.append((label, data))
            size += len(data)
        truth += browser(batch, folder) if batch else []
        total = lost = spurious = bad_pages = 0
        for name, (_label, mine), links in zip(names, found, truth):
            want = {u for _k, u in links}
            total += len(want)
            lost += len(want - mine)
            spurious += len(mine - want)
            if want != mine:
                bad_pages += 1
                if bad_pages <= args.show:
                    print(name, "lost", sorted(want - mine)[:4], "spurious", sorted(mine - want)[:4])
                    if args.mutate:
                        with open(name, "rb") as f:
                            print("   ", f.read())
        print("pages %d, different %d; links %d, lost %d, spurious %d; recall %.4f %%, precision %.4f %%" % (
            len(names), bad_pages, total, lost, spurious, 100 * (1 - lost / max(1, total)),
            100 * (1 - spurious / max(1, total - lost + spurious))))
        return 1 if bad_pages else 0


sys.exit(main())
