"""ragno consent: for which use a capture is allowed, by which sentence, who said otherwise, and what was withdrawn
since. The sentences are those that the server sent."""
import base64
import glob
import hashlib
import json
import os
import re
import struct

import harness
from page_server import PageServer

BEFORE = b"User-agent: *\nAllow: /\nContent-Signal: search=yes, ai-input=no\nContent-Usage: /closed/ train-ai=n\n"
AFTER = b"User-agent: *\nDisallow: /gone\nContent-Usage: train-ai=n\n"
PAGES = {
    "/free": ({}, b"free"),
    "/closed/page": ({}, b"closed"),
    "/header": ({"Content-Usage": "train-ai=n"}, b"header"),
    "/meta": ({}, b'<meta name="robots" content="noai"><title>meta</title>'),
    "/conflict": ({"Content-Signal": "ai-train=yes"}, b'<meta name="robots" content="noai">'),
    "/short": ({"Content-Signal": "use=reference"}, b"short"),
    "/gone": ({}, b"gone"),
    "/linked": ({"Link": '</l.xml>; rel="license"; type="application/rsl+xml"'}, b"linked"),
}
PAID = ("/paid", {"Crawler-Price": "USD 0.01", "WWW-Authenticate": 'License error="invalid_request"'})


class Site:
    def __init__(self, rules):
        self.rules = rules

    def __call__(self, host, path):
        if path == "/robots.txt":
            return (200, {"Content-Type": "text/plain"}, self.rules) if self.rules else (404, {}, b"")
        if path == "/":
            return 200, {}, "".join(f"<a href={p}>{p}</a>" for p in [*PAGES, PAID[0]]).encode()
        if path == PAID[0]:
            return 402, PAID[1], b"pay"
        fields, body = PAGES[path]
        return 200, fields, body


def crawl(server, directory, *options, env=None):
    return harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", "1ms", "--ip-wait", "0", "--progress=never",
                        "--set", "fetch.allow_addresses=127.0.0.0/8", *options, f"http://127.0.0.1:{server.port}/"], 60, env=env)


def ask(directory, *words):
    result = harness.run([f"{harness.OUT}/ragno", "consent", directory, *words])
    return result.returncode, result.stdout


def block(text, usage):
    """What is said of one usage: the verdict, and the sentences."""
    found = re.search(rf"^{usage}: (.*)\n((?:  .*\n)*)", text, re.M)
    return (found.group(1), found.group(2)) if found else (None, "")


def ledger_of_captures(report, directory, base):
    """What was said of a capture is in its record, its index, and the exports; the index can be made anew from the record."""
    said = {"/free": "ai-input=n, search=y", "/closed/page": "train-ai=n", "/gone": "ai-input=n, search=y"}
    index, = glob.glob(directory + "/warc/*.cdxj")
    with open(index, encoding="utf-8") as file:
        text = file.read()
    rows = [json.loads(line.split(" ", 2)[2]) for line in text.splitlines()]
    report.equal("usage in CDXJ", {p: row.get("usage") for p in said for row in rows if row["url"] == base + p}, said)
    report.check("nothing where nothing is said", [row for row in rows if row["url"] == base + "/robots.txt" and "usage" not in row], rows)
    captures = [json.loads(row) for row in harness.run([f"{harness.OUT}/ragno", "export", directory, "captures"]).stdout.splitlines()]
    report.equal("in export captures", {p: row.get("usage") for p in said for row in captures if row["url"] == base + p}, said)
    pages = [json.loads(row) for row in
             harness.run([f"{harness.OUT}/ragno", "export", directory, "pages", "--format", "jsonl"]).stdout.splitlines()]
    report.equal("denied and allowed in export pages",
                 {p: (row["usage_denied"], row["usage_allowed"]) for p in said for row in pages if row["url"] == base + p},
                 {"/free": ("ai-input", "search"), "/gone": ("ai-input", "search"), "/closed/page": ("train-ai", None)})
    os.rename(index, index + ".was")
    result = harness.run([f"{harness.OUT}/ragno", "verify", "--repair", directory])
    with open(index, encoding="utf-8") as file:
        report.equal("an index that is made anew is the same", (result.returncode in (0, 1), file.read() == text), (True, True))
    os.remove(index + ".was")


