"""ragno identity: what a site can read about the crawler is what the crawler does and says, one identity a purpose."""
import glob
import json
import os
import re
import subprocess

import harness
from cluster import AGENTS, NAME, Nats, make
from page_server import PageServer
from sites import Sites, page as sites_page


def page(*options):
    return harness.run([f"{harness.OUT}/ragno", "identity", "page", *options])


def what_it_says(report, path):
    options = ("-s", "crawl.contact=https://bot.example/?a&b", "-s", "robots.agent=examplebot", "-s", "politeness.host_delay=7s")
    text = page("--purpose", "Recipes <for> all", "--ranges", "https://bot.example/ranges.json", *options).stdout
    agents = []

    def answer(host, name):
        return 404, {}, b""

    with PageServer(answer) as server:
        seen = server.server.RequestHandlerClass
        ask = seen.do_GET

        def do_get(handler):
            agents.append(handler.headers["User-Agent"])
            ask(handler)
        seen.do_GET = do_get
        harness.run([f"{harness.OUT}/ragno", "-d", path + "/crawl", "-q", "-w", "1ms", "--set", "fetch.allow_addresses=127.0.0.0/8", "-s",
                     "crawl.contact=https://bot.example/?a&b", f"http://127.0.0.1:{server.port}/"], 60)
    report.check("the user agent is the one that a server sees", agents and agents[0].replace("&", "&amp;") in text, (agents, text))
    report.check("the addresses are linked by client-ranges, for programs",
                 '<link rel="client-ranges" href="https://bot.example/ranges.json">' in text, text)
    report.check("the purpose, escaped", "Recipes &lt;for&gt; all" in text, text)
    report.check("its pace", "7 s or more" in text, text)
    rules = re.search(r"<pre>(.*?)</pre>", text, re.S).group(1)
    with open(path + "/robots.txt", "w", encoding="utf-8") as file:
        file.write(rules)
    verdict = harness.run([f"{harness.OUT}/ragno", "check", "robots", path + "/robots.txt", "examplebot", "http://x.test/"]).stdout
    report.check("its example keeps it out", verdict.startswith("deny"), verdict)
    report.check("nothing is rendered, it says", "not rendered" in text, text)
    text = page("--purpose", "x", *options, "-s", "render.mode=auto").stdout
    report.check("and when something is", "not rendered" not in text and "rendered" in text, text)


IDENTITIES = """[fetch]
allow_addresses = 127.0.0.0/8
[crawl]
contact = https://bot.example/
[identity "search"]
agent = search-bot
user_agent = search-bot/1
usages = search
[identity "training"]
agent = train-bot
user_agent = train-bot/1
signature_key = train.pem
signature_agent = https://bot.example
usages = train-ai, image-ai
"""
RULES = b"""User-agent: search-bot
Disallow: /not-for-search
User-agent: train-bot
Disallow: /not-for-training
Content-Usage: /no-training train-ai=n
User-agent: *
Disallow: /
"""
PAGES = {"/not-for-search": {}, "/not-for-training": {}, "/no-training": {}, "/no-images": {"X-Robots-Tag": "noimageai"}, "/free": {}}


