"""Crawls whose disk fails: each of the first calls that write, sync, rename or remove fails or is the
last before a kill; the power goes after any of the recorded events; the disk is full for a while. The
crawl goes on or ends with a clear exit status, never hangs, and what it and its resumption end with is
what a crawl ends with that was left alone. So does `ragno verify --repair` of a damaged crawl.

    tests/crash/fail_crawl.py         a sample; FULL=1: the first 200 calls in every way, and
                                      200 power cuts in every mode; SEED=n for another sample
"""
import concurrent.futures
import glob
import os
import random
import shutil
import signal
import subprocess

import crawl_state
import lmdb_table  # of the integration tests, whose folder crawl_state has put into the path
from crawl_state import harness

SEED = int(os.environ.get("SEED", "1"))
FIRST_CALLS = 200
CALLS = FIRST_CALLS if harness.FULL else 4
CUTS = 200 if harness.FULL else 3
WAYS = ("EIO", "ENOSPC", "kill", "killed-after", "half")
MODES = ("keep", "drop", "zero", "random", "strict-drop", "strict-random")
SIZES = dict(hosts=12, addresses=6, pages=150, skew=0, page_bytes=1500, not_found=0.02)
# Many small commits and files, so that the first calls see every step.
OPTIONS = ["--warc-max-size", "64Ki", "--set", "store.batch_pages=16"]
# All links wait in the bucket files of the sieve, as in a large crawl; for every second call or cut.
SIEVE = ["--set", "sieve.least_urls=0", "--set", "sieve.max_age=50ms", "--set", "sieve.memory=1Mi"]
# 0: all done; 3: input/output; 16, 17: disk, directory. Anything else is no clear end.
CLEAR = (0, 3, 16, 17, -signal.SIGKILL)
TOOLS = os.path.abspath(f"{harness.OUT}/crash")  # built by make


def command(web, directory, *more):
    return harness.crawl_command(web, directory, *OPTIONS, *more, wait="2ms", ip_wait="1ms")


def shimmed(directory, **variables):
    # AddressSanitizer may well come second: the shim asks for the next of each name.
    return dict(os.environ, LD_PRELOAD=f"{TOOLS}/io_shim.so", IO_DIR=os.path.realpath(directory),
                ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
                **{key: str(value) for key, value in variables.items()})


def each(numbers, case):
    """The complaints of case(number, directory) for all numbers, "call N" before each; and how often
    each exit status came. Cases wait for disks and clocks more than they compute: several at once."""
    complaints, ends = [], {}
    with harness.Scratch() as path, \
            concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        def one(n):
            return n, case(n, f"{path}/{n}")
        for n, (status, found) in pool.map(one, numbers):
            shutil.rmtree(f"{path}/{n}", ignore_errors=True)
            ends[status] = ends.get(status, 0) + 1
            complaints += [f"call {n}: {c}" for c in found]
    return complaints, ends


class World:
    """A web and what an undisturbed crawl of it ends with."""

    def __init__(self, path, web):
        self.path, self.web = path, web
        result = harness.run(command(web, path + "/undisturbed"), timeout=60)
        if result.returncode != 0:
            raise RuntimeError(f"the undisturbed crawl: {result.returncode}: {result.stderr}")
        self.undisturbed = crawl_state.State(path + "/undisturbed")

    def resumed(self, directory, *more):
        """Resumes; complaints about what it ends with."""
        result = harness.run(command(self.web, directory, *more), timeout=60)
        if result.returncode != 0:
            return [f"resumed: exit {result.returncode}: {result.stderr[-300:]}"]
        return crawl_state.verify(directory) + \
            crawl_state.compare(crawl_state.State(directory), self.undisturbed)


def calls(report, path):
    harness.unlogged("each crawl is broken off, in a directory that is removed")
    randomness = random.Random(SEED)
    with harness.Web(path, **SIZES) as web:
        world = World(path, web)
        numbers = range(1, FIRST_CALLS + 1)
        for way in WAYS:
            def case(n, directory, way=way):
                more = SIEVE if n % 2 == 0 else []
                result = harness.run(command(web, directory, *more), timeout=20,
                                     env=shimmed(directory, IO_FAIL=n, IO_HOW=way))
                found = world.resumed(directory, *more)
                if result.returncode not in CLEAR:
                    found.append(f"exit {result.returncode}: {result.stderr[-300:]}")
                return result.returncode, found
            complaints, ends = each(numbers if harness.FULL else sorted(randomness.sample(numbers, CALLS)),
                                    case)
            report.check(f"{way} at one call: as undisturbed (exit statuses {ends})",
                         not complaints, f"{len(complaints)}:\n" + "\n".join(complaints[:6]))