def by_which_sentence(report, path):
    site = Site(BEFORE)
    with PageServer(site) as server:
        result = crawl(server, path + "/crawl")
        report.equal("the crawl ends", result.returncode, 0)
        base = f"http://127.0.0.1:{server.port}"
    directory = path + "/crawl"
    digest = "sha1:" + base64.b32encode(hashlib.sha1(BEFORE).digest()).decode()
    for page, usage, verdict, sentence in (
            ("/free", "search", "allowed", "allowed by robots.txt line 3: Content-Signal: search=yes, ai-input=no"),
            ("/free", "ai-input", "denied", "denied by robots.txt line 3"),
            ("/free", "train-ai", "nothing is said", ""),
            ("/closed/page", "train-ai", "denied", "denied by robots.txt line 4: Content-Usage: /closed/ train-ai=n"),
            ("/header", "train-ai", "denied", "denied by header Content-Usage: train-ai=n"),
            ("/meta", "train-ai", "denied", 'denied by element <meta name="robots" content="noai">'),
            ("/conflict", "train-ai", "denied", "although allowed by header Content-Signal: ai-train=yes"),
            ("/linked", "search", "denied", "denied by header Link: </l.xml>; rel="),
            ("/paid", "search", "denied", "denied by header Crawler-Price: USD 0.01"),
            ("/paid", "search", "denied", "denied by header WWW-Authenticate: License error="),
            ("/short", "train-ai", "denied", "denied by header Content-Signal: use=reference")):
        code, text = ask(directory, base + page, "--usage", usage)
        found, told = block(text, usage)
        report.equal(f"{page} for {usage}", (code, found), (1 if verdict == "denied" else 0, verdict))
        report.check(f"{page} for {usage}: the sentence", sentence in told, text)
        if "robots.txt" in sentence:
            report.check(f"{page} for {usage}: its place, time and digest", f"{base}/robots.txt, fetched 20" in told and
                         digest in told, told)
    code, text = ask(directory, f"127.0.0.1:{server.port}")
    report.check("a host by its name", code == 0 and block(text, "ai-input")[0] == "denied", text)
    report.equal("a host that nobody knows", ask(directory, "http://other.test/")[0], 1)
    report.equal("a usage that there is not", ask(directory, base, "--usage", "lunch")[0], 2)
    for where, paths in (("not UsageDenied(train) and StatusCategory(2)", ["/", "/free", "/gone"]),
                         ("UsageDenied(search)", ["/linked", "/paid"]),
                         ('usage("train") and StatusCategory(2)', ["/", "/free", "/gone"]),
                         ('usage("tdm", "search")', ["/", "/closed/page", "/conflict", "/free", "/gone", "/header", "/meta", "/short"])):
        rows = harness.run([f"{harness.OUT}/ragno", "export", directory, "pages", "--where", where]).stdout.splitlines()
        report.equal(f"export --where '{where}'", sorted(row.split("\t")[0] for row in rows), [base + p for p in paths])
    ledger_of_captures(report, directory, base)
    report.equal("the price of a 402 is in crawl.log", [row[-1].count("price:USD_0.01") for row in log_of(directory) if row[1] == "402"],
                 [1])
    refused = harness.run([f"{harness.OUT}/ragno", "export", directory, "links", "--where", "UsageDenied(tdm)"])
    report.check("links have no usage, and say so", refused.returncode == 2 and "needs a record of usage" in refused.stderr,
                 refused.stderr)
    with open(path + "/robots.txt", "wb") as file:
        file.write(BEFORE + b"License: /l.xml\n")
    told = harness.run([f"{harness.OUT}/ragno", "check", "robots", path + "/robots.txt", "ragno", base + "/closed/x"])
    report.equal("check robots tells of usage", told.stdout.splitlines()[1:], [
        "usage\ttrain-ai+ai-input+search+tdm+image-ai\tdenied\tthe licence /l.xml permits nothing before it is read",
        "usage\ttrain-ai\tdenied\tline 4: Content-Usage: /closed/ train-ai=n"])
    report.equal("nothing has changed", ask(directory, "--changed"), (0, ""))


