"""Each command of README and docs is one that the program knows: run with a crawl of the synthetic web in place of the
reader's, it does not end as a wrong command line does, nor by a signal. Those that it shows for a crawl that runs are
told to one."""
import glob
import json
import os
import re
import shlex
import shutil

import harness
from running import Crawl

RAGNO = os.path.abspath(f"{harness.OUT}/ragno")
DOCUMENTS = ["README.md", *sorted(set(glob.glob("docs/*.md")) - {"docs/afternoon.md"})]  # that one is T=afternoon
# Not run here, and why. Each has to match something.
ELSEWHERE = {
    r"nats://|-c FILE|cluster init|/srv/crawl": "many machines: T=cluster_*",
    r"\brender\b|render\.": "a browser: T=render, render_crawl",
    r"^ragno top|^ragno identity directory": "a terminal, or a key: T=top, travel",
    r"score\.|schedule\.mode": "what scores and revisits: T=classifier, steering, continuous",
    r" ragno -s crawl\.signature_key|^ragno -s crawl": "the rest of the line is the reader's",
}


def commands():
    """(document, words): what stands in blocks of code, without what is said of it."""
    found = []
    for name in DOCUMENTS:
        with open(name, encoding="utf-8") as file:
            text = re.sub(r" *\\\n *", " ", file.read())
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M):
            for line in block.splitlines():
                line = re.sub(r"^\$ ", "", line)
                if not re.match(r"(build/)?ragno [-a-z]", line) or re.match(r"ragno [a-z]+: ", line):
                    continue
                line = re.split(r" {2,}(?=\S)|\s# |\s> |\s\|", re.sub(r"^build/", "", line).replace("...", ""))[0]
                found.append((name, re.sub(r"\s*\[.*", "", line).strip()))
    return found


