"""Pages with nearly the same text: flagged in crawl.log with their original, links followed all the
same; exact duplicates are flagged, too, and theirs are not."""
import os
import random

import harness
from sites import Sites, log_lines, page

A, B = "http://a.test", "http://b.test"


def text(seed, changed=None):
    source = random.Random(seed)
    words = ["".join(source.choices("abcdefghij", k=6)) for _ in range(400)]
    if changed is not None:
        words[changed] = "changed"
    return " ".join(words)


def near(report, path):
    answers = {
        A + "/": page("/1", "/2", B + "/", text="the way in"),
        A + "/1": page(text=text(1)),
        A + "/2": page("/same", "/3", text=text(2)),
        A + "/3": page("/next", text=text(2, changed=200)),
        A + "/same": page("/same", "/3", text=text(2)),
        A + "/next": page(text=text(3)),
        B + "/": page("/b", text=text(1, changed=7)),
        B + "/b": page(text=text(4)),
    }
    for mode in ("flag", "off"):
        os.makedirs(f"{path}/{mode}")
        with Sites(f"{path}/{mode}", answers) as sites:
            result = sites.crawl(f"{path}/{mode}/crawl", "-j", "1", "--set",
                                 f"parse.near_duplicates={mode}", A + "/")
            asked = sites.asked()
        report.check(f"{mode}: the crawl ends", result.returncode == 0, result.stderr[-300:])
        report.same_set(f"{mode}: everything is fetched", asked, set(answers))
        rows = log_lines(f"{path}/{mode}/crawl")
        pairs = {frozenset((w[3], a[5:])) for w in rows for a in w[-1].split(",")
                 if a.startswith("near:")}
        report.equal(f"{mode}: near duplicates are flagged",
                     pairs, {frozenset((A + "/2", A + "/3")), frozenset((A + "/1", B + "/"))}
                     if mode == "flag" else set())
        duplicates = {a[4:] for w in rows for a in w[-1].split(",") if a.startswith("dup:")}
        report.check(f"{mode}: exact ones as duplicates", len(duplicates) == 1, f"{duplicates}")


if __name__ == "__main__":
    harness.main(near)
