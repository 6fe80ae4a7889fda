"""Words that are no command and no seed stop before anything is made; seeds that cannot be fetched are
named, with the reason and a remedy; source tags."""
import os

import harness

RAGNO = f"{harness.OUT}/ragno"


def slips(report, path):
    directory = path + "/crawl"
    for words, sentence in ((["whi", "http://a.example/"], "did you mean 'why'?"),
                            (["frobnicate"], "neither a command nor a URL"),
                            (["localhost"], "http://localhost/"),
                            (["-d", directory, "http://127.0.0.1/", "frobnicate"],
                             "'frobnicate' is not an http or https URL"),
                            (["-d", directory, "ftp://a.example/"], "'ftp://a.example/' is not")):
        result = harness.run([RAGNO, *words])
        report.check(f"ragno {' '.join(words)}: exit 2 and a sentence", result.returncode == 2 and
                     sentence in result.stderr, f"{result.returncode} {result.stderr}")
    report.check("nothing was made", not os.path.exists(directory) and not os.path.exists("crawl"))


def write(path, *lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def failed_seeds(report, path):
    with harness.Web(path, hosts=2, pages=20) as web:
        with open(path + "/zone.txt", "w", encoding="utf-8"):
            pass
        seeds = write(path + "/bad.txt", "http://nobody.example/", "http://10.0.0.7/")
        result = harness.crawl(web, path + "/none", "--no-warc", seeds=seeds)
        report.equal("a crawl none of whose seeds could be fetched is exit 19", result.returncode, 19)
        report.check("it says so", "none of the seeds could be fetched" in result.stdout, result.stdout)
        report.check("a name that does not exist is named, with what to do",
                     "http://nobody.example/: the name does not exist: check how it is spelled"
                     in result.stdout, result.stdout)
        report.check("a private address, too",
                     "http://10.0.0.7/: its address is private or special: fetch.allow_addresses"
                     in result.stdout, result.stdout)
        seeds = write(path + "/mixed.txt", "http://nobody.example/ wrong  # a remark",
                      f"http://{sorted(web.hosts())[0]}/ news # another")
        result = harness.crawl(web, path + "/some", "--no-warc", seeds=seeds)
        report.equal("one that could be fetched is enough", result.returncode, 0)
        report.check("the other is named all the same", "http://nobody.example/: the name"
                     in result.stdout, result.stdout)
        with open(path + "/some/crawl.log", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        pages = [r for r in rows if r[4] != "P" and int(r[1]) > 0]
        report.check("crawl.log has the seed's tag behind each page that comes from it",
                     len(pages) > 5 and all(r[10] == "news" for r in pages), str(pages[:3]))


def forbidden(report, path):
    with harness.Web(path, hosts=20, pages=200) as web:
        host = next(name for name, row in web.hosts().items() if row[1])
        result = harness.run([RAGNO, "-d", path + "/crawl", "--no-warc", "-w", "0", "--ip-wait", "0",
                              "--set", f"fetch.port_map=80:{web.http}",
                              "--set", f"dns.servers=127.0.0.1:{web.dns}",
                              "--set", "fetch.allow_addresses=127.0.0.0/8",
                              f"http://{host}/private/x.html"])
        report.equal("a seed that robots.txt forbids is no success", result.returncode, 19)
        report.check("the line is named", "robots.txt forbids it (line " in result.stdout and
                     "Disallow: /private/" in result.stdout, result.stdout)


if __name__ == "__main__":
    harness.main(slips, failed_seeds, forbidden)
