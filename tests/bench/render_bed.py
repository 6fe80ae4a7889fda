"""The bed of bench_render.py: applications that need a browser, of what npm packages ship, and plain pages, of the
documentation that Debian packages install. Each kind lives on a host of its own in 127.90.0.0/16. Of Sphinx the pages
that list what was searched for need a browser; those of mdBook and JSDoc, served with their scripts, need none.

What is missing is named, with the command that installs it (exit status 3)."""
import glob
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = os.environ.get("RENDER_NPM", os.path.join(HERE, "..", "..", "build", "npm", "node_modules"))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import render_built  # noqa: E402
from page_server import PageServer  # noqa: E402

PACKAGES = ("docsify", "swagger-ui-dist", "redoc", "vue", "vue-router", "react", "react-dom", "preact", "htm", "lit", "jsdoc",
            "svelte", "esbuild", "@angular/compiler", "@angular/platform-browser", "@docusaurus/preset-classic")
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8",
         ".json": "application/json", ".md": "text/markdown; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml"}
ITEMS = 30  # pages of an application, beside its list

VUE = """
const {createApp, ref, watch} = Vue, {createRouter, createWebHistory, useRoute} = VueRouter;
const List = {template: '<h1>List</h1><ul><li v-for="n in %d"><router-link :to="`/item/${n}`">item {{n}}</router-link></ul>'};
const Item = {template: '<h1>{{title}}</h1><p>{{text}}</p><router-link to="/">all</router-link> '
  + '<a v-for="l in links" :href="l">{{l}}</a>', setup() {
  const title = ref(''), text = ref(''), links = ref([]), route = useRoute();
  const load = async n => { const d = await (await fetch(`/api/${n}.json`)).json();
    title.value = d.title; text.value = d.text; links.value = d.links };
  watch(() => route.params.n, load, {immediate: true}); return {title, text, links} }};
createApp({template: '<router-view/>'}).use(createRouter({history: createWebHistory(), routes: [
  {path: '/', component: List}, {path: '/item/:n', component: Item}]})).mount('#app');
""" % ITEMS
TREE = """
export async function page(h) {
  const found = location.pathname.match(/item.(\\d+)/);
  if (!found) return h('main', null, h('h1', null, 'List'), ...Array.from({length: %d}, (_, i) =>
    h('a', {href: '/item/' + (i + 1), key: i}, 'item ' + (i + 1), ' ')));
  const d = await (await fetch('/api/' + found[1] + '.json')).json();
  return h('main', null, h('h1', null, d.title), h('p', null, d.text), h('a', {href: '/'}, 'all'), ' ',
    ...d.links.map(l => h('a', {href: l, key: l}, l, ' ')));
}
""" % ITEMS
XHR = """
const found = location.pathname.match(/item.(\\d+)/), list = document.getElementById('list');
function row(href, text) { const t = document.getElementById('row').content.cloneNode(true);
  t.querySelector('a').href = href; t.querySelector('a').textContent = text; list.append(t) }
if (!found) for (let n = 1; n <= %d; n++) row('/item/' + n, 'item ' + n);
else { const x = new XMLHttpRequest(); x.open('GET', '/api/' + found[1] + '.json'); x.onload = () => {
  const d = JSON.parse(x.responseText); document.getElementById('title').textContent = d.title;
  row('/', d.text); d.links.forEach(l => row(l, l)) }; x.send() }
""" % ITEMS
ENDLESS = """
let n = 1; const root = document.getElementById('root');
async function more() { if (n > %d) return; const d = await (await fetch('/api/' + n + '.json')).json();
  root.insertAdjacentHTML('beforeend', `<p><a href="/item/${n}">${d.title}</a> ${d.text.slice(0, 80)}</p>`); n++;
  setTimeout(more, 100) }
const found = location.pathname.match(/item.(\\d+)/);
if (found) { fetch('/api/' + found[1] + '.json').then(r => r.json()).then(d => root.insertAdjacentHTML('beforeend',
  `<h1>${d.title}</h1><p>${d.text}</p>` + d.links.map(l => `<a href="${l}">${l}</a> `).join(''))) } else more();
""" % ITEMS
LIT = """
import {html, LitElement} from 'lit';
class BedPage extends LitElement {
  static properties = {data: {state: true}};
  createRenderRoot() { return this }
  connectedCallback() { super.connectedCallback(); const found = location.pathname.match(/item.(\\d+)/);
    if (found) fetch(`/api/${found[1]}.json`).then(r => r.json()).then(d => { this.data = d }) }
  render() { const d = this.data;
    return d ? html`<h1>${d.title}</h1><p>${d.text}</p><a href="/">all</a> ${d.links.map(l => html`<a href=${l}>${l}</a> `)}`
      : location.pathname === '/' ? html`<h1>List</h1>${Array.from({length: %d}, (_, i) =>
        html`<a href="/item/${i + 1}">item ${i + 1}</a> `)}` : html`loading` } }
customElements.define('bed-page', BedPage);
""" % ITEMS
IMPORTS = json.dumps({"imports": {"lit": "/lib/lit/index.js", "lit-html": "/lib/lit-html/lit-html.js", "lit-html/": "/lib/lit-html/",
                                  "lit-element/lit-element.js": "/lib/lit-element/lit-element.js",
                                  "@lit/reactive-element": "/lib/@lit/reactive-element/reactive-element.js",
                                  "preact": "/lib/preact/dist/preact.mjs", "htm": "/lib/htm/dist/htm.module.js"}})


