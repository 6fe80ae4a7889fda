"""`ragno ctl`: a running crawl is steered by its socket, at once, by many, and never by nonsense."""
import json
import os
import signal
import socket
import stat
import subprocess
import time

import harness
from running import AT_ONCE_S, RAGNO, Crawl, now_us, pass_time


def pause_and_resume(report, path):
    with harness.Web(path, hosts=20, addresses=20, pages=100000) as web, \
            Crawl(web, path + "/crawl", wait="20ms", ip_wait="5ms") as crawl:
        mode = stat.S_IMODE(os.stat(crawl.directory + "/control").st_mode)
        report.equal("only the user may connect", oct(mode), oct(0o600))
        harness.until(lambda: len(web.requests()) > 100)
        answer = crawl.ask("pause")
        report.equal("pause", answer.returncode, 0)
        report.equal("the status says so", crawl.status("state", "limit"), ["paused", "operator"])
        harness.until(lambda: crawl.status("active") == 0)
        moment = now_us()
        report.check("a second pause is no mistake", "already" in crawl.ask("pause").stderr)
        pass_time(AT_ONCE_S)
        report.equal("a paused crawl asks nobody", [r for r in web.requests() if r.start > moment], [])
        start = time.monotonic()
        report.equal("resume", crawl.ask("resume").returncode, 0)
        harness.until(lambda: any(r.start > moment for r in web.requests()))
        report.check("it goes on at once", time.monotonic() - start < 5 * AT_ONCE_S)
        me = f"uid={os.getuid()} pid="
        report.check("both are events, with who asked", all(
            any(word in line and me in line for line in crawl.log().splitlines())
            for word in ("agent: paused reason=operator", "agent: resumed reason=operator")),
            crawl.log()[-800:])
        report.equal("stop", crawl.ask("stop").returncode, 0)
        report.equal("ends it as a signal does", crawl.wait(), 11)
        report.check("and says who did", "stopped by the operator" in crawl.process.stdout.read())
        report.check("the socket is gone with it", not os.path.exists(crawl.directory + "/control"))
        late = crawl.ask("pause")
        report.check("a crawl that does not run: exit 3, and it says so",
                     late.returncode == 3 and "no crawl is running" in late.stderr, late.stderr)


def flush(report, path):
    """Links that would wait for an hour are looked up within a second."""
    with harness.Web(path, hosts=20, addresses=20, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--set", "sieve.least_urls=0", "--set", "sieve.max_age=1h",
                  "--set", "fetch.connections=4", wait="200ms", ip_wait="5ms") as crawl:
        report.check("links wait", harness.until(lambda: crawl.status("sieve_pending") > 100))
        merges = crawl.status("sieve_merges")
        answer = crawl.ask("flush")
        report.check("it says how many", answer.returncode == 0 and "links are looked up now" in answer.stderr, answer.stderr)
        report.check("they are", harness.until(lambda: crawl.status("sieve_merges") > merges))
        report.check("it is an event, with who asked", "agent: flush links=" in crawl.log() and "uid=" in crawl.log())
        crawl.ask("stop")
        report.equal("the crawl ends well", crawl.wait(), 11)