def escape_sequences(report, path):
    """What a site states is shown without what would tell a terminal what to do."""
    rules = b"User-agent: *\nAllow: /\nContent-Usage: train-ai=n;a=\xc2\x9b3J\x1b[2J\n"
    with PageServer(Site(rules)) as server:
        crawl(server, path + "/crawl")
        code, text = ask(path + "/crawl", f"http://127.0.0.1:{server.port}/free", "--usage", "train-ai")
    report.check("no escape sequences in a statement", code == 1 and "train-ai=n;a= 3J" in text and
                 "\x9b" not in text and "\x1b" not in text, repr(text))


def withdrawn_since(report, path):
    site = Site(BEFORE)
    directory = path + "/crawl"
    with PageServer(site) as server:
        base = f"http://127.0.0.1:{server.port}"
        crawl(server, directory)
        site.rules = AFTER
        # Two days later: robots.txt has expired, and the pages are due.
        with open(path + "/machine", "wb") as file:
            file.write(struct.pack("qqq", 2 * 86400 * 10**9, 0, 0))
        again = crawl(server, directory, "--set", "schedule.mode=continuous", "--set", "schedule.revisit_default=1d",
                      "--max-duration", "3s", env=dict(
                          os.environ, LD_PRELOAD=os.path.abspath(f"{harness.OUT}/crash/outage_shim.so"),
                          OUTAGE=path + "/machine", ASAN_OPTIONS="verify_asan_link_order=0"))
    report.check("a second crawl ran", again.returncode in (0, 15), (again.returncode, again.stderr[-600:]))
    code, text = ask(directory, "--changed")
    rows = [line.split("\t") for line in text.splitlines()]
    report.equal("it tells", code, 0)
    report.check("what may not be crawled any more", [base + "/gone", "crawl", "Disallow: /gone"] in rows, rows)
    report.check("what may not be trained on any more", [base + "/gone", "train-ai", "Content-Usage: train-ai=n"] in rows,
                 rows)
    report.check("not what was denied before", not any(row[0] == base + "/closed/page" for row in rows), rows)
    code, text = ask(directory, base + "/gone", "--usage", "train")
    report.equal("the capture was allowed when it was made, and still shows it", (code, block(text, "train-ai")[0]),
                 (0, "nothing is said"))
    # What was withdrawn goes, and nothing else, as docs/manners.md has it.
    before = {row[0] for row in rows}
    gone = harness.run(["bash", "-c", 'set -o pipefail; "$0" consent "$1" --changed | cut -f1 | sort -u | xargs -d "\\n" "$0" forget -q "$1"',
                        f"{harness.OUT}/ragno", directory], 60)
    harness.unlogged("what was withdrawn is forgotten, in crawl.log, too")
    report.equal("it is ready for forget", (gone.returncode, gone.stderr), (0, ""))
    report.equal("nothing is left that was withdrawn", ask(directory, "--changed"), (0, ""))
    kept = harness.run([f"{harness.OUT}/ragno", "export", directory, "pages", "--no-archive"]).stdout
    report.check("and the others stay", before == {base + "/gone"} and base + "/closed/page" in kept and not any(url + "\t" in kept for url in before), kept)


RSL = '<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>%s</license></content>' \
      '<content url="/closed/"><license><prohibits type="usage">all</prohibits></license></content></rsl>'
LICENCE = (RSL % '<permits type="usage">search</permits>').encode()
OFFER = (RSL % '<permits type="usage">all</permits><payment type="crawl"><amount currency="USD">0.01</amount></payment>').encode()
SECOND = (RSL % '<permits type="usage">search ai-input</permits>').replace("/closed/", "/open").encode()
STUDENTS = (RSL % '<permits type="usage">all</permits><permits type="user">education</permits>').encode()
ALL = "train-ai+ai-input+search+tdm+image-ai"


