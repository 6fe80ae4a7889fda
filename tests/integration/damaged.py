"""Databases that a disk has damaged, in many ways, each seeded: whoever opens one says so and what to do, and ends with
exit status 17. No signal, no hang, and no answer as if nothing were wrong once `ragno verify` sees a broken page."""
import os
import random
import shutil
import struct
import subprocess

import harness

PAGE = 4096
BRANCH, LEAF, OVERFLOW = 1, 2, 4
CASES = 80 if harness.FULL else 12  # of each test; there are six
PATIENCE_S = 60


class Pages:
    """The pages of data.mdb by their kind, as bytes that can be changed."""

    def __init__(self, name, dice):
        self.name, self.dice = name, dice
        with open(name, "rb") as file:
            self.bytes = bytearray(file.read())
        self.n = len(self.bytes) // PAGE
        self.kinds = {BRANCH: [], LEAF: [], OVERFLOW: []}
        for page in range(2, self.n):
            number, _, flags = struct.unpack_from("<QHH", self.bytes, page * PAGE)
            if number == page and flags & 7 in self.kinds:
                self.kinds[flags & 7].append(page)

    def any_of(self, *kinds):
        return self.dice.choice([page for kind in kinds for page in self.kinds[kind]])

    def flip(self, page, below=PAGE):
        self.bytes[page * PAGE + self.dice.randrange(below)] ^= 1 << self.dice.randrange(8)

    def children(self, page):
        """Where the offsets of the nodes of a branch page lead: places of their page numbers."""
        lower, = struct.unpack_from("<H", self.bytes, page * PAGE + 12)
        offsets = struct.unpack_from(f"<{(lower - 16) // 2}H", self.bytes, page * PAGE + 16)
        return [page * PAGE + offset for offset in offsets]

    def write(self):
        with open(self.name, "wb") as file:
            file.write(self.bytes)


def meta(pages):
    """A bit of what LMDB reads of a meta page."""
    pages.flip(pages.dice.randrange(2), 16 + 136)


def branch(pages):
    pages.flip(pages.any_of(BRANCH), pages.dice.choice((64, PAGE)))


def leaf(pages):
    for _ in range(3):
        pages.flip(pages.any_of(LEAF), 64)


def overflow(pages):
    pages.flip(pages.any_of(OVERFLOW) if pages.kinds[OVERFLOW] else pages.any_of(LEAF), 16)


def zeroed(pages):
    at = pages.any_of(BRANCH, LEAF) * PAGE
    pages.bytes[at:at + PAGE] = bytes(PAGE)


def nonsense(pages):
    at = pages.any_of(BRANCH, LEAF) * PAGE
    pages.bytes[at:at + PAGE] = pages.dice.randbytes(PAGE)


def swapped(pages):
    a, b = (pages.any_of(BRANCH, LEAF) * PAGE for _ in range(2))
    pages.bytes[a:a + PAGE], pages.bytes[b:b + PAGE] = pages.bytes[b:b + PAGE], pages.bytes[a:a + PAGE]


def another_in_its_place(pages):
    """As swapped, but the page says that it is the right one."""
    a, b = (pages.any_of(LEAF) * PAGE for _ in range(2))
    pages.bytes[a + 8:a + PAGE] = pages.bytes[b + 8:b + PAGE]


def cut(pages):
    del pages.bytes[pages.dice.randrange(1, len(pages.bytes)):]


def loop(pages):
    """A branch that leads to itself or to another one above it."""
    page = pages.any_of(BRANCH)
    struct.pack_into("<I", pages.bytes, pages.dice.choice(pages.children(page)), pages.any_of(BRANCH))


def free_list(pages):
    """Pages that are in use are told to be free: whoever writes would overwrite them."""
    newer = max((0, 1), key=lambda m: struct.unpack_from("<Q", pages.bytes, m * PAGE + 16 + 128))
    root, = struct.unpack_from("<Q", pages.bytes, newer * PAGE + 16 + 24 + 40)
    if root >= pages.n:
        return meta(pages)
    at = root * PAGE + PAGE - 8 * pages.dice.randrange(1, 6)
    struct.pack_into("<Q", pages.bytes, at, pages.dice.choice((0, 1 << 40, pages.any_of(LEAF))))


KINDS = (meta, branch, leaf, overflow, zeroed, nonsense, swapped, another_in_its_place, cut, loop, free_list)


