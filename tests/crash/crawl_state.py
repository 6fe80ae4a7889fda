"""What a crawl directory holds, read independently of the crawler, and when two of them are equal.

A crawl that was disturbed (killed, a failing disk, a power cut) and resumed must end with the same
pages, links and captures as one that was left alone: State.of() reads a directory, compare() says in
words what differs. Used by the scripts beside it.
"""
import collections
import glob
import os
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402

READ_BYTES = 1 << 16


def _header(text, name):
    for line in text.split("\r\n"):
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return ""


def warc_frames(path):
    """The records of a file of Zstandard frames, unpacked as one by zstd, told apart by their length."""
    result = subprocess.run(["zstd", "-dcq", path], capture_output=True)
    if result.returncode != 0:
        raise ValueError(f"{path}: {result.stderr.decode()}")
    data = result.stdout
    while data:
        head = data.partition(b"\r\n\r\n")[0]
        end = len(head) + 4 + int(_header(head.decode("utf-8", "replace"), "content-length")) + 4
        if data[end - 4:end] != b"\r\n\r\n":
            raise ValueError(f"{path}: a record is cut")
        yield data[:end]
        data = data[end:]


def warc_members(path):
    """The records of a WARC file, one gzip member each, decoded by zlib alone."""
    if ".warc.zst" in path:
        yield from warc_frames(path)
        return
    with open(path, "rb") as file:
        data = file.read()
    while data:
        decoder = zlib.decompressobj(31)
        record = decoder.decompress(data) + decoder.flush()
        if not decoder.eof:
            raise ValueError(f"{path}: the last record is cut")
        yield record
        data = decoder.unused_data


def captures(directory):
    """URL -> how many response and revisit records there are of it. A file that was begun and never
    committed is set aside under a name of its own; after a power cut it may be all zeroes."""
    found = collections.Counter()
    for path in sorted(glob.glob(glob.escape(directory) + "/warc/*.warc.*")):
        if path.endswith(".uncommitted"):
            continue
        for record in warc_members(path):
            head = record.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
            if _header(head, "warc-type") in ("response", "revisit"):
                found[_header(head, "warc-target-uri")] += 1
    return found


def rows(directory, *command):
    result = harness.run([f"{harness.OUT}/ragno", "db", directory, *command])
    if result.returncode != 0:
        raise RuntimeError(f"ragno db {command}: {result.returncode}: {result.stderr}")
    return [line.split("\t") for line in result.stdout.splitlines()]


class State:
    """known: URL -> how often PageDB has it; crawled: URL -> crawls; scheduled: URL -> entries;
    links: URL pairs -> how often; captures as above."""

    def __init__(self, directory):
        pages = rows(directory, "dump")
        self.known = collections.Counter(f[2] for f in pages)
        self.crawled = collections.Counter({f[2]: int(f[6]) for f in pages if int(f[6]) > 0})
        self.scheduled = collections.Counter(f[2] for f in rows(directory, "schedule"))
        self.links = collections.Counter(tuple(f) for f in rows(directory, "links"))
        self.captures = captures(directory)


def _differences(name, found, expected):
    wrong = [(key, found[key], expected[key]) for key in set(found) | set(expected)
             if found[key] != expected[key]]
    return [f"{len(wrong)} {name} differ, as {sorted(wrong)[:3]} (found, expected)"] if wrong else []


def compare(found, expected):
    """Sentences; none when both are equal."""
    problems = []
    for name in ("known", "crawled", "scheduled", "links", "captures"):
        problems += _differences(name, getattr(found, name), getattr(expected, name))
    twice = [url for url, n in found.captures.items() if n != 1]
    if twice:
        problems.append(f"{len(twice)} stored more than once, as {twice[:3]}")
    lost = [url for url in found.crawled if found.captures[url] != 1]
    if lost:
        problems.append(f"{len(lost)} crawled and not stored, as {lost[:3]}")
    return problems


def verify(directory):
    """What `ragno verify` complains of; none when it is content."""
    result = harness.run([f"{harness.OUT}/ragno", "verify", directory])
    if result.returncode == 0:
        return []
    lines = [line for line in result.stdout.splitlines() if line.startswith("problem")]
    return [f"verify: exit {result.returncode}: {result.stderr.strip()} {lines[:3]}"]
