"""`ragno backup` and `ragno restore`: beside a crawl that runs, again and again into the same place,
killed at any instant; `ragno verify` finds no problem in what comes of it, and the crawl goes on from it."""
import os
import shutil
import subprocess

import harness
from forget import OPTIONS, left, pages, ragno, verify

RAGNO = f"{harness.OUT}/ragno"


def allowed(web):
    hosts = web.hosts()
    return {u for u in web.graph_urls() if not (hosts[u.split("/")[2]][1] and "/private/" in u)}


def fetched(directory):
    return {u for u, n in pages(directory).items() if n > 0 and "/go/" not in u}


def beside_a_crawl(report, path):
    directory, to, back = path + "/crawl", path + "/backup", path + "/back"
    with harness.Web(path, hosts=20, addresses=20, pages=1500) as web:
        command = harness.crawl_command(web, directory, *OPTIONS, "--warc-max-size", "2M",
                                        "--set", "sieve.least_urls=0", wait="15ms",
                                        ip_wait="5ms")
        with subprocess.Popen(command) as process:
            harness.until(lambda: len(web.requests()) > 400)
            for n in range(2):
                answer = ragno("backup", directory, to)
                report.equal(f"backup {n} beside the crawl", (answer.returncode, answer.stderr), (0, ""))
                verify(report, f"backup {n}", to)
            open_files = [name for folder, _, names in os.walk(to) for name in names
                          if os.stat(os.path.join(folder, name)).st_mode & 0o027]
            report.equal("its files are for its user and group", open_files, [])
            some = fetched(to)
            report.check("it has what was crawled, and not all", 100 < len(some) < len(allowed(web)), len(some))
            report.equal("the crawl ends as ever", harness.ended(process), 0)
        verify(report, "the crawl itself", directory)
        moment = len(web.requests())
        answer = ragno("restore", to, back)
        report.equal("it is brought back elsewhere", (answer.returncode, answer.stderr), (0, ""))
        verify(report, "brought back", back)
        twice = ragno("restore", to, back)
        report.equal("not over what is there", twice.returncode, 3)
        report.equal("the crawl goes on from there", harness.crawl(web, back, *OPTIONS).returncode, 0)
        web.stop()
        again = {harness.url_of(r) for r in web.requests()[moment:]}
        report.equal("what it had is not fetched again", sorted(again & some), [])
        report.same_set("everything is there at last", fetched(back), allowed(web))
        verify(report, "after going on", back)
        verify(report, "the backup is as it was", to)
        report.equal("and has what it had", fetched(to), some)


def again_and_again(report, path):
    directory, to = path + "/crawl", path + "/backup"
    with harness.Web(path, hosts=10, addresses=10, pages=300) as web:
        harness.crawl(web, directory, *OPTIONS, "--max-pages", "100")
        ragno("backup", directory, to)
        harness.crawl(web, directory, *OPTIONS)
    answer = ragno("backup", directory, to)
    report.check("only what is new is written", answer.returncode == 0 and " 0 as they were" not in
                 answer.stdout, answer.stdout)
    report.equal("all of it is there", pages(to), pages(directory))
    verify(report, "the second", to)
    for name in os.listdir(directory + "/warc"):
        report.check(f"finished files are linked: {name}", os.path.samefile(f"{directory}/warc/{name}",
                                                                            f"{to}/warc/{name}"))
    host = sorted(pages(directory))[0].split("/")[2]
    ragno("forget", directory, host)
    report.equal("after an erasure", ragno("backup", directory, to).returncode, 0)
    report.equal("nothing of it is left in the backup either", left(to, host), [])
    verify(report, "after an erasure", to)