def commands(directory, url):
    program = f"{harness.OUT}/ragno"
    return {"db info": [program, "db", directory, "info"],
            "db dump": [program, "db", directory, "dump"],
            "db schedule": [program, "db", directory, "schedule"],
            "why": [program, "why", directory, url],
            "export": [program, "export", directory, "links"],
            "report": [program, "report", directory],
            "plan": [program, "plan", directory]}


def says_so(result, directory):
    return result.returncode == 17 and directory in result.stderr and "ragno verify" in result.stderr


def tell(result):
    return f"exit {result.returncode}: {result.stderr[-300:]}"


def opened(web, directory, url):
    """What is wrong with what is said of a damaged directory: a list of complaints; and whether verify sees it."""
    wrong = []
    looked = harness.run([f"{harness.OUT}/ragno", "verify", directory], PATIENCE_S)
    is_broken = looked.returncode == 17
    if looked.returncode not in (0, 1, 17):
        wrong.append(f"verify: exit {looked.returncode}: {(looked.stdout + looked.stderr)[-300:]}")
    for name, command in commands(directory, url).items():
        result = harness.run(command, PATIENCE_S)
        if not says_so(result, directory) and (is_broken or result.returncode not in (0, 1)):
            wrong.append(f"{name}: {tell(result)}")
    result = harness.crawl(web, directory, timeout=PATIENCE_S)
    if not says_so(result, directory) and (is_broken or result.returncode not in (0, 18, 19, 20)):
        wrong.append(f"crawl: {tell(result)}")
    return is_broken, wrong


def damages(report, path, number):
    harness.unlogged("crawls on copies of one directory")
    seen, good = 0, 0
    with harness.Web(path, hosts=20, addresses=10, pages=800, skew=0, page_bytes=3000) as web:
        original, copy = path + "/crawl", path + "/copy"
        result = harness.crawl(web, original, "--max-pages", "500", "--warc-max-size", "100k", "--no-warc")
        report.equal("the crawl stops at its limit", result.returncode, 14)
        config = original + "/config.ini"
        with open(config, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("max_pages")]
        with open(config, "w", encoding="utf-8") as file:
            file.writelines(lines)
        url = min(web.graph_urls())
        for case in range(number * CASES, (number + 1) * CASES):
            damage = KINDS[case % len(KINDS)]
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(original, copy)
            pages = Pages(copy + "/crawl.mdb/data.mdb", random.Random(case))
            damage(pages)
            pages.write()
            is_broken, wrong = opened(web, copy, url)
            seen += is_broken
            good += not wrong
            report.check(f"damage {case} ({damage.__name__}, {'seen' if is_broken else 'unseen'} by verify) is told",
                         not wrong, "; ".join(wrong))
    print(f"# {good} of {CASES} damages told as they should be, verify sees {seen}")


def one(report, path):
    damages(report, path, 0)


def two(report, path):
    damages(report, path, 1)


def three(report, path):
    damages(report, path, 2)


def four(report, path):
    damages(report, path, 3)


def five(report, path):
    damages(report, path, 4)


def six(report, path):
    damages(report, path, 5)


def while_it_runs(report, path):
    """The pages change under a crawl that has looked at them: LMDB's assertions and faults are its end then."""
    harness.unlogged("crawls that end within their batches")
    if harness.SANITIZED:
        return report.skip("damages under a running crawl", "the sanitizer has the handlers of signals")
    with harness.Web(path, hosts=20, addresses=10, pages=4000, skew=0, page_bytes=3000) as web:
        for case in range(2 * CASES):
            directory = f"{path}/crawl{case}"
            process = subprocess.Popen(harness.crawl_command(web, directory, wait="5ms"), text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            name = directory + "/crawl.mdb/data.mdb"
            harness.until(lambda: os.path.exists(name) and os.path.getsize(name) > 100 * PAGE)
            dice = random.Random(case)
            with open(name, "r+b") as file:
                for page in range(2 if case % 4 else 0, os.path.getsize(name) // PAGE):
                    file.seek(page * PAGE)
                    file.write((bytes(PAGE), dice.randbytes(PAGE), dice.randbytes(64), bytes(16))[case % 4])
            try:
                _, errors = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
            code = process.returncode
            report.check(f"pages that break under a crawl, {case}: told", code == 17 and directory in errors and
                         "ragno verify" in errors, f"exit {code}: {errors[-600:]}")
            shutil.rmtree(directory)


if __name__ == "__main__":
    harness.main(one, two, three, four, five, six, while_it_runs)
