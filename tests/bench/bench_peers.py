"""ragno beside wget2, on the real pages of real_web.py, in turn, RUNS times (3).

    peers.wget2.R.cpu_ratio        CPU of ragno without WARC by that of wget2 that keeps nothing
    peers.wget2.R.warc_cpu_ratio   of ragno with WARC by that of wget2 that keeps files
    peers.wget2.onehost.cpu_ratio  the same as the first for one host without delays (the pages of
                                   openjdk-17-doc), at which each has 8 connections
    peers.wget2.onehost.rate_ratio answers a second there, of ragno by those of wget2

PEERS=R,onehost runs some. All by response, since the two do not ask for quite the same. wget2 has no name server option and knows
no other port than the URL's: it runs with a hosts file and an nsswitch.conf of its own (mount
namespace) and nginx on port 80, which takes root. What is missing is named; then nothing is printed.
PEER_THREADS (50) are wget2's connections.
"""
import csv
import os
import shutil
import subprocess
import sys

import crawls
import real_web

RUNS = int(os.environ.get("RUNS") or 3)
THREADS = os.environ.get("PEER_THREADS", "50")
ONE_HOST, ONE_HOST_CONNECTIONS = "/usr/share/doc/openjdk-17-jre-headless/api", 8
WANTED = [word for word in os.environ.get("PEERS", "").split(",") if word]
ISOLATE = ('mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/nsswitch.conf && shift 2 && '
           'exec "$@"')


def lacking():
    found = [] if shutil.which("wget2") else ["wget2 (apt-get install wget2)"]
    if os.getuid() != 0 or not shutil.which("unshare"):
        found.append("root, for nginx on port 80 and a hosts file of its own")
    return found


def responses(path):
    """How many answers wget2 had, by its statistics."""
    with open(path, errors="replace") as file:
        return sum(1 for row in csv.reader(file) if len(row) > 3 and row[0].isdigit())


def wget2_command(path, nginx, seeds, keep, threads=THREADS, domain=real_web.DOMAIN):
    """What it keeps is in path/out, its statistics in path/stats.csv."""
    with open(f"{path}/nsswitch.conf", "w") as file:
        file.write("hosts: files\n")
    out = f"{path}/out"
    shutil.rmtree(out, ignore_errors=True)
    command = ["unshare", "-m", "sh", "-c", ISOLATE, "sh", nginx.hosts, f"{path}/nsswitch.conf",
               "wget2", "--no-config", "-q", "-r", "-l", "inf", "-H", f"--domains={domain}",
               f"--max-threads={threads}", "--tries=1", "--ignore-tags=img,link,script",
               "--http2=off", f"--stats-site=csv:{path}/stats.csv", f"--input-file={seeds}"]
    return command + (["-x", "-P", out] if keep else ["-O", "/dev/null"])


def wget2(path, nginx, seeds, keep, threads=THREADS):
    one = crawls.run(wget2_command(path, nginx, seeds, keep, threads))
    if one.code not in (0, 8):  # 8: some answers were errors
        raise RuntimeError(f"wget2 ended with exit status {one.code}: {one.output[-500:]}")
    one.status = {"2xx": responses(f"{path}/stats.csv")}
    return one


def some_seeds(path, nginx):
    """All of them, or the first SCALE of them."""
    with open(nginx.seeds) as file:
        lines = file.readlines()
    with open(f"{path}/seeds.txt", "w") as file:
        file.writelines(lines[:max(20, int(len(lines) * crawls.SCALE))])
    return f"{path}/seeds.txt"


def version():
    return subprocess.run(["wget2", "--version"], capture_output=True, text=True,
                          check=False).stdout.split("\n")[0]


def can_run():
    for what in lacking():
        crawls.say(f"peers: missing: {what}")
    return not lacking()


def peers(path):
    manifest = real_web.prepare() if can_run() else None
    if manifest is None:
        return
    crawls.say(real_web.describe(manifest))
    crawls.say(f"{version()}, {THREADS} threads; ragno with as many connections")
    ratios = {"cpu_ratio": (False, "warc.enabled=no"), "warc_cpu_ratio": (True, "warc.enabled=yes")}
    with real_web.RealWeb(path, port=80) as nginx, \
            crawls.Web(path, hosts=1, zone=nginx.zone) as web:
        seeds = some_seeds(path, nginx)
        for name, (keep, option) in ratios.items():
            runs = {label: [] for label, _ in crawls.programs()}
            runs["wget2"] = []
            for _ in range(RUNS):
                runs["wget2"].append(wget2(path, nginx, seeds, keep))
                for label, program in crawls.programs():
                    runs[label].append(crawls.crawl(program, web, path,
                                                    (option, f"scope.domains={real_web.DOMAIN}"), seeds=seeds,
                                                    http=80, connections=THREADS))
            report("R", name, runs)


def one_host(path):
    """The pages of one package as they are. The host is the crawler's own: its section says so."""
    if not can_run() or not os.path.isdir(ONE_HOST):
        crawls.say("peers: onehost is left out: openjdk-17-doc is not installed"
                   if not os.path.isdir(ONE_HOST) else "peers: onehost is left out")
        return
    name, seeds, config = real_web.host_name(0), f"{path}/one.txt", f"{path}/own.ini"
    with open(seeds, "w") as file:
        file.write(f"http://{name}/index.html\n")
    with open(config, "w") as file:
        file.write(f"[site \"{name}\"]\nconnections = {ONE_HOST_CONNECTIONS}\n")
    real_web.write_names(path)
    options = ["warc.enabled=no", f"scope.domains={real_web.DOMAIN}"]
    with real_web.RealWeb(path, port=80, root=ONE_HOST, names=path) as nginx, \
            crawls.Web(path, hosts=1, zone=nginx.zone) as web:
        runs = {"wget2": [], "this": []}
        for _ in range(RUNS):
            runs["wget2"].append(wget2(path, nginx, seeds, False, ONE_HOST_CONNECTIONS))
            runs["this"].append(crawls.crawl(f"{crawls.BUILD}/ragno", web, path, options, seeds=seeds,
                                             http=80, connections=THREADS, config=config))
    report("onehost", "cpu_ratio", runs, "rate_ratio")


def requests(one):
    """Answers of a crawl by ragno: its pages and files of rules."""
    return one.status["pages"] + one.status["hosts"]


def report(workload, name, runs, rate_name=None):
    def cpu_ms(label, n):
        return crawls.median(runs[label], lambda one: one.cpu_s * 1000 / n(one))

    def rate(label, n):
        return crawls.median(runs[label], lambda one: n(one) / one.wall_s)

    peer = cpu_ms("wget2", lambda one: one.status["2xx"])
    crawls.say(f"{name}: wget2 {peer:.4f} ms an answer,"
               f" {rate('wget2', lambda one: one.status['2xx']):.0f} a second")
    for label in runs:
        if label != "wget2":
            own = cpu_ms(label, requests)
            crawls.say(f"{name}: ragno ({label}) {own:.4f} ms an answer, {rate(label, requests):.0f} a second")
            suffix = "" if label == "this" else ".other"
            crawls.put(f"peers.wget2.{workload}.{name}{suffix}", own / peer, "", 3)
            if rate_name:
                crawls.put(f"peers.wget2.{workload}.{rate_name}{suffix}", rate(label, requests) /
                           rate("wget2", lambda one: one.status["2xx"]), "", 3)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    ALL = {"R": peers, "onehost": one_host}
    crawls.main(*[ALL[word] for word in WANTED or ALL])
