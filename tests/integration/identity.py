"""ragno identity page: what a site can read about the crawler is what the crawler does and says."""
import re

import harness
from page_server import PageServer


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


def what_it_needs(report, path):
    for options in (("--purpose", "x"), ("-s", "crawl.contact=https://bot.example/")):
        result = page(*options)
        report.check("no page without a purpose and a contact", result.returncode == 2 and "it needs" in result.stderr, result.stderr)


if __name__ == "__main__":
    harness.main(what_it_says, what_it_needs)
