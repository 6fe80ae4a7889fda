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
                         "--set", "politeness.name_recheck=0",
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
        result = harness.crawl(web, path + "/crawl", second + "/", "--set",
                               "politeness.name_recheck=0", seeds="/dev/null", timeout=60)
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


def names_that_come_late(report, path):
    """A name that does not exist is asked for again, ever later, and once more before the crawl ends."""
    with harness.Web(path, hosts=10, pages=60) as web, NameServer(web.dns) as names:
        late = "h00003.web.test"
        seeds = path + "/all-seeds.txt"
        with open(seeds, "w") as file:
            file.writelines(f"http://{host}/\n" for host in web.hosts())
            file.write("http://stalls-1.web.test/\n")  # keeps the crawl from its end
        names.missing.add(late)
        command = harness.crawl_command(
            web, path + "/crawl", "--set", f"dns.servers=127.0.0.1:{names.port}", "--set",
            "politeness.name_recheck=500ms", "--set", "dns.negative_ttl=0", "--no-warc", "--set",
            "fetch.first_byte_timeout=500ms", "--set", "politeness.retry=timeout 100ms 20", "--set",
            "politeness.rest_max=200ms", "--set", "politeness.park_after=0", seeds=seeds)
        log = path + "/crawl/crawl.log"

        def came():
            names.missing.clear()
            with open(log, encoding="latin-1") as file:
                return any(f" 200 " in line and late in line for line in file)

        result = harness.run_until(command, lambda: names.asked[late] >= 6 and came())
        report.check("a name that comes late is fetched from", result.returncode == 11 and
                     came(), f"{result.returncode} {names.asked[late]} {result.stderr[-300:]}")
    with harness.Web(path, hosts=10, pages=60) as web, NameServer(web.dns) as names:
        names.missing.add(late)
        result = harness.crawl(web, path + "/end", "--set", f"dns.servers=127.0.0.1:{names.port}",
                               "--set", "dns.negative_ttl=0", "--no-warc", f"http://{late}/",
                               timeout=60)
        lines = [line for line in open(path + "/end/crawl.log", encoding="latin-1")
                 if f"dns:{late}" in line]
        report.check("a name that does not exist is asked for once more before the end",
                     result.returncode == 0 and len(lines) == 2, f"{result.returncode} {lines}")
        listed = ragno("db", path + "/end", "hosts", "--parked").stdout
        report.check("and is dropped", f"http://{late}\tdropped\tno-name" in listed, listed)


if __name__ == "__main__":
    harness.main(dropped_hosts_come_back, names_that_come_late)
