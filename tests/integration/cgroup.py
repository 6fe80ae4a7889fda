"""A memory cgroup for one process: what an operator gives a service (MemoryMax=). Made below the
group that this process is in, or, where that may not be divided (version 2, processes in it), below
the root; version 1 where there is no other. Needs root, or a group that was delegated."""
import os
import time

ROOT = "/sys/fs/cgroup"


class Unavailable(Exception):
    """Why there can be no cgroup here."""


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def _own(controller):
    """The path of our group, in the hierarchy of a controller ("" = version 2); None: not in one."""
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == controller or controller in controllers.split(","):
            return path.rstrip("/")
    return None


def _places():
    """(version, directory in which a group with a limit of memory may be made)"""
    if os.path.exists(ROOT + "/cgroup.controllers"):
        return [(2, ROOT + _own("")), (2, ROOT)]
    if os.path.isdir(ROOT + "/memory") and _own("memory") is not None:
        return [(1, ROOT + "/memory" + _own("memory"))]
    raise Unavailable("no memory controller is mounted")


class Cgroup:
    """limit: bytes. enter() is for preexec_fn."""

    def __init__(self, limit):
        reasons = []
        for self.version, parent in _places():
            self.path = f"{parent}/ragno-test-{os.getpid()}"
            try:
                self._make(parent, limit)
                return
            except OSError as error:
                reasons.append(str(error))
                self.remove()
        raise Unavailable("; ".join(reasons))

    def _make(self, parent, limit):
        if self.version == 2 and "memory" not in _read(parent + "/cgroup.subtree_control").split():
            _write(parent + "/cgroup.subtree_control", "+memory")
        os.mkdir(self.path)
        if self.version == 2:
            _write(self.path + "/memory.max", str(limit))
            if os.path.exists(self.path + "/memory.swap.max"):
                _write(self.path + "/memory.swap.max", "0")
        else:
            _write(self.path + "/memory.limit_in_bytes", str(limit))
            _write(self.path + "/memory.swappiness", "0")

    def enter(self):
        _write(self.path + "/cgroup.procs", "0")

    def ooms(self):
        """How often there was no memory to be had, be it that somebody was killed for it or not."""
        name, keys = ("memory.events", ("oom", "oom_kill")) if self.version == 2 else \
            ("memory.oom_control", ("under_oom", "oom_kill"))
        counts = dict(line.split() for line in _read(f"{self.path}/{name}").splitlines())
        return sum(int(counts.get(key, "0")) for key in keys)

    def peak(self):
        """The most that was charged, in bytes, the page cache included; None: not told."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        path = f"{self.path}/{name}"
        return int(_read(path)) if os.path.exists(path) else None

    def remove(self):
        """Once its processes are gone, which takes the system a moment."""
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)
