"""A crawl that runs beside a test, and is steered by its socket."""
import json
import os
import subprocess
import time

import harness

RAGNO = f"{harness.OUT}/ragno"
AT_ONCE_S = 1.0  # what an operator asks for has its effect by then


class Crawl:
    """A crawl that runs beside the test."""

    def __init__(self, web, directory, *options, **delays):
        self.directory = directory
        self.process = subprocess.Popen(
            harness.crawl_command(web, directory, *options, **delays), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def __enter__(self):
        if not harness.until(lambda: os.path.exists(self.directory + "/control") or
                             self.process.poll() is not None) or self.process.poll() is not None:
            raise RuntimeError("no crawl: " + self.process.stderr.read())
        return self

    def __exit__(self, *_):
        harness.end_process(self.process)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, *words):
        """Like subprocess.run."""
        return harness.run([RAGNO, "ctl", self.directory, *words], 60)

    def status(self, *names):
        """Fields of the status of now."""
        fields = json.loads(self.ask("status", "--json").stdout)
        return [fields[name] for name in names] if len(names) > 1 else fields[names[0]]

    def log(self):
        with open(self.directory + "/ragno.log") as file:
            return file.read()

    def wait(self):
        """The exit status at its end."""
        return self.process.wait(harness.PATIENCE_S)


def now_us():
    """By the clock of the web's log."""
    return time.monotonic_ns() // 1000


def pass_time(seconds):
    """For checks that nothing happens: the one thing that cannot be waited for."""
    end = time.monotonic() + seconds
    harness.until(lambda: time.monotonic() > end)
