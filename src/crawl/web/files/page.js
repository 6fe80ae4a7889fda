// The status page of ragno. It asks the crawl that serves it and nobody else; all text goes into the page as text.
"use strict";

const STATUS_MS = 2000;
const HISTORY_MS = 10000;
const HOSTS_MS = 5000;
const ROWS = 50;

const get = (id) => document.getElementById(id);
let about = { writes: false, orders: ["queue"] };
let lost = 0; // answers in a row that did not come

// ---- words

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

function bytes(n) {
  let unit = 0;
  while (n >= 1000 && unit < UNITS.length - 1) {
    n /= 1000;
    unit++;
  }
  return (unit === 0 ? n.toFixed(0) : n.toFixed(1)) + " " + UNITS[unit];
}

function count(n) {
  return n >= 1e8 ? (n / 1e6).toFixed(1) + "M" : Math.round(n).toLocaleString("en-US");
}

function rate(n) {
  return n >= 100 || n === 0 ? count(n) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}

function duration(s) {
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (d > 0) return d + " d " + h + " h";
  if (h > 0) return h + " h " + m + " min";
  if (m > 0) return m + " min " + Math.floor(s % 60) + " s";
  if (s > 0 && s < 1) return Math.round(s * 1000) + " ms";
  return (s < 10 && s % 1 > 0 ? s.toFixed(1) : Math.floor(s)) + " s";
}

function clock(ms, days) {
  const text = new Date(ms).toISOString();
  return days ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19);
}

const LIMITS = {
  politeness: "hosts are owed their delay",
  connections: "all transfers are in use (fetch.connections)",
  dns: "names wait for their addresses",
  parser: "the parsing threads are busy (parse.threads)",
  writer: "the database thread is busy",
  memory: "answers wait in memory (fetch.memory)",
  disk: "the disk is nearly full; the crawl goes on by itself when there is room",
  operator: "somebody paused it",
  seeds: "nothing is queued",
  schedule: "no page is due",
  retries: "all hosts that are left have failed and wait for their next try",
  network: "our network is out; the crawl goes on by itself",
  none: "nothing",
};

// ---- parts of the page

function element(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function show(id, text) {
  const e = get(id);
  if (e.textContent !== text) e.textContent = text;
}

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer;
}

const TILES = [
  ["Pages", (s) => count(s.pages)],
  ["Pages a second", (s) => rate(s.pages_s), (s) => "mean " + rate(s.pages_s_avg)],
  ["Received", (s) => bytes(s.bytes), (s) => bytes(s.bytes_s) + "/s"],
  ["Queued", (s) => count(s.urls_queued), (s) => "of " + count(s.urls_seen)],
  ["Hosts", (s) => count(s.hosts)],
  ["Transfers", (s) => count(s.active)],
  ["Without an answer", (s) => count(s.err)],
  ["Answers 5xx", (s) => count(s["5xx"])],
  ["Waiting for a retry", (s) => count(s.hosts_waiting || 0), (s) => (s.hosts_waiting ? "next in " + duration(s.next_retry_s) : "hosts")],
  ["Parked, dropped", (s) => count(s.hosts_parked || 0), () => "hosts"],
  ["Memory", (s) => bytes(s.rss_bytes)],
  ["Disk free", (s) => bytes(s.disk_free_bytes), (s) => "database " + bytes(s.db_bytes)],
];

function drawTiles(status) {
  const list = get("tiles");
  TILES.forEach(([name, value, note], i) => {
    let box = list.children[i];
    if (!box) {
      box = element("div");
      const dd = element("dd");
      dd.append(element("span"), element("small"));
      box.append(element("dt", "", name), dd);
      list.append(box);
    }
    box.querySelector("span").textContent = value(status);
    box.querySelector("small").textContent = note ? note(status) : "";
  });
}