def one_for_each_purpose(report, path):
    """One file, two crawls: each is the product token, the user agent, the key and the usages of its identity."""
    seen = []
    program = os.path.abspath(f"{harness.OUT}/ragno")

    def answer(host, name):
        if name == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, RULES
        return 200, PAGES.get(name, {}), "".join(f"<a href={p}>{p}</a>" for p in PAGES).encode() + name.encode()

    with open(path + "/ragno.ini", "w", encoding="utf-8") as file:
        file.write(IDENTITIES)
    report.equal("a key", harness.run([program, "identity", "new", path + "/train.pem"]).returncode, 0)
    with PageServer(answer) as server:
        ask = server.server.RequestHandlerClass.do_GET

        def do_get(handler):
            seen.append((handler.headers["User-Agent"], handler.path, handler.headers["Signature-Agent"]))
            ask(handler)
        server.server.RequestHandlerClass.do_GET = do_get
        base = f"http://127.0.0.1:{server.port}"

        def crawl(name, *options, where=path):
            return subprocess.run([program, "-d", f"{path}/{name}", "-q", "-w", "1ms", "--ip-wait", "0", "--progress=never", *options],
                                  cwd=where, capture_output=True, text=True, timeout=60, check=False)

        def kept(name):
            rows = [row for file in glob.glob(f"{path}/{name}/warc/*.cdxj") for row in open(file, encoding="utf-8")]
            return {p for p in ["/", *PAGES] for row in rows if f'"{base}{p}"' in row}
        for name, others in (("search", {"/no-training", "/no-images", "/not-for-training"}), ("training", {"/not-for-search"})):
            seen.clear()
            result = crawl(name, "-c", "ragno.ini", "-s", f"crawl.identity={name}", base + "/")
            report.equal(f"{name}: the crawl ends", (result.returncode, result.stderr), (0, ""))
            agent = {"search": "search-bot/1", "training": "train-bot/1"}[name]
            report.equal(f"{name}: its user agent", {row[0] for row in seen}, {agent})
            report.equal(f"{name}: it is signed with its key, or not at all", {row[2] for row in seen},
                         {None} if name == "search" else {'sig1="https://bot.example"'})
            asked = {"/robots.txt", "/", "/free"} | others | ({"/no-images"} if name == "training" else set())
            report.equal(f"{name}: its group, and what its usages are denied for, is not asked for", {row[1] for row in seen}, asked)
            report.equal(f"{name}: nor kept", kept(name), {"/", "/free"} | others)
        told = harness.run([program, "consent", path + "/training", base + "/no-training"])
        report.check("consent is about its usages", told.returncode == 1 and "denied by robots.txt line 5" in told.stdout, told.stdout)
        told = harness.run([program, "consent", path + "/search", base + "/no-images"])
        report.check("and so it is in the other crawl", told.returncode == 0 and "image-ai: denied" in told.stdout, told.stdout)
        # It is the crawl's for good, whatever directory it is resumed from, and with import.
        seen.clear()
        result = crawl("training", base + "/again", where="/")
        report.equal("a crawl that goes on has it", (result.returncode, {row[:2] for row in seen}), (0, {("train-bot/1", "/again")}))
        other = crawl("training", "-s", "crawl.identity=search", base + "/more")
        report.check("and no other", other.returncode == 2 and "was begun as 'training'" in other.stderr, other.stderr)
        warc = glob.glob(path + "/search/warc/*.warc.gz")
        result = harness.run([program, "import", "-d", path + "/training", *warc])
        report.equal("import keeps it", result.returncode, 0)
        report.equal("and of what another has fetched only what neither the answer nor its robots.txt denies this one's usages for",
                     kept("training"), {"/", "/free", "/not-for-search", "/not-for-training"})
        result = harness.run([program, "import", "-d", path + "/training", "-s", "crawl.identity=search", *warc])
        report.check("and refuses another", result.returncode == 2 and "was begun as 'training'" in result.stderr, result.stderr)
    card = subprocess.run([program, "identity", "directory", "-c", "ragno.ini", "-s", "crawl.identity=training"], cwd=path,
                          capture_output=True, text=True, check=False)
    told = json.loads(card.stdout)
    report.equal("the published directory names who, for what, and what rendering does",
                 (told["client_name"], told["web_bot_auth"]["purpose"], told["web_bot_auth"]["rendering"], len(told["keys"])),
                 ("train-bot", "train-ai+image-ai", "Pages are not rendered: none of their scripts is run.", 1))
    for options, word in ((("-s", "crawl.identity=lunch"), 'no section [identity "lunch"]'),
                          (("-s", "crawl.identity=search", "-s", "robots.agent=x"), "is not that of identity 'search'"),
                          (("-s", "crawl.usages=lunch"), "expected a usage")):
        result = harness.run([program, "--test-config", "-c", path + "/ragno.ini", *options])
        report.check(f"{word} is told", result.returncode == 2 and word in result.stderr, result.stderr)
    with open(path + "/ragno.ini", "a", encoding="utf-8") as file:
        file.write("host_delay = 3s\n")
    result = harness.run([program, "--test-config", "-c", path + "/ragno.ini"])
    report.check("what is nobody's identity", result.returncode == 2 and "cannot be set for an identity" in result.stderr, result.stderr)