def killed_at_any_instant(report, path):
    path = os.path.realpath(path)
    directory, to = path + "/crawl", path + "/backup"
    with harness.Web(path, hosts=8, addresses=8, pages=150) as web:
        harness.crawl(web, directory, *OPTIONS, "--max-pages", "60")
        ragno("backup", directory, to)
        shutil.copytree(to, path + "/as-it-was")
        harness.crawl(web, directory, *OPTIONS)
    shim = {**os.environ, "IO_DIR": to,
            "LD_PRELOAD": f"{os.path.abspath(harness.OUT)}/crash/io_shim.so"}
    harness.run([RAGNO, "backup", directory, to], env={**shim, "IO_COUNT": path + "/count"})
    calls = int(open(path + "/count", encoding="utf-8").read())
    wrong, refused = [], 0
    for n in range(1, calls + 1, 1 if harness.FULL else max(1, calls // 16)):
        shutil.rmtree(to)
        shutil.copytree(path + "/as-it-was", to)
        harness.run([RAGNO, "backup", directory, to], env={**shim, "IO_FAIL": str(n), "IO_HOW": "kill"})
        back = f"{path}/back{n}"
        answer = ragno("restore", to, back)
        refused += answer.returncode == 17
        if answer.returncode == 0 and ragno("verify", back).returncode != 0:
            wrong.append((n, "restored"))
        if answer.returncode not in (0, 17) or ragno("backup", directory, to).returncode != 0 or \
                ragno("verify", to).returncode != 0 or pages(to) != pages(directory):
            wrong.append((n, answer.stderr))
        shutil.rmtree(back, ignore_errors=True)
    report.check("what is not whole is refused", refused > 5, refused)
    report.equal(f"killed at one of {calls} calls, the next backup is whole", wrong, [])


def what_a_power_cut_leaves(report, path):
    """The power is cut when the backup has said that it is done, and nothing is on the disk that was not synced."""
    path = os.path.realpath(path)
    directory, to, log = path + "/crawl", path + "/backup", path + "/log"
    tools = os.path.abspath(harness.OUT) + "/crash"
    with harness.Web(path, hosts=8, addresses=8, pages=150) as web:
        harness.crawl(web, directory, *OPTIONS, "--no-warc")  # links to its files are not recorded
    answer = harness.run([RAGNO, "backup", directory, to],
                         env={**os.environ, "IO_DIR": to, "IO_RECORD": log, "LD_PRELOAD": tools + "/io_shim.so"})
    report.equal("the backup is made", answer.returncode, 0)
    count = harness.run([f"{tools}/power_cut", log, "count"]).stdout.strip()
    for mode in ("drop", "random"):
        replayed, back = f"{path}/{mode}", f"{path}/back-{mode}"
        os.mkdir(replayed)
        harness.run([f"{tools}/power_cut", log, "replay", count, mode, "1", to, replayed])
        answer = ragno("restore", replayed, back)
        report.equal(f"{mode}: it can be restored", answer.returncode, 0)
        report.equal(f"{mode}: and is whole", ragno("verify", back).returncode, 0)
        report.equal(f"{mode}: with all its pages", pages(back), pages(directory))


def each_night(report, path):
    """What is shipped for cron: two places in turn, of which one is whole at any time."""
    directory, to = path + "/crawl", path + "/nights"
    os.mkdir(path + "/bin")
    os.symlink(os.path.abspath(RAGNO), path + "/bin/ragno")
    environment = {**os.environ, "PATH": f"{path}/bin:{os.environ['PATH']}"}

    def night():
        return harness.run(["config/nightly-backup", directory, to], env=environment)

    def latest():
        return os.readlink(to + "/latest")

    with harness.Web(path, hosts=20, addresses=20, pages=1500) as web:
        with subprocess.Popen(harness.crawl_command(web, directory, *OPTIONS, wait="15ms", ip_wait="5ms")) as process:
            for n in range(3):
                harness.until(lambda m=n: len(web.requests()) > 200 * (m + 1) or process.poll() is not None)
                told = night()
                report.equal(f"night {n}: beside a crawl that runs, silent", (told.returncode, told.stdout + told.stderr), (0, ""))
                report.equal(f"night {n}: the places take turns", latest(), str(n % 2))
            report.equal("the crawl ends as ever", harness.ended(process), 0)
    before = fetched(to + "/latest/")
    os.rename(directory + "/crawl.mdb", path + "/aside")
    told = night()
    report.check("a night that fails is told", told.returncode != 0 and told.stderr != "", told)
    report.equal("and leaves the last one", (latest(), fetched(to + "/latest/")), ("0", before))
    os.rename(path + "/aside", directory + "/crawl.mdb")
    report.equal("the next has all", (night().returncode, latest(), fetched(to + "/latest/")), (0, "1", fetched(directory)))
    report.equal("it is brought back", ragno("restore", to + "/latest/", path + "/back").returncode, 0)
    verify(report, "brought back", path + "/back")
    report.same_set("with all pages", fetched(path + "/back"), allowed(web))
    report.equal("two words are asked for", harness.run(["config/nightly-backup", directory]).returncode, 2)


if __name__ == "__main__":
    harness.main(beside_a_crawl, again_and_again, killed_at_any_instant, what_a_power_cut_leaves, each_night)
