"""One afternoon at the desk, as docs/afternoon.md tells it: a crawl of real documentation that nginx serves, two complaints,
an erasure while it runs, a backup, a disk that fills, a restore on another path, a comparison.

Each command of the document is run in its order, and prints the lines that are shown there, figures aside. What they promise
is judged by nginx's log. WRITE=1 writes the document anew."""
import ctypes
import datetime
import glob
import os
import re
import shutil
import subprocess
import time

import harness
from real_servers import Program

DOCUMENT = "docs/afternoon.md"
RAGNO = os.path.abspath(f"{harness.OUT}/ragno")
WRITE = os.environ.get("WRITE", "") not in ("", "0")
SITES = {"python.docs.test": ("127.0.0.2", "/usr/share/doc/python3-doc/html"),
         "handbook.docs.test": ("127.0.0.3", "/usr/share/doc/debian-handbook/html/en-US"),
         "postgresql.docs.test": ("127.0.0.4", "/usr/share/doc/postgresql-doc-15/html"),
         "httpd.docs.test": ("127.0.0.5", "/usr/share/doc/apache2-doc/manual")}
CLONE_NEWNS = 0x20000


def nginx(path):
    """A virtual host for each of SITES, and a log of time, host and URI."""
    port = harness.free_port()
    sites = f"server {{ listen 127.0.0.1:{port}; return 404; }}\n" + "\n".join(f"server {{ listen {address}:{port}; server_name {name}; root {root}; }}"
                      for name, (address, root) in SITES.items())
    with open(path + "/nginx.conf", "w", encoding="ascii") as file:
        file.write(f"""{"user root;" if os.getuid() == 0 else ""} daemon off; worker_processes 1; pid {path}/nginx.pid;
error_log {path}/error.log; events {{ worker_connections 64; }}
http {{
  log_format seen '$msec $host $request_time $request_uri'; access_log {path}/access.log seen;
  client_body_temp_path {path}/t1; proxy_temp_path {path}/t2; fastcgi_temp_path {path}/t3; uwsgi_temp_path {path}/t4;
  scgi_temp_path {path}/t5; include /etc/nginx/mime.types; gzip on; absolute_redirect off;
  {sites} }}
""")
    server = Program(["nginx", "-p", path, "-c", path + "/nginx.conf"], port)
    server.port = port
    return server


def small_disk(path):
    """Mounts one there, for this process and those that it starts; whether that may be."""
    os.mkdir(path)
    return ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0 and all(harness.run(words).returncode == 0 for words in (
        ["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", path]))


def steps(text):
    """(command, output) of each block, with the places of the output in the text."""
    found = []
    for block in re.finditer(r"^```\n(.*?)^```\n", text, re.S | re.M):
        for step in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block[1], re.M):
            found.append((step[1], step[2], block.start(1) + step.start(2), block.start(1) + step.end(2)))
    return found


def masked(output):
    """What two afternoons have in common: lines without figures and paths of URLs, each once."""
    text = re.sub(r"(http://[a-z.]+/)[^\s,]*", r"\1", re.sub(r"[^\S\n]+", " ", output))
    return {re.sub(r"\d[\d.,:TZ-]*( [kM]?B\b)?", "0", line.strip().removesuffix(", open")) for line in text.splitlines()} - {""}


