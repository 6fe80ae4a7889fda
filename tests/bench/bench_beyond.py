#!/usr/bin/env python3
"""Beyond memory: one simulated crawl with all the memory it wants, and the same in a memory cgroup that its database is
larger than, page cache included.

`beyond.over_memory` is the CPU of the second by that of the first, `beyond.faults_per_url` how many pages of the
database it had to read from the disk for each URL it came to know, `beyond.fault_us` what one such page costs at least:
the CPU of a program that only touches pages of a file at random in a cgroup of the same size. `beyond.floor` is what the
crawl in memory and so many faults cost, by the crawl in memory: what is above it is not explained by faults, and what is
below it can only be had by touching fewer pages. Memory cgroups take root; SCALE makes crawl and cgroup smaller."""
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile

import crawls

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import cgroup  # noqa: E402

SIM = f"{crawls.BUILD}/sim"
URLS, HOSTS, ADDRESSES = 160000, 3001, 1001
FRONTIER = 16 << 20    # crawl.memory of the simulated crawl; it is 12 MB of its own then
OWN = 13 << 20         # what the process has besides the page cache, about; it does not shrink with SCALE
CACHE = 9 << 20        # of the page cache: of the database, which is 25 MB, a third
DATABASE = 25 << 20
TOUCHES = 60000


class Child:
    """What one process used: cpu_s, faults (pages read from the disk), and its output."""

    def __init__(self, command, limit=None):
        group = cgroup.Cgroup(limit) if limit else None
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL,
                                       preexec_fn=group.enter if group else None)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.output = output.read()
        if group:
            group.remove()
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with exit status {process.returncode}")
        self.cpu_s, self.faults = usage.ru_utime + usage.ru_stime, usage.ru_majflt


def simulate(path, limit=None):
    words = [SIM, "--urls", URLS * crawls.SCALE, "--hosts", HOSTS * crawls.SCALE, "--addresses",
             ADDRESSES * crawls.SCALE, "--memory", FRONTIER, "--batch-time", 30000, "--sieve-from", 100000]
    directory = os.path.join(path, "sim")
    child = Child([w if isinstance(w, str) else str(int(w)) for w in words] + ["--directory", directory], limit)
    child.urls = next(float(line.split()[2]) for line in child.output.splitlines() if line.startswith("sim.urls ="))
    shutil.rmtree(directory, ignore_errors=True)
    return child


def touch(path):
    """As a child: pages of the file at random."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        pages, chance = len(mapped) // mmap.PAGESIZE, random.Random(1)
        print(sum(mapped[chance.randrange(pages) * mmap.PAGESIZE] for _ in range(TOUCHES)))


def fault_us(path, cache):
    """By the difference of a cgroup that holds the file and one that does not."""
    name = os.path.join(path, "file")
    with open(name, "wb") as file:
        file.write(os.urandom(int(DATABASE * crawls.SCALE)))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    command = [sys.executable, os.path.abspath(__file__), "--touch", name]
    tight = Child(command, OWN + cache)
    roomy = Child(command)
    os.remove(name)
    return (tight.cpu_s - roomy.cpu_s) / max(1, tight.faults - roomy.faults) * 1e6


def beyond(path):
    cache = int(CACHE * crawls.SCALE)
    free, tight = [], []
    for _ in range(crawls.RUNS):
        free.append(simulate(path))
        tight.append(simulate(path, OWN + cache))
    in_memory = crawls.median(free, lambda one: one.cpu_s / one.urls * 1e6)
    beyond_it = crawls.median(tight, lambda one: one.cpu_s / one.urls * 1e6)
    faults = crawls.median(tight, lambda one: one.faults / one.urls) - \
        crawls.median(free, lambda one: one.faults / one.urls)
    each = fault_us(path, cache)
    crawls.put("beyond.in_memory_us_per_url", in_memory, "us", 1)
    crawls.put("beyond.us_per_url", beyond_it, "us", 1)
    crawls.put("beyond.over_memory", beyond_it / in_memory, "", 2)
    crawls.put("beyond.faults_per_url", faults, "", 2)
    crawls.put("beyond.fault_us", each, "us", 1)
    crawls.put("beyond.floor", (in_memory + faults * each) / in_memory, "", 2)


def main():
    if sys.argv[1:2] == ["--touch"]:
        touch(sys.argv[2])
        return
    try:
        cgroup.Cgroup(64 << 20).remove()
    except (cgroup.Unavailable, OSError) as error:
        crawls.say(f"beyond: left out: {error}")
        return
    crawls.main(beyond)


if __name__ == "__main__":
    main()