class LicenceServer(PageServer):
    """Hosts 127.0.3.1 to .9, each with a robots.txt that names a licence in its own way."""

    def __init__(self):
        self.asked = []
        super().__init__(self.answer)

    def answer(self, host, path):
        self.asked.append((host, path))
        number = int(host.rsplit(".", 1)[1])
        shared = f"http://127.0.3.9:{self.port}/shared.xml"
        names = {1: "/licence.xml", 2: shared, 3: "/missing.xml", 4: "/broken.xml", 5: "/offer.xml", 6: "/moved.xml",
                 7: "/students.xml", 8: "/busy.xml", 10: "/licence.xml\nLicense: /second.xml\nLicense: /licence.xml"}
        if path == "/robots.txt":
            return 200, {}, b"User-agent: *\nAllow: /\n\nLicense: %s\n" % names[number].encode() if number in names else b""
        if path.endswith(".xml"):
            return {"/licence.xml": (200, {}, LICENCE), "/second.xml": (200, {}, SECOND), "/shared.xml": (200, {}, LICENCE), "/broken.xml": (200, {}, LICENCE[:-3]),
                    "/offer.xml": (200, {}, OFFER), "/moved.xml": (302, {"Location": shared}, b""),
                    "/students.xml": (200, {}, STUDENTS), "/busy.xml": (503, {}, b"")}.get(path, (404, {}, b"none"))
        return 200, {}, b"<a href=/open>o</a><a href=/closed/1>c</a>" + (host + path).encode()

    def licences(self):
        return {(host, path): self.asked.count((host, path)) for host, path in self.asked if path.endswith(".xml")}


def crawl_licences(server, directory, *options, hosts=(*range(1, 9), 10), path="/"):
    return harness.run([f"{harness.OUT}/ragno", "-d", directory, "-w", "0", "--ip-wait", "0", "--progress=never", "--set",
                        "fetch.allow_addresses=127.0.0.0/8", "--set", "politeness.retry=busy 1ms 2", "--set",
                        "politeness.rest_max=1ms", *options, *(f"http://127.0.3.{i}:{server.port}{path}" for i in hosts)], 60)


def named_files(report, path):
    """ai.txt and llms.txt are pages where robots.txt or a page names them, and asked for nowhere else."""
    asked = []

    def answer(host, name):
        asked.append(host + name)
        rules = {"127.0.3.1": b"User-agent: *\nAllow: /\nLLMs-txt: /docs/llms.txt\nAI-Policy: /AI.txt # ours\nX: /other.txt\n"}
        if name == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, rules.get(host, b"")
        page = b"<link rel=llms-txt href=/llms.txt>" if host == "127.0.3.2" and name == "/" else b"x" + name.encode()
        return 200, {"Content-Type": "text/html" if name == "/" else "text/plain"}, page

    with PageServer(answer) as server:
        for name, options in (("crawl", ()), ("seeds", ("-l", "0"))):
            asked.clear()
            result = harness.run([f"{harness.OUT}/ragno", "-d", f"{path}/{name}", "-w", "0", "--ip-wait", "0", "-q", *options, "--set",
                                  "fetch.allow_addresses=127.0.0.0/8", *(f"http://127.0.3.{i}:{server.port}/" for i in (1, 2, 3))], 60)
            named = {"127.0.3.1/docs/llms.txt", "127.0.3.1/AI.txt", "127.0.3.2/llms.txt"} if not options else set()
            report.equal(f"{name}: what is named is asked for once, and nothing on suspicion", (result.returncode, sorted(asked)),
                         (0, sorted(named | {f"127.0.3.{i}{p}" for i in (1, 2, 3) for p in ("/", "/robots.txt")})))
        kept = harness.run([f"{harness.OUT}/ragno", "export", path + "/crawl", "pages"]).stdout
        report.check("they are in the archive", all(f"http://127.0.3.1:{server.port}{p}\t" in kept for p in ("/docs/llms.txt", "/AI.txt")), kept)


def log_of(directory):
    with open(directory + "/crawl.log", encoding="latin-1") as file:
        return [line.split() for line in file]