def all_agents_are_one(report, path):
    """Agents of a cluster with one configuration are one identity, by the requests of each; another one is not let in."""
    with open(path + "/ragno.ini", "w", encoding="utf-8") as file:
        file.write(IDENTITIES.replace("train.pem", path + "/train.pem"))
    report.equal("a key", harness.run([f"{harness.OUT}/ragno", "identity", "new", path + "/train.pem"]).returncode, 0)
    hosts = [f"http://h{i}.test" for i in range(24)]
    answers = {}
    for i, host in enumerate(hosts):
        answers[host + "/robots.txt"] = (200, {"Content-Type": "text/plain"}, RULES)
        links = [*PAGES, hosts[(i + 1) % len(hosts)] + "/", hosts[(i + 7) % len(hosts)] + "/"]
        answers[host + "/"] = sites_page(*links)
        answers.update({host + name: (200, {"Content-Type": "text/html", **fields}, name) for name, fields in PAGES.items()})
    with Nats(path) as nats, Sites(path, answers) as sites:
        make(report, nats)

        def command(directory, name):
            return sites.command(directory, "-q", "-c", path + "/ragno.ini", "-s", f"crawl.identity={name}", "-s", f"cluster.url={nats.url()}",
                                 "-s", f"cluster.name={NAME}", "-s", "cluster.lease=2s", "-s", "fetch.total_timeout=3s",
                                 *[host + "/" for host in hosts], wait="200ms")
        directories = [f"{path}/agent{i}" for i in range(AGENTS)]
        agents = []

        def start(directory):
            agents.append(subprocess.Popen(command(directory, "training"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        try:
            start(directories[0])
            report.check("one begins", harness.until(lambda: sites.headers), "")  # it has joined
            other = harness.run(command(path + "/other", "search"), 60)
            report.check("another identity is refused", other.returncode in (2, 17) and "crawl.identity" in other.stderr, other.stderr)
            for directory in directories[1:]:
                start(directory)
            report.equal("all end by themselves", [harness.ended(agent, 120) for agent in agents], [0] * AGENTS)
        finally:
            for agent in agents:
                harness.end_process(agent)
                agent.communicate()
        seen = list(sites.headers)
        report.equal("each request is its user agent's", {fields["User-Agent"] for _, _, fields in seen}, {"train-bot/1"})
        report.equal("and signed with its key", {fields.get("Signature-Agent") for _, _, fields in seen}, {'sig1="https://bot.example"'})
        report.equal("no host is asked for what its group, and what its usages are denied for", {name for _, name, _ in seen},
                     {"/robots.txt", "/", "/free", "/no-images", "/not-for-search"})
        kept = [{json.loads(row.split(" ", 2)[2])["url"] for file in glob.glob(d + "/warc/*.cdxj") for row in open(file, encoding="utf-8")
                 if not row.startswith("!")} for d in directories]
        report.check("each agent has kept some", all(len(urls) > 2 for urls in kept), [len(urls) for urls in kept])
        report.equal("and none what the answer denies", {url for urls in kept for url in urls if url.endswith("/no-images")}, set())
        report.equal("all together all that is free", {url for urls in kept for url in urls if url.endswith("/free")}, {h + "/free" for h in hosts})
        later = harness.run(["sh", "-c", 'cd / && exec "$0" "$@"', os.path.abspath(f"{harness.OUT}/ragno"), "-d", directories[0], "-s",
                             "crawl.identity=search"], 60)
        report.check("nor can an agent go on as another", later.returncode == 2 and "was begun as 'training'" in later.stderr, later.stderr)


def what_it_needs(report, path):
    for options in (("--purpose", "x"), ("-s", "crawl.contact=https://bot.example/")):
        result = page(*options)
        report.check("no page without a purpose and a contact", result.returncode == 2 and "it needs" in result.stderr, result.stderr)


if __name__ == "__main__":
    harness.main(what_it_says, what_it_needs, one_for_each_purpose, all_agents_are_one)