class Reader:
    """Who follows the documents: a crawl that has ended, its files, and names of its web in place of those shown."""

    def __init__(self, web, path):
        self.web, self.path, self.n = web, path, 0
        harness.crawl(web, path + "/crawl", "-s", "crawl.contact=https://example.org/crawler")
        self.page = next(row[0] for row in harness.db_rows(path + "/crawl") if row[2] > 0 and "/private/" not in row[0])
        self.host = self.page.split("/")[2]
        files = {"page.html": "<title>x</title><a href=a>b</a>", "robots.txt": "User-agent: *\nDisallow: /private/\n",
                 "my.ini": "[politeness]\nhost_delay = 2s\n", "SEEDS": self.page + "\n"}
        for name, text in files.items():
            with open(f"{path}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        archive = glob.glob(path + "/crawl/warc/*.warc.gz")[0]
        for name in ("theirs.warc.gz", "FILE.warc.gz"):
            shutil.copy(archive, f"{path}/{name}")

    def words(self, command, directory):
        """With what there is here in place of what is shown."""
        text = re.sub(r"\s\S*more\.warc\.zst", "", command)
        for shown, here in ((r"https?://(www\.)?example\.org/?[^\s']*", self.page), (r"\bHOST\|URL\b", self.host), (r"\bURL\b", self.page),
                            (r"'REGEX'", "'/p'"), (r"\bHOST\b", self.host), (r"\bFILTER\b", "'HostEndsWith(.test)'"),
                            (r"\b(ads\.|www\.)?example\.org\b", self.host), (r"\b(DIR|my-crawl|first)\b", directory),
                            (r"/backup/crawl", f"{self.path}/backup"), (r"\bNEW\b", f"{self.path}/new-{self.n}")):
            text = re.sub(shown, here.replace("\\", r"\\"), text)
        return shlex.split(text)

    def run(self, command):
        """With a crawl of its own, since some change it."""
        self.n += 1
        directory = f"{self.path}/copy-{self.n}"
        shutil.copytree(self.path + "/crawl", directory)
        words = self.words(command, directory)
        if words[1] in ("import", "restore"):
            directory = shutil.rmtree(directory) or directory
        if words[1].startswith("-"):
            words += ["--print-config"]
        here = {"RAGNO_DNS_SERVERS": f"127.0.0.1:{self.web.dns}", "RAGNO_FETCH_PORT_MAP": f"80:{self.web.http}",
                "RAGNO_FETCH_ALLOW_ADDRESSES": "127.0.0.0/8"}
        result = harness.run(["env", "-C", self.path, RAGNO, *words[1:]], timeout=60, env=dict(os.environ, **here))
        shutil.rmtree(directory, ignore_errors=True)
        return result


def each_command_is_one(report, path):
    harness.unlogged("ragno plan -i asks for robots.txt, and keeps nothing")
    unused = set(ELSEWHERE)
    ran = []
    with harness.Web(path, hosts=5, pages=60) as web:
        reader = Reader(web, path)
        for name, command in commands():
            why = next((p for p in ELSEWHERE if re.search(p, command)), None)
            unused.discard(why)
            if why or command.startswith("ragno ctl"):
                continue
            result = reader.run(command)
            ran.append(command)
            known = result.returncode in (0, 1) and "try 'ragno" not in result.stderr and "--help" not in result.stderr
            report.check(f"{name}: {command}", known, f"{result.returncode}: {result.stderr[-300:]}")
    report.check("they are found", len(ran) > 40, str(len(ran)))
    report.equal("what is shown elsewhere is there", unused, set())


def each_word_to_a_crawl_is_one(report, path):
    ran = 0
    with harness.Web(path, hosts=10, addresses=10, pages=100000) as web:
        with Crawl(web, path + "/crawl", "--no-warc", ip_wait="1ms", wait="200ms") as crawl:
            harness.until(lambda: crawl.status("pages") > 5)
            host = f"{list(web.hosts())[0]}"
            for name, command in commands():
                if not command.startswith("ragno ctl DIR") or re.search(r" (stop|threads|status --follow)", command):
                    continue
                words = shlex.split(re.sub(r"\bexample\.org\b|\bHOST\b", host, command).replace("URL", f"http://{host}/x"))
                result = crawl.ask(*words[3:])
                ran += 1
                report.check(f"{name}: {command}", result.returncode == 0, f"{result.returncode}: {result.stderr[-300:]}")
            crawl.ask("resume")
            report.equal("ragno ctl DIR stop", (crawl.ask("stop").returncode, crawl.wait()), (0, 11))
    report.check("they are found", ran > 8, str(ran))


def what_it_prints_is_as_shown(report, path):
    """The lines that documents show of a summary, of plan and of status are those of today, figures aside."""
    with harness.Web(path, hosts=5, pages=60) as web:
        result = harness.crawl(web, path + "/crawl")
    with harness.Web(path + "/", hosts=5, pages=400) as web:
        harness.crawl(web, path + "/half", "-s", "crawl.max_pages=350", "-s", "log.status_interval=100ms", wait="20ms")
        plan = harness.run([RAGNO, "plan", path + "/half"]).stdout
    for name, first, printed in (("docs/getting-started.md", "  pages       4788 fetched", result.stdout + result.stderr),
                                 ("docs/operating.md", "  at work", plan)):
        with open(name, encoding="utf-8") as file:
            shown = file.read()
        block = shown[shown.rindex("```\n", 0, shown.index(first)):]
        words = [re.match(r"\s+([a-z][a-zA-Z ]*?)(\s{2,}|$)", line) for line in block.split("```")[1].splitlines()]
        for word in sorted({w.group(1) for w in words if w}):
            report.check(f"{name}: {word}", re.search(rf"^\s+{re.escape(word)}\b", printed, re.M), printed[-900:])


if __name__ == "__main__":
    harness.main(each_command_is_one, each_word_to_a_crawl_is_one, what_it_prints_is_as_shown)
