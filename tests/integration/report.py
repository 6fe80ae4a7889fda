#!/usr/bin/env python3
"""ragno report on a real crawl: its figures are those of the servers' log and of the database, its HTML
is one file that is well-formed, loads nothing and runs nothing, and --broken-links has them all."""
import collections
import html.parser
import json
import os
import re

import harness
from harness import OUT, crawl, run
from sites import Sites

VOID = {"meta", "link", "br", "path", "input", "img", "hr"}


class Page(html.parser.HTMLParser):
    """Counts tags; complains about what is not closed and what would be loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.tags = [], [], collections.Counter()
        self.text = []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        if tag in ("script", "link", "img", "iframe", "object", "embed"):
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            if name in ("src", "srcset", "data", "background") or name.startswith("on"):
                self.problems.append(f"{name}={value}")
            if name == "href" and not re.match(r"#|https?://", value or ""):
                self.problems.append(f"href={value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)


def facts(text):
    """`  name    value` lines of a text report, the first of each name."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"  (\S.{0,37}?)  +(\S.*)$", line)
        if match:
            found.setdefault(match.group(1), match.group(2))
    return found


def number(text):
    return int(text.split()[0].replace(",", ""))


def table(text, title):
    """The rows of the table in a section, as lists of cells."""
    section = text.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]
    return [re.split(r"  +", line.strip()) for line in section.splitlines()[1:]]


def figures(report, path):
    directory = os.path.join(path, "crawl")
    with harness.Web(path, pages=600, hosts=40, addresses=20, not_found=0.02) as web:
        code = crawl(web, directory, "--set",
                     "log.status_interval=100ms", wait="10ms").returncode
        web.stop()
        requests = web.requests()
    report.equal("the crawl ends", code, 0)
    text = run([f"{OUT}/ragno", "report", directory])
    report.equal("a report is printed", text.returncode, 0)
    found = facts(text.stdout)
    pages = [r for r in requests if not r.path.startswith("/robots.txt")]
    report.equal("requests are those of the servers", number(found["requests"]), len(requests))
    report.equal("pages, too", number(found["pages fetched"]), len(pages))
    report.equal("hosts, too", number(found["hosts visited"]), len({r.host for r in requests}))
    statuses = {row[0]: number(row[-3]) for row in table(text.stdout, "Answers")
                if row[0].isdigit()}
    report.equal("statuses, too", statuses,
                 dict(collections.Counter(str(r.status) for r in pages)))
    report.equal("refusals are those of the summary",
                 number(found["URLs forbidden"]),
                 sum(number(row[1]) for row in table(text.stdout, "Refusals")
                     if row[0] == "robots"))
    depth = sum(number(row[1]) for row in table(text.stdout, "Depth")
                if len(row) > 1 and row[0].isdigit())
    report.equal("every crawled page has a depth", depth, len(pages))
    as_json(report, directory, requests, statuses)
    broken(report, directory, text.stdout)
    page(report, path, directory)


def as_json(report, directory, requests, statuses):
    """The same figures as numbers."""
    found = json.loads(run([f"{OUT}/ragno", "report", directory, "--json"]).stdout)
    pages = [r for r in requests if not r.path.startswith("/robots.txt")]
    report.equal("JSON has the figures", (found["requests"], found["pages"], found["hosts"]["visited"]),
                 (len(requests), len(pages), len({r.host for r in requests})))
    report.equal("and the statuses", {row["name"]: row["count"] for row in found["statuses"]}, statuses)
    report.equal("every crawled page has a depth there", sum(found["depths"]), found["urls_crawled"])
    report.check("times are in UTC", found["first_request"] < found["last_answer"] < found["made"] and
                 found["made"].endswith("Z"), found)


def broken(report, directory, text):
    """All broken links, against the graph and the statuses that other commands print."""
    result = run([f"{OUT}/ragno", "report", directory, "--broken-links"])
    rows = {tuple(line.split("\t")) for line in result.stdout.splitlines()}
    status = {}
    with open(os.path.join(directory, "crawl.log")) as file:
        for line in file:
            words = line.split()
            if words[4] != "P":
                status[words[3]] = int(words[1])
    links = run([f"{OUT}/ragno", "db", directory, "links"]).stdout.splitlines()
    expected = {(str(status[to]), to, source) for source, to in (line.split("\t") for line in links)
                if status.get(to) in (404, 410)}
    report.check("there are some", len(expected) > 5, len(expected))
    report.same_set("every broken link is named with its page", rows, expected)
    report.equal("and counted", number(facts(text)["links to them"]), len(expected))