def shell(body, *scripts, head=""):
    return f"<!doctype html><html><head><meta charset=utf-8><title>bed</title>{head}</head><body>{body}" + "".join(
        f'<script src="{s}"></script>' for s in scripts) + "</body></html>"


APPS = {
    "127.90.0.1": (shell("<div id=app></div>", "/lib/vue/dist/vue.global.prod.js",
                         "/lib/vue-router/dist/vue-router.global.prod.js", "/app.js"), VUE),
    "127.90.0.2": (shell("<div id=root></div>", "/lib/react/umd/react.production.min.js",
                         "/lib/react-dom/umd/react-dom.production.min.js") + "<script type=module src=/app.js></script>",
                   "import {page} from '/tree.js';\nconst e = React.createElement;\npage(e).then(p => ReactDOM.createRoot("
                   "document.getElementById('root')).render(p));"),
    "127.90.0.3": (shell("<div id=root></div>", head=f"<script type=importmap>{IMPORTS}</script>")
                   + "<script type=module src=/app.js></script>",
                   "import {h, render} from 'preact'; import htm from 'htm'; import {page} from '/tree.js';\n"
                   "const html = htm.bind(h);\npage(h).then(p => render(html`<div>${p}</div>`, document.getElementById('root')));"),
    "127.90.0.4": (shell("<bed-page></bed-page>", head=f"<script type=importmap>{IMPORTS}</script>")
                   + "<script type=module src=/app.js></script>", LIT),
    "127.90.0.5": (shell("<h1 id=title></h1><div id=list></div><template id=row><p><a></a></p></template>", "/app.js"), XHR),
    "127.90.0.6": (shell("<div id=root></div><noscript>Please enable JavaScript</noscript>", "/app.js"), ENDLESS),
}
BUILT = {"127.90.0.13": "angular", "127.90.0.14": "svelte"}  # render_built.py
APPS.update({host: (shell("<app-root></app-root>") + "<script type=module src=/app.js></script>", "") for host in BUILT})
DOCSIFY, SWAGGER, REDOC, PLAIN = "127.90.0.7", "127.90.0.8", "127.90.0.9", "127.90.1."
SPECS = 5
SPHINX, MDBOOK, JSDOC, DOCUSAURUS = "127.90.0.10", "127.90.0.11", "127.90.0.12", "127.90.0.15"
FOLDERS = {SPHINX: "/usr/share/doc/python3-doc/html", MDBOOK: "/usr/share/doc/rust-doc/html/rustc",
           JSDOC: os.path.join(NPM, "..", "jsdoc-pages"), DOCUSAURUS: os.path.join(NPM, "..", "built", "site", "build")}
SEARCHED = ("spwd", "sndhdr", "crypt", "chunk", "winsound", "uu", "pipes", "imghdr")  # modules that few pages name
LIVE = 20  # pages of mdBook, JSDoc and Docusaurus each, at most


