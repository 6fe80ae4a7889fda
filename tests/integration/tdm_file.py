"""/.well-known/tdmrep.json: asked for once behind robots.txt, with robots.tdm_file; what it reserves is kept
with the captures and can be refused; a host without one, or with a broken one, is crawled all the same."""
import glob
import gzip

import harness
from page_server import PageServer

FILE = b'[{"location":"/closed/","tdm-reservation":1},{"location":"/","tdm-reservation":0}]'
PAGES = ["/", "/open/1", "/closed/1", "/closed/2"]


class Server(PageServer):
    def __init__(self):
        self.asked = []
        super().__init__(self.answer)

    def answer(self, host, path):
        self.asked.append((host, path))
        if path == "/robots.txt":
            return 404, {}, b""
        if path == "/.well-known/tdmrep.json":
            return {"127.0.2.1": (200, {"Content-Type": "application/json"}, FILE),
                    "127.0.2.2": (404, {}, b"none"),
                    "127.0.2.3": (503, {}, b"busy"),
                    "127.0.2.4": (200, {}, b"[{" * 200000),
                    "127.0.2.5": (301, {"Location": "/tdm/moved.json"}, b""),
                    "127.0.2.6": (302, {"Location": f"http://127.0.2.9:{self.port}/shared.json"}, b""),
                    "127.0.2.7": (302, {"Location": path}, b""),
                    "127.0.2.8": (302, {"Location": "http://127.0.2.9:1/nobody.json"}, b"")}[host]
        if path.endswith(".json"):
            return 200, {}, FILE
        return 200, {}, "".join(f"<a href={p}>{p}</a>" for p in PAGES).encode() + (host + path).encode()

    def files(self):
        return [host for host, path in self.asked if path.endswith("tdmrep.json")]


def crawl(server, directory, *options, hosts=(1, 2, 3, 4, 5, 6, 7, 8)):
    return harness.run([
        f"{harness.OUT}/ragno", "-d", directory, "-w", "0", "--ip-wait", "0", "--progress=never",
        "--set", "fetch.allow_addresses=127.0.0.0/8", "--set", "warc.metadata=yes", "--set",
        "politeness.retry=busy 1ms 2", "--set", "politeness.rest_max=1ms", *options,
        *(f"http://127.0.2.{i}:{server.port}/" for i in hosts)], 120)


def log_of(directory):
    with open(directory + "/crawl.log", encoding="latin-1") as file:
        return [" ".join(line.split()).split(" ") for line in file]


def reserved(report, path):
    with Server() as server:
        result = crawl(server, path + "/off")
        report.equal("without robots.tdm_file nobody is asked for it", (result.returncode, server.files()),
                     (0, []))
        result = crawl(server, path + "/on", "--set", "robots.tdm_file=yes")
        report.equal("with it the crawl ends", result.returncode, 0)
        files = server.files()
        report.equal("each host is asked once, a failing one a few times",
                     {host: files.count(host) for host in set(files)},
                     {f"127.0.2.{i}": {3: 3, 7: 6}.get(i, 1) for i in range(1, 9)})
        first = [path for host, path in server.asked if host == "127.0.2.1"][len(PAGES) + 1:]
        report.equal("it comes behind robots.txt and before the pages", first[:3],
                     ["/robots.txt", "/.well-known/tdmrep.json", "/"])
        lines = log_of(path + "/on")
        denied = {line[3].split("/", 2)[2] for line in lines if "usage-denied:train-ai+tdm" in line[-1]}
        report.equal("what it reserves is told of its pages, also where a redirect leads to it, on another host, too",
                     denied, {f"127.0.2.{i}:{server.port}/closed/{n}" for i in (1, 5, 6) for n in (1, 2)})
        pages = [line for line in lines if line[1] == "200" and "/closed/" in line[3]]
        report.equal("and of no other host's", len(pages), 16)
        warc = b"".join(gzip.open(name).read() for name in glob.glob(path + "/on/warc/*.warc.gz"))
        report.check("the file is in the archive, and what it says in the metadata", FILE in warc and
                     warc.count(b"usage-denied: train-ai+tdm") == 6, warc.count(b"usage-denied"))
        # A second run knows it from the database, and asks nobody.
        n = len(server.asked)
        result = crawl(server, path + "/on", "--set", "robots.tdm_file=yes", "--set",
                       "politeness.usage=tdm no-fetch", f"http://127.0.2.1:{server.port}/closed/9", hosts=())
        closed = [line for line in log_of(path + "/on") if line[3].endswith("/closed/9")]
        report.check("politeness.usage refuses by what is kept of it", result.returncode == 0 and
                     [line[1] for line in closed] == ["-5001"] and server.asked[n:] == [],
                     f"{closed} {server.asked[n:]}")
        filtered = crawl(server, path + "/filter", "--set", "robots.tdm_file=yes", "--set",
                         "store.filter=not UsageDenied(tdm)", hosts=(1,))
        stored = b"".join(gzip.open(name).read() for name in glob.glob(path + "/filter/warc/*.warc.gz"))
        report.check("filters see it", filtered.returncode == 0 and b"/open/1\r\n" in stored and
                     b"WARC-Target-URI: http://127.0.2.1:%d/closed/1" % server.port not in stored)
        audit = harness.run([f"{harness.OUT}/ragno", "audit", path + "/on"])
        report.equal("the audit agrees", audit.returncode, 0)
        verify = harness.run([f"{harness.OUT}/ragno", "verify", path + "/on"])
        report.equal("and verify", verify.returncode, 0)


if __name__ == "__main__":
    harness.main(reserved)
