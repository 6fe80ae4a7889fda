"""Hosts that are dropped or parked keep their URLs, are listed, and come back with all of them: by a
command, by a seed that names them, by a second start."""
import harness
from name_server import NameServer


def ragno(*words):
    return harness.run([f"{harness.OUT}/ragno", *words])


def lost_in_lies(path, web, names, seeds):
    """A crawl during which the name server says that no name exists; the rules give up at once."""
    names.mood = "nxdomain"
    return harness.crawl(web, path + "/crawl", "--set", f"dns.servers=127.0.0.1:{names.port}",
                         "--set", "politeness.retry=no-name 0 0 drop", "--set", "dns.negative_ttl=0",
                         "--no-warc", seeds=seeds, timeout=60)


def fetched(directory):
    return {row[0] for row in harness.db_rows(directory) if row[2] > 0}


def dropped_hosts_come_back(report, path):
    with harness.Web(path, hosts=20, pages=200) as web, NameServer(web.dns) as names:
        seeds = path + "/all-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{host}/\n" for host in web.hosts())
        result = lost_in_lies(path, web, names, seeds)
        report.equal("a crawl whose names do not exist ends, and says that no seed was fetched",
                     result.returncode, 19)
        report.check("its summary says what is kept", "20 URLs of 20 hosts" in result.stdout,
                     result.stdout[-800:])
        listed = ragno("db", path + "/crawl", "hosts", "--parked").stdout.splitlines()
        report.check("hosts that were dropped are listed, with why, when and how many URLs",
                     len(listed) == 20 and all(line.split("\t")[1:3] == ["dropped", "no-name"]
                                               and line.endswith("\t1") for line in listed), listed)
        report.equal("nothing of them comes next",
                     ragno("db", path + "/crawl", "schedule", "--top", "9").stdout, "")
        report.equal("verify agrees", ragno("verify", path + "/crawl").returncode, 0)
        origin = listed[0].split("\t")[0]
        one = ragno("schedule", path + "/crawl", "revive", origin.split("//")[1])
        report.check("one host comes back by its name", one.returncode == 0 and
                     "1 hosts are brought back, with 1 URLs" in one.stderr, one.stderr)
        report.equal("a name that is not set aside is told so",
                     ragno("schedule", path + "/crawl", "revive", "nobody.example").returncode, 1)
        names.mood = "pass"
        second = listed[1].split("\t")[0]
        result = harness.crawl(web, path + "/crawl", second + "/", seeds="/dev/null", timeout=60)
        left = len(ragno("db", path + "/crawl", "hosts", "--parked").stdout.splitlines())
        report.check("so does one that a seed names", result.returncode == 0 and left == 18, left)
        rest = ragno("schedule", path + "/crawl", "refused")
        report.check("and the others all at once", "18 hosts are brought back" in rest.stderr,
                     rest.stderr)
        result = harness.crawl(web, path + "/crawl", seeds="/dev/null", timeout=60)
        report.equal("the crawl goes on with them", result.returncode, 0)
        report.equal("nobody is set aside any more",
                     ragno("db", path + "/crawl", "hosts", "--parked").stdout, "")
        allowed = {u for u in web.graph_urls() if not web.hosts()[u.split("/")[2]][1]
                   or "/private/" not in u}
        report.same_set("and every page is fetched", allowed - fetched(path + "/crawl"), set())
        report.equal("verify agrees at the end", ragno("verify", path + "/crawl").returncode, 0)


if __name__ == "__main__":
    harness.main(dropped_hosts_come_back)