def raw(directory, data, size=65536):
    """What the socket answers to bytes, until it ends the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(harness.PATIENCE_S)
        client.connect(directory + "/control")
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while True:
            part = client.recv(size)
            if not part:
                return answer.decode("utf-8", "replace")
            answer += part


def nonsense(report, path):
    with harness.Web(path, hosts=5, addresses=5, pages=100000) as web, \
            Crawl(web, path + "/crawl", wait="20ms", ip_wait="5ms") as crawl:
        for words, status, sentence in (
                (["puase"], 2, "did you mean 'pause'"),
                (["frobnicate"], 2, "`help` lists them all"),
                (["pause", "now"], 2, "unexpected 'now'"),
                (["status", "--xml"], 2, "unexpected '--xml'"),
                (["stop", "please"], 2, "unexpected 'please'"),
                ([], 2, "usage: ragno ctl")):
            answer = crawl.ask(*words)
            report.check(f"ctl {' '.join(words)}", answer.returncode == status and
                         sentence in answer.stderr, f"{answer.returncode}: {answer.stderr}")
        report.check("help lists the words", "pause" in crawl.ask("help").stdout)
        for name, data in (("bytes that are no text", bytes(range(256)) * 20 + b"\n"),
                           ("an HTTP request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                           ("an open quote", b"status \"json\n"),
                           ("no line end", b"status"),
                           ("a line without end", b"x" * 3000000)):
            try:
                answer = raw(crawl.directory, data)
            except (BrokenPipeError, ConnectionResetError):
                answer = "usage (was told before it had said all)"
            report.check(f"{name}: a sentence", answer.startswith("usage "), answer[:200])
        report.check("and the crawl goes on", crawl.process.poll() is None and
                     crawl.status("state") == "running")


def twenty_at_once(report, path):
    with harness.Web(path, hosts=20, addresses=20, pages=100000) as web, \
            Crawl(web, path + "/crawl", wait="20ms", ip_wait="5ms") as crawl:
        command = [RAGNO, "ctl", crawl.directory, "status", "--follow", "--json"]
        clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(20)]
        lines = [[json.loads(c.stdout.readline()) for c in clients] for _ in range(3)]
        report.check("20 clients follow the status", all(
            field["state"] == "running" for row in lines for field in row))
        report.equal("while others ask", [crawl.ask("threads").returncode for _ in range(5)], [0] * 5)
        for client in clients[:10]:
            client.kill()
        report.equal("some leave, others ask on", crawl.ask("pause").returncode, 0)
        states = [json.loads(c.stdout.readline())["state"] for c in clients[10:] for _ in range(3)]
        report.check("and see it", "paused" in states, str(states))
        crawl.ask("stop", "now")
        report.equal("stop now is a forced stop", crawl.wait(), 13)
        rest = [client.communicate(timeout=harness.PATIENCE_S)[0] for client in clients[10:]]
        report.check("their answers end with the crawl",
                     all(client.returncode == 0 for client in clients[10:]) and all(rest),
                     str([c.returncode for c in clients]))
        for client in clients[:10]:
            client.communicate()


def checkpoint(report, path):
    with harness.Web(path, hosts=20, addresses=20, pages=100000) as web, \
            Crawl(web, path + "/crawl", "--no-warc", wait="20ms", ip_wait="5ms") as crawl:
        harness.until(lambda: int(crawl.status("pages")) > 200)
        crawl.ask("deny", "nobody.example")
        before = int(crawl.status("pages"))
        answer = crawl.ask("checkpoint")
        copy = answer.stdout.strip()
        report.check("checkpoint answers with a path", answer.returncode == 0 and
                     os.path.isdir(copy), answer.stdout + answer.stderr)
        harness.until(lambda: int(crawl.status("pages")) > before + 100)
        report.check("the crawl goes on", crawl.process.poll() is None)
        crawl.process.send_signal(signal.SIGUSR2)
        report.check("SIGUSR2 makes one, too", harness.until(
            lambda: crawl.log().count("checkpoint made") == 2))
        crawl.ask("stop")
        crawl.wait()
        rows = [row for row in harness.db_rows(copy) if row[2] > 0]
        report.check("the copy is a database of that moment", before <= len(rows) <= before + 2000,
                     f"{before} {len(rows)}")
        report.equal("and whole", harness.run([RAGNO, "verify", copy]).returncode, 0)
        report.check("with configuration and denials", "host_delay = 20ms" in
                     open(copy + "/config.ini", encoding="utf-8").read() and "nobody.example" in
                     open(copy + "/denied.txt", encoding="utf-8").read())


if __name__ == "__main__":
    harness.main(pause_and_resume, flush, nonsense, twenty_at_once, checkpoint)