def licences(report, path):
    directory = path + "/crawl"
    with LicenceServer() as server:
        base = f"http://127.0.3.%d:{server.port}"
        result = crawl_licences(server, directory)
        report.equal("the crawl ends", result.returncode, 0)
        report.equal("each licence is asked for once, one that fails a few times, a shared one for each host", server.licences(),
                     {("127.0.3.1", "/licence.xml"): 1, ("127.0.3.9", "/shared.xml"): 2, ("127.0.3.3", "/missing.xml"): 1,
                      ("127.0.3.4", "/broken.xml"): 1, ("127.0.3.5", "/offer.xml"): 1, ("127.0.3.6", "/moved.xml"): 1,
                      ("127.0.3.7", "/students.xml"): 1, ("127.0.3.8", "/busy.xml"): 3, ("127.0.3.10", "/licence.xml"): 1,
                      ("127.0.3.10", "/second.xml"): 1})
        first = [path for host, path in server.asked if host == "127.0.3.1"]
        report.equal("behind robots.txt and before the pages", first[:3], ["/robots.txt", "/licence.xml", "/"])
        denied = {row[3]: re.search(r"usage-denied:([^,]*)", row[-1]) for row in log_of(directory) if row[1] == "200"}
        denied = {url: found.group(1) if found else "" for url, found in denied.items()}
        few = "train-ai+ai-input+tdm+image-ai"
        for number, expected in {1: few, 2: few, 3: ALL, 4: ALL, 5: ALL, 6: few, 7: ALL, 8: ALL}.items():
            report.equal(f"what host {number} denies", [denied.get(base % number + page) for page in ("/open", "/closed/1")],
                         [expected, ALL])
        report.equal("of two licences the strictest holds", [denied.get(base % 10 + page) for page in ("/", "/open", "/closed/1")], [few, ALL, ALL])
        code, text = ask(directory, base % 10 + "/open", "--usage", "search")
        report.check("each sentence has its file", code == 1 and f"denied by licence line 1: content url=/open" in text and
                     f"127.0.3.10:{server.port}/second.xml, fetched 20" in text and "although allowed by licence line 1" in text and
                     f"127.0.3.10:{server.port}/licence.xml, fetched 20" in text, text)
        digest = "sha1:" + base64.b32encode(hashlib.sha1(LICENCE).digest()).decode()
        for number, name in ((1, "127.0.3.1:%d/licence.xml"), (2, "127.0.3.9:%d/shared.xml")):
            code, text = ask(directory, base % number + "/open", "--usage", "train-ai")
            told = block(text, "train-ai")[1]
            report.check(f"host {number}: the sentence, its place, time and digest", code == 1 and
                         "denied by licence line 1: content url=/ ; license ; permits type=usage search" in told and
                         f"http://{name % server.port}, fetched 20" in told and digest in told, text)
        code, text = ask(directory, base % 1 + "/open", "--usage", "search")
        report.equal("what is permitted", (code, block(text, "search")[0]), (0, "allowed"))
        code, text = ask(directory, base % 4 + "/open", "--usage", "search")
        report.check("a broken licence is told as broken", code == 1 and
                     "licence that was not read to its end, so that it permits nothing: /broken.xml" in text, text)
        code, text = ask(directory, base % 5 + "/open", "--usage", "search")
        report.check("an offer is told", code == 1 and "payment type=crawl ; amount currency=USD 0.01" in text, text)
        # The next run knows the licences from the database, and asks nobody.
        n = len(server.asked)
        result = crawl_licences(server, directory, "--set", "politeness.usage=search no-fetch", path="/closed/9")
        report.equal("politeness.usage refuses by what is kept of them", (result.returncode, server.asked[n:],
                     sorted(row[1] for row in log_of(directory) if row[3].endswith("/closed/9"))), (0, [], ["-5001"] * 9))
        result = crawl_licences(server, path + "/school", "--set", "robots.licence_user=education", hosts=(7,))
        notes = [row[-1] for row in log_of(path + "/school") if row[3].endswith("/open")]
        report.check("robots.licence_user says who asks", result.returncode == 0 and notes and "usage-denied" not in notes[0],
                     notes)
        for command in ("audit", "verify"):
            report.equal(f"{command} agrees", harness.run([f"{harness.OUT}/ragno", command, directory]).returncode, 0)


if __name__ == "__main__":
    harness.main(by_which_sentence, escape_sequences, withdrawn_since, licences, named_files)
