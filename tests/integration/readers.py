"""Who reads a running crawl does not harm it: not by `| head`, not by `| less`, not by dying, not by
being many; and who does is named."""
import ctypes
import signal
import subprocess
import sys

import harness
from ctl import Crawl

RAGNO = f"{harness.OUT}/ragno"
WRITE = "1 "  # the system call, in /proc/PID/syscall

# Another program that reads the database and never ends its transaction.
FOREIGN = """
import ctypes, sys
lmdb = ctypes.CDLL("liblmdb.so.0")
NOTLS, RDONLY = 0x200000, 0x20000
env, txn = ctypes.c_void_p(), ctypes.c_void_p()
assert lmdb.mdb_env_create(ctypes.byref(env)) == 0
assert lmdb.mdb_env_set_mapsize(env, ctypes.c_size_t(1 << 30)) == 0
assert lmdb.mdb_env_open(env, sys.argv[1].encode(), NOTLS | RDONLY, 0o644) == 0
for _ in range(int(sys.argv[2])):
    assert lmdb.mdb_txn_begin(env, None, RDONLY, ctypes.byref(txn)) == 0
print("ready", flush=True)
sys.stdin.read()
"""


def snapshots(directory):
    """The processes that hold a snapshot of the database right now."""
    lmdb = ctypes.CDLL("liblmdb.so.0")
    found = []

    def take(line, _):
        pid, _, txn = (line.decode().split() + ["", "", ""])[:3]
        if pid.isdigit() and txn.isdigit():
            found.append(int(pid))
        return 0

    env = ctypes.c_void_p()
    take = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(take)
    if (lmdb.mdb_env_create(ctypes.byref(env)) != 0 or lmdb.mdb_env_open(
            env, (directory + "/crawl.mdb").encode(), 0x20000, 0o644) != 0):
        raise RuntimeError("no environment")
    lmdb.mdb_reader_list(env, take, None)
    lmdb.mdb_env_close(env)
    return found


class Reader:
    """A process that reads, with a pipe that nobody empties."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pid = self.process.pid

    def is_blocked(self):
        with open(f"/proc/{self.pid}/syscall") as file:
            return file.read().startswith(WRITE)

    def end(self, number=signal.SIGKILL):
        """Its exit status after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(harness.PATIENCE_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        return status


def blocked_dump(directory):
    reader = Reader(RAGNO, "db", directory, "dump")
    if not harness.until(reader.is_blocked):
        raise RuntimeError("the dump is too short to block")
    return reader


def foreign(directory, transactions):
    reader = Reader(sys.executable, "-c", FOREIGN, directory + "/crawl.mdb", str(transactions))
    if reader.process.stdout.readline() != b"ready\n":
        raise RuntimeError(reader.process.stderr.read().decode())
    return reader


def goes_on(crawl, pages=100):
    """Until the crawl has committed so many more."""
    before = crawl.status("pages")
    return harness.until(lambda: crawl.status("pages") >= before + pages)


def start(path, web, *options):
    """A crawl that lasts longer than the test, with enough pages to fill a pipe."""
    crawl = Crawl(web, path + "/crawl", "--no-warc", *options, wait="100ms")
    crawl.__enter__()
    harness.until(lambda: crawl.status("urls_seen") > 3000 and crawl.status("pages") > 500)
    return crawl


def commands_let_the_database_be_reused(report, path):
    with harness.Web(path, hosts=60, addresses=60, pages=20000) as web:
        crawl = start(path, web)
        try:
            readers = [blocked_dump(crawl.directory) for _ in range(3)]
            report.check("the crawl goes on beside commands whose output nobody reads",
                         goes_on(crawl))
            held = snapshots(crawl.directory)
            report.check("and none of them keeps a snapshot",
                         not [r.pid for r in readers if r.pid in held], held)
            report.equal("Ctrl-C ends one of them at once", readers[0].end(signal.SIGINT), 130)
            report.equal("so does SIGTERM", readers[1].end(signal.SIGTERM), 143)
            report.equal("so does kill -9", readers[2].end(), -signal.SIGKILL)
            heads = [subprocess.run(f"{RAGNO} db {crawl.directory} find . | head -1; "
                                    "echo ${PIPESTATUS[0]}", shell=True, executable="/bin/bash",
                                    capture_output=True, text=True) for _ in range(20)]
            report.check("`| head` ends a command quietly, as if all were read",
                         all(h.stdout.endswith("\n0\n") and h.stderr == "" for h in heads),
                         [(h.stdout, h.stderr) for h in heads
                          if h.stderr != "" or not h.stdout.endswith("\n0\n")])
            report.check("all their slots are free again", harness.until(
                lambda: crawl.status("db_readers") < 40), crawl.status("db_readers"))
        finally:
            crawl.__exit__()


def dead_readers_are_cleared(report, path):
    with harness.Web(path, hosts=60, addresses=60, pages=20000) as web:
        crawl = start(path, web, "--set", "store.reader_age=1s")
        try:
            crowd = foreign(crawl.directory, 440)
            refused = harness.run([RAGNO, "db", crawl.directory, "info"])
            report.check("slots are kept for the crawl: further commands are refused with words",
                         refused.returncode == 17 and "slots for readers are taken" in refused.stderr,
                         refused.stderr)
            report.check("while the crawl goes on", goes_on(crawl))
            report.check("the process whose snapshot makes the database grow is named",
                         harness.until(lambda: f"pid={crowd.pid} " in crawl.log() and
                                       "an old reader makes the database grow" in crawl.log()))
            age, pid = crawl.status("db_reader_age_s", "db_reader_pid")
            report.check("in the status, too, with its age", age >= 1 and pid == crowd.pid, (age, pid))
            report.check("a table that is nearly full is told",
                         "the table of readers is nearly full" in crawl.log())
            crowd.end()
            report.check("the slots of the dead are cleared while the crawl runs", harness.until(
                lambda: "slots of dead readers cleared slots=440" in crawl.log()))
            report.check("which is the end of the warning",
                         harness.until(lambda: "the old reader is gone" in crawl.log()))
            report.check("the crawl goes on", goes_on(crawl))
            report.equal("and commands may read again",
                         harness.run([RAGNO, "db", crawl.directory, "info"]).returncode, 0)
        finally:
            crawl.__exit__()


if __name__ == "__main__":
    harness.main(commands_let_the_database_be_reused, dead_readers_are_cleared)
