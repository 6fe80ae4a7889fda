"""A disk whose syncs take a second: status.log says that the writer binds, not who waits for it."""
import collections
import os

import harness

OPTIONS = [f"--set={option}" for option in ("store.batch_pages=50", "log.status_interval=200ms",
                                            "parse.queue=16", "warc.enabled=no")]


def limits(directory):
    """The limit of each line of status.log, once results come faster than they are committed."""
    with open(f"{directory}/status.log", encoding="ascii") as file:
        rows = [dict(field.split("=", 1) for field in line.split()) for line in file]
    return [row["limit"] for row in rows if row["state"] == "running" and int(row["results"]) > 50]


def the_writer_is_named(report, path):
    directory = f"{path}/crawl"
    os.mkdir(directory)
    environment = dict(os.environ, LD_PRELOAD=f"{os.path.abspath(harness.OUT)}/crash/io_shim.so",
                       IO_DIR=os.path.realpath(directory), IO_SLOW_SYNC="1000",
                       ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    with harness.Web(path, pages=600, hosts=60) as web:
        result = harness.run(harness.crawl_command(web, directory, *OPTIONS), 200, environment)
    report.equal("the crawl ends", (result.returncode, result.stderr[-300:]), (0, ""))
    named = collections.Counter(limits(directory))
    report.check("results waited for their commits", sum(named.values()) >= 10, str(named))
    # A busy machine may show it between two commits; nobody else is ever named.
    report.check("the writer is what binds", set(named) <= {"writer", "none"} and
                 named["none"] * 10 <= sum(named.values()), str(named))


if __name__ == "__main__":
    harness.main(the_writer_is_named)
