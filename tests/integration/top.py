#!/usr/bin/env python3
"""ragno top on a terminal of 80x24: what it shows of a running crawl, that it resizes, that its keys
reach the crawl, and that coming and going disturb nothing. Needs tmux (make deps-dev) but for the
last test, which has a terminal of its own."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios

import harness
from harness import OUT, run

TOP = os.path.abspath(f"{OUT}/ragno")


class Screen:
    """A command in a tmux of its own."""

    def __init__(self, path, command, columns=80, rows=24):
        self.socket = os.path.join(path, "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", str(columns), "-y",
                  str(rows), f"env LANG=C.UTF-8 TERM=screen {command}; echo status=$?; cat")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *words):
        return run(["env", "LANG=C.UTF-8", "tmux", "-S", self.socket, *words]).stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def lines(self):
        return self.tmux("capture-pane", "-t", "t", "-p").rstrip("\n").split("\n")

    def shows(self, *words):
        """Waits until all of the words are to be seen."""
        return harness.until(lambda: all(word in "\n".join(self.lines()) for word in words))


class Crawl:
    """A crawl that goes on until it is left."""

    def __init__(self, path, web):
        self.directory = os.path.join(path, "crawl")
        self.process = subprocess.Popen(
            harness.crawl_command(web, self.directory, "--set", "store.batch_time=50ms",
                                  wait="300ms", ip_wait="10ms"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.until(lambda: os.path.exists(self.directory + "/status.json"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        harness.end_process(self.process)


def a_running_crawl(report, path):
    if shutil.which("tmux") is None:
        report.skip("top in tmux", "tmux is not installed (make deps-dev)")
        return
    with harness.Web(path, pages=50000, hosts=60, addresses=60) as web, Crawl(path, web) as crawl, \
            Screen(path, f"{TOP} top {crawl.directory}") as screen:
        report.check("rates, what limits it, and hosts", screen.shows(
            "ragno top", "running for", "limited by politeness", "pages", "state [by queue]",
            ".web.test"), screen.lines())
        lines = screen.lines()
        report.check("24 lines of at most 80", len(lines) == 24 and max(map(len, lines)) <= 80,
                     lines)
        report.check("graphs grow", harness.until(
            lambda: sum(c in screen.lines()[2] for c in "▁▂▃▄▅▆▇█") > 0), screen.lines()[2])
        screen.keys("o")
        report.check("another order", screen.shows("[by speed]"), screen.lines())
        screen.keys("/", "h0000", "Enter")
        report.check("only some hosts", screen.shows("host with h0000") and harness.until(
            lambda: all("h0000" in line for line in screen.lines()[10:23] if line)), screen.lines())
        screen.keys("Enter")
        report.check("all about one of them", screen.shows("fetches", "scheduled", "robots.txt"), screen.lines())
        screen.keys("q")
        screen.keys("p")
        report.check("p pauses the crawl", screen.shows("paused for"), screen.lines())
        state = run([TOP, "ctl", crawl.directory, "status"]).stdout
        report.check("the crawl says so, too", "state             paused" in state, state)
        screen.keys("p")
        report.check("p again resumes it", screen.shows("running for"), screen.lines())
        for columns, rows in ((130, 40), (40, 10), (80, 24)):
            screen.resize(columns, rows)
            report.check(f"{columns}x{rows}", harness.until(
                lambda: len(screen.lines()) == rows and "leave" in screen.lines()[-1] and
                screen.lines()[0].rstrip().endswith("UTC")), screen.lines())
        screen.keys("q")
        report.check("q leaves", screen.shows("status=0"), screen.lines())
        report.check("and the crawl goes on", crawl.process.poll() is None)


def a_crawl_that_ends(report, path):
    if shutil.which("tmux") is None:
        report.skip("top in tmux", "tmux is not installed (make deps-dev)")
        return
    with harness.Web(path, pages=20000, hosts=20, addresses=20) as web:
        with Crawl(path, web) as crawl, Screen(path, f"{TOP} top {crawl.directory}") as screen:
            report.check("it runs", screen.shows("running for"), screen.lines())
            harness.end_process(crawl.process)
            report.check("its end is told", screen.shows("stopped for"), screen.lines())
            screen.keys("p")
            report.check("a key that needs it gets a sentence", screen.shows("no crawl is running"),
                         screen.lines())
            again = subprocess.Popen(
                harness.crawl_command(web, crawl.directory, wait="300ms", ip_wait="10ms"),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                report.check("when it is started again, top is with it", screen.shows("running for"),
                             screen.lines())
            finally:
                harness.end_process(again)
            screen.keys("q")


def reads(fd, word):
    """Whether the terminal gets the word, and all it got."""
    seen = bytearray()

    def look():
        while select.select([fd], [], [], 0)[0]:
            seen.extend(os.read(fd, 65536))
        return word in seen
    return harness.until(look), bytes(seen)


def twenty_at_once(report, path):
    """Terminals without tmux: each shows something, takes a resize, and leaves with 0."""
    with harness.Web(path, pages=50000, hosts=60, addresses=60) as web, Crawl(path, web) as crawl:
        children = []
        for _ in range(20):
            pid, fd = pty.fork()
            if pid == 0:
                os.environ.update(TERM="xterm", LANG="C.UTF-8")
                os.execv(TOP, [TOP, "top", crawl.directory])
            fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            children.append((pid, fd))
        codes = []
        silent = []
        for pid, fd in children:
            # ncurses writes what differs: only what stands where a blank was comes in one piece
            shown, seen = reads(fd, b".web.test")
            if not shown:
                silent.append(seen[-1000:])
            fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.kill(pid, signal.SIGWINCH)
            os.write(fd, b"q")
            try:
                while os.read(fd, 65536):
                    pass
            except OSError:
                pass  # the other end is closed
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os.close(fd)
        report.equal("twenty at once, all show hosts", silent, [])
        report.equal("twenty at once, all leave with 0", codes, [0] * 20)
        report.check("and the crawl goes on", crawl.process.poll() is None)
        result = run([TOP, "top", crawl.directory])
        report.check("without a terminal it says what to use", result.returncode == 2 and
                     "status --json" in result.stderr, result.stderr)
        result = run([TOP, "top", path])
        report.equal("without a crawl, too", result.returncode, 3)


if __name__ == "__main__":
    harness.main(a_running_crawl, a_crawl_that_ends, twenty_at_once)