def complain(what, command):
    print(f"bench: {what}: run `{command}`", file=sys.stderr)
    sys.exit(3)


def words_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return re.sub(r"[^\w ]+", " ", re.sub(r"<[^>]*>", " ", file.read())).split()


class Bed:
    """The answers of all hosts; apps: URLs of pages that need a browser, plain: of those that do not."""

    def __init__(self, scale):
        if any(not os.path.isdir(os.path.join(NPM, name)) for name in PACKAGES):
            complain(f"{NPM} lacks one of {' '.join(PACKAGES)}", "make deps-bench")
        self.readmes = sorted(glob.glob(f"{NPM}/*/README.md"))[:40]
        documents = sorted(glob.glob("/usr/share/doc/*/html/**/*.html", recursive=True))
        documents = [path for path in documents if 2000 < os.path.getsize(path) < 200000]
        if len(documents) < 500:
            complain(f"{len(documents)} pages of documentation", "make deps-bench")
        n_plain = max(50, int(2000 * scale))
        self.documents = [documents[i * len(documents) // n_plain] for i in range(n_plain)]
        if not os.path.isdir(FOLDERS[JSDOC]):
            subprocess.run(["node", f"{NPM}/.bin/jsdoc", "-d", FOLDERS[JSDOC], "-r", f"{NPM}/jsdoc/lib"], check=True)
        texts = [" ".join(words_of(path)[:400]) for path in self.readmes[:LIVE]]
        self.built = render_built.build(NPM, ITEMS, texts)
        self.items = max(3, int(ITEMS * min(1, scale * 4)))
        self.seeds, self.apps, self.plain = [], [], []
        self.data = {n: self.datum(n) for n in range(1, ITEMS + 1)}
        for host in APPS:
            self.apps += [f"http://{host}/"] + [f"http://{host}/item/{n}" for n in range(1, ITEMS + 1)]
        self.apps += [f"http://{DOCSIFY}/"] + [f"http://{DOCSIFY}/doc{n}" for n in range(len(self.readmes))]
        self.apps += [f"http://{host}/spec{n}" for host in (SWAGGER, REDOC) for n in range(SPECS)]
        self.plain = [f"http://{PLAIN}{i % 10 + 1}/page{i}" for i in range(n_plain)]
        searches = [f"http://{SPHINX}/search.html?q={word}" for word in SEARCHED]
        self.apps += [*searches, f"http://{DOCUSAURUS}/list"]
        live = [f"http://{host}/{os.path.relpath(path, FOLDERS[host])}" for host in (MDBOOK, JSDOC)
                for path in sorted(glob.glob(f"{FOLDERS[host]}/*.html"))[:LIVE] if not path.endswith("/print.html")]
        live += [f"http://{DOCUSAURUS}/doc{n}" for n in range(len(texts))]
        self.live = set(live)
        self.plain += live
        self.seeds = [f"http://{host}/" for host in (*APPS, DOCSIFY)] + [
            f"http://{host}/spec{n}" for host in (SWAGGER, REDOC) for n in range(SPECS)] + searches + [
                f"http://{DOCUSAURUS}/list"] + self.plain
        self.asked = []
        self.server = PageServer(self.answer)

    def datum(self, n):
        words = words_of(self.readmes[n % len(self.readmes)])[n * 7:n * 7 + 150]
        return {"title": f"Item {n} of the bed", "text": " ".join(words),
                "links": [f"/item/{(n + k) % ITEMS + 1}" for k in range(3)]}

    def file(self, path):
        kind = TYPES.get(os.path.splitext(path)[1], "application/octet-stream")
        try:
            with open(path, "rb") as file:
                return 200, {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}, file.read()
        except OSError:
            return 404, {}, b"not here"

    def spec(self, n):
        paths = {f"/things{n}/{k}": {"get": {"summary": f"Thing {k} of {n}", "description": self.data[k + 1]["text"],
                                             "responses": {"200": {"description": "fine"}}}} for k in range(6)}
        return json.dumps({"openapi": "3.0.0", "info": {"title": f"Specification {n}", "version": "1"}, "paths": paths}).encode()

    def answer(self, host, path):
        self.asked.append((time.monotonic(), host, path))
        path = path.split("?")[0]
        if path == "/robots.txt":
            return 404, {}, b"none"
        if path.startswith("/lib/") and ".." not in path:
            return self.file(NPM + path[4:])
        if host in FOLDERS and ".." not in path:
            return self.folder(host, path)
        if host.startswith(PLAIN):
            return self.plain_page(host, path)
        if match := re.fullmatch(r"/api/(\d+)\.json", path):
            return 200, {"Content-Type": "application/json"}, json.dumps(self.data[int(match[1])]).encode()
        if match := re.fullmatch(r"/spec(\d)\.json", path):
            return 200, {"Content-Type": "application/json"}, self.spec(int(match[1]))
        if host in BUILT and path == "/app.js":
            return self.file(f"{self.built}/{BUILT[host]}.js")
        if host in APPS and path in ("/app.js", "/tree.js"):
            return 200, {"Content-Type": "text/javascript"}, (APPS[host][1] if path == "/app.js" else TREE).encode()
        if host in APPS and re.fullmatch(r"/(item/\d+)?", path):
            return 200, {"Content-Type": TYPES[".html"]}, APPS[host][0].encode()
        return self.tool(host, path)

    def folder(self, host, path):
        """A page of documentation as it is installed. Those that are none of the bed's lead nowhere."""
        if host == DOCUSAURUS and "." not in path:
            return self.file(f"{FOLDERS[host]}{path}.html")
        status, header, text = self.file(FOLDERS[host] + path)
        if path.endswith(".html") and host == SPHINX and path != "/search.html":
            text = re.sub(rb"(?i)\bhref\s*=", b"data-href=", text)
        elif path.endswith(".html") and host != SPHINX and f"http://{host}{path}" not in self.live:
            return 404, {}, b"not here"
        return status, header, text

    def tool(self, host, path):
        """Pages of tools that show documents: docsify, Swagger UI, Redoc."""
        kind, page = {"Content-Type": TYPES[".html"]}, None
        if host == DOCSIFY and (match := re.fullmatch(r"/doc(\d+)\.md", path)):
            return self.file(self.readmes[int(match[1])])
        if host == DOCSIFY and path == "/README.md":
            text = "# Bed\n\n" + "\n".join(f"* [Document {n}](/doc{n})" for n in range(len(self.readmes)))
            return 200, {"Content-Type": TYPES[".md"]}, text.encode()
        if host == DOCSIFY and re.fullmatch(r"/(doc\d+)?", path):
            page = shell("<div id=app></div>", "/config.js", "/lib/docsify/lib/docsify.min.js")
        if host == DOCSIFY and path == "/config.js":
            return 200, {"Content-Type": "text/javascript"}, b"window.$docsify = {routerMode: 'history', name: 'bed'}"
        if host == SWAGGER and (match := re.fullmatch(r"/spec(\d)", path)):
            page = shell("<div id=swagger-ui></div>", "/lib/swagger-ui-dist/swagger-ui-bundle.js") + \
                f"<script>SwaggerUIBundle({{url: '/spec{match[1]}.json', dom_id: '#swagger-ui'}})</script>"
        if host == REDOC and (match := re.fullmatch(r"/spec(\d)", path)):
            page = shell(f"<redoc spec-url=/spec{match[1]}.json></redoc>", "/lib/redoc/bundles/redoc.standalone.js")
        return (404, {}, b"not here") if page is None else (200, kind, page.encode())

    def plain_page(self, host, path):
        match = re.fullmatch(r"/page(\d+)", path)
        if match is None or int(match[1]) >= len(self.documents):
            return 404, {}, b"not here"
        n = int(match[1])
        with open(self.documents[n], "rb") as file:
            text = re.sub(rb"(?i)\b(href|src)\s*=", rb"data-\1=", file.read())
        links = "".join(f'<a href="{self.plain[(n + step) % len(self.documents)]}">on</a> ' for step in (1, 10, 37))
        return 200, {"Content-Type": TYPES[".html"]}, text + links.encode()
