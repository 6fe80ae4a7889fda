"""A process of Python that has imported what tests need, and forks for each of them. A Python that is started anew
spends 0.15 s of CPU on its library before it comes to the test, and `make test` needs more than 500 of them.

What calls this holds a Nursery. The process that it starts forks a guard for each test, and the guard forks the test,
which is a session of its own, and tells how it ended. /proc/PID/environ says what a process was executed with: a test
is known by its session, what it executes by its environment, too.
"""
import collections
import concurrent.futures  # these are for the tests
import datetime
import gc
import gzip
import hashlib
import html.parser
import json
import os
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import urllib.parse
import urllib.request

Ended = collections.namedtuple("Ended", "code cpu_seconds")


class Child:
    """A test that runs: its process id, which is its session's, too."""

    def __init__(self, answers):
        self.answers = answers
        self.pid = self.read()

    def read(self):
        line = self.answers.readline()
        if not line:
            raise OSError("the nursery has ended")
        return json.loads(line)

    def ended(self):
        """Waits for its end."""
        with self.answers:
            return Ended(*self.read())


class Nursery:
    """Of threads that call it each is served in turn."""

    def __init__(self, environment):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen([sys.executable, __file__], stdin=theirs, stdout=subprocess.DEVNULL,
                                            env=environment, start_new_session=True)

    def start(self, arguments, output, environment):
        """A script and its arguments; what it prints goes to a file, its environment is the nursery's and this."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            socket.send_fds(self.socket, [json.dumps([arguments, environment]).encode()],
                            [output.fileno(), theirs.fileno()])
            theirs.close()
            return Child(ours.makefile("rb"))

    def run(self, arguments):
        """(exit status, what it printed)"""
        with tempfile.TemporaryFile() as output:
            code = self.start(arguments, output, {}).ended().code
            output.seek(0)
            return code, output.read().decode("utf-8", "replace")

    def close(self):
        """Waits for all that were started."""
        self.socket.close()
        self.process.wait()


# ---- The process ----

def code_of(script, known={}):
    """A script compiled, or None: the test itself will say why not."""
    if script not in known:
        try:
            with open(script, "rb") as file:
                known[script] = compile(file.read(), script, "exec")
        except (OSError, SyntaxError, ValueError):
            return None
    return known[script]


def say(answers, what):
    """To who may have been killed."""
    try:
        os.write(answers, json.dumps(what).encode() + b"\n")
    except OSError:
        pass


def guard(output, answers):
    """Forks; returns in the test, with its standard files."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for fd, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(fd, standard)
        os.closerange(3, max(output, answers) + 1)
        return
    say(answers, pid)
    _, status, used = os.wait4(pid, 0)
    say(answers, [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime])
    os._exit(0)


def reap(flags):
    try:
        while os.waitpid(-1, flags)[0]:
            pass
    except ChildProcessError:
        pass


def serve():
    """Returns in each test, with its script, the code and the arguments; never in the nursery."""
    requests = socket.socket(fileno=0)
    while True:
        asked, fds, _, _ = socket.recv_fds(requests, 1 << 16, 2)
        if not asked:
            reap(0)
            sys.exit()
        (script, *arguments), environment = json.loads(asked)
        code = code_of(script)
        if os.fork() == 0:
            requests.detach()
            guard(*fds)
            os.environ.update(environment)
            return script, code, arguments
        for fd in fds:
            os.close(fd)
        reap(os.WNOHANG)


def main():
    sys.path[0] += "/integration"
    import harness  # noqa: F401  what it is made of is there then
    gc.freeze()
    script, code, arguments = serve()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = script
    if code is None:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec")
    exec(code, module.__dict__)


if __name__ == "__main__":
    main()