def page(report, path, directory):
    output = os.path.join(path, "report.html")
    result = run([f"{OUT}/ragno", "report", directory, "--html", "-o", output])
    report.equal("HTML is written", (result.returncode, result.stdout), (0, ""))
    with open(output) as file:
        text = file.read()
    parsed = Page(text)
    report.equal("it is well-formed and loads nothing", parsed.problems, [])
    report.check("it has graphs", parsed.tags["svg"] >= 3 and parsed.tags["path"] >= 9, parsed.tags)
    report.check("and the sections of the text",
                 {"Summary", "Speed over time", "Answers", "Refusals", "Broken links"} <=
                 set(parsed.text), parsed.text[:60])
    report.check("a forbidden script could not run", "default-src 'none'" in text)
    for arguments, code in ((["--html", "--broken-links"], 2), (["--json", "--broken-links"], 2), (["-o", "/no/such/file"], 3)):
        result = run([f"{OUT}/ragno", "report", directory, *arguments])
        report.check(f"report {' '.join(arguments)} is refused with a sentence",
                     result.returncode == code and result.stderr.startswith("ragno report: "),
                     (result.returncode, result.stderr))
    result = run([f"{OUT}/ragno", "report", path])
    report.check("no crawl, no report", result.returncode == 3 and "holds no crawl" in result.stderr,
                 result.stderr)


def a_short_crawl(report, path):
    """One page makes no graph: the report says so, and draws no empty ones."""
    directory = os.path.join(path, "crawl")
    with harness.Web(path, pages=1, hosts=1, addresses=1) as web:
        report.equal("the crawl ends", crawl(web, directory).returncode, 0)
    text = run([f"{OUT}/ragno", "report", directory]).stdout
    report.check("no graph", "The crawl was too short for a graph." in text and "| most " not in text, text[:1500])
    report.check("CPU time is no 0 s", re.search("^  CPU time +[1-9]", text, re.M), text[:1500])
    html = run([f"{OUT}/ragno", "report", directory, "--html"]).stdout
    report.check("nor in HTML", "too short for a graph" in html and "<svg" not in html)


def languages(report, path):
    """By what pages say themselves, or their headers."""
    html = {"Content-Type": "text/html"}
    links = "".join(f"<a href=/{name}>" for name in ("de", "de2", "none", "fr", "two", "text"))
    answers = {"http://a.test/": (200, html, f"<!doctype html><html lang=en>{links}"),
               "http://a.test/de": (200, html, "<html class=x lang='de-AT'><p>ja"),
               "http://a.test/de2": (200, html, "<html lang=\"&#100;e-at\"><p>nein"),
               "http://a.test/none": (200, html, "<html><p lang=fr>oui"),
               "http://a.test/fr": (200, {**html, "Content-Language": " fr "}, "<p>non"),
               "http://a.test/two": (200, {**html, "Content-Language": "fr, de"}, "<p>peut"),
               "http://a.test/text": (200, {"Content-Type": "text/plain"}, "text")}
    directory = os.path.join(path, "crawl")
    with Sites(path, answers) as sites:
        report.equal("the crawl ends", sites.crawl(directory, "http://a.test/").returncode, 0)
    text = run([f"{OUT}/ragno", "report", directory]).stdout
    found = {row[0]: row[1] for row in table(text, "Languages") if row[1:] and row[1].isdigit()}
    report.equal("pages by language", found, {"en": "1", "de-at": "2", "fr": "1", "(not said)": "2"})
    as_numbers = json.loads(run([f"{OUT}/ragno", "report", directory, "--json"]).stdout)["languages"]
    report.equal("in JSON, too", {row["name"]: str(row["count"]) for row in as_numbers}, found)
    html = Page(run([f"{OUT}/ragno", "report", directory, "--html"]).stdout)
    report.check("in HTML, too", {"Languages", "de-at"} <= set(html.text), html.text[:60])


if __name__ == "__main__":
    harness.main(figures, a_short_crawl, languages)