def damaged(world, directory):
    """A copy of the undisturbed crawl that has lost the indices of its archive."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(world.path + "/undisturbed", directory)
    for name in glob.glob(glob.escape(directory) + "/warc/*.cdxj"):
        os.unlink(name)


def repair(directory):
    return [f"{harness.OUT}/ragno", "verify", directory, "--repair"]


def repairs(report, path):
    """A repair that fails or is killed anywhere, and is done again, mends what it would have mended."""
    harness.unlogged("each crawl is damaged, in a directory that is removed")
    randomness = random.Random(SEED)
    with harness.Web(path, **SIZES) as web:
        world = World(path, web)
    directory, count = path + "/crawl", path + "/count"
    damaged(world, directory)
    harness.run(repair(directory), env=shimmed(directory, IO_COUNT=count))
    with open(count, encoding="ascii") as file:
        total = int(file.read())
    numbers = range(1, total + 1)
    for way in WAYS:
        def case(n, directory, way=way):
            damaged(world, directory)
            result = harness.run(repair(directory),
                                 env=shimmed(directory, IO_FAIL=n, IO_HOW=way))
            harness.run(repair(directory))
            return result.returncode, crawl_state.verify(directory) + \
                crawl_state.compare(crawl_state.State(directory), world.undisturbed)
        complaints, ends = each(
            numbers if harness.FULL else sorted(randomness.sample(numbers, min(CALLS, total))), case)
        report.check(f"a repair, {way} at one of {total} calls, and again: as undisturbed (exit "
                     f"statuses {ends})", not complaints and set(ends) <= {1, 3, -signal.SIGKILL},
                     f"{len(complaints)}:\n" + "\n".join(complaints[:6]))


def power(report, path):
    harness.unlogged("each crawl goes on from a copy as it was at some instant, in a directory that is removed")
    randomness = random.Random(SEED)
    with harness.Web(path, **SIZES) as web:
        world = World(path, web)
        for name, more in (("", []), (", all links through the sieve", SIEVE)):
            cut_power(report, path, world, name, more, randomness)


def cut_power(report, path, world, name, more, randomness):
    recorded, log = path + f"/recorded{len(more)}", path + "/log"
    result = harness.run(command(world.web, recorded, *more), timeout=60,
                         env=shimmed(recorded, IO_RECORD=log))
    report.equal(f"the recorded crawl ends{name}", result.returncode, 0)
    events = int(harness.run([f"{TOOLS}/power_cut", log, "count"]).stdout)
    for mode in MODES:
        def case(n, directory, mode=mode):
            os.mkdir(directory)
            subprocess.run([f"{TOOLS}/power_cut", log, "replay", str(n), mode, str(n),
                            os.path.realpath(recorded), directory], check=True)
            return 0, world.resumed(directory, *more)
        complaints, _ = each(sorted(randomness.sample(range(1, events + 1), min(CUTS, events))),
                             case)
        report.check(f"power cut after one of {events} events, {mode}{name}: as undisturbed",
                     not complaints, f"{len(complaints)}:\n" + "\n".join(complaints[:6]))


def begin_full(world, directory, full, grace):
    """A crawl that has run into a full disk, and the file of its standard error."""
    with open(full + ".errors", "w", encoding="utf-8") as errors:
        process = subprocess.Popen(command(world.web, directory, "--set", f"crawl.grace={grace}"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=errors, env=shimmed(directory, IO_FULL=full))
    log = directory + "/crawl.log"  # a disk that is full before the seeds are stored ends a crawl
    harness.until(lambda: os.path.exists(log) and os.path.getsize(log))
    open(full, "w", encoding="utf-8").close()
    harness.until(lambda: process.poll() is not None or "cannot commit" in said(full))
    return process


def said(full):
    with open(full + ".errors", encoding="utf-8") as file:
        return file.read()


def full_disk(report, path):
    # More pages and time than the disk has room for.
    sizes = dict(SIZES, pages=1500, hosts=30)
    full = path + "/full"
    with harness.Web(path, **sizes) as web:
        world = World(path, web)
        directory = path + "/crawl"
        process = begin_full(world, directory, full, "10s")
        report.equal("a full disk does not end the crawl", process.poll(), None)
        os.unlink(full)
        harness.ended(process)
        report.equal("with room again it goes on to its end", process.returncode, 0)
        report.check("and said what it waited for", "cannot commit, the crawl waits" in said(full) and
                     "commits work again" in said(full), said(full)[-500:])
        complaints = crawl_state.verify(directory) + \
            crawl_state.compare(crawl_state.State(directory), world.undisturbed)
        report.check("nothing is lost", not complaints, "\n".join(complaints))

        shutil.rmtree(directory)
        process = begin_full(world, directory, full, "1s")
        process.send_signal(signal.SIGINT)
        harness.ended(process)
        report.check("SIGINT while the disk is full: exit 11", process.returncode == 11,
                     f"{process.returncode}: {said(full)[-500:]}")
        complaints = crawl_state.verify(directory)
        report.check("what it left is consistent", not complaints, "\n".join(complaints))
        os.unlink(full)
        complaints = world.resumed(directory)
        report.check("and resumed it loses nothing", not complaints, "\n".join(complaints))


if __name__ == "__main__":
    harness.main(calls, repairs, power, full_disk)
