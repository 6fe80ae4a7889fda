// Shows a page of a WARC or WACZ file in a browser, by the npm package replaywebpage, and takes a picture. A JSON
// file that names several packages (replay_dedup.py makes one) has these beside it.
//
//   cd /tmp/interop && npm install playwright-core && npm pack replaywebpage && tar xzf replaywebpage-*.tgz
//   NODE_PATH=/tmp/interop/node_modules REPLAY=/tmp/interop/package \
//       node tests/interop/replay.mjs FILE.warc.gz URL PICTURE.png
//
// Debian's chromium is used. Nothing but this script's own server on loopback is reachable: a style
// or picture that appears comes out of the file. Prints what the page consists of; exit status 1
// when it has no style or a picture that did not load.
import {createReadStream, existsSync, statSync} from "node:fs";
import {createServer} from "node:http";
import {createRequire} from "node:module";
import {basename, dirname, extname} from "node:path";

const require = createRequire((process.env.NODE_PATH ?? ".") + "/");
const {chromium} = require("playwright-core");
const [file, url, picture] = process.argv.slice(2);
const package_ = process.env.REPLAY ?? "/tmp/interop/package";
const types = {".js": "text/javascript", ".html": "text/html", ".gz": "application/octet-stream"};

const shell = `<!doctype html><title>replay</title><style>html, body {margin: 0; height: 100%}</style>
<script src="/ui.js"></script>
<replay-web-page source="/${basename(file)}" url="${url}" replayBase="/replay/" embed="replayonly"
 style="height: 100vh; display: block"></replay-web-page>`;

function serveFile(request, response, path) {
  const {size} = statSync(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const start = range ? Number(range[1]) : 0;
  const end = range && range[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  const headers = {"Content-Type": types[extname(path)] ?? "text/plain", "Accept-Ranges": "bytes",
                   "Content-Length": end - start + 1};
  if (range) headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === "HEAD") return response.end();
  createReadStream(path, {start, end}).pipe(response);
}

const server = createServer((request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  if (path === "/") return response.writeHead(200, {"Content-Type": "text/html"}).end(shell);
  if (path === "/ui.js") return serveFile(request, response, `${package_}/ui.js`);
  if (path === "/replay/sw.js") return serveFile(request, response, `${package_}/sw.js`);
  if (existsSync(dirname(file) + path)) return serveFile(request, response, dirname(file) + path);
  response.writeHead(404).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://localhost:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let bad = 1;
try {
  const tab = await browser.newPage({viewport: {width: 1100, height: 900}});
  if (process.env.VERBOSE) {
    tab.on("console", (message) => console.log(`  console: ${message.text()}`));
    tab.on("requestfailed", (r) => console.log(`  failed: ${r.url()} ${r.failure()?.errorText}`));
  }
  await tab.goto(base);
  let frame = null;
  for (let i = 0; i < 150 && !frame; i++) {
    await tab.waitForTimeout(200);
    frame = tab.frames().find((f) => f.url().includes("mp_/") && f.url().endsWith(url));
  }
  if (!frame) throw new Error(`the page was not replayed: ${tab.frames().map((f) => f.url())}`);
  await frame.waitForLoadState("load");
  for (let i = 0, before = -1, now = 0; i < 20 && now !== before; i++) { // what scripts make of it
    before = now;
    await tab.waitForTimeout(700);
    now = await frame.evaluate(() => document.body.innerText.length);
  }
  const found = await frame.evaluate(() => ({
    title: document.title,
    text: document.body.innerText.length,
    styles: [...document.styleSheets].filter((sheet) => sheet.cssRules.length > 0).length,
    pictures: [...document.images].filter((image) => image.complete && image.naturalWidth > 0).length,
    broken: [...document.images].filter((image) => !image.complete || image.naturalWidth === 0)
        .map((image) => image.src),
  }));
  await tab.screenshot({path: picture});
  console.log(JSON.stringify(found));
  bad = found.styles > 0 && found.broken.length === 0 && found.text > 0 ? 0 : 1;
} catch (error) {
  console.log(String(error));
  await browser.contexts()[0]?.pages()[0]?.screenshot({path: picture});
} finally {
  await browser.close();
  server.close();
}
process.exit(bad);