class Afternoon:
    """Runs commands as they are shown, in a directory of its own."""

    def __init__(self, path, web, server):
        self.path, self.crawl, self.missed = path, None, []
        self.environment = dict(os.environ, PATH=f"{path}/bin:{os.environ['PATH']}", RAGNO_DNS_SERVERS=f"127.0.0.1:{web.dns}",
                                RAGNO_FETCH_PORT_MAP=f"80:{server.port}", RAGNO_FETCH_ALLOW_ADDRESSES="127.0.0.0/8")
        os.mkdir(path + "/bin")
        os.symlink(RAGNO, path + "/bin/ragno")
        with open(path + "/seeds.txt", "w", encoding="ascii") as file:
            file.writelines(f"http://{name}/index.html\n" for name in SITES)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.crawl:
            harness.end_process(self.crawl)

    def asked(self, *hosts):
        """When nginx was asked for them, oldest first."""
        with open(self.path + "/access.log", encoding="ascii") as file:
            return [float(line.split()[0]) for line in file if line.split()[1] in hosts]

    def begun(self, host, moment):
        """How many requests for a host began after that: nginx writes a line when one has ended."""
        with open(self.path + "/access.log", encoding="ascii") as file:
            return sum(float(words[0]) - float(words[2]) > moment for words in map(str.split, file) if words[1] == host)

    def limit(self):
        return self.shell("ragno status disk/crawl | sed -n 's/^limit *//p'").strip()

    def lines(self, name):
        with open(f"{self.path}/{name}", encoding="utf-8") as file:
            return file.read().splitlines()

    def shell(self, command):
        """What a terminal shows."""
        return subprocess.run(["sh", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=2 * harness.PATIENCE_S).stdout

    def begin(self, command):
        self.crawl = subprocess.Popen(["sh", "-c", "exec " + command.rstrip("&")], cwd=self.path, env=self.environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait("pages of all sites", lambda: all(len(self.asked(name)) > 20 for name in SITES))
        return ""

    def wait(self, what, condition):
        """Until it holds; missed knows what did not come, as when no crawl runs that could bring it about."""
        if not harness.until(lambda: condition() or self.crawl.poll() is not None) or not condition():
            self.missed.append(what)


def told(afternoon, command):
    """Runs it when its hour has come; what it prints."""
    others = [name for name in SITES if name not in ("handbook.docs.test", "postgresql.docs.test")]
    if command.endswith("&"):
        return afternoon.begin(command)
    if command.startswith("ragno backup"):  # something has come since the erasure
        asked = len(afternoon.asked(*others))
        afternoon.wait("pages behind the erasure", lambda: len(afternoon.asked(*others)) > asked + 50)
    if command.startswith("ragno ctl disk/crawl stop"):  # and since the disk was full
        asked = len(afternoon.asked(*others))
        afternoon.wait("pages behind the full disk", lambda: len(afternoon.asked(*others)) > asked + 50)
    if "--absent" in command:
        afternoon.wait("another WARC file", lambda: glob.glob(afternoon.path + "/disk/crawl/warc/*-00002*"))
    if command.startswith("cut"):
        afternoon.wait("two alerts", lambda: len(afternoon.lines("alerts")) == 2)
    output = afternoon.shell(command)
    if command.startswith("dd"):
        afternoon.wait("a full disk", lambda: afternoon.limit() == "disk")
    if command.startswith("rm"):
        afternoon.wait("room again", lambda: afternoon.limit() != "disk")
    if command.endswith("stop"):
        afternoon.crawl.wait(harness.PATIENCE_S)
    return output


def judged(report, afternoon, command, output, moments):
    """What a command promises, by nginx's log: moments has when the answer was there that a host is left alone."""
    again = [afternoon.begun(f"{name}.docs.test", moment) for name, moment in sorted(moments.items())]
    if command.endswith("--deny"):
        moments["handbook"] = time.time()
        # The log is written with each commit: of a crawl that runs, the letter may lack the last few of them.
        n, last = re.search(r"requests +(\d+).*last +(\S+ \S+) UTC", output, re.S).groups()
        n, last = int(n), datetime.datetime.fromisoformat(last + "+00:00").timestamp()
        times = [0, *afternoon.asked("handbook.docs.test"), time.time()]
        report.check("the letter has each request of the server's log up to its last", n > 0 and times[n - 1] < last < times[n + 1],
                     f"{n}, {last}: {times}")
    elif command.startswith("ragno forget"):
        moments["postgresql"] = time.time()
    elif command.startswith(("ragno backup", "ragno ctl disk/crawl stop")):
        report.check("the crawl is the process that was started", afternoon.crawl.returncode in (None, 11), str(afternoon.crawl.returncode))
        report.equal("neither who denied us nor who is forgotten is asked again", again, [0, 0])
    elif command.startswith("ragno verify"):
        report.check("no problem is found", "\t0 problems" in output, output)
    elif command.startswith("ragno -d elsewhere"):
        report.equal("elsewhere neither is asked either", again, [0, 0])


def as_it_is_told(report, path):
    missing = [root for _, root in SITES.values() if not os.path.exists(root + "/index.html")]
    if missing or not shutil.which("nginx"):
        report.skip("an afternoon", f"no {'nginx' if not missing else missing[0]} (make deps-dev)")
        return
    if not small_disk(path + "/disk"):
        report.skip("an afternoon", "no small disk may be mounted here")
        return
    harness.unlogged("requests of erased pages are erased, too")
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    with open(path + "/zone", "w", encoding="ascii") as zone:
        zone.writelines(f"{name}={address}\n" for name, (address, _) in SITES.items())
    os.mkdir(path + "/web")
    written, end, moments = "", 0, {}
    with harness.Web(path + "/web", hosts=1, zone=path + "/zone") as web, nginx(path) as server, Afternoon(path, web, server) as afternoon:
        for command, shown, first, last in steps(text):
            output = told(afternoon, command)
            written, end = written + text[end:first] + output, last
            if not WRITE:
                report.same_set(command.split("\n")[0], masked(output), masked(shown))
            judged(report, afternoon, command, output, moments)
        report.equal("all that was waited for has come", afternoon.missed, [])
        shutil.copytree(path + "/disk/crawl", path + "/crawl")
    if WRITE:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(written + text[end:])


if __name__ == "__main__":
    harness.main(as_it_is_told)
