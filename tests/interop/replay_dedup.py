#!/usr/bin/env python3
"""Replays a crawl that deduplicated against another one (warc.dedup_against), by ReplayWeb.page in Chromium.
Not part of CI: it needs what replay.mjs needs.

    NODE_PATH=/tmp/interop/node_modules REPLAY=/tmp/interop/package OUT=build/release python3 tests/interop/replay_dedup.py FOLDER

Two crawls of one site, the second with the first as warc.dedup_against, become two WACZ files in FOLDER, and
both.json names both (a multi-WACZ package). A page that only the second crawl has captured, as a revisit record to the
first, is shown from both, with style and picture, and its picture is written to FOLDER/both.png. Exit status 1: it is not shown, or it is
shown without the first package, which would prove nothing."""
import hashlib
import json
import os
import struct
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../integration")
import harness  # noqa: E402  pylint: disable=wrong-import-position
from sites import Sites  # noqa: E402  pylint: disable=wrong-import-position

A, HTML = "http://a.test", {"Content-Type": "text/html"}


def png(width, height, colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PAGE = ("<title>Shop</title><link rel=stylesheet href=/s.css><h1>Shop</h1><img src=/p.png><p>Text of a page that has not changed."
        "<a href=/again>again</a>")
OLD = {A + "/": (200, HTML, PAGE), A + "/p.png": (200, {"Content-Type": "image/png"}, png(200, 100, (20, 120, 60))),
       A + "/s.css": (200, {"Content-Type": "text/css"}, "h1 { color: #c00; background: #ffe; padding: 20px }" + " " * 300)}
NEW = {**OLD, A + "/again": (200, HTML, PAGE)}


def replay(file, picture):
    done = subprocess.run(["node", HERE + "/replay.mjs", file, A + "/again", picture], capture_output=True, text=True, check=False)
    print(os.path.basename(file), done.stdout.strip(), done.stderr.strip()[-300:])
    return done.returncode == 0


def main():
    folder = os.path.abspath(sys.argv[1])
    program = harness.OUT + "/ragno"
    os.makedirs(folder)
    for name, site, more in (("first", OLD, ()), ("second", NEW, ("--set", f"warc.dedup_against={folder}/first"))):
        with Sites(folder, site) as sites:
            sites.crawl(f"{folder}/{name}", A + "/", "--page-requisites", *more)
        subprocess.run([program, "export", f"{folder}/{name}", "wacz", "-o", f"{folder}/{name}.wacz"], check=True)
        time.sleep(1.1)  # two captures of a URL are told apart by their second
    resources = []
    for name in ("second.wacz", "first.wacz"):
        with open(f"{folder}/{name}", "rb") as file:
            data = file.read()
        resources.append({"name": name, "path": name, "hash": "sha256:" + hashlib.sha256(data).hexdigest(), "bytes": len(data)})
    with open(folder + "/both.json", "w", encoding="ascii") as file:
        json.dump({"profile": "multi-wacz-package", "resources": resources}, file)
    shown = replay(folder + "/both.json", folder + "/both.png")
    alone = replay(folder + "/second.wacz", folder + "/second.png")
    print("the second crawl is replayed with the first" if shown and not alone else "it is not as it should be")
    sys.exit(0 if shown and not alone else 1)


if __name__ == "__main__":
    main()