function drawStatus(status) {
  const badge = get("state");
  badge.textContent = status.state;
  badge.className = "badge " + status.state;
  show("since", "for " + duration(status.elapsed_s) + ", " + clock(Date.parse(status.time)) + " UTC");
  show("limit", status.state === "running" || status.state === "paused"
    ? "What limits it: " + status.limit + (status.limit === "none" ? "" : " (" + (LIMITS[status.limit] || "see the manual") + ")")
    : "");
  document.title = count(status.pages) + " pages, " + status.state + " - ragno";
  drawTiles(status);
}

// ---- graphs

const CHARTS = [
  { title: "Pages a second", words: rate, curves: [["pages_s", "pages"]] },
  { title: "Bytes a second", words: bytes, curves: [["bytes_s", "bytes"]] },
  { title: "URLs queued", words: count, curves: [["urls_queued", "queued"]] },
  { title: "Answers a second", words: rate, curves: [["2xx_s", "2xx"], ["3xx_s", "3xx"], ["4xx_s", "4xx"]] },
  { title: "Errors a second", words: rate, curves: [["err_s", "no answer", 3], ["5xx_s", "5xx", 2], ["throttled_s", "429, 503", 4]] },
  { title: "Transfers, hosts waiting", words: count, curves: [["active", "transfers"], ["hosts_waiting", "hosts waiting for a retry", 2]] },
];
const W = 600, H = 100;
const SVG = "http://www.w3.org/2000/svg";

// The least 1, 2 or 5 times a power of ten that is not less.
function roof(most) {
  if (!(most > 0)) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(most)));
  return [1, 2, 5, 10].map((f) => f * power).find((v) => v >= most);
}

function svg(name, attributes) {
  const e = document.createElementNS(SVG, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  return e;
}

// The line through the values; what was not measured for long is a gap.
function lineOf(values, top, gap) {
  let path = "", last = -1;
  values.forEach((value, i) => {
    if (value === null) return;
    const x = values.length > 1 ? (i * W) / (values.length - 1) : W;
    path += (last < 0 || i - last > gap ? "M" : "L") + x.toFixed(1) + " " + (H - (value / top) * H).toFixed(1);
    last = i;
  });
  return path;
}

function makeChart(chart) {
  const figure = element("figure");
  const caption = element("figcaption");
  caption.append(element("b", "", chart.title));
  chart.curves.forEach(([, label, colour], i) => {
    if (chart.curves.length > 1) caption.append(element("span", "key k" + (colour === undefined ? i : colour), label));
  });
  chart.value = element("span", "value");
  caption.append(chart.value);
  chart.plot = element("div", "plot");
  chart.axis = element("div", "axis");
  chart.axis.append(element("span"), element("span"));
  figure.append(caption, chart.plot, chart.axis);
  chart.plot.addEventListener("pointermove", (event) => point(chart, event));
  chart.plot.addEventListener("pointerleave", () => point(chart, null));
  get("charts").append(figure);
}

function tell(chart, i) {
  return chart.curves
    .map(([key, label]) => {
      const value = chart.history[key][i];
      return value === null ? null : chart.words(value) + (chart.curves.length > 1 ? " " + label : "");
    })
    .filter((text) => text !== null)
    .join(", ");
}

function latest(chart) {
  const values = chart.history[chart.curves[0][0]];
  let i = values.length - 1;
  while (i >= 0 && values[i] === null) i--;
  return i;
}

// What the graph says where the pointer is.
function point(chart, event) {
  const old = chart.plot.querySelector(".at");
  if (old) old.remove();
  if (!chart.history) return;
  const n = chart.history[chart.curves[0][0]].length;
  if (!event || n === 0) {
    chart.value.textContent = latest(chart) < 0 ? "" : tell(chart, latest(chart));
    return;
  }
  const box = chart.plot.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  let i = Math.round(share * (n - 1));
  while (i > 0 && chart.history[chart.curves[0][0]][i] === null) i--;
  const mark = element("div", "at");
  mark.style.left = share * 100 + "%";
  chart.plot.append(mark);
  chart.value.textContent = clock(chart.history.from + i * chart.history.width_ms) + "  " + tell(chart, i);
}

function drawChart(chart, history) {
  if (!chart.plot) makeChart(chart);
  chart.history = history;
  const all = chart.curves.flatMap(([key]) => history[key].filter((v) => v !== null));
  const top = roof(all.reduce((a, b) => Math.max(a, b), 0));
  const gap = Math.max(3, 60000 / history.width_ms);
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": chart.title });
  [0, 0.5, 1].forEach((share) => picture.append(svg("line", { class: "grid", x1: 0, x2: W, y1: H * share, y2: H * share })));
  chart.curves.forEach(([key, , colour], i) => {
    const path = lineOf(history[key], top, gap);
    if (chart.curves.length === 1 && path !== "" && path.lastIndexOf("M") === 0) {
      const x = path.slice(path.lastIndexOf("L") + 1).split(" ")[0];
      const x0 = path.slice(1).split(" ")[0];
      picture.append(svg("path", { class: "area", d: `${path}L${x} ${H}L${x0} ${H}Z` }));
    }
    picture.append(svg("path", { class: "line s" + (colour === undefined ? i : colour), d: path }));
  });
  chart.plot.replaceChildren(picture, element("span", "top", chart.words(top)));
  const n = history[chart.curves[0][0]].length;
  const to = history.from + n * history.width_ms;
  const days = to - history.from > 86400000;
  chart.axis.children[0].textContent = n ? clock(history.from, days) : "";
  chart.axis.children[1].textContent = n ? clock(to, days) : "";
  point(chart, null);
}

function drawHistory(history) {
  const n = history.pages_s.length;
  const measured = history.urls_queued.filter((v) => v !== null).length;
  const each = Math.round((n * history.width_ms) / Math.max(1, measured) / 1000) || 1; // s: status.log may have fewer lines than there are places
  show("span", n ? "The last " + duration((n * history.width_ms) / 1000) + ", one value for each " + duration(each) + "; times are UTC." : "status.log has no line yet.");
  CHARTS.forEach((chart) => drawChart(chart, history));
}

// ---- hosts

function drawHost(host) {
  const row = element("tr");
  const name = element("td", "host");
  const button = element("button", "", host.origin);
  button.type = "button";
  button.title = "ask why about its first page";
  button.addEventListener("click", () => {
    get("url").value = host.origin + "/";
    askWhy();
    get("why-form").scrollIntoView({ block: "start" });
  });
  name.append(button);
  row.append(name);
  row.append(element("td", "n", count(host.queued)));
  row.append(element("td", "n wide", host.per_s > 0 ? host.per_s.toFixed(2) : ""));
  row.append(element("td", "n wide", count(host.pages)));
  row.append(element("td", "n" + (host.errors > 0 ? " bad" : ""), host.errors > 0 ? count(host.errors) : ""));
  row.append(element("td", "n wide", host.requests > 0 ? count(host.ms) : ""));
  const tone = host.kind === "ready" ? "" : host.kind === "waits" ? (host.errors > 0 ? "warn" : "") : "bad";
  row.append(element("td", tone, host.kind === "ready" && host.queued === 0 ? "" : host.state));
  if (about.writes) {
    const act = element("td", "act");
    const word = host.kind === "denied" ? "allow" : "deny";
    const deny = element("button", word === "deny" ? "danger" : "", word);
    deny.type = "button";
    deny.addEventListener("click", () => steer(word + " " + host.origin.replace(/^https?:\/\//, ""), word === "deny"));
    act.append(deny);
    row.append(act);
  }
  return row;
}

let hostsAsked = 0;

async function askHosts() {
  const mine = ++hostsAsked;
  const query = new URLSearchParams({ order: get("order").value || "queue", filter: get("filter").value.trim(), rows: ROWS });
  const answer = await (await ask("hosts.json?" + query)).json();
  if (mine !== hostsAsked) return; // a later question is on its way
  const c = answer.counts;
  show("host-counts", count(c.hosts) + " known, " + count(c.queued) + " with URLs queued, " + count(c.lately) + " fetched from in the last minute, " +
    count(c.waiting) + " waiting for a retry, " + count(c.dropped + c.parked) + " dropped or parked, " + count(c.denied) + " denied");
  get("hosts").tBodies[0].replaceChildren(...answer.hosts.map(drawHost));
  const filter = get("filter").value.trim();
  show("host-note", answer.hosts.length === 0 ? "There is no such host." :
    filter && c.matching > answer.hosts.length ? "The first " + answer.hosts.length + " of " + count(c.matching) + " that match." :
    !filter && c.hosts > answer.hosts.length ? "The first " + answer.hosts.length + " in this order." : "");
}

// ---- why

async function askWhy() {
  const url = get("url").value.trim();
  const text = get("why");
  if (!url) return;
  text.hidden = false;
  text.textContent = "...";
  try {
    text.textContent = await (await ask("why.txt?" + new URLSearchParams({ url }))).text();
  } catch (error) {
    text.textContent = error.message;
  }
}

// ---- steering

async function steer(words, mustAsk) {
  if (mustAsk && !window.confirm(words + "?")) return;
  let text = "";
  try {
    const answer = await fetch("control", { method: "POST", body: words, headers: { Authorization: "Bearer " + get("token").value.trim() } });
    text = (await answer.text()).trim() || "done";
  } catch (error) {
    text = error.message;
  }
  show("steer-answer", words + ": " + text);
  update(askStatus);
  update(askHosts);
}

// ---- the clock

async function askStatus() {
  drawStatus(await (await ask("status.json")).json());
}

async function askHistory() {
  drawHistory(await (await ask("history.json")).json());
}

function complain(error) {
  const trouble = get("trouble");
  lost++;
  trouble.hidden = false;
  trouble.textContent = error instanceof TypeError ? "The crawl does not answer; it may have ended. What is shown is old." : error.message;
  if (error instanceof TypeError) {
    get("state").className = "badge gone";
    get("state").textContent = "no answer";
  }
}

async function update(what) {
  try {
    await what();
    lost = 0;
    get("trouble").hidden = true;
  } catch (error) {
    complain(error);
  }
}

// Again and again, while somebody looks; rarely when nobody answers.
function repeat(what, ms) {
  const next = async () => {
    if (!document.hidden) await update(what);
    setTimeout(next, ms * (lost > 5 ? 5 : 1));
  };
  next();
}

async function begin() {
  await update(async () => {
    about = await (await ask("about.json")).json();
    show("directory", about.directory);
    show("version", "ragno " + about.version);
    get("steer").hidden = !about.writes;
    document.querySelector("th.act").hidden = !about.writes;
    about.orders.forEach((order) => get("order").append(new Option(order, order)));
  });
  repeat(askStatus, STATUS_MS);
  repeat(askHistory, HISTORY_MS);
  repeat(askHosts, HOSTS_MS);
  let typing = 0;
  get("filter").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => update(askHosts), 250);
  });
  get("order").addEventListener("change", () => update(askHosts));
  get("host-form").addEventListener("submit", (event) => { event.preventDefault(); update(askHosts); });
  get("why-form").addEventListener("submit", (event) => { event.preventDefault(); askWhy(); });
  get("steer-form").addEventListener("submit", (event) => event.preventDefault());
  document.querySelectorAll("[data-words]").forEach((button) =>
    button.addEventListener("click", () => steer(button.dataset.words, button.dataset.words === "stop")));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) update(askStatus); });
  // A link to one question: /#why=URL, /#host=WORD.
  const wish = new URLSearchParams(location.hash.slice(1));
  if (wish.get("host")) {
    get("filter").value = wish.get("host");
    update(askHosts);
  }
  if (wish.get("why")) {
    get("url").value = wish.get("why");
    askWhy();
  }
}

begin();
